"""Wide and deep graphs: they are read, searched, checked, written and certified, also on a small stack.

The time and memory of each are printed. Limits for the largest graphs are tested under `full`."""

import dataclasses
import os
import resource
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import helper
from opt_models import floats, model_of, run, weight


def chain(make, length, shape=(2, 4), result=None, inputs=(), initializers=()):
    """A chain of nodes: make(i, operand, result) returns those at one position."""
    names = ["x"] + [f"v{i}" for i in range(length - 1)] + ["y"]
    nodes = [node for i in range(length) for node in make(i, names[i], names[i + 1])]
    return model_of(nodes, [floats("x", shape), *inputs], [floats("y", result or shape)], initializers)


def row_of(kind, **attributes):
    return lambda length: chain(lambda i, a, b: [helper.make_node(kind, [a], [b], **attributes)], length)


def add_one_input(length):
    return chain(lambda i, a, b: [helper.make_node("Add", [a, "b"], [b])], length, inputs=[floats("b", [2, 4])])


def add_weights(length):
    random = np.random.default_rng(0)
    return chain(lambda i, a, b: [helper.make_node("Add", [a, f"w{i}"], [b])], length,
                 initializers=[weight(f"w{i}", random.normal(size=4)) for i in range(length)])


def products(length):
    random = np.random.default_rng(0)
    return chain(lambda i, a, b: [helper.make_node("MatMul", [a, f"w{i}"], [b])], length,
                 initializers=[weight(f"w{i}", 0.5 * random.normal(size=(4, 4))) for i in range(length)])


def convolutions(length):
    random = np.random.default_rng(0)
    weights = []

    def block(i, a, b):
        weights.extend([weight(f"w{i}", 0.7 * random.normal(size=(2, 2, 1, 1))), weight(f"s{i}", np.ones(2)),
                        weight(f"b{i}", np.zeros(2)), weight(f"m{i}", np.zeros(2)), weight(f"v{i}_", np.ones(2))])
        return [helper.make_node("Conv", [a, f"w{i}"], [f"c{i}"]),
                helper.make_node("BatchNormalization", [f"c{i}", f"s{i}", f"b{i}", f"m{i}", f"v{i}_"], [f"n{i}"]),
                helper.make_node("Relu", [f"n{i}"], [b])]

    model = chain(block, length // 3, (1, 2, 2, 2))
    model.graph.initializer.extend(weights)
    return model


def nothing_and_tanh(length):
    kinds = ["Dropout", "Identity", "Tanh"]
    return chain(lambda i, a, b: [helper.make_node(kinds[i % 3], [a], [b])], length)


def wide(kind, **attributes):
    def make(width):
        names = [f"x{i}" for i in range(width)]
        height = 2 * width if kind == "Concat" else 2
        return model_of([helper.make_node(kind, names, ["y"], **attributes)],
                        [floats(name, [2, 4]) for name in names], [floats("y", [height, 4])])
    return make


def wide_split(width):
    names = [f"y{i}" for i in range(width)]
    return model_of([helper.make_node("Split", ["x"], names, axis=0)], [floats("x", [2 * width, 4])],
                    [floats(name, [2, 4]) for name in names])


def split_and_concat(width):
    parts, results = [f"p{i}" for i in range(width)], [f"r{i}" for i in range(width)]
    nodes = [helper.make_node("Split", ["x"], parts, axis=0)]
    nodes += [helper.make_node("Relu", [part], [result]) for part, result in zip(parts, results)]
    nodes += [helper.make_node("Concat", results, ["y"], axis=0)]
    return model_of(nodes, [floats("x", [2 * width, 4])], [floats("y", [2 * width, 4])])


def side_by_side(width):
    return model_of([helper.make_node("Relu", [f"x{i}"], [f"y{i}"]) for i in range(width)],
                    [floats(f"x{i}", [2, 4]) for i in range(width)], [floats(f"y{i}", [2, 4]) for i in range(width)])


DEEP = {"Tanh": row_of("Tanh"), "Relu": row_of("Relu"), "Identity": row_of("Identity"),
        "Transpose": row_of("Transpose", perm=[1, 0]), "Add of one input": add_one_input, "Add of weights": add_weights,
        "MatMul": products, "Conv, BatchNormalization, Relu": convolutions, "Dropout, Identity, Tanh": nothing_and_tanh,
        "side by side": side_by_side}
WIDE = {"Concat": wide("Concat", axis=0), "Sum": wide("Sum"), "Max": wide("Max"), "Split": wide_split,
        "Split, Relu, Concat": split_and_concat}


def on_small_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))


@dataclasses.dataclass
class Cost:
    code: int
    seconds: float
    megabytes: float
    error: str


def measured(*command):
    start = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=on_small_stack)
    error = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(process.returncode, time.monotonic() - start, usage.ru_maxrss / 1024, error)


def optimise_and_verify(model, name, taso_opt, taso_verify, folder):
    before, after = folder / "model.onnx", folder / "out.onnx"
    onnx.save(model, before)
    costs = []
    for command in ([taso_opt, before, "-o", after], [taso_verify, "--certificate", f"{after}.cert", before, after]):
        cost = measured(*command)
        assert cost.code == 0, cost.error
        costs.append(cost)
    print(f"{name}: " + "; ".join(f"{cost.seconds:.1f} s, {cost.megabytes:.0f} MB" for cost in costs))
    return costs


# For 100,000 nodes, 12 kB each. Of those below, Conv, BatchNormalization and Relu take most: 1,029 MB on x86_64.
MOST_MEGABYTES = 1200


@pytest.mark.parametrize("name", ["Relu", "Identity", "Transpose", "Add of weights", "Dropout, Identity, Tanh",
                                  "side by side"])
def test_deep(name, taso_opt, taso_verify, tmp_path):
    optimise_and_verify(DEEP[name](6_000), name, taso_opt, taso_verify, tmp_path)


@pytest.mark.parametrize("name", ["Concat", "Sum", "Max", "Split"])
def test_wide(name, taso_opt, taso_verify, tmp_path):
    optimise_and_verify(WIDE[name](5_000), name, taso_opt, taso_verify, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("name", DEEP)
def test_a_hundred_thousand_nodes(name, taso_opt, taso_verify, tmp_path):
    costs = optimise_and_verify(DEEP[name](100_000), name, taso_opt, taso_verify, tmp_path)
    assert max(cost.megabytes for cost in costs) < MOST_MEGABYTES


@pytest.mark.full
@pytest.mark.parametrize("name", WIDE)
def test_ten_thousand_operands(name, taso_opt, taso_verify, tmp_path):
    costs = optimise_and_verify(WIDE[name](10_000), name, taso_opt, taso_verify, tmp_path)
    assert max(cost.megabytes for cost in costs) < MOST_MEGABYTES


def test_a_large_graph_is_still_optimised(taso_opt, taso_verify, tmp_path):
    """Every part is optimised: at least a third of the products is computed ahead."""
    optimise_and_verify(products(6_000), "MatMul", taso_opt, taso_verify, tmp_path)
    assert len(onnx.load(tmp_path / "out.onnx").graph.node) < 4_000


def test_too_little_memory_is_the_environments_refusal(taso_opt, tmp_path):
    onnx.save(row_of("Relu")(3), tmp_path / "model.onnx")
    codes = set()
    for megabytes in range(40, 400, 40):
        def limited(size=megabytes << 20):
            resource.setrlimit(resource.RLIMIT_AS, (size, size))
        done = subprocess.run([taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--force"],
                              capture_output=True, timeout=120, preexec_fn=limited)
        codes.add(done.returncode)
    # 127: the loader has no memory for the libraries.
    assert codes <= {0, 6, 127}
