"""taso.optimize, verify and generate, the entry points, and `python -m taso`."""

import signal
import subprocess
import time

import numpy as np
import onnx
import pytest


@pytest.fixture(scope="module")
def convnet(source_folder):
    return source_folder / "examples/small_convnet.onnx"


@pytest.fixture
def proves(taso_verify):
    """Skips the test in a build without Z3."""


def test_a_model_is_optimised_and_its_certificate_holds(taso, proves, convnet, tmp_path):
    lines = []
    result = taso.optimize(convnet, tmp_path / "fast.onnx", budget=20, progress=lines.append)
    assert result.model == tmp_path / "fast.onnx" and result.certificate == tmp_path / "fast.onnx.cert"
    assert result.report["verdict"] == "PASSED" and result.speedup >= 1
    assert "PASSED" in lines
    picture = np.random.default_rng(0).random((1, 3, 32, 32), dtype=np.float32)
    np.testing.assert_allclose(taso.Session(result.model)(picture)["classes"],
                               taso.Session(convnet)(picture)["classes"], rtol=1e-3, atol=1e-4)
    checked = taso.verify(convnet, result.model, certificate=result.certificate)
    assert checked and checked.passed and "ACCEPTED" in checked.text
    assert not taso.verify(result.model, convnet, certificate=result.certificate)


def test_the_certificate_beside_a_model_is_found(taso, proves, convnet, tmp_path):
    taso.optimize(convnet, tmp_path / "fast.onnx", budget=5, progress=False)
    assert taso.verify(convnet, tmp_path / "fast.onnx")
    (tmp_path / "fast.onnx.cert").rename(tmp_path / "other.cert")
    with pytest.raises(taso.ArgumentError, match="fast.onnx.cert does not exist"):
        taso.verify(convnet, tmp_path / "fast.onnx")
    with pytest.raises(taso.ArgumentError, match="files of rules, or a model"):
        taso.verify(convnet)


def test_names_that_begin_with_a_dash_are_files(taso, proves, convnet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-in.onnx").write_bytes(convnet.read_bytes())
    assert taso.optimize("-in.onnx", "-out.onnx", budget=1, progress=False).certificate.exists()
    assert (tmp_path / "-out.onnx").exists() and taso.verify("-in.onnx", "-out.onnx")
    assert taso.Session("-in.onnx").inputs
    with pytest.raises(taso.ModelError, match="-none.rules: cannot read"):
        taso.verify("-none.rules")
    with pytest.raises(taso.ArgumentError, match="not a file to write to"):
        taso.optimize("-in.onnx", "-", progress=False)


def test_models_in_memory_are_optimised(taso, convnet, capfd):
    for model in (convnet.read_bytes(), onnx.load(convnet)):
        result = taso.optimize(model, seconds=1, budget=5, progress=False)
        onnx.checker.check_model(result.model)
        assert result.certificate is None
    assert capfd.readouterr() == ("", "")


def test_progress_is_shown_where_python_shows_it(taso, convnet, capsys):
    """As in a notebook, where sys.stderr is not the terminal."""
    taso.optimize(convnet, budget=1)
    assert "PASSED" in capsys.readouterr().err


def test_options_become_those_of_the_program(taso, convnet, tmp_path):
    from taso.programs import arguments
    assert arguments({"max_ops": 3, "dry_run": True, "force": False, "disable_rule": ["a", "b"], "prices": None,
                      "test_input_shape": {"x:0": (1, 3)}, "report": tmp_path}) == [
        "--max-ops=3", "--dry-run", "--disable-rule=a", "--disable-rule=b", "--test-input-shape=x:0:1,3",
        f"--report={tmp_path}"]
    report = taso.optimize(convnet, tmp_path / "out.onnx", budget=0, dry_run=True, progress=False).report
    assert report["search"] is None and not (tmp_path / "out.onnx").exists()


def test_failures_get_an_exception(taso, convnet, tmp_path):
    with pytest.raises(FileNotFoundError):
        taso.optimize(tmp_path / "missing.onnx")
    with pytest.raises(taso.ModelError) as raised:
        taso.optimize(b"junk", progress=False)
    assert raised.value.status == 3
    with pytest.raises(taso.ArgumentError, match="did you mean '--budget'"):
        taso.optimize(convnet, budgt=3, progress=False)
    with pytest.raises(taso.UnavailableError) as raised:
        taso.optimize(convnet, tmp_path / "no folder" / "out.onnx", progress=False)
    assert raised.value.status == 6
    with pytest.raises(TypeError):
        taso.optimize(3)


def test_what_progress_raises_is_passed_on(taso, convnet):
    def fail(line):
        raise KeyError(line)

    with pytest.raises(KeyError):
        taso.optimize(convnet, progress=fail)


def test_rules_are_verified(taso, proves, source_folder):
    result = taso.verify(source_folder / "examples/merging.rules")
    assert not result and "they differ" in result.text
    assert {rule["name"]: rule["verdict"] for rule in result.report["rules"]} == {
        "shared-left-factor": "proved", "shared-input": "conditional", "relu-before-product": "refuted"}
    with pytest.raises(taso.ModelError):
        taso.verify("missing.rules")


def test_rules_are_generated(taso, taso_gen, tmp_path):
    made = taso.generate(tmp_path / "found.rules", operators=["small"], max_ops=2, progress=False)
    assert made.path.read_text().count("\nrule ") > 0 and made.report["complete"]
    assert taso.verify(made.path)


SEARCHING = """
import pathlib, sys, taso
print("started", flush=True)
try:
    taso.optimize(sys.argv[1], sys.argv[2], budget=1000000)
except taso.Interrupted as interrupted:
    print(interrupted.result.report["verdict"], flush=True)
    print(pathlib.Path(interrupted.result.model).stat().st_size > 0, flush=True)
"""


def test_ctrl_c_writes_the_best_so_far(python, taso_networks, tmp_path):
    network = tmp_path / "network.onnx"
    subprocess.run([taso_networks, "nasnet_mobile", "-q", "-o", network, "--image-size", "64"], check=True)
    child = python("-c", SEARCHING, network, tmp_path / "out.onnx", start=True, stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE)
    assert child.stdout.readline() == "started\n"
    time.sleep(4)
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=300)
    assert child.returncode == 0, errors
    assert out.splitlines() == ["PASSED", "True"], errors


def test_the_package_tells_what_it_is(python, taso):
    shown = python("-m", "taso")
    assert shown.returncode == 0 and shown.stdout.startswith(f"taso {taso.__version__}\n")
    assert "devices: " in shown.stdout and "opt " in shown.stdout
    assert python("-m", "taso", "--version").stdout.strip() == taso.__version__
    assert python("-m", "taso", "opt", "--version").stdout.startswith("taso-opt ")
    assert python("-m", "taso", "run").returncode == 2


@pytest.mark.parametrize("name", ["opt", "verify", "gen", "bench"])
def test_programs_are_entry_points(python, programs, name):
    if not (programs / f"taso-{name}").exists():
        pytest.skip(f"this build has no taso-{name}")
    done = python("-c", f"import sys, taso.programs as p; sys.argv[1:] = ['--version']; p.taso_{name}()")
    assert done.returncode == 0 and done.stdout.startswith(f"taso-{name} ")
