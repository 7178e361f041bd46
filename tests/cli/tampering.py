"""Changes to a message, one at a time: every field of every reachable message, whatever it is for.

The fields come from protobuf's descriptors, so that none is forgotten; a schema that grows is covered as it grows.
"""

from google.protobuf.descriptor import FieldDescriptor as Field

UNKNOWN = b"\xc2\x3e\x03odd"  # field 1000, three bytes: unknown to every schema
TEXTS = ("", "odd", "x")
NUMBERS = (0, 1, -1, 2, 17)


def is_repeated(field):
    return field.label == Field.LABEL_REPEATED if hasattr(field, "label") else field.is_repeated


def other_values(field, value):
    """A few other values that the field may have."""
    if field.type == Field.TYPE_STRING:
        candidates = (*TEXTS, value + "_")
    elif field.type == Field.TYPE_BYTES:
        candidates = (b"", b"odd", bytes([value[0] ^ 1]) + value[1:] if value else b"1", value + b"\0")
    elif field.type == Field.TYPE_ENUM:
        candidates = tuple(field.enum_type.values_by_number)[:4]
    elif field.type in (Field.TYPE_FLOAT, Field.TYPE_DOUBLE):
        candidates = (0.0, 1.0, -value, value * 2 + 1)
    elif field.type == Field.TYPE_BOOL:
        candidates = (not value,)
    else:
        candidates = (*NUMBERS, value + 1)
        if field.type in (Field.TYPE_UINT64, Field.TYPE_UINT32):
            candidates = tuple(number for number in candidates if number >= 0)
    return [candidate for candidate in dict.fromkeys(candidates) if candidate != value]


def steps(message, path=()):
    """All changes: a path of (field, index) from the outermost message, a field, the kind of change, and its value."""
    for field in message.DESCRIPTOR.fields:
        if is_repeated(field):
            yield from in_a_list(message, field, path)
        elif field.type == Field.TYPE_MESSAGE:
            if message.HasField(field.name):
                yield path, field, "delete", None
                yield from steps(getattr(message, field.name), (*path, (field, None)))
            else:
                yield path, field, "make", None
        else:
            value = getattr(message, field.name)
            if message.HasField(field.name):
                yield path, field, "delete", None
            for other in other_values(field, value):
                yield path, field, "set", other
    yield path, None, "unknown", None


def in_a_list(message, field, path):
    items = getattr(message, field.name)
    # All weights of a tensor are alike.
    if field.type == Field.TYPE_MESSAGE:
        indices = range(len(items))
    else:
        indices = sorted({*range(min(4, len(items))), *([len(items) - 1] if len(items) else [])})
    yield path, field, "append", None
    for index in indices:
        yield path, field, "remove", index
        yield path, field, "repeat", index
        if index + 1 < len(items) and items[index] != items[index + 1]:
            yield path, field, "exchange", index
        if field.type == Field.TYPE_MESSAGE:
            yield from steps(items[index], (*path, (field, index)))
        else:
            for other in other_values(field, items[index]):
                yield path, field, "put", (index, other)


def apply(message, step):
    """Changes the message in place."""
    path, field, what, value = step
    for part, index in path:
        message = getattr(message, part.name) if index is None else getattr(message, part.name)[index]
    if what == "unknown":
        message.MergeFromString(UNKNOWN)
        return
    name = field.name
    if what == "delete":
        message.ClearField(name)
    elif what == "make":
        getattr(message, name).SetInParent()
    elif what == "set":
        setattr(message, name, value)
    else:
        in_place(getattr(message, name), field, what, value)


def in_place(items, field, what, value):
    whole = field.type == Field.TYPE_MESSAGE
    if what == "append":
        if whole:
            items.add()
        else:
            items.append({Field.TYPE_STRING: "odd", Field.TYPE_BYTES: b"odd"}.get(field.type, 1))
    elif what == "remove":
        del items[value]
    elif what == "repeat":
        items.append(items[value])
    elif what == "put":
        items[value[0]] = value[1]
    elif whole:
        first, second = type(items[value])(), type(items[value])()
        first.CopyFrom(items[value])
        second.CopyFrom(items[value + 1])
        items[value].CopyFrom(second)
        items[value + 1].CopyFrom(first)
    else:
        items[value], items[value + 1] = items[value + 1], items[value]


def describe(step):
    path, field, what, value = step
    where = ".".join(part.name + ("" if index is None else f"[{index}]") for part, index in path)
    return f"{where or 'model'}: {what} {field.name if field else 'field'}{'' if value is None else f' {value!r}'[:40]}"
