"""The example models are valid, small, and equal to what their script writes."""

import subprocess
import sys

import onnx
import pytest


@pytest.mark.parametrize("name", ["small_convnet", "small_transformer"])
def test_an_example_is_valid_and_small(source_folder, name):
    path = source_folder / "examples" / f"{name}.onnx"
    assert path.stat().st_size < 300_000
    onnx.checker.check_model(onnx.load(path), full_check=True)


def test_the_script_writes_the_same_models(source_folder, tmp_path):
    """Compares messages, because their bytes may differ between versions of protobuf."""
    (tmp_path / "make_examples.py").write_text((source_folder / "examples/make_examples.py").read_text())
    subprocess.run([sys.executable, tmp_path / "make_examples.py"], check=True, capture_output=True)
    for path in tmp_path.glob("*.onnx"):
        assert onnx.load(path) == onnx.load(source_folder / "examples" / path.name)
