"""Computing steps of making a random model: each adds a few nodes, or returns None."""

import numpy
from onnx import helper, numpy_helper

from random_values import BOOL, FLOAT, INT64, SMALL, Value, broadcast


class Arithmetic:
    def unary(self):
        x = self.pick()
        kind = self.random.choice(["Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Floor", "Ceil", "Softplus", "Softsign",
                                   "LeakyRelu", "Elu", "Selu", "HardSigmoid", "Erf", "Sin", "Atan", "Round",
                                   "HardSwish",
                                   "Gelu", "Mish", "ThresholdedRelu", "Celu", "Sign", "Exp"])
        oldest = {"Erf": 9, "Sign": 9, "Round": 11, "HardSwish": 14, "Gelu": 20, "Mish": 18, "ThresholdedRelu": 10,
                  "Celu": 12}
        if self.opset < oldest.get(kind, 7):
            return None
        if kind == "Exp":
            x = self.node("Tanh", [x], x.shape)
        return self.node(kind, [x], x.shape, **({"alpha": 0.3} if kind in ("LeakyRelu", "Elu", "Celu") else {}))

    def binary(self):
        x = self.pick()
        fitting = [v for v in self.values if v.element == FLOAT and broadcast(v.shape, x.shape) is not None]
        y = self.random.choice(fitting) if self.chance(0.7) else self.weights(*x.shape[self.random.randint(0, x.rank):])
        shape = broadcast(x.shape, y.shape)
        if int(numpy.prod(shape)) > SMALL:
            return None
        kind = self.random.choice(["Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "PRelu"])
        if kind in ("Max", "Min", "Sum", "Mean") and self.opset < 8 and x.shape != y.shape:
            return None
        if kind == "PRelu" and (shape != x.shape or self.opset < 9):
            return None
        if kind == "Div":
            y = self.node("Add", [self.node("Abs", [y], y.shape), self.constant(numpy.float32(0.5))], y.shape)
        operands = [x, y] if kind == "PRelu" or self.chance(0.5) else [y, x]
        return self.node(kind, operands, shape)

    def compare(self):
        x = self.pick()
        element = FLOAT
        kind = self.random.choice(["Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"])
        if (kind.endswith("OrEqual") and self.opset < 12) or self.opset < 9:
            return None
        if kind == "Equal" and self.opset < 11:
            return None
        condition = self.node(kind, [x, self.constant(numpy.float32(0.1))], x.shape, BOOL)
        if self.chance(0.5):
            condition = self.node("Not", [condition], x.shape)
        if self.chance(0.7):
            return self.node("Where", [condition, x, self.constant(numpy.float32(-1))], x.shape, element)
        return self.node("Cast", [condition], x.shape, FLOAT, to=FLOAT)

    def matmul(self):
        x = self.pick(least=2)
        if x is None:
            return None
        columns = self.random.randint(1, 5)
        return self.node("MatMul", [x, self.weights(x.shape[-1], columns)], x.shape[:-1] + (columns,))

    def gemm(self):
        x = self.pick(rank=2)
        if x is None:
            return None
        turned = self.chance(0.5)
        rows, columns = x.shape[0], self.random.choice([3, 4, x.shape[0]])
        weight = self.weights(*((columns, x.shape[1]) if turned else (x.shape[1], columns)))
        operands = [x, weight]
        if self.opset < 11 or self.chance(0.7):
            form = self.random.choice([(columns,), (1, columns), (1, 1), (1,), (rows, columns), (rows, 1), ()])
            operands.append(self.weights(*form))
        y = self.node("Gemm", operands, (rows, columns), transB=int(turned), alpha=self.random.choice([1.0, 0.5]),
                      beta=self.random.choice([1.0, 1.0, 2.0]))
        return self.batch_norm(y) if self.chance(0.5) else y

    def conv(self):
        x = self.pick(rank=4)
        if x is None:
            return None
        size = self.random.choice([1, 2, 3])
        pad, stride = self.random.choice([0, 1]), self.random.choice([1, 1, 2])
        groups = self.random.choice([1, x.shape[1]])
        channels = groups * self.random.randint(1, 2) if groups > 1 else self.random.randint(1, 5)
        extent = [(n + 2 * pad - size) // stride + 1 for n in x.shape[2:]]
        if min(extent) < 1 or channels * extent[0] * extent[1] * x.shape[0] > SMALL:
            return None
        operands = [x, self.weights(channels, x.shape[1] // groups, size, size)]
        if self.chance(0.5):
            operands.append(self.weights(channels))
        y = self.node("Conv", operands, (x.shape[0], channels, *extent), group=groups, pads=[pad] * 4,
                      strides=[stride] * 2)
        return self.batch_norm(y) if self.chance(0.7) else y

    def batch_norm(self, x=None):
        x = x or self.pick(least=2)
        if x is None:
            return None
        channels = x.shape[1]
        operands = [x] + [self.weights(channels) for _ in range(3)]
        operands.append(self.constant(self.numbers.uniform(0.1, 2, channels).astype(numpy.float32)))
        if self.opset >= 14 and self.chance(0.1):
            return self.node("BatchNormalization", operands, x.shape, epsilon=0.01, training_mode=0)
        return self.node("BatchNormalization", operands, x.shape, epsilon=self.random.choice([1e-5, 0.1]))

    def pool(self):
        x = self.pick(rank=4)
        if x is None or min(x.shape[2:]) < 2:
            return None
        if self.chance(0.3):
            return self.node(self.random.choice(["GlobalAveragePool", "GlobalMaxPool"]), [x], x.shape[:2] + (1, 1))
        kind = self.random.choice(["MaxPool", "AveragePool"])
        stride = self.random.choice([1, 2])
        attributes = {"count_include_pad": 1} if kind == "AveragePool" and self.chance(0.3) else {}
        if self.chance(0.3):
            extent = [-(-n // stride) for n in x.shape[2:]]
            attributes["auto_pad"] = self.random.choice(["SAME_UPPER", "SAME_LOWER"])
        else:
            ceil = self.opset >= 10 and self.chance(0.3)
            if ceil:
                attributes["ceil_mode"] = 1
            extent = [-(-(n - 2) // stride) + 1 if ceil else (n - 2) // stride + 1 for n in x.shape[2:]]
        return self.node(kind, [x], x.shape[:2] + tuple(extent), kernel_shape=[2, 2], strides=[stride] * 2,
                         **attributes)

    def normalise(self):
        x = self.pick(least=1)
        kind = self.random.choice(["Softmax", "LogSoftmax", "InstanceNormalization", "LRN", "LayerNormalization",
                                   "LpNormalization", "Hardmax"])
        if x is None or (kind == "LayerNormalization" and self.opset < 17):
            return None
        if kind in ("InstanceNormalization", "LRN"):
            if x.rank < 3:
                return None
            if kind == "LRN":
                return self.node(kind, [x], x.shape, size=3) if x.rank == 4 else None
            return self.node(kind, [x, self.weights(x.shape[1]), self.weights(x.shape[1])], x.shape)
        axis = self.random.randrange(x.rank)
        if kind == "LayerNormalization":
            operands = [x, self.weights(*x.shape[axis:])]
            return self.node(kind, operands + ([self.weights(*x.shape[axis:])] if self.chance(0.5) else []), x.shape,
                             axis=axis)
        if kind == "LpNormalization":
            return self.node(kind, [self.node("Exp", [self.node("Tanh", [x], x.shape)], x.shape)], x.shape, axis=axis)
        return self.node(kind, [x], x.shape, axis=axis)

    def reduce(self):
        x = self.pick(least=1)
        if x is None or 0 in x.shape:
            return None
        kind = self.random.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceProd",
                                   "ReduceSumSquare", "ReduceLogSumExp", "ArgMax", "CumSum", "TopK"])
        axis = self.random.randrange(x.rank)
        keep = self.random.choice([0, 1])
        shape = x.shape[:axis] + ((1,) if keep else ()) + x.shape[axis + 1:]
        if kind == "ArgMax":
            index = self.node(kind, [x], shape, INT64, axis=axis, keepdims=keep)
            return self.node("Cast", [index], shape, FLOAT, to=FLOAT)
        if kind == "CumSum":
            return self.node(kind, [x, self.constant(numpy.int64(axis))], x.shape) if self.opset >= 11 else None
        if kind == "TopK":
            if self.opset < 10:
                return None
            names = [self.fresh(), self.fresh()]
            self.nodes.append(helper.make_node(kind, [x.name, self.integers([1]).name], names, axis=axis))
            return self.note(Value(names[0], FLOAT, x.shape[:axis] + (1,) + x.shape[axis + 1:]))
        by_input = self.opset >= (13 if kind == "ReduceSum" else 18)
        if self.chance(0.15):  # no axes means all
            return self.node(kind, [x], (1,) * x.rank if keep else (), keepdims=keep)
        if by_input:
            return self.node(kind, [x, self.integers([axis])], shape, keepdims=keep)
        return self.node(kind, [x], shape, axes=[axis], keepdims=keep)

    def integer(self):
        """Arithmetic on integers, of shapes and others."""
        x = self.pick(INT64)
        if x is None:
            return None
        kind = self.random.choice(["Add", "Sub", "Mul", "Div", "Mod", "Cast", "Neg", "Abs", "Equal", "ReduceSum",
                                   "Where",
                                   "Max", "Min", "Range", "ConstantOfShape", "Size", "NonZero"])
        if kind == "Cast":
            return self.node(kind, [x], x.shape, FLOAT, to=FLOAT)
        if kind in ("Neg", "Abs"):
            return self.node(kind, [x], x.shape)
        if kind == "Size":
            return self.node(kind, [self.pick()], (), INT64)
        if kind in ("Max", "Min") and self.opset < 12 or kind in ("Where", "ConstantOfShape") and self.opset < 9 or \
                kind == "Range" and self.opset < 11 or kind == "Mod" and self.opset < 10 or kind == "NonZero":
            return None
        if kind == "Range":
            count = self.random.randint(0, 5)
            return self.node(kind, [self.integers(1), self.integers(1 + 2 * count), self.integers(2)], (count,), INT64)
        if kind == "ConstantOfShape":
            value = numpy_helper.from_array(numpy.array([0.5], numpy.float32))
            shape = tuple(self.random.randint(1, 3) for _ in range(self.random.randint(0, 3)))
            return self.node(kind, [self.integers(list(shape))], shape, FLOAT, value=value)
        if kind == "ReduceSum" and x.rank == 1:
            return self.axes(kind, x, [0], (), keepdims=0)
        other = self.integers(self.random.choice([-3, -2, 2, 3, 5]))
        if kind in ("Equal", "Where"):
            condition = self.node("Equal", [x, other], x.shape, BOOL)
            return self.node("Where", [condition, x, other], x.shape, INT64) if self.opset >= 9 else condition
        if kind in ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min"):
            operands = [x, other] if kind in ("Div", "Mod") or self.chance(0.5) else [other, x]
            return self.node(kind, operands, x.shape)
        return None
