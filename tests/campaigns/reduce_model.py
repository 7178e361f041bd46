"""Reduces a model that shows a fault: removes outputs and nodes as long as the fault stays."""

import time

import onnx
from onnx import helper, numpy_helper

import runtime_comparison


def copy(model):
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made


def names_inside(graph):
    """Every name that the nodes of a graph read, including their branches."""
    names = set()
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= names_inside(attribute.g)
                names.update(output.name for output in attribute.g.output)
    return names


def without_unused(model):
    graph = model.graph
    while True:
        needed = names_inside(graph) | {output.name for output in graph.output}
        kept = [node for node in graph.node if any(name in needed for name in node.output)]
        if len(kept) == len(graph.node):
            break
        del graph.node[:]
        graph.node.extend(kept)
    for field in (graph.initializer, graph.input):
        kept = [entry for entry in field if entry.name in needed]
        if field is graph.input and not kept:
            kept = list(field)[:1]
        del field[:]
        field.extend(kept)
    return model


def values_of(model, feed):
    """The values of all nodes of the graph, by name."""
    made = copy(model)
    known = {output.name for output in made.graph.output}
    for node in made.graph.node:
        for name in node.output:
            if name and name not in known:
                made.graph.output.append(onnx.ValueInfoProto(name=name))
    session = runtime_comparison.open_session(made.SerializeToString(), threads=1)
    return dict(zip([output.name for output in made.graph.output], session.run(None, feed(session))))


def cut_behind(model, index, values):
    """Turns the results of a node into inputs."""
    made = copy(model)
    node = made.graph.node[index]
    if node.op_type == "Constant" or any(name not in values for name in node.output if name):
        return None
    for name in node.output:
        if not name or name in {output.name for output in made.graph.output}:
            return None
        array = values[name]
        element = helper.np_dtype_to_tensor_dtype(array.dtype)
        if array.dtype.kind != "f":  # indices and the like are useful only as constants
            tensor = numpy_helper.from_array(array, name)
            made.graph.node.insert(0, helper.make_node("Constant", [], [name], value=tensor))
            index += 1
        else:
            made.graph.input.append(helper.make_tensor_value_info(name, element, array.shape))
    del made.graph.node[index]
    return made


def past(model, index, values):
    """Leaves out a node: users of its result read an operand of the same form."""
    node = model.graph.node[index]
    if len(node.output) != 1 or node.output[0] not in values:
        return None
    result = values[node.output[0]]
    inputs = {}
    for name in node.input:
        if name in values and values[name].shape == result.shape and values[name].dtype == result.dtype:
            inputs[name] = True
    if not inputs or node.output[0] in {output.name for output in model.graph.output}:
        return None
    made = copy(model)
    del made.graph.node[index]
    for other in made.graph.node:
        for place, name in enumerate(other.input):
            if name == node.output[0]:
                other.input[place] = next(iter(inputs))
    return made


def reduced(model, still_fails, feed, seconds=60):
    """`still_fails(model)`: whether it shows the fault; `feed(session)`: inputs for a session of it."""
    deadline = time.monotonic() + seconds

    def shows(candidate):
        try:
            onnx.checker.check_model(candidate)
            return time.monotonic() < deadline and still_fails(candidate)
        except Exception:
            return False

    while time.monotonic() < deadline:
        size = len(model.graph.node), len(model.graph.output)
        for place in reversed(range(len(model.graph.output))):
            if len(model.graph.output) > 1:
                candidate = copy(model)
                del candidate.graph.output[place]
                without_unused(candidate)
                if shows(candidate):
                    model = candidate
        for change in (cut_behind, past):
            place = len(model.graph.node) - 1
            while place >= 0 and time.monotonic() < deadline:
                try:
                    values = values_of(model, feed)
                except Exception:
                    return model
                candidate = change(model, place, values) if place < len(model.graph.node) else None
                if candidate is not None and shows(without_unused(candidate)):
                    model = candidate
                place -= 1
        if (len(model.graph.node), len(model.graph.output)) == size:
            break
    return model
