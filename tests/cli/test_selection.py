"""Which rules taso-opt chooses for a kind of network, and what it prints about that."""

import json
import os
import re
import shutil

import numpy as np
import pytest
from onnx import helper

import opt_models as models
from opt_models import run, save


def inception(blocks):
    """Blocks of three branches that start from one value and are joined."""
    random = np.random.default_rng(1)
    nodes, weights, x = [], [], "x"
    for i in range(blocks):
        ends = []
        for k, (channels, size) in enumerate([(8, 1), (4, 1), (4, 3)]):
            name = f"{i}.{k}"
            weights += [models.weight(f"w{name}", random.normal(size=(channels, 16, size, size)) / 16),
                        models.weight(f"b{name}", random.normal(size=channels))]
            nodes.append(helper.make_node("Conv", [x, f"w{name}", f"b{name}"], [f"c{name}"], pads=[size // 2] * 4))
            nodes.append(helper.make_node("Relu", [f"c{name}"], [f"r{name}"]))
            ends.append(f"r{name}")
        x = "y" if i + 1 == blocks else f"x{i}"
        nodes.append(helper.make_node("Concat", ends, [x], axis=1))
    return models.model_of(nodes, [models.floats("x", [1, 16, 8, 8])], [models.floats("y", [1, 16, 8, 8])], weights)


@pytest.fixture
def model(tmp_path):
    return save(inception(4), tmp_path / "model.onnx")


@pytest.fixture
def data(source_folder, tmp_path):
    """A data folder as shipped, which a test may change."""
    rules = tmp_path / "data" / "rules"
    rules.mkdir(parents=True)
    for file in ("taso.rules", "networks.rules", "properties.rules", "proved.json", "search.experience"):
        shutil.copy(source_folder / "rules" / file, rules / file)
    return rules


@pytest.fixture
def search(taso_opt, data, model, tmp_path):
    def start(*arguments, model=model):
        report = tmp_path / "report.json"
        environment = {**os.environ, "TASO_DATA": str(data.parent), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = run(taso_opt, model, "-o", tmp_path / "out.onnx", "--budget", "60", "--report", report, *arguments,
                   env=environment)
        return done, json.loads(report.read_text())["search"] if done.code == 0 else None
    return start


def test_the_rules_that_paid_are_chosen_and_told(search, tmp_path):
    done, report = search("--explain", "-v")
    assert done.code == 0, done
    assert done.err.index("\nchanges: ") < done.err.index("the network is Inception-like")  # this model's story first
    reason = "4 concats of 12 branches that start from one value; 12 convolutions"
    assert f"the network is Inception-like: {reason}" in done.err
    told = re.search(r"the search uses (\d+) rules: (\d+) paid off for this kind of network, (\d+) for other kinds, "
                     r"(\d+) are always used; (\d+) others are used where they save time at once", done.err)
    used, paid, elsewhere, kept, dropped = map(int, told.groups())
    assert used == paid + elsewhere + kept and paid > 0 and kept > 0 and dropped > used
    names = re.findall(r"^(  [\w-]+(?:, [\w-]+)*),?$", done.err, re.MULTILINE)
    assert "relu-conv-bias-shared-input" in ", ".join(names).replace(" ", "").split(",")
    assert max(map(len, names)) < 100 and len(", ".join(names).split(",")) == used
    assert report["network"] == {"kind": "inception", "reason": reason}
    assert (report["rules"], report["chosen_rules"]) == (used + dropped, used)
    assert report["all_rules_because"] is None
    assert any(one["rule"] == "relu-conv-bias-shared-input" for one in report["applied"])
    chosen = (tmp_path / "out.onnx").read_bytes()

    done, report = search("--all-rules", "--explain")
    assert done.code == 0 and f"the search uses all {used + dropped} rules: --all-rules is given" in done.err
    done, _ = search("--explain")  # the long list of names only on request
    assert "the search uses" in done.err and "always used:" not in done.err and "(-v lists them)" in done.err
    assert report["chosen_rules"] == report["rules"] and report["all_rules_because"] == "--all-rules is given"
    # Printed only on request.
    done, _ = search()
    assert "Inception" not in done.err and (tmp_path / "out.onnx").read_bytes() == chosen


def test_a_small_model_gets_all_rules(search, tmp_path):
    done, report = search("--explain", model=save(models.with_identity(), tmp_path / "small.onnx"))
    assert done.code == 0 and "too few to tell" in done.err
    assert report["network"]["kind"] == "unknown" and report["chosen_rules"] == report["rules"]


def test_other_objectives_get_all_rules(search):
    done, report = search("--explain", "--objective", "launches")
    assert done.code == 0 and report["all_rules_because"] == "it is only known which rules save time"


def test_rules_of_ones_own_are_all_used(search, tmp_path):
    rules = tmp_path / "own.rules"
    rules.write_text("taso rules 1\n\nrule relu-relu-to-relu-0123456789\n  relu(relu(x)) => relu(x)\n")
    done, report = search("--explain", "--rules", rules)
    assert done.code == 0 and report["chosen_rules"] == report["rules"] == 1, done
    assert "1 are always used; 0 others are used where they save time at once" in done.err


@pytest.mark.parametrize("text, message", [
    ("taso experience 2\n", "search.experience:1:17: this version is not known"),
    ("nonsense", "search.experience:1:1: expected 'taso experience 1'"),
    ("\0\xff", "search.experience:1:1"),
])
def test_a_record_that_cannot_be_read_costs_time_only(search, data, text, message):
    (data / "search.experience").write_text(text, encoding="latin-1")
    done, report = search()
    assert done.code == 0 and "warning" in done.err and message in done.err, done
    assert report["chosen_rules"] == report["rules"]
    assert report["all_rules_because"] == "there is no record of which rules paid off"


def test_a_record_of_other_rules_does_not_count(search, data):
    file = data / "search.experience"
    file.write_text(re.sub(r"(?m)^  [\w-]+:", lambda found: found[0][:-1] + "-of-old:", file.read_text()))
    done, report = search()
    assert done.code == 0
    assert re.fullmatch(r"only 0 of the \d+ rules that paid off are present", report["all_rules_because"])


def test_the_number_of_jobs_changes_nothing(search, tmp_path):
    results = set()
    for jobs in ("1", "2", "5"):
        done, _ = search("--jobs", jobs)
        assert done.code == 0
        results.add((tmp_path / "out.onnx").read_bytes())
    assert len(results) == 1


def test_there_is_nothing_to_explain_without_a_search(search):
    assert search("--explain", "--budget", "0")[0].code == 2


def test_extra_rules_are_searched_with_beside_those_that_paid(search, taso_verify, tmp_path):
    """Also rules with a generated name that did not pay off."""
    extra = tmp_path / "extra.rules"
    extra.write_text("taso rules 1\n\nrule relu-relu-to-relu-0123456789\n  relu(relu(relu(x))) => relu(x)\n")
    usual = search()[1]
    done, with_extra = search("--extra-rules", extra, "--explain", "-v")
    assert done.code == 0, done
    assert usual["all_rules_because"] is None and with_extra["all_rules_because"] is None
    assert with_extra["chosen_rules"] == usual["chosen_rules"] + 1 and "  relu-relu-to-relu-0123456789\n" in done.err
