"""motifs.py --count 5000 --seed 0 --taso-opt PATH --jobs 2: runs taso-opt on random models from motifs of real
networks.

Each model gets one set of options. taso-opt must end with 0. Its output must be valid, load, and give the same results
in ONNX Runtime as the original, at several sizes. taso-verify must accept the certificate. A second run, and another
number of jobs, each tried on one model of eight, must give the same bytes. Failing models are reduced and kept with
their options.
"""

import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import pathlib
import shlex
import shutil
import sys
import tempfile
import time

import onnx
from onnx import TensorProto

import motif_check
import motif_model
import reduce_model
from option_sets import OptionSets


def runs_in_onnxruntime(model):
    try:
        motif_check.runtime_comparison.open_session(model.SerializeToString(), threads=1)
        return True
    except Exception:
        return False


def make(seed):
    """The model of a seed and its traits. If ONNX Runtime lacks kernels for double, the model uses float32."""
    traits = motif_model.traits_of(seed)
    maker = motif_model.MotifModel(seed, traits)
    model = maker.model()
    if traits.element == TensorProto.DOUBLE and not runs_in_onnxruntime(model):
        traits = motif_model.Traits(motif_model.FLOAT, traits.open, traits.external)
        maker = motif_model.MotifModel(seed, traits)
        model = maker.model()
    return model, traits, maker


class Campaign:
    def __init__(self, taso_opt, taso_verify, scratch, kept=None, seconds_to_reduce=60):
        self.programs = (pathlib.Path(taso_opt).resolve(), taso_verify and pathlib.Path(taso_verify).resolve())
        self.scratch, self.kept = pathlib.Path(scratch), kept and pathlib.Path(kept)
        self.seconds_to_reduce = seconds_to_reduce
        self.cache = self.scratch / "cache"
        self.sets = OptionSets(self.programs[0], self.scratch)

    def plan(self, seeds):
        """The options of each seed, drawn in order, so that they depend only on the seeds."""
        return [(seed, self.sets.draw(seed, motif_model.traits_of(seed))) for seed in seeds]

    def check(self, seed, model, traits, chosen):
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            check = motif_check.Check(self.programs, self.sets, self.cache, pathlib.Path(folder))
            return check.run(seed, model, traits, chosen)

    def attempt(self, entry):
        seed, chosen = entry
        model, traits, maker = make(seed)
        finding = self.check(seed, model, traits, chosen)
        finding.facts[f"element type {TensorProto.DataType.Name(traits.element).lower()}"] += 1
        finding.facts["with open dimensions"] += int(bool(traits.open))
        for name in set(maker.used_motifs):
            finding.facts[f"motif {name}"] += 1
        if finding.failed and self.kept:
            self.keep(finding, model, traits)
        return finding

    def keep(self, finding, model, traits):
        folder = self.kept / f"{finding.seed}"
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(model, folder / "model.onnx")
        text = {"seed": finding.seed, "kind": finding.kind, "detail": finding.detail, "element": traits.element,
                "open": traits.open, "external": traits.external, "command": shlex.join(map(str, finding.command)),
                "options": sorted(map(list, finding.options), key=str)}
        (folder / "finding.json").write_text(json.dumps(text, indent=1) + "\n")
        if finding.kind == "over time":
            return

        def still_fails(candidate):
            return self.check(finding.seed, candidate, traits, finding.options).kind == finding.kind

        def feed(session):
            return motif_check.feed_at(session, motif_model.BASE_SIZES, 0)

        small = reduce_model.reduced(model, still_fails, feed, self.seconds_to_reduce)
        onnx.save(small, folder / "small.onnx")


def run_all(campaign, plan, jobs, say=lambda text: None):
    """All findings, in the order of the plan."""
    findings = []
    began = time.monotonic()
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for finding in pool.map(campaign.attempt, plan, chunksize=4):
            findings.append(finding)
            if finding.failed:
                say(f"seed {finding.seed}: {finding.kind}: {finding.detail}\n  {shlex.join(map(str, finding.command))}")
            if len(findings) % 100 == 0:
                failed = sum(f.failed for f in findings)
                say(f"{len(findings)} models, {failed} failed, {time.monotonic() - began:.0f} s")
    return findings


def figures(campaign, findings):
    """A table of the results. Counts pairs only for models that ran."""
    facts = sum((finding.facts for finding in findings), collections.Counter())
    not_run = [finding for finding in findings if finding.kind == "not run"]
    for finding in not_run:
        campaign.sets.count(finding.options, -1)
    pair, times = campaign.sets.least()
    lines = [f"models: {len(findings)}, of which ONNX Runtime does not run {len(not_run)}"]
    lines += [f"  {name}: {facts[name]:,}" for name in sorted(facts)]
    lines.append(f"pairs of settings: {campaign.sets.number_of_pairs():,}, the rarest {times} times: "
                 + " with ".join(f"{option} {value}" for option, value in pair))
    kinds = collections.Counter(finding.kind for finding in findings if finding.failed)
    lines.append(f"failed: {sum(kinds.values())}")
    lines += [f"  {kind}: {number}" for kind, number in kinds.most_common()]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--taso-opt", required=True)
    parser.add_argument("--taso-verify", help="the one beside taso-opt, if not given")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", default="motif-failures", help="folder for models that fail")
    parser.add_argument("--seconds-to-reduce", type=float, default=60)
    parser.add_argument("--least", type=int, default=0, help="fail if a pair of settings occurs less often")
    arguments = parser.parse_args()
    verify = arguments.taso_verify or pathlib.Path(arguments.taso_opt).with_name("taso-verify")
    scratch = tempfile.mkdtemp(prefix="motifs-")
    began = time.monotonic()
    try:
        verify = verify if pathlib.Path(verify).is_file() else None
        campaign = Campaign(arguments.taso_opt, verify, scratch, arguments.keep, arguments.seconds_to_reduce)
        plan = campaign.plan(range(arguments.seed, arguments.seed + arguments.count))
        findings = run_all(campaign, plan, arguments.jobs, lambda text: print(text, flush=True))
    finally:
        shutil.rmtree(scratch)
    print(figures(campaign, findings))
    print(f"seconds: {time.monotonic() - began:.0f}")
    failed = any(finding.failed for finding in findings) or campaign.sets.least()[1] < arguments.least
    print("FAILED" if failed else "PASSED")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
