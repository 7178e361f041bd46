"""Runs the programs of the package as child processes: optimize, verify, generate.

A child process keeps a long search apart from the caller's. Ctrl-C reaches it: it then writes the best result so far.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import cuda_libraries
from .errors import CANCELLED, NOT_VERIFIED, OK, ArgumentError, UnavailableError, error_of
from .session import model_argument

FOLDER = pathlib.Path(__file__).parent / "bin"
Progress = Callable[[str], None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a search. `result` is the best so far, which is also written; None if there is none."""

    def __init__(self, text: str, result: Any = None) -> None:
        super().__init__(text)
        self.result = result


@dataclass(frozen=True)
class Result:
    """What `optimize` returns."""

    #: The path of the written model, or its bytes if no output was named.
    model: pathlib.Path | bytes
    #: Everything about the run, as `taso-opt --report` writes it.
    report: dict[str, Any]
    #: The path of the certificate for `verify`; None if the model was not written to a file.
    certificate: pathlib.Path | None

    @property
    def speedup(self) -> float | None:
        """How many times as fast the model is predicted to be on a GPU; None if there is no prediction."""
        before, after = (self.report[when]["predicted"] for when in ("before", "after"))
        if not before or not after:
            return None
        key = "seconds_in_lanes" if before["seconds_in_lanes"] and after["seconds_in_lanes"] else "seconds"
        return before[key] / after[key] if after[key] else None


@dataclass(frozen=True)
class Verification:
    """What `verify` returns. It is true if everything was proved."""

    passed: bool
    #: What the program printed, with counterexamples.
    text: str
    #: The verdicts, as `taso-verify --report` writes them; None for a certificate.
    report: dict[str, Any] | None

    def __bool__(self) -> bool:
        return self.passed


@dataclass(frozen=True)
class Rules:
    """What `generate` returns."""

    path: pathlib.Path
    report: dict[str, Any]


def program(name: str) -> pathlib.Path:
    """The path of a program of the package."""
    path = FOLDER / name
    if not path.exists():
        reason = "; it needs Z3, which this package was built without" if name in ("taso-verify", "taso-gen") else ""
        raise UnavailableError(f"this package has no {name}{reason}")
    return path


def environment() -> dict[str, str]:
    """The environment of programs: they find CUDA's libraries where the extension finds them."""
    folders = [str(folder) for folder in cuda_libraries.folders()]
    changed = dict(os.environ)
    if folders:
        changed["LD_LIBRARY_PATH"] = ":".join(filter(None, [changed.get("LD_LIBRARY_PATH"), *folders]))
    return changed


def arguments(options: Mapping[str, Any]) -> list[str]:
    """The options of a command line: max_ops=3 is --max-ops=3, True is the bare option, a list repeats it, and a
    dictionary repeats it with names (test_input_shape={"x": (1, 3)} is --test-input-shape=x:1,3)."""
    made = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            made.append(option)
        elif isinstance(value, Mapping):
            made += [f"{option}={key}:{plain(one)}" for key, one in value.items()]
        elif isinstance(value, (list, tuple)):
            made += [f"{option}={plain(one)}" for one in value]
        else:
            made.append(f"{option}={plain(value)}")
    return made


def plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def is_on_terminal() -> bool:
    """Whether the program can draw on the terminal itself. In a notebook sys.stderr is something else."""
    try:
        return sys.stderr.fileno() == 2 and sys.stderr.isatty()
    except (AttributeError, OSError, ValueError):
        return False


def show(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def run(name: str, options: list[str], progress: Progress | bool | None) -> tuple[int, str]:
    """Runs a program to its end. Returns its exit code, and what it wrote for people, if that did not go to the
    terminal. Ctrl-C is passed on, once for each time, and the program's end is waited for."""
    path = program(name)
    inherits = progress in (None, True) and is_on_terminal()
    told = progress if callable(progress) else None if progress is False else show
    lines: list[str] = []
    child = subprocess.Popen([path, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=None if inherits else subprocess.PIPE, env=environment(), text=True,
                             encoding="utf-8", errors="replace")
    trouble: BaseException | None = None
    with child:
        while True:
            try:
                while child.stderr is not None and (line := child.stderr.readline()):
                    lines.append(line.rstrip("\n"))
                    if told is not None and trouble is None:
                        told(lines[-1])
                child.wait()
                break
            except KeyboardInterrupt:
                # A terminal has sent it to the child already. The same signal twice within 0.3 s counts once.
                child.send_signal(signal.SIGINT)
            except BaseException as error:  # of `progress`
                trouble = error
                child.send_signal(signal.SIGINT)
    if trouble is not None:
        raise trouble
    return child.returncode, "\n".join(lines)


def failure(name: str, code: int, text: str) -> Exception:
    """The exception for a program that failed."""
    prefix = f"{name}: error: "
    told = [line.removeprefix(prefix) for line in text.splitlines() if line.startswith(prefix)]
    # The exit codes of programs are the numbers of the library. A negative one is a signal.
    return error_of(1 if code < 0 else code, " ".join(told) or text.strip() or f"{name} ended with {code}")


def read_report(path: pathlib.Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() and path.stat().st_size else {}


def model_file(model: Any, folder: pathlib.Path) -> pathlib.Path:
    """The file of a model; what is not a file yet is written to the folder."""
    given = model_argument(model)
    if isinstance(given, str):
        return pathlib.Path(given)
    path = folder / "model.onnx"
    path.write_bytes(given)
    return path


def file_argument(path: str | os.PathLike) -> str:
    """A path on a command line, where "-x" would be an option, and "-" the standard output."""
    text = os.fsdecode(path)
    return f"./{text}" if text.startswith("-") else text


def optimize(model: Any, output: str | os.PathLike | None = None, *, seconds: float | None = None,
             progress: Progress | bool | None = None, **options: Any) -> Result:
    """Rewrites a model into a faster one that computes the same, as the program taso-opt does.

    model       a path, bytes, or an onnx.ModelProto
    output      the file to write; the certificate is put beside it, as OUTPUT.cert. None: the result has the bytes.
    seconds     the search ends after this time; None: when its budget of graphs is used up
    progress    a function that gets each line of what is going on; None or True: shown on the terminal or in the
                notebook; False: nothing
    options     those of taso-opt: budget=100, precision="fp16", test_input_shape={"x": (1, 3, 224, 224)}, force=True

    Ctrl-C ends the search: the best result so far is written, and is in the exception `Interrupted`.
    """
    if output is not None and os.fsdecode(output) == "-":
        raise ArgumentError("'-' is not a file to write to: without `output`, the result has the model's bytes")
    with tempfile.TemporaryDirectory(prefix="taso-") as name:
        folder = pathlib.Path(name)
        source = model_file(model, folder)
        target = folder / "result.onnx" if output is None else pathlib.Path(output)
        report = folder / "report.json"
        if output is None:
            options = {"embed": True, "no_certificate": True, **options}
        code, text = run("taso-opt", [file_argument(source), f"--output={file_argument(target)}", f"--report={report}",
                                      *arguments({"time_budget": seconds, **options})], progress)
        if code not in (OK, CANCELLED):
            raise failure("taso-opt", code, text)
        details = read_report(report)
        result = None
        if details and (details.get("output") or options.get("dry_run")):
            written = target.exists()
            certificate = target.with_name(target.name + ".cert")
            result = Result(target if output is not None else target.read_bytes() if written else b"", details,
                            certificate if output is not None and certificate.exists() else None)
    if code == CANCELLED or result is None:
        raise Interrupted("the search was interrupted", result)
    return result


def verify(*files: str | os.PathLike, certificate: str | os.PathLike | None = None,
           progress: Progress | bool | None = False, **options: Any) -> Verification:
    """Proves or refutes the rules of files, or checks a certificate, as the program taso-verify does.

    verify("my.rules")
    verify("model.onnx", "fast.onnx")

    The certificate of a model is the file beside it (fast.onnx.cert), unless `certificate` names another. The result is
    true if all rules are proved, or the certificate holds; its text has counterexamples.
    """
    names = [file_argument(file) for file in files]
    if certificate is None and any(name.endswith(".onnx") for name in names):
        if len(names) != 2:
            raise ArgumentError("verify takes files of rules, or a model, its faster form and a certificate")
        certificate = names[1] + ".cert"
        if not os.path.exists(certificate):
            raise ArgumentError(f"the certificate {certificate} does not exist: name it with certificate=")
    with tempfile.TemporaryDirectory(prefix="taso-") as name:
        report = pathlib.Path(name) / "report.json"
        wanted = {"certificate": certificate} if certificate is not None else {"report": report}
        lines: list[str] = []

        def keep(line: str) -> None:
            lines.append(line)
            if callable(progress):
                progress(line)
            elif progress is not False:
                show(line)

        code, _ = run("taso-verify", [*arguments({**wanted, **options}), *names], keep)
        text = "\n".join(lines)
        if code == CANCELLED:
            raise Interrupted("the proofs were interrupted")
        if code not in (OK, NOT_VERIFIED):
            raise failure("taso-verify", code, text)
        return Verification(code == OK, text, None if certificate is not None else read_report(report))


def generate(output: str | os.PathLike, *, operators: str | list[str] | None = None, max_ops: int | None = None,
             progress: Progress | bool | None = None, **options: Any) -> Rules:
    """Finds rewrite rules and writes them to a file, as the program taso-gen does.

    operators   names of operators and of sets of them, such as "small"
    max_ops     the largest number of operators in a program
    options     those of taso-gen: partial=True, jobs=2, resume=True

    Ctrl-C writes the rules proved so far, and raises `Interrupted`.
    """
    with tempfile.TemporaryDirectory(prefix="taso-") as name:
        report = pathlib.Path(name) / "report.json"
        names = ",".join(operators) if isinstance(operators, (list, tuple)) else operators
        code, text = run("taso-gen", [f"--output={os.fsdecode(output)}", f"--report={report}",
                                      *arguments({"operators": names, "max_ops": max_ops, **options})], progress)
        if code not in (OK, CANCELLED):
            raise failure("taso-gen", code, text)
        result = Rules(pathlib.Path(output), read_report(report))
    if code == CANCELLED:
        raise Interrupted("the generation was interrupted", result)
    return result


def replace_this_process(name: str) -> None:
    """For entry points: becomes the program."""
    try:
        path = program(name)
    except UnavailableError as error:
        print(f"{name}: {error}", file=sys.stderr)
        raise SystemExit(error.status) from None
    os.execve(path, [name, *sys.argv[1:]], environment())


def taso_opt() -> None:
    replace_this_process("taso-opt")


def taso_verify() -> None:
    replace_this_process("taso-verify")


def taso_gen() -> None:
    replace_this_process("taso-gen")


def taso_bench() -> None:
    replace_this_process("taso-bench")
