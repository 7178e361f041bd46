"""A network in JAX, compiled by XLA."""

import importlib.metadata
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others use the GPU in turn
os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.1")  # many of these processes exist at once
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import jax
import jax.numpy as jnp
import numpy

import graph
import jax_operators

KINDS = {"fp32": jnp.float32, "tf32": jnp.float32, "fp16": jnp.float16, "bf16": jnp.bfloat16}
IN_FLIGHT = 20
ENOUGH = 1.0  # seconds of timing, after at least five batches


def shapes_of(primitive, types, plain, keywords):
    """Shapes and types of the results of a primitive."""
    functions = jax_operators.functions(jnp.float32)
    places = [i for i, kind in enumerate(types) if kind is not None]

    def step(*tensors):
        operands = list(plain)
        for i, tensor in zip(places, tensors):
            operands[i] = tensor
        return functions[primitive](*operands, **keywords)

    found = jax.eval_shape(step, *[jax.ShapeDtypeStruct(types[i][0], types[i][1]) for i in places])
    results = found if isinstance(found, (tuple, list)) else [found]
    return [(tuple(one.shape), numpy.dtype(one.dtype)) for one in results]


class JaxFramework:
    def __init__(self, settings):
        self.settings = settings
        if settings["device"] == "cpu":
            jax.config.update("jax_platforms", "cpu")
        self.program = graph.read(settings["model"], settings["batch"], shapes_of)
        self.network = None

    def trace(self):
        """Traces and lowers on the CPU: others may use the GPU meanwhile."""
        settings = self.settings
        precision = {"tf32": "tensorfloat32", "fp32": "highest"}.get(settings["precision"], "default")
        jax.config.update("jax_default_matmul_precision", precision)
        kind = KINDS[settings["precision"]]

        def moved(array):
            array = numpy.asarray(array)
            return jnp.asarray(array, kind if numpy.issubdtype(array.dtype, numpy.floating) else None)

        self.parameters = [moved(one) for one in self.program.parameters.values()]
        self.inputs = [moved(one) for one in self.program.random_inputs(settings["seed"],
                                                                        settings.get("bounds")).values()]
        self.network = jax.jit(graph.function(self.program, jax_operators.functions(kind)))
        self.program.parameters = {}  # saves memory: many such processes exist at once
        self.network.lower(self.parameters, self.inputs)  # jax caches the lowered function
        jax.block_until_ready([self.parameters, self.inputs])

    def prepare(self):
        """Compiles, which tries kernels on the device and so needs an otherwise idle one."""
        if self.network is None:
            self.trace()
        self.time(2 if self.on_gpu() else 1)

    def on_gpu(self):
        return jax.default_backend() == "gpu"

    def time(self, runs):
        """Microseconds per run: of each run on a CPU; on a GPU in batches of 20 calls in flight together.

        A batch counts as one run there, so that timing does not take 20 times as long as in the other frameworks."""
        calls = IN_FLIGHT if self.on_gpu() else 1
        times = []
        began = time.perf_counter()
        for _ in range(runs):
            start = time.perf_counter()
            if calls > 1 and len(times) >= 5 and start - began > ENOUGH:
                break
            for _ in range(calls):
                result = self.network(self.parameters, self.inputs)
            jax.block_until_ready(result)
            times.append((time.perf_counter() - start) * 1e6 / calls)
        return times

    def outputs(self):
        results = self.network(self.parameters, self.inputs)
        return [numpy.asarray(one.astype(jnp.float32) if jnp.issubdtype(one.dtype, jnp.floating) else one)
                for one in results]

    def about(self):
        device = jax.devices()[0].device_kind if self.on_gpu() else "CPU"
        how = f"{IN_FLIGHT} calls in flight, then one wait; wall clock" if self.on_gpu() else "calls, wall clock"
        versions = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib")}
        return {"device": device, "versions": versions, "how": how}
