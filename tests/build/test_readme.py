"""The README is true: its commands run, its folders exist, and its output has the form that the programs print."""

import os
import re
import subprocess

import pytest


@pytest.fixture(scope="module")
def readme(source_folder):
    return (source_folder / "README.md").read_text()


def blocks(readme):
    return re.findall(r"^```[a-z]*\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)


def test_every_script_named_is_there_and_runs(readme, source_folder):
    names = set(re.findall(r"\bscripts/[a-z-]+", readme))
    assert {"scripts/demo", "scripts/test"} <= names
    for name in names:
        assert os.access(source_folder / name, os.X_OK), f"{name} is shown and is not there"
        if (source_folder / name).read_text().startswith("#!/usr/bin/env bash"):
            subprocess.run(["bash", "-n", source_folder / name], check=True)


def test_the_folder_map_is_complete(readme, source_folder):
    shown = set(re.findall(r"^\| `([a-z]+)/` \|", readme, re.MULTILINE))
    ignored = {"build", "shared"}
    there = {
        path.name
        for path in source_folder.iterdir()
        if path.is_dir() and not path.name.startswith(".") and path.name not in ignored
        and not path.name.startswith("build") and any(file.is_file() for file in path.rglob("*"))
    }
    assert shown == there


def words(text):
    """The text without numbers and alignment, which change from run to run."""
    return [re.sub(r"[\d.,]+", "#", re.sub(r"\s+", " ", line.strip())) for line in text.splitlines() if line.strip()]


def test_the_output_shown_is_the_output_printed(readme, source_folder, taso_opt, taso_networks, tmp_path):
    shown = next((block for block in blocks(readme) if "taso-opt build/" in block), None)
    assert shown, "the README shows no run of taso-opt"
    network, command, *expected = [line for line in shown.splitlines() if line.strip()]
    name = network.split("taso-networks ", 1)[1].split()[0]
    subprocess.run([taso_networks, name, "-q", "-o", tmp_path / f"{name}.onnx"], check=True)
    arguments = command.split("taso-opt build/", 1)[1].split()
    assert arguments == [f"{name}.onnx", "-o", f"build/{name}.opt.onnx"]
    done = subprocess.run([taso_opt, tmp_path / f"{name}.onnx", "-o", tmp_path / f"{name}.opt.onnx"],
                          cwd=source_folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    here = (done.stdout + done.stderr).replace(f"{tmp_path}/", "build/")
    here = re.sub(r"^searching: .*\n", "", here, flags=re.MULTILINE)  # progress on a slow machine
    def without_end(lines):  # a change of rules or prices may change how a search ends
        return [re.sub(r"^(search: .*); .*$", r"\1", line) for line in lines]

    assert without_end(words(here)) == without_end(words("\n".join(expected)))


def test_the_verdicts_shown_are_the_verdicts_printed(readme, source_folder, taso_verify, tmp_path):
    shown = next((block for block in blocks(readme) if "taso-verify examples/" in block), None)
    assert shown, "the README shows no run of taso-verify"
    command, *expected = [line for line in shown.splitlines() if line.strip()]
    arguments = command.split("taso-verify ", 1)[1].split()
    done = subprocess.run([taso_verify, *arguments], cwd=source_folder, capture_output=True, text=True,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 5, done.stderr
    assert words(done.stderr) == words("\n".join(expected))


def test_the_rules_found_are_found(source_folder, taso_gen, tmp_path):
    guide = (source_folder / "generator/README.md").read_text()
    shown = next((block for block in blocks(guide) if "taso-gen -o" in block), None)
    assert shown, "generator/README.md shows no run of taso-gen"
    command, *expected = [line for line in shown.splitlines() if line.strip()]
    arguments = command.split("taso-gen ", 1)[1].split()
    name = arguments[arguments.index("-o") + 1]
    arguments[arguments.index("-o") + 1] = str(tmp_path / "found.rules")
    done = subprocess.run([taso_gen, *arguments], cwd=source_folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Drop the progress lines of a slow machine.
    here = [line for line in done.stderr.replace(str(tmp_path / "found.rules"), name).splitlines()
            if not re.match("(starting|enumerating|pruning|proving|pairing|selecting) ?", line)]
    assert words("\n".join(here)) == words("\n".join(expected))
