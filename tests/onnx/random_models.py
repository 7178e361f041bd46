"""Random ONNX models by seed, which mix operators, versions, subgraphs and targets of clean-ups."""

import random

import numpy
from onnx import helper, numpy_helper

from random_arithmetic import Arithmetic
from random_movement import Movement
from random_values import BOOL, FLOAT, INT64, NUMPY, SIZES, Value, broadcast


class RandomModel(Arithmetic, Movement):
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = numpy.random.default_rng(seed)
        self.opset = self.random.choice([7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22])
        needed = 3 if self.opset < 9 else 4 if self.opset < 11 else 6 if self.opset < 13 else 7 if self.opset < 15 \
            else 8 if self.opset < 19 else 9 if self.opset < 21 else 10
        self.ir = self.random.choice([3, needed, needed, 8 if needed <= 8 else needed, 10])
        self.nodes, self.initializers, self.inputs, self.values, self.functions = [], [], [], [], []
        self.sizes = SIZES
        self.count = 0
        self.depth = 0
        self.build()

    def fresh(self, stem="v"):
        self.count += 1
        return f"{stem}{self.count}"

    def chance(self, probability):
        return self.random.random() < probability

    def constant(self, array, element=None, overridable=True):
        """A constant, at random as initializer or as node."""
        array = numpy.asarray(array)
        name = self.fresh("c")
        element = element or helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor = numpy_helper.from_array(array.astype(NUMPY[element]), name)
        if self.depth > 0 or self.chance(0.4):
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.initializers.append(tensor)
            if self.ir < 4 or (overridable and self.chance(0.1)):
                self.inputs.append(helper.make_tensor_value_info(name, element, array.shape))
        return Value(name, element, array.shape)

    def weights(self, *shape):
        return self.constant((self.numbers.standard_normal(shape) * 0.5).astype(numpy.float32))

    def integers(self, values):
        return self.constant(numpy.array(values, numpy.int64), overridable=False)

    def node(self, op_type, inputs, shape, element=None, **attributes):
        name = self.fresh()
        names = [value.name if isinstance(value, Value) else value for value in inputs]
        self.nodes.append(helper.make_node(op_type, names, [name], **attributes))
        return self.note(Value(name, element or inputs[0].element, shape))

    def note(self, value):
        self.values.append(value)
        return value

    def pick(self, element=FLOAT, rank=None, least=0):
        """An existing value, preferably a recent one; None if there is none of the kind."""
        fitting = [v for v in self.values if v.element == element and v.rank >= least
                   and (rank is None or v.rank == rank)]
        if not fitting:
            return None
        return fitting[-1] if self.chance(0.4) else self.random.choice(fitting)

    def inside(self, steps, inputs=()):
        """Nodes of a subgraph that may use every outer value, and its last float value."""
        outer_nodes, outer_values = self.nodes, self.values
        self.nodes, self.values = [], list(self.values) + list(inputs)
        self.depth += 1
        try:
            for _ in range(steps):
                self.step()
            return self.nodes, self.pick()
        finally:
            self.depth -= 1
            self.nodes, self.values = outer_nodes, outer_values

    def branch(self, shape, name):
        nodes, value = self.inside(self.random.randint(0, 3))
        outer, self.nodes, self.depth = self.nodes, nodes, self.depth + 1
        total = self.fresh("sum")
        axes = list(range(value.rank))
        if value.rank and self.opset >= 18:
            nodes.append(helper.make_node("ReduceMean", [value.name, self.integers(axes).name], [total], keepdims=0))
        elif value.rank:
            nodes.append(helper.make_node("ReduceMean", [value.name], [total], axes=axes, keepdims=0))
        else:
            nodes.append(helper.make_node("Tanh", [value.name], [total]))
        self.nodes, self.depth = outer, self.depth - 1
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(total, FLOAT, shape)])

    def conditional(self):
        if self.depth > 1 or 0 in self.pick().shape:
            return None
        x = self.pick()
        if self.chance(0.3):
            condition = self.constant(numpy.bool_(self.chance(0.5)))
        else:
            total = self.node("ReduceSum", [x], (), keepdims=0) if x.rank else x
            if self.opset < 9:
                return None
            condition = self.node("Greater", [total, self.constant(numpy.float32(0))], (), BOOL)
        return self.node("If", [condition], (), FLOAT, then_branch=self.branch((), "yes"),
                         else_branch=self.branch((), "no"))

    def loop(self):
        if self.depth > 1 or self.opset < 8:
            return None
        x = self.pick()
        if 0 in x.shape:
            return None
        index, going, carried = (self.fresh("loop") for _ in range(3))
        nodes, value = self.inside(self.random.randint(0, 2), [Value(carried, FLOAT, x.shape)])
        again, result = self.fresh("again"), self.fresh("result")
        nodes.append(helper.make_node("Identity", [going], [again]))
        fitting = broadcast(value.shape, x.shape) == x.shape
        nodes.append(helper.make_node("Add", [carried, value.name], [result]) if fitting else
                     helper.make_node("Tanh", [carried], [result]))
        body = helper.make_graph(
            nodes, "body",
            [helper.make_tensor_value_info(index, INT64, ()), helper.make_tensor_value_info(going, BOOL, ()),
             helper.make_tensor_value_info(carried, FLOAT, None)],
            [helper.make_tensor_value_info(again, BOOL, ()), helper.make_tensor_value_info(result, FLOAT, None)])
        return self.node("Loop", [self.integers(self.random.randint(0, 3)), "", x], x.shape, FLOAT, body=body)

    def function(self):
        """Calls a function that the model defines, sometimes with the name of an ONNX operator."""
        if self.opset < 15 or self.ir < 8:
            return None
        x = self.pick()
        name = self.fresh("Ours") if self.chance(0.7) else "Relu"
        if not any(f.name == name for f in self.functions):
            inner = [helper.make_node("Identity", ["a"], ["b"]), helper.make_node("Tanh", ["b"], ["t"]),
                     helper.make_node("Tanh", ["a"], ["u"]), helper.make_node("Sub", ["t", "b"], ["w"]),
                     helper.make_node("Add", ["w", "u"], ["z"])]
            self.functions.append(helper.make_function("ours", name, ["a"], ["z"], inner,
                                                       [helper.make_opsetid("", self.opset)]))
        return self.node(name, [x], x.shape, domain="ours")

    STEPS = [(Arithmetic.unary, 8), (Movement.idle, 10), (Arithmetic.binary, 8), (Arithmetic.compare, 3),
             (Arithmetic.matmul, 3), (Arithmetic.gemm, 3), (Arithmetic.conv, 6), (Arithmetic.batch_norm, 1),
             (Arithmetic.pool, 3), (Arithmetic.normalise, 3), (Movement.move, 10), (Arithmetic.reduce, 4),
             (Movement.shape_arithmetic, 4), (Arithmetic.integer, 5), (Movement.again, 5), (conditional, 1),
             (loop, 1), (function, 1)]

    def step(self):
        kinds, weights = zip(*self.STEPS)
        for _ in range(20):
            if self.random.choices(kinds, weights)[0](self) is not None:
                return

    def build(self):
        for _ in range(self.random.randint(1, 3)):
            rank = self.random.choice([0, 1, 2, 2, 3, 4, 4, 4])
            shape = [self.random.choice([1, 2, 3, 4, 6]) for _ in range(rank)]
            declared = list(shape)
            for i in range(rank):
                if self.chance(0.2):
                    name = self.random.choice(list(self.sizes))
                    shape[i], declared[i] = self.sizes[name], name
            name = self.fresh("x")
            self.inputs.append(helper.make_tensor_value_info(name, FLOAT, declared))
            self.note(Value(name, FLOAT, shape))
        for _ in range(self.random.randint(3, 25)):
            self.step()

    def model(self):
        made = [name for node in self.nodes for name in node.output]
        used = {name for node in self.nodes for name in node.input}
        open_ends = [v for v in self.values if v.name in made and v.name not in used]
        others = [v for v in self.values if v.name in made and v.name in used]
        outputs = self.random.sample(open_ends, max(1, len(open_ends) * 3 // 4)) if open_ends else []
        outputs += self.random.sample(others, min(len(others), self.random.randint(0, 2)))
        results = []
        for value in outputs:
            if self.chance(0.3):  # an Identity before an output
                name = self.fresh("y")
                self.nodes.append(helper.make_node("Identity", [value.name], [name]))
                value = Value(name, value.element, value.shape)
            results.append(helper.make_tensor_value_info(value.name, value.element, None))
        graph = helper.make_graph(self.nodes, "random", self.inputs, results, self.initializers)
        imports = [helper.make_opsetid("", self.opset)]
        if self.functions:
            imports.append(helper.make_opsetid("ours", 1))
        return helper.make_model(graph, opset_imports=imports, ir_version=self.ir, functions=self.functions)


def random_model(seed):
    return RandomModel(seed).model()
