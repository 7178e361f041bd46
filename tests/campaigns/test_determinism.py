"""What tests/campaigns/determinism.py compares, and the campaign itself at two numbers of jobs."""

import subprocess
import sys

import determinism
import pytest


def test_reports_are_compared_without_times():
    first = {"seconds": {"load": 1.0}, "search": {"course": [[0.5, 1]], "kept": 3}, "before": {"seconds": 2.0}}
    second = {"seconds": {"load": 2.0}, "search": {"course": [[0.7, 1]], "kept": 3}, "before": {"seconds": 2.0}}
    assert determinism.without_varying(first) == determinism.without_varying(second)
    second["before"]["seconds"] = 3.0  # a prediction
    assert determinism.without_varying(first) != determinism.without_varying(second)


def test_hashes_are_compared_by_name(tmp_path):
    (tmp_path / "theirs").write_text("# a machine\n1 a model.onnx\n2 b\n4 d\n")
    theirs = determinism.read_hashes(tmp_path / "theirs")
    assert theirs == {"a model.onnx": "1", "b": "2", "d": "4"}
    assert determinism.differences({"a model.onnx": "1", "b": "3", "c": "5"}, theirs) == (["b"], ["c", "d"])


@pytest.mark.full
@pytest.mark.threads
def test_the_same_bytes_at_any_number_of_jobs(taso_gen, tmp_path):
    script = determinism.__file__
    first = tmp_path / "first"
    for arguments in (["--write", first], ["--compare", first]):
        ended = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr
