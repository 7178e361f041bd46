"""Shows what taso does on this machine's GPU, in steps with a time budget each:

    scripts/show-gpu BUILD RESULTS [STEP[=SECONDS]...]
    scripts/show-gpu --table RESULTS

networks   each example network before and after taso-opt: first use, predicted and measured times, agreement, second
use
models     the same for other models (--models), without measuring their kernels; which operators ran on the host
ranking    variants of each network, their predicted order against their measured order
repeat     the same kernels measured by three processes
tests      random configurations of every kind of kernel against the interpreter
sanitize   a few of them under compute-sanitizer
record     prices of all example networks (scripts/record-prices), and of the graphs that the search makes from them

Results are files, written as they come. Existing files are kept, so that the same command resumes an interrupted run.
Prices are in RESULTS/measured.prices, which starts with the shipped prices, unless --anew is given.
"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

import steps
import tables


def parsed():
    parser = argparse.ArgumentParser(prog="scripts/show-gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, nargs="?", help="a build folder, with tests and the CUDA module")
    parser.add_argument("results", type=pathlib.Path, nargs="?")
    parser.add_argument("steps", nargs="*", help="steps with their seconds; default: "
                        + " ".join(f"{name}={seconds}" for name, seconds in steps.BUDGETS.items()))
    parser.add_argument("--table", type=pathlib.Path, metavar="RESULTS", help="print the results as Markdown")
    parser.add_argument("--precision", default="tf32")
    parser.add_argument("--batch", default=1, type=int)
    parser.add_argument("--networks", type=lambda text: text.split(","),
                        help="names, separated by commas (default: all)")
    parser.add_argument("--models", default=[], type=pathlib.Path, metavar="FOLDER",
                        help="a folder with other models (.onnx)")
    parser.add_argument("--size", default=[], action="append", metavar="NAME=N",
                        help="size of an open dimension (default 1)")
    parser.add_argument("--limit", default=90, type=float, help="seconds for one command (90)")
    parser.add_argument("--each", default=15, type=float, help="seconds for the variants of one network (15)")
    parser.add_argument("--seed", default=0, type=int, help="seed of the variants (0)")
    parser.add_argument("--anew", action="store_true", help="start without the shipped prices")
    parser.add_argument("--record", default="tf32,fp32,fp16:1", metavar="PRECISIONS:BATCHES", help="of the step record")
    parser.add_argument("--commit", help="the commit to report, if git does not know it")
    options = parser.parse_args()
    if options.table is None and options.results is None:
        parser.error("BUILD and RESULTS are needed, or --table RESULTS")
    chosen = []
    options.named = [text.partition("=")[0] for text in options.steps]
    for text in options.steps or steps.STEPS:
        name, _, seconds = text.partition("=")
        if name not in steps.STEPS:
            parser.error(f"there is no step '{name}'; there are {', '.join(steps.STEPS)}")
        try:
            chosen.append((name, float(seconds or steps.BUDGETS[name])))
        except ValueError:
            parser.error(f"{name}: seconds are needed, not '{seconds}'")
    options.steps = chosen
    return options


PROGRAMS = {"networks": ["taso-networks", "taso-opt", "taso-bench"], "models": ["taso-opt", "taso-bench"],
            "ranking": ["taso-networks", "cost_variants"], "repeat": ["taso-networks", "cost_repeat"],
            "tests": ["runtime_tests"], "sanitize": ["runtime_tests"], "record": ["taso-networks", "taso-bench"]}


def trouble_of(options):
    """The reason why it cannot start; None if it can."""
    known = steps.EXAMPLES + steps.SMALL_FIRST
    for name in options.networks or []:
        if name not in known:
            return f"--networks: there is no network '{name}'; there are {', '.join(known)}"
    chosen = [name for name, _ in options.steps]
    for one in dict.fromkeys(one for name in chosen for one in PROGRAMS[name]):
        file = options.build / steps.folder_of(one) / one
        if not os.access(file, os.X_OK):
            return f"{file} does not exist: build first"
    if not list((options.build / "lib").glob("**/*taso_cuda.so")):
        return f"{options.build}/lib has no CUDA module: build with TASO_CUDA"
    if options.models and not list(options.models.glob("*.onnx")):
        return f"--models: {options.models} {'has no .onnx files' if options.models.is_dir() else 'is not a folder'}"
    if options.models and "models" not in chosen:
        return "--models: the step models is not selected"
    if not options.models and "models" in options.named:
        return "models: --models FOLDER is missing"
    for one in options.size:
        name, _, size = one.partition("=")
        if not name or not size.isdigit() or int(size) < 1:
            return f"--size: NAME=N is needed, not '{one}'"
    return None


def commit():
    known = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=steps.SOURCE, capture_output=True, text=True)
    return known.stdout.strip() or "unknown"


def begin(options):
    """The place of the work, with its prices. Also adds this run to the results."""
    options.results.mkdir(parents=True, exist_ok=True)
    place = steps.Place(options.build.resolve(), options.results.resolve(), options.build.resolve() / "show-gpu",
                        options.precision, options.batch, limit=options.limit, each=options.each, seed=options.seed)
    place.work.mkdir(parents=True, exist_ok=True)
    if options.networks:
        place.networks = options.networks
    elif options.batch != 1:
        place.networks = steps.SMALL_FIRST
    if options.models:
        place.models = sorted(options.models.glob("*.onnx"), key=lambda file: file.stat().st_size)
    place.sizes = {name: int(size) for name, _, size in (one.partition("=") for one in options.size)}
    place.record_precisions, _, place.record_batches = options.record.partition(":")
    shipped = steps.SOURCE / "cost/prices/nvidia-h200.prices"
    if not place.prices.exists() and not options.anew:
        shutil.copy(shipped, place.prices)
    file = options.results / "about.json"
    about = json.loads(file.read_text()) if file.exists() else []
    # Leaves out the paths of this machine.
    arguments = [pathlib.Path(one).name if one.startswith("/") else one for one in sys.argv[1:]]
    about.append({"date": time.strftime("%Y-%m-%d %H:%M"), "commit": options.commit or commit(),
                  "command": shlex.join(["scripts/show-gpu", *arguments])})
    steps.keep(file, about)
    return place


def main():
    options = parsed()
    if options.table:
        print(tables.text_of(options.table), end="")
        return
    if trouble := trouble_of(options):
        print(f"show-gpu: {trouble}", file=sys.stderr)
        sys.exit(2)
    steps.go(options.steps, begin(options))


if __name__ == "__main__":
    main()
