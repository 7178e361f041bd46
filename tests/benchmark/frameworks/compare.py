#!/usr/bin/env python3
"""Times ONNX models in PyTorch (eager and compiled), in XLA and, if its programs are given, in taso, and compares them.

Every framework runs in its own process, and all are timed in turn for each model, in one run: A B C, taso, C B A. The
same command resumes a run that was interrupted.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import shlex
import signal
import sys
import tempfile
import time

import numpy

import report
from jobs import Job
from processes import Failure, ask_gpu
from programs import Programs
from schedule import Schedule


def parse():
    parser = argparse.ArgumentParser(prog="compare-frameworks", description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", metavar="MODEL", help="files, or names if --taso-networks makes them")
    parser.add_argument("--precision", default="tf32,fp32",
                        help="some of tf32, fp32, fp16, bf16, in order (%(default)s)")
    parser.add_argument("--batch", type=int, help="first dimension of every input, instead of the model's")
    parser.add_argument("--frameworks", default="eager,compile,xla",
                        help="some of eager, compile, xla, onnxruntime, and session: ours, through the package for "
                             "Python (%(default)s)")
    parser.add_argument("--optimize", type=float, default=30, metavar="S",
                        help="seconds for the search of a session while it loads (%(default)s)")
    parser.add_argument("--layouts", default="contiguous,channels_last",
                        help="PyTorch's memory formats to try for convolutional networks (%(default)s)")
    parser.add_argument("--compile-layouts", help="the same for torch.compile, if different")
    parser.add_argument("--runs", type=int, default=100, help="runs of each framework in total (%(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of timing, in turn (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random inputs (%(default)s)")
    parser.add_argument("--device", choices=["auto", "cpu"], default="auto", help="auto: a GPU if there is one")
    parser.add_argument("--compile-limit", type=float, default=180, metavar="S",
                        help="seconds for tracing and compiling one network in one framework on the CPU (%(default)s)")
    parser.add_argument("--gpu-limit", type=float, default=90, metavar="S",
                        help="seconds for one framework on the GPU before timing: compilation, warm-up (%(default)s)")
    parser.add_argument("--parallel", type=int, default=max((os.cpu_count() or 2) - 2, 2), metavar="N",
                        help="processes that read, trace and compile at once (%(default)s)")
    parser.add_argument("--ahead", type=int, default=20, metavar="N",
                        help="rows that have processes at once; these take memory (%(default)s)")
    parser.add_argument("--xla-together", type=int, default=1, metavar="N",
                        help="convolutional networks that XLA compiles at once; they then try kernels on a GPU that "
                             "they share (%(default)s)")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds for everything; late rows are not timed")
    parser.add_argument("--taso-bench", type=pathlib.Path, metavar="PROGRAM", help="to time our plans too")
    parser.add_argument("--taso-opt", type=pathlib.Path, metavar="PROGRAM", help="to optimise the models first")
    parser.add_argument("--optimised", type=pathlib.Path, metavar="FOLDER",
                        help="a folder with models that are already optimised: PRECISION/NETWORK.opt.onnx, "
                             "NETWORK.PRECISION.onnx or NETWORK.onnx")
    parser.add_argument("--taso-networks", type=pathlib.Path, metavar="PROGRAM", help="to make models given by name")
    parser.add_argument("--opt-arguments", default="--device cuda --check 0",
                        help="arguments for taso-opt ('%(default)s')")
    parser.add_argument("--bench-arguments", default="", help="additional arguments for taso-bench")
    parser.add_argument("--taso-limit", type=float, default=180, metavar="S",
                        help="seconds for one run of a program of taso")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="rewritten after every model; rows that are complete there are not measured again")
    parser.add_argument("--anew", action="store_true", help="measure everything, whatever the --json file has")
    parser.add_argument("--work", type=pathlib.Path, metavar="FOLDER",
                        help="for logs and models made here (a temporary one)")
    settings = parser.parse_args()
    for name, known in (("frameworks", {*report.FRAMEWORKS, "session"}), ("layouts", {"contiguous", "channels_last"}),
                        ("compile_layouts", {"contiguous", "channels_last"}),
                        ("precision", {"tf32", "fp32", "fp16", "bf16"})):
        value = getattr(settings, name)
        parts = value.split(",") if value else []
        if set(parts) - known:
            parser.error(f"--{name.replace('_', '-')}: {', '.join(sorted(set(parts) - known))}")
        setattr(settings, name, parts)
    settings.compile_layouts = settings.compile_layouts or settings.layouts
    for name in ("taso_bench", "taso_opt", "taso_networks"):
        program = getattr(settings, name)
        if program and not os.access(program, os.X_OK):
            parser.error(f"--{name.replace('_', '-')}: {program} is not a program")
        if program:
            setattr(settings, name, program.resolve())
    if min(settings.parallel, settings.ahead, settings.xla_together) < 1:
        parser.error("--parallel, --ahead and --xla-together must be at least 1")
    settings.on_gpu = gpu_is_there(settings)
    return settings


def gpu_is_there(settings):
    return settings.device != "cpu" and any(pathlib.Path(name).exists() for name in ("/dev/nvidia0", "/dev/nvidiactl"))


def make_jobs(settings, folder, say):
    """The jobs, ordered by precision, then by model."""
    programs = Programs(settings, folder)

    def model(name):
        try:
            return programs.model(name)
        except Failure as failure:
            say(f"{name}: {failure}")
            return None

    with concurrent.futures.ThreadPoolExecutor(min(settings.parallel, 4)) as pool:
        models = [one for one in pool.map(model, dict.fromkeys(settings.models)) if one]
    return [Job(one, precision, settings, folder, programs, say) for precision in settings.precision for one in models]


def key_of(row):
    return row["model"], row["precision"], row["batch"]


def earlier_report(settings, say):
    """The content of the --json file, if the run should be resumed."""
    if settings.anew or not settings.json or not settings.json.exists():
        return None
    try:
        found = json.loads(settings.json.read_text())
        if found["schema_version"] == report.SCHEMA:
            return found
        say(f"{settings.json} has another version: measuring everything again")
    except (ValueError, KeyError) as error:
        say(f"{settings.json} cannot be read ({error}): measuring everything again")
    return None


def main():
    settings = parse()
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no process is left behind
    folder = settings.work or pathlib.Path(tempfile.mkdtemp(prefix="compare-frameworks."))
    folder.mkdir(parents=True, exist_ok=True)

    def say(text):
        print(f"[{time.monotonic() - began:6.1f} s] {text}", file=sys.stderr, flush=True)

    say(f"logs are in {folder}")
    this = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "command": shlex.join(["scripts/compare-frameworks", *sys.argv[1:]])}
    whole = earlier_report(settings, say) or {"schema_version": report.SCHEMA, "device": None, "versions": {},
                                              "runs": [],
                                              "rows": []}
    whole["versions"].update({"python": sys.version.split()[0], "numpy": numpy.__version__})
    whole["xla_together"] = max(settings.xla_together, whole.get("xla_together", 1))
    if settings.on_gpu:
        whole["versions"]["driver"] = ask_gpu("driver_version") or "unknown"
    jobs = make_jobs(settings, folder, say)
    wrong = len(jobs) < len(settings.precision) * len(set(settings.models))
    order = {(job.model.stem, job.precision, settings.batch): index for index, job in enumerate(jobs)}
    complete = {key_of(row) for row in whole["rows"] if report.is_complete(row, settings)}
    missing = [job for job in jobs if (job.model.stem, job.precision, settings.batch) not in complete]
    if len(missing) < len(jobs):
        say(f"{len(jobs) - len(missing)} of {len(jobs)} rows are there already")

    def finished(job, row):
        before = next((one for one in whole["rows"] if key_of(one) == key_of(row)), None)
        if before is None or report.columns_timed(row) >= report.columns_timed(before):
            whole["rows"] = [one for one in whole["rows"] if one is not before] + [row]
        whole["rows"].sort(key=lambda one: order.get(key_of(one), -1))
        if settings.json:
            report.write(settings.json, whole)
        say(f"{job.name}: " + ", ".join(f"{report.COLUMNS[column]} "
                                        + (f"{what['median']:,.1f} µs" if "median" in what else "failed")
                                        for column, what in row["times"].items()))

    if missing:
        whole["runs"].append(this)
        deadline = began + settings.time_limit if settings.time_limit else None
        Schedule(missing, settings, say, deadline).run(whole, finished)
    if not whole["rows"]:
        return 2
    print(report.document(whole))
    return 1 if wrong or any(report.disagreement(row) for row in whole["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
