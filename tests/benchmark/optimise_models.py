#!/usr/bin/env python3
"""Optimises models with taso-opt, runs the original and the result with ONNX Runtime, and prints a line for each model.

    optimise_models.py [--program build/release/bin/taso-opt] [--runs 5] [--no-run] MODEL... [-- option of taso-opt...]

Nodes, kernels and predicted times are those of taso-opt, for a plan on an H200, before clean-up and search and after.
ONNX Runtime runs on this machine's CPU, with its own optimiser, alternating between the two models. It does not run the
priced kernels, so its times show whether the new model suits it too, not whether the prediction holds. Outputs that
differ are reported, and make the program fail.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime

TYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(float16)": numpy.float16,
         "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_,
         "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8}


def optimise(program, model, output, options):
    """Returns taso-opt's report, its time in seconds, its memory in megabytes, and its exit code."""
    report = output.with_suffix(".json")
    command = [program, model, "-o", output, "--report", report, "-q", *options]
    watched = ["/usr/bin/env", "python3", "-c",
               "import resource, subprocess, sys\n"
               "code = subprocess.run(sys.argv[1:]).returncode\n"
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
               "sys.exit(code)"]
    start = time.monotonic()
    done = subprocess.run([*watched, *map(str, command)], capture_output=True, text=True)
    seconds = time.monotonic() - start
    megabytes = int(done.stdout.split()[-1]) / 1024
    return json.loads(report.read_text()) if report.exists() else None, seconds, megabytes, done


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def inputs_of(runtime, seed):
    random = numpy.random.default_rng(seed)
    data = {}
    for one in runtime.get_inputs():
        shape = [size if isinstance(size, int) and size > 0 else 1 for size in one.shape]
        kind = TYPES[one.type]
        if numpy.issubdtype(kind, numpy.floating):
            data[one.name] = random.standard_normal(shape).astype(kind)
        else:
            data[one.name] = random.integers(0, 2, shape).astype(kind)
    return data


def run_both(before, after, runs):
    """Returns the median times in milliseconds, and the largest difference relative to the size of the output's values.
    """
    first, second = session(before), session(after)
    data = inputs_of(first, 1)
    expected, given = first.run(None, data), second.run(None, data)
    worst = 0.0
    for a, b in zip(expected, given):
        a, b = numpy.asarray(a, numpy.float64), numpy.asarray(b, numpy.float64)
        if not numpy.array_equal(numpy.isfinite(a), numpy.isfinite(b)):
            worst = float("inf")
            continue
        a, b = a[numpy.isfinite(a)], b[numpy.isfinite(b)]
        if a.size:
            worst = max(worst, float(numpy.abs(a - b).max() / max(numpy.abs(a).max(), 1e-30)))
    times = ([], [])
    for i in range(runs):
        for which in ((0, 1), (1, 0))[i % 2]:
            start = time.perf_counter()
            (first, second)[which].run(None, data)
            times[which].append(time.perf_counter() - start)
    return [1e3 * float(numpy.median(one)) for one in times], worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/taso-opt")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--no-run", action="store_true", help="without ONNX Runtime")
    parser.add_argument("models", nargs="+")
    arguments, options = parser.parse_known_args()
    options = [option for option in options if option != "--"]
    print("| model | nodes | after | kernels | after | predicted µs | after | ratio | steps | search s | in all s | "
          "MB | ORT ms | after | difference |")
    print("|" + " --- |" * 15)
    failed = False
    for model in map(pathlib.Path, arguments.models):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "out.onnx"
            report, seconds, megabytes, done = optimise(arguments.program, model, output, options)
            if done.returncode != 0 or report is None:
                failed = True
                print(f"| {model.stem} | FAILED with {done.returncode}: {done.stderr.strip()[:200]} |", flush=True)
                continue
            search = report.get("search") or {}
            before, after = ((report[when]["predicted"] or {"kernels": 0, "seconds": 0})
                             for when in ("before", "after"))
            cells = [model.stem, report["before"]["nodes"], report["after"]["nodes"], before["kernels"],
                     after["kernels"],
                     f"{1e6 * before['seconds']:.1f}", f"{1e6 * after['seconds']:.1f}",
                     f"{after['seconds'] / before['seconds']:.3f}" if before["seconds"] else "",
                     sum(rule["count"] for rule in search.get("applied", [])),
                     f"{report['seconds'].get('search', 0):.2f}", f"{seconds:.1f}", f"{megabytes:.0f}"]
            if not arguments.no_run:
                try:
                    (first, second), worst = run_both(model, output, arguments.runs)
                    failed |= not worst < (2e-2 if "fp16" in model.stem else 1e-3)
                    cells += [f"{first:.1f}", f"{second:.1f}", f"{worst:.1e}"]
                except Exception as error:  # report a model that ONNX Runtime cannot run
                    cells += ["", "", str(error).replace("\n", " ")[:120]]
                    try:
                        runtime = session(model)
                        runtime.run(None, inputs_of(runtime, 1))
                    except Exception:
                        cells[-1] = "(nor the original) " + cells[-1]
                    else:
                        failed = True
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
