"""Models of ONNX as modules: the suite of its wheel, training, programs of open sizes, damaged files."""
from __future__ import annotations

import copy
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn, optim
from stele.errors import ArgumentError, DataError, TraceError

onnx = pytest.importorskip("onnx", reason="needs the onnx wheel: pip install 'stele-dl[onnx]'")

import onnx_graphs  # noqa: E402
import onnx_suite  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from stele.interop import onnx as so  # noqa: E402

EVERY = 36      # of the suite: `python -m tests.long_onnx` runs it whole


@pytest.mark.filterwarnings("ignore")
def test_suite(subtests: pytest.Subtests) -> None:
    """One test, as the wheel computes for ten seconds what all cases of the suite are given."""
    suite, compiled = (dict(onnx_suite.cases(is_compiled)) for is_compiled in (False, True))
    assert set(onnx_suite.EXCLUDED) <= set(suite)
    names = [name for name in suite if name not in onnx_suite.EXCLUDED]
    for style, cases, chosen in (("", suite, names[::EVERY]), ("compiled", compiled, names[7::EVERY + EVERY // 3])):
        for name in chosen:
            with subtests.test(style, name=name):
                cases[name]()


GRAPH = """<ir_version: 8, opset_import: ["": 16]> g (float[2,3] x, bool b) => (float[n] y, int64[2] s)
<float[3] w = {0.5, -1, 2}> {
  h = Mul(x, w)
  c = If(b) <then_branch = t () => (float[2,3] u) {u = Relu(h)}, else_branch = e () => (float[2,3] v) {v = Neg(h)}>
  s = Shape(c)
  a = Constant <value_ints = [0]> ()
  z = ReduceSum <keepdims = 0> (c, a)
  y = Add(z, w)
}"""


def test_graphs_of_a_folder_are_compared_as_they_are_and_rewritten(tmp_path: Path) -> None:
    x, w = np.float32([[1, 2, 3], [4, -5, 6]]), np.float32([0.5, -1, 2])
    onnx.save(onnx.parser.parse_model(GRAPH), tmp_path / "a.onnx")
    known = {"in_x": x, "in_b": np.array(True), "out_y": np.maximum(x * w, 0).sum(0) + w, "out_s": np.array([2, 3])}
    np.savez(tmp_path / "a.npz", **known)
    every = [*onnx_graphs.cases(tmp_path), *onnx_graphs.cases(tmp_path, rewritten=True)]
    assert [name for name, _ in every] == ["a", *(f"a, {rewrite.__name__}" for rewrite in onnx_graphs.REWRITES)]
    for _, run in every:
        run()
    np.savez(tmp_path / "a.npz", **known | {"out_y": known["out_y"] + 1})
    for _, run in every:
        with pytest.raises(AssertionError):
            run()


def model(nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], weights: dict[str, Any] | None = None,
          version: int = 21, **more: Any) -> Any:
    """A model of some nodes."""
    def put(values: dict[str, Any]) -> list[Any]:
        return [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in values.items()]

    initialisers = [numpy_helper.from_array(x, name) for name, x in (weights or {}).items()]
    graph = helper.make_graph(nodes, "g", put(inputs), put(outputs), initialisers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], **more)


def reference(made: Any, x: Any) -> list[Any]:
    """What ONNX's reference gives of an input x."""
    evaluator: Any = ReferenceEvaluator(made)
    return evaluator.run(None, {"x": x})


F32 = TensorProto.FLOAT


def two_layers() -> Any:
    rng = np.random.default_rng(0)
    w = {"fc1.weight": rng.standard_normal((8, 4)).astype("f4"), "fc1.bias": np.zeros(8, "f4"),
         "fc2.weight": rng.standard_normal((2, 8)).astype("f4"), "shape": np.array([-1, 4])}
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"]),
             helper.make_node("Gemm", ["r", "fc1.weight", "fc1.bias"], ["h"], transB=1),
             helper.make_node("Relu", ["h"], ["a"]),
             helper.make_node("Gemm", ["a", "fc2.weight"], ["y"], transB=1)]
    return model(nodes, {"x": (F32, ["n", 2, 2])}, {"y": (F32, ["n", 2])}, w)


def test_initialisers_are_parameters_under_their_names() -> None:
    m = so.load(two_layers())
    assert [name for name, _ in m.named_parameters()] == ["fc1.weight", "fc1.bias", "fc2.weight"]
    assert not list(m.named_buffers())
    other = so.load(two_layers().SerializeToString())
    other.load_state_dict(m.state_dict())
    x = st.ones(3, 2, 2)
    np.testing.assert_array_equal(m(x).numpy(), other(x=x).numpy())


@pytest.mark.parametrize(("x", "n"), [
    ("input.1", "batch.size"), ("/in/x:0", "N"), ("x y", "n m"), ("1", "3"), ("self", "lambda"), ("class", "unk__1"),
    ("größe", "größe"), ("'\"\\n", "-1"), ("parameters", "n+1")])
def test_inputs_and_sizes_have_the_names_that_the_file_says(x: str, n: str, tmp_path: Path) -> None:
    """Exporters write such; one program is open in such a size."""
    w = np.arange(6, dtype=np.float32).reshape(3, 2)
    node = helper.make_node("MatMul", [x, "w"], ["y"])
    m = so.load(model([node], {x: (F32, [n, 3])}, {"y": (F32, [n, 2])}, {"w": w}))
    given = np.ones((4, 3), np.float32)
    f = st.compile(m, dims=m.dims)
    f(st.ones(2, 3))
    st.save(f, tmp_path / "f.stele")
    so.export(m, [st.ones(2, 3)], tmp_path / "m.onnx", dims=m.dims)
    f.export_library(tmp_path / "lib", "lib")
    again = so.load(tmp_path / "m.onnx")
    assert [i.name for i in again.inputs] == [x]
    for g in (m, f, st.load(tmp_path / "f.stele"), again, copy.deepcopy(m)):
        np.testing.assert_array_equal(g(st.tensor(given)), given @ w)
        np.testing.assert_array_equal(g(**{x: st.tensor(given)}), given @ w)
    assert int(f.compiles) == 1


LOOKED_AT = {
    "Resize": ("y = Resize (x, none, s)", "s = {1, 1, 2, 3}, float[0] none = {}", "float[4]"),
    "Upsample": ("y = Upsample (x, s)", "s = {1, 1, 2, 3}", "float[4]"),
    "Pad": ("y = Pad (x, p, s)", "s = {2}, int64[8] p = {0, 0, 1, 0, 0, 0, 0, 2}", "float"),
    "Pad of a quantised number": ("v = DequantizeLinear (q, s) y = Pad (x, p, v)",
        "s = {0.5}, int8 q = {4}, int64[8] p = {0, 0, 1, 0, 0, 0, 0, 2}", "float"),
    "OneHot": ("i = Cast <to = 7> (x) y = OneHot (i, d, s)", "s = {0, 5}, float d = {3}", "float[2]"),
}


@pytest.mark.parametrize("op", LOOKED_AT)
def test_numbers_that_ops_look_at_are_constants(op: str, tmp_path: Path) -> None:
    """They are floats, as weights are, and a program has to know them."""
    nodes, values, t = LOOKED_AT[op]
    opset = 9 if op == "Upsample" else 17
    model = so.load(onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": {opset}]>
        net (float[n, 1, 2, 2] x) => (float y) <{t} {values}> {{{nodes}}}"""))
    assert not [*model.named_parameters()]
    x = st.arange(4).reshape(1, 1, 2, 2).astype("float32")
    want = model(x).numpy()
    np.testing.assert_array_equal(st.compile(model)(x).numpy(), want)
    so.export(model, [x], tmp_path / "again.onnx")
    np.testing.assert_array_equal(so.load(tmp_path / "again.onnx")(x).numpy(), want)


RESIZED = {     # attributes, what x and y are of, and the scales or sizes
    "batch alone": ('mode = "cubic"', "float[b, 3, 8, 6]", "(x, , s)", "float[4] s = {1, 1, 2, 1.4}"),
    "whole factors": ('mode = "nearest"', "float[b, 3, h, w]", "(x, , s)", "float[4] s = {1, 1, 2, 3}"),
    "asymmetric": ('mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"',
                   "float[b, 3, h, w]", "(x, , s)", "float[4] s = {1, 1, 2, 2}"),
    "halves": ('mode = "linear"', "float[b, 3, h, w]", "(x, , s)", "float[4] s = {1, 1, 0.5, 1.5}"),
    "corners": ('mode = "linear", coordinate_transformation_mode = "align_corners"', "float[b, 3, h, w]", "(x, , s)",
                "float[4] s = {1, 1, 2, 2}"),
    "sizes": ('mode = "linear"', "float[b, 3, 8, 6]", "(x, , , n)", "int64[2] s = {16, 9}"),
}


@pytest.mark.parametrize("name", RESIZED)
def test_sizes_stay_open_where_images_are_resized(name: str, tmp_path: Path) -> None:
    how, kind, given, values = RESIZED[name]
    sizes = "i = Shape <start = 0, end = 2> (x) n = Concat <axis = 0> (i, s)" if name == "sizes" else ""
    made = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        net ({kind} x) => (float[p, q, r, s] y) <{values}> {{{sizes} y = Resize <{how}> {given}}}""")
    model = so.load(made)
    compiled = st.compile(model, dims=model.dims)
    so.export(model, [st.ones(2, 3, 8, 6)], tmp_path / "again.onnx", dims=model.dims)
    again = so.load(tmp_path / "again.onnx")
    for shape in ((2, 3, 8, 6), (3, 3, 8, 6), (1, 3, 8, 6), *([(2, 3, 5, 7)] if "h" in kind else [])):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        want, = reference(made, x)
        for f in (model, compiled, again):
            np.testing.assert_allclose(f(st.tensor(x)), want, atol=1e-5, strict=True)
    assert compiled.traces == 1


PASSED = {
    "alone": ("float[3] w", ""),
    "beside others": ("float[n, 3] y, float[3] w, int64[2] v", "y = Relu (x)"),
    "twice": ("float[3] w, float[n, 3] y, float[3] w", "y = Relu (x)"),
    "read as well": ("int64[2] v, float[3] w, float[n, 3] y", "y = Mul (x, w)"),
    "a node's": ("float[3] a, float[2] b", "a = Identity (w) b = Constant <value = float[2] {4, 5}> ()"),
    "inputs": ("float[m] z, float[n, 3] x, float[3] w", ""),
}


@pytest.mark.parametrize("name", PASSED)
def test_what_is_there_before_may_be_an_output(name: str, tmp_path: Path) -> None:
    outputs, nodes = PASSED[name]
    model = so.load(onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        net (float[n, 3] x, float[m] z) => ({outputs})
        <float[3] w = {{1, 2, 3}}, int64[2] v = {{4, 5}}> {{{nodes}}}"""))
    x, z = st.randn(2, 3), st.ones(4)
    compiled = st.compile(model, dims=model.dims)
    want = [y.numpy() for y in model.values(x, z)]
    assert len(want) == len(model.outputs)
    compiled(x, z)
    st.save(compiled, tmp_path / "kept.st")
    compiled.export_library(tmp_path / "library", "net")
    so.export(model, [x, z], tmp_path / "again.onnx", dims=model.dims)
    so.export(st.load(tmp_path / "kept.st"), [x, z], tmp_path / "kept.onnx")
    again, kept = so.load(tmp_path / "again.onnx"), so.load(tmp_path / "kept.onnx")
    assert {name for name, _ in again.named_parameters()} <= {"w"}
    for made in (compiled(x, z), st.load(tmp_path / "kept.st")(x, z),
                 *(f(*([z, x][len(i.shape or ()) - 1] for i in f.inputs)) for f in (again, kept))):
        for got, right in zip(made if isinstance(made, tuple) else (made,), want, strict=True):
            np.testing.assert_array_equal(got.numpy(), right, strict=True)


ASKING = {
    "Tile": "float[2] x, int64[1] r) => (float[n] y) {y = Tile (x, r)}",
    "Slice": "float[2] x, int64[1] r) => (float[n] y) {y = Slice (x, r, r)}",
    "Expand": "float[2] x, int64[1] r) => (float[n] y) {y = Expand (x, r)}",
    "Range": "float[2] x, int64 r) => (int64[n] y) <int64 a = {0}, int64 b = {1}> {y = Range (a, r, b)}",
    "TopK": "float[2] x, int64[1] r) => (float[n] y, int64[n] z) {y, z = TopK (x, r)}",
    "NonZero": "float[2] x, int64[1] r) => (int64[1, n] y) {y = NonZero (r)}",
}


@pytest.mark.parametrize("op", ASKING)
def test_sizes_by_numbers_of_inputs_say_so(op: str) -> None:
    m = so.load(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (' + ASKING[op]))
    with pytest.raises(TraceError, match=r"a node of the ONNX model .* 'r'.*onnx\.prepare") as error:
        st.compile(m)(st.ones(2), st.tensor(2) if op == "Range" else st.tensor([2]))
    assert f"node {op}" in error.value.__notes__[0]


def test_zero_points_may_be_computed() -> None:
    model = so.load(onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        net (float[n] x, uint8 z) => (uint8[n] y) <float s = {0.5}> {t = Identity (z) y = QuantizeLinear (x, s, t)}"""))
    x, z = st.tensor([1.0, -3.0, 700.0]), st.tensor(np.uint8(7))
    assert st.compile(model)(x, z).tolist() == model(x, z).tolist() == [9, 1, 255]


def test_what_is_no_number_is_quantised_as_the_lowest() -> None:
    """Scales of infinity, which ONNX Runtime's tools give masked scores, make such."""
    model = so.load(onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        net (float[n] x) => (int8[n] y, float[n] z) <float s = {inf}, int8 t = {3}>
        {y = QuantizeLinear (x, s, t) z = DequantizeLinear (y, s, t)}"""))
    x = st.tensor([1.0, -np.inf, np.nan])
    for f in (model, st.compile(model)):
        y, z = f(x)
        assert y.tolist() == [3, -128, -128]
        np.testing.assert_array_equal(z, [np.nan, -np.inf, -np.inf])


def test_an_instance_of_one_number_is_its_bias() -> None:
    """ONNX has an answer where `nn.functional.instance_norm` refuses, as PyTorch does."""
    model = so.load(onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        net (float[n, 2, h] x) => (float[n, 2, h] y) <float[2] s = {3.0, 4.0}, float[2] b = {0.5, -1.0}>
        {y = InstanceNormalization (x, s, b)}"""))
    assert model(st.ones(2, 2, 1)).flatten().tolist() == [0.5, -1.0, 0.5, -1.0]


def test_a_model_is_trained() -> None:
    m = so.load(two_layers())
    optimizer = optim.Adam(m.parameters(), lr=0.05)
    rng = np.random.default_rng(1)
    x, labels = st.tensor(rng.standard_normal((32, 2, 2)).astype("f4")), st.tensor(rng.integers(0, 2, 32))

    @st.compile
    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.cross_entropy(m(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    losses = [float(step()) for _ in range(60)]
    assert losses[-1] < losses[0] / 3


def test_open_sizes_of_a_model_need_one_program() -> None:
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
             helper.make_node("Concat", ["n", "rest"], ["t"], axis=0), helper.make_node("Reshape", ["x", "t"], ["y"])]
    m = so.load(model(nodes, {"x": (F32, ["n", 2, 3])}, {"y": (F32, ["n", 6])},
                      {"zero": np.array([0]), "rest": np.array([-1])}))
    def twice(x: Any) -> Any:
        return m(x) * 2

    f = st.compile(twice, dims={"x": {0: "n"}})
    for n in (1, 4, 9, 0):
        assert f(st.ones(n, 2, 3)).shape == (n, 6)
    assert int(f.compiles) == 1


def test_numbers_computed_of_open_sizes_are_those_of_the_call() -> None:
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[n, k, 3] x, float[9, 3] table, int64[n] past) => (a, b, c)
    <int64 zero = {0}, int64 one = {1}, int64[1] axes = {0}, int64[1] rest = {-1}> {
      s = Shape(x)  n = Gather(s, zero)  k = Gather(s, one)  wide = Gather <axis = 0> (s, rest)
      all = Mul(n, k)  flat = Unsqueeze(all, axes)  t = Concat <axis = 0> (flat, wide)  rows = Reshape(x, t)
      last = Sub(k, one)  row = Gather(table, last)  a = Add(rows, row)
      places = Range(zero, k, one)  b = Add(places, n)  c = Add(past, k) }"""
    m = so.load(onnx.parser.parse_model(text))
    f = st.compile(m, dims=m.dims)
    table = np.arange(27.0, dtype="f4").reshape(9, 3)
    for n, k in ((2, 3), (3, 5), (1, 1)):
        a, b, c = f(np.ones((n, k, 3), "f4"), table, np.arange(n))
        assert a.numpy().tolist() == (np.ones((n * k, 3)) + table[k - 1]).tolist()
        assert (b.tolist(), c.tolist()) == ((np.arange(k) + n).tolist(), (np.arange(n) + k).tolist())
    assert int(f.compiles) == 1


def normalised(bias: bool) -> Any:
    """Two convolutions with a normalisation behind them, of the first of which something else is taken too."""
    rng = np.random.default_rng(2)
    weights = {"w": rng.standard_normal((3, 3, 3, 3)).astype("f4"), "b": rng.standard_normal(3).astype("f4"),
               **{k: rng.random(3).astype("f4") + 0.5 for k in ("scale", "shift", "mean", "variance")}}
    conv = ["w", "b"] if bias else ["w"]
    nodes = [helper.make_node("Conv", ["x", *conv], ["a"], pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["a", "scale", "shift", "mean", "variance"], ["c"], epsilon=0.1),
             helper.make_node("Conv", ["c", *conv], ["d"], pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["d", "scale", "shift", "mean", "variance"], ["e"]),
             helper.make_node("Add", ["a", "e"], ["y"])]
    return model(nodes, {"x": (F32, ["n", 3, 5, 5])}, {"y": (F32, ["n", 3, 5, 5])}, weights)


@pytest.mark.parametrize("bias", [True, False])
def test_normalisations_become_part_of_the_convolutions_before_them(bias: bool) -> None:
    made = normalised(bias)
    ready, plain = so.prepare(made), so.prepare(made, compiled=False)
    assert [n.op for n in ready.module.model.graph.nodes] == ["Conv", "BatchNormalization", "Conv", "Add"]
    for n in (1, 4, 2, 0):
        x = np.random.default_rng(n).standard_normal((n, 3, 5, 5)).astype("f4")
        np.testing.assert_allclose(ready.run([x])[0], plain.run([x])[0], rtol=1e-4, atol=1e-4)
    assert not ready.note


@pytest.mark.parametrize("test", [True, False])
def test_branches_and_loops_in_a_program(test: bool) -> None:
    """Both ways of an If, and a Loop of as many steps as an input says, in one program."""
    def graph(name: str, nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> Any:
        return helper.make_graph(nodes, name, inputs, [helper.make_tensor_value_info(o, k, None) for o, k in outputs])

    one = graph("one", [helper.make_node("Add", ["x", "x"], ["a"])], [], [("a", F32)])
    other = graph("other", [helper.make_node("Neg", ["x"], ["b"])], [], [("b", F32)])
    body = graph("body", [helper.make_node("Mul", ["s", "x"], ["t"]), helper.make_node("Identity", ["c"], ["d"])],
                 [helper.make_tensor_value_info("k", TensorProto.INT64, []),
                  helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                  helper.make_tensor_value_info("s", F32, None)], [("d", TensorProto.BOOL), ("t", F32)])
    nodes = [helper.make_node("If", ["test"], ["y"], then_branch=one, else_branch=other),
             helper.make_node("Loop", ["n", "", "y"], ["z"], body=body)]
    m = so.load(model(nodes, {"x": (F32, [3]), "test": (TensorProto.BOOL, []), "n": (TensorProto.INT64, [])},
                      {"z": (F32, [3])}))
    x = np.array([1.0, 2.0, -3.0], "f4")
    f = st.compile(m)
    for n in (0, 1, 4):
        expected = (2 * x if test else -x) * x ** n
        for run in m, f:
            np.testing.assert_allclose(run(st.tensor(x), st.tensor(test), st.tensor(n)).numpy(), expected, rtol=1e-6)
    assert int(f.compiles) == 1


def raw(**fields: Any) -> Any:
    """A model with one tensor of these fields."""
    made = two_layers()
    for name, x in fields.items():
        if name == "dims":
            made.graph.initializer[0].ClearField("dims")
            made.graph.initializer[0].dims.extend(x)
        else:
            setattr(made.graph.initializer[0], name, x)
    return made


def circle() -> Any:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Neg", ["a"], ["b"])]
    return model(nodes, {"x": (F32, [1])}, {"b": (F32, [1])})


def unknown() -> Any:
    nodes = [helper.make_node("Frobnicate", ["x"], ["a"], name="first"), helper.make_node("Neg", ["a"], ["c"]),
             helper.make_node("Twist", ["c"], ["y"], domain="my.own")]
    return model(nodes, {"x": (F32, [1])}, {"y": (F32, [1])})


def calling(*called: tuple[str, int], last: str = "Neg") -> Any:
    """A model of functions, each of which calls the next so many times, the last one an op."""
    names = [name for name, _ in called]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]

    def body(name: str, times: int) -> list[Any]:
        values = ["x", *(f"v{k}" for k in range(times - 1)), "y"]
        return [helper.make_node(name, [a], [b], domain="own" if name in names else "")
                for a, b in pairwise(values)]

    functions = [helper.make_function("own", name, ["x"], ["y"], body(inner, times), opsets)
                 for (name, times), inner in zip(called, [*names[1:], last])]
    made = model(body(names[0], 1), {"x": (F32, [1])}, {"y": (F32, [1])}, functions=functions)
    made.opset_import.append(opsets[1])
    return made


def test_loops_whose_conditions_are_weights_stack_in_a_program() -> None:
    """TensorFlow's loops as tf2onnx writes them: counters as floats, compared with constants of the graph."""
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[3,n] x) => (float[3,n] y, float[n] z)
    <int64 most = {9}, float zero = {0}, float many = {3}, float[1] w = {2}> {
      on = Less(zero, many)  row = Constant <value_int = 0> ()  x0 = Gather(x, row)  first = Mul(x0, zero)
      z, y = Loop (most, on, first) <body = b (int64 i, bool c, float[n] a) => (bool d, float[n] t, float[n] u)
      <int64 add = {1}, float end = {3}> {r = Gather(x, i) v = Mul(r, w) t = Add(a, v) u = Tanh(v)
        j = Add(i, add) f = Cast <to = 1> (j) d = Less(f, end)}>
    }"""
    m = so.load(onnx.parser.parse_model(text))
    assert [name for name, _ in m.named_parameters()] == ["w"]
    x = st.arange(6.0).reshape(3, 2)
    for f in (m, st.compile(m), st.compile(m, dims=m.dims)):
        y, z = f(x)
        np.testing.assert_allclose(y.numpy(), np.tanh(2 * x.numpy()), rtol=1e-6)
        np.testing.assert_allclose(z.numpy(), 2 * x.numpy().sum(axis=0), rtol=1e-6)


LONG = {    # what the loop gives beside its state, its condition, and what its nodes are
    "alone": ("", "d = Identity (c)", "u = Mul (s, h)"),
    "stacked": (", float[3] v", "d = Identity (c)", "u = Mul (s, h) v = Neg (u)"),
    "by its condition": ("", "e = ReduceMax <keepdims = 0> (s) f = Constant <value = float {0.01}> () d = Less (f, e)",
                         "u = Mul (s, h)"),
    "of a state that grows at first": (", float v", "d = Identity (c)", "r = Mul (s, h) u = Mul (r, ones) "
                                       "v = ReduceMax <keepdims = 0> (u)"),
    "of other sizes each time": ("", "d = Identity (c)", "r = Unsqueeze (h, a) u = Concat <axis = 0> (s, r)"),
    "at a place": (", float[1] v", "d = Identity (c)", "r = Mod (i, two) j = Unsqueeze (r, a) k = Add (j, one) "
                   "v = Slice (s, j, k) u = Mul (s, h)"),
    "of texts": (", bool v", "d = Identity (c)", "u = Mul (s, h) r = Mod (i, two) t = Gather (words, r) "
                 "v = Equal (t, w)"),
}


@pytest.mark.parametrize("name", LONG)
def test_loops_of_many_steps_are_one_loop(name: str) -> None:
    more, test, nodes = LONG[name]
    stacks = ", z" if more else ""
    made = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
    g (float[3] x) => (float[k] y{", float[m] z" if more else ""})
    <int64 n = {{40}}, bool on = {{1}}, float h = {{0.9}}, int64[1] a = {{0}}, int64 two = {{2}}, int64[1] one = {{1}},
     float[2, 3] ones = {{1, 1, 1, 1, 1, 1}}>
    {{ words = Constant <value_strings = ["p", "q"]> () w = Constant <value_string = "q"> ()
       y{stacks} = Loop (n, on, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] u{more}) {{
         {test} {nodes} }}> }}""")
    x = np.array([1, 2, 3], "f4")
    want = reference(made, x)
    model = so.load(made)
    for f in (model, *([] if name == "of texts" else [st.compile(model)])):
        found = f(st.tensor(x))
        for got, right in zip(found if more else (found,), want, strict=True):
            np.testing.assert_allclose(got, right.reshape(got.shape), rtol=1e-5)    # numbers are rows in the reference


def test_loops_of_a_hundred_thousand_steps_take_no_time() -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[3] x) => (float[3] y) <int64 n = {100000}, bool on = {1}>
    { y = Loop (n, on, x) <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] u) {
        d = Identity (c) h = Constant <value = float {0.5}> () v = Mul (s, h) u = Add (v, h)}> }"""
    model = so.load(onnx.parser.parse_model(text))
    begin = time.perf_counter()
    assert model(st.ones(3)).tolist() == st.compile(model)(st.zeros(3)).tolist() == [1, 1, 1]
    assert time.perf_counter() - begin < 3


def test_functions_of_a_model_are_written_out() -> None:
    assert so.load(calling(("f", 3), ("g", 3)))(st.ones(1)).tolist() == [-1.0]


def nested(depth: int) -> Any:
    """A branch within branches."""
    inner = helper.make_node("Neg", ["x"], ["y"])
    for _ in range(depth):
        graph = helper.make_graph([inner], "g", [], [helper.make_tensor_value_info("y", F32, [1])])
        inner = helper.make_node("If", ["t"], ["y"], then_branch=graph, else_branch=graph)
    return model([inner], {"x": (F32, [1]), "t": (TensorProto.BOOL, [])}, {"y": (F32, [1])})


def test_branches_within_branches() -> None:
    assert so.load(nested(8))(st.ones(1), st.tensor(True)).tolist() == [-1.0]


def outside(location: str) -> Any:
    made = raw(data_location=TensorProto.EXTERNAL)
    made.graph.initializer[0].external_data.add(key="location", value=location)
    return made


@pytest.mark.parametrize("source, words", [
    (b"not a model at all", "no ONNX model"),
    (b"", "holds no graph"),
    (two_layers().SerializeToString()[:200], "no ONNX model|no graph|damaged"),
    (circle(), "needs its own result"),
    (unknown(), r"2 nodes have no rule: Frobnicate first; my\.own\.Twist"),
    (raw(dims=[-8, 4]), "negative size"),
    (raw(dims=[1 << 40, 1 << 20]), "says that it has"),
    (raw(dims=[8, 1 << 20]), "damaged"),
    (raw(data_type=99), "element type 99"),
    (outside("w.bin"), "lies in a file"),
    (calling(("f", 2), ("g", 1), last="f"), "calls itself"),
    (calling(*((f"f{k}", 10) for k in range(40))), "written out"),
], ids=["text", "empty", "truncated", "circle", "unknown", "negative", "huge", "short", "dtype", "external",
        "recursive", "exponential"])
def test_what_is_damaged_is_refused_in_a_line(source: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        so.load(source)


@pytest.mark.parametrize("node, words", [
    (("MatMul", ["x"]), "malformed: MatMul -> y takes 2 inputs, got 1"),
    (("MatMul", ["x", ""]), "malformed: MatMul -> y takes 2 inputs, got 1"),
    (("Where", ["x", "", "x"]), "malformed: Where -> y needs its input 1, which is left out"),
    (("Relu", []), "malformed: Relu -> y takes 1 input, got 0"),
    (("Relu", ["x", "x"]), "malformed: Relu -> y takes 1 input, got 2"),
    (("Conv", ["x"]), "malformed: Conv -> y takes 2 to 3 inputs, got 1"),
    (("Loop", ["x"]), "malformed: Loop -> y takes at least 2 inputs, got 1; Loop -> y lacks the attribute body"),
    (("If", ["x"]), "malformed: If -> y lacks the attributes (then|else)_branch, (then|else)_branch"),
    (("Einsum", ["x"]), "malformed: Einsum -> y lacks the attribute equation"),
    (("Split", ["x"], {"num_outputs": 0}), r"node Split -> y .* float32 \[2, 4\], and attributes: .*zero"),
    (("SpaceToDepth", ["x"], {"blocksize": 2}), "node SpaceToDepth -> y .* not enough values"),
    (("Resize", ["x"]), "node Resize -> y"),
    (("FusedMatMul", ["x"], {"domain": "com.microsoft"}), r"node com\.microsoft\.FusedMatMul -> y"),
])
def test_malformed_nodes_are_named(node: Any, words: str) -> None:
    op, inputs, more = (*node, {})[:3]
    made = model([helper.make_node(op, inputs, ["y"], **more)], {"x": (F32, [2, 4])}, {"y": (F32, None)}, version=18)
    with pytest.raises(DataError, match=words):
        so.load(made)(st.ones(2, 4))


def test_a_missing_file_and_files_outside_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read"):
        so.load(tmp_path / "none.onnx")
    for location in ("../../etc/passwd", "w.bin", "/etc/passwd"):
        path = tmp_path / "m.onnx"
        path.write_bytes(outside(location).SerializeToString())
        with pytest.raises(DataError, match="not there beside the model"):
            so.load(path)


def test_weights_in_a_file_beside_the_model(tmp_path: Path) -> None:
    made = two_layers()
    onnx.save_model(made, tmp_path / "m.onnx", save_as_external_data=True, all_tensors_to_one_file=True,
                    location="w.bin", size_threshold=0)
    x = st.ones(2, 2, 2)
    np.testing.assert_array_equal(so.load(tmp_path / "m.onnx")(x).numpy(), so.load(two_layers())(x).numpy())


def test_wrong_calls_teach() -> None:
    m = so.load(two_layers())
    with pytest.raises(ArgumentError, match=r"takes 1 inputs \(x: \[n, 2, 2\]\), got 0"):
        m()
    with pytest.raises(ArgumentError, match="no input 'X'"):
        m(X=st.ones(1, 2, 2))
