"""A model whose past grows, run with caches of fixed capacity, gives what the model itself gives for every length."""

import subprocess

import numpy as np
import pytest

from growing_decoders import MASKS, POSITIONS, SHARES, decoder

CAPACITY = 24


def present(name):
    return name.replace("past_key_values", "present").replace("past_", "present_")


def is_past(value):
    return value.name.startswith(("past_key", "past_value"))


def caches_of(pasts, numbers, capacity):
    """With the past in front, and anything behind."""
    caches = {}
    for name, past in pasts.items():
        batch, heads, length, width = past.shape
        caches[name] = numbers.standard_normal((batch, heads, capacity, width)).astype(np.float32) * 100
        caches[name][:, :, :length] = past
    return caches


def compare(plain, fixed, inputs, pasts, numbers, new, tolerance=1e-4):
    """One step. `inputs` are those of both, or a pair where they differ."""
    capacity = next(value.shape[2] for value in fixed.inputs if is_past(value))
    length = next(iter(pasts.values())).shape[2]
    theirs = {name: value[0] if isinstance(value, tuple) else value for name, value in inputs.items()}
    ours = {name: value[1] if isinstance(value, tuple) else value for name, value in inputs.items()}
    expected = plain.run({**theirs, **pasts})
    caches = caches_of(pasts, numbers, capacity)
    before = {name: cache.copy() for name, cache in caches.items()}
    memory = {present(name): cache for name, cache in caches.items()}
    ours["past_length"] = np.array(length)
    copied = fixed.run({**ours, **caches})
    assert all(np.array_equal(before[name], caches[name]) for name in caches)
    found = fixed.run({**ours, **caches}, out=memory)
    for name, cache in caches.items():
        assert np.shares_memory(found[present(name)], cache)
        assert np.array_equal(cache[:, :, :length], pasts[name])
        assert np.array_equal(cache[:, :, length + new:], before[name][:, :, length + new:])
        assert np.allclose(cache[:, :, :length + new], expected[present(name)], rtol=tolerance, atol=tolerance)
    for name, value in expected.items():
        assert np.array_equal(copied[name], found[name]), name
        if name not in memory:
            assert found[name].shape == value.shape
            assert np.allclose(found[name], value, rtol=tolerance, atol=tolerance), (name, length)


@pytest.mark.parametrize("name, options", [("llama_small", []), ("llama_small", ["--opset", "23"]), ("gpt2", [])])
def test_networks(taso, taso_networks, tmp_path, name, options):
    path = tmp_path / "decoder.onnx"
    subprocess.run([taso_networks, name, "-o", path, "-q", "--blocks", "2", "--open-past", *options], check=True)
    plain = taso.Session(path, device="cpu", log=False)
    fixed = taso.Session(path, device="cpu", log=False, past_capacity=CAPACITY)
    assert [value.name for value in fixed.inputs] == [value.name for value in plain.inputs] + ["past_length"]
    numbers = np.random.default_rng(3)
    for length in [0, 1, CAPACITY - 1, *numbers.integers(2, CAPACITY - 1, 2)]:
        pasts = {value.name: numbers.standard_normal((*value.shape[:2], length, value.shape[3])).astype(np.float32)
                 for value in plain.inputs if is_past(value)}
        drawn = {"position_ids": np.array([[length]]), "input_ids": numbers.integers(0, 1000, (1, 1)),
                 "inputs_embeds": numbers.standard_normal((1, 1, 512), dtype=np.float32)}
        inputs = {value.name: drawn[value.name] for value in plain.inputs if value.name in drawn}
        compare(plain, fixed, inputs, pasts, numbers, 1, 1e-3)


@pytest.mark.parametrize("capacity", [1, CAPACITY])
def test_a_search_with_a_capacity(taso, taso_networks, tmp_path, capacity):
    path = tmp_path / "decoder.onnx"
    subprocess.run([taso_networks, "llama_small", "-o", path, "-q", "--blocks", "1", "--open-past"], check=True)
    plain = taso.Session(path, device="cpu", log=False)
    found = taso.Session(path, device="cpu", log=False, past_capacity=capacity, optimize=1)
    numbers = np.random.default_rng(7)
    pasts = {value.name: numbers.standard_normal((*value.shape[:2], capacity - 1, value.shape[3])).astype(np.float32)
             for value in plain.inputs if is_past(value)}
    inputs = {"position_ids": np.array([[capacity - 1]]),
              "inputs_embeds": numbers.standard_normal((1, 1, 512), dtype=np.float32)}
    compare(plain, found, inputs, pasts, numbers, 1, 1e-3)


FORMS = ([(mask, "softmax", "none") for mask in MASKS] + [("compared", share, "none") for share in SHARES] +
         [("compared", "softmax", position) for position in POSITIONS] + [("given", "guarded", "summed")])


@pytest.mark.parametrize("mask, shares, positions", sorted(set(FORMS)))
def test_forms_of_exporters(taso, mask, shares, positions):
    model = decoder(mask, shares, positions)
    plain = taso.Session(model, device="cpu", log=False)
    fixed = taso.Session(model, device="cpu", log=False, past_capacity=CAPACITY)
    numbers = np.random.default_rng(5)
    room = CAPACITY - (shares == "sink")  # which takes a row beside the tokens
    for batch, new in [(1, 1), (2, 1), (1, 5), (3, 2), (1, room)]:
        for length in {0, room - new, int(numbers.integers(0, room - new + 1))}:
            pasts = {name: numbers.standard_normal((batch, 2, length, 4)).astype(np.float32)
                     for name in ("past_key", "past_value")}
            inputs = {"x": numbers.standard_normal((batch, new, 8)).astype(np.float32)}
            if any(value.name == "attention_mask" for value in plain.inputs):
                seen = numbers.integers(0, 2, (batch, CAPACITY))
                seen[:, 0] = 1
                inputs["attention_mask"] = (seen[:, :length + new], seen)
            compare(plain, fixed, inputs, pasts, numbers, new)


def test_a_mask_may_name_its_length_as_a_sum(taso):
    model = decoder("given")
    names = model.graph.input[-1].type.tensor_type.shape
    names.dim[1].dim_param = "past + seq"
    fixed = taso.Session(model, device="cpu", log=False, past_capacity=9)
    assert [value.shape for value in fixed.inputs if value.name == "attention_mask"] == [("batch", 9)]


def test_shapes_of_the_interface(taso):
    fixed = taso.Session(decoder(), device="cpu", log=False, past_capacity=9)
    shapes = {value.name: value.shape for value in [*fixed.inputs, *fixed.outputs]}
    assert shapes == {"x": ("batch", "seq", 8), "past_key": ("batch", 2, 9, 4), "past_value": ("batch", 2, 9, 4),
                      "past_length": (), "y": ("batch", "seq", 8), "present_key": ("batch", 2, 9, 4),
                      "present_value": ("batch", 2, 9, 4)}
    found = fixed.infer({"x": (2, 3, 8), "past_key": (2, 2, 9, 4), "past_value": (2, 2, 9, 4), "past_length": ()})
    assert found == {"y": (2, 3, 8), "present_key": (2, 2, 9, 4), "present_value": (2, 2, 9, 4)}


@pytest.mark.parametrize("length", [-1, 7, 9, 2**62])
def test_what_does_not_fit_is_refused(taso, length):
    fixed = taso.Session(decoder(), device="cpu", log=False, past_capacity=9)
    caches = {name: np.zeros((1, 2, 9, 4), np.float32) for name in ("past_key", "past_value")}
    memory = {present(name): cache for name, cache in caches.items()}
    step = {"x": np.ones((1, 3, 8), np.float32), **caches}
    with pytest.raises(taso.ArgumentError, match="room for a past of 0 to 6"):
        fixed.run({**step, "past_length": np.array(length)}, out=memory)
    assert not any(cache.any() for cache in caches.values())
    fixed.run({**step, "past_length": np.array(6)}, out=memory)
    assert all(cache[:, :, 6:].any() for cache in caches.values())


@pytest.mark.parametrize("new, words", [(10, "too small for the new ones"), (0, "no size is 0")])
def test_new_rows_that_do_not_fit_are_refused(taso, new, words):
    fixed = taso.Session(decoder(), device="cpu", log=False, past_capacity=9)
    caches = {name: np.zeros((1, 2, 9, 4), np.float32) for name in ("past_key", "past_value")}
    step = {"x": np.ones((1, new, 8), np.float32), "past_length": np.array(0), **caches}
    with pytest.raises(taso.ArgumentError, match=words):
        fixed.run(step)
    fixed.run({**step, "x": np.ones((1, 9, 8), np.float32)})


def test_extents_that_are_computed_of_open_sizes_stay_open(taso):
    model = decoder(more="rows_shape = Constant<value_ints = [-1, 8]>()\n z_rows = Reshape(z, rows_shape)",
                    outputs=", float[every, 8] z_rows")
    fixed = taso.Session(model, device="cpu", log=False, past_capacity=9)
    assert [value.shape for value in fixed.outputs if value.name == "z_rows"] == [("every", 8)]


def test_a_model_with_very_many_open_sizes_is_refused(taso):
    from small_models import helper, model, value
    names = [f"x{i}" for i in range(60)]
    nodes = [helper.make_node("Relu", [name], [f"y{name}"]) for name in names]
    wide = model(nodes, [value(name, [None, None]) for name in names], [value(f"y{name}", None) for name in names])
    with pytest.raises(taso.ModelError, match="leaves 120 sizes open"):
        taso.Session(wide, device="cpu", past_capacity=8)


@pytest.mark.parametrize("more, outputs, words", [
    ("mean = ReduceMean<keepdims = 1>(s1)", ", float[a, b, c, d] mean", "ReduceMean 'mean' combines all rows"),
    ("late = Identity(s1)", ", float[a, b, c, d] late", "the output 'late' has a row for each token"),
    ("order = ArgMax<axis = 3>(s1)", ", int64[a, b, c, d] order", "ArgMax 'order' takes a tensor with a row"),
    ("minus = Constant<value_ints = [-1]>()\n flat_keys = Reshape(present_key, minus)\n"
     "best = ReduceMax<keepdims = 0>(flat_keys)", ", float best", "Reshape 'flat_keys'"),
    ("turned_keys = Concat<axis = 2>(k, past_key)\n best = ReduceMax<keepdims = 0>(turned_keys)", ", float best",
     "Concat 'turned_keys' has rows of tokens behind others"),
    ("back = Neg(t)\n one_row = Gather<axis = 2>(present_value, back)\n best = ReduceMax<keepdims = 0>(one_row)",
     ", float best", "Gather 'one_row' takes rows that are not there for all lengths"),
    ("past_turned = Transpose<perm = [0, 1, 3, 2]>(past_key)\n past_scores = MatMul(k, past_turned)\n"
     "shares = Softmax(past_scores)\n best = ReduceSum<keepdims = 0>(shares)", ", float best",
     "Softmax 'shares' normalises no rows at all if the past has none"),
    ("all_shape = Concat<axis = 0>(t_1, t_1)\n all_ones = ConstantOfShape(all_shape)\n"
     "best = ReduceMax<keepdims = 0>(all_ones)", ", float best", "ConstantOfShape 'all_ones'"),
    ("double = Mul(t, t)\n many_rows = Range(zero, double, one)\n best = ReduceMax<keepdims = 0>(many_rows)",
     ", int64 best", "Range 'many_rows'"),
])
def test_other_uses_of_the_length_are_refused(taso, more, outputs, words):
    model = decoder(more=more, outputs=outputs)
    taso.Session(model, device="cpu", log=False)
    with pytest.raises(taso.ModelError, match=words):
        taso.Session(model, device="cpu", log=False, past_capacity=CAPACITY)


def test_a_concat_of_one_operand_is_no_obstacle(taso):
    model = decoder(more="same = Concat<axis = 2>(present_key)\n some = Slice(same, first, second, third)\n"
                         "best = ReduceMax<keepdims = 0>(some)", outputs=", float best")
    taso.Session(model, device="cpu", log=False, past_capacity=CAPACITY)


def test_a_model_without_a_past_is_refused(taso):
    from small_models import helper, model, value
    node = helper.make_node("Softmax", ["x"], ["y"])
    with pytest.raises(taso.ModelError, match="no past that grows"):
        taso.Session(model([node], [value("x", ["n", 4])], [value("y", ["n", 4])]), device="cpu", past_capacity=8)


def test_a_table_that_is_too_short_is_refused(taso):
    with pytest.raises(taso.ModelError, match="64 elements: too few for a capacity of 65"):
        taso.Session(decoder("table"), device="cpu", log=False, past_capacity=65)
