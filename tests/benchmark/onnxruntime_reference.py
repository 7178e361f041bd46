#!/usr/bin/env python3
"""Times ONNX Runtime on the networks of benchmark_interpreter, and prints the ratio of the two.

    onnxruntime_reference.py [--threads 2] [--runs 7] [--ours build/tests/benchmark_interpreter] [--keep FOLDER]

With --ours the two programs run in turn, several times, and the smallest time of each counts: disturbances on a shared
machine then affect both. Processor time, with one thread, hardly depends on other work. The networks are built here
node by node with random weights, as in the C++ program.
"""

import argparse
import pathlib
import subprocess
import sys
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class Network:
    """Collects nodes and random weights."""

    def __init__(self, name, shape):
        self.name, self.shape = name, shape
        self.nodes, self.weights = [], []
        self.random = numpy.random.default_rng(1)

    def weight(self, *shape, scale=1.0):
        name = f"w{len(self.weights)}"
        data = (self.random.standard_normal(shape) * scale).astype(numpy.float32)
        self.weights.append(numpy_helper.from_array(data, name))
        return name

    def integers(self, *values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.array(values, numpy.int64), name))
        return name

    def number(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.array(value, numpy.float32), name))
        return name

    def add(self, kind, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def conv(self, x, channels, out, kernel, stride=1, groups=1):
        fan_in = channels // groups * kernel * kernel
        w = self.weight(out, channels // groups, kernel, kernel, scale=(2 / fan_in) ** 0.5)
        pad = kernel // 2
        return self.add("Conv", x, w, self.weight(out, scale=0.1), kernel_shape=[kernel] * 2, strides=[stride] * 2,
                        pads=[pad] * 4, group=groups)

    def dense(self, x, rows, columns):
        product = self.add("MatMul", x, self.weight(rows, columns, scale=rows**-0.5))
        return self.add("Add", product, self.weight(columns, scale=0.1))

    def model(self, result):
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)]
        outputs = [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def resnet50():
    net = Network("resnet50", [1, 3, 224, 224])
    x = net.add("Relu", net.conv("x", 3, 64, 7, stride=2))
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, blocks in enumerate([3, 4, 6, 3]):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = net.add("Relu", net.conv(x, channels, width, 1))
            y = net.add("Relu", net.conv(y, width, width, 3, stride=stride))
            y = net.conv(y, width, 4 * width, 1)
            if block == 0:
                x = net.conv(x, channels, 4 * width, 1, stride=stride)
            x = net.add("Relu", net.add("Add", y, x))
            channels = 4 * width
    x = net.add("GlobalAveragePool", x)
    x = net.add("Reshape", x, net.integers(1, 2048))
    return net.model(net.dense(x, 2048, 1000))


def mobilenet2():
    net = Network("mobilenet2", [1, 3, 224, 224])

    def relu6(x):
        return net.add("Clip", x, net.number(0), net.number(6))

    x = relu6(net.conv("x", 3, 32, 3, stride=2))
    channels = 32
    for expand, out, blocks, first in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                       (6, 160, 3, 2), (6, 320, 1, 1)]:
        for block in range(blocks):
            stride = first if block == 0 else 1
            y, wide = x, channels * expand
            if expand > 1:
                y = relu6(net.conv(y, channels, wide, 1))
            y = relu6(net.conv(y, wide, wide, 3, stride=stride, groups=wide))
            y = net.conv(y, wide, out, 1)
            x = net.add("Add", x, y) if stride == 1 and channels == out else y
            channels = out
    x = relu6(net.conv(x, channels, 1280, 1))
    x = net.add("Reshape", net.add("GlobalAveragePool", x), net.integers(1, 1280))
    return net.model(net.dense(x, 1280, 1000))


def bert():
    batch, length, width, heads = 1, 128, 768, 12
    net = Network("bert", [batch, length, width])

    def normalised(x):
        return net.add("LayerNormalization", x, net.weight(width), net.weight(width), axis=-1, epsilon=1e-12)

    def split_heads(x, permutation):
        x = net.add("Reshape", x, net.integers(batch, length, heads, width // heads))
        return net.add("Transpose", x, perm=permutation)

    x = "x"
    for _ in range(4):
        q = split_heads(net.dense(x, width, width), [0, 2, 1, 3])
        k = split_heads(net.dense(x, width, width), [0, 2, 3, 1])
        v = split_heads(net.dense(x, width, width), [0, 2, 1, 3])
        scores = net.add("Mul", net.add("MatMul", q, k), net.number((width // heads) ** -0.5))
        y = net.add("MatMul", net.add("Softmax", scores, axis=-1), v)
        y = net.add("Reshape", net.add("Transpose", y, perm=[0, 2, 1, 3]), net.integers(batch, length, width))
        x = normalised(net.add("Add", x, net.dense(y, width, width)))
        y = net.dense(x, width, 4 * width)
        gate = net.add("Add", net.add("Erf", net.add("Mul", y, net.number(0.5**0.5))), net.number(1))
        y = net.add("Mul", net.add("Mul", y, gate), net.number(0.5))
        x = normalised(net.add("Add", x, net.dense(y, 4 * width, width)))
    return net.model(x)


NETWORKS = {"resnet50": resnet50, "mobilenet2": mobilenet2, "bert": bert}


def least(a, b):
    return tuple(map(min, a, b))


def time_onnxruntime(session, x, runs):
    wall = processor = float("inf")
    for _ in range(runs):
        start, processor_start = time.perf_counter(), time.process_time()
        session.run(None, {"x": x})
        wall = min(wall, time.perf_counter() - start)
        processor = min(processor, time.process_time() - processor_start)
    return wall * 1000, processor * 1000


def time_ours(program, network, threads, runs):
    command = [program, network, "--threads", str(threads), "--runs", str(runs)]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    words = report.split()
    return float(words[1]), float(words[3])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--runs", type=int, default=7)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--no-spinning", action="store_true",
                           help="ONNX Runtime's threads sleep when they wait, which counts on a busy machine")
    arguments.add_argument("--ours", help="benchmark_interpreter")
    arguments.add_argument("--keep", type=pathlib.Path, help="write the models here")
    arguments.add_argument("networks", nargs="*", default=list(NETWORKS))
    options = arguments.parse_args()

    for name in options.networks:
        model = NETWORKS[name]()
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            onnx.save(model, options.keep / f"{name}.onnx")
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        if options.no_spinning:
            settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        x = numpy.random.default_rng(2).standard_normal(shape).astype(numpy.float32)
        theirs = ours = (float("inf"), float("inf"))
        for _ in range(options.rounds):
            session = onnxruntime.InferenceSession(model.SerializeToString(), settings,
                                                   providers=["CPUExecutionProvider"])
            session.run(None, {"x": x})
            theirs = least(theirs, time_onnxruntime(session, x, options.runs))
            del session  # its threads spin
            if options.ours:
                ours = least(ours, time_ours(options.ours, name, options.threads, options.runs))
        print(f"{name}: ONNX Runtime {onnxruntime.__version__} with {options.threads} threads", flush=True)
        for i, kind in enumerate(["elapsed", "processor"]):
            line = f"    {kind} time {theirs[i]:.1f} ms"
            if options.ours:
                line += f", ours {ours[i]:.1f} ms, ratio {ours[i] / theirs[i]:.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
