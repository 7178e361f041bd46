"""new_sizes.py MODEL.onnx SIZE…: how long a session takes to plan a new size, and how long it then runs.

Every unknown size of the model's inputs becomes SIZE. Prints seconds for the plan, with the kernels that are compiled
for it, and microseconds of queued runs. PYTHONPATH names the package.
"""

import sys
import time

import torch

import taso


def main(model, sizes):
    begin = time.perf_counter()
    session = taso.Session(model, precision="tf32")
    print(f"{session.device}: loaded in {time.perf_counter() - begin:.2f} s")
    device = "cuda" if session.is_on_device else "cpu"
    for size in sizes:
        shapes = [[one if isinstance(one, int) else size for one in value.shape] for value in session.inputs]
        begin = time.perf_counter()
        session.warm_up(shapes)
        planned = time.perf_counter() - begin
        inputs = [torch.rand(shape, device=device) if "float" in str(value.dtype)
                  else torch.ones(shape, dtype=torch.int64, device=device)
                  for shape, value in zip(shapes, session.inputs)]
        results = session(*inputs)
        runs = 100 if session.is_on_device else 3
        for count in (5, runs):
            torch.cuda.synchronize() if session.is_on_device else None
            begin = time.perf_counter()
            for _ in range(count):
                session(*inputs, out=results)
            torch.cuda.synchronize() if session.is_on_device else None
        print(f"{size:>6}: planned in {planned:.2f} s, {(time.perf_counter() - begin) / runs * 1e6:.1f} µs a run",
              flush=True)


if __name__ == "__main__":
    main(sys.argv[1], [int(size) for size in sys.argv[2:]])
