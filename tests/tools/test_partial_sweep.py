"""The sweep over operators prices, writes and checks what rules make of them, and ONNX Runtime times the models."""

import importlib.util
import json
import subprocess

import pytest
from onnx import TensorProto, helper

RULES = """taso rules 1

# A product with an odd number of columns, padded to an even one
candidate even-columns
  matmul(x, y) => slice[axis=1, begin=0, end=dim(y, 1)](matmul(x, pad[before=[0, 0], after=[0, 1]](y)))
  where rank(x) = 2, rank(y) = 2, parity(dim(y, 1)) = odd

# Two groups as one dense convolution
candidate groups-to-dense
  conv[pads=p, strides=s, dilations=d, groups=2](x, w)
    => conv[pads=p, strides=s, dilations=d, groups=1](x, concat[axis=0](
      pad[before=[0, 0, 0, 0], after=[0, dim(w, 1), 0, 0]](slice[axis=0, begin=0, end=dim(w, 0) / 2](w)),
      pad[before=[0, dim(w, 1), 0, 0], after=[0, 0, 0, 0]](slice[axis=0, begin=dim(w, 0) / 2, end=dim(w, 0)](w))))
  where rank(x) = 4
"""
WRONG = """taso rules 1

# Without the last column
candidate short
  matmul(x, y) => pad[before=[0, 0], after=[0, 1]](matmul(x, slice[axis=1, begin=0, end=dim(y, 1) - 1](y)))
  where rank(x) = 2, rank(y) = 2, dim(y, 1) >= 2
"""
TWO = "^(matmul 127x127|conv2d 1x128x28x28 128 3x3 g2)"


@pytest.fixture
def sweep(programs, tmp_path):
    def run(*arguments, code=0):
        done = subprocess.run([programs.parent / "tools" / "partial_sweep", *map(str, arguments)],
                              capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    (tmp_path / "two.rules").write_text(RULES)
    (tmp_path / "wrong.rules").write_text(WRONG)
    return run


def test_the_list_is_long_enough(sweep):
    names = [line.partition("  #")[0] for line in sweep("--list").splitlines()]
    assert len(names) == len(set(names)) >= 330


def test_two_operators_are_priced(sweep, tmp_path):
    said = sweep("--rules", "two.rules", "--only", TWO, "--json", "sweep.json")
    assert "2 operators, 2 with results" in said
    assert "2 results, 2 of them compared and equal at small sizes" in said
    assert "prices: predicted" in said
    report = json.loads((tmp_path / "sweep.json").read_text())
    assert [entry["name"] for entry in report["operators"]] == ["conv2d 1x128x28x28 128 3x3 g2",
                                                                "matmul 127x127 127x127"]
    for entry in report["operators"]:
        best, source = entry["best"], entry["source"]
        assert best["rules"] == entry["results"][0]["rules"]
        assert entry["speedup"] == pytest.approx(source["microseconds"] / best["microseconds"])
        for plan in (best, source):
            assert sum(kernel["microseconds"] for kernel in plan["kernels"]) == pytest.approx(plan["microseconds"])
            assert "main" in [kernel["part"] for kernel in plan["kernels"]]
    assert report["operators"][1]["best"]["moving"] > 0  # the last column is cut off


def test_every_operator_can_be_priced(sweep):
    assert "operators, " in sweep("--rules", "two.rules", "--unchecked")


def test_a_wrong_result_is_found_and_dropped(sweep):
    said = sweep("--rules", "wrong.rules", "--only", "matmul 127x127", code=1)
    assert "WRONG matmul 127x127 127x127: short" in said
    assert "1 operators, 0 with results" in said


@pytest.mark.parametrize("arguments, words", [
    ([], "--rules"),
    (["--rules"], "needs a value"),
    (["--rules", "two.rules", "--device", "tpu"], "cuda or none"),
    (["--rules", "no.rules"], "no.rules"),
    (["--frobnicate"], "unknown option"),
])
def test_what_makes_no_sense_is_refused(programs, sweep, tmp_path, arguments, words):
    done = subprocess.run([programs.parent / "tools" / "partial_sweep", *arguments], capture_output=True, text=True,
                          cwd=tmp_path)
    assert done.returncode == 2 and words in done.stderr


@pytest.fixture
def timing(source_folder):
    spec = importlib.util.spec_from_file_location(
        "time_in_onnxruntime", source_folder / "tests/benchmark/runtimes/time_in_onnxruntime.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_onnx_runtime_times_the_written_models(sweep, timing, tmp_path, capsys):
    sweep("--rules", "two.rules", "--only", TWO, "--write", tmp_path / "models")
    arguments = ["--sweep", str(tmp_path / "models"), "--threads", "1", "--processor-time", "--seconds", "0.02",
                 "--json", str(tmp_path / "times.json")]
    assert timing.main(arguments) == 0
    first = json.loads((tmp_path / "times.json").read_text())
    assert [pair["rules"] for pair in first["pairs"]] == ["groups-to-dense", "even-columns"]
    for pair in first["pairs"]:
        assert pair["is_equal"] and pair["first_microseconds"] > 0 and pair["low"] <= pair["speedup"] <= pair["high"]
    assert "2 first models" in capsys.readouterr().out
    # The same command continues, here with nothing left to do.
    assert timing.main(arguments) == 0
    assert json.loads((tmp_path / "times.json").read_text()) == first


def test_onnx_runtime_tells_different_results(timing, tmp_path, capsys):
    paths = []
    for name in ("Relu", "Neg", "Relu"):
        graph = helper.make_graph([helper.make_node(name, ["x"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])])
        paths.append(tmp_path / f"{len(paths)}.onnx")
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        paths[-1].write_bytes(model.SerializeToString())
    options = ["--threads", "1", "--seconds", "0.01"]
    assert timing.main([str(paths[0]), str(paths[2]), *options]) == 0
    assert timing.main([str(paths[0]), str(paths[1]), *options]) == 1
    assert "not equal: 1" in capsys.readouterr().out
