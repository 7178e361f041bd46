"""first_result.py MODEL.onnx…: seconds from a model's file to its first result on the host, on a GPU, in TF32.

Each way runs in a process of its own, and its imports are not counted: taso.Session with no compiled kernels kept from
earlier, with them, and from an engine file; ONNX Runtime's CUDA provider; torch.compile, which gets the network as a
function that was made of the same file. PYTHONPATH names the packages. `--device cpu` tries it out without a GPU.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
WAYS = {"taso": "taso.Session, no kernels kept", "taso again": "taso.Session, kernels kept",
        "engine": "taso.Session, engine file", "onnxruntime": "ONNX Runtime, CUDA provider", "compile": "torch.compile"}


def inputs_for(model):
    """Ones for all inputs of a model with known sizes."""
    import numpy
    import onnx

    graph = onnx.load(model, load_external_data=False).graph
    constants = {one.name for one in graph.initializer}
    return {one.name: numpy.ones([size.dim_value for size in one.type.tensor_type.shape.dim],
                                 onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type))
            for one in graph.input if one.name not in constants}


def by_taso(model, engine, device):
    import taso

    inputs = inputs_for(model)
    precision = {"precision": "tf32"} if device == "cuda" else {}
    begin = time.perf_counter()
    session = taso.Session(engine if engine else model, device=device, **({} if engine else precision))
    session(**inputs)
    seconds = time.perf_counter() - begin
    if not engine:
        session.save_engine(pathlib.Path(model).with_suffix(".taso").name)
    return seconds


def by_onnxruntime(model, device):
    import torch  # noqa: F401 - it brings the libraries that the CUDA provider needs
    import onnxruntime

    inputs = inputs_for(model)
    providers = ["CUDAExecutionProvider"] if device == "cuda" else ["CPUExecutionProvider"]
    begin = time.perf_counter()
    session = onnxruntime.InferenceSession(model, providers=providers)
    session.run(None, inputs)
    seconds = time.perf_counter() - begin
    if session.get_providers()[0] != providers[0]:
        raise RuntimeError("the provider could not be used")
    return seconds


def by_compiler(model, device):
    sys.path.insert(0, str(HERE.parent / "frameworks"))
    import torch
    from torch_framework import TorchFramework

    network = TorchFramework({"framework": "eager", "model": model, "batch": None, "precision": "tf32",
                              "layout": "contiguous", "device": device, "seed": 0})
    begin = time.perf_counter()
    network.start()
    network.network = torch.compile(network.network, dynamic=False)
    with torch.inference_mode():
        [one.cpu() for one in network.call()]
    return time.perf_counter() - begin


def run_one(way, model, device):
    if way == "onnxruntime":
        return by_onnxruntime(model, device)
    if way == "compile":
        return by_compiler(model, device)
    return by_taso(model, str(pathlib.Path(model).with_suffix(".taso").name) if way == "engine" else None, device)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--ways", default=",".join(WAYS), help="some of %(default)s")
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    settings = parser.parse_args()
    if settings.one:
        print(f"{run_one(settings.one, settings.models[0], settings.device):.3f}")
        return 0
    status = 0
    for model in settings.models:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "XDG_CACHE_HOME": folder, "TORCHINDUCTOR_CACHE_DIR": f"{folder}/torch",
                           "TRITON_CACHE_DIR": f"{folder}/triton"}
            for way in settings.ways.split(","):
                done = subprocess.run([sys.executable, __file__, os.path.abspath(model), "--one", way, "--device",
                                       settings.device], cwd=folder, env=environment, capture_output=True, text=True)
                text = done.stdout.strip().splitlines()[-1] if done.returncode == 0 else \
                    "failed: " + (done.stderr.strip().splitlines() or ["no message"])[-1]
                status = status or int(done.returncode != 0)
                print(f"{pathlib.Path(model).stem:<20} {WAYS[way]:<32} {text}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
