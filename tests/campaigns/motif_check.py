"""Checks one model with one set of options: runs taso-opt and examines everything it writes."""

import collections
import dataclasses
import hashlib
import json
import os
import resource
import signal
import subprocess

import numpy
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

import motif_model
import runtime_comparison
from motif_model import BASE_SIZES, FLOAT, OTHER_SIZES

NUMPY = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64"}
SECONDS = 120  # of processor time for one run
PATIENCE = 20  # times as long by the clock, because other programs use the processors too


@dataclasses.dataclass
class Finding:
    """The result for one model: `kind` is "passed", "not run" or the error."""

    seed: int
    kind: str = "passed"
    detail: str = ""
    facts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    command: tuple = ()
    options: frozenset = frozenset()

    @property
    def failed(self):
        return self.kind not in ("passed", "not run")


class Wrong(Exception):
    def __init__(self, kind, detail=""):
        super().__init__(kind)
        self.kind, self.detail = kind, detail


def shapes_at(session, sizes):
    return {entry.name: [sizes.get(dim, dim) for dim in entry.shape] for entry in session.get_inputs()}


def feed_at(session, sizes, seed):
    generator = numpy.random.default_rng(seed)
    shapes = shapes_at(session, sizes)
    feed = {}
    for entry in session.get_inputs():
        shape = shapes[entry.name]
        feed[entry.name] = generator.standard_normal(shape).astype(NUMPY[entry.type]) if entry.type in NUMPY else \
            generator.integers(0, 7, shape)
    return feed


def feeds_of(session, sizes):
    """Feeds at several sizes, as far as the model accepts them, and one that overrides overridable inputs."""
    feeds = []
    for number, at in enumerate(sizes):
        feed = feed_at(session, at, number)
        try:
            session.run(None, feed)
            feeds.append(feed)
        except Exception:
            if number == 0:
                raise
    overridable = session.get_overridable_initializers()
    if overridable:
        generator = numpy.random.default_rng(99)
        others = {entry.name: generator.uniform(0.3, 1.7, entry.shape).astype(NUMPY[entry.type])
                  for entry in overridable if entry.type in NUMPY}
        try:
            session.run(None, {**feeds[0], **others})
            feeds.append({**feeds[0], **others})
        except Exception:
            pass
    return feeds


class HigherPrecision:
    """The model with wider numbers: in ONNX Runtime if it has the kernels, else in ONNX's reference."""

    def __init__(self, path, element):
        model = onnx.load(path)
        self.type = "float64" if element == FLOAT else "float32" if element == TensorProto.FLOAT16 else "longdouble"
        if element == TensorProto.DOUBLE:
            raise ValueError("there is nothing wider than double")
        wider = motif_model.with_element(model, TensorProto.DOUBLE if element == FLOAT else FLOAT, element)
        try:
            session = runtime_comparison.open_session(wider.SerializeToString(), threads=1)
            self.run = lambda feed: session.run(None, feed)
        except Exception:
            evaluator = ReferenceEvaluator(wider)
            self.run = lambda feed: evaluator.run(None, feed)

    def __call__(self, feed):
        return self.run({name: array.astype(self.type) if array.dtype.kind == "f" else array
                         for name, array in feed.items()})


def distance(a, b):
    """The largest difference of two outputs of one shape; infinite if they are not finite at the same places."""
    a, b = numpy.asarray(a, "float64"), numpy.asarray(b, "float64")
    if a.shape != b.shape or not numpy.array_equal(numpy.isfinite(a), numpy.isfinite(b)):
        return numpy.inf
    rest = ~numpy.isfinite(a)
    if not numpy.array_equal(a[rest], b[rest], equal_nan=True):
        return numpy.inf
    difference = numpy.abs(a - b)[~rest]
    return float(difference.max()) if difference.size else 0.0


def largest(array):
    """The largest finite number."""
    array = numpy.abs(numpy.asarray(array, "float64"))
    return float(array[numpy.isfinite(array)].max(initial=0))


def justified(path, element, feed, expected, actual):
    """Whether rounding explains why results differ: "" if not, else the reason."""
    for e, a in zip(map(numpy.asarray, expected), map(numpy.asarray, actual)):
        if e.dtype != a.dtype or e.shape != a.shape:
            return ""
        if e.dtype.kind == "f" and (numpy.isfinite(e) & ~numpy.isfinite(a)).any():
            return ""
    try:
        wide = HigherPrecision(path, element)(feed)
        with numpy.errstate(all="ignore"):
            if all(distance(w, a) <= 4 * distance(w, e) + 1e-5 * (1 + largest(w))
                   for w, e, a in zip(wide, expected, actual)):
                return "no worse than the original beside wider numbers"
    except Exception:
        pass
    # Steps (rounding to integers, comparisons) amplify small differences. Accept as much as they amplify in the
    # original if all its numbers change by as much as rounding changes them.
    step = {FLOAT: 1e-6, TensorProto.FLOAT16: 1e-3, TensorProto.DOUBLE: 1e-14}[element]
    moved = [0.0] * len(expected)
    for number in range(16):
        generator = numpy.random.default_rng(number)
        session = runtime_comparison.open_session(nearby_model(path, generator, step), threads=1)
        results = session.run(None, {name: nearby(array, generator, step) for name, array in feed.items()})
        moved = [max(m, distance(e, n)) for m, e, n in zip(moved, expected, results)]
    if all(runtime_comparison.same(e, a) or distance(e, a) <= 3 * m for e, a, m in zip(expected, actual, moved)):
        return "no more than numbers nearby make"
    return ""


def nearby(array, generator, step):
    if array.dtype.kind != "f":
        return array
    # numpy's arithmetic on rank 0 does not return arrays.
    return numpy.asarray(array * (1 + step * generator.standard_normal(array.shape)), array.dtype)


def nearby_model(path, generator, step):
    """The model with every weight changed slightly."""
    model = onnx.load(path)
    tensors = list(model.graph.initializer)
    tensors += [attribute.t for node in model.graph.node for attribute in node.attribute if attribute.HasField("t")]
    for tensor in tensors:
        if tensor.data_type in (FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE):
            array = nearby(numpy_helper.to_array(tensor), generator, step)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return model.SerializeToString()


def special(feed, seed, numbers):
    """The feed with a few numbers replaced."""
    generator = numpy.random.default_rng(seed)
    changed = {}
    for name, array in feed.items():
        array = array.copy()
        if array.dtype.kind == "f" and array.size:
            for _ in range(max(1, array.size // 16)):
                array.reshape(-1)[generator.integers(array.size)] = generator.choice(numbers)
        changed[name] = array
    return changed


def compare_special(finding, before, after, feed, seed, element):
    """Infinities, NaN and large numbers: reports what happens to finite outputs, without judging it."""
    mode = " ".join(["--float", *(value for option, value in finding.options if option == "--float")])
    large = 1e4 if element == TensorProto.FLOAT16 else 1e30 if element == FLOAT else 1e250
    for name, numbers in (("inf", [numpy.inf, -numpy.inf]), ("nan", [numpy.nan]), ("large", [large, -large])):
        changed = special(feed, seed, numbers)
        try:
            expected = before.run(None, changed)
        except Exception:
            continue
        try:
            actual = after.run(None, changed)
        except Exception as error:
            raise Wrong("does not run with special values", runtime_comparison.first_line(error))
        arrays = [(numpy.asarray(e), numpy.asarray(a)) for e, a in zip(expected, actual)]
        pairs = [(numpy.isfinite(e), numpy.isfinite(a)) for e, a in arrays
                 if e.dtype.kind == "f" and e.shape == a.shape]
        what = "finite at the same places"
        if any((e & ~a).any() for e, a in pairs):
            what = "finite became not finite"
        elif any((~e & a).any() for e, a in pairs):
            what = "not finite became finite"
        finding.facts[f"special {name}, {mode}: {what}"] += 1


def digests(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def run_program(*command, cache):
    environment = {**os.environ, "MALLOC_PERTURB_": "165", "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", env=environment,
                          timeout=PATIENCE * SECONDS, preexec_fn=limit_processor_time)
    if done.returncode == -signal.SIGXCPU:
        raise subprocess.TimeoutExpired(command, SECONDS)
    return done


def limit_processor_time():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 10))


class Check:
    """One model in its own folder. `programs`: taso-opt and taso-verify, which may be None."""

    def __init__(self, programs, sets, cache, folder):
        self.taso_opt, self.taso_verify = programs
        self.sets, self.cache, self.folder = sets, cache, folder

    def optimise(self, path, arguments, into):
        into.mkdir(exist_ok=True)
        output = into / "out.onnx"
        done = run_program(self.taso_opt, path, "-o", output, *arguments, cache=self.cache)
        if done.returncode != 0:
            said = [line for line in done.stderr.strip().splitlines() if line.strip()]
            raise Wrong(f"exit {done.returncode}", "\n".join(said[-4:]))
        if "this is a bug in taso" in done.stderr:  # taso-opt noticed it and wrote a correct model
            raise Wrong("taken back", next(line for line in done.stderr.splitlines() if "this is a bug" in line))
        return output

    def prepare(self, seed, model, traits, chosen):
        """Writes the model; returns its session, feeds and command line."""
        path = self.folder / "model.onnx"
        if traits.external:  # ONNX Runtime needs lists of numbers, such as shapes, in the model
            onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=128)
        else:
            onnx.save(model, path)
        onnx.checker.check_model(str(path))
        before = runtime_comparison.open_session(path, threads=1)
        fixed = ("--overwrite-input-shape", "given") in chosen
        feeds = feeds_of(before, [BASE_SIZES] if fixed or not traits.open else [BASE_SIZES, *OTHER_SIZES])
        data = []
        if ("--input-data", "given") in chosen:
            for name, array in feeds[0].items():
                data.append((name, self.folder / f"{name}.npy"))
                numpy.save(data[-1][1], array)
        shapes = shapes_at(before, BASE_SIZES)
        opened = [entry.name for entry in before.get_inputs() if any(isinstance(dim, str) for dim in entry.shape)]
        arguments = self.sets.arguments(chosen, seed, opened, shapes, data, self.folder / "report.json")
        return path, before, feeds, arguments

    def look_at(self, finding, path, before, feeds, arguments, chosen, traits):
        seed = finding.seed
        output = self.optimise(path, arguments, self.folder / "first")
        try:
            onnx.checker.check_model(str(output))
        except Exception as error:
            raise Wrong("invalid by onnx.checker", runtime_comparison.first_line(error))
        try:
            after = runtime_comparison.open_session(output, threads=1)
        except Exception as error:
            raise Wrong("does not load", runtime_comparison.first_line(error))
        for feed in feeds:
            expected = before.run(None, feed)
            try:
                actual = after.run(None, feed)
            except Exception as error:
                raise Wrong("does not run", runtime_comparison.first_line(error))
            if not runtime_comparison.same(expected, actual):
                reason = justified(path, traits.element, feed, expected, actual)
                if not reason:
                    sizes = {name: array.shape for name, array in feed.items()}
                    raise Wrong("outputs differ", f"by {max(map(distance, expected, actual)):.3g} at {sizes}")
                finding.facts[f"differ by rounding: {reason}"] += 1
            finding.facts["comparisons"] += 1
        compare_special(finding, before, after, feeds[0], seed, traits.element)
        finding.facts["changed"] += int(self.is_changed(path, output))
        self.follow_certificate(finding, path, output, chosen)
        if seed % 8 == 0:
            self.optimise(path, arguments, self.folder / "second")
            if digests(self.folder / "first") != digests(self.folder / "second"):
                raise Wrong("a second run gives other bytes")
            finding.facts["second runs"] += 1
        if seed % 8 == 1:
            place = arguments.index("--jobs") + 1 if "--jobs" in arguments else None
            others = list(arguments) + ["--jobs", "2"] if place is None else \
                [*arguments[:place], "1" if arguments[place] != "1" else "2", *arguments[place + 1:]]
            self.optimise(path, others, self.folder / "second")
            if digests(self.folder / "first") != digests(self.folder / "second"):
                raise Wrong("another number of jobs gives other bytes")
            finding.facts["runs with other jobs"] += 1

    def is_changed(self, path, output):
        texts = []
        for file in (path, output):
            model = onnx.load(file, load_external_data=False)
            texts.append([(node.op_type, list(node.input), list(node.output)) for node in model.graph.node])
        return texts[0] != texts[1]

    def follow_certificate(self, finding, path, output, chosen):
        certificate = output.with_name(output.name + ".cert")
        if ("--no-certificate", True) in chosen:
            if certificate.exists():
                raise Wrong("a certificate in spite of --no-certificate")
            return
        if not certificate.exists():
            raise Wrong("no certificate")
        finding.facts["steps of the search"] += len(json.loads(certificate.read_text()).get("steps", []))
        if self.taso_verify is None:
            return
        flags = [part for option, value in sorted(chosen, key=str) if option in ("--rules", "--extra-rules")
                 for part in (option, self.sets.files[value])]
        done = run_program(self.taso_verify, "--certificate", certificate, path, output, *flags, cache=self.cache)
        if done.returncode != 0 or "ACCEPTED" not in done.stderr + done.stdout:
            said = "\n".join(done.stderr.strip().splitlines()[-4:])
            raise Wrong("certificate rejected", f"exit {done.returncode}: {said}")
        finding.facts["certificates accepted"] += 1

    def run(self, seed, model, traits, chosen):
        finding = Finding(seed, options=chosen)
        try:
            path, before, feeds, arguments = self.prepare(seed, model, traits, chosen)
        except Exception as error:
            finding.kind, finding.detail = "not run", runtime_comparison.first_line(error)
            return finding
        finding.command = tuple(arguments)
        try:
            self.look_at(finding, path, before, feeds, arguments, chosen, traits)
        except Wrong as wrong:
            finding.kind, finding.detail = wrong.kind, wrong.detail
        except subprocess.TimeoutExpired:
            finding.kind, finding.detail = "over time", f"more than {SECONDS} s"
        except Exception as error:  # an error of the campaign itself must not end all
            finding.kind, finding.detail = "error of the campaign", repr(error)
        return finding
