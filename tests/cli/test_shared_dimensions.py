"""Dimensions of one name: ONNX defines them as equal, rewrites rely on it, and taso-opt reports them."""

import onnx
from onnx import helper
from opt_models import floats, model_of, run

SAID = "dimensions of the same name are assumed equal, as ONNX specifies: "


def optimised(taso_opt, folder, first, second, again):
    """The sum of two inputs, followed by Relu and Tanh, or by two Relus, of which one is superfluous."""
    nodes = [helper.make_node("Add", ["x", "z"], ["s"]), helper.make_node("Relu", ["s"], ["r"]),
             helper.make_node("Relu" if again else "Tanh", ["r"], ["y"])]
    onnx.save(model_of(nodes, [floats("x", first), floats("z", second)], [floats("y", first)]), folder / "model.onnx")
    done = run(taso_opt, folder / "model.onnx", "-o", folder / "out.onnx", "--min-gain", "0")
    assert done.code == 0, done.err
    assert len(onnx.load(folder / "out.onnx").graph.node) == (2 if again else 3)
    return done.out + done.err


def test_a_rewritten_model_says_what_it_takes_to_be_equal(taso_opt, tmp_path):
    assert SAID + "N of x, z" in optimised(taso_opt, tmp_path, ["N", 4], ["N", 4], True)


def test_a_model_that_stays_as_it_is_says_nothing(taso_opt, tmp_path):
    assert SAID not in optimised(taso_opt, tmp_path, ["N", 4], ["N", 4], False)


def test_names_of_one_input_say_nothing(taso_opt, tmp_path):
    assert SAID not in optimised(taso_opt, tmp_path, ["N", 4], [4], True)
