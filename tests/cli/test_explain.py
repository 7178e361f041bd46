"""taso-verify --explain: proofs, counterexamples and certificates that a person can follow."""

import json
import re

import onnx
import pytest

from opt_models import run
from test_certificate import certified, forge_output  # noqa: F401: a fixture
from test_search import rules  # noqa: F401: a fixture

RULES = """taso rules 1

candidate shared-left-factor
  matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))
  where rank(x) = 2, rank(y) = 2, rank(z) = 2

candidate border-lost
  conv[pads=[1, 1, 1, 1]](x, w) => pad[before=[0, 0, 1, 1], after=[0, 0, 1, 1]](conv(x, w))
  where spatial(w) = [3, 3], dim(x, 2) >= 3, dim(x, 3) >= 3

candidate every-second-pixel
  conv[dilations=[2], pads=[2, 2]](x, w)
    => reshape[shape=[dim(x, 0), dim(w, 0), dim(x, 2)]](transpose[permutation=[0, 2, 3, 1]](
      reshape[shape=[dim(x, 0), 2, dim(w, 0), dim(x, 2) / 2]](conv[pads=[1, 1]](
        reshape[shape=[dim(x, 0) * 2, dim(x, 1), dim(x, 2) / 2]](transpose[permutation=[0, 3, 1, 2]](
          reshape[shape=[dim(x, 0), dim(x, 1), dim(x, 2) / 2, 2]](x))), w))))
  where dim(w, 2) = 3, divides(2, dim(x, 2))

candidate groups-joined
  concat[axis=1](conv[groups=g](x, w), conv[groups=g](x, v)) => conv[groups=g](x, concat[axis=0](w, v))
  where spatial(w) = spatial(v)
"""


@pytest.fixture
def explain(taso_verify, tmp_path):
    file = tmp_path / "some.rules"
    file.write_text(RULES)
    return lambda *arguments: run(taso_verify, file, *arguments)


def test_a_proof_is_a_chain_of_equal_expressions(explain):
    done = explain("--explain", "shared-left-factor")
    assert done.code == 0, done
    assert done.err.splitlines()[-1] == "PASSED"
    lines = [line.strip() for line in done.out.splitlines()]
    first = lines.index("Result 1:")
    assert lines[first + 1:first + 6] == [
        "x·y",
        "= { split-of-concat, from right to left, with x := x·y, y := x·z }",
        "[x·y | x·z][:, :y.1]",
        "= { matmul-of-concat-columns, from right to left }",
        "(x·[y | z])[:, :y.1]",
    ]
    assert any(line.startswith("split-of-concat: ") for line in lines)  # what the property says


def test_a_rule_has_a_number_too(explain):
    assert explain("--explain=1").out == explain("--explain", "shared-left-factor").out
    done = explain("--explain", "5")
    assert done.code == 2 and "there is no rule 5; there are 4" in done.err


def test_a_counterexample_is_drawn_out(explain):
    done = explain("--explain", "border-lost")
    assert done.code == 5
    assert "border-lost: refuted" in done.out
    assert re.search(r"inputs:\n  x \[1, 1, 3, 3\]\n    │ ", done.out)
    assert done.out.count(", the result") == 2
    assert done.out.count("‹") == 2  # the same element of both results
    place, source, target = re.search(r"the first element that differs is \[(.*)\]: (\S+) by the source, (\S+) by the",
                                      done.out).groups()
    assert source != target and place.count(",") == 3
    assert f"‹{source}›" in done.out and f"‹{target}›" in done.out


def test_a_normal_form_is_written_as_sums(explain):
    done = explain("--explain", "every-second-pixel")
    assert done.code == 0, done
    assert "0 from properties, 1 by the normal form" in done.out
    assert len(re.findall(r"^    (?:source|target)       Σ\{k < 3, .*\} w\[i1, l, k\]·x\[i0, l, i2 \+ 2·k − 2\]$",
                          done.out, re.MULTILINE)) == 2
    assert "Here q..1 is " in done.out


def test_an_axiom_is_not_proved_from_itself(taso_verify, tmp_path):
    (tmp_path / "axioms.rules").write_text("taso rules 1\n\naxiom relu-again\n  relu(relu(x)) = relu(x)\n")
    done = run(taso_verify, tmp_path / "axioms.rules", "--explain", "relu-again")
    assert done.code == 0 and "(0 from properties" in done.out, done
    assert "both sides   max(0; x[" in done.out or "source       max(" in done.out, done.out


def test_a_condition_comes_with_both(explain):
    done = explain("--explain", "groups-joined")
    assert done.code == 5
    assert "As it stands it is false." in done.out and "Counterexample at" in done.out
    assert "It is true where g = 1." in done.out and "= { " in done.out


def test_an_unknown_name_gets_a_suggestion(explain):
    done = explain("--explain", "shared-left-facter")
    assert done.code == 2
    assert "no rule is called 'shared-left-facter'; did you mean 'shared-left-factor'?" in done.err
    assert done.out == ""


def test_a_rule_that_comes_with_taso_needs_no_file(taso_verify, tmp_path):
    done = run(taso_verify, "--explain", "first-part-to-slice")
    assert done.code == 0 and "first-part-to-slice: proved" in done.out, done
    done = run(taso_verify, "--explain", "split-of-concat")  # a property that proofs name
    assert done.code == 0 and done.out.startswith("split-of-concat: "), done
    done = run(taso_verify, "--explain", "first-part-to-slise")
    assert done.code == 2 and "did you mean 'first-part-to-slice'?" in done.err and done.out == "", done
    assert run(taso_verify, "--explain", "").code == 2
    done = run(taso_verify, "--explain", tmp_path)
    assert done.code == 2 and "takes the name of a rule" in done.err, done
    assert "no rule file is given" in run(taso_verify).err


def test_other_requests_are_refused(explain):
    done = explain("--explain", "1", "--agreement")
    assert done.code == 2 and "--explain can only be combined with" in done.err


def replay(taso_verify, folder):
    return run(taso_verify, "--certificate", folder / "out.onnx.cert", "--explain", folder / "model.onnx",
               folder / "out.onnx", "--rules", folder / "my.rules")


def test_a_certificate_is_replayed_in_words(taso_verify, certified):  # noqa: F811
    done = replay(taso_verify, certified)
    assert done.code == 0, done
    assert re.search(r"  1\. shared-left-factor: accepted\n     at 'pq' of MatMul", done.out)
    assert "  2. shared-left-factor: accepted\n" in done.out
    assert done.out.count("x·y,  x·z  ⇒  ") == 1  # the same rule is not told twice
    assert "The graph after the rewrites is what the output computes: accepted" in done.out
    assert done.out.splitlines()[-1].startswith("ACCEPTED: ") and "     holds: " in done.out


def test_the_replay_shows_where_it_fails(taso_verify, certified):  # noqa: F811
    file = certified / "out.onnx.cert"
    certificate = json.loads(file.read_text())
    inputs = certificate["steps"][1]["inputs"]
    inputs["y"], inputs["z"] = inputs["z"], inputs["y"]
    file.write_text(json.dumps(certificate))
    done = replay(taso_verify, certified)
    assert done.code == 5, done
    assert "  1. shared-left-factor: accepted\n" in done.out
    assert "  2. shared-left-factor: REJECTED: " in done.out
    assert "what the output computes: not reached" in done.out
    assert re.search(r"\nREJECTED at rewrite 2: .+\nNothing is known of what is not reached\.\n$", done.out), done.out
    assert re.search(r"REJECTED\n.*out.onnx.cert: step 2 \(rule 'shared-left-factor'\): ", done.err), done.err
    # Only what was checked is told as a fact.
    accepted, _, claimed = done.out.partition("  2. shared-left-factor: ")
    assert "     holds: " in accepted and "     computed now by " in accepted
    assert "     holds: " not in claimed and "computed now" not in claimed and "     has to hold: " in claimed


@pytest.mark.parametrize("change, reason", [
    ("output", "out.onnx is not the output of the certificate"),
    ("input", "model.onnx is not the input of the certificate"),
    ("hash", "out.onnx is not the output of the certificate"),
    ("rules", "it was made with other rules"),
])
def test_a_replay_that_does_not_begin_tells_why(change, reason, taso_verify, certified):  # noqa: F811
    if change in ("output", "input"):
        file = certified / ("out.onnx" if change == "output" else "model.onnx")
        model = onnx.load(file)
        model.graph.node[0].name += "'"
        onnx.save(model, file)
    else:
        file = certified / "out.onnx.cert"
        certificate = json.loads(file.read_text())
        key = "output" if change == "hash" else "rules"
        certificate[key] = certificate[key][::-1]
        file.write_text(json.dumps(certificate))
    done = replay(taso_verify, certified)
    assert done.code == 5, done
    assert re.fullmatch(r"REJECTED before the replay: .*\n", done.out) and reason in done.out, done
    assert done.err.startswith("REJECTED\n") and reason in done.err and "accepted" not in done.out + done.err, done


def test_the_graph_of_the_output_is_compared(taso_verify, certified):  # noqa: F811
    """All steps are right, but the output, whose hash was forged too, computes something else."""
    def swap(model):
        split = next(node for node in model.graph.node if node.op_type == "Split")
        split.output[0], split.output[1] = split.output[1], split.output[0]
    forge_output(certified, swap)
    done = replay(taso_verify, certified)
    assert done.code == 5 and "  2. shared-left-factor: accepted" in done.out, done
    assert re.search(r"\nThe graph after the rewrites is what the output computes: REJECTED: (.+)\n\nREJECTED: \1\n",
                     done.out), done.out
