#!/usr/bin/env python3
"""Times ONNX models in PyTorch (eager and compiled), in XLA and, if its programs are given, in taso, and compares them.

Every framework runs in a process of its own, and all of a model are timed in turn, in one run: A B C, taso, C B A.
"""

import argparse
import concurrent.futures
import datetime
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

import numpy

import report
from jobs import LOAD_LIMIT, Job, Programs, operators_of
from processes import Failure, Worker


def parse():
    parser = argparse.ArgumentParser(prog="compare-frameworks", description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", metavar="MODEL", help="files, or names if --taso-networks makes them")
    parser.add_argument("--precision", default="tf32,fp32", help="some of tf32, fp32, fp16, bf16, in order (%(default)s)")
    parser.add_argument("--batch", type=int, help="first dimension of every input, instead of the model's")
    parser.add_argument("--frameworks", default="eager,compile,xla", help="which of them (%(default)s)")
    parser.add_argument("--layouts", default="contiguous,channels_last",
                        help="PyTorch's memory formats to try for convolutional networks (%(default)s)")
    parser.add_argument("--compile-layouts", help="the same for torch.compile, if other")
    parser.add_argument("--runs", type=int, default=100, help="of each framework, in all (%(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="turns in which they are timed (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs")
    parser.add_argument("--device", choices=["auto", "cpu"], default="auto", help="a GPU if there is one, or not")
    parser.add_argument("--compile-limit", type=float, default=60, metavar="S",
                        help="seconds for compiling one network in one framework (%(default)s)")
    parser.add_argument("--precompile", type=int, metavar="N",
                        help="compile N networks at once into torch's cache before anything is timed (half the processors)")
    parser.add_argument("--time-limit", type=float, metavar="S", help="begin no further model after so many seconds")
    parser.add_argument("--taso-bench", type=pathlib.Path, metavar="PROGRAM", help="to time our plans too")
    parser.add_argument("--taso-opt", type=pathlib.Path, metavar="PROGRAM", help="to optimise the models first")
    parser.add_argument("--taso-networks", type=pathlib.Path, metavar="PROGRAM", help="to make models that are only named")
    parser.add_argument("--opt-arguments", default="--device cuda --check 0", help="for taso-opt ('%(default)s')")
    parser.add_argument("--bench-arguments", default="", help="for taso-bench, beside what is needed")
    parser.add_argument("--taso-limit", type=float, default=180, metavar="S", help="seconds for one run of these")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="rewritten after every model")
    parser.add_argument("--work", type=pathlib.Path, metavar="FOLDER", help="for logs and models made here (a temporary one)")
    settings = parser.parse_args()
    for name, known in (("frameworks", {"eager", "compile", "xla"}), ("layouts", {"contiguous", "channels_last"}),
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
            parser.error(f"--{name.replace('_', '-')}: {program} is no program")
        if program:
            setattr(settings, name, program.resolve())
    return settings


def gpu_is_there(settings):
    return settings.device != "cpu" and any(pathlib.Path(name).exists() for name in ("/dev/nvidia0", "/dev/nvidiactl"))


def driver_version():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                              text=True, timeout=20).stdout.split("\n")[0].strip() or "unknown"
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"


def precompile(jobs, settings, folder, say):
    """Fills torch's cache of compiled networks, many at once: nothing is timed meanwhile, so nobody is disturbed."""
    parallel = settings.precompile
    if parallel is None:
        parallel = (os.cpu_count() or 2) // 2 if gpu_is_there(settings) else 0
    wanted = [(job, one) for job in jobs for one in job.variants() if one["framework"] == "compile"]
    if parallel < 2 or not wanted:
        return
    wanted.sort(key=lambda pair: -len(operators_of(pair[0].model)))  # the longest first, so that none is last alone
    started = time.monotonic()

    def compile_one(job, one):
        worker = Worker(one, folder / f"{job.name}.precompile.log", {"TORCHINDUCTOR_COMPILE_THREADS": "2"})
        try:
            worker.wait(LOAD_LIMIT)
            worker.ask(settings.compile_limit, do="trace")
            return True
        except Failure as failure:
            if "not done" in str(failure):
                job.skipped[(one["framework"], one["layout"])] = f"{one['layout']}: compiling was {failure}"
            return False
        finally:
            worker.end()

    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        done = sum(pool.map(lambda pair: compile_one(*pair), wanted))
    say(f"torch.compile: {done} of {len(wanted)} compiled ahead in {time.monotonic() - started:.0f} s, {parallel} at once")


def main():
    settings = parse()
    began = time.monotonic()
    folder = settings.work or pathlib.Path(tempfile.mkdtemp(prefix="compare-frameworks."))
    folder.mkdir(parents=True, exist_ok=True)

    def say(text):
        print(f"[{time.monotonic() - began:6.1f} s] {text}", file=sys.stderr, flush=True)

    say(f"logs are in {folder}")
    programs = Programs(settings, folder)
    whole = {"schema_version": 1, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
             "command": shlex.join(["scripts/compare-frameworks", *sys.argv[1:]]), "device": None,
             "versions": {"python": sys.version.split()[0], "numpy": numpy.__version__}, "rows": []}
    if gpu_is_there(settings):
        whole["versions"]["driver"] = driver_version()
    jobs = []
    for precision in settings.precision:
        for model in settings.models:
            try:
                jobs.append(Job(programs.model(model), precision, settings, folder, programs, say))
            except Failure as failure:
                say(f"{model}: {failure}")
    precompile(jobs, settings, folder, say)
    late = lambda: settings.time_limit is not None and time.monotonic() - began > settings.time_limit
    wrong = len(jobs) < len(settings.precision) * len(settings.models)
    for index, job in enumerate(jobs):
        if late():
            say(f"the time is over; not done: {', '.join(one.name for one in jobs[index:])}")
            break
        try:
            job.load()
            if index + 1 < len(jobs):
                jobs[index + 1].load()  # only reads the model, on the CPU, while this one is prepared
            row = job.measure(whole)
        finally:
            job.end()
        whole["rows"].append(row)
        wrong = wrong or bool(report.disagreement(row))
        if settings.json:
            report.write(settings.json, whole)
        say(f"{job.name}: " + ", ".join(f"{report.COLUMNS.get(column, 'taso ' + column)} "
                                        + (f"{what['median']:,.1f} µs" if "median" in what else "failed")
                                        for column, what in row["times"].items()))
    for job in jobs:
        job.end()
    if not whole["rows"]:
        return 2
    print(report.table(whole["rows"]))
    print(f"{whole['device']}; " + ", ".join(f"{name} {version}" for name, version in whole["versions"].items()))
    if whole["device"] == "CPU":
        print("these are times of a CPU, not of a GPU")
    print(f"{whole['date']}: {whole['command']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
