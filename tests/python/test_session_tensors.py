"""The short way of plain tensors of PyTorch, which the extension reads by PyTorch's functions in C. They are made up
here: a table as DLPack lays it out, whose functions are of Python."""

import ctypes
import gc
import sys
import threading
import types

import numpy as np
import pytest
from onnx import helper

from small_models import model, value

CODES = {"float32": (2, 32), "float64": (2, 64), "int64": (0, 64), "bool": (6, 8)}
CPU, GPU = 1, 2


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


TensorFromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
CurrentStream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Table(ctypes.Structure):
    pass


Table._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.POINTER(Table)),
                  ("allocate", ctypes.c_void_p), ("managed_from_object", ctypes.c_void_p),
                  ("object_from_managed", ctypes.c_void_p), ("tensor_from_object", TensorFromObject),
                  ("current_stream", CurrentStream)]


@TensorFromObject
def tensor_from_object(given, found):
    array = given.array
    count = array.ndim
    given.kept = (ctypes.c_int64 * count)(*array.shape), \
        (ctypes.c_int64 * count)(*(step // array.itemsize for step in array.strides))
    offset = given.offset * array.itemsize
    code, bits = CODES[array.dtype.name]
    found[0] = DLTensor(array.ctypes.data - offset if given.has_memory else None, *given.device, count, code, bits, 1,
                        *given.kept, offset)
    return 0


@CurrentStream
def current_stream(kind, number, found):
    raise AssertionError("the host has no streams")


def capsule(table):
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(ctypes.addressof(table), b"dlpack_exchange_api", None)


def table(major=1, previous=None):
    return Table(major, 3, previous, None, None, None, tensor_from_object, current_stream)


TABLE = table()


class Tensor:
    """As PyTorch has it."""

    __dlpack_c_exchange_api__ = capsule(TABLE)

    def __init__(self, array, device=(CPU, 0), offset=0, negated=False, has_memory=True):
        self.array, self.device, self.offset = array, device, offset
        self.negated, self.has_memory = negated, has_memory

    def is_neg(self):
        return self.negated


class Parameter(Tensor):
    """Not plain."""


@pytest.fixture
def torch(monkeypatch):
    made = types.ModuleType("torch")
    made.Tensor = Tensor
    for name in CODES:
        setattr(made, name, name)
    made.device = lambda *name: name
    made.empty = lambda shape, dtype, device: Tensor(np.full(shape, -7, dtype))
    monkeypatch.setitem(sys.modules, "torch", made)
    return made


@pytest.fixture
def session(taso, product):
    return taso.Session(product, device="cpu")


def drawn(rows=5, kind=np.float32):
    return np.random.default_rng(rows).random((rows, 4)).astype(kind)


BIAS = np.arange(3, dtype=np.float32)


def short_way(session, *inputs, out=None, stream=None):
    """What the extension makes of them; None if it leaves them to the general way."""
    assert session._learn_tensors()
    return session._session.run_tensors(list(inputs), out, stream)


def test_plain_tensors_take_the_short_way(session, torch):
    for rows in (5, 2, 5, 64, 1, *range(1, 80)):
        x = drawn(rows)
        expected = session(x, BIAS)["y"]
        for found in (session(Tensor(x), Tensor(BIAS)), session.run({"b": Tensor(BIAS), "x": Tensor(x)})):
            assert list(found) == ["y"] and type(found["y"]) is Tensor and (found["y"].array == expected).all()
        memory = Tensor(np.zeros((rows, 3), np.float32))
        assert session.run([Tensor(x), Tensor(BIAS)], out={"y": memory})["y"] is memory
        assert (memory.array == expected).all()
    assert short_way(session, Tensor(drawn()), Tensor(BIAS)) is not None
    assert short_way(session, Tensor(drawn()), Tensor(BIAS), stream=0) is not None


def test_where_memory_lies_counts(session, torch):
    """Not at the pointer, but behind an offset; and a view of one row has odd strides, which mean nothing."""
    whole = drawn(12)
    view = whole[4:5].T[:, ::1].T
    for x in (Tensor(whole, offset=3), Tensor(view), Tensor(whole[::2][:1])):
        found = short_way(session, x, Tensor(BIAS))["y"].array
        assert (found == session(x.array, BIAS)["y"]).all()


@pytest.mark.parametrize("odd", [
    Tensor(drawn()[::2]), Tensor(drawn().T.copy().T), Tensor(drawn(kind=np.float64)), Tensor(drawn(), device=(GPU, 0)),
    Tensor(drawn(), negated=True), Tensor(drawn(), has_memory=False), Tensor(drawn()[:0]), Parameter(drawn()), drawn(),
    None, 3, "x"], ids=str)
def test_others_do_not(session, torch, odd):
    assert short_way(session, odd, Tensor(BIAS)) is None
    assert short_way(session, Tensor(drawn()), Tensor(BIAS), out=[odd]) is None
    assert short_way(session, Tensor(drawn())) is None


def test_given_memory_of_another_shape_is_left_to_the_general_way(session, torch):
    for shape in ((6, 3), (3, 5), (15,), ()):
        memory = Tensor(np.zeros(shape, np.float32))
        assert short_way(session, Tensor(drawn()), Tensor(BIAS), out=[memory]) is None
        assert (memory.array == 0).all()


def test_wrong_shapes_are_errors(taso, session, torch):
    for x in (np.ones((2, 5), np.float32), np.ones(4, np.float32)):
        with pytest.raises(taso.ArgumentError, match="'x' cannot have the shape"):
            session(Tensor(x), Tensor(BIAS))
    assert (session(Tensor(drawn()), Tensor(BIAS))["y"].array == session(drawn(), BIAS)["y"]).all()


def test_shapes_that_data_tells_are_left_to_the_general_way(taso, torch):
    node = helper.make_node("NonZero", ["x"], ["y"])
    kept = taso.Session(model([node], [value("x", ["n"])], [value("y", [1, "count"], 7)]), device="cpu")
    assert short_way(kept, Tensor(BIAS)) is None


NEWER, NEWER_WITH_OLD = table(major=2), table(2, ctypes.pointer(TABLE))


@pytest.mark.parametrize("given, is_known", [
    (None, False), (3, False), ("no capsule", False), (capsule(NEWER), False), (capsule(NEWER_WITH_OLD), True)])
def test_versions_of_pytorch_without_these_functions(taso, product, torch, given, is_known):
    torch.Tensor = type("Tensor", (Tensor,), {"__dlpack_c_exchange_api__": given})
    assert taso.Session(product, device="cpu")._learn_tensors() is is_known


@pytest.mark.parametrize("other", [None, types.ModuleType("torch"), types.SimpleNamespace(Tensor=type("A", (), {}))],
                         ids=str)
def test_a_module_that_is_called_torch(taso, product, monkeypatch, other):
    monkeypatch.setitem(sys.modules, "torch", other)
    session = taso.Session(product, device="cpu")
    assert session(drawn(), BIAS)["y"].shape == (5, 3)


def test_threads(session, torch):
    wrong = []

    def work(rows):
        x = drawn(rows)
        expected = session(x, BIAS)["y"]
        for _ in range(300):
            if not (session(Tensor(x), Tensor(BIAS))["y"].array == expected).all():
                wrong.append(rows)

    workers = [threading.Thread(target=work, args=(rows,)) for rows in range(1, 9)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_nothing_is_kept(session, torch):
    x, bias = Tensor(drawn()), Tensor(BIAS)
    session(x, bias)
    before = sys.getrefcount(x), sys.getrefcount(bias)
    for _ in range(1000):
        found = session(x, bias)
    assert (sys.getrefcount(x), sys.getrefcount(bias)) == before
    gc.collect()
    alive = sum(type(one) is Tensor for one in gc.get_objects())
    del found
    gc.collect()
    assert alive - sum(type(one) is Tensor for one in gc.get_objects()) == 1
