"""Outputs, inputs and certificates changed field by field: an accepted model must still be the same model.

Whoever changes a model may change the certificate too, so each certificate matches the files that it is checked with.
"""

import concurrent.futures
import copy
import itertools
import json
import os
import random

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import tampering
from opt_models import floats, model_of, run, save, weight
from test_certificate import hash_of
from test_search import MERGING, RULES, projections


def with_clean_ups():
    """Constants to fold, a batch normalisation, a known shape, an unused node, a branch, and declarations of many
    kinds."""
    generator = np.random.default_rng(2)
    branches = [helper.make_graph([helper.make_node(kind, ["m", "b"], [name])], name, [], [floats(name, [1, 4])],
                                  [weight("b", [1, 2, 3, 4])]) for kind, name in (("Add", "then"), ("Mul", "else"))]
    nodes = [
        helper.make_node("Identity", ["x"], ["i"], name="idle"),
        helper.make_node("Conv", ["i", "w"], ["c"], name="conv", pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["n"], name="norm"),
        helper.make_node("Relu", ["n"], ["r"], name="relu", doc_string="positive"),
        helper.make_node("ReduceMean", ["r"], ["m"], name="mean", axes=[2, 3], keepdims=0),
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["batch"]),
        helper.make_node("Add", ["one", "one"], ["two"]),
        helper.make_node("Mul", ["m", "two"], ["d"]),
        helper.make_node("If", ["choice"], ["f"], then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Add", ["d", "f"], ["y"]),
        helper.make_node("Cast", ["batch"], ["size"], to=TensorProto.INT32),
        helper.make_node("RandomNormalLike", ["d"], ["unused"], name="random"),
        helper.make_node("LeakyRelu", ["unused"], ["unused too"], alpha=0.5),
    ]
    model = model_of(
        nodes, [floats("x", [1, 3, 5, 5]), helper.make_tensor_value_info("choice", TensorProto.BOOL, [])],
        [floats("y", [1, 4]), helper.make_tensor_value_info("size", TensorProto.INT32, [])],
        [weight("w", generator.normal(size=(4, 3, 3, 3))), weight("scale", generator.normal(size=4)),
         weight("bias", generator.normal(size=4)), weight("mean", generator.normal(size=4)),
         weight("variance", generator.uniform(0.1, 3, size=4)), weight("one", [1, 1, 1, 1]),
         numpy_helper.from_array(np.array(0), "zero")],
        opset=17, ir_version=9, value_info=[floats("r", [1, 4, 5, 5]), floats("m", [1, 4])])
    model.metadata_props.add(key="author", value="somebody")
    model.doc_string = "made for tests"
    return model


def with_functions():
    """Two functions of one name with different overloads, and unknown operators."""
    model = model_of([helper.make_node("Scale", ["x"], ["a"], domain="of.ours", overload="twice"),
                      helper.make_node("Scale", ["a"], ["b"], domain="of.ours", overload="thrice"),
                      helper.make_node("Identity", ["b"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
                     [floats("x", [4])], [floats("y", [4])], opset=18, ir_version=10)
    model.opset_import.add(domain="of.ours", version=1)
    for name, factor in (("twice", 2), ("thrice", 3)):
        function = helper.make_function("of.ours", "Scale", ["x"], ["y"],
                                        [helper.make_node("Constant", [], ["f"], value_float=float(factor)),
                                         helper.make_node("Mul", ["x", "f"], ["y"])], [helper.make_opsetid("", 18)])
        function.overload = name
        model.functions.append(function)
    return model


def with_weights_as_inputs():
    """As in models before IR version 4."""
    model = model_of([helper.make_node("Identity", ["x"], ["i"]), helper.make_node("MatMul", ["i", "w"], ["p"]),
                      helper.make_node("Concat", ["p", "p"], ["y"], axis=1)],
                     [floats("x", [2, 3]), floats("w", [3, 2])], [floats("y", [2, 4])],
                     [weight("w", np.arange(6).reshape(3, 2))], opset=8, ir_version=3)
    return model


MODELS = {"merged": (projections, MERGING), "cleaned": (with_clean_ups, ("--budget", "0")),
          "functions": (with_functions, ("--budget", "0")), "old": (with_weights_as_inputs, ("--budget", "0"))}


class Certified:
    """Two models and their certificate in a folder."""

    def __init__(self, name, folder, taso_opt, taso_verify):
        make, options = MODELS[name]
        self.folder, self.taso_verify = folder, taso_verify
        self.rules = ["--rules", folder / "my.rules"] if options == MERGING else []
        (folder / "my.rules").write_text(RULES)
        save(make(), folder / "model.onnx")
        done = run(taso_opt, folder / "model.onnx", "-o", folder / "out.onnx", *options, *self.rules)
        assert done.code == 0 and "rejected" not in done.err, done
        self.before, self.after = (onnx.load(folder / file) for file in ("model.onnx", "out.onnx"))
        self.certificate = json.loads((folder / "out.onnx.cert").read_text())
        assert self.verdict(0, self.before, self.after, self.certificate) == 0

    def verdict(self, number, before, after, certificate):
        """The exit code for the certificate, adapted to these models."""
        files = [self.folder / f"{number}.{kind}" for kind in ("before", "after", "cert")]
        save(before, files[0])
        save(after, files[1])
        certificate = copy.deepcopy(certificate)
        if isinstance(certificate, dict):
            for key, file in (("input", files[0]), ("output", files[1])):
                if certificate.get(key) == self.certificate[key]:
                    certificate[key] = hash_of(file)
        files[2].write_text(json.dumps(certificate))
        done = run(self.taso_verify, "--certificate", files[2], files[0], files[1], *self.rules)
        for file in files:
            file.unlink()
        assert done.code in (0, 3, 5), done
        return done.code


def inputs_for(model):
    generator = np.random.default_rng(3)
    constants = {tensor.name for tensor in model.graph.initializer}
    values = {}
    for one in model.graph.input:
        if one.name in constants:
            continue
        extents = [dim.dim_value or 2 for dim in one.type.tensor_type.shape.dim]
        values[one.name] = (np.array(True) if one.type.tensor_type.elem_type == TensorProto.BOOL
                            else generator.normal(size=extents).astype(np.float32))
    return values


def results(model, feed):
    """The results of ONNX Runtime without optimisations; an exception if it cannot load the model."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"]).run(None, feed)


def by_meaning(model):
    """The model without parts that compute nothing: names of nodes, irrelevant orders, metadata of taso."""
    plain = copy.deepcopy(model)
    kept = [entry for entry in plain.metadata_props if not entry.key.startswith("taso.")]
    del plain.metadata_props[:]
    plain.metadata_props.extend(kept)
    for node in plain.graph.node:
        node.ClearField("name")
        for attribute in node.attribute:
            attribute.ClearField("doc_string")
        attributes = sorted(node.attribute, key=lambda attribute: attribute.name)
        attributes = [copy.deepcopy(attribute) for attribute in attributes]
        del node.attribute[:]
        node.attribute.extend(attributes)
    for kind in ("node", "initializer", "value_info"):
        items = [copy.deepcopy(item) for item in getattr(plain.graph, kind)]
        plain.graph.ClearField(kind)
        getattr(plain.graph, kind).extend(sorted(items, key=lambda item: item.SerializeToString()))
    return plain.SerializeToString()


def same_model(tampered, original, feed, exact):
    """Why an accepted model is the same model; empty if nothing shows it."""
    if by_meaning(tampered) == by_meaning(original):
        return "by construction"
    try:
        onnx.checker.check_model(tampered)
        mine, theirs = results(tampered, feed), results(original, feed)
    except Exception:  # a model that cannot be loaded means nothing
        return "" if exact else "without a meaning"
    same = [np.array_equal(a, b, equal_nan=True) if exact else np.allclose(a, b, rtol=1e-3, atol=1e-5)
            for a, b in zip(mine, theirs, strict=True)]
    return "by running" if all(same) else ""


def campaign(certified, which, chosen):
    """Changes one of the models, each time in several places; returns how often, and why accepted models are the same.
    """
    model = {"output": certified.after, "input": certified.before}[which]
    feed = inputs_for(certified.before)

    def attempt(numbered):
        number, changes = numbered
        changed = copy.deepcopy(model)
        try:
            for step in changes:
                tampering.apply(changed, step)
        except (ValueError, TypeError, IndexError):  # the field cannot have this value, or the place no longer exists
            return None
        if changed.SerializeToString() == model.SerializeToString():
            return None
        pair = (certified.before, changed) if which == "output" else (changed, certified.after)
        return " and ".join(map(tampering.describe, changes)), changed, certified.verdict(number, *pair,
                                                                                          certified.certificate)

    tried, accepted = 0, {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for outcome in filter(None, pool.map(attempt, enumerate(chosen))):
            said, changed, code = outcome
            tried += 1
            if code != 0:
                continue
            reason = same_model(changed, certified.after, feed, which == "output")
            assert reason, f"accepted: {which} {said}"
            accepted.setdefault(reason, []).append(said)
    return tried, accepted


def some(steps, count):
    steps = list(steps)
    return steps if count is None or len(steps) <= count else random.Random(4).sample(steps, count)


def changes_of(json_value, path=()):
    """Every place of a certificate with other contents."""
    if isinstance(json_value, dict):
        for key in json_value:
            yield path, "delete", key
            yield from changes_of(json_value[key], (*path, key))
        yield path, "add", "odd"
    elif isinstance(json_value, list):
        for index in range(len(json_value)):
            yield path, "delete", index
            yield path, "repeat", index
            if index + 1 < len(json_value) and json_value[index] != json_value[index + 1]:
                yield path, "exchange", index
            yield from changes_of(json_value[index], (*path, index))
    else:
        for other in (None, "", "odd", -1, 0, 1, 7, [], {}, *([json_value + 1] if isinstance(json_value, int) else [])):
            if type(other) is not type(json_value) or other != json_value:
                yield path, "put", other


def tampered_certificate(certificate, step):
    path, what, value = step
    changed = copy.deepcopy(certificate)
    place = changed
    for part in path[:-1] if what == "put" else path:
        place = place[part]
    if what == "put":
        place[path[-1]] = value
    elif what == "delete":
        del place[value]
    elif what == "add":
        place[value] = 1
    elif what == "repeat":
        place.append(place[value])
    else:
        place[value], place[value + 1] = place[value + 1], place[value]
    return changed


# Parts of a certificate that may differ: the models stay, and one still follows from the other.
MAY_DIFFER = ("version", "names", "clean_ups_after", "rules", "fold_limit", "disabled_passes", "steps",
              "input_shapes")


def certificate_campaign(certified, count):
    """Both models stay unchanged, so that no acceptance is wrong; returns how many were tried and which were accepted.
    """
    tried, accepted = 0, []
    for number, step in enumerate(some(changes_of(certified.certificate), count)):
        tried += 1
        if certified.verdict(number, certified.before, certified.after,
                             tampered_certificate(certified.certificate, step)) == 0:
            accepted.append(step)
            assert step[0] and step[0][0] in MAY_DIFFER, f"accepted: certificate {step}"
    return tried, accepted


@pytest.mark.parametrize("name", MODELS)
def test_some_tamperings(name, taso_opt, taso_verify, tmp_path):
    certified = Certified(name, tmp_path, taso_opt, taso_verify)
    for which, model in (("output", certified.after), ("input", certified.before)):
        tried, _ = campaign(certified, which, zip(some(tampering.steps(model), 40 if which == "output" else 20)))
        assert tried > 10


@pytest.mark.full
@pytest.mark.parametrize("name", MODELS)
def test_all_tamperings(name, taso_opt, taso_verify, tmp_path):
    certified = Certified(name, tmp_path, taso_opt, taso_verify)
    single = list(tampering.steps(certified.after))
    source = random.Random(6)
    pairs = [source.sample(single, 2) for _ in range(600)]
    for which, changes in (("output", zip(single)), ("output", pairs),
                           ("input", zip(tampering.steps(certified.before)))):
        tried, accepted = campaign(certified, which, changes)
        print(f"\n{name}: {which}: {tried} tamperings, accepted {({why: len(list) for why, list in accepted.items()})}")
        for line in itertools.chain(accepted.get("by running", [])):
            print("   ", line)
    tried, accepted = certificate_campaign(certified, None)
    print(f"{name}: certificate: {tried} tamperings, accepted {len(accepted)}")
