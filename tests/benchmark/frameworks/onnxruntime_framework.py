"""A network in ONNX Runtime with its CUDA provider: inputs and outputs on the device, replayed as a CUDA graph."""

import torch  # before onnxruntime: it brings the libraries that the CUDA provider needs
import onnx
import onnxruntime

import graph
import timing
import torch_framework


def in_float16(file):
    """The model with float16 weights, inputs and outputs."""
    from onnxruntime.transformers import float16

    return float16.convert_float_to_float16(onnx.load(file), keep_io_types=False, disable_shape_infer=True)


class OnnxRuntimeFramework:
    def __init__(self, settings):
        self.settings = settings
        self.program = graph.read(settings["model"], settings["batch"], torch_framework.shapes_of)
        self.gpu = settings["device"] != "cpu" and "CUDAExecutionProvider" in onnxruntime.get_available_providers()
        self.session = None

    def trace(self):
        """Reads the model on the CPU: others may use the GPU meanwhile."""
        precision = self.settings["precision"]
        if precision == "bf16":
            raise graph.Unsupported("ONNX Runtime has no bfloat16 for these networks")
        self.model = in_float16(self.settings["model"]).SerializeToString() if precision == "fp16" else \
            self.settings["model"]
        self.program.parameters = {}

    def open(self, captured):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        if not self.gpu:
            return onnxruntime.InferenceSession(self.model, options, providers=["CPUExecutionProvider"])
        self.stream = torch.cuda.Stream()
        provider = {"use_tf32": str(int(self.settings["precision"] != "fp32")), "enable_cuda_graph": str(int(captured)),
                    "prefer_nhwc": str(int(self.settings["layout"] == "channels_last")),
                    "cudnn_conv_algo_search": "EXHAUSTIVE",
                    "user_compute_stream": str(self.stream.cuda_stream)}  # then runs do not wait for their end
        return onnxruntime.InferenceSession(self.model, options, providers=[("CUDAExecutionProvider", provider),
                                                                            "CPUExecutionProvider"])

    def bind(self):
        """Inputs and outputs in memory of the device, which stays where it is."""
        self.binding = self.session.io_binding()
        data = self.program.random_inputs(self.settings["seed"], self.settings.get("bounds"))
        place = ("cuda", 0) if self.gpu else ("cpu", 0)
        half = self.settings["precision"] == "fp16"
        self.values = []
        for name, array in data.items():
            array = array.astype("float16") if half and array.dtype.kind == "f" else array
            self.values.append(onnxruntime.OrtValue.ortvalue_from_numpy(array, *place))
            self.binding.bind_ortvalue_input(name, self.values[-1])
        for output in self.session.get_outputs():
            kind = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(int64)": "int64"}[output.type]
            if not all(isinstance(size, int) for size in output.shape):
                raise graph.Unsupported(f"the sizes of the output '{output.name}' are not known in advance")
            self.values.append(onnxruntime.OrtValue.ortvalue_from_shape_and_type(output.shape, kind, *place))
            self.binding.bind_ortvalue_output(output.name, self.values[-1])

    def call(self):
        self.session.run_with_iobinding(self.binding)

    def prepare(self):
        """Tries cuDNN's algorithms and captures the graph; needs an otherwise idle GPU."""
        if self.session is None and not hasattr(self, "model"):
            self.trace()
        self.captured = self.gpu
        try:
            self.first_runs()
        except Exception as error:
            if not self.captured:
                raise
            print(f"no CUDA graph: {error}", flush=True)
            self.captured = False
            self.first_runs()

    def first_runs(self):
        self.session = self.open(self.captured)
        self.bind()
        for _ in range(3):
            self.call()
        if self.gpu:
            torch.cuda.synchronize()

    def time(self, runs):
        """Microseconds of each run."""
        if self.gpu:
            return timing.by_events(self.call, runs, self.stream)
        return timing.by_the_clock(self.call, runs)

    def outputs(self):
        self.call()
        if self.gpu:
            torch.cuda.synchronize()
        found = [one.numpy() for one in self.binding.get_outputs()]
        return [one.astype("float32") if one.dtype.kind == "f" else one for one in found]

    def about(self):
        how = "calls, wall clock"
        if self.gpu:
            how = ("CUDA graph, " if self.captured else "no CUDA graph, ") + "device memory, events around each run"
        return {"device": torch.cuda.get_device_name() if self.gpu else "CPU", "how": how,
                "versions": {"onnxruntime": onnxruntime.__version__}}
