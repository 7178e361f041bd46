"""The output of taso-opt is minimal, small and usable: no step that does not pay, no weights that overflow or grow too
much."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from opt_models import floats, model_of, operators, run, save, weight


def halves(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape)


def half(name, array):
    return numpy_helper.from_array(np.asarray(array, dtype=np.float16), name)


def optimise(taso_opt, model, folder, *options):
    """Returns the run, its report, and the written model."""
    path = save(model, folder / "model.onnx")
    done = run(taso_opt, path, "-o", folder / "out.onnx", "--report", folder / "report.json", *options)
    assert done.code == 0, done
    return done, json.loads((folder / "report.json").read_text()), folder / "out.onnx"


def chain(wide, middle, rows=64):
    random = np.random.default_rng(1)
    nodes = [helper.make_node("MatMul", ["x", "A"], ["a"]), helper.make_node("MatMul", ["a", "B"], ["y"])]
    return model_of(nodes, [floats("x", [rows, wide])], [floats("y", [rows, wide])],
                    [weight("A", random.normal(size=(wide, middle))), weight("B", random.normal(size=(middle, wide)))])


def csp_block():
    """Conv, Split in two, Conv of one half, Concat of all: as in each stage of several detectors."""
    random = np.random.default_rng(1)
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
             helper.make_node("Split", ["a", "sizes"], ["s0", "s1"], axis=1),
             helper.make_node("Conv", ["s1", "w2"], ["m"], pads=[1, 1, 1, 1]),
             helper.make_node("Concat", ["s0", "s1", "m"], ["c"], axis=1),
             helper.make_node("Conv", ["c", "w3"], ["y"])]
    return model_of(nodes, [floats("x", [1, 16, 8, 8])], [floats("y", [1, 8, 8, 8])],
                    [weight("w", random.normal(size=(16, 16, 3, 3))), weight("w2", random.normal(size=(8, 8, 3, 3))),
                     weight("w3", random.normal(size=(8, 24, 1, 1))),
                     numpy_helper.from_array(np.array([8, 8], dtype=np.int64), "sizes")])


@pytest.mark.parametrize("objective", ["time", "launches"])
def test_what_is_replaced_inside_of_a_node_is_written_and_certified(taso_opt, taso_verify, tmp_path, objective):
    done, report, out = optimise(taso_opt, csp_block(), tmp_path, "--objective", objective)
    assert report["search"]["applied"]
    concat = next(node for node in onnx.load(out).graph.node if node.op_type == "Concat")
    assert list(concat.input) == ["a", "m"]
    checked = run(taso_verify, "--certificate", f"{out}.cert", tmp_path / "model.onnx", out)
    assert checked.code == 0, checked


def test_a_part_of_a_slice_that_has_a_name_elsewhere_is_no_trouble(taso_opt, tmp_path):
    numbers = {"st": [0, 0], "en": [1, 18], "ax": [0, 1], "sp": [1, 1]}
    nodes = [helper.make_node("Slice", ["x", "st", "en", "ax"], ["sl"]),
             helper.make_node("Split", ["x", "sp"], ["a", "b"], axis=0),
             helper.make_node("Concat", ["b", "a", "a"], ["y"], axis=0)]
    model = model_of(nodes, [floats("x", [2, 36])], [floats("y", [3, 36]), floats("sl", [1, 18])],
                     [numpy_helper.from_array(np.array(values, dtype=np.int64), name) for name,
                      values in numbers.items()])
    for options in ([], ["--min-gain", "0"]):
        optimise(taso_opt, model, tmp_path, *options)


def test_weights_that_would_overflow_are_not_multiplied_out(taso_opt, tmp_path):
    nodes = [helper.make_node("MatMul", ["x", "A"], ["a"]), helper.make_node("MatMul", ["a", "B"], ["o"]),
             helper.make_node("MatMul", ["z", "C"], ["c"]), helper.make_node("MatMul", ["c", "D"], ["p"])]
    random = np.random.default_rng(1)
    model = model_of(
        nodes, [halves("x", [64, 64]), halves("z", [64, 64])], [halves("o", [64, 8]), halves("p", [64, 8])],
        [half("A", np.full((64, 64), 300)), half("B", np.full((64, 8), 300)),
         half("C", random.normal(size=(64, 64))), half("D", random.normal(size=(64, 8)))])
    _, report, out = optimise(taso_opt, model, tmp_path, "--check", "0", "--lanes", "1", "--float", "fast")
    assert operators(out).count("MatMul") == 3
    assert sum(one["count"] for one in report["search"]["applied"]) == 1
    for tensor in onnx.load(out).graph.initializer:
        assert np.isfinite(numpy_helper.to_array(tensor).astype(np.float32)).all()


def test_a_batch_norm_that_would_overflow_stays_and_the_other_goes(taso_opt, tmp_path):
    """Both come from one rule, which is kept although it fails at one place."""
    nodes, weights, outputs = [], [], []
    for i, size in enumerate([300, 1]):
        nodes += [helper.make_node("Conv", ["x", f"w{i}"], [f"c{i}"]),
                  helper.make_node("BatchNormalization", [f"c{i}"] + [f"{kind}{i}" for kind in "sbmv"], [f"y{i}"])]
        weights += [half(f"w{i}", np.full((4, 4, 1, 1), size)), half(f"s{i}", np.full(4, size)),
                    half(f"b{i}", np.zeros(4)),
                    half(f"m{i}", np.zeros(4)), half(f"v{i}", np.ones(4))]
        outputs.append(halves(f"y{i}", [1, 4, 8, 8]))
    model = model_of(nodes, [halves("x", [1, 4, 8, 8])], outputs, weights)
    _, report, out = optimise(taso_opt, model, tmp_path, "--float", "fast", "--lanes", "1", "--disable-pass",
                              "batch-norm")
    assert operators(out).count("BatchNormalization") == 1
    assert report["search"]["left_out"] == []
    for tensor in onnx.load(out).graph.initializer:
        assert np.isfinite(numpy_helper.to_array(tensor).astype(np.float32)).all()


def shared_weight(times, wide=256, narrow=16):
    """Each x_i is multiplied by one large matrix, shared by all, and by a small one of its own."""
    random = np.random.default_rng(1)
    nodes, weights = [], [weight("W", random.normal(size=(wide, wide)))]
    for i in range(times):
        nodes += [helper.make_node("MatMul", [f"x{i}", "W"], [f"a{i}"]),
                  helper.make_node("MatMul", [f"x{i}", f"V{i}"], [f"b{i}"])]
        weights.append(weight(f"V{i}", random.normal(size=(wide, narrow))))
    return model_of(nodes, [floats(f"x{i}", [16, wide]) for i in range(times)],
                    [floats(f"a{i}", [16, wide]) for i in range(times)]
                    + [floats(f"b{i}", [16, narrow]) for i in range(times)],
                    weights)


def test_a_weight_is_not_joined_with_many_others_and_stored_many_times(taso_opt, tmp_path):
    _, report, out = optimise(taso_opt, shared_weight(8), tmp_path, "--lanes", "1")
    assert report["after"]["bytes"] < 1.5 * report["before"]["bytes"] + 1024
    assert sum(tensor.ByteSize() for tensor in onnx.load(out).graph.initializer) < 1.5 * report["before"]["bytes"]


def test_with_max_growth_0_weights_do_not_grow(taso_opt, tmp_path):
    assert operators(optimise(taso_opt, chain(64, 30), tmp_path)[2]) == ["MatMul"]
    assert operators(optimise(taso_opt, chain(64, 30), tmp_path, "--max-growth", "0")[2]) == ["MatMul", "MatMul"]
    # A smaller product is not growth.
    assert operators(optimise(taso_opt, chain(64, 34), tmp_path, "--max-growth", "0")[2]) == ["MatMul"]


@pytest.mark.parametrize("wide, middle, rows", [(512, 16, 64), (1024, 4, 1), (128, 2, 16), (64, 2, 1)])
def test_a_narrow_middle_stays_narrow(taso_opt, tmp_path, wide, middle, rows):
    _, report, out = optimise(taso_opt, chain(wide, middle, rows), tmp_path)
    assert operators(out) == ["MatMul", "MatMul"]
    assert report["after"]["bytes"] < 1.5 * report["before"]["bytes"] + 1024
    assert report["search"]["max_growth_percent"] == 50


def test_weights_may_grow_as_far_as_one_says(taso_opt, tmp_path):
    _, report, out = optimise(taso_opt, chain(64, 4), tmp_path, "--max-growth", "10000")
    assert operators(out) == ["MatMul"]
    assert report["search"]["max_growth_percent"] == 10000


def test_a_wide_middle_is_multiplied_out(taso_opt, tmp_path):
    assert operators(optimise(taso_opt, chain(64, 512), tmp_path)[2]) == ["MatMul"]


def test_no_enlarged_kernel_is_left_over(taso_opt, tmp_path):
    random = np.random.default_rng(1)
    nodes = [helper.make_node("Relu", ["z"], ["r"]), helper.make_node("Split", ["r", "s"], ["p", "q"], axis=3),
             helper.make_node("Softplus", ["p"], ["sp"]), helper.make_node("Concat", ["v", "sp", "sp"], ["u"], axis=3),
             helper.make_node("Conv", ["x", "w", "b"], ["y"])]
    model = model_of(nodes, [floats("x", [1, 1, 5, 8]), floats("z", [2, 1, 5, 8]), floats("v", [2, 1, 5, 2])],
                     [floats("u", [2, 1, 5, 14]), floats("y", [1, 1, 5, 8])],
                     [numpy_helper.from_array(np.array([6, 2], dtype=np.int64), "s"),
                      weight("w", random.normal(size=(1, 1, 1, 1))), weight("b", [0.5])])
    _, report, out = optimise(taso_opt, model, tmp_path)
    written = onnx.load(out)
    # A step that saves nothing prepares the next one, which does; none of them enlarges the kernel.
    steps = json.loads(out.with_name(out.name + ".cert").read_text())["steps"]
    saved = [step["cost"][0] - step["cost"][1] for step in steps]
    assert all(one > 0 or following > 0 for one, following in zip(saved, [*saved[1:], 0]))
    assert not [step for step in steps if "enlarge" in step["rule"]]
    conv = next(node for node in written.graph.node if node.op_type == "Conv")
    assert list(conv.input) == ["x", "w", "b"]


def test_below_min_gain_only_clean_ups_are_done(taso_opt, tmp_path):
    """One of many products is merged: a gain, but a small one."""
    random = np.random.default_rng(1)
    nodes = [helper.make_node("MatMul", ["z", "A"], ["a"]), helper.make_node("MatMul", ["a", "B"], ["o"]),
             helper.make_node("Identity", ["x"], ["v0"])]
    for i in range(12):
        nodes.append(helper.make_node("Softmax", [f"v{i}"], [f"v{i + 1}"]))
    model = model_of(nodes, [floats("x", [256, 512]), floats("z", [16, 64])],
                     [floats("o", [16, 8]), floats("v12", [256, 512])],
                     [weight("A", random.normal(size=(64, 64))), weight("B", random.normal(size=(64, 8)))])
    _, report, out = optimise(taso_opt, model, tmp_path, "--lanes", "1")
    cost = report["search"]["cost"]
    gain = 100 * (1 - cost["after"] / cost["before"])
    assert 0 < gain < 20, gain
    assert operators(out).count("MatMul") == 1
    done, report, out = optimise(taso_opt, model, tmp_path, "--lanes", "1", "--min-gain", gain + 1)
    assert "no faster graph kept" in done.err
    assert operators(out).count("MatMul") == 2 and "Identity" not in operators(out)
    assert report["search"]["applied"] == [] and report["search"]["cost"]["after"] == cost["before"]
    assert abs(report["search"]["min_gain_percent"] - gain - 1) < 1e-6
    certificate = json.loads((tmp_path / "out.onnx.cert").read_text())
    assert certificate["steps"] == []


def small_gain(others):
    """Two products that can become one, beside a long chain that stays unchanged."""
    random = np.random.default_rng(1)
    nodes = [helper.make_node("MatMul", ["z", "A"], ["a"]), helper.make_node("MatMul", ["a", "B"], ["o"])]
    nodes += [helper.make_node("Softmax", [f"v{i}"], [f"v{i + 1}"]) for i in range(others)]
    return model_of(nodes, [floats("v0", [256, 512]), floats("z", [16, 64])],
                    [floats("o", [16, 8]), floats(f"v{others}", [256, 512])],
                    [weight("A", random.normal(size=(64, 64))), weight("B", random.normal(size=(64, 8)))])


def test_a_gain_within_the_noise_of_prices_is_none(taso_opt, tmp_path):
    model = small_gain(60)
    done, report, out = optimise(taso_opt, model, tmp_path, "--lanes", "1")
    assert done.err.splitlines()[-1] == "no faster graph kept"
    assert operators(out).count("MatMul") == 2 and report["search"]["applied"] == []
    assert report["search"]["min_gain_percent"] in (1, 2)
    assert "--min-gain" in report["search"]["note"]
    _, report, out = optimise(taso_opt, model, tmp_path, "--lanes", "1", "--min-gain", "0")
    assert operators(out).count("MatMul") == 1 and report["search"]["min_gain_percent"] == 0


def test_what_is_counted_needs_no_gain_beyond_noise(taso_opt, tmp_path):
    _, report, out = optimise(taso_opt, small_gain(60), tmp_path, "--objective", "launches")
    assert operators(out).count("MatMul") == 1 and report["search"]["min_gain_percent"] == 0
    done, report, out = optimise(taso_opt, small_gain(60), tmp_path, "--objective", "launches", "--min-gain", "5")
    assert operators(out).count("MatMul") == 2 and report["search"]["applied"] == []
    assert "no better graph kept" in done.err


def test_every_step_that_is_told_is_certified_and_adds_up(taso_opt, tmp_path):
    _, report, out = optimise(taso_opt, csp_block(), tmp_path, "--min-gain", "0")
    applied, cost = report["search"]["applied"], report["search"]["cost"]
    certificate = json.loads((tmp_path / "out.onnx.cert").read_text())
    assert sum(one["count"] for one in applied) == len(certificate["steps"]) > 0
    assert abs(sum(one["saved"] for one in applied) - (cost["before"] - cost["after"])) < 1e-12


@pytest.mark.parametrize("option", ["--min-gain", "--max-growth"])
def test_percents_that_make_no_sense_are_refused(taso_opt, tmp_path, option):
    path = save(chain(64, 4), tmp_path / "model.onnx")
    for value in ("-1", "much", "1e9", "nan", "inf", "1,5", "5%"):
        done = run(taso_opt, path, "--dry-run", f"{option}={value}")
        assert done.code == 2 and option in done.err, done
    done = run(taso_opt, path, "--dry-run", "--budget", "0", option, "1")
    assert done.code == 2 and "--budget 0" in done.err, done


@pytest.mark.parametrize("option", ["--min-gain", "--max-growth"])
def test_help_tells_of_them(taso_opt, option):
    assert option in run(taso_opt, "--help").out
