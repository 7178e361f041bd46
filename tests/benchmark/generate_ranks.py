"""Time, memory and bytes sent of taso-gen on 1, 2, 4… ranks of one machine, each with one thread.

python3 tests/benchmark/generate_ranks.py PROGRAM [--ranks 1,2,4] [--predict 64,1024] [--report FILE] -- OPTION…

The options are those of taso-gen: `--operators taso --max-ops 4`. Fails unless all runs write the same bytes. A
prediction takes the time of each phase as a + b / ranks, with the a and b that fit the measured times best. Processor
time, memory and bytes are those of the rank with the most.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

MEGABYTE = 1e6


def run(program, ranks, options, folder):
    """Returns the report of a run and the rules that it wrote."""
    out, report = folder / "out.rules", folder / "report.json"
    command = [program, "-o", out, "--report", report, "--jobs", "1", *options]
    if ranks > 1:
        command = ["mpirun", "--oversubscribe", "-n", str(ranks), *command]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_plm": "isolated", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"{ranks} ranks: exit {done.returncode}\n{done.stderr}")
    return json.loads(report.read_text()), out.read_bytes()


def phases_of(report):
    """The seconds of each phase, and of the rest."""
    phases, seconds = report["run"]["phases"], report["run"]["seconds"]
    parts = [phases.get(name, 0) for name in ("enumerating", "pruning", "proving")]
    return [*parts, seconds - sum(parts)]


def row(ranks, report):
    uses, phases = report["run"]["ranks"], phases_of(report)
    return [ranks, *(f"{value:.1f}" for value in (sum(phases), *phases, max(use["processor_seconds"] for use in uses))),
            f"{max(use['peak_memory'] for use in uses) / MEGABYTE:.0f}",
            f"{max(use['sent'] for use in uses) / MEGABYTE:.1f}"]


def predicted(ranks, reports):
    """What each phase takes on so many ranks: least squares, with neither part below zero."""
    shares = [1 / len(report["run"]["ranks"]) for report in reports]
    middle = statistics.fmean(shares)
    spread = sum((share - middle) ** 2 for share in shares)
    seconds = []
    for times in zip(*map(phases_of, reports)):
        mean = statistics.fmean(times)
        slope = max(sum((x - middle) * (y - mean) for x, y in zip(shares, times)) / spread, 0)
        constant = max(mean - slope * middle, 0)
        seconds.append(constant + slope / ranks)
    return [f"{ranks}, predicted", *(f"{value:.1f}" for value in (sum(seconds), *seconds)), "", "", ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--predict", default="")
    parser.add_argument("--report", type=pathlib.Path)
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, options = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1:]
    reports, written = [], set()
    header = ["ranks", "seconds", "enumerating", "pruning", "proving", "the rest", "processor", "memory MB", "sent MB"]
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for ranks in map(int, given.ranks.split(",")):
            report, rules = run(given.program, ranks, options, pathlib.Path(folder))
            reports.append(report)
            written.add(rules)
            print("| " + " | ".join(map(str, row(ranks, report))) + " |", flush=True)
    for ranks in map(int, filter(None, given.predict.split(","))):
        print("| " + " | ".join(map(str, predicted(ranks, reports))) + " |")
    if given.report:
        given.report.write_text(json.dumps(reports, indent=1) + "\n")
    if len(written) > 1:
        sys.exit("the runs wrote different rules")


if __name__ == "__main__":
    main()
