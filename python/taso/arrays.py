"""Element types, and the memory of arrays of NumPy, PyTorch and others."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _taso
from .errors import ArgumentError, ArgumentTypeError

BFLOAT16 = 16
# The numbers are those of ONNX.
NAMES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
         10: "float16", 11: "float64", 12: "uint32", 13: "uint64", BFLOAT16: "bfloat16"}
NUMBERS = {name: number for number, name in NAMES.items()}

# Pointer, bytes, number of the type, whether it is on the device, shape: what the extension takes.
Memory = tuple[int, int, int, bool, "tuple[int, ...]"]


def bfloat16_dtype() -> np.dtype:
    """NumPy has no bfloat16. The package ml_dtypes adds it; without it, the bits are an array of uint16."""
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.uint16)
    return np.dtype(ml_dtypes.bfloat16)


def dtype_of(number: int) -> np.dtype | None:
    """The type of NumPy for a type of ONNX; None for text, sequences and the like."""
    if number == BFLOAT16:
        return bfloat16_dtype()
    return np.dtype(NAMES[number]) if number in NAMES else None


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of PyTorch, which is not imported for the question."""
    kind = getattr(sys.modules.get("torch"), "Tensor", None)  # other modules may have that name
    return isinstance(kind, type) and isinstance(value, kind)


def is_on_device(value: Any) -> bool:
    if is_tensor(value):
        return value.is_cuda
    if isinstance(value, np.ndarray):
        return False
    if hasattr(value, "__cuda_array_interface__"):
        return True
    # 1 is the host, and 3 memory of the host that a GPU can read.
    return hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] not in (1, 3)


@functools.cache
def number_of_tensor_type(dtype: Any) -> int | None:
    return NUMBERS.get(str(dtype).removeprefix("torch."))


def tensor_memory(tensor: Any) -> Memory:
    """The memory of a contiguous tensor of PyTorch."""
    number = number_of_tensor_type(tensor.dtype)
    if number is None:
        raise ArgumentTypeError(f"tensors of the type {tensor.dtype} are not supported")
    return (tensor.data_ptr(), tensor.nbytes, number, tensor.is_cuda, tuple(tensor.shape))


def tensor_type(number: int) -> Any:
    """PyTorch's type; None for what tensors cannot have."""
    import torch
    return getattr(torch, NAMES.get(number, ""), None)


def torch_device(number: int) -> Any:
    """PyTorch's name for a GPU; -1: the host."""
    import torch
    return torch.device("cpu") if number < 0 else torch.device("cuda", number)


def new_tensor(shape: Sequence[int], number: int, device: Any) -> Any:
    import torch
    return torch.empty(shape, dtype=tensor_type(number), device=device)


def device_memory(value: Any, stream: int) -> tuple[Memory, Any]:
    """The memory of an array on a GPU, and what has to live while it is used."""
    if hasattr(value, "__dlpack__"):
        # 1 stands for the default stream, which is 0 everywhere else. The array's library orders its work before it.
        capsule = value.__dlpack__(stream=stream or 1)
        return _taso.memory_of(capsule), value
    described = value.__cuda_array_interface__
    dtype, shape = np.dtype(described["typestr"]), tuple(described["shape"])
    strides = described.get("strides")
    if strides is not None and tuple(strides) != dense_strides(shape, dtype.itemsize) and 0 not in shape:
        raise ArgumentError("an array on a device is not contiguous")
    number = NUMBERS.get(dtype.name)
    if number is None:
        raise ArgumentTypeError(f"arrays of the type {dtype} are not supported")
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    return (described["data"][0], size, number, True, shape), value


def dense_strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides = []
    for length in reversed(shape):
        strides.append(size)
        size *= length
    return tuple(reversed(strides))


def current_stream_number(device: int) -> int:
    """The handle of PyTorch's current stream."""
    import torch
    quick = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # what the code that PyTorch generates calls
    return quick(device) if quick is not None else torch.cuda.current_stream(device).cuda_stream


def stream_number(stream: Any) -> int:
    """The handle of a CUDA stream: a number, or a stream of PyTorch, CuPy or cuda.core."""
    if stream is None:
        return 0
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise ArgumentTypeError(f"{type(stream).__name__} is not a stream")
