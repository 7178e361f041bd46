"""Where the operators of ONNX run: those that had a kernel keep it."""

import json
import subprocess
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "tools" / "operators.txt"


def test_coverage_does_not_fall(programs):
    program = programs.parent / "tools" / "operator_coverage"
    done = subprocess.run([program, "--json", EXAMPLES], capture_output=True, text=True, check=True)
    totals = json.loads(done.stdout)["totals"]
    assert sum(totals.values()) == 194
    assert totals["modelled"] >= 49
    assert totals["modelled"] + totals["GPU"] >= 148
    table = subprocess.run([program, EXAMPLES], capture_output=True, text=True, check=True).stdout
    assert table.splitlines()[-1].startswith("194 operators:")
