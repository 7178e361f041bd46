"""The execution provider with tensors in device memory. test_pretended_gpu.py runs it on machines without a GPU."""

import concurrent.futures
import ctypes
import os
import statistics
import time

import numpy
import onnx
import onnxruntime
import pytest

try:
    import torch  # before the provider: both use libraries of CUDA, and PyTorch needs its own
except ImportError:
    torch = None

from registered import NAME, assert_same, on_cpu, parse
from test_provider import CUT, HEADER, draw, random_model, write_context

NVIDIA = 0x10de
IS_PRETENDED = "TASO_PRETENDED_GPU" in os.environ
QUEUED = onnxruntime.RunOptions()
QUEUED.add_run_config_entry("disable_synchronize_execution_providers", "1")
BEFORE_1_30 = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2]) < (1, 30)


@pytest.fixture(scope="session")
def gpu(provider, request):
    if not provider.devices_of("GPU"):
        reason = f"ONNX Runtime {onnxruntime.__version__} gives the execution provider no GPU"
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"SKIPPED: {reason}")  # ctest reads it
        pytest.skip(reason)
    return provider


def on_device(array):
    return onnxruntime.OrtValue.ortvalue_from_numpy(array, "gpu", 0, NVIDIA)


def counted(name):
    """What the pretended GPU counted."""
    return ctypes.c_long.in_dll(ctypes.CDLL(None), f"pretended_{name}").value if IS_PRETENDED else 0


def close(expected, actual):
    assert_same(expected, actual, rtol=1e-3, atol=1e-4)


def bound(session, inputs, outputs):
    binding = session.io_binding()
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, value)
    for name, value in outputs.items():
        binding.bind_ortvalue_output(name, value)
    return binding


def check(gpu, model, inputs, **values):
    """The same from host tensors, and from device tensors into device tensors, several times."""
    expected = on_cpu(model, inputs)
    session = gpu.open(model, kind="GPU", **values)
    names = [one.name for one in session.get_outputs()]
    close(expected, session.run(None, inputs))
    given = {name: on_device(one) for name, one in inputs.items()}
    taken = {name: on_device(numpy.full_like(one, 7)) for name, one in zip(names, expected)}
    binding = bound(session, given, taken)
    for _ in range(4):
        session.run_with_iobinding(binding)
        close(expected, [taken[name].numpy() for name in names])
    return session


def feeds_of(path):
    return {one.name: draw(*(dim.dim_value or 2 for dim in one.type.tensor_type.shape.dim))
            for one in onnx.load(path).graph.input}


@pytest.mark.parametrize("name", ["small_convnet", "small_transformer"])
def test_examples_with_device_memory(gpu, source_folder, name):
    model = source_folder / "examples" / f"{name}.onnx"
    check(gpu, model, feeds_of(model))
    nodes = gpu.nodes_by_provider(model, feeds_of(model), kind="GPU")
    assert list(nodes) == [NAME] and len(nodes[NAME]) == 1


def test_runs_do_not_copy_through_the_host(gpu):
    """64 million numbers: the device needs less than a millisecond, copies through the host at least ten."""
    count = 1 << (12 if IS_PRETENDED else 26)
    model = parse(HEADER + f"g (float[{count}] x) => (float[{count}] y) {{ a = Relu(x) y = Neg(a) }}")
    session = gpu.open(model, kind="GPU")
    x, y = draw(count), on_device(numpy.zeros(count, "float32"))
    binding = bound(session, {"x": on_device(x)}, {"y": y})
    for _ in range(3):
        session.run_with_iobinding(binding)
    copies, times = counted("copies"), []
    for _ in range(9):
        begin = time.perf_counter()
        session.run_with_iobinding(binding)
        times.append(time.perf_counter() - begin)
    assert counted("copies") == copies and counted("unordered") == 0
    assert statistics.median(times) < 0.005, times
    assert numpy.array_equal(y.numpy(), -numpy.maximum(x, 0))


def test_queued_runs_follow_one_another(gpu):
    """Each run reads what the last one wrote, and nobody waits between them."""
    model = parse(HEADER + "g (float[64, 64] x, float[64, 64] w) => (float[64, 64] y) { a = MatMul(x, w) y = Tanh(a) }")
    session = gpu.open(model, kind="GPU")
    w, x = draw(64, 64, seed=1) / 8, draw(64, 64)
    weight, values = on_device(w), [on_device(x), on_device(x)]
    ways = [bound(session, {"x": values[i], "w": weight}, {"y": values[1 - i]}) for i in range(2)]
    session.run_with_iobinding(ways[0])
    waits = counted("waits")
    for i in range(1, 40):
        session.run_with_iobinding(ways[i % 2], QUEUED)
    assert counted("waits") == waits
    ways[0].synchronize_outputs()
    for _ in range(40):
        x = numpy.tanh(x @ w)
    numpy.testing.assert_allclose(values[0].numpy(), x, rtol=1e-2, atol=1e-2)


def test_two_sessions_share_tensors(gpu):
    first = parse(HEADER + "g (float[8, 8] x) => (float[8, 8] y) { y = Relu(x) }")
    second = parse(HEADER + "g (float[8, 8] y) => (float[8, 8] z) { z = Exp(y) }")
    x, y, z = draw(8, 8), on_device(numpy.zeros((8, 8), "float32")), on_device(numpy.zeros((8, 8), "float32"))
    one, other = gpu.open(first, kind="GPU"), gpu.open(second, kind="GPU")
    for run in range(5):
        one.run_with_iobinding(bound(one, {"x": on_device(x + run)}, {"y": y}))
        other.run_with_iobinding(bound(other, {"y": y}, {"z": z}))
        numpy.testing.assert_allclose(z.numpy(), numpy.exp(numpy.maximum(x + run, 0)), rtol=1e-4)


def test_a_part_of_a_graph(gpu):
    """Copies at the borders of fused nodes are ONNX Runtime's, with kernels of the provider."""
    model, x = parse(CUT), {"x": draw(2, 3)}
    check(gpu, model, x)
    nodes = gpu.nodes_by_provider(model, x, kind="GPU")
    copies = [name for name in nodes[NAME] if name.startswith("Memcpy")]
    assert len(nodes[NAME]) - len(copies) == 2 and {"MemcpyToHost", "MemcpyFromHost"} <= set(copies)
    assert nodes["CPUExecutionProvider"] == ["QuickGelu"]


@pytest.mark.parametrize("seed", range(12))
def test_parts_of_random_graphs(gpu, seed):
    check(gpu, random_model(seed), {"x": draw(2, 3), "z": draw(2, 3, seed=1)})


def test_types_of_copied_tensors(gpu):
    model = parse(HEADER + """
      g (int64[2, 3] i, bool[2, 3] b, float16[2, 3] h, float[2, 3] x) => (float[2, 3] y, int64[2, 3] j) {
        c = Cast <to = 1> (h)
        d = com.microsoft.QuickGelu(c)
        e = Where(b, d, x)
        f = Cast <to = 1> (i)
        y = Add(e, f)
        j = Add(i, i)
      }""")
    check(gpu, model, {"i": numpy.arange(6).reshape(2, 3), "b": draw(2, 3) > 0, "h": draw(2, 3, type="float16"),
                       "x": draw(2, 3, seed=1)})


def test_dynamic_shapes(gpu):
    model = parse(HEADER + """
      g (float[batch, length] x, float[length, 4] w) => (float[batch, 4] y) { p = MatMul(x, w) y = Softmax(p) }""")
    session = gpu.open(model, kind="GPU")
    for batch, length in [(1, 2), (5, 3), (2, 7), (1, 2), (5, 3)]:
        inputs = {"x": draw(batch, length), "w": draw(length, 4, seed=1)}
        close(on_cpu(model, inputs), session.run(None, inputs))
        y = on_device(numpy.zeros((batch, 4), "float32"))
        session.run_with_iobinding(bound(session, {name: on_device(one) for name, one in inputs.items()}, {"y": y}))
        close(on_cpu(model, inputs), [y.numpy()])


@pytest.mark.parametrize("size", ["n", "3"])
def test_sizes_that_depend_on_content(gpu, size):
    """A plan needs sizes: other providers run it."""
    model = parse(HEADER + f"g (float[{size}] x) => (int64[1, m] places) {{ a = Neg(x) places = NonZero(a) }}")
    session = gpu.open(model, kind="GPU")
    for content in ([1, 0, 2], [0, 0, 0]):
        x = {"x": numpy.array(content, "float32")}
        close(on_cpu(model, x), session.run(None, x))


@pytest.mark.skipif(BEFORE_1_30, reason="ONNX Runtime before 1.30 does not say whose GPU 'cuda' is")
def test_outputs_that_onnx_runtime_allocates(gpu):
    model = parse(HEADER + "g (float[n, 3] x) => (float[n, 3] y) { a = Relu(x) y = Add(a, x) }")
    session = gpu.open(model, kind="GPU")
    kept = []
    for run in range(20):
        x = draw(4 + run % 3, 3, seed=run)
        binding = bound(session, {"x": on_device(x)}, {})
        binding.bind_output("y", "cuda", 0)
        session.run_with_iobinding(binding)
        result = binding.get_outputs()[0]
        assert result.device_name() == "cuda"
        kept.append((on_cpu(model, {"x": x}), result))
    for expected, result in kept:  # memory of later runs is other memory
        close(expected, [result.numpy()])


@pytest.mark.skipif(BEFORE_1_30, reason="ONNX Runtime before 1.30 does not say whose GPU 'cuda' is")
def test_tensors_of_pytorch(gpu):
    if IS_PRETENDED or torch is None or not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    model = parse(HEADER + "g (float[256, 256] x) => (float[256, 256] y) { a = Relu(x) y = MatMul(a, x) }")
    session = gpu.open(model, kind="GPU")
    binding = session.io_binding()
    x, y = torch.empty(256, 256, device="cuda"), torch.empty(256, 256, device="cuda")
    for name, one, bind in (("x", x, binding.bind_input), ("y", y, binding.bind_output)):
        bind(name, "cuda", 0, numpy.float32, tuple(one.shape), one.data_ptr())
    for run in range(8):
        x.copy_(torch.randn(256, 256, device="cuda"))
        session.run_with_iobinding(binding, QUEUED)  # streams take turns with the default one, of PyTorch
        torch.testing.assert_close(y, torch.relu(x) @ x, rtol=1e-3, atol=1e-2)


def test_tensors_are_copied(gpu):
    if not hasattr(onnxruntime, "copy_tensors"):
        pytest.skip(f"ONNX Runtime {onnxruntime.__version__} has no copy_tensors")
    values = [draw(100, 7, seed=seed) for seed in range(3)]
    here = [onnxruntime.OrtValue.ortvalue_from_numpy(one) for one in values]
    there = [on_device(numpy.zeros_like(one)) for one in values]
    back = [onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros_like(one)) for one in values]
    device = gpu.devices_of("GPU")[0]
    streams = [None] + ([device.create_sync_stream()] if hasattr(device, "create_sync_stream") else [])
    for stream in streams:
        onnxruntime.copy_tensors(here, there, stream)
        onnxruntime.copy_tensors(there, there[1:] + there[:1], stream)
        onnxruntime.copy_tensors(there, back, stream)
        assert all(numpy.array_equal(values[0], one.numpy()) for one in back)  # each went one further


def test_threads_share_a_session(gpu, source_folder):
    model = source_folder / "examples" / "small_convnet.onnx"
    session = gpu.open(model, kind="GPU")
    inputs = [{"image": draw(1, 3, 32, 32, seed=seed)} for seed in range(8)]
    expected = [on_cpu(model, one) for one in inputs]
    name = session.get_outputs()[0].name

    def work(number):
        y = on_device(numpy.zeros_like(expected[0][0]))
        for i in range(number, number + 25):
            x = on_device(inputs[i % 8]["image"])
            session.run_with_iobinding(bound(session, {"image": x}, {name: y}))
            close(expected[i % 8], [y.numpy()])
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


@pytest.mark.parametrize("is_embedded", [False, True])
def test_context_models_on_a_gpu(gpu, tmp_path, is_embedded):
    model, path = parse(CUT), tmp_path / "context.onnx"
    write_context(gpu, model, path, is_embedded, kind="GPU")
    assert [node.op_type for node in onnx.load(path).graph.node] == ["EPContext", "QuickGelu", "EPContext"]
    x = {"x": draw(2, 3)}
    close(on_cpu(model, x), gpu.open(path, kind="GPU").run(None, x))


def test_the_device_is_not_contradicted(gpu, source_folder):
    model = source_folder / "examples" / "small_convnet.onnx"
    with pytest.raises(Exception, match="must not contradict"):
        gpu.open(model, kind="GPU", device="cpu")
    check(gpu, model, feeds_of(model), device="cuda")


def test_the_host_goes_on_beside_the_gpu(gpu, source_folder):
    model = source_folder / "examples" / "small_convnet.onnx"
    feeds = feeds_of(model)
    close(on_cpu(model, feeds), gpu.open(model).run(None, feeds))


def test_memory_is_given_back(gpu):
    model = parse(HEADER + "g (float[n, 320] x) => (float[n, 320] y) { y = Relu(x) }")
    before = None
    for run in range(6):
        for _ in range(5):
            gpu.open(model, kind="GPU").run(None, {"x": draw(2, 320)})
        now = [counted(name) for name in ("blocks", "streams", "events")]
        before = before or now
        assert now == before
