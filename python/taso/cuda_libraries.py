"""Finds the libraries of CUDA: those of PyPI's packages (nvidia-cudnn-cu13 and the like), or those of a toolkit."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import sys

# In the order in which they need one another.
NAMES = ("libnvrtc-builtins.so.*", "libnvrtc.so.*", "libcublasLt.so.*", "libcublas.so.*", "libcudnn.so.*")


def folders() -> list[pathlib.Path]:
    """The folders with such libraries. Programs look there too."""
    found: list[pathlib.Path] = []
    for entry in sys.path:
        root = pathlib.Path(entry or ".") / "nvidia"
        if root.is_dir():
            found += sorted(root.glob("*/lib"))
    toolkits = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)] + ["/usr/local/cuda"]
    found += [pathlib.Path(toolkit) / name for toolkit in toolkits for name in ("lib64", "lib")]
    return [folder for folder in found if folder.is_dir()]


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
        for file in [file for folder in folders() for file in sorted(folder.glob(name))][:1]:
            try:
                ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL)
            except OSError:  # the module says what it misses
                pass
