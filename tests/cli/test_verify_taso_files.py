"""Rule files in TASO's binary format: read, or refused with the offending rule; nothing crashes, nothing hangs."""

import json
import os
import subprocess
import xml.etree.ElementTree

import pytest

import taso_files
from running import run
from taso_files import operator, output, rule, varint
from test_verify_bad_input import check, damage


def test_a_binary_file_is_read(taso_verify, tmp_path):
    path = tmp_path / "old.pb"
    path.write_bytes(taso_files.associativity() + taso_files.wrong_order())
    done = run(taso_verify, path, "--no-cache")
    assert done.code == 5, done
    assert "2 rules: 1 proved, 1 refuted" in done.err
    assert f"{path}: taso-001 is false" in done.err
    printed = run(taso_verify, path, "--print")
    assert printed.code == 0 and "matmul(" in printed.out
    text = tmp_path / "new.rules"
    text.write_text(printed.out)
    again = run(taso_verify, text, "--no-cache")
    assert again.code == 5 and "2 rules: 1 proved, 1 refuted" in again.err
    # By its contents, whatever its name.
    other = tmp_path / "file"
    other.write_bytes(path.read_bytes())
    assert run(taso_verify, other, "--print").out == printed.out


def test_a_rule_that_cannot_be_stated_has_its_own_verdict(taso_verify, tmp_path):
    path, report, junit = tmp_path / "old.pb", tmp_path / "report.json", tmp_path / "junit.xml"
    path.write_bytes(taso_files.constant_of_no_size() + taso_files.associativity() + taso_files.constant_of_no_size() +
                     taso_files.wrong_order() + taso_files.constant_of_no_size())
    done = run(taso_verify, path, "--no-cache", "--report", report, "--junit", junit)
    assert done.code == 5, done
    assert "5 rules: 1 proved, 1 refuted, 3 cannot be stated" in done.err
    assert "nothing determines the size of the constant" in done.err
    rules = json.loads(report.read_text())["rules"]
    assert [(rule["name"], rule["verdict"], rule["passed"]) for rule in rules] == [
        ("taso-000", "cannot be stated", False), ("taso-001", "proved", True), ("taso-002", "cannot be stated", False),
        ("taso-003", "refuted", False), ("taso-004", "cannot be stated", False)]
    assert rules[0]["reason"].startswith("nothing determines") and rules[0]["hash"] is None
    assert json.loads(report.read_text())["totals"]["cannot be stated"] == 3
    cases = xml.etree.ElementTree.parse(junit).getroot().findall(".//testcase")
    assert [case.get("name") for case in cases] == [f"taso-{i:03}" for i in range(5)]
    assert cases[0].find("failure").get("message").startswith("cannot be stated: nothing determines")
    printed = run(taso_verify, path, "--print")
    assert printed.code == 0
    assert printed.out.count("cannot be stated: nothing determines the size of the constant") == 3
    text = tmp_path / "new.rules"
    text.write_text(printed.out)
    assert "2 rules: 1 proved, 1 refuted" in run(taso_verify, text, "--no-cache").err
    assert not (record := tmp_path / "record.json").exists()
    path.write_bytes(taso_files.constant_of_no_size() + taso_files.associativity())
    assert run(taso_verify, path, "--no-cache", "--record", record).code == 5 and not record.exists()


def test_a_table_of_verdicts(taso_verify, source_folder, tmp_path):
    path = tmp_path / "old.pb"
    path.write_bytes(taso_files.associativity() + taso_files.wrong_order())

    def table(*arguments):
        return subprocess.run([source_folder / "scripts/verify-taso-rules", path, *arguments], capture_output=True,
                              text=True, env={**os.environ, "TASO_PROGRAMS": str(taso_verify.parent)})

    first = table()
    assert first.returncode == 0
    assert first.stdout.splitlines()[1:] == ["   0  taso-000  proved", "   1  taso-001  refuted",
                                             "# 2 rules, 1 proved, 1 refuted"]
    verdicts = tmp_path / "verdicts"
    verdicts.write_text(first.stdout)
    assert table("--check", verdicts).returncode == 0
    verdicts.write_text(first.stdout.replace("taso-001  refuted", "taso-001  proved"))
    assert table("--check", verdicts).returncode == 1
    path.write_bytes(b"nothing of the kind")
    assert table().returncode == 3


BAD_BINARY = {
    "not the format": b"\xff" * 64,
    "truncated": taso_files.associativity()[:-3],
    "length beyond the end": varint(1 << 3 | 2) + varint(1 << 40) + b"abc",
    "length that overflows": varint(1 << 3 | 2) + varint((1 << 64) - 1) + b"abc",
    "endless varint": b"\x0a" + b"\xff" * 20,
    "unknown operator": rule(operator(1, 999, [-1]), operator(2, 8, [-1]), output(0, 0)),
    "negative operator": rule(operator(1, -5, [-1]), operator(2, 8, [-1]), output(0, 0)),
    "operator of itself": rule(operator(1, 8, [0]), operator(2, 8, [-1]), output(0, 0)),
    "operator that is not there": rule(operator(1, 8, [7]), operator(2, 8, [-1]), output(0, 0)),
    "operators in a circle": rule(operator(1, 16, [1, -1]), operator(1, 16, [0, -1]), operator(2, 8, [-1]),
                                  output(0, 0)),
    "result that is not there": rule(operator(1, 8, [-1]), operator(2, 8, [-1]), output(0, 5)),
    "negative result": rule(operator(1, 8, [-1]), operator(2, 8, [-1]), output(-3, 0)),
    "output that is not there": rule(operator(1, 8, [-1]), operator(2, 8, [-1]), output(0, 0, 9, 9)),
    "no results": rule(operator(1, 8, [-1]), operator(2, 8, [-1])),
    "no operators": rule(),
    "too few operands": rule(operator(1, 16, [-1]), operator(2, 8, [-1]), output(0, 0)),
    "too many operands": rule(operator(1, 8, [-1, -2]), operator(2, 8, [-1]), output(0, 0)),
    "input that only the target has": rule(operator(1, 8, [-1]), operator(2, 8, [-2]), output(0, 0)),
    "huge kernel": rule(operator(1, 6, [-1], {4: 1 << 31 - 1, 5: -1, 6: 0, 7: 0, 8: 7, 9: 0}), operator(2, 8, [-1]),
                        output(0, 0)),
    "huge permutation": rule(operator(1, 15, [-1], {10: 2_000_000_000, 12: 2_000_000_000, 13: 1}), operator(2, 8, [-1]),
                             output(0, 0)),
    "text": b"this is no protobuf at all, but it is text\n",
}


@pytest.mark.parametrize("what", BAD_BINARY)
def test_broken_binary_files(taso_verify, tmp_path, what):
    path = tmp_path / "bad.pb"
    path.write_bytes(BAD_BINARY[what])
    check(taso_verify, path, ":")


def test_an_empty_binary_file_has_no_rules(taso_verify, tmp_path):
    path = tmp_path / "empty.pb"
    path.write_bytes(b"")
    assert run(taso_verify, path).code in (0, 3)


def test_shared_operands_do_not_blow_up(taso_verify, tmp_path):
    """Patterns share their operands: written out, this one has 2^60 operators."""
    parts = [operator(1, 16, [-1, -1])] + [operator(1, 16, [i, i]) for i in range(60)]
    path = tmp_path / "wide.pb"
    path.write_bytes(rule(*parts, operator(2, 8, [-1]), output(60, 0)))
    assert run(taso_verify, path, "--no-cache", "--time-limit", "5").code in (3, 5)



DAMAGED = taso_files.associativity() + taso_files.wrong_order()


def test_random_damage(taso_verify, tmp_path):
    damage(taso_verify, tmp_path / "damaged.pb", DAMAGED, 40)


@pytest.mark.full
def test_much_random_damage(taso_verify, tmp_path):
    damage(taso_verify, tmp_path / "damaged.pb", DAMAGED, 5_000)
