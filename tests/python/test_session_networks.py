"""Sessions on the host run the example networks that are written as PyTorch's exporter writes them, and give the
results of ONNX Runtime."""

import pathlib
import subprocess
import sys

import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "onnx"))
import runtime_comparison  # noqa: E402

SMALL = {
    "unet_block": ("--image-size", 8),
    "llama_small": ("--sequence", 8),
    "efficientnet_b0": ("--image-size", 32),
    "convnext_tiny": ("--image-size", 32),
    "swin_tiny": ("--image-size", 48),
    "distilbert": ("--sequence", 8),
    "whisper_tiny": ("--sequence", 20),
    "gpt2": ("--sequence", 8),
    "yolov8n": ("--image-size", 64),
    "diffusion_unet": ("--image-size", 16, "--width", 32),
    "moe_block": ("--sequence", 3),
}


CACHED = [(name, ("--static-cache", "--batch", "2")) for name in ("llama_small", "gpt2")]


@pytest.mark.parametrize("opset", [20, 23])
@pytest.mark.parametrize("name, form", [(name, ()) for name in SMALL] + CACHED)
def test_a_session_gives_the_results_of_onnx_runtime(taso, taso_networks, tmp_path, name, form, opset):
    path = tmp_path / "model.onnx"
    subprocess.run([taso_networks, name, "-o", path, "-q", "--blocks", "1", "--opset", str(opset),
                    *map(str, SMALL[name]), *form], check=True)
    reference = runtime_comparison.open_session(path)
    inputs = runtime_comparison.random_inputs(reference, 6)
    expected = dict(zip([output.name for output in onnx.load(path).graph.output], reference.run(None, inputs)))
    actual = taso.Session(path, device="cpu", log=False).run(inputs)
    assert list(actual) == list(expected)
    for output in expected:
        assert runtime_comparison.same(expected[output], actual[output]), output
