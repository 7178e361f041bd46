"""Runs ONNX models fast, and makes them faster.

taso.Session runs a model on a GPU or on the host. taso.optimize rewrites a model into a faster one that computes the
same; taso.verify proves rewrite rules and checks certificates; taso.generate finds rules.
"""

import pathlib

from . import _taso
from .errors import (ArgumentError, ArgumentTypeError, CancelledError, CheckError, Error, ModelError,
                     UnavailableError, VerificationError)
from .programs import Interrupted, Result, Rules, Verification, generate, optimize, verify
from .session import Session, Value

__version__: str = _taso.version()
__all__ = ["ArgumentError", "ArgumentTypeError", "CancelledError", "CheckError", "Error", "Interrupted", "ModelError",
           "Result", "Rules", "Session", "UnavailableError", "Value", "Verification", "VerificationError",
           "__version__", "devices", "ep_library_path", "generate", "optimize", "verify"]


def ep_library_path() -> str:
    """The execution provider for onnxruntime.register_execution_provider_library("taso", …)."""
    path = pathlib.Path(__file__).parent / "lib" / "libtaso_onnxruntime.so"
    if not path.exists():
        raise UnavailableError("this package was built without the execution provider for ONNX Runtime")
    return str(path)


def devices() -> str:
    """The GPUs that can be used, or why there is none, for people."""
    from . import cuda_libraries
    cuda_libraries.load()
    return _taso.device_text()
