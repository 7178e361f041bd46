"""taso-opt --bisect and --reduce: from a fault to its cause."""

import json
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import helper

from opt_models import floats, model_of, run, save, weight

RULES = """taso rules 1

# Exact.
candidate merged
  matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))
  where rank(x) = 2, rank(y) = 2, rank(z) = 2

# Rounds differently.
candidate regrouped
  matmul(matmul(x, y), z) => matmul(x, matmul(y, z))
  where rank(x) = 2, rank(y) = 2, rank(z) = 2

# Undoes it.
candidate grouped-back
  matmul(x, matmul(y, z)) => matmul(matmul(x, y), z)
  where rank(x) = 2, rank(y) = 2, rank(z) = 2
"""


def numbers(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture
def rewritten(taso_opt, tmp_path):
    """A model with two exact rewrites and one that rounds."""
    nodes = [helper.make_node("MatMul", ["x", "a"], ["p"]), helper.make_node("MatMul", ["x", "b"], ["q"]),
             helper.make_node("Tanh", ["p"], ["t"]), helper.make_node("Add", ["t", "q"], ["s"]),
             helper.make_node("MatMul", ["s", "c"], ["u"]), helper.make_node("MatMul", ["u", "d"], ["y"])]
    weights = [weight(name, numbers(64, 64, seed=seed)) for seed, name in enumerate("abcd")]
    save(model_of(nodes, [floats("x", [256, 64])], [floats("y", [256, 64])], weights), tmp_path / "model.onnx")
    (tmp_path / "my.rules").write_text(RULES)
    done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--rules", tmp_path / "my.rules",
               "--min-gain", "0")
    assert done.code == 0, done
    used = [step["rule"] for step in json.loads((tmp_path / "out.onnx.cert").read_text())["steps"]]
    assert "regrouped" in used, used
    return used


def bisect(taso_opt, folder, tolerance, *more):
    return run(taso_opt, folder / "model.onnx", folder / "out.onnx", "--bisect", tolerance, "--rules",
               folder / "my.rules", *more)


def test_the_rewrite_that_rounds_is_found(taso_opt, rewritten, tmp_path):
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    done = bisect(taso_opt, tmp_path, "1e-12")
    assert done.code == 4, done
    number, rule = re.search(r"rewrite (\d+), by the rule '(\S+)', at '", done.err).groups()
    assert rule == "regrouped" and rewritten[int(number) - 1] == rule
    assert "matmul" not in done.err and "x·y·z  ⇒  x·(y·z)" in done.err
    assert "--disable-rule regrouped" in done.err
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before  # nothing is written


def test_within_the_tolerance_nothing_is_found(taso_opt, rewritten, tmp_path):
    done = bisect(taso_opt, tmp_path, "1e-3", "--check", "2", "--seed", "7")
    assert done.code == 0 and "no rewrite exceeds 0.001" in done.err, done


@pytest.fixture
def undone(rewritten, tmp_path):
    """The certificate ends with a step that undoes the one that rounds. The number of that one, and of all."""
    file = tmp_path / "out.onnx.cert"
    certificate = json.loads(file.read_text())
    steps = certificate["steps"]
    rounding = next(step for step in steps if step["rule"] == "regrouped")
    numbers_used = [number for step in steps for _, results in step["made"] for number in results]
    last = rounding["replaced"]
    steps.append({**rounding, "rule": "grouped-back", "conditions": rounding["conditions"][::-1],
                  "made": [["matmul", [max(numbers_used) + 1]], ["matmul", last]]})
    file.write_text(json.dumps(certificate))
    return steps.index(rounding) + 1, len(steps)


def test_the_first_rewrite_is_found_even_if_it_is_undone_later(taso_opt, undone, tmp_path):
    first, steps = undone
    done = bisect(taso_opt, tmp_path, "1e-12")
    assert done.code == 4, done
    assert re.search(rf"^rewrite {first}, by the rule 'regrouped'", done.err, re.MULTILINE), done
    assert "later rewrites make up for it" in done.err and f" of {steps + 1} states were run" in done.err
    rows = dict(re.findall(r"^(clean-ups only|\d+)  +(\S+)$", done.err, re.MULTILINE))
    assert rows[str(steps)] == "0" and float(rows[str(first)]) > 1e-12


def test_if_nothing_is_found_every_state_was_run(taso_opt, undone, tmp_path):
    done = bisect(taso_opt, tmp_path, "1e-3")
    states = undone[1] + 1
    assert done.code == 0 and f"{states} of {states} states were run" in done.err, done


def test_bisect_wants_the_output_of_the_certificate(taso_opt, rewritten, tmp_path):
    (tmp_path / "out.onnx").write_bytes((tmp_path / "model.onnx").read_bytes())
    done = bisect(taso_opt, tmp_path, "1e-3")
    assert done.code == 5 and "is not the certificate of" in done.err
    (tmp_path / "out.onnx").unlink()
    assert bisect(taso_opt, tmp_path, "1e-3").code == 3


@pytest.mark.parametrize("options", [["-o", "weights"], ["-o", "small.onnx", "--log-file", "weights"]])
def test_reducing_keeps_the_weights_of_the_input(taso_opt, with_batch_norm, tmp_path, options):
    onnx.save(onnx.load(with_batch_norm), tmp_path / "outside.onnx", save_as_external_data=True, location="weights",
              size_threshold=0)
    before = (tmp_path / "weights").read_bytes()
    options = [tmp_path / option if "-" not in option else option for option in options]
    done = run(taso_opt, tmp_path / "outside.onnx", *options, "--reduce-with", "false")
    assert done.code == 2 and "weights" in done.err
    assert (tmp_path / "weights").read_bytes() == before


def test_mistakes_of_bisect_are_told(taso_opt, rewritten, tmp_path):
    done = bisect(taso_opt, tmp_path, "little")
    assert done.code == 2 and "--bisect takes a number" in done.err
    done = run(taso_opt, tmp_path / "model.onnx", tmp_path / "out.onnx", "--bisect", "1e-3")
    assert done.code == 2 and "--rules" in done.err  # made with other rules
    done = run(taso_opt, tmp_path / "model.onnx", tmp_path / "none.onnx", "--bisect", "1e-3")
    assert done.code == 3 and "none.onnx.cert" in done.err
    done = run(taso_opt, tmp_path / "out.onnx", tmp_path / "out.onnx", "--bisect", "1e-3", "--rules",
               tmp_path / "my.rules")
    assert done.code == 5 and "is not the certificate" in done.err, done
    done = bisect(taso_opt, tmp_path, "1e-3", "--reduce")
    assert done.code == 2 and "cannot be combined" in done.err


@pytest.fixture
def with_batch_norm(tmp_path):
    """Folding the normalisation into the weights rounds, which a tolerance of 0 does not forgive."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Tanh", ["r"], ["t"]),
             helper.make_node("Conv", ["t", "w"], ["c"]),
             helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "var"], ["n"]),
             helper.make_node("Relu", ["n"], ["m"]), helper.make_node("Sigmoid", ["m"], ["y"])]
    weights = [weight("w", numbers(8, 4, 3, 3))] + [weight(name, np.abs(numbers(8, seed=seed)) + np.float32(.3))
                                                    for seed, name in enumerate(("scale", "bias", "mean", "var"))]
    return save(model_of(nodes, [floats("x", [1, 4, 9, 9])], [floats("y", [1, 8, 7, 7])], weights),
                tmp_path / "model.onnx")


def test_a_model_that_fails_the_check_becomes_small(taso_opt, with_batch_norm, tmp_path):
    strict = ("--rtol", "0", "--atol", "0", "--budget", "0")
    assert run(taso_opt, with_batch_norm, "--dry-run", *strict).code == 4
    done = run(taso_opt, with_batch_norm, "-o", tmp_path / "small.onnx", "--reduce", *strict)
    assert done.code == 0 and "2 of 6 nodes are left" in done.err, done
    small = onnx.load(tmp_path / "small.onnx")
    onnx.checker.check_model(small)
    assert [node.op_type for node in small.graph.node] == ["Conv", "BatchNormalization"]
    assert [value.name for value in small.graph.input] == ["t"]
    assert run(taso_opt, tmp_path / "small.onnx", "--dry-run", *strict).code == 4
    assert not list(pathlib.Path(tmp_path).glob("*.cert"))


def failing_command(tmp_path, condition):
    script = tmp_path / "fails.py"
    script.write_text(f"import onnx, sys\nops = [n.op_type for n in onnx.load(sys.argv[-1]).graph.node]\n"
                      f"sys.exit(7 if {condition} else 0)\n")
    return shlex.join([sys.executable, str(script)])


@pytest.mark.parametrize("place", ["", " {}"])
def test_a_command_may_be_what_fails(taso_opt, with_batch_norm, tmp_path, place):
    command = failing_command(tmp_path, "'Tanh' in ops and 'Sigmoid' in ops") + place
    done = run(taso_opt, with_batch_norm, "-o", tmp_path / "small.onnx", "--reduce-with", command)
    assert done.code == 0, done
    assert sorted(node.op_type for node in onnx.load(tmp_path / "small.onnx").graph.node) == ["Sigmoid", "Tanh"]


def test_what_does_not_fail_is_not_reduced(taso_opt, with_batch_norm, tmp_path):
    done = run(taso_opt, with_batch_norm, "-o", tmp_path / "small.onnx", "--reduce")
    assert done.code == 3 and "taso-opt does not fail (exit 0)" in done.err
    done = run(taso_opt, with_batch_norm, "-o", tmp_path / "small.onnx", "--reduce-with", "/no/such/program")
    assert done.code == 2 and "cannot run" in done.err, done
    done = run(taso_opt, with_batch_norm, "--dry-run", "--reduce")
    assert done.code == 2
    assert not (tmp_path / "small.onnx").exists()


def test_an_interrupt_writes_the_smallest_so_far(taso_opt, with_batch_norm, tmp_path):
    (tmp_path / "waits.py").write_text(f"""
import pathlib, sys, time
folder = pathlib.Path({str(tmp_path)!r})
calls = folder / "calls"
calls.write_text((calls.read_text() if calls.exists() else "") + "x")
while len(calls.read_text()) == 3:  # until it is ended
    time.sleep(0.01)
sys.exit(7)
""")
    process = subprocess.Popen([taso_opt, with_batch_norm, "-o", tmp_path / "small.onnx", "--reduce-with",
                                shlex.join([sys.executable, f"{tmp_path}/waits.py"])],
                               stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not ((tmp_path / "calls").exists() and len((tmp_path / "calls").read_text()) == 3):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert 0 < len(onnx.load(tmp_path / "small.onnx").graph.node) < 6
