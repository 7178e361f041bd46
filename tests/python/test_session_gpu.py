"""Sessions on a real GPU, with tensors of PyTorch. Skipped without either."""

import time

import numpy as np
import pytest

try:
    import torch
except ImportError:
    torch = None


@pytest.fixture(scope="module")
def convnet(taso, source_folder):
    if torch is None or not torch.cuda.is_available():
        pytest.skip("no GPU, or no PyTorch for it")
    return source_folder / "examples/small_convnet.onnx"


@pytest.fixture(scope="module")
def picture():
    return np.random.default_rng(0).random((1, 3, 32, 32), dtype=np.float32)


@pytest.fixture(scope="module")
def session(taso, convnet):
    return taso.Session(convnet, device="cuda")


@pytest.fixture(scope="module")
def wanted(taso, convnet, picture):
    return taso.Session(convnet, device="cpu")(picture)["classes"]


class Interface:
    """Only with __cuda_array_interface__."""

    def __init__(self, tensor):
        self.shape, self.__cuda_array_interface__ = tuple(tensor.shape), tensor.__cuda_array_interface__


class Dlpack:
    """Only with __dlpack__."""

    def __init__(self, tensor):
        self.tensor, self.shape = tensor, tuple(tensor.shape)

    def __dlpack__(self, stream):
        return self.tensor.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_arrays_of_the_host(session, picture, wanted):
    assert session.is_on_device and session.report()["plans"]
    close(session(picture)["classes"], wanted)


def test_tensors_of_the_device(session, picture, wanted):
    image = torch.from_numpy(picture).cuda()
    for _ in range(3):  # pointers are used without copies from their second use on
        found = session(image)["classes"]
        assert found.is_cuda
        close(found.cpu(), wanted)
    memory = torch.empty(1, 10, device="cuda")
    assert session(image, out=[memory])["classes"] is memory
    close(memory.cpu(), wanted)
    assert isinstance(session(torch.from_numpy(picture))["classes"], torch.Tensor)


@pytest.mark.parametrize("shared", [Interface, Dlpack])
def test_arrays_of_other_libraries(session, picture, wanted, shared):
    image, memory = torch.from_numpy(picture).cuda(), torch.zeros(1, 10, device="cuda")
    torch.cuda.synchronize()
    close(session(shared(image))["classes"], wanted)
    session(shared(image), out=[memory], stream=torch.cuda.current_stream())
    torch.cuda.synchronize()
    close(memory.cpu(), wanted)


def test_runs_are_ordered_on_the_current_stream(session, picture, wanted):
    image, zeros = torch.from_numpy(picture).cuda(), torch.zeros(1, 3, 32, 32, device="cuda")
    given = zeros.clone()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(20):
            torch.cuda._sleep(1_000_000)
            given.copy_(image)
            found = session(given)["classes"].clone()
            given.copy_(zeros)
        stream.synchronize()
    close(found.cpu(), wanted)


def test_wrong_places_are_named(taso, session, convnet, picture):
    with pytest.raises(ValueError, match="is on a device, but the model runs on the host"):
        taso.Session(convnet, device="cpu")(torch.from_numpy(picture).cuda())
    with pytest.raises(TypeError):
        session(torch.from_numpy(picture).cuda().double())


def test_a_compiled_module(taso, convnet):
    pytest.importorskip("onnxscript")
    from taso.torch_backend import taso as backend
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                 torch.nn.Linear(8 * 36, 5)).eval().cuda()
    image = torch.randn(2, 3, 8, 8, device="cuda")
    with torch.no_grad():
        found = torch.compile(module, backend=backend)(image)
        assert found.is_cuda
        close(found.cpu(), module(image).cpu())


def test_a_call_takes_little_time(session, picture):
    image = torch.from_numpy(picture).cuda()
    for _ in range(20):
        session(image)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(1000):
        session(image)
    torch.cuda.synchronize()
    print(f"{(time.perf_counter() - start) * 1e3:.1f} µs per call")
    assert time.perf_counter() - start < 1
