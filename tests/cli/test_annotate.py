"""taso-opt --annotate: nodes that say where they come from."""

import onnx
import pytest
from onnx import helper

from opt_models import floats, model_of, run, save
from test_search import MERGING, projections, rules  # noqa: F401: a fixture


def notes(node):
    """Of a node, from its metadata or its documentation."""
    if node.metadata_props:
        return {entry.key: entry.value for entry in node.metadata_props}
    return dict(line.split(": ", 1) for line in node.doc_string.splitlines())


@pytest.fixture
def annotated(taso_opt, taso_verify, rules, tmp_path):  # noqa: F811
    def annotated(model):
        save(model, tmp_path / "model.onnx")
        done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", *MERGING, "--rules", rules,
                   "--annotate")
        assert done.code == 0, done
        done = run(taso_verify, "--certificate", tmp_path / "out.onnx.cert", tmp_path / "model.onnx",
                   tmp_path / "out.onnx", "--rules", rules)
        assert done.code == 0, done
        return onnx.load(tmp_path / "out.onnx")

    return annotated


def of_version(ir_version):
    model = projections()
    model.ir_version = ir_version
    for node in model.graph.node:
        node.name = "node of " + node.output[0]
    return model


@pytest.mark.parametrize("ir_version", [8, 10])
def test_new_nodes_name_their_rule_and_origin(annotated, ir_version):
    original = {node.name: node.SerializeToString() for node in of_version(ir_version).graph.node}
    model = annotated(of_version(ir_version))
    new = [node for node in model.graph.node if node.SerializeToString() not in original.values()]
    assert len(new) >= 2
    for node in new:
        assert bool(node.metadata_props) == (ir_version >= 10), node
        assert bool(node.doc_string) == (ir_version < 10)
        assert "shared-left-factor" in notes(node)["taso.rule"]
        origins = notes(node)["taso.from"].split(", ")
        assert len(origins) >= 2 and set(origins) <= set(original)
    kept = [node for node in model.graph.node if node.SerializeToString() in original.values()]
    assert kept and all("taso." not in str(node) for node in kept)


def test_documentation_of_others_stays(annotated):
    model = of_version(8)
    for node in model.graph.node:
        node.doc_string = "by hand"
    for node in annotated(model).graph.node:
        assert node.doc_string in ("by hand", "") or node.doc_string.startswith("taso.rule: ")


def test_an_annotated_model_can_be_optimised_again(annotated, taso_opt, tmp_path):
    annotated(of_version(10))
    done = run(taso_opt, tmp_path / "out.onnx", "-o", tmp_path / "again.onnx", "--annotate")
    assert done.code == 0 and "PASSED" in done.err or "no faster" in done.err.lower(), done
    assert "opaque" not in done.err


def test_what_nobody_changed_gets_no_notes(taso_opt, tmp_path):
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [floats("x", [2, 2])], [floats("y", [2, 2])])
    save(model, tmp_path / "model.onnx")
    done = run(taso_opt, tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--annotate")
    assert done.code == 0, done
    assert onnx.load(tmp_path / "out.onnx").graph == model.graph
