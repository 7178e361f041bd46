"""taso-gen --partial as people use it: what it writes, that the other programs accept it, and what it refuses."""

import json
import os
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from json_schema import differences
from opt_models import floats, model_of, weight
from running import run

# Takes three seconds, mostly the programs that are tried.
KIND = "conv-of-3-space-to-batch"


@pytest.fixture(scope="module")
def written(taso_gen, tmp_path_factory):
    """The folder of a run with all files that it writes."""
    folder = tmp_path_factory.mktemp("partial")
    done = run(taso_gen, "--partial", "--kinds", KIND, "-o", folder / "x.rules", "--report", folder / "r.json",
               "--rejected", folder / "j.rules")
    assert done.code == 0 and done.out == "" and done.err.splitlines()[-1] == "PASSED", done
    assert sorted(os.listdir(folder)) == ["j.rules", "r.json", "x.rules"]
    assert re.search(r"^rules: 6; 0 refuted, 0 open$", done.err, re.MULTILINE), done
    return folder


def names_in(text):
    return re.findall(r"^rule (\S+)$", text, re.MULTILINE)


# --- What is written ---


def test_rules_with_their_regions(written):
    text = (written / "x.rules").read_text()
    assert text.startswith("taso rules 1\n\n# Programs that replace an operator and are right on at least 0.5 of its ")
    names = names_in(text)
    assert names == sorted(names) and len(names) == 6 and all(name.startswith(KIND + "-") for name in names)
    assert len(re.findall(r"^# Right where i2 < dim\(x, 2\) / 2 - 1 or dim\(x, 2\) / 2 \+ 1 <= i2;", text,
                          re.MULTILINE)) == 6
    assert len(re.findall(r"^  by \S", text, re.MULTILINE)) == 6
    assert max(map(len, text.splitlines())) <= 120
    assert names_in((written / "j.rules").read_text()) == []


def test_the_report(written, source_folder):
    report = json.loads((written / "r.json").read_text())
    schema = json.loads((source_folder / "cli/schemas/partial-report.schema.json").read_text())
    assert not list(differences(report, schema)) and set(report) <= set(schema["properties"])
    assert report["schema_version"] == 1 and report["verdict"] == "PASSED" and report["complete"]
    assert report["least_share"] == 0.5 and report["stated"] == report["corrected"] == report["asked"] == 6
    assert re.fullmatch(r"[0-9a-f]{32}", report["properties"]) and report["seconds"] > 0 and report["timed_out"] == 0
    assert [rule["name"] for rule in report["rules"]] == names_in((written / "x.rules").read_text())
    assert all(rule["kind"] == KIND and 0.9 < rule["share"] < 1 for rule in report["rules"])
    assert report["refuted"] == report["open"] == []
    assert KIND in report["kinds"] and report["kinds"] == sorted(report["kinds"]), "--kinds takes any of these"
    for one in report["operators"]:
        assert one["tried"] >= one["right_numbers"] and one["in_place"] >= one["distinct"] > 0, one


def test_the_same_for_any_number_of_jobs(written, taso_gen, tmp_path):
    done = run(taso_gen, "--partial", "--kinds", KIND, "-o", tmp_path / "x.rules", "--jobs", "3")
    assert done.code == 0, done
    assert (tmp_path / "x.rules").read_bytes() == (written / "x.rules").read_bytes()


# --- What other programs make of it ---


def test_the_rules_are_proved_again(written, taso_verify):
    done = run(taso_verify, written / "x.rules", "--no-cache")
    assert done.code == 0 and "6 rules: 6 proved" in done.err, done


def test_the_examples_are_proved(taso_verify, source_folder):
    done = run(taso_verify, source_folder / "examples" / "corrected.rules", "--no-cache")
    assert done.code == 0 and "2 rules: 2 proved" in done.err, done


def test_a_wrong_region_is_refused(written, taso_verify, tmp_path):
    """The program's part is one longer, and the correction begins one later: all shapes still fit."""
    text = (written / "x.rules").read_text()
    start = text.index(f"rule {KIND}-1d\n")
    rule = text[start:text.index("\n\n", start)]
    wrong = re.sub(r"(end=dim\(x, 2\) / 2\s+)- 1\]", r"\1- 0]", rule, count=1)
    wrong = re.sub(r"(conv\(slice\[axis=2, begin=dim\(x, 2\) / 2 )- 2", r"\1- 1", wrong, count=1)
    assert len(re.findall(r"- 0\]", wrong)) == 1 and wrong.count("begin=dim(x, 2) / 2 - 1") == 1, wrong
    (tmp_path / "wrong.rules").write_text("taso rules 1\n\n" + wrong + "\n")
    done = run(taso_verify, tmp_path / "wrong.rules", "--no-cache")
    assert done.code == 5 and "refuted" in done.out + done.err, done


def test_the_search_uses_them(written, taso_opt, tmp_path):
    listed = run(taso_opt, "--list-rules", "--extra-rules", written / "x.rules")
    assert listed.code == 0 and set(names_in((written / "x.rules").read_text())) <= set(names_in(listed.out)), listed
    random = np.random.default_rng(1)
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
    model = model_of(nodes, [floats("x", [1, 3, 8, 8])], [floats("y", [1, 4, 8, 8])],
                     [weight("w", random.normal(size=(4, 3, 3, 3)))])
    onnx.save(model, tmp_path / "in.onnx")
    done = run(taso_opt, tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "--extra-rules", written / "x.rules")
    assert done.code == 0, done
    assert done.err.splitlines()[-1] in ("PASSED", "no faster graph found", "no faster graph kept"), done
    assert (tmp_path / "out.onnx").is_file()


def test_a_corrected_program_in_a_model(taso_opt, taso_verify, source_folder, tmp_path):
    """With a price at which any other program is cheaper, the correction reaches the model, checked and certified."""
    shapes = "float32[1,8,12,12]{0} *float32[8,8,3,3]{0} -> float32[1,8,12,12]{0}"
    call = f"convolution tf32: {shapes}: conv[strides=[1, 1], dilations=[1, 1], pads=[1, 1, 1, 1], groups=1](0,1)"
    times = "/".join(["900000.0"] * 4)
    lines = [f"{times}\t0.3\tdirect: own\t{call.format(layout)}" for layout in ("last", "")]
    machine = "machine NVIDIA H200, driver 13.0, CUDA 13.0, cuDNN 9.14.0, cuBLAS 13.1.0"
    (tmp_path / "dear.prices").write_text("\n".join(["taso prices 4", machine, *lines]) + "\n")
    rules = source_folder / "examples" / "corrected.rules"
    random = np.random.default_rng(1)
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
    model = model_of(nodes, [floats("x", [1, 8, 12, 12])], [floats("y", [1, 8, 12, 12])],
                     [weight("w", random.normal(size=(8, 8, 3, 3)))])
    onnx.save(model, tmp_path / "in.onnx")
    done = run(taso_opt, tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "--rules", rules, "--prices",
               tmp_path / "dear.prices", "--explain")
    assert done.code == 0 and done.err.splitlines()[-1] == "PASSED", done
    assert re.search(r"^    conv-of-3-space-to-batch-2d-height\n      Right where i2 < ", done.err, re.MULTILINE), done
    assert re.search(r"^corrections: \d+ of \d+ kernels, \d+\.\d % of their time$", done.err, re.MULTILINE), done
    operators = [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node]
    assert operators.count("Conv") == 2 and "Concat" in operators, operators
    replayed = run(taso_verify, "--certificate", tmp_path / "out.onnx.cert", tmp_path / "in.onnx",
                   tmp_path / "out.onnx", "--rules", rules)
    assert replayed.code == 0 and replayed.err.splitlines()[-1] == "ACCEPTED", replayed
    x = random.normal(size=(1, 8, 12, 12)).astype(np.float32)
    before, after = (onnxruntime.InferenceSession(tmp_path / name).run(None, {"x": x})[0]
                     for name in ("in.onnx", "out.onnx"))
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-5)


def test_the_shipped_ones_can_be_left_out(taso_opt, source_folder):
    shipped = source_folder / "rules" / "partial.rules"
    if not shipped.is_file():
        pytest.skip("no such rules are shipped")
    every, others = run(taso_opt, "--list-rules"), run(taso_opt, "--no-partial", "--list-rules")
    assert every.code == others.code == 0
    left_out = set(names_in(every.out)) - set(names_in(others.out))
    assert left_out == set(names_in(shipped.read_text())) and left_out


# --- What it refuses ---


def test_unknown_kinds(taso_gen, tmp_path):
    out = ("-o", tmp_path / "out.rules")
    done = run(taso_gen, "--partial", *out, "--kinds", "conv-of-3-space-to-bach")
    errors = [line for line in done.err.splitlines() if not line.startswith("trying programs: ")]  # the progress
    assert done.code == 2 and f"did you mean '{KIND}'?" in done.err and len(errors) == 1, done
    done = run(taso_gen, "--partial", *out, "--kinds", "nonsense")
    assert done.code == 2 and "unknown kind 'nonsense'; known: " in done.err and KIND in done.err, done
    assert not os.listdir(tmp_path)


def test_usage_errors_are_one_line(taso_gen, tmp_path):
    out = ("-o", tmp_path / "out.rules")
    for arguments, reason in ((("--least-share", "2"), "more than the whole output"),
                              (("--least-share", "-1"), "--least-share"), (("--least-share", "some"), "--least-share"),
                              (("--kinds", ","), "--kinds names no kind"),
                              (("--operators", "add"), "--operators cannot be combined with --partial"),
                              (("--max-ops", "2"), "--max-ops cannot be combined with --partial"),
                              (("--seed", "2"), "--seed cannot be combined with --partial"),
                              (("--all",), "--all cannot be combined with --partial"),
                              (("--resume",), "--resume cannot be combined with --partial")):
        done = run(taso_gen, "--partial", *out, *arguments)
        assert done.code == 2 and reason in done.err, (arguments, done)
        assert done.out == "" and len(done.err.splitlines()) == 1 and done.err.startswith("taso-gen: error: ")
    for arguments in (("--kinds", KIND), ("--least-share", "0.5")):
        done = run(taso_gen, *out, *arguments)
        assert done.code == 2 and f"{arguments[0]} needs --partial" in done.err, done
    assert not os.listdir(tmp_path)
