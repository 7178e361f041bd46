"""taso-opt with a search: rules are proved first, and results are written only if they are checked."""

import json
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from opt_models import floats, model_of, operators, run, save, weight

RULES = """taso rules 1

rule shared-left-factor
  matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))
  where rank(x) = 2, rank(y) = 2, rank(z) = 2

rule relu-twice
  relu(relu(x)) => relu(x)
"""


def projections(shape=(16, 8)):
    """Three products of one input; the nodes before and after have documentation, which must stay."""
    random = np.random.default_rng(1)
    weights = [numpy_helper.from_array(random.standard_normal((shape[1], 4)).astype(np.float32), name)
               for name in "qkv"]
    nodes = [helper.make_node("Tanh", ["x"], ["t"], name="first", doc_string="before")]
    nodes += [helper.make_node("MatMul", ["t", name], ["p" + name], name="product " + name) for name in "qkv"]
    nodes += [helper.make_node("Softmax", ["p" + name], ["r" + name], name="last " + name, doc_string="after")
              for name in "qkv"]
    return helper.make_model(
        helper.make_graph(nodes, "projections",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                          [helper.make_tensor_value_info("r" + name, TensorProto.FLOAT, [shape[0], 4])
                           for name in "qkv"],
                          initializer=weights),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


# Merged products are faster sequentially; concurrently, separate ones may be as fast.
MERGING = ("--budget", "50", "--lanes", "1")


@pytest.fixture
def model(tmp_path):
    return save(projections(), tmp_path / "model.onnx")


@pytest.fixture
def rules(tmp_path, taso_verify):  # which exists only in builds with a prover
    (tmp_path / "my.rules").write_text(RULES)
    return tmp_path / "my.rules"


def test_a_weight_that_the_model_makes_keeps_no_others_from_being_merged(taso_opt, rules, tmp_path):
    """Merging it with the others would take a Concat that stays in the model, so only this one is left out."""
    made = projections()
    weight = next(one for one in made.graph.initializer if one.name == "k")
    small = np.clip(np.rint(numpy_helper.to_array(weight) * 32), -127, 127).astype(np.int8)
    made.graph.initializer.remove(weight)
    made.graph.initializer.extend([numpy_helper.from_array(small, "small"),
                                   numpy_helper.from_array(np.float32(1 / 32), "scale")])
    made.graph.node.insert(0, helper.make_node("DequantizeLinear", ["small", "scale"], ["k"]))
    model = save(made, tmp_path / "made.onnx")
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", *MERGING, "--rules", rules)
    assert done.code == 0, done
    assert done.err.splitlines()[-1] == "PASSED"
    counts = [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node]
    assert counts.count("MatMul") == 2 and counts.count("Concat") == 0 and counts.count("DequantizeLinear") == 1


def test_products_are_merged_checked_and_written(taso_opt, model, rules, tmp_path):
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", *MERGING, "--rules", rules,
               "--report", tmp_path / "report.json")
    assert done.code == 0, done
    assert done.err.splitlines()[-1] == "PASSED"
    assert re.search(r"^shared-left-factor +2 +[\d.]+ µs$", done.err, re.MULTILINE)
    assert "nothing is left to try" in done.err
    after = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(after, full_check=True)
    counts = [node.op_type for node in after.graph.node]
    assert counts.count("MatMul") == 1 and counts.count("Concat") == 0
    assert sorted(node.name for node in after.graph.node if node.doc_string) == ["first", "last k", "last q", "last v"]
    assert len(after.graph.initializer) >= 1 and sum(np.prod(weight.dims) for weight in after.graph.initializer) < 110
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["search"]["applied"][0]["rule"] == "shared-left-factor"
    assert report["search"]["cost"]["after"] < report["search"]["cost"]["before"]
    for model_is in ("before", "after"):
        assert report[model_is]["predicted"]["seconds"] == pytest.approx(report["search"]["cost"][model_is])
    assert [report[model_is]["predicted"]["kernels"] for model_is in ("before", "after")] == [7, 5]
    assert sum(rule["saved"] for rule in report["search"]["applied"]) == pytest.approx(
        report["search"]["cost"]["before"] - report["search"]["cost"]["after"])
    assert list(report["seconds"]) == ["load", "rules", "clean-up", "search", "check", "replay", "save"]
    assert re.search(r"^time: load [\d.]+ s, rules .* save [\d.]+ s$", done.err, re.MULTILINE)
    metadata = {entry.key: entry.value for entry in after.metadata_props}
    assert float(metadata["taso.cost.after"]) < float(metadata["taso.cost.before"]) and metadata["taso.rules"]
    again = run(taso_opt, model, "-o", tmp_path / "again.onnx", *MERGING, "--rules", rules, "--jobs", "1")
    assert again.code == 0 and (tmp_path / "again.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()


def test_onnxruntime_agrees(taso_opt, model, rules, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    assert run(taso_opt, model, "-o", tmp_path / "out.onnx", *MERGING, "--rules", rules).code == 0
    data = {"x": np.random.default_rng(2).standard_normal((16, 8)).astype(np.float32)}
    before, after = (runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, data)
                     for path in (model, tmp_path / "out.onnx"))
    for a, b in zip(before, after):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_pad_by_minus_infinity_is_kept(taso_opt, tmp_path):
    """Proofs are about real numbers, so no rule touches it; the model around it is rewritten and right."""
    onnxruntime = pytest.importorskip("onnxruntime")
    random = np.random.default_rng(3)
    nodes = [helper.make_node("MatMul", ["x", "a"], ["xa"]), helper.make_node("MatMul", ["x", "b"], ["xb"]),
             helper.make_node("Add", ["xa", "xb"], ["sum"]), helper.make_node("Relu", ["sum"], ["r"]),
             helper.make_node("Pad", ["r", "pads", "low"], ["p"]), helper.make_node("Max", ["p", "p"], ["y"])]
    weights = [weight(name, random.normal(size=(64, 64)) / 8) for name in "ab"]
    weights += [numpy_helper.from_array(np.array([0, 1, 0, 1], dtype=np.int64), "pads"),
                weight("low", np.float32(-np.inf))]
    path = tmp_path / "model.onnx"
    onnx.save(model_of(nodes, [floats("x", [64, 64])], [floats("y", [64, 66])], weights), path)
    done = run(taso_opt, path, "-o", tmp_path / "out.onnx")
    assert done.code == 0 and done.err.splitlines()[-1] == "PASSED"
    kinds = [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node]
    assert kinds.count("MatMul") == 1 and kinds.count("Pad") == 1
    x = random.normal(size=(64, 64)).astype(np.float32)
    before, after = (onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
                     for file in (path, tmp_path / "out.onnx"))
    assert np.isneginf(after[:, [0, -1]]).all()
    np.testing.assert_allclose(before, after, rtol=1e-4, atol=1e-4)


def test_nothing_faster_is_a_good_ending(taso_opt, model, rules, tmp_path):
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", *MERGING, "--rules", rules,
               "--disable-rule", "shared-left-factor")
    assert done.code == 0 and done.err.splitlines()[-1] == "no faster graph found"
    assert operators(tmp_path / "out.onnx") == operators(model)


def test_a_false_rule_is_refused(taso_opt, model, rules, tmp_path):
    rules.write_text(RULES + "\nrule wrong\n  relu(matmul(x, y)) => matmul(relu(x), y)\n")
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", *MERGING, "--rules", rules)
    assert done.code == 5 and "'wrong' is refuted" in done.err
    assert not (tmp_path / "out.onnx").exists()
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", *MERGING, "--rules", rules, "--disable-rule", "wrong")
    assert done.code == 0 and re.search("^shared-left-factor +2 ", done.err, re.MULTILINE)


def test_rules_that_are_none(taso_opt, model, rules, tmp_path):
    rules.write_text("taso rules 1\n\naxiom a\n  add(x, y) = add(y, x)\n")
    assert run(taso_opt, model, "--dry-run", "--budget", "5", "--rules", rules).code == 3
    rules.write_text("no rules\n")
    assert run(taso_opt, model, "--dry-run", "--budget", "5", "--rules", rules).code == 3
    assert run(taso_opt, model, "--dry-run", "--budget", "5", "--rules", tmp_path / "missing.rules").code == 3
    rules.write_text(RULES)
    done = run(taso_opt, model, "--dry-run", "--budget", "5", "--rules", rules, "--disable-rule", "missing")
    assert done.code == 2 and "missing" in done.err


def test_unknown_dimensions_are_kept(taso_opt, rules, tmp_path):
    model = save(projections(("N", 8)), tmp_path / "model.onnx")
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", "--budget", "50", "--rules", rules)
    assert done.code == 0 and re.search("^shared-left-factor +2 ", done.err, re.MULTILINE), done
    after = onnx.load(tmp_path / "out.onnx")
    assert after.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"


@pytest.mark.parametrize("scaled", [("q", "s"), ("s", "q")])
def test_a_number_moves_behind_the_product_where_it_is_merged(taso_opt, tmp_path, scaled):
    """As in attention: queries times one number, then times keys."""
    shapes = {"q": [2, 4, 32, 16], "k": [2, 4, 16, 32], "y": [2, 4, 32, 32]}
    info = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    nodes = [helper.make_node("Mul", scaled, ["scaled"]), helper.make_node("MatMul", ["scaled", "k"], ["y"])]
    made = helper.make_model(helper.make_graph(nodes, "attention", [info["q"], info["k"]], [info["y"]],
                                               initializer=[numpy_helper.from_array(np.float32(0.3), "s")]),
                             opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    done = run(taso_opt, save(made, tmp_path / "model.onnx"), "-o", tmp_path / "out.onnx", "--report",
               tmp_path / "r.json")
    assert done.code == 0 and done.err.splitlines()[-1] == "PASSED", done
    report = json.loads((tmp_path / "r.json").read_text())
    assert [report[model_is]["predicted"]["kernels"] for model_is in ("before", "after")] == [2, 1], done.err
    after = onnx.load(tmp_path / "out.onnx")
    assert [node.op_type for node in after.graph.node] == ["MatMul", "Mul"]


def test_nothing_is_written_that_is_only_longer(taso_opt, tmp_path):
    """Weights computed by nodes: folding a batch norm into them costs nothing in a plan, but takes more nodes."""
    def filled(name, shape, value):
        return helper.make_node("ConstantOfShape", [shape], [name],
                                value=helper.make_tensor("value", TensorProto.FLOAT, [1], [value]))

    nodes = [filled("w", "filters", 0.5), *(filled(name, "channels", value) for name,
                                            value in zip("sbmv", (0.5, 1, 0.1, 2))),
             helper.make_node("Conv", ["x", "w"], ["c"]),
             helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"])]
    shapes = [numpy_helper.from_array(np.array(shape, dtype=np.int64), name)
              for name, shape in (("filters", [64, 3, 1, 1]), ("channels", [64]))]
    info = helper.make_tensor_value_info
    model = helper.make_model(helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                                                [info("y", TensorProto.FLOAT, [1, 64, 8, 8])], initializer=shapes),
                              opset_imports=[helper.make_opsetid("", 9)], ir_version=8)
    done = run(taso_opt, save(model, tmp_path / "model.onnx"), "-o", tmp_path / "out.onnx", "--report",
               tmp_path / "r.json",
               "--disable-pass", "constant-folding", "--disable-pass", "batch-norm")
    assert done.code == 0, done
    report = json.loads((tmp_path / "r.json").read_text())
    before, after = (report[model_is] for model_is in ("before", "after"))
    assert after["nodes"] <= before["nodes"] or after["predicted"]["seconds"] < before["predicted"]["seconds"], done.err
