"""Which rules taso-opt searches with, and which of them count as proved."""

import json
import os
import re
import shutil

import pytest

import opt_models as models
from opt_models import run, save

SMALL = """taso rules 1

# The header of a file that was found.

rule relu-twice
  relu(relu(x)) => relu(x)

rule shared-left-factor
  matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))
  where rank(x) = 2, rank(y) = 2, rank(z) = 2
"""
UNKNOWN = ", not known to be proved)"


@pytest.fixture
def model(tmp_path):
    return save(models.with_identity(), tmp_path / "model.onnx")


class Data:
    """A data folder as shipped, which a test may change."""

    def __init__(self, taso_opt, source_folder, folder):
        self.rules = folder / "data" / "rules"
        self.rules.mkdir(parents=True)
        for file in ("taso.rules", "networks.rules", "properties.rules", "proved.json"):
            shutil.copy(source_folder / "rules" / file, self.rules / file)
        self.cache = folder / "cache"
        self.taso_opt = taso_opt
        self.environment = {**os.environ, "TASO_DATA": str(folder / "data"), "XDG_CACHE_HOME": str(self.cache)}

    def run(self, *arguments, program=None):
        return run(program or self.taso_opt, *arguments, env=self.environment)

    def described(self):
        return re.search(r"^rules +(.*)$", self.run("--version").out, re.MULTILINE).group(1)

    def spoil(self, file, old, new):
        text = (self.rules / file).read_text()
        assert old in text
        (self.rules / file).write_text(text.replace(old, new, 1))

    def proves(self):
        """Whether anything was proved: proofs are cached."""
        return self.cache.exists()


@pytest.fixture
def data(taso_opt, source_folder, tmp_path):
    return Data(taso_opt, source_folder, tmp_path)


@pytest.fixture
def small(data, taso_verify):
    """The same with a few rules and a new record, so that proofs are quick."""
    (data.rules / "taso.rules").write_text(SMALL)
    (data.rules / "networks.rules").unlink()
    done = data.run(data.rules / "taso.rules", "--record", data.rules / "proved.json", "--no-cache",
                    program=taso_verify)
    assert done.code == 0, done
    return data


def test_shipped_rules_are_used_without_a_proof(data, model, tmp_path):
    files = [data.rules / "taso.rules", data.rules / "networks.rules"]
    number = data.run("--list-rules").out.count("\nrule ")
    assert re.fullmatch(rf"[0-9a-f]{{32}} \({number}\)", data.described())
    done = data.run(model, "-o", tmp_path / "out.onnx", "--report", tmp_path / "report.json")
    assert done.code == 0 and "warning" not in done.err and not data.proves(), done
    assert json.loads((tmp_path / "report.json").read_text())["search"]["rules"] == number
    # A file is identified by its bytes, wherever it is.
    for i, file in enumerate(files):
        shutil.copy(file, tmp_path / f"{i}.rules")
    done = data.run(model, "-o", tmp_path / "again.onnx", "--rules", tmp_path / "0.rules", "--rules",
                    tmp_path / "1.rules")
    assert done.code == 0 and not data.proves()
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()


def test_one_byte_more_and_they_are_proved_again(small, model):
    assert UNKNOWN not in small.described()
    small.spoil("taso.rules", "header", "Header")
    assert small.described().endswith("(2" + UNKNOWN)
    done = small.run(model, "--dry-run")
    assert done.code == 0 and "taso.rules has changed since it was proved" in done.err and small.proves(), done
    small.spoil("taso.rules", "=> relu(x)", "=> x")
    done = small.run(model, "--dry-run")
    assert done.code == 5 and "'relu-twice' is refuted" in done.err


@pytest.mark.parametrize("file, old, new", [
    ("proved.json", '"verifier": ', '"verifier": 9'),
    ("proved.json", '"schema_version": 1', '"schema_version": 2'),
    ("proved.json", '"files": [', '"files": '),
    ("properties.rules", "\naxiom ", "\naxiom another-"),
])
def test_a_record_of_something_else_does_not_count(small, file, old, new):
    assert UNKNOWN not in small.described()
    small.spoil(file, old, new)
    assert small.described().endswith(UNKNOWN)


def test_without_a_record_or_properties_nothing_is_known(small):
    for file in ("proved.json", "properties.rules"):
        text = (small.rules / file).read_text()
        (small.rules / file).unlink()
        assert small.described().endswith(UNKNOWN)
        (small.rules / file).write_text(text)
    assert not small.described().endswith(UNKNOWN)


def test_only_what_is_proved_is_recorded(taso_verify, tmp_path):
    rules, record = tmp_path / "my.rules", tmp_path / "record.json"
    rules.write_text(SMALL.replace("=> relu(x)", "=> x"))
    assert run(taso_verify, rules, "--record", record, "--no-cache").code == 5 and not record.exists()
    rules.write_text(SMALL)
    assert run(taso_verify, rules, "--record", record, "--no-cache").code == 0
    recorded = json.loads(record.read_text())
    assert [(file["name"], file["rules"]) for file in recorded["files"]] == [("my.rules", 2)]
    # The properties that the proofs use, for rules that do not name them after `by`.
    twice, shared = recorded["files"][0]["by"]
    assert "relu" in twice and "matmul" in shared
    rules.write_text(re.sub(r"(?<=relu\(x\)\n)", f"  by {twice}\n", SMALL))
    assert run(taso_verify, rules, "--record", record, "--no-cache").code == 0
    assert json.loads(record.read_text())["files"][0]["by"] == ["", shared]
    rules.write_text(SMALL)
    assert run(taso_verify, "--properties-only", "--record", record).code == 2
    assert run(taso_verify, rules, "--record", rules).code == 2 and rules.read_text() == SMALL


def test_of_rules_written_by_hand_it_is_recorded_by_what_they_are_proved(data):
    record = json.loads((data.rules / "proved.json").read_text())
    files = {file["name"]: file for file in record["files"]}
    by = files["networks.rules"]["by"]
    assert len(by) == files["networks.rules"]["rules"] and all(by)
    assert "by" not in files["taso.rules"]  # taso-gen writes it behind each rule


def test_rules_of_ones_own_are_proved(data, model, taso_verify, tmp_path):
    (tmp_path / "my.rules").write_text(SMALL)
    assert data.run(model, "--dry-run", "--rules", tmp_path / "my.rules").code == 0 and data.proves()


def test_without_a_prover_only_shipped_rules_are_used(data, programs, model, tmp_path):
    if (programs / "taso-verify").is_file():
        pytest.skip("this build has a prover")
    (tmp_path / "my.rules").write_text(SMALL)
    done = data.run(model, "--dry-run", "--rules", tmp_path / "my.rules")
    assert done.code == 5 and "my.rules" in done.err and "no prover" in done.err
    assert data.run(model, "--dry-run").code == 0


def stated_names(text, listed):
    """The names of the rules that a file states, in its order. A law for a class has one for each listed member."""
    for name, functions, body in re.findall(r"^rule (\S+)(?: for (.*))?\n((?:[ \t].*\n)+)", text, re.MULTILINE):
        variables = [one.split()[0] for one in functions.split(",")] if functions else []
        parts = [r"\w+(?:-relu|-swish)?" if part in variables else re.escape(part) for part in name.split("-")]
        members = [one for one in listed if re.fullmatch("-".join(parts), one)] if variables else [name]
        for member in members:
            yield from (member, f"{member}-back") if "<=>" in body else (member,)


def test_rules_are_listed(data, tmp_path):
    done = data.run("--list-rules")
    shipped = "".join((data.rules / file).read_text() for file in ("taso.rules", "networks.rules"))
    assert done.code == 0 and done.err == ""
    names = re.findall(r"^rule (\S+)$", done.out, re.MULTILINE)
    assert names == list(stated_names(shipped, names))
    classes = {name: what for what, name in re.findall(r"^# float: (.*)\nrule (\S+)$", done.out, re.MULTILINE)}
    assert len(classes) == len(names)
    told = set(", ".join(classes.values()).split(", "))
    assert told == {"exact", "reassociates", "may overflow", "spreads NaN"}
    (tmp_path / "my.rules").write_text(SMALL)
    done = data.run("--list-rules", "--rules", tmp_path / "my.rules", "--disable-rule", "relu-twice")
    shared = SMALL[SMALL.index("rule shared"):]
    assert done.code == 0 and done.out == "taso rules 1\n\n# float: reassociates\n" + shared
    assert not data.proves()


def test_rules_of_a_law_are_listed_and_disabled_one_by_one(data, tmp_path):
    (tmp_path / "my.rules").write_text("taso rules 1\n\nrule r-of-r for r in reduction\n"
                                       "  r[axes=[0]](r[axes=[1]](x)) <=> r[axes=[0, 1]](x)\n")
    done = data.run("--list-rules", "--rules", tmp_path / "my.rules", "--disable-rule", "reduce-max-of-reduce-max-back")
    assert done.code == 0, done
    assert re.findall(r"^rule (\S+)$", done.out, re.MULTILINE) == [
        "reduce-sum-of-reduce-sum", "reduce-sum-of-reduce-sum-back", "reduce-mean-of-reduce-mean",
        "reduce-mean-of-reduce-mean-back", "reduce-max-of-reduce-max"]


def test_a_rule_that_is_not_there_cannot_be_disabled(data, model, tmp_path):
    (tmp_path / "my.rules").write_text(SMALL)
    for arguments in (["--list-rules"], [model, "--dry-run"]):
        done = data.run(*arguments, "--rules", tmp_path / "my.rules", "--disable-rule", "relu-twcie")
        assert done.code == 2 and done.out == "", done
        assert "unknown rule 'relu-twcie'; did you mean 'relu-twice'?" in done.err
    done = data.run("--list-rules", "--disable-rule", "something")
    assert done.code == 2 and "--list-rules prints the known ones" in done.err
    (data.rules / "taso.rules").unlink()
    (data.rules / "taso.rules").mkdir()
    assert data.run("--list-rules").code == 3


def test_extra_rules_are_added_to_the_others(data, model, taso_verify, tmp_path):
    extra = tmp_path / "extra.rules"
    extra.write_text("taso rules 1\n\nrule my-own-relu\n  relu(relu(relu(x))) => relu(x)\n")
    shipped = re.findall(r"^rule (\S+)$", data.run("--list-rules").out, re.MULTILINE)
    done = data.run("--list-rules", "--extra-rules", extra)
    assert re.findall(r"^rule (\S+)$", done.out, re.MULTILINE) == [*shipped, "my-own-relu"]
    (tmp_path / "my.rules").write_text(SMALL)
    done = data.run("--list-rules", "--rules", tmp_path / "my.rules", "--extra-rules", extra, "--disable-rule",
                    "relu-twice")
    assert re.findall(r"^rule (\S+)$", done.out, re.MULTILINE) == ["shared-left-factor", "my-own-relu"]
    assert not data.proves()
    done = data.run(model, "-o", tmp_path / "out.onnx", "--extra-rules", extra, "--report", tmp_path / "r.json")
    assert done.code == 0 and "has changed since" not in done.err, done
    assert json.loads((tmp_path / "r.json").read_text())["search"]["rules"] == len(shipped) + 1
    assert data.proves()
    arguments = ("--certificate", tmp_path / "out.onnx.cert", model, tmp_path / "out.onnx")
    assert data.run(*arguments, "--extra-rules", extra, program=taso_verify).code == 0


def test_an_extra_rule_is_proved_and_has_a_name_of_its_own(data, model, taso_verify, tmp_path):
    extra = tmp_path / "extra.rules"
    extra.write_text("taso rules 1\n\nrule wrong\n  sub(x, y) => sub(y, x)\n")
    done = data.run(model, "-o", tmp_path / "out.onnx", "--extra-rules", extra)
    assert done.code == 5 and "'wrong'" in done.err and not (tmp_path / "out.onnx").exists(), done
    name = re.search(r"^rule (\S+)$", (data.rules / "networks.rules").read_text(), re.MULTILINE).group(1)
    extra.write_text(f"taso rules 1\n\nrule {name}\n  relu(relu(x)) => relu(x)\n")
    done = data.run(model, "-o", tmp_path / "out.onnx", "--extra-rules", extra)
    assert done.code == 3 and f"rule '{name}' already exists in " in done.err, done
    # The same rules again say nothing new.
    extra.write_bytes((data.rules / "networks.rules").read_bytes())
    done = data.run(model, "-o", tmp_path / "out.onnx", "--extra-rules", extra)
    assert done.code == 0, done
