"""Tests the schedule, and how an interrupted run is resumed; needs no framework."""

import json
import pathlib
import subprocess
import sys
import time
import types

import numpy
import onnx
import onnx.helper as helper
import pytest
from made_up_program import write_program

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import jobs  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402
import schedule  # noqa: E402
from programs import Programs  # noqa: E402


def save_model(file, convolutions=0):
    names = ["x", *(f"c{i}" for i in range(convolutions)), "y"]
    kernel = onnx.numpy_helper.from_array(numpy.ones((1, 1, 1, 1), numpy.float32), "w")
    nodes = [helper.make_node("Conv", [a, "w"], [b]) for a, b in zip(names, names[1:-1])]
    nodes.append(helper.make_node("Relu", [names[-2]], ["y"]))
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 1, 2, 2]) for name in ("x", "y")]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:],
                                                  [kernel] if convolutions else [])), file)
    return file


class Recorder:
    """Records who used the GPU, from when to when."""

    def __init__(self):
        self.spans = []

    def work(self, what, seconds=0.02):
        began = time.monotonic()
        time.sleep(seconds)
        self.spans.append((began, time.monotonic(), what))

    def names(self):
        return [what for _, _, what in sorted(self.spans)]

    def overlap(self):
        ordered = sorted(self.spans)
        return [(a[2], b[2]) for a, b in zip(ordered, ordered[1:]) if b[0] < a[1]]


class FakeWorker:
    def __init__(self, variant, recorder, slow=()):
        self.name, self.recorder, self.slow = f"{variant.job.name} {variant.name()}", recorder, slow
        self.failure = None

    def wait(self, limit):
        return {"bounds": {}, "seconds": 0.0}

    def ask(self, limit, do):
        if do == "prepare":
            self.recorder.work(f"prepare {self.name}", 0.1)
        elif any(one in self.name for one in self.slow):
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline and not self.failure:
                time.sleep(0.01)
            if self.failure:
                raise processes.Failure(self.failure)
        return {"seconds": 0.0}

    def end(self):
        self.failure = "ended"


def settings_for(**changes):
    return types.SimpleNamespace(**{**dict(
        frameworks=["eager", "xla"], layouts=["contiguous"], compile_layouts=["contiguous"], batch=None,
        seed=0, optimize=1, device="auto",
        on_gpu=True, parallel=3, ahead=2, xla_together=1, compile_limit=10, gpu_limit=10, taso_limit=10, runs=2,
        rounds=2,
        taso_bench="bench", taso_opt="opt", optimised=None, opt_arguments="--device cuda"), **changes})


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Runs a schedule over fakes; returns the names of what the GPU did, the pairs that overlapped, and the rows."""

    def make(models, slow=(), deadline=None, **changes):
        settings, recorder, rows = settings_for(**changes), Recorder(), []
        programs = Programs(settings, tmp_path)
        programs.optimise = lambda model, *_: recorder.work(f"optimise {model.stem}")
        monkeypatch.setattr(jobs.Variant, "start",
                            lambda self: setattr(self, "worker", FakeWorker(self, recorder, slow)))

        def measure(job, whole):
            recorder.work(f"time {job.name}")
            row = job.empty_row()
            row["times"] = {one.settings["framework"]: {"median": 1.0} if one.state == "prepared" else
                            {"failures": [one.reason]} for one in job.variants}
            return row

        monkeypatch.setattr(jobs.Job, "measure", measure)
        all_jobs = [jobs.Job(save_model(tmp_path / f"{name}.onnx", convolutions), "tf32", settings, tmp_path, programs,
                             print)
                    for name, convolutions in models.items()]
        limit = None if deadline is None else time.monotonic() + deadline
        schedule.Schedule(all_jobs, settings, print, limit).run({}, lambda job, row: rows.append(row))
        return recorder.names(), recorder.overlap(), rows

    return make


def test_the_gpu_does_one_thing_at_a_time(made):
    names, overlap, rows = made({"a": 0, "b": 0, "c": 2})
    assert not overlap
    assert [row["model"] for row in rows] == ["a", "b", "c"]
    for model in "abc":
        assert {f"optimise {model}", f"prepare {model} tf32 xla (contiguous)",
                f"prepare {model} tf32 eager (contiguous)", f"time {model} tf32"} <= set(names)
        own = [one for one in names if one.split()[1] == model]
        assert own[-1] == f"time {model} tf32"


def test_xla_compiles_convolutional_networks_together_where_that_was_asked_for(made):
    names, overlap, _ = made({"a": 2, "b": 2, "c": 2, "t": 0}, xla_together=3, ahead=4, frameworks=["xla"],
                             taso_opt=None)
    assert len(names) == 8 and overlap
    assert all("xla" in one and " t " not in one for pair in overlap for one in pair)
    assert made({"a": 2, "b": 2}, frameworks=["xla"])[1] == []


def test_a_process_waits_until_the_gpu_has_room(made, monkeypatch):
    answers = iter(["100", "100", "50000"])
    monkeypatch.setattr(schedule, "CROWD", 0)
    monkeypatch.setattr(schedule, "ask_gpu", lambda what: next(answers, "50000"))
    monkeypatch.setattr(schedule.time, "sleep", lambda seconds, sleep=time.sleep: sleep(min(seconds, 0.01)))
    _, _, rows = made({"a": 0})
    assert rows[0]["times"]["xla"]["median"] == 1 and next(answers, None) is None


def test_one_that_is_slow_does_not_hold_up_the_others(made):
    _, overlap, rows = made({"a": 0, "b": 0, "c": 0}, slow=["a tf32 eager"], ahead=2)
    assert not overlap and rows[-1]["model"] == "a"
    assert all(what["median"] == 1 for row in rows for what in row["times"].values())


def test_when_the_time_is_over_what_is_prepared_is_timed(made, monkeypatch):
    monkeypatch.setattr(schedule, "A_ROW", 0.5)
    _, _, rows = made({"a": 0, "b": 0}, slow=["a tf32 eager", "b tf32"], deadline=2, ahead=1)
    first, second = rows
    assert first["times"]["xla"]["median"] == 1 and first["times"]["eager"]["failures"] == [schedule.OVER]
    assert all(what["failures"] == [schedule.OVER] for what in second["times"].values())
    assert "| b | * | * | * | * | " in report.table([{**row, "agreement": report.agreement({}, "tf32"),
                                                          "best": None,
                                                         "best_over_before": None, "best_over_after": None}
                                                        for row in rows])


COUNTER = """
import os, subprocess, sys, time
if len(sys.argv) > 2:  # a process that started another, in a session of its own
    subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1]], start_new_session=True).wait()
while True:
    with open(sys.argv[1], "a") as out:
        out.write(".")
    time.sleep(0.005)
"""


def test_others_stand_still_while_something_is_timed(tmp_path):
    if not pathlib.Path("/proc/self/stat").exists():
        pytest.skip("no /proc")
    file, child = tmp_path / "count", tmp_path / "child"
    counter = processes.Running([sys.executable, "-c", COUNTER, file])
    parent = processes.Running([sys.executable, "-c", COUNTER, child, COUNTER])

    def advances(one):
        before = one.stat().st_size if one.exists() else 0
        for _ in range(2000):
            time.sleep(0.01)
            if one.exists() and one.stat().st_size > before + 3:
                return True
        return False

    try:
        assert advances(file) and advances(child)
        with processes.alone(set()):
            sizes = file.stat().st_size, child.stat().st_size
            time.sleep(0.5)
            assert sizes == (file.stat().st_size, child.stat().st_size)
            assert not counter.late(0)  # time while stopped does not count
        assert advances(file) and advances(child)
        with processes.alone({counter}):
            assert advances(file) and not counter.late(60)
    finally:
        for number in processes.family(parent.process.pid, processes.parents())[1:]:
            processes.signal_all([number], 9)
        processes.end_all()
    assert not processes.running


def test_an_optimised_model_is_found_and_is_not_the_model_itself(tmp_path):
    programs = Programs(settings_for(optimised=tmp_path), tmp_path)
    model = save_model(tmp_path / "net.onnx")
    assert programs.given(model, "tf32") is None and programs.needs_gpu(model, "tf32")
    for name in ("net.tf32.onnx", "tf32/net.opt.onnx", "tf32-1/net.opt.onnx"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        save_model(tmp_path / name)
        assert programs.given(model, "tf32") == tmp_path / name
    assert programs.given(model, "fp32") is None
    assert not programs.needs_gpu(model, "tf32")


BENCH = """
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with open(here / "calls", "a") as out:
    out.write(" ".join(sys.argv[1:]) + "\\n")
models = [one for one in sys.argv[1:] if one.endswith(".onnx")]
if (here / "fails").exists() and "second" in models[0]:
    sys.exit("no luck")
figures = {"model": "m", "microseconds": {"median": 2.0, "5_percent": 1.0, "95_percent": 3.0, "runs": 1}}
report = {"device": "CPU", "versions": "", "models": [figures for _ in models]}
open(sys.argv[sys.argv.index("--json") + 1], "w").write(json.dumps(report))
"""


def compare(tmp_path, *arguments):
    return subprocess.run([sys.executable, HERE / "compare.py", "--device", "cpu", "--work", tmp_path / "work",
                           "--json",
                           tmp_path / "times.json", "--frameworks", "", "--precision", "tf32,fp32", *arguments],
                          capture_output=True, text=True, timeout=120)


def test_a_run_goes_on_with_what_is_missing(tmp_path):
    models = [save_model(tmp_path / f"{name}.onnx") for name in ("first", "second")]
    bench = write_program(tmp_path / "bench", BENCH)
    (tmp_path / "optimised").mkdir()
    for name in ("first.onnx", "second.tf32.onnx", "second.fp32.onnx"):
        save_model(tmp_path / "optimised" / name)
    ours = ["--taso-bench", bench, "--optimised", tmp_path / "optimised"]
    rows = lambda: json.loads((tmp_path / "times.json").read_text())["rows"]

    done = compare(tmp_path, *models, *ours, "--time-limit", "0.001")
    assert "* first, ours, original: the time was over" in done.stdout, done.stderr
    assert not (tmp_path / "calls").exists() and len(rows()) == 4

    (tmp_path / "fails").touch()
    done = compare(tmp_path, *models, *ours)
    assert "* second, ours, original: taso-bench ended with 1: no luck" in done.stdout, done.stderr
    assert [(row["model"], row["precision"]) for row in rows()] == [
        ("first", "tf32"), ("second", "tf32"), ("first", "fp32"), ("second", "fp32")]
    calls = (tmp_path / "calls").read_text()
    assert "second.tf32.onnx" in calls and "second.fp32.onnx" in calls and "optimised/first.onnx" in calls

    (tmp_path / "fails").unlink()
    (tmp_path / "calls").unlink()
    done = compare(tmp_path, *models, *ours)
    assert done.returncode == 0 and "2 of 4 rows are there already" in done.stderr, done.stderr
    assert "first.onnx" not in (tmp_path / "calls").read_text()
    assert all(row["times"]["after"]["median"] == 2 for row in rows())

    (tmp_path / "calls").unlink()
    done = compare(tmp_path, *models, *ours)
    assert done.returncode == 0 and not (tmp_path / "calls").exists() and "| second |" in done.stdout
    done = compare(tmp_path, models[0], *ours, "--anew")
    assert (tmp_path / "calls").exists() and len(rows()) == 2
