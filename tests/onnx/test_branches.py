"""The interpreter computes the same as ONNX Runtime for If: on random models with branches, and on one with both."""

import os
import pathlib
import subprocess

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import random_models
import runtime_comparison
import test_random_models


def write_test(folder, model, feeds_of):
    """A test in ONNX's format with the results of ONNX Runtime; False if that does not run the model."""
    folder.mkdir(parents=True)
    path = folder / "model.onnx"
    onnx.save(model, path)
    feeds = feeds_of(path)
    if feeds is None:
        path.unlink()
        return False
    session = runtime_comparison.open_session(path)
    for number, feed in enumerate(feeds):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        inputs = [feed[entry.name] for entry in session.get_inputs()]
        for kind, arrays in (("input", inputs), ("output", session.run(None, feed))):
            for i, array in enumerate(arrays):
                tensor = numpy_helper.from_array(numpy.asarray(array))
                (data / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())
    return True


def run_tests(folder, at_least):
    runner = pathlib.Path(os.environ["TASO_BUILD_FOLDER"]) / "tests" / "onnx_backend"
    result = subprocess.run([runner, "--at-least", str(at_least), folder], capture_output=True, text=True)
    print(result.stdout[-20000:], result.stderr)
    assert result.returncode == 0


def run_seeds(seeds, folder, at_least):
    for seed in seeds:
        model = random_models.random_model(seed)
        if any(node.op_type == "If" for node in model.graph.node):
            write_test(folder / str(seed), model, test_random_models.feeds_of)
    run_tests(folder, at_least)


def test_random_models_with_branches(tmp_path):
    run_seeds(range(300), tmp_path, 15)


def branch(name, nodes, outputs, initializers=()):
    results = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None) for output in outputs]
    return helper.make_graph(nodes, name, [], results, initializers)


def model_with_branches(opset):
    """y, z = one of two small networks, one of which has an If inside; `choice` has the two conditions."""
    weight = numpy_helper.from_array(numpy.arange(12, dtype="float32").reshape(4, 3) / 10, "w")
    inner = helper.make_node(
        "If", ["second"], ["chosen"],
        then_branch=branch("inner_then", [helper.make_node("Sub", ["product", "outer"], ["deep"])], ["deep"]),
        else_branch=branch("inner_else", [helper.make_node("Identity", ["product"], ["kept"])], ["kept"]))
    yes = branch("yes", [helper.make_node("MatMul", ["outer", "own"], ["wide"]),
                         helper.make_node("Slice", ["wide", "from", "to", "axis"], ["product"]), inner,
                         helper.make_node("Identity", ["outer"], ["same"])],
                 ["chosen", "same"], [numpy_helper.from_array(numpy.eye(4, dtype="float32"), "own")])
    no = branch("no", [helper.make_node("MatMul", ["outer", "w"], ["product"]),
                       helper.make_node("Softmax", ["product"], ["share"], axis=1),
                       helper.make_node("Identity", ["x"], ["same"])], ["share", "same"])
    nodes = [helper.make_node("Relu", ["x"], ["outer"]),
             helper.make_node("Gather", ["choice", "zero"], ["first"], axis=0),
             helper.make_node("Gather", ["choice", "one"], ["second"], axis=0),
             helper.make_node("If", ["first"], ["y", "z"], then_branch=yes, else_branch=no)]
    constants = [weight] + [numpy_helper.from_array(numpy.array(value, dtype="int64"), name) for name, value in
                            (("zero", 0), ("one", 1), ("from", [0]), ("to", [4]), ("axis", [1]))]
    graph = helper.make_graph(
        nodes, "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4]),
         helper.make_tensor_value_info("choice", TensorProto.BOOL, [2])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "yz"], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def feeds_with_all_choices(_):
    generator = numpy.random.default_rng(0)
    return [{"x": generator.standard_normal((size, 4)).astype("float32"), "choice": numpy.array([first, second])}
            for size in (1, 5) for first in (False, True) for second in (False, True)]


@pytest.mark.parametrize("opset", [11, 13, 17])
def test_every_branch_gives_what_it_should(opset, tmp_path):
    assert write_test(tmp_path / "model", model_with_branches(opset), feeds_with_all_choices)
    run_tests(tmp_path, 1)
