"""What sessions on a GPU hand over to the library: pointers and streams, without copies. The GPU, PyTorch and the
library are made up, so that this runs anywhere."""

import sys
import types

import numpy as np
import pytest

FLOAT, LONG = 1, 7


class Library:
    """In the place of _taso.Session: x and n go in, y comes out."""

    def __init__(self, model, folder, options, log):
        self.options = dict(options)
        self.inputs = self.outputs = self.stream = None

    def values(self, are_outputs):
        if are_outputs:
            return [("y", FLOAT, ("rows", 3), False)]
        return [("x", FLOAT, ("rows", 4), False), ("n", LONG, (), False)]

    def is_on_device(self):
        return self.options["device"] != "cpu"

    def learn_tensors(self, *described):
        return False  # what then happens is in test_session_tensors.py

    def infer(self, shapes):
        assert not shapes[1]
        return [[shapes[0][0], 3]]

    def run(self, inputs, outputs, stream):
        self.inputs, self.outputs, self.stream = inputs, outputs, stream
        return [np.zeros((5, 3), np.float32) if outputs[0] is None else (5, 3)]


class CudaArray:
    """As Numba or CuPy have it."""

    def __init__(self, shape, typestr="<f4", strides=None, pointer=4096):
        self.shape = shape
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "strides": strides, "version": 3,
                                         "data": (pointer, False)}


class Tensor:
    """As PyTorch has it."""

    def __init__(self, shape, dtype="float32", device="cuda:0", pointer=8192, dense=True):
        self.shape, self.dtype, self.pointer, self.dense = tuple(shape), f"torch.{dtype}", pointer, dense
        self.device = types.SimpleNamespace(type=device.partition(":")[0], index=int(device.partition(":")[2] or 0))
        self.is_cuda = device.startswith("cuda")

    def resolve_neg(self):
        return self

    def detach(self):
        return self

    def is_contiguous(self):
        return self.dense

    def is_neg(self):
        return False

    def get_device(self):
        return self.device.index if self.is_cuda else -1

    def contiguous(self):
        return Tensor(self.shape, str(self.dtype)[6:], "cuda:0", self.pointer + 1)

    def reshape(self, *shape):
        return self

    def __getitem__(self, _):
        return self

    def data_ptr(self):
        return self.pointer

    @property
    def nbytes(self):
        return int(np.prod(self.shape)) * {"torch.float32": 4, "torch.int64": 8, "torch.float64": 8}[self.dtype]


@pytest.fixture
def session(taso, monkeypatch):
    monkeypatch.setattr("taso.session._taso.Session", Library)
    return taso.Session(b"model", device="cuda")


@pytest.fixture
def torch(monkeypatch):
    made = types.ModuleType("torch")
    made.Tensor, made.float32 = Tensor, "float32"
    made.device = lambda *name: name
    made.empty = lambda shape, dtype, device: Tensor(shape, dtype, f"{device.type}:{device.index}", 65536)
    made._C = types.SimpleNamespace()
    made.cuda = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=77))
    monkeypatch.setitem(sys.modules, "torch", made)
    return made


NUMBER = np.array(3)


def test_arrays_of_the_device_are_not_copied(session):
    result = session(CudaArray((5, 4)), NUMBER)["y"]
    library = session._session
    assert library.inputs[0] == (4096, 80, FLOAT, True, (5, 4)) and library.inputs[1] is NUMBER
    assert library.outputs == [None] and library.stream == 0
    assert isinstance(result, np.ndarray), "without memory for it, the result comes to the host"
    memory = CudaArray((5, 3), pointer=512)
    assert session(CudaArray((5, 4), strides=(16, 4)), NUMBER, out=[memory], stream=9)["y"] is memory
    assert library.outputs == [(512, 60, FLOAT, True, (5, 3))] and library.stream == 9


@pytest.mark.parametrize("stream, number", [
    (5, 5), (None, 0), (types.SimpleNamespace(cuda_stream=6), 6), (types.SimpleNamespace(ptr=7), 7),
    (types.SimpleNamespace(__cuda_stream__=lambda: (0, 8)), 8)])
def test_a_stream_is_a_number_or_an_object(session, stream, number):
    session(CudaArray((5, 4)), NUMBER, stream=stream)
    assert session._session.stream == number


def test_tensors_give_tensors_on_the_current_stream(session, torch):
    result = session(Tensor((5, 4)), NUMBER)["y"]
    library = session._session
    assert isinstance(result, Tensor) and result.pointer == 65536 and result.shape == (5, 3)
    assert library.inputs[0] == (8192, 80, FLOAT, True, (5, 4))
    assert library.outputs == [(65536, 60, FLOAT, True, (5, 3))] and library.stream == 77
    memory = Tensor((5, 3), pointer=2048)
    assert session(n=Tensor((), "int64"), x=Tensor((5, 4), dense=False), out={"y": memory})["y"] is memory
    assert library.inputs[0][0] == 8193, "a copy, for it is not contiguous"
    assert library.outputs[0][0] == 2048


def test_tensors_of_older_versions_of_pytorch(session, torch):
    """Those before 2.10 do not offer tensors to C."""
    x, n = Tensor((5, 4)), Tensor((), "int64", pointer=16)
    library = session._session
    for given in ({"x": x, "n": n}, {"x": x, "n": NUMBER}):  # an array of NumPy takes the long way
        result = session(**given)["y"]
        assert result.pointer == 65536 and result.shape == (5, 3) and result.dtype == "torch.float32"
        assert library.inputs[0] == (8192, 80, FLOAT, True, (5, 4))
        assert library.outputs == [(65536, 60, FLOAT, True, (5, 3))] and library.stream == 77
        session(**given, stream=9)
        assert library.stream == 9
        session(**given, out=[Tensor((7, 3), pointer=2048)])
        assert library.outputs == [(2048, 84, FLOAT, True, (7, 3))], "it may be larger than the output"
    torch._C._cuda_getCurrentRawStream = lambda device: 78
    session(x, n)
    assert library.inputs[1] == (16, 8, LONG, True, ()) and library.stream == 78
    for odd in (Tensor((5, 4), dense=False), Tensor((5, 4), device="cpu")):
        session(odd, n)
        assert library.inputs[0][3] is odd.is_cuda, "the library says what is wrong"


def test_mistakes_are_named(session, torch):
    for given, kind, text in ((CudaArray((5, 4), "<f8"), TypeError, "'x' has the type float32, not float64"),
                              (CudaArray((5, 4), "<c8"), TypeError, "complex64"),
                              (CudaArray((5, 4), strides=(4, 20)), ValueError, "not contiguous"),
                              (Tensor((5, 4), "float64"), TypeError, "'x' has the type float32, not float64"),
                              (Tensor((5, 4), device="cuda:1"), ValueError, "'x' is on cuda:1")):
        with pytest.raises(kind, match=text):
            session(given, NUMBER)
    for out in (Tensor((5, 3), dense=False), CudaArray((5, 3), "<i4")):
        with pytest.raises((TypeError, ValueError)):
            session(CudaArray((5, 4)), NUMBER, out=[out])


def test_a_session_on_the_host_refuses_memory_of_a_device(taso, product):
    session = taso.Session(product, device="cpu")
    with pytest.raises(ValueError, match="'x' is on a device, but the model runs on the host"):
        session(CudaArray((2, 4)), np.zeros(3, np.float32))


def test_arrays_of_other_libraries_on_the_host(taso, product):
    class Shared:
        """Only with DLPack."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    session = taso.Session(product, device="cpu")
    rows, bias = np.ones((2, 4), np.float32), np.ones(3, np.float32)
    assert (session(Shared(rows), Shared(bias))["y"] == session(rows, bias)["y"]).all()


def test_dlpack_is_asked_with_the_stream(session):
    array, asked = np.ones((5, 4), np.float32), []

    class Shared:
        def __dlpack__(self, stream):
            asked.append(stream)
            return array.__dlpack__()

        def __dlpack_device__(self):
            return 2, 0  # CUDA's

    for stream, number in ((None, 1), (9, 9)):
        session(Shared(), NUMBER, stream=stream)
        pointer, size, kind, _, shape = session._session.inputs[0]
        assert (pointer, size, kind, tuple(shape)) == (array.ctypes.data, 80, FLOAT, (5, 4))
        assert asked.pop() == number, "1 is the default stream there"
