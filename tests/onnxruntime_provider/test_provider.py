"""ONNX Runtime computes the same with the execution provider of taso as with its own."""

import concurrent.futures
import gc
import pathlib
import random
import resource
import time

import numpy
import onnx
import onnxruntime
import pytest

from registered import NAME, assert_same, on_cpu, parse

HEADER = '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>\n'


def draw(*shape, seed=0, type="float32"):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(type)


def check(provider, model, inputs, **values):
    actual = provider.open(model, **values).run(None, inputs)
    assert_same(on_cpu(model, inputs), actual)
    return actual


@pytest.mark.parametrize("name", ["small_convnet", "small_transformer"])
def test_examples_run_as_one_node(provider, source_folder, name):
    model = source_folder / "examples" / f"{name}.onnx"
    signature = onnx.load(model).graph.input
    feeds = {one.name: draw(*(dim.dim_value or 2 for dim in one.type.tensor_type.shape.dim)) for one in signature}
    check(provider, model, feeds)
    nodes = provider.nodes_by_provider(model, feeds)
    assert list(nodes) == [NAME] and len(nodes[NAME]) == 1


# A product of three axes, a function, another product and a residual, as in a transformer.
BLOCK = HEADER + """
  g (float[2, 3, 4] x, float[4, 6] w, float[6] b, float[6, 4] v, float[4] c) => (float[2, 3, 4] y)
  <float[4, 6] w = {%s}, float[6] b = {1, 2, 3, 4, 5, 6}, float[6, 4] v = {%s}, float[4] c = {1, 0, 2, 0}> {
    h = MatMul(x, w)
    i = Add(h, b)
    j = Relu(i)
    k = MatMul(j, v)
    l = Add(k, c)
    y = Add(l, x)
  }""" % (", ".join(map(str, range(24))), ", ".join(map(str, range(24))))


def test_what_onnxruntime_makes_flat_computes_the_same(provider, tmp_path):
    """Sessions undo it, and know it by its names (runtime/session/flat_products.h)."""
    model, x = parse(BLOCK), {"x": draw(2, 3, 4)}
    check(provider, model, x)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(tmp_path / "flat.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), options)
    flat = [node for node in onnx.load(tmp_path / "flat.onnx").graph.node if node.op_type == "Gemm"]
    assert len(flat) in (0, 2)  # older versions do not make them
    assert all(node.input[0].startswith("gemm_input_reshape_arg") for node in flat)
    print(len(flat), "flat products")


def test_devices_name_the_provider(provider):
    assert provider.devices
    assert all(one.ep_name == NAME and one.ep_vendor == "taso" for one in provider.devices)


# Relu and Add cannot be one node: QuickGelu is between them.
CUT = HEADER + """
  g (float[2, 3] x) => (float[2, 3] y) {
    a = Relu(x)
    b = com.microsoft.QuickGelu(a)
    c = Sigmoid(b)
    y = Add(a, c)
  }"""


def test_an_unsupported_node_cuts_the_graph(provider):
    model, x = parse(CUT), {"x": draw(2, 3)}
    check(provider, model, x)
    nodes = provider.nodes_by_provider(model, x)
    assert len(nodes[NAME]) == 2
    assert nodes["CPUExecutionProvider"] == ["QuickGelu"]


def random_model(seed, size=20):
    """A random graph of which ONNX Runtime's own operators cannot run in taso."""
    generator = random.Random(seed)
    names, lines = ["x", "z"], []
    for i in range(size):
        kind = generator.choice(["Add", "Mul", "Relu", "Sigmoid", "com.microsoft.QuickGelu", "com.microsoft.Gelu"])
        operands = generator.choices(names[-8:], k=2 if kind in ("Add", "Mul") else 1)
        lines.append(f"v{i} = {kind}({', '.join(operands)})")
        names.append(f"v{i}")
    outputs = {f"v{size - 1}", *generator.sample(names[2:], 2)}
    declared = ", ".join(f"float[2, 3] {name}" for name in sorted(outputs))
    body = "\n".join(lines)
    return parse(f"{HEADER} g (float[2, 3] x, float[2, 3] z) => ({declared}) {{ {body} }}")


@pytest.mark.parametrize("seed", range(60))
def test_parts_of_random_graphs(provider, seed):
    check(provider, random_model(seed), {"x": draw(2, 3), "z": draw(2, 3, seed=1)})


def test_dynamic_shapes(provider):
    model = parse(HEADER + """
      g (float[batch, length] x, float[length, 4] w) => (float[batch, 4] y, int64[2] s) {
        p = MatMul(x, w)
        y = Softmax(p)
        s = Shape(y)
      }""")
    session = provider.open(model)
    for batch, length in [(1, 2), (5, 3), (2, 7), (1, 2)]:
        inputs = {"x": draw(batch, length), "w": draw(length, 4, seed=1)}
        assert_same(on_cpu(model, inputs), session.run(None, inputs))


def test_sizes_that_depend_on_content(provider):
    model = parse(HEADER + """
      g (float[n] x) => (int64[1, m] places, float[n] y) {
        places = NonZero(x)
        y = Neg(x)
      }""")
    session = provider.open(model)
    for content in ([1, 0, 2], [0, 0], [3]):
        x = {"x": numpy.array(content, "float32")}
        assert_same(on_cpu(model, x), session.run(None, x))
    assert NAME in provider.nodes_by_provider(model, x)


def test_branches_run_with_their_node(provider):
    model = parse(HEADER + """
      g (bool c, float[2] x) => (float[2] y)
      <float[2] w = {1.5, -2.0}>
      {
        d = Relu(x)
        y = If (c) <
          then_branch = one () => (float[2] a) { a = Add(d, w) },
          else_branch = other () => (float[2] b) { b = Mul(d, w) }
        >
      }""")
    for chosen in (True, False):
        check(provider, model, {"c": numpy.array(chosen), "x": draw(2)})
    nodes = provider.nodes_by_provider(model, {"c": numpy.array(True), "x": draw(2)})
    assert list(nodes) == [NAME]


def test_loops_stay_where_they_are(provider):
    model = parse(HEADER + """
      g (int64 n, float[2] x) => (float[2] y) {
        c = Constant <value_int = 1> ()
        t = Cast <to = 9> (c)
        d = Relu(x)
        e = Loop (n, t, d) <
          body = turn (int64 i, bool go, float[2] v) => (bool on, float[2] w) { on = Identity(go) w = Add(v, d) }
        >
        y = Neg(e)
      }""")
    inputs = {"n": numpy.array(3), "x": draw(2)}
    check(provider, model, inputs)
    assert "Loop" in provider.nodes_by_provider(model, inputs)["CPUExecutionProvider"]


def test_texts_stay_where_they_are(provider):
    model = parse(HEADER + """
      g (string[n] words, int64[m] places, float[n] x) => (string[m] chosen, float[n] y) {
        chosen = Gather(words, places)
        y = Relu(x)
      }""")
    inputs = {"words": numpy.array(["A", "b"], dtype=object), "places": numpy.array([1, 0, 1]), "x": draw(2)}
    chosen, y = provider.open(model).run(None, inputs)
    assert list(chosen) == ["b", "A", "b"]
    assert numpy.array_equal(y, numpy.maximum(inputs["x"], 0))
    assert provider.nodes_by_provider(model, inputs)["CPUExecutionProvider"] == ["Gather"]


def test_default_values_of_inputs(provider):
    model = parse(HEADER + """
      g (float[2] x, float[2] w = {1.0, 2.0}) => (float[2] y) { a = Mul(x, w) y = Add(a, w) }""")
    for inputs in ({"x": draw(2)}, {"x": draw(2), "w": draw(2, seed=1)}):
        check(provider, model, inputs)


@pytest.mark.parametrize("is_in_memory", [False, True])
def test_weights_in_another_file(provider, tmp_path, is_in_memory):
    weight = onnx.numpy_helper.from_array(draw(64, 64), "w")
    model = parse(HEADER + "g (float[n, 64] x) => (float[n, 64] y) { y = MatMul(x, w) }")
    model.graph.initializer.append(weight)
    path = tmp_path / "model.onnx"
    x = {"x": draw(3, 64, seed=1)}
    if not is_in_memory:
        onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=0)
        assert (tmp_path / "weights").stat().st_size >= 64 * 64 * 4
    check(provider, model if is_in_memory else path, x)


def test_inputs_and_outputs_bound_to_memory(provider):
    model = parse(HEADER + "g (float[n, 3] x) => (float[n, 3] y) { a = Relu(x) y = Add(a, x) }")
    session = provider.open(model)
    x, y = draw(4, 3), numpy.zeros((4, 3), "float32")
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, numpy.float32, y.shape, y.ctypes.data)
    session.run_with_iobinding(binding)
    assert_same(on_cpu(model, {"x": x}), [y])


def test_threads_share_a_session(provider, source_folder):
    model = source_folder / "examples" / "small_convnet.onnx"
    sessions = [provider.open(model, threads=1) for _ in range(2)]
    inputs = [{"image": draw(1, 3, 32, 32, seed=seed)} for seed in range(8)]
    expected = [sessions[0].run(None, one)[0] for one in inputs]

    def work(number):
        return all(numpy.array_equal(sessions[i % 2].run(None, inputs[i % 8])[0], expected[i % 8])
                   for i in range(number, number + 50))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_sessions_are_opened_by_several_threads(provider):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda seed: check(provider, random_model(seed), {"x": draw(2, 3), "z": draw(2, 3, seed=1)}),
                      range(32)))


def test_wrong_inputs_are_errors_and_the_session_lives(provider):
    model = parse(HEADER + "g (float[n, 2] x, float[n, 2] z) => (float[n, 2] y) { y = Add(x, z) }")
    session = provider.open(model)
    good = {"x": draw(3, 2), "z": draw(3, 2)}
    expected = session.run(None, good)
    for x, z in [((3, 2), (4, 2)), ((3, 2), (3, 3)), ((3,), (3, 2))]:
        with pytest.raises(Exception):
            session.run(None, {"x": draw(*x), "z": draw(*z)})
        assert_same(expected, session.run(None, good))
    with pytest.raises(Exception):
        session.run(None, {"x": draw(3, 2, type="float64"), "z": draw(3, 2)})
    with pytest.raises(Exception):
        session.run(None, {"x": draw(3, 2)})
    assert_same(expected, session.run(None, good))


@pytest.mark.parametrize("values, said", [
    ({"colour": "red"}, "there is no option 'colour'"),
    ({"precision": "float7"}, "precision"),
    ({"device": "abacus"}, "device"),
    ({"threads": "many"}, "threads"),
])
def test_wrong_options_are_errors(provider, source_folder, values, said):
    with pytest.raises(Exception, match=said):
        provider.open(source_folder / "examples" / "small_convnet.onnx", **values)


def test_a_device_that_does_not_exist(provider, source_folder):
    with pytest.raises(Exception, match="GPU|cuda|CUDA"):
        provider.open(source_folder / "examples" / "small_convnet.onnx", device="cuda:1000")


def test_searching_is_asked_for(provider, source_folder):
    model = source_folder / "examples" / "small_convnet.onnx"
    check(provider, model, {"image": draw(1, 3, 32, 32)}, optimize=1)


def write_context(provider, model, path, is_embedded, kind="CPU"):
    options = provider.options(kind)
    for name, value in [("context_enable", 1), ("context_file_path", path), ("context_embed_mode", int(is_embedded))]:
        options.add_session_config_entry(f"ep.{name}", str(value))
    source = model if isinstance(model, str) else model.SerializeToString()
    onnxruntime.InferenceSession(source, options, enable_fallback=0)


@pytest.mark.parametrize("is_embedded", [False, True])
def test_context_models_hold_engines(provider, tmp_path, is_embedded):
    model, path = parse(CUT), tmp_path / "context.onnx"
    write_context(provider, model, path, is_embedded)
    assert [node.op_type for node in onnx.load(path).graph.node] == ["EPContext", "QuickGelu", "EPContext"]
    assert bool(list(tmp_path.glob("*.taso"))) != is_embedded
    x = {"x": draw(2, 3)}
    assert_same(on_cpu(model, x), provider.open(path).run(None, x))
    assert len(provider.nodes_by_provider(path, x)[NAME]) == 2


def test_a_context_of_a_search_is_not_searched_again(provider, source_folder, tmp_path):
    model, path = source_folder / "examples" / "small_convnet.onnx", tmp_path / "context.onnx"
    write_context(provider, str(model), path, False)
    start = time.monotonic()
    session = provider.open(path, optimize=60)
    assert time.monotonic() - start < 30
    inputs = {"image": draw(1, 3, 32, 32)}
    assert_same(on_cpu(model, inputs), session.run(None, inputs))


@pytest.mark.parametrize("where", ["../other.taso", "/etc/passwd", "missing.taso", "", "damaged.taso"])
def test_contexts_with_wrong_files_are_errors(provider, tmp_path, where):
    path = tmp_path / "context.onnx"
    write_context(provider, parse(CUT), path, False)
    (tmp_path / "damaged.taso").write_bytes(next(tmp_path.glob("context_*.taso")).read_bytes()[:100])
    model = onnx.load(path)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "ep_cache_context":
                attribute.s = where.encode()
    onnx.save(model, path)
    with pytest.raises(Exception):
        provider.open(path)


def resident_megabytes():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def test_nothing_leaks(provider):
    """A weight of 400 kB: a thousand of them would be 400 MB."""
    model = parse(HEADER + "g (float[n, 320] x) => (float[n, 320] y) { a = MatMul(x, w) y = Relu(a) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(draw(320, 320), "w"))
    x = {"x": draw(2, 320)}

    def rounds(count):
        for _ in range(count):
            provider.open(model, threads=1).run(None, x)
        gc.collect()
        return resident_megabytes()

    before = rounds(200)
    assert rounds(1000) - before < 20


def test_the_library_is_registered_again(provider, library, source_folder):
    onnxruntime.register_execution_provider_library("another", str(library))
    devices = [one for one in onnxruntime.get_ep_devices() if one.ep_name == NAME]
    assert len(devices) == 2 * len(provider.devices)
    onnxruntime.unregister_execution_provider_library("another")
    check(provider, source_folder / "examples" / "small_convnet.onnx", {"image": draw(1, 3, 32, 32)})
