"""The example that classifies a picture runs and finds what ONNX Runtime finds."""

import importlib.util
import re

import numpy as np
import onnxruntime


def test_the_example_classifies_as_onnxruntime_does(taso, python, source_folder, tmp_path):
    path = source_folder / "examples/classify_picture.py"
    spec = importlib.util.spec_from_file_location("classify_picture", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    session = onnxruntime.InferenceSession(str(example.MODEL), providers=["CPUExecutionProvider"])
    flat = np.full((32, 32, 3), 90, np.uint8)
    np.save(tmp_path / "flat.npy", flat)
    for arguments, picture in (([], example.draw(32)), ([example.MODEL, tmp_path / "flat.npy"], flat)):
        done = python(path, *arguments)
        assert done.returncode == 0, done.stderr
        classes = [int(found) for found in re.findall(r"^class (\d+): ", done.stdout, re.MULTILINE)]
        scores = session.run(None, {"image": example.prepare(picture)})[0][0]
        assert classes == np.argsort(-scores)[:3].tolist(), done.stdout
