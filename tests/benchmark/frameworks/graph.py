"""Reads an ONNX model into a short list of steps that every framework here can run.

A step is a primitive (`conv`, `matmul`, `reshape` …) with its operands; everything else is plain numbers. Whatever ONNX
leaves implicit (shapes, automatic padding, shape arithmetic, differences between its versions) is resolved once, here.
The frameworks only have a function for each primitive. All sizes are static. Whatever depends on constants only is
computed in advance by the reference implementation of `onnx`, as every framework would do when it loads a model.
"""

import dataclasses

import numpy
import onnx
import onnx.numpy_helper
import onnx.reference


class Unsupported(Exception):
    """The model needs something that is not implemented here."""


@dataclasses.dataclass
class Step:
    primitive: str
    operands: list  # names of values, or plain numbers, or None
    keywords: dict
    results: list


@dataclasses.dataclass
class Node:
    operator: str
    inputs: list
    outputs: list
    attributes: dict
    proto: object

    def get(self, name, default=None):
        return self.attributes.get(name, default)


@dataclasses.dataclass
class Program:
    inputs: dict  # name -> (shape, numpy type)
    outputs: list
    parameters: dict  # name -> array
    steps: list
    bounds: dict  # name of an integer input -> values must be below this
    shapes: dict  # of all values, by name

    def random_inputs(self, seed, bounds=None):
        bounds = self.bounds if bounds is None else bounds
        random = numpy.random.default_rng(seed)
        data = {}
        for name, (shape, kind) in self.inputs.items():
            if numpy.issubdtype(kind, numpy.floating):
                data[name] = random.standard_normal(shape).astype(kind)
            else:
                data[name] = random.integers(0, bounds.get(name, 2), shape).astype(kind)
        return data


class Builder:
    """The program so far, as used by the lowering of the next node. `shapes_of` runs a primitive without data."""

    def __init__(self, opset, shapes_of):
        self.opset = opset
        self.constants = {}
        self.types = {}  # name -> (shape, numpy type) of computed values
        self.steps = []
        self.shapes_of = shapes_of
        self.seen = {}
        self.counter = 0

    def fresh(self):
        self.counter += 1
        return f"%{self.counter}"

    def shape(self, name):
        return tuple(self.constants[name].shape) if name in self.constants else self.types[name][0]

    def kind(self, name):
        return self.constants[name].dtype if name in self.constants else self.types[name][1]

    def constant(self, array):
        name = self.fresh()
        self.constants[name] = array
        return name

    def host(self, node, index):
        """An input that must be known in advance; None if it is omitted."""
        if index >= len(node.inputs) or not node.inputs[index]:
            return None
        if node.inputs[index] not in self.constants:
            raise Unsupported(f"{node.operator}: input {index} is not a constant")
        return self.constants[node.inputs[index]]

    def whole(self, node, index, attribute=None):
        """Integers from an input, or from an attribute in older versions of ONNX; None if there are none."""
        array = self.host(node, index)
        if array is not None:
            return [int(one) for one in array.reshape(-1)]
        value = node.get(attribute) if attribute else None
        return value if value is None or isinstance(value, list) else [value]

    def emit(self, primitive, operands, results=1, **keywords):
        names = [self.fresh() for _ in range(results)]
        types = [None if one is None or isinstance(one, (int, float)) else (self.shape(one), self.kind(one))
                 for one in operands]
        self.steps.append(Step(primitive, list(operands), keywords, names))
        plain = [one if isinstance(one, (int, float)) else None for one in operands]
        key = repr((primitive, types, plain, keywords))  # networks are repetitive
        if key not in self.seen:
            self.seen[key] = self.shapes_of(primitive, types, plain, keywords)
        self.types.update(zip(names, self.seen[key]))
        return names[0] if results == 1 else names


def fold(proto, opset, arrays):
    """Computes a node from constants."""
    inputs = [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in arrays]
    outputs = [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in proto.output if name]
    graph = onnx.helper.make_graph([proto], "one", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    return onnx.reference.ReferenceEvaluator(model).run(None, dict(arrays))


def attribute_value(attribute):
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return list(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def widened(array):
    """Whoever runs the program chooses half precision; the program itself is in float32."""
    return array.astype(numpy.float32) if array.dtype.name in ("float16", "bfloat16") else array


def input_shape(value, batch):
    dims = value.type.tensor_type.shape.dim
    shape = [dim.dim_value if dim.HasField("dim_value") else 1 for dim in dims]
    if batch and shape:
        shape[0] = batch
    return tuple(shape)


def own_batch(path):
    """The first dimension of a model's first input; 1 if it is open, None if the file does not say."""
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception:  # running it will show what is wrong
        return None
    weights = {tensor.name for tensor in model.graph.initializer}
    shapes = [input_shape(value, None) for value in model.graph.input if value.name not in weights]
    return shapes[0][0] if shapes and shapes[0] else 1


def in_order(nodes):
    """The nodes in topological order: files of some exporters are not sorted."""
    makers = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    done, ordered = set(), []
    for first in range(len(nodes)):
        waiting = [first]
        while waiting:
            i = waiting[-1]
            before = [makers[name] for name in nodes[i].input if name in makers and makers[name] not in done]
            if i in done or not before:
                waiting.pop()
                if i not in done:
                    done.add(i)
                    ordered.append(nodes[i])
            elif len(waiting) > len(nodes):
                raise Unsupported("a graph with a cycle")
            else:
                waiting += before
    return ordered


def read(path, batch, shapes_of):
    """The program of a model. `batch` replaces the first dimension of every input; dimensions without a size become 1.
    """
    from lowering import LOWERINGS

    model = onnx.load(str(path))
    opset = max(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    builder = Builder(opset, shapes_of)
    for tensor in model.graph.initializer:
        builder.constants[tensor.name] = widened(onnx.numpy_helper.to_array(tensor))
    inputs, bounds = {}, {}
    for value in model.graph.input:
        if value.name in builder.constants:
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        kind = widened(numpy.empty(0, kind)).dtype
        inputs[value.name] = builder.types[value.name] = (input_shape(value, batch), kind)
    renamed = {}
    for proto in in_order(model.graph.node):
        node = Node(proto.op_type, [renamed.get(name, name) for name in proto.input], list(proto.output),
                    {one.name: attribute_value(one) for one in proto.attribute}, proto)
        if proto.domain not in ("", "ai.onnx"):
            raise Unsupported(f"operator {proto.domain}.{proto.op_type}")
        known = {old: builder.constants[new] for old, new in zip(proto.input, node.inputs)
                 if old and new in builder.constants}
        if node.operator == "Shape":
            start, end = node.get("start", 0), node.get("end")
            builder.constants[node.outputs[0]] = numpy.array(builder.shape(node.inputs[0])[start:end], numpy.int64)
        elif len(known) == len({name for name in proto.input if name}):
            for name, array in zip(filter(None, node.outputs), fold(proto, opset, known)):
                builder.constants[name] = widened(numpy.asarray(array))
        elif node.operator not in LOWERINGS:
            raise Unsupported(f"operator {node.operator}")
        else:
            if node.operator == "Gather" and node.inputs[1] in inputs and node.inputs[0] in builder.constants:
                bounds[node.inputs[1]] = builder.shape(node.inputs[0])[node.get("axis", 0)]
            results = LOWERINGS[node.operator](builder, node)
            for old, new in zip(node.outputs, [results] if isinstance(results, str) else results):
                renamed[old] = new
    outputs = [renamed.get(value.name, value.name) for value in model.graph.output]
    for index, name in enumerate(outputs):
        if name in builder.constants:
            raise Unsupported(f"the output {model.graph.output[index].name} is a constant")
    steps = needed(builder.steps, outputs)
    used = {name for step in steps for name in step.operands if isinstance(name, str)}
    parameters = {name: array for name, array in builder.constants.items() if name in used}
    shapes = {name: shape for name, (shape, _) in builder.types.items()}
    shapes.update({name: array.shape for name, array in parameters.items()})
    return Program(inputs, outputs, parameters, steps, bounds, shapes)


def needed(steps, outputs):
    """The steps that the outputs depend on."""
    wanted, kept = set(outputs), []
    for step in reversed(steps):
        if wanted.intersection(step.results):
            kept.append(step)
            wanted.update(name for name in step.operands if isinstance(name, str))
    return kept[::-1]


def source(program):
    """The program as Python: `network(parameters, inputs)`, one line per step, calling the functions of the primitives.

    Tracing compilers read straight-line code fastest. Values are deleted after their last use, as in hand-written code;
    otherwise all activations would be alive at once.
    """
    names = {name: f"p{i}" for i, name in enumerate(program.parameters)}
    names.update({name: f"x{i}" for i, name in enumerate(program.inputs)})
    for i, step in enumerate(program.steps):
        for j, name in enumerate(step.results):
            names[name] = f"v{i}_{j}" if len(step.results) > 1 else f"v{i}"
    last = {}
    for i, step in enumerate(program.steps):
        for name in step.operands:
            last[name] = i
    lines = ["def network(parameters, inputs):"]
    for group, values in (("parameters", program.parameters), ("inputs", program.inputs)):
        if values:
            lines.append(f"    {''.join(names[name] + ', ' for name in values)}= {group}")
    for i, step in enumerate(program.steps):
        words = [names[one] if isinstance(one, str) else repr(one) for one in step.operands]
        words += [f"{key}={value!r}" for key, value in step.keywords.items()]
        results = ", ".join(names[name] for name in step.results)
        lines.append(f"    {results} = {step.primitive}_({', '.join(words)})")
        done = {names[one] for one in step.operands
                if isinstance(one, str) and last[one] == i and one not in program.outputs and names[one][0] == "v"}
        if done:
            lines.append(f"    del {', '.join(sorted(done))}")
    lines.append(f"    return [{', '.join(names[name] for name in program.outputs)}]")
    return "\n".join(lines) + "\n"


def function(program, functions):
    scope = {f"{name}_": one for name, one in functions.items()}
    scope.update(inf=float("inf"), nan=float("nan"))
    exec(compile(source(program), "<network>", "exec"), scope)
    return scope["network"]
