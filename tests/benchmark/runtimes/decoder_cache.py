"""decoder_cache.py FIXED.onnx [GROWING.onnx] [--open OPEN.onnx]: what a decoder gains from a cache in place, on a GPU.

FIXED has a cache (taso-networks llama_small --static-cache --sequence 1024), GROWING the past of one token less
(taso-networks llama_small --sequence 1023), OPEN a past of any length (taso-networks llama_small --open-past), which is
loaded with the capacity of FIXED. Checks that twenty tokens written in place give what twenty tokens with copies give,
and what the host gives; of OPEN also what FIXED gives. Then prints microseconds per token: queued, and one with the
wait for it. PYTHONPATH names the package. --precision P (default tf32).
"""

import argparse

import numpy as np
import torch

import taso
from session_overhead import timed

TOKENS = 20


def tensors(session, device):
    """Zeros for all inputs."""
    return {value.name: torch.zeros([int(size) for size in value.shape],
                                    device="cpu" if value.name == "past_length" else device,
                                    dtype=getattr(torch, str(np.dtype(value.dtype))))
            for value in session.inputs}


def fill(inputs, step):
    numbers = np.random.default_rng(step)
    for name, tensor in inputs.items():
        if is_cache(name):
            continue
        if tensor.dtype == torch.int64:
            tensor.fill_(int(numbers.integers(0, 1000)) if name == "input_ids" else step)
        else:
            drawn = torch.from_numpy(numbers.standard_normal(tuple(tensor.shape), dtype=np.float32))
            tensor.copy_(drawn)


def is_cache(name):
    return name.startswith("past_key_values")


def present(name):
    return name.replace("past_key_values", "present")


def decoded(session, device, in_place):
    """The first output of each step, and the caches."""
    inputs, outputs = tensors(session, device), []
    for step in range(TOKENS):
        fill(inputs, step)
        memory = {present(name): tensor for name, tensor in inputs.items() if is_cache(name)}
        found = session.run(inputs, out=memory if in_place else None)
        outputs.append(next(iter(found.values())).cpu().clone())
        for name in inputs:
            if is_cache(name):
                if in_place:
                    assert found[present(name)].data_ptr() == inputs[name].data_ptr()
                inputs[name] = found[present(name)]
    return outputs + [tensor.cpu().clone() for name, tensor in inputs.items() if is_cache(name)]


def worst(ones, others):
    return max((float((one.double() - other.double()).abs().max()) for one, other in zip(ones, others)), default=0)


def show(way, figures):
    print(f"{way:<48} {figures[0]:>9.1f} {figures[1]:>9.1f}", flush=True)


def checked(path, precision, **options):
    """A session, and what it decodes in place."""
    session = taso.Session(path, device="cuda", precision=precision, **options)
    there, copied = decoded(session, "cuda", True), decoded(session, "cuda", False)
    host = decoded(taso.Session(path, device="cpu", log=False, **options), "cpu", True)
    print(session.device, precision, path, options, "on the host:", [plan["on_host"] for plan in plans_of(session)],
          "kernels:", [plan["kernels"] for plan in plans_of(session)])
    print(f"{TOKENS} tokens in place: {worst(there, copied):.3g} from copies, {worst(there, host):.3g} from the host")
    assert worst(there, copied) == 0, "written in place, another result"
    return session, there


def plans_of(session):
    return session.report()["plans"]


def timed_in_place(session):
    inputs = tensors(session, "cuda")
    fill(inputs, TOKENS)
    first = next(value.name for value in session.outputs if not value.name.startswith("present"))
    here = {first: session.run(inputs)[first], **{present(name): inputs[name] for name in inputs if is_cache(name)}}
    return timed(lambda: session.run(inputs, out=here))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fixed")
    parser.add_argument("growing", nargs="?")
    parser.add_argument("--open")
    parser.add_argument("--precision", default="tf32")
    options = parser.parse_args()
    session, there = checked(options.fixed, options.precision)
    inputs = tensors(session, "cuda")
    fill(inputs, TOKENS)
    pasts = [name for name in inputs if is_cache(name)]
    first = next(value.name for value in session.outputs if not value.name.startswith("present"))
    bytes_of = sum(inputs[name].nbytes for name in pasts)
    print(f"cache of {bytes_of / 2**20:.1f} MiB; microseconds per token: queued, single")
    result = {first: session.run(inputs)[first]}
    here = {**result, **{present(name): inputs[name] for name in pasts}}
    other = {**result, **{present(name): torch.empty_like(inputs[name]) for name in pasts}}
    show("in place", timed(lambda: session.run(inputs, out=here)))
    show("into other memory", timed(lambda: session.run(inputs, out=other)))
    turns = [(inputs, other), ({**inputs, **{name: other[present(name)] for name in pasts}}, here)]

    def in_turns():
        turns.reverse()
        session.run(turns[0][0], out=turns[0][1])

    show("two caches in turns", timed(in_turns))
    show("in place, again", timed(lambda: session.run(inputs, out=here)))
    if options.growing:
        growing = taso.Session(options.growing, device="cuda", precision=options.precision)
        grown = tensors(growing, "cuda")
        fill(grown, TOKENS)
        out = growing.run(grown)
        show("growing past, one length", timed(lambda: growing.run(grown, out=out)))
    if options.open:
        capacity = next(int(value.shape[2]) for value in session.inputs if is_cache(value.name))
        derived, found = checked(options.open, options.precision, past_capacity=capacity)
        print(f"{worst(found, there):.3g} from the model with a cache")
        show("growing past with a capacity, in place", timed_in_place(derived))
        show("in place, again", timed(lambda: session.run(inputs, out=here)))


main()
