"""Data beside a model is part of it, wherever the model uses it: equal messages do not make equal models."""

import hashlib
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from opt_models import floats, model_of, run, save


def external(name, location="weights.bin"):
    """Four floats in a separate file."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


def in_a_branch():
    branches = [helper.make_graph([helper.make_node("Add", ["x", "w"], [name])], name, [], [floats(name, [4])],
                                  [weight])
                for name, weight in (("then", external("w")),
                                     ("else", numpy_helper.from_array(np.ones(4, np.float32), "w")))]
    node = helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
    return model_of([node], [helper.make_tensor_value_info("c", TensorProto.BOOL, []), floats("x", [4])],
                    [floats("y", [4])])


def in_an_attribute():
    node = helper.make_node("Something", ["x"], ["y"], domain="of.somebody")
    node.attribute.add(name="table", type=onnx.AttributeProto.TENSOR).t.CopyFrom(external(""))
    model = model_of([node], [floats("x", [4])], [floats("y", [4])])
    model.opset_import.add(domain="of.somebody", version=1)
    return model


def in_a_function():
    constant = helper.make_node("Constant", [], ["w"])
    constant.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t.CopyFrom(external(""))
    function = helper.make_function("of.ours", "Shift", ["x"], ["y"],
                                    [constant, helper.make_node("Add", ["x", "w"], ["y"])],
                                    [helper.make_opsetid("", 13)])
    model = model_of([helper.make_node("Shift", ["x"], ["y"], domain="of.ours")], [floats("x", [4])],
                     [floats("y", [4])])
    model.opset_import.add(domain="of.ours", version=1)
    model.functions.append(function)
    return model


def in_a_sparse_weight():
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [floats("x", [8])], [floats("y", [8])])
    sparse = model.graph.sparse_initializer.add(dims=[8])
    sparse.values.CopyFrom(external("w"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([0, 2, 3, 7]), "w_indices"))
    return model


def in_training():
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [floats("x", [4])], [floats("y", [4])])
    training = model.training_info.add()
    training.initialization.name = "begin"
    training.initialization.node.add(op_type="Constant", output=["start"])
    training.initialization.node[0].attribute.add(name="value",
                                                  type=onnx.AttributeProto.TENSOR).t.CopyFrom(external(""))
    training.initialization.output.append(floats("start", [4]))
    return model


@pytest.mark.parametrize("make", [in_a_branch, in_an_attribute, in_a_function, in_a_sparse_weight, in_training])
def test_other_data_behind_the_same_message_is_rejected(make, taso_opt, taso_verify, tmp_path):
    hashes = []
    for folder, factor in (("a", 1), ("b", 2), ("same", 1)):
        (tmp_path / folder).mkdir()
        save(make(), tmp_path / folder / "model.onnx")
        (tmp_path / folder / "weights.bin").write_bytes((factor * np.arange(4, dtype=np.float32)).tobytes())
        done = run(taso_opt, tmp_path / folder / "model.onnx", "-o", tmp_path / folder / "out.onnx", "--budget", "0")
        assert done.code == 0, done
        hashes.append(json.loads((tmp_path / folder / "out.onnx.cert").read_text())["input"])
    assert hashes[0] != hashes[1] and hashes[0] == hashes[2]
    certificate = json.loads((tmp_path / "a" / "out.onnx.cert").read_text())
    certificate["clean_ups"] = []
    verdicts = {}
    for folder, hash in (("b", hashes[1]), ("same", hashes[2])):
        certificate["output"] = hash
        (tmp_path / "forged.cert").write_text(json.dumps(certificate))
        verdicts[folder] = run(taso_verify, "--certificate", tmp_path / "forged.cert", tmp_path / "a" / "model.onnx",
                               tmp_path / folder / "model.onnx")
    assert verdicts["b"].code == 5, verdicts
    assert verdicts["same"].code == 0, verdicts


@pytest.mark.parametrize("make", [in_a_branch, in_an_attribute, in_a_function, in_a_sparse_weight, in_training])
@pytest.mark.parametrize("flag", ["--embed", "--external-data"])
def test_the_same_data_in_another_place_is_accepted(make, flag, taso_opt, taso_verify, tmp_path):
    save(make(), tmp_path / "model.onnx")
    (tmp_path / "weights.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--budget", "0", flag)
    assert done.code == 0, done
    done = run(taso_verify, "--certificate", tmp_path / "out.onnx.cert", tmp_path / "model.onnx", tmp_path / "out.onnx")
    assert done.code == 0, done


def test_the_hash_says_where_the_data_of_each_tensor_ends(taso_opt, tmp_path):
    model = model_of([helper.make_node("Add", ["a", "b"], ["y"])], [floats("x", [4])], [floats("y", [4])],
                     [external("a", "a.bin"), external("b", "b.bin")])
    save(model, tmp_path / "model.onnx")
    for name in "ab":
        (tmp_path / f"{name}.bin").write_bytes(name.encode() * 16)
    done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--budget", "0")
    assert done.code == 0, done
    expected = hashlib.sha256(model.SerializeToString() + b"16:" + b"a" * 16 + b"16:" + b"b" * 16).hexdigest()
    assert json.loads((tmp_path / "out.onnx.cert").read_text())["input"] == expected
