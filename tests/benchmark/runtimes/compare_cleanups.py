#!/usr/bin/env python3
"""Compares the clean-ups of taso-opt with those of onnxsim and onnxslim on a folder of models.

    compare_cleanups.py FOLDER... --taso-opt build/release/bin/taso-opt [--size batch=2]... [--json FILE]

For each model the table has the number of operators of the original, of taso-opt --budget 0 ("clean"), of taso-opt
without options ("taso"), of onnxsim and of onnxslim; Constant nodes do not count, nodes in subgraphs do. Every result
runs in ONNX Runtime (CPU) on the same inputs as the original; results that differ are marked with "!". With --seconds,
all versions are timed in turn, forwards and backwards, in processor time. The table then has the median over the rounds
of how many times as fast as the original each is, with the 5th and 95th percentile.

--tools names a Python with onnxsim and onnxslim (default: this one). A tool that is missing, fails or takes too long
leaves its column empty. Results of the tools are kept in --results and used again.
"""

import argparse
import hashlib
import json
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "onnx"))
import runtime_comparison  # noqa: E402

VERSIONS = ("clean", "taso", "onnxsim", "onnxslim")
TOOL_SECONDS = 600
BLOCK_SECONDS = 0.01
FEWEST_ROUNDS = 5


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER", help="models, or folders of models")
    parser.add_argument("--taso-opt", required=True, type=pathlib.Path, metavar="FILE")
    parser.add_argument("--tools", default=sys.executable, metavar="PYTHON", help="a Python with onnxsim and onnxslim")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=N", help="size of an open dimension")
    parser.add_argument("--results", type=pathlib.Path, metavar="FOLDER", help="keep the models that the tools write")
    parser.add_argument("--seconds", type=float, default=0, help="time for each model (default 0: no times)")
    parser.add_argument("--threads", type=int, default=1, help="threads of ONNX Runtime (default 1)")
    parser.add_argument("--only", nargs="*", choices=VERSIONS, default=VERSIONS, help="versions to compare")
    parser.add_argument("--operators", action="store_true", help="also print which operators each version has more of")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results")
    return parser.parse_args(arguments)


def operators_of(path):
    """The number of operators by type, subgraphs included, without constants."""
    counts = {}

    def count(graph):
        for node in graph.node:
            if node.op_type != "Constant":
                counts[node.op_type] = counts.get(node.op_type, 0) + 1
            for attribute in node.attribute:
                for inner in [attribute.g, *attribute.graphs]:
                    count(inner)

    count(onnx.load(path, load_external_data=False).graph)
    return counts


def command_of(version, model, output, settings):
    if version == "clean":
        return [settings.taso_opt, model, "-o", output, "-q", "--budget", "0"]
    if version == "taso":
        return [settings.taso_opt, model, "-o", output, "-q"]
    if version == "onnxsim":
        return [settings.tools, "-m", "onnxsim", model, output]
    return [settings.tools, "-c", "import sys, onnxslim; onnxslim.slim(sys.argv[1], sys.argv[2])", model, output]


def make(version, model, results, settings):
    """The result of a tool, and why there is none."""
    output = results / f"{model.stem}.{version}.onnx"
    command = [str(part) for part in command_of(version, model, output, settings)]
    program = settings.taso_opt if version in ("clean", "taso") else None
    key = hashlib.sha256(model.read_bytes() + (program.read_bytes() if program else b"")).hexdigest()
    note = output.with_suffix(".key")
    if output.exists() and note.exists() and note.read_text() == key:
        return output, ""
    output.unlink(missing_ok=True)
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS)
    except subprocess.TimeoutExpired:
        return None, f"longer than {TOOL_SECONDS} s"
    if ended.returncode != 0 or not output.exists():
        lines = (ended.stderr or ended.stdout).strip().split("\n")
        return None, f"exit {ended.returncode}: {lines[-1][:160]}"
    note.write_text(key)
    return output, ""


def open_session(path, settings):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = settings.threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads would use time too
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def inputs_of(session, sizes, seed=0):
    generator = numpy.random.default_rng(seed)
    feed = {}
    for entry in session.get_inputs():
        shape = [dim if isinstance(dim, int) else sizes.get(dim, 2) for dim in entry.shape]
        name = entry.type.removeprefix("tensor(").removesuffix(")")
        name = {"float": "float32", "double": "float64", "float16": "float16"}.get(name, name)
        if name.startswith("float"):
            feed[entry.name] = generator.standard_normal(shape).astype(name)
        elif "mask" in entry.name:  # an attention mask without a single place is not an ordinary input
            feed[entry.name] = numpy.ones(shape, name)
        else:
            feed[entry.name] = generator.integers(0, 2, shape).astype(name)
    return feed


def seconds_of(session, feed, runs):
    begin = time.process_time()  # of the processor: others may work on the machine
    for _ in range(runs):
        session.run(None, feed)
    return (time.process_time() - begin) / runs


def ratios_of(sessions, feed, settings):
    """How many times as fast as the original each session is: for each the 5th, 50th and 95th percentile."""
    runs = {name: max(1, int(BLOCK_SECONDS / seconds_of(session, feed, 1))) for name, session in sessions.items()}
    ratios = {name: [] for name in sessions if name != "original"}
    begin = time.perf_counter()
    while len(next(iter(ratios.values()), [0] * FEWEST_ROUNDS)) < FEWEST_ROUNDS or \
            time.perf_counter() - begin < settings.seconds:
        here = {name: 0.0 for name in sessions}
        for name in [*sessions, *reversed(sessions)]:
            here[name] += seconds_of(sessions[name], feed, runs[name])
        for name, values in ratios.items():
            values.append(here["original"] / here[name])
    return {name: [float(value) for value in numpy.percentile(values, (5, 50, 95))] for name, values in ratios.items()}


def compare(model, results, settings, sizes):
    row = {"model": model.stem, "operators": {"original": operators_of(model)}, "trouble": {}, "differs": []}
    sessions = {}
    try:
        sessions["original"] = open_session(model, settings)
        feed = inputs_of(sessions["original"], sizes)
        expected = sessions["original"].run(None, feed)
    except Exception as error:
        row["trouble"]["original"] = runtime_comparison.first_line(error)
        sessions = {}
    for version in settings.only:
        output, trouble = make(version, model, results, settings)
        if output is None:
            row["trouble"][version] = trouble
            continue
        row["operators"][version] = operators_of(output)
        if not sessions:
            continue
        try:
            session = open_session(output, settings)
            if not runtime_comparison.same(expected, session.run(None, feed)):
                row["differs"].append(version)
            sessions[version] = session
        except Exception as error:
            row["differs"].append(version)
            row["trouble"][version] = runtime_comparison.first_line(error)
    if settings.seconds > 0 and len(sessions) > 1:
        row["ratios"] = ratios_of(sessions, feed, settings)
    return row


def cells_of(row, settings):
    counts = {version: sum(operators.values()) for version, operators in row["operators"].items()}
    nodes = [str(counts.get("original", "-"))]
    for version in settings.only:
        nodes.append(f"{counts.get(version, '-')}{'!' if version in row['differs'] else ''}")
    others = [counts[version] for version in ("onnxsim", "onnxslim") if version in counts]
    behind = "clean" in counts and others and counts["clean"] > min(others)
    times = []
    for version in settings.only if settings.seconds > 0 else []:
        ratio = row.get("ratios", {}).get(version)
        times.append(f"{ratio[1]:.3f} ({ratio[0]:.2f} to {ratio[2]:.2f})" if ratio else "-")
    return [row["model"], *nodes, "behind" if behind else "", *times]


def print_differences(row):
    best = row["operators"]
    for version in ("onnxsim", "onnxslim"):
        if version not in best or "clean" not in best:
            continue
        kinds = sorted(set(best["clean"]) | set(best[version]))
        more = {kind: best["clean"].get(kind, 0) - best[version].get(kind, 0) for kind in kinds}
        print(f"    clean - {version}:", ", ".join(f"{kind} {n:+}" for kind, n in more.items() if n != 0))


def main(arguments):
    settings = parse_arguments(arguments)
    sizes = {name: int(size) for name, _, size in (entry.partition("=") for entry in settings.size)}
    models = [model for folder in settings.folders
              for model in (sorted(folder.glob("*.onnx")) if folder.is_dir() else [folder])]
    rows = []
    heading = ["model", "original", *settings.only, "", *(settings.only if settings.seconds > 0 else [])]
    print(f"ONNX Runtime {onnxruntime.__version__}, {platform.machine()}, {settings.threads} thread(s)")
    print("| " + " | ".join(heading) + " |\n|" + " --- |" * len(heading), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        results = settings.results or pathlib.Path(scratch)
        results.mkdir(parents=True, exist_ok=True)
        for model in models:
            rows.append(compare(model, results, settings, sizes))
            print("| " + " | ".join(cells_of(rows[-1], settings)) + " |", flush=True)
            if settings.operators:
                print_differences(rows[-1])
            for version, trouble in rows[-1]["trouble"].items():
                print(f"    {version}: {trouble}", flush=True)
            if settings.json:
                settings.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any("clean" in row["differs"] or "taso" in row["differs"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
