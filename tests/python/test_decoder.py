"""A decoder with a cache of fixed size: one session writes token after token into the caller's memory, and gives what a
decoder with a growing past gives."""

import subprocess

import numpy as np
import pytest

CAPACITY = 24


@pytest.fixture(scope="module")
def network(taso, taso_networks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("decoder")

    def load(name, sequence, *options):
        path = folder / f"{name}.onnx"
        subprocess.run([taso_networks, name, "-o", path, "-q", "--blocks", "2", "--sequence", str(sequence), *options],
                       check=True)
        return taso.Session(path, device="cpu", log=False)

    return load


def drawn(session, step):
    """Inputs of a step, without the past."""
    numbers = np.random.default_rng(step)
    inputs = {"position_ids": np.array([[step]]), "cache_position": np.array([step]),
              "input_ids": numbers.integers(0, 1000, (1, 1)),
              "inputs_embeds": numbers.standard_normal((1, 1, 512), dtype=np.float32)}
    return {value.name: inputs[value.name] for value in session.inputs if value.name in inputs}


def present(name):
    return name.replace("past_key_values", "present")


@pytest.mark.parametrize("name, tokens", [("llama_small", 20), ("gpt2", 3)])
def test_a_cache_in_place_gives_what_a_growing_past_gives(network, name, tokens):
    fixed = network(name, CAPACITY, "--static-cache")
    caches = {value.name: np.zeros(value.shape, np.float32) for value in fixed.inputs if value.name.startswith("past")}
    assert len(caches) == 4
    past = {}
    for step in range(tokens):
        memory = {present(cache): array for cache, array in caches.items()}
        found = fixed.run({**drawn(fixed, step), **caches}, out=memory)
        for cache, array in caches.items():  # nothing is allocated
            assert np.shares_memory(found[present(cache)], array)
        if step == 0:  # the other form needs a past
            past = {cache: array[:, :, :1].copy() for cache, array in caches.items()}
            continue
        growing = network(name, step)
        expected = growing.run({**drawn(growing, step), **past})
        for output, value in expected.items():
            if output.startswith("present"):
                assert np.allclose(found[output][:, :, :step + 1], value, rtol=1e-4, atol=1e-4), (step, output)
                assert not found[output][:, :, step + 1:].any()
            else:
                assert np.allclose(found[output], value, rtol=1e-3, atol=1e-3), (step, output)
        past = {cache: expected[present(cache)] for cache in past}


def test_a_cache_may_also_be_copied(network):
    session = network("llama_small", CAPACITY, "--static-cache")
    caches = {value.name: np.random.default_rng(7).standard_normal(value.shape, dtype=np.float32)
              for value in session.inputs if value.name.startswith("past")}
    before = {name: array.copy() for name, array in caches.items()}
    inputs = drawn(session, 3)
    copied = session.run({**inputs, **caches})
    assert all(np.array_equal(before[name], caches[name]) for name in caches)
    written = session.run({**inputs, **caches}, out={present(name): array for name, array in caches.items()})
    for output, value in copied.items():
        assert np.array_equal(value, written[output])
