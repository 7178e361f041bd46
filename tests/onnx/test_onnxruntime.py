"""Every backend test of ONNX gives the same results in ONNX Runtime after taso-opt."""

import collections
import os
import pathlib
import subprocess

import pytest

import runtime_comparison

PACKAGED = pathlib.Path("/usr/share/libonnx-testdata/data")


def compare_all(taso_opt, folders, scratch):
    outcomes = collections.defaultdict(list)
    for folder in folders:
        feeds = runtime_comparison.read_data_sets(folder)
        output = scratch / "out.onnx"
        if feeds is None:  # sequences and the like: the model must still pass through
            result = runtime_comparison.optimise(taso_opt, folder / "model.onnx", output)
            outcome = runtime_comparison.Outcome("not run" if result.returncode == 0 else "failed", result.stderr)
        else:
            outcome = runtime_comparison.compare(taso_opt, folder / "model.onnx", output, feeds or None)
        outcomes[outcome.kind].append((folder.name, outcome.reason))
    print({kind: len(names) for kind, names in outcomes.items()})
    for name, reason in outcomes["not run"]:
        print(f"not run: {name}: {reason}")
    return outcomes


def test_packaged_backend_tests(taso_opt, tmp_path):
    if not PACKAGED.is_dir():
        pytest.skip("libonnx-testdata is not installed")
    outcomes = compare_all(taso_opt, runtime_comparison.backend_folders(PACKAGED), tmp_path)
    assert outcomes["failed"] == []
    assert len(outcomes["equal"]) >= 600


@pytest.fixture(scope="session")
def newest_backend_tests(tmp_path_factory):
    """The node tests of the installed onnx package, which generates them on request."""
    folder = tmp_path_factory.mktemp("backend")
    runtime_comparison.write_node_tests(folder)
    return folder


def test_newest_backend_tests(taso_opt, newest_backend_tests, tmp_path):
    outcomes = compare_all(taso_opt, runtime_comparison.backend_folders(newest_backend_tests), tmp_path)
    assert outcomes["failed"] == []
    assert len(outcomes["equal"]) >= 600


def test_newest_backend_tests_in_the_interpreter(newest_backend_tests):
    runner = pathlib.Path(os.environ["TASO_BUILD_FOLDER"]) / "tests" / "onnx_backend"
    result = subprocess.run([runner, "--at-least", "600", newest_backend_tests], capture_output=True, text=True)
    print(result.stdout[-20000:], result.stderr)
    assert result.returncode == 0
