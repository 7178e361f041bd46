"""Values of random models, and the parts that all steps of making a model share."""

import numpy
from onnx import TensorProto

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
NUMPY = {FLOAT: numpy.float32, INT64: numpy.int64, BOOL: numpy.bool_, TensorProto.DOUBLE: numpy.float64,
         TensorProto.INT32: numpy.int32, TensorProto.UINT8: numpy.uint8, TensorProto.INT8: numpy.int8}
SMALL = 4096  # most elements of a value
SIZES = {"N": 2, "M": 3}  # sizes of the open dimensions in recorded shapes


class Value:
    """A value of the model: its name, element type, and shape with the open dimensions as in `sizes`."""

    def __init__(self, name, element, shape):
        self.name, self.element, self.shape = name, element, tuple(shape)

    @property
    def rank(self):
        return len(self.shape)


def broadcast(a, b):
    try:
        return tuple(numpy.broadcast_shapes(a, b))
    except ValueError:
        return None
