"""taso-opt --search: saturation gives results like any other search, with certificates, and tells the gap."""

import json

import pytest
from json_schema import differences
from opt_models import run, save
from test_search import MERGING, RULES, projections


@pytest.fixture
def rules(tmp_path, taso_verify):
    (tmp_path / "my.rules").write_text(RULES)
    return tmp_path / "my.rules"


@pytest.fixture
def model(tmp_path):
    return save(projections(), tmp_path / "model.onnx")


def skip_without_cbc(done):
    if done.code == 6:
        assert "coinor-libcbc-dev" in done.err and "--search" in done.err
        pytest.skip("this build has no CBC")


def search(taso_opt, model, rules, tmp_path, *options):
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", *MERGING, "--rules", rules,
               "--report", tmp_path / "report.json", *options)
    skip_without_cbc(done)
    assert done.code == 0, done
    return done, json.loads((tmp_path / "report.json").read_text())


@pytest.mark.parametrize("name", ["saturation", "both"])
def test_products_are_merged_and_certified(name, taso_opt, taso_verify, model, rules, tmp_path, source_folder):
    done, report = search(taso_opt, model, rules, tmp_path, "--search", name)
    assert done.err.splitlines()[-1] == "PASSED"
    assert report["search"]["method"] == name
    assert [one["rule"] for one in report["search"]["applied"]] == ["shared-left-factor"]
    replayed = run(taso_verify, "--certificate", tmp_path / "out.onnx.cert", model, tmp_path / "out.onnx",
                   "--rules", rules)
    assert replayed.code == 0, replayed
    schema = json.loads((source_folder / "cli/schemas/opt-report.schema.json").read_text())
    assert not list(differences(report, schema))


def test_the_gap_is_told_in_all_and_by_region(taso_opt, model, rules, tmp_path):
    done, report = search(taso_opt, model, rules, tmp_path, "--search", "both")
    gap = report["search"]["gap"]
    assert f"gap: at most {gap['percent']:.1f} % better graphs exist within these rules, sizes and prices" in done.err
    assert 0 < gap["least"] <= gap["cost"] <= report["search"]["cost"]["before"]
    assert gap["percent"] == pytest.approx(100 * (1 - gap["least"] / gap["cost"]))
    assert gap["regions"] and gap["regions_solved"] >= len(gap["regions"])
    for region in gap["regions"]:
        assert 0 <= region["least"] <= region["cost"] and region["places"] >= 1
    assert "region of operators" in done.err


def test_backtracking_is_the_default_and_tells_no_gap(taso_opt, model, rules, tmp_path):
    plain, report = search(taso_opt, model, rules, tmp_path)
    first = (tmp_path / "out.onnx").read_bytes()
    assert report["search"]["gap"] is None and report["search"]["method"] == "backtracking" and "gap:" not in plain.err
    search(taso_opt, model, rules, tmp_path, "--search", "backtracking")
    assert (tmp_path / "out.onnx").read_bytes() == first


def test_the_same_bytes_with_any_number_of_jobs(taso_opt, model, rules, tmp_path):
    results = []
    for jobs in "1", "3":
        search(taso_opt, model, rules, tmp_path, "--search", "saturation", "--jobs", jobs)
        results.append((tmp_path / "out.onnx").read_bytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("options, words", [
    (("--search", "saturatoin"), "did you mean 'saturation'"),
    (("--search", "both", "--objective", "memory"), "--objective time or launches"),
    (("--search", "both", "--budget", "0"), "--budget 0"),
])
def test_mistakes_in_the_options(options, words, taso_opt, model, tmp_path):
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", *options)
    assert done.code == 2 and words in done.err, done
    assert not (tmp_path / "out.onnx").exists()
