"""provider_overhead.py MODEL.onnx…: what ONNX Runtime with the execution provider adds to a plan, on a GPU.

Prints, in microseconds: runs that are queued on one stream, and one run with the wait for it, for ONNX Runtime with
bound device tensors, for taso.Session on tensors of PyTorch, and for the plan alone (taso-bench, where $TASO_PROGRAMS
names its folder); and the seconds from the model file to the first result on the host. TF32 everywhere. Says whether
ONNX Runtime is within 3 % + 5 µs (queued) and 60 µs (single) of the plan. PYTHONPATH names the package of taso, and
$TASO_BUILD_FOLDER a build whose provider is used instead of the package's.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime
import torch

import taso

NVIDIA = 0x10de
TYPES = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(int64)": "int64", "tensor(int32)": "int32",
         "tensor(bool)": "bool"}


def library():
    build = os.environ.get("TASO_BUILD_FOLDER")
    return str(pathlib.Path(build) / "lib" / "libtaso_onnxruntime.so") if build else str(taso.ep_library_path())


def timed(queue, wait, single, runs=200, rounds=5):
    """Queued, and single: medians of rounds."""
    for _ in range(5):
        single()
    queued, alone = [], []
    for _ in range(rounds):
        wait()
        begin = time.perf_counter()
        for _ in range(runs):
            queue()
        wait()
        queued.append((time.perf_counter() - begin) / runs)
        for _ in range(runs // 4):
            begin = time.perf_counter()
            single()
            alone.append(time.perf_counter() - begin)
    return statistics.median(queued) * 1e6, statistics.median(alone) * 1e6


def random_inputs(values):
    """Name, element type and shape of each give an array; unknown sizes are 1."""
    generator = numpy.random.default_rng(0)
    arrays = {}
    for name, element, shape in values:
        sizes = [size if isinstance(size, int) and size > 0 else 1 for size in shape]
        is_real = "float" in element
        arrays[name] = generator.random(sizes).astype(element) if is_real else numpy.ones(sizes, element)
    return arrays


def line(name, way, first, figures, note=""):
    queued, single = (f"{one:>9.1f}" if one else f"{'':>9}" for one in figures)
    print(f"{name:<24} {way:<28} {first:>8} {queued} {single}  {note}", flush=True)


def by_provider(path):
    begin = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    device = next(one for one in onnxruntime.get_ep_devices() if one.ep_name == "TasoExecutionProvider"
                  and one.device.type == onnxruntime.OrtHardwareDeviceType.GPU)
    options.add_provider_for_devices([device], {"precision": "tf32"})
    session = onnxruntime.InferenceSession(path, options, enable_fallback=0)
    inputs = random_inputs((one.name, TYPES[one.type], one.shape) for one in session.get_inputs())
    results = session.run(None, inputs)
    first = time.perf_counter() - begin
    binding = session.io_binding()
    kept = []
    for name, array in inputs.items():
        kept.append(onnxruntime.OrtValue.ortvalue_from_numpy(array, "gpu", 0, NVIDIA))
        binding.bind_ortvalue_input(name, kept[-1])
    for value, array in zip(session.get_outputs(), results):
        kept.append(onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros_like(array), "gpu", 0, NVIDIA))
        binding.bind_ortvalue_output(value.name, kept[-1])
    queued = onnxruntime.RunOptions()
    queued.add_run_config_entry("disable_synchronize_execution_providers", "1")
    # Without it, the Python package of 1.30 raises and catches an exception in each run, which takes 0.1 ms.
    queued.add_run_config_entry("gpu_graph_id", "-1")
    figures = timed(lambda: session.run_with_iobinding(binding, queued), torch.cuda.synchronize,
                    lambda: session.run_with_iobinding(binding))
    difference = abs(kept[-1].numpy().astype("float64") - results[-1]).max()
    return first, figures, f"bound and unbound runs differ by {difference:.0e}", inputs


def by_session(path, arrays):
    begin = time.perf_counter()
    session = taso.Session(path, device="cuda", precision="tf32")
    inputs = [torch.from_numpy(arrays[one.name]).cuda() for one in session.inputs]
    out = session(*inputs)
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    stream = torch.cuda.current_stream()

    def single():
        session(*inputs, out=out)
        stream.synchronize()

    return first, timed(lambda: session(*inputs, out=out), torch.cuda.synchronize, single)


def by_plan(path):
    """The median of taso-bench; None without the program."""
    folder = os.environ.get("TASO_PROGRAMS")
    if not folder:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "bench.json"
        subprocess.run([pathlib.Path(folder) / "taso-bench", path, "--no-check", "--runs", "100", "--json", report],
                       check=True, capture_output=True)
        return json.loads(report.read_text())["models"][0]["microseconds"]["median"]


def main(paths):
    onnxruntime.register_execution_provider_library("taso", library())
    print(f"ONNX Runtime {onnxruntime.__version__}, PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, "
          f"taso {taso.__version__}")
    print(f"{'network':<24} {'way':<28} {'first, s':>8} {'queued':>9} {'single':>9}")
    for path in paths:
        name = path.rsplit("/", 1)[-1]
        plan = by_plan(path)
        first, figures, note, inputs = by_provider(path)
        if plan is not None:
            line(name, "taso-bench", "", (plan, None))
            is_within = [figures[0] <= 1.03 * plan + 5, figures[1] <= plan + 60]
            note += ", queued {}, single {}".format(*("within" if one else "BEYOND" for one in is_within))
        line(name, "ONNX Runtime, provider", f"{first:.2f}", figures, note)
        first, figures = by_session(path, inputs)
        line(name, "taso.Session, out=", f"{first:.2f}", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
