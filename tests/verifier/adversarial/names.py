"""Names that a prover may confuse with its own, or with others."""

import itertools

from false_rule import FalseRule, candidate

NAMES = ("q1", "q2", "q3", "q", "Q1", "_q1", "q_1", "q01", "x_0", "x0", "s_1", "N", "n1", "quotient0", "quotient1",
         "value", "e1", "t0", "u1", "k0", "inf_", "nan_", "null", "length", "choice", "made_up")


def shadowed():
    """A made-up quotient is not the variable of that name."""
    for name, divisor, axis in itertools.product(NAMES, (2, 3, 7), (0, 1)):
        half = f"dim(x, {axis}) / {divisor}"
        yield FalseRule(candidate(f"tanh(slice[axis={axis}, begin={name}, end=e](relu(relu(x))))",
                                  f"tanh(slice[axis={axis}, begin={half}, end=e - {name} + {half}](relu(x)))",
                                  f"divides({divisor}, dim(x, {axis}))"),
                        f"{name} is any beginning, not a quotient")


def two_quotients():
    for first, second in itertools.permutations(NAMES[:8], 2):
        yield FalseRule(candidate(f"relu(split[axis=0, at={first}](relu(x))), relu(split[axis=1, at={second}](relu(x)))"
                                  .replace("relu(split", "first(split"),
                                  f"first(split[axis=0, at=dim(x, 0) / 2](relu(x))), "
                                  f"first(split[axis=1, at=dim(x, 1) / 3](relu(x)))",
                                  "divides(2, dim(x, 0))", "divides(3, dim(x, 1))"),
                        "a split may cut anywhere")


def inputs():
    """Inputs with names that may be confused."""
    for first, second in itertools.permutations(("q1", "q2", "x", "x_0", "N", "q", "value", "t0", "e1"), 2):
        yield FalseRule(candidate(f"sub({first}, relu({second}))", f"sub({second}, relu({first}))",
                                  f"divides(2, dim({first}, 0))"), "the difference changes its sign")


FAMILIES = [shadowed, two_quotients, inputs]
