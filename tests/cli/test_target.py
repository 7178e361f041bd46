"""taso-opt --target onnxruntime: what is kept, what is told, and what happens if ONNX Runtime cannot be used."""

import json
import os
import pathlib
import platform
import re
import shutil
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from json_schema import differences
from opt_models import floats, model_of, operators, run, save, with_identity
from test_saturation import skip_without_cbc
from test_search import projections

PROCESSOR = f"{platform.machine()} pretended"
MACHINE = f"{PROCESSOR}, ONNX Runtime 0.0.0, CPU provider, threads 1"
HERE = pathlib.Path(__file__).resolve().parent
TARGET = ("--target", "onnxruntime", "--runtime-threads", "1")


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


@pytest.fixture
def processor(tmp_path, monkeypatch):
    """Programs that tell the names of the processor and of the GPU."""
    folder = tmp_path / "programs"
    folder.mkdir()
    script(folder / "lscpu", "echo 'Vendor ID: none'; echo '  Model name:  pretended'; echo 'BIOS Model name: other'\n")
    script(folder / "nvidia-smi", "echo 'Pretended GPU'\n")
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return folder


@pytest.fixture
def pretended(tmp_path, processor):
    """A program that answers as a Python with ONNX Runtime would."""
    return script(tmp_path / "pretended", f'exec "{sys.executable}" "{HERE / "pretended_runtime.py"}" "$@"\n')


@pytest.fixture
def model(tmp_path):
    return save(projections(), tmp_path / "model.onnx")


def optimise(taso_opt, model, python, monkeypatch, *arguments, target=TARGET, **environment):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    report = model.parent / "report.json"
    done = run(taso_opt, model, "-o", model.parent / "out.onnx", "--report", report, *target, "--python", python,
               "--prices", model.parent / "measured.prices", *arguments)
    return done, json.loads(report.read_text()) if report.exists() else None


def test_a_result_that_is_faster_there_is_kept(taso_opt, model, pretended, monkeypatch):
    done, report = optimise(taso_opt, model, pretended, monkeypatch, PRETENDED_TURNS="100 100 80")
    assert done.code == 0, done.err
    assert report["in_runtime"]["written"] == "search"
    assert report["in_runtime"]["machine"] == MACHINE
    assert report["in_runtime"]["search"]["ratio"] == pytest.approx(1.25)
    predicted, measured = report["in_runtime"]["predicted"], report["in_runtime"]["search_against_clean_ups"]["ratio"]
    assert report["in_runtime"]["error_of_prediction"] == pytest.approx(predicted / measured - 1)
    assert operators(model.parent / "out.onnx").count("MatMul") == 1
    assert "kept: clean-ups and search" in done.err and "prediction: " in done.err
    assert re.search(r"^target: .*\n  as read .*\n  cleaned up .*\n  with the search .* 1\.250 times as fast", done.err,
                     re.MULTILINE), done.err
    schema = json.loads((pathlib.Path(os.environ["TASO_SOURCE_FOLDER"]) /
                         "cli/schemas/opt-report.schema.json").read_text())
    assert not list(differences(report, schema))
    assert set(report["in_runtime"]) == set(schema["properties"]["in_runtime"]["properties"])


@pytest.mark.parametrize("times_slower, is_doubtful", [(1, False), (3, True)])
def test_prices_far_off_are_doubted(taso_opt, model, pretended, monkeypatch, times_slower, is_doubtful):
    _, report = optimise(taso_opt, model, pretended, monkeypatch)
    predicted = round(1e9 * report["in_runtime"]["predicted_clean_ups_seconds"]) * times_slower
    done, report = optimise(taso_opt, model, pretended, monkeypatch, "--force", PRETENDED_TURNS=f"{predicted} " * 3)
    assert report["in_runtime"]["error_of_predicted_seconds"] == pytest.approx(1 / times_slower - 1, abs=0.01)
    assert ("measure again with --prices" in done.err) == is_doubtful, done.err


@pytest.mark.skipif(not pathlib.Path("/proc/cpuinfo").exists(), reason="there is no /proc here")
def test_without_lscpu_the_processor_is_named_as_the_kernel_does(taso_opt, model, processor, pretended, monkeypatch):
    script(processor / "lscpu", "exit 1\n")
    _, report = optimise(taso_opt, model, pretended, monkeypatch, PRETENDED_TURNS="100 100 80")
    named = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    name = f" {named.group(1).strip().replace(',', ' ')}" if named else ""  # on arm64 the kernel tells numbers only
    assert report["in_runtime"]["machine"].startswith(f"{platform.machine()}{name}, ONNX Runtime")


@pytest.mark.parametrize("search", ["saturation", "both"])
def test_the_gap_is_told_in_prices_of_the_runtime(taso_opt, taso_verify, model, pretended, monkeypatch, search):
    done, report = optimise(taso_opt, model, pretended, monkeypatch, "--search", search, PRETENDED_TURNS="100 100 80")
    skip_without_cbc(done)
    assert done.code == 0, done.err
    replayed = run(taso_verify, "--certificate", model.parent / "out.onnx.cert", model, model.parent / "out.onnx")
    assert replayed.code == 0, replayed.err
    # One product and a split, where there were two products: there is nothing better.
    assert operators(model.parent / "out.onnx").count("MatMul") == 1
    gap = report["search"]["gap"]
    assert 0 < gap["least"] <= gap["cost"] and gap["rounds"] > 0
    assert f"gap: at most {gap['percent']:.1f} % better graphs exist" in done.err


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
    ("refuse:load", 3, "the model cannot be run in ONNX Runtime: Refusal: not this one\n"),
])
def test_a_fault_is_told_and_leaves_the_output_alone(taso_opt, model, pretended, monkeypatch, fault, code, text):
    (model.parent / "out.onnx").write_text("what was there")
    done, _ = optimise(taso_opt, model, pretended, monkeypatch, "--runtime-patience", "2", PRETENDED_FAULT=fault)
    assert done.code == code
    assert text in done.err
    assert (model.parent / "out.onnx").read_text() == "what was there"


def test_a_python_without_onnx_runtime_is_an_error(taso_opt, model, tmp_path, monkeypatch):
    program = script(tmp_path / "without", "echo \"ModuleNotFoundError: No module named 'onnxruntime'\" >&2\nexit 1\n")
    for python, why in ((program, "No module named 'onnxruntime'"), (tmp_path / "missing", "No such file")):
        done, _ = optimise(taso_opt, model, python, monkeypatch)
        assert done.code == 6
        assert why in done.err and "--python" in done.err
        assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("arguments", [
    ("--target", "tensorrt"), ("--python", "python3"), ("--no-measuring",), ("--runtime-threads", "2"),
    ("--prices-of", "x"), ("--target", "onnxruntime", "--prices-of", "x"), ("--target", "onnxruntime:tpu"),
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
    assert first["prices"].startswith(f"measured on this machine: {MACHINE}, opset 17; ")
    prices = (model.parent / "measured.prices").read_text()
    assert f"\nmachine {MACHINE}, opset 17\n" in prices
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


def test_a_prediction_is_of_measured_prices_without_a_search_too(taso_opt, model, pretended, monkeypatch):
    searched, first = optimise(taso_opt, model, pretended, monkeypatch)
    (model.parent / "measured.prices").unlink()
    done, report = optimise(taso_opt, model, pretended, monkeypatch, "--force", "--budget", "0")
    assert searched.code == done.code == 0 and report["measuring"]["kernels"] > 0, (searched, done)
    predicted = [one["in_runtime"]["predicted_clean_ups_seconds"] for one in (first, report)]
    assert predicted[0] == predicted[1] > 0


def test_prices_without_measuring_must_exist(taso_opt, model):
    done = run(taso_opt, model, "--dry-run", "--target", "onnxruntime", "--no-measuring", "--prices",
               model.parent / "none.prices")
    assert done.code == 3
    assert "does not exist" in done.err


def prices_of(*machines):
    """A price file with one price for each of the machines."""
    call = "element-wise fp32: float32[2] -> float32[2]: relu(0)"
    return "taso prices 4\n" + "".join(f"machine {one}\n1.0/1.0/1.0/1.0\t0.1\tx\t{call}\n" for one in sorted(machines))


def runtime_machine(processor="P", provider="CPU", threads=1, opset=17, version="1.31.1"):
    return f"{processor}, ONNX Runtime {version}, {provider} provider, threads {threads}, opset {opset}"


ONE = runtime_machine()
TWO_THREADS = runtime_machine(threads=2)
OTHER = runtime_machine("Q")


@pytest.mark.parametrize("machines, arguments, expected", [
    ([ONE], [], ONE),
    ([ONE], ["--runtime-threads", "0"], ONE),
    ([ONE, "NVIDIA H200, driver 13.0"], [], ONE),
    ([ONE, TWO_THREADS], ["--runtime-threads", "2"], TWO_THREADS),
    ([ONE, OTHER], ["--prices-of", "Q"], OTHER),
    ([ONE, runtime_machine(opset=11)], [], ONE),
    ([runtime_machine(opset=11), runtime_machine(opset=15)], [], runtime_machine(opset=15)),
    ([runtime_machine(version="1.9.0"), ONE], [], ONE),
    (["P, ONNX Runtime 1.0, CPU provider, threads 1"], [], "P, ONNX Runtime 1.0, CPU provider, threads 1"),
])
def test_recorded_prices_are_chosen(taso_opt, model, tmp_path, machines, arguments, expected):
    (tmp_path / "some.prices").write_text(prices_of(*machines))
    report = tmp_path / "report.json"
    done = run(taso_opt, model, "--dry-run", "--target", "onnxruntime", "--no-measuring", "--prices",
               tmp_path / "some.prices", "--report", report, *arguments)
    assert done.code == 0, done.err
    assert json.loads(report.read_text())["prices"] == f"measured before: {expected}"
    assert ("the prices are those of opset" in done.err) == ("opset 15" in expected)


@pytest.mark.parametrize("machines, arguments, text", [
    ([], [], "there are none of ONNX Runtime"),
    (["NVIDIA H200, driver 13.0"], [], "there are none of ONNX Runtime"),
    ([ONE], ["--runtime-threads", "3"], "are those of other numbers of threads: 1, not 3"),
    ([ONE, TWO_THREADS], [], "several numbers of threads (1, 2): choose one with --runtime-threads"),
    ([ONE, OTHER], [], "several machines (P; Q): choose one with --prices-of"),
    ([ONE], ["--prices-of", "Z"], f"no prices of the CPU provider on 'Z'; there are prices of {ONE}"),
    ([runtime_machine(provider="CUDA")], [], "no prices of the CPU provider on any processor"),
])
def test_recorded_prices_that_do_not_fit_are_refused(taso_opt, model, tmp_path, machines, arguments, text):
    (tmp_path / "some.prices").write_text(prices_of(*machines))
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", "--target", "onnxruntime", "--no-measuring", "--prices",
               tmp_path / "some.prices", *arguments)
    assert done.code == 3
    assert text in done.err
    assert not (tmp_path / "out.onnx").exists()


def test_without_prices_for_this_processor_nothing_is_written(taso_opt, model, tmp_path, processor, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", "--target", "onnxruntime", "--no-measuring")
    assert done.code == 6
    assert f"no prices of the CPU provider on {PROCESSOR}" in done.err and "--prices-of" in done.err
    assert not (tmp_path / "out.onnx").exists()


def test_the_shipped_prices_of_a_processor_are_found(taso_opt, model, tmp_path, processor, monkeypatch):
    """TASO_DATA has the shipped files."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    data = tmp_path / "data"
    source = pathlib.Path(os.environ["TASO_SOURCE_FOLDER"])
    (data / "prices" / "onnxruntime").mkdir(parents=True)
    shutil.copytree(source / "rules", data / "rules")
    machine = runtime_machine(PROCESSOR)
    (data / "prices" / "onnxruntime" / "one.prices").write_text(prices_of(machine, OTHER))
    monkeypatch.setenv("TASO_DATA", str(data))
    for arguments, expected in (((), machine), (("--prices-of", "Q,"), OTHER)):
        report = tmp_path / "report.json"
        done = run(taso_opt, model, "--dry-run", "--target", "onnxruntime", "--no-measuring", "--report", report,
                   *arguments)
        assert done.code == 0, done.err
        assert json.loads(report.read_text())["prices"] == f"measured before: {expected}"


def with_input(kind):
    """A model with an input that cannot be passed to ONNX Runtime as an array."""
    if kind == "sequence":
        value = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [2])
        return model_of([helper.make_node("SequenceLength", ["x"], ["y"])], [value],
                        [helper.make_tensor_value_info("y", TensorProto.INT64, [])])
    value = helper.make_tensor_value_info("x", getattr(TensorProto, kind), [2])
    return model_of([helper.make_node("Identity", ["x"], ["y"])], [value],
                    [helper.make_tensor_value_info("y", getattr(TensorProto, kind), [2])], opset=16)


@pytest.mark.parametrize("kind, text", [
    ("STRING", "the input 'x' is of type string, of which --target onnxruntime cannot make random values"),
    ("BFLOAT16", "the input 'x' is of type bfloat16, of which --target onnxruntime cannot make random values"),
    ("sequence", "the input 'x' is a sequence, map or optional"),
])
def test_inputs_that_cannot_be_passed_are_told(taso_opt, tmp_path, pretended, monkeypatch, kind, text):
    done, _ = optimise(taso_opt, save(with_input(kind), tmp_path / "model.onnx"), pretended, monkeypatch)
    assert done.code == 3
    assert text in done.err and "--test-input-shape" not in done.err
    assert not (tmp_path / "out.onnx").exists()


def with_foreign_nodes():
    """Nodes that no rule knows: with a weight, an attribute, constants that matter, an omitted operand, two results."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        helper.make_node("MatMulInteger", ["q", "w", "zero"], ["m"]),
        helper.make_node("Cast", ["m"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "scale"], ["g"]),
        helper.make_node("TopK", ["g", "k"], ["largest", "places"], axis=1),
        helper.make_node("Clip", ["largest", "", "limit"], ["y"]),
    ]
    random = np.random.default_rng(1)
    weights = [numpy_helper.from_array(random.integers(-9, 9, (8, 16), np.int8), "w"),
               numpy_helper.from_array(np.array([3]), "k"), numpy_helper.from_array(np.float32(2), "limit")]
    return model_of(nodes, [floats("x", [4, 8])], [floats("y", [4, 3])], weights, opset=16)


def test_operators_that_no_rule_knows_are_measured(taso_opt, tmp_path, pretended, monkeypatch):
    """They are written as models of their own, which the pretended runtime keeps."""
    kept = tmp_path / "kept"
    kept.mkdir()
    done, report = optimise(taso_opt, save(with_foreign_nodes(), tmp_path / "model.onnx"), pretended, monkeypatch,
                            PRETENDED_KEPT=str(kept))
    assert done.code == 0, done.err
    predicted = report["before"]["predicted"]
    assert predicted["measured_seconds"] == pytest.approx(predicted["seconds"])
    prices = (tmp_path / "measured.prices").read_text()
    assert "MatMulInteger opset 16(0,1,2)" in prices
    assert "TopK opset 16{axis=1, 1:[3]}(0,1)" in prices
    assert "Cast opset 16{to=1}(0)" in prices
    assert "float32[4,8] -> uint8[4,8] float32[] uint8[]: DynamicQuantizeLinear opset 16(0) = 0,1,2" in prices
    onnx = pytest.importorskip("onnx")
    found = set()
    for file in kept.iterdir():
        model = onnx.load(file)
        onnx.checker.check_model(model)
        found |= {node.op_type for node in model.graph.node}
        if model.graph.node[0].op_type == "TopK":
            assert [numpy_helper.to_array(one).tolist() for one in model.graph.initializer] == [[3]] * len(
                model.graph.node)
    assert {"MatMulInteger", "TopK", "Cast", "DynamicQuantizeLinear"} <= found


def test_the_opset_of_small_models_is_that_of_the_model(taso_opt, tmp_path, pretended, monkeypatch):
    kept = tmp_path / "kept"
    kept.mkdir()
    model = with_identity()
    model.opset_import[0].version = 11
    done, _ = optimise(taso_opt, save(model, tmp_path / "model.onnx"), pretended, monkeypatch, PRETENDED_KEPT=str(kept))
    assert done.code == 0, done.err
    assert ", opset 11\n" in (tmp_path / "measured.prices").read_text()
    onnx = pytest.importorskip("onnx")
    versions = {onnx.load(file).opset_import[0].version for file in kept.iterdir()}
    assert 11 in versions and versions <= {11, 17}  # an empty run is measured at 17


CUDA = ("--target", "onnxruntime:cuda", "--runtime-threads", "1")


def test_the_cuda_provider_has_prices_of_its_own(taso_opt, model, pretended, monkeypatch):
    done, report = optimise(taso_opt, model, pretended, monkeypatch, target=CUDA, PRETENDED_TURNS="100 100 80")
    assert done.code == 0, done.err
    machine = f"{PROCESSOR} with Pretended GPU, ONNX Runtime 0.0.0, CUDA provider, threads 1"
    assert report["in_runtime"]["machine"] == machine
    assert report["in_runtime"]["written"] == "search"
    assert f"\nmachine {machine}, opset 17\n" in (model.parent / "measured.prices").read_text()
    done = run(taso_opt, model, "--dry-run", "--target", "onnxruntime", "--no-measuring", "--prices",
               model.parent / "measured.prices")
    assert done.code == 3
    assert "no prices of the CPU provider" in done.err


def test_a_cuda_provider_that_cannot_be_used_is_an_error(taso_opt, model, pretended, monkeypatch):
    done, _ = optimise(taso_opt, model, pretended, monkeypatch, target=CUDA, PRETENDED_FAULT="no-provider:load")
    assert done.code == 6
    assert "CUDAExecutionProvider does not start" in done.err
    assert not (model.parent / "out.onnx").exists()


def test_the_real_one_says_that_it_has_no_cuda_provider(taso_opt, model, monkeypatch):
    onnxruntime = pytest.importorskip("onnxruntime", reason="there is no ONNX Runtime")
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("it has one")
    done, _ = optimise(taso_opt, model, sys.executable, monkeypatch, target=CUDA)
    assert done.code == 6
    assert "this ONNX Runtime has no CUDAExecutionProvider" in done.err
    assert not (model.parent / "out.onnx").exists()


def test_the_real_one_measures_operators_that_no_rule_knows(taso_opt, tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime", reason="there is no ONNX Runtime")
    done, report = optimise(taso_opt, save(with_foreign_nodes(), tmp_path / "model.onnx"), sys.executable, monkeypatch)
    assert done.code == 0, done.err
    predicted = report["before"]["predicted"]
    assert predicted["measured_seconds"] == pytest.approx(predicted["seconds"])


def test_the_real_one_runs(taso_opt, tmp_path, monkeypatch):
    """The times are not looked at: they depend on the machine."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="there is no ONNX Runtime")
    done, report = optimise(taso_opt, save(with_identity(), tmp_path / "model.onnx"), sys.executable, monkeypatch)
    assert done.code == 0, done.err
    assert report["measuring"]["kernels"] == 1
    assert report["before"]["predicted"]["measured_seconds"] > 0
    assert f"ONNX Runtime {onnxruntime.__version__}" in report["in_runtime"]["machine"]
    assert report["in_runtime"]["original_seconds"] > 0
