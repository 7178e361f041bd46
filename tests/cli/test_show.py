"""taso-gen --show: a rule as a picture."""

import re
import xml.etree.ElementTree

import pytest

from running import run

RULES = """taso rules 1

# Two products with a common left factor.
candidate shared-left-factor
  matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))
  where rank(x) = 2, rank(y) = 2, rank(z) = 2

candidate long
  relu(add(relu(relu(relu(x))), y)) => relu(add(relu(x), y))
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def show(taso_gen, tmp_path):
    file = tmp_path / "some.rules"
    file.write_text(RULES)
    return lambda *arguments: run(taso_gen, *arguments, file)


def texts(picture):
    return [element.text for element in picture.iter(SVG + "text")]


def boxes(picture):
    return [tuple(float(box.get(name)) for name in ("x", "y", "width", "height")) + (box.get("class"),)
            for box in picture.iter(SVG + "rect") if box.get("x")]


def test_both_sides_are_drawn(show):
    done = show("--show", "shared-left-factor")
    assert done.code == 0 and done.err == "", done
    picture = xml.etree.ElementTree.fromstring(done.out)
    assert picture.find(SVG + "title").text == "shared-left-factor"
    words = texts(picture)
    assert words.count("matmul") == 3 and words.count("concat") == 1 and words.count("split") == 1
    assert words.count("x") == 2 and words.count("result 2") == 2  # one x on each side, however often it is used
    assert "first" in words and "second" in words
    assert any(word.startswith("x·y,  x·z") or word.startswith("x·y, x·z") for word in words)
    assert sum(kind == "box gone" for *_, kind in boxes(picture)) == 2
    assert "prefers-color-scheme: dark" in done.out
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|<script|<image|@import", done.out)


@pytest.mark.parametrize("rule", ["shared-left-factor", "2"])
def test_boxes_of_a_side_do_not_overlap(show, rule):
    picture = xml.etree.ElementTree.fromstring(show("--show", rule).out)
    for side in picture.findall(SVG + "g"):
        drawn = boxes(side)
        assert len(drawn) >= 3
        for i, (x, y, width, height, _) in enumerate(drawn):
            for other_x, other_y, other_width, other_height, _ in drawn[i + 1:]:
                assert (x + width <= other_x or other_x + other_width <= x or
                        y + height <= other_y or other_y + other_height <= y)


def test_it_goes_to_a_file_too(show, tmp_path):
    done = show("--show", "long", "-o", tmp_path / "rule.svg")
    assert done.code == 0 and done.out == ""
    assert (tmp_path / "rule.svg").read_text() == show("--show", "2").out
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".taso")] == []


def test_the_shipped_rules_are_there_without_a_file(taso_gen):
    done = run(taso_gen, "--show", "1")
    assert done.code == 0 and done.out.startswith("<svg")


def test_mistakes_are_told(show, taso_gen, tmp_path):
    done = show("--show", "shared-left-fakto")
    assert done.code == 2 and done.out == "" and "did you mean 'shared-left-factor'?" in done.err
    done = show("--show", "3")
    assert done.code == 2 and "there is no rule 3; there are 2" in done.err
    done = show("--show", "1", "--max-ops", "3")
    assert done.code == 2 and "--show cannot be combined with --max-ops" in done.err
    done = run(taso_gen, "-o", tmp_path / "out.rules", tmp_path / "some.rules")
    assert done.code == 2 and "--show" in done.err
    done = show("--show", "1", "-o", tmp_path / "some.rules")
    assert done.code == 2 and (tmp_path / "some.rules").read_text() == RULES
    done = show("--show", "1", "-o", tmp_path / "none" / "rule.svg")
    assert done.code == 6
