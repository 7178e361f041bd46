"""A wheel is built, installed in an environment of its own, and runs a model beside onnx and onnxruntime."""

import importlib
import os
import pathlib
import re
import subprocess
import sys

import pytest

CHECK = """
import sys
import numpy as np, onnx, onnxruntime
import taso
model = sys.argv[1]
assert onnx.load(model).graph.node  # protobuf of its own
picture = np.random.default_rng(0).random((1, 3, 32, 32), dtype=np.float32)
wanted = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"image": picture})[0]
found = taso.Session(model)(picture)["classes"]
np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
result = taso.optimize(model, "fast.onnx", budget=5, progress=False)
onnx.checker.check_model(onnx.load("fast.onnx"), full_check=True)
assert result.report["search"]["rules"] > 0, "the rules are found"
assert "H200" in result.report["prices"], "the prices are found"
found = taso.Session("fast.onnx", optimize=0.1)(picture)["classes"]
np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
print("all is well in", taso.__file__)
"""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_project_names_what_exists(taso, source_folder):
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
    project = tomllib.loads((source_folder / "pyproject.toml").read_text())
    version = project["tool"]["scikit-build"]["metadata"]["version"]
    found = re.search(version["regex"], (source_folder / version["input"]).read_text())
    assert found["value"] == taso.__version__
    for name, place in project["project"]["scripts"].items():
        module, function = place.split(":")
        assert callable(getattr(importlib.import_module(module), function)), name
    for file in ("README.md", "taso/py.typed", "taso/torch_backend.py"):
        assert (source_folder / "python" / file).is_file()


@pytest.fixture(scope="module")
def wheel(source_folder, tmp_path_factory):
    """$TASO_WHEEL, or one that is built here, without the CUDA module: it takes minutes more, and no GPU is here."""
    if "TASO_WHEEL" in os.environ:
        return pathlib.Path(os.environ["TASO_WHEEL"])
    folder = tmp_path_factory.mktemp("wheel")
    run(source_folder / "scripts/build-wheel", folder, env={**os.environ, "CMAKE_ARGS": "-DTASO_CUDA=OFF"})
    [made] = folder.glob("taso-*.whl")
    return made


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A virtual environment with the wheel, onnx and onnxruntime."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, "onnx",
        "onnxruntime")
    return folder


def clean(**more):
    """Nothing of the build is visible."""
    hidden = {"PYTHONPATH", "TASO_DATA", "TASO_CUDA_MODULE", "LD_LIBRARY_PATH"}
    return {**{name: text for name, text in os.environ.items() if name not in hidden}, **more}


@pytest.mark.full
def test_the_wheel_is_for_other_machines(wheel):
    assert "cp310-abi3-manylinux_2_" in wheel.name
    names = run(sys.executable, "-m", "zipfile", "--list", wheel)
    for needed in ("taso/_taso.abi3.so", "taso/lib/libtaso.so.1", "taso/bin/taso-opt", "taso/py.typed",
                   "taso/share/taso/rules/taso.rules", "taso/_taso.pyi", "taso.libs/libprotobuf-"):
        assert needed in names, names
    if pathlib.Path("/usr/share/doc/libprotobuf-dev/copyright").is_file():
        assert "taso/share/doc/third-party/libprotobuf-dev" in names, "the licences of the libraries inside"
    assert "libcudnn" not in names and "libcublas" not in names and ".a " not in names


@pytest.mark.full
def test_it_runs_a_model_beside_onnx_and_onnxruntime(environment, source_folder, tmp_path):
    model = source_folder / "examples/small_convnet.onnx"
    text = run(environment / "bin/python", "-c", CHECK, model, cwd=tmp_path, env=clean())
    assert "all is well in" in text and str(environment) in text
    run(environment / "bin/python", "-c", "import taso, onnx; " + CHECK, model, cwd=tmp_path, env=clean())


@pytest.mark.full
def test_its_programs_run(environment, source_folder, tmp_path):
    for name in ("taso-opt", "taso-verify", "taso-gen", "taso-bench"):
        assert run(environment / "bin" / name, "--version", cwd=tmp_path, env=clean()).startswith(name)
    run(environment / "bin/taso-opt", source_folder / "examples/small_convnet.onnx", "-o", tmp_path / "out.onnx",
        env=clean())
    assert "usage" in run(environment / "bin/python", "-m", "taso", env=clean())
