"""Compares the operators in PyTorch and JAX, if installed, with the reference of onnx; and tests the report."""

import json
import pathlib
import subprocess
import sys

import numpy
import onnx
import onnx.helper as helper
import onnx.reference
import pytest
from made_up_program import write_program

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import graph  # noqa: E402
import report  # noqa: E402

X = ("x", [2, 4, 9, 10])


def weight(*shape):
    return numpy.random.default_rng(len(shape) + sum(shape)).standard_normal(shape).astype(numpy.float32)


def whole(*numbers):
    return numpy.array(numbers, numpy.int64)


# operator, attributes, constants after the first input; the input is X unless a shape is given
CASES = [
    ("Conv", dict(pads=[1, 1, 1, 1], strides=[2, 1], group=2), [weight(6, 2, 3, 3), weight(6)]),
    ("Conv", dict(pads=[0, 1, 2, 0], dilations=[2, 1]), [weight(6, 4, 2, 3)]),
    ("Conv", dict(auto_pad="SAME_UPPER", strides=[2, 2]), [weight(6, 4, 3, 3)]),
    ("MaxPool", dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), []),
    ("MaxPool", dict(kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1]), []),
    ("MaxPool", dict(kernel_shape=[3, 2], strides=[2, 3], ceil_mode=1), []),
    ("AveragePool", dict(kernel_shape=[3, 3], strides=[1, 2], pads=[1, 1, 1, 1]), []),
    ("AveragePool", dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1), []),
    ("AveragePool", dict(kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1]), []),
    ("AveragePool", dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER"), []),
    ("GlobalAveragePool", {}, []),
    ("BatchNormalization", dict(epsilon=1e-2), [weight(4), weight(4), weight(4), abs(weight(4))]),
    ("InstanceNormalization", {}, [weight(4), weight(4)]),
    ("LayerNormalization", dict(axis=-2), [weight(9, 10), weight(9, 10)]),
    ("LRN", dict(size=3), [], ("x", [4, 4, 3, 3])),  # the reference confuses batch and channels
    ("Softmax", dict(axis=1), []),
    ("Clip", {}, [numpy.float32(-0.5), numpy.float32(0.7)]),
    ("Gemm", dict(transB=1, alpha=0.5, beta=2.0), [weight(5, 7), weight(5)], ("x", [3, 7])),
    ("Gemm", {}, [weight(7, 5), weight(5)], ("x", [3, 7])),
    ("MatMul", {}, [weight(10, 3)]),
    ("Add", {}, [numpy.array([2.5], numpy.float32)]),
    ("Div", {}, [weight(4, 1, 1)]),
    ("Pow", {}, [numpy.float32(2)]),
    ("Reshape", {}, [whole(0, -1, 5)]),
    ("Flatten", dict(axis=2), []),
    ("Transpose", dict(perm=[0, 2, 3, 1]), []),
    ("Slice", {}, [whole(1, -7), whole(9, 100), whole(2, -1), whole(2, 3)]),
    ("Pad", {}, [whole(0, 0, 1, 2, 0, 0, 3, 0), numpy.float32(1.5)]),
    ("Pad", dict(mode="reflect"), [whole(0, 0, 1, 2, 0, 0, 3, 0)]),
    ("Split", dict(axis=1), [whole(1, 3)]),
    ("Gather", dict(axis=2), [whole(3, 0, -1)]),
    ("Gather", dict(axis=2), [numpy.array(-2)]),
    ("GatherND", {}, [numpy.array([[1, 0], [0, 3], [-1, 2]])]),
    ("IsNaN", {}, []),
    ("Expand", {}, [whole(3, 1, 2, 1)], ("x", [2, 5])),
    ("Squeeze", {}, [whole(1)], ("x", [3, 1, 4])),
    ("Unsqueeze", {}, [whole(0, -1)], ("x", [3, 4])),
    ("ReduceMean", dict(axes=[1, -1], keepdims=0), []),
    ("Erf", {}, []),
    ("HardSwish", {}, []),
    ("DepthToSpace", dict(blocksize=2), []),
    ("Cast", dict(to=onnx.TensorProto.INT64), []),
]


def model_of(operator, attributes, constants, value=X):
    names = [f"c{i}" for i in range(len(constants))]
    outputs = [f"y{i}" for i in range(2 if operator == "Split" else 1)]
    body = helper.make_graph(
        [helper.make_node(operator, [value[0], *names], outputs, **attributes)], "one",
        [helper.make_tensor_value_info(value[0], onnx.TensorProto.FLOAT, value[1])],
        [helper.make_value_info(name, onnx.TypeProto()) for name in outputs],
        [onnx.numpy_helper.from_array(numpy.asarray(array), name) for name, array in zip(names, constants)])
    return helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)])


def framework(name, file, layout="contiguous", precision="fp32"):
    settings = {"framework": name, "layout": layout, "precision": precision, "model": file, "batch": None, "seed": 1,
                "device": "cpu"}
    if name == "xla":
        pytest.importorskip("jax")
        from jax_framework import JaxFramework as Framework
    else:
        pytest.importorskip("torch")
        from torch_framework import TorchFramework as Framework
    made = Framework(settings)
    made.prepare()
    return made


def check(name, model, tmp_path, **options):
    file = tmp_path / "model.onnx"
    onnx.save(model, file)
    made = framework(name, file, **options)
    expected = onnx.reference.ReferenceEvaluator(model).run(None, made.program.random_inputs(1))
    assert report.distance(made.outputs(), expected) < 1e-5
    return made


@pytest.mark.parametrize("name", ["eager", "xla"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_an_operator_computes_what_the_reference_does(name, case, tmp_path):
    check(name, model_of(*case), tmp_path)


def attention_model(guarded=False):
    """A layer as exporters write it: attention with a mask, then a product with a bias and a decomposed GELU.
    Newer ones guard it against rows that are hidden as a whole, and scale queries and keys."""
    half, root = numpy.float32(0.5), numpy.float32(2 ** 0.5)
    constants = {"w": weight(8, 6), "b": weight(6), "half": half, "one": numpy.float32(1), "root": root,
                 "scale": numpy.float32(3), "mask": weight(1, 1, 1, 5)}
    node = helper.make_node
    nodes = [node("Transpose", ["x"], ["k"], perm=[0, 1, 3, 2]), node("MatMul", ["x", "k"], ["s0"]),
             node("Div", ["s0", "scale"], ["s1"]), node("Add", ["s1", "mask"], ["s2"]),
             node("Softmax", ["s2"], ["p"], axis=-1), node("MatMul", ["p", "x"], ["a"]),
             node("MatMul", ["a", "w"], ["m"]), node("Add", ["m", "b"], ["h"]), node("Div", ["h", "root"], ["e0"]),
             node("Erf", ["e0"], ["e1"]), node("Add", ["e1", "one"], ["e2"]), node("Mul", ["h", "e2"], ["e3"]),
             node("Mul", ["e3", "half"], ["y"])]
    if guarded:
        constants["zero"] = numpy.float32(0)
        nodes[1] = node("MatMul", ["q", "scaled"], ["s0"])
        nodes[5] = node("MatMul", ["safe", "x"], ["a"])
        nodes[5:5] = [node("IsNaN", ["p"], ["none"]), node("Where", ["none", "zero", "p"], ["safe"])]
        nodes[1:1] = [node("Mul", ["x", "half"], ["q"]), node("Mul", ["k", "half"], ["scaled"])]
    body = helper.make_graph(nodes, "layer", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3, 5, 8])],
                             [helper.make_value_info("y", onnx.TypeProto())],
                             [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    return helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize("guarded", [False, True])
def test_pytorch_gets_the_calls_that_its_users_write(guarded, tmp_path):
    made = check("eager", attention_model(guarded), tmp_path)
    kinds = [step.primitive for step in made.program.steps]
    assert {"attention", "linear", "gelu"} <= set(kinds)
    assert not {"softmax", "erf", "matmul", "add", "isnan", "where", "mul"} & set(kinds)


def test_channels_last_computes_the_same(tmp_path):
    check("eager", model_of(*CASES[0]), tmp_path, layout="channels_last")


def test_half_precision_is_near(tmp_path):
    onnx.save(model_of("MatMul", {}, [weight(10, 3)]), tmp_path / "model.onnx")
    for name in ("eager", "xla"):
        results = [framework(name, tmp_path / "model.onnx", precision=one).outputs() for one in ("fp32", "bf16")]
        assert 1e-5 < report.distance(*results) < 1e-1


def test_shape_arithmetic_and_constants_are_gone_before_anything_runs(tmp_path):
    pytest.importorskip("torch")
    from torch_framework import shapes_of
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
             helper.make_node("Concat", ["n", "rest"], ["t"], axis=0), helper.make_node("Reshape", ["x", "t"], ["r"]),
             helper.make_node("Neg", ["c"], ["d"]), helper.make_node("Mul", ["r", "d"], ["y"])]
    constants = {"zero": whole(0), "rest": whole(-1), "c": weight(20)}
    body = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4, 5])],
                             [helper.make_value_info("y", onnx.TypeProto())],
                             [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    onnx.save(helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "model.onnx")
    program = graph.read(tmp_path / "model.onnx", 3, shapes_of)
    assert [step.primitive for step in program.steps] == ["reshape", "mul"]
    assert program.shapes[program.outputs[0]] == (3, 20)


def test_an_unknown_operator_is_named(tmp_path):
    pytest.importorskip("torch")
    from torch_framework import shapes_of
    onnx.save(model_of("Hardmax", {}, []), tmp_path / "model.onnx")
    with pytest.raises(graph.Unsupported, match="Hardmax"):
        graph.read(tmp_path / "model.onnx", None, shapes_of)


def row(**times):
    made = {"model": "net", "precision": "tf32", "batch": 1,
            "times": {key: {"median": value} if value else {"failures": ["crashed"]} for key, value in times.items()},
            "agreement": {"compared": ["a", "b"], "agree": True, "largest": 1e-4, "apart": []}}
    report.conclude(made)
    return made


def test_the_table_compares_ours_with_the_best_that_ran():
    made = row(eager=20.0, compile=None, xla=12.0, before=10.0, after=8.0)
    assert (made["best"], made["best_over_before"], made["best_over_after"]) == ("xla", 1.2, 1.5)
    text = report.table([made])
    assert "| net | 20.0 | * | **12.0** | 10.0 | 8.0 | 1.20× | 1.50× | agree (1e-04) |" in text
    assert "* net, torch.compile: crashed" in text
    assert "| geometric mean (number) | | | | | | 1.20× (1) | 1.50× (1) | |" in text


def test_the_batch_that_is_told_is_the_one_that_ran(tmp_path):
    onnx.save(model_of("Relu", {}, [], ("x", [16, 4])), tmp_path / "net.onnx")
    assert graph.own_batch(tmp_path / "net.onnx") == 16
    assert graph.own_batch(tmp_path / "nothing.onnx") is None
    own = dict(row(eager=20.0), batch=None, examples=16)
    assert "tf32, batch 16, median in µs" in report.table([own])
    asked = dict(own, batch=4, examples=4)
    text = report.table([own, asked])
    assert "tf32, batch 4, 16, median in µs" in text
    assert "| net, batch 16 |" in text and "| net, batch 4 |" in text


def test_outputs_that_differ_are_said():
    same, other = [numpy.ones(4)], [numpy.array([1, 1, 1, numpy.nan])]
    assert report.agreement({"a": same, "b": same}, "fp32")["agree"]
    found = report.agreement({"a": same, "b": same, "c": other}, "fp32")
    assert not found["agree"] and [one["of"] for one in found["apart"]] == [["a", "c"], ["b", "c"]]
    made = row(eager=20.0)
    made["agreement"] = found
    assert "DIFFER: a and c differ by inf" in report.table([made])


def compare(tmp_path, *arguments):
    return subprocess.run([sys.executable, HERE / "compare.py", "--device", "cpu", "--work", tmp_path / "work",
                           *arguments],
                          capture_output=True, text=True, timeout=240)


def test_one_run_times_all_and_loses_only_what_fails(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    onnx.save(model_of("Hardmax", {}, []), tmp_path / "unknown.onnx")
    onnx.save(model_of(*CASES[0]), tmp_path / "known.onnx")
    bench = write_program(tmp_path / "bench", """
import json, sys
figures = {"model": "m", "microseconds": {"median": 1.0, "5_percent": 1.0, "95_percent": 1.0, "runs": 1}}
report = {"device": "CPU", "versions": "", "models": [figures]}
open(sys.argv[sys.argv.index("--json") + 1], "w").write(json.dumps(report))
""")
    done = compare(tmp_path, tmp_path / "unknown.onnx", tmp_path / "known.onnx", "--precision", "fp32", "--runs", "5",
                   "--frameworks", "eager,xla", "--json", tmp_path / "times.json", "--taso-bench", bench)
    assert done.returncode == 0, done.stderr
    assert "these are times of a CPU" in done.stdout
    unknown, known = json.loads((tmp_path / "times.json").read_text())["rows"]
    assert "Hardmax" in unknown["times"]["eager"]["failures"][0] and unknown["times"]["before"]["median"] == 1
    assert known["times"]["eager"]["runs"] == known["times"]["xla"]["runs"] == 6  # two rounds of three
    assert known["times"]["xla"]["5_percent"] <= known["times"]["xla"]["median"] <= known["times"]["xla"]["95_percent"]
    assert known["agreement"]["agree"] and known["best_over_before"] > 1


def test_what_takes_too_long_is_ended_and_said(tmp_path):
    pytest.importorskip("torch")
    onnx.save(model_of(*CASES[0]), tmp_path / "model.onnx")
    done = compare(tmp_path, tmp_path / "model.onnx", "--precision", "fp32", "--runs", "2", "--frameworks", "compile",
                   "--layouts", "contiguous", "--compile-limit", "0.01")
    assert "torch.compile: contiguous: not done within" in done.stdout
