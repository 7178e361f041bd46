"""taso-opt --allow-onnxruntime-operators: attention as the operator that only ONNX Runtime has for it.

Where it is faster is decided by a pretended ONNX Runtime; whether it computes the same, by the real one.
"""

import hashlib
import json
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from opt_models import floats, model_of, operators, run, save
from test_target import HERE, script

BATCH, LENGTH, HEADS, SIZE, KEYS = 2, 6, 3, 4, 5
FASTER, SLOWER = "100 80 80", "100 120 120"
HEADS_APART = [BATCH, HEADS, KEYS, SIZE]


class Attention:
    """The nodes of an attention, part by part; each part is written in the way that is asked for."""

    def __init__(self):
        self.nodes, self.inputs, self.constants = [], [], []

    def add(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def number(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def input(self, name, shape):
        self.inputs.append(floats(name, shape))
        return name

    def turned(self, name, length, order=(0, 2, 1, 3)):
        """A packed input with its heads apart."""
        self.input(name, [BATCH, length, HEADS * SIZE])
        shape = self.number(f"{name}_shape", np.array([BATCH, length, HEADS, SIZE]))
        return self.add("Transpose", [self.add("Reshape", [name, shape], f"{name}_heads")], f"{name}_turned",
                        perm=list(order))

    def scaled(self, value, factor, by="Mul"):
        number = self.number(f"{value}_factor", np.float32(factor))
        return self.add(by, [value, number], f"{value}_scaled")

    def queries(self, form):
        if form == "packed":
            return self.turned("q", LENGTH)
        if form == "scaled":
            return self.scaled(self.turned("q", LENGTH), SIZE ** -0.25)
        cosine = self.number("cosine", np.random.default_rng(1).normal(size=(1, 1, LENGTH, SIZE)).astype("f"))
        return self.add("Mul", [self.turned("q", LENGTH), cosine], "q_rotated")  # as a rotation leaves it: apart

    def keys(self, form):
        if form == "packed":
            return self.turned("k", KEYS, (0, 2, 3, 1))
        if form == "through views":  # as PyTorch writes it
            turned = self.turned("k", KEYS)
            flat = self.number("k_flat", np.array([BATCH * HEADS, KEYS, SIZE]))
            back = self.number("k_back", np.array([BATCH, HEADS, SIZE, KEYS]))
            both = self.add("Transpose", [self.add("Reshape", [turned, flat], "k_3")], "k_3_turned", perm=[0, 2, 1])
            return self.scaled(self.add("Reshape", [both, back], "k_t"), SIZE ** -0.25)
        if form == "apart":
            return self.add("Transpose", [self.input("k", HEADS_APART)], "k_t", perm=[0, 1, 3, 2])
        return self.turned("k", KEYS, (0, 2, 1, 3) if SIZE == KEYS else (0, 3, 2, 1))  # something else

    def model(self, q="packed", k="packed", v="packed", scale="Mul", mask=None, axis=-1, last=(0, 2, 1, 3), opset=17):
        queries, keys = self.queries(q), self.keys(k)
        values = self.turned("v", KEYS) if v == "packed" else self.input("v", HEADS_APART)
        scores = self.add("MatMul", [queries, keys], "scores")
        if scale:
            scores = self.scaled(scores, {"Mul": SIZE ** -0.5, "Div": SIZE ** 0.5}[scale], scale)
        if mask:
            scores = self.add("Add", [scores, self.input("mask", mask)], "masked")
        weights = self.add("Softmax", [scores], "weights", axis=axis)
        result = self.add("MatMul", [weights, values], "attended")
        self.number("packed_shape", np.array([BATCH, LENGTH, HEADS * SIZE]))
        self.add("Reshape", [self.add("Transpose", [result], "turned", perm=list(last)), "packed_shape"], "packed")
        self.add("Relu", ["packed"], "y")
        return model_of(self.nodes, self.inputs, [floats("y", [BATCH, LENGTH, HEADS * SIZE])], self.constants, opset)


@pytest.fixture
def pretended(tmp_path):
    return script(tmp_path / "pretended", f'exec "{sys.executable}" "{HERE / "pretended_runtime.py"}" "$@"\n')


@pytest.fixture
def optimise(taso_opt, tmp_path, pretended, monkeypatch):
    def optimise(model, *arguments, turns=FASTER):
        monkeypatch.setenv("PRETENDED_TURNS", turns)
        save(model, tmp_path / "model.onnx")
        done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--force", "--target",
                   "onnxruntime", "--runtime-threads", "1", "--python", pretended, "--prices", tmp_path / "prices",
                   "--budget", "0", "--report", tmp_path / "report.json", *arguments)
        return done, tmp_path / "out.onnx"
    return optimise


def results(path, feeds):
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, feeds)


def random_feeds(model):
    random = np.random.default_rng(2)
    return {one.name: random.normal(size=[dim.dim_value for dim in one.type.tensor_type.shape.dim]).astype("f")
            for one in model.graph.input}


@pytest.mark.parametrize("forms", [
    {}, {"scale": "Div"}, {"scale": None}, {"q": "scaled", "k": "through views", "scale": None},
    {"q": "scaled", "k": "through views"}, {"k": "through views", "v": "packed", "scale": None},
    {"k": "apart"}, {"k": "apart", "v": "apart"}, {"q": "rotated"},
    {"q": "rotated", "k": "apart", "v": "apart", "scale": "Div"},
    {"mask": [1, 1, LENGTH, KEYS]}, {"mask": [BATCH, HEADS, LENGTH, KEYS], "k": "apart", "v": "apart"},
], ids=str)
def test_attention_becomes_one_operator_that_computes_the_same(optimise, taso_verify, tmp_path, forms):
    model = Attention().model(**forms)
    done, out = optimise(model, "--allow-onnxruntime-operators")
    assert done.code == 0 and "rejected" not in done.err, done.err
    assert operators(out).count("MultiHeadAttention") == 1 and "Softmax" not in operators(out)
    written = onnx.load(out)
    onnx.checker.check_model(written)
    used = {name for node in written.graph.node for name in node.input}
    assert {one.name for one in written.graph.initializer} <= used
    assert [one.domain for one in written.opset_import].count("com.microsoft") == 1
    feeds = random_feeds(model)
    for one, other in zip(results(tmp_path / "model.onnx", feeds), results(out, feeds)):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    checked = run(taso_verify, "--certificate", f"{out}.cert", tmp_path / "model.onnx", out)
    assert checked.code == 0, checked.err
    told = json.loads((tmp_path / "report.json").read_text())["in_runtime"]["own_operators"]
    assert [(one["operator"], one["places"], one["used"]) for one in told] == [("MultiHeadAttention", 1, True)]
    assert "MultiHeadAttention at 1 place" in done.err


def test_models_with_it_are_checked_as_a_whole(optimise, taso_opt, tmp_path):
    _, out = optimise(Attention().model(scale="Div"), "--allow-onnxruntime-operators")
    report = tmp_path / "again.json"
    done = run(taso_opt, out, "-o", tmp_path / "again.onnx", "--force", "--budget", "0", "--report", report)
    assert done.code == 0, done
    assert json.loads(report.read_text())["check"]["scope"] in ("whole", "unchanged")
    model = onnx.load(out)
    model.graph.node.insert(0, onnx.helper.make_node("Identity", [model.graph.input[0].name], ["same"]))
    for node in list(model.graph.node)[1:]:
        for i, name in enumerate(node.input):
            if name == model.graph.input[0].name:
                node.input[i] = "same"
    onnx.save(model, tmp_path / "more.onnx")
    done = run(taso_opt, tmp_path / "more.onnx", "-o", tmp_path / "again.onnx", "--force", "--budget", "0",
               "--report", report)
    check = json.loads(report.read_text())["check"]
    assert done.code == 0 and check["scope"] == "whole" and check["tensors"] > 0, (done, check)


@pytest.mark.parametrize("forms", [
    {"mask": [1, 1, 1, KEYS]}, {"mask": [LENGTH, KEYS]}, {"axis": 2}, {"last": (0, 1, 2, 3)}, {"v": "apart"},
    {"opset": 12, "axis": 1}, {"k": "something else"},
], ids=str)
def test_what_it_does_not_compute_stays(optimise, forms):
    try:
        model = Attention().model(**forms)
        onnx.shape_inference.infer_shapes(model, strict_mode=True)
    except onnx.shape_inference.InferenceError:
        pytest.skip("not a model")
    done, out = optimise(model, "--allow-onnxruntime-operators")
    assert done.code == 0, done.err
    assert "Softmax" in operators(out) and "MultiHeadAttention" not in operators(out)


def test_only_where_it_is_faster(optimise):
    done, out = optimise(Attention().model(), "--allow-onnxruntime-operators", turns=SLOWER)
    assert done.code == 0 and "so it is not used" in done.err, done.err
    assert "Softmax" in operators(out)


def test_never_without_being_asked(optimise, tmp_path):
    done, out = optimise(Attention().model())
    assert done.code == 0 and "Softmax" in operators(out), done.err
    assert json.loads((tmp_path / "report.json").read_text())["in_runtime"]["own_operators"] == []


def test_two_layers_of_one_form_are_measured_once(optimise, tmp_path, monkeypatch):
    first, second = Attention().model(), Attention().model()
    for node in second.graph.node:
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = "projected" if name == "q" else f"{name}_2"
        node.name = ""
    for tensor in second.graph.initializer:
        tensor.name += "_2"
    nodes = [*first.graph.node, helper.make_node("MatMul", ["y", "w"], ["projected"]), *second.graph.node]
    projection = numpy_helper.from_array(np.eye(HEADS * SIZE, dtype="f"), "w")
    inputs = [floats(name, [BATCH, length, HEADS * SIZE])
              for name, length in (("q", LENGTH), ("k", KEYS), ("v", KEYS), ("k_2", KEYS), ("v_2", KEYS))]
    model = model_of(nodes, inputs, [floats("y_2", [BATCH, LENGTH, HEADS * SIZE])],
                     [*first.graph.initializer, *second.graph.initializer, projection], 17)
    monkeypatch.setenv("PRETENDED_LOG", str(tmp_path / "log"))
    done, out = optimise(model, "--allow-onnxruntime-operators")
    assert operators(out).count("MultiHeadAttention") == 2, done.err
    assert "MultiHeadAttention at 2 places" in done.err
    # Once the model as it is, two small models three times, and both models four times.
    assert (tmp_path / "log").read_text().split().count("turns") == 1 + 3 + 4


@pytest.mark.parametrize("arguments, told", [
    ([], "need --target onnxruntime"),
    (["--target", "onnxruntime", "--no-measuring"], "which --no-measuring forbids"),
])
def test_options_that_do_not_fit(taso_opt, tmp_path, arguments, told):
    save(Attention().model(), tmp_path / "model.onnx")
    done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--allow-onnxruntime-operators",
               *arguments)
    assert done.code == 2 and told in done.err


def fused(model):
    return next(node for node in model.graph.node if node.op_type == "MultiHeadAttention")


def set_attribute(name, value):
    def change(model):
        attribute = next(one for one in fused(model).attribute if one.name == name)
        attribute.CopyFrom(helper.make_attribute(name, value))
    return change


def exchange(first, second):
    def change(model):
        names = fused(model).input
        names[first], names[second] = names[second], names[first]
    return change


def append_attribute(name, value):
    return lambda model: fused(model).attribute.append(helper.make_attribute(name, value))


@pytest.mark.parametrize("change", [
    set_attribute("num_heads", 4), set_attribute("scale", 0.7), exchange(1, 2), exchange(0, 1),
    append_attribute("unidirectional", 1), append_attribute("mask_filter_value", -1.0),
    lambda model: fused(model).input.pop(), lambda model: fused(model).input.append("v"),
    lambda model: setattr(fused(model), "domain", "com.example"),
    lambda model: model.opset_import.append(helper.make_opsetid("com.example", 1)),
    lambda model: setattr(next(one for one in model.opset_import if one.domain), "version", 2),
], ids=range(11))
def test_another_operator_in_its_place_is_refused(optimise, taso_verify, tmp_path, change):
    model = Attention().model(mask=[1, 1, LENGTH, KEYS])
    done, out = optimise(model, "--allow-onnxruntime-operators")
    certificate = f"{out}.cert"
    written = onnx.load(out)
    change(written)
    tampered = save(written, tmp_path / "tampered.onnx")
    # The hash of the output is that of the file; what remains is that the operator computes the same.
    text = json.loads(open(certificate).read())
    hashed = run(taso_verify, "--certificate", certificate, tmp_path / "model.onnx", tampered)
    assert hashed.code != 0
    text["output"] = hash_of(tampered)
    (tmp_path / "tampered.cert").write_text(json.dumps(text))
    done = run(taso_verify, "--certificate", tmp_path / "tampered.cert", tmp_path / "model.onnx", tampered)
    assert done.code in (4, 5, 3) and "hash" not in done.err.lower(), (done.code, done.out, done.err)


def hash_of(path):
    """As in certificates: without what taso says of the model."""
    model = onnx.load(path)
    others = [entry for entry in model.metadata_props if not entry.key.startswith("taso.")]
    del model.metadata_props[:]
    model.metadata_props.extend(others)
    return hashlib.sha256(model.SerializeToString()).hexdigest()
