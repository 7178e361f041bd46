"""Steps of making a random model that move values or do nothing; each may return None."""

import numpy
import onnx
from onnx import helper

from random_values import BOOL, FLOAT, INT64, SMALL, Value


class Movement:
    def idle(self):
        """A node that changes nothing."""
        x = self.pick(self.random.choice([FLOAT, FLOAT, INT64, BOOL]))
        if x is None:
            return None
        kind = self.random.choice(["Identity", "Dropout", "Cast", "Transpose", "Reshape", "Pad", "Slice", "Add", "Mul",
                                   "Concat", "Expand", "Sum", "Squeeze", "Flatten", "Max"])
        if kind == "Identity":
            return self.node(kind, [x], x.shape)
        if kind == "Cast":
            return self.node(kind, [x], x.shape, to=x.element)
        if kind == "Transpose" and x.rank > 0:
            return self.node(kind, [x], x.shape, perm=list(range(x.rank)))
        if kind == "Concat" and x.rank > 0:
            return self.node(kind, [x], x.shape, axis=0)
        if kind == "Reshape" and x.rank > 0:
            return self.node(kind, [x, self.integers([0] * (x.rank - 1) + [-1])], x.shape) if 0 not in x.shape else None
        if kind == "Expand" and self.opset >= 8:
            return self.node(kind, [x, self.integers([1] * self.random.randint(0, x.rank))], x.shape)
        if x.element != FLOAT:
            return None
        if kind in ("Sum", "Max"):
            return self.node(kind, [x], x.shape)
        if kind == "Dropout":
            return self.dropout(x)
        if kind == "Pad":
            if self.opset < 11:
                return self.node(kind, [x], x.shape, pads=[0] * (2 * x.rank)) if x.rank else None
            return self.node(kind, [x, self.integers([0] * (2 * x.rank))], x.shape) if x.rank else None
        if kind == "Slice" and x.rank > 0:
            return self.slice(x, 0, 0, 2**31 - 1, 1)
        if kind == "Add":
            return self.node(kind, [x, self.constant(numpy.zeros([1] * self.random.randint(0, x.rank), numpy.float32))],
                             x.shape)
        if kind == "Mul":
            return self.node(kind, [self.constant(numpy.ones([1] * self.random.randint(0, x.rank), numpy.float32)), x],
                             x.shape, FLOAT)
        if kind == "Flatten" and x.rank == 2:
            return self.node(kind, [x], x.shape, axis=1)
        return None

    def dropout(self, x):
        outputs = [self.fresh()]
        if self.chance(0.3):
            outputs.append(self.fresh("mask"))
        inputs = [x.name]
        attributes = {}
        if self.opset < 12:
            attributes["ratio"] = 0.5
        elif self.chance(0.5):
            inputs.append(self.constant(numpy.float32(0.5)).name)
            if self.chance(0.5):
                inputs.append(self.constant(numpy.bool_(False)).name)
        elif self.chance(0.3):
            inputs += ["", self.constant(numpy.bool_(False)).name]
        self.nodes.append(helper.make_node("Dropout", inputs, outputs, **attributes))
        if len(outputs) > 1 and self.opset >= 10:
            self.note(Value(outputs[1], BOOL, x.shape))
        return self.note(Value(outputs[0], FLOAT, x.shape))

    def axes(self, kind, x, axes, shape, **attributes):
        """A node whose axes were an attribute before opset 13."""
        if self.opset < 13:
            return self.node(kind, [x], shape, axes=axes, **attributes)
        return self.node(kind, [x, self.integers(axes)], shape, **attributes)

    def slice(self, x, axis, start, end, step):
        length = len(range(x.shape[axis])[start:end:step])
        shape = x.shape[:axis] + (length,) + x.shape[axis + 1:]
        if self.opset < 10:
            if step != 1:
                return None
            return self.node("Slice", [x], shape, axes=[axis], starts=[start], ends=[end])
        operands = [x, self.integers([start]), self.integers([end]),
                    self.integers([axis - x.rank if self.chance(0.3) else axis])]
        return self.node("Slice", operands + ([self.integers([step])] if step != 1 or self.chance(0.5) else []), shape)

    def split(self, x, axis):
        if x.shape[axis] < 2:
            return None
        parts = [1, x.shape[axis] - 1]
        names = [self.fresh(), self.fresh()]
        if self.opset < 13:
            self.nodes.append(helper.make_node("Split", [x.name], names, axis=axis, split=parts))
        else:
            self.nodes.append(helper.make_node("Split", [x.name, self.integers(parts).name], names, axis=axis))
        for name, part in zip(names, parts):
            self.note(Value(name, FLOAT, x.shape[:axis] + (part,) + x.shape[axis + 1:]))
        return self.values[-1]

    def move(self):
        x = self.pick(least=1)
        if x is None or 0 in x.shape:
            return None
        kind = self.random.choice(["Transpose", "Reshape", "Squeeze", "Unsqueeze", "Concat", "Split", "Slice", "Pad",
                                   "Gather", "Tile", "Flatten", "Expand", "DepthToSpace", "GatherElements", "Resize"])
        axis = self.random.randrange(x.rank)
        if kind == "Transpose":
            order = self.random.sample(range(x.rank), x.rank)
            return self.node(kind, [x], [x.shape[i] for i in order], perm=order)
        if kind == "Reshape":
            rest = int(numpy.prod(x.shape[1:]))
            return self.node(kind, [x, self.integers([0, -1])], (x.shape[0], rest))
        if kind == "Flatten":
            return self.node(kind, [x], (int(numpy.prod(x.shape[:axis])), int(numpy.prod(x.shape[axis:]))), axis=axis)
        if kind == "Unsqueeze":
            return self.axes(kind, x, [axis], x.shape[:axis] + (1,) + x.shape[axis:]) if x.rank < 4 else None
        if kind == "Squeeze":
            return self.axes(kind, x, [axis], x.shape[:axis] + x.shape[axis + 1:]) if x.shape[axis] == 1 else None
        if kind == "Concat":
            fitting = [v for v in self.values if v.element == FLOAT and v.rank == x.rank and
                       v.shape[:axis] + v.shape[axis + 1:] == x.shape[:axis] + x.shape[axis + 1:]]
            others = [self.random.choice(fitting) for _ in range(self.random.randint(1, 2))]
            total = sum(v.shape[axis] for v in [x, *others])
            if total > 16:
                return None
            return self.node(kind, [x, *others], x.shape[:axis] + (total,) + x.shape[axis + 1:], axis=axis)
        if kind == "Split":
            return self.split(x, axis)
        if kind == "Slice":
            step = self.random.choice([1, 1, 2, -1])
            start, end = (0, x.shape[axis] - 1) if step > 0 else (-1, -(2**31))
            return self.slice(x, axis, start, end, step) if x.shape[axis] > 1 else None
        if kind == "Pad":
            pads = [self.random.choice([0, 0, 1]) for _ in range(2 * x.rank)]
            shape = [n + pads[i] + pads[i + x.rank] for i, n in enumerate(x.shape)]
            if int(numpy.prod(shape)) > SMALL:
                return None
            if self.opset < 11:
                return self.node(kind, [x], shape, pads=pads)
            return self.node(kind, [x, self.integers(pads)] + ([self.constant(numpy.float32(0.5))] if self.chance(0.5)
                                                               else []), shape)
        if kind == "Gather":
            scalar = self.chance(0.3)
            index = self.integers(0 if scalar else [0, x.shape[axis] - 1])
            return self.node(kind, [x, index], x.shape[:axis] + index.shape + x.shape[axis + 1:], axis=axis)
        if kind == "GatherElements" and self.opset >= 11:
            index = self.constant(self.numbers.integers(0, x.shape[axis], x.shape), INT64)
            return self.node(kind, [x, index], x.shape, axis=axis)
        if kind == "Tile" and x.shape[axis] <= 4 and int(numpy.prod(x.shape)) < 512:
            return self.node(kind, [x, self.integers([2 if i == axis else 1 for i in range(x.rank)])],
                             x.shape[:axis] + (2 * x.shape[axis],) + x.shape[axis + 1:])
        if kind == "Expand" and self.opset >= 8 and x.shape[axis] == 1 and int(numpy.prod(x.shape)) < 512:
            return self.node(kind, [x, self.integers([3 if i == axis else 1 for i in range(x.rank)])],
                             x.shape[:axis] + (3,) + x.shape[axis + 1:])
        if kind == "Resize" and self.opset >= 11 and x.rank == 4 and int(numpy.prod(x.shape)) < 512:
            scales = self.constant(numpy.array([1, 1, 2, 2], numpy.float32))
            empty = "" if self.opset >= 13 else self.constant(numpy.zeros(0, numpy.float32)).name
            return self.node(kind, [x, empty, scales], x.shape[:2] + (2 * x.shape[2], 2 * x.shape[3]),
                             mode=self.random.choice(["nearest", "linear"]))
        return None

    def shape_arithmetic(self):
        """Reshape to a shape that is computed from the value's own."""
        x = self.pick(least=2)
        if x is None or 0 in x.shape:
            return None
        whole = self.node("Shape", [x], (x.rank,), INT64)
        if self.opset >= 15 and self.chance(0.2):
            first = self.node("Shape", [x], (1,), INT64, start=0, end=1)
        elif self.chance(0.5):
            scalar = self.node("Gather", [whole, self.integers(0)], (), INT64, axis=0)
            first = self.axes("Unsqueeze", scalar, [0], (1,))
        else:
            first = self.slice(whole, 0, 0, 1, 1)
        kind = self.random.choice(["Add", "Sub", "Mul", "Div"])
        if self.chance(0.4):  # a separate value, which may stay unused
            self.node(kind, [first, self.integers([self.random.choice([1, 2, 3])])], (1,), INT64)
        rest = self.integers([-1])
        target = self.node("Concat", [first, rest], (2,), INT64, axis=0)
        return self.node("Reshape", [x, target], (x.shape[0], int(numpy.prod(x.shape[1:]))))

    def again(self):
        """An existing node again, with other names."""
        if self.depth or not self.nodes:
            return None
        node = onnx.NodeProto()
        node.CopyFrom(self.random.choice(self.nodes))
        if len(node.output) != 1 or any(a.HasField("g") for a in node.attribute):
            return None
        known = [v for v in self.values if v.name == node.output[0]]
        if not known:
            return None
        node.output[0] = self.fresh("again")
        self.nodes.append(node)
        twin = self.note(Value(node.output[0], known[0].element, known[0].shape))
        if twin.element == FLOAT and self.chance(0.5):
            return self.node("Add", [twin, known[0]], twin.shape)
        return twin
