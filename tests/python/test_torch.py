"""Tensors of PyTorch, and torch.compile(model, backend="taso"). PyTorch is large, and no package of the ordinary tests:
set TASO_TORCH_PYTHON to a Python that has torch, onnx, onnxscript, nanobind-backend and pytest."""

import os
import pathlib
import subprocess
import warnings

import numpy as np
import pytest

try:
    import torch
    import onnxscript  # noqa: F401
except ImportError:
    torch = None

OTHER = os.environ.get("TASO_TORCH_PYTHON")
needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch and onnxscript are not installed")


def test_the_package_imports_no_other_framework(python):
    done = python("-c", "import sys, taso; print([name for name in ('torch', 'onnx', 'cupy') if name in sys.modules])")
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.full
@pytest.mark.skipif(torch is not None or not OTHER, reason="TASO_TORCH_PYTHON is not set")
def test_in_another_python(package_folder):
    done = subprocess.run([OTHER, "-m", "pytest", "-q", "-p", "no:cacheprovider", pathlib.Path(__file__)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def compiled(taso):
    """Compiles a module, and runs it without gradients; warnings of taso are failures."""
    from taso.torch_backend import taso as backend

    def compile_module(module, **options):
        torch._dynamo.reset()
        made = torch.compile(module, backend=backend, **options)

        def call(*arguments):
            with torch.no_grad(), warnings.catch_warnings():
                warnings.filterwarnings("error", message="taso: ")
                return made(*arguments)

        return call

    return compile_module


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(),
                               torch.nn.Linear(4 * 36, 5)).eval()


def close(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.full
@needs_torch
def test_tensors_go_in_and_come_out(taso, product):
    session = taso.Session(product, device="cpu")
    rows, bias = torch.randn(6, 4), torch.ones(3)
    wanted = session(rows.numpy(), bias.numpy())["y"]
    for given in (rows, rows.t().contiguous().t(), rows.clone().requires_grad_(), torch.nn.Parameter(rows)):
        found = session(given, bias)["y"]
        assert isinstance(found, torch.Tensor) and found.shape == (6, 3) and (found.numpy() == wanted).all()
    negated = torch._neg_view(rows)  # the same memory, read with the other sign
    assert torch.equal(session(negated, bias)["y"], session(-rows, bias)["y"])
    if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):  # the short way
        for given, is_short in ((rows, True), (negated, False), (rows.t().contiguous().t(), False)):
            assert (session._session.run_tensors([given, bias], None, None) is not None) == is_short
    for odd, text in ((torch.empty(6, 3, device="meta"), "."), (torch._neg_view(torch.zeros(6, 3)), "negated"),
                      (torch._efficientzerotensor(6, 3), "no memory")):
        with pytest.raises((ValueError, TypeError), match=text):
            session(rows, bias, out=[odd])
    memory = torch.zeros(6, 3)
    assert session(rows, bias.numpy(), out=[memory])["y"] is memory and (memory.numpy() == wanted).all()
    with pytest.raises(TypeError, match="'x' has the type float32, not float64"):
        session(rows.double(), bias)
    with pytest.raises(TypeError, match="complex64"):
        session(rows.to(torch.complex64), bias)
    with pytest.raises(ValueError, match="'x' cannot have the shape"):
        session(rows[0], bias)


@pytest.mark.full
@needs_torch
def test_bfloat16_and_others(taso):
    from test_session_types import TYPES, joined
    for name in TYPES:
        kind = getattr(torch, name)
        x, y = torch.arange(6).reshape(3, 2).to(kind), torch.arange(2).reshape(1, 2).to(kind)
        found = joined(taso, name)(x, y)["z"]
        assert found.dtype == kind and torch.equal(found.float(), torch.cat([x, y]).float())


@pytest.mark.full
@needs_torch
def test_a_module_is_compiled(compiled):
    module = network()
    call = compiled(module)
    for batch in (1, 3, 7, 1):  # the second makes the batch a variable
        picture = torch.randn(batch, 3, 8, 8)
        close(call(picture), module(picture).detach())


@pytest.mark.full
@needs_torch
def test_options_of_sessions_go_through(compiled, taso):
    module = network()
    picture = torch.randn(1, 3, 8, 8)
    close(compiled(module, options={"optimize": 0.2, "threads": 1})(picture), module(picture).detach())
    with pytest.raises(UserWarning, match="there is no option 'speed'"):
        compiled(module, options={"speed": 9})(picture)


@pytest.mark.full
@needs_torch
def test_changed_weights_count(compiled):
    module = network()
    call = compiled(module)
    picture = torch.randn(1, 3, 8, 8)
    call(picture)
    with torch.no_grad():
        module[4].bias.add_(1)
        module[1].running_mean.add_(1)
    close(call(picture), module(picture).detach())
    module[4].weight = torch.nn.Parameter(torch.randn(5, 144))
    close(call(picture), module(picture).detach())
    module[4].bias.data = torch.randn(5)  # which no version tells
    close(call(picture), module(picture).detach())


@pytest.mark.full
@needs_torch
def test_a_graph_without_inputs_is_left_to_pytorch(taso):
    from taso.torch_backend import taso as backend
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: torch.softmax(x, -1), backend=backend)
    weight = torch.nn.Parameter(torch.ones(2, 3))
    with torch.no_grad(), pytest.warns(UserWarning, match="no tensors but weights"):
        found = compiled(weight)
    assert isinstance(found, torch.Tensor) and torch.equal(found, torch.softmax(weight.detach(), -1))


@pytest.mark.full
@needs_torch
def test_several_outputs_and_unused_inputs(compiled):
    def function(x, y, unused):
        return {"sum": x + y, "both": (x * 2, y.relu())}, x.shape[0]

    call = compiled(function)
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    found, size = call(x, y, torch.randn(4))
    wanted, _ = function(x, y, None)
    assert size == 2
    close(found["sum"], wanted["sum"])
    close(found["both"][0], wanted["both"][0])
    close(found["both"][1], wanted["both"][1])


@pytest.mark.full
@needs_torch
def test_what_cannot_be_done_is_left_to_pytorch_and_named(taso):
    from taso.torch_backend import taso as backend

    def changes(x):
        x.add_(1)
        return x * 2

    def random(x):
        return torch.linalg.svdvals(x)

    for function, reason in ((changes, "it changes its inputs"), (random, "")):
        torch._dynamo.reset()
        x = torch.ones(3, 3)
        with torch.no_grad(), pytest.warns(UserWarning, match=f"taso: a graph is run by PyTorch: .*{reason}"):
            found = torch.compile(function, backend=backend)(x)
        close(found, function(torch.ones(3, 3)))
    torch._dynamo.reset()
    module = network()
    with pytest.warns(UserWarning, match="gradients are needed"):
        torch.compile(module, backend=backend)(torch.randn(1, 3, 8, 8)).sum().backward()
    assert module[0].weight.grad is not None


@pytest.mark.full
@needs_torch
@pytest.mark.parametrize(
    "function", [lambda a: a.view(-1), lambda a: (a + 1).t(), lambda a: (lambda b: (b, b[0]))(a * 2)])
def test_results_that_share_memory_are_left_to_pytorch(taso, function):
    torch._dynamo.reset()
    backend = pytest.importorskip("taso.torch_backend").taso
    tensor = torch.ones(2, 3)
    with torch.no_grad(), pytest.warns(UserWarning, match="shares memory|not contiguous"):
        found = torch.compile(function, backend=backend)(tensor)
        expected = function(tensor)
    for one, other in zip(torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(expected)):
        assert one.stride() == other.stride() and torch.equal(one, other)
    if isinstance(found, torch.Tensor):
        found.fill_(5)
        expected_tensor = torch.ones(2, 3)
        function(expected_tensor).fill_(5)
        assert torch.equal(tensor, expected_tensor)


@pytest.mark.full
@needs_torch
def test_it_works_beside_pytorch_and_numpy(taso, source_folder):
    """One process, with all libraries at work."""
    session = taso.Session(source_folder / "examples/small_convnet.onnx")
    picture = torch.rand(1, 3, 32, 32)
    before = torch.nn.functional.conv2d(picture, torch.ones(4, 3, 3, 3))
    found = session(picture)["classes"]
    assert np.isfinite(found.numpy()).all()
    close(torch.nn.functional.conv2d(picture, torch.ones(4, 3, 3, 3)), before)
