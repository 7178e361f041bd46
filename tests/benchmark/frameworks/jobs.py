"""One model in one precision: everything that is timed of it, in turn."""

import functools
import json
import pathlib
import shlex

import numpy
import onnx

import report
from processes import Failure, Worker, run

LOAD_LIMIT = 120  # seconds for importing a framework and reading a model
ANSWER_LIMIT = 120  # seconds for timing, or for one set of outputs


class Programs:
    """Ours: taso-networks, taso-opt and taso-bench, where they were given."""

    def __init__(self, settings, folder):
        self.settings = settings
        self.folder = folder
        self.optimised = {}

    def model(self, name):
        """The file of a model, which taso-networks makes if there is none of this name."""
        if pathlib.Path(name).is_file():
            return pathlib.Path(name).resolve()
        if not self.settings.taso_networks:
            raise Failure("there is no such file")
        batch = self.settings.batch or 1
        file = self.folder / (f"{name}.onnx" if batch == 1 else f"{name}.batch{batch}.onnx")
        if not file.exists():
            status = run([self.settings.taso_networks, name, "--batch", batch, "-o", file],
                         self.settings.taso_limit, self.folder / "taso-networks.log")
            if status != 0:
                raise Failure(f"taso-networks ended with {status}")
        return file

    def optimise(self, model, precision):
        """The optimised model; its prices are of a precision, and so it is."""
        settings = self.settings
        file = self.folder / f"{model.stem}.{precision}.optimised.onnx"
        if (model, precision) not in self.optimised:
            arguments = shlex.split(settings.opt_arguments)
            if "--precision" not in arguments and "--device" in arguments:
                arguments += ["--precision", precision]
            log = self.folder / f"{model.stem}.{precision}.taso-opt.log"
            status = run([settings.taso_opt, model, "-o", file, *arguments], settings.taso_limit, log)
            if status != 0 or not file.exists():
                raise Failure(f"taso-opt ended with {status}: {last_line(log)}")
            self.optimised[(model, precision)] = file
        return file

    def bench(self, models, precision, log):
        """taso-bench's figures of the models, which it times in turn."""
        settings = self.settings
        output = self.folder / f"{models[0].stem}.{precision}.taso-bench.json"
        output.unlink(missing_ok=True)
        command = [settings.taso_bench, *models, "--json", output, "--precision", precision,
                   "--runs", settings.runs, "--seed", settings.seed]
        command += ["--batch", settings.batch] if settings.batch else []
        command += ["--device", "cpu"] if settings.device == "cpu" else []
        status = run(command + shlex.split(settings.bench_arguments), settings.taso_limit, log)
        if not output.exists():
            raise Failure(f"taso-bench ended with {status}: {last_line(log)}")
        return json.loads(output.read_text())


@functools.cache
def operators_of(model):
    """The names of all operators in a file."""
    return [node.op_type for node in onnx.load(str(model), load_external_data=False).graph.node]


def last_line(log):
    lines = [line for line in pathlib.Path(log).read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


class Job:
    def __init__(self, model, precision, settings, folder, programs, say):
        self.model = model
        self.precision = precision
        self.settings = settings
        self.folder = folder
        self.programs = programs
        self.say = say
        self.name = f"{model.stem} {precision}"
        self.workers = None
        self.started = []  # beside those
        self.skipped = {}  # (framework, layout) -> why
        self.failures = {}  # framework -> reasons

    def variants(self):
        """Every process that this model needs."""
        settings = self.settings
        # More than the one convolution that cuts an image into patches: only then a memory format makes a difference.
        convolutional = operators_of(self.model).count("Conv") > 1
        for framework in settings.frameworks:
            layouts = settings.compile_layouts if framework == "compile" else settings.layouts
            for layout in layouts if convolutional and framework != "xla" else ["contiguous"]:
                yield {"framework": framework, "layout": layout, "precision": self.precision, "model": str(self.model),
                       "batch": settings.batch, "seed": settings.seed, "device": settings.device}

    def fail(self, worker, reason):
        framework, layout = worker.settings["framework"], worker.settings["layout"]
        self.failures.setdefault(framework, []).append(f"{layout}: {reason}")
        self.say(f"{self.name}, {worker.name()}: {reason}")

    def load(self):
        """Starts the processes: they import their frameworks and read the model."""
        if self.workers is not None:
            return
        self.workers = []
        for one in self.variants():
            reason = self.skipped.get((one["framework"], one["layout"]))
            if reason:
                self.failures.setdefault(one["framework"], []).append(reason)
            else:
                log = self.folder / f"{self.model.stem}.{self.precision}.{one['framework']}.{one['layout']}.log"
                self.workers.append(Worker(one, log))

    def each(self, workers, action):
        """Does something with every worker, one at a time; those that could are given back."""
        done = []
        for worker in workers:
            try:
                action(worker)
                done.append(worker)
            except Failure as failure:
                self.fail(worker, str(failure))
        return done

    def measure(self, whole):
        settings = self.settings
        limit = settings.compile_limit
        models, taso_failures = [self.model], []
        if settings.taso_opt:
            try:
                models.append(self.programs.optimise(self.model, self.precision))
            except Failure as failure:
                taso_failures.append(str(failure))
        bounds = {}
        ready = self.each(self.workers, lambda worker: bounds.update(worker.wait(LOAD_LIMIT)["bounds"]))
        checker = self.start_checker(models[1:], bounds)
        # torch.compile works on the CPU while the others warm up on the GPU; only then it needs the GPU for itself.
        compiling = [worker for worker in ready if worker.settings["framework"] == "compile"]
        for worker in compiling:
            worker.send(do="trace")
        others = self.each([worker for worker in ready if worker not in compiling],
                           lambda worker: worker.ask(limit, do="prepare"))
        compiling = self.each(compiling, lambda worker: worker.wait(limit))
        compiling = self.each(compiling, lambda worker: worker.ask(limit, do="prepare"))
        ready = [worker for worker in self.workers if worker in others or worker in compiling]

        outputs, times = {}, {worker: [] for worker in ready}
        abouts = {}

        def collect(worker):
            abouts[worker], outputs[worker.name()] = self.outputs_of(worker)

        ready = self.each(ready, collect)
        self.check_optimised(checker, outputs)
        bench = None
        rounds = max(settings.rounds, 1)
        runs = -(-settings.runs // rounds)
        for turn in range(rounds):
            if turn == rounds // 2 and settings.taso_bench:
                bench = self.bench(models, taso_failures)
            ready = self.each(ready[::-1], lambda worker: times[worker].extend(
                worker.ask(ANSWER_LIMIT, do="time", runs=runs)["microseconds"]))
        row = {"model": self.model.stem, "precision": self.precision, "batch": settings.batch, "times": {}}
        self.add_frameworks(row, ready, times, abouts, whole)
        self.add_taso(row, bench, taso_failures, whole)
        row["agreement"] = report.agreement(outputs, self.precision)
        report.conclude(row)
        return row

    def start_checker(self, optimised, bounds):
        """PyTorch with the optimised model, for its outputs only; on the inputs that the others get."""
        if not optimised or "eager" not in self.settings.frameworks:
            return None
        settings = {"framework": "eager", "layout": "contiguous", "precision": self.precision,
                    "model": str(optimised[0]), "batch": self.settings.batch, "seed": self.settings.seed,
                    "device": self.settings.device, "bounds": bounds}
        checker = Worker(settings, self.folder / f"{self.model.stem}.{self.precision}.optimised.log")
        self.started.append(checker)
        return checker

    def check_optimised(self, checker, outputs):
        if checker is None:
            return
        try:
            checker.wait(LOAD_LIMIT)
            checker.ask(ANSWER_LIMIT, do="prepare")
            outputs["the optimised model"] = self.outputs_of(checker)[1]
        except Failure as failure:
            self.say(f"{self.name}: the optimised model is not checked in PyTorch: {failure}")
        checker.end()

    def outputs_of(self, worker):
        """What a worker says about itself, and the outputs of its network."""
        file = self.folder / f"outputs.{self.model.stem}.npz"
        about = worker.ask(ANSWER_LIMIT, do="outputs", file=str(file))
        with numpy.load(file) as data:
            arrays = [data[f"arr_{i}"] for i in range(len(data.files))]
        file.unlink()
        return about, arrays

    def bench(self, models, failures):
        log = self.folder / f"{self.model.stem}.{self.precision}.taso-bench.log"
        for some in (models, models[:1]) if len(models) > 1 else (models,):  # one that fails is not to cost both
            try:
                return self.programs.bench(some, self.precision, log)
            except Failure as failure:
                failures.append(str(failure))
                self.say(f"{self.name}: {failure}")
        return None

    def add_frameworks(self, row, ready, times, abouts, whole):
        for framework in self.settings.frameworks:
            variants = []
            for worker in ready:
                if worker.settings["framework"] == framework:
                    about = abouts[worker]
                    whole["versions"].update(about["versions"])
                    if whole["device"] in (None, "CPU"):
                        whole["device"] = about["device"]
                    variants.append({**report.summary(times[worker]), "layout": worker.settings["layout"],
                                     "device": about["device"], "how": about["how"]})
            best = min(variants, key=lambda one: one["median"]) if variants else {}
            row["times"][framework] = {**best, "variants": variants, "failures": self.failures.get(framework, [])}

    def add_taso(self, row, bench, failures, whole):
        if not self.settings.taso_bench:
            return
        columns = ["before"] + (["after"] if self.settings.taso_opt else [])
        for column, figures in zip(columns, (bench or {}).get("models", [])):
            row["times"][column] = {**figures["microseconds"], "device": bench["device"], "failures": [],
                                    **{key: figures[key] for key in
                                       ("check", "kernels", "predicted_microseconds", "measured_share", "on_host",
                                        "layout", "speed_against_first") if key in figures}}
        for column in columns:
            row["times"].setdefault(column, {"failures": failures or ["no figures"]})
        if bench and bench.get("versions"):
            whole["versions"]["taso"] = bench["versions"]

    def end(self):
        for worker in [*(self.workers or []), *self.started]:
            if worker.process.poll() is None:
                worker.end()
        self.workers = []
