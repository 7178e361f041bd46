"""scripts/regenerate-rules finds the same rules as taso-gen did, or shows the difference."""

import os
import re

import pytest

from running import run

OPERATORS = "relu,transpose,concat0"


@pytest.fixture
def regenerate(source_folder, programs):
    environment = {**os.environ, "TASO_PROGRAMS": str(programs)}
    return lambda *arguments: run(source_folder / "scripts" / "regenerate-rules", *arguments, env=environment)


@pytest.fixture(scope="module")
def text_found(taso_gen, tmp_path_factory):
    file = tmp_path_factory.mktemp("found") / "found.rules"
    assert run(taso_gen, "-o", file, "--operators", OPERATORS, "--max-ops", "3", "--seed", "2").code == 0
    return file.read_text()


@pytest.fixture
def found(text_found, tmp_path):
    file = tmp_path / "found.rules"
    file.write_text(text_found)
    return file


def test_the_same_rules_are_found_again(regenerate, found):
    text = found.read_text()
    for size in (1, 2, 3):
        done = regenerate(found, "--check", "--max-ops", size)
        assert done.code == 0 and f"rules of up to {size} operators are the same again" in done.err, done
    done = regenerate(found, "--check", "--jobs", 1)
    assert done.code == 0 and f"{text.count(chr(10) + 'rule ')} rules of up to 3" in done.err, done
    assert found.read_text() == text


def test_a_difference_is_shown(regenerate, found):
    text = found.read_text()
    for bad in (text.replace("relu(relu(x)) => relu(x)", "relu(relu(x)) => x"), text.replace("(seed 2)", "(seed 3)"),
                text.replace("relu-of-relu", "relu-of-concat")):
        assert bad != text
        found.write_text(bad)
        done = regenerate(found, "--check", "--max-ops", 2)
        expected = 0 if "(seed 3)" in bad else 1  # other contents, the same rules, and a header that says so
        assert done.code == expected, done
        if expected:
            assert "\n+" in done.err and "\n-" in done.err and "is not what taso-gen finds" in done.err


def test_a_missing_rule_is_noticed(regenerate, found):
    items = found.read_text().split("\n\n")
    place = next(i for i, item in enumerate(items) if item.startswith("rule "))
    found.write_text("\n\n".join(items[:place] + items[place + 1:]))
    assert regenerate(found, "--check", "--max-ops", 2).code == 1


def test_a_file_is_written_again(regenerate, found):
    text = found.read_text()
    found.write_text(text[:len(text) // 2])
    assert regenerate(found).code == 0
    assert found.read_text() == text


def test_a_file_without_a_header_is_refused(regenerate, source_folder, tmp_path):
    done = regenerate(source_folder / "rules" / "properties.rules", "--check")
    assert done.code == 1 and "has no header" in done.err


def test_shipped_rules_are_proved_from_the_shipped_properties(taso_gen, source_folder):
    """After a change of the properties, the rules must be generated again."""
    hash_now = re.search(r"^properties ([0-9a-f]{16})", run(taso_gen, "--version").out, re.MULTILINE).group(1)
    for file in (source_folder / "rules").glob("*.rules"):
        header = re.match(r"taso rules 1\n\n((?:# .*\n)+)\n", file.read_text())
        found = re.search(r"\b([0-9a-f]{32})\b", header.group(1)) if header else None
        if found:
            assert found.group(1).startswith(hash_now), f"{file.name}: scripts/regenerate-rules {file} is due"
