"""The rule files beside this one: the folder is the verdict."""

import json
import os
import subprocess

import pytest


def verdicts(taso_verify, tmp_path, *arguments):
    report = tmp_path / "report.json"
    done = subprocess.run([taso_verify, *arguments, "--no-cache", "--report", report], capture_output=True, text=True,
                          timeout=800)
    assert done.returncode in (0, 5), done.stderr
    return done.returncode, json.loads(report.read_text())


def test_sound_rules_are_proved(taso_verify, source_folder, tmp_path):
    files = sorted((source_folder / "tests/verifier/sound").glob("*.rules"))
    code, report = verdicts(taso_verify, tmp_path, *files)
    others = {rule["name"]: (rule["verdict"], rule.get("reason")) for rule in report["rules"] if not rule["passed"]}
    assert others == {} and code == 0
    assert len(report["rules"]) >= 150


def test_unsound_rules_are_not_proved(taso_verify, source_folder, tmp_path):
    files = sorted((source_folder / "tests/verifier/unsound").glob("*.rules"))
    _, report = verdicts(taso_verify, tmp_path, *files)
    others = {rule["name"]: rule["verdict"] for rule in report["rules"]
              if rule["verdict"] not in ("refuted", "conditional")}
    assert others == {}
    assert all(rule["counterexample"] for rule in report["rules"])
    assert len(report["rules"]) >= 150


def test_rules_beyond_the_verifier_are_unknown(taso_verify, source_folder, tmp_path):
    """Rules that overflow, depend on unknown numbers, or apply only beyond the ranks that are tried."""
    files = sorted((source_folder / "tests/verifier/unknown").glob("*.rules"))
    code, report = verdicts(taso_verify, tmp_path, *files)
    others = {rule["name"]: rule["verdict"] for rule in report["rules"] if rule["verdict"] != "unknown"}
    assert others == {} and code == 5
    assert all(rule["reason"] for rule in report["rules"])
    assert len(report["rules"]) >= 6


def test_planted_properties_are_caught(taso_verify, source_folder, tmp_path):
    files = sorted((source_folder / "tests/verifier/planted").glob("*.rules"))
    assert files
    for file in files:
        code, report = verdicts(taso_verify, tmp_path, "--properties-only", "--properties", file)
        assert code == 5
        assert {rule["name"]: rule["verdict"] for rule in report["validated"] if rule["verdict"] != "refuted"} == {}


def test_verdicts_do_not_depend_on_the_number_of_jobs(taso_verify, source_folder, tmp_path):
    files = [source_folder / "tests/verifier" / name for name in ("sound/conv.rules", "unsound/conv.rules")]
    reports = []
    for jobs in (1, 3):
        _, report = verdicts(taso_verify, tmp_path, *files, "--jobs", str(jobs))
        del report["seconds"]
        reports.append(report)
    assert reports[0] == reports[1]


def test_verdicts_on_the_rules_of_taso(taso_verify, source_folder):
    """Skipped without the file of TASO's release, which is not part of this repository."""
    file = os.environ.get("TASO_2019_RULES")
    if not file:
        pytest.skip("TASO_2019_RULES does not name TASO's rule file (graph_subst.pb)")
    done = subprocess.run([source_folder / "scripts/verify-taso-rules", file, "--check",
                           source_folder / "tests/verifier/taso-2019.verdicts"], capture_output=True, text=True,
                          env={**os.environ, "TASO_PROGRAMS": str(taso_verify.parent)})
    assert done.returncode == 0, done.stdout


@pytest.mark.full
def test_cvc5_agrees(taso_verify, source_folder, tmp_path):
    files = sorted((source_folder / "tests/verifier/sound").glob("*.rules"))
    if subprocess.run(["sh", "-c", "command -v cvc5"], capture_output=True).returncode != 0:
        pytest.skip("cvc5 is not installed")
    code, report = verdicts(taso_verify, tmp_path, *files, "--second-prover", "cvc5")
    assert code == 0
    confirmed = sum(rule.get("second_prover", {}).get("confirmed", 0) for rule in report["rules"])
    open_questions = sum(rule.get("second_prover", {}).get("open", 0) for rule in report["rules"])
    assert confirmed > 100 and open_questions <= confirmed / 10
