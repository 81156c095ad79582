"""Arrays of no elements and of no axes: every op in both backends, and public functions in every style."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from cases import Case, like

import stele as st
from stele import nn
from stele.backend.buffers import Buffer
from stele.backend.reference import run
from stele.errors import IndexOutOfRange, ShapeError
from stele.ir.graph import Array, Graph, parameter
from stele.ir.types import Type, float32, int32, int64
from stele.ops import ALL
from stele.ops.branch import Cond
from stele.ops.called import SHOWN, Called
from stele.ops.checkpoint import Checkpoint
from stele.ops.contraction import KIN, Conv2d, Conv2dInputGrad, Conv2dWeightGrad, MatMul
from stele.ops.control import Scan
from stele.ops.derived import Derived, Unmoved, Watched, Written
from stele.ops.elementwise.base import Elementwise
from stele.ops.everyday import CommonDivisor
from stele.ops.factors import Exchanged, Qr
from stele.ops.fixed import FixedPoint
from stele.ops.foreign import Foreign
from stele.ops.fourier import Fft, Irfft, Rfft
from stele.ops.gather import CheckCount, CheckIndex, Gather
from stele.ops.generate import Iota
from stele.ops.lapack import Pinv, Solve, SolveTriangular
from stele.ops.linear import Broadcast, Cast, Concatenate, Pad, Reshape, Slice, Sum, Transfer, Transpose
from stele.ops.random import RandomBits, Sample
from stele.ops.repeat import While
from stele.ops.sorting import Search
from stele.ops.windows import Taps, Unwindow, Window
from stele.pipeline import Options, build
from stele.transform.autodiff import vjp

SHAPES = ((), (0,), (2, 0), (0, 3))
PLAIN = ((1, 1), ((0, 0), (0, 0)), (1, 1), 1)
PADDED = ((2, 1), ((1, 1), (1, 1)), (1, 1), 2)
NONE = ((0, 0), (0, 0))
IMAGES = ((0, 2, 5, 4), (2, 0, 5, 4))


def index(*shape: int) -> Array:
    """Positions, all 0."""
    return np.zeros(shape, np.int64)


def counting(n: int = 2) -> Any:
    """The body of a loop: a carry to which rows are added."""
    carry, row = parameter("c", Type(float32, (n,))), parameter("x", Type(float32, (n,)))
    return Graph((carry, row), (carry + row, carry * row))


def squaring(n: int) -> Any:
    """What `Written` is the derivative of."""
    x, w = parameter("x", Type(float32, (n,))), parameter("w", Type(float32, (n,)))
    return Graph((x, w), (x * x * w, x))


def halving(n: int) -> Any:
    """A step towards twice the second operand."""
    x, w = parameter("x", Type(float32, (n,))), parameter("w", Type(float32, (n,)))
    return Graph((x, w), (x * 0.5 + w,))


def adding(n: int) -> While:
    """A loop that adds rows to a carry as long as its squares sum up to less than 0: never."""
    carry, row = parameter("c", Type(float32, (n,))), parameter("x", Type(float32, (n,)))
    body = counting(n)
    return While(Graph((carry, row), (Sum((0,))(carry * carry) < 0.0,)), Graph(body.parameters, body.results[:1]), 1)


def without_elements(axes: int) -> list[tuple[Any, list[Any]]]:
    """The convolutions over so many axes, with operands without images, then channels."""
    size, kernel, out = (5,) * axes, (3,) * axes, (3,) * axes
    pairs = [((0, 2), (4, 2)), ((2, 0), (4, 0)), ((2, 2), (0, 2))]
    none = [((n, o, *out), (o, c, *kernel), (n, c, *size)) for (n, c), (o, _) in pairs]
    plain = (1,) * axes, ((0, 0),) * axes, (1,) * axes, 1
    ahead, back, slope = KIN[axes]
    return [(ahead(*plain), [(x, w) for _, w, x in none]), (back(*plain, size), [(g, w) for g, w, _ in none]),
            (slope(*plain, kernel), [(g, x) for g, _, x in none])]


# For every op that is not elementwise: pairs (op, operands), an operand a shape of float32 or an array.
EMPTY: dict[str, list[tuple[Any, ...]]] = {
    "Broadcast":        [(Broadcast((0, 3)), (1, 3)), (Broadcast((2, 0)), ()), (Broadcast((4, 0)), (0,)),
                         (Broadcast(()), ())],
    "Reshape":          [(Reshape((3, 0)), (0, 5)), (Reshape((0,)), (2, 0)), (Reshape(()), (1,)), (Reshape((1, 1)),
                         ())],
    "Transpose":        [(Transpose((1, 0)), (0, 3)), (Transpose(()), ())],
    "Slice":            [(Slice((0,), (0,), (1,)), (3,)), (Slice((0, 1), (0, 2), (1, 1)), (0, 4)), (Slice((), (),
                         ()), ())],
    "Pad":              [(Pad((1, 0), (2, 0), (0, 0)), (0, 3)), (Pad((1,), (1,), (2,)), (0,)), (Pad((), (), ()), ())],
    "Concatenate":      [(Concatenate(0), (0, 3), (2, 3)), (Concatenate(1), (0, 3), (0, 1)), (Concatenate(0), (0,),
                         (0,))],
    "Gather":           [(Gather(0), (3, 2), index(0)), (Gather(0), (0, 2), index(0)), (Gather(1), (0, 2), index()),
                         (Gather(0), (3,), index(2, 0))],
    **{name: [(ALL[name](0, 3), (0, 2), index(0)), (ALL[name](0, 0), (0,), index(0)), (ALL[name](0, 3), (), index())]
       for name in ("ScatterAdd", "ScatterMul", "ScatterMax", "ScatterMin")},
    **{name: [(ALL[name](0, 3), (3, 2), (0, 2), index(0)), (ALL[name](0, 0), (0,), (0,), index(0)),
              (ALL[name](0, 3), (3,), (), index())] for name in ("ScatterOnto", "ScatterPut")},
    "Cast":             [(Cast(int32), s) for s in SHAPES],
    "Transfer":         [(Transfer("cpu:1"), s) for s in SHAPES],
    **{name: [(ALL[name](), np.ones(s, "c8")) for s in SHAPES] for name in ("Imag", "Conj", "Angle")},
    "Complex":          [(ALL["Complex"](), s, s) for s in SHAPES],
    "Window":           [(Window(1, 2, 1, 1), (0, 4)), (Window(0, 2, 2, 1), (4, 0))],
    "Taps":             [(Taps((2, 3), (1, 1), 5, 8), (0, 3, 1, 1, 15)), (Taps((2, 3), (1, 1), 5, 8),
                         (2, 0, 1, 1, 15))],
    "Unwindow":         [(Unwindow(1, 2, 1, 1, 4), (0, 3, 2)), (Unwindow(0, 2, 2, 1, 4), (2, 0, 2))],
    "Iota":             [(Iota((0,), 0, int64),), (Iota((2, 0), 0, float32),), (Iota((0, 3), 1, int64),)],
    "Sample":           [(Sample(name), np.zeros(4, np.uint32), np.ones(shape)) for shape in ((0, 2), ())
                         for name in ("poisson", "standard_gamma")],
    "CommonDivisor":    [(CommonDivisor(), index(*s), index(*s)) for s in SHAPES],
    "RandomBits":       [(RandomBits(s), np.arange(4, dtype=np.uint32)) for s in SHAPES],
    "CheckIndex":       [(CheckIndex(3), index(0)), (CheckIndex(0), index(0, 2)), (CheckIndex(1), index())],
    "CheckCount":       [(CheckCount(1), index(0)), (CheckCount(1), index())],
    "Search":           [(Search(False), (0,), (3,)), (Search(True), (3,), (0,)), (Search(True), (0, 3), (0, 2)),
                         (Search(False), (2, 0), (2, 3))],
    "MatMul":           [(MatMul(), (3, 0), (0, 4)), (MatMul(), (0, 3), (3, 4)), (MatMul(), (3, 3), (3, 0)),
                         (MatMul(), (2, 3, 0), (2, 0, 4)), (MatMul(), (0, 2, 3), (0, 3, 2)), (MatMul(), (0, 0), (0, 0)),
                         (MatMul(), index(3, 0), index(0, 4))],
    **{name: [(ALL[name](axis), s) for axis, s in ((0, (0,)), (0, (0, 3)), (1, (0, 3)), (-1, (2, 0)))]
       for name in ("CumSum", "CumProd", "CumMax", "CumMin", "LogCumSumExp")},
    **{name: [(ALL[name](), s) for s in ((0,), (3, 0), (0, 3))] for name in ("Sort", "ArgSort")},
    "ArgTop":           [(ALL["ArgTop"](True, k), s) for k, s in ((2, (0, 3)), (0, (3, 0)), (0, (2,)))],
    "Places":           [(ALL["Places"](k), np.zeros(s, bool)) for k, s in ((2, (0,)), (0, (3,)), (3, (2, 0)))],
    "Solve":            [(Solve(), (0, 0), (0, 3)), (Solve(), (3, 3), (3, 0)), (Solve(), (0, 2, 2), (0, 2, 1))],
    "SolveTriangular":  [(SolveTriangular(True, False), (0, 0), (0, 3)), (SolveTriangular(False, True), (3, 3), (3, 0)),
                         (SolveTriangular(True, False), (0, 2, 2), (0, 2, 1))],
    **{name: [(ALL[name](), s) for s in ((0, 0), (0, 3, 3), (2, 0, 0))]
       for name in ("Inv", "Det", "Cofactors", "Slogdet", "Expm", "Eig", "Eigvals")},
    **{name: [(ALL[name](read), s) for read in ("L", "U", "both") for s in ((0, 0), (0, 3, 3), (2, 0, 0))]
       for name in ("Cholesky", "Eigh", "Eigvalsh")},
    **{name: [(ALL[name](*how), s) for how in ways for s in ((0, 0), (0, 3), (3, 0), (0, 3, 2), (2, 3, 0), (2, 0, 3))]
       for name, ways in (("Svdvals", [()]), ("Lu", [()]), ("Svd", [(True,), (False,)]))},
    "Qr":               [(Qr(False), s) for s in ((0, 0), (3, 0), (0, 3, 2), (2, 3, 0))] + [(Qr(True), (0, 2, 2))],
    "Fft":              [(Fft((-1,), False, "ortho"), np.zeros((0, 3), np.complex64)),
                         (Fft((-2, -1), True, "backward"), np.zeros((0, 3, 2), np.complex128))],
    "Rfft":             [(Rfft("backward"), (0, 3)), (Rfft("ortho"), (2, 0, 1))],
    "Irfft":            [(Irfft(4, "backward"), np.zeros((0, 3), np.complex64))],
    "Pinv":             [(Pinv(), s, np.float32(0)) for s in ((0, 0), (0, 3), (3, 0), (0, 3, 2), (2, 0, 3))],
    "Exchanged":        [(Exchanged(3), index(0)), (Exchanged(0), index(0)), (Exchanged(3), index(0, 2))],
    "Conv2d":           [(Conv2d(*PLAIN), x, (3, x[1], 3, 2)) for x in IMAGES] + [
                         (Conv2d(*PADDED), x, (4, x[1] // 2, 3, 3)) for x in IMAGES] + [
                         (Conv2d(*PLAIN), (2, 3, 5, 4), (0, 3, 1, 1)), (Conv2d(*PLAIN), (0, 3, 5, 4), (4, 3, 1, 1)),
                         (Conv2d(*PLAIN), (1, 1, 4, 4), (1, 1, 0, 1))],
    "Conv2dInputGrad":  [(Conv2dInputGrad(*PLAIN, size=(5, 4)), (0, 3, 3, 3), (3, 2, 3, 2)),
                         (Conv2dInputGrad(*PLAIN, size=(5, 4)), (2, 0, 3, 3), (0, 2, 3, 2)),
                         (Conv2dInputGrad(*PLAIN, size=(5, 4)), (2, 3, 3, 3), (3, 0, 3, 2))],
    "Conv2dWeightGrad": [(Conv2dWeightGrad(*PLAIN, kernel=(3, 2)), (0, 3, 3, 3), (0, 2, 5, 4)),
                         (Conv2dWeightGrad(*PLAIN, kernel=(3, 2)), (2, 0, 3, 3), (2, 2, 5, 4)),
                         (Conv2dWeightGrad(*PLAIN, kernel=(3, 2)), (2, 3, 3, 3), (2, 0, 5, 4))],
    **{op.name: [(op, *shapes) for shapes in operands] for axes in (1, 3) for op, operands in without_elements(axes)},
    "Scan":             [(Scan(counting(), 1, 1, 0, False), (2,), (0, 2))],
    "Cond":             [(Cond((counting(n), counting(n))), np.bool_(True), (n,), (n,)) for n in (0, 2)],
    "While":            [(adding(n), (n,), (n,)) for n in (0, 2)],
    "Foreign":          [(op, *(a[..., :0] if a.ndim else a for a in x)) for op, x in Foreign.examples()],
    "Called":           [(Called(SHOWN.name, SHOWN), np.arange(n)) for n in (0, 2)],
    "Derived":          [(Derived(squaring(n), Written(), 2), (n,), (n,)) for n in (0, 2)],
    "Watched":          [(Watched(squaring(n), Unmoved(), 2), (n,), (n,)) for n in (0, 2)],
    "FixedPoint":       [(FixedPoint(halving(n), 0.0, 1.0, 9), (n,), (n,)) for n in (0, 2)],
    **{name: [(ALL[name](), s, np.int64(0)) for s in SHAPES] for name in ("AllSum", "AllMax")},
    "AllGather":        [(ALL["AllGather"](2), s, np.int64(0)) for s in SHAPES],
    "Checkpoint":       [(Checkpoint(counting(n), 1, 2, 0), (n,), (n,)) for n in (0, 2)],
    **{name: [(ALL[name](axes), s) for axes, s in (((0,), (0,)), ((1,), (3, 0)), ((1,), (0, 3)), ((0, 1), (2, 0)))]
       for name in ("Sum", "Prod", "Others", "All", "Any", "LogSumExp", "Norm")},
    **{name: [(ALL[name](axes), s) for axes, s in (((1,), (0, 3)), ((0,), (3, 0)))] for name in ("Max", "Min")},
    **{name: [(ALL[name](axis), s) for axis, s in ((1, (0, 3)), (0, (3, 0)))] for name in ("ArgMax", "ArgMin")},
    **{name: [(ALL[name](axis), s) for axis, s in ((0, (0,)), (1, (3, 0)), (1, (0, 3)), (0, (0, 3)))]
       for name in ("Softmax", "LogSoftmax")},
    "Normalize":        [(ALL["Normalize"]((1,), 1e-5), (0, 3)), (ALL["Normalize"]((1,), 1e-5), (3, 0))],
    "Gelu":             [(ALL["Gelu"](False), s) for s in SHAPES] + [(ALL["Gelu"](True), s) for s in SHAPES],
    "Silu":             [(ALL["Silu"](), s) for s in SHAPES],
    **{name: [(ALL[name](*how), x) for how in (((2, 2), (2, 2), NONE, (1, 1)),
                                            ((3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1))) for x in IMAGES]
       for name in ("MaxPool", "AvgPool")},
}
LEAVES = ("Parameter", "Literal", "Constant", "Item")


def elementwise(cls: type[Any]) -> Iterator[tuple[Any, ...]]:
    """An elementwise op on empty operands of the dtypes of its examples."""
    for op, operands in cls.examples():
        kinds = [float32.numpy if isinstance(x, Type) else np.asarray(x).dtype for x in operands]
        for shape in SHAPES:
            yield op, *(np.ones(shape, kind) for kind in kinds)


def cases() -> Iterator[Any]:
    rng = np.random.default_rng(0)
    for name, cls in ALL.items():
        rows = EMPTY.get(name) or (list(elementwise(cls)) if issubclass(cls, Elementwise) else [])
        for k, (op, *operands) in enumerate(rows):
            arrays = tuple(rng.standard_normal(x).astype("f4") if isinstance(x, tuple) else x for x in operands)
            yield pytest.param(Case(op, arrays), id=f"{name}-{k}")


CASES = list(cases())


def check(graph: Graph, args: Sequence[Array]) -> None:
    """The native results are those of the reference."""
    expected = run(graph, args)
    program = build(graph, options=Options(backend="cpu"))
    for y, e in zip(program.run([Buffer.of(a) for a in args], {}), expected, strict=True):
        assert y.array.dtype == e.dtype and y.array.shape == e.shape
        np.testing.assert_allclose(y.array, e, rtol=1e-5, atol=1e-6)


def test_every_op_has_an_empty_example() -> None:
    assert set(ALL) == {type(p.values[0].op).__name__ for p in CASES} | set(LEAVES)


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("case", CASES)
def test_ops_take_empty_operands(case: Case) -> None:
    check(case.graph(), case.operands)
    if case.is_differentiable():
        graph, wide = case.wide()
        g = [a.astype("f4") for a in like(run(graph, wide), 2)]
        check(vjp(case.graph()), [*case.operands, *g])


def f4(*shape: int) -> Array:
    return np.asarray(np.random.default_rng(1).standard_normal(shape), np.float32)


ATTENTION = nn.MultiheadAttention(4, 2)
LINEAR, CONV, GRU, LSTM = nn.Linear(3, 4), nn.Conv2d(2, 4, 3, padding=1), nn.GRU(3, 4), nn.LSTM(3, 4)

# A public function, what NumPy says (None where zeros or nothing are due, by shape), and operands.
CALLS: dict[str, tuple[Callable[..., Any], Any, tuple[Array, ...]]] = {
    "product":          (lambda x, w: x @ w, np.matmul, (f4(3, 0), f4(0, 4))),
    "product of none":  (lambda x, w: x @ w, np.matmul, (f4(0, 3), f4(3, 4))),
    "product and more": (lambda x, w: st.relu(x @ w + 1) * 2, lambda x, w: np.maximum(x @ w + 1, 0) * 2,
                         (f4(3, 0), f4(0, 4))),
    "products":         (lambda x, w: x @ w, np.matmul, (f4(2, 3, 0), f4(2, 0, 4))),
    "vectors":          (lambda x, w: x @ w, np.matmul, (f4(0), f4(0))),
    "wide product":     (lambda x, w: x @ w, np.matmul, (f4(3, 0).astype("f8"), f4(0, 4).astype("f8"))),
    "half product":     (lambda x, w: x @ w, np.matmul, (f4(3, 0).astype("f2"), f4(0, 4).astype("f2"))),
    "convolution":      (lambda x, w: st.conv2d(x, w, padding=1), lambda x, w: np.zeros((0, 4, 6, 6), "f4"),
                         (f4(0, 3, 6, 6), f4(4, 3, 3, 3))),
    "no channels":      (lambda x, w: st.conv2d(x, w), lambda x, w: np.zeros((2, 4, 4, 4), "f4"),
                         (f4(2, 0, 6, 6), f4(4, 0, 3, 3))),
    "no height":        (lambda x, w: st.conv2d(x, w, padding=1), lambda x, w: np.zeros((1, 1, 2, 6), "f4"),
                         (f4(1, 1, 0, 4), f4(1, 1, 1, 1))),
    "max pool":         (lambda x: st.max_pool2d(x, 2), lambda x: np.zeros((0, 3, 3, 3), "f4"), (f4(0, 3, 6, 6),)),
    "average pool":     (lambda x: st.avg_pool2d(x, 2), lambda x: np.zeros((2, 0, 3, 3), "f4"), (f4(2, 0, 6, 6),)),
    "softmax":          (lambda x: st.softmax(x, axis=1), lambda x: x, (f4(3, 0),)),
    "log softmax":      (lambda x: st.log_softmax(x, axis=0), lambda x: x, (f4(0, 3),)),
    "logsumexp":        (lambda x: st.logsumexp(x, axis=1), lambda x: np.full(3, -np.inf, "f4"), (f4(3, 0),)),
    "logsumexp of all": (lambda x: st.logsumexp(x), lambda x: np.float32(-np.inf), (f4(0),)),
    "sum":              (lambda x: x.sum(axis=1), lambda x: x.sum(axis=1), (f4(3, 0),)),
    "prod":             (lambda x: x.prod(axis=1), lambda x: x.prod(axis=1), (f4(3, 0),)),
    "mean":             (lambda x: x.mean(axis=1), lambda x: np.full(3, np.nan, "f4"), (f4(3, 0),)),
    "all":              (lambda x: (x > 0).all(axis=1), lambda x: (x > 0).all(axis=1), (f4(3, 0),)),
    "any":              (lambda x: (x > 0).any(), lambda x: np.asarray(False), (f4(3, 0),)),
    "max beside":       (lambda x: x.max(axis=1), lambda x: x.max(axis=1), (f4(0, 3),)),
    "argmax beside":    (lambda x: x.argmax(axis=1), lambda x: x.argmax(axis=1), (f4(0, 3),)),
    "layer norm":       (lambda x: st.layer_norm(x), lambda x: x, (f4(0, 3),)),
    "take":             (lambda x: st.take(x, st.tensor(index(0)), axis=0), lambda x: x[:0], (f4(3, 2),)),
    "indexing":         (lambda x: x[st.tensor(index(0))], lambda x: x[:0], (f4(3, 2),)),
    "slices":           (lambda x: x[1:1, ::-1], lambda x: x[1:1, ::-1], (f4(3, 2),)),
    "cross entropy":    (lambda x: st.cross_entropy(x, st.tensor(index(0)), reduction="none"),
                         lambda x: np.zeros(0, "f4"),
                         (f4(0, 3),)),
    "one hot":          (lambda x: st.one_hot(x, 3), lambda x: np.zeros((0, 3), "f4"), (index(0),)),
    "concatenate":      (lambda x, z: st.concatenate([x, z]), lambda x, z: z, (f4(0, 3), f4(2, 3))),
    "stack of numbers": (lambda x, z: st.stack([x, z]), lambda x, z: np.stack([x, z]), (f4(), f4())),
    "pad":              (lambda x: st.pad(x, [(1, 1), (0, 0)], value=2.0), lambda x: np.full((2, 3), 2, "f4"),
                         (f4(0, 3),)),
    "roll":             (lambda x: st.roll(x, 2, 0), lambda x: x, (f4(0, 3),)),
    "repeat":           (lambda x: st.repeat(x, 0, 0), lambda x: x[:0], (f4(2, 3),)),
    "reshape":          (lambda x: x.reshape(-1, 5), lambda x: x, (f4(0, 5),)),
    "flatten a number": (lambda x: x.flatten(), lambda x: x.reshape(1), (f4(),)),
    "tril":             (lambda x: st.tril(x), lambda x: x, (f4(0, 3),)),
    "operators":        (lambda x, z: (x + z) * 2 - x / 3, lambda x, z: (x + z) * 2, (f4(0, 3), f4(1, 3))),
    "of no axes":       (lambda x: st.tanh(x) * 2, lambda x: np.tanh(x) * 2, (f4(),)),
    "where":            (lambda x, z: st.where(x > z, x, z), lambda x, z: x, (f4(0, 3), f4(1, 3))),
    "attention":        (lambda x: st.softmax(x @ x.transpose(1, 2)) @ x, lambda x: x, (f4(2, 0, 4),)),
    "scan of nothing":  (lambda x: st.scan(lambda c, r: (c + r.sum(), c * r), st.tensor(1.0), x), None, (f4(0, 3),)),
    "scan over empty":  (lambda x: st.scan(lambda c, r: (c + r.sum(), c * r), st.tensor(1.0), x)[1], lambda x: x,
                         (f4(3, 0),)),
    "Linear":           (lambda x: LINEAR(x), lambda x: np.zeros((0, 4), "f4"), (f4(0, 3),)),
    "Conv2d":           (lambda x: CONV(x), lambda x: np.zeros((0, 4, 5, 5), "f4"), (f4(0, 2, 5, 5),)),
    "GRU of nobody":    (lambda x: GRU(x)[0], lambda x: np.zeros((5, 0, 4), "f4"), (f4(5, 0, 3),)),
    "GRU of no time":   (lambda x: GRU(x)[0], lambda x: np.zeros((0, 2, 4), "f4"), (f4(0, 2, 3),)),
    "attention of nobody": (lambda x: ATTENTION(x, x, x, attn_mask=st.zeros(0, 5, 5) == 1)[0],
                            lambda x: np.zeros((5, 0, 4), "f4"), (f4(5, 0, 4),)),
    "attention without features": (lambda x, v: nn.functional.scaled_dot_product_attention(x, x, v),
                                   lambda x, v: np.full((3, 4), v.mean(0)), (f4(3, 0), f4(3, 4))),
    "LSTM of nobody":   (lambda x: LSTM(x)[1][0], lambda x: np.zeros((1, 0, 4), "f4"), (f4(5, 0, 3),)),
}


def in_styles(f: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
    """What a function makes of tensors: imperative, compiled and symbolic."""
    symbols = [st.placeholder(a.shape, a.dtype) for a in args]
    return [f(*args), st.compile(f)(*args), st.function(symbols, f(*symbols))(*args)]


@pytest.mark.parametrize("name", CALLS)
def test_public_functions_take_empty_arrays_in_every_style(name: str) -> None:
    f, numpy, args = CALLS[name]
    expected = (np.float32(1), np.zeros((0, 3), "f4")) if numpy is None else (np.asarray(numpy(*args)),)
    for made in in_styles(f, [st.tensor(a) for a in args]):
        for y, e in zip(made if isinstance(made, tuple) else (made,), expected, strict=True):
            assert y.numpy().dtype == e.dtype or e.dtype == np.float64
            np.testing.assert_allclose(y.numpy(), e, rtol=1e-6)
            assert y.shape == e.shape


@pytest.mark.parametrize("name", [n for n, (_, _, args) in CALLS.items() if args[0].dtype == np.float32])
def test_gradients_of_empty_arrays_have_their_shape(name: str) -> None:
    f, _, args = CALLS[name]

    def loss(*x: Any) -> Any:
        made = f(*x)
        return (made[0] if isinstance(made, tuple) else made).astype("float32").sum()

    g = st.grad(loss, tuple(range(len(args))))
    for made in (g(*map(st.tensor, args)), st.compile(g)(*map(st.tensor, args))):
        for dx, x in zip(made, args, strict=True):
            assert dx.shape == x.shape and np.isfinite(dx.numpy()).all()


def test_parameters_get_zeros_from_an_empty_batch() -> None:
    for layer, x in ((LINEAR, f4(0, 3)), (CONV, f4(0, 2, 5, 5)), (GRU, f4(5, 0, 3)), (GRU, f4(0, 2, 3)),
                     (LSTM, f4(0, 2, 3))):
        def loss(layer: Any, x: Any) -> Any:
            made = layer(x)
            return (made[0] if isinstance(made, tuple) else made).sum()

        found = st.compile(st.grad(loss))(layer, st.tensor(x))
        assert all(not g.numpy().any() for g in found.values())


def test_an_open_size_may_be_nothing() -> None:
    f = st.compile(lambda x: (LINEAR(x), st.softmax(x.T), st.logsumexp(x, 0), x.T @ x), dims={"x": {0: "n"}})
    assert [y.shape for y in f(st.ones(5, 3))] == [(5, 4), (3, 5), (3,), (3, 3)]
    y, p, s, xx = f(st.ones(0, 3))
    assert y.shape == (0, 4) and p.shape == (3, 0) and not xx.numpy().any() and np.isneginf(s.numpy()).all()
    assert f.compiles == 1


# What looks at all elements along an axis, of which a later call has none.
WHOLE: dict[str, Callable[[st.Tensor], Any]] = {
    "max":       lambda x: x.max(),
    "min":       lambda x: st.min(x, axis=0),
    "argmax":    lambda x: x.argmax(),
    "argmin":    lambda x: st.argmin(x, axis=0),
    "ptp":       lambda x: st.ptp(x),
    "nanmax":    lambda x: st.nanmax(x),
    "median":    lambda x: st.median(x),
    "quantile":  lambda x: st.quantile(x, [0.2, 0.5]),
    "norm":      lambda x: st.linalg.norm(x, np.inf),
    "softmax":   lambda x: st.softmax(x, axis=0),
    "logsumexp": lambda x: st.logsumexp(x, axis=0),
    "histogram": lambda x: st.histogram(x, 3),
    "diff":      lambda x: st.diff(x, n=2),
    "trapezoid": lambda x: st.trapezoid(x),
    "convolve":  lambda x: st.convolve(x, st.ones(2)),
    "chunk":     lambda x: st.chunk(x, 2),
    "fixed":     lambda x: st.fixed_point(lambda y, x: 0.5 * y + x, x, x),
    "gradient":  lambda x: st.grad(lambda x: st.logsumexp(x, axis=0))(x),
}


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("name", WHOLE)
def test_a_program_of_open_size_makes_of_nothing_what_uncompiled_code_does(name: str, backend: str) -> None:
    """Natively extremes and norms were infinite, and a place 2^63 - 1; the reference refused what has an answer."""
    program = st.compile(WHOLE[name], dims={"x": {0: "n"}}, backend=backend)
    found: list[Any] = []
    for n in (3, 0, 5):
        x = st.arange(float(n))
        for f in (WHOLE[name], program):
            try:
                y = f(x)
                found.append([*map(st.Tensor.numpy, y if isinstance(y, tuple) else [y])])
            except ShapeError as error:
                found.append(str(error).partition(" at ")[0])
    for want, got in zip(found[::2], found[1::2], strict=True):
        if isinstance(want, str):
            assert got == want
        else:
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6)
    assert program.compiles <= 2


@pytest.mark.parametrize("call, error", [
    (lambda: st.zeros(3, 0).max(axis=1), ShapeError), (lambda: st.zeros(0).argmin(), ShapeError),
    (lambda: st.take(st.zeros(0, 2), st.tensor([0])).numpy(), IndexOutOfRange),
    (lambda: st.zeros(0)[0], IndexOutOfRange),
    (lambda: st.pick(st.zeros(2, 0), st.tensor([0, 0])).numpy(), IndexOutOfRange),
    (lambda: st.zeros(0, 5).reshape(0, -1), ShapeError), (lambda: st.zeros(0).item(), ShapeError),
])
def test_what_nothing_cannot_answer_is_refused(call: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
