"""Tests how well predicted times rank variants of a model on a GPU, or in ONNX Runtime:

    scripts/compare-ranking [--build BUILD] [--count 20] [--seconds 20] [--loads 2] [--json FOLDER] MODEL...
    scripts/compare-ranking --target onnxruntime --prices FILE ... MODEL...
    scripts/compare-ranking --results FILE...

For each model, BUILD/tools/cost_variants makes variants by searches, good and bad ones. They run in turn, each loaded
several times: as plans on the GPU, or in ONNX Runtime with one thread. Two variants differ beyond noise if their distance exceeds three standard errors and one percent. The error
combines that of medians and that of the place in memory, estimated from loads of the same variant. Prints the share of
such pairs that the predictions rank right: on a GPU as they run, with concurrent kernels, and sequentially.
"""
import argparse
import dataclasses
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import runtime_variants

least_difference = 0.01


@dataclasses.dataclass
class Variant:
    """The measured and predicted time of a variant in microseconds, and the standard error of the measured one."""
    name: str
    took: float
    predicted: float
    error: float


def standard_error(times):
    """The standard error of a median, from the quantiles of roughly normal runs."""
    deviation = (times["95_percent"] - times["5_percent"]) / 3.29
    return 1.25 * deviation / math.sqrt(times["runs"])


def in_runtime(one):
    """A variant from its times in ONNX Runtime, in nanoseconds."""
    low, _, high = statistics.quantiles(one["times"], n=4)
    error = 1.25 * (high - low) / 1.35 / math.sqrt(len(one["times"]))
    return Variant(one["model"], statistics.median(one["times"]) / 1e3, one["predicted"] / 1e3, error / 1e3)


def as_run(one):
    """A variant from taso-bench's figures of a model."""
    times = one["microseconds"]
    return Variant(one["model"], times["median"], one["predicted_microseconds"], standard_error(times))


def one_after_the_other(one):
    variant = as_run(one)
    lanes = one.get("lanes", {})
    if lanes.get("one_after_the_other"):
        share = lanes["one_after_the_other"] / variant.took
        variant = Variant(variant.name, lanes["one_after_the_other"], lanes["predicted_one_after_the_other"],
                          variant.error * share)
    return variant


def together(loads):
    """Merges loads into one entry per variant. The deviation between loads of one variant, estimated from all variants
    with several loads, counts as an error of each."""
    by_name = {}
    for one in loads:
        by_name.setdefault(one.name, []).append(one)
    squares, freedom = 0, 0
    for group in by_name.values():
        squares += sum((math.log(one.took) - statistics.fmean(math.log(one.took) for one in group)) ** 2
                       for one in group)
        freedom += len(group) - 1
    deviation = math.sqrt(squares / freedom) if freedom else 0
    variants = []
    for name, group in by_name.items():
        took = statistics.fmean(one.took for one in group)
        error = max(max(one.error for one in group), deviation * took / math.sqrt(len(group)))
        variants.append(Variant(name, took, statistics.fmean(one.predicted for one in group), error))
    return variants, deviation


@dataclasses.dataclass
class Ranking:
    loads: list
    variants: list = dataclasses.field(default_factory=list)
    load_deviation: float = 0  # between loads of the same variant, relative to its time
    pairs: int = 0
    differing: int = 0
    right: int = 0
    wrong: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.variants, self.load_deviation = together(self.loads)
        for a, b in itertools.combinations(self.variants, 2):
            self.pairs += 1
            apart = a.took - b.took
            if abs(apart) <= max(3 * math.hypot(a.error, b.error), least_difference * min(a.took, b.took)):
                continue
            self.differing += 1
            if (a.predicted - b.predicted) * apart > 0:
                self.right += 1
            else:
                self.wrong.append((abs(apart), a, b))

    def offs(self):
        """The relative errors of the predictions, sorted."""
        return sorted(one.predicted / one.took - 1 for one in self.variants)


def of_plans(models):
    """The rankings of the models in taso-bench's JSON: (as they run, sequential)."""
    return Ranking([as_run(one) for one in models]), Ranking([one_after_the_other(one) for one in models])


def rankings(models):
    """The rankings of the models, by how they run."""
    if models and "times" in models[0]:
        return {"in ONNX Runtime": Ranking([in_runtime(one) for one in models])}
    return dict(zip(("as they run", "sequential"), of_plans(models)))


def report(name, models):
    found = rankings(models)
    if not models:
        print(f"{name}: no variants")
        return found
    for how, ranking in found.items():
        offs, times = ranking.offs(), [one.took for one in ranking.variants]
        share = f" ({100 * ranking.right / ranking.differing:.1f} %)" if ranking.differing else ""
        print(f"{name}, {how}: {len(times)} variants from {min(times):.1f} to {max(times):.1f} us, predictions "
              f"{100 * offs[0]:+.1f} to {100 * offs[-1]:+.1f} % off, median {100 * statistics.median(offs):+.1f} %, "
              f"loads of one {100 * ranking.load_deviation:.2f} % apart; "
              f"{ranking.differing} of {ranking.pairs} pairs differ, {ranking.right} of them ranked right{share}")
        for _, a, b in sorted(ranking.wrong, key=lambda one: -one[0])[:5]:
            print("  wrong: " + ", ".join(f"{one.name} {one.took:.2f} us, predicted {one.predicted:.2f}"
                                          for one in (a, b)))
    sys.stdout.flush()
    return found


def on_gpu(model, options, result):
    """The figures of the model's variants, from BUILD/tools/cost_variants."""
    result.unlink(missing_ok=True)  # so that results of an earlier run are not taken for new ones
    arguments = ["--count", options.count, "--seed", options.seed, "--budget", options.budget,
                 "--searching", options.searching, "--seconds", options.seconds, "--loads", options.loads,
                 "--runs", options.runs, "--precision", options.precision, "--json", result]
    if options.prices:
        arguments += ["--prices", options.prices]
    said = subprocess.run([options.build / "tools/cost_variants", *map(str, arguments), model], text=True,
                          capture_output=True)
    if said.returncode != 0 or not result.exists():
        lines = (said.stdout + said.stderr).strip().splitlines()
        sys.exit(f"{model.stem}: {lines[-1] if lines else f'exit {said.returncode}'}")
    print("  " + said.stdout.strip().splitlines()[-1], flush=True)
    return json.loads(result.read_text())["models"]


def in_onnxruntime(model, options, result):
    with tempfile.TemporaryDirectory() as folder:
        models = runtime_variants.measured(model, options, pathlib.Path(folder))
    result.write_text(json.dumps({"models": models}))
    return models


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--target", default="plan", choices=["plan", "onnxruntime", "onnxruntime:cuda"])
    parser.add_argument("--python", default=sys.executable, help="a Python with onnxruntime")
    parser.add_argument("--count", default=20, type=int)
    parser.add_argument("--seed", default=0, type=int, help="seed of the variants")
    parser.add_argument("--budget", default=60, type=int, help="most expansions per search")
    parser.add_argument("--searching", default=20, type=float, help="seconds of searching per model")
    parser.add_argument("--seconds", default=20, type=float, help="seconds of running per model")
    parser.add_argument("--loads", default=2, type=int, help="loads of each variant")
    parser.add_argument("--runs", default=100, type=int)
    parser.add_argument("--precision", default="tf32")
    parser.add_argument("--prices", type=pathlib.Path, help="the file of measured prices")
    parser.add_argument("--json", type=pathlib.Path, help="a folder for the measurements")
    parser.add_argument("--results", nargs="*", default=[], type=pathlib.Path,
                        help="files of such a folder, to be ranked again")
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    found = [report(file.stem, json.loads(file.read_text())["models"]) for file in options.results]
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            result = (options.json or pathlib.Path(folder)) / f"{model.stem}.json"
            result.parent.mkdir(parents=True, exist_ok=True)
            measure = on_gpu if options.target == "plan" else in_onnxruntime
            try:
                found.append(report(model.stem, measure(model, options, result)))
            except subprocess.CalledProcessError as error:  # the program has told why
                sys.exit(f"{model.stem}: {pathlib.Path(error.cmd[0]).name} ended with {error.returncode}")
            except (OSError, RuntimeError) as error:
                sys.exit(f"{model.stem}: {error}")
    for how in dict.fromkeys(how for one in found for how in one):
        ranked = [one[how] for one in found if how in one]
        differing, right = sum(one.differing for one in ranked), sum(one.right for one in ranked)
        if differing:
            print(f"together, {how}: {right} of {differing} pairs ranked right ({100 * right / differing:.1f} %)")


if __name__ == "__main__":
    main()
