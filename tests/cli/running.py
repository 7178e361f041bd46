"""Runs a program to its end: exit code, output, messages."""

import dataclasses
import os
import re
import subprocess

# Of a file that has not got its name yet. Only a killed process leaves it, and the next one removes it.
UNNAMED = re.compile(r"\.taso-[0-9a-f]{16}\.tmp")


@dataclasses.dataclass
class Run:
    code: int
    out: str
    err: str


def run(program, *arguments, **options):
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, errors="replace",
                          timeout=300, **options)
    return Run(done.returncode, done.stdout, done.stderr)


def left_in(folder):
    """The names of what a killed process has left in the folder."""
    return {name for name in os.listdir(folder) if not UNNAMED.fullmatch(name)}
