"""taso.Session in several threads, over many runs, and when Ctrl-C is pressed."""

import os
import signal
import subprocess
import threading
import time

import numpy as np
import pytest

THREADS, RUNS = 8, 50


def in_threads(count, work):
    """Calls work(number) in threads; raises what one of them raised."""
    raised = []

    def one(number):
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=one, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_threads_and_sessions_give_equal_bits(taso, source_folder):
    sessions = [taso.Session(source_folder / "examples/small_transformer.onnx") for _ in range(4)]
    inputs = [np.random.default_rng(seed).standard_normal((1 + seed % 3, 16, 64), dtype=np.float32)
              for seed in range(THREADS)]
    wanted = [sessions[0](one)["encoded"].tobytes() for one in inputs]

    def work(number):
        for turn in range(RUNS):
            which = (number + turn) % len(inputs)
            assert sessions[(number + turn) % 4](inputs[which])["encoded"].tobytes() == wanted[which]

    in_threads(THREADS, work)


def test_sessions_are_made_in_several_threads(taso, product):
    def work(number):
        for _ in range(10):
            rows = np.full((number + 1, 4), 1, np.float32)
            assert taso.Session(product)(rows, np.zeros(3, np.float32))["y"].shape == (number + 1, 3)

    in_threads(THREADS, work)


def test_other_threads_go_on_while_a_model_is_loaded(taso, source_folder):
    """The GIL is free, also while a search runs."""
    ticks, is_done = [], threading.Event()

    def tick():
        while not is_done.wait(0.01):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.monotonic()
    taso.Session(source_folder / "examples/small_transformer.onnx", optimize=1)
    end = time.monotonic()
    is_done.set()
    ticker.join()
    assert sum(start < one < end for one in ticks) > (end - start) / 0.01 / 5


def test_nothing_leaks(taso, product):
    """Runs, failed runs, sessions and failed sessions."""
    session = taso.Session(product)
    rows, bias = np.zeros((200, 4), np.float32), np.zeros(3, np.float32)
    memory = np.zeros((200, 3), np.float32)

    def many(times):
        for turn in range(times):
            session(rows, bias)
            session(rows, bias, out=[memory])
            if turn % 10 == 0:
                with pytest.raises(ValueError):
                    session(rows, rows)
                taso.Session(product, log=lambda level, text: None)
                with pytest.raises(ValueError):
                    taso.Session(b"junk")

    many(300)
    before = resident_bytes()
    many(3000)
    # 3,000 results of 2,400 bytes are 7 MB.
    assert resident_bytes() - before < 4e6


LOADING = """
import sys, taso
print("loading", flush=True)
try:
    taso.Session(sys.argv[1], optimize=300, log=lambda level, text: print(text, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
print("goes on", flush=True)
taso.Session(sys.argv[1])
print("loaded", flush=True)
"""


def test_ctrl_c_ends_a_search(python, taso_networks, tmp_path):
    network = tmp_path / "network.onnx"
    subprocess.run([taso_networks, "nasnet_mobile", "-q", "-o", network, "--image-size", "64"], check=True)
    child = python("-c", LOADING, network, start=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == "loading\n"
    time.sleep(1)  # of about six that the search takes
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors
    assert out.splitlines()[-3:] == ["interrupted", "goes on", "loaded"], out
    assert "the budget is spent" not in out, "the search went on to its end"


def test_the_interpreter_may_end_while_threads_run(python, source_folder):
    """Python ends daemon threads when they ask for the GIL."""
    code = """
import sys, threading, time, numpy, taso
session = taso.Session(sys.argv[1], device="cpu")
tokens = numpy.ones((3, 16, 64), numpy.float32)
def work(number):
    while True:
        if number == 0:
            taso.Session(sys.argv[1], device="cpu", log=lambda level, text: None)
        session(tokens)
for number in range(4):
    threading.Thread(target=work, args=[number], daemon=True).start()
time.sleep(0.1)
"""
    for _ in range(5):
        result = python("-c", code, source_folder / "examples/small_transformer.onnx")
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)",
                                    "import atexit; atexit.register(session.__class__, model)"])
def test_the_interpreter_destroys_sessions_of_a_script(python, source_folder, ending):
    """Variables of a script live until the interpreter ends, when the GIL cannot be given up any more."""
    code = f"""
import sys, numpy, taso
model = sys.argv[1]
session = taso.Session(model, device="cpu")
results = session(numpy.ones((3, 16, 64), numpy.float32))
{ending}
"""
    result = python("-c", code, source_folder / "examples/small_transformer.onnx")
    assert result.returncode == 0, result.stderr
