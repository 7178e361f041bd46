"""The steps of scripts/show-gpu. Each works through a list within its time. Every finished item leaves a file in the
results, and is skipped if that file exists. A failed item leaves a file with the reason."""
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parents[3]
SMALL_FIRST = ["squeezenet1_1", "resnet50", "bert_base", "mobilenet_v2", "nasrnn", "nas_cell", "inception_v3",
               "vit_b_16", "resnet18", "resnext50", "csrnet", "resnet3d_18", "ssd300_resnet50", "nasnet_mobile",
               "densenet121", "bert_large", "nasnet_large"]
EXAMPLES = ["small_convnet", "small_transformer"]
REPEATED = ["inception_v3", "bert_base", "squeezenet1_1", "mobilenet_v2"]


class NoGpu(Exception):
    """There is no GPU; the text says why."""


@dataclasses.dataclass
class Done:
    code: int
    said: str
    seconds: float
    ended_by_us: bool

    def reason(self):
        lines = [line for line in self.said.strip().splitlines() if line.strip()]
        if self.ended_by_us:
            return f"not done after {self.seconds:.0f} s"
        errors = [line for line in lines if "error" in line]
        return (errors or lines or [f"exit {self.code}"])[-1]


AT_ONCE = max(1, (os.cpu_count() or 2) // 2)  # processes, where they do not measure


def folder_of(program):
    """The folder of a program in a build."""
    return "tests" if program.endswith("_tests") else "tools" if program.startswith("cost_") else "bin"


@dataclasses.dataclass
class Place:
    """Where things are, and the settings of a run."""
    build: pathlib.Path
    results: pathlib.Path
    work: pathlib.Path
    precision: str = "tf32"
    batch: int = 1
    networks: list = dataclasses.field(default_factory=lambda: EXAMPLES + SMALL_FIRST)
    models: list = dataclasses.field(default_factory=list)
    sizes: dict = dataclasses.field(default_factory=dict)
    limit: float = 90       # seconds per command
    each: float = 15        # seconds for the variants of one network
    seed: int = 0           # of these variants
    record_precisions: str = "tf32,fp32,fp16"
    record_batches: str = "1"

    @property
    def prices(self):
        return self.results / "measured.prices"

    @property
    def kind(self):
        return f"{self.precision}-{self.batch}"

    def program(self, name):
        return self.build / folder_of(name) / name

    def environment(self):
        """Hides the shipped prices, so that only those in the results count."""
        hidden = self.work / "data"
        (hidden / "prices").mkdir(parents=True, exist_ok=True)
        return {**os.environ, "TASO_DATA": str(hidden)}


class Clock:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Running:
    """The commands that are running. They have sessions of their own and would outlive us; an interrupt reaches only
    the main thread, which may be waiting for threads that wait for them."""

    def __init__(self):
        self.lock, self.processes, self.is_over = threading.Lock(), set(), False

    def begin(self, *arguments, **more):
        with self.lock:
            if self.is_over:
                raise KeyboardInterrupt
            process = subprocess.Popen(*arguments, start_new_session=True, **more)
            self.processes.add(process)
            return process

    def end(self, process):
        """Removes a process that has ended; if we ended it with all others, its output is dropped."""
        with self.lock:
            self.processes.discard(process)
            if self.is_over:
                raise KeyboardInterrupt

    def end_all(self):
        """Prevents new processes."""
        with self.lock:
            self.is_over = True
            for process in self.processes:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


RUNNING = Running()


def run(command, seconds, place, **variables):
    """Runs a command. Interrupts it when its time is up, so that taso can write what it has; kills it if that does not
    help."""
    begin = time.monotonic()
    process = RUNNING.begin([str(one) for one in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", env={**place.environment(), **variables})
    ended = False
    for wait, how in ((seconds, signal.SIGINT), (15, signal.SIGKILL), (60, None)):
        try:
            said = process.communicate(timeout=max(wait, 1))[0]
            break
        except subprocess.TimeoutExpired:
            ended = True
            os.killpg(process.pid, how)
    RUNNING.end(process)
    if "no GPU can be used" in said:
        raise NoGpu(re.search(r"no GPU can be used.*", said)[0])
    return Done(process.returncode, said, time.monotonic() - begin, ended)


def side_by_side(count, work, things):
    """Applies `work` to all things, `count` at a time. If one fails or we are interrupted, all stop."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        try:
            return list(pool.map(work, things))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            RUNNING.end_all()
            raise


def keep(file, value):
    """Writes all or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(file.name + ".part")
    beside.write_text(value if isinstance(value, str) else json.dumps(value, indent=1) + "\n")
    beside.replace(file)


def fail(file, done, clock):
    """A command that our budget ended has not failed: another run may have more time."""
    if not (done.ended_by_us and clock.left() < 1):
        keep(file, done.reason() + "\n")


def write_network(name, place):
    """The file of an example network."""
    if name in EXAMPLES:
        return SOURCE / "examples" / f"{name}.onnx"
    file = place.work / place.kind / f"{name}.onnx"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(".part.onnx")
        subprocess.run([place.program("taso-networks"), name, "-q", "--batch", str(place.batch), "-o", beside],
                       check=True)
        beside.replace(file)
    return file


def optimise(model, output, place, seconds, *more):
    """taso-opt's report, with its time; the reason if there is none."""
    report = place.work / f"{output.stem}.report.json"
    report.unlink(missing_ok=True)
    # Where nothing is measured, prices are only read; before the first measurement there are none.
    prices = ["--prices", place.prices] if "cuda" in more or place.prices.exists() else []
    done = run([place.program("taso-opt"), model, "--precision", place.precision, *prices, "--report", report,
                "--no-certificate", "-q", *more], seconds, place)
    if not report.exists():
        return done, None
    found = {"wall_seconds": done.seconds, "interrupted": done.ended_by_us, "code": done.code,
             **json.loads(report.read_text())}
    return done, found


def add_up(known, report):
    """The report of the first use of a network, if that took several runs."""
    if known is None:
        return report
    report["measuring"] = {key: value + report["measuring"][key] for key, value in known["measuring"].items()}
    report["wall_seconds"] += known["wall_seconds"]
    return report


def networks(place, clock):
    """Each network before and after taso-opt: first use, runs in turn, second use."""
    folder = place.results / "networks" / place.kind
    for name in place.networks:
        first, bench, failed = (folder / f"{name}.{what}" for what in ("first.json", "bench.json", "failed.txt"))
        if bench.exists() or failed.exists():
            continue
        if clock.left() < 5:
            return
        model, output = write_network(name, place), place.work / place.kind / f"{name}.opt.onnx"
        output.parent.mkdir(parents=True, exist_ok=True)
        shapes = shapes_of(model, {}) if name in EXAMPLES else []
        known = json.loads(first.read_text()) if first.exists() else None
        if known is None or known["interrupted"] or not output.exists():
            done, report = optimise(model, output, place, min(clock.left(), place.limit), "-o", output, "--force",
                                    "--device",
                                    "cuda", *shapes)
            if report is None or done.code not in (0, 130):
                fail(failed, done, clock)
                say(f"{name}: {done.reason()}")
                continue
            keep(first, add_up(known, report))
            say(f"{name}: {report['measuring']['kernels']} kernels measured in {report['measuring']['seconds']:.1f} s, "
                f"taso-opt took {done.seconds:.1f} s{', cut short' if done.ended_by_us else ''}")
        bench_models(model, output, bench, failed, place, clock, "--profile", "--runs", "200", *shapes)
    for name in place.networks:
        again = folder / f"{name}.again.json"
        if again.exists() or not (folder / f"{name}.bench.json").exists():
            continue
        if clock.left() < 3:
            return
        model = write_network(name, place)
        shapes = shapes_of(model, {}) if name in EXAMPLES else []
        done, report = optimise(model, place.work / f"{name}.again.onnx", place, clock.left(), "--dry-run", "--check",
                                "0",
                                "--device", "cuda", *shapes)
        if report is not None and not done.ended_by_us:
            keep(again, report)
            say(f"{name}: the second time {report['measuring']['kernels']} kernels measured, {done.seconds:.1f} s")


def bench_models(model, output, bench, failed, place, clock, *more):
    figures = place.work / f"{bench.stem}.figures.json"
    figures.unlink(missing_ok=True)
    done = run([place.program("taso-bench"), model, output, "--device", "cuda", "--precision", place.precision,
                "--prices",
                place.prices, "--json", figures, *more], min(clock.left(), place.limit), place)
    if not figures.exists() or done.ended_by_us:
        fail(failed, done, clock)
        say(f"{model.stem}: {done.reason()}")
        return
    keep(bench.with_suffix(".txt"), done.said)
    keep(bench, figures.read_text())
    told = [f"{one['microseconds']['median']:.1f} us (predicted {one.get('predicted_microseconds', 0):.1f}"
            + (")" if one.get("check", {}).get("agrees", True) else ", DOES NOT AGREE)")
            for one in json.loads(figures.read_text())["models"]]
    say(f"{model.stem}: {', after taso-opt '.join(told)}; {done.seconds:.1f} s")


def shapes_of(model, sizes):
    """Arguments with sizes for open dimensions: those given by name, otherwise 1."""
    try:
        import onnx
    except ImportError:  # models with open dimensions then fail with a message
        return []
    graph = onnx.load(model, load_external_data=False).graph
    weights = {one.name for one in graph.initializer}
    arguments = []
    for one in graph.input:
        dims = one.type.tensor_type.shape.dim
        if one.name in weights or all(dim.dim_value > 0 for dim in dims):
            continue
        extents = [dim.dim_value if dim.dim_value > 0 else sizes.get(dim.dim_param, 1) for dim in dims]
        arguments += ["--test-input-shape", f"{one.name}:{','.join(map(str, extents))}"]
    return arguments


def models(place, clock):
    """Other models before and after taso-opt: whether the GPU agrees with the reference, and which operators have no
    kernel. Their kernels are not measured; the search uses the known prices."""
    folder = place.results / "models" / place.precision
    todo = [one for one in place.models if not any((folder / f"{one.stem}.{end}").exists()
                                                   for end in ("bench.json", "failed.txt"))]
    work = place.work / "models"
    work.mkdir(parents=True, exist_ok=True)
    shapes = {one: shapes_of(one, place.sizes) for one in todo}

    def prepare(model):
        output = work / f"{model.stem}.opt.onnx"
        return model, output, *optimise(model, output, place, min(clock.left(), place.limit), "-o", output, "--force",
                                        "--jobs",
                                        "2", *shapes[model])

    prepared = side_by_side(AT_ONCE, prepare, todo)
    say(f"{len(todo)} models optimised")
    for model, output, done, report in prepared:
        failed = folder / f"{model.stem}.failed.txt"
        if clock.left() < 3:
            return
        if report is None or not output.exists():
            fail(failed, done, clock)
            say(f"{model.stem}: {done.reason()}")
            continue
        keep(folder / f"{model.stem}.first.json", {**report, "shapes": shapes[model]})
        bench_models(model, output, folder / f"{model.stem}.bench.json", failed, place, clock, "--no-measuring",
                     "--runs", "20",
                     *shapes[model])


def ranking(place, clock):
    """Variants of each network, with predicted and measured times. While one network uses the GPU, others search."""
    folder = place.results / "ranking" / (f"{place.kind}-{place.seed}" if place.seed else place.kind)
    folder.mkdir(parents=True, exist_ok=True)
    turn, at_a_time = place.work / "turn", 3
    # The one on the GPU also lets libraries prepare kernels, which takes cores, too.
    jobs = max(1, ((os.cpu_count() or 2) - 2) // at_a_time)

    def rank(name):
        file, failed, late = (folder / f"{name}.{what}" for what in ("json", "failed.txt", "late.txt"))
        if file.exists() or failed.exists() or clock.left() < 8:
            return
        # A process waits for its turn as long as there is time; then it has `each` seconds, or what is left.
        model, left = write_network(name, place), clock.left()
        done = run([place.program("cost_variants"), "--precision", place.precision, "--prices", place.prices, "--jobs",
                    jobs,
                    "--searching", f"{min(place.each, left / 2):.1f}", "--turn", turn, "--seconds", f"{place.each:.1f}",
                    "--within", f"{left - 2:.1f}", "--seed", place.seed, "--runs", "100", "--json", file, model], left,
                   place)
        if file.exists():
            late.unlink(missing_ok=True)
        elif "in time" in done.reason():
            keep(late, done.reason() + "\n")  # results are kept: another run gets further
        else:
            fail(failed, done, clock)
        say(f"{name}: {done.said.strip().splitlines()[-1] if file.exists() and done.said.strip() else done.reason()}")

    side_by_side(at_a_time, rank, (one for one in place.networks if one not in EXAMPLES))


def repeat(place, clock):
    """The same kernels, measured by three processes."""
    folder = place.results / "repeat"
    folder.mkdir(parents=True, exist_ok=True)
    runs = [folder / f"{i}.prices" for i in (1, 2, 3)]
    left = [one for one in runs if not one.exists()]
    files = [write_network(name, place) for name in REPEATED]
    for i, one in enumerate(left):
        seconds = clock.left() / (len(left) - i) - 3  # to start, and for the last kernel
        if seconds < 2:
            say("no time for it")
            return
        done = run([place.program("cost_repeat"), "--precision", place.precision, "--seconds", f"{seconds:.1f}",
                    "--out", one,
                    *files], seconds + 30, place)
        say(done.said.strip().splitlines()[-1] if done.said.strip() else done.reason())
    done = run([place.program("cost_repeat"), "--compare", *runs], 10, place)
    keep(folder / "compared.txt", done.said)
    say(done.said.strip())


def tests(place, clock):
    """Random configurations of every kind of kernel against the interpreter in float64."""
    file = place.results / "tests.txt"
    if file.exists():
        return
    usual, always = 130, 40  # seconds: with a patience of one, and for tests that ignore it
    patience = max(0.1, (clock.left() - always) / usual)
    apart = 100_000  # between the seeds of two processes

    def of_one(at):
        return run([place.program("runtime_tests"), "*GPU*", "-d", "yes"], clock.left(), place,
                   TASO_TEST_PATIENCE=f"{patience:.2f}", TASO_TEST_SEED=str(at * apart))

    processes = min(8, AT_ONCE)  # most of the time goes into preparing engines on the host
    parts = side_by_side(processes, of_one, range(processes))
    keep(file, "\n".join(f"{done.said}\nseeds from {at * apart}: exit {done.code} after {done.seconds:.0f} s"
                         f"{', ended by the budget' if done.ended_by_us else ''}\n" for at, done in enumerate(parts)))
    say("\n".join(done.said.strip().splitlines()[-1] for done in parts if done.said.strip()))


def sanitize(place, clock):
    """A few of them under compute-sanitizer."""
    file = place.results / "sanitize.txt"
    if file.exists():
        return
    done = run([SOURCE / "scripts/sanitize-gpu", place.build.resolve(), "memcheck"], clock.left(), place)
    keep(file, f"{done.said}\nexit {done.code} after {done.seconds:.0f} s"
               f"{', ended by the budget' if done.ended_by_us else ''}\n")
    say("\n".join(done.said.strip().splitlines()[-3:]))


def record(place, clock):
    """Prices of all example networks and of the graphs that the search makes from them; resumes where it ended."""
    done = run([SOURCE / "scripts/record-prices", place.build, place.prices, f"{clock.left() - 10:.0f}"], clock.left(),
               place,
               PRECISIONS=place.record_precisions, BATCHES=place.record_batches)
    with (place.results / "record.txt").open("a") as log:
        what = f"{place.record_precisions}, batch {place.record_batches}, {done.seconds:.0f} s"
        log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {what}\n{done.said}")
    say(done.said.strip().splitlines()[-1] if done.said.strip() else done.reason())


STEPS = {one.__name__: one for one in (networks, models, ranking, repeat, tests, sanitize, record)}
BUDGETS = {"networks": 260, "models": 60, "ranking": 180, "repeat": 40, "tests": 80, "sanitize": 30, "record": 120}


def go(steps, place):
    """Runs all steps, given as (name, seconds)."""
    try:
        for name, seconds in steps:
            say(f"== {name}, {seconds:.0f} s")
            begin = time.monotonic()
            STEPS[name](place, Clock(seconds))
            say(f"== {name} took {time.monotonic() - begin:.0f} s")
    except NoGpu as trouble:
        sys.exit(f"show-gpu: {trouble}")
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(130)
    finally:
        RUNNING.end_all()
