"""The results of scripts/show-gpu as Markdown."""
import json
import math
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "ranking"))
import ranking as ranks  # noqa: E402


def read(file):
    return json.loads(file.read_text()) if file.exists() else None


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def off(predicted, measured):
    return f"{100 * (predicted / measured - 1):+.1f} %"


def times(one):
    """(predicted and measured sequential time, predicted and measured time as it runs, streams) of a model in
    taso-bench's JSON."""
    run = (one["predicted_microseconds"], one["microseconds"]["median"])
    lanes = one.get("lanes")
    if not lanes:
        return run, run, 1
    return (lanes["predicted_one_after_the_other"], lanes["one_after_the_other"]), run, lanes["lanes"]


def agreement(one):
    def size(error):
        return "infinite" if error is None else f"{error:.1e}"  # JSON has no infinity

    check = one.get("check")
    if not check:
        return "not checked"
    text = f"{'yes' if check['agrees'] else '**NO**'}, {size(check['relative_error'])}"
    return text + (f" (rounding alone {size(check['rounding_error'])})" if "rounding_error" in check else "")


def benches(folder):
    """{name: taso-bench's figures}, in the order of creation."""
    files = sorted(folder.glob("*.bench.json"), key=lambda file: file.stat().st_mtime)
    return {file.name.removesuffix(".bench.json"): read(file) for file in files}


def failures(folder):
    """What failed, and what was late and will be tried again."""
    found = {file.name.removesuffix(end): file.read_text().strip() for end in (".late.txt", ".failed.txt")
             for file in folder.glob("*" + end)}
    return "".join(f"- {name}: {reason}\n" for name, reason in sorted(found.items()))


def prediction_table(found):
    rows, offs = [], {"sequential": [], "as it runs": []}
    for name, figures in found.items():
        for which, one in zip(("", ", optimised"), figures["models"]):
            alone, run, lanes = times(one)
            offs["sequential"].append(alone[0] / alone[1] - 1)
            offs["as it runs"].append(run[0] / run[1] - 1)
            rows.append([name + which, one["kernels"], f"{alone[0]:.1f}", f"{alone[1]:.1f}", off(*alone), lanes,
                         f"{run[0]:.1f}", f"{run[1]:.1f}", off(*run)])
    text = table(["network", "kernels", "sequential: predicted", "run", "off", "streams", "as it runs: predicted",
                  "run", "off"], rows)
    for how, found_off in offs.items():
        far = sorted(map(abs, found_off))
        near = sum(one <= 0.1 for one in far)
        text += f"\nWithin 10 %, {how}: {near} of {len(far)}, median {100 * statistics.median(far):.1f} % off."
    return text + "\n"


def gain_table(found):
    rows, ratios = [], []
    for name, figures in found.items():
        before, *after = figures["models"]
        row = [name, f"{before['microseconds']['median']:.1f}"]
        for one in after[:1]:
            ratio = one["speed_against_first"]
            ratios.append(ratio["ratio"])
            row += [f"{one['microseconds']['median']:.1f}",
                    f"{ratio['ratio']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f})"]
        row += [""] * (4 - len(row)) + [agreement(before), agreement(after[0]) if after else ""]
        rows.append(row)
    text = table(["network", "original", "optimised", "times as fast", "agrees before", "after"], rows)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        text += f"\nGeometric mean of {len(ratios)}: {mean:.3f} times as fast.\n"
    return text


def kernels_table(found, most=5):
    """Where the time of the optimised networks goes: kernels grouped by kind and origin, longest first."""
    rows = []
    for name, figures in found.items():
        profile = figures["models"][-1].get("profile", [])
        all_of_it = sum(kernel["measured"] for kernel in profile)
        kinds = {}
        for kernel in profile:
            ours = kernel["choice"].endswith(": own")
            kinds.setdefault((kernel["operators"], "ours" if ours else "libraries"), []).append(kernel)
        order = sorted(kinds.items(), key=lambda one: -sum(kernel["measured"] for kernel in one[1]))
        for (operators, origin), kernels in order[:most]:
            predicted, measured = (sum(kernel[what] for kernel in kernels) for what in ("predicted", "measured"))
            rows.append([name, operators, origin, len(kernels), f"{predicted:.1f}", f"{measured:.1f}",
                         f"{100 * measured / max(all_of_it, 1e-9):.0f} %"])
    return table(["network, optimised", "kernel", "whose", "how many", "predicted", "measured", "share"], rows)


def first_use_table(folder, names):
    rows, kernels, seconds = [], 0, 0
    for name in names:
        first, again = read(folder / f"{name}.first.json"), read(folder / f"{name}.again.json")
        if first is None:
            continue
        measuring = first["measuring"]
        kernels, seconds = kernels + measuring["kernels"], seconds + measuring["seconds"]
        rows.append([name, measuring["kernels"], f"{measuring['seconds']:.1f}",
                     f"{first['wall_seconds']:.1f}" + (" (cut short)" if first["interrupted"] else ""),
                     again["measuring"]["kernels"] if again else "",
                     f"{again['measuring']['seconds']:.1f}" if again else "",
                     f"{again['wall_seconds']:.1f}" if again else ""])
    text = table(["network", "kernels measured", "seconds of measuring", "seconds in all", "second use: measured",
                  "seconds of measuring", "in all"], rows)
    if kernels:
        text += f"\n{kernels} kernels in {seconds:.0f} seconds, {seconds / kernels:.2f} each.\n"
    return text


def models_table(folder):
    rows = []
    for name, figures in benches(folder).items():
        before, *after = figures["models"]
        report = read(folder / f"{name}.first.json") or {}
        given = [one for one in report.get("shapes", []) if not one.startswith("--")]
        hosts = sorted({one for model in figures["models"] for one in model["on_host"]})
        rows.append([name + (f" ({', '.join(given[:3])}{', …' if len(given) > 3 else ''})" if given else ""),
                     " → ".join(str(one["kernels"]) for one in figures["models"]),
                     " → ".join(f"{one['microseconds']['median']:.1f}" for one in figures["models"]), agreement(before),
                     agreement(after[0]) if after else "", ", ".join(hosts)])
    return table(["model", "kernels", "microseconds", "agrees before", "after", "on the host"], rows)


def part(right, differing):
    return f"{right} of {differing}" + (f", {100 * right / differing:.1f} %" if differing else "")


def ranking_table(folder):
    rows, sums = [], [[0, 0], [0, 0]]
    for file in sorted(folder.glob("*.json"), key=lambda one: one.stat().st_mtime):
        models = read(file)["models"]
        if not models:
            rows.append([file.stem, 0, *[""] * 8])
            continue
        both = ranks.of_plans(models)
        row = [file.stem, len(both[0].variants)]
        for sum_of, found in zip(sums, both):
            sum_of[0] += found.differing
            sum_of[1] += found.right
            took = [one.took for one in found.variants]
            offs = found.offs()
            row += [f"{min(took):.0f} to {max(took):.0f}", f"{100 * statistics.median(offs):+.1f} %",
                    f"{100 * found.load_deviation:.2f} %", part(found.right, found.differing)]
        rows.append(row)
    rows.append(["together", "", *(cell for differing, right in sums for cell in ("", "", "", part(right, differing)))])
    return table(["network", "variants", "as they run: µs", "predicted, median off", "loads apart",
                  "pairs ranked right", "sequential: µs", "predicted, median off", "loads apart",
                  "pairs ranked right"], rows)


def tests_text(text):
    """The number of configurations of each kind over all processes, and Catch2's counts for each."""
    checked = {}
    for kind, configurations, ways in re.findall(r"^\s*(.*): (\d+) configurations checked(?:, in (\d+) ways)?$", text,
                                                 re.MULTILINE):
        before = checked.get(kind, (0, 0))
        checked[kind] = (before[0] + int(configurations), before[1] + int(ways or 0))
    lines = [f"{kind}: {configurations} configurations checked" + (f", in {ways} ways" if ways else "")
             for kind, (configurations, ways) in checked.items()]
    lines += re.findall(r"^(?:test cases|assertions|All tests passed|=+ ERROR SUMMARY|exit|seeds from).*$", text,
                        re.MULTILINE)
    return "".join(f"- {line.strip()}\n" for line in lines)


def text_of(results):
    sections = []
    about = read(results / "about.json") or []
    figures = [one for folder in ("networks", "models") for kind in sorted((results / folder).glob("*"))
               for one in benches(kind).values()]
    device = figures[0]["device"] if figures else "a GPU"
    head = f"# Shown on {device}\n\n"
    if figures:
        head += f"{figures[0]['device']}, {figures[0]['versions']}. Times in microseconds, medians.\n"
    for one in about:
        head += f"\n- {one['date']}, commit {one['commit']}: `{one['command']}`"
    sections.append(head + "\n")
    for folder in sorted((results / "networks").glob("*")):
        found = benches(folder)
        precision, batch = folder.name.rsplit("-", 1)
        title = f"{precision}, batch {batch}"
        if found:
            sections.append(f"## Before and after taso-opt: {title}\n\n" + gain_table(found))
            sections.append(f"## Predicted and measured: {title}\n\n" + prediction_table(found))
            sections.append(f"## Where the time goes, sequential kernels: {title}\n\n" + kernels_table(found))
        sections.append(f"## First use: {title}\n\n" + first_use_table(folder, found))
        if failures(folder):
            sections.append(f"Not run, {title}:\n\n" + failures(folder))
    for folder in sorted((results / "models").glob("*")):
        sections.append(f"## Other models: {folder.name}\n\n" + models_table(folder))
        if failures(folder):
            sections.append("Not run:\n\n" + failures(folder))
    for folder in sorted((results / "ranking").glob("*")):
        precision, batch, *seed = folder.name.split("-")
        title = f"{precision}, batch {batch}" + (f", seed {seed[0]}" if seed else "")
        sections.append(f"## Variants ranked: {title}\n\n" + ranking_table(folder))
        if failures(folder):
            sections.append("Not run:\n\n" + failures(folder))
    compared = results / "repeat/compared.txt"
    if compared.exists():
        sections.append(f"## The same kernels measured three times\n\n```\n{compared.read_text().strip()}\n```\n")
    for name, title in (("tests", "Random configurations against the interpreter in float64"),
                        ("sanitize", "Under compute-sanitizer")):
        if (results / f"{name}.txt").exists():
            sections.append(f"## {title}\n\n" + tests_text((results / f"{name}.txt").read_text()))
    return "\n".join(sections)
