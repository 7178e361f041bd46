"""Building blocks of the motifs of real networks: layers and movements, in the form of each opset."""

import numpy
from onnx import helper

from random_values import FLOAT, INT64, Value


class Parts:
    """For a random model: `opset`, `node`, `weights` and the like are those of RandomModel."""

    def several(self, op_type, inputs, shapes, elements=None, **attributes):
        """A node with several results."""
        names = [self.fresh() for _ in shapes]
        self.nodes.append(helper.make_node(op_type, [v.name for v in inputs], names, **attributes))
        elements = elements or [inputs[0].element] * len(shapes)
        return [self.note(Value(*entry)) for entry in zip(names, elements, shapes)]

    def scalar(self, number):
        return self.constant(numpy.array(number, numpy.float32))

    def weight(self, *shape):
        """Small enough for deep models to stay in range; sometimes shared with another layer."""
        known = self.shared_weights.setdefault(shape, [])
        if known and self.depth == 0 and self.chance(0.1):
            return self.random.choice(known)
        scale = 1 / max(1.0, float(numpy.prod(shape[1:] if len(shape) == 4 else shape[:1]))) ** 0.5
        made = self.constant((self.numbers.standard_normal(shape) * scale).astype(numpy.float32))
        if self.depth == 0:
            known.append(made)
        return made

    def positive(self, *shape):
        return self.constant(self.numbers.uniform(0.3, 1.7, shape).astype(numpy.float32))

    # Movements

    def reshaped(self, x, target, shape):
        return self.node("Reshape", [x, self.integers(target)], shape)

    def reshaped_like(self, x, template):
        """Back to the shape of another value: as numbers if all are known, else computed."""
        if not self.sizes_are_open and self.chance(0.5):
            return self.reshaped(x, list(template.shape), template.shape)
        return self.node("Reshape", [x, self.node("Shape", [template], (template.rank,), INT64)], template.shape)

    def turned(self, x, *order):
        return self.node("Transpose", [x], [x.shape[i] for i in order], perm=list(order))

    def pieces(self, x, axis, sizes):
        """Split, in the form of the opset; equal parts may omit the numbers."""
        shapes = [x.shape[:axis] + (size,) + x.shape[axis + 1:] for size in sizes]
        equal = len(set(sizes)) == 1
        if self.opset < 13:
            sizes_given = {} if equal and self.chance(0.5) else {"split": sizes}
            return self.several("Split", [x], shapes, axis=axis, **sizes_given)
        if equal and self.chance(0.5):
            count = {"num_outputs": len(sizes)} if self.opset >= 18 else {}
            return self.several("Split", [x], shapes, axis=axis, **count)
        return self.several("Split", [x, self.integers(sizes)], shapes, axis=axis)

    def joined(self, values, axis):
        first = values[0].shape
        total = sum(v.shape[axis] for v in values)
        return self.node("Concat", values, first[:axis] + (total,) + first[axis + 1:], axis=axis)

    def extent(self, x, axis):
        """One extent of a value, computed at run time, as a list of one number."""
        whole = self.node("Shape", [x], (x.rank,), INT64)
        if self.chance(0.5):
            return self.slice(whole, 0, axis, axis + 1, 1)
        scalar = self.node("Gather", [whole, self.integers(axis)], (), INT64, axis=0)
        return self.axes("Unsqueeze", scalar, [0], (1,))

    # Layers

    def reduced(self, kind, x, axis):
        shape = x.shape[:axis] + (1,) + x.shape[axis + 1:]
        if self.opset >= (13 if kind == "ReduceSum" else 18):
            return self.node(kind, [x, self.integers([axis])], shape, keepdims=1)
        return self.node(kind, [x], shape, axes=[axis], keepdims=1)

    def plus(self, x, y):
        return self.node("Add", [x, y] if self.chance(0.7) else [y, x], numpy.broadcast_shapes(x.shape, y.shape), FLOAT)

    def times(self, x, y):
        return self.node("Mul", [x, y] if self.chance(0.7) else [y, x], numpy.broadcast_shapes(x.shape, y.shape), FLOAT)

    def clipped(self, x, low, high):
        if self.opset < 11:
            return self.node("Clip", [x], x.shape, min=float(low), max=float(high))
        return self.node("Clip", [x, self.scalar(low), self.scalar(high)], x.shape)

    def activated(self, x):
        kind = self.random.choice(["relu", "relu", "relu", "silu", "sigmoid", "tanh", "clip", "leaky", "gelu", "hard",
                                   "erf"])
        if kind == "silu":
            return self.times(x, self.node("Sigmoid", [x], x.shape))
        if kind == "clip":
            return self.clipped(x, 0, 6)
        if kind == "leaky":
            return self.node("LeakyRelu", [x], x.shape, alpha=0.1)
        if kind == "hard":
            return self.times(x, self.node("HardSigmoid", [x], x.shape, alpha=1 / 6, beta=0.5))
        if kind == "erf" and self.opset >= 9:
            inner = self.node("Erf", [self.node("Div", [x, self.scalar(2**0.5)], x.shape)], x.shape)
            return self.times(self.times(x, self.plus(inner, self.scalar(1))), self.scalar(0.5))
        if kind == "gelu":
            cube = self.node("Pow", [x, self.scalar(3)], x.shape)
            inner = self.plus(x, self.times(cube, self.scalar(0.044715)))
            inner = self.node("Tanh", [self.times(inner, self.scalar((2 / numpy.pi) ** 0.5))], x.shape)
            return self.times(self.times(self.scalar(0.5), x), self.plus(self.scalar(1), inner))
        name = {"sigmoid": "Sigmoid", "tanh": "Tanh"}.get(kind, "Relu")
        return self.node(name, [x], x.shape)

    def linear(self, x, columns, bias=None):
        y = self.node("MatMul", [x, self.weight(x.shape[-1], columns)], x.shape[:-1] + (columns,))
        return self.plus(y, self.weight(columns)) if (self.chance(0.5) if bias is None else bias) else y

    def convolved(self, x, channels, kernel=1, stride=1, dilation=1, groups=1, bias=None, transposed=False):
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        pads = [dilation * (k - 1) // 2 for k in kernel]
        if transposed:
            pads.reverse()
        extents = [(n + 2 * p - dilation * (k - 1) - 1) // stride + 1 for n, p, k in zip(x.shape[2:], pads, kernel)]
        operands = [x, self.weight(channels, x.shape[1] // groups, *kernel)]
        if self.chance(0.5) if bias is None else bias:
            operands.append(self.weight(channels))
        attributes = {} if self.chance(0.3) else {"kernel_shape": list(kernel)}
        if stride > 1 or self.chance(0.5):
            attributes["strides"] = [stride] * 2
        if dilation > 1 or self.chance(0.3):
            attributes["dilations"] = [dilation] * 2
        return self.node("Conv", operands, (x.shape[0], channels, *extents), group=groups, pads=pads * 2, **attributes)

    def batch_normalised(self, x):
        count = x.shape[1]
        operands = [x, self.positive(count), self.weight(count), self.weight(count), self.positive(count)]
        return self.node("BatchNormalization", operands, x.shape, epsilon=1e-3)

    def layer(self, x, channels, kernel=1, **form):
        """Convolution, perhaps batch normalisation, perhaps an activation."""
        y = self.convolved(x, channels, kernel, **form)
        y = self.batch_normalised(y) if self.chance(0.4) else y
        return self.activated(y) if self.chance(0.7) else y

    # Eight-bit numbers

    def quantised(self, x, bits=numpy.uint8):
        scale, zero = self.scalar(0.05), self.constant(numpy.array(128 if bits is numpy.uint8 else 0, bits))
        element = helper.np_dtype_to_tensor_dtype(numpy.dtype(bits))
        return self.node("QuantizeLinear", [x, scale, zero], x.shape, element), scale, zero

    def dequantised(self, x, scale, zero):
        return self.node("DequantizeLinear", [x, scale, zero], x.shape, FLOAT)

    def quantised_weight(self, *shape, bits=numpy.int8):
        low, high = (-100, 100) if bits is numpy.int8 else (28, 228)
        number = self.constant(self.numbers.integers(low, high, shape).astype(bits), overridable=False)
        zero = self.constant(numpy.array(0 if bits is numpy.int8 else 128, bits), overridable=False)
        return number, self.scalar(0.01), zero
