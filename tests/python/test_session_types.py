"""taso.Session takes and returns every element type."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from small_models import model, value

TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
         "bfloat16": TensorProto.BFLOAT16, "int8": TensorProto.INT8, "int16": TensorProto.INT16,
         "int32": TensorProto.INT32, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8,
         "uint16": TensorProto.UINT16, "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64,
         "bool": TensorProto.BOOL}


def dtype_of(name):
    if name == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    return np.dtype(name)


def joined(taso, name):
    """The session of a model that joins two inputs."""
    element = TYPES[name]
    return taso.Session(model([helper.make_node("Concat", ["x", "y"], ["z"], axis=0)],
                              [value("x", ["n", 2], element), value("y", [1, 2], element)],
                              [value("z", ["m", 2], element)]), device="cpu")


@pytest.mark.parametrize("name", TYPES)
def test_a_type_goes_in_and_comes_out(taso, name):
    dtype = dtype_of(name)
    session = joined(taso, name)
    assert [one.dtype for one in session.inputs + session.outputs] == [dtype] * 3
    x, y = (np.arange(count * 2).reshape(count, 2).astype(dtype) for count in (3, 1))
    result = session(x, y)["z"]
    assert result.dtype == dtype and result.tobytes() == x.tobytes() + y.tobytes()
    memory = np.zeros((4, 2), dtype)
    assert session(x, y, out=[memory])["z"] is memory and memory.tobytes() == result.tobytes()
    wrong = np.float64 if name != "float64" else np.float32
    with pytest.raises(TypeError, match=f"has the type {name}, not"):
        session(x.astype(wrong), y)


def test_bits_stand_for_bfloat16(taso):
    session = joined(taso, "bfloat16")
    x, y = np.array([[1, 2], [3, 4]], np.uint16), np.array([[5, 6]], np.uint16)
    assert session(x, y)["z"].view(np.uint16).tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("name", ["float32", "bool", "int64"])
def test_a_scalar_is_an_array_without_axes(taso, name):
    element = TYPES[name]
    session = taso.Session(model([helper.make_node("Where", ["c", "x", "y"], ["z"])],
                                 [value("c", [], TensorProto.BOOL), value("x", [], element), value("y", [], element)],
                                 [value("z", [], element)]))
    dtype = dtype_of(name)
    result = session(np.bool_(True), dtype.type(1), np.zeros((), dtype))["z"]
    assert result.shape == () and result.dtype == dtype and result == 1
