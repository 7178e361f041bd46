"""Random models give the same results in ONNX Runtime after taso-opt, and a second run changes nothing."""

import concurrent.futures
import os
import pathlib

import numpy
import onnx
import pytest

import random_models
import random_values
import runtime_comparison


def feed(session, seed, sizes=None):
    generator = numpy.random.default_rng(seed)
    sizes = sizes or random_values.SIZES
    shapes = {entry.name: [sizes.get(dim, dim) for dim in entry.shape] for entry in session.get_inputs()}
    return {name: generator.standard_normal(shape).astype("float32") for name, shape in shapes.items()}


def feeds_of(path):
    """Inputs at the sizes that the model was made for, and at others if it accepts them; None if it does not run."""
    try:
        session = runtime_comparison.open_session(path)
        feeds = [feed(session, 0)]
        session.run(None, feeds[0])
    except Exception:
        return None
    try:
        other = feed(session, 1, {"N": 5, "M": 4})
        session.run(None, other)
        return feeds + [other]
    except Exception:
        return feeds


def without_metadata(path):
    model = onnx.load(path)
    del model.metadata_props[:]
    return model.SerializeToString(deterministic=True)


def try_seed(taso_opt, seed, folder):
    """None if all is well, "not run" if ONNX Runtime rejects the model, else the error."""
    model, once, twice = (pathlib.Path(folder) / f"{seed}-{name}.onnx" for name in ("model", "once", "twice"))
    onnx.save(random_models.random_model(seed), model)
    feeds = feeds_of(model)
    if feeds is None:
        return "not run"
    outcome = runtime_comparison.compare(taso_opt, model, once, feeds)
    if outcome.kind != "equal":
        return f"seed {seed}: {outcome.reason}"
    result = runtime_comparison.optimise(taso_opt, once, twice)
    if result.returncode != 0:
        return f"seed {seed}: the second run ended with {result.returncode}: {result.stderr.strip()}"
    if without_metadata(once) != without_metadata(twice):
        return f"seed {seed}: the second run found more"
    for file in (model, once, twice):
        file.unlink()
    return None


def try_search(taso_opt, seed, folder):
    """The same for one deep search."""
    model, found = (pathlib.Path(folder) / f"{seed}-{name}.onnx" for name in ("model", "found"))
    onnx.save(random_models.random_model(seed), model)
    feeds = feeds_of(model)
    if feeds is None:
        return "not run"
    outcome = runtime_comparison.compare(taso_opt, model, found, feeds,
                                         ("--budget", "100", "--alpha", "1.2", "--jobs", "1", "--min-gain", "0"))
    for file in (model, found):
        file.unlink(missing_ok=True)
    return None if outcome.kind == "equal" else f"seed {seed}: {outcome.reason}"


def run_seeds(taso_opt, seeds, folder, attempt=try_seed):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda seed: attempt(taso_opt, seed, folder), seeds))
    failures = [reason for reason in found if reason not in (None, "not run")]
    assert failures == []
    assert found.count(None) >= 0.9 * len(found), "most models must be such that ONNX Runtime runs them"


def test_random_models(taso_opt, tmp_path):
    run_seeds(taso_opt, range(150), tmp_path)


def test_random_models_with_a_search(taso_opt, tmp_path):
    run_seeds(taso_opt, range(150, 210), tmp_path, try_search)


@pytest.mark.full
def test_many_random_models_with_a_search(taso_opt, tmp_path):
    run_seeds(taso_opt, range(4000, 5000), tmp_path, try_search)


@pytest.mark.full
def test_many_random_models(taso_opt, tmp_path):
    run_seeds(taso_opt, range(1000, 4000), tmp_path)
