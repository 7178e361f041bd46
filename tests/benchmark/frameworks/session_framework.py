"""A network in a session of taso, called from Python with tensors of PyTorch; optimised while it is loaded."""

import torch

import graph
import taso
import timing
import torch_framework

PRECISIONS = {"fp32": "float32", "tf32": "tf32", "fp16": "float16", "bf16": "bfloat16"}


class SessionFramework:
    def __init__(self, settings):
        self.settings = settings
        self.program = graph.read(settings["model"], settings["batch"], torch_framework.shapes_of)
        self.gpu = settings["device"] != "cpu" and torch.cuda.is_available()
        self.session = None

    def trace(self):
        """Moves the inputs: others may use the GPU meanwhile."""
        data = self.program.random_inputs(self.settings["seed"], self.settings.get("bounds")).values()
        self.inputs = [torch.from_numpy(one).to("cuda" if self.gpu else "cpu") for one in data]
        self.program.parameters = {}

    def prepare(self):
        """Searches, measures what has no price, plans and warms up; needs an otherwise idle GPU."""
        seconds = self.settings.get("optimize", 30)
        self.session = taso.Session(self.settings["model"], device="cuda" if self.gpu else "cpu", measure=self.gpu,
                                    precision=PRECISIONS[self.settings["precision"]], optimize=seconds)
        self.results = self.session(*self.inputs)
        for _ in range(5):
            self.call()
        self.wait()

    def call(self):
        self.session(*self.inputs, out=self.results)

    def wait(self):
        if self.gpu:
            torch.cuda.synchronize()

    def time(self, runs):
        """Microseconds of each run."""
        if self.gpu:
            return timing.by_events(self.call, runs)
        return timing.by_the_clock(self.call, runs)

    def outputs(self):
        """The results of a run that finds nothing left from earlier ones."""
        results = list(self.results.values())
        for one in results:
            one.fill_(float("nan") if one.is_floating_point() else 1)
        self.call()
        self.wait()
        return [(one.float() if one.is_floating_point() else one).cpu().numpy() for one in results]

    def about(self):
        device = torch.cuda.get_device_name() if self.gpu else "CPU"
        how = "taso.Session, device memory, events around each run" if self.gpu else "calls, wall clock"
        return {"device": device, "versions": {"taso": taso.__version__}, "how": how}
