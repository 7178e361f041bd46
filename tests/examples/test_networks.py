"""The benchmark networks are valid, have the parameters and the arithmetic of their papers, run, and pass through
taso-opt."""

import dataclasses
import hashlib
import pathlib
import re
import subprocess
import sys

import numpy
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "onnx"))
import runtime_comparison  # noqa: E402


@dataclasses.dataclass
class Expected:
    parameters: int
    giga: float = None  # published multiply-adds, in billions
    small: tuple = ()  # options of the smallest variant
    batch: int = 2
    opset: int = 17
    largest: float = 10  # deviation of its outputs

    def __post_init__(self):
        self.small = ("--blocks", 1, *self.small)


def ssd_parameters():
    """NVIDIA publishes the layout, not the sum."""
    trunk = 25_557_032 - 14_964_736 - 2_049_000  # ResNet-50 without its last stage and its classifier
    maps, widths = [1024, 512, 512, 256, 256, 256], [256, 256, 128, 128, 128]
    more = sum(before * width + 2 * width + 9 * width * after + 2 * after
               for before, after, width in zip(maps, maps[1:], widths))
    heads = sum(9 * channels * boxes * 85 + boxes * 85 for channels, boxes in zip(maps, [4, 6, 6, 6, 4, 4]))
    return trunk + more + heads


def csrnet_parameters():
    """The paper has the layout, not the sum."""
    widths = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512, 256, 128, 64]
    return sum((9 * before + 1) * after for before, after in zip(widths, widths[1:])) + 64 + 1


def unet_block_parameters():
    """Two convolutions, four products and three group norms in each of the two blocks."""
    width = 320
    return 2 * (2 * (9 * width + 1) * width + 4 * (width + 1) * width + 3 * 2 * width)


def llama_small_parameters():
    """Four matrices of attention, three of the feed-forward part and two norms in each of the eight layers."""
    width, inner = 512, 1408
    return 8 * (4 * width * width + 3 * width * inner + 2 * width) + width


def moe_parameters():
    """The norm, the gate, and 32 experts with three matrices each."""
    width, inner, experts = 1024, 512, 32
    return experts * 3 * width * inner + experts * width + width


# torchvision publishes parameters and operations of its models, Hugging Face and timm the parameters of theirs, and the
# NASNet paper its operations.
TINY = ("--image-size", 32)
NETWORKS = {
    "resnet18": Expected(11_689_512, 1.81, TINY),
    "resnet50": Expected(25_557_032, 4.09, TINY),
    "resnext50": Expected(25_028_904, 4.23, TINY),
    "resnet3d_18": Expected(33_371_472, 40.70, ("--image-size", 16)),
    "csrnet": Expected(csrnet_parameters(), None, TINY),
    "inception_v3": Expected(23_834_568, 5.71, ("--image-size", 75)),
    "squeezenet1_1": Expected(1_235_496, 0.35, TINY),
    "mobilenet_v2": Expected(3_504_872, 0.30, TINY),
    "densenet121": Expected(7_978_856, 2.83, TINY),
    "nasnet_mobile": Expected(5_289_978, 0.564, TINY),
    "nasnet_large": Expected(88_753_150, 23.8, TINY),
    "nasrnn": Expected(5 * 16 * 512 * 512),
    "nas_cell": Expected(16 * 512 * 512),
    "bert_base": Expected(109_482_240, None, ("--sequence", 8)),
    "bert_large": Expected(335_141_888, None, ("--sequence", 8)),
    "vit_b_16": Expected(86_567_656, 17.56, TINY),
    "ssd300_resnet50": Expected(ssd_parameters(), None, ("--image-size", 257), batch=1),
    "unet_block": Expected(unet_block_parameters(), None, ("--image-size", 8), opset=20),
    "llama_small": Expected(llama_small_parameters(), None, ("--sequence", 8), opset=20),
    # Without the table of words, which is the last product's matrix too.
    "llama_1b": Expected(1_235_814_400 - 128_256 * 2048, None, ("--sequence", 8), batch=1, opset=20),
    "efficientnet_b0": Expected(5_288_548, 0.39, TINY, opset=20),
    "convnext_tiny": Expected(28_589_128, 4.46, TINY, opset=20),
    "swin_tiny": Expected(28_288_354, 4.49, ("--image-size", 48), opset=20),
    "distilbert": Expected(66_362_880, None, ("--sequence", 8), opset=20),
    "whisper_tiny": Expected(8_208_384, None, ("--sequence", 20), opset=20),
    "gpt2": Expected(124_439_808, None, ("--sequence", 8), opset=20),
    # Ultralytics counts additions too: 8.7 billion operations.
    "yolov8n": Expected(3_157_200, 8.7 / 2, ("--image-size", 64), opset=20, largest=100),
    "diffusion_unet": Expected(859_520_964, None, ("--image-size", 16, "--width", 32), opset=20),
    "moe_block": Expected(moe_parameters(), None, ("--sequence", 3), opset=20),
}
EXPORTED = [name for name, expected in NETWORKS.items() if expected.opset >= 20]


@pytest.fixture(scope="session")
def networks(programs):
    def run(*arguments, code=0):
        done = subprocess.run([programs / "taso-networks", *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


@pytest.fixture(scope="session")
def small(networks, tmp_path_factory):
    """The smallest variant of a network."""
    folder = tmp_path_factory.mktemp("networks")

    def write(name):
        path = folder / f"{name}.onnx"
        if not path.exists():
            networks(name, "-o", path, "--batch", NETWORKS[name].batch, *NETWORKS[name].small)
        return path

    return write


def listed(networks, *arguments):
    """Parameters and nodes by network, from --list."""
    rows = [line.split() for line in networks("--list", *arguments).splitlines()[1:]]
    return {row[0]: (int(row[1].replace(",", "")), int(row[2].replace(",", ""))) for row in rows}


def parameters_of(model):
    # Of a batch norm that is folded into a convolution, one number of two is left.
    return sum(int(numpy.prod(tensor.dims)) * (2 if tensor.name.endswith(".folded_bias") else 1)
               for tensor in model.graph.initializer
               if not tensor.name.startswith("val_") and not tensor.name.endswith((".running_mean", ".running_var")))


def multiplications(model):
    """Multiplications in convolutions and products, from the inferred shapes."""
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    shapes = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    for info in [*model.graph.value_info, *model.graph.input, *model.graph.output]:
        shapes[info.name] = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
    total = 0
    for node in model.graph.node:
        if node.op_type in ("Conv", "MatMul", "Gemm"):
            results = int(numpy.prod(shapes[node.output[0]]))
            weight = shapes[node.input[1]]
            total += results * (int(numpy.prod(weight[1:])) if node.op_type == "Conv" else shapes[node.input[0]][-1])
    return total


def inputs_for(session, seed):
    generator = numpy.random.default_rng(seed)
    feed = runtime_comparison.random_inputs(session, seed)
    if "input_ids" in feed:
        feed["input_ids"] = generator.integers(0, 30_522, feed["input_ids"].shape)
    return feed


def test_the_list_is_the_published_one(networks):
    assert {name: count for name, (count, _) in listed(networks).items()} == \
        {name: expected.parameters for name, expected in NETWORKS.items()}


@pytest.mark.parametrize("name", [name for name, expected in NETWORKS.items() if expected.giga])
def test_the_full_network_has_the_published_size_and_arithmetic(networks, tmp_path, name):
    path = tmp_path / "full.onnx"
    networks(name, "-o", path, "--type", "float16")
    model = onnx.load(path)
    path.unlink()
    assert parameters_of(model) == NETWORKS[name].parameters
    assert len(model.graph.node) == listed(networks, name)[name][1]
    for tensor in model.graph.initializer:
        if not tensor.name.startswith("val_"):  # constants: shapes are computed from them
            tensor.ClearField("raw_data")
    assert multiplications(model) / 1e9 == pytest.approx(NETWORKS[name].giga, rel=0.01, abs=0.005)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_valid_and_runs(networks, small, name):
    model = onnx.load(small(name))
    onnx.checker.check_model(model, full_check=True)
    opset = NETWORKS[name].opset
    assert (model.ir_version, [entry.version for entry in model.opset_import]) == (8 if opset == 17 else 10, [opset])
    assert parameters_of(model) == listed(networks, name, *NETWORKS[name].small)[name][0]
    session = runtime_comparison.open_session(small(name))
    feeds = [inputs_for(session, seed) for seed in (1, 2)]
    for first, second, declared in zip(*(session.run(None, feed) for feed in feeds), session.get_outputs()):
        assert list(first.shape) == declared.shape
        assert numpy.isfinite(first).all()
        # Of reasonable size, and different for different elements and inputs.
        assert 0.01 < first.std() < NETWORKS[name].largest
        assert len(numpy.unique(first)) > first.size / 3
        assert numpy.abs(first - second).mean() > 0.02 * first.std()


@pytest.mark.parametrize("name", NETWORKS)
def test_taso_opt_takes_a_network(taso_opt, small, tmp_path, name):
    outcome = runtime_comparison.compare(taso_opt, small(name), tmp_path / "out.onnx")
    assert (outcome.kind, outcome.reason) == ("equal", "")


@pytest.mark.parametrize("name", ["resnet50", "nasnet_mobile", "ssd300_resnet50"])
def test_depth_does_not_blow_up_what_rounding_does(networks, taso_opt, tmp_path, name):
    """Folded batch norms round differently; after all layers the difference is still far below the tolerance of the
    check."""
    networks(name, "-o", tmp_path / "full.onnx")
    done = subprocess.run([taso_opt, tmp_path / "full.onnx", "-o", tmp_path / "out.onnx", "--budget", "0"],
                          capture_output=True, text=True)
    worst = re.search(r"largest difference ([\d.]+) % of the tolerance", done.stderr)
    assert worst and float(worst.group(1)) < 50, done.stderr


def test_a_detector_has_all_its_boxes(networks, tmp_path):
    networks("ssd300_resnet50", "-o", tmp_path / "ssd.onnx", "--type", "float16", "--blocks", 1)
    outputs = onnx.load(tmp_path / "ssd.onnx").graph.output
    assert [[dim.dim_value for dim in output.type.tensor_type.shape.dim] for output in outputs] == \
        [[1, 4, 8732], [1, 81, 8732]]


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "double"])
def test_every_element_type_is_valid(networks, tmp_path, kind):
    """For one network of each set of operators. ONNX Runtime has few CPU kernels for these types."""
    names = ["mobilenet_v2", "inception_v3", "nasnet_mobile", "nas_cell", "vit_b_16", "resnet3d_18", "unet_block",
             "llama_small", "efficientnet_b0", "convnext_tiny", "swin_tiny", "whisper_tiny", "yolov8n",
             "diffusion_unet"]
    # The tables of texts alone have hundreds of MB in double.
    for name in names + (["bert_base", "distilbert", "gpt2"] if kind != "double" else []) + \
            (["moe_block"] if kind == "float16" else []):
        path = tmp_path / "typed.onnx"
        networks(name, "-o", path, "--type", kind, *NETWORKS[name].small)
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        expected = {"float16": 10, "bfloat16": 16, "double": 11}[kind]
        assert {tensor.data_type for tensor in model.graph.initializer
                if not tensor.name.startswith("val_")} == {expected}


def test_half_precision_keeps_to_its_range(networks, tmp_path):
    for name in ("resnet50", "nasnet_mobile"):
        networks(name, "-o", tmp_path / "half.onnx", "--type", "float16", *TINY)
        session = runtime_comparison.open_session(tmp_path / "half.onnx")
        assert all(numpy.isfinite(result).all() for result in session.run(None, inputs_for(session, 1)))


@pytest.mark.parametrize("name", ["squeezenet1_1", "nas_cell", "bert_base", "vit_b_16", "ssd300_resnet50",
                                  "resnet3d_18", "csrnet", "unet_block", "llama_small", "swin_tiny", "distilbert",
                                  "whisper_tiny", "gpt2", "yolov8n", "diffusion_unet", "moe_block"])
def test_an_open_batch_computes_the_same(networks, small, tmp_path, name):
    networks(name, "-o", tmp_path / "open.onnx", "--batch", "N", *NETWORKS[name].small)
    onnx.checker.check_model(onnx.load(tmp_path / "open.onnx"), full_check=True)
    fixed, opened = (runtime_comparison.open_session(path) for path in (small(name), tmp_path / "open.onnx"))
    assert {entry.shape[0] for entry in [*opened.get_inputs(), *opened.get_outputs()]} == {"N"}
    feed = inputs_for(fixed, 3)
    for expected, actual in zip(fixed.run(None, feed), opened.run(None, feed)):
        numpy.testing.assert_array_equal(expected, actual)


@pytest.mark.parametrize("opset, name, operators", [
    (20, "unet_block", {"InstanceNormalization": 3, "Softmax": 1}),
    (21, "unet_block", {"GroupNormalization": 3, "Softmax": 1}),
    (23, "unet_block", {"GroupNormalization": 3, "Attention": 1}),
    (20, "llama_small", {"ReduceMean": 3, "Softmax": 1}),
    (23, "llama_small", {"RMSNormalization": 3, "Attention": 1}),
])
def test_a_newer_opset_has_fewer_nodes_and_computes_the_same(networks, small, tmp_path, opset, name, operators):
    path = tmp_path / "newer.onnx"
    networks(name, "-o", path, "--batch", NETWORKS[name].batch, "--opset", opset, *NETWORKS[name].small)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == opset
    types = [node.op_type for node in model.graph.node]
    assert {kind: types.count(kind) for kind in operators} == operators
    before, after = runtime_comparison.open_session(small(name)), runtime_comparison.open_session(path)
    feed = inputs_for(before, 4)
    assert runtime_comparison.same(before.run(None, feed), after.run(None, feed))


def test_a_decoder_turns_keys_by_their_position_and_appends_them(small):
    session = runtime_comparison.open_session(small("llama_small"))
    feed = inputs_for(session, 5)
    names = [output.name for output in session.get_outputs()]

    def present(position):
        feed["position_ids"] = numpy.full_like(feed["position_ids"], position)
        return dict(zip(names, session.run(None, feed)))

    first, later = present(0), present(7)
    for part in ("key", "value"):
        numpy.testing.assert_array_equal(later[f"present.0.{part}"][:, :, :-1], feed[f"past_key_values.0.{part}"])
    numpy.testing.assert_array_equal(first["present.0.value"], later["present.0.value"])
    old, new = (result["present.0.key"][:, :, -1] for result in (first, later))
    turns = 7 / 10_000 ** (numpy.arange(32) / 32)
    expected = (old[..., :32] + 1j * old[..., 32:]) * numpy.exp(1j * turns)
    numpy.testing.assert_allclose(numpy.concatenate([expected.real, expected.imag], -1), new, atol=1e-5)


def test_blocks_repeat_evenly(networks):
    """So that search times over 1, 2, 4 and 8 blocks show how they grow."""
    counts = [listed(networks, "--blocks", blocks) for blocks in (1, 2, 4, 8)]
    for name in NETWORKS:
        one, two, four, eight = (nodes[name][1] for nodes in counts)
        assert two > one
        assert (four - two, eight - four) == (2 * (two - one), 4 * (two - one)), name


# Hashes of the names and bytes of all parameters; the bytes of files may differ between versions of protobuf.
DIGESTS = {
    ("squeezenet1_1", "float32"): "c7c37c26f8b689ad",
    ("densenet121", "float16"): "23c0ed6996d91fa5",
    ("densenet121", "bfloat16"): "adbfc77998797bdf",
    ("densenet121", "double"): "aeec33ccd6ad7cf9",
}


@pytest.mark.parametrize("name, kind", DIGESTS)
def test_parameters_are_the_same_on_every_machine(networks, tmp_path, name, kind):
    paths = [tmp_path / "first.onnx", tmp_path / "second.onnx", tmp_path / "other.onnx"]
    for path, seed in zip(paths, (1, 1, 2)):
        networks(name, "-o", path, "--type", kind, "--seed", seed, *NETWORKS[name].small)
    first, second, other = (path.read_bytes() for path in paths)
    assert first == second and first != other
    digest = hashlib.sha256()
    for tensor in onnx.load_from_string(first).graph.initializer:
        digest.update(tensor.name.encode() + tensor.raw_data)
    assert digest.hexdigest()[:16] == DIGESTS[name, kind]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "no network is named"),
        (["resnet50"], "no output is given"),
        (["resnet5", "-o", "x.onnx"], "did you mean 'resnet50'"),
        (["resnet50", "-o", "x.onnx", "--image-size", 31], "32 to 4096"),
        (["resnet50", "-o", "x.onnx", "--sequence", 8], "no sequence length"),
        (["vit_b_16", "-o", "x.onnx", "--image-size", 40], "a multiple of 16"),
        (["bert_base", "-o", "x.onnx", "--sequence", 513], "up to 512"),
        (["nasrnn", "-o", "x.onnx", "--image-size", 64], "no images"),
        (["resnet50", "-o", "x.onnx", "--opset", 21], "opset 17 only"),
        (["unet_block", "-o", "x.onnx", "--opset", 24], "20 to 23"),
        (["moe_block", "-o", "x.onnx", "--type", "bfloat16"], "no bfloat16"),
        (["unet_block", "-o", "x.onnx", "--width", 32], "cannot be chosen"),
        (["diffusion_unet", "-o", "x.onnx", "--width", 40], "a multiple of 32"),
        (["bert_base", "-o", "x.onnx", "--static-cache"], "no decoder"),
        (["bert_base", "-o", "x.onnx", "--open-past"], "no decoder"),
        (["gpt2", "-o", "x.onnx", "--open-past", "--static-cache"], "cannot be combined"),
        (["gpt2", "-o", "x.onnx", "--open-past", "--batch", "N"], "cannot be combined"),
        (["resnet50", "-o", "x.onnx", "--batch", 0], "at least 1"),
        (["resnet50", "-o", "x.onnx", "--batch", "two words"], "a number or a name"),
        (["resnet50", "-o", "x.onnx", "--blocks", 0], "at least 1"),
        (["resnet50", "-o", "x.onnx", "--type", "int8"], "float32, float16, bfloat16 or double"),
        (["resnet50", "--all", "x"], "cannot be combined with a name"),
        (["--list", "-o", "x.onnx"], "writes no file"),
    ],
)
def test_what_makes_no_sense_is_refused(networks, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert words in networks(*arguments, code=2)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_said(networks, tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in networks("--all", tmp_path / "file", code=6)
    networks("nas_cell", "-o", tmp_path / "nowhere" / "x.onnx", code=6)


def test_all_are_written_at_once(networks, tmp_path):
    networks("--all", tmp_path / "all", "--type", "float16", "--blocks", 1, "--width", 32)
    assert sorted(path.stem for path in (tmp_path / "all").iterdir()) == sorted(NETWORKS)


def test_the_readme_shows_the_list(networks, source_folder):
    readme = (source_folder / "examples" / "README.md").read_text()
    shown = re.search(r"^```\n\$ \S*taso-networks --list\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert shown and shown.group(1) == networks("--list")
