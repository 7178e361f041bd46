"""Times pairs of ONNX models alternately (A B B A) in ONNX Runtime on the CPU.

Each pair gets the same random inputs, and its outputs are compared. One block of a model is as many runs as take some
milliseconds. The table shows medians of microseconds per run, and how many times as fast the second model is: the
median over the rounds, with the 5th and 95th percentile. With --json FILE, pairs that FILE contains are not timed
again.
"""
import argparse
import dataclasses
import json
import pathlib
import re
import sys
import time

import numpy
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "onnx"))
import runtime_comparison  # noqa: E402

BLOCK_SECONDS = 0.005
FEWEST_ROUNDS = 3


@dataclasses.dataclass
class Pair:
    name: str
    first: pathlib.Path
    second: pathlib.Path
    remark: str = ""  # the rules between the two


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="time-in-onnxruntime", description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path, help="pairs of models: the first, the second, …")
    parser.add_argument("--sweep", type=pathlib.Path, metavar="FOLDER", help="the folder of partial_sweep --write")
    parser.add_argument("--only", default="", metavar="PATTERN", help="pairs whose name contains this expression")
    parser.add_argument("--threads", type=int, default=2, help="threads of ONNX Runtime (default 2)")
    parser.add_argument("--seconds", type=float, default=2, help="time for each pair (default 2)")
    parser.add_argument("--processor-time", action="store_true",
                        help="time of the processor instead of the clock, for machines on which others work")
    parser.add_argument("--as-is", action="store_true", help="without the optimisations of ONNX Runtime")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write and continue the results")
    settings = parser.parse_args(arguments)
    if len(settings.models) % 2 != 0:
        parser.error("models come in pairs")
    if not settings.models and not settings.sweep:
        parser.error("no models are given")
    return settings


def pairs_of(settings):
    pairs = [Pair(f"{first.stem} / {second.stem}", first, second)
             for first, second in zip(settings.models[::2], settings.models[1::2])]
    if settings.sweep:
        for entry in json.loads((settings.sweep / "index.json").read_text()):
            for result in entry["results"]:
                pairs.append(Pair(entry["name"], settings.sweep / entry["source"], settings.sweep / result["file"],
                                  " + ".join(result["rules"])))
    return [pair for pair in pairs if re.search(settings.only, pair.name)]


def open_session(path, settings):
    options = onnxruntime.SessionOptions()
    if settings.as_is:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = settings.threads
    options.inter_op_num_threads = 1
    if settings.processor_time:  # waiting threads would use time too
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def seconds_of(session, feed, runs, clock):
    begin = clock()
    for _ in range(runs):
        session.run(None, feed)
    return (clock() - begin) / runs


def time_pair(pair, settings):
    sessions = [open_session(path, settings) for path in (pair.first, pair.second)]
    feed = runtime_comparison.random_inputs(sessions[0])
    results = [session.run(None, feed) for session in sessions]  # also the first runs, which are slower
    is_equal = len(results[0]) == len(results[1]) and all(map(runtime_comparison.same, *results))
    del results
    clock = time.process_time if settings.processor_time else time.perf_counter
    runs = [max(1, int(BLOCK_SECONDS / seconds_of(session, feed, 1, clock))) for session in sessions]
    times, ratios = ([], []), []
    begin = time.perf_counter()
    while len(ratios) < FEWEST_ROUNDS or time.perf_counter() - begin < settings.seconds:
        here = ([], [])
        for which in (0, 1, 1, 0):
            here[which].append(seconds_of(sessions[which], feed, runs[which], clock))
        for which in (0, 1):
            times[which].extend(here[which])
        ratios.append(sum(here[0]) / sum(here[1]))
    low, middle, high = (float(value) for value in numpy.percentile(ratios, (5, 50, 95)))
    return {"name": pair.name, "first": str(pair.first), "second": str(pair.second), "rules": pair.remark,
            "first_microseconds": 1e6 * float(numpy.median(times[0])),
            "second_microseconds": 1e6 * float(numpy.median(times[1])),
            "speedup": middle, "low": low, "high": high, "rounds": len(ratios), "is_equal": is_equal}


def row_of(row, width):
    return (f"{row['name']:<{width}}  {row['first_microseconds']:>12.1f}  {row['second_microseconds']:>12.1f}  "
            f"{row['speedup']:>6.3f} ({row['low']:.3f} to {row['high']:.3f})  "
            f"{'yes' if row['is_equal'] else 'NO':<5}  {row['rules']}").rstrip()


def summary_of(rows):
    """The best result of each operator, if it is faster, by rules."""
    best = {}
    for row in rows:
        if row["is_equal"] and row["speedup"] > best.get(row["name"], {"speedup": 0})["speedup"]:
            best[row["name"]] = row
    faster = [row for row in best.values() if row["low"] > 1]
    lines = [f"{len(best)} first models, {len(faster)} with a faster second model "
             "(in 95 of 100 rounds); not equal: " + str(sum(not row["is_equal"] for row in rows))]
    by_rules = {}
    for row in faster:
        by_rules.setdefault(row["rules"], []).append(row["speedup"])
    for rules, gains in sorted(by_rules.items(), key=lambda entry: -len(entry[1])):
        line = f"{len(gains):>5} times, median {numpy.median(gains):.3f}, best {max(gains):.3f}  {rules}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def main(arguments):
    settings = parse_arguments(arguments)
    about = {"schema_version": 1, "onnxruntime": onnxruntime.__version__, "threads": settings.threads,
             "processor_time": settings.processor_time, "as_is": settings.as_is}
    rows = []
    if settings.json and settings.json.exists():
        before = json.loads(settings.json.read_text())
        if {key: before.get(key) for key in about} != about:
            sys.exit(f"time-in-onnxruntime: {settings.json} was made with other settings")
        rows = before["pairs"]
    pairs = pairs_of(settings)
    known = {(row["first"], row["second"]) for row in rows}
    width = max((len(name) for name in [*(pair.name for pair in pairs), *(row["name"] for row in rows)]), default=0)
    print(f"{'':<{width}}      first us     second us  speed-up (5 % to 95 %)    equal")
    for row in rows:
        print(row_of(row, width))
    for pair in pairs:
        if (str(pair.first), str(pair.second)) in known:
            continue
        rows.append(time_pair(pair, settings))
        print(row_of(rows[-1], width), flush=True)
        if settings.json:
            settings.json.write_text(json.dumps({**about, "pairs": rows}, indent=1) + "\n")
    print(summary_of(rows))
    return 0 if all(row["is_equal"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
