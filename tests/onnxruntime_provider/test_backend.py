"""ONNX's own tests give the same with the execution provider as with ONNX Runtime's own, or as ONNX expects."""

import collections
import pathlib
import sys

import onnx
import onnxruntime
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "onnx"))
import runtime_comparison  # noqa: E402

PACKAGED = pathlib.Path("/usr/share/libonnx-testdata/data")


def expected_outputs(folder, number, session):
    files = sorted((folder / f"test_data_set_{number}").glob("output_*.pb"), key=lambda path: int(path.stem[7:]))
    return [onnx.numpy_helper.to_array(onnx.load_tensor(path)) for path in files[:len(session.get_outputs())]]


def outcome(provider, folder, feeds):
    model = folder / "model.onnx"
    try:
        reference = runtime_comparison.open_session(model)
        wanted = [reference.run(None, feed) for feed in feeds]
    except Exception:
        return "not run"
    options = provider.options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(str(model), options, enable_fallback=0)
        given = [session.run(None, feed) for feed in feeds]
    except Exception as error:
        return f"failed: {error}"
    for number, (one, other) in enumerate(zip(wanted, given)):
        # ONNX Runtime does not follow ONNX everywhere.
        if not runtime_comparison.same(one, other) and not runtime_comparison.same(
                expected_outputs(folder, number, session), other):
            return "failed: the results differ"
    return "equal"


def test_packaged_backend_tests(provider):
    if not PACKAGED.is_dir():
        pytest.skip("libonnx-testdata is not installed")
    outcomes = collections.defaultdict(list)
    for folder in runtime_comparison.backend_folders(PACKAGED):
        feeds = runtime_comparison.read_data_sets(folder)
        if feeds:
            outcomes[outcome(provider, folder, feeds)].append(folder.name)
    print({kind: len(names) for kind, names in outcomes.items()})
    assert {kind: names for kind, names in outcomes.items() if kind.startswith("failed")} == {}
    assert len(outcomes["equal"]) >= 600
