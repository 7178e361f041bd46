"""taso.Session: arrays of NumPy go in and come out, and mistakes get clear exceptions."""

import gc
import logging
import weakref

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from small_models import model, value

PICTURE = np.random.default_rng(0).random((1, 3, 32, 32), dtype=np.float32)


def expected(path_or_model, inputs):
    """What ONNX Runtime computes."""
    source = path_or_model.SerializeToString() if hasattr(path_or_model, "SerializeToString") else str(path_or_model)
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, inputs)))


@pytest.fixture(scope="module")
def convnet(source_folder):
    return source_folder / "examples/small_convnet.onnx"


@pytest.fixture(scope="module")
def transformer(source_folder):
    return source_folder / "examples/small_transformer.onnx"


@pytest.fixture(scope="module")
def session(taso, convnet):
    return taso.Session(convnet)


def rows(count):
    return np.random.default_rng(count).standard_normal((count, 4), dtype=np.float32)


BIAS = np.array([1, 2, 3], dtype=np.float32)


def test_it_describes_inputs_and_outputs(taso, session, transformer):
    assert session.inputs == [taso.Value("image", np.dtype("float32"), (1, 3, 32, 32))]
    assert session.outputs == [taso.Value("classes", np.dtype("float32"), (1, 10))]
    assert taso.Session(transformer).inputs[0].shape == ("batch", 16, 64)
    assert session.device == "CPU" or session.is_on_device
    assert session.report()["operators"] > 0


def test_outputs_are_those_of_onnxruntime(session, convnet):
    wanted = expected(convnet, {"image": PICTURE})["classes"]
    for result in (session(PICTURE), session(image=PICTURE), session.run({"image": PICTURE}), session.run([PICTURE])):
        assert list(result) == ["classes"]
        assert result["classes"].dtype == np.float32 and result["classes"].shape == (1, 10)
        np.testing.assert_allclose(result["classes"], wanted, rtol=1e-4, atol=1e-5)


def test_a_model_is_a_path_bytes_or_a_message(taso, convnet):
    wanted = taso.Session(convnet)(PICTURE)["classes"]
    for given in (str(convnet), convnet.read_bytes(), bytearray(convnet.read_bytes()), onnx.load(convnet)):
        assert (taso.Session(given)(PICTURE)["classes"] == wanted).all()


def test_external_weights_are_found(taso, convnet, tmp_path):
    proto = onnx.load(convnet)
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    wanted = taso.Session(convnet)(PICTURE)["classes"]
    assert (taso.Session(tmp_path / "m.onnx")(PICTURE)["classes"] == wanted).all()
    data = (tmp_path / "m.onnx").read_bytes()
    assert (taso.Session(data, folder=tmp_path)(PICTURE)["classes"] == wanted).all()
    with pytest.raises(taso.ModelError):
        taso.Session(data)(PICTURE)


def test_sizes_may_be_unknown(taso, product, transformer):
    session = taso.Session(product)
    assert session.infer({"x": (5, 4), "b": (3,)}) == {"y": (5, 3)}
    session.warm_up([(5, 4), (3,)])
    for count in (1, 2, 7, 100, 2):
        wanted = expected(product, {"x": rows(count), "b": BIAS})["y"]
        np.testing.assert_allclose(session(rows(count), BIAS)["y"], wanted, rtol=1e-5, atol=1e-5)
    session = taso.Session(transformer)
    for batch in (1, 3):
        tokens = np.random.default_rng(batch).standard_normal((batch, 16, 64), dtype=np.float32)
        wanted = expected(transformer, {"tokens": tokens})["encoded"]
        np.testing.assert_allclose(session(tokens)["encoded"], wanted, rtol=1e-3, atol=1e-4)


def test_inputs_go_by_order_or_name_or_both(taso, product):
    session = taso.Session(product)
    wanted = session(rows(2), BIAS)["y"]
    for result in (session(b=BIAS, x=rows(2)), session(rows(2), b=BIAS), session.run({"b": BIAS, "x": rows(2)})):
        assert (result["y"] == wanted).all()
    assert (session(rows(2).tolist(), [1, 2, 3])["y"] == wanted).all(), "lists become arrays"


def test_any_layout_is_taken_and_inputs_stay(taso, product):
    session = taso.Session(product)
    wanted = session(rows(6), BIAS)["y"]
    wide = np.zeros((12, 8), np.float32)
    wide[::2, ::2] = rows(6)
    read_only = rows(6)
    read_only.flags.writeable = False
    odd = np.frombuffer(b"\0" + rows(6).tobytes(), np.uint8)[1:].view(np.float32).reshape(6, 4)
    assert not odd.flags.aligned
    for given in (np.asfortranarray(rows(6)), wide[::2, ::2], rows(6)[::-1][::-1], read_only, odd):
        before = given.copy()
        assert (session(given, BIAS)["y"] == wanted).all()
        assert (given == before).all()


def test_outputs_go_into_memory_of_the_caller(taso, product):
    session = taso.Session(product)
    wanted = session(rows(6), BIAS)["y"]
    memory = np.empty((6, 3), np.float32)
    for out in ([memory], {"y": memory}):
        memory[:] = 0
        assert session(rows(6), BIAS, out=out)["y"] is memory
        assert (memory == wanted).all()
    large = np.full(100, 7, np.float32)  # room to grow
    result = session(rows(6), BIAS, out=[large])["y"]
    assert result.base is large and (result == wanted).all() and (large[18:] == 7).all()
    shared = np.zeros((6, 4), np.float32)
    shared[:] = rows(6)
    assert (session(shared, BIAS, out=[shared])["y"] == wanted).all(), "an output may lie in an input"
    for wrong, kind in (([np.empty(3, np.float32)], ValueError), ([np.empty((6, 3))], TypeError),
                        ({"z": memory}, ValueError), (memory, TypeError), ([memory, memory], ValueError),
                        ([np.empty((6, 6), np.float32)[:, ::2]], ValueError), (["y"], TypeError)):
        with pytest.raises(kind) as raised:
            session(rows(6), BIAS, out=wrong)
        assert isinstance(raised.value, taso.Error)


def test_results_outlive_the_session_and_are_writable(taso, convnet):
    session = taso.Session(convnet)
    first, second = session(PICTURE)["classes"], session(PICTURE)["classes"]
    del session
    gc.collect()
    first += 1
    np.testing.assert_allclose(first, second + 1, rtol=1e-6)


def test_names_that_are_no_words_and_names_of_options(taso):
    names = ["input.1", "out", "stream", "self"]
    session = taso.Session(model([helper.make_node("Sum", names, ["a/b"])], [value(name, [2]) for name in names],
                                 [value("a/b", [2])]))
    one = np.ones(2, np.float32)
    assert session.run({name: one for name in names})["a/b"].tolist() == [4, 4]
    assert session(one, one, one, one)["a/b"].tolist() == [4, 4]
    memory = np.zeros(2, np.float32)
    assert session(one, one, one, one, out=[memory])["a/b"] is memory
    for name in ("out", "stream"):
        with pytest.raises(ValueError, match=f"'{name}' has the name of an argument"):
            session(one, **{name: one})


def test_inputs_with_a_default_may_be_left_out(taso, tmp_path):
    weights = [onnx.numpy_helper.from_array(np.array(content, np.float32), name)
               for name, content in (("scale", [1, 2, 3]), ("bias", 4))]
    proto = model([helper.make_node("Mul", ["x", "scale"], ["p"]), helper.make_node("Add", ["p", "bias"], ["y"])],
                  [value("scale", ["width"]), value("x", ["rows", "width"]), value("bias", [])],
                  [value("y", ["rows", "width"])], weights)
    taso.Session(proto).save_engine(tmp_path / "model.taso")
    x, bias = np.arange(6, dtype=np.float32).reshape(2, 3), np.array(-1, np.float32)
    scale = np.array([3, 2, 1], np.float32)
    for session in (taso.Session(proto), taso.Session(tmp_path / "model.taso"), taso.Session(proto, optimize=0.2)):
        assert [one.optional for one in session.inputs] == [True, False, True]
        for given in ({"x": x}, {"x": x, "bias": bias}, {"x": x, "scale": scale},
                      {"x": x, "scale": scale, "bias": bias}, {"x": x[:0]}, {"x": x[:0], "scale": scale}):
            wanted = expected(proto, given)["y"]
            np.testing.assert_allclose(session(**given)["y"], wanted)
            np.testing.assert_allclose(session.run({"scale": None, **given})["y"], wanted)
            shapes = {name: one.shape for name, one in given.items()}
            session.warm_up(shapes)
            assert session.infer(shapes) == {"y": wanted.shape}
        np.testing.assert_allclose(session(None, x)["y"], expected(proto, {"x": x})["y"])
        np.testing.assert_allclose(session(scale, x)["y"], expected(proto, {"x": x, "scale": scale})["y"])
        with pytest.raises(ValueError, match="'x' is missing"):
            session(scale=scale)
        with pytest.raises(ValueError, match="3 inputs"):
            session(scale)
        wide = np.ones(5, np.float32), np.ones((2, 5), np.float32)
        assert session(*wide)["y"].shape == (2, 5)
    proto.ir_version = 3  # there it is a constant
    assert [one.name for one in taso.Session(proto).inputs] == ["x"]
    np.testing.assert_allclose(taso.Session(proto)(x)["y"], expected(proto, {"x": x})["y"])


def test_a_model_without_inputs(taso):
    constant = onnx.numpy_helper.from_array(np.arange(3, dtype=np.float32), "c")
    session = taso.Session(model([helper.make_node("Relu", ["c"], ["y"])], [], [value("y", [3])], [constant]))
    assert session()["y"].tolist() == [0, 1, 2]


WRONG = {
    "unknown name": (lambda s: s(rows(2), c=BIAS), ValueError, "'c'"),
    "missing": (lambda s: s(x=rows(2)), ValueError, "'b' is missing"),
    "given twice": (lambda s: s(rows(2), BIAS, x=rows(2)), ValueError, "'x' is given twice"),
    "too many": (lambda s: s(rows(2), BIAS, BIAS), ValueError, "2 inputs .'x', 'b'., not 3"),
    "rank": (lambda s: s(rows(2)[0], BIAS), ValueError, "'x' cannot have the shape"),
    "size": (lambda s: s(rows(2), np.ones(4, np.float32)), ValueError, "'b' cannot have the shape"),
    "type": (lambda s: s(rows(2).astype(np.float64), BIAS), TypeError, "'x' has the type float32, not float64"),
    "byte order": (lambda s: s(rows(2).astype(">f4"), BIAS), TypeError, "'x' has the type float32, not >f4"),
    "text": (lambda s: s("rows", BIAS), TypeError, "'x' is no array"),
    "nothing": (lambda s: s(None, BIAS), TypeError, "'x' is no array"),
    "objects": (lambda s: s(np.array([object()]), BIAS), TypeError, "not object"),
    "one array": (lambda s: s.run(rows(2)), TypeError, "dictionary or a list"),
    "stream": (lambda s: s(rows(2), BIAS, stream="a"), TypeError, "not a stream"),
    "shape to warm up": (lambda s: s.warm_up([(2, 5), (3,)]), ValueError, "'x' cannot have the shape"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_inputs_get_an_exception_and_the_session_still_works(taso, product, name):
    session = taso.Session(product)
    call, kind, text = WRONG[name]
    with pytest.raises(kind, match=text) as raised:
        call(session)
    assert isinstance(raised.value, taso.Error) and raised.value.status == 2
    assert session(rows(2), BIAS)["y"].shape == (2, 3)


def test_wrong_models_and_options_get_an_exception(taso, convnet, tmp_path):
    with pytest.raises(FileNotFoundError):
        taso.Session(tmp_path / "missing.onnx")
    for junk in (b"", b"junk", convnet.read_bytes()[:1000]):
        with pytest.raises(taso.ModelError) as raised:
            taso.Session(junk)
        assert raised.value.status == 3
    with pytest.raises(TypeError):
        taso.Session(3)
    for options in ({"device": "tpu"}, {"precision": "int4"}, {"threads": -1}, {"optimize": "long"}, {"speed": 9}):
        with pytest.raises(taso.ArgumentError, match=next(iter(options))):
            taso.Session(convnet, **options)
    if "no GPU" in taso.devices():
        with pytest.raises(taso.UnavailableError, match="no GPU") as raised:
            taso.Session(convnet, device="cuda")
        assert raised.value.status == 6


def test_text_cannot_be_an_input(taso):
    session = taso.Session(model([helper.make_node("Identity", ["s"], ["t"]), helper.make_node("Relu", ["x"], ["y"])],
                                 [value("s", [1], TensorProto.STRING), value("x", [1])],
                                 [value("t", [1], TensorProto.STRING), value("y", [1])]))
    assert session.inputs[0].dtype is None
    with pytest.raises(TypeError, match="'s' has a type that cannot be run"):
        session(np.array(["a"]), np.ones(1, np.float32))


def test_messages_go_to_the_log(taso, convnet, caplog):
    with caplog.at_level(logging.DEBUG, logger="taso"):
        taso.Session(convnet)
    assert any("ready on" in record.getMessage() for record in caplog.records)
    lines = []
    taso.Session(convnet, log=lambda level, text: lines.append((level, text)))
    assert any("ready on" in text for _, text in lines) and all(level in (0, 1, 2) for level, _ in lines)
    caplog.clear()
    taso.Session(convnet, log=False)
    assert not caplog.records


def test_a_log_function_that_fails_does_no_harm(taso, convnet, monkeypatch):
    seen = []
    monkeypatch.setattr("sys.unraisablehook", seen.append)

    def fail(level, text):
        raise KeyError(text)

    assert taso.Session(convnet, log=fail)(PICTURE)["classes"].shape == (1, 10)
    assert seen and seen[0].exc_type is KeyError


def test_a_log_function_may_refer_to_the_session(taso, convnet):
    class Owner:
        def log(self, level, text):
            pass

    owner = Owner()
    owner.session = taso.Session(convnet, log=owner.log)
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_it_optimises_while_it_loads(taso, convnet):
    lines = []
    session = taso.Session(convnet, optimize=0.5, log=lambda level, text: lines.append(text))
    wanted = expected(convnet, {"image": PICTURE})["classes"]
    np.testing.assert_allclose(session(PICTURE)["classes"], wanted, rtol=1e-3, atol=1e-4)
    assert any("search" in line for line in lines)


def test_an_engine_file_is_saved_and_loaded(taso, convnet, tmp_path):
    session = taso.Session(convnet)
    session.save_engine(tmp_path / "model.taso")
    loaded = taso.Session(tmp_path / "model.taso")
    assert loaded.inputs == session.inputs and (loaded(PICTURE)["classes"] == session(PICTURE)["classes"]).all()
    with pytest.raises(taso.UnavailableError):
        session.save_engine(tmp_path / "no folder" / "model.taso")


@pytest.mark.full
def test_an_engine_file_may_exceed_2_gb(taso, tmp_path):
    rows, width, parts = 150_000, 1024, 4
    weights, nodes = [], []
    with open(tmp_path / "large.data", "wb") as file:  # mostly holes
        for i in range(parts):
            place = {"location": "large.data", "offset": i * rows * width * 4, "length": rows * width * 4}
            weight = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[rows, width],
                                 data_location=TensorProto.EXTERNAL)
            for key, text in place.items():
                weight.external_data.add(key=key, value=str(text))
            weights.append(weight)
            nodes.append(helper.make_node("Gather", [f"w{i}", "rows"], [f"y{i}"]))
            file.seek(place["offset"] + (rows - 1) * width * 4)
            file.write(np.full(width, i + 1, np.float32).tobytes())
    outputs = [value(f"y{i}", ["n", width]) for i in range(parts)]
    large = model(nodes, [value("rows", ["n"], TensorProto.INT64)], outputs, weights)
    (tmp_path / "large.onnx").write_bytes(large.SerializeToString())
    taso.Session(tmp_path / "large.onnx", device="cpu").save_engine(tmp_path / "large.taso")
    assert (tmp_path / "large.taso").stat().st_size > 1 << 31
    results = taso.Session(tmp_path / "large.taso", device="cpu")(np.array([0, rows - 1]))
    for i, result in enumerate(results.values()):
        assert (result[0] == 0).all() and (result[1] == i + 1).all()


def test_the_execution_provider_is_named_or_missed(taso):
    try:
        assert taso.ep_library_path().endswith("libtaso_onnxruntime.so")
    except taso.UnavailableError as error:
        assert "execution provider" in str(error)
