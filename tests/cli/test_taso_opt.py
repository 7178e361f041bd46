"""taso-opt as people use it: what it writes, what it prints, how it ends."""

import json
import os
import re

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import opt_models as models
from opt_models import floats, model_of, operators, run, save


@pytest.fixture
def model(tmp_path):
    return save(models.with_identity(), tmp_path / "model.onnx")


def test_it_cleans_checks_and_writes(taso_opt, model, tmp_path):
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", "--budget", "0")
    assert done.code == 0, done
    assert done.out == ""
    assert operators(tmp_path / "out.onnx") == ["Relu", "Add"]
    assert re.search(r"^Identity +1 +0$", done.err, re.MULTILINE)
    assert re.search(r"^total +3 +2$", done.err, re.MULTILINE)
    assert re.search(r"^clean-ups: .*identity 1", done.err, re.MULTILINE)
    assert "the whole model on 1 set of random inputs, 1 tensor compared" in done.err
    assert done.err.splitlines()[-1] == "PASSED"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_model_with_nothing_to_do_changes_only_in_our_metadata(taso_opt, tmp_path):
    before = models.with_nothing_to_do()
    done = run(taso_opt, save(before, tmp_path / "model.onnx"), tmp_path / "out.onnx", "--budget", "0")
    assert done.code == 0 and done.err.splitlines()[-1] == "no clean-up applied"
    after = onnx.load(tmp_path / "out.onnx")
    assert [(entry.key) for entry in after.metadata_props] == ["taso.version", "taso.certificate"]
    del after.metadata_props[:]
    assert after.SerializeToString() == before.SerializeToString()


def test_the_same_run_twice_gives_the_same_bytes(taso_opt, tmp_path, source_folder):
    for name in ("small_convnet", "small_transformer"):
        written = []
        for jobs in (1, 2):
            out = tmp_path / f"{name}{jobs}.onnx"
            done = run(taso_opt, source_folder / f"examples/{name}.onnx", "-o", out, "--jobs", jobs)
            assert done.code == 0, done
            written.append(out.read_bytes())
        assert written[0] == written[1]
        clean, again = tmp_path / f"{name}clean.onnx", tmp_path / f"{name}again.onnx"
        assert run(taso_opt, source_folder / f"examples/{name}.onnx", "-o", clean, "--budget", "0").code == 0
        assert run(taso_opt, clean, "-o", again, "--budget", "0").code == 0
        assert again.read_bytes() == clean.read_bytes(), "a second run finds nothing more to do"


def test_metadata_is_replaced_and_other_metadata_kept(taso_opt, tmp_path):
    model = models.with_nothing_to_do()
    for key, value in (("author", "somebody"), ("taso.version", "0.0.0"), ("zone", "7"), ("taso.version", "older")):
        model.metadata_props.add(key=key, value=value)
    assert run(taso_opt, save(model, tmp_path / "model.onnx"), tmp_path / "out.onnx", "--budget", "0").code == 0
    entries = [(entry.key, entry.value) for entry in onnx.load(tmp_path / "out.onnx").metadata_props]
    version = run(taso_opt, "--version").out.splitlines()[0].split()[1]
    assert entries == [("author", "somebody"), ("zone", "7"), ("taso.version", version), ("taso.certificate", ".cert")]


def test_a_dry_run_writes_nothing(taso_opt, model, tmp_path):
    before = sorted(os.listdir(tmp_path))
    done = run(taso_opt, model, "--dry-run")
    assert done.code == 0 and "nothing written" in done.err and done.err.splitlines()[-1] == "PASSED"
    assert run(taso_opt, model, tmp_path / "out.onnx", "--dry-run").code == 0
    assert sorted(os.listdir(tmp_path)) == before


def test_an_engine_file_is_written_with_or_without_a_model(taso_opt, model, tmp_path):
    done = run(taso_opt, model, "--engine", tmp_path / "model.taso")
    assert done.code == 0 and "no model written" in done.err and "engine: " in done.err, done
    assert (tmp_path / "model.taso").read_bytes().startswith(b"TASOENG2")
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", "--engine", tmp_path / "both.taso")
    assert done.code == 0 and (tmp_path / "out.onnx").exists() and (tmp_path / "both.taso").exists(), done
    for wrong in (["--engine", model], ["--engine", tmp_path / "e", "--dry-run"], ["--engine", "-"],
                  ["-o", tmp_path / "same", "--engine", tmp_path / "same"]):
        assert run(taso_opt, model, *wrong).code == 2, wrong
    assert run(taso_opt, model, "--engine", tmp_path / "no/such/folder").code == 6


def test_a_failed_check_writes_nothing(taso_opt, tmp_path):
    model = save(models.with_batch_norm(), tmp_path / "model.onnx")
    out = tmp_path / "out.onnx"
    done = run(taso_opt, model, "-o", out, "--rtol", "0", "--atol", "0", "--report", tmp_path / "report.json")
    assert done.code == 4, done
    assert "FAILED" in done.err.splitlines()
    assert done.err.splitlines()[-1].startswith(f"taso-opt: error: {model}: ")
    assert not out.exists()
    assert json.loads((tmp_path / "report.json").read_text())["check"]["passed"] is False
    out.write_bytes(b"precious")
    assert run(taso_opt, model, "-o", out, "--rtol", "0", "--atol", "0").code == 4
    assert out.read_bytes() == b"precious"
    # With the default tolerance, or without the check, it is written.
    assert run(taso_opt, model, "-o", out).code == 0
    assert operators(out) == ["Conv"]
    done = run(taso_opt, model, "-o", out, "--rtol", "0", "--atol", "0", "--check", "0")
    assert done.code == 0 and done.err.splitlines()[-1] == "UNCHECKED" and "check: off" in done.err


def test_passes_can_be_left_out(taso_opt, model, tmp_path):
    listed = [line.split()[0] for line in run(taso_opt, "--list-passes").out.splitlines()]
    assert "identity" in listed and "batch-norm" in listed
    arguments = [part for name in listed for part in ("--disable-pass", name)]
    done = run(taso_opt, *arguments, model, "-o", tmp_path / "out.onnx", "--budget", "0")
    assert done.code == 0 and done.err.splitlines()[-1] == "no clean-up applied"
    assert operators(tmp_path / "out.onnx") == ["Relu", "Identity", "Add"]
    done = run(taso_opt, model, "--dry-run", "--disable-pass", "no-such-pass")
    assert done.code == 2 and all(name in done.err for name in listed)


def test_usage_errors_are_one_line(taso_opt, model, tmp_path):
    for arguments in ([], [model], [model, "out.onnx", "--bogus"], [model, "out.onnx", "--alpha", "0.5"],
                      [model, "out.onnx", "--check=x"], [model, "--dry-run", "--test-input-shape", "z:1"],
                      [model, "--dry-run", "--test-input-shape", "x:3"],
                      [model, "--dry-run", "--overwrite-input-shape", "x:2,5"],
                      [model, "--dry-run", "--input-data", "z:data.npy"]):
        done = run(taso_opt, *arguments, cwd=tmp_path)
        assert done.code == 2, (arguments, done)
        assert done.out == "" and len(done.err.splitlines()) == 1 and done.err.startswith("taso-opt: error: ")
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_help_and_version_are_data(taso_opt):
    help_text = run(taso_opt, "--help")
    assert help_text.code == 0 and "--overwrite-input-shape" in help_text.out and help_text.err == ""
    version = run(taso_opt, "--version")
    assert version.code == 0 and version.err == ""
    for part in ("taso-opt ", "rules", "Z3", "ONNX", "protobuf", "OpenBLAS", "CUDA", "cuDNN"):
        assert re.search(rf"^{part}", version.out, re.MULTILINE), part


def test_the_report(taso_opt, model, tmp_path):
    done = run(taso_opt, model, "-o", tmp_path / "out.onnx", "--report", tmp_path / "r.json", "--seed=5", "--check=2")
    assert done.code == 0
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["schema_version"] == 1
    assert report["before"]["operators"] == {"Add": 1, "Identity": 1, "Relu": 1}
    assert report["after"]["operators"] == {"Add": 1, "Relu": 1}
    assert report["before"]["bytes"] == model.stat().st_size
    assert report["after"]["bytes"] == (tmp_path / "out.onnx").stat().st_size
    assert report["passes"]["identity"] == 1 and report["passes"]["batch-norm"] == 0
    assert report["check"]["samples"] == 2 and report["check"]["seed"] == 5 and report["check"]["passed"]
    assert set(report["seconds"]) >= {"load", "clean-up", "check", "save"}


def test_verbosity_color_and_log(taso_opt, model, tmp_path):
    quiet = run(taso_opt, model, "-q", "--dry-run")
    assert quiet.code == 0 and quiet.err == "" and quiet.out == ""
    assert "cleaning up" in run(taso_opt, model, "-v", "--dry-run").err
    assert "cleaning up" not in run(taso_opt, model, "--dry-run").err
    always = run(taso_opt, model, "--dry-run", "--color=always", env={**os.environ, "NO_COLOR": "1"})
    assert "\x1b[1;32mPASSED\x1b[0m" in always.err
    assert "\x1b" not in run(taso_opt, model, "--dry-run").err
    log = tmp_path / "log"
    for _ in range(2):
        assert run(taso_opt, model, "-q", "--dry-run", "--color=always", "--log-file", log).code == 0
    text = log.read_text()
    assert text.count("PASSED") == 2 and "cleaning up" in text and "\x1b" not in text
    assert run(taso_opt, tmp_path / "none.onnx", "--dry-run", "-qqq", "--log-file", log).code == 3
    assert "error: " in log.read_text()


def test_data_and_shapes_for_the_check(taso_opt, model, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 4), dtype=np.float32))
    np.save(tmp_path / "fortran.npy", np.asfortranarray(np.ones((3, 4), dtype=np.float32)))
    np.save(tmp_path / "double.npy", np.ones((3, 4)))
    np.save(tmp_path / "wide.npy", np.ones((3, 5), dtype=np.float32))
    (tmp_path / "bad.npy").write_bytes(b"no array")
    for good in ("x:x.npy", "x.npy", "x:fortran.npy"):
        done = run(taso_opt, model, "--dry-run", "--input-data", good, cwd=tmp_path)
        assert done.code == 0 and done.err.splitlines()[-1] == "PASSED", done
    for bad in ("x:double.npy", "x:wide.npy", "x:bad.npy", "x:none.npy"):
        done = run(taso_opt, model, "--dry-run", "--input-data", bad, cwd=tmp_path)
        assert done.code == 3 and len(done.err.splitlines()) == 1 and bad[2:] in done.err, done
    for good in ("x:7,4", "x:7x4", "7,4"):
        assert run(taso_opt, model, "--dry-run", "--test-input-shape", good).code == 0
    assert run(taso_opt, model, "--dry-run", "--test-input-shape", "x:7,5").code == 2


def test_input_shapes_can_be_overwritten(taso_opt, tmp_path):
    model = model_of([helper.make_node("Relu", ["in:0"], ["a"]), helper.make_node("Identity", ["a"], ["y"])],
                     [floats("in:0", ["N", "T"])], [floats("y", ["N", "T"])])
    done = run(taso_opt, save(model, tmp_path / "model.onnx"), "-o", tmp_path / "out.onnx", "--overwrite-input-shape",
               "in:0:2,3")
    assert done.code == 0, done
    graph = onnx.load(tmp_path / "out.onnx").graph
    for value in (graph.input[0], graph.output[0]):
        assert [dim.dim_value for dim in value.type.tensor_type.shape.dim] == [2, 3]


def test_a_shape_that_the_model_contradicts_is_refused(taso_opt, tmp_path):
    """The model also contains its batch inside: with another one it could not run."""
    model = model_of([helper.make_node("Reshape", ["x", "shape"], ["a"]), helper.make_node("Relu", ["a"], ["y"])],
                     [floats("x", [1, 6])], [floats("y", [1, 3, 2])],
                     [numpy_helper.from_array(np.array([1, 3, 2]), "shape")])
    path = save(model, tmp_path / "model.onnx")
    done = run(taso_opt, path, "-o", tmp_path / "out.onnx", "--overwrite-input-shape", "x:16,6")
    assert done.code == 3 and "[1, 3, 2] does not have as many elements as [16, 6]" in done.err, done
    assert not (tmp_path / "out.onnx").exists()
    assert run(taso_opt, path, "-o", tmp_path / "out.onnx", "--overwrite-input-shape", "x:1,6").code == 0


def test_weights_move_as_asked(taso_opt, tmp_path):
    random = np.random.default_rng(0)
    model = model_of([helper.make_node("Identity", ["x"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["y"])],
                     [floats("x", [2, 32])], [floats("y", [2, 32])],
                     [models.weight("w", random.normal(size=(32, 32)))])
    weight = numpy_helper.to_array(model.graph.initializer[0])
    path = save(model, tmp_path / "model.onnx")
    done = run(taso_opt, path, "-o", tmp_path / "apart.onnx", "--external-data", "--report", tmp_path / "r.json")
    assert done.code == 0, done
    assert (tmp_path / "apart.onnx.data").stat().st_size == weight.nbytes
    sizes = sum((tmp_path / name).stat().st_size for name in ("apart.onnx", "apart.onnx.data"))
    assert json.loads((tmp_path / "r.json").read_text())["after"]["bytes"] == sizes
    assert run(taso_opt, tmp_path / "apart.onnx", "-o", tmp_path / "whole.onnx", "--embed").code == 0
    assert not (tmp_path / "whole.onnx.data").exists()
    for name in ("apart.onnx", "whole.onnx"):
        loaded = onnx.load(tmp_path / name)
        assert np.array_equal(numpy_helper.to_array(loaded.graph.initializer[0]), weight)
