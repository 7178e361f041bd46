"""ops/README.md says how to add an operator. Whoever follows it to the letter gets one that works everywhere."""

import os
import pathlib
import re
import shutil
import subprocess
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TASO_BUILD_FOLDER", ""))

# What only ops and rules are needed for: the text, the meaning, shapes of graphs and of rules, classes.
PROGRAM = """
#include <cstdio>
#include "ops/graph/plain.h"
#include "ops/text/operator_text.h"
#include "rules/instance/symbolic_operator.h"
#include "rules/language/function_class.h"

using namespace taso;

int main() {
  const auto abs = ops::operator_named("abs");
  if (!abs) return 1;
  const std::vector<float> numbers{-2, 0, 3};
  ops::Array x(ops::ElementType::float32, {3});
  std::copy(numbers.begin(), numbers.end(), x.mutable_values<float>().begin());
  for (const double value : ops::evaluate_plainly(*abs, std::vector{x})[0].doubles()) std::printf("%g ", value);
  std::printf("| %s ", ops::text_of(ops::infer(*abs, ops::Shapes{{2, ops::Dim::symbol("N")}})[0]).c_str());
  std::vector<rules::Requirement> none;
  const rules::SymbolicOperator symbolic{*rules::kind_named("abs"), {}};
  const auto shapes = rules::infer(symbolic, ops::Shapes{{ops::Dim::symbol("H")}}, none);
  std::printf("%s %zu |", ops::text_of(shapes->at(0)).c_str(), none.size());
  for (const char* name : {"unary", "binary", "total", "keeps_zero", "rising"})
    for (const auto* member : rules::class_named(name)->members)
      if (member->name == "abs") std::printf(" %s", name);
  std::printf(" | %s %d\\n", std::string(ops::onnx_form_of(*abs)->name).c_str(), static_cast<int>(ops::role_of(*abs)));
}
"""


def follow_the_guide(tree):
    """A copy of the sources in which the guide was followed."""
    def no_source(folder, names):
        return [name for name in names if name[0] == "." or name == "__pycache__"
                or (pathlib.Path(folder) == ROOT and name.startswith("build"))]

    shutil.copytree(ROOT, tree, ignore=no_source)
    guide = (ROOT / "ops/README.md").read_text().split("## How to add an operator")[1]
    path = re.search(r"\*\*The file\*\*, `([^`]+)`", guide)[1]
    (tree / path).write_text(textwrap.dedent(re.search(r"( *)```cpp\n(.*?)```", guide, re.DOTALL)[2]))
    listed, include, entry = re.search(
        r"\*\*The entry\*\* in `([^`]+)`: `([^`]+)` among the includes, and\s+`([^`]+)` at the end of `AnyOperator`",
        guide).groups()
    text = (tree / listed).read_text()
    first = text.index("#include \"ops/operators/")
    end = text.index(">;", text.index("using AnyOperator"))
    (tree / listed).write_text(text[:first] + include + "\n" + text[first:end] + ", " + entry + text[end:])
    return tree


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return follow_the_guide(tmp_path_factory.mktemp("guide") / "the tree")


def configure(sources, *options):
    cache = dict(re.findall(r"^([A-Za-z0-9_]+):[A-Z]+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE))
    build = sources / "build"
    # Not optimised: most of the test's time is compiling.
    run(cache["CMAKE_COMMAND"], "-S", sources, "-B", build, "-G", cache["CMAKE_GENERATOR"], "-DCMAKE_BUILD_TYPE=None",
        f"-DCMAKE_CXX_COMPILER={cache['CMAKE_CXX_COMPILER']}", "-DTASO_CUDA=OFF", "-DTASO_WERROR=OFF", *options)
    return cache["CMAKE_COMMAND"], build


def test_the_guide_gives_an_operator(sources):
    (sources / "program.cpp").write_text(PROGRAM)
    with open(sources / "CMakeLists.txt", "a") as lists:
        lists.write("add_executable(guided program.cpp)\ntarget_link_libraries(guided PRIVATE taso::rules)\n"
                    "set_target_properties(guided PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})\n")
    cmake, build = configure(sources, "-DTASO_TESTS=OFF", "-DTASO_UNITY=ON")
    run(cmake, "--build", build, "--parallel", os.cpu_count() or 1, "--target", "guided")
    assert run(build / "guided").strip() == "2 0 3 | [2, N] [H] 0 | unary total keeps_zero | Abs 0"


@pytest.mark.full
def test_all_programs_know_the_operator(sources, tmp_path):
    import numpy
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    cmake, build = configure(sources, "-DTASO_TESTS=OFF", "-DTASO_UNITY=ON")
    run(cmake, "--build", build, "--parallel", os.cpu_count() or 1, "--target", "taso-opt", "taso-verify")
    run(build / "bin/taso-verify", "--properties-only", "--report", tmp_path / "report.json")
    report = (tmp_path / "report.json").read_text()
    assert "abs-keeps-zero" in report and "abs-is-total" in report
    weights = [helper.make_tensor(name, TensorProto.FLOAT, [8, 8], numpy.random.rand(64).astype("float32"))
               for name in ("v", "w")]
    nodes = [helper.make_node("MatMul", ["x", name], ["m" + name]) for name in ("v", "w")]
    nodes += [helper.make_node("Abs", ["m" + name], ["y" + name]) for name in ("v", "w")]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [4, 8])],
                              [value(name, TensorProto.FLOAT, [4, 8]) for name in ("yv", "yw")], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    told = run(build / "bin/taso-opt", tmp_path / "model.onnx", "-o", tmp_path / "out.onnx")
    assert "understood 4 of 4 operators" in told, told
    assert told.rstrip().endswith(("PASSED", "no faster graph found", "no faster graph kept")), told
    x = numpy.random.randn(4, 8).astype("float32")
    before, after = (onnxruntime.InferenceSession(str(tmp_path / name)).run(None, {"x": x})
                     for name in ("model.onnx", "out.onnx"))
    for one, other in zip(before, after):
        numpy.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
