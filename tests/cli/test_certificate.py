"""The certificate that taso-opt writes and taso-verify replays, from the model that was read to the written one."""

import hashlib
import json
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import opt_models as models
from opt_models import run, save
from test_search import MERGING, projections, rules  # noqa: F401: a fixture


@pytest.fixture
def certified(taso_opt, rules, tmp_path):  # noqa: F811
    """Two models and the certificate between them."""
    save(projections(), tmp_path / "model.onnx")
    done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", *MERGING, "--rules", rules)
    assert done.code == 0, done
    assert "certificate" in done.err
    return tmp_path


def verify(taso_verify, folder, certificate="out.onnx.cert", before="model.onnx", after="out.onnx", rules="my.rules"):
    return run(taso_verify, "--certificate", folder / certificate, folder / before, folder / after,
               *(["--rules", folder / rules] if rules else []))


def hash_of(file):
    """The hash by which a certificate identifies a model."""
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
    done = run(taso_opt, certified / "model.onnx", "-o", certified / "out.onnx", *MERGING, "--rules",
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
    assert f"'{weight.name}' of the output: its numbers differ" in done.err, done


def forge_output(folder, change):
    """Another output, with a certificate for it."""
    model = onnx.load(folder / "out.onnx")
    change(model)
    onnx.save(model, folder / "out.onnx")
    certificate = json.loads((folder / "out.onnx.cert").read_text())
    certificate["output"] = hash_of(folder / "out.onnx")
    (folder / "out.onnx.cert").write_text(json.dumps(certificate))


def test_attributes_that_onnx_does_not_know_are_rejected(taso_verify, certified):
    def change(model):
        split = next(node for node in model.graph.node if node.op_type == "Split")
        split.attribute.append(helper.make_attribute("note", 1))

    forge_output(certified, change)
    done = verify(taso_verify, certified)
    assert done.code == 5 and "('Split') with an attribute 'note' that ONNX does not know" in done.err, done


def test_operands_that_onnx_does_not_know_are_rejected(taso_verify, certified):
    def change(model):
        split = next(node for node in model.graph.node if node.op_type == "Split")
        split.input.append(model.graph.input[0].name)

    forge_output(certified, change)
    done = verify(taso_verify, certified)
    assert done.code == 5 and "('Split') with more operands than ONNX has for it" in done.err, done


def test_pads_are_listed_or_found_not_both(taso_opt, taso_verify, source_folder, tmp_path):
    shutil.copy(source_folder / "examples/small_convnet.onnx", tmp_path / "model.onnx")
    done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--budget", "50")
    assert done.code == 0, done
    assert verify(taso_verify, tmp_path, rules=None).code == 0

    def change(model):
        """The same meaning, for a reader that ignores pads beside auto_pad."""
        for node in model.graph.node:
            given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
            if node.op_type == "Conv" and given["pads"] == [1, 1, 1, 1] and given["strides"] == [1, 1]:
                node.attribute.append(helper.make_attribute("auto_pad", "SAME_UPPER"))
                return
        raise AssertionError("no convolution with a margin")

    forge_output(tmp_path, change)
    done = verify(taso_verify, tmp_path, rules=None)
    assert done.code == 5 and "('Conv') with pads beside auto_pad" in done.err, done


def test_steps_of_three_dimensional_convolutions_are_accepted(taso_opt, taso_verify, tmp_path):
    conv = "conv[pads=[1, 1, 1, 1, 1, 1]](x, w)"
    (tmp_path / "my.rules").write_text(f"taso rules 1\n\ncandidate twice\n  relu(relu({conv})) => relu({conv})\n")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 6), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("Relu", ["r"], ["y"])]
    weight = models.weight("w", np.random.default_rng(1).normal(size=(4, 3, 3, 3, 3)))
    shape = [1, 4, 5, 6, 6]
    save(models.model_of(nodes, [models.floats("x", [1, 3, *shape[2:]])], [models.floats("y", shape)], [weight]),
         tmp_path / "model.onnx")
    done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--rules", tmp_path / "my.rules",
               "--min-gain", "0")
    assert done.code == 0 and "twice" in done.err, done
    done = verify(taso_verify, tmp_path)
    assert done.code == 0 and "1 steps" in done.err + done.out, done


def test_the_step_that_is_wrong_is_named(taso_verify, certified):
    certificate = json.loads((certified / "out.onnx.cert").read_text())
    certificate["steps"][1]["inputs"]["y"] += 1
    (certified / "out.onnx.cert").write_text(json.dumps(certificate))
    done = verify(taso_verify, certified)
    assert done.code == 5 and "step 2 (rule 'shared-left-factor')" in done.err, done


def forge(folder, change):
    certificate = json.loads((folder / "out.onnx.cert").read_text())
    change(certificate)
    (folder / "forged.cert").write_text(json.dumps(certificate))


@pytest.mark.parametrize("change, reason", [
    (lambda c: c["names"][0].__setitem__(0, c["names"][0][0] + 1), "is not called"),
    (lambda c: c["names"][0].__setitem__(1, "nothing"), "is not called 'nothing'"),
    (lambda c: c["names"].append([10**9, "x"]), "is not called 'x'"),
    (lambda c: c["disabled_passes"].append("nothing"), "there is no clean-up 'nothing'"),
    (lambda c: c["input_shapes"].append(["x", [8, 8]]), "the models differ in the outputs"),
    (lambda c: c["input_shapes"].append(["nothing", [16, 8]]), "the input shapes do not fit"),
    (lambda c: c["clean_ups_after"].append(["batch-norm", "rq"]), "'batch-norm' is not allowed after the search"),
], ids=["number of a name", "name", "name of nothing", "pass", "shape", "input", "clean-up after"])
def test_what_stands_around_the_steps_is_checked(change, reason, taso_verify, certified):
    forge(certified, change)
    done = verify(taso_verify, certified, certificate="forged.cert")
    assert done.code == 5 and reason in done.err, done


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
    assert done.code == 0
    assert not (certified / "out.onnx.cert").exists()  # it belonged to the replaced model
    assert "taso.certificate" not in [entry.key for entry in onnx.load(certified / "out.onnx").metadata_props]
    (certified / "out.onnx.cert").write_text("something else")
    assert run(*command).code == 0
    assert (certified / "out.onnx.cert").read_text() == "something else"


def test_a_file_that_is_no_certificate_is_replaced_only_by_force(taso_opt, certified):
    command = [taso_opt, certified / "model.onnx", "-o", certified / "out.onnx", "--budget", "0"]
    before = (certified / "out.onnx").read_bytes()
    (certified / "out.onnx.cert").write_text("something else")
    done = run(*command)
    assert done.code == 2 and "out.onnx.cert is not a certificate; --force" in done.err, done
    assert (certified / "out.onnx.cert").read_text() == "something else"
    assert (certified / "out.onnx").read_bytes() == before
    assert run(*command, "--force").code == 0
    assert json.loads((certified / "out.onnx.cert").read_text())["output"] == hash_of(certified / "out.onnx")


def test_no_certificate_stays_that_is_of_another_model(taso_opt, certified):
    """The model just fits the size limit, and the certificate does not."""
    size = max((certified / "model.onnx").stat().st_size, (certified / "out.onnx").stat().st_size)
    assert (certified / "out.onnx.cert").stat().st_size > size + 200, "the certificate is the largest file"
    before = (certified / "out.onnx").read_bytes()
    done = run(taso_opt, certified / "model.onnx", "-o", certified / "out.onnx", *MERGING, "--rules",
               certified / "my.rules", "--disable-pass", "identity", "--check", "0",
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size + 200, size + 200)))
    assert done.code == 6 and "out.onnx.cert" in done.err, done
    assert not (certified / "out.onnx.cert").exists()
    assert (certified / "out.onnx").read_bytes() == before  # written again, without a certificate


def test_rules_are_proved_anew_when_that_is_asked_for(taso_verify, certified, source_folder, monkeypatch):
    """Then the record of proofs is not trusted."""
    (certified / "wrong.rules").write_text("taso rules 1\n\nrule shared-left-factor\n  relu(x) => sigmoid(x)\n")
    folder = certified / "data"
    shutil.copytree(source_folder / "rules", folder / "rules", ignore=lambda where, names: [
        name for name in names if not name.endswith((".rules", ".json"))])
    record = json.loads((folder / "rules" / "proved.json").read_text())
    text = (certified / "wrong.rules").read_bytes()
    certificate = json.loads((certified / "out.onnx.cert").read_text())
    record["files"].append({"name": "wrong.rules", "rules": 1, "file_hash": hashlib.sha256(text).hexdigest()[:32],
                            "rules_hash": certificate["rules"]})
    (folder / "rules" / "proved.json").write_text(json.dumps(record))
    monkeypatch.setenv("TASO_DATA", str(folder))
    done = verify(taso_verify, certified, rules="wrong.rules")
    assert done.code == 5 and "step 1" in done.err, done  # the rule counts as proved, and the step fails
    done = run(taso_verify, "--certificate", certified / "out.onnx.cert", certified / "model.onnx",
               certified / "out.onnx", "--rules", certified / "wrong.rules", "--no-cache")
    assert done.code == 5 and "'shared-left-factor' is refuted" in done.err, done


def test_an_interrupt_is_no_verdict(taso_verify, certified):
    """The rules arrive slowly, so that the interrupt comes before they are proved."""
    process = subprocess.Popen([taso_verify, "--certificate", certified / "out.onnx.cert", certified / "model.onnx",
                                certified / "out.onnx", "--rules", "-"], stdin=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    for _ in range(3000):  # until it handles signals
        caught = re.search(r"^SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
        if int(caught.group(1), 16) & 1 << (signal.SIGINT - 1):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate((certified / "my.rules").read_text(), timeout=60)
    assert process.returncode == 130, err
    assert "REJECTED" not in err and "ACCEPTED" not in err


def test_a_certificate_that_cannot_be_read_is_told_why(taso_verify, certified):
    done = verify(taso_verify, certified, certificate="missing.cert")
    assert done.code == 3 and "No such file or directory" in done.err, done
    done = run(taso_verify, "--certificate", "/dev/zero", certified / "model.onnx", certified / "out.onnx")
    assert done.code == 3 and "larger than" in done.err, done


def test_clean_ups_alone_have_a_certificate(taso_opt, taso_verify, tmp_path):
    nodes = [helper.make_node("Identity", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("MatMul", ["c", "r"], ["d"]), helper.make_node("MatMul", ["b", "d"], ["y"]),
             helper.make_node("Relu", ["x"], ["unused"])]
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])],
                              initializer=[numpy_helper.from_array(np.arange(4, dtype=np.float32).reshape(4, 1), "c"),
                                           numpy_helper.from_array(np.ones((1, 4), dtype=np.float32), "r")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")
    for options in ([], ["--disable-pass", "constant-folding"], ["--overwrite-input-shape", "x:3,4"], ["--embed"],
                    ["--external-data"]):
        done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--budget", "0", *options)
        assert done.code == 0, done
        done = verify(taso_verify, tmp_path, rules=None)
        assert done.code == 0, (options, done)
        assert (", with input x:3,4, to " in done.err) == ("x:3,4" in options), done
        changes = [lambda c: c["disabled_passes"].append("identity"),
                   lambda c: c.update(input_shapes=[] if c["input_shapes"] else [["x", [3, 4]]])]
        if "constant-folding" not in options:
            changes.append(lambda c: c.update(fold_limit=0))
        for change in changes:
            forge(tmp_path, change)
            assert verify(taso_verify, tmp_path, certificate="forged.cert", rules=None).code == 5, options
    certificate = json.loads((tmp_path / "out.onnx.cert").read_text())
    assert ["identity", "a"] in certificate["clean_ups"] and certificate["steps"] == []
    certificate["clean_ups"].pop()
    (tmp_path / "out.onnx.cert").write_text(json.dumps(certificate))
    assert verify(taso_verify, tmp_path, rules=None).code == 5


def test_what_a_dead_node_uses_may_be_needless_otherwise(taso_opt, taso_verify, tmp_path):
    """Two products become one; one of their factors stays for an unused node."""
    constant = helper.make_node("Constant", [], ["c"],
                                value=numpy_helper.from_array(np.arange(16, dtype=np.float32).reshape(4, 4), "c"))
    nodes = [constant, helper.make_node("MatMul", ["x", "c"], ["p"]), helper.make_node("MatMul", ["p", "w"], ["y"]),
             helper.make_node("Add", ["x", "c"], ["dead"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [4, 4])],
                              [helper.make_tensor_value_info("y", 1, [4, 4])],
                              initializer=[numpy_helper.from_array(np.ones((4, 4), dtype=np.float32), "w")])
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), before)
    done = run(taso_opt, before, "-o", after, "--disable-pass", "dead-code", "--objective", "launches")
    assert done.code == 0 and "warning" not in done.err, done.err
    assert sorted(node.op_type for node in onnx.load(after).graph.node) == ["Add", "Constant", "MatMul"]
    assert run(taso_verify, "--certificate", f"{after}.cert", before, after).code == 0


@pytest.mark.parametrize("outputs", [["y"], ["y", "z"], ["a", "y"]])
def test_sizes_that_a_node_finds_out_are_those_of_an_output(taso_opt, taso_verify, tmp_path, outputs):
    """Where a value is passed on as an output, a clean-up gives it the name of the output. Its unknown sizes, which are
    called after it, are the same ones nevertheless."""
    def of_shape(name, *shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    passed_on = [helper.make_node("Identity", ["a"], [name]) for name in outputs if name != "a"]
    nodes = [helper.make_node("MatMul", ["p", "q"], ["a"]), helper.make_node("Transpose", ["a"], ["t"], perm=[1, 0, 2]),
             helper.make_node("Reshape", ["t", "shape"], ["r"]), helper.make_node("Relu", ["r"], ["s"]), *passed_on]
    graph = helper.make_graph(nodes, "g", [of_shape("p", "m", 3, 4), of_shape("q", "n", 4, 5)],
                              [*[of_shape(name, None, 3, 5) for name in outputs], of_shape("s", None, None)],
                              initializer=[numpy_helper.from_array(np.array([0, -1]), "shape")])
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), before)
    done = run(taso_opt, before, "-o", after, "--budget", "0")
    assert done.code == 0 and "warning" not in done.err, done.err
    identities = [node for node in onnx.load(after).graph.node if node.op_type == "Identity"]
    assert len(identities) == len(outputs) - 1
    assert run(taso_verify, "--certificate", f"{after}.cert", before, after).code == 0
