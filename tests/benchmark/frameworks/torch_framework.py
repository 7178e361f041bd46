"""A network in PyTorch: eager or compiled; on a GPU replayed as a CUDA graph."""

import numpy
import torch

import graph
import patterns
import timing
import torch_operators

KINDS = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def shapes_of(primitive, types, plain, keywords):
    """Shapes and types of the results of a primitive, from a run on tensors without data."""
    operands = [number if kind is None else
                torch.empty(kind[0], dtype=torch.from_numpy(numpy.empty(0, kind[1])).dtype, device="meta")
                for kind, number in zip(types, plain)]
    result = torch_operators.functions(torch.float32)[primitive](*operands, **keywords)
    results = result if isinstance(result, (tuple, list)) else [result]
    return [(tuple(one.shape), torch.empty(0, dtype=one.dtype).numpy().dtype) for one in results]


class Compiled(Exception):
    """Raised instead of running a network that was only to be compiled."""


class TorchFramework:
    def __init__(self, settings):
        self.settings = settings
        self.compiled = settings["framework"] == "compile"
        self.program = graph.read(settings["model"], settings["batch"], shapes_of)
        self.program.steps = patterns.put_together(self.program, self.program.shapes)
        self.gpu = None

    def start(self):
        """Chooses the device and moves the parameters there."""
        settings = self.settings
        self.gpu = settings["device"] != "cpu" and torch.cuda.is_available()
        device = "cuda" if self.gpu else "cpu"
        tf32 = settings["precision"] == "tf32"
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        kind = KINDS[settings["precision"]]
        last = settings["layout"] == "channels_last"

        def moved(array):
            tensor = torch.from_numpy(numpy.ascontiguousarray(array))
            if tensor.is_floating_point():
                tensor = tensor.to(kind)
            if last and tensor.dim() == 4:
                tensor = tensor.contiguous(memory_format=torch.channels_last)
            return tensor.to(device)  # only a copy: others may use the GPU now

        self.parameters = [moved(numpy.array(one)) for one in self.program.parameters.values()]
        self.inputs = [moved(one) for one in self.program.random_inputs(settings["seed"],
                                                                        settings.get("bounds")).values()]
        self.network = graph.function(self.program, torch_operators.functions(kind))
        self.program.parameters = {}  # saves memory: many such processes exist at once
        if self.gpu:  # loading cuDNN and cuBLAS takes a second
            one = torch.ones(1, 1, 1, 1, device=device)
            torch.nn.functional.conv2d(one, one)
            torch.matmul(one, one)
            torch.cuda.synchronize()

    def call(self):
        return self.network(self.parameters, self.inputs)

    def trace(self):
        """Compiles on the CPU without running: others may use the GPU meanwhile."""
        self.start()
        torch.backends.cudnn.benchmark = False
        if not self.compiled:
            return
        self.tracing = True
        done = False

        def backend(module, inputs):
            made = torch._dynamo.lookup_backend("inductor")(module, inputs)

            def run(*arguments):
                nonlocal done
                done = True
                if self.tracing:
                    raise Compiled
                return made(*arguments)

            return run

        self.network = torch.compile(self.network, backend=backend, dynamic=False)
        try:
            with torch.inference_mode():
                self.call()
        except Exception:  # Compiled, or what torch made of it on the way
            if not done:
                raise
        self.tracing = False

    def prepare(self):
        """Warms up and captures the graph; needs an otherwise idle GPU."""
        if self.gpu is None:
            self.trace()
        torch.backends.cudnn.benchmark = True
        self.graph = None
        with torch.inference_mode():
            if not self.gpu:
                self.results = self.call()
                return
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                for _ in range(3):
                    self.call()
            torch.cuda.current_stream().wait_stream(aside)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.results = self.call()
            for _ in range(5):
                self.graph.replay()
            torch.cuda.synchronize()
            torch.cuda.empty_cache()  # memory of the algorithms that were tried

    def time(self, runs):
        """Microseconds of each run."""
        with torch.inference_mode():
            if self.graph is None:
                return timing.by_the_clock(self.call, runs)
            return timing.by_events(self.graph.replay, runs)

    def outputs(self):
        """The results of a run that finds nothing left from earlier ones."""
        with torch.inference_mode():
            if self.graph is None:
                self.results = self.call()
            else:
                for one in self.results:
                    one.fill_(float("nan") if one.is_floating_point() else 1)
                self.graph.replay()
                torch.cuda.synchronize()
            return [(one.float() if one.is_floating_point() else one).cpu().numpy() for one in self.results]

    def about(self):
        device = torch.cuda.get_device_name() if self.gpu else "CPU"
        versions = {"torch": torch.__version__}
        if self.gpu:
            versions["CUDA of torch"] = torch.version.cuda
            versions["cuDNN of torch"] = str(torch.backends.cudnn.version())
        how = ("CUDA graph, events around each replay" if self.gpu else "calls, wall clock")
        return {"device": device, "versions": versions, "how": how}
