"""The page of --html: complete, closed against whatever a model is called, and working in a browser."""

import html.parser
import json
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import helper

import browser
from opt_models import floats, model_of, run, save, weight, with_identity
from test_search import MERGING, projections, rules  # noqa: F401: a fixture

in_browser = pytest.mark.skipif(browser.CHROMIUM is None, reason="there is no Chromium here")

HERE = pathlib.Path(__file__).resolve().parent
HOSTILE = "</script><img src='http://example.com/x' onerror='window.hit=1'><!--\u2028\"'&amp;\\u003c${1}"


@pytest.fixture
def page(taso_opt, tmp_path):
    """Writes the page of a model; returns its file."""

    def page(model, *arguments, name="model.onnx", code=0):
        file = model if isinstance(model, type(tmp_path)) else save(model, tmp_path / name)
        done = run(taso_opt, file, "--dry-run", "--html", tmp_path / "page.html", "--report", tmp_path / "report.json",
                   *arguments)
        assert done.code == code, done
        return tmp_path / "page.html"

    return page


@pytest.fixture
def opened(tmp_path_factory):
    """Opens a page in a browser, which ends with the test. It must not complain or ask for anything."""
    pages = []

    def opened(file, **options):
        pages.append(browser.Page(file, tmp_path_factory.mktemp("browser"), **options))
        return pages[-1]

    yield opened
    for one in pages:
        messages, requests = one.messages, one.requests
        one.__exit__()
        assert messages == [] and requests == [], (messages, requests)


class Elements(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.data, self.inside = [], {}, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.inside = dict(attributes).get("id") if tag == "script" else None

    def handle_data(self, data):
        if self.inside:
            self.data[self.inside] = self.data.get(self.inside, "") + data

    def handle_endtag(self, tag):
        self.inside = None


def data_of(file):
    elements = Elements(file.read_text())
    return json.loads(elements.data["report"]), json.loads(elements.data["details"])


def test_the_page_says_by_what_a_rule_written_by_hand_is_proved(page, source_folder):
    random = np.random.default_rng(1)
    nodes = [helper.make_node("Tanh", ["x"], ["t"])]
    for name in "qkv":
        nodes += [helper.make_node("MatMul", ["t", f"w{name}"], [f"p{name}"]),
                  helper.make_node("Add", [f"p{name}", f"b{name}"], [f"y{name}"])]
    weights = [weight(f"w{name}", random.normal(size=(8, 4))) for name in "qkv"]
    weights += [weight(f"b{name}", random.normal(size=4)) for name in "qkv"]
    model = model_of(nodes, [floats("x", [16, 8])], [floats(f"y{name}", [16, 4]) for name in "qkv"], weights)
    _, details = data_of(page(model, *MERGING, "--rules", source_folder / "rules" / "networks.rules"))
    assert details["rules"]["matmul-bias-shared-factor"]["by"]


def test_the_page_contains_the_report_and_needs_nothing_else(page, rules, tmp_path):  # noqa: F811
    file = page(projections(), *MERGING, "--rules", rules)
    report, details = data_of(file)
    assert report == json.loads((tmp_path / "report.json").read_text())
    for tag, attributes in Elements(file.read_text()).found:
        assert "src" not in attributes and tag not in ("link", "img", "iframe", "object"), (tag, attributes)
        assert attributes.get("href", "#").startswith("#")
    assert "default-src 'none'" in file.read_text()
    assert [node["fate"] for node in details["before"]["nodes"]] == ["same"] + 3 * ["replaced"] + 3 * ["same"]
    assert sorted(node["op"] for node in details["after"]["nodes"] if node["fate"] == "made") == ["MatMul", "Split"]
    region, = details["regions"]
    assert len(region["steps"]) == len(details["steps"]) == 2
    assert region["saved"] == pytest.approx(report["search"]["applied"][0]["saved"])
    rule = details["rules"]["shared-left-factor"]
    assert rule["source"] == "x·y,  x·z" and rule["target"] == "x·[y | z] cut between columns at y.1"
    # Every kernel belongs to a node, and all of them together take the predicted time.
    for which in ("before", "after"):
        kernels = details[which]["kernels"]
        assert all(kernel["nodes"] for kernel in kernels)
        last = max(kernel["end"] for kernel in kernels)
        assert last == pytest.approx(report[which]["predicted"]["seconds"], rel=1e-6)


def test_equal_changes_are_found_once(page, rules):  # noqa: F811
    nodes, names = [], []
    for block in range(4):  # the last has another size
        last = names[-1] if names else "x"
        nodes += [helper.make_node("Relu", [last], [f"r{block}"])]
        nodes += [helper.make_node("MatMul", [f"r{block}", f"{name}{block}"], [f"p{name}{block}"]) for name in "qk"]
        nodes += [helper.make_node("Add", [f"pq{block}", f"pk{block}"], [f"s{block}"]),
                  helper.make_node("Softmax", [f"s{block}"], [f"y{block}"])]
        names.append(f"y{block}")
    random = np.random.default_rng(2)
    weights = [weight(f"{name}{block}", random.standard_normal((8, 8 if block < 3 else 4)))
               for block in range(4) for name in "qk"]
    model = model_of(nodes, [floats("x", [16, 8])], [floats("y3", [16, 4])], weights)
    _, details = data_of(page(model, *MERGING, "--rules", rules))
    likes = [region["like"] for region in details["regions"]]
    assert sorted(likes.count(like) for like in set(likes)) == [1, 3], likes


def hostile_model():
    """Names that would end the script, start an element, or confuse a template."""
    nodes = [helper.make_node("Relu", [HOSTILE], ["a" + HOSTILE], name=HOSTILE),
             helper.make_node(HOSTILE, ["a" + HOSTILE], ["<!-- data -->"], domain="org." + HOSTILE, name="<b>x</b>"),
             helper.make_node("Identity", ["<!-- data -->"], ["y"])]
    model = model_of(nodes, [floats(HOSTILE, [2, 3])], [floats("y", [2, 3])])
    model.opset_import.add(domain="org." + HOSTILE, version=1)
    return model


def test_no_name_becomes_markup(page):
    file = page(hostile_model(), "--check", "0")
    elements = Elements(file.read_text())
    assert not {"img", "b"} & {tag for tag, _ in elements.found}
    _, details = data_of(file)
    assert details["before"]["nodes"][0]["name"] == HOSTILE


@in_browser
def test_no_name_runs(page, opened):
    shown = opened(page(hostile_model(), "--check", "0"))
    assert shown.run("window.hit") is None
    assert shown.run("document.querySelectorAll('img').length") == 0
    assert "not part of ONNX" in shown.text("#opaque-table")
    shown.click("#graph-before .node", 1)
    assert HOSTILE[:20] in shown.text("#panel")


@in_browser
def test_clicks_show_what_is_known(page, opened, rules):  # noqa: F811
    shown = opened(page(projections(), *MERGING, "--rules", rules))
    assert "PASSED" in shown.text("#headline") and "times as fast" in shown.text("#headline")
    assert "3 MatMul → MatMul, Split" in shown.text("#regions")
    assert shown.run("document.querySelectorAll('#graph-before .node.replaced').length") == 3
    assert shown.run("document.querySelectorAll('#graph-after .node.made').length") == 2
    shown.click("#graph-before .node.replaced")
    panel = shown.text("#panel")
    assert "Before: MatMul" in panel and "float32[8, 4], weight" in panel and "shared-left-factor" in panel, panel
    assert "x.1 = y.0" in shown.text("#rules-here") and "4 evident conditions" in shown.text("#rules-here")
    assert "4 >= 1" not in shown.text("#rules-here")
    shown.click("#rules-here details summary")
    assert "y.1 >= 1" in shown.text("#rules-here") and "4 >= 1" in shown.text("#rules-here")
    shown.click("#views button", 1)
    assert shown.run("document.querySelector('#workbench').classList.contains('whole')") is True
    shown.click("#timeline canvas")
    assert "price" in shown.text("#kernel-panel")
    shown.click("#kernel-panel button.link")
    assert "Before:" in shown.text("#panel")
    for section in ("glance", "changes", "time", "search", "opaque", "refused", "run"):
        assert len(shown.text(f"#{section}").split()) > 5, section


def test_every_kind_of_kernel_has_a_colour_and_a_name(source_folder):
    source = (source_folder / "cost" / "plan" / "kernel.cpp").read_text()
    kinds = re.findall(r'return "([^"]+)"', source.split("name_of(Kernel::Kind kind) {")[1].split("\n}")[0])
    assert len(kinds) > 6
    page = source_folder / "cli" / "details" / "page"
    style, script = (page / "page.css").read_text(), (page / "kernels.js").read_text()
    for kind in kinds:
        assert style.count(f"--{kind.replace('-', '_')}: #") == 2, kind  # light and dark
        assert re.search(rf'^  "?{kind}"?: "', script, re.MULTILINE), kind


@in_browser
def test_the_readers_colours_are_used(page, opened):
    file = page(projections(), "--budget", "0")
    colours = {opened(file, dark=dark).run("getComputedStyle(document.body).backgroundColor") for dark in (False, True)}
    assert len(colours) == 2


def test_the_page_is_named_at_the_end(taso_opt, source_folder, tmp_path):
    done = run(taso_opt, source_folder / "examples/small_convnet.onnx", "--dry-run", "--html", tmp_path / "page.html")
    assert done.code == 0 and f"\npage: {tmp_path}/page.html\n" in done.err, done


@in_browser
def test_nothing_changed_is_a_page_too(page, opened):
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [floats("x", [2, 3])], [floats("y", [2, 3])])
    shown = opened(page(model))
    assert "no faster graph found" in shown.text("#headline")
    assert shown.text("#course") == "None of these graphs is cheaper than the one that the search started from."
    assert shown.run("document.querySelectorAll('#graph-before .node').length") == 2  # the input and the operator


@in_browser
@pytest.mark.parametrize("network", ["resnet50", "bert_base"])
def test_networks_open_at_once(network, page, opened, taso_networks, tmp_path):
    file = tmp_path / f"{network}.onnx"
    assert run(taso_networks, network, "-q", "-o", file).code == 0
    shown = opened(page(file, "--check", "0", "--budget", "60"))
    assert shown.seconds < 2
    shown.click("#views button", 1)
    assert shown.run("document.querySelectorAll('#graph-before .node').length") > 5
    if network == "bert_base":
        assert "×12" in shown.run("document.querySelector('#regions').textContent")
        shown.click("#graph-before .node.block")  # opens
        assert shown.run("expanded.before.size") > 1


@in_browser
def test_thousands_of_nodes_stay_fluid(page, opened):
    nodes, last = [], "x"
    for i in range(2000):  # 6,000 nodes with branches
        nodes += [helper.make_node("Sigmoid", [last], [f"a{i}"]), helper.make_node("Relu", [f"a{i}"], [f"b{i}"]),
                  helper.make_node("Mul", [last, f"b{i}"], [f"c{i}"])]
        last = f"c{i}"
    model = model_of(nodes, [floats("x", [4])], [floats(last, [4])])
    shown = opened(page(model, "--check", "0", "--budget", "0"))
    assert shown.seconds < 3
    shown.click("#graph-before .node.block")  # all of them
    milliseconds = shown.run("""(() => {
        const host = document.querySelector("#graph-before"), start = performance.now();
        for (let i = 0; i < 20; ++i) { host.scrollTop = host.scrollHeight * i / 20; windows.before.draw(); }
        return (performance.now() - start) / 20;
    })()""")
    assert milliseconds < 50 and shown.run("expanded.before.size") == 6000
    assert 3 < shown.run("document.querySelectorAll('#graph-before .node').length") < 100
    assert shown.run("windows.before.laid.width") < 1000  # it does not drift to one side


@in_browser
def test_benchmarks_have_a_page_too(programs, opened, tmp_path):
    file = save(projections(), tmp_path / "model.onnx")
    done = run(programs / "taso-bench", file, file, "--device", "cpu", "--runs", "4", "--html", tmp_path / "bench.html")
    assert done.code == 0, done
    shown = opened(tmp_path / "bench.html")
    assert re.search(r"^(No difference beyond noise between model.onnx and model.onnx|model.onnx is \d\.\d{3} times as "
                     r"fast as model.onnx \(.*\)): [\d.]+ (µs|ms) against [\d.]+ (µs|ms).*\.$",
                     shown.text("#headline"), re.MULTILINE), shown.text("#headline")
    assert "schema_version" not in shown.text("body")  # the data is not to be seen
    assert "model.onnx" in shown.text("#times") and "on a GPU only" in shown.text("#kernels-note")


@in_browser
def test_measured_kernels_stand_beside_predicted_ones(opened, programs, tmp_path):
    """There is no GPU here: its figures are put into the page of a run without one."""
    file = save(projections(), tmp_path / "model.onnx")
    assert run(programs / "taso-bench", file, "--device", "cpu", "--html", tmp_path / "bench.html").code == 0
    page = (tmp_path / "bench.html").read_text()
    kernels = [{"operators": f"matmul {HOSTILE}", "choice": "cuBLAS 7", "predicted": 2.0 * i, "measured": 2.5 * i * i}
               for i in range(1, 9)]
    mark = '"on_host": []'
    assert page.count(mark) == 1
    inserted = json.dumps(kernels).replace("<", "\\u003c")
    (tmp_path / "bench.html").write_text(page.replace(mark, f'{mark}, "profile": {inserted}'))
    shown = opened(tmp_path / "bench.html")
    assert shown.run("document.querySelectorAll('#profiles circle').length") == 8
    assert "72.0 µs predicted" in shown.text("#profiles") and "cuBLAS 7" in shown.text("#profiles")


@in_browser
def test_a_benchmark_says_in_one_sentence_which_model_is_faster(opened, programs, tmp_path):
    file = save(projections(), tmp_path / "model.onnx")
    assert run(programs / "taso-bench", file, file, "--device", "cpu", "--html", tmp_path / "bench.html").code == 0
    page = (tmp_path / "bench.html").read_text()
    data = json.loads(Elements(page).data["data"])
    for model, name, median, predicted in zip(data["models"], ("in.onnx", "out.onnx"), (1812.4, 1450), (1700, 1500)):
        model.update(model=name, predicted_microseconds=predicted)
        model["microseconds"]["median"] = median

    def sentence(ratio, low, high):
        data["models"][1]["speed_against_first"] = {"ratio": ratio, "low": low, "high": high}
        changed = re.sub(r'(id="data">).*?(</script>)', lambda found: found[1] + json.dumps(data) + found[2], page,
                         flags=re.DOTALL)
        (tmp_path / "changed.html").write_text(changed)
        return opened(tmp_path / "changed.html").text("#headline .lead")

    assert sentence(1.25, 1.24, 1.26) == ("out.onnx is 1.250 times as fast as in.onnx (1.240 to 1.260): 1.45 ms "
                                          "against 1.81 ms; 1.133 was predicted.")
    assert sentence(1.002, 0.99, 1.02) == ("No difference beyond noise between out.onnx and in.onnx: 1.45 ms against "
                                           "1.81 ms (0.990 to 1.020 times as fast); 1.133 was predicted.")


@in_browser
@pytest.mark.parametrize("times, lead", [
    ("100 100 80", "1.25 times as fast in ONNX Runtime"),
    ("100 100 100", "The model stays as it is: nothing was faster in ONNX Runtime"),
])
def test_what_was_measured_in_onnx_runtime_comes_first(page, opened, tmp_path, monkeypatch, times, lead):
    program = tmp_path / "pretended"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "pretended_runtime.py"}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PRETENDED_TURNS", times)
    file = page(projections(), "--target", "onnxruntime", "--runtime-threads", "1", "--python", program, "--prices",
                tmp_path / "measured.prices")
    report, _ = data_of(file)
    shown = opened(file)
    assert shown.text("#headline .lead") == lead
    assert "CPU provider" in shown.text("#runtime") and "as read" in shown.text("#runtime")
    assert "with the search" in shown.text("#runtime") and "GPU" not in shown.text("main")
    if report["in_runtime"]["written"] == "search":
        assert report["in_runtime"]["search_seconds"] == pytest.approx(0.8 * report["in_runtime"]["original_seconds"])
        assert "100 ns" not in shown.text("#headline") and "measured: " in shown.text("#headline")
    else:
        assert "was not kept: in ONNX Runtime" in shown.text("#course") and report["verdict"] == "no faster graph kept"


@in_browser
def test_savings_add_up(page, opened, rules):  # noqa: F811
    file = page(projections(), *MERGING, "--rules", rules)
    report, _ = data_of(file)
    shown = opened(file)
    rows = shown.run("""[...document.querySelectorAll("#applied tbody tr")].map((row) =>
        [row.cells[0].innerText, row.cells[2].innerText])""")
    parts, sums = {}, {}
    for name, saved in rows:
        sign, number, unit = re.fullmatch(r"(−)?([\d.]+) (µs|ms)", saved).groups()
        value = float(number) * {"µs": 1, "ms": 1000}[unit] * (-1 if sign else 1)
        (sums if name in ("all rules", "predicted, sequential", "predicted, concurrent") else parts)[name] = value
    total = sums.get("predicted, concurrent", sums["predicted, sequential"])
    assert sum(parts.values()) == pytest.approx(total, rel=0.05)
    before, after = (report[which]["predicted"]["seconds"] for which in ("before", "after"))
    assert sums["predicted, sequential"] == pytest.approx(1e6 * (before - after), rel=.01)


def test_operators_that_clean_ups_leave_are_counted(page):
    report, _ = data_of(page(with_identity(), "--budget", "0"))
    assert report["cleaned_up"]["nodes"] == report["after"]["nodes"] < report["before"]["nodes"]


@in_browser
@pytest.mark.parametrize("width", [360, 480])
def test_nothing_is_wider_than_a_narrow_window(page, opened, source_folder, width):
    shown = opened(page(source_folder / "examples/small_convnet.onnx"), size=(width, 800))
    shown.run("document.querySelectorAll('details').forEach((one) => one.open = true)")
    assert shown.run("document.documentElement.scrollWidth") <= width
    wider = shown.run("""[...document.querySelectorAll("body *")].filter((one) => {
        const box = one.getBoundingClientRect();
        return box.right > innerWidth + 1 && !one.closest(".scroll, .graph");
    }).map((one) => one.outerHTML.slice(0, 80))""")
    assert wider == []


@in_browser
def test_long_names_break_in_a_narrow_window(page, opened):
    name = "encoder/" + 50 * "a"
    model = model_of([helper.make_node("Relu", ["x"], [name], name=name), helper.make_node("Tanh", [name], ["y"])],
                     [floats("x", [2, 3])], [floats("y", [2, 3])])
    shown = opened(page(model, name=f"{80 * 'm'}.onnx"), size=(360, 800))
    shown.click("#graph-before .node", 1)
    assert name in shown.text("#panel") and shown.run("document.documentElement.scrollWidth") <= 360


@in_browser
def test_wide_graphs_stand_one_below_the_other(page, opened):
    names = [f"b{i}" for i in range(24)]
    nodes = [helper.make_node("Identity", ["x"], ["i"])]
    nodes += [helper.make_node("Sigmoid" if i % 2 else "Tanh", ["i"], [name]) for i, name in enumerate(names)]
    nodes.append(helper.make_node("Concat", names, ["y"], axis=0))
    shown = opened(page(model_of(nodes, [floats("x", [1, 4])], [floats("y", [24, 4])]), "--budget", "0"))
    shown.click("#views button", 1)
    boxes = shown.run("""["before", "after"].map((which) => {
        const box = document.querySelector(`#graph-${which}`).getBoundingClientRect();
        return [box.top, box.bottom, box.width, windows[which].scale, windows[which].laid.width];
    })""")
    assert boxes[0][1] < boxes[1][0] and boxes[0][2] > 1000 and boxes[0][3] >= 0.75, boxes
    assert boxes[0][4] > boxes[0][2]
    shown.click("#zoom-before button", 2)  # the whole width
    width, scale, laid = shown.run("[windows.before.host.clientWidth, windows.before.scale, windows.before.laid.width]")
    assert laid * scale <= width + 1 and scale < 0.75


def test_the_host_and_its_share_are_told(taso_opt, tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Det", ["a"], ["b"]),
             helper.make_node("Tanh", ["b"], ["y"])]
    model = model_of(nodes, [floats("x", [2, 64, 64])], [floats("y", [2])])
    file = save(model, tmp_path / "model.onnx")
    done = run(taso_opt, file, "--dry-run", "--report", tmp_path / "report.json")
    assert re.search(r"^on the host: 1 Det \(no kernel\), [\d.]+ % of the predicted time \([\d.]+ (µs|ms)\)$", done.err,
                     re.MULTILINE), done
    told = json.loads((tmp_path / "report.json").read_text())["coverage"]["opaque"]
    assert [(one["operator"], one["on_host_because"], one["at"]) for one in told] == [("Det", "no kernel", ["b"])]
    assert told[0]["seconds"] > 0


def test_coverage_alone_writes_nothing(taso_opt, tmp_path):
    nodes = [helper.make_node("Slice", ["x", "begin", "end"], ["s"]), helper.make_node("Relu", ["s"], ["a"]),
             helper.make_node("NonZero", ["a"], ["y"])]
    inputs = [floats("x", ["N", 4])] + [helper.make_tensor_value_info(name, onnx.TensorProto.INT64, None)
                                        for name in ("begin", "end")]
    model = model_of(nodes, inputs, [helper.make_tensor_value_info("y", onnx.TensorProto.INT64, None)])
    file = save(model, tmp_path / "model.onnx")
    done = run(taso_opt, file, "--coverage", "--report", tmp_path / "report.json")
    assert done.code == 0 and done.err.startswith("understood "), done
    assert "NonZero" in done.err and "PASSED" not in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "report.json"]
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["verdict"] == "not optimised" and report["search"] is None and report["output"] is None
    for wrong in (["-o", tmp_path / "out.onnx"], ["--html", tmp_path / "page.html"]):
        assert run(taso_opt, file, "--coverage", *wrong).code == 2


def test_coverage_prints_its_table_even_if_quiet(taso_opt, tmp_path):
    save(with_identity(), tmp_path / "model.onnx")
    told = run(taso_opt, tmp_path / "model.onnx", "--coverage")
    quiet = run(taso_opt, tmp_path / "model.onnx", "--coverage", "-q")
    assert quiet.code == 0 and "understood" in quiet.err and quiet.err in told.err


def test_the_story_of_a_model(taso_opt, rules, tmp_path):  # noqa: F811
    file = save(projections(), tmp_path / "model.onnx")
    done = run(taso_opt, file, "--dry-run", "--explain", *MERGING, "--rules", rules)
    assert done.code == 0, done
    story = done.err[done.err.index("changes:"):]
    assert "3 MatMul → 1 MatMul, 1 Split, at p" in story, story
    assert "shared-left-factor, 2 times" in story
    assert "x·y,  x·z  ⇒  x·[y | z] cut between columns at y.1" in story
    assert "because x.1 = y.0: 8 = 8; and 4 evident conditions\n" in story
    assert "1 place in 1 way, from the model as read to the result" in story
    assert story.index("3 MatMul") < story.index("the search uses")
