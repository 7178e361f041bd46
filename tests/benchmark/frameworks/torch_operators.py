"""The primitives in PyTorch."""

import math

import torch
import torch.nn.functional as F

KINDS = {"bool": torch.bool, "int64": torch.int64, "int32": torch.int32, "uint8": torch.uint8, "int8": torch.int8,
         "float64": torch.float64}
CONVOLUTIONS = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}
MAX_POOLINGS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVERAGE_POOLINGS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def flat(pads):
    """(begin, end) of every axis as F.pad expects them: last axis first."""
    return [one for pair in reversed(pads) for one in pair]


def conv(x, w, b, *, strides, dilations, pads, groups):
    padding = [begin for begin, _ in pads]
    if any(begin != end for begin, end in pads):
        x = F.pad(x, flat(pads))
        padding = [0] * len(pads)
    return CONVOLUTIONS[len(strides)](x, w, b, strides, padding, dilations, groups)


def max_pool(x, *, kernel, strides, dilations, pads):
    padding = [begin for begin, _ in pads]
    if any(begin != end or 2 * begin > size for (begin, end), size in zip(pads, kernel)):
        x = F.pad(x, flat(pads), value=-math.inf)
        padding = [0] * len(pads)
    return MAX_POOLINGS[len(kernel)](x, kernel, strides, padding, dilations)


def average_pool(x, *, kernel, strides, pads, include):
    padding = [begin for begin, _ in pads]
    if any(begin != end or 2 * begin > size for (begin, end), size in zip(pads, kernel)):
        x = F.pad(x, flat(pads))
        padding = [0] * len(pads)
    return AVERAGE_POOLINGS[len(kernel)](x, kernel, strides, padding, False, include)


def reduce(x, *, kind, axes, keep):
    if kind == "prod":
        for axis in sorted(axes, reverse=True):
            x = torch.prod(x, axis, keepdim=keep)
        return x
    function = {"mean": torch.mean, "sum": torch.sum, "max": torch.amax, "min": torch.amin}[kind]
    return function(x, axes, keepdim=keep)


def linear(x, w, b, *, transposed):
    if not transposed:
        w = w.t()
    return F.linear(x, w, b)


def layer_norm(x, scale, bias, *, axis, epsilon):
    return F.layer_norm(x, x.shape[axis:], scale, bias, epsilon)


def slice_(x, *, ranges):
    return x[tuple(slice(*one) for one in ranges)]


def pad(x, *, pads, mode, value):
    if mode == "constant":
        return F.pad(x, flat(pads), value=value)
    moved = [pair for pair in pads if pair != [0, 0]]
    last = len(pads) - len(moved)
    if any(pair != [0, 0] for pair in pads[:last]):
        raise NotImplementedError(f"padding of {pads} by {mode}")
    return F.pad(x, flat(pads[last:]), mode={"reflect": "reflect", "edge": "replicate"}[mode])


def gather(x, indices, *, axis):
    if axis == 0 and x.dim() == 2:
        return F.embedding(indices, x)
    shape = x.shape[:axis] + indices.shape + x.shape[axis + 1:]
    return torch.index_select(x, axis, indices.reshape(-1)).reshape(shape)


def repeat(x, *, factors):
    for axis, factor in enumerate(factors):
        if factor > 1:
            x = torch.repeat_interleave(x, factor, axis)
    return x


def attention(q, k, v, mask, *, scale):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)


def functions(kind):
    """A function for every primitive, with floating point of this kind."""
    float_kind = kind
    return {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
        "pow": lambda x, y: x ** y, "equal": lambda x, y: x == y, "less": lambda x, y: x < y,
        "greater": lambda x, y: x > y, "prelu": lambda x, y: torch.where(x < 0, x * y, x),
        "maximum": torch.maximum, "minimum": torch.minimum, "where": torch.where, "matmul": torch.matmul,
        "relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "erf": torch.erf, "exp": torch.exp,
        "log": torch.log, "sqrt": torch.sqrt, "neg": torch.neg, "abs": torch.abs, "floor": torch.floor,
        "ceil": torch.ceil, "round": torch.round, "reciprocal": torch.reciprocal, "sin": torch.sin, "cos": torch.cos,
        "not": torch.logical_not, "softplus": F.softplus, "hard_swish": F.hardswish, "identity": lambda x: x,
        "isnan": torch.isnan, "and": torch.logical_and, "gather_nd": lambda x, indices: x[tuple(indices.unbind(-1))],
        "leaky_relu": lambda x, *, alpha: F.leaky_relu(x, alpha), "elu": lambda x, *, alpha: F.elu(x, alpha),
        "hard_sigmoid": lambda x, *, alpha, beta: torch.clamp(x * alpha + beta, 0, 1),
        "gelu": lambda x, *, approximate: F.gelu(x, approximate=approximate),
        "conv": conv, "max_pool": max_pool, "average_pool": average_pool, "reduce": reduce, "linear": linear,
        "softmax": lambda x, *, axis: torch.softmax(x, axis),
        "log_softmax": lambda x, *, axis: torch.log_softmax(x, axis),
        "batch_norm": lambda x, scale, bias, mean, variance, *, epsilon: F.batch_norm(
            x, mean, variance, scale, bias, False, 0.0, epsilon),
        "layer_norm": layer_norm,
        "instance_norm": lambda x, scale, bias, *, epsilon: F.instance_norm(x, weight=scale, bias=bias, eps=epsilon),
        "lrn": lambda x, *, size, alpha, beta, bias: F.local_response_norm(x, size, alpha, beta, bias),
        "reshape": lambda x, *, shape: x.reshape(shape), "transpose": lambda x, *, order: x.permute(order),
        "concat": lambda *parts, axis: torch.cat(parts, axis),
        "split": lambda x, *, parts, axis: torch.split(x, parts, axis) if len(parts) > 1 else x,
        "slice": slice_, "pad": pad, "gather": gather, "expand": lambda x, *, shape: x.expand(shape),
        "tile": lambda x, *, repeats: x.repeat(repeats), "repeat": repeat,
        "clip": lambda x, *, low, high: torch.clamp(x, low, high),
        "cast": lambda x, *, kind: x.to(float_kind if kind == "float" else KINDS[kind]),
        "attention": attention,
    }
