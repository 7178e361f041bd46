"""Sizes of 0, such as the empty past of a decoder in its first step: results are those of ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from small_models import model, value

INT64, BOOL = TensorProto.INT64, TensorProto.BOOL


def constant(name, content, dtype=np.float32):
    return onnx.numpy_helper.from_array(np.asarray(content, dtype), name)


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, [name.replace("none", "") for name in inputs.split()], outputs.split(), **attributes)


def expected(proto, inputs):
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def compare(session, proto, inputs):
    """For a session of the model."""
    wanted = expected(proto, inputs)
    result = session.run(inputs)
    for one, other in zip(result.values(), wanted):
        assert one.shape == other.shape and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    told = session.infer({name: one.shape for name, one in inputs.items()})
    for one, shape in zip(wanted, told.values()):
        assert shape is None or all(size in (None, real) for size, real in zip(shape, one.shape))


def floats(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def decoder():
    """One layer of attention with a past: keys and values of earlier steps come in and go out."""
    width, heads, size = 8, 2, 4
    nodes = [
        node("MatMul", "x wq", "q0"), node("MatMul", "x wk", "k0"), node("MatMul", "x wv", "v0"),
        node("Shape", "x", "shape"), node("Slice", "shape zero two first", "batch_and_length"),
        node("Concat", "batch_and_length parts", "apart", axis=0),
        *[node("Reshape", f"{one}0 apart", f"{one}1") for one in "qkv"],
        *[node("Transpose", f"{one}1", f"{one}2", perm=[0, 2, 1, 3]) for one in "qkv"],
        node("Concat", "past_key k2", "present_key", axis=2), node("Concat", "past_value v2", "present_value", axis=2),
        node("Transpose", "present_key", "kt", perm=[0, 1, 3, 2]), node("MatMul", "q2 kt", "scores0"),
        node("Mul", "scores0 scale", "scores1"),
        # A causal mask of the right size, as exporters make it.
        node("Shape", "present_key", "all_shape"), node("Gather", "all_shape axis2", "total", axis=0),
        node("Shape", "past_key", "past_shape"), node("Gather", "past_shape axis2", "past_length", axis=0),
        node("Range", "scalar0 total scalar1", "columns"), node("Gather", "shape scalar1", "length", axis=0),
        node("Range", "scalar0 length scalar1", "rows0"), node("Add", "rows0 past_length", "rows1"),
        node("Unsqueeze", "rows1 one", "rows"), node("LessOrEqual", "columns rows", "visible"),
        node("Where", "visible scores1 lowest", "scores"),
        node("Softmax", "scores", "weights", axis=-1), node("MatMul", "weights present_value", "mixed"),
        node("Transpose", "mixed", "mixed1", perm=[0, 2, 1, 3]), node("Reshape", "mixed1 joined", "mixed2"),
        node("MatMul", "mixed2 wo", "y0"), node("Add", "y0 x", "y"),
    ]
    weights = [constant(name, floats(width, width) / 3) for name in ("wq", "wk", "wv", "wo")]
    weights += [constant("zero", [0], np.int64), constant("two", [2], np.int64), constant("first", [0], np.int64),
                constant("parts", [heads, size], np.int64), constant("scale", 0.5), constant("axis2", 2, np.int64),
                constant("scalar0", 0, np.int64), constant("scalar1", 1, np.int64), constant("one", [1], np.int64),
                constant("lowest", -1e9), constant("joined", [0, 0, width], np.int64)]
    past = ["batch", heads, "past", size]
    return model(nodes, [value("x", ["batch", "length", width]), value("past_key", past), value("past_value", past)],
                 [value("y", ["batch", "length", width]), value("present_key", ["batch", heads, "total", size]),
                  value("present_value", ["batch", heads, "total", size])], weights)


def steps(batch, length, past):
    return {"x": floats(batch, length, 8), "past_key": floats(batch, 2, past, 4),
            "past_value": floats(batch, 2, past, 4) + 1}


def test_a_decoder_starts_with_an_empty_past(taso):
    proto = decoder()
    session = taso.Session(proto)
    for batch, length, past in ((1, 3, 0), (2, 5, 0), (1, 1, 3), (1, 1, 0), (2, 4, 6), (0, 3, 2), (2, 0, 3), (0, 0, 0)):
        compare(session, proto, steps(batch, length, past))
    session.warm_up({name: one.shape for name, one in steps(3, 2, 0).items()})


def test_a_searched_model_takes_an_empty_past(taso, tmp_path):
    proto = decoder()
    session = taso.Session(proto, optimize=0.5, device="cpu")
    for past in (0, 3):
        compare(session, proto, steps(1, 3, past))
    session.save_engine(tmp_path / "model.taso")
    loaded = taso.Session(tmp_path / "model.taso", device="cpu")
    compare(loaded, proto, steps(1, 3, 3))
    with pytest.raises(taso.Error, match="sizes of 0"):
        loaded.run(steps(1, 3, 0))
    taso.Session(proto).save_engine(tmp_path / "plain.taso")
    compare(taso.Session(tmp_path / "plain.taso"), proto, steps(1, 3, 0))


X = value("x", ["n", 4])
TWO = [X, value("z", ["m", 4])]
IMAGE = value("x", ["n", 3, 6, 6])
CHANNELS = [constant("scale", [1, 2, 3]), constant("bias", [3, 2, 1]), constant("mean", [1, 1, 1]),
            constant("variance", [1, 2, 1])]
# Nodes from x to y, other inputs and weights.
CASES = {
    "relu": ([node("Relu", "x", "y")], [X], []),
    "concat": ([node("Concat", "x z", "y", axis=0)], TWO, []),
    "sum of rows": ([node("ReduceSum", "x axes", "y", keepdims=0)], [X], [constant("axes", [0], np.int64)]),
    "product of rows": ([node("ReduceProd", "x", "y", axes=[0])], [X], []),
    "sum in rows": ([node("ReduceSum", "x axes", "y")], [X], [constant("axes", [1], np.int64)]),
    "mean in rows": ([node("ReduceMean", "x", "y", axes=[1])], [X], []),
    "inner product": ([node("Transpose", "x", "t"), node("MatMul", "t x", "y")], [X], []),
    "gemm": ([node("Gemm", "x w b", "y")], [X], [constant("w", floats(4, 3)), constant("b", [1, 2, 3])]),
    "gemm of nothing": ([node("Gemm", "x x b", "y", transA=1)], [X], [constant("b", [1, 2, 3, 4])]),
    "softmax of rows": ([node("Softmax", "x", "y", axis=0)], [X], []),
    "softmax in rows": ([node("Softmax", "x", "y", axis=1)], [X], []),
    "layer norm": ([node("LayerNormalization", "x s", "y")], [X], [constant("s", [1, 2, 3, 4])]),
    "flatten": ([node("Flatten", "x", "y", axis=0)], [X], []),
    "reshape": ([node("Reshape", "x s", "y")], [X], [constant("s", [0, 2, 2], np.int64)]),
    "reshape to nothing": ([node("Reshape", "x s", "y", allowzero=1)], [X], [constant("s", [4, 0], np.int64)]),
    "reshape by shape": ([node("Shape", "x", "s"), node("Reshape", "x s", "y")], [X], []),
    "slice": ([node("Slice", "x b e a", "y")], [X], [constant("b", [0], np.int64), constant("e", [-1], np.int64),
                                                      constant("a", [0], np.int64)]),
    "gather": ([node("Gather", "w i", "y", axis=0)], [value("i", ["n", 2], INT64)], [constant("w", floats(5, 4))]),
    "expand": ([node("Expand", "x s", "y")], [X], [constant("s", [2, 1, 4], np.int64)]),
    "tile": ([node("Tile", "x s", "y")], [X], [constant("s", [3, 1], np.int64)]),
    "pad": ([node("Pad", "x p", "y")], [X], [constant("p", [1, 0, 1, 0], np.int64)]),
    "where": ([node("Where", "c x z", "y")], [value("c", ["n", 1], BOOL), X, value("z", ["n", 4])], []),
    "conv": ([node("Conv", "x w", "y")], [IMAGE], [constant("w", floats(2, 3, 3, 3))]),
    "conv, norm, relu": ([node("Conv", "x w", "a"), node("BatchNormalization", "a scale bias mean variance", "b"),
                          node("Relu", "b", "y")], [IMAGE], [constant("w", floats(3, 3, 3, 3)), *CHANNELS]),
    "pool": ([node("MaxPool", "x", "y", kernel_shape=[2, 2], strides=[2, 2])], [IMAGE], []),
    "mean of image": ([node("GlobalAveragePool", "x", "y")], [IMAGE], []),
    "resize": ([node("Resize", "x none s", "y", mode="nearest")], [IMAGE], [constant("s", [1, 1, 2, 2])]),
    "split": ([node("Split", "x s", "y other", axis=1)], [X], [constant("s", [1, 3], np.int64)]),
    "broadcast": ([node("Add", "x b", "y")], [X], [constant("b", [[1, 2, 3, 4]])]),
    "shape": ([node("Shape", "x", "y")], [X], []),
    "size": ([node("Size", "x", "y")], [X], []),
    "is empty": ([node("Size", "x", "s"), node("Equal", "s zero", "y")], [X], [constant("zero", 0, np.int64)]),
    "non-zero": ([node("NonZero", "x", "y")], [X], []),
    "top": ([node("TopK", "x k", "y i")], [X], [constant("k", [2], np.int64)]),
    "cumulative": ([node("CumSum", "x a", "y")], [X], [constant("a", 0, np.int64)]),
    "cast": ([node("Cast", "x", "y", to=INT64)], [X], []),
    "largest in rows": ([node("ArgMax", "x", "y", axis=1)], [X], []),
    "one hot": ([node("OneHot", "i d v", "y")], [value("i", ["n"], INT64)],
                [constant("d", 3, np.int64), constant("v", [0, 1])]),
    "scatter": ([node("ScatterND", "w i u", "y")], [value("i", ["n", 1], INT64), value("u", ["n", 4])],
                [constant("w", floats(5, 4))]),
    "einsum": ([node("Einsum", "x x", "y", equation="ni,nj->ij")], [X], []),
    "if": ([node("Size", "x", "s"), node("Equal", "s zero", "c"), helper.make_node(
        "If", ["c"], ["y"], then_branch=helper.make_graph([node("Identity", "w", "a")], "t", [], [value("a", None)]),
        else_branch=helper.make_graph([node("Neg", "x", "a")], "e", [], [value("a", None)]))],
        [X], [constant("zero", 0, np.int64), constant("w", floats(2, 4))]),
}
TYPES = {"is empty": BOOL, **dict.fromkeys(["shape", "size", "non-zero", "cast", "largest in rows"], INT64)}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", (0, 2))
def test_operators_of_nothing(taso, name, size):
    nodes, inputs, weights = CASES[name]
    proto = model(nodes, inputs, [value("y", None, TYPES.get(name, TensorProto.FLOAT))], weights)
    sizes = {"n": size, "m": 2}
    if name == "reshape to nothing" and size > 0:
        pytest.skip("it has elements")
    given = {}
    for one in inputs:
        tensor = one.type.tensor_type
        shape = [sizes.get(dim.dim_param, dim.dim_value) for dim in tensor.shape.dim]
        given[one.name] = np.abs(floats(*shape)).astype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    compare(taso.Session(proto), proto, given)
