"""Sessions with the execution provider, and what to compare them with."""

import json
import pathlib

import numpy
import onnx
import onnx.parser
import onnxruntime

NAME = "TasoExecutionProvider"


class Provider:
    """Opens sessions, and says which nodes the provider ran."""

    def __init__(self, library, scratch):
        self.scratch = scratch
        onnxruntime.register_execution_provider_library("taso", str(library))
        self.devices = [one for one in onnxruntime.get_ep_devices() if one.ep_name == NAME]

    def devices_of(self, kind):
        return [one for one in self.devices if one.device.type == getattr(onnxruntime.OrtHardwareDeviceType, kind)]

    def options(self, kind="CPU", **values):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.add_provider_for_devices(self.devices_of(kind)[:1], {name: str(one) for name, one in values.items()})
        return options

    def open(self, model, **values):
        return onnxruntime.InferenceSession(source_of(model), self.options(**values), enable_fallback=0)

    def nodes_by_provider(self, model, inputs, kind="CPU"):
        """The operators that each provider runs; a fused node of ours is called after the provider."""
        options = self.options(kind)
        options.enable_profiling = True
        options.profile_file_prefix = str(self.scratch / "profile")
        session = onnxruntime.InferenceSession(source_of(model), options, enable_fallback=0)
        session.run(None, inputs)
        nodes = {}
        for event in json.loads(pathlib.Path(session.end_profiling()).read_text()):
            if event.get("cat") == "Node" and "provider" in event["args"]:
                nodes.setdefault(event["args"]["provider"], []).append(event["args"]["op_name"])
        return nodes


def source_of(model):
    return model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)


def on_cpu(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(source_of(model), options, ["CPUExecutionProvider"]).run(None, inputs)


def assert_same(expected, actual, rtol=1e-4, atol=1e-5):
    assert len(expected) == len(actual)
    for one, other in zip(expected, actual):
        assert one.dtype == other.dtype and one.shape == other.shape
        numpy.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def parse(text):
    """A model from ONNX's own text format."""
    return onnx.parser.parse_model(text)
