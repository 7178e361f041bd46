"""The tests run wherever the sources are, also in a folder with a space in its name, and with both versions of Catch2.
"""

import pathlib
import re
import subprocess
import sys

from made_up_program import write_program


def test_a_made_up_program_runs_with_an_interpreter_anywhere(tmp_path):
    folder = tmp_path / "a folder" / ("deep" * 40)
    folder.mkdir(parents=True)
    interpreter = folder / "python"
    interpreter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    interpreter.chmod(0o755)
    program = write_program(folder / "program", "import sys\nprint(sys.argv[1:])", python=interpreter)
    done = subprocess.run([program, "one", "and two"], capture_output=True, text=True, check=True)
    assert done.stdout == "['one', 'and two']\n"


def test_no_test_writes_the_interpreter_into_a_first_line(source_folder):
    """A `#!` line ends at the first space."""
    at_fault = [str(file.relative_to(source_folder))
                for file in pathlib.Path(source_folder, "tests").rglob("*.py")
                if re.search(r"#!\s*\{", file.read_text())]
    assert at_fault == []


def test_both_versions_of_catch_have_the_names_that_tests_use(source_folder):
    """Version 3 moved matchers to another namespace; tests/catch.h brings back those in use."""
    tests = pathlib.Path(source_folder, "tests")
    of_version_3 = tests.joinpath("catch.h").read_text().partition("#else")[0]
    known = {"Approx", "Matchers", "Session", *re.findall(r"using Matchers::(\w+);|inline auto (\w+)\(", of_version_3)}
    known = {name for one in known for name in ([one] if isinstance(one, str) else one)}
    used = {name for file in tests.rglob("*.cpp") for name in re.findall(r"\bCatch::(\w+)", file.read_text())}
    assert "Contains" in used and used - known == set()
