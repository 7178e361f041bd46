"""Views and transposes that cancel each other, in many compositions: what taso-opt makes of them is right and
certified, and other clean-ups of the model are kept."""

import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """A chain of nodes."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, content, element):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(content, element), name))
        return name

    def add(self, kind, *inputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def view(self, value, shape):
        return self.add("Reshape", value, self.constant(shape, np.int64))

    def turn(self, value, permutation=(1, 0)):
        return self.add("Transpose", value, perm=permutation)

    def number(self, kind, value, number, element=np.float32, is_first=False):
        operands = [value, self.constant(number, element)]
        return self.add(kind, *(reversed(operands) if is_first else operands))


def integers(b):
    return [b.view(b.number("Add", b.view("x", [6]), 3, np.int64), [2, 3])]


def neutral(b):
    return [b.turn(b.number("Mul", b.turn("x"), 1))]


def six_movements(b):
    half = b.view(b.turn(b.view("x", [8, 6])), [2, 3, 4, 2])
    return [b.view(b.turn(b.view(half, [6, 8])), [4, 2, 2, 3])]


def other_user(b):
    first = b.view("x", [6, 4])
    return [b.view(b.number("Sub", b.view(first, [24]), 3), [6, 4]), b.add("Relu", first)]


def one_element(b):
    return [b.view(b.number("Mul", b.view("x", [1]), [2], is_first=True), [1, 1])]


def after_another(b):
    value = b.view(b.number("Div", b.turn(b.view("x", [24]), [0]), 2, is_first=True), [2, 3, 4])
    value = b.view(b.turn(b.view(value, [6, 4])), [4, 2, 3])
    return [b.add("Mul", value, value)]


def within_another(b):
    value = b.add("Erf", b.view(b.turn(b.view("x", [4, 3])), [3, 4, 1]))
    return [b.number("Min", b.view(b.turn(b.view(value, [3, 4])), [4, 1, 3]), 0.5)]


@pytest.mark.parametrize("make, shape, element", [
    (integers, [2, 3], np.int64), (neutral, [2, 3], np.float32), (six_movements, [4, 2, 2, 3], np.float32),
    (other_user, [2, 3, 4], np.float32), (one_element, [1, 1], np.float32), (after_another, [2, 3, 4], np.float32),
    (within_another, [4, 1, 3], np.float32)])
def test_compositions_are_right_and_certified(taso_opt, taso_verify, tmp_path, make, shape, element):
    builder = Builder()
    outputs = make(builder)
    same = builder.add("Identity", "x")  # another clean-up, which must not be lost
    outputs.append(builder.add("Abs", same))
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(element))
    graph = helper.make_graph(builder.nodes, "graph", [helper.make_tensor_value_info("x", kind, shape)],
                              [helper.make_tensor_value_info(name, kind, None) for name in outputs], builder.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    given, output = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(onnx.shape_inference.infer_shapes(model), given)
    subprocess.run([taso_opt, given, "-o", output, "--budget", "0"], check=True)
    subprocess.run([taso_verify, "--certificate", f"{output}.cert", given, output], check=True)
    assert "Identity" not in [node.op_type for node in onnx.load(output).graph.node]
    x = np.random.default_rng(1).integers(1, 9, shape).astype(element)
    one, two = (onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x})
                for path in (given, output))
    for expected, found in zip(one, two, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
