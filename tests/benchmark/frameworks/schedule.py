"""Decides what runs when: the GPU does one thing at a time, and everything that does not need it runs meanwhile.

Reading models, tracing and compiling for the CPU run in many processes at once. Whatever runs or tries kernels (XLA's
compilation, warming up, cuDNN's choice of algorithms, taso-opt) gets the GPU exclusively, in the order of the jobs. As
soon as everything of a job is prepared, all other processes are stopped, and it is timed.
"""

import concurrent.futures
import contextlib
import statistics
import threading
import time
import traceback

from jobs import LOAD_LIMIT, is_convolutional
from processes import Failure, ask_gpu, end_all, running

OVER = "the time was over"
A_ROW = 6  # seconds for timing one row, before that is known
ROOM = 12  # gigabytes of GPU memory that must be free for another process
ROOM_LIMIT = 120  # seconds to wait for that
CROWD = 30  # processes: fewer fit on any suitable GPU, and nvidia-smi is slow


class Schedule:
    def __init__(self, jobs, settings, say, deadline=None):
        self.jobs = list(jobs)
        self.waiting = list(jobs)
        self.open = []
        self.settings = settings
        self.say = say
        self.deadline = deadline
        self.changed = threading.Condition()
        self.pool = concurrent.futures.ThreadPoolExecutor(settings.parallel)
        self.aside = concurrent.futures.ThreadPoolExecutor(3)  # so that rows do not wait for the others
        self.is_over = False
        self.optimising = set()  # jobs whose optimisation has begun
        self.spent = {}  # what -> seconds of the GPU
        self.rows = 0

    def left(self):
        """Seconds until the prepared jobs have to be timed."""
        if self.deadline is None:
            return float("inf")
        row = self.spent.get("timing", 0) / self.rows if self.rows else A_ROW
        return self.deadline - time.monotonic() - row * sum(job.has_something() for job in self.open)

    # --- In the threads of the pool ---

    def submit(self, pool, action, *arguments):
        with contextlib.suppress(RuntimeError):  # the pool is closed: the time is over
            pool.submit(action, *arguments)

    def wait_for_room(self):
        """Waits for free memory: prepared processes keep theirs until they are timed."""
        until = time.monotonic() + ROOM_LIMIT
        while self.settings.on_gpu and len(running) >= CROWD and time.monotonic() < until and not self.is_over:
            free = ask_gpu("memory.free")
            if not free.isdigit() or int(free) > ROOM * 1024:
                return
            time.sleep(1)

    def bring_up(self, variant):
        """Starts a process and does everything that needs no GPU."""
        try:
            if not variant.is_check:
                self.wait_for_room()
            if self.is_over:
                raise Failure(OVER)
            variant.start()
            if self.is_over:  # since the start: nothing else would end the process
                raise Failure(OVER)
            answer = variant.worker.wait(LOAD_LIMIT)
            variant.seconds["load"] = answer["seconds"]
            if not variant.is_check:
                with self.changed:
                    variant.job.bounds = answer["bounds"]
                    self.maybe_check(variant.job)
            variant.ask(self.settings.compile_limit, "trace")
            if variant.is_check:
                variant.ask(self.settings.compile_limit, "prepare")
            if variant.state == "waiting":
                variant.state = "prepared" if variant.is_check else "traced"
        except Exception as error:  # any error costs this variant only
            variant.fail(error if isinstance(error, Failure) else f"{type(error).__name__}: {error}")
        with self.changed:
            self.changed.notify_all()

    def maybe_check(self, job):
        if job.optimised and job.bounds is not None and job.check is None and "eager" in self.settings.frameworks:
            self.submit(self.aside, self.bring_up, job.checker())

    def optimise(self, job):
        optimised = job.optimise(min(self.settings.taso_limit, max(self.left(), 0.01)))
        with self.changed:
            job.optimised = optimised
            job.is_optimised = True
            self.maybe_check(job)
            self.changed.notify_all()

    # --- In the thread that uses the GPU ---

    def admit(self):
        """Starts further jobs. Only a limited number is open at once, because their processes take memory."""
        new = []
        while self.waiting and len(self.open) < self.settings.ahead:
            new.append(self.waiting.pop(0))
            self.open.append(new[-1])
        variants = [one for job in new for one in job.variants]
        for variant in sorted(variants, key=lambda one: not one.takes_long()):
            self.submit(self.pool, self.bring_up, variant)
        for job in new:
            if not job.is_optimised and not job.programs.needs_gpu(job.model, job.precision):
                self.optimising.add(job)
                self.submit(self.aside, self.optimise, job)

    def next_task(self):
        """What the GPU should do next, as a name and an action; None if there is nothing yet."""
        for job in self.open:
            if job.is_ready():
                return "timing", lambda: self.finish(job)
        for job in self.open:
            for variant in job.variants:
                if variant.state == "traced":
                    if self.may_go_together(variant):
                        return "xla", lambda: self.prepare_together(variant.job.precision)
                    return variant.settings["framework"], lambda: self.prepare(variant)
            if not job.is_optimised and job not in self.optimising:
                self.optimising.add(job)
                return "taso-opt", lambda: self.optimise(job)
        return None

    def may_go_together(self, variant):
        """True only for XLA's compilations of convolutional networks, and only if allowed."""
        return (self.settings.xla_together > 1 and variant.settings["framework"] == "xla"
                and is_convolutional(variant.job.model))

    def prepare(self, variant, together=1):
        try:
            variant.ask(max(min(self.settings.gpu_limit, self.left()), 0.01), "prepare")
            variant.seconds["together"] = together
            variant.state = "prepared"
        except Exception as error:  # any error costs this variant only
            variant.fail(error if isinstance(error, Failure) else f"{type(error).__name__}: {error}")

    def prepare_together(self, precision):
        """Compiles everything that may go together, as it becomes ready, longest first.

        Takes work of the next precision only while a variant of the current one is not ready yet."""
        at_once, under_way, long = self.settings.xla_together, set(), set()
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            while True:
                found = [one for job in self.open for one in job.variants
                         if one.state == "traced" and self.may_go_together(one)
                         and (job.precision == precision or one.takes_long() or long & under_way)]
                for one in sorted(found, key=lambda one: not one.takes_long())[:at_once - len(under_way)]:
                    one.state = "preparing"
                    under_way.add(future := pool.submit(self.prepare, one, at_once))
                    if one.takes_long():
                        long.add(future)
                if not under_way:
                    return
                _, under_way = concurrent.futures.wait(under_way, 0.2, concurrent.futures.FIRST_COMPLETED)

    def finish(self, job):
        try:
            row = job.measure(self.whole)
        except Exception as error:  # any error costs this row only
            traceback.print_exc()
            row = job.late_row(f"{type(error).__name__}: {error}")
        self.rows += 1
        self.close(job, row)

    def close(self, job, row):
        job.end()
        if job in self.open:
            self.open.remove(job)
        self.finished(job, row)
        if not self.is_over:
            self.admit()

    def run(self, whole, finished):
        """Measures all jobs; calls `finished(job, row)` after each."""
        self.whole, self.finished = whole, finished
        idle = 0.0
        try:
            self.admit()
            while self.open:
                began = time.monotonic()
                with self.changed:
                    if self.left() <= 0:
                        break
                    task = self.next_task()
                    if task is None:
                        self.changed.wait(min(1, self.left()))
                if task:
                    task[1]()
                    self.spent[task[0]] = self.spent.get(task[0], 0) + time.monotonic() - began
                else:
                    idle += time.monotonic() - began
            self.wrap_up()
        finally:
            self.is_over = True
            end_all()
            for pool in (self.pool, self.aside):
                pool.shutdown(cancel_futures=True)
        parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.spent.items())
        self.say(f"the GPU's time: {parts}, idle {idle:.0f} s")
        for framework in self.settings.frameworks:
            some = [one for job in self.jobs for one in job.variants if one.settings["framework"] == framework]
            steps = {step: [one.seconds[step] for one in some if step in one.seconds]
                     for step in ("load", "trace", "prepare")}
            self.say(f"{framework}, seconds in the median and at most: " + ", ".join(
                f"{step} {statistics.median(found):.1f} {max(found):.1f}" for step, found in steps.items() if found))

    def wrap_up(self):
        """The time is over, or everything is done: times what is prepared, and reports the rest as late."""
        self.is_over = True
        for job in [*self.open, *self.waiting]:
            for one in [*job.variants, *([job.check] if job.check else [])]:
                if not one.is_settled():
                    one.fail(OVER)
            if not job.is_optimised:
                job.taso_failures.append(OVER)
        for job in [*self.open, *self.waiting]:
            if job.has_something() and time.monotonic() < self.deadline:
                self.finish(job)
            else:
                self.close(job, job.late_row(OVER))
