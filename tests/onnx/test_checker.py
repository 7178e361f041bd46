"""taso-opt refuses models that ONNX's checker calls structurally invalid: both check the same changed models."""

import copy
import pathlib
import random
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import tampering  # noqa: E402
from test_tampering import with_clean_ups, with_functions, with_weights_as_inputs  # noqa: E402

# Complaints about operators by their schemas, which runtimes judge, and about models that may be accepted:
NOT_STRUCTURE = (
    "schema", "No Op registered", "deprecated", "Unrecognized attribute", "Required attribute",
    "Mismatched attribute type",
    "expected to have type", "is marked single", "is expected to have field",
    "is not compatible with the version imported by model",
    "is not an output of any node in graph",  # subgraphs may return outer values; main graphs: see below
    "must be topologically sorted",  # such nodes are sorted
    "Field 'shape' of 'type' is required",  # a tensor of unknown rank, which ONNX Runtime loads
    "No opset import for domain 'ai.onnx'",  # another name of ONNX's own domain
    "Your model ir_version",  # newer models are read as far as they are known
)


def with_sparse_weight():
    model = helper.make_model(
        helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "graph",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    sparse = model.graph.sparse_initializer.add(dims=[2, 4])
    sparse.values.CopyFrom(numpy_helper.from_array(np.ones(3, np.float32), "w"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([[0, 1], [1, 0], [1, 3]]), "indices"))
    return model


MODELS = {"cleaned": with_clean_ups, "functions": with_functions, "old": with_weights_as_inputs,
          "sparse": with_sparse_weight}


def complaint(model):
    """The checker's complaint about the structure; empty if there is none."""
    try:
        onnx.checker.check_model(model)
    except Exception as trouble:
        text = str(trouble)
        return "" if any(said in text for said in NOT_STRUCTURE) else text
    return ""


def refused(taso_opt, model, folder):
    (folder / "changed.onnx").write_bytes(model.SerializeToString())
    done = subprocess.run([taso_opt, folder / "changed.onnx", "-o", folder / "out.onnx", "--budget", "0", "--check",
                           "0",
                           "--dry-run", "-q"], capture_output=True, text=True)
    assert done.returncode in (0, 3), done
    return done.returncode == 3


def compare(taso_opt, model, steps, folder):
    """Returns how many changes the checker complains about."""
    complaints, accepted = 0, []
    for step in steps:
        changed = copy.deepcopy(model)
        try:
            tampering.apply(changed, step)
        except (ValueError, TypeError):
            continue
        if changed.ir_version < 3:
            continue
        text = complaint(changed)
        if not text:
            continue
        complaints += 1
        if not refused(taso_opt, changed, folder):
            accepted.append(f"{tampering.describe(step)}: the checker says: {text[:200]}")
    assert not accepted, "\n".join(accepted)
    return complaints


@pytest.mark.parametrize("name", MODELS)
def test_what_the_checker_refuses_is_refused(name, taso_opt, tmp_path):
    model = MODELS[name]()
    onnx.checker.check_model(model)
    assert not refused(taso_opt, model, tmp_path)
    steps = list(tampering.steps(model))
    random.Random(5).shuffle(steps)
    steps.sort(key=lambda step: step[1].name if step[1] else "")
    few = steps[::max(1, len(steps) // 250)]
    assert compare(taso_opt, model, few, tmp_path) > 5


@pytest.mark.full
@pytest.mark.parametrize("name", MODELS)
def test_all_that_the_checker_refuses_is_refused(name, taso_opt, tmp_path):
    model = MODELS[name]()
    steps = list(tampering.steps(model))
    complaints = compare(taso_opt, model, steps, tmp_path)
    print(f"\n{name}: {len(steps)} changes, {complaints} that the checker calls structurally invalid, all refused")


def two_initializers(model):
    model.graph.initializer.add().CopyFrom(numpy_helper.from_array(np.zeros((4, 3, 3, 3), np.float32), "w"))


def two_in_a_branch(model):
    branch = next(node for node in model.graph.node if node.op_type == "If").attribute[0].g
    branch.initializer.add().CopyFrom(numpy_helper.from_array(np.zeros(4, np.float32), "b"))


def two_constants(model):
    model.graph.node.add(op_type="Constant", output=["w"]).attribute.add(name="value_float", type=1, f=1)


def one_and_a_sparse_one(model):
    sparse = model.graph.sparse_initializer.add(dims=[4])
    sparse.values.CopyFrom(numpy_helper.from_array(np.ones(1, np.float32), "w"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([2]), "i"))


def second_value(model):
    model.graph.node[4].attribute[0].floats.append(1)


def other_type(model):
    model.graph.node[4].attribute[0].type = onnx.AttributeProto.FLOATS


def no_such_output(model):
    model.graph.output[0].name = "nothing"


def two_versions(model):
    model.opset_import.add(domain="ai.onnx", version=12)


@pytest.mark.parametrize("change, said", [
    (two_initializers, "two initializers are named 'w'"), (two_in_a_branch, "two initializers are named 'b'"),
    (two_constants, "produces 'w', which exists already"), (one_and_a_sparse_one, "two initializers are named 'w'"),
    (second_value, "has a value that does not match its type"),
                                                        (other_type, "has a value that does not match its type"),
    (no_such_output, "nothing produces the graph output 'nothing'"),
    (two_versions, "two versions of the domain 'ai.onnx' are imported")])
def test_what_readers_would_take_in_different_ways_is_refused(change, said, taso_opt, tmp_path):
    model = with_clean_ups()
    change(model)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    done = subprocess.run([taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx"], capture_output=True,
                          text=True)
    assert done.returncode == 3 and said in done.stderr, done
    assert not (tmp_path / "out.onnx").exists()


def test_operands_that_are_left_out_end_with_a_word(taso_opt, tmp_path):
    """The first operand of a batch normalisation was once used before it was checked."""
    model = with_clean_ups()
    for node in range(len(model.graph.node)):
        for place in range(len(model.graph.node[node].input)):
            changed = copy.deepcopy(model)
            changed.graph.node[node].input[place] = ""
            refused(taso_opt, changed, tmp_path)  # or accepts it, but does not crash
