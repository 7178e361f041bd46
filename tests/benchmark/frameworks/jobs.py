"""One model in one precision: everything that is timed for it, in turn."""

import dataclasses
import datetime
import functools
import os
import pathlib

import numpy
import onnx

import graph
import report
from processes import Failure, Worker, alone

LOAD_LIMIT = 180  # seconds for importing a framework and reading a model, while others do the same
ANSWER_LIMIT = 120  # seconds for timing, or for one set of outputs
LARGE = 600  # operators: larger networks compile for long, with several threads


@functools.cache
def operators_of(model):
    """The names of all operators in a file."""
    return [node.op_type for node in onnx.load(str(model), load_external_data=False).graph.node]


@functools.cache
def is_convolutional(model):
    """Whether a model has more than the one convolution that cuts an image into patches: only then the memory format
    matters."""
    return operators_of(model).count("Conv") > 1


@dataclasses.dataclass(eq=False)
class Variant:
    """A framework with one layout in its own process; or the optimised model, of which only the outputs are needed."""

    job: object
    settings: dict
    is_check: bool = False
    worker: Worker = None
    state: str = "waiting"  # then "traced", perhaps "preparing", "prepared"; or "failed"
    reason: str = ""
    seconds: dict = dataclasses.field(default_factory=dict)

    def name(self):
        return "the optimised model" if self.is_check else f"{self.settings['framework']} ({self.settings['layout']})"

    def takes_long(self):
        return self.settings["framework"] in ("compile", "xla") and len(operators_of(self.job.model)) >= LARGE

    def is_settled(self):
        return self.state in ("prepared", "failed")

    def start(self):
        job, settings = self.job, self.settings
        environment = {}
        if job.settings.on_gpu:
            threads = 4 if len(operators_of(job.model)) >= LARGE else 1  # of each: many networks are compiled at once
            environment = {name: os.environ.get(name, str(value)) for name, value in
                           (("TORCHINDUCTOR_COMPILE_THREADS", threads), ("OMP_NUM_THREADS", 4))}
        name = "optimised" if self.is_check else f"{settings['framework']}.{settings['layout']}"
        self.worker = Worker(settings, job.folder / f"{job.model.stem}.{job.precision}.{name}.log", environment)

    def ask(self, limit, what):
        self.seconds[what] = self.worker.ask(limit, do=what)["seconds"]

    def fail(self, reason):
        if self.state != "failed":
            self.state, self.reason = "failed", str(reason)
            self.job.say(f"{self.job.name}, {self.name()}: {reason}")
        if self.worker:
            self.worker.end()


class Job:
    def __init__(self, model, precision, settings, folder, programs, say):
        self.model = model
        self.precision = precision
        self.settings = settings
        self.folder = folder
        self.programs = programs
        self.say = say
        self.name = f"{model.stem} {precision}"
        self.bounds = None  # of integer inputs: known when a framework has read the model
        self.optimised = None
        self.taso_failures = []
        self.is_optimised = not programs.optimises()  # or it was tried
        self.check = None
        self.variants = [Variant(self, one) for one in self.all_settings()]

    def all_settings(self):
        """The settings of all processes that this model needs, longest work first."""
        settings = self.settings
        for framework in sorted(settings.frameworks, key=["xla", "compile", "eager", "onnxruntime", "session"].index):
            layouts = settings.compile_layouts if framework == "compile" else settings.layouts
            if framework in ("xla", "session") or not is_convolutional(self.model):
                layouts = ["contiguous"]
            for layout in layouts:
                yield {"framework": framework, "layout": layout, "precision": self.precision, "model": str(self.model),
                       "batch": settings.batch, "seed": settings.seed, "device": settings.device,
                       "optimize": settings.optimize,
                       "nice": 5 if framework == "compile" and settings.on_gpu else 0}

    def is_ready(self):
        """Whether only the timing is left."""
        return (self.is_optimised and all(one.is_settled() for one in self.variants)
                and (self.check is None or self.check.is_settled()))

    def has_something(self):
        return any(one.state == "prepared" for one in self.variants)

    def optimise(self, limit):
        """The optimised model, or None."""
        try:
            return self.programs.optimise(self.model, self.precision, limit)
        except Failure as failure:
            self.taso_failures.append(str(failure))
            self.say(f"{self.name}: {failure}")
            return None

    def checker(self):
        """Adds PyTorch with the optimised model on the CPU, for its outputs only; it gets the same inputs as the
        others."""
        self.check = Variant(self, {"framework": "eager", "layout": "contiguous", "precision": "fp32",
                                    "model": str(self.optimised), "batch": self.settings.batch,
                                    "seed": self.settings.seed,
                                    "device": "cpu", "bounds": self.bounds, "nice": 5}, is_check=True)
        return self.check

    def outputs_of(self, variant):
        """A worker's description of itself, and the outputs of its network."""
        file = self.folder / f"outputs.{self.model.stem}.{self.precision}.{'check' if variant.is_check else 'one'}.npz"
        about = variant.worker.ask(ANSWER_LIMIT, do="outputs", file=str(file))
        with numpy.load(file) as data:
            arrays = [data[f"arr_{i}"] for i in range(len(data.files))]
        file.unlink()
        return about, arrays

    def each(self, variants, action):
        """Applies an action to every variant, one at a time, and returns those that succeeded."""
        done = []
        for variant in variants:
            try:
                action(variant)
                done.append(variant)
            except Failure as failure:
                variant.fail(failure)
        return done

    def measure(self, whole):
        """Times everything that is prepared, with all other processes stopped, and returns the row of the table."""
        settings = self.settings
        outputs, abouts = {}, {}

        def collect(variant):
            abouts[variant], outputs[variant.name()] = self.outputs_of(variant)

        ready = self.each([one for one in self.variants if one.state == "prepared"], collect)
        if self.check and self.check.state == "prepared":
            self.each([self.check], collect)
            self.check.worker.end()
        times = {variant: [] for variant in ready}
        bench = None
        rounds = max(settings.rounds, 1)
        runs = -(-settings.runs // rounds)
        with alone({variant.worker for variant in ready}):
            for turn in range(rounds):
                if turn == rounds // 2 and settings.taso_bench:
                    bench = self.bench()
                ready = self.each(ready[::-1], lambda variant: times[variant].extend(
                    variant.worker.ask(ANSWER_LIMIT, do="time", runs=runs)["microseconds"]))
        row = self.empty_row()
        self.add_frameworks(row, ready, times, abouts, whole)
        self.add_taso(row, bench, whole)
        row["agreement"] = report.agreement(outputs, self.precision)
        report.conclude(row)
        return row

    def empty_row(self):
        return {"model": self.model.stem, "precision": self.precision, "batch": self.settings.batch,
                "examples": self.settings.batch or graph.own_batch(self.model),
                "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "times": {}}

    def late_row(self, reason):
        """The row of a job that did not get its turn."""
        row = self.empty_row()
        columns = [*self.settings.frameworks, *(["before"] if self.settings.taso_bench else []),
                   *(["after"] if self.programs.optimises() else [])]
        row["times"] = {column: {"failures": [reason]} for column in columns}
        row["agreement"] = report.agreement({}, self.precision)
        report.conclude(row)
        return row

    def bench(self):
        models = [self.model] + ([self.optimised] if self.optimised else [])
        log = self.folder / f"{self.model.stem}.{self.precision}.taso-bench.log"
        for some in (models, models[:1]) if len(models) > 1 else (models,):  # one failure must not cost both
                                                                             # timed
            try:
                return self.programs.bench(some, self.precision, log)
            except Failure as failure:
                self.taso_failures.append(str(failure))
                self.say(f"{self.name}: {failure}")
        return None

    def add_frameworks(self, row, ready, times, abouts, whole):
        for framework in self.settings.frameworks:
            variants, failures = [], []
            for one in self.variants:
                if one.settings["framework"] != framework:
                    continue
                if one not in ready:
                    failures.append(f"{one.settings['layout']}: {one.reason}")
                    continue
                about = abouts[one]
                whole["versions"].update(about["versions"])
                if whole["device"] in (None, "CPU"):
                    whole["device"] = about["device"]
                variants.append({**report.summary(times[one]), "layout": one.settings["layout"],
                                 "device": about["device"],
                                 "how": about["how"], "seconds": one.seconds})
            best = min(variants, key=lambda one: one["median"]) if variants else {}
            row["times"][framework] = {**best, "variants": variants, "failures": failures}

    def add_taso(self, row, bench, whole):
        if not self.settings.taso_bench:
            return
        columns = ["before"] + (["after"] if self.programs.optimises() else [])
        for column, figures in zip(columns, (bench or {}).get("models", [])):
            row["times"][column] = {**figures["microseconds"], "device": bench["device"], "failures": [],
                                    **{key: figures[key] for key in
                                       ("check", "kernels", "predicted_microseconds", "measured_share", "on_host",
                                        "layout", "speed_against_first") if key in figures}}
        for column in columns:
            row["times"].setdefault(column, {"failures": self.taso_failures or ["no figures"]})
        if bench and bench.get("versions"):
            whole["versions"]["taso"] = bench["versions"]

    def end(self):
        for one in [*self.variants, *([self.check] if self.check else [])]:
            if one.worker:
                one.worker.end()
