"""Every folder has a namespace, no type is defined twice in one, and no folder has too many files."""

import collections
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from layering import sources  # noqa: E402

NAMES = {"runtime/host": "runtime", "runtime/gpu": "gpu", "runtime/pricing": "pricing", "runtime/session": "runtime",
         "runtime/api": "runtime", "runtime/onnxruntime": "onnxruntime"}  # other folders: their name
# The only sources that declare names in taso itself.
SHARED = {"ops/core/namespace.h", "onnx/model/messages.h", "runtime/api/taso/session.h"}
BLOCK = re.compile(r"^namespace ([a-zA-Z_:0-9 ]*)\{")
TYPE = re.compile(r"^(?:class|struct|enum class|enum|union) (\w+)(?= *(?:\{|:(?!:)|final))")


def blocks(text):
    """The namespace of every line at the left edge: "" outside all, None inside an unnamed one."""
    within = []
    for line in text.splitlines():
        opened = BLOCK.match(line)
        yield None if "" in within else "::".join(within), line
        if opened and not line.rstrip().endswith("}"):
            within.append(opened.group(1).strip())
        elif within and (line.startswith("}  // namespace") or line == "}"):
            within.pop()


def violations(root):
    found = []
    types = collections.defaultdict(set)
    for name, folder, path in sources(pathlib.Path(root)):
        own = f"taso::{NAMES.get(folder, folder)}"
        for namespace, line in blocks(path.read_text()):
            opened = BLOCK.match(line)
            if opened and not namespace:
                inside = opened.group(1).strip()
                # Allow specialisations for ops, and forward declarations of its types.
                fits = inside in (own, "taso::ops") or inside.startswith(own + "::")
                if inside.split("::")[0] == "taso" and not fits and not (inside == "taso" and name in SHARED):
                    found.append(f"{name}: namespace {inside} is not that of its folder")
            defined = TYPE.match(line)
            if namespace and defined:
                types[f"{namespace}::{defined.group(1)}"].add(name)
    return found + [f"{name} is defined in {', '.join(sorted(files))}"
                    for name, files in types.items() if len(files) > 1 and not name.endswith("::Math")]


def test_every_source_is_in_the_namespace_of_its_folder(source_folder):
    assert violations(source_folder) == []


@pytest.mark.parametrize("files, said", [
    ({"search/a.h": "namespace taso {\nclass A {\n};\n}  // namespace taso\n"}, "namespace taso is not"),
    ({"search/a.h": "namespace taso::cost {\nclass A {\n};\n}  // namespace taso::cost\n"}, "taso::cost is not"),
    ({name: "namespace taso::cost {\nclass A {\n};\n}  // namespace taso::cost\n"
      for name in ("cost/a.h", "cost/b.cpp")},
     "taso::cost::A is defined in cost/a.h, cost/b.cpp"),
])
def test_a_planted_violation_is_found(tmp_path, files, said):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = violations(tmp_path)
    assert len(found) == 1 and said in found[0], found


def test_what_is_not_seen_elsewhere_may_have_any_name(tmp_path):
    (tmp_path / "cost").mkdir()
    for name in ("a.cpp", "b.cpp"):
        (tmp_path / "cost" / name).write_text("namespace taso::cost {\nnamespace {\nclass A {\n};\n}  // namespace\n"
                                              "}  // namespace taso::cost\n")
    assert violations(tmp_path) == []


def test_no_folder_is_too_full_to_be_read(source_folder):
    names = [name for name, _, _ in sources(pathlib.Path(source_folder))]
    numbers = collections.Counter(str(pathlib.PurePath(name).parent) for name in names)
    assert {folder: number for folder, number in numbers.items() if number > 30} == {}
