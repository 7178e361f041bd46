"""Clean-ups keep what a model computes where a computed extent is 0, which inputs of any allowed size may lead to."""

import subprocess

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper


def integers(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def slice_of(value, result, start, end, step=1):
    names = [f"{result}_{part}" for part in ("start", "end", "axis", "step")]
    weights = [integers(name, number) for name, number in zip(names, (start, end, 0, step))]
    return helper.make_node("Slice", [value, *names], [result]), weights


def flattened(start, end, step=1):
    node, weights = slice_of("x", "part", start, end, step)
    nodes = [node, helper.make_node("Flatten", ["part"], ["flat"]),
             helper.make_node("Unsqueeze", ["flat", "two"], ["y"])]
    return nodes, [*weights, integers("two", 2)]


def measured(*slices):
    nodes, weights, last = [], [], "x"
    for i, bounds in enumerate(slices):
        node, more = slice_of(last, f"part{i}", *bounds)
        nodes.append(node)
        weights += more
        last = f"part{i}"
    return [*nodes, helper.make_node("Shape", [last], ["y"])], weights


CASES = {
    "without the first": (*flattened(1, 2**62), 3),
    "without the last": (*flattened(0, -1), 3),
    "at most two after the first": (*flattened(1, 3), 3),
    "the last of a few": (*measured((1, 3), (-1, 2**62)), 1),
    "a part of the end": (*measured((-2, 3), (0, 1)), 1),
    "from before the beginning": (*measured((-7, -100, -1)), 1),
}


@pytest.mark.parametrize("nodes, weights, rank", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("size", [1, 2, 7])
def test_extents_that_may_be_0(nodes, weights, rank, size, taso_opt, tmp_path):
    kind = TensorProto.INT64 if nodes[-1].op_type == "Shape" else TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m", "k"][:rank])],
        [helper.make_tensor_value_info("y", kind, None)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    before, after = tmp_path / "model.onnx", tmp_path / "out.onnx"
    before.write_bytes(model.SerializeToString())
    subprocess.run([taso_opt, before, "-o", after, "--budget", "0", "--check", "0", "-q"], check=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    x = {"x": np.random.default_rng(1).random((size, 2, 3)[:rank]).astype(np.float32)}
    results = [onnxruntime.InferenceSession(str(file), options).run(None, x)[0] for file in (before, after)]
    assert results[0].shape == results[1].shape and np.array_equal(*results)
