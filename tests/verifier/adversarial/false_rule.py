"""A rule that is false, and why."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class FalseRule:
    """`text` follows a candidate's name: the two sides and the conditions."""

    text: str
    why: str


def candidate(source, target, *conditions):
    """The text of a candidate."""
    where = f"\n  where {', '.join(conditions)}" if conditions else ""
    return f"  {source} => {target}{where}"


def pooled(guard, wrap="relu"):
    """A source and a target that are equal where the guard is 0 and differ where it is 1 or more, at rank 4."""
    kernel, pads = f"[1 + 2 * ({guard}), 1 + 2 * ({guard})]", ", ".join([f"({guard})"] * 4)
    return f"{wrap}(max_pool[kernel={kernel}, pads=[{pads}]](x))", f"{wrap}(x)"


def pooled_at_any_rank(guard):
    """The same at every rank from 3 on."""
    window = f"kernel=repeat(1 + 2 * ({guard}), rank(x) - 2), pads=repeat({guard}, 2 * rank(x) - 4)"
    return f"relu(max_pool[{window}](x))", "relu(x)"


def sliced(guard):
    """The same for every rank: the slice is shifted, or out of range."""
    return ("tanh(slice[axis=0, begin=b, end=e](relu(relu(x))))",
            f"tanh(slice[axis=0, begin=b + ({guard}), end=e + ({guard})](relu(x)))")


def padded(guard):
    """The same at rank 2."""
    return ("relu(pad[before=[1, 1], after=[2, 2]](x))",
            f"relu(pad[before=[1 + ({guard}), 1], after=[2 - ({guard}), 2]](x))")


def split_elsewhere(guard):
    """The same at rank 2: a split that does not cut where the parts were joined."""
    return ("relu(first(split[axis=0, at=dim(x, 0)](concat[axis=0](x, y))))",
            f"relu(first(split[axis=0, at=dim(x, 0) + ({guard})](concat[axis=0](x, y))))")
