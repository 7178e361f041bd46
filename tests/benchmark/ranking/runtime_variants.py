"""Variants of a model in ONNX Runtime: what taso-opt predicts for each, and how long it takes."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Runtime:
    """The process that measures for taso-opt, which runs models in turn."""

    def __init__(self, python, target):
        provider = "CUDA" if target.endswith(":cuda") else "CPU"
        self.process = subprocess.Popen([python, ROOT / "cli/target/measure.py", "1", provider],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def answer(self):
        line = self.process.stdout.readline().decode().strip()
        if not line.startswith("ok"):
            raise RuntimeError(f"ONNX Runtime: {line or 'it ended'}")
        return line.split()[1:]

    def ask(self, *words, content=b""):
        self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n" + content)
        self.process.stdin.flush()
        return self.answer()

    def load(self, model):
        content = model.read_bytes()
        return self.ask("load", len(content), content=content)[0]

    def turns(self, seconds, models):
        """The nanoseconds of a run of each model, in each round."""
        times = [int(one) for one in self.ask("turns", seconds, *models)]
        return [times[i::len(models)] for i in range(len(models))]


def predicted_nanoseconds(model, options, report):
    """What taso-opt predicts for a model as it is. It measures kernels that it has no prices of."""
    command = [options.build / "bin/taso-opt", model, "--dry-run", "-qq", "--target", options.target,
               "--runtime-threads", "1", "--python", options.python, "--budget", "1", "--check", "0", "--report", report]
    if options.prices:
        command += ["--prices", options.prices]
    subprocess.run(command, check=True)
    return 1e9 * json.loads(report.read_text())["in_runtime"]["predicted_clean_ups_seconds"]


def measured(model, options, folder):
    """For each variant of the model its name, what is predicted for it, and its times in nanoseconds, load by load."""
    made = subprocess.run([options.build / "tools/cost_variants", "--write", folder, "--count", str(options.count),
                           "--seed", str(options.seed), "--budget", str(options.budget), "--searching",
                           str(options.searching), "--prices", ROOT / "cost/prices/nvidia-h200.prices", model],
                          text=True, capture_output=True, cwd=ROOT)
    if made.returncode != 0:
        sys.exit(f"{model.stem}: {(made.stdout + made.stderr).strip().splitlines()[-1]}")
    variants = sorted(folder.glob("*.onnx"), key=lambda file: int(file.stem))
    predicted = [predicted_nanoseconds(one, options, folder / "report.json") for one in variants]
    with Runtime(options.python, options.target) as runtime:
        loaded = [runtime.load(one) for _ in range(options.loads) for one in variants]
        times = runtime.turns(options.seconds, loaded)
    names = [one.stem for one in variants]
    return [{"model": name, "predicted": nanoseconds, "times": taken}
            for name, nanoseconds, taken in zip(names * options.loads, predicted * options.loads, times)]
