"""Merges operators that ONNX has separately and that a PyTorch user would have written as one call.

A matrix product with a bias is F.linear, the five operators of GELU are F.gelu, and softmax between two products is
scaled_dot_product_attention. Without this, PyTorch's eager mode would be timed on a network that nobody writes.
"""

from graph import Step, needed


class Uses:
    def __init__(self, program):
        self.maker = {name: step for step in program.steps for name in step.results}
        self.readers = {}
        for step in program.steps:
            for name in step.operands:
                if isinstance(name, str):
                    self.readers.setdefault(name, []).append(step)
        self.outputs = set(program.outputs)

    def made_by(self, name, *primitives):
        """The step that computes a value, if it is one of these."""
        step = self.maker.get(name) if isinstance(name, str) else None
        return step if step is not None and step.primitive in primitives else None

    def only_reader(self, step, *primitives):
        """The only step that reads the result of this step, if it is one of these."""
        name = step.results[0]
        readers = self.readers.get(name, [])
        if name in self.outputs or len(readers) != 1 or readers[0].primitive not in primitives:
            return None
        return readers[0]


def other(step, name):
    left, right = step.operands
    return right if left == name else left


def scaled(uses, name):
    """x and s, if the value is x times the number s."""
    step = uses.made_by(name, "mul", "div")
    if step is not None:
        left, right = step.operands
        if isinstance(right, (int, float)):
            return left, float(right) if step.primitive == "mul" else 1 / right
        if isinstance(left, (int, float)) and step.primitive == "mul":
            return right, float(left)
    return name, 1.0


def gelu(uses, erf):
    """x * 0.5 * (1 + erf(x / sqrt 2)), with factors in any order: the steps to remove, and their replacement."""
    x, factor = scaled(uses, erf.operands[0])
    plus = uses.only_reader(erf, "add")
    if abs(factor - 0.5 ** 0.5) > 1e-5 or plus is None or other(plus, erf.results[0]) != 1:
        return None
    first = uses.only_reader(plus, "mul")
    if first is None:
        return None
    beside = other(first, plus.results[0])
    if beside == x or beside == 0.5:
        last = uses.only_reader(first, "mul")
        if last is None or other(last, first.results[0]) != (0.5 if beside == x else x):
            return None
        gone = [erf, plus, first, last]
    elif scaled(uses, beside) == (x, 0.5):
        last, gone = first, [erf, plus, first]
    else:
        return None
    return gone, last, Step("gelu", [x], {"approximate": "none"}, last.results)


def linear(uses, product, shapes, parameters):
    left, right = product.operands
    plus = uses.only_reader(product, "add")
    if plus is None or right not in parameters or parameters[right].ndim != 2 or len(shapes[left]) < 2:
        return None
    bias = other(plus, product.results[0])
    if bias not in parameters or parameters[bias].shape != parameters[right].shape[1:]:
        return None
    return [product, plus], plus, Step("linear", [left, right, bias], {"transposed": False}, plus.results)


def guarded(uses, softmax):
    """The steps from a softmax to where its NaN, those of rows that a mask hides, are zeros."""
    name = softmax.results[0]
    readers = {step.primitive: step for step in uses.readers.get(name, [])}
    if name not in uses.outputs and len(uses.readers.get(name, [])) == 2 and set(readers) == {"isnan", "where"}:
        test, choice = readers["isnan"], readers["where"]
        if choice.operands == [test.results[0], 0, name] and uses.only_reader(test, "where") is choice:
            return [softmax, test, choice]
    return [softmax]


def attention(uses, softmax, shapes):
    shape = shapes[softmax.operands[0]]
    probable = guarded(uses, softmax)
    after = uses.only_reader(probable[-1], "matmul")
    if len(shape) != 4 or softmax.keywords["axis"] != 3 or after is None or \
            after.operands[0] != probable[-1].results[0]:
        return None
    scores, mask = softmax.operands[0], None
    gone = [*probable, after]
    plus = uses.made_by(scores, "add")
    if plus is not None:
        scores, mask = plus.operands
        if not isinstance(scores, str) or not isinstance(mask, str) or len(shapes[mask]) != 4:
            return None
        gone.append(plus)
    inner, factor = scaled(uses, scores)
    product = uses.made_by(inner, "matmul")
    if product is None or shapes[inner] != shape:
        return None
    chain = [product] + ([uses.maker[scores]] if inner != scores else [])
    before = gone[len(probable) + 1:]
    if any(uses.only_reader(step, "mul", "div", "add", "softmax") is None for step in chain + before):
        return None
    query, of_query = scaled(uses, product.operands[0])
    keys, of_keys = scaled(uses, product.operands[1])
    factor *= of_query * of_keys
    transposed = Step("transpose", [keys], {"order": [0, 1, 3, 2]}, [after.results[0] + "'keys"])
    step = Step("attention", [query, transposed.results[0], after.operands[1], mask], {"scale": factor}, after.results)
    return gone + chain, after, [transposed, step]


def put_together(program, shapes):
    """The same program with fewer, larger steps; `shapes` has all values by name."""
    uses = Uses(program)
    gone, replaced = set(), {}
    for step in program.steps:
        found = None
        if step.primitive == "erf":
            found = gelu(uses, step)
        elif step.primitive == "matmul":
            found = linear(uses, step, shapes, program.parameters)
        elif step.primitive == "softmax":
            found = attention(uses, step, shapes)
        if found is None or gone.intersection(id(one) for one in found[0]):
            continue
        steps, last, instead = found
        gone.update(id(one) for one in steps)
        replaced[id(last)] = instead if isinstance(instead, list) else [instead]
    steps = []
    for step in program.steps:
        if id(step) in replaced:
            steps += replaced[id(step)]
        elif id(step) not in gone:
            steps.append(step)
    return needed(steps, program.outputs)
