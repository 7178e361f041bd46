"""Rules of others, in xla/: every verdict is that of the list beside them.

TASO_BLESS=1 writes the lists again. Read the diff: a rule that is no longer proved is a loss, and one that is proved
though it is false would be a bug.
"""

import json
import os
import pathlib
import re
import subprocess

import pytest

# How many rules TensorRight's repository has in each folder of rules/xla (two more are commented out: conv/02 and
# dyslice/06).
TENSORRIGHT = {"add": 4, "broadcast": 8, "clamp": 3, "compare": 6, "concat": 7, "conv": 3, "divmod": 8, "dot": 6,
               "dyslice": 5, "dyupslice": 4, "iota": 1, "logical": 11, "max": 2, "mul": 10, "not": 2, "pad": 4,
               "reduce": 8, "relabel": 2, "reverse": 4, "select": 4, "slice": 13, "sub": 3}
NOT_STATED = "not stated"


def folder(source_folder):
    return source_folder / "tests/verifier/xla"


def decided(taso_verify, tmp_path, files):
    report = tmp_path / "report.json"
    done = subprocess.run([taso_verify, *files, "--no-cache", "--time-limit", "120", "--report", report],
                          capture_output=True, text=True, timeout=1200)
    assert done.returncode in (0, 5), done.stderr
    return json.loads(report.read_text())["rules"]


def xla_files(source_folder):
    return [folder(source_folder) / f"{name}.rules"
            for name in ("broadcast", "elementwise", "linear", "logical", "slices")]


def commented(file):
    """The first line of its comment and the name, for each rule."""
    return re.findall(r"^# ([^\n]*)\n(?:#[^\n]*\n)*candidate (\S+)", file.read_text(), re.MULTILINE)


def origins(files):
    """Rule by rule, where it comes from: the word before the colon in its comment."""
    found = {}
    for file in files:
        for comment, name in commented(file):
            origin = re.match(r"[a-z]+/[0-9a-z-]+(?=:)", comment)
            assert origin, f"{name}: the comment does not say where it comes from"
            found[name] = origin.group()
    return found


def lines_of(rules, names):
    for rule in rules:
        verdict = rule["verdict"] + (f" where {rule['condition']}" if rule.get("condition") else "")
        origin = f"{names[rule['name']]:22} " if names[rule["name"]] else ""
        yield f"{origin}{rule['name']:38} {verdict}"


def same(path, lines):
    """The lines of the list that are rules; the others are comments and rules that are not stated."""
    lines, text = sorted(lines), path.read_text().splitlines()
    kept = [line for line in text if line.startswith("#") or NOT_STATED in line]
    if os.environ.get("TASO_BLESS") == "1":
        path.write_text("\n".join(kept + lines) + "\n")
    else:
        assert [line for line in text if line not in kept] == lines


def test_verdicts_on_the_rules_of_xla(taso_verify, source_folder, tmp_path):
    files = xla_files(source_folder)
    rules = decided(taso_verify, tmp_path, files)
    names = origins(files)
    assert set(names) == {rule["name"] for rule in rules}
    same(folder(source_folder) / "xla.verdicts", lines_of(rules, names))


def test_every_rule_of_tensorright_is_listed(source_folder):
    listed = {line.split()[0] for line in (folder(source_folder) / "xla.verdicts").read_text().splitlines()
              if not line.startswith("#")}
    for group, count in TENSORRIGHT.items():
        first = 0 if group in ("sub", "conv") else 1  # conv/02 is commented out
        numbers = [n for n in range(first, first + count + (group == "conv"))]
        assert {f"{group}/{n:02}" for n in numbers} <= listed


def test_verdicts_on_the_rules_of_tensat(taso_verify, source_folder, tmp_path):
    rules = decided(taso_verify, tmp_path, [folder(source_folder) / "tensat.rules"])
    same(folder(source_folder) / "tensat.verdicts", lines_of(rules, {rule["name"]: "" for rule in rules}))


def test_fusions_that_broke_models_are_refuted(taso_verify, source_folder, tmp_path):
    file = folder(source_folder) / "onnxruntime.rules"
    rules = decided(taso_verify, tmp_path, [file])
    comments = {name: comment for comment, name in commented(file)}
    for rule in rules:
        mended = "mended" in comments[rule["name"]]
        assert (rule["verdict"] == "proved") == mended, (rule["name"], rule["verdict"])
        if not mended:
            assert rule["verdict"] in ("refuted", "conditional") and rule["counterexample"], rule["name"]
    assert len(rules) >= 9


def conditions_of(text):
    """A list of conditions, cut at the commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def without_conditions(text):
    """The definitions of a file, and each rule with one of its conditions left out. Conditions on ranks and whole
    shapes often follow from the rest, and stay."""
    kept = []
    for item in re.split(r"\n(?=[a-z])", re.sub(r"(?m)^#.*\n", "", text)):
        rule = re.match(r"(?s)candidate (\S+)\n(.*)\n  where (.*)", item.rstrip())
        if not rule:
            kept += [] if item.startswith("candidate") else [item.rstrip()]
            continue
        name, sides, conditions = rule.group(1), rule.group(2), conditions_of(rule.group(3))
        for place, condition in enumerate(conditions):
            rest = conditions[:place] + conditions[place + 1:]
            if not re.match(r"rank\(|shape\(", condition):
                kept.append(f"candidate {name}-{place}\n{sides}" + (f"\n  where {', '.join(rest)}" if rest else ""))
    return "\n\n".join(kept) + "\n"


def test_conditions_are_needed(taso_verify, source_folder, tmp_path):
    """A proved rule without one of its conditions is refuted, conditional or unknown."""
    files = []
    for file in xla_files(source_folder):
        files.append(tmp_path / file.name)
        files[-1].write_text(without_conditions(file.read_text()))
    rules = decided(taso_verify, tmp_path, files)
    assert [rule["name"] for rule in rules if rule["verdict"] == "proved"] == []
    assert sum(rule["verdict"] in ("refuted", "conditional") for rule in rules) >= 25


def mutants(source_folder, count, limit):
    build = pathlib.Path(os.environ.get("TASO_BUILD_FOLDER", source_folder / "build" / "dev"))
    program = build / "tests" / "verifier_mutate"
    if not program.is_file():
        pytest.skip("this build has no Z3, and so no verifier_mutate")
    files = sorted(folder(source_folder).glob("*.rules"))
    done = subprocess.run([program, "--count", str(count), "--seed", "3", "--properties",
                           source_folder / "rules/properties.rules", *files],
                          capture_output=True, text=True, timeout=limit)
    print(done.stdout, done.stderr)
    assert done.returncode == 0 and "taken in: 0" in done.stdout


def test_mutants(source_folder):
    """A changed condition, constant or operator: none of these that is false on numbers may be proved."""
    mutants(source_folder, 200, 800)


@pytest.mark.full
def test_two_thousand_mutants(source_folder):
    mutants(source_folder, 2000, 7200)
