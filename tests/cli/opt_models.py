"""Small models for the tests of the command line."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from running import Run, run  # noqa: F401: for those who have models to run on


def model_of(nodes, inputs, outputs, initializers=(), opset=13, ir_version=8, **graph):
    model = helper.make_model(
        helper.make_graph(nodes, "graph", inputs, outputs, list(initializers), **graph),
        opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = ir_version
    return model


def floats(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def weight(name, array):
    return numpy_helper.from_array(np.asarray(array, dtype=np.float32), name)


def with_identity():
    """relu, identity, relu: one clean-up applies."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Identity", ["a"], ["b"], name="nothing"),
        helper.make_node("Add", ["b", "w"], ["y"], name="last"),
    ]
    return model_of(nodes, [floats("x", ["N", 4])], [floats("y", ["N", 4])], [weight("w", [1, 2, 3, 4])])


def with_nothing_to_do():
    return model_of([helper.make_node("Relu", ["x"], ["y"], name="only")], [floats("x", [2, 3])], [floats("y", [2, 3])])


def with_batch_norm():
    """A convolution whose batch normalisation is folded, with numbers that round when it is."""
    random = np.random.default_rng(1)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
        helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["y"], name="norm"),
    ]
    return model_of(
        nodes, [floats("x", [1, 3, 8, 8])], [floats("y", [1, 5, 6, 6])],
        [weight("w", random.normal(size=(5, 3, 3, 3))), weight("scale", random.normal(size=5)),
         weight("bias", random.normal(size=5)), weight("mean", random.normal(size=5)),
         weight("variance", random.uniform(0.1, 3, size=5))])


def with_external_weight(folder, location="weights.bin", offset=0, length=None, written=64):
    """A model whose weight of 16 floats is in a separate file."""
    model = model_of([helper.make_node("Identity", ["x"], ["a"]), helper.make_node("Add", ["a", "w"], ["y"])],
                     [floats("x", [16])], [floats("y", [16])])
    tensor = model.graph.initializer.add()
    tensor.name, tensor.data_type, tensor.data_location = "w", TensorProto.FLOAT, TensorProto.EXTERNAL
    tensor.dims.append(16)
    for key, value in {"location": location, "offset": offset, "length": length}.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    if written is not None:
        (folder / location).write_bytes(np.arange(written // 4, dtype=np.float32).tobytes())
    return model


def save(model, path):
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return path


def operators(path):
    return [node.op_type for node in onnx.load(path, load_external_data=False).graph.node]
