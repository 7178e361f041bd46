"""False rules made by a program: true below some size, rank or length, with odd names, huge constants, conditions that
contradict each other or only look strong. None is proved."""

import collections
import json
import subprocess

import pytest

from families import FAMILIES, false_rules, rule_file


def campaign(taso_verify, tmp_path, every, seconds, limit):
    rules = false_rules(every)
    file, report = tmp_path / "adversarial.rules", tmp_path / "report.json"
    file.write_text(rule_file(rules))
    done = subprocess.run([taso_verify, file, "--no-cache", "--time-limit", str(seconds), "--report", report],
                          capture_output=True, text=True, timeout=limit)
    assert done.returncode == 5, done.stderr
    verdicts = json.loads(report.read_text())["rules"]
    assert [verdict["name"] for verdict in verdicts] == list(rules)
    totals = collections.Counter(verdict["verdict"] for verdict in verdicts)
    print(len(rules), "rules:", dict(totals))
    believed = {verdict["name"]: rules[verdict["name"]].why for verdict in verdicts if verdict["verdict"] == "proved"}
    assert believed == {}
    return rules


def test_some_of_every_family(taso_verify, tmp_path):
    assert len(campaign(taso_verify, tmp_path, 29, 2, 800)) >= len(FAMILIES)


@pytest.mark.full
def test_all(taso_verify, tmp_path):
    assert len(campaign(taso_verify, tmp_path, 1, 5, 14400)) >= 1200
