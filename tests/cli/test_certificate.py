"""The certificate that taso-opt writes, and taso-verify follows: from the model that was read to the one that was written."""

import hashlib
import json
import random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from opt_models import run, save
from test_search import projections, rules  # noqa: F401: a fixture


@pytest.fixture
def certified(taso_opt, rules, tmp_path):  # noqa: F811
    """Two models and the certificate between them."""
    save(projections(), tmp_path / "model.onnx")
    done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--budget", "50", "--rules", rules)
    assert done.code == 0, done
    assert "certificate" in done.err
    return tmp_path


def verify(taso_verify, folder, certificate="out.onnx.cert", before="model.onnx", after="out.onnx", rules="my.rules"):
    return run(taso_verify, "--certificate", folder / certificate, folder / before, folder / after,
               *(["--rules", folder / rules] if rules else []))


def hash_of(file):
    """What a certificate calls a model by."""
    model = onnx.load(file, load_external_data=False)
    kept = [entry for entry in model.metadata_props if not entry.key.startswith("taso.")]
    del model.metadata_props[:]
    model.metadata_props.extend(kept)
    return hashlib.sha256(model.SerializeToString()).hexdigest()


def test_a_certificate_is_written_and_accepted(taso_verify, certified):
    certificate = json.loads((certified / "out.onnx.cert").read_text())
    assert certificate["schema_version"] == 1
    assert certificate["input"] == hash_of(certified / "model.onnx")
    assert certificate["output"] == hash_of(certified / "out.onnx")
    assert [step["rule"] for step in certificate["steps"]] == ["shared-left-factor"] * 2
    assert ["pq"] == [name for number, name in certificate["names"] if name == "pq"]
    metadata = {entry.key: entry.value for entry in onnx.load(certified / "out.onnx").metadata_props}
    assert metadata["taso.certificate"] == ".cert"
    assert metadata["taso.rules"] == certificate["rules"]
    done = verify(taso_verify, certified)
    assert done.code == 0, done
    assert done.err.splitlines()[-1] == "ACCEPTED"


def test_it_is_the_same_at_any_number_of_jobs(taso_opt, certified):
    first = (certified / "out.onnx.cert").read_bytes()
    done = run(taso_opt, certified / "model.onnx", "-o", certified / "out.onnx", "--budget", "50", "--rules",
               certified / "my.rules", "--jobs", "3")
    assert done.code == 0
    assert (certified / "out.onnx.cert").read_bytes() == first


def test_other_metadata_is_not_part_of_it(taso_verify, certified):
    model = onnx.load(certified / "out.onnx")
    for entry in model.metadata_props:
        entry.value = "something else"
    onnx.save(model, certified / "out.onnx")
    assert verify(taso_verify, certified).code == 0


def test_another_model_is_rejected(taso_verify, certified):
    done = verify(taso_verify, certified, after="model.onnx")
    assert done.code == 5 and "is not the output" in done.err, done
    done = verify(taso_verify, certified, before="out.onnx")
    assert done.code == 5 and "is not the input" in done.err, done


def test_other_rules_are_rejected(taso_verify, certified):
    done = verify(taso_verify, certified, rules=None)
    assert done.code == 5 and "other rules" in done.err, done
    (certified / "other.rules").write_text("taso rules 1\n\nrule relu-twice\n  relu(relu(x)) => relu(x)\n")
    assert verify(taso_verify, certified, rules="other.rules").code == 5


def test_a_rule_that_is_not_true_is_rejected(taso_verify, certified):
    (certified / "wrong.rules").write_text("taso rules 1\n\nrule shared-left-factor\n  relu(x) => sigmoid(x)\n")
    certificate = json.loads((certified / "out.onnx.cert").read_text())
    done = verify(taso_verify, certified, rules="wrong.rules")
    said = done.err[done.err.index("these are ") + len("these are "):].split(")")[0]
    certificate["rules"] = said
    (certified / "out.onnx.cert").write_text(json.dumps(certificate))
    done = verify(taso_verify, certified, rules="wrong.rules")
    assert done.code == 5 and "refuted" in done.err, done


def test_a_weight_that_was_changed_is_named(taso_verify, certified):
    model = onnx.load(certified / "out.onnx")
    weight = next(tensor for tensor in model.graph.initializer if tensor.data_type == TensorProto.FLOAT)
    values = numpy_helper.to_array(weight).copy()
    values[0, 0] += 1e-6
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    onnx.save(model, certified / "out.onnx")
    assert verify(taso_verify, certified).code == 5
    # Whoever changes a model may change the certificate too.
    certificate = json.loads((certified / "out.onnx.cert").read_text())
    certificate["output"] = hash_of(certified / "out.onnx")
    (certified / "out.onnx.cert").write_text(json.dumps(certificate))
    done = verify(taso_verify, certified)
    assert done.code == 5, done
    assert f"'{weight.name}' of the output: its numbers are others" in done.err, done


def test_the_step_that_is_wrong_is_named(taso_verify, certified):
    certificate = json.loads((certified / "out.onnx.cert").read_text())
    certificate["steps"][1]["inputs"]["y"] += 1
    (certified / "out.onnx.cert").write_text(json.dumps(certificate))
    done = verify(taso_verify, certified)
    assert done.code == 5 and "step 2 (rule 'shared-left-factor')" in done.err, done


def test_damaged_files_end_with_a_word(taso_verify, certified):
    text = (certified / "out.onnx.cert").read_bytes()
    source = random.Random(1)
    for trial in range(30):
        if trial % 2:
            damaged = text[:source.randrange(len(text) - 2)]
        else:
            damaged = bytearray(text)
            for _ in range(4):
                damaged[source.randrange(len(text))] = source.randrange(256)
        (certified / "damaged.cert").write_bytes(bytes(damaged))
        done = verify(taso_verify, certified, certificate="damaged.cert")
        assert done.code in (3, 5), (done, damaged)
        assert len(done.err.splitlines()) <= 2
    assert verify(taso_verify, certified, certificate="missing.cert").code == 3
    assert verify(taso_verify, certified, certificate=".").code == 3


def test_what_the_command_line_must_say(taso_verify, certified):
    certificate = certified / "out.onnx.cert"
    assert run(taso_verify, "--certificate", certificate, certified / "model.onnx").code == 2
    assert run(taso_verify, "--rules", certified / "my.rules", certified / "my.rules").code == 2
    assert run(taso_verify, "--certificate", certificate, certified / "model.onnx", certified / "out.onnx",
               "--properties-only").code == 2


def test_none_is_written_where_none_is_wanted(taso_opt, certified):
    command = [taso_opt, certified / "model.onnx", "-o", certified / "out.onnx", "--budget", "0", "--no-certificate"]
    done = run(*command)
    assert done.code == 0 and "out.onnx.cert is of an earlier run" in done.err
    (certified / "out.onnx.cert").unlink()
    done = run(*command)
    assert done.code == 0 and "earlier run" not in done.err
    assert not (certified / "out.onnx.cert").exists()
    assert "taso.certificate" not in [entry.key for entry in onnx.load(certified / "out.onnx").metadata_props]


def test_clean_ups_alone_have_a_certificate(taso_opt, taso_verify, tmp_path):
    nodes = [helper.make_node("Identity", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Add", ["c", "c"], ["d"]), helper.make_node("Add", ["b", "d"], ["y"]),
             helper.make_node("Relu", ["x"], ["unused"])]
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])],
                              initializer=[numpy_helper.from_array(np.arange(4, dtype=np.float32), "c")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")
    for options in ([], ["--disable-pass", "constant-folding"], ["--overwrite-input-shape", "x:3,4"], ["--embed"],
                    ["--external-data"]):
        done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--budget", "0", *options)
        assert done.code == 0, done
        done = verify(taso_verify, tmp_path, rules=None)
        assert done.code == 0, (options, done)
    certificate = json.loads((tmp_path / "out.onnx.cert").read_text())
    assert ["identity", "a"] in certificate["clean_ups"] and certificate["steps"] == []
    certificate["clean_ups"].pop()
    (tmp_path / "out.onnx.cert").write_text(json.dumps(certificate))
    assert verify(taso_verify, tmp_path, rules=None).code == 5
