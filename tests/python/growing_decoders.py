"""Small decoders whose past grows, in the forms that exporters write: batch, new tokens and past are of any number."""

import numpy as np
import onnx.parser
from onnx import numpy_helper

WIDTH, HEADS, KEY_HEADS, MOST = 8, 4, 2, 64

BEGINNING = """
<ir_version: 8, opset_import: ["" : 18]>
decoder (float[batch, seq, 8] x, float[batch, 2, past, 4] past_key, float[batch, 2, past, 4] past_value{inputs})
    => (float[batch, seq, 8] y, float[batch, 2, all, 4] present_key, float[batch, 2, all, 4] present_value{outputs})
{{
    zero = Constant<value_int = 0>()
    one = Constant<value_int = 1>()
    two = Constant<value_int = 2>()
    three = Constant<value_int = 3>()
    first = Constant<value_ints = [0]>()
    second = Constant<value_ints = [1]>()
    third = Constant<value_ints = [2]>()
    fourth = Constant<value_ints = [3]>()
    low = Constant<value_float = -10000.0>()
"""

# Queries, keys and values; the past; and four heads of queries for two of keys and values.
PROJECTIONS = """
    many = Constant<value_ints = [0, 0, 4, 4]>()
    few = Constant<value_ints = [0, 0, 2, 4]>()
    q0 = MatMul(z, wq)
    q1 = Reshape(q0, many)
    q = Transpose<perm = [0, 2, 1, 3]>(q1)
    k0 = MatMul(z, wk)
    k1 = Reshape(k0, few)
    k = Transpose<perm = [0, 2, 1, 3]>(k1)
    v0 = MatMul(z, wv)
    v1 = Reshape(v0, few)
    v = Transpose<perm = [0, 2, 1, 3]>(v1)
    present_key = Concat<axis = 2>(past_key, k)
    present_value = Concat<axis = -2>(past_value, v)
"""

REPEATED = """
    key_shape = Shape(present_key)
    b1 = Slice(key_shape, first, second, first)
    t1 = Slice(key_shape, third, fourth, first)
    twice = Constant<value_ints = [2]>()
    width1 = Constant<value_ints = [4]>()
    wide = Concat<axis = 0>(b1, twice, twice, t1, width1)
    narrow = Concat<axis = 0>(b1, width1, t1, width1)
    {name}_u = Unsqueeze(present_{name}, third)
    {name}_e = Expand({name}_u, wide)
    {name}_r = Reshape({name}_e, narrow)
"""

SCORES = """
    kt = Transpose<perm = [0, 1, 3, 2]>(key_r)
    s0 = MatMul(q, kt)
    half = Constant<value_float = 0.5>()
    s1 = Mul(s0, half)
    score_shape = Shape(s1)
    n = Gather(score_shape, two)
    t = Gather(score_shape, three)
    before = Sub(t, n)
    n_1 = Unsqueeze(n, first)
    t_1 = Unsqueeze(t, first)
    before_1 = Unsqueeze(before, first)
"""

MASKS = {
    "none": "s = Identity(s1)",
    "compared": """
        rows = Range(before, t, one)
        columns = Range(zero, t, one)
        row = Unsqueeze(rows, second)
        seen = LessOrEqual(columns, row)
        s = Where(seen, s1, low)""",
    "triangle": """
        square = Concat<axis = 0>(n_1, t_1)
        lows = Expand(low, square)
        after = Add(before, one)
        hidden = Trilu<upper = 1>(lows, after)
        s = Add(s1, hidden)""",
    "table": """
        rows = Slice(table, before_1, t_1, third)
        part = Slice(rows, first, t_1, fourth)
        seen = Cast<to = 9>(part)
        s = Where(seen, s1, low)""",
    "given": """
        mask_axes = Constant<value_ints = [1, 2]>()
        wide_mask = Unsqueeze(attention_mask, mask_axes)
        real_mask = Cast<to = 1>(wide_mask)
        unit = Constant<value_float = 1.0>()
        hidden = Sub(unit, real_mask)
        lows = Mul(hidden, low)
        s = Add(s1, lows)""",
}

SHARES = {
    "softmax": "p = Softmax<axis = -1>(s)",
    "guarded": """
        p0 = Softmax<axis = -1>(s)
        lost = IsNaN(p0)
        nothing = Constant<value_float = 0.0>()
        p = Where(lost, nothing, p0)""",
    "sink": """
        column = Slice(s1, first, second, fourth)
        naught = Constant<value_float = 0.0>()
        level = Mul(column, naught)
        sinks = Add(level, sink)
        with_sink = Concat<axis = -1>(s, sinks)
        p0 = Softmax<axis = -1>(with_sink)
        minus = Constant<value_ints = [-1]>()
        p = Slice(p0, first, minus, fourth)""",
    "apart": """
        last = Constant<value_ints = [-1]>()
        peak = ReduceMax<keepdims = 1>(s, last)
        lower = Sub(s, peak)
        powers = Exp(lower)
        total = ReduceSum<keepdims = 1>(powers, last)
        p = Div(powers, total)""",
}

ENDING = """
    c0 = MatMul(p, value_r)
    c1 = Transpose<perm = [0, 2, 1, 3]>(c0)
    flat = Constant<value_ints = [0, 0, -1]>()
    c2 = Reshape(c1, flat)
    y = MatMul(c2, wo)
}}
"""

POSITIONS = {
    "none": "z = Identity(x)",
    "counted": """
        x_shape = Shape(x)
        new = Gather(x_shape, one)
        past_shape = Shape(past_value)
        old = Gather(past_shape, two)
        end = Add(old, new)
        ids = Range(old, end, one)
        turned = Gather(places, ids)
        z = Add(x, turned)""",
    "summed": """
        sums = CumSum(attention_mask, one)
        all_ids = Sub(sums, one)
        past_shape = Shape(past_key)
        old_1 = Slice(past_shape, third, fourth)
        far = Constant<value_ints = [9223372036854775807]>()
        ids = Slice(all_ids, old_1, far, second)
        turned = Gather(places, ids)
        z = Add(x, turned)""",
    "cut": """
        x_shape = Shape(x)
        new_1 = Slice(x_shape, second, third)
        past_shape = Shape(past_key)
        old_1 = Slice(past_shape, third, fourth)
        end_1 = Add(old_1, new_1)
        turned = Slice(places, old_1, end_1, first)
        z = Add(x, turned)""",
}


def weights():
    numbers = np.random.default_rng(0)
    narrow = KEY_HEADS * 4
    shapes = {"wq": (WIDTH, HEADS * 4), "wk": (WIDTH, narrow), "wv": (WIDTH, narrow), "wo": (HEADS * 4, WIDTH),
              "places": (MOST, WIDTH), "sink": (HEADS, 1, 1)}
    made = {name: numbers.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    made["table"] = np.tril(np.ones((MOST, MOST), np.uint8))[None, None]
    return made


def decoder(mask="compared", shares="softmax", positions="none", more="", outputs="", total="total"):
    """A model of these forms, and with `more` nodes."""
    is_masked = mask == "given" or positions == "summed"
    text = BEGINNING.format(inputs=f", int64[batch, {total}] attention_mask" if is_masked else "", outputs=outputs)
    repeated = REPEATED.format(name="key") + "\n".join(REPEATED.format(name="value").splitlines()[-3:])
    text += "\n".join([POSITIONS[positions], PROJECTIONS, repeated, SCORES, MASKS[mask], SHARES[shares], more,
                       ENDING.format()])
    model = onnx.parser.parse_model(text)
    used = {name for node in model.graph.node for name in node.input}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights().items()
                                   if name in used)
    onnx.checker.check_model(model)
    return model
