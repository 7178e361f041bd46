"""Runs models in ONNX Runtime for taso-opt --target onnxruntime, and tells how long they take.

python3 measure.py THREADS PROVIDER

PROVIDER is CPU or CUDA. It reads commands from the standard input and answers each with one line: "ok ...",
"error ..." if ONNX Runtime refuses, or "broken ..." if the machine does (no space left, no such provider). A command is
a line of words; where a word is a SIZE, that many bytes follow the line. It ends with its input.

    load SIZE                              a serialised model; answers its number
    input MODEL SIZE SIZE TYPE EXTENT...   the name of an input and its contents, as numpy's TYPE
    turns SECONDS MODEL...                 runs the models in turn; answers the nanoseconds of a run for every model,
                                           round by round
    price MODEL SECONDS                    answers nanoseconds of a run, half of the interquartile range relative to
                                           them, the share of reorderings, and the kernels that ran
    drop MODEL                             forgets a model

The first line that it writes is "ok PROTOCOL VERSION". With one thread of the CPU provider, times are processor time,
which other programs on the machine disturb less; else they are times of the clock. With CUDA, inputs and outputs stay
on the device, and a run ends when the device has done its work.
"""

import importlib.util
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

PROTOCOL = 2
BLOCK_NANOSECONDS = 5_000_000
FEWEST_BLOCKS = 5
FEWEST_PROFILED_RUNS = 3
MOST_PROFILED_RUNS = 10
# ONNX Runtime puts these around convolutions in its own layout. In a network, only the first and the last pay for them.
REORDERINGS = {"ReorderInput", "ReorderOutput"}


def type_of(value):
    names = {"float": "float32", "double": "float64"}
    inner = value.type.removeprefix("tensor(").removesuffix(")")
    try:
        return numpy.dtype(names.get(inner, inner))
    except TypeError as error:
        raise ValueError(f"no values of type {value.type} can be made for its input '{value.name}'") from error


class NoProvider(OSError):
    """ONNX Runtime cannot use the provider, and would run everything on the CPU without a word."""


class Model:
    def __init__(self, source, threads, provider):
        self.source = source
        self.threads = threads
        self.provider = provider + "ExecutionProvider"
        self.device = "cuda" if provider == "CUDA" else "cpu"
        self.session = self.open(self.options())
        self.feed = None
        self.given = {}
        self.binding = None

    def options(self):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        return options

    def open(self, options):
        if self.provider not in onnxruntime.get_available_providers():
            raise NoProvider(f"this ONNX Runtime has no {self.provider}")
        session = onnxruntime.InferenceSession(self.source, options, providers=[self.provider])
        if self.provider not in session.get_providers():
            raise NoProvider(f"{self.provider} is there, but does not start (its libraries, or the GPU, are missing)")
        return session

    def inputs(self):
        """What was given, and for all other inputs random numbers or zeros."""
        if self.feed is None:
            random = numpy.random.default_rng(1)
            self.feed = dict(self.given)
            for one in self.session.get_inputs():
                if one.name in self.feed:
                    continue
                shape = [extent if isinstance(extent, int) else 1 for extent in one.shape]
                kind = type_of(one)
                drawn = random.standard_normal(shape) if kind.kind == "f" else numpy.zeros(shape)
                self.feed[one.name] = drawn.astype(kind)
        return self.feed

    def run(self, times):
        if self.device != "cpu":
            return self.run_bound(times)
        feed, session = self.inputs(), self.session
        start = now()
        for _ in range(times):
            session.run(None, feed)
        return now() - start

    def bind(self, session):
        """The inputs, on the device, and places for the outputs there."""
        binding = session.io_binding()
        for name, array in self.inputs().items():
            binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array, self.device))
        for output in session.get_outputs():
            binding.bind_output(output.name, self.device)
        return binding

    def run_bound(self, times):
        """As run(), but without passing arrays to and fro, which takes a microsecond for each, or more to a device."""
        if self.binding is None:
            self.binding = self.bind(self.session)
        binding, session = self.binding, self.session
        start = now()
        for _ in range(times):
            session.run_with_iobinding(binding)
        return now() - start

    def time_once(self):
        """After a run, which allocates memory."""
        self.run(1)
        return max(1, self.run(1))

    def check_shapes(self):
        """A result of another shape than declared: an operand that decides about it was not known."""
        for one, result in zip(self.session.get_outputs(), self.session.run(None, self.inputs())):
            if all(isinstance(extent, int) for extent in one.shape) and list(result.shape) != one.shape:
                raise ValueError(f"its result is {list(result.shape)} here, and {one.shape} in the plan")


class Measuring:
    def __init__(self, threads, provider):
        self.threads = threads
        self.provider = provider
        self.models = {}
        self.next = 0

    def load(self, content):
        model = Model(content, self.threads, self.provider)
        self.next += 1
        self.models[self.next] = model
        return str(self.next)

    def input(self, model, name, content, kind, *extents):
        model = self.models[int(model)]
        array = numpy.frombuffer(content, dtype=numpy.dtype(kind)).reshape([int(extent) for extent in extents])
        model.given[name.decode()] = array
        model.feed = model.binding = None

    def drop(self, model):
        del self.models[int(model)]

    def turns(self, seconds, *numbers):
        models = [self.models[int(number)] for number in numbers]
        blocks = [max(1, round(BLOCK_NANOSECONDS / model.time_once())) for model in models]
        rounds = []
        end = time.monotonic() + float(seconds)
        while not rounds or time.monotonic() < end:
            row = [0] * len(models)
            for order in (range(len(models)), reversed(range(len(models)))):  # A B B A
                for i in order:
                    row[i] += models[i].run(blocks[i]) / blocks[i] / 2
            rounds.append(row)
        return " ".join(str(round(one)) for row in rounds for one in row)

    def price(self, model, seconds):
        model = self.models[int(model)]
        model.check_shapes()
        once = model.time_once()
        block = max(1, min(1000, round(BLOCK_NANOSECONDS / 5 / once)))
        times = []
        end = time.monotonic() + float(seconds)
        while len(times) < FEWEST_BLOCKS or time.monotonic() < end:
            times.append(model.run_bound(block) / block)
            if len(times) >= 3 and sum(times) * block > 1e9 * float(seconds):  # long runs vary little
                break
        low, middle, high = numpy.percentile(times, (25, 50, 75))
        runs = max(FEWEST_PROFILED_RUNS, min(MOST_PROFILED_RUNS, round(BLOCK_NANOSECONDS / once)))
        kernels = self.kernels(model, runs)
        all_of_them = sum(kernels.values()) or 1
        reordering = sum(time for name, time in kernels.items() if name in REORDERINGS) / all_of_them
        names = ",".join(f"{name}={round(100 * time / all_of_them)}" for name, time in kernels.items())
        return f"{round(middle)} {(high - low) / 2 / middle:.4f} {reordering:.4f} {names or '-'}"

    def kernels(self, model, runs):
        """The time of each kind of kernel in a run, from ONNX Runtime's own profile. The first run allocates memory,
        in which a kernel can take 50 times as long, so it does not count."""
        with tempfile.TemporaryDirectory() as folder:
            options = model.options()
            options.enable_profiling = True
            options.profile_file_prefix = str(pathlib.Path(folder) / "profile")
            session = model.open(options)
            binding = model.bind(session)
            for _ in range(1 + runs):
                session.run_with_iobinding(binding)
            events = json.loads(pathlib.Path(session.end_profiling()).read_text())
        times = {}  # of each node, run by run
        for event in events:
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                name = event["args"]["op_name"]
                if (provider := event["args"].get("provider", model.provider)) != model.provider:
                    name += "@" + provider.removesuffix("ExecutionProvider")
                times.setdefault((name, event["name"]), []).append(event["dur"])
        kernels = {}
        for (name, _), taken in times.items():
            each_run = max(1, len(taken) // (1 + runs))  # more than one within a loop
            later = sorted(taken[each_run:] or taken)
            usual = later[: max(1, 3 * len(later) // 4)]  # their mean: times are whole microseconds
            kernels[name] = kernels.get(name, 0) + statistics.mean(usual) * each_run
        return kernels


# For each command: the places of the words that are sizes.
COMMANDS = {"load": (0,), "input": (1, 2), "turns": (), "price": (), "drop": ()}


def serve(given, answers, measuring):
    while line := given.readline():
        command, *words = line.decode().split()
        try:
            for place in COMMANDS[command]:
                size = int(words[place])
                words[place] = given.read(size)
                if len(words[place]) != size:
                    return
            answer = f"ok {getattr(measuring, command)(*words) or ''}".rstrip()
        except (OSError, MemoryError) as error:
            answer = "broken " + " ".join(f"{type(error).__name__}: {error}".split())
        except Exception as error:
            answer = "error " + " ".join(f"{type(error).__name__}: {error}".split())
        answers.write(answer.encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    # What ONNX Runtime itself prints must not get between the answers.
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import numpy

    wanted, kind = int(sys.argv[1]), sys.argv[2]
    if kind == "CUDA" and importlib.util.find_spec("torch"):
        import torch  # noqa: F401 (it brings the CUDA libraries into the process)
    import onnxruntime

    if kind == "CUDA" and "torch" not in sys.modules and hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()
    now = time.thread_time_ns if wanted == 1 and kind == "CPU" else time.perf_counter_ns
    channel.write(f"ok {PROTOCOL} {onnxruntime.__version__}\n".encode())
    channel.flush()
    serve(sys.stdin.buffer, channel, Measuring(wanted, kind))
