"""The measurements as a table for people and as JSON for programs."""

import itertools
import json
import math
import os
import statistics

import numpy

SCHEMA = 2  # of the JSON
FRAMEWORKS = {"eager": "torch eager", "compile": "torch.compile", "xla": "XLA", "onnxruntime": "ONNX Runtime"}
OURS = {"before": "ours, original", "after": "ours, optimised", "session": "ours, session"}
COLUMNS = {**FRAMEWORKS, **OURS}
# The distance of two outputs, as ||a - b|| / ||b||, that rounding explains in a network of a hundred layers.
TOLERANCES = {"fp32": 1e-3, "tf32": 2e-2, "fp16": 5e-2, "bf16": 2e-1}


def summary(microseconds):
    five, middle, most = numpy.percentile(microseconds, [5, 50, 95])
    return {"median": round(float(middle), 2), "5_percent": round(float(five), 2),
            "95_percent": round(float(most), 2), "runs": len(microseconds)}


def distance(left, right):
    """The largest relative distance between outputs; infinite if shapes differ or elements are not numbers."""
    if len(left) != len(right) or any(a.shape != b.shape for a, b in zip(left, right)):
        return math.inf
    worst = 0.0
    for a, b in zip(left, right):
        a, b = a.astype(numpy.float64), b.astype(numpy.float64)
        length = max(numpy.linalg.norm(a), numpy.linalg.norm(b), 1e-30)
        one = float(numpy.linalg.norm(a - b) / length)
        worst = max(worst, one if math.isfinite(one) else math.inf)
    return worst


def agreement(outputs, precision):
    """The distance between the outputs of any two, by name, and whether rounding explains it."""
    pairs = [{"of": [a, b], "distance": distance(outputs[a], outputs[b])}
             for a, b in itertools.combinations(outputs, 2)]
    tolerance = TOLERANCES[precision]
    return {"compared": list(outputs), "tolerance": tolerance,
            "largest": max((one["distance"] for one in pairs), default=0.0),
            "agree": all(one["distance"] <= tolerance for one in pairs),
            "apart": [one for one in pairs if not one["distance"] <= tolerance]}


def median_of(row, column):
    found = row["times"].get(column)
    return found["median"] if found and "median" in found else None


def conclude(row):
    """Adds the best framework, and how many times as fast taso is."""
    times = {column: median_of(row, column) for column in FRAMEWORKS if median_of(row, column) is not None}
    row["best"] = min(times, key=times.get) if times else None
    for column in OURS:
        ours = median_of(row, column)
        row[f"best_over_{column}"] = round(times[row["best"]] / ours, 3) if times and ours else None


def columns_timed(row):
    return sum(median_of(row, column) is not None for column in row["times"])


def is_complete(row, settings):
    """Whether a run with these settings would add nothing."""
    wanted = list(settings.frameworks)
    if settings.taso_bench:
        wanted += ["before"] + (["after"] if settings.taso_opt or settings.optimised else [])
    return all(median_of(row, column) is not None for column in wanted)


def cell(row, column):
    value = median_of(row, column)
    if value is None:
        return "–" if column not in row["times"] else "*"
    text = f"{value:,.1f}"
    return f"**{text}**" if column == row["best"] else text


def geometric_mean(numbers):
    return math.exp(statistics.fmean(math.log(one) for one in numbers))


def disagreement(row):
    parts = []
    if not row["agreement"]["agree"]:
        parts.append("; ".join(f"{' and '.join(one['of'])} differ by {one['distance']:.1e}"
                               for one in row["agreement"]["apart"]))
    for column in ("before", "after"):
        check = row["times"].get(column, {}).get("check")
        if check and not check.get("agrees", True):
            parts.append(f"{COLUMNS[column]}: {check.get('relative_error', math.nan):.1e} from its reference")
    return "; ".join(parts)


def batch_of(row):
    """The number of examples in a run: as requested, or as in the model. Older files do not record the latter."""
    return row["batch"] or row.get("examples") or 1


def table(rows):
    columns = {column: name for column, name in COLUMNS.items() if any(column in row["times"] for row in rows)}
    ratios = {f"best_over_{column}": f"best / {name}" for column, name in columns.items() if column in OURS}
    lines = []
    for precision in dict.fromkeys(row["precision"] for row in rows):
        some = [row for row in rows if row["precision"] == precision]
        batches = sorted({batch_of(row) for row in some})
        lines += ["", f"{precision}, batch {', '.join(map(str, batches))}, median in µs", ""]
        heads = ["network", *columns.values(), *ratios.values(), "outputs"]
        lines += ["| " + " | ".join(heads) + " |", "| --- " + "| ---: " * (len(heads) - 2) + "| --- |"]
        for row in some:
            name = row["model"] if len(batches) == 1 else f"{row['model']}, batch {batch_of(row)}"
            cells = [name, *(cell(row, column) for column in columns)]
            cells += [f"{row[key]:.2f}×" if row.get(key) else "" for key in ratios]
            wrong = disagreement(row)
            compared = len(row["agreement"]["compared"]) > 1
            cells.append(f"DIFFER: {wrong}" if wrong else
                         f"agree ({row['agreement']['largest']:.0e})" if compared else "not compared")
            lines.append("| " + " | ".join(cells) + " |")
        if ratios:
            means = {key: [row[key] for row in some if row.get(key)] for key in ratios}
            cells = [f"{geometric_mean(found):.2f}× ({len(found)})" if found else "" for found in means.values()]
            lines.append("| geometric mean (number) " + "| " * len(columns) + "| " + " | ".join(cells) + " | |")
        failures = [f"* {row['model']}, {COLUMNS[column]}: {reason}" for row in some
                    for column, what in row["times"].items() for reason in what.get("failures", [])]
        lines += ["", *failures] if failures else []
    return "\n".join(lines).strip() + "\n"


def document(whole):
    """The tables, followed by what is needed to repeat the measurement."""
    lines = [table(whole["rows"])]
    lines.append(f"{whole['device']}; " + ", ".join(f"{name} {version}" for name, version in whole["versions"].items()))
    if whole["device"] == "CPU":
        lines.append("these are times of a CPU, not of a GPU")
    together = whole.get("xla_together", 1)
    if whole["device"] not in (None, "CPU"):
        lines.append("While something was timed, all other processes were stopped; cuDNN's algorithms for PyTorch, "
                     "Triton's configurations and XLA's kernels were tried on a GPU that did nothing else"
                     + (f", but XLA compiled up to {together} convolutional networks at once." if together > 1
                        else "."))
    lines += [f"{one['date']}: {one['command']}" for one in whole["runs"]]
    return "\n".join(lines) + "\n"


def write(file, report):
    """Writes all or nothing, because a run may be interrupted at any time."""
    aside = f"{file}.part"
    with open(aside, "w") as out:
        json.dump(report, out, indent=1)
        out.write("\n")
    os.replace(aside, file)
