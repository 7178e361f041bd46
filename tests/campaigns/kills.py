"""Kills programs at random moments (SIGKILL), and looks at what they leave behind:

    kills.py [--kills N] [--seed N] [--programs FOLDER] [NAME…]

Each program works in a folder, with files of an earlier run in every other one, and with one cache. After each kill,
every output is the earlier file, the new one, or absent: never a part of one, and never a mixture. After every few
kills it runs to its end, on the same cache, and writes the same bytes as a run that was never killed.
"""

import argparse
import pathlib
import random
import shutil
import signal
import tempfile
import time

import jobs

KILLS_IN_A_ROW = 5


class Killed:
    """The campaign of one program."""

    def __init__(self, job, programs, folder, seed):
        self.bench = jobs.Bench(job, programs, folder)
        self.random = random.Random(f"{job.program} {seed}")
        self.kills = self.ended_before = 0

    def kill(self, place):
        process = self.bench.start(place)
        time.sleep(self.random.uniform(0, 1.1 * self.bench.seconds))
        process.send_signal(signal.SIGKILL)
        _, said = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), f"it ended with {process.returncode}: {said}"
        self.kills += process.returncode != 0
        self.ended_before += process.returncode == 0
        self.bench.check_pieces(place)

    def row(self, number, kills):
        place = self.bench.place(f"row {number}", after_another=number % 2 == 0)
        for _ in range(kills):
            self.kill(place)
        self.bench.finish(place)
        self.bench.check_whole(place)
        shutil.rmtree(place)

    def run(self, kills):
        number = 0
        while self.kills < kills and number < 4 * kills:
            self.row(number, min(KILLS_IN_A_ROW, kills - self.kills))
            number += 1
        assert self.kills >= kills, f"only {self.kills} kills were in time"
        return f"{self.bench.job.program}: {self.kills} kills, {self.ended_before} ended before, nothing damaged"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"programs: {', '.join(jobs.JOBS)} (default: all)")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=pathlib.Path, default=jobs.PROGRAMS)
    options = parser.parse_args()
    for name in options.names or jobs.JOBS:
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            done = Killed(jobs.JOBS[name], options.programs, pathlib.Path(folder), options.seed).run(options.kills)
            print(f"{done}, {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
