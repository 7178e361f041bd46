"""Finds the libraries of CUDA that PyPI's packages contain (nvidia-cudnn-cu13 and the like), as PyTorch does."""

from __future__ import annotations

import ctypes
import functools
import pathlib
import sys

# In the order in which they need one another.
NAMES = ("libnvrtc-builtins.so.*", "libnvrtc.so.*", "libcublasLt.so.*", "libcublas.so.*", "libcudnn.so.*")


def folders() -> list[pathlib.Path]:
    """The folders of such packages. Programs look for libraries there too."""
    found = []
    for entry in sys.path:
        root = pathlib.Path(entry or ".") / "nvidia"
        if root.is_dir():
            found += sorted(folder for folder in root.glob("*/lib") if folder.is_dir())
    return found


@functools.cache
def load() -> None:
    """Loads them, so that the CUDA module finds them by name. Without that module or a driver it does nothing."""
    if not (pathlib.Path(__file__).parent / "lib" / "taso" / "libtaso_cuda.so").exists():
        return
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    for name in NAMES:
        for folder in folders():
            for file in sorted(folder.glob(name))[:1]:
                try:
                    ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL)
                except OSError:  # the module says what it misses
                    pass
