"""Reports and certificates have the form that their schemas describe, and the schemas are documented."""

import json
import os
import re
import subprocess

import pytest
from json_schema import differences


@pytest.fixture(scope="module")
def schemas(source_folder):
    folder = source_folder / "cli/schemas"
    return {path.name.split(".")[0]: json.loads(path.read_text()) for path in folder.glob("*.schema.json")}


RUNS = {"convnet": ["small_convnet"], "transformer": ["small_transformer"],
        "coverage": ["small_transformer", "--coverage"],
        "clean-ups": ["small_convnet", "--budget", "0", "--check", "0", "--overwrite-input-shape", "image:2,3,32,32"],
        "memory": ["small_transformer", "--objective", "memory", "--lanes", "1", "--disable-pass", "identity"]}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_fits_the_schemas(name, schemas, source_folder, taso_opt, tmp_path):
    model, *options = RUNS[name]
    output = [] if "--coverage" in options else ["-o", tmp_path / "out.onnx"]
    done = subprocess.run([taso_opt, source_folder / f"examples/{model}.onnx", *output, *options, "-q",
                           "--report", tmp_path / "report.json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert not list(differences(report, schemas["opt-report"]))
    if output:
        certificate = json.loads((tmp_path / "out.onnx.cert").read_text())
        assert not list(differences(certificate, schemas["certificate"]))


@pytest.mark.parametrize("arguments, code", [(["examples/merging.rules"], 5), (["rules/networks.rules"], 0),
                                             (["examples/corrected.rules", "--no-cache"], 0)])
def test_verdicts_fit_the_schema(arguments, code, schemas, source_folder, taso_verify, tmp_path):
    done = subprocess.run([taso_verify, *arguments, "-q", "--report", tmp_path / "report.json"], cwd=source_folder,
                          capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == code, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert not list(differences(report, schemas["verify-report"]))
    for one in report["rules"]:  # the schema describes every field that there is
        assert set(one) <= set(schemas["verify-report"]["$defs"]["rule"]["properties"])


@pytest.mark.parametrize("file", ["examples/agreement.rules", "examples/merging.rules"])
def test_agreements_fit_the_schema(file, schemas, source_folder, taso_verify, tmp_path):
    done = subprocess.run([taso_verify, "--agreement", file, "-q", "--report", tmp_path / "report.json"],
                          cwd=source_folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report, schema = json.loads((tmp_path / "report.json").read_text()), schemas["agreement-report"]
    assert not list(differences(report, schema))
    assert set(report) == set(schema["properties"])  # the schema describes every field that there is
    for rule in report["agreement"]:
        assert set(rule) == set(schema["$defs"]["rule"]["properties"])
        for instance in rule["instances"]:
            assert set(instance) == set(schema["$defs"]["instance"]["properties"])


def test_figures_fit_the_schema(schemas, source_folder, taso_bench, tmp_path):
    """Those of a GPU: figures_test.cpp."""
    model = source_folder / "examples/small_convnet.onnx"
    done = subprocess.run([taso_bench, "--device", "cpu", model, model, "--runs", "2", "-q",
                           "--json", tmp_path / "figures.json"], capture_output=True, text=True,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert not list(differences(json.loads((tmp_path / "figures.json").read_text()), schemas["bench-report"]))


@pytest.mark.parametrize("options", [["--operators", "add,relu"], ["--operators", "add,relu,average_pool", "--all"]])
def test_generated_rules_fit_the_schema(options, schemas, taso_gen, tmp_path):
    """Those of --partial: test_gen_partial.py."""
    done = subprocess.run([taso_gen, "-o", tmp_path / "out.rules", *options, "--max-ops", "2", "-q",
                           "--report", tmp_path / "r.json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert not list(differences(report, schemas["gen-report"]))
    assert set(report) <= set(schemas["gen-report"]["properties"])


def test_differences_are_found(schemas):
    schema = schemas["certificate"]
    wrong = {"schema_version": 2, "version": 1, "input": "abc", "steps": [{"rule": True, "cost": [1]}]}
    found = "\n".join(differences(wrong, schema))
    for part in ("schema_version is 2", "version is 1", "input is 'abc'", "rule is True", "cost has 1", "no 'output'"):
        assert part in found


def test_every_field_of_the_report_is_documented(schemas, source_folder):
    guide = (source_folder / "cli/README.md").read_text().split("## The report of taso-opt")[1].split("\n## ")[0]
    named = set(re.findall(r"`(?:….)?([\w-]+)`", guide))
    schema = schemas["opt-report"]
    wanted = set(schema["required"])
    for part in ("search", "check", "coverage", "assumed_sizes"):
        wanted |= set(schema["properties"][part]["required"])
    assert not wanted - named, f"cli/README.md says nothing of {sorted(wanted - named)}"


def test_every_field_of_the_figures_is_documented(schemas, source_folder):
    guide = (source_folder / "cli/README.md").read_text().split("## The figures of taso-bench")[1].split("\n## ")[0]
    named = set(re.findall(r"`(?:….)?([\w-]+)`", guide))
    schema = schemas["bench-report"]
    wanted = {*schema["properties"], *schema["$defs"]["model"]["properties"]}
    for part in schema["$defs"]["model"]["properties"].values():
        wanted |= set(part.get("properties", {}))
    assert not wanted - named, f"cli/README.md says nothing of {sorted(wanted - named)}"
