#!/usr/bin/env python3
"""Writes the example models beside this file, with the same bytes on every run and machine.

    python3 examples/make_examples.py            write them
    python3 examples/make_examples.py --check    fail if the files are out of date

Both look like exported models: they contain separate batch norms, dropout and identity nodes, the same branch computed
twice, and reshapes that compute shapes known in advance.
"""

import argparse
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).resolve().parent


class Weights:
    """Deterministic values. A library's random generator may change between versions."""

    def __init__(self, seed):
        self.state = seed

    def __call__(self, *shape, low=-1.0, high=1.0):
        values = []
        for _ in range(int(np.prod(shape))):
            self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
            values.append((self.state >> 40) / 2**24)
        return (low + (high - low) * np.array(values, dtype=np.float64)).astype(np.float32).reshape(shape)


class Builder:
    def __init__(self, seed):
        self.weights = Weights(seed)
        self.nodes = []
        self.initializers = []
        self.count = 0

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, operator, inputs, outputs=None, **attributes):
        self.count += 1
        name = f"{operator}_{self.count}"
        outputs = outputs or [f"{name}_out"]
        self.nodes.append(helper.make_node(operator, inputs, outputs, name=name, **attributes))
        return outputs[0]

    def conv(self, x, channels_in, channels_out, kernel, stride=1, prefix="conv"):
        scale = 1.0 / np.sqrt(channels_in * kernel * kernel)
        weight = self.weights(channels_out, channels_in, kernel, kernel) * np.float32(scale)
        w = self.constant(f"{prefix}.weight", weight)
        pad = kernel // 2
        return self.node("Conv", [x, w], kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4)

    def batch_norm(self, x, channels, prefix):
        return self.node(
            "BatchNormalization",
            [
                x,
                self.constant(f"{prefix}.scale", self.weights(channels, low=0.5, high=1.5)),
                self.constant(f"{prefix}.bias", self.weights(channels)),
                self.constant(f"{prefix}.mean", self.weights(channels, low=-0.1, high=0.1)),
                self.constant(f"{prefix}.var", self.weights(channels, low=0.5, high=1.5)),
            ],
            epsilon=1e-5,
        )

    def linear(self, x, features_in, features_out, prefix):
        w = self.weights(features_in, features_out) * np.float32(1.0 / np.sqrt(features_in))
        product = self.node("MatMul", [x, self.constant(f"{prefix}.weight", w)])
        return self.node("Add", [product, self.constant(f"{prefix}.bias", self.weights(features_out))])

    def model(self, name, inputs, outputs, opset=17, ir=8):
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="taso-examples")
        model.ir_version = ir
        onnx.checker.check_model(model)
        return model


def small_convnet():
    """A residual network for 32x32 images and ten classes."""
    b = Builder(1)
    x = b.node("Relu", [b.batch_norm(b.conv("image", 3, 16, 3, prefix="stem"), 16, "stem.norm")])
    for block, (channels_in, channels, stride) in enumerate([(16, 16, 1), (16, 32, 2), (32, 32, 1)]):
        prefix = f"block{block}"
        left = b.batch_norm(b.conv(x, channels_in, channels, 3, stride, f"{prefix}.a"), channels, f"{prefix}.a.norm")
        left = b.node("Identity", [b.node("Relu", [left])])
        left = b.batch_norm(b.conv(left, channels, channels, 3, prefix=f"{prefix}.b"), channels, f"{prefix}.b.norm")
        right = x
        if channels_in != channels:
            right = b.batch_norm(b.conv(x, channels_in, channels, 1, stride, f"{prefix}.skip"), channels,
                                 f"{prefix}.skip.norm")
        x = b.node("Relu", [b.node("Add", [left, right])])

    # The same pooled branch twice, as a tracer exports a function that is called twice.
    halves = []
    w = b.constant("gate.weight", b.weights(32, 32, 1, 1) * np.float32(0.2))
    for _ in range(2):
        pooled = b.node("GlobalAveragePool", [x])
        halves.append(b.node("Sigmoid", [b.node("Conv", [pooled, w], kernel_shape=[1, 1])]))
    gated = b.node("Mul", [b.node("Mul", [x, halves[0]]), halves[1]])

    # A flattened head whose shape is computed at run time, as `x.view(x.size(0), -1)` is exported.
    pooled = b.node("AveragePool", [b.node("Dropout", [gated])], kernel_shape=[4, 4], strides=[4, 4])
    batch = b.node("Gather", [b.node("Shape", [pooled]), b.constant("zero", np.int64(0))], axis=0)
    batch = b.node("Unsqueeze", [batch, b.constant("axes", np.array([0], np.int64))])
    shape = b.node("Concat", [batch, b.constant("rest", np.array([-1], np.int64))], axis=0)
    flat = b.node("Reshape", [pooled, shape])
    w = b.constant("head.weight", b.weights(10, 32 * 4 * 4) * np.float32(0.05))
    b.node("Gemm", [flat, w, b.constant("head.bias", b.weights(10))], ["classes"], transB=1)
    return b.model(
        "small_convnet",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 32, 32])],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, [1, 10])],
    )


def small_transformer():
    """One encoder block with a dynamic batch: 16 tokens of 64 features, four heads."""
    b = Builder(2)
    tokens, features, heads = 16, 64, 4
    width = features // heads

    def layer_norm(x, prefix):
        scale = b.constant(f"{prefix}.scale", b.weights(features, low=0.5, high=1.5))
        return b.node("LayerNormalization", [x, scale, b.constant(f"{prefix}.bias", b.weights(features))], axis=-1)

    def split_heads(x):
        shape = b.node("Shape", ["tokens"])
        batch = b.node("Gather", [shape, "first"], axis=0)
        target = b.node("Concat", [batch, "heads_shape"], axis=0)
        return b.node("Transpose", [b.node("Reshape", [x, target])], perm=[0, 2, 1, 3])

    b.constant("first", np.array([0], np.int64))
    b.constant("heads_shape", np.array([tokens, heads, width], np.int64))
    normed = layer_norm("tokens", "attention.norm")
    q, k, v = (split_heads(b.linear(normed, features, features, f"attention.{name}")) for name in "qkv")
    scores = b.node("MatMul", [q, b.node("Transpose", [k], perm=[0, 1, 3, 2])])
    scores = b.node("Div", [scores, b.node("Sqrt", [b.constant("width", np.float32(width))])])
    mixed = b.node("MatMul", [b.node("Dropout", [b.node("Softmax", [scores], axis=-1)]), v])
    mixed = b.node("Transpose", [mixed], perm=[0, 2, 1, 3])
    mixed = b.node("Reshape", [mixed, b.constant("merged_shape", np.array([0, tokens, features], np.int64))])
    x = b.node("Add", ["tokens", b.node("Identity", [b.linear(mixed, features, features, "attention.out")])])

    hidden = b.linear(layer_norm(x, "mlp.norm"), features, 2 * features, "mlp.in")
    # GELU, decomposed as exporters do.
    erf = b.node("Erf", [b.node("Div", [hidden, b.constant("sqrt2", np.float32(np.sqrt(2.0)))])])
    gelu = b.node("Mul", [b.node("Mul", [hidden, b.node("Add", [erf, b.constant("one", np.float32(1))])]),
                          b.constant("half", np.float32(0.5))])
    b.node("Add", [x, b.linear(b.node("Dropout", [gelu]), 2 * features, features, "mlp.out")], ["encoded"])
    return b.model(
        "small_transformer",
        [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["batch", tokens, features])],
        [helper.make_tensor_value_info("encoded", TensorProto.FLOAT, ["batch", tokens, features])],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    stale = []
    for make in (small_convnet, small_transformer):
        path = FOLDER / f"{make.__name__}.onnx"
        data = make().SerializeToString(deterministic=True)
        if not arguments.check:
            path.write_bytes(data)
            print(f"{path.name}: {len(data):,} bytes")
        elif not path.is_file() or path.read_bytes() != data:
            stale.append(path.name)
    if stale:
        sys.exit(f"out of date, run make_examples.py: {', '.join(stale)}")


if __name__ == "__main__":
    main()
