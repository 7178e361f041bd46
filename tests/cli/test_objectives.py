"""What taso-opt minimises, how it reports the result, and that nothing unchecked is written."""

import json
import os
import pty
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from onnx import TensorProto, helper

from opt_models import floats, model_of, operators, run, save, weight

FIGURES = {"time": "seconds", "memory": "peak_activation_bytes", "launches": "kernels"}


def optimise(taso_opt, model, tmp_path, *arguments):
    """Returns the run and its report."""
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", "--report", tmp_path / "report.json", *arguments)
    assert done.code == 0, done
    return done, json.loads((tmp_path / "report.json").read_text())


@pytest.mark.parametrize("objective", FIGURES)
def test_no_model_gets_worse(objective, taso_opt, source_folder, tmp_path):
    better = 0
    for name in ("small_convnet", "small_transformer"):
        model = source_folder / f"examples/{name}.onnx"
        done, report = optimise(taso_opt, model, tmp_path, "--objective", objective)
        assert report["search"]["objective"] == objective
        before, after = (report[model_is]["predicted"][FIGURES[objective]] for model_is in ("before", "after"))
        assert after <= before
        better += bool(report["search"]["applied"])
        row = {"time": "predicted, sequential", "memory": "peak memory", "launches": "kernels"}[objective]
        assert re.search(rf"^{row} +\d.* +\d", done.err, re.MULTILINE)
        applied = report["search"]["applied"]
        assert bool(applied) == ("\nrule " in done.err)
    assert better > 0 or objective == "memory"


def test_figures_are_of_the_plan_that_is_run_whatever_is_looked_for(taso_opt, source_folder, tmp_path):
    model = source_folder / "examples/small_convnet.onnx"
    told = [optimise(taso_opt, model, tmp_path, "--budget", "1", "--objective", objective)[1]["before"]["predicted"]
            for objective in FIGURES]
    assert told[1:] == [told[0]] * 2


def transposes(shape=(64, 256)):
    """A value that is copied twice without need."""
    nodes = [
        helper.make_node("Softmax", ["x"], ["a"], axis=1),
        helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("Transpose", ["c"], ["d"], perm=[1, 0]),
        helper.make_node("Softmax", ["d"], ["y"], axis=1),
    ]
    return model_of(nodes, [floats("x", shape)], [floats("y", shape)])


def test_memory_is_what_is_needed_at_a_time(taso_opt, tmp_path):
    model = save(transposes(), tmp_path / "model.onnx")
    # The search is to find what a clean-up does as well.
    done, report = optimise(taso_opt, model, tmp_path, "--objective", "memory", "--disable-pass", "round-trips")
    assert operators(tmp_path / "out.onnx") == ["Softmax", "Relu", "Softmax"]
    assert report["before"]["predicted"]["bytes_moved"] > report["after"]["predicted"]["bytes_moved"]
    assert report["after"]["predicted"]["peak_activation_bytes"] <= 2 * 4 * 64 * 256


def test_unknown_dimensions_are_priced_as_they_are_tested(taso_opt, tmp_path):
    model = save(transposes(("N", 256)), tmp_path / "model.onnx")
    peaks = []
    for arguments in ([], ["--test-input-shape", "x:64,256"]):
        report = optimise(taso_opt, model, tmp_path, "--budget", "0", *arguments)[1]
        peaks.append(report["before"]["predicted"]["peak_activation_bytes"])
    assert peaks[1] == 64 * peaks[0]


def with_first(first, shape):
    """A first operator, followed by two of which one is enough."""
    nodes = [
        helper.make_node(first, ["x"], ["t"], domain="my.domain" if first == "Strange" else "", name="first"),
        helper.make_node("Relu", ["t"], ["a"], name="once"),
        helper.make_node("Relu", ["a"], ["y"], name="twice"),
        helper.make_node("Identity", ["s"], ["i"], name="nothing"),
        helper.make_node("Tanh", ["i"], ["z"], name="other"),
    ]
    model = model_of(nodes, [floats("x", shape), floats("s", [2])], [floats("y", shape), floats("z", [2])],
                     value_info=[floats("t", shape)])
    model.opset_import.append(helper.make_opsetid("my.domain", 1))
    return model


def test_where_an_operator_cannot_be_run_every_change_is_checked(taso_opt, tmp_path):
    done, report = optimise(taso_opt, save(with_first("Strange", [2, 3]), tmp_path / "model.onnx"), tmp_path,
                            "--min-gain", "0")  # one operator less does not change the predicted time
    assert operators(tmp_path / "out.onnx") == ["Strange", "Relu", "Tanh"]
    assert report["check"]["scope"] == "regions" and report["check"]["tensors"] == 2
    assert "every changed region" in done.err and "Strange" in done.err


def test_what_cannot_be_checked_is_not_done(taso_opt, tmp_path):
    """The tensor is too large to compare; the small part is still cleaned up."""
    model = save(with_first("Sin", [40_000, 40_000]), tmp_path / "model.onnx")
    done, report = optimise(taso_opt, model, tmp_path, "--min-gain", "0")
    assert operators(tmp_path / "out.onnx") == ["Sin", "Relu", "Relu", "Tanh"]
    assert "graph kept: the change at 'y' cannot be checked" in done.err
    assert report["search"]["applied"] == [] and report["search"]["note"]
    assert report["check"]["passed"] and report["passes"]["identity"] == 1
    done, report = optimise(taso_opt, model, tmp_path, "--check", "0", "--min-gain", "0")
    assert operators(tmp_path / "out.onnx") == ["Sin", "Relu", "Tanh"], "the check is what forbids it"
    assert done.err.splitlines()[-1] == "UNCHECKED"


def test_copies_of_outputs_count_in_a_row_as_in_lanes(taso_opt, tmp_path):
    """No kernel writes an output that is a view of another one, so it is copied."""
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [64, 4])
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Reshape", ["y", "shape"], ["z"])]
    for outputs, copies in ((["y"], 0), (["y", "z"], 1)):
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(nodes[:len(outputs)], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                                                                            [4, 64])],
                                  values, [shape][:copies])
        model = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
                     tmp_path / "model.onnx")
        predicted = optimise(taso_opt, model, tmp_path)[1]["before"]["predicted"]
        assert predicted["seconds"] == pytest.approx(predicted["seconds_in_lanes"])
        alone = predicted["seconds"] if copies == 0 else alone
    assert predicted["seconds"] == pytest.approx(alone + 2e-6, rel=1e-3)


@pytest.mark.parametrize("network, gain", [("squeezenet1_1", 1), ("ssd300_resnet50", 1.03), ("nas_cell", 2)])
def test_what_is_chosen_in_lanes_is_kept(taso_opt, taso_networks, tmp_path, network, gain):
    """The written model is better by the concurrent time, and not slower sequentially."""
    subprocess.run([taso_networks, network, "-q", "-o", tmp_path / "model.onnx"], check=True)
    report = optimise(taso_opt, tmp_path / "model.onnx", tmp_path, "--check", "0")[1]
    assert report["search"]["note"] == ""
    before, after = (report[when]["predicted"] for when in ("before", "after"))
    assert after["seconds"] <= before["seconds"]
    assert after["seconds_in_lanes"] * gain <= before["seconds_in_lanes"]


@pytest.mark.parametrize("lanes", [1, 2])
def test_the_last_choice_is_made_in_a_row_as_well(taso_opt, tmp_path, lanes):
    """The graph with the least sum is slower than the input: four equal sequential kernels take less than their prices.
    """
    nodes, outputs = [], []
    for i in range(4):
        nodes += [helper.make_node("MatMul", ["x", f"w{i}"], [f"a{i}"]), helper.make_node("Relu", [f"a{i}"], [f"y{i}"])]
        outputs.append(floats(f"y{i}", [1, 64]))
    nodes += [helper.make_node("MatMul", ["p", "w"], ["a"]), helper.make_node("MatMul", ["q", "w"], ["b"]),
              helper.make_node("Add", ["a", "b"], ["z"])]
    random = np.random.default_rng(1)
    weights = [weight(name, random.normal(size=(64, 64))) for name in ("w", "w0", "w1", "w2", "w3")]
    model = save(model_of(nodes, [floats("x", [1, 64]), floats("p", [128, 64]), floats("q", [128, 64])],
                          outputs + [floats("z", [128, 64])], weights), tmp_path / "model.onnx")
    done, report = optimise(taso_opt, model, tmp_path, "--lanes", str(lanes))
    search = report["search"]
    assert search["note"] == "" and search["tried_in_lanes"] > 0
    assert (search["cost_in_lanes"] is None) == (lanes == 1)
    assert f"graphs timed with {'sequential' if lanes == 1 else 'concurrent'} kernels;" in done.err
    assert report["after"]["predicted"]["seconds"] < report["before"]["predicted"]["seconds"]


def test_a_terminal_sees_how_far_it_has_got(taso_opt, source_folder, tmp_path):
    ours, theirs = pty.openpty()
    process = subprocess.Popen([taso_opt, source_folder / "examples/small_convnet.onnx", "--dry-run", "--time-budget",
                                "2",
                                "--budget", "1000000", "--alpha", "1.2"],
                               stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 65536):
            text += part
    except OSError:  # the other side closed it
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0
    lines = re.findall(r"searching: \d+ s of 2 s, [\d,]+ of 1,000,000 graphs; best [\d.]+ µs, [\d.]+ % less",
                       text.decode())
    assert len(lines) > 2, text


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_an_interrupt_ends_the_search_and_not_the_program(sent, taso_opt, source_folder, tmp_path):
    process = subprocess.Popen([taso_opt, source_folder / "examples/small_convnet.onnx", "-o", tmp_path / "out.onnx",
                                "-v",
                                "--report", tmp_path / "report.json", "--budget", "1000000000", "--alpha", "1.5"],
                               stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("searching"):
            break
    time.sleep(1)
    process.send_signal(sent)
    text = process.communicate(timeout=120)[1]
    assert process.returncode == 130, text
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["search"]["end"] == "stopped" and report["check"]["passed"]
    assert report["after"]["predicted"]["seconds"] <= report["before"]["predicted"]["seconds"]
    assert "BatchNormalization" not in operators(tmp_path / "out.onnx")


def test_time_ends_a_search(taso_opt, source_folder, tmp_path):
    report = optimise(taso_opt, source_folder / "examples/small_convnet.onnx", tmp_path, "--budget", "1000000000",
                      "--time-budget", "0.2", "--alpha", "1.5")[1]
    assert report["search"]["end"] in ("the time is up", "nothing is left to try")
    assert report["seconds"]["search"] < 20
