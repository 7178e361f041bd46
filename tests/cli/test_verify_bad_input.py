"""Broken rule files end with exit 3 and a position; nothing crashes, nothing hangs."""

import random

import pytest

from running import run

RULES = "taso rules 1\n\nrule relu-twice\n  relu(relu(x)) => relu(x)\n  by relu-of-relu\n"


def check(taso_verify, path, place, words=""):
    for arguments in ([], ["--print"]):
        done = run(taso_verify, path, "--no-cache", *arguments)
        assert done.code == 3, (arguments, done)
        assert done.out == ""
        assert done.err.startswith(f"taso-verify: error: {path}{place}") and words in done.err, done
        assert len(done.err.splitlines()) <= 3


@pytest.mark.parametrize(("text", "place", "words"), [
    ("", ":1:1", ""),
    ("taso rules 2\n", ":1:", "2"),
    ("taso rules 9999999999999999999999\n", ":1:", ""),
    ("rules 1\n", ":1:", ""),
    (RULES.replace("x)) =>", "x) =>"), ":4:", ""),
    (RULES.replace("relu(relu", "relu(relux"), ":4:8", "relux"),
    (RULES.replace("(relu(x))", "(y)"), ":4:", "x"),
    (RULES.replace("relu(relu(x))", "relu(x, y)"), ":4:", ""),
    (RULES.replace("relu(relu(x))", "split[axis=0, at=1](x)"), ":4:", ""),
    (RULES.replace("relu(relu(x))", "concat[axis=q](x, x)").replace("=> relu(x)", "=> concat[axis=r](x, x)"), ":4:",
     "r"),
    (RULES + RULES[13:], ":7:", "relu-twice"),
    (RULES.replace("  relu(relu", "relu(relu"), ":3:16", "indented"),
])
def test_text(taso_verify, tmp_path, text, place, words):
    path = tmp_path / "bad.rules"
    path.write_text(text)
    check(taso_verify, path, place, words)


@pytest.mark.parametrize("data", [
    RULES.encode("utf-16"),
    RULES.replace("relu(x)\n", "relu(\xe9)\n").encode("latin-1"),
    RULES.encode().replace(b"relu(x)\n", b"relu(x\0)\n"),
    b"\xff" * 100,
    RULES.encode().replace(b"=>", b"=\x1b[31m>"),
])
def test_encodings(taso_verify, tmp_path, data):
    path = tmp_path / "bad.rules"
    path.write_bytes(data)
    check(taso_verify, path, ":")
    assert "\x1b" not in run(taso_verify, path).err, "control characters never reach the terminal"


@pytest.mark.parametrize("text", [
    "taso rules 1\n\nrule deep\n  " + "relu(" * 100_000 + "x" + ")" * 100_000 + " => x\n",
    "taso rules 1\n\nrule deep\n  " + "relu(" * 1_000_000,
    "taso rules 1\n\nrule deep\n  slice[axis=0, begin=" + "(" * 200_000 + "0" + ")" * 200_000 + ", end=1](x) => x\n",
    "taso rules 1\n\nrule deep\n  slice[axis=0, begin=" + "-" * 200_000 + "1, end=1](x) => x\n",
    "taso rules 1\n\nrule deep\n  reshape[shape=" + "[" * 100_000 + "](x) => x\n",
])
def test_enormous_nesting(taso_verify, tmp_path, text):
    path = tmp_path / "deep.rules"
    path.write_text(text)
    check(taso_verify, path, ":4:")


def test_unreadable_files(taso_verify, tmp_path):
    check(taso_verify, tmp_path / "nowhere.rules", ": cannot read: No such file")
    (tmp_path / "folder.rules").mkdir()
    check(taso_verify, tmp_path / "folder.rules", ": is a folder, not a file")
    with open(tmp_path / "large.rules", "wb") as file:
        file.truncate(1 << 30)  # a sparse file
    check(taso_verify, tmp_path / "large.rules", ": larger than")


DAMAGED = (RULES + """
candidate cut-of-joined
  split[axis=1, at=dim(x, 1)](concat[axis=1](x, y)) => x, y
  where dim(x, 0) = 2, divides(2, dim(y, 1))
""").encode()


def test_random_damage(taso_verify, tmp_path):
    damage(taso_verify, tmp_path / "damaged.rules", DAMAGED, 40)


@pytest.mark.full
def test_much_random_damage(taso_verify, tmp_path):
    damage(taso_verify, tmp_path / "damaged.rules", DAMAGED, 5_000)


def damage(taso_verify, path, good, count):
    """Bytes changed, inserted, dropped or repeated, the end cut off: exit 0, 3 or 5 in every case."""
    choice = random.Random(7)
    for i in range(count):
        data = bytearray(good)
        for _ in range(choice.randint(1, 4)):
            at = choice.randrange(len(data) + 1)
            kind = choice.randrange(4)
            if kind == 0 and at < len(data):
                data[at] = choice.randrange(256)
            elif kind == 1:
                data[at:at] = bytes(choice.randrange(256) for _ in range(choice.randint(1, 3)))
            elif kind == 2:
                del data[at:at + choice.randint(1, 8)]
            else:
                other = choice.randrange(len(data) + 1)
                data[at:at] = data[other:other + choice.randint(1, 20)]
        if choice.random() < 0.2:
            del data[choice.randrange(len(data) + 1):]
        path.write_bytes(data)
        done = run(taso_verify, path, "--no-cache", "--jobs", "1", "--time-limit", "5")
        assert done.code in (0, 3, 5), (i, bytes(data), done)
