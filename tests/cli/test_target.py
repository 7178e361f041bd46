"""taso-opt --target onnxruntime: what is kept, what is told, and what happens if ONNX Runtime cannot be used."""

import json
import pathlib
import sys

import pytest

from opt_models import operators, run, save, with_identity
from test_search import projections

HERE = pathlib.Path(__file__).resolve().parent
TARGET = ("--target", "onnxruntime", "--runtime-threads", "1")


@pytest.fixture
def pretended(tmp_path):
    """A program that answers as a Python with ONNX Runtime would."""
    program = tmp_path / "pretended"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "pretended_runtime.py"}" "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture
def model(tmp_path):
    return save(projections(), tmp_path / "model.onnx")


def optimise(taso_opt, model, python, monkeypatch, *arguments, **environment):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    report = model.parent / "report.json"
    done = run(taso_opt, model, "-o", model.parent / "out.onnx", "--report", report, *TARGET, "--python", python,
               "--prices", model.parent / "measured.prices", *arguments)
    return done, json.loads(report.read_text()) if report.exists() else None


def test_a_result_that_is_faster_there_is_kept(taso_opt, model, pretended, monkeypatch):
    done, report = optimise(taso_opt, model, pretended, monkeypatch, PRETENDED_TURNS="100 100 80")
    assert done.code == 0, done.err
    assert report["in_runtime"]["written"] == "search"
    assert report["in_runtime"]["machine"] == "pretended processor, ONNX Runtime 0.0.0, CPU provider, threads 1"
    assert report["in_runtime"]["search"]["ratio"] == pytest.approx(1.25)
    predicted, measured = report["in_runtime"]["predicted"], report["in_runtime"]["search_against_clean_ups"]["ratio"]
    assert report["in_runtime"]["error_of_prediction"] == pytest.approx(predicted / measured - 1)
    assert operators(model.parent / "out.onnx").count("MatMul") == 1
    assert "kept: clean-ups and search" in done.err and "prediction: " in done.err


@pytest.mark.parametrize("times", ["100 100 100", "100 100 99.5", "100 100 120", "100 120 110"])
def test_a_result_that_is_not_faster_is_not_written(taso_opt, model, pretended, monkeypatch, times):
    done, report = optimise(taso_opt, model, pretended, monkeypatch, PRETENDED_TURNS=times)
    assert done.code == 0, done.err
    assert report["in_runtime"]["written"] == "original"
    assert not report["search"]["applied"] and report["search"]["given_up"]
    assert "so not faster" in report["search"]["note"]
    assert operators(model.parent / "out.onnx") == operators(model)


@pytest.mark.parametrize("time, kept", [(90, True), (100, True), (110, False)])
def test_clean_ups_are_undone_only_if_they_are_slower(taso_opt, tmp_path, pretended, monkeypatch, time, kept):
    model = save(with_identity(), tmp_path / "model.onnx")
    done, report = optimise(taso_opt, model, pretended, monkeypatch, "--budget", "0", PRETENDED_TURNS=f"100 {time}")
    assert done.code == 0, done.err
    assert report["in_runtime"]["written"] == ("clean-ups" if kept else "original")
    assert ("Identity" in operators(tmp_path / "out.onnx")) == (not kept)
    if not kept:
        assert "the clean-ups are 0.909 times as fast" in report["check_text"]
        assert not any(report["passes"].values())


@pytest.mark.parametrize("fault, code, text", [
    ("die:turns", 6, "has ended unexpectedly: it hurts"),
    ("hang:turns", 6, "did not answer within 2 s"),
    ("mumble:load", 6, "gave an answer that is not understood"),
    ("die:price", 6, "has ended unexpectedly: it hurts"),
    ("mumble:price", 6, "gave an answer that is not understood"),
    ("break:price", 6, "the measuring process cannot work: OSError: No space left on device"),
    ("refuse:load", 3, "the model cannot be run in ONNX Runtime: Refusal: not this one"),
])
def test_a_fault_is_told_and_leaves_the_output_alone(taso_opt, model, pretended, monkeypatch, fault, code, text):
    (model.parent / "out.onnx").write_text("what was there")
    done, _ = optimise(taso_opt, model, pretended, monkeypatch, "--runtime-patience", "2", PRETENDED_FAULT=fault)
    assert done.code == code
    assert text in done.err
    assert (model.parent / "out.onnx").read_text() == "what was there"


def test_a_python_without_onnx_runtime_is_an_error(taso_opt, model, tmp_path, monkeypatch):
    program = tmp_path / "without"
    program.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'onnxruntime'\" >&2\nexit 1\n")
    program.chmod(0o755)
    for python, why in ((program, "No module named 'onnxruntime'"), (tmp_path / "missing", "No such file")):
        done, _ = optimise(taso_opt, model, python, monkeypatch)
        assert done.code == 6
        assert why in done.err and "--python" in done.err
        assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("arguments", [
    ("--target", "tensorrt"), ("--python", "python3"), ("--no-measuring",), ("--runtime-threads", "2"),
    ("--target", "onnxruntime", "--device", "cuda"), ("--target", "onnxruntime", "--lanes", "1"),
    ("--target", "onnxruntime", "--objective", "memory"), ("--target", "onnxruntime", "--runtime-threads", "x"),
])
def test_options_that_do_not_go_together(taso_opt, model, arguments):
    assert run(taso_opt, model, "--dry-run", *arguments).code == 2


def test_prices_are_kept_and_used_again(taso_opt, model, pretended, monkeypatch):
    """With the prices of an earlier run nothing runs, and two such runs write the same bytes."""
    log = model.parent / "log"
    done, first = optimise(taso_opt, model, pretended, monkeypatch, PRETENDED_TURNS="100 100 80",
                           PRETENDED_LOG=str(log))
    assert done.code == 0, done.err
    assert first["measuring"]["kernels"] > 0
    assert first["prices"].startswith("measured on this machine: pretended processor, ONNX Runtime 0.0.0")
    prices = (model.parent / "measured.prices").read_text()
    assert "pretended processor, ONNX Runtime 0.0.0, CPU provider, threads 1" in prices
    assert "price" in log.read_text().split()
    log.unlink()
    _, again = optimise(taso_opt, model, pretended, monkeypatch)
    assert again["measuring"]["kernels"] == 0
    assert "price" not in log.read_text().split()
    log.unlink()
    written = []
    for _ in range(2):
        done, report = optimise(taso_opt, model, "/nowhere", monkeypatch, "--no-measuring")
        assert done.code == 0, done.err
        assert report["in_runtime"]["uncertain"] == "nothing was run (--no-measuring)"
        assert report["search"]["applied"] == first["search"]["applied"]
        written.append((model.parent / "out.onnx").read_bytes())
    assert written[0] == written[1]
    assert not log.exists()
    assert (model.parent / "measured.prices").read_text() == prices


def test_prices_without_measuring_must_exist(taso_opt, model):
    done = run(taso_opt, model, "--dry-run", "--target", "onnxruntime", "--no-measuring", "--prices",
               model.parent / "none.prices")
    assert done.code == 3
    assert "does not exist" in done.err


def test_the_real_one_runs(taso_opt, tmp_path, monkeypatch):
    """The times are not looked at: they depend on the machine."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="there is no ONNX Runtime")
    done, report = optimise(taso_opt, save(with_identity(), tmp_path / "model.onnx"), sys.executable, monkeypatch)
    assert done.code == 0, done.err
    assert report["measuring"]["kernels"] == 1
    assert report["before"]["predicted"]["measured_seconds"] > 0
    assert f"ONNX Runtime {onnxruntime.__version__}" in report["in_runtime"]["machine"]
    assert report["in_runtime"]["original_seconds"] > 0
