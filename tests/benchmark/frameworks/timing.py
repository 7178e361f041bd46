"""Microseconds of each of many calls."""

import time

import torch


def by_the_clock(call, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    return times


def by_events(call, runs, stream=None):
    """Calls that are queued on a stream of a GPU, with events around each."""
    for _ in range(5):
        call()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(runs)]
    for start, end in events:
        start.record(stream)
        call()
        end.record(stream)
    torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1e3 for start, end in events]
