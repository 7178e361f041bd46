"""Made-up programs for tests to call."""

import sys


def write_program(file, text, python=sys.executable):
    """An executable file of Python. A `#!` line cannot name the interpreter: it ends at the first space of a path, and is
    short. So the shell starts the interpreter, on a line that is a string to Python."""
    file.write_text(f"""#!/bin/sh
''''exec "{python}" "$0" "$@" #'''
{text}""")
    file.chmod(0o755)
    return file
