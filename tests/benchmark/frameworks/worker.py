"""One network in one framework, in its own process. compare.py controls it, with one line of JSON at a time.

load (at the start), trace, prepare, time RUNS, outputs FILE, and the end of the input.
"""

import json
import os
import sys
import time
import traceback


def main():
    settings = json.loads(sys.argv[1])
    os.nice(settings.get("nice", 0))
    # Frameworks may print anything; only answers go to the parent process.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**what):
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    def attempt(action):
        began = time.monotonic()
        try:
            answer(**(action() or {}), ok=True, seconds=round(time.monotonic() - began, 2))
        except Exception as error:
            traceback.print_exc()
            message = " ".join([line.strip() for line in str(error).splitlines() if line.strip()][:2])
            answer(ok=False, error=f"{type(error).__name__}: {message}"[:300])

    framework = None

    def load():
        nonlocal framework
        if settings["framework"] == "xla":
            from jax_framework import JaxFramework as Framework
        elif settings["framework"] == "onnxruntime":
            from onnxruntime_framework import OnnxRuntimeFramework as Framework
        elif settings["framework"] == "session":
            from session_framework import SessionFramework as Framework
        else:
            from torch_framework import TorchFramework as Framework
        framework = Framework(settings)
        return {"bounds": framework.program.bounds}

    def save(file):
        import numpy
        numpy.savez(file, *framework.outputs())
        return framework.about()

    attempt(load)
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "trace":
            attempt(lambda: framework.trace())
        elif request["do"] == "prepare":
            attempt(lambda: framework.prepare())
        elif request["do"] == "time":
            attempt(lambda: {"microseconds": framework.time(request["runs"])})
        elif request["do"] == "outputs":
            attempt(lambda: save(request["file"]))
    answers.flush()
    os._exit(0)  # the shutdown of frameworks takes long and is useless here


main()
