"""compare_sessions.py FOLDER [DEVICE]: runs all models of a folder in sessions of taso, and compares the results with
those of ONNX Runtime on the CPU, as it computes them without its own optimiser.

Prints a line for each: the distance of the results, that of ONNX Runtime with its optimiser, which rounds differently
too (quantised models differ by percents), and what runs on the host though the device is a GPU. A distance is
‖a − b‖ / ‖b‖. PYTHONPATH names the package.
"""

import pathlib
import sys

import numpy
import onnxruntime
import runtime_comparison
import taso

TOLERANCE = {"float16": 5e-2, "float32": 1e-4}


def distance(actual, expected):
    """The largest of all outputs; infinite where types, shapes or infinities and NaN differ."""
    worst = 0.0
    for a, b in zip(actual, expected, strict=True):
        a, b = numpy.asarray(a), numpy.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            return numpy.inf
        if a.dtype.kind != "f":
            worst = max(worst, 0.0 if numpy.array_equal(a, b) else numpy.inf)
            continue
        a, b = a.astype("float64"), b.astype("float64")
        finite = numpy.isfinite(b)
        if not numpy.array_equal(numpy.where(finite, 0, a), numpy.where(finite, 0, b), equal_nan=True):
            return numpy.inf
        worst = max(worst, float(numpy.linalg.norm((a - b)[finite]) / max(numpy.linalg.norm(b[finite]), 1e-30)))
    return worst


def inputs_and_results(session):
    """For the first of some sizes of open dimensions that the model takes."""
    for size in (2, 1, 16, 64, 224):
        try:
            inputs = runtime_comparison.random_inputs(session, size=size)
            return inputs, session.run(None, inputs)
        except Exception as error:
            reason = error
    raise reason


def judge(model, device):
    """What to say of a model: a kind, and a text."""
    try:
        inputs, expected = inputs_and_results(runtime_comparison.open_session(model))
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        optimised = session.run(None, inputs)
    except Exception as error:  # a model that ONNX Runtime rejects cannot be judged
        return "not run", f"ONNX Runtime: {runtime_comparison.first_line(error)}"
    try:
        session = taso.Session(model, device=device, log=False)
        actual = list(session.run(inputs).values())
    except taso.Error as error:
        return "failed", str(error)
    ours, rounding = distance(actual, expected), distance(optimised, expected)
    half = any(numpy.asarray(one).dtype == numpy.float16 for one in expected)
    is_equal = ours <= max(TOLERANCE["float16" if half else "float32"], 2 * rounding)
    plans = session.report().get("plans", [])
    on_host = ", ".join(plans[0]["on_host"]) if plans else ""
    return "equal" if is_equal else "failed", (f"{session.device}, {ours:.0e} (ONNX Runtime {rounding:.0e})"
                                               + (f", on the host: {on_host}" if on_host else ""))


def main(folder, device="auto"):
    counts = {"equal": 0, "not run": 0, "failed": 0}
    for model in sorted(pathlib.Path(folder).rglob("*.onnx")):
        kind, text = judge(model, device)
        print(f"{kind:8} {model.relative_to(folder)}: {text}", flush=True)
        counts[kind] += 1
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
