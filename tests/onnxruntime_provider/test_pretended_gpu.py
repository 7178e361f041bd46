"""The tests of test_gpu.py without a GPU: memory, copies and streams are pretended (pretended_gpu.c)."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent


def test_tests_for_a_gpu_pass_on_a_pretended_one(library, source_folder, tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    built = tmp_path / "pretended_gpu.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-I", source_folder / "runtime" / "api",
                    HERE / "pretended_gpu.c", "-o", built, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(built), "TASO_PRETENDED_GPU": "1"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", HERE / "test_gpu.py"],
                          env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed.group(1)) >= 15, done.stdout
