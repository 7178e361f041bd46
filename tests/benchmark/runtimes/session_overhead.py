"""session_overhead.py MODEL.onnx… [NETWORK…]: what sessions add to a plan when they are called from Python, on a GPU.

Prints, in microseconds: runs that are queued on one stream, one run and the wait for it; first for taso.Session with
tensors of PyTorch, then for networks of torchvision and transformers (if they are there) through torch.compile with the
backends "taso" and "inductor" and eagerly, all or those named. TF32 everywhere. PYTHONPATH names the package.
"""

import contextlib
import statistics
import sys
import time
import warnings

import torch

import taso
from taso.torch_backend import taso as backend


SKIPPED = "taso, guards skipped"


def timed(work, runs=200, rounds=5):
    """Queued, and single: medians of rounds."""
    for _ in range(5):
        work()
    torch.cuda.synchronize()
    stream = torch.cuda.current_stream()
    queued, single = [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(runs):
            work()
        torch.cuda.synchronize()
        queued.append((time.perf_counter() - begin) / runs)
        for _ in range(runs // 4):
            begin = time.perf_counter()
            work()
            stream.synchronize()
            single.append(time.perf_counter() - begin)
    return statistics.median(queued) * 1e6, statistics.median(single) * 1e6


def line(name, way, first, figures):
    print(f"{name:<24} {way:<24} {first:>8.2f} {figures[0]:>9.1f} {figures[1]:>9.1f}", flush=True)


def by_session(path):
    begin = time.perf_counter()
    session = taso.Session(path, device="cuda", precision="tf32")
    inputs = []
    for value in session.inputs:
        shape = [size if isinstance(size, int) else 1 for size in value.shape]
        is_float = "float" in str(value.dtype)
        inputs.append(torch.rand(shape, device="cuda") if is_float
                      else torch.ones(shape, dtype=torch.int64, device="cuda"))
    session(*inputs)
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    line(path.rsplit("/", 1)[-1], "taso.Session", first, timed(lambda: session(*inputs)))
    out = session(*inputs)
    line(path.rsplit("/", 1)[-1], "taso.Session, out=", first, timed(lambda: session(*inputs, out=out)))


def networks():
    try:
        import torchvision

        for name in ("resnet50", "squeezenet1_1"):
            yield name, getattr(torchvision.models, name)(weights=None), (torch.rand(1, 3, 224, 224),)
    except ImportError as error:
        print(f"no torchvision: {error}")
    try:
        import transformers

        config = transformers.BertConfig(attn_implementation="eager")
        model = transformers.BertModel(config)

        class Encoder(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, tokens):
                return self.model(input_ids=tokens).last_hidden_state

        yield "bert_base", Encoder(), (torch.ones(1, 128, dtype=torch.int64),)
    except ImportError as error:
        print(f"no transformers: {error}")


def by_compiler(name, model, inputs):
    model = model.eval().cuda()
    with torch.no_grad():  # as if it were trained: the exporter drops biases of zero
        for one in [*model.parameters(), *model.buffers()]:
            if one.is_floating_point():
                one.add_(0.01 * torch.rand_like(one))
    inputs = tuple(one.cuda() for one in inputs)
    with torch.inference_mode():
        expected = model(*inputs)
        ways = {"taso": lambda: torch.compile(model, backend=backend, options={"precision": "tf32"}),
                SKIPPED: lambda: torch.compile(model, backend=backend, options={"precision": "tf32"}),
                "inductor, reduce-overhead": lambda: torch.compile(model, mode="reduce-overhead"),
                # What PyTorch itself takes before and after a call of a backend.
                "a backend without work": lambda: torch.compile(model, backend=lambda graph, given: (
                    lambda *same: (expected,))),
                "eager": lambda: model}
        ready = {}
        for way, make in ways.items():
            torch._dynamo.reset()
            begin = time.perf_counter()
            compiled = make()
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                result = compiled(*inputs)
            torch.cuda.synchronize()
            first = time.perf_counter() - begin
            for one in said:
                if "taso" in str(one.message):
                    print(f"  {one.message}")
            difference = (result - expected).abs().max() / expected.abs().max()
            # Guards that tell no two compiled graphs apart are not looked at.
            with torch.compiler.set_stance(skip_guard_eval_unsafe=True) if way == SKIPPED else contextlib.nullcontext():
                figures = timed(lambda: compiled(*inputs))
            line(name, f"{way} ({difference:.0e})", first, figures)
            ready[way] = figures
    return ready


def main(paths):
    only = [path for path in paths if not path.endswith(".onnx")]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, taso {taso.__version__}")
    print(f"{'network':<24} {'way':<24} {'first, s':>8} {'queued':>9} {'single':>9}")
    for path in paths:
        if path not in only:
            by_session(path)
    for name, model, inputs in networks():
        if not only or name in only:
            by_compiler(name, model, inputs)


if __name__ == "__main__":
    main(sys.argv[1:])
