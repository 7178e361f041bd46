"""Processes of others, with limits: a crash or a timeout costs the one answer that was waited for."""

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


class Failure(Exception):
    """A framework or a program did not do what was asked."""


def end(process):
    """Ends a process and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Worker:
    """worker.py as a process. Answers are waited for; requests may be sent ahead."""

    def __init__(self, settings, log, environment=None):
        self.settings = settings
        self.log = open(log, "ab")
        self.process = subprocess.Popen([sys.executable, str(HERE / "worker.py"), json.dumps(settings)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        start_new_session=True, env={**os.environ, **(environment or {})})
        self.answers = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.failure = None
        self.sent = time.monotonic()

    def _listen(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def name(self):
        return f"{self.settings['framework']} ({self.settings['layout']})"

    def send(self, **request):
        self.sent = time.monotonic()
        try:
            self.process.stdin.write((json.dumps(request) + "\n").encode())
            self.process.stdin.flush()
        except (BrokenPipeError, OSError):
            pass  # found out when the answer is waited for

    def wait(self, limit):
        """The answer to what was sent last; `limit` counts in seconds from then."""
        if self.failure:
            raise Failure(self.failure)
        try:
            line = self.answers.get(timeout=max(self.sent + limit - time.monotonic(), 0.01))
        except queue.Empty:
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
        self.failure = reason
        self.end()
        raise Failure(reason)

    def end(self):
        end(self.process)
        self.log.close()


def run(command, limit, log):
    """Runs a program to its end and gives its exit status."""
    with open(log, "ab") as out:
        out.write(f"$ {' '.join(map(str, command))}\n".encode())
        out.flush()
        process = subprocess.Popen([str(one) for one in command], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            return process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            end(process)
            raise Failure(f"{pathlib.Path(command[0]).name}: not done within {limit:.0f} s") from None
