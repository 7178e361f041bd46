"""The primitives in JAX, which XLA compiles."""

import math

import jax
import jax.numpy as jnp
import numpy
from jax import lax

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def conv(x, w, b, *, strides, dilations, pads, groups):
    axes = SPATIAL[len(strides)]
    result = lax.conv_general_dilated(x, w, strides, pads, rhs_dilation=dilations, feature_group_count=groups,
                                      dimension_numbers=("NC" + axes, "OI" + axes, "NC" + axes))
    return result if b is None else result + b.reshape((1, -1) + (1,) * len(strides))


def windows(x, initial, operation, kernel, strides, pads, dilations=None):
    around = lambda inner, outer: (outer, outer, *inner)
    return lax.reduce_window(x, initial, operation, around(kernel, 1), around(strides, 1),
                             around([tuple(pair) for pair in pads], (0, 0)),
                             window_dilation=around(dilations or [1] * len(kernel), 1))


def max_pool(x, *, kernel, strides, dilations, pads):
    return windows(x, numpy.array(-numpy.inf, x.dtype), lax.max, kernel, strides, pads, dilations)


def average_pool(x, *, kernel, strides, pads, include):
    total = windows(x, numpy.array(0, x.dtype), lax.add, kernel, strides, pads)
    if include:
        return total / math.prod(kernel)
    counts = numpy.ones((1, 1))
    for size, length, stride, (begin, end) in zip(x.shape[2:], kernel, strides, pads):
        outputs = (size + begin + end - length) // stride + 1
        covered = [min(i * stride - begin + length, size) - max(i * stride - begin, 0) for i in range(outputs)]
        counts = counts[..., None] * numpy.array(covered, float)
    return total * jnp.asarray(1 / counts, x.dtype)


def reduce(x, *, kind, axes, keep):
    function = {"mean": jnp.mean, "sum": jnp.sum, "max": jnp.max, "min": jnp.min, "prod": jnp.prod}[kind]
    return function(x, axis=tuple(axes), keepdims=keep)


def linear(x, w, b, *, transposed):
    result = x @ (w.T if transposed else w)
    return result if b is None else result + b


def along_channels(x, vector):
    return vector.reshape((1, -1) + (1,) * (x.ndim - 2))


def batch_norm(x, scale, bias, mean, variance, *, epsilon):
    factor = scale * lax.rsqrt(variance + epsilon)
    return x * along_channels(x, factor) + along_channels(x, bias - mean * factor)


def normalised(x, axes, epsilon):
    mean = jnp.mean(x, axes, keepdims=True)
    distance = x - mean
    return distance * lax.rsqrt(jnp.mean(distance * distance, axes, keepdims=True) + epsilon)


def layer_norm(x, scale, bias, *, axis, epsilon):
    result = normalised(x, tuple(range(axis, x.ndim)), epsilon) * scale
    return result if bias is None else result + bias


def instance_norm(x, scale, bias, *, epsilon):
    return normalised(x, tuple(range(2, x.ndim)), epsilon) * along_channels(x, scale) + along_channels(x, bias)


def lrn(x, *, size, alpha, beta, bias):
    squares = jnp.pad(x * x, [(0, 0), ((size - 1) // 2, size // 2)] + [(0, 0)] * (x.ndim - 2))
    total = sum(lax.slice_in_dim(squares, i, i + x.shape[1], axis=1) for i in range(size))
    return x / (bias + alpha / size * total) ** beta


def split(x, *, parts, axis):
    ends = numpy.cumsum(parts)
    pieces = [lax.slice_in_dim(x, int(end - part), int(end), axis=axis) for end, part in zip(ends, parts)]
    return pieces if len(parts) > 1 else pieces[0]


def slice_(x, *, ranges):
    starts, ends, strides = zip(*ranges)
    return lax.slice(x, starts, [max(start, end) for start, end in zip(starts, ends)], strides)


def pad(x, *, pads, mode, value):
    if mode == "constant":
        return jnp.pad(x, pads, constant_values=value)
    return jnp.pad(x, pads, mode=mode)


def repeat(x, *, factors):
    for axis, factor in enumerate(factors):
        if factor > 1:
            x = jnp.repeat(x, factor, axis)
    return x


def functions(kind):
    """A function for every primitive, with floating point of this kind."""
    float_kind = kind
    return {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
        "pow": lambda x, y: x ** y, "equal": lambda x, y: x == y, "less": lambda x, y: x < y,
        "greater": lambda x, y: x > y, "prelu": lambda x, y: jnp.where(x < 0, x * y, x),
        "maximum": jnp.maximum, "minimum": jnp.minimum, "where": jnp.where, "matmul": jnp.matmul,
        "relu": lambda x: jnp.maximum(x, 0), "sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh, "erf": lax.erf,
        "exp": jnp.exp, "log": jnp.log, "sqrt": jnp.sqrt, "neg": jnp.negative, "abs": jnp.abs, "floor": jnp.floor,
        "ceil": jnp.ceil, "round": jnp.round, "reciprocal": lambda x: 1 / x, "sin": jnp.sin, "cos": jnp.cos,
        "not": jnp.logical_not, "softplus": jax.nn.softplus, "hard_swish": jax.nn.hard_swish, "identity": lambda x: x,
        "isnan": jnp.isnan, "and": jnp.logical_and,
        "gather_nd": lambda x, indices: x[tuple(jnp.moveaxis(indices, -1, 0))],
        "leaky_relu": lambda x, *, alpha: jnp.where(x < 0, x * alpha, x),
        "elu": lambda x, *, alpha: jax.nn.elu(x, alpha),
        "hard_sigmoid": lambda x, *, alpha, beta: jnp.clip(x * alpha + beta, 0, 1),
        "gelu": lambda x, *, approximate: jax.nn.gelu(x, approximate=approximate == "tanh"),
        "conv": conv, "max_pool": max_pool, "average_pool": average_pool, "reduce": reduce, "linear": linear,
        "softmax": lambda x, *, axis: jax.nn.softmax(x, axis),
        "log_softmax": lambda x, *, axis: jax.nn.log_softmax(x, axis),
        "batch_norm": batch_norm, "layer_norm": layer_norm, "instance_norm": instance_norm, "lrn": lrn,
        "reshape": lambda x, *, shape: jnp.reshape(x, shape), "transpose": lambda x, *, order: jnp.transpose(x, order),
        "concat": lambda *parts, axis: jnp.concatenate(parts, axis), "split": split, "slice": slice_, "pad": pad,
        "gather": lambda x, indices, *, axis: jnp.take(x, indices, axis),
        "expand": lambda x, *, shape: jnp.broadcast_to(x, shape), "tile": lambda x, *, repeats: jnp.tile(x, repeats),
        "repeat": repeat, "clip": lambda x, *, low, high: jnp.clip(x, low, high),
        "cast": lambda x, *, kind: x.astype(float_kind if kind == "float" else kind),
    }
