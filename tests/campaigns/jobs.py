"""A piece of work for each program, with outputs that tell an earlier run from a new one.

The campaigns kill the programs at it, or take something away from them, and look at what they leave behind.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from opt_models import floats, model_of, weight  # noqa: E402
from running import UNNAMED  # noqa: E402
from test_search import RULES  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("TASO_PROGRAMS", SOURCE / "build" / "dev" / "bin"))


def projections(scale):
    """Two products that a search merges, with weights that may lie in a separate file."""
    values = np.arange(32 * 32).reshape(32, 32) % 7 * scale
    nodes = [onnx.helper.make_node("Identity", ["x"], ["i"]), onnx.helper.make_node("MatMul", ["i", "q"], ["a"]),
             onnx.helper.make_node("MatMul", ["i", "k"], ["b"]), onnx.helper.make_node("Tanh", ["a"], ["y"]),
             onnx.helper.make_node("Tanh", ["b"], ["z"])]
    model = model_of(nodes, [floats("x", [16, 32])], [floats("y", [16, 32]), floats("z", [16, 32])],
                     [weight("q", values), weight("k", values + 1)])
    model.doc_string = f"with weights of {scale}"  # the bytes of the model differ too if the weights are elsewhere
    return model


def whole_json(path):
    json.loads(path.read_text())


def whole_page(path):
    assert path.read_text().rstrip().endswith("</html>"), f"{path.name} is cut off"


def whole_xml(path):
    assert path.read_text().rstrip().endswith("</testsuites>"), f"{path.name} is cut off"


def with_weights(path):
    """A model as it is read: while weights are replaced, it may refer to a second name of theirs. Read from a copy,
    because onnx refuses files that have two names."""
    with tempfile.TemporaryDirectory() as folder:
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, folder)
        return onnx.load(pathlib.Path(folder) / path.name).SerializeToString(deterministic=True)


@dataclass
class Job:
    """A program's work in a folder. `prepare` makes its inputs; the same in every folder."""

    program: str
    prepare: object  # of a folder
    arguments: object  # of a folder, and whether it is the earlier run, whose outputs are to be replaced
    exact: list  # outputs with the same bytes in every run
    varying: dict = field(default_factory=dict)  # outputs with times in them, and what tells whether they are whole
    kept: set = field(default_factory=set)  # what a killed run may leave for the next one
    with_weights: dict = field(default_factory=dict)  # a model among them, and the file that it refers to
    in_cache: list = field(default_factory=list)  # exact outputs in the cache folder


def prepare_models(folder):
    for name, scale in (("old.onnx", 1), ("model.onnx", 2)):
        onnx.save(projections(scale), folder / name)
    (folder / "my.rules").write_text(RULES)


def optimise(folder, is_earlier):
    return [folder / ("old.onnx" if is_earlier else "model.onnx"), "-o", folder / "out.onnx", "--external-data",
            "--rules", folder / "my.rules", "--budget", "50", "--lanes", "1", "--report", folder / "report.json",
            "--html", folder / "page.html", "--engine", folder / "out.taso"]


def prepare_rules(folder):
    """Of the shipped rules a few, which take a second."""
    head, *rules = re.split(r"^(?=rule )", (SOURCE / "rules" / "taso.rules").read_text(), flags=re.MULTILINE)
    (folder / "my.rules").write_text(head.splitlines()[0] + "\n\n" + "".join(rules[:12]))
    (folder / "old.rules").write_text(RULES)


def prove(folder, is_earlier):
    return [folder / ("old.rules" if is_earlier else "my.rules"), "--record", folder / "record", "--report",
            folder / "report.json", "--junit", folder / "junit.xml", "--time-limit", "0"]


def generate(folder, is_earlier):
    operators = ["add,relu", "2"] if is_earlier else ["matmul,add,relu,transpose", "3"]
    return ["-o", folder / "out.rules", "--operators", operators[0], "--max-ops", operators[1], "--rejected",
            folder / "rejected.rules", "--report", folder / "report.json", *([] if is_earlier else ["--resume"])]


def prepare_prices(folder):
    first, _, *prices = (SOURCE / "cost" / "prices" / "nvidia-h200.prices").read_text().splitlines(keepends=True)
    for name, some in (("old", prices[:40]), ("new", prices)):  # of a machine that is not shipped
        (folder / f"{name}.prices").write_text("".join([first, "machine another\n", *some]))
    prepare_models(folder)


def bench(folder, is_earlier):
    return [folder / "model.onnx", "--device", "cpu", "--runs", "2", "--import",
            folder / ("old.prices" if is_earlier else "new.prices"), "--export", folder / "all.prices", "--json",
            folder / "figures.json", "--html", folder / "page.html"]


def write_network(folder, is_earlier):
    return ["squeezenet1_1", "--seed", "2" if is_earlier else "1", "--image-size", "64", "-o", folder / "out.onnx"]


JOBS = {job.program: job for job in (
    Job("taso-opt", prepare_models, optimise, ["out.onnx", "out.onnx.data", "out.onnx.cert", "out.taso"],
        {"report.json": whole_json, "page.html": whole_page}, kept={"out.onnx.data.taso"},
        with_weights={"out.onnx": "out.onnx.data"}),
    Job("taso-verify", prepare_rules, prove, ["record"], {"report.json": whole_json, "junit.xml": whole_xml}),
    Job("taso-gen", lambda folder: None, generate, ["out.rules", "rejected.rules"], {"report.json": whole_json},
        kept={"out.rules.checkpoint", "out.rules.checkpoint.stages"}),
    Job("taso-bench", prepare_prices, bench, ["all.prices"], {"figures.json": whole_json, "page.html": whole_page},
        in_cache=["measured.prices"]),
    Job("taso-networks", lambda folder: None, write_network, ["out.onnx"]),
)}


class Bench:
    """A job, what it writes as a rule, and places to repeat it in, below `folder`."""

    def __init__(self, job, programs, folder):
        self.job, self.programs, self.folder = job, programs, folder
        self.old, self.new = self.whole_run("old", True), self.whole_run("new", False)
        assert set(self.old) == set(self.new) == set(job.exact + job.in_cache)
        for name in job.exact:
            assert self.old[name] != self.new[name], f"{name} cannot tell the runs apart"

    def place(self, name, after_another=False):
        """A new folder, optionally with the outputs of the earlier run."""
        place = self.folder / name
        (place / "cache").mkdir(parents=True)
        (place / "work").mkdir(exist_ok=True)
        self.job.prepare(place / "work")
        if after_another:
            self.finish(place, is_earlier=True)
        return place

    def start(self, place, is_earlier=False, environment=None, arguments=(), **options):
        environment = {**os.environ, "XDG_CACHE_HOME": str(place / "cache"), **(environment or {})}
        environment = {name: value for name, value in environment.items() if value is not None}
        command = [self.programs / self.job.program, *self.job.arguments(place / "work", is_earlier), *arguments]
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([str(part) for part in command], env=environment, text=True, errors="replace",
                                cwd=place / "work", **options)

    def end(self, place, **options):
        """Runs to its end; returns the exit code and what was said."""
        process = self.start(place, **options)
        _, said = process.communicate(timeout=600)
        return process.returncode, said

    def finish(self, place, **options):
        code, said = self.end(place, **options)
        assert code == 0, f"{self.job.program} ended with {code}: {said}"

    def whole_run(self, name, is_earlier):
        place = self.place(name)
        start = time.monotonic()
        self.finish(place, is_earlier=is_earlier)
        self.seconds = time.monotonic() - start
        return self.outputs(place)

    def outputs(self, place):
        """The exact outputs that are there."""
        paths = [(name, place / "work" / name) for name in self.job.exact]
        paths += [(name, place / "cache" / "taso" / name) for name in self.job.in_cache]
        return {name: path.read_bytes() for name, path in paths if path.exists()}

    def check_pieces(self, place):
        """Every output is that of the earlier run or the new one, or absent; nothing else is left behind."""
        for name, content in self.outputs(place).items():
            if name in self.job.with_weights:
                runs = [with_weights(self.folder / run / "work" / name) for run in ("old", "new")]
                assert with_weights(place / "work" / name) in runs, f"{name} or its weights are of neither run"
            elif name not in self.job.with_weights.values():
                assert content in (self.old[name], self.new[name]), f"{name} is neither the old nor the new one"
        for name, check in self.job.varying.items():
            if (place / "work" / name).exists():
                check(place / "work" / name)
        self.check_names(place, self.job.kept, may_have_temporary=True)

    def check_whole(self, place, with_cache=True):
        """The outputs are those of the new run, and nothing else is left behind."""
        expected = {name: content for name, content in self.new.items() if with_cache or name in self.job.exact}
        found = {name: content for name, content in self.outputs(place).items() if name in expected}
        assert found == expected, f"others: {[name for name in expected if found.get(name) != expected[name]]}"
        for name, check in self.job.varying.items():
            check(place / "work" / name)
        self.check_names(place, set(), may_have_temporary=False)

    def check_names(self, place, more, may_have_temporary):
        allowed = set(os.listdir(self.folder / "old" / "work")) | more
        strange = {name for name in os.listdir(place / "work") if name not in allowed}
        if may_have_temporary:
            strange = {name for name in strange if not UNNAMED.fullmatch(name)}
        assert not strange, f"left behind: {strange}"
