"""What every Python test may ask for: where the sources and the programs are."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ.get("TASO_SOURCE_FOLDER", pathlib.Path(__file__).resolve().parent.parent))


def pytest_configure(config):
    # A shell starts background jobs with interrupts ignored, and programs under test would inherit that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "full: a long campaign, run by scripts/test --full")
    config.addinivalue_line("markers", "threads: runs programs on several threads, for the thread sanitizer")


@pytest.fixture(scope="session")
def source_folder():
    return SOURCE


@pytest.fixture(scope="session")
def programs():
    """The folder with taso-opt and its like."""
    folder = pathlib.Path(os.environ.get("TASO_PROGRAMS", SOURCE / "build" / "dev" / "bin"))
    assert folder.is_dir(), f"{folder} does not exist: build first, or set TASO_PROGRAMS"
    return folder


@pytest.fixture(scope="session")
def taso_opt(programs):
    program = programs / "taso-opt"
    assert program.is_file(), f"{program} does not exist: build first"
    return program


@pytest.fixture(scope="session")
def taso_networks(programs):
    return programs / "taso-networks"


def proving(programs, taso_opt, name):
    """A program that needs Z3."""
    program = programs / name
    if not program.is_file():
        versions = subprocess.run([taso_opt, "--version"], capture_output=True, text=True).stdout
        if re.search(r"^Z3 +not built in", versions, re.MULTILINE):
            pytest.skip(f"this build has no Z3, and so no {name}")
    assert program.is_file(), f"{program} does not exist: build first"
    return program


@pytest.fixture(scope="session")
def taso_verify(programs, taso_opt):
    return proving(programs, taso_opt, "taso-verify")


@pytest.fixture(scope="session")
def taso_gen(programs, taso_opt):
    return proving(programs, taso_opt, "taso-gen")


@pytest.fixture(scope="session")
def taso_bench(programs):
    program = programs / "taso-bench"
    assert program.is_file(), f"{program} does not exist: build first"
    return program
