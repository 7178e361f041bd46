"""Compares JSON with a schema, as far as our schemas go."""

import re

KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
         "number": (int, float)}


def is_kind(value, kind):
    if isinstance(value, bool) and kind != "boolean":  # which is an int to Python
        return False
    return isinstance(value, KINDS[kind])


def differences(value, schema, root=None, at="$"):
    """What is wrong, a line each."""
    root = root or schema
    known = {"$schema", "title", "description", "type", "required", "properties", "additionalProperties", "items",
             "enum", "const", "pattern", "minimum", "minItems", "maxItems", "$ref", "$defs"}
    assert set(schema) <= known, f"{sorted(set(schema) - known)}: these words are not checked here"
    if "$ref" in schema:
        yield from differences(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, at)
    if "const" in schema and value != schema["const"]:
        yield f"{at} is {value!r}, not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at} is {value!r}, none of {schema['enum']}"
    kinds = schema.get("type", list(KINDS))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(is_kind(value, kind) for kind in kinds):
        yield f"{at} is {value!r}, no {' or '.join(kinds)}"
        return
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{at} is {value!r}, which does not match {schema['pattern']}"
    if is_kind(value, "number") and value < schema.get("minimum", value):
        yield f"{at} is {value}, below {schema['minimum']}"
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{at} has no {name!r}"
        for name, part in value.items():
            within = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if within:
                yield from differences(part, within, root, f"{at}.{name}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{at} has {len(value)} elements"
        for i, part in enumerate(value):
            yield from differences(part, schema.get("items", {}), root, f"{at}[{i}]")
