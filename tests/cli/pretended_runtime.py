"""Takes the place of a Python with ONNX Runtime in tests of taso-opt --target onnxruntime.

It speaks the protocol of cli/target/measure.py and runs nothing. PRETENDED_TURNS in the environment has a time for each
of the models that run in turn. The price of a model is its number of products. PRETENDED_FAULT names a command at which
it ends ("die:turns"), hangs ("hang:turns"), refuses ("refuse:load"), breaks ("break:price") or talks nonsense
("mumble:price"), or has no provider ("no-provider:load"). PRETENDED_LOG is a file to which it writes the commands,
PRETENDED_KEPT a folder into which it puts the models.
"""

import os
import re
import sys
import time

SIZES = {"load": (0,), "input": (1, 2)}


def answer_to(command, words, models):
    if command == "turns":
        times = os.environ.get("PRETENDED_TURNS", "100 100 100").split()[:len(words) - 1]
        return " ".join(times * 20)
    if command == "price":
        return f"{3000 + 5000 * models[int(words[0])].count(b'MatMul')} 0.01 0.0 Pretended=100"
    if command == "load":
        models.append(words[0])
        if kept := os.environ.get("PRETENDED_KEPT"):
            with open(os.path.join(kept, f"{len(models)}.onnx"), "wb") as file:
                file.write(words[0])
        return str(len(models) - 1)
    return ""


def main():
    fault, _, at = os.environ.get("PRETENDED_FAULT", "").partition(":")
    log = os.environ.get("PRETENDED_LOG")
    models = []
    print("ok 2 0.0.0", flush=True)
    while line := sys.stdin.buffer.readline():
        command, *words = line.decode().split()
        for place in SIZES.get(command, ()):
            words[place] = sys.stdin.buffer.read(int(words[place]))
        if log:
            with open(log, "a") as file:
                file.write(command + "\n")
        answer = f"ok {answer_to(command, words, models)}".strip()
        if command == at:
            if fault == "die":
                print("it hurts", file=sys.stderr)
                sys.exit(3)
            if fault == "hang":
                time.sleep(600)
            answer = {"refuse": "error Refusal: not this one", "mumble": "ok hm hm",
                      "break": "broken OSError: No space left on device",
                      "no-provider": f"broken NoProvider: {sys.argv[2]}ExecutionProvider does not start"}[fault]
        print(answer, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "-c":  # called as a Python with a program
        assert re.search("import onnxruntime", sys.argv[2])
        del sys.argv[1:3]
    main()
