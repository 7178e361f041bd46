"""Compares models before and after taso-opt in ONNX Runtime, on the same inputs."""

import os
import pathlib
import subprocess
from dataclasses import dataclass

import numpy
import onnx
import onnxruntime

TOLERANCE = {"float64": (1e-6, 1e-8), "float32": (1e-3, 1e-5), "float16": (1e-2, 1e-2)}


@dataclass
class Outcome:
    kind: str  # "equal", "not run" or "failed"
    reason: str = ""


def open_session(model, threads=2):
    """`model`: a file, or its bytes."""
    options = onnxruntime.SessionOptions()
    # Without the runtime's own optimiser, to run the models as they are.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    source = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def random_inputs(session, seed=0, size=2):
    """Inputs that fit the session's signature; an open dimension gets `size`."""
    generator = numpy.random.default_rng(seed)
    inputs = {}
    for entry in session.get_inputs():
        shape = [dim if isinstance(dim, int) else size for dim in entry.shape]
        name = entry.type.removeprefix("tensor(").removesuffix(")")
        name = {"float": "float32", "double": "float64"}.get(name, name)
        if name.startswith("float"):
            inputs[entry.name] = generator.standard_normal(shape).astype(name)
        elif name == "bool":
            inputs[entry.name] = generator.integers(0, 2, shape).astype(bool)
        elif name.startswith(("int", "uint")):
            inputs[entry.name] = generator.integers(0, 2, shape).astype(name)
        else:
            raise ValueError(f"input of type {entry.type}")
    return inputs


def same(expected, actual):
    if isinstance(expected, list):
        return isinstance(actual, list) and len(expected) == len(actual) and all(map(same, expected, actual))
    if expected is None or actual is None:
        return expected is None and actual is None
    if isinstance(expected, dict):
        return expected.keys() == actual.keys() and all(same(expected[key], actual[key]) for key in expected)
    expected, actual = numpy.asarray(expected), numpy.asarray(actual)
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return False
    if expected.dtype.kind != "f":
        return numpy.array_equal(expected, actual)
    rtol, atol = TOLERANCE[expected.dtype.name]
    finite = expected[numpy.isfinite(expected)]
    scale = max(1.0, float(numpy.abs(finite.astype("float64")).max())) if finite.size else 1.0
    return numpy.allclose(expected.astype("float64"), actual.astype("float64"), rtol, atol * scale, equal_nan=True)


CLEAN_UPS = ("--budget", "0")


def optimise(taso_opt, model, output, flags=CLEAN_UPS):
    # Freed memory is overwritten, so that reading it gives nonsense.
    environment = {**os.environ, "MALLOC_PERTURB_": "165"}
    return subprocess.run([taso_opt, model, "-o", output, "-q", *flags], capture_output=True, text=True,
                          env=environment)


def compare(taso_opt, model, output, inputs=None, flags=CLEAN_UPS):
    """Optimises `model` into `output` and compares the two. `inputs`: a list of dictionaries, random if missing."""
    result = optimise(taso_opt, model, output, flags)
    if result.returncode != 0:
        return Outcome("failed", f"taso-opt ended with {result.returncode}: {result.stderr.strip()}")
    try:
        before = open_session(model)
    except Exception as error:  # a model that the runtime rejects cannot be judged
        return Outcome("not run", f"ONNX Runtime does not load the original: {first_line(error)}")
    try:
        after = open_session(output)
    except Exception as error:
        return Outcome("failed", f"ONNX Runtime does not load the result: {first_line(error)}")
    if [(i.name, i.shape, i.type) for i in before.get_inputs()] != [(i.name, i.shape, i.type)
                                                                    for i in after.get_inputs()]:
        return Outcome("failed", "the inputs changed")
    if [o.name for o in before.get_outputs()] != [o.name for o in after.get_outputs()]:
        return Outcome("failed", "the outputs changed")
    reason = ""
    for size in (2, 1, 16, 64, 224):
        try:
            feeds = inputs if inputs is not None else [random_inputs(before, size=size)]
            expected = [before.run(None, feed) for feed in feeds]
        except Exception as error:
            reason = reason or f"ONNX Runtime does not run the original: {first_line(error)}"
            continue
        try:
            actual = [after.run(None, feed) for feed in feeds]
        except Exception as error:
            return Outcome("failed", f"ONNX Runtime does not run the result: {first_line(error)}")
        return Outcome("equal") if same(expected, actual) else Outcome("failed", "the results differ")
    return Outcome("not run", reason)


def first_line(error):
    return str(error).strip().split("\n")[0][:200]


def read_data_sets(folder):
    """The inputs of an ONNX backend test, by name; None if they are not tensors."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    initialised = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in initialised]
    feeds = []
    for data in sorted(folder.glob("test_data_set_*")):
        feed = {}
        for index, name in enumerate(names):
            path = data / f"input_{index}.pb"
            if not path.exists():
                return None
            tensor = onnx.TensorProto()
            try:
                tensor.ParseFromString(path.read_bytes())
                feed[name] = onnx.numpy_helper.to_array(tensor)
            except Exception:
                return None
        feeds.append(feed)
    return feeds


def backend_folders(root):
    return sorted(path.parent for path in pathlib.Path(root).rglob("model.onnx"))


def write_node_tests(root):
    """Writes the node tests that the onnx package can generate, in the layout of its backend tests."""
    import warnings

    from onnx.backend.test.case.node import collect_testcases

    def to_message(value, info):
        kind = info.type.WhichOneof("value")
        if isinstance(value, onnx.TensorProto):
            return value
        if kind == "sequence_type":
            return onnx.numpy_helper.from_list(value, info.name)
        if kind == "optional_type":
            return onnx.numpy_helper.from_optional(value, info.name)
        return onnx.numpy_helper.from_array(numpy.asarray(value), info.name)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        folder = pathlib.Path(root) / case.name
        folder.mkdir(parents=True)
        onnx.save(case.model, folder / "model.onnx")
        for index, data in enumerate(case.data_sets):
            target = folder / f"test_data_set_{index}"
            target.mkdir()
            for kind, values, infos in zip(("input", "output"), data,
                                           (case.model.graph.input, case.model.graph.output)):
                for position, (value, info) in enumerate(zip(values, infos)):
                    (target / f"{kind}_{position}.pb").write_bytes(to_message(value, info).SerializeToString())
