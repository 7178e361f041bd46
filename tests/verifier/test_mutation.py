"""Mutants of the sound rules: not one that differs on concrete tensors may be called proved."""

import os
import pathlib
import re
import subprocess

import pytest


def campaign(source_folder, count, seed, limit):
    build = pathlib.Path(os.environ.get("TASO_BUILD_FOLDER", source_folder / "build" / "dev"))
    program = build / "tests" / "verifier_mutate"
    if not program.is_file():
        pytest.skip("this build has no Z3, and so no verifier_mutate")
    rules = sorted((source_folder / "tests/verifier/sound").glob("*.rules"))
    done = subprocess.run([program, "--count", str(count), "--seed", str(seed), "--properties",
                           source_folder / "rules/properties.rules", *rules],
                          capture_output=True, text=True, timeout=limit)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert f"{count} mutants" in done.stdout
    assert "taken in: 0" in done.stdout
    totals = [int(n) for n in re.search(r"^all +(.*)$", done.stdout, re.MULTILINE).group(1).split()]
    assert sum(totals) == count
    assert totals[0] > count / 5  # refuted by their values
    assert totals[4] > count / 50  # still true
    assert totals[6] < count / 50  # unknown


def test_mutants(source_folder):
    campaign(source_folder, 400, 1, 800)


@pytest.mark.full
def test_ten_thousand_mutants(source_folder):
    campaign(source_folder, 10_000, 2, 7200)
