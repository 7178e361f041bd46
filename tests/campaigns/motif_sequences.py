"""Motifs of transformers and recurrent networks. Each takes (batch, length, channels) and returns one, or None."""

import numpy
from onnx import helper

from random_values import BOOL, FLOAT, INT64

LONGEST = 64  # of a sequence together with its past


class SequenceMotifs:
    def layer_norm(self, x):
        last = x.rank - 1
        if self.opset >= 17 and self.chance(0.4):
            operands = [x, self.positive(x.shape[-1]), self.weight(x.shape[-1])]
            return self.node("LayerNormalization", operands, x.shape, axis=-1)
        centred = self.node("Sub", [x, self.reduced("ReduceMean", x, last)], x.shape)
        square = self.times(centred, centred) if self.chance(0.5) else \
            self.node("Pow", [centred, self.scalar(2)], x.shape)
        variance = self.plus(self.reduced("ReduceMean", square, last), self.scalar(1e-3))
        y = self.node("Div", [centred, self.node("Sqrt", [variance], variance.shape)], x.shape)
        return self.plus(self.times(y, self.positive(x.shape[-1])), self.weight(x.shape[-1]))

    def rms_norm(self, x):
        square = self.node("Pow", [x, self.scalar(2)], x.shape)
        mean = self.plus(self.reduced("ReduceMean", square, x.rank - 1), self.scalar(1e-3))
        root = self.node("Sqrt", [mean], mean.shape)
        y = self.times(x, self.node("Reciprocal", [root], root.shape)) if self.chance(0.6) else \
            self.node("Div", [x, root], x.shape)
        return self.times(self.positive(x.shape[-1]), y)

    def mlp(self, x):
        wide = self.random.choice([4, 8, 16])
        if self.chance(0.5):
            return self.plus(x, self.linear(self.activated(self.linear(x, wide)), x.shape[-1]))
        gate = self.linear(x, wide, bias=False)
        gate = self.times(gate, self.node("Sigmoid", [gate], gate.shape))
        return self.plus(self.linear(self.times(gate, self.linear(x, wide, bias=False)), x.shape[-1], bias=False), x)

    def low_rank(self, x):
        """LoRA: a full product beside a product with a narrow middle."""
        columns = x.shape[-1]
        narrow = self.linear(self.linear(x, self.random.choice([1, 2]), bias=False), columns, bias=False)
        return self.plus(self.linear(x, columns), self.times(narrow, self.scalar(0.5)) if self.chance(0.6) else narrow)

    def large_factors(self, x):
        """Factors whose product exceeds the range of float16, though no result does."""
        weight = self.constant(self.numbers.uniform(100, 300, (x.shape[-1], 4)).astype(numpy.float32))
        y = self.node("MatMul", [self.times(x, self.scalar(0.002)), weight], x.shape[:-1] + (4,))
        if self.chance(0.5):
            return self.times(y, self.scalar(self.random.choice([150.0, 400.0])))
        large = self.constant(self.numbers.uniform(50, 300, (4, 4)).astype(numpy.float32))
        return self.node("MatMul", [y, large], y.shape)

    def product_chain(self, x):
        y = x
        for _ in range(self.random.randint(2, 4)):
            y = self.linear(y, self.random.choice([2, 4, 8]), bias=self.chance(0.2))
        return self.linear(y, x.shape[-1])

    def parallel_products(self, x):
        """Products that share their input: joined, added or multiplied."""
        count = self.random.randint(2, 4)
        products = [self.linear(x, 4, bias=self.chance(0.3)) for _ in range(count)]
        if self.chance(0.5):
            return self.joined([self.activated(p) for p in products], 2)
        total = products[0]
        for product in products[1:]:
            total = self.plus(total, product) if self.chance(0.7) else self.times(total, product)
        return total

    def rotated(self, x):
        """Rotary embedding of (batch, heads, length, width)."""
        half = x.shape[-1] // 2
        if self.opset < 10 or x.shape[-1] % 2:
            return x
        angles = numpy.outer(numpy.arange(LONGEST), 1 / 10 ** (numpy.arange(half) / half)).astype(numpy.float32)
        table = self.constant(numpy.concatenate([angles, angles], 1))
        end = self.extent(x, 2) if self.sizes_are_open or self.chance(0.5) else self.integers([x.shape[2]])
        angle = self.node("Slice", [table, self.integers([0]), end, self.integers([0])], (x.shape[2], 2 * half))
        cosine, sine = (self.node(kind, [angle], angle.shape) for kind in ("Cos", "Sin"))
        if self.chance(0.5):
            first, second = self.pieces(x, 3, [half, half])
        else:
            first, second = self.slice(x, 3, 0, half, 1), self.slice(x, 3, half, 2**31 - 1, 1)
        other = self.joined([self.node("Neg", [second], second.shape), first], 3)
        return self.plus(self.times(x, cosine), self.times(other, sine))

    def heads_of(self, x, heads):
        width = x.shape[-1] // heads
        parts = self.reshaped(x, [0, 0, heads, width] if self.chance(0.7) else [0, -1, heads, width],
                              x.shape[:2] + (heads, width))
        return self.turned(parts, 0, 2, 1, 3)

    def masked(self, scores, keys):
        """Causal mask: Slice takes the part of a constant square that the lengths determine."""
        length, total = scores.shape[2], scores.shape[3]
        if self.opset < 10 or self.chance(0.3):
            return scores
        square = numpy.tril(numpy.ones((1, 1, LONGEST, LONGEST), bool))
        if self.sizes_are_open or self.chance(0.5):
            end, size = self.extent(keys, 2), self.extent(scores, 2)
            start = self.node("Sub", [end, size], (1,), INT64)
        else:
            start, end = self.integers([total - length]), self.integers([total])
        constant = self.constant(square, overridable=False)
        if self.chance(0.5):
            constant = self.constant(numpy.where(square, 0, -1e4).astype(numpy.float32), overridable=False)
        rows = self.node("Slice", [constant, start, end, self.integers([2])], (1, 1, length, LONGEST))
        mask = self.node("Slice", [rows, self.integers([0]), end, self.integers([3])], (1, 1, length, total))
        if mask.element == BOOL:
            return self.node("Where", [mask, scores, self.scalar(-1e4)], scores.shape, FLOAT)
        return self.plus(scores, mask)

    def attention(self, x):
        channels = x.shape[-1]
        if channels % 4:
            return None
        heads = self.random.choice([1, 2])
        if self.chance(0.4):
            q, k, v = self.pieces(self.linear(x, 3 * channels), 2, [channels] * 3)
        else:
            q, k, v = (self.linear(x, channels) for _ in range(3))
        q, k, v = (self.heads_of(value, heads) for value in (q, k, v))
        if self.chance(0.5):
            q, k = self.rotated(q), self.rotated(k)
        if self.depth == 0 and self.is_plain_sequence and self.chance(0.4):
            k, v = self.with_past(k, x), self.with_past(v, x)
        turned = self.turned(k, 0, 1, 3, 2)
        root = (channels // heads) ** 0.5
        way = self.random.choice(["div", "mul", "both"])
        if way == "both":
            q, turned = (self.times(value, self.scalar(root**-0.5)) for value in (q, turned))
        scores = self.node("MatMul", [q, turned], q.shape[:3] + (k.shape[2],))
        if way == "div":
            scores = self.node("Div", [scores, self.scalar(root)], scores.shape)
        elif way == "mul":
            scores = self.times(scores, self.scalar(1 / root))
        share = self.masked(scores, k)
        share = self.node("Softmax", [share], share.shape, axis=3)
        if self.opset >= 9 and self.chance(0.3):
            nothing = self.node("IsNaN", [share], share.shape, BOOL)
            share = self.node("Where", [nothing, self.scalar(0), share], share.shape, FLOAT)
        y = self.turned(self.node("MatMul", [share, v], q.shape), 0, 2, 1, 3)
        y = self.reshaped(y, [0, 0, channels] if self.chance(0.7) else [0, -1, channels], x.shape)
        y = self.linear(y, channels)
        return self.plus(y, x) if self.chance(0.6) else y

    def with_past(self, x, sequence):
        """The past is an input; past and present together are an output."""
        past = self.take_input(FLOAT, (self.batch(sequence), x.shape[1], "P", x.shape[3]))
        present = self.joined([past, x], 2)
        self.want(present)
        return present

    def lstm(self, x):
        """A few steps of a cell with gates made of products."""
        size = 4
        if "L" in self.open or x.shape[1] < 2:
            return None
        state = self.constant(numpy.zeros((1, size), numpy.float32))
        memory = self.weight(1, size)
        weight, again, bias = self.weight(x.shape[-1], 4 * size), self.weight(size, 4 * size), self.weight(4 * size)
        apart = [(self.weight(x.shape[-1], size), self.weight(size, size)) for _ in range(4)]
        together = self.chance(0.6)
        states = []
        for step in range(self.random.randint(1, min(3, x.shape[1]))):
            now = self.node("Gather", [x, self.integers(step)], (x.shape[0], x.shape[2]), axis=1)
            if together:
                gates = self.plus(self.node("MatMul", [now, weight], (x.shape[0], 4 * size)),
                                  self.node("MatMul", [state, again], (state.shape[0], 4 * size)))
                gates = self.pieces(self.plus(gates, bias), 1, [size] * 4)
            else:
                gates = [self.plus(self.node("MatMul", [now, w], (x.shape[0], size)),
                                   self.node("MatMul", [state, u], (state.shape[0], size))) for w, u in apart]
            i, f, o = (self.node("Sigmoid", [gate], gate.shape) for gate in gates[:3])
            g = self.node("Tanh", [gates[3]], gates[3].shape)
            memory = self.plus(self.times(f, memory), self.times(i, g))
            state = self.times(o, self.node("Tanh", [memory], memory.shape))
            states.append(self.axes("Unsqueeze", state, [1], (state.shape[0], 1, size)))
        return self.joined(states, 1) if len(states) > 1 else states[0]

    def dynamically_quantised(self, x):
        if self.opset < 11 or not self.may_quantise:
            return None
        q, scale, zero = self.several("DynamicQuantizeLinear", [x], [x.shape, (), ()], [2, FLOAT, 2])
        total = None
        for _ in range(self.random.randint(1, 2)):
            weight, weight_scale, weight_zero = self.quantised_weight(x.shape[-1], 4, bits=numpy.uint8)
            y = self.node("MatMulInteger", [q, weight, zero, weight_zero], x.shape[:-1] + (4,), 6)
            y = self.times(self.node("Cast", [y], y.shape, FLOAT, to=FLOAT), self.times(scale, weight_scale))
            y = self.plus(y, self.weight(4))
            total = y if total is None else self.plus(total, y)
        return total

    def quantised_product(self, x):
        if self.opset < 10 or not self.may_quantise:
            return None
        inner = self.dequantised(*self.quantised(x, self.random.choice([numpy.uint8, numpy.int8])))
        weight = self.dequantised(*self.quantised_weight(x.shape[-1], 8))
        return self.node("MatMul", [inner, weight], x.shape[:-1] + (8,))

    def tied_steps(self, x):
        """Sums of numbers on a grid, rounded to a grid twice as wide: half of them are ties, which rounding decides."""
        if self.opset < 10 or not self.may_quantise:
            return None
        y = self.dequantised(*self.quantised(x))
        signs = [self.constant(self.numbers.integers(-1, 2, (x.shape[-1], 4)).astype(numpy.float32)) for _ in range(2)]
        first, second = (self.node("MatMul", [y, weight], x.shape[:-1] + (4,)) for weight in signs)
        total = self.plus(first, second)
        zero = self.constant(numpy.array(128, numpy.uint8), overridable=False)
        scale = self.scalar(0.1)
        steps = self.node("QuantizeLinear", [total, scale, zero], total.shape, zero.element)
        return self.linear(self.dequantised(steps, scale, zero), 4)

    def grouped_query(self, x):
        """Several heads of queries share heads of keys."""
        if self.opset < 8 or x.shape[-1] % 4:
            return None
        width = x.shape[-1] // 2
        q, k = self.heads_of(self.linear(x, 2 * width), 2), self.heads_of(self.linear(x, width), 1)
        n, _, length, _ = q.shape
        wide = self.axes("Unsqueeze", k, [2], (n, 1, 1, length, width))
        wide = self.node("Expand", [wide, self.integers([1, 1, 2, 1, 1])], (n, 1, 2, length, width))
        k = self.reshaped(wide, [0, 2, -1, width], (n, 2, length, width))
        scores = self.node("MatMul", [q, self.turned(k, 0, 1, 3, 2)], (n, 2, length, length))
        share = self.node("Softmax", [scores], scores.shape, axis=3)
        y = self.turned(self.node("MatMul", [share, k], q.shape), 0, 2, 1, 3)
        return self.linear(self.reshaped(y, [0, 0, 2 * width], (n, length, 2 * width)), x.shape[-1])

    def embedded(self, x):
        """Rows of a table, chosen by an integer input and added."""
        if self.depth > 0 or not self.is_plain_sequence:
            return None
        rows = self.take_input(INT64, (self.batch(x), self.length(x)))
        table = self.weight(7, x.shape[-1])
        return self.plus(x, self.node("Gather", [table, rows], rows.shape + (x.shape[-1],), FLOAT, axis=0))

    def shared_norm(self, x):
        """One norm used by several products, and outputs that share it."""
        y = self.layer_norm(x)
        first, second = self.linear(y, 4), self.linear(y, 4)
        if self.chance(0.4):
            self.want(first)
        return self.plus(self.activated(first), second)

    def sliced_pairs(self, x):
        """Slice and Split of one value, whose parts are used differently; some are unused."""
        if x.shape[-1] < 4:
            return None
        half = x.shape[-1] // 2
        first = self.slice(x, 2, 0, half, 1)
        parts = self.pieces(x, 2, [half, x.shape[-1] - half])
        if self.chance(0.5):
            self.want(self.slice(first, 1, 0, 1, 1) if self.chance(0.5) else first)
        if self.chance(0.5):
            joined = self.joined([parts[1], *[parts[0]] * self.random.randint(1, 3)], 2)
            return joined if joined.shape[-1] % 4 == 0 else self.linear(joined, 4)
        return self.plus(self.linear(first, 4), self.linear(parts[self.random.randrange(2)], 4))

    def cut_before(self, x):
        """Slice along two axes, then Split of the same value, whose parts are joined in another order."""
        known = [i for i, name in enumerate("NL ") if name not in self.open and (i != 1 or self.is_plain_sequence)]
        axis = self.random.choice(known)  # 0: the two halves of a batch, as in guided diffusion
        if self.opset < 10 or min(x.shape) < 2:
            return None
        other = self.random.choice([i for i in range(3) if i != axis])
        at = x.shape[axis] // 2
        bounds = {axis: at, other: 1}
        order = self.random.sample([axis, other], 2)
        ends = [self.integers([0, 0]), self.integers([bounds[i] for i in order]), self.integers(order)]
        self.want(self.node("Slice", [x, *ends], [bounds.get(i, n) for i, n in enumerate(x.shape)]))
        first, second = self.pieces(x, axis, [at, x.shape[axis] - at])
        if self.chance(0.3):
            second = self.node("Softplus", [second], second.shape)
        y = self.joined([second, first], axis)
        if self.chance(0.5):
            self.want(self.joined([second, first, first], axis))
        return y

    def own_function(self, x):
        """A dense layer as a function of the model, called more than once."""
        if self.opset < 15 or self.ir < 8 or self.depth > 0:
            return None
        name = "Dense"
        if not any(function.name == name for function in self.functions):
            inner = [helper.make_node("MatMul", ["a", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["q"]),
                     helper.make_node("Relu", ["q"], ["z"])]
            self.functions.append(helper.make_function("ours", name, ["a", "w", "b"], ["z"], inner,
                                                       [helper.make_opsetid("", self.opset)]))
        y = x
        for columns in (4, 8)[:self.random.randint(1, 2)]:
            y = self.node(name, [y, self.weight(y.shape[-1], columns), self.weight(columns)], y.shape[:-1] + (columns,),
                          FLOAT, domain="ours")
        return y

    def chosen(self, x):
        """If: motifs in both branches."""
        if self.opset < 9 or self.depth > 0:
            return None
        total = self.node("ReduceSum", [x], (), keepdims=0)
        condition = self.node("Greater", [total, self.scalar(0)], (), BOOL)
        branches = {name: self.motif_branch(x, name) for name in ("then_branch", "else_branch")}
        shape = x.shape[:-1] + (4,)
        return self.node("If", [condition], shape, FLOAT, **branches)

    def motif_branch(self, x, name):
        outer = self.nodes, self.values, self.sequences, self.images
        self.nodes = []
        self.values, self.sequences, self.images = list(self.values), list(self.sequences), list(self.images)
        self.depth += 1
        try:
            y = x
            for _ in range(self.random.randint(0, 2)):
                made = self.sequence_motif(y)
                y = made if made is not None and made.shape[:-1] == x.shape[:-1] else y
            y = self.linear(y, 4)
            result = helper.make_tensor_value_info(y.name, FLOAT, [None] * y.rank)
            return helper.make_graph(self.nodes, name, [], [result])
        finally:
            self.depth -= 1
            self.nodes, self.values, self.sequences, self.images = outer

    def batch(self, x):
        return "N" if "N" in self.open else x.shape[0]

    def length(self, x):
        return "L" if "L" in self.open else x.shape[1]
