"""What is done when: the GPU does one thing at a time, and everything that does not need it is done meanwhile.

Reading models, tracing and compiling for the CPU go on in many processes at once. Whatever runs or tries kernels (XLA's
compilation, warming up, cuDNN's choice of algorithms, taso-opt) gets the GPU for itself, in the order of the jobs. As soon as
everything of a job is prepared, all other processes are stopped, and it is timed.
"""

import concurrent.futures
import contextlib
import threading
import time
import traceback

from jobs import LOAD_LIMIT, is_convolutional
from processes import Failure, end_all

OVER = "the time was over"
A_ROW = 6  # seconds for timing one, before it is known


class Schedule:
    def __init__(self, jobs, settings, say, deadline=None):
        self.waiting = list(jobs)
        self.open = []
        self.settings = settings
        self.say = say
        self.deadline = deadline
        self.changed = threading.Condition()
        self.pool = concurrent.futures.ThreadPoolExecutor(settings.parallel)
        self.is_over = False
        self.optimising = set()  # jobs for which it has begun
        self.spent = {}  # what -> seconds of the GPU
        self.rows = 0

    def left(self):
        """Seconds until what is prepared has to be timed."""
        if self.deadline is None:
            return float("inf")
        row = self.spent.get("timing", 0) / self.rows if self.rows else A_ROW
        return self.deadline - time.monotonic() - row * sum(job.has_something() for job in self.open)

    def limit(self):
        return max(min(self.settings.compile_limit, self.left()), 0.01)

    # --- in the threads of the pool ---

    def submit(self, action, *arguments):
        with contextlib.suppress(RuntimeError):  # the pool is closed: the time is over
            self.pool.submit(action, *arguments)

    def bring_up(self, variant):
        """Starts a process and does all that needs no GPU."""
        try:
            if self.is_over:
                raise Failure(OVER)
            variant.start()
            if self.is_over:  # since then: nobody would end it
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
        except Exception as error:  # whatever it is costs this variant alone
            variant.fail(error if isinstance(error, Failure) else f"{type(error).__name__}: {error}")
        with self.changed:
            self.changed.notify_all()

    def maybe_check(self, job):
        if job.optimised and job.bounds is not None and job.check is None and "eager" in self.settings.frameworks:
            self.submit(self.bring_up, job.checker())

    def optimise(self, job):
        optimised = job.optimise(min(self.settings.taso_limit, max(self.left(), 0.01)))
        with self.changed:
            job.optimised = optimised
            job.is_optimised = True
            self.maybe_check(job)
            self.changed.notify_all()

    # --- in the thread that has the GPU ---

    def admit(self):
        """Begins with further jobs. Only so many are open at once, since each has processes that take up memory."""
        new = []
        while self.waiting and len(self.open) < self.settings.ahead:
            new.append(self.waiting.pop(0))
            self.open.append(new[-1])
        long = [one for job in new for one in job.variants if job.is_large() and one.settings["framework"] == "compile"]
        for variant in long:
            self.submit(self.bring_up, variant)
        for job in new:
            for variant in job.variants:
                if variant not in long:
                    self.submit(self.bring_up, variant)
            if not job.is_optimised and not job.programs.needs_gpu(job.model, job.precision):
                self.optimising.add(job)
                self.submit(self.optimise, job)

    def next_task(self):
        """What the GPU is to do now, as a name and an action; None where there is nothing yet."""
        for job in self.open:
            if job.is_ready():
                return "timing", lambda: self.finish(job)
        for job in self.open:
            for variant in job.variants:
                if variant.state == "traced":
                    group = self.group(variant)
                    return variant.settings["framework"], lambda: self.prepare(group)
            if not job.is_optimised and job not in self.optimising:
                self.optimising.add(job)
                return "taso-opt", lambda: self.optimise(job)
        return None

    def group(self, variant):
        """A variant alone; XLA's compilations of convolutional networks may be allowed to go together."""
        together = self.settings.xla_together
        if together < 2 or variant.settings["framework"] != "xla" or not is_convolutional(variant.job.model):
            return [variant]
        others = [one for job in self.open for one in job.variants
                  if one.state == "traced" and one.settings["framework"] == "xla" and is_convolutional(job.model)]
        return others[:together]

    def prepare(self, variants):
        limit = self.limit()
        for one in variants:
            one.worker.send(do="prepare")
        for one in variants:
            try:
                one.seconds["prepare"] = one.worker.wait(limit)["seconds"]
                one.seconds["together"] = len(variants)
                one.state = "prepared"
            except Failure as failure:
                one.fail(failure)

    def finish(self, job):
        try:
            row = job.measure(self.whole)
        except Exception as error:  # whatever it is costs this row alone
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
        """Measures all jobs; `finished(job, row)` is called after each."""
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
            self.pool.shutdown(cancel_futures=True)
        parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.spent.items())
        self.say(f"the GPU's time: {parts}, idle {idle:.0f} s")

    def wrap_up(self):
        """The time is over, or all is done: what is prepared is still timed, and of everything else it is said."""
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
