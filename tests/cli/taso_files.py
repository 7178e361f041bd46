"""Writes rule files in TASO's binary format, valid and invalid ones."""

CONV, RELU, SIGMOID, CONCAT, SPLIT, ADD, MUL, MATMUL = 3, 8, 9, 12, 13, 16, 17, 18


def varint(value):
    value &= (1 << 64) - 1  # negative numbers are sign-extended to ten bytes
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    body = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


def tensor(operator, output=0):
    """A negative operator is an input of the rule."""
    return message(2, number(1, operator), number(2, output))


def operator(side, kind, inputs, parameters=None):
    """`side` is 1 for the source and 2 for the target."""
    inputs = [tensor(*(given if isinstance(given, tuple) else (given,))) for given in inputs]
    given = [message(3, number(1, key), number(2, value)) for key, value in (parameters or {}).items()]
    return message(side, number(1, kind), *inputs, *given)


def output(source, target, source_output=0, target_output=0):
    return message(3, number(1, source), number(2, target), number(3, source_output), number(4, target_output))


def rule(*parts):
    return message(1, *parts)


def associativity():
    """(x + y) + z => x + (y + z)"""
    return rule(operator(1, ADD, [-1, -2]), operator(1, ADD, [0, -3]),
                operator(2, ADD, [-2, -3]), operator(2, ADD, [-1, 0]), output(1, 1))


def constant_of_no_size():
    """Ones that only relu uses: nothing determines how many."""
    return rule(operator(1, 24, []), operator(1, RELU, [0]), operator(1, RELU, [-1]),
                operator(2, 24, []), operator(2, RELU, [0]), operator(2, RELU, [-1]), output(1, 1), output(2, 2))


def wrong_order():
    """A matrix product with its operands swapped, which is false."""
    return rule(operator(1, MATMUL, [-1, -2], {9: 0}), operator(2, MATMUL, [-2, -1], {9: 0}), output(0, 0))
