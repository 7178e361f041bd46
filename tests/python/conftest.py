"""What the tests of the Python package may ask for: the package of the build folder, and small models."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper

from small_models import model, value

PACKAGES = pathlib.Path(os.environ.get("TASO_BUILD_FOLDER", "")).absolute() / "python"
WHY_NOT = "the Python package is not built (TASO_PYTHON_MODULE, nanobind and Python's headers)"


def is_built():
    return any((PACKAGES / "taso").glob("_taso*.so"))


def pytest_terminal_summary(terminalreporter):
    """If nothing ran, ctest counts the file as skipped."""
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped and not terminalreporter.stats.get("passed"):
        terminalreporter.write_line(f"SKIPPED: {skipped[0].longrepr[2].removeprefix('Skipped: ')}")


@pytest.fixture(scope="session")
def package_folder():
    """What PYTHONPATH must name for `import taso`."""
    if not is_built():
        pytest.skip(WHY_NOT)
    return PACKAGES


@pytest.fixture(scope="session")
def taso(package_folder):
    sys.path.insert(0, str(package_folder))
    import taso as package
    return package


@pytest.fixture(scope="session")
def python(package_folder):
    """Runs Python with the package."""

    def run(*arguments, start=False, **options):
        environment = {**os.environ, "PYTHONPATH": str(package_folder)}
        command = [sys.executable, *map(str, arguments)]
        if start:
            return subprocess.Popen(command, env=environment, text=True, **options)
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, **options)

    return run


@pytest.fixture(scope="session")
def product():
    """y = x w + b for any number of rows."""
    weight = np.random.default_rng(1).standard_normal((4, 3), dtype=np.float32)
    return model([helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])],
                 [value("x", ["rows", 4]), value("b", [3])], [value("y", ["rows", 3])],
                 [onnx.numpy_helper.from_array(weight, "w")])
