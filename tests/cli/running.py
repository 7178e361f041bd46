"""Runs a program to its end: exit code, output, messages."""

import dataclasses
import subprocess


@dataclasses.dataclass
class Run:
    code: int
    out: str
    err: str


def run(program, *arguments, **options):
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, errors="replace",
                          timeout=300, **options)
    return Run(done.returncode, done.stdout, done.stderr)
