"""Where files are written: the input is safe, the output is complete or absent, and errors are reported early."""

import os
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

import opt_models as models
from opt_models import operators, run, save


@pytest.fixture
def model(tmp_path):
    return save(models.with_identity(), tmp_path / "model.onnx")


def test_the_input_is_replaced_only_by_force(taso_opt, model, tmp_path):
    before = model.read_bytes()
    os.link(model, tmp_path / "hard.onnx")
    os.symlink("model.onnx", tmp_path / "soft.onnx")
    (tmp_path / "sub").mkdir()
    for same in (model, tmp_path / "hard.onnx", tmp_path / "soft.onnx", tmp_path / "sub" / ".." / "model.onnx"):
        done = run(taso_opt, model, "-o", same)
        assert done.code == 2 and "--force" in done.err and len(done.err.splitlines()) == 1, done
        assert model.read_bytes() == before
    assert run(taso_opt, model, "-o", model, "--force").code == 0
    assert operators(model) == ["Relu", "Add"]


def test_links_are_followed(taso_opt, model, tmp_path):
    (tmp_path / "there").mkdir()
    os.symlink("there/real.onnx", tmp_path / "out.onnx")
    for _ in range(2):  # at first the link's target does not exist
        assert run(taso_opt, model, "-o", tmp_path / "out.onnx", "--force", "--external-data").code == 0
        assert os.path.islink(tmp_path / "out.onnx")
        assert operators(tmp_path / "there" / "real.onnx") == ["Relu", "Add"]
        assert not (tmp_path / "out.onnx.data").exists()
    os.symlink("round", tmp_path / "round")
    with open(tmp_path / "stdout", "wb") as file:
        for link in ("/dev/stdout", tmp_path / "round"):
            done = subprocess.run([taso_opt, model, "-o", link], stdout=file, stderr=subprocess.PIPE, text=True)
            assert done.returncode == 6 and "not a regular file" in done.stderr, done
    assert os.path.islink("/dev/stdout")


def test_reports_and_logs_never_replace_the_model(taso_opt, model, tmp_path):
    before = model.read_bytes()
    out = tmp_path / "out.onnx"
    for arguments in (["--report", model], ["--log-file", model], ["--report", out], ["--log-file", out],
                      ["--report", f"{out}.data"], ["--prices", model], ["--prices", out],
                      ["--report", tmp_path / "r", "--log-file", tmp_path / "r"]):
        done = run(taso_opt, model, "-o", out, "--force", *arguments)
        assert done.code == 2, (arguments, done)
    assert model.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_a_certificate_never_replaces_the_weights(taso_opt, tmp_path):
    model = save(models.with_external_weight(tmp_path, location="other.onnx.cert"), tmp_path / "model.onnx")
    before = (tmp_path / "other.onnx.cert").read_bytes()
    for flags in ([], ["--embed"], ["--external-data"], ["--force"]):
        done = run(taso_opt, model, "-o", tmp_path / "other.onnx", *flags)
        assert done.code == 2, done
        assert (tmp_path / "other.onnx.cert").read_bytes() == before
        assert sorted(os.listdir(tmp_path)) == ["model.onnx", "other.onnx.cert"]
    assert run(taso_opt, model, "-o", tmp_path / "other.onnx", "--no-certificate").code == 0
    assert (tmp_path / "other.onnx.cert").read_bytes() == before


def test_weights_of_the_input_are_input(taso_opt, tmp_path):
    model = save(models.with_external_weight(tmp_path, location="other.onnx.data"), tmp_path / "model.onnx")
    before = (tmp_path / "other.onnx.data").read_bytes()
    assert run(taso_opt, model, "-o", tmp_path / "other.onnx").code == 2
    assert run(taso_opt, model, "-o", tmp_path / "other.onnx.data", "--force").code == 2
    assert run(taso_opt, model, "--dry-run", "--report", tmp_path / "other.onnx.data").code == 2
    assert run(taso_opt, model, "--dry-run", "--log-file", tmp_path / "other.onnx.data").code == 2
    assert run(taso_opt, model, "--dry-run", "--prices", tmp_path / "other.onnx.data").code == 2
    # An early error is not logged to a file that is not a log.
    assert run(taso_opt, model, "-o", tmp_path / "no/out.onnx", "--log-file", tmp_path / "other.onnx.data").code == 2
    assert (tmp_path / "other.onnx.data").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "other.onnx.data"]
    assert run(taso_opt, model, "-o", tmp_path / "other.onnx", "--force").code == 0
    assert (tmp_path / "other.onnx.data").read_bytes()[:64] == before


@pytest.mark.parametrize("flag", ["-o", "--report", "--log-file"])
def test_places_that_cannot_be_written_are_said_at_once(flag, taso_opt, tmp_path):
    # The model is bad too: exit 6 shows that it was not read.
    model = save(b"no model", tmp_path / "model.onnx")
    places = [tmp_path / "no such folder" / "file", "/dev/full", tmp_path]
    if os.geteuid() != 0:
        (tmp_path / "locked").mkdir(mode=0o500)
        places.append(tmp_path / "locked" / "file")
    for place in places:
        done = run(taso_opt, model, *(["--dry-run"] if flag != "-o" else []), flag, place)
        assert done.code == 6, (place, done)
        assert len(done.err.splitlines()) == 1 and str(place) in done.err
    assert set(os.listdir(tmp_path)) <= {"model.onnx", "locked"}


def test_a_full_standard_output_is_said(taso_opt):
    with open("/dev/full", "w") as full:
        done = subprocess.run([taso_opt, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 6 and "standard output" in done.stderr


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KB; only root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("needs root to mount a small file system")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("arguments", [[], ["--external-data"]], ids=["embedded", "external"])
def test_a_full_disk(arguments, taso_opt, small_disk, tmp_path):
    large = models.model_of(
        [models.helper.make_node("Add", ["x", "w"], ["y"])], [models.floats("x", [50000])],
        [models.floats("y", [50000])], [models.weight("w", np.ones(50000))])
    model = save(large, tmp_path / "model.onnx")
    done = run(taso_opt, model, "-o", small_disk / "out.onnx", *arguments)
    assert done.code == 6 and len(done.err.splitlines()) == 1 and "out.onnx" in done.err, done
    assert not list(small_disk.iterdir())
    (small_disk / "out.onnx").write_bytes(b"precious")
    assert run(taso_opt, model, "-o", small_disk / "out.onnx", *arguments).code == 6
    assert os.listdir(small_disk) == ["out.onnx"] and (small_disk / "out.onnx").read_bytes() == b"precious"


@pytest.mark.parametrize("arguments", [[], ["--external-data"]], ids=["embedded", "external"])
def test_a_limit_on_the_size_of_files(arguments, taso_opt, tmp_path):
    # Many weights, small and large: the limit is reached in the middle of writing one.
    sizes = [size for size in (100, 300, 5000, 20000) for _ in range(20)]
    nodes = [models.helper.make_node("ReduceSum", [f"w{i}"], [f"s{i}"], keepdims=0) for i in range(len(sizes))]
    nodes.append(models.helper.make_node("Sum", ["x"] + [f"s{i}" for i in range(len(sizes))], ["y"]))
    many = models.model_of(nodes, [models.floats("x", [2])], [models.floats("y", [2])],
                           [models.weight(f"w{i}", np.full(size, i)) for i, size in enumerate(sizes)])
    model = save(many, tmp_path / "model.onnx")
    (tmp_path / "out").mkdir()
    keep = ["--disable-pass", "constant-folding", "--disable-pass", "cluster-folding", "--check", "0"]
    for limit in (0, 1000, 100_000, 1_100_000, 1_500_000):
        done = run(taso_opt, model, "-o", tmp_path / "out" / "out.onnx", *keep, *arguments,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        assert done.code == 6 and len(done.err.splitlines()) == 1 and "out.onnx" in done.err, (limit, done)
        assert not os.listdir(tmp_path / "out")


def slow_model(tmp_path):
    """A second or more of checking, to have time to interrupt; no search, which would take longer."""
    size, products = 1024, 40
    nodes = [models.helper.make_node("Identity", ["x"], ["v0"])]
    for i in range(products):
        nodes.append(models.helper.make_node("MatMul", [f"v{i}", "w"], [f"v{i + 1}"]))
    model = models.model_of(nodes, [models.floats("x", [size, size])], [models.floats(f"v{products}", [size, size])],
                            [models.weight("w", np.eye(size))])
    return save(model, tmp_path / "slow.onnx")


def start_and_wait_for(taso_opt, text, *arguments):
    process = subprocess.Popen([taso_opt, *arguments, "-v", "--budget", "0"], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if text in line:
            return process
    raise AssertionError(f"'{text}' was never said")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_the_first_interrupt_lets_it_finish(sent, taso_opt, tmp_path):
    out = tmp_path / "out.onnx"
    process = start_and_wait_for(taso_opt, "comparing", slow_model(tmp_path), "-o", out, "--check", "3")
    for _ in range(3):  # as timeout(1) does: to the program and to its group at once
        process.send_signal(sent)
        time.sleep(0.02)
    assert process.communicate(timeout=300) is not None
    assert process.returncode == 130
    assert "Identity" not in operators(out)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGXCPU],
                         ids=["interrupt", "terminate", "processor time"])
def test_the_second_interrupt_and_termination_end_at_once(sent, taso_opt, tmp_path):
    out = tmp_path / "out.onnx"
    process = start_and_wait_for(taso_opt, "comparing", slow_model(tmp_path), "-o", out, "--check", "1000")
    process.send_signal(sent)
    if sent != signal.SIGXCPU:
        for line in process.stderr:
            if "interrupt again" in line:
                break
        time.sleep(0.5)
        process.send_signal(sent)
    process.communicate(timeout=60)
    assert process.returncode == (-sent if sent == signal.SIGXCPU else 130)
    assert os.listdir(tmp_path) == ["slow.onnx"]
