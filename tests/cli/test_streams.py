"""`-` is the standard input or output for models and reports; no program makes a file of that name."""

import json
import os
import subprocess

import onnx
import pytest
from onnx import helper

import opt_models as models
from opt_models import run, save
from test_search import MERGING, projections, rules  # noqa: F401: a fixture


@pytest.fixture
def piped(tmp_path):
    """Runs a program in an empty folder; its data are bytes. No file `-` may appear there."""
    folder = tmp_path / "here"
    folder.mkdir()

    def piped(program, *arguments, data=b"", code=0):
        done = subprocess.run([program, *map(str, arguments)], input=data, capture_output=True, cwd=folder, timeout=300)
        assert done.returncode == code, done.stderr
        assert not any(name.startswith("-") for name in os.listdir(folder))
        return done.stdout, done.stderr.decode()

    piped.folder = folder
    return piped


def test_a_model_goes_from_stream_to_stream(taso_opt, piped, tmp_path):
    model = models.with_identity()
    out, err = piped(taso_opt, "-", "-o", "-", data=model.SerializeToString())
    assert [node.op_type for node in onnx.load_from_string(out).graph.node] == ["Relu", "Add"]
    assert "PASSED" in err and "needs a named output file" in err
    assert os.listdir(piped.folder) == []
    # The same bytes as from file to file, apart from the certificate.
    file = save(model, tmp_path / "model.onnx")
    piped(taso_opt, file, "-o", tmp_path / "out.onnx", "--no-certificate")
    assert (tmp_path / "out.onnx").read_bytes() == out
    assert piped(taso_opt, file, "-o", "-")[0] == out
    piped(taso_opt, "-", "-o", tmp_path / "from.onnx", "--no-certificate", data=model.SerializeToString())
    assert (tmp_path / "from.onnx").read_bytes() == out


def test_weights_come_along(taso_opt, piped, tmp_path):
    file = save(models.with_external_weight(tmp_path), tmp_path / "model.onnx")
    out, _ = piped(taso_opt, file, "-o", "-")
    tensor = onnx.load_from_string(out).graph.initializer[0]
    assert tensor.name == "w" and list(onnx.numpy_helper.to_array(tensor)) == list(range(16))
    _, err = piped(taso_opt, file, "-o", "-", "--external-data", code=2)
    assert "needs a named output file" in err


def test_a_model_from_a_stream_has_a_certificate(taso_opt, taso_verify, rules, piped, tmp_path):  # noqa: F811
    data = projections().SerializeToString()
    out = tmp_path / "out.onnx"
    piped(taso_opt, "-", "-o", out, *MERGING, "--rules", rules, data=data)
    certificate = f"{out}.cert"
    report, err = piped(taso_verify, "--certificate", certificate, "-", out, "--rules", rules, "--report", "-",
                        data=data)
    assert err.splitlines()[-1] == "ACCEPTED"
    report = json.loads(report)
    assert report["verdict"] == "ACCEPTED" and report["reason"] is None and report["steps"] > 0 and report["rules"]
    other = models.with_identity().SerializeToString()
    report, _ = piped(taso_verify, "--certificate", certificate, "-", out, "--rules", rules, "--report", "-",
                      data=other,
                      code=5)
    report = json.loads(report)
    assert report["verdict"] == "REJECTED" and "is not the input" in report["reason"]
    with open(certificate, "rb") as text:
        save(projections(), tmp_path / "in.onnx")
        piped(taso_verify, "--certificate", "-", tmp_path / "in.onnx", out, "--rules", rules, data=text.read())


def test_reports_go_to_the_standard_output(taso_opt, taso_verify, taso_gen, taso_bench, piped, tmp_path):
    file = save(models.with_identity(), tmp_path / "model.onnx")
    report = json.loads(piped(taso_opt, file, "-o", tmp_path / "out.onnx", "--report", "-")[0])
    assert report["verdict"] == "PASSED"
    text = b"taso rules 1\n\nrule relu-twice\n  relu(relu(x)) => relu(x)\n"
    report = json.loads(piped(taso_verify, "-", "--report", "-", data=text)[0])
    assert report["totals"]["proved"] == 1
    assert piped(taso_verify, "-", "--junit", "-", data=text)[0].startswith(b"<?xml")
    report = json.loads(piped(taso_gen, "-o", tmp_path / "out.rules", "--operators", "relu", "--max-ops", "2",
                              "--report", "-")[0])
    assert report["complete"]
    report = json.loads(piped(taso_bench, save(models.with_nothing_to_do(), tmp_path / "still.onnx"), "--device", "cpu",
                              "--runs", "1", "--json", "-")[0])
    assert report["complete"]
    out, _ = piped(taso_bench, "-", "--device", "cpu", "--runs", "1", "--json", "-",
                   data=models.with_nothing_to_do().SerializeToString())
    assert json.loads(out)["models"][0]["model"] == "-"


def test_what_needs_a_name_says_so(taso_opt, taso_verify, taso_gen, taso_bench, piped, tmp_path):
    file = save(models.with_identity(), tmp_path / "model.onnx")
    rule_file = tmp_path / "some.rules"
    rule_file.write_text("taso rules 1\n\nrule relu-twice\n  relu(relu(x)) => relu(x)\n")
    for program, arguments, message in [
            (taso_opt, (file, "-o", "-", "--report", "-"), "cannot both go to the standard output"),
            (taso_opt, (file, "-o", "out.onnx", "--log-file", "-"), "--log-file needs a file name"),
            (taso_opt, (file, "-o", "out.onnx", "--prices", "-"), "--prices needs a file name"),
            (taso_opt, ("-", "-o", "out.onnx", "--rules", "-"), "read only once"),
            (taso_opt, (file, "-o", "out.onnx", "--rules", "-", "--extra-rules", "-"), "read only once"),
            (taso_verify, (rule_file, "--report", "-", "--junit", "-"), "cannot both go to the standard output"),
            (taso_verify, (rule_file, "--log-file", "-"), "--log-file needs a file name"),
            (taso_verify, (rule_file, "--dump-smt", "-"), "--dump-smt needs a file name"),
            (taso_verify, (rule_file, "--cache", "-"), "--cache needs a file name"),
            (taso_verify, ("-", "--properties", "-"), "read only once"),
            (taso_verify, ("--certificate", "-", "-", file), "read only once"),
            (taso_gen, ("-o", "-"), "-o needs a file name"),
            (taso_gen, ("-o", "out.rules", "--checkpoint", "-"), "--checkpoint needs a file name"),
            (taso_bench, (file, "--prices", "-"), "--prices needs a file name"),
            (taso_bench, (file, "--json", "-", "--export", "-"), "cannot both go to the standard output"),
            (taso_bench, ("-", "-"), "read only once"),
    ]:
        out, err = piped(program, *arguments, code=2)
        assert message in err and out == b"", arguments
    _, err = piped(taso_opt, "-", "-o", "out.onnx", code=3)
    assert "the standard input is empty" in err
    assert os.listdir(piped.folder) == []


def test_merged_weights_are_named_after_what_they_replace(taso_opt, rules, tmp_path):  # noqa: F811
    save(projections(), tmp_path / "model.onnx")
    done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", *MERGING, "--rules", rules)
    assert done.code == 0, done
    before = {tensor.name for tensor in onnx.load(tmp_path / "model.onnx").graph.initializer}
    new = {tensor.name for tensor in onnx.load(tmp_path / "out.onnx").graph.initializer} - before
    assert new and not any(name.startswith("constant") for name in new), new
    assert any(sum(name.split("/")[0].split("+").count(old) for old in before) >= 2 for name in new), new


def test_what_is_understood_and_what_is_opaque_is_said(taso_opt, tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["a"]),
             helper.make_node("MaxRoiPool", ["a", "regions"], ["b"], pooled_shape=[1, 1]),
             helper.make_node("Strange", ["b"], ["c"], domain="org.example"),
             helper.make_node("Identity", ["c"], ["y"])]
    regions = models.weight("regions", [[0, 0, 0, 2, 2]])
    model = models.model_of(nodes, [models.floats("x", [2, 3, 3, 3])], [models.floats("y", [1, 3, 1, 1])], [regions])
    model.opset_import.add(domain="org.example", version=1)
    done = run(taso_opt, save(model, tmp_path / "model.onnx"), "--dry-run", "--report", tmp_path / "r.json")
    opaque = "1 MaxRoiPool (taso has no model of it); 1 org.example.Strange (not part of ONNX)"
    assert f"\nunderstood 2 of 4 operators; opaque: {opaque}\n" in done.err, done
    coverage = json.loads((tmp_path / "r.json").read_text())["coverage"]
    assert (coverage["understood"], coverage["operators"]) == (2, 4)
    assert [(one["operator"], one["count"], one["reason"]) for one in coverage["opaque"]] == [
        ("MaxRoiPool", 1, "taso has no model of it"), ("org.example.Strange", 1, "not part of ONNX")]
    done = run(taso_opt, save(models.with_identity(), tmp_path / "all.onnx"), "--dry-run")
    assert "\nunderstood 2 of 2 operators\n" in done.err, done


ADVICE = "more may be understood with fixed sizes: --overwrite-input-shape sets them (open: 'x')"


@pytest.mark.parametrize("shape, node, reason, helps", [
    (None, "Relu", "rank unknown: the input 'x' has none", True),
    (["N", "C"], "Squeeze", "not with these open sizes or attributes", True),
    (["N", 1], "NonZero", "taso has no model of it", False),
])
def test_a_reason_comes_with_what_to_do(shape, node, reason, helps, taso_opt, tmp_path):
    element = onnx.TensorProto.INT64 if node == "NonZero" else onnx.TensorProto.FLOAT
    model = models.model_of([helper.make_node(node, ["x"], ["y"])],
                            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
                            [helper.make_tensor_value_info("y", element, None)])
    file = save(model, tmp_path / "model.onnx")
    for options in ("--dry-run",), ("--coverage",):
        done = run(taso_opt, file, *options)
        assert reason in done.err + done.out and (ADVICE in done.err + done.out) == helps, done
    if helps:  # it does what it promises
        done = run(taso_opt, file, "--coverage", "--overwrite-input-shape", "x:3,4")
        assert "understood 1 of 1 operators" in done.err + done.out and ADVICE not in done.err + done.out, done


PROGRAMS = ("taso_opt", "taso_verify", "taso_gen", "taso_bench", "taso_networks")


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_fits_a_terminal_and_has_examples_that_parse(name, request):
    program = request.getfixturevalue(name)
    text = run(program, "--help").out
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("default") >= 3
    examples = [line.split() for line in text.partition("Examples:")[2].splitlines() if line.strip()]
    assert len(examples) >= 2
    for command in examples:
        assert command[0] == program.name
        assert "unknown option" not in run(program, *command[1:], "--version").err
        assert run(program, *command[1:], "--version").code == 0


@pytest.mark.parametrize("name, wrong, right", [("taso_opt", "--budgt", "--budget"),
                                                ("taso_opt", "--ouput", "--output"),
                                                ("taso_verify", "--reprot=x", "--report"),
                                                ("taso_gen", "--max-op", "--max-ops"),
                                                ("taso_bench", "--devcie", "--device")])
def test_a_mistyped_option_gets_a_proposal(name, wrong, right, request):
    done = run(request.getfixturevalue(name), "model.onnx" if name != "taso_gen" else "--resume", wrong, "7")
    assert done.code == 2 and f"unknown option '{wrong.partition('=')[0]}'; did you mean '{right}'?" in done.err, done
