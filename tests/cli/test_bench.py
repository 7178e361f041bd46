"""taso-bench on a machine that may have no GPU: the reference runs, prices are imported and exported, mistakes are
reported."""

import concurrent.futures
import json
import os
import re
import signal
import subprocess
import time

import pytest
from onnx import TensorProto, helper

from opt_models import (floats, model_of, run, save, weight, with_batch_norm, with_external_weight, with_identity,
                        with_nothing_to_do)

PRICES = "taso prices 4\nmachine {}\n1234.5/1200.0/1100.0/1900.0\t0.5\tfused: engine 3\tconvolution tf32: x\n"


@pytest.fixture
def home(tmp_path):
    """An environment without earlier measurements."""
    (tmp_path / "cache").mkdir()
    return {"env": {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}}


def test_models_run_and_are_compared(taso_bench, tmp_path, home):
    first, second = save(with_batch_norm(), tmp_path / "first.onnx"), save(with_batch_norm(), tmp_path / "second.onnx")
    done = run(taso_bench, "--device", "cpu", first, second, "--json", tmp_path / "figures.json", **home)
    assert done.code == 0, done
    assert "these are times of the CPU reference" in done.err
    assert re.search(r"^second\.onnx against first\.onnx: \d+\.\d+x \(\d", done.err, re.MULTILINE), done.err
    report = json.loads((tmp_path / "figures.json").read_text())
    assert report["schema_version"] == 1 and report["device"] == "CPU"
    assert [one["model"] for one in report["models"]] == [str(first), str(second)]
    for one in report["models"]:
        times = one["microseconds"]
        assert 0 < times["5_percent"] <= times["median"] <= times["95_percent"]
    ratio = report["models"][1]["speed_against_first"]
    assert ratio["low"] <= ratio["high"]


def test_open_dimensions_are_asked_for(taso_bench, tmp_path, home):
    model = save(with_identity(), tmp_path / "model.onnx")
    done = run(taso_bench, "--device", "cpu", model, **home)
    assert done.code == 3 and "'x' has no known shape: give it with --test-input-shape" in done.err
    for given in (("--test-input-shape", "x:3,4"), ("--batch", "3")):
        done = run(taso_bench, "--device", "cpu", model, *given, "--json", tmp_path / "figures.json", **home)
        assert done.code == 0, done
        assert json.loads((tmp_path / "figures.json").read_text())["models"][0]["examples"] == 3


def with_two_inputs():
    nodes = [helper.make_node("Add", ["x", "b"], ["y"])]
    return model_of(nodes, [floats("x", ["N", 4]), floats("b", [1, 4])], [floats("y", ["N", 4])])


def test_a_batch_that_says_nothing_is_refused(taso_bench, tmp_path, home):
    def examples(model, *arguments):
        done = run(taso_bench, "--device", "cpu", model, *arguments, "--json", tmp_path / "figures.json", **home)
        assert done.code in (0, 2), done
        if done.code == 2:
            assert "--test-input-shape gives every input another batch" in done.err, done
            return None
        return json.loads((tmp_path / "figures.json").read_text())["models"][0]["examples"]

    one, two = save(with_identity(), tmp_path / "one.onnx"), save(with_two_inputs(), tmp_path / "two.onnx")
    assert examples(one, "--batch", "3", "--test-input-shape", "x:2,4") is None
    assert examples(one, "--batch", "3", "--test-input-shape", "2,4") is None
    assert examples(one, "--batch", "3", "--test-input-shape", "x:3,4") == 3
    # One input has its own shape, the batch applies to the other.
    assert examples(two, "--batch", "3", "--test-input-shape", "b:1,4") == 3


def test_a_batch_needs_an_input_that_can_have_it(taso_bench, tmp_path, home):
    scalar = model_of([helper.make_node("Relu", ["x"], ["y"])], [floats("x", [])], [floats("y", [])])
    nothing = model_of([helper.make_node("Relu", ["w"], ["y"])], [], [floats("y", [2])], [weight("w", [1, 2])])
    beside = model_of([helper.make_node("Add", ["x", "s"], ["y"])], [floats("s", []), floats("x", ["N", 4])],
                      [floats("y", ["N", 4])])
    for model, code in ((scalar, 2), (nothing, 2), (beside, 0)):
        file = save(model, tmp_path / "model.onnx")
        done = run(taso_bench, "--device", "cpu", file, "--batch", "4", **home)
        assert done.code == code, done
        assert (f"{file}: --batch 4: no input has a dimension that could be a batch" in done.err) == (code == 2), done
        if code == 2:
            assert run(taso_bench, "--device", "cpu", file, **home).code == 0


def test_models_that_do_not_do_the_same_work_are_told_apart(taso_bench, tmp_path, home):
    same, large, small = (save(model_of([helper.make_node("Relu", [name], ["y"])], [floats(name, [size])],
                                        [floats("y", [size])]), tmp_path / f"{name}{size}.onnx")
                          for name, size in (("x", 8), ("x", 9), ("a", 8)))
    done = run(taso_bench, "--device", "cpu", same, large, small, "--json", tmp_path / "figures.json", **home)
    assert done.code == 0 and "x9.onnx takes other inputs than x8.onnx" in done.err, done
    assert "a8.onnx takes" not in done.err
    report = json.loads((tmp_path / "figures.json").read_text())
    assert [one.get("has_inputs_of_first") for one in report["models"]] == [None, False, True]


@pytest.mark.parametrize("asked, alone, in_turn", [((), 6, 6), (("--runs", "1"), 1, 2), (("--runs", "3"), 3, 4),
                                                   (("--runs", "20"), 20, 20)])
def test_models_run_as_often_as_was_asked(asked, alone, in_turn, taso_bench, tmp_path, home):
    model = save(with_nothing_to_do(), tmp_path / "model.onnx")
    for count, done in ((1, alone), (2, in_turn)):  # alternating models run forth and back
        assert run(taso_bench, "--device", "cpu", *[model] * count, *asked, "--json", tmp_path / "f.json",
                   **home).code == 0
        report = json.loads((tmp_path / "f.json").read_text())
        assert report["complete"] and [one["microseconds"]["runs"] for one in report["models"]] == [done] * count


def test_a_precision_is_the_gpus(taso_bench, tmp_path, home):
    model = save(with_nothing_to_do(), tmp_path / "model.onnx")
    for given in ((), ("--precision", "fp16")):
        done = run(taso_bench, "--device", "cpu", model, *given, "--json", tmp_path / "f.json", **home)
        assert done.code == 0 and ("--precision has no effect without a GPU\n" in done.err) == bool(given), done
        assert "precision" not in json.loads((tmp_path / "f.json").read_text())


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_what_ran_until_an_interrupt_is_told(sent, taso_bench, source_folder, tmp_path, home):
    model = source_folder / "examples/small_convnet.onnx"
    command = [taso_bench, model, model, "--device", "cpu", "--runs", "1000000", "--json", tmp_path / "figures.json"]
    for seconds in (1, 5, 25):  # seconds until a model has run
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **home)
        time.sleep(seconds)
        process.send_signal(sent)
        text = process.communicate(timeout=120)[1]
        if "interrupted before" not in text and process.returncode == 130:
            break
    assert process.returncode == 130 and re.search(r"\ninterrupted: \d+ runs? of each model", text), text
    assert "small_convnet.onnx against small_convnet.onnx: " in text
    report = json.loads((tmp_path / "figures.json").read_text())
    assert not report["complete"] and all(one["microseconds"]["runs"] > 0 for one in report["models"])


def test_prices_move(taso_bench, tmp_path, home):
    (tmp_path / "theirs.prices").write_text(PRICES.format("Some GPU, driver 1"))
    done = run(taso_bench, "--import", tmp_path / "theirs.prices", "--export", tmp_path / "all.prices", **home)
    assert done.code == 0 and "1 prices of Some GPU, driver 1" in done.err, done
    kept = tmp_path / "cache/taso/measured.prices"
    assert kept.read_text() == PRICES.format("Some GPU, driver 1")
    assert "Some GPU, driver 1" in (tmp_path / "all.prices").read_text()
    # Prices of another machine are kept apart, without an error.
    (tmp_path / "more.prices").write_text(PRICES.format("Another GPU"))
    assert run(taso_bench, "--import", tmp_path / "more.prices", **home).code == 0
    assert kept.read_text().count("machine ") == 2
    # Only the named file changes.
    before = kept.read_text()
    done = run(taso_bench, "--import", tmp_path / "more.prices", "--prices", tmp_path / "own.prices", **home)
    assert done.code == 0 and (tmp_path / "own.prices").read_text() == PRICES.format("Another GPU")
    assert kept.read_text() == before


def test_prices_that_are_only_read_have_to_be_there(taso_bench, taso_opt, source_folder, tmp_path, home):
    model, missing = source_folder / "examples/small_convnet.onnx", tmp_path / "mistyped.prices"
    for command in ((taso_opt, model, "--dry-run", "--budget", "0"),
                    (taso_bench, model, "--device", "cpu", "--runs", "1"),
                    (taso_bench, "--export", tmp_path / "all.prices")):
        done = run(*command, "--prices", missing, **home)
        assert done.code == 3 and f"--prices: {missing} does not exist" in done.err and not missing.exists(), done
    # Measuring creates the file; without a GPU the run continues with a warning.
    done = run(taso_opt, model, "--dry-run", "--budget", "0", "--device", "cuda", "--prices", missing, **home)
    assert done.code == 0, done
    missing.write_text(PRICES.format("Some GPU, driver 1"))
    assert run(taso_opt, model, "--dry-run", "--budget", "0", "--prices", missing, **home).code == 0


@pytest.mark.parametrize("text", ["", "something\n", "taso prices 5\n", "taso prices 1\n1\t1\tx\ty\n",
                                  "taso prices 1\nmachine M\n1\t1\tx\n", "taso prices 1\nmachine M\n-1\t1\tx\ty\n",
                                  "taso prices 4\nmachine M\n1/1/1/1/1\t1\tx\ty\n",
                                  "taso prices 2\nmachine M\n1\t1\tx\tconvolution tf32: float32[1, 2"])
def test_bad_prices_are_refused(text, taso_bench, tmp_path, home):
    (tmp_path / "bad.prices").write_text(text)
    done = run(taso_bench, "--import", tmp_path / "bad.prices", **home)
    assert done.code == 3 and re.search(r"bad\.prices:\d+: ", done.err), done
    assert not (tmp_path / "cache/taso/measured.prices").exists()


def test_prices_of_a_newer_version_are_left_alone(taso_bench, taso_opt, source_folder, tmp_path, home):
    model, kept = source_folder / "examples/small_convnet.onnx", tmp_path / "cache/taso/measured.prices"
    newer = "taso prices 5\nmachine Some GPU\nwhatever this means\n"
    kept.parent.mkdir()
    kept.write_text(newer)
    (tmp_path / "more.prices").write_text(PRICES.format("Another GPU"))
    for command in ((taso_opt, model, "-o", tmp_path / "out.onnx", "--device", "cuda"),
                    (taso_bench, "--import", tmp_path / "more.prices")):
        done = run(*command, **home)
        assert done.code == 3, done
        assert "measured.prices:1: a newer taso has written this file" in done.err, done
        assert "versions 1 to 4" in done.err, done
        assert kept.read_text() == newer and not (tmp_path / "out.onnx").exists()
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", "--prices", tmp_path / "more.prices", **home)
    assert done.code == 0 and kept.read_text() == newer, done


def test_prices_that_are_saved_at_once_are_all_kept(taso_bench, tmp_path, home):
    count = 12
    for i in range(count):
        (tmp_path / f"{i}.prices").write_text(PRICES.format(f"GPU {i}"))
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        runs = [pool.submit(run, taso_bench, "--import", tmp_path / f"{i}.prices", **home) for i in range(count)]
        assert [one.result().code for one in runs] == [0] * count
    kept = (tmp_path / "cache/taso/measured.prices").read_text()
    assert kept.count("machine GPU ") == count, kept


def test_damaged_prices_of_ones_own_are_told_with_the_remedy(taso_bench, taso_opt, tmp_path, home):
    model = save(with_nothing_to_do(), tmp_path / "model.onnx")
    (tmp_path / "cache/taso").mkdir()
    (tmp_path / "cache/taso/measured.prices").write_text("nothing\n")
    for program, arguments in [(taso_bench, ("--export", tmp_path / "all.prices")),
                               (taso_opt, (model, "--dry-run", "--device", "cuda"))]:
        done = run(program, *arguments, **home)
        assert done.code == 3 and "measured.prices:1: " in done.err and "move the file away" in done.err, done


def test_usage(taso_bench, tmp_path, home):
    model = save(with_nothing_to_do(), tmp_path / "model.onnx")
    for arguments, message in [
            ((), "no model is given"),
            (("--record",), "no model is given"),
            ((model, "--record", "--device", "cpu"), "--record needs a GPU"),
            ((model, "--time-budget", "5"), "need --record"),
            ((model, "--anew"), "need --record"),
            ((model, "--record", "--no-measuring"), "cannot be combined"),
            ((model, "--batch", "1,16"), "with --record only"),
            ((model, "--record", "--precision", "tf32,"), "not ''"),
            ((model, "--record", "--batch", "1,x"), "--batch"),
            ((model, "--device", "tpu"), "--device takes cuda, cpu or auto, not 'tpu'"),
            ((model, "--precision", "fp8"), "not 'fp8'"),
            ((model, "--batch", "0"), "--batch"),
            ((model, "--runs", "x"), "--runs"),
            ((model, "--json", model), "would replace the model"),
            ((model, "--export", tmp_path / "a", "--prices", tmp_path / "a"), "are both"),
    ]:
        done = run(taso_bench, *arguments, **home)
        assert done.code == 2 and message in done.err, (arguments, done)
        assert "(taso-bench --help lists the options)" in done.err
    assert run(taso_bench, "--help").code == 0
    assert run(taso_bench, "--version").out.startswith("taso-bench ")


@pytest.mark.parametrize("flag", ["--json", "--export", "--log-file", "--prices"])
def test_weights_beside_a_model_are_kept(flag, taso_bench, tmp_path, home):
    good = save(with_nothing_to_do(), tmp_path / "good.onnx")
    bad = save(b"no model", tmp_path / "bad.onnx")
    model, weights = save(with_external_weight(tmp_path), tmp_path / "model.onnx"), tmp_path / "weights.bin"
    before = weights.read_bytes()
    os.symlink(weights, tmp_path / "link")
    for models in ((model,), (good, model), (bad, model), (model, tmp_path / "missing.onnx")):
        for place in (weights, tmp_path / "link"):
            done = run(taso_bench, "--device", "cpu", *models, flag, place, **home)
            assert done.code == 2 and f"{place} holds the weights of the input" in done.err, (models, done)
            assert weights.read_bytes() == before, models
    # An existing file that does not hold weights may be replaced.
    (tmp_path / "figures.json").write_text("of old")
    assert run(taso_bench, "--device", "cpu", model, "--json", tmp_path / "figures.json", **home).code == 0


def test_what_cannot_be_run_is_named(taso_bench, tmp_path, home):
    nodes = [helper.make_node("Nothing", ["x"], ["y"], domain="some.domain")]
    model = model_of(nodes, [floats("x", [2])], [floats("y", [2])])
    model.opset_import.append(helper.make_opsetid("some.domain", 1))
    done = run(taso_bench, "--device", "cpu", save(model, tmp_path / "model.onnx"), **home)
    assert done.code == 3 and "Nothing" in done.err, done
    assert run(taso_bench, "--device", "cpu", tmp_path / "missing.onnx", **home).code == 3
    words = model_of([helper.make_node("Identity", ["x"], ["y"])],
                     *([helper.make_tensor_value_info(name, TensorProto.STRING, [2])] for name in "xy"))
    done = run(taso_bench, "--device", "cpu", save(words, tmp_path / "words.onnx"), **home)
    assert done.code == 3 and "cannot generate random data for the input" in done.err, done


@pytest.mark.parametrize("flag", ["--json", "--export"])
def test_places_that_cannot_be_written_are_said_at_once(flag, taso_bench, tmp_path, home):
    model, nowhere = save(with_nothing_to_do(), tmp_path / "m.onnx"), tmp_path / "nowhere/file"
    done = run(taso_bench, "--device", "cpu", model, flag, nowhere, **home)
    assert done.code == 6 and str(nowhere) in done.err and "median" not in done.err, done
    (tmp_path / "theirs.prices").write_text(PRICES.format("Some GPU, driver 1"))
    assert run(taso_bench, "--import", tmp_path / "theirs.prices", flag, nowhere, **home).code == 6
    assert not (tmp_path / "cache/taso").exists()


def test_trouble_names_its_model_once(taso_bench, tmp_path, home):
    good = save(with_identity(), tmp_path / "good.onnx")
    cycle = model_of([helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])],
                     [floats("x", [2])], [floats("b", [2])])
    weightless = with_external_weight(tmp_path, location="missing.bin", written=None)
    unlike = model_of([helper.make_node("Relu", ["a"], ["y"])], [floats("a", ["N", 4])], [floats("y", ["N", 4])])
    for model, code, message in ((cycle, 3, "cycle"), (weightless, 3, "external data of tensor 'w'"),
                                 (unlike, 2, "the model has no input 'x'")):
        bad = save(model, tmp_path / "bad.onnx")
        done = run(taso_bench, "--device", "cpu", good, bad, "--test-input-shape", "x:2,4", **home)
        assert done.code == code and message in done.err and done.err.count("bad.onnx") == 1, done


def test_models_of_one_name_are_told_by_their_paths(taso_bench, tmp_path, home):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        save(with_nothing_to_do(), tmp_path / folder / "m.onnx")
    save(with_nothing_to_do(), tmp_path / "a/n.onnx")
    done = run(taso_bench, "--device", "cpu", "a/m.onnx", "b/m.onnx", "a/n.onnx", cwd=tmp_path, **home)
    assert done.code == 0, done
    assert "\nb/m.onnx against a/m.onnx: " in done.err and "\nn.onnx against a/m.onnx" in done.err, done
    assert all(re.search(rf"^{name} +\d", done.err, re.MULTILINE) for name in ("a/m.onnx", "b/m.onnx", "n.onnx")), done
    # A file that is given twice is shown by its name alone.
    assert "\nm.onnx against m.onnx: " in run(taso_bench, "--device", "cpu", *["a/m.onnx"] * 2, cwd=tmp_path,
                                              **home).err


def test_a_folder_is_no_file_of_prices(taso_bench, taso_opt, tmp_path, home):
    model = save(with_nothing_to_do(), tmp_path / "m.onnx")
    (tmp_path / "folder").mkdir()
    for command in ((taso_bench, model, "--device", "cpu", "--prices"), (taso_bench, "--import"),
                    (taso_opt, model, "--dry-run", "--prices")):
        done = run(*command, tmp_path / "folder", **home)
        assert done.code == 3 and "folder: is a folder" in done.err and "empty" not in done.err, done


@pytest.mark.skipif(not os.path.isdir("/sys/kernel"), reason="nobody can make a folder in /sys, not even root")
def test_a_cache_that_cannot_be_made_is_told_with_the_reason(taso_bench, tmp_path, home):
    (tmp_path / "theirs.prices").write_text(PRICES.format("Some GPU, driver 1"))
    home["env"]["XDG_CACHE_HOME"] = "/sys/no_cache_of_taso"
    done = run(taso_bench, "--import", tmp_path / "theirs.prices", **home)
    assert done.code == 6 and "cannot make the folder /sys/no_cache_of_taso/taso: " in done.err, done
    assert "No such file" not in done.err


def with_branches(operator="Relu"):
    """y comes from one of two branches; the condition is random."""
    branches = {
        name: helper.make_graph([helper.make_node(kind, ["x"], [name])], name, [], [floats(name, [2])])
        for name, kind in (("then_branch", "Neg"), ("else_branch", operator))}
    condition = helper.make_tensor_value_info("condition", TensorProto.BOOL, [])
    return model_of([helper.make_node("If", ["condition"], ["y"], **branches)], [floats("x", [2]), condition],
                    [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])


def test_branches_run(taso_bench, tmp_path, home):
    """The shape of the result is not declared: both branches determine it."""
    done = run(taso_bench, "--device", "cpu", save(with_branches(), tmp_path / "model.onnx"), **home)
    assert done.code == 0 and "median" in done.err, done
    done = run(taso_bench, "--device", "cpu", save(with_branches("RandomNormalLike"), tmp_path / "model.onnx"), **home)
    assert done.code == 3 and "cannot run If: RandomNormalLike inside: random operator" in done.err, done


def test_without_a_gpu_it_is_said(taso_bench, taso_opt, tmp_path, home):
    """With a module that cannot be loaded, as on a machine without CUDA."""
    model = save(with_nothing_to_do(), tmp_path / "model.onnx")
    home["env"]["TASO_CUDA_MODULE"] = str(tmp_path / "no_module.so")
    done = run(taso_bench, model, **home)
    assert done.code == 0 and "no GPU can be used: " in done.err and "times of the CPU reference" in done.err, done
    for program, arguments in [(taso_bench, (model, "--device", "cuda")), (taso_bench, (model, "--record")),
                               (taso_opt, (model, "--dry-run", "--device", "cuda", "--confirm"))]:
        done = run(program, *arguments, **home)
        assert done.code == 6 and "no GPU can be used: " in done.err, done
    # A run that only needs prices uses known ones, and gives the same model.
    written = []
    for name, device in (("auto", ()), ("cuda", ("--device", "cuda"))):
        done = run(taso_opt, model, "-o", tmp_path / f"{name}.onnx", *device, **home)
        assert done.code == 0 and ("no GPU can be used: " in done.err) == (name == "cuda"), done
        written.append((tmp_path / f"{name}.onnx").read_bytes())
    assert written[0] == written[1]
