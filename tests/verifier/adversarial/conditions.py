"""Conditions that contradict each other, or only look strong; and constants near the largest integers."""

import itertools

from false_rule import FalseRule, candidate, pooled_at_any_rank

# False wherever an input has two elements along both axes, all of rank 2.
BASES = (
    ("relu(matmul(x, y))", "matmul(relu(x), relu(y))"),
    ("matmul(x, y)", "transpose[permutation=[1, 0]](matmul(x, y))"),
    ("softmax[axis=0](tanh(x))", "softmax[axis=1](tanh(x))"),
    ("transpose[permutation=[1, 0]](relu(x))", "relu(x)"),
    ("add(tanh(x), tanh(y))", "tanh(add(x, y))"),
    ("mul(relu(x), relu(y))", "relu(mul(x, y))"),
    ("reduce_sum[axes=[0], keep=true](mul(x, y))",
     "mul(reduce_sum[axes=[0], keep=true](x), reduce_sum[axes=[0], keep=true](y))"),
    ("reduce_max[axes=[0], keep=true](add(x, y))",
     "add(reduce_max[axes=[0], keep=true](x), reduce_max[axes=[0], keep=true](y))"),
    ("sub(relu(x), y)", "sub(y, relu(x))"),
    ("concat[axis=0](relu(x), tanh(y))", "concat[axis=0](tanh(y), relu(x))"),
)
LOOK_STRONG = (
    ["dim(x, 0) >= 1"], ["dim(x, 0) = dim(x, 0)"], ["dim(x, 0) <= 1000000"], ["dim(x, 0) != 3"],
    ["dim(x, 0) != dim(x, 1) + 1"],
    ["dim(x, 0) * dim(x, 1) >= 4"], ["dim(x, 0) > 1", "dim(x, 1) > 1"], ["divides(2, dim(x, 0) * (dim(x, 0) + 1))"],
    ["divides(1, dim(x, 0))"], ["parity(dim(x, 0) * (dim(x, 0) - 1)) = even"], ["dim(x, 0) % 7 < 7"],
    ["dim(x, 0) = dim(x, 1)", "dim(x, 1) = dim(x, 0)"],
    ["dim(x, 0) = dim(x, 1)", "dim(x, 0) * 2 = dim(x, 1) + dim(x, 0)"],
    ["shape(x) = shape(x)"], ["divides(2, dim(x, 0))", "divides(3, dim(x, 0))"], ["dim(x, 0) / 1000 >= 0"],
    ["dim(x, 0) < 4611686018427387904"], ["dim(x, 0) + 9223372036854775806 > 9223372036854775806"],
    ["dim(x, 0) * 2147483648 >= 2147483648"], ["0 - 9223372036854775807 < dim(x, 0)"],
)
CONTRADICTIONS = (
    ["dim(x, 0) < dim(x, 1)", "dim(x, 1) < dim(x, 0)"], ["dim(x, 0) < 1"], ["dim(x, 0) = 0"],
    ["dim(x, 0) != dim(x, 0)"], ["divides(2, dim(x, 0))", "divides(2, dim(x, 0) + 1)"],
    ["parity(dim(x, 0)) = even", "parity(dim(x, 0)) = odd"],
    ["dim(x, 0) = 2", "dim(x, 1) = 3", "dim(x, 0) * dim(x, 1) = 7"],
    ["dim(x, 0) * 2 = dim(x, 1) * 2 + 1"], ["dim(x, 0) % 3 = 3"], ["dim(x, 0) * dim(x, 0) = 2"],
    ["dim(x, 0) * dim(x, 0) + 1 = dim(x, 0)"], ["dim(x, 0) > 5", "dim(x, 1) > 5", "dim(x, 0) + dim(x, 1) < 12"],
    ["dim(x, 0) * dim(x, 0) = 2 * dim(x, 1) * dim(x, 1)"], ["rank(x) = 2", "rank(x) = 3"], ["rank(x) < 1"],
    ["dim(x, 0) > 9223372036854775807"], ["dim(x, 0) + dim(x, 1) <= 1"], ["shape(x) = [2, 3, 4]", "rank(x) = 2"],
)


def only_look_strong():
    for (source, target), conditions in itertools.product(BASES, LOOK_STRONG):
        yield FalseRule(candidate(source, target, "rank(x) = 2", *conditions), "almost all sizes meet the condition")


def contradictory():
    for (source, target), conditions in itertools.product(BASES, CONTRADICTIONS):
        yield FalseRule(candidate(source, target, *conditions), "it says nothing: no sizes meet the conditions")


HUGE = (3000000, 2**30, 2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**40, 2**53 + 1, 2**61, 2**62 - 1, 2**62, 2**63 - 1)


def huge():
    for constant, rank in itertools.product(HUGE, (3, 4)):
        source, target = pooled_at_any_rank(f"rank(x) / {rank}")
        inside = f"reshape[shape=[n]](slice[axis=0, begin=b, end=e]({source}))"
        outside = f"reshape[shape=[n]](slice[axis=0, begin=b, end=e]({target}))"
        for shape in (f"repeat(4 + {constant} * b, rank(x))", f"repeat({constant} + b, rank(x))",
                      f"repeat(4 + b * b * {constant}, rank(x))", f"repeat(dim(x, 0) + {constant} * b, rank(x))"):
            yield FalseRule(candidate(inside, outside, f"shape(x) = {shape}"), f"false at rank {rank}")
    for constant in HUGE:
        for guard in (f"(dim(x, 0) + {constant}) / {constant}", f"dim(x, 0) * {constant} / {constant}",
                      f"({constant} - dim(x, 0)) / {constant} + 1", f"{constant} - {constant} + dim(x, 0)",
                      f"dim(x, 0) % {constant}", f"({constant} + dim(x, 0)) - {constant}"):
            yield FalseRule(candidate(*pooled_at_any_rank(guard)), "the window is larger than 1 for every size below")


FAMILIES = [only_look_strong, contradictory, huge]
