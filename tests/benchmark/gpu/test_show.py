"""Tests scripts/show-gpu with fake programs instead of a GPU: finished work is not repeated, failures are reported, and
the tables are right."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from made_up_program import write_program
from onnx import TensorProto, helper, save

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import steps  # noqa: E402
import tables  # noqa: E402

# All programs are replaced by this one: it records its call, and makes up the results.
FAKE = r'''
import json, os, pathlib, sys, time
name, arguments = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(" ".join([name, *arguments]) + "\n")
def given(flag):
    return pathlib.Path(arguments[arguments.index(flag) + 1]) if flag in arguments else None
if os.environ.get("NO_GPU") and "cuda" in arguments:
    sys.exit(name + ": error: no GPU can be used: it is elsewhere")
if any("broken" in one for one in arguments):
    sys.exit(name + ": error: broken.onnx: cannot run If: control flow")
def model(file, median, predicted, **more):
    times = {"median": median, "5_percent": median - 0.1, "95_percent": median + 0.1, "runs": 100}
    return {"model": str(file), "microseconds": times,
            "predicted_microseconds": predicted, "kernels": 7, "on_host": [], **more}
device = {"device": "Some GPU", "versions": "driver 1"}
if name == "taso-networks":
    given("-o").write_text("a network")
elif name == "taso-opt":
    time.sleep(float(os.environ.get("SLOW", 0)))
    if given("-o"):
        given("-o").write_text("optimised")
    kernels = 0 if "--dry-run" in arguments else 12
    given("--report").write_text(json.dumps({"measuring": {"kernels": kernels, "seconds": kernels / 10}}))
elif name == "taso-bench":
    agrees = {"check": {"agrees": True, "relative_error": 0.001}}
    lanes = {"lanes": {"lanes": 2, "one_after_the_other": 130.0, "predicted_one_after_the_other": 156.0}}
    given("--json").write_text(json.dumps({**device, "models": [
        model(arguments[0], 100.0, 95.0, **agrees, **lanes),
        model(arguments[1], 80.0, 100.0, **agrees, on_host=["Loop"] if "--no-measuring" in arguments else [],
              profile=[{"operators": "conv relu", "choice": how, "predicted": 9, "measured": time}
                       for how, time in (("tensor 16x32: own", 10), ("fused: engine 3", 40), ("a: own", 30),
                                          ("b: own", 20))],
              speed_against_first={"ratio": 1.25, "low": 1.2, "high": 1.3})]}))
elif name == "cost_variants":
    if os.environ.get("PIDS"):  # the test will end it
        pathlib.Path(os.environ["PIDS"], str(os.getpid())).touch()
        time.sleep(60)
    if os.environ.get("LATE"):
        print("7: predicted 3 us\nerror: 1 of 7 variants ready in time, after 2.0 s on the GPU")
        sys.exit(1)
    variants = [model(1, 10.0, 11.0), model(2, 20.0, 19.0), model(3, 30.0, 18.0)]
    given("--json").write_text(json.dumps({**device, "models": variants}))
    print("3 variants of 3, loaded 3 times")
elif name == "cost_repeat":
    print("3 calls in 3 runs; largest from smallest: median 0.50 %")
    if given("--out"):
        given("--out").write_text("prices")
elif name == "runtime_tests":
    print("  convolutions: 200 configurations checked, in 420 ways\nAll tests passed (1955 assertions in 5 test cases)")
'''


@pytest.fixture
def build(tmp_path):
    for name in ("bin/taso-opt", "bin/taso-bench", "bin/taso-networks", "tools/cost_variants", "tools/cost_repeat",
                 "tests/runtime_tests", "lib/taso/libtaso_cuda.so"):
        file = tmp_path / "build" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        write_program(file, FAKE)
    return tmp_path / "build"


def show(tmp_path, *arguments, **variables):
    """Returns the exit code, the output, and the programs that were called."""
    calls = tmp_path / "calls"
    calls.write_text("")
    done = subprocess.run([sys.executable, HERE / "show.py", *map(str, arguments)], capture_output=True, text=True,
                          timeout=120,
                          env={**os.environ, "CALLS": str(calls), **variables})
    return done.returncode, done.stdout + done.stderr, calls.read_text().splitlines()


def names(calls):
    return [call.split()[0] for call in calls]


def test_what_is_done_is_done_once(build, tmp_path):
    command = (build, tmp_path / "results", "networks=60", "--networks", "squeezenet1_1,resnet50")
    code, said, calls = show(tmp_path, *command)
    assert code == 0, said
    one = ["taso-networks", "taso-opt", "taso-bench"]
    assert names(calls) == [*one, *one, "taso-opt", "taso-opt"], calls
    assert show(tmp_path, *command)[2] == []
    (tmp_path / "results/networks/tf32-1/resnet50.bench.json").unlink()
    assert names(show(tmp_path, *command)[2]) == ["taso-bench"]
    assert len(json.loads((tmp_path / "results/about.json").read_text())) == 3


def test_nothing_begins_without_time(build, tmp_path):
    steps = [f"{one}=0" for one in ("networks", "ranking", "repeat")]
    code, said, calls = show(tmp_path, build, tmp_path / "results", *steps, "--networks", "resnet50")
    assert code == 0 and not {"taso-opt", "taso-bench", "cost_variants"} & set(names(calls)), (said, calls)


def test_what_was_cut_short_is_gone_on_with_and_added_up(build, tmp_path):
    first = tmp_path / "results/networks/tf32-1/resnet50.first.json"
    first.parent.mkdir(parents=True)
    first.write_text(json.dumps({"interrupted": True, "wall_seconds": 100, "measuring": {"kernels": 30, "seconds": 3}}))
    code, said, calls = show(tmp_path, build, tmp_path / "results", "networks=60", "--networks", "resnet50")
    assert code == 0 and names(calls)[:3] == ["taso-networks", "taso-opt", "taso-bench"], (said, calls)
    found = json.loads(first.read_text())
    assert found["measuring"] == {"kernels": 42, "seconds": 4.2}
    assert found["wall_seconds"] > 100 and not found["interrupted"]


def test_variants_that_were_late_are_told_and_tried_again(build, tmp_path):
    command = (build, tmp_path / "results", "ranking=60", "--networks", "resnet50")
    for _ in range(2):
        code, said, calls = show(tmp_path, *command, LATE="1")
        assert code == 0 and "cost_variants" in names(calls), (said, calls)
        text = show(tmp_path, "--table", tmp_path / "results")[1]
        assert "Not run:\n\n- resnet50: error: 1 of 7 variants ready in time" in text
    assert names(show(tmp_path, *command)[2]) == ["cost_variants"]
    text = show(tmp_path, "--table", tmp_path / "results")[1]
    assert "| resnet50 | 3 |" in text and "Not run" not in text
    assert "## Variants ranked: tf32, batch 1\n" in text
    assert show(tmp_path, *command)[2] == []
    assert names(show(tmp_path, *command, "--seed", "7")[2]) == ["cost_variants"], "of another seed, others"
    assert "## Variants ranked: tf32, batch 1, seed 7\n" in show(tmp_path, "--table", tmp_path / "results")[1]


def test_variants_leave_cores_and_end_in_time(build, tmp_path):
    calls = show(tmp_path, build, tmp_path / "results", "ranking=20", "--networks", "resnet50", "--each", "50")[2]
    given = calls[-1].split()
    flags = {flag: float(value) for flag, value in zip(given, given[1:])
             if flag in ("--jobs", "--searching", "--within")}
    assert flags["--jobs"] == max(1, (os.cpu_count() - 2) // 3)
    assert flags["--searching"] <= 10 and 8 < flags["--within"] < 20


def test_an_interrupt_ends_all_that_runs(build, tmp_path):
    pids = tmp_path / "pids"
    pids.mkdir()
    networks = ["squeezenet1_1", "resnet50", "bert_base", "mobilenet_v2", "nasrnn"]
    command = [sys.executable, HERE / "show.py", build, tmp_path / "results", "ranking=50", "--networks",
               ",".join(networks)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "CALLS": str(tmp_path / "calls"), "PIDS": str(pids)})
    until = time.monotonic() + 30
    while len(list(pids.iterdir())) < 3 and time.monotonic() < until:
        time.sleep(0.1)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=40)[0]
    assert process.returncode == 130 and "interrupted" in said and time.monotonic() - began < 10
    left = [int(file.name) for file in pids.iterdir()]
    assert len(left) == 3, "none begins any more"
    for pid in left:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not list((tmp_path / "results/ranking/tf32-1").iterdir()), "nothing was done, nothing failed"


def test_what_an_earlier_run_found_is_not_told_again(build, tmp_path):
    (tmp_path / "json").mkdir()
    command = [sys.executable, HERE.parent / "ranking/ranking.py", "--build", build, "--json", tmp_path / "json",
               tmp_path / "a.onnx"]

    def compare(**variables):
        return subprocess.run(command, capture_output=True, text=True,
                              env={**os.environ, "CALLS": str(tmp_path / "calls"), **variables})

    done = compare()
    assert done.returncode == 0 and "2 of them ranked right" in done.stdout and (tmp_path / "json/a.json").exists()
    done = compare(LATE="1")
    assert done.returncode == 1 and "ranked" not in done.stdout
    assert done.stderr == "a: error: 1 of 7 variants ready in time, after 2.0 s on the GPU\n"
    assert not (tmp_path / "json/a.json").exists()


def test_the_budget_ends_a_command_and_that_is_no_failure(build, tmp_path):
    command = (build, tmp_path / "results", "networks=6", "--networks", "resnet50")
    code, said, calls = show(tmp_path, *command, SLOW="30")
    assert code == 0 and "not done after 6 s" in said, said
    assert not list((tmp_path / "results/networks").rglob("*"))[1:], "nothing was done, nothing failed"
    # Each command has a limit of its own: it fails if it takes longer.
    code, said, calls = show(tmp_path, *command, "--limit", "1", SLOW="30")
    assert "not done after 1 s" in (tmp_path / "results/networks/tf32-1/resnet50.failed.txt").read_text(), said


def test_models_get_sizes_and_failures_are_told(build, tmp_path):
    (tmp_path / "models").mkdir()
    for name, shape in (("open", ["N", 3, "length"]), ("fixed", [2, 3]), ("broken", [1])):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
        save(helper.make_model(graph), tmp_path / f"models/{name}.onnx")
    command = (build, tmp_path / "results", "models=60", "--models", tmp_path / "models", "--size", "length=8")
    code, said, calls = show(tmp_path, *command)
    assert code == 0, said
    assert all(("x:1,3,8" in call) == ("open.onnx" in call) for call in calls), calls
    assert sum("--no-measuring" in call for call in calls) == 2
    assert show(tmp_path, *command)[2] == []
    code, text, _ = show(tmp_path, "--table", tmp_path / "results")
    assert "open (x:1,3,8)" in text and "| Loop |" in text
    assert "- broken: taso-opt: error: broken.onnx: cannot run If: control flow" in text


def test_without_a_gpu_it_says_so_in_one_line(build, tmp_path):
    code, said, calls = show(tmp_path, build, tmp_path / "results", "--networks", "resnet50", NO_GPU="1")
    assert code == 1 and said.strip().splitlines()[-1] == "show-gpu: no GPU can be used: it is elsewhere"
    assert names(calls) == ["taso-networks", "taso-opt"]


@pytest.mark.parametrize("arguments, word", [((), "BUILD and RESULTS are needed"),
                                             (("b", "r", "netwoks=3"), "no step 'netwoks'"),
                                             (("nowhere", "r"), "build first")])
def test_mistakes_are_told(arguments, word, tmp_path):
    code, said, _ = show(tmp_path, *arguments)
    assert code != 0 and word in said


@pytest.mark.parametrize("arguments, word", [
    (("networks", "--networks", "resnet50,resnet5"), "there is no network 'resnet5'; there are small_convnet, "),
    (("models", "--models", "nowhere"), "--models: nowhere is not a folder"),
    (("models", "--models", "."), "--models: . has no .onnx files"),
    (("models",), "--models FOLDER is missing"),
    (("networks", "--models", "folder"), "the step models is not selected"),
    (("models", "--models", "folder", "--size", "length"), "--size: NAME=N is needed, not 'length'"),
    (("networks=soon",), "seconds are needed, not 'soon'")])
def test_what_is_missing_is_told_before_anything_runs(arguments, word, build, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/one.onnx").write_text("a model")
    code, said, calls = show(tmp_path, build, tmp_path / "results", *arguments)
    assert code == 2 and word in said and calls == [] and not (tmp_path / "results").exists(), said


@pytest.mark.parametrize("step, piece", [("networks", "bin/taso-bench"), ("ranking", "tools/cost_variants"),
                                         ("repeat", "tools/cost_repeat"), ("tests", "tests/runtime_tests"),
                                         ("networks", "lib/taso/libtaso_cuda.so")])
def test_what_is_not_built_is_told_before_anything_runs(step, piece, build, tmp_path):
    (build / piece).unlink()
    code, said, calls = show(tmp_path, build, tmp_path / "results", step, "--networks", "resnet50")
    assert code == 2 and "build" in said and calls == [], said


def test_tables(build, tmp_path):
    budgets = ("networks=60", "ranking=60", "repeat=30", "tests=30")
    code, said, calls = show(tmp_path, build, tmp_path / "results", *budgets, "--networks", "small_convnet,resnet50",
                             "--commit", "abc")
    assert code == 0, said
    assert sum("--compare" in call for call in calls) == 1 and names(calls).count("cost_repeat") == 4
    code, text, _ = show(tmp_path, "--table", tmp_path / "results")
    assert code == 0, text
    assert text.startswith("# Shown on Some GPU\n")
    assert "commit abc: `scripts/show-gpu build results networks=60 " in text
    assert "| resnet50 | 100.0 | 80.0 | 1.250 (1.200 to 1.300) | yes, 1.0e-03 | yes, 1.0e-03 |" in text
    assert "| resnet50 | 7 | 156.0 | 130.0 | +20.0 % | 2 | 95.0 | 100.0 | -5.0 % |" in text
    assert "Within 10 %, sequential: 0 of 4" in text and "Within 10 %, as it runs: 2 of 4" in text
    assert "| resnet50 | conv relu | ours | 3 | 27.0 | 60.0 | 60 % |\n| resnet50 | conv relu | libraries | 1 |" in text
    assert "| resnet50 | 12 | 1.2 |" in text and "24 kernels in 2 seconds, 0.10 each" in text
    assert "| together |  |  |  |  | 2 of 3, 66.7 % |  |  |  | 2 of 3, 66.7 % |" in text
    processes = min(8, steps.AT_ONCE)
    assert "median 0.50 %" in text
    assert f"- convolutions: {200 * processes} configurations checked, in {420 * processes} ways" in text
    assert f"- seeds from {100_000 * (processes - 1)}: exit 0" in text
    for line in text.splitlines():  # every row as wide as its table
        assert not line.startswith("|") or line.endswith("|"), line


@pytest.mark.parametrize("check, text", [
    (None, "not checked"),
    ({"agrees": True, "relative_error": 0.001}, "yes, 1.0e-03"),
    ({"agrees": True, "relative_error": 0.055, "rounding_error": 0.11}, "yes, 5.5e-02 (rounding alone 1.1e-01)"),
    ({"agrees": False, "relative_error": 1.0, "rounding_error": 0.0}, "**NO**, 1.0e+00 (rounding alone 0.0e+00)"),
    ({"agrees": False, "relative_error": None, "rounding_error": None}, "**NO**, infinite (rounding alone infinite)")])
def test_agreement_is_told_with_what_rounding_alone_does(check, text):
    assert tables.agreement({"check": check} if check else {}) == text


def test_a_network_without_variants_has_a_row(tmp_path):
    (tmp_path / "none.json").write_text(json.dumps({"models": []}))
    times = {"median": 100, "5_percent": 99.9, "95_percent": 100.1, "runs": 100}
    one = {"model": "a", "microseconds": times, "predicted_microseconds": 100}
    (tmp_path / "one.json").write_text(json.dumps({"models": [one]}))
    rows = tables.ranking_table(tmp_path).splitlines()
    assert any(row.startswith("| none | 0 |") for row in rows) and any(row.startswith("| one | 1 |") for row in rows)
    assert len({row.count("|") for row in rows}) == 1
