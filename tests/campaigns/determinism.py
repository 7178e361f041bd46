"""Runs the programs at 1 and 4 jobs, and hashes what must be the same bytes at any number of jobs, on any machine:

    determinism.py [--programs FOLDER] [--write FILE] [--compare FILE] [--keep FOLDER]

Prints a line for each output: its name and the start of its SHA-256. --write keeps the lines in a file, and --compare
runs everything and compares it with such a file of another machine. Ends with 1 if anything differs. Times, paths and
figures of the check (which depend on how a BLAS rounds) are taken out of reports. GPUs are hidden: prices are the
recorded ones. Searches by integer programs are left out where CBC is. --keep leaves the outputs in a folder, to see
what differs.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("TASO_PROGRAMS", SOURCE / "build" / "dev" / "bin"))
JOBS = (1, 4)

# A name, and what taso-networks is given: small forms of a kind each, in which searches find something.
NETWORKS = {
    "bert_base": ["--layers", "1", "--sequence", "16"],
    "resnext50": ["--blocks", "1", "--image-size", "64"],
    "vit_b_16": ["--layers", "1", "--image-size", "64"],
    "nas_cell": [],
}
# By integer programs too where that takes seconds.
SEARCHES = {name: [["--budget", "60"]] for name in NETWORKS}
SEARCHES["bert_base"].append(["--budget", "10", "--search", "both"])
OPERATOR_SETS = {"small": 2, "matmul,add,relu,transpose": 3}
RULE_FILES = [f"tests/verifier/{name}.rules" for name in
              ("sound/matmul", "sound/pooling", "unsound/matmul", "unknown/instances")]

# Of reports: the run of taso-gen, how long a search took, where files lie, how near the check came to its limits, and
# what CBC bounds.
VARYING = {"run", "course", "file", "check_text", "worst_share_of_tolerance", "gap"}


def without_varying(value):
    """A report without what may differ; times of a run are in objects of seconds, predicted ones stay."""
    if isinstance(value, dict):
        return {name: without_varying(part) for name, part in value.items()
                if name not in VARYING and not (name == "seconds" and isinstance(part, dict))}
    return [without_varying(part) for part in value] if isinstance(value, list) else value


def canonical(path):
    if path.suffix == ".json":
        return json.dumps(without_varying(json.loads(path.read_text())), indent=1, sort_keys=True).encode()
    return path.read_bytes()


class Campaign:
    """Runs cases in folders of their own, and keeps the hashes of their outputs by name."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.hashes = {}

    def call(self, program, *arguments, cwd, may_end_with=(0,)):
        """Runs a program to its end. Returns the exit code."""
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "XDG_CACHE_HOME": str(cwd / "cache")}
        command = [str(part) for part in (self.programs / program, *arguments, "--quiet")]
        ended = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
        if ended.returncode not in may_end_with:
            sys.exit(f"{' '.join(command)} ended with {ended.returncode}: {ended.stderr}")
        return ended.returncode

    def place(self, *names):
        place = self.folder.joinpath(*names)
        place.mkdir(parents=True)
        return place

    def keep(self, place, *names):
        return {name: hashlib.sha256(canonical(place / name)).hexdigest() for name in names}

    def network(self, name):
        place = self.place("networks", name)
        self.call("taso-networks", name, *NETWORKS[name], "-o", "model.onnx", cwd=place)
        return self.keep(place, "model.onnx")

    def optimise(self, name, search, jobs):
        place = self.place("taso-opt", name, " ".join(search), str(jobs))
        (place / "model.onnx").symlink_to(self.folder / "networks" / name / "model.onnx")
        code = self.call("taso-opt", "model.onnx", "-o", "out.onnx", "--report", "report.json", *search, "--jobs", jobs,
                         cwd=place, may_end_with=(0, 6) if "--search" in search else (0,))
        if code == 6:
            return {}  # a build without CBC
        return self.keep(place, "out.onnx", "out.onnx.cert", "report.json")

    def generate(self, operators, jobs):
        place = self.place("taso-gen", operators, str(jobs))
        self.call("taso-gen", "-o", "out.rules", "--operators", operators, "--max-ops", OPERATOR_SETS[operators],
                  "--rejected", "rejected.rules", "--report", "report.json", "--time-limit", 0, "--jobs", jobs,
                  cwd=place)
        return self.keep(place, "out.rules", "rejected.rules", "report.json")

    def verify(self, rules, jobs):
        place = self.place("taso-verify", rules.replace("/", "_"), str(jobs))
        (place / "my.rules").write_bytes((SOURCE / rules).read_bytes())
        self.call("taso-verify", "my.rules", "--no-cache", "--report", "report.json", "--junit", "junit.xml",
                  "--time-limit", 0, "--jobs", jobs, cwd=place, may_end_with=(0, 5))
        return self.keep(place, "report.json", "junit.xml")

    def cases(self):
        """What is run at each number of jobs: a name, and a function of the number."""
        for name, searches in SEARCHES.items():
            for search in searches:
                yield (f"taso-opt {name} {' '.join(search)}",
                       lambda jobs, of=(name, search): self.optimise(*of, jobs))
        for operators in OPERATOR_SETS:
            yield f"taso-gen {operators}", lambda jobs, of=operators: self.generate(of, jobs)
        for rules in RULE_FILES:
            yield f"taso-verify {rules}", lambda jobs, of=rules: self.verify(of, jobs)

    def run(self):
        """Returns the names of what differs between numbers of jobs."""
        differing = []
        with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
            networks = dict(zip(NETWORKS, pool.map(self.network, NETWORKS)))
            for name, outputs in networks.items():
                self.hashes[f"taso-networks {name} model.onnx"] = outputs["model.onnx"]
            runs = [(name, [pool.submit(case, jobs) for jobs in JOBS]) for name, case in self.cases()]
            for name, results in runs:
                first, *others = [result.result() for result in results]
                for output, found in first.items():
                    self.hashes[f"{name} {output}"] = found
                    differing += [f"{name} {output}" for other in others if other[output] != found]
        return differing


def read_hashes(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return {name: found for found, name in (line.split(" ", 1) for line in lines)}


def differences(ours, theirs):
    """What was made twice and differs, and what was made only once."""
    both = ours.keys() & theirs.keys()
    return sorted(name for name in both if ours[name] != theirs[name]), sorted((ours.keys() | theirs.keys()) - both)


def machine(programs):
    version = subprocess.run([programs / "taso-verify", "--version"], capture_output=True, text=True).stdout
    return f"{platform.machine()}, {', '.join(re.sub(r' +', ' ', line) for line in version.splitlines())}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=pathlib.Path, default=PROGRAMS)
    parser.add_argument("--write", type=pathlib.Path, help="keep the hashes in this file")
    parser.add_argument("--compare", type=pathlib.Path, help="compare with a file that --write made elsewhere")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the outputs in this folder, which must not exist")
    options = parser.parse_args()
    expected = read_hashes(options.compare) if options.compare else None
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(options.programs.resolve(), (options.keep or pathlib.Path(folder) / "runs").resolve())
        between_jobs = campaign.run()
    for name, found in sorted(campaign.hashes.items()):
        print(found[:16], name)
    if options.write:
        lines = [f"# {machine(options.programs)}"]
        lines += [f"{found} {name}" for name, found in sorted(campaign.hashes.items())]
        options.write.write_text("\n".join(lines) + "\n")
    elsewhere, missing = differences(campaign.hashes, expected) if expected is not None else ([], [])
    for name in between_jobs:
        print(f"differs between {JOBS[0]} and {JOBS[1]} jobs: {name}")
    for name in elsewhere:
        print(f"differs from {options.compare}: {name}")
    for name in missing:
        print(f"not compared, made once only: {name}")
    print(f"{len(campaign.hashes)} outputs, {len(between_jobs)} differ between numbers of jobs"
          + (f", {len(elsewhere)} from {options.compare}" if expected is not None else ""))
    sys.exit(1 if between_jobs or elsewhere else 0)


if __name__ == "__main__":
    main()
