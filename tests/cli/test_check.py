"""The check, and the prices and messages about them, as a user sees them."""

import json
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import opt_models as models
from opt_models import floats, model_of, run, weight


def save(model, path):
    onnx.save(model, path)
    return path


def report_of(taso_opt, model, folder, *arguments, code=0, **options):
    done = run(taso_opt, model, "-o", folder / "out.onnx", "--force", "--report", folder / "report.json", *arguments,
               **options)
    assert done.code == code, done
    return json.loads((folder / "report.json").read_text()), done


def two_products(x, size, random):
    """x a + x b, which one product computes as well, with other rounding."""
    nodes = [helper.make_node("MatMul", [x, "a"], ["xa"]), helper.make_node("MatMul", [x, "b"], ["xb"]),
             helper.make_node("Add", ["xa", "xb"], ["sum"])]
    return nodes, [weight(name, random.normal(size=(size, size)) / 16) for name in "ab"]


def quantised(size=256, layers=8):
    """Products of floats, followed by layers as onnxruntime's quantize_dynamic writes them."""
    random = np.random.default_rng(3)
    nodes, weights = two_products("x", size, random)
    last = "sum"
    for i in range(layers):
        nodes += [
            helper.make_node("DynamicQuantizeLinear", [last], [f"q{i}", f"scale{i}", f"zero{i}"]),
            helper.make_node("MatMulInteger", [f"q{i}", f"w{i}", f"zero{i}", f"wzero{i}"], [f"p{i}"]),
            helper.make_node("Cast", [f"p{i}"], [f"c{i}"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"scale{i}", f"wscale{i}"], [f"s{i}"]),
            helper.make_node("Mul", [f"c{i}", f"s{i}"], [f"d{i}"]),
            helper.make_node("Add", [f"d{i}", f"bias{i}"], [f"y{i}"])]
        weights += [numpy_helper.from_array(random.integers(0, 255, (size, size)).astype(np.uint8), f"w{i}"),
                    numpy_helper.from_array(np.array(128, dtype=np.uint8), f"wzero{i}"),
                    weight(f"wscale{i}", np.float32(0.01)), weight(f"bias{i}", random.normal(size=size))]
        last = f"y{i}"
    return model_of(nodes, [floats("x", [size, size])], [floats(last, [size, size])], weights)


def test_a_dynamically_quantised_model_is_written(taso_opt, tmp_path):
    # The two products take a small part of the time.
    report, done = report_of(taso_opt, save(quantised(), tmp_path / "model.onnx"), tmp_path, "--min-gain", "0")
    assert done.err.splitlines()[-1] == "PASSED"
    assert report["search"]["applied"], report["search"]
    assert report["check"]["scope"] == "regions"
    assert "DynamicQuantizeLinear" in report["check"]["reason"]
    assert len([n for n in onnx.load(tmp_path / "out.onnx").graph.node if n.op_type == "MatMul"]) == 1


def test_open_sizes_of_pictures_and_batches_are_found(taso_opt, tmp_path):
    nodes = [helper.make_node("Identity", ["x"], ["same"]),
             helper.make_node("AveragePool", ["same"], ["y"], kernel_shape=[100, 100], strides=[50, 50])]
    model = model_of(nodes, [floats("x", ["N", 3, "H", "W"])], [floats("y", ["N", 3, None, None])])
    report, _ = report_of(taso_opt, save(model, tmp_path / "model.onnx"), tmp_path)
    assert report["check"]["scope"] == "whole" and report["check"]["tensors"] == 1


def test_where_no_open_size_fits_soon_ends_and_is_told(taso_opt, tmp_path):
    nodes = [helper.make_node("Identity", ["x"], ["unused"]), helper.make_node("Relu", ["x"], ["r"]),
             helper.make_node("Conv", ["r", "w"], ["y"])]  # five channels
    model = model_of(nodes, [floats("x", ["b", "c", "h", "w"])], [floats("y", [None, None, None, None])],
                     [weight("w", np.ones((4, 5, 3, 3)))])
    report, done = report_of(taso_opt, save(model, tmp_path / "model.onnx"), tmp_path)
    assert report["check"]["tensors"] == 0 and "Conv cannot be run" in report["check"]["reason"]
    assert "compute what they did, so nothing had to run" in done.err and "0 tensors" not in done.err
    assert report["seconds"]["check"] < 30  # it took as long as with 224 for each of four sizes
    report, done = report_of(taso_opt, tmp_path / "model.onnx", tmp_path, "--test-input-shape", "x:1,5,8,8")
    assert report["check"]["scope"] == "whole" and "1 tensor compared" in done.err


def test_rules_that_the_check_objects_to_are_left_out(taso_opt, tmp_path):
    random = np.random.default_rng(4)
    nodes, weights = two_products("x", 64, random)
    model = save(model_of(nodes, [floats("x", [64, 64])], [floats("sum", [64, 64])], weights), tmp_path / "model.onnx")
    plain, _ = report_of(taso_opt, model, tmp_path)
    assert plain["search"]["applied"] and not plain["search"]["left_out"]
    # No reordered product agrees to the last digit.
    report, done = report_of(taso_opt, model, tmp_path, "--rtol", "0", "--atol", "0")
    used = {one["rule"] for one in plain["search"]["applied"]}
    assert used & set(report["search"]["left_out"])
    assert "'sum' (float32[64, 64]) differs" in report["search"]["objection"]
    assert "rules left out because their results failed the check: " in done.err
    assert not used & {one["rule"] for one in report["search"]["applied"]}
    assert report["check"]["passed"] and report["output"]


def test_what_is_never_a_number_is_not_checked_and_not_changed(taso_opt, tmp_path):
    random = np.random.default_rng(5)
    nodes, weights = two_products("n", 16, random)
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Neg", ["e"], ["m"]),
             helper.make_node("Log", ["m"], ["n"])] + nodes
    model = save(model_of(nodes, [floats("x", [16, 16])], [floats("sum", [16, 16])], weights), tmp_path / "model.onnx")
    report, done = report_of(taso_opt, model, tmp_path)
    # The change can be checked by itself, on random operands; the whole model cannot.
    assert report["check"]["scope"] == "regions" and "no element of 'sum' is finite" in report["check"]["reason"]


def test_open_sizes_are_said_aloud(taso_opt, tmp_path):
    model = save(models.with_identity(), tmp_path / "model.onnx")
    report, done = report_of(taso_opt, model, tmp_path)
    assert "sizes assumed in prices: x:1,4 (change them with --test-input-shape)\n" in done.err
    assert report["assumed_sizes"]["inputs"] == {"x": [1, 4]}
    assert "predicted, concurrent" in done.err
    report, done = report_of(taso_opt, model, tmp_path, "--test-input-shape", "x:8,4")
    assert "sizes assumed" not in done.err and report["assumed_sizes"]["inputs"] == {}


def predicted(taso_opt, nodes, inputs, outputs, weights, tmp_path):
    model = save(model_of(nodes, inputs, outputs, weights), tmp_path / "model.onnx")
    return report_of(taso_opt, model, tmp_path, "--budget", "0", "--check", "0")[0]["before"]["predicted"]["seconds"]


def test_what_the_host_does_has_its_price(taso_opt, tmp_path):
    def shrink(shape):  # of integers, for which there is no kernel
        sides = [helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name in ("x", "y")]
        return predicted(taso_opt, [helper.make_node("Shrink", ["x"], ["y"])], sides[:1], sides[1:], [], tmp_path)

    assert 3e-3 < shrink([1, 320, 32, 32]) < 5e-3  # 3.8 ms were measured for a normalisation of this size
    assert 15e-6 < shrink([2, 2]) < 40e-6
    # Each product costs a nanosecond; so large a state fits no kernel.
    lstm = helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2048)
    weights = [floats("w", [1, 8192, 64]), floats("r", [1, 8192, 2048])]
    few, many = (predicted(taso_opt, [lstm], [floats("x", [n, 1, 64]), *weights], [floats("y", [n, 1, 1, 2048])], [],
                           tmp_path)
                 for n in (2, 8))
    assert 6e-9 * 8192 * (64 + 2048) * 0.9 < many - few < 6e-9 * 8192 * (64 + 2048) * 1.2


def test_more_steps_take_longer(taso_opt, tmp_path):
    lstm = helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=64)
    weights = [weight("w", np.zeros((1, 256, 64))), weight("r", np.zeros((1, 256, 64)))]
    short, long = (predicted(taso_opt, [lstm], [floats("x", [n, 1, 64])], [floats("y", [n, 1, 1, 64])], weights,
                             tmp_path)
                   for n in (8, 64))
    assert short < long / 4


@pytest.fixture
def half_known(source_folder, tmp_path):
    """A model whose kernels were measured, and beside it a product that was never measured."""
    model = onnx.load(source_folder / "examples" / "small_convnet.onnx")
    model.graph.input.append(floats("odd", [333, 1777]))
    model.graph.initializer.append(weight("odd_weight", np.zeros((1777, 555))))
    model.graph.node.append(helper.make_node("MatMul", ["odd", "odd_weight"], ["odd_result"]))
    model.graph.output.append(floats("odd_result", [333, 555]))
    return save(model, tmp_path / "half.onnx")


def test_what_is_known_counts_beside_what_is_predicted(taso_opt, half_known, tmp_path):
    report, done = report_of(taso_opt, half_known, tmp_path, "--budget", "0")
    known = report["before"]["predicted"]
    assert 0.1 < known["measured_seconds"] / known["seconds"] < 0.89
    assert "% of this model's time was measured on" in report["prices"]
    assert "the rest is predicted, within a factor of" in report["prices"]
    assert report["prices"] in done.err


def test_own_prices_count_only_where_a_gpu_is_asked_for(taso_opt, source_folder, tmp_path):
    model = source_folder / "examples" / "small_convnet.onnx"
    cache = tmp_path / "cache" / "taso"
    cache.mkdir(parents=True)
    [shipped] = (source_folder / "cost" / "prices").glob("*.prices")
    lines = []
    for line in shipped.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) > 1:
            fields[0] = "/".join(str(float(number) * 1.3) for number in fields[0].split("/"))
        lines.append("\t".join(fields))
    (cache / "measured.prices").write_text("\n".join(lines) + "\n")
    environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path / "cache"))
    empty = dict(os.environ, XDG_CACHE_HOME=str(tmp_path / "nothing"))

    def seconds(environment, *arguments):
        report, _ = report_of(taso_opt, model, tmp_path, "--budget", "0", *arguments, env=environment)
        return report["before"]["predicted"]["seconds"]

    assert seconds(environment) == seconds(empty)
    assert seconds(empty, "--prices", cache / "measured.prices") > 1.15 * seconds(empty)
    if not os.path.exists("/dev/nvidiactl"):
        assert seconds(environment, "--device", "cuda") > 1.15 * seconds(empty)


def halves(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape)


def test_what_float_allows_holds_for_the_check_as_well(taso_opt, tmp_path):
    """A product of two large operands overflows float16 when it is computed first: fast only reports that."""
    small = numpy_helper.from_array(np.full([512, 1024], 1e-4, dtype=np.float16), "small")
    model = model_of([helper.make_node("Mul", ["x", "small"], ["a"]), helper.make_node("MatMul", ["a", "v"], ["b"]),
                      helper.make_node("MatMul", ["b", "w"], ["y"])],
                     [halves("x", [512, 1024]), halves("v", [1024, 1024]), halves("w", [1024, 8])],
                     [halves("y", [512, 8])], [small])
    before, report = tmp_path / "model.onnx", tmp_path / "report.json"
    onnx.save(model, before)
    lost = {}
    for mode in ("strict", "usual", "fast"):
        done = run(taso_opt, before, "-o", tmp_path / f"{mode}.onnx", "--float", mode, "--report", report)
        assert done.code == 0, done.err
        lost[mode] = json.loads(report.read_text())["check"]["with_large_inputs"]["finite_no_longer"]
    assert lost["strict"] == lost["usual"] == 0 < lost["fast"]
    assert "no longer finite" in done.err


def test_strict_keeps_a_batch_norm(taso_opt, taso_verify, tmp_path):
    """Folding it into weights changes the rounding."""
    before, after = save(models.with_batch_norm(), tmp_path / "model.onnx"), tmp_path / "out.onnx"
    for mode, kept in (("strict", True), ("usual", False)):
        done = run(taso_opt, before, "-o", after, "--force", "--float", mode)
        assert done.code == 0, done
        assert ("BatchNormalization" in [node.op_type for node in onnx.load(after).graph.node]) == kept
        assert run(taso_verify, "--certificate", f"{after}.cert", before, after).code == 0
