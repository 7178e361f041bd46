"""A model of 3 GB, mostly holes, passes through taso-opt in little memory, and its holes stay holes."""

import os
import subprocess

import onnx
import pytest
from onnx import TensorProto, helper

WEIGHTS = 30
ROWS, COLUMNS = 1024, 25600
BYTES = ROWS * COLUMNS * 4
MEMORY_LIMIT_KIB = 300 * 1000


def external_weight(name, shape, offset):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "large.data"), ("offset", offset), ("length", BYTES)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def make_model(folder):
    nodes, weights, value = [], [], "x"
    for i in range(WEIGHTS):
        weights.append(external_weight(f"w{i}", [COLUMNS, ROWS] if i % 2 else [ROWS, COLUMNS], i * BYTES))
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"product{i}"]))
        nodes.append(helper.make_node("Identity", [f"product{i}"], [f"same{i}"]))
        # Between two products, because the search would merge them.
        value = f"value{i}" if i + 1 < WEIGHTS else "y"
        nodes.append(helper.make_node("Relu", [f"same{i}"], [value]))
    graph = helper.make_graph(
        nodes,
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", ROWS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", ROWS])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "large.onnx").write_bytes(model.SerializeToString())
    with open(folder / "large.data", "wb") as data:
        data.truncate(WEIGHTS * BYTES)
        data.seek(5 * BYTES)
        data.write(b"\x00\x00\x80\x3f" * 1000)
    return folder / "large.onnx"


def test_three_gigabytes_in_little_memory(taso_opt, tmp_path):
    model = make_model(tmp_path)
    if os.stat(tmp_path / "large.data").st_blocks * 512 > BYTES:
        pytest.skip("this file system has no holes")
    output = tmp_path / "out.onnx"
    process = subprocess.Popen([taso_opt, model, "-o", output])
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    sanitised = any(name in os.environ.get("TASO_BUILD_FOLDER", "") for name in ("asan", "tsan"))
    assert sanitised or usage.ru_maxrss < MEMORY_LIMIT_KIB

    result = onnx.load(output, load_external_data=False)
    assert [node.op_type for node in result.graph.node].count("Identity") == 0
    written = os.stat(tmp_path / "out.onnx.data")
    assert written.st_size >= WEIGHTS * BYTES
    assert written.st_blocks * 512 < BYTES
    weight = next(tensor for tensor in result.graph.initializer if tensor.name == "w5")
    place = {entry.key: entry.value for entry in weight.external_data}
    assert place["location"] == "out.onnx.data"
    with open(tmp_path / "out.onnx.data", "rb") as data:
        data.seek(int(place["offset"]))
        assert data.read(4004) == b"\x00\x00\x80\x3f" * 1000 + bytes(4)
