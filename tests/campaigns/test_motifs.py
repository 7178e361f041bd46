"""A short form of the campaign in motifs.py, and a test that it can fail."""

import json

import onnx
import pytest
from onnx import TensorProto, numpy_helper

import motif_check
import motif_model
import motifs


@pytest.fixture
def campaign(taso_opt, taso_verify, tmp_path):
    return motifs.Campaign(taso_opt, taso_verify, tmp_path)


def passes(campaign, seeds, jobs=2):
    findings = motifs.run_all(campaign, campaign.plan(seeds), jobs)
    print(motifs.figures(campaign, findings))
    assert [(f.seed, f.kind, f.detail, f.command) for f in findings if f.failed] == []
    assert sum(finding.kind == "not run" for finding in findings) <= 0.05 * len(findings)
    return sum((finding.facts for finding in findings), motif_check.collections.Counter())


def test_models_of_motifs(campaign):
    facts = passes(campaign, range(60))
    assert facts["comparisons"] >= 100 and facts["certificates accepted"] >= 20 and facts["changed"] >= 20


@pytest.mark.full
def test_many_models_of_motifs(campaign):
    passes(campaign, range(100_000, 101_000))


def test_a_model_follows_from_its_seed():
    for seed in range(20):
        first, second = (motif_model.motif_model(seed).SerializeToString(deterministic=True) for _ in range(2))
        assert first == second


def test_every_pair_of_settings_occurs(campaign):
    campaign.plan(range(5000))
    pair, times = campaign.sets.least()
    assert times >= 20, pair


def change_a_weight(folder):
    """Changes the largest weight of the output by a tenth."""
    model = onnx.load(folder / "out.onnx")
    tensors = [t for t in model.graph.initializer if t.data_type == TensorProto.FLOAT and len(t.dims) > 1]
    tensor = max(tensors, key=lambda t: len(t.raw_data))
    array = numpy_helper.to_array(tensor) * 1.1
    tensor.CopyFrom(numpy_helper.from_array(array.astype("float32"), tensor.name))
    onnx.save(model, folder / "out.onnx")


def change_the_certificate(folder):
    certificate = json.loads((folder / "out.onnx.cert").read_text())
    certificate["output"] = "0" * 64
    (folder / "out.onnx.cert").write_text(json.dumps(certificate))


def name_a_node(folder):
    if folder.name == "second":
        model = onnx.load(folder / "out.onnx")
        model.graph.node[0].name += "_"
        onnx.save(model, folder / "out.onnx")


def leave_an_output_open(folder):
    model = onnx.load(folder / "out.onnx")
    model.graph.node[-1].output[0] = "elsewhere"
    onnx.save(model, folder / "out.onnx")


def products(traits):
    """A model of products with weights, without anything that hides a change of one."""
    for seed in range(10_000):
        maker = motif_model.MotifModel(seed, traits)
        if maker.used_motifs == ["low_rank"] and len(maker.nodes) < 12 and len(maker.initializers) > 2:
            return maker.model()
    raise AssertionError("there is none")


@pytest.mark.parametrize("seed, damage, kind", [
    (0, change_a_weight, "outputs differ"),
    (0, change_the_certificate, "certificate rejected"),
    (0, name_a_node, "a second run gives other bytes"),
    (1, name_a_node, "another number of jobs gives other bytes"),
    (0, leave_an_output_open, "invalid by onnx.checker"),
])
def test_what_is_wrong_is_noticed(campaign, monkeypatch, seed, damage, kind):
    intact = motif_check.Check.optimise

    def damaged(self, path, arguments, into):
        output = intact(self, path, arguments, into)
        damage(into)
        return output

    traits = motif_model.Traits(TensorProto.FLOAT, (), False)
    model = products(traits)
    chosen = frozenset({("--budget", "0"), ("--jobs", "1")})
    assert campaign.check(seed, model, traits, chosen).kind == "passed"
    monkeypatch.setattr(motif_check.Check, "optimise", damaged)
    assert campaign.check(seed, model, traits, chosen).kind == kind


def test_what_fails_is_kept_and_made_small(taso_opt, taso_verify, tmp_path, monkeypatch):
    """A program that fails on a Concat of more than two operands: the kept model has little else."""
    intact = motif_check.Check.optimise

    def choosy(self, path, arguments, into):
        nodes = onnx.load(path, load_external_data=False).graph.node
        if any(node.op_type == "Concat" and len(node.input) > 2 for node in nodes):
            raise motif_check.Wrong("exit 3", "too many")
        return intact(self, path, arguments, into)

    monkeypatch.setattr(motif_check.Check, "optimise", choosy)
    monkeypatch.setattr(motifs.motif_model.MotifModel, "IMAGE", [motifs.motif_model.ImageMotifs.pool_pyramid])
    (tmp_path / "scratch").mkdir()
    campaign = motifs.Campaign(taso_opt, taso_verify, tmp_path / "scratch", tmp_path / "kept")
    seed = next(s for s in range(100) if motifs.make(s)[2].used_motifs[:1] == ["pool_pyramid"])
    finding = campaign.attempt((seed, frozenset({("--budget", "0")})))
    assert finding.kind == "exit 3"
    told = json.loads((tmp_path / "kept" / str(seed) / "finding.json").read_text())
    assert told["kind"] == "exit 3" and told["command"] == "--budget 0"
    small = onnx.load(tmp_path / "kept" / str(seed) / "small.onnx")
    assert "Concat" in [node.op_type for node in small.graph.node] and len(small.graph.node) <= 4
