"""Lowers each ONNX operator to primitives: LOWERINGS[operator](builder, node) emits steps and names the results."""

import math

import numpy
import onnx

from graph import Unsupported


def unary(primitive, **defaults):
    def lower(builder, node):
        return builder.emit(primitive, [node.inputs[0]], **{key: node.get(key, default)
                                                            for key, default in defaults.items()})
    return lower


def operand(builder, name, other):
    """A constant of one element as a plain number, if broadcasting does not need its shape."""
    array = builder.constants.get(name)
    if array is None or array.size != 1 or array.ndim > len(builder.shape(other)) or array.dtype == numpy.bool_:
        return name
    return array.reshape(-1)[0].item()


def binary(primitive):
    def lower(builder, node):
        left, right = node.inputs
        return builder.emit(primitive, [operand(builder, left, right), operand(builder, right, left)])
    return lower


def where(builder, node):
    test, *values = node.inputs
    return builder.emit("where", [test, *(operand(builder, value, test) for value in values)])


def many(primitive):
    def lower(builder, node):
        result = node.inputs[0]
        for name in node.inputs[1:]:
            result = builder.emit(primitive, [result, name])
        return result
    return lower


def spatial(builder, node, kernel):
    """Strides, dilations and (begin, end) pads of a convolution or pooling. ceil_mode may increase pads."""
    rank = len(kernel)
    strides = node.get("strides", [1] * rank)
    dilations = node.get("dilations", [1] * rank)
    pads = node.get("pads", [0] * 2 * rank)
    pads = [[pads[i], pads[i + rank]] for i in range(rank)]
    sizes = builder.shape(node.inputs[0])[2:]
    automatic = node.get("auto_pad", "NOTSET")
    reach = [dilation * (size - 1) + 1 for dilation, size in zip(dilations, kernel)]
    for i in range(rank):
        if automatic in ("SAME_UPPER", "SAME_LOWER"):
            total = max((math.ceil(sizes[i] / strides[i]) - 1) * strides[i] + reach[i] - sizes[i], 0)
            small, large = total // 2, total - total // 2
            pads[i] = [small, large] if automatic == "SAME_UPPER" else [large, small]
        elif automatic == "VALID":
            pads[i] = [0, 0]
    counted = [list(pad) for pad in pads]
    if node.get("ceil_mode", 0):
        for i in range(rank):
            room = sizes[i] + sum(pads[i]) - reach[i]
            steps = math.ceil(room / strides[i])
            if steps * strides[i] >= sizes[i] + pads[i][0]:  # a window must begin inside
                steps -= 1
            pads[i][1] += max(steps * strides[i] - room, 0)
    return strides, dilations, pads, counted


def conv(builder, node):
    weight = builder.shape(node.inputs[1])
    strides, dilations, pads, _ = spatial(builder, node, weight[2:])
    bias = node.inputs[2] if len(node.inputs) > 2 and node.inputs[2] else None
    return builder.emit("conv", [node.inputs[0], node.inputs[1], bias], strides=strides, dilations=dilations,
                        pads=pads, groups=node.get("group", 1))


def max_pool(builder, node):
    if len([name for name in node.outputs if name]) > 1:
        raise Unsupported("MaxPool with indices")
    kernel = node.get("kernel_shape")
    strides, dilations, pads, _ = spatial(builder, node, kernel)
    return builder.emit("max_pool", [node.inputs[0]], kernel=kernel, strides=strides, dilations=dilations, pads=pads)


def average_pool(builder, node):
    kernel = node.get("kernel_shape")
    strides, dilations, pads, counted = spatial(builder, node, kernel)
    if any(one != 1 for one in dilations):
        raise Unsupported("AveragePool with dilations")
    include = bool(node.get("count_include_pad", 0))
    simple = pads == counted and all(begin == end for begin, end in pads)
    if simple:
        include = include or not any(begin for begin, _ in pads)
        return builder.emit("average_pool", [node.inputs[0]], kernel=kernel, strides=strides, pads=pads,
                            include=include)
    # The number of cells that each window covers, one axis at a time.
    sizes = builder.shape(node.inputs[0])[2:]
    counts = numpy.ones((1, 1))
    for i, length in enumerate(kernel):
        begin, end = counted[i] if include else (0, 0)
        low, high = -begin, sizes[i] + end
        outputs = (sizes[i] + sum(pads[i]) - length) // strides[i] + 1
        starts = [j * strides[i] - pads[i][0] for j in range(outputs)]
        covered = numpy.array([min(start + length, high) - max(start, low) for start in starts], float)
        counts = counts[..., None] * covered
    pooled = builder.emit("average_pool", [node.inputs[0]], kernel=kernel, strides=strides, pads=pads, include=True)
    scale = math.prod(kernel) / counts
    if (scale == 1).all():
        return pooled
    return builder.emit("mul", [pooled, builder.constant(scale.astype(numpy.float32))])


def global_pool(kind):
    def lower(builder, node):
        axes = list(range(2, len(builder.shape(node.inputs[0]))))
        return builder.emit("reduce", [node.inputs[0]], kind=kind, axes=axes, keep=True)
    return lower


def reduction(kind, square=False, root=False, log=False):
    def lower(builder, node):
        axes = builder.whole(node, 1, "axes")
        rank = len(builder.shape(node.inputs[0]))
        value = node.inputs[0]
        if not axes:
            if node.get("noop_with_empty_axes", 0):
                return builder.emit("identity", [value])
            axes = list(range(rank))
        if square:
            value = builder.emit("mul", [value, value])
        value = builder.emit("reduce", [value], kind=kind, axes=[axis % rank for axis in axes],
                             keep=bool(node.get("keepdims", 1)))
        return builder.emit("sqrt", [value]) if root else builder.emit("log", [value]) if log else value
    return lower


def softmax(primitive):
    def lower(builder, node):
        shape = builder.shape(node.inputs[0])
        axis = node.get("axis", -1 if builder.opset >= 13 else 1) % len(shape)
        if builder.opset >= 13 or axis == len(shape) - 1:
            return builder.emit(primitive, [node.inputs[0]], axis=axis)
        flat = builder.emit("reshape", [node.inputs[0]], shape=[math.prod(shape[:axis]), math.prod(shape[axis:])])
        return builder.emit("reshape", [builder.emit(primitive, [flat], axis=1)], shape=list(shape))
    return lower


def batch_norm(builder, node):
    return builder.emit("batch_norm", node.inputs[:5], epsilon=node.get("epsilon", 1e-5))


def layer_norm(builder, node):
    shape = builder.shape(node.inputs[0])
    axis = node.get("axis", -1) % len(shape)
    operands = [node.inputs[0], node.inputs[1], node.inputs[2] if len(node.inputs) > 2 and node.inputs[2] else None]
    return builder.emit("layer_norm", operands, axis=axis, epsilon=node.get("epsilon", 1e-5))


def gemm(builder, node):
    left, right = node.inputs[:2]
    if node.get("transA", 0):
        left = builder.emit("transpose", [left], order=[1, 0])
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    bias = node.inputs[2] if len(node.inputs) > 2 and node.inputs[2] and beta != 0 else None
    if alpha == 1 and (bias is None or beta == 1 and len(builder.shape(bias)) == 1):
        return builder.emit("linear", [left, right, bias], transposed=bool(node.get("transB", 0)))
    result = builder.emit("linear", [left, right, None], transposed=bool(node.get("transB", 0)))
    result = result if alpha == 1 else builder.emit("mul", [result, float(alpha)])
    if bias is None:
        return result
    return builder.emit("add", [result, bias if beta == 1 else builder.emit("mul", [bias, float(beta)])])


def reshape_to(builder, name, shape):
    return builder.emit("reshape", [name], shape=[int(one) for one in shape])


def reshape(builder, node):
    old = builder.shape(node.inputs[0])
    shape = builder.whole(node, 1, "shape")
    if not node.get("allowzero", 0):
        shape = [old[i] if one == 0 else one for i, one in enumerate(shape)]
    if -1 in shape:
        rest = math.prod(one for one in shape if one != -1)
        shape = [math.prod(old) // max(rest, 1) if one == -1 else one for one in shape]
    return reshape_to(builder, node.inputs[0], shape)


def flatten(builder, node):
    shape = builder.shape(node.inputs[0])
    axis = node.get("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return reshape_to(builder, node.inputs[0], [math.prod(shape[:axis]), math.prod(shape[axis:])])


def squeeze(builder, node):
    shape = builder.shape(node.inputs[0])
    axes = builder.whole(node, 1, "axes")
    axes = [i for i, one in enumerate(shape) if one == 1] if axes is None else [axis % len(shape) for axis in axes]
    return reshape_to(builder, node.inputs[0], [one for i, one in enumerate(shape) if i not in axes])


def unsqueeze(builder, node):
    shape = list(builder.shape(node.inputs[0]))
    axes = builder.whole(node, 1, "axes")
    for axis in sorted(axis % (len(shape) + len(axes)) for axis in axes):
        shape.insert(axis, 1)
    return reshape_to(builder, node.inputs[0], shape)


def transpose(builder, node):
    rank = len(builder.shape(node.inputs[0]))
    return builder.emit("transpose", [node.inputs[0]], order=node.get("perm", list(range(rank))[::-1]))


def concat(builder, node):
    axis = node.get("axis") % len(builder.shape(node.inputs[0]))
    return builder.emit("concat", node.inputs, axis=axis)


def split(builder, node):
    shape = builder.shape(node.inputs[0])
    axis = node.get("axis", 0) % len(shape)
    parts = builder.whole(node, 1, "split")
    if parts is None:
        size = math.ceil(shape[axis] / len(node.outputs))
        parts = [min(size, shape[axis] - i * size) for i in range(len(node.outputs))]
    names = builder.emit("split", [node.inputs[0]], results=len(parts), parts=parts, axis=axis)
    return [names] if isinstance(names, str) else names


def slice_(builder, node):
    shape = builder.shape(node.inputs[0])
    starts, ends = builder.whole(node, 1, "starts"), builder.whole(node, 2, "ends")
    axes = builder.whole(node, 3, "axes") or list(range(len(starts)))
    strides = builder.whole(node, 4) or [1] * len(starts)
    ranges = [(0, size, 1) for size in shape]
    for start, end, axis, stride in zip(starts, ends, axes, strides):
        if stride < 0:
            raise Unsupported("Slice backwards")
        ranges[axis % len(shape)] = slice(start, end, stride).indices(shape[axis % len(shape)])
    return builder.emit("slice", [node.inputs[0]], ranges=[list(one) for one in ranges])


def pad(builder, node):
    shape = builder.shape(node.inputs[0])
    pads = builder.whole(node, 1, "pads")
    axes = [axis % len(shape) for axis in builder.whole(node, 3) or range(len(shape))]
    value = builder.host(node, 2)
    pairs = [[0, 0] for _ in shape]
    for i, axis in enumerate(axes):
        pairs[axis] = [pads[i], pads[i + len(axes)]]
    if any(one < 0 for pair in pairs for one in pair):
        raise Unsupported("Pad by less than nothing")
    return builder.emit("pad", [node.inputs[0]], pads=pairs, mode=node.get("mode", "constant"),
                        value=float(node.get("value", 0) if value is None else value.reshape(-1)[0]))


def gather(builder, node):
    axis = node.get("axis", 0) % len(builder.shape(node.inputs[0]))
    known = builder.constants.get(node.inputs[1])
    if known is not None and known.ndim == 0:  # a single one: a slice without its axis
        shape = builder.shape(node.inputs[0])
        at = int(known) % shape[axis]
        ranges = [[0, size, 1] for size in shape]
        ranges[axis] = [at, at + 1, 1]
        part = builder.emit("slice", [node.inputs[0]], ranges=ranges)
        return reshape_to(builder, part, shape[:axis] + shape[axis + 1:])
    indices = node.inputs[1]
    if known is not None and (known < 0).any():
        indices = builder.constant(numpy.where(known < 0, known + builder.shape(node.inputs[0])[axis], known))
    return builder.emit("gather", [node.inputs[0], indices], axis=axis)


def gather_nd(builder, node):
    if node.get("batch_dims", 0) != 0:
        raise Unsupported("GatherND in batches")
    return builder.emit("gather_nd", node.inputs)


def expand(builder, node):
    shape = numpy.broadcast_shapes(builder.shape(node.inputs[0]), tuple(builder.whole(node, 1)))
    return builder.emit("expand", [node.inputs[0]], shape=list(shape))


def clip(builder, node):
    low, high = builder.host(node, 1), builder.host(node, 2)
    low = node.get("min") if low is None else low.item()
    high = node.get("max") if high is None else high.item()
    return builder.emit("clip", [node.inputs[0]], low=low, high=high)


def cast(builder, node):
    kind = onnx.helper.tensor_dtype_to_np_dtype(node.get("to")).name
    # Floating point of any width becomes the type in which the program runs.
    return builder.emit("cast", [node.inputs[0]], kind="float" if kind in ("float16", "bfloat16", "float32") else kind)


def resize(builder, node):
    shape = builder.shape(node.inputs[0])
    scales = builder.host(node, 1 if node.operator == "Upsample" else 2)
    sizes = builder.whole(node, 3)
    factors = [size / old for size, old in zip(sizes, shape)] if sizes else [float(one) for one in scales]
    if node.get("mode", "nearest") != "nearest" or any(one != int(one) or one < 1 for one in factors):
        raise Unsupported("Resize other than by repeating")
    return builder.emit("repeat", [node.inputs[0]], factors=[int(one) for one in factors])


def depth_to_space(builder, node):
    n, c, h, w = builder.shape(node.inputs[0])
    block = node.get("blocksize")
    if node.get("mode", "DCR") == "DCR":
        shape, order = [n, block, block, c // block**2, h, w], [0, 3, 4, 1, 5, 2]
    else:
        shape, order = [n, c // block**2, block, block, h, w], [0, 1, 4, 2, 5, 3]
    parts = builder.emit("transpose", [reshape_to(builder, node.inputs[0], shape)], order=order)
    return reshape_to(builder, parts, [n, c // block**2, h * block, w * block])


LOWERINGS = {
    "Add": binary("add"), "Sub": binary("sub"), "Mul": binary("mul"), "Div": binary("div"), "Pow": binary("pow"),
    "And": binary("and"), "Equal": binary("equal"), "Less": binary("less"), "Greater": binary("greater"),
    "PRelu": binary("prelu"),
    "Sum": many("add"), "Max": many("maximum"), "Min": many("minimum"),
    "Where": where,
    "MatMul": lambda builder, node: builder.emit("matmul", node.inputs),
    "LeakyRelu": unary("leaky_relu", alpha=0.01), "Elu": unary("elu", alpha=1.0),
    "HardSigmoid": unary("hard_sigmoid", alpha=0.2, beta=0.5), "Gelu": unary("gelu", approximate="none"),
    "InstanceNormalization": lambda builder, node: builder.emit("instance_norm", node.inputs,
                                                                epsilon=node.get("epsilon", 1e-5)),
    "LRN": lambda builder, node: builder.emit("lrn", node.inputs, size=node.get("size"), alpha=node.get("alpha", 1e-4),
                                              beta=node.get("beta", 0.75), bias=node.get("bias", 1.0)),
    "Tile": lambda builder, node: builder.emit("tile", [node.inputs[0]], repeats=builder.whole(node, 1)),
    "Identity": unary("identity"), "Dropout": unary("identity"),
    "GlobalAveragePool": global_pool("mean"), "GlobalMaxPool": global_pool("max"),
    "ReduceMean": reduction("mean"), "ReduceSum": reduction("sum"), "ReduceMax": reduction("max"),
    "ReduceMin": reduction("min"), "ReduceProd": reduction("prod"),
    "ReduceL2": reduction("sum", square=True, root=True),
    "ReduceSumSquare": reduction("sum", square=True), "ReduceLogSum": reduction("sum", log=True),
    "Softmax": softmax("softmax"), "LogSoftmax": softmax("log_softmax"),
    "Conv": conv, "MaxPool": max_pool, "AveragePool": average_pool, "BatchNormalization": batch_norm,
    "LayerNormalization": layer_norm, "Gemm": gemm, "Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze,
    "Unsqueeze": unsqueeze, "Transpose": transpose, "Concat": concat, "Split": split, "Slice": slice_, "Pad": pad,
    "Gather": gather, "GatherND": gather_nd, "Expand": expand, "Clip": clip, "Cast": cast, "Resize": resize,
    "Upsample": resize,
    "DepthToSpace": depth_to_space,
}
for onnx_name in ("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Log", "Sqrt", "Neg", "Abs", "Floor", "Ceil", "Round",
                  "Reciprocal", "Sin", "Cos", "Not", "Softplus", "HardSwish", "IsNaN"):
    LOWERINGS[onnx_name] = unary({"HardSwish": "hard_swish"}.get(onnx_name, onnx_name.lower()))
