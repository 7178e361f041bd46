#!/usr/bin/env python3
"""Classifies a picture with a small network: python3 examples/classify_picture.py [MODEL] [PICTURE.npy]

The network is examples/small_convnet.onnx, which is not trained: its classes mean nothing. The picture is drawn here,
unless a file of NumPy has one, with a shape such as [32, 32, 3] and values from 0 to 255.
"""

import pathlib
import sys

import numpy as np

import taso

MODEL = pathlib.Path(__file__).resolve().parent / "small_convnet.onnx"


def draw(size):
    """A yellow disc on blue."""
    rows, columns = np.mgrid[:size, :size] - (size - 1) / 2
    is_inside = np.hypot(rows, columns) < size / 3
    return np.where(is_inside[..., None], [255, 220, 40], [30, 60, 200]).astype(np.uint8)


def prepare(picture):
    """As networks want it: a batch of one, channels first, with values around 0."""
    scaled = (picture.astype(np.float32) / 255 - 0.5) / 0.25
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None])


def main():
    model = sys.argv[1] if len(sys.argv) > 1 else MODEL
    session = taso.Session(model)
    image = session.inputs[0]
    picture = np.load(sys.argv[2]) if len(sys.argv) > 2 else draw(image.shape[-1])

    scores = session(prepare(picture))[session.outputs[0].name][0]

    probabilities = np.exp(scores - scores.max())
    probabilities /= probabilities.sum()
    print(f"{image.name} {list(image.shape)} on {session.device}")
    for place in np.argsort(-probabilities)[:3]:
        print(f"class {place}: {probabilities[place]:.1%}")


if __name__ == "__main__":
    main()
