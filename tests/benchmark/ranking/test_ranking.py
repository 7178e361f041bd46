"""Which pairs of variants are judged, and how."""
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import ranking  # noqa: E402


def variant(name, took, predicted, lanes=None, spread=0.1):
    times = {"median": took, "5_percent": took - spread, "95_percent": took + spread, "runs": 100}
    one = {"model": name, "microseconds": times, "predicted_microseconds": predicted}
    return one | ({"lanes": lanes} if lanes else {})


def test_pairs_within_noise_are_not_judged():
    as_run, _ = ranking.of_plans([variant("a", 100, 100), variant("b", 100.4, 90), variant("c", 110, 105)])
    assert (as_run.pairs, as_run.differing, as_run.right) == (3, 2, 2)
    as_run, _ = ranking.of_plans([variant("a", 100, 100, spread=30), variant("b", 105, 90, spread=30)])
    assert as_run.differing == 0


def test_both_orders_are_judged_by_their_own_predictions():
    slow_alone = {"one_after_the_other": 300.0, "predicted_one_after_the_other": 290.0}
    as_run, alone = ranking.of_plans([variant("a", 100, 90, slow_alone), variant("b", 120, 130)])
    assert (as_run.differing, as_run.right) == (1, 1) and (alone.differing, alone.right) == (1, 1)
    assert alone.variants[0].took == 300 and [one.name for one in as_run.variants] == ["a", "b"]


def test_variants_run_in_onnxruntime(source_folder, programs, tmp_path):
    pytest.importorskip("onnxruntime")
    if not (programs.parent / "tools/cost_variants").exists():
        pytest.skip("cost_variants is not built")
    command = [sys.executable, HERE / "ranking.py", "--build", programs.parent, "--json", tmp_path]
    done = subprocess.run([*command, "--target", "onnxruntime", "--prices", tmp_path / "measured.prices", "--count", "2",
                           "--searching", "2", "--seconds", "1", source_folder / "examples/small_convnet.onnx"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done
    assert "small_convnet, in ONNX Runtime: 2 variants from " in done.stdout and "of 1 pairs differ" in done.stdout
    again = subprocess.run([*command, "--results", tmp_path / "small_convnet.json"], capture_output=True, text=True)
    assert again.stdout == done.stdout


def test_a_model_that_is_missing_is_named(programs, tmp_path):
    done = subprocess.run([sys.executable, HERE / "ranking.py", "--build", programs.parent, "--target", "onnxruntime",
                           tmp_path / "none.onnx"], capture_output=True, text=True)
    assert done.returncode == 1 and "none" in done.stderr and "Traceback" not in done.stderr, done


def test_a_python_without_onnxruntime_is_told(source_folder, programs, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    for build, text in ((programs.parent, "small_convnet: taso-opt ended with 6"), ("/nowhere", "No such file")):
        done = subprocess.run([sys.executable, HERE / "ranking.py", "--build", build, "--target", "onnxruntime",
                               "--python", python, "--count", "1", "--searching", "1",
                               source_folder / "examples/small_convnet.onnx"], capture_output=True, text=True)
        assert done.returncode == 1 and text in done.stderr and "Traceback" not in done.stderr, done
