"""Runs other processes with limits: a crash or a timeout costs only the answer that was waited for.

`alone` stops all of them except those being timed, so that preparations do not disturb the timing.
"""

import contextlib
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent

running = set()  # all processes started here that may still run
gate = threading.RLock()  # held while somebody is alone: nothing starts meanwhile


class Failure(Exception):
    """A framework or a program did not do what was asked."""


def parents():
    """The parent of every process, by its number; empty where /proc is missing."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            pass  # it has ended meanwhile
    return found


def family(number, table):
    """A process and all its descendants, parents first."""
    members = [number]
    for one in members:
        members += [child for child, parent in table.items() if parent == one]
    return members


def signal_all(numbers, what):
    for number in numbers:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(number, what)


class Running:
    """A process that was started here. Time while it was stopped does not count."""

    def __init__(self, command, **options):
        with gate:
            self.process = subprocess.Popen([str(one) for one in command], start_new_session=True, **options)
            self.since = time.monotonic()
            self.stopped = []
            running.add(self)

    def stop(self, table):
        """Stops it and its descendants; returns whether there was anything to stop."""
        new = [one for one in family(self.process.pid, table) if one not in self.stopped]
        self.stopped += new
        signal_all(new, signal.SIGSTOP)
        return bool(new)

    def go_on(self, seconds):
        self.since += seconds
        signal_all(self.stopped, signal.SIGCONT)
        self.stopped = []

    def late(self, limit):
        return not self.stopped and time.monotonic() > self.since + limit

    def end(self):
        """Ends it and all its descendants."""
        running.discard(self)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def alone(those):
    """Stops everything that was started here except `those`; processes started meanwhile run."""
    with gate:
        others = [one for one in list(running) if one not in those and one.process.poll() is None]
        began = time.monotonic()
        try:
            while others and any([one.stop(table) for table in [parents()] for one in others]):
                pass  # until all processes that were just starting are stopped
            time.sleep(0.05)  # for the work that they had already given to the GPU
            yield
        finally:
            for one in others:
                one.go_on(time.monotonic() - began)


def ask_gpu(what):
    """A property of the GPU from nvidia-smi; empty if that fails. Waits while somebody is alone."""
    with gate, contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader,nounits"],
                              capture_output=True,
                              text=True, timeout=20).stdout.split("\n")[0].strip()
    return ""


def end_all():
    for one in list(running):
        one.end()


class Worker(Running):
    """worker.py as a process. Requests may be sent in advance; answers are waited for."""

    def __init__(self, settings, log, environment=None):
        self.settings = settings
        self.log = open(log, "ab")
        super().__init__([sys.executable, HERE / "worker.py", json.dumps(settings)], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=self.log, env={**os.environ, **(environment or {})})
        self.answers = queue.Queue()
        self.failure = None
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def name(self):
        return f"{self.settings['framework']} ({self.settings['layout']})"

    def send(self, **request):
        self.since = time.monotonic()
        with contextlib.suppress(OSError, ValueError):  # noticed when the answer is waited for
            self.process.stdin.write((json.dumps(request) + "\n").encode())
            self.process.stdin.flush()

    def wait(self, limit):
        """The answer to the last request; `limit` is in seconds since then."""
        while True:
            if self.failure:
                raise Failure(self.failure)
            try:
                line = self.answers.get(timeout=min(max(self.since + limit - time.monotonic(), 0.01), 1))
                break
            except queue.Empty:
                if self.late(limit):
                    self.fail(f"not done within {limit:.0f} s")
        if line is None:
            self.fail(f"ended with {self.process.wait()}")
        answer = json.loads(line)
        if not answer["ok"]:
            self.fail(answer["error"])
        return answer

    def ask(self, limit, **request):
        if self.failure:
            raise Failure(self.failure)
        self.send(**request)
        return self.wait(limit)

    def fail(self, reason):
        self.failure = self.failure or reason
        self.end()
        raise Failure(self.failure)

    def end(self):
        super().end()
        self.log.close()


def run(command, limit, log):
    """Runs a program to its end and returns its exit status."""
    with open(log, "ab") as out:
        out.write(f"$ {' '.join(map(str, command))}\n".encode())
        out.flush()
        program = Running(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        try:
            while not program.late(limit):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return program.process.wait(timeout=min(max(program.since + limit - time.monotonic(), 0.01), 1))
        finally:
            program.end()
        raise Failure(f"{pathlib.Path(command[0]).name}: not done within {limit:.0f} s")
