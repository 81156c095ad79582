"""ONNX's ops of classical models beside its reference, and beside ONNX Runtime where it is installed."""
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.errors import DataError

onnx = pytest.importorskip("onnx", reason="needs the onnx wheel: pip install 'stele-dl[onnx]'")

from onnx import TensorProto as T  # noqa: E402
from onnx import helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from stele.interop import onnx as so  # noqa: E402

NAN = float("nan")
X = np.array([[0.5, -1, 2], [3, 0.25, -2], [-1, 4, 0.5], [0.5, 0.5, 0.5]], "f4")
TREE: dict[str, Any] = {        # two trees: a stump, and one of five nodes
    "nodes_treeids": [0, 0, 0, 1, 1, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 0, 1, 2, 3, 4],
    "nodes_featureids": [0, 0, 0, 1, 2, 0, 0, 0], "nodes_values": [0.5, 0, 0, 0.5, 0.5, 0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LT", "BRANCH_GTE", "LEAF", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0, 1, 2, 0, 0, 0], "nodes_falsenodeids": [2, 0, 0, 4, 3, 0, 0, 0]}
REGRESSES = TREE | {"n_targets": 2, "target_treeids": [0, 0, 0, 1, 1, 1], "target_nodeids": [1, 2, 2, 2, 3, 4],
                    "target_ids": [0, 0, 1, 0, 0, 1], "target_weights": [1.0, -2, 0.5, 3, 4, -5]}
CLASSES = TREE | {"class_treeids": [0, 0, 1, 1, 1], "class_nodeids": [1, 2, 2, 3, 4], "class_ids": [0, 1, 2, 0, 1],
                  "class_weights": [0.25, 0.5, 0.75, 0.125, 1.0], "classlabels_int64s": [7, 8, 9]}
PAIRS = {"coefficients": [1.0, 0.5, -1, -0.25, 0.5, -0.75], "rho": [0.1, -0.2, 0.3], "vectors_per_class": [1, 1, 1],
         "support_vectors": [1.0, 0, 0, 0, 1, 0, 0, 0, 1], "classlabels_ints": [3, 5, 7],
         "kernel_params": [0.5, 0.25, 2.0]}
LINEAR = {"coefficients": [1.0, 0, -1, 0.5, 0.5, 0.5, -1, 2, 0], "intercepts": [0.1, -0.2, 0],
          "classlabels_ints": [2, 0, 1]}
VECTORS = {"coefficients": [1.0, -2], "rho": [0.5], "support_vectors": [1.0, 0, 0, 0, 1, 2], "n_supports": 2}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"linear classes {word}": ("LinearClassifier", LINEAR | {"post_transform": word})
       for word in ("NONE", "SOFTMAX", "LOGISTIC")},
    "two classes of one": ("LinearClassifier", {"coefficients": [1.0, 0, -1], "intercepts": [0.1],
                                                "classlabels_ints": [2, 5], "post_transform": "LOGISTIC"}),
    "linear": ("LinearRegressor", {"coefficients": [1.0, 0, -1, 2, 0, 1], "intercepts": [0.5, 0], "targets": 2}),
    **{f"machine {word}": ("SVMRegressor", VECTORS | {"kernel_type": word, "kernel_params": [0.5, 0.25, 3.0]})
       for word in ("LINEAR", "POLY", "RBF", "SIGMOID")},
    "one of them": ("SVMRegressor", VECTORS | {"kernel_params": [0.0, 0, 0], "one_class": 1}),
    "pairs": ("SVMClassifier", PAIRS | {"kernel_type": "RBF"}),
    **{f"norm {word}": ("Normalizer", {"norm": word}) for word in ("MAX", "L1", "L2")},
    "scale": ("Scaler", {"offset": [1.0, 0, -1], "scale": [2.0, 0.5, 1]}),
    "impute": ("Imputer", {"imputed_value_floats": [9.0, 8, 7], "replaced_value_float": 0.5}),
    "features": ("FeatureVectorizer", {"inputdimensions": [3]}),
    "above": ("Binarizer", {"threshold": 0.5}),
    **{f"trees {word}": ("TreeEnsembleRegressor", REGRESSES | {"aggregate_function": word})
       for word in ("SUM", "AVERAGE")},
    "trees before": ("TreeEnsembleRegressor", TREE | {
        "base_values": [10.0], "n_targets": 1, "target_treeids": [0, 0, 1, 1, 1], "target_nodeids": [1, 2, 2, 3, 4],
        "target_ids": [0] * 5, "target_weights": [1.0, -2, 3, 4, -5]}),
    **{f"classes of trees {word}": ("TreeEnsembleClassifier", CLASSES | {"post_transform": word})
       for word in ("NONE", "SOFTMAX", "LOGISTIC")},
    "two classes of trees": ("TreeEnsembleClassifier", CLASSES | {"class_ids": [0] * 5, "classlabels_int64s": [0, 1],
                                                                  "post_transform": "LOGISTIC"}),
}


def node(op: str, attributes: dict[str, Any], names: str = "ls", kind: int = T.FLOAT) -> Any:
    """A model of one node on x (n, 3)."""
    count = 2 if op.endswith("Classifier") else 1
    outputs = [helper.make_tensor_value_info(name, T.INT64 if count == 2 and name == "l" else T.FLOAT, None)
               for name in names[2 - count:]]
    made = helper.make_node(op, ["x"], [v.name for v in outputs], domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph([made], "g", [helper.make_tensor_value_info("x", kind, ["n", 3])], outputs)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                 helper.make_opsetid("ai.onnx.ml", 3)])


def runtime(model: Any, x: Any) -> Any:
    """What ONNX Runtime says, None where it is not installed."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    return importlib.import_module("onnxruntime").InferenceSession(model.SerializeToString()).run(None, {"x": x})


@pytest.mark.parametrize("name", CASES)
def test_beside_others(name: str) -> None:
    model = node(*CASES[name])
    loaded = so.load(model)
    made = st.compile(loaded, dims=loaded.dims)(X)
    for wanted in filter(None, (ReferenceEvaluator(model).run(None, {"x": X}), runtime(model, X))):
        for a, b in zip(made if isinstance(made, tuple) else (made,), wanted, strict=True):
            assert a.shape == b.shape and a.dtype.numpy == b.dtype
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-5, atol=1e-5)


def ran(op: str, attributes: dict[str, Any], x: Any) -> Any:
    return so.run_model(node(op, attributes), [np.asarray(x, np.float32)])[-1].tolist()


def test_probabilities_of_pairs() -> None:
    """ONNX Runtime's, which are LIBSVM's: the reference has others."""
    poly = PAIRS | {"kernel_type": "POLY", "prob_a": [-1.0, -2, -0.5], "prob_b": [0.1, 0, -0.2]}
    wanted = [0.10978378, 0.31768823, 0.5725281]
    for made in filter(None, (so.run_model(node("SVMClassifier", poly), [X]), runtime(node("SVMClassifier", poly), X))):
        np.testing.assert_allclose(made[1][0], wanted, atol=1e-6)


def test_trees_know_every_comparison_and_where_nan_goes() -> None:
    stump = {"nodes_treeids": [4, 4, 4], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0],
             "nodes_values": [1.0, 0, 0], "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
             "target_treeids": [4, 4], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 0]}
    x = [[9, k, 9] for k in (0, 1, 2, NAN)]
    known = {"LEQ": "1100", "LT": "1000", "GTE": "0110", "GT": "0010", "EQ": "0100", "NEQ": "1011"}
    for mode, wanted in known.items():
        one = stump | {"nodes_modes": [f"BRANCH_{mode}", "LEAF", "LEAF"]}
        assert "".join(str(int(y)) for [y] in ran("TreeEnsembleRegressor", one, x)) == wanted
        one |= {"nodes_missing_value_tracks_true": [1, 0, 0]}
        assert ran("TreeEnsembleRegressor", one, x)[3] == [1]
    least = REGRESSES | {"aggregate_function": "MIN"}
    assert ran("TreeEnsembleRegressor", least, X) == [[1, 0], [-2, 0.5], [1, -5], [1, -5]]


@pytest.mark.parametrize(("change", "words"), [
    ({"nodes_truenodeids": [0, 0, 0, 1, 2, 0, 0, 0]}, "got more, or a circle of nodes"),
    ({"nodes_truenodeids": [9, 0, 0, 1, 2, 0, 0, 0]}, "a node of their own behind each side"),
    ({"target_nodeids": [1, 2, 2, 2, 3, 9]}, "a node of their own behind each side of a split and for each weight"),
    ({"target_ids": [0, 0, 1, 0, 0, 2]}, "number their nodes and targets below 2, got 0 to 2"),
    ({"nodes_modes": ["BRANCH_LQ"] * 8}, "nodes_modes are of BRANCH_LEQ"),
    ({"aggregate_function": "SOM"}, "aggregate_function of .* is one of AVERAGE, SUM, MIN, MAX, got 'SOM'"),
    ({"nodes_values": [0.5]}, "as many features, modes, splits"),
    ({"nodes_featureids": [0, 0, 0, 1, 3, 0, 0, 0]}, "trees ask for feature 3, got 3 of them"),
])
def test_damaged_trees_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        ran("TreeEnsembleRegressor", REGRESSES | change, X)


@pytest.mark.parametrize(("op", "given", "change", "words"), [
    ("LinearRegressor", CASES["linear"][1], {"targets": 4}, "coefficients of .* are rows of one length, 4 of them"),
    ("LinearRegressor", CASES["linear"][1], {"post_transform": "SOFT"}, "is one of NONE, SOFTMAX"),
    ("SVMRegressor", {key: v for key, v in VECTORS.items() if key != "rho"}, {}, "needs rho"),
    ("SVMRegressor", VECTORS, {"kernel_type": "COSINE"}, "is one of LINEAR, POLY"),
    ("SVMClassifier", PAIRS, {"rho": [1.0]}, "a coefficient for each vector and other class, got 3 vectors"),
    ("Normalizer", {}, {"norm": "L3"}, "is one of MAX, L1, L2"),
])
def test_damaged_attributes_are_refused(op: str, given: dict[str, Any], change: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        ran(op, given | change, X)


def test_classes_of_words_and_dicts_of_scores() -> None:
    names = {"classlabels_strings": ["a", "b", "c"]}
    model = node("LinearClassifier", {key: v for key, v in LINEAR.items() if key != "classlabels_ints"} | names)
    model.graph.output[0].type.tensor_type.elem_type = T.STRING
    model.graph.node.append(helper.make_node("ZipMap", ["s"], ["z"], domain="ai.onnx.ml", **names))
    model.graph.output.append(onnx.ValueInfoProto(name="z"))
    label, scores, rows = so.run_model(model, [X])
    assert label.tolist() == ["b", "a", "c", "b"]
    assert rows == [dict(zip("abc", row, strict=True)) for row in scores.tolist()]


def test_categories() -> None:
    def of(op: str, x: Any, **more: Any) -> Any:
        return so.run_node(helper.make_node(op, ["x"], ["y"], domain="ai.onnx.ml", **more), [np.array(x)])[0].tolist()

    names = {"cats_strings": ["one", "two"], "cats_int64s": [1, 2]}
    assert of("OneHotEncoder", [[1, 2, 5]], cats_int64s=[1, 2]) == [[[1, 0], [0, 1], [0, 0]]]
    assert of("CategoryMapper", [[1, 2, 5]], default_string="many", **names) == [["one", "two", "many"]]
    assert of("CategoryMapper", ["two", "five"], **names) == [2, -1]
    with pytest.raises(DataError, match="needs one of its categories everywhere"):
        of("OneHotEncoder", [7], cats_int64s=[1, 2], zeros=0)


def test_sizes_of_scales_are_rounded_as_float32() -> None:
    """1.4 is a little less than 1.4 as float32: five times it is 7 there, as ONNX and ONNX Runtime have it."""
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[1,1,5] x) => (float[a,b,c] y)
    <float[3] s = {1, 1, 1.4}> {y = Resize <mode = "linear"> (x, , s)}"""
    assert so.run_model(onnx.parser.parse_model(text), [np.zeros((1, 1, 5), "f4")])[0].shape == (1, 1, 7)


WORDS = np.array([["b", "a", ""], ["c", "a", "zz"]], object)
TEXTS: dict[str, tuple[list[Any], dict[str, Any], int]] = {     # operands behind the texts, attributes, results
    "Compress": ([np.array([True, False, True])], {"axis": 1}, 1), "Expand": ([np.array([2, 2, 3])], {}, 1),
    "GatherElements": ([np.array([[0, 2], [1, 1]])], {"axis": 1}, 1), "GatherND": ([np.array([[0, 1], [1, 2]])], {}, 1),
    "Pad": ([np.array([0, 1, 0, 1]), np.array("P", object)], {}, 1), "Tile": ([np.array([2, 1])], {}, 1),
    "ReverseSequence": ([np.array([2, 3])], {"batch_axis": 0, "time_axis": 1}, 1), "NonZero": ([], {}, 1),
    "ScatterElements": ([np.array([[0, 2]]), np.array([["N", "M"]], object)], {"axis": 1}, 1),
    "ScatterND": ([np.array([[0, 1], [1, 2]]), np.array(["N", "M"], object)], {}, 1), "Unique": ([], {}, 4),
    "Concat": ([WORDS], {"axis": 0}, 1), "Slice": ([np.array([1]), np.array([3]), np.array([1])], {}, 1),
    "Equal": ([WORDS[:1]], {}, 1), "ai.onnx.ml:ArrayFeatureExtractor": ([np.array([2, 0])], {}, 1),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_moved_as_numbers_are(name: str) -> None:
    given, attributes, count = TEXTS[name]
    domain, _, op = name.rpartition(":")
    made = helper.make_node(op, [f"x{k}" for k in range(len(given) + 1)], [f"y{k}" for k in range(count)],
                            domain=domain, **attributes)
    feed = {f"x{k}": x for k, x in enumerate([WORDS, *given])}
    kinds = {"O": T.STRING, "i": T.INT64, "b": T.BOOL}
    graph = helper.make_graph([made], "g", [helper.make_tensor_value_info(key, kinds[x.dtype.kind], x.shape)
                                            for key, x in feed.items()],
                              [helper.make_empty_tensor_value_info(key) for key in made.output])
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20),
                                                                  helper.make_opsetid("ai.onnx.ml", 3)])
    for a, b in zip(so.run_model(model, list(feed.values())), ReferenceEvaluator(model).run(None, feed), strict=True):
        assert a.shape == b.shape and a.tolist() == b.tolist()


def test_labels_of_one_row_are_a_matrix_of_one_row() -> None:
    pick = helper.make_node("ArrayFeatureExtractor", ["x", "k"], ["y"], domain="ai.onnx.ml")
    for x in (np.array([5, 6, 7]), np.array(["a", "b", "c"], object)):
        assert so.run_node(pick, [x, np.array([[0], [2]])])[0].tolist() == [[x[0], x[2]]]
