"""The sources keep to the layers, and the checker notices violations."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from layering import sources, violations  # noqa: E402


def test_every_include_keeps_to_the_layers(source_folder):
    assert len(list(sources(source_folder))) > 10, "the checker found no sources to check"
    assert violations(source_folder) == []


@pytest.mark.parametrize(
    "name, line",
    [
        ("ops/a.h", '#include "rules/rule.h"'),
        ("ops/a.cpp", '#  include "cost/plan/plan.h"'),
        ("rules/a.h", '#include "cost/plan/plan.h"'),
        ("cost/a.h", '#include "search/queue.h"'),
        ("generator/deep/a.cpp", '#include "verifier/prove.h"'),
        ("search/a.h", '#include "generator/generate.h"'),
        ("search/a.h", '#include "onnx/model/model.h"'),
        ("runtime/host/a.h", '#include "onnx/model/model.h"'),
        ("runtime/host/deep/a.h", '#include "runtime/gpu/device.h"'),
        ("verifier/a.h", '#include "runtime/gpu/device.h"'),
        ("cost/a.h", '#include "runtime/gpu/device.h"'),
        ("onnx/model/a.h", '#include "rules/language/rule.h"'),
        ("verifier/a.h", '#include "cli/report.h"'),
        ("cli/a.cpp", '#include "examples/networks/builder.h"'),
        ("examples/networks/a.cpp", '#include "search/queue.h"'),
        ("examples/networks/a.cpp", "#include <onnx/onnx_pb.h>"),
        ("ops/a.h", '#include "graph.h"'),
        ("ops/a.h", '#include "../rules/rule.h"'),
        ("ops/a.cpp", "#include <google/protobuf/message.h>"),
        ("cli/a.cpp", "#include <onnx/onnx_pb.h>"),
        ("cli/a.cpp", "#include <onnx/onnx-ml.pb.h>"),
        ("rules/a.cpp", "#include <z3++.h>"),
        ("search/a.cpp", "#include <z3.h>"),
        ("cost/a.cpp", "#include <cuda_runtime.h>"),
        ("cost/a.cpp", "#include <cudnn.h>"),
        ("ops/a.cpp", "#include <cublas_v2.h>"),
        ("search/a.cpp", "#include <spdlog/spdlog.h>"),
        ("ops/a.h", "std::int64_t value;"),
    ],
)
def test_a_planted_violation_is_found(tmp_path, name, line):
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text(f"#include <vector>\n{line}\n")
    found = violations(tmp_path)
    assert len(found) == 1 and found[0].startswith(name), found


@pytest.mark.parametrize(
    "name, line",
    [
        ("ops/a.h", '#include "ops/graph.h"'),
        ("rules/a.h", '#include "ops/graph.h"'),
        ("search/a.h", '#include "cost/plan/plan.h"'),
        ("onnx/model/a.h", '#include "runtime/host/interpreter.h"'),
        ("runtime/gpu/cuda/a.h", '#include "runtime/host/interpreter.h"'),
        ("cli/a.cpp", '#include "runtime/gpu/device.h"'),
        ("cli/a.cpp", '#include "verifier/prove.h"'),
        ("examples/networks/a.cpp", '#include "cli/console.h"'),
        ("onnx/model/a.cpp", "#include <google/protobuf/message.h>"),
        ("verifier/a.cpp", "#include <z3++.h>"),
        ("runtime/gpu/cuda/a.cu", "#include <cuda_runtime.h>"),
        ("ops/a.h", "#include <cstdint>\nstd::int64_t value;"),
        ("ops/a.h", "// about std::int64_t"),
    ],
)
def test_what_is_allowed_passes(tmp_path, name, line):
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text(f"{line}\n")
    assert violations(tmp_path) == []
