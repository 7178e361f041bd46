"""True below some size, rank or length, false beyond."""

from false_rule import FalseRule, candidate, padded, pooled, pooled_at_any_rank, sliced, split_elsewhere


def vanishing(term, greatest):
    """0 for 1 to `greatest`, positive beyond."""
    return " * ".join(f"({term} - {i})" for i in range(1, greatest + 1))


def guards(term, limits):
    for limit in limits:
        yield f"{term} / {limit}", f"{term} reaches {limit}"
        yield f"{term} - {term} % {limit}", f"{term} reaches {limit}"
        yield f"({term} + {limit - 1}) / {limit} - 1", f"{term} exceeds {limit}"
    for limit in (1, 2, 3, 5, 7):
        if limit < max(limits):
            yield vanishing(term, limit), f"{term} exceeds {limit}"


LIMITS = (3, 5, 6, 11, 20, 41, 128, 1000, 65536, 2**20, 2**31 - 1, 2**31, 2**32 + 1, 2**40, 2**61)


def sizes():
    shapes = ((pooled, "dim(x, 0)"), (pooled, "dim(x, 3)"), (pooled, "(dim(x, 0) * dim(x, 1))"), (sliced, "dim(x, 0)"),
              (padded, "dim(x, 1)"), (split_elsewhere, "dim(y, 0)"), (split_elsewhere, "(dim(x, 0) + dim(y, 1))"))
    for payload, term in shapes:
        condition = {pooled: "rank(x) = 4", padded: "rank(x) = 2", split_elsewhere: "rank(x) = 2"}.get(payload)
        for guard, why in guards(term, LIMITS):
            yield FalseRule(candidate(*payload(guard), *[condition] if condition else []), f"false where {why}")


def ranks():
    for payload in (pooled_at_any_rank, sliced):
        for guard, why in guards("rank(x)", (3, 4, 5, 6)):
            yield FalseRule(candidate(*payload(guard)), f"false where {why}")
        for kept in range(3, 6):
            places = ", ".join(str(i) for i in range(kept))
            for guard in (f"sum(without(shape(x), [{places}]))", f"rank(x) - {kept}",
                          f"product(shape(x)) - product(shape(x)) / product(without(shape(x), [{places}]))"):
                conditions = [f"rank(x) >= {kept}"] if guard.startswith("rank") else []
                yield FalseRule(candidate(*payload(guard), *conditions), f"false above rank {kept}")
    for rank in (3, 4, 5, 6):
        yield FalseRule(candidate("softmax[axis=0](relu(relu(x)))", f"softmax[axis=rank(x) / {rank}](relu(x))"),
                        f"another axis from rank {rank} on")


def lengths():
    for kept in range(1, 6):
        places = ", ".join(str(i) for i in range(kept))
        rest = f"without(u, [{places}])"
        for guard in (f"sum({rest})", f"sum({rest}) * sum({rest})", f"sum({rest}) / 1", 
                      f"sum(u) - sum(u) + sum({rest})", f"product({rest}) - 1",
                      f"product(u) - product(u) / product({rest})"):
            source, target = pooled(guard, "reshape[shape=u]")
            yield FalseRule(candidate(source, target, "rank(x) = 4"), f"false where u has more than {kept} elements")
            cut = "reshape[shape=u](slice[axis=0, begin=b, end=e](relu(relu(x))))"
            moved = f"reshape[shape=u](slice[axis=0, begin=b + {guard}, end=e + {guard}](relu(x)))"
            yield FalseRule(candidate(cut, moved), f"false where u has more than {kept} elements")


FAMILIES = [sizes, ranks, lengths]
