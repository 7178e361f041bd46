"""Branches of If that are always taken stand in its place: compared with ONNX Runtime, and certified."""

import subprocess

import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def constant(name, value, kind="float32"):
    return numpy_helper.from_array(numpy.array(value, kind), name)


def branch(nodes, outputs, initializers=(), kind=FLOAT):
    results = [helper.make_tensor_value_info(output, kind, None) for output in outputs]
    return helper.make_graph(nodes, "branch", [], results, initializers)


def choice(condition, outputs, then_branch, else_branch):
    return helper.make_node("If", [condition], outputs, then_branch=then_branch, else_branch=else_branch)


def unary(kind, operand="x", result="t"):
    return branch([helper.make_node(kind, [operand], [result])], [result])


def model_of(nodes, initializers, outputs=("y",), shape=("n", 4), ir_version=9, opset=17):
    results = [helper.make_tensor_value_info(output, FLOAT, None) for output in outputs]
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info("x", FLOAT, shape)], results, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


YES, NO = constant("c", True, "bool"), constant("c", False, "bool")


def nested(inner_condition):
    """The inner If captures a value of the outer branch, and both branches call their values alike."""
    inner = choice("d", ["t"], unary("Abs", "a", "u"), unary("Neg", "a", "u"))
    outer = branch([helper.make_node("Relu", ["x"], ["a"]), inner], ["t"])
    return model_of([choice("c", ["y"], outer, unary("Sin"))], [YES, constant("d", inner_condition, "bool")])


def clash():
    """Names inside equal names of the main graph, which are defined before and after, and of the other branch."""
    inside = branch([helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Mul", ["a", "w"], ["b"])], ["b"],
                    [constant("w", [1, 2, 3, 4])])
    other = branch([helper.make_node("Abs", ["x"], ["a"])], ["a"])
    nodes = [choice("c", ["p"], inside, other),
             choice("c", ["q"], branch([helper.make_node("Sin", ["p"], ["a"])], ["a"]), other),
             helper.make_node("Relu", ["x"], ["p/a"]), helper.make_node("Add", ["p/a", "q"], ["p/w"]),
             helper.make_node("Mul", ["p/w", "p"], ["y"])]
    return model_of(nodes, [YES])


def swapped():
    """The branch calls its results as the If calls the other."""
    inside = branch([helper.make_node("Abs", ["x"], ["z"]), helper.make_node("Neg", ["z"], ["y"])], ["z", "y"])
    other = branch([helper.make_node("Sin", ["x"], ["s"]), helper.make_node("Cos", ["x"], ["t"])], ["s", "t"])
    return model_of([choice("c", ["y", "z"], inside, other)], [YES], ("y", "z"))


def passed_on():
    """Results that are weights or passed on, and an unused result."""
    inside = branch([helper.make_node("Identity", ["x"], ["s"]), helper.make_node("Abs", ["x"], ["a"]),
                     helper.make_node("Exp", ["x"], ["e"])], ["w", "s", "a", "e"], [constant("w", [5, 6])])
    other = branch([helper.make_node("Sin", ["x"], [f"o{i}"]) for i in range(4)], [f"o{i}" for i in range(4)])
    nodes = [choice("c", ["weight", "same", "known", "unused"], inside, other),
             helper.make_node("Neg", ["same"], ["y"])]
    return model_of(nodes, [YES], ("y", "weight", "known"))


def shape_arithmetic(size):
    """If the last extent is 4, what an exporter writes of x.squeeze()."""
    nodes = [helper.make_node("Shape", ["x"], ["shape"]), helper.make_node("Gather", ["shape", "one"], ["extent"]),
             helper.make_node("Equal", ["extent", "size"], ["c"]),
             choice("c", ["y"], unary("Abs"), unary("Neg"))]
    return model_of(nodes, [constant("one", 1, "int64"), constant("size", size, "int64")])


def folded():
    """A condition that is computed from weights, behind another If; and a computed extent inside."""
    nodes = [helper.make_node("ReduceMax", ["w"], ["largest"], keepdims=0),
             helper.make_node("Greater", ["largest", "two"], ["c"]),
             choice("c", ["m"], branch([helper.make_node("Mul", ["w", "w"], ["t"])], ["t"]),
                    branch([helper.make_node("Add", ["w", "w"], ["t"])], ["t"])),
             helper.make_node("ReduceMin", ["m"], ["least"], keepdims=0),
             helper.make_node("Less", ["least", "two"], ["d"]),
             choice("d", ["y"], branch([helper.make_node("NonZero", ["x"], ["i"]),
                                        helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
                                        helper.make_node("Transpose", ["f"], ["g"], perm=[1, 0]),
                                        helper.make_node("Relu", ["g"], ["h"])], ["h"]), unary("Neg"))]
    return model_of(nodes, [constant("w", numpy.arange(16).reshape(4, 4)), constant("two", 2)])


CASES = {
    "true": (model_of([choice("c", ["y"], unary("Abs"), unary("Neg"))], [YES]), ["Abs"]),
    "false": (model_of([choice("c", ["y"], unary("Abs"), unary("Neg"))], [NO]), ["Neg"]),
    "in an old file": (model_of([helper.make_node("Constant", [], ["c"], value=YES),
                                 choice("c", ["y"], unary("Abs"), unary("Neg"))], [], ir_version=3, opset=11), ["Abs"]),
    "nested, true": (nested(True), ["Relu", "Abs"]),
    "nested, false": (nested(False), ["Relu", "Neg"]),
    "clash": (clash(), ["Neg", "Mul", "Sin", "Relu", "Add", "Mul"]),
    "swapped": (swapped(), ["Abs", "Neg"]),
    "passed on": (passed_on(), None),
    "shapes, equal": (shape_arithmetic(4), ["Abs"]),
    "shapes, different": (shape_arithmetic(5), ["Neg"]),
    "folded": (folded(), ["NonZero", "Cast", "Transpose", "Relu"]),
}


def outputs_of(path, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"]).run(None, feed)


def optimise(taso_opt, model, tmp_path, *options):
    before, after = tmp_path / "model.onnx", tmp_path / "out.onnx"
    onnx.save(model, before)
    subprocess.run([taso_opt, before, "-o", after, "--budget", "0", "-q", *options], check=True)
    feed = {"x": numpy.random.default_rng(7).standard_normal((3, 4)).astype("float32")}
    for expected, actual in zip(outputs_of(before, feed), outputs_of(after, feed), strict=True):
        numpy.testing.assert_array_equal(expected, actual)
    return onnx.load(after)


@pytest.mark.parametrize("model, operators", CASES.values(), ids=CASES.keys())
def test_taken_branches(model, operators, taso_opt, taso_verify, tmp_path):
    after = optimise(taso_opt, model, tmp_path)
    found = [node.op_type for node in after.graph.node]
    assert "If" not in found
    assert operators is None or sorted(found) == sorted(operators)
    subprocess.run([taso_verify, "--certificate", tmp_path / "out.onnx.cert", tmp_path / "model.onnx",
                    tmp_path / "out.onnx"], check=True, capture_output=True)


def test_what_depends_on_the_input_stays(taso_opt, tmp_path):
    """The number of nonzero elements may be 0, and the first extent is open."""
    empty = [helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Size", ["i"], ["count"]),
             helper.make_node("Greater", ["count", "zero"], ["c"])]
    extent = [helper.make_node("Shape", ["x"], ["shape"]), helper.make_node("Gather", ["shape", "zero"], ["n"]),
              helper.make_node("Greater", ["n", "two"], ["c"])]
    for nodes in (empty, extent):
        model = model_of([*nodes, choice("c", ["y"], unary("Abs"), unary("Neg"))],
                         [constant("zero", 0, "int64"), constant("two", 2, "int64")])
        assert "If" in [node.op_type for node in optimise(taso_opt, model, tmp_path, "--force").graph.node]


def first_extent(of, made=()):
    """The first extent of a value that is computed from x, whose first extent may be 0 in a run."""
    return [*made, helper.make_node("Shape", [of], ["shape"]), helper.make_node("Gather", ["shape", "zero"], ["extent"])]


ALL_ROWS = first_extent("x")
ONE_ROW = first_extent("row", [helper.make_node("Slice", ["x", "from", "to", "from"], ["row"])])
FIRST_OF_A_RANGE = first_extent("range", [*ALL_ROWS[:1], helper.make_node("Gather", ["shape", "zero"], ["n"]),
                                          helper.make_node("Min", ["n", "one"], ["most"]),
                                          helper.make_node("Range", ["zero", "most", "one"], ["range"])])
FIRST_OF_A_RANGE[-2].output[0] = FIRST_OF_A_RANGE[-1].input[0] = "its_shape"
NUMBERS = [constant("zero", 0, "int64"), constant("one", 1, "int64"), constant("from", [0], "int64"),
           constant("to", [1], "int64"), constant("always", True, "bool")]


@pytest.mark.parametrize("test", ["Equal", "Greater"])
@pytest.mark.parametrize("extent", [ALL_ROWS, ONE_ROW, FIRST_OF_A_RANGE], ids=["all", "one", "range"])
def test_a_branch_for_no_elements_stays(test, extent, taso_opt, tmp_path):
    nodes = [*extent, helper.make_node(test, ["extent", "zero"], ["c"]),
             choice("c", ["y"], unary("Abs"), unary("Neg"))]
    after = optimise(taso_opt, model_of(nodes, NUMBERS), tmp_path, "--force")
    assert "If" in [node.op_type for node in after.graph.node]


@pytest.mark.parametrize("test", ["Equal", "Greater"])
def test_an_outer_branch_goes_and_one_for_no_elements_stays(test, taso_opt, tmp_path):
    nodes = [*ALL_ROWS, helper.make_node(test, ["extent", "zero"], ["c"])]
    inside = branch(nodes, ["c"], kind=TensorProto.BOOL)
    outer = helper.make_node("If", ["always"], ["d"], then_branch=inside, else_branch=inside)
    model = model_of([outer, choice("d", ["y"], unary("Abs"), unary("Neg"))], NUMBERS)
    operators = [node.op_type for node in optimise(taso_opt, model, tmp_path, "--force").graph.node]
    assert operators.count("If") == 1 and operators.count(test) == 1


def test_extents_that_do_not_depend_on_the_batch_decide(taso_opt, tmp_path):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Shape", ["m"], ["shape"]),
             helper.make_node("Gather", ["shape", "one"], ["extent"]),
             helper.make_node("Equal", ["extent", "six"], ["c"]),
             choice("c", ["y"], unary("Abs", "m"), unary("Neg", "m"))]
    weights = [*NUMBERS, constant("six", 6, "int64"), constant("w", numpy.ones((4, 6)))]
    after = optimise(taso_opt, model_of(nodes, weights), tmp_path)
    assert [node.op_type for node in after.graph.node] == ["MatMul", "Abs"]


def test_without_the_pass(taso_opt, tmp_path):
    after = optimise(taso_opt, CASES["nested, true"][0], tmp_path, "--disable-pass", "dead-branches")
    assert [node.op_type for node in after.graph.node] == ["If"]
