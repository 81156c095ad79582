"""Programs written as ONNX models: every op, in ONNX's reference and in ONNX Runtime, and models of layers."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

import doctest
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case

import stele as st
from stele import nn
from stele.backend.reference import run
from stele.cli import COMMANDS
from stele.commands.arguments import run as answer
from stele.errors import GraphError, OptionError
from stele.nn import functional as F
from stele.ops import factors, lapack
from stele.tracing import tree

onnx = pytest.importorskip("onnx", reason="needs the onnx wheel: pip install 'stele-dl[onnx]'")

from onnx.reference import ReferenceEvaluator  # noqa: E402

from stele.interop import onnx as so  # noqa: E402
from stele.interop.onnx.out.export import NEWEST, OPSET, Program, written  # noqa: E402
from stele.interop.onnx.out.table import MEANINGS  # noqa: E402

NONE = {"Called": "a function of a user's in Python", "Foreign": "a function of C", "Sample": "a stream of NumPy's",
        **{op.__name__: "LAPACK's" for op in (*lapack.ALL, *factors.ALL) if op not in MEANINGS}}


def model_of(graph: Any, opset: int = OPSET) -> Any:
    """The model of a graph, checked in full."""
    made = written(Program("op", {k: f"x{k}" for k in range(len(graph.parameters))}, {}, graph,
                           [f"y{k}" for k in range(len(graph.results))]), opset)
    onnx.checker.check_model(made, full_check=True)
    return made


def feed(case: Case) -> dict[str, Any]:
    """The operands of a case, complex numbers as pairs."""
    return {f"x{k}": paired(x) for k, x in enumerate(case.operands)}


def paired(x: Any) -> Any:
    """Complex numbers as pairs of their parts."""
    return x if x.dtype.kind != "c" else np.ascontiguousarray(x[..., None]).view(x.real.dtype)


def in_reference(made: Any, given: dict[str, Any]) -> Any:
    """The outputs that ONNX's reference computes."""
    return ReferenceEvaluator(made).run(None, given)


def imported(made: Any, given: dict[str, Any]) -> Any:
    """The outputs of the model read back, node by node."""
    return so.prepare(made, compiled=False).run(given)


def in_runtime(made: Any, given: dict[str, Any]) -> Any:
    """The outputs that ONNX Runtime computes."""
    runtime: Any = import_module("onnxruntime")
    runtime.set_default_logger_severity(4)
    return runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, given)


RUNNERS: list[Callable[[Any, dict[str, Any]], Any]] = [
    in_reference, *([in_runtime] if find_spec("onnxruntime") else [])]
LONG, EVERY = 150, 4    # of models read back: nodes from which on they are not, as that takes long, and how many are
LATEST = 3              # how many of them are written at the newest opset instead


def agree(made: Any, given: dict[str, Any], want: Sequence[Any], read_back: bool = True, tol: float = 1e-5) -> None:
    """Asserts that all who run a model give these outputs."""
    halves = any("bfloat16" in str(x.dtype) for x in (*given.values(), *want))  # which ONNX Runtime cannot be given
    for runner in (*RUNNERS, *([imported] if read_back and len(made.graph.node) < LONG else [])):
        if runner is in_runtime and halves:
            continue
        for got, right in zip(runner(made, given), want, strict=True):
            assert (got.dtype, got.shape) == (right.dtype, right.shape), runner.__name__
            np.testing.assert_allclose(got.astype("f8"), right.astype("f8"), tol, tol, err_msg=runner.__name__)


@pytest.mark.parametrize(("number", "case"), [pytest.param(k, *p.values, id=p.id) for k, p in enumerate(CASES)])
@pytest.mark.filterwarnings("ignore")
def test_every_op(number: int, case: Case) -> None:
    graph = case.graph()
    if type(case.op).__name__ in NONE:
        with pytest.raises(GraphError, match=case.op.name):
            model_of(graph)
        return
    want = [paired(np.asarray(y)) for y in run(graph, case.operands)]
    opset = OPSET if number % LATEST else NEWEST
    agree(model_of(graph, opset), feed(case), want, read_back=number % EVERY == 0)


def models() -> dict[str, tuple[Any, list[Any], dict[str, Any], list[Any]]]:
    """Modules with arguments, sizes that stay open, and arguments of other sizes."""
    cnn = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(8, 8, 3, stride=2), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8, 5))
    mlp = nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2), nn.Softmax(-1))
    return {
        "mlp": (mlp, [st.randn(4, 3)], {"x": {0: "n"}}, [st.randn(7, 3)]),
        "cnn": (cnn, [st.randn(2, 3, 10, 10)], {"x": {0: "n"}}, [st.randn(5, 3, 10, 10)]),
        "transformer": (nn.TransformerEncoderLayer(16, 4, 32), [st.randn(2, 5, 16)], {"src": {0: "n", 1: "t"}},
                        [st.randn(3, 9, 16)]),
        "gru": (nn.GRU(4, 6), [st.randn(5, 2, 4)], {"x": {0: "t", 1: "n"}}, [st.randn(8, 3, 4)]),
        "lstm": (nn.LSTM(4, 6, 2, bidirectional=True), [st.randn(5, 2, 4)], {"x": {1: "n"}}, [st.randn(5, 3, 4)]),
    }


def exported(f: Any, args: Any, path: Path, dims: Any = None, opset: int = OPSET) -> Any:
    """The model of a function, written, read and checked in full."""
    so.export(f, args, path, dims=dims, opset=opset)
    onnx.checker.check_model(str(path), full_check=True)
    return onnx.load(path)


def outputs(f: Any, *args: Any) -> list[Any]:
    """The arrays that a call returns."""
    return [paired(y.numpy()) for y in tree.flatten(f(*args))[0]]


@pytest.mark.parametrize("name", models())
def test_models(name: str, tmp_path: Path) -> None:
    model, args, dims, others = models()[name]
    model.eval()
    made = exported(model, args, tmp_path / "model.onnx", dims)
    assert sorted(t.name for t in made.graph.initializer) == sorted(
        path for path, _ in model.named_tensors() if not path.endswith("num_batches_tracked"))
    assert {d.dim_param for i in made.graph.input for d in i.type.tensor_type.shape.dim} - {""} == {
        n for axes in dims.values() for n in axes.values()}
    for given in (args, others):
        feed = {i.name: x.numpy() for i, x in zip(made.graph.input, given, strict=True)}
        agree(made, feed, outputs(model, *given), read_back=given is args)


def test_weights_have_the_names_of_modules(tmp_path: Path) -> None:
    model = nn.ModuleDict({"a": nn.Sequential(nn.Linear(3, 2))})
    made = exported(lambda x: model["a"](x) * 2, [st.ones(4, 3)], tmp_path / "model.onnx")
    assert {t.name for t in made.graph.initializer} >= {"model.a.0.weight", "model.a.0.bias"}
    x = st.placeholder(("n", 3))
    made = exported(st.function([x], model["a"](x)), None, tmp_path / "model.onnx")
    assert [t.name for t in made.graph.initializer] == ["0.weight", "0.bias"]


class Tabled(nn.Module):
    """A layer with arrays of NumPy."""

    def __init__(self) -> None:
        self.fc, self.table = nn.Linear(3, 2), np.arange(2, dtype=np.float32)

    def forward(self, x: st.Tensor) -> st.Tensor:
        return self.fc(x) * self.table


def test_arrays_have_the_names_of_modules(tmp_path: Path) -> None:
    model, x = Tabled(), [st.ones(4, 3)]
    outer = nn.Sequential(model)
    for f, name in ((model, "table"), (st.compile(model), "table"), (outer, "0.table"),
                    (lambda x: model(x), "model.table")):
        names = {t.name for t in exported(f, x, tmp_path / "model.onnx").graph.initializer}
        assert name in names and not any(other.startswith("f.") for other in names)


def test_nodes_say_where_they_come_from(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    made = exported(lambda x: model(x) * 2, [st.ones(4, 3)], tmp_path / "model.onnx")
    found = {n.op_type: {p.key: p.value for p in n.metadata_props} for n in made.graph.node}
    assert found["Tanh"]["layer"] == "1" and found["MatMul"]["layer"] == "0"
    assert found["Tanh"]["source"].startswith("test_onnx_out.py:") and "layer" not in found["Mul"]


def test_what_else_is_exported(tmp_path: Path) -> None:
    w = st.tensor([1.0, 2.0, 3.0])

    @st.compile
    def compiled(x: Any) -> Any:
        return {"a": (x * w).sum(), "b": (x, [x + 1])}

    def spectrum(x: Any) -> Any:
        return st.fft.fft(x) * 2j

    def slope(x: Any) -> Any:
        return st.grad(lambda x: (st.tanh(x) * w).sum())(x)

    def steps(x: Any) -> Any:
        def step(y: Any) -> Any:
            return st.cond(y[0] > 4, lambda y: y * 2, lambda y: y + 1, y)

        return st.while_loop(lambda y: y.sum() < 100, step, x)

    for f in (compiled, spectrum, slope, steps):
        x = st.tensor([0.5, 1.0, -2.0])
        made = exported(f, [x], tmp_path / "f.onnx")
        agree(made, {"x": x.numpy()}, outputs(f, x))
    made = exported(compiled, [x], tmp_path / "f.onnx")
    assert [o.name for o in made.graph.output] == ["y.a", "y.b.0", "y.b.1.0"]
    product = lambda x: st.grad(lambda x: st.sin(x).sum() * x.mean())(x)    # of two sums: a product with 1 and a mean
    made = exported(product, [x := st.randn(4, 3)], tmp_path / "f.onnx", {"x": {0: "n"}})
    agree(made, {"x": x.numpy()}, outputs(product, x))
    p = st.placeholder(("n", 3), name="rows")
    f = st.function([p], (p * w).sum(axis=1))
    made = exported(f, None, tmp_path / "f.onnx")
    agree(made, {"rows": np.ones((5, 3), "f4")}, [f(st.ones((5, 3))).numpy()])


def looked(*mask: Any, **how: Any) -> Callable[..., Any]:
    """Attention, with a mask where one is given."""
    return lambda x, k, v: F.scaled_dot_product_attention(x, k, v, *mask, **how)


def by_angles(x: Any) -> Any:
    """Rotary positions as others write them, each angle twice."""
    angles = st.outer(st.arange(x.shape[-2]).astype("float32"), st.arange(4).astype("float32"))
    twice = st.concatenate([angles, angles], axis=-1)
    return x * st.cos(twice) + st.concatenate([-x[..., 4:], x[..., :4]], axis=-1) * st.sin(twice)


def by_mean_square(x: Any, w: Any = None, of: Any = None) -> Any:
    """x over the root of a mean of squares, written out."""
    y = x / st.sqrt(((x if of is None else of) ** 2).mean(axis=-1, keepdims=True) + 1e-5)
    return (st.arange(x.shape[-1]).astype("float32") if w is None else w) * y


QKV = (2, 4, 5, 8), (2, 4, 5, 8), (2, 4, 5, 8)
CROSS = (2, 4, 5, 8), (2, 4, 6, 8), (2, 4, 6, 3)
GROUPED = (2, 4, 5, 8), (2, 2, 5, 8), (2, 2, 5, 8)
LENGTHS = {"x": {0: "n", 2: "t"}, "k": {0: "n", 2: "s"}, "v": {0: "n", 2: "s"}}
TOGETHER: dict[str, tuple[Callable[..., Any], Sequence[tuple[int, ...]], str, dict[str, Any]]] = {
    "layer": (nn.LayerNorm((3, 8)), [(4, 3, 8)], "LayerNormalization", {"x": {0: "n"}}),
    "group": (nn.GroupNorm(2, 8), [(4, 8, 5, 6)], "GroupNormalization", {"x": {0: "n", 2: "h"}}),
    "instance": (nn.InstanceNorm2d(8, affine=True), [(4, 8, 5, 6)], "InstanceNormalization", {"x": {0: "n"}}),
    "batch": (nn.BatchNorm2d(8).eval(), [(4, 8, 5, 6)], "BatchNormalization", {"x": {0: "n"}}),
    "rms": (nn.RMSNorm(8), [(4, 8)], "RMSNormalization", {"x": {0: "n"}}),
    "rms by hand": (by_mean_square, [(4, 8)], "RMSNormalization", {"x": {0: "n"}}),
    "rotary": (nn.RotaryEmbedding(8), QKV[:1], "RotaryEmbedding", {"x": {0: "n", 2: "t"}}),
    "neighbours": (nn.RotaryEmbedding(8, interleaved=True), [(2, 5, 8)], "RotaryEmbedding", {"x": {0: "n"}}),
    "angles twice": (by_angles, QKV[:1], "RotaryEmbedding", {}),
    "attention": (looked(), CROSS, "Attention", LENGTHS),
    "of matrices": (looked(scale=0.3), [(5, 8), (6, 8), (6, 3)], "Attention", {}),
    "causal": (looked(is_causal=True), QKV, "Attention", {name: {2: "t"} for name in "xkv"}),
    "causal of others": (looked(is_causal=True), CROSS, "Attention", {}),
    "added": (looked(st.randn(4, 5, 6)), CROSS, "Attention", {}),
    "blind": (looked(st.tensor([[True, False] * 3] * 4 + [[False] * 6])), CROSS, "Attention", {}),
    "window": (looked(window_size=(2, 0)), QKV, "Attention", {name: {2: "t"} for name in "xkv"}),
    "grouped": (looked(enable_gqa=True, is_causal=True), GROUPED, "Attention", {name: {0: "n"} for name in "xkv"}),
    "grouped and masked": (looked(st.randn(2, 4, 1, 5) > 0, enable_gqa=True), GROUPED, "Attention", {}),
    "by hand": (lambda x, k, v: st.softmax(x @ k.mT / 3, -1) @ v, [(3, 5, 8), (3, 6, 8), (3, 6, 2)], "Attention", {}),
}
FROM = {"RMSNormalization": 23, "RotaryEmbedding": 23, "Attention": 23}


@pytest.mark.parametrize("name", TOGETHER)
def test_what_onnx_has_an_op_for_is_that(name: str, tmp_path: Path) -> None:
    f, shapes, op, dims = TOGETHER[name]
    others = [tuple(n + 2 if a in dims.get(x, {}) else n for a, n in enumerate(s)) for x, s in zip("xkv", shapes)]
    for opset in (OPSET, 23, NEWEST):
        made = exported(f, [st.randn(*s) for s in shapes], tmp_path / "model.onnx", dims, opset)
        assert [n.op_type for n in made.graph.node].count(op) == (opset >= FROM.get(op, OPSET))
        for sizes in (shapes, others):
            args = [st.randn(*s) for s in sizes]
            agree(made, {i.name: x.numpy() for i, x in zip(made.graph.input, args)}, outputs(f, *args))


LOOKALIKES: dict[str, tuple[Callable[..., Any], Sequence[tuple[int, ...]]]] = {
    "weights that are returned": (lambda x, k: ((p := st.softmax(x @ k.mT, -1)) @ k, p), QKV[:2]),
    "softmax over queries": (lambda x, k: st.softmax(x @ k.mT, -2) @ k, QKV[:2]),
    "scaled behind the mask": (lambda x, k: st.softmax((x @ k.mT + 1) * 2 + x[..., :5], -1) @ k, QKV[:2]),
    "turned the other way": (lambda x: st.concatenate(
        [x[..., 4:] * 2 - x[..., :4] * 3, x[..., 4:] * 3 + x[..., :4] * 2], -1), QKV[:1]),
    "squares of another": (lambda x, k: by_mean_square(x, of=k), [(4, 8), (4, 8)]),
    "a scale of rows": (lambda x, k: by_mean_square(x, k), [(4, 8), (4, 1)]),
    "first axes": (lambda x: st.nn.functional.layer_norm(x.mT, (4,)).mT * st.ones(8) + st.ones(8), [(4, 8)]),
    "doubles": (lambda x: looked()(*[x.astype("float64")] * 3), [(5, 8)]),
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_what_only_looks_like_one_of_them_is_written_out(name: str, tmp_path: Path) -> None:
    f, shapes = LOOKALIKES[name]
    args = [st.randn(*s) for s in shapes]
    made = exported(f, args, tmp_path / "model.onnx", {}, 23)
    assert not {"RMSNormalization", "RotaryEmbedding", "Attention"} & {n.op_type for n in made.graph.node}
    agree(made, {i.name: x.numpy() for i, x in zip(made.graph.input, args)}, outputs(f, *args))


LINALG: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], dict[str, Any], list[tuple[int, ...]]]] = {
    "inv": (st.linalg.inv, [(2, 5, 5)], {"x": {0: "b", 1: "n", 2: "n"}}, [(3, 20, 20)]),
    "solve": (st.linalg.solve, [(5, 5), (5, 2)], {"x": {0: "n", 1: "n"}, "z": {0: "n", 1: "k"}}, [(30, 30), (30, 4)]),
    "det": (st.linalg.det, [(2, 4, 4)], {"x": {1: "n", 2: "n"}}, [(2, 7, 7)]),
    "slogdet": (st.linalg.slogdet, [(2, 4, 4)], {"x": {1: "n", 2: "n"}}, [(2, 17, 17)]),
    "cholesky": (lambda x: st.linalg.cholesky(x @ x.mT), [(2, 4, 4)], {"x": {1: "n", 2: "n"}}, [(2, 33, 33)]),
    "triangular": (lambda x, z: st.linalg.solve_triangular(x, z, upper=True), [(5, 5), (5, 2)],
                   {"x": {0: "n", 1: "n"}, "z": {0: "n", 1: "k"}}, [(30, 30), (30, 4)]),
    "qr": (st.linalg.qr, [(2, 5, 3)], {"x": {0: "b"}}, [(7, 5, 3)]),
    "lu": (st.linalg.lu, [(4, 6)], {}, [(4, 6)]),
    "slope": (lambda x: st.grad(lambda x: st.linalg.slogdet(x @ x.mT)[1] + st.linalg.cholesky(x @ x.mT).sum())(x),
              [(4, 4)], {"x": {0: "n", 1: "n"}}, [(8, 8)]),
}


@pytest.mark.parametrize("name", LINALG)
def test_matrices_of_open_sizes(name: str, tmp_path: Path) -> None:
    f, shapes, dims, others = LINALG[name]
    names, rng = ("x", "z")[:len(shapes)], np.random.default_rng(3)

    def named(*x: Any) -> Any:
        return f(*x)

    named.__signature__ = Signature([Parameter(n, Parameter.POSITIONAL_OR_KEYWORD)   # type: ignore[attr-defined]
                                     for n in names])
    args = [st.tensor(rng.normal(size=s).astype("f4") + 3 * np.eye(*s[-2:], dtype="f4")) for s in shapes]
    made = exported(named, args, tmp_path / "model.onnx", dims)
    assert not {"Loop"} & {n.op_type for n in made.graph.node}
    for given in (args, [st.tensor(rng.normal(size=s).astype("f4") + 5 * np.eye(*s[-2:], dtype="f4")) for s in others]):
        agree(made, {n: x.numpy() for n, x in zip(names, given)}, outputs(f, *given), False, 2e-5)


def test_matrices_without_a_result_give_infinities_and_none(tmp_path: Path) -> None:
    zero, x = np.zeros((3, 3), "f4"), st.eye(3)
    for f, right in ((st.linalg.det, np.float32(0)), (st.linalg.inv, None), (st.linalg.cholesky, None)):
        made = exported(f, [x], tmp_path / "model.onnx")
        found = in_reference(made, {"x": zero - (f is st.linalg.cholesky)})[0]
        assert found == right if right is not None else not np.isfinite(found).all()


def test_one_tensor_as_several_arguments_is_several_inputs(tmp_path: Path) -> None:
    x = st.ones((2, 3, 4))
    attention = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    for f in (lambda q, k, v: attention(q, k, v)[0], st.compile(lambda q, k, v: attention(q, k, v)[0])):
        so.export(f, [x, x, x], tmp_path / "model.onnx", dims={"q": {1: "t"}})
        assert [i.name for i in onnx.load(tmp_path / "model.onnx").graph.input] == ["q", "k", "v"]
        given = [st.randn((2, t, 4)) for t in (5, 3, 3)]
        found = ReferenceEvaluator(str(tmp_path / "model.onnx")).run(None, dict(zip("qkv", [a.numpy() for a in given])))
        np.testing.assert_allclose(found[0], f(*given).numpy(), 1e-5, 1e-6)


@pytest.mark.parametrize("x", [st.ones(1, 3), np.ones((2, 3), np.float32)])
def test_one_tensor_may_stand_for_the_arguments(x: Any, tmp_path: Path) -> None:
    so.export(nn.Linear(3, 2), x, tmp_path / "f.onnx")
    assert [i.shape for i in so.load(tmp_path / "f.onnx").inputs] == [x.shape]
    relu = onnx.helper.make_node("Relu", ["x"], ["y"])
    np.testing.assert_array_equal(so.run_node(relu, np.asarray(x))[0], x)


def test_arguments_that_are_returned_are_copied(tmp_path: Path) -> None:
    x = st.randn(2, 3)
    for f in (lambda x: x, lambda x: (x, [x + 1, x]), nn.Dropout(0.5).eval()):
        made = exported(f, [x], tmp_path / "model.onnx", {next(iter(signature(f).parameters)): {0: "n"}})
        agree(made, {made.graph.input[0].name: x.numpy()}, outputs(f, x))


LOOPS: dict[str, Any] = {
    "stacked": lambda x: st.scan(lambda c, r: (c * 0.5 + r, c * r), x[0], x[1:]),
    "reversed": lambda x: st.scan(lambda c, r: (c * 0.5 + r, c > r), x[0], x[1:], reverse=True),
    "at once": lambda x: st.associative_scan(lambda a, b: a * b, x),
    "of a number": lambda x: st.scan(lambda c, r: (c * 0.5 + r, c), x[0], x[:0]),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_may_have_no_steps(name: str, tmp_path: Path) -> None:
    f = LOOPS[name]
    made = exported(f, [st.randn(4, 3)], tmp_path / "f.onnx", {"x": {0: "n"}})
    again = so.load(made)
    compiled = st.compile(again, dims=again.dims)
    for n in (5, 1):
        x = st.randn(n, 3)
        agree(made, {"x": x.numpy()}, want := outputs(f, x))
        for got, right in zip(outputs(compiled, x), want, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-5)


def test_what_was_loaded_keeps_its_names(tmp_path: Path) -> None:
    made = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17], metadata_props: ["author": "Ada"]>
        net (float[n, 3] x) => (float[n, 3] last_hidden, float[n, 3] x2) {last_hidden = Relu (x) x2 = Neg (x)}""")
    model = so.load(made)
    for f in (model, st.compile(model)):
        so.export(f, st.ones(2, 3), tmp_path / "again.onnx", dims=model.dims)
        again = onnx.load(tmp_path / "again.onnx")
        assert [x.name for x in (*again.graph.input, *again.graph.output)] == ["x", "last_hidden", "x2"]
        assert [(p.key, p.value) for p in again.metadata_props] == [("author", "Ada")]
        assert (again.producer_name, again.producer_version) == ("stele", st.__version__)


def test_convolutions_of_doubles(tmp_path: Path) -> None:
    x, w = st.arange(84).reshape(1, 2, 6, 7), st.arange(24).reshape(2, 2, 2, 3)

    def slopes(x: Any, w: Any) -> Any:
        return st.grad(lambda x, w: (F.conv2d(x, w, stride=2, padding=1) ** 2).sum(), argnums=(0, 1))(x, w)

    args = [x.astype("float64"), w.astype("float64")]
    for f in (F.conv2d, slopes):
        made = exported(lambda x, w, f=f: f(x, w), args, tmp_path / "model.onnx")
        agree(made, {"x": args[0].numpy(), "w": args[1].numpy()}, outputs(f, *args), False)


def test_weights_of_many_bytes_lie_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stele.interop.onnx.out.export.MOST", 16)
    model = nn.Linear(3, 2)
    so.export(model, [st.ones(1, 3)], tmp_path / "model.onnx")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    again = so.load(tmp_path / "model.onnx")
    np.testing.assert_array_equal(again(st.ones(1, 3)).numpy(), model(st.ones(1, 3)).numpy())
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(GraphError, match="rebinds"):
        so.export(nn.BatchNorm1d(2), [st.ones(3, 2)], path)
    with pytest.raises(GraphError, match="n cannot stay open"):
        so.export(lambda x: x + st.ones(3), [st.ones(3)], path, dims={"x": {0: "n"}})
    with pytest.raises(GraphError, match="returns arrays"):
        so.export(lambda x: 3, [st.ones(3)], path)

    def several(x: Any) -> Any:
        return st.linalg.eigvals(x).real.sum() + st.linalg.eig(x).eigenvalues.real

    with pytest.raises(GraphError, match=r"2 ops have no form in ONNX: Eigvals at .*test_onnx_out.py:\d+.*; Eig at"):
        so.export(several, [st.eye(3)], path)
    with pytest.raises(OptionError, match=r"opset of export is a whole number from 21 to \d+, got 17"):
        so.export(lambda x: x + 1, [st.ones(3)], path, opset=17)
    assert not path.exists()


def command(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str]:
    """The exit code of `stele onnx`, and what it said."""
    code = answer(["onnx", *map(str, words)], COMMANDS)
    out, err = capsys.readouterr()
    return code, out + err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, x = tmp_path / "model.onnx", tmp_path / "x.npy"
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    so.export(model, [st.ones(4, 3)], path, dims={"x": {0: "batch"}})
    np.save(x, np.ones((5, 3), "f4"))
    code, said = command(capsys, "info", path)
    assert code == 0 and "input        float32 x: [batch, 3]" in said and "weights      2, 8 numbers, 32 bytes" in said
    assert "MatMul 1" in said and "ai.onnx 21" in said
    code, said = command(capsys, "run", path, "--input", f"x={x}", "--out", tmp_path / "y.npz", "--threads", 1)
    assert code == 0 and "output       y: float32 [5, 2]" in said and "ms at first" in said
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["y"], model(st.ones(5, 3)).numpy(), rtol=1e-6)
    np.savez(tmp_path / "one.npz", whatever=np.ones((5, 3), "f4"))
    np.savez(tmp_path / "two.npz", x=np.ones((5, 3), "f4"), z=np.ones(2))
    assert [command(capsys, "run", path, "--input", f"x={tmp_path / name}.npz")[0] for name in ("one", "two")] == [0, 0]
    np.savez(tmp_path / "two.npz", a=np.ones((5, 3), "f4"), b=np.ones(2))
    assert "2 arrays, and none is called 'x'" in command(capsys, "run", path, "--input", f"x={tmp_path}/two.npz")[1]
    code, said = command(capsys, "check", path, "--dim", "batch=7")
    assert code == 0 and "well-formed" in said and "equal        y: float32 [7, 2]" in said


def test_the_command_where_something_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, text = tmp_path / "model.onnx", tmp_path / "x.npy"
    opened = tmp_path / "open.onnx"
    so.export(nn.Linear(3, 2), [st.ones(4, 3)], path)
    so.export(nn.Linear(3, 2), [st.ones(4, 3)], opened, dims={"x": {0: "batch"}})
    text.write_text("no array")
    for words, part in [(["info"], "needs FILE"), (["look", path], "info or run or check"),
                        (["info", tmp_path / "none"], "nothing at"), (["run", path, "--dim", "x"], "NAME=N"),
                        (["run", path, "--input", "x"], "NAME=FILE.npy"),
                        (["run", path, "--input", f"x={text}"], "holds no array"),
                        (["run", path, "--input", f"z={text}"], "has no input 'z'"),
                        (["run", path, "--dim", "batch=2"], "no open size 'batch'; it has none"),
                        (["run", opened, "--dim", "bach=2"], "no open size 'bach'; it has batch"),
                        (["info", text], "no ONNX model"),
                        (["run", path, "--out", path], "a file of its own"),
                        (["run", path, "--input", f"x={text}", "--out", text], "which is read")]:
        code, said = command(capsys, *words)
        assert code == 2 and part in said and said.startswith("error: ") and said.count("\n") == 1, said
    made = onnx.load(path)
    made.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 9
    onnx.save(made, path)
    code, said = command(capsys, "check", path)
    assert code == 1 and said.startswith("malformed")


def test_the_page_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).resolve().parents[1] / "docs" / "onnx.md"
    text = re.sub(r"^```.*$", "", page.read_text(), flags=re.M)
    said: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
    assert test.examples and not said, "".join(said)
