"""Plans of example networks: batch norm, activation and residuals are fused into convolutions, and times have the right
order of magnitude."""

import re
import subprocess

import pytest


@pytest.mark.parametrize("network, arguments, kernels, low, high", [
    # 26 convolutions, 3 poolings and a mean; NHWC, so that the image is converted, and eight free concats.
    ("squeezenet1_1", (), 31, 0.06, 0.12),
    # 52 convolutions, a mean and a matmul; the image is converted.
    ("mobilenet_v2", (), 55, 0.1, 0.2),
    # One layer has 8 matmuls, softmax, two layer norms and gelu.
    ("bert_base", ("--layers", 1), None, 0.04, 0.09),
])
def test_plan(programs, tmp_path, network, arguments, kernels, low, high):
    subprocess.run([programs / "taso-networks", network, *map(str, arguments), "-q", "-o", tmp_path / "n.onnx"],
                   check=True)
    done = subprocess.run([programs.parent / "tools" / "cost_plan", tmp_path / "n.onnx"], capture_output=True,
                          text=True, check=True)
    found = re.search(r"([\d.]+) ms, \d+ nodes, (\d+) kernels", done.stdout)
    assert low < float(found[1]) < high
    if kernels is not None:
        assert int(found[2]) == kernels
