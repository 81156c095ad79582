"""Complex numbers as pairs of real ones: what code is written for is real, and parts fuse like all else.

A complex parameter of shape s is the same buffer seen as its parts, of shape (*s, 2), and so is a complex result.
`TABLE` says how each op acts on pairs; a host op has whole complex numbers, put together before it and taken apart
behind it.
"""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stele.ir.graph import (
    Array,
    Constant,
    Graph,
    Item,
    Literal,
    Op,
    Value,
    interpret,
    label_of,
    literal,
    nested,
    parameter,
    rebuild,
)
from stele.ir.origin import inherit
from stele.ir.record import Single
from stele.ir.report import Report
from stele.ir.types import TupleType, Type, axes_of, bool_
from stele.ir.types import product as product_of
from stele.ops import contraction, linear, windows
from stele.ops.branch import Cond
from stele.ops.checkpoint import Checkpoint
from stele.ops.contraction import MatMul
from stele.ops.control import Scan
from stele.ops.cumulative import CumProd, CumSum
from stele.ops.derived import Derived, Watched
from stele.ops.elementwise.arithmetic import Add, Div, Equal, Mul, Neg, NotEqual, Select, Sub
from stele.ops.elementwise.binary import Pow
from stele.ops.elementwise.elementary import (
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atanh,
    Log2,
    Log10,
    atan2,
    hypot,
)
from stele.ops.elementwise.unary import (
    Abs,
    Atan,
    Cos,
    Cosh,
    Exp,
    Expm1,
    IsFinite,
    IsInf,
    IsNan,
    Log,
    Log1p,
    Reciprocal,
    Round,
    Rsqrt,
    Sin,
    Sinh,
    Sqrt,
    Square,
    StopGradient,
    Tan,
    Tanh,
)
from stele.ops.fixed import FixedPoint
from stele.ops.gather import Gather, ScatterAdd, ScatterMul, ScatterOnto, ScatterPut
from stele.ops.linear import Cast, Concatenate, cast, expand_dims, reshape, slice_axis, transpose, zeros_like
from stele.ops.parts import Angle, Complex, Conj, Imag
from stele.ops.reduction import Prod
from stele.ops.repeat import While
from stele.transform import complexes


class Pair(Single):
    """A complex value: its real and imaginary part, and both in one array where there is one."""

    re: Value
    im: Value
    whole: Value | None = None


Part = Value | Pair
Parts = Part | tuple[Part, ...]
"""What stands for a value: a tuple for one of several arrays."""


class Paired(Op):
    """A host op whose complex operands, and results, are arrays of their parts."""

    op: Op
    complexes: tuple[bool, ...]

    @property
    def name(self) -> str:
        return self.op.name

    def type(self, *x: Type) -> Type | TupleType:
        y = self.op.type(*(whole_type(t) if c else t for t, c in zip(x, self.complexes)))
        return TupleType(tuple(map(parted_type, y.items))) if isinstance(y, TupleType) else parted_type(y)

    def reference(self, *x: Array, **_: Any) -> Any:
        y = self.op.reference(*(whole_array(a) if c else a for a, c in zip(x, self.complexes)))
        return tuple(map(parted_array, y)) if isinstance(y, tuple) else parted_array(y)


def parted_type(t: Type) -> Type:
    """The type of the parts of an array."""
    return Type(t.dtype.real, (*t.shape, 2), t.device) if t.dtype.is_complex else t


def whole_type(t: Type) -> Type:
    """The type of the complex numbers that an array holds the parts of."""
    return Type(t.dtype.complex, t.shape[:-1], t.device)


def whole_array(x: Array) -> Array:
    """Parts as complex numbers, in the same memory."""
    return x.view(np.result_type(x, np.complex64))[..., 0]


def parted_array(x: Any) -> Array:
    """Complex numbers as their parts."""
    x = np.asarray(x)
    return np.ascontiguousarray(x[..., None]).view(x.real.dtype) if x.dtype.kind == "c" else x


def split(whole: Value) -> Pair:
    """The complex numbers that an array holds the parts of."""
    re, im = (reshape(slice_axis(whole, -1, k, 1), whole.shape[:-1]) for k in (0, 1))
    return Pair(re, im, whole)


def joined(x: Parts) -> Value:
    """The array of the parts of complex numbers; a real value itself."""
    if not isinstance(x, Pair):
        assert isinstance(x, Value)
        return x
    re, im = (expand_dims(part, (part.ndim,)) for part in (x.re, x.im))
    return x.whole or Concatenate(x.re.ndim)(re, im)


def pairs(graph: Graph, report: Report | None = None) -> Graph:
    """The graph in real numbers alone."""
    if not any(map(is_complex, graph.everything)):
        return graph
    given = [parameter(label_of(p), parted_type(p.type)) if is_complex(p) else p for p in graph.parameters]
    meaning: list[Parts] = [p if p is old else split(p) for p, old in zip(given, graph.parameters)]
    return Graph(tuple(given), tuple(map(joined, interpret(graph, meaning, parted))), graph.guards)


def is_complex(v: Value) -> bool:
    """Whether a value, or one of several that it is, is complex."""
    return any(t.dtype.is_complex for t in (v.type.items if isinstance(v.type, TupleType) else (v.type,)))


def parted(v: Value, x: list[Parts]) -> Parts:
    """What an op makes of pairs."""
    if isinstance(v.op, Item) and isinstance(x[0], tuple):
        return x[0][v.op.k]
    if all(isinstance(a, Value) for a in x) and not any(map(is_complex, nested([v]))):
        return rebuild(v, x)    # type: ignore[arg-type]
    with inherit(v.where):
        return TABLE.get(type(v.op), expanded if v.op.family == "composite" else hosted)(v, *x)


def hosted(v: Value, *x: Parts) -> Parts:
    """An op that Python computes, of whole complex numbers."""
    y = Paired(v.op, tuple(isinstance(a, Pair) for a in x))(*map(joined, x))
    if not isinstance(v.type, TupleType):
        return split(y) if is_complex(v) else y
    parts = [Item(k)(y) for k in range(len(v.type.items))]
    return tuple(split(part) if t.dtype.is_complex else part for part, t in zip(parts, v.type.items))


def each(v: Value, *x: Part) -> Pair:
    """An op that acts on both parts alike."""
    re, im = (v.op(*(getattr(a, part) if isinstance(a, Pair) else a for a in x)) for part in ("re", "im"))
    return Pair(re, im)


def number(v: Value) -> Pair:
    """A complex number."""
    value = complex(v.op.value)     # type: ignore[attr-defined]
    return Pair(literal(value.real, v.dtype.real), literal(value.imag, v.dtype.real))


def constant(v: Value) -> Pair:
    """An array of complex numbers."""
    return split(Constant(parted_array(v.op.array))())      # type: ignore[attr-defined]


def converted(v: Value, x: Part) -> Part:
    """A cast from, to or between complex dtypes."""
    if isinstance(x, Value):
        re = cast(x, v.dtype.real)
        return Pair(re, zeros_like(re))
    if v.dtype.is_complex:
        return Pair(cast(x.re, v.dtype.real), cast(x.im, v.dtype.real))
    return cast(x.re, bool_) | cast(x.im, bool_) if v.dtype == bool_ else cast(x.re, v.dtype)


def bilinear(v: Value, x: Pair, w: Pair) -> Pair:
    """A contraction: four of real operands."""
    return Pair(v.op(x.re, w.re) - v.op(x.im, w.im), v.op(x.re, w.im) + v.op(x.im, w.re))


def product(v: Value, x: Pair, w: Pair) -> Pair:
    """A product of matrices as one of real ones: x as it lies in memory, (..., m, 2k), with (..., 2k, 2n), where the
    number w is the matrix [[re, im], [-im, re]]; the result is the product as it lies in memory."""
    left, right = joined(x), joined(w)
    turned = joined(Pair(-w.im, w.re))
    lead, (m, k), n = left.shape[:-3], left.shape[-3:-1], right.shape[-2]
    rows = [expand_dims(a, (a.ndim - 2,)) for a in (right, turned)]
    right = reshape(Concatenate(len(lead) + 1)(*rows), (*lead, k * 2, n * 2))
    return split(reshape(MatMul()(reshape(left, (*lead, m, k * 2)), right), (*lead, m, n, 2)))


def multiplied(v: Value, x: Pair) -> Parts:
    """A product of elements: of one half with the other until one is left; Python makes that of an open number."""
    axes = axes_of(v.op.axes, x.re.ndim)     # type: ignore[attr-defined]
    n = product_of(tuple(x.re.shape[k] for k in axes))
    if not isinstance(n, int) or n == 0:
        return hosted(v, x)
    order = (*(k for k in range(x.re.ndim) if k not in axes), *axes)
    y = tuple(reshape(transpose(part, order), (*v.shape, n)) for part in (x.re, x.im))
    while n > 1:
        half = n // 2
        first, then, rest = ([slice_axis(part, -1, start, count) for part in y]
                             for start, count in ((0, half), (half, half), (half * 2, n % 2)))
        y = complexes.multiply(*first, *then)
        y = tuple(Concatenate(v.ndim)(*both) for both in zip(y, rest)) if n % 2 else y
        n = half + n % 2
    return Pair(*(reshape(part, v.shape) for part in y))


def of_parts(f: Callable[..., tuple[Value, Value]]) -> Callable[..., Pair]:
    """An elementwise function of `complexes`."""
    return lambda v, *x: Pair(*f(*(part for a in x for part in (a.re, a.im))))


def expanded(v: Value, *x: Parts) -> Parts:
    """A composite op: what its expansion makes of pairs."""
    given = tuple(parameter("x", a.type) for a in v.args)
    (y,) = interpret(Graph(given, (v.op.expand(*given),)), x, parted)    # type: ignore[attr-defined]
    return y


def looped(v: Value, *x: Part) -> tuple[Part, ...]:
    """A loop that carries, reads and writes the parts apart."""
    loop = v.op
    body, results = inner(loop.body)    # type: ignore[attr-defined]
    carries, slices, _ = (len(flat([alone(p) for p in role])) for role in loop.split(loop.body.parameters))     # type: ignore[attr-defined]
    return together(results, Scan(body, carries, slices, loop.length, loop.reverse)(*flat(x)))  # type: ignore[attr-defined]


def inner(graph: Graph) -> tuple[Graph, list[Any]]:
    """A graph whose parameters and results are parts, and those results."""
    given = [alone(p) for p in graph.parameters]
    results = interpret(graph, given, parted)
    return Graph(tuple(flat(given)), tuple(flat(results))), results


def branched(v: Value, *x: Part) -> tuple[Part, ...]:
    """Branches that take and give the parts apart."""
    branches = [inner(branch) for branch in v.op.branches]      # type: ignore[attr-defined]
    return together(branches[0][1], Cond(tuple(graph for graph, _ in branches))(*flat(x)))


def repeated(v: Value, *x: Part) -> tuple[Part, ...]:
    """A loop that carries the parts apart."""
    (test, _), (body, results) = inner(v.op.test), inner(v.op.body)     # type: ignore[attr-defined]
    return together(results, While(test, body, len(body.results))(*flat(x)))


def said(v: Value, *x: Part) -> tuple[Part, ...]:
    """What has derivatives of its own, once they have been taken: what it computes."""
    given = tuple(parameter("x", a.type) for a in v.args)
    return tuple(interpret(Graph(given, tuple(v.op.expand(*given))), x, parted))      # type: ignore[attr-defined]


def held(v: Value, *x: Part) -> tuple[Part, ...]:
    """What is computed again, of parts apart."""
    op, body = v.op, v.op.body      # type: ignore[attr-defined]
    given = [alone(p) for p in body.parameters]
    results = interpret(body, given, parted)
    carries, own, late = (len(flat(part)) for part in (
        given[:op.carries], given[:op.own], given[len(given) - op.late:]))     # type: ignore[attr-defined]
    y = Checkpoint(Graph(tuple(flat(given)), tuple(flat(results))), carries, own, late)(*flat(x))
    return together(results, y)


def together(parts: Sequence[Any], y: Value) -> tuple[Part, ...]:
    """The results of an op in parts, as pairs where they are."""
    items = (Item(k)(y) for k in range(len(flat(parts))))
    return tuple(Pair(next(items), next(items)) if isinstance(r, Pair) else next(items) for r in parts)


def alone(p: Value) -> Part:
    """A parameter, or two for the parts of a complex one."""
    if not is_complex(p):
        return p
    part = p.type.with_dtype(p.dtype.real)
    return Pair(parameter(f"{label_of(p)}.re", part), parameter(f"{label_of(p)}.im", part))


def flat(x: Sequence[Any]) -> list[Value]:
    """Values, with the parts of pairs one behind the other."""
    return [part for a in x for part in ((a.re, a.im) if isinstance(a, Pair) else (a,))]


TABLE: dict[type[Op], Callable[..., Parts]] = {
    **{op: each for family in (linear, windows) for op in family.ALL},
    **dict.fromkeys(contraction.ALL, bilinear),
    **{op: of_parts(f) for op, f in {
        Mul: complexes.multiply, Div: complexes.divide, Square: complexes.square, Reciprocal: complexes.reciprocal,
        Exp: complexes.exp, Expm1: complexes.expm1, Log: complexes.log, Log1p: complexes.log1p_of,
        Log2: complexes.logarithm(2), Log10: complexes.logarithm(10), Sqrt: complexes.sqrt, Rsqrt: complexes.rsqrt,
        Sinh: complexes.sinh, Cosh: complexes.cosh, Tanh: complexes.tanh,
        Sin: complexes.turned(complexes.sinh), Cos: complexes.cos, Tan: complexes.turned(complexes.tanh),
        Asinh: complexes.asinh, Acosh: complexes.acosh, Atanh: complexes.atanh,
        Asin: complexes.turned(complexes.asinh), Acos: complexes.acos, Atan: complexes.turned(complexes.atanh),
        Pow: complexes.power}.items()},
    **dict.fromkeys((Add, Sub, Neg, Round, Select, StopGradient, CumSum, Gather, ScatterAdd, ScatterOnto, ScatterPut),
                    each),
    Literal:  number,
    Constant: constant,
    Cast:     converted,
    MatMul:   product,
    Scan:     looped,
    Checkpoint: held, Derived: said, FixedPoint: said, Watched: said,
    Cond:     branched,
    While:    repeated,
    Prod:     multiplied,
    **dict.fromkeys((CumProd, ScatterMul), hosted),
    Imag:     lambda v, x: x.im,
    Conj:     lambda v, x: Pair(x.re, -x.im),
    Angle:    lambda v, x: atan2(x.im, x.re),
    Complex:  lambda v, re, im: Pair(re, im),
    Abs:      lambda v, x: hypot(x.re, x.im),
    Equal:    lambda v, x, z: Equal()(x.re, z.re) & Equal()(x.im, z.im),
    NotEqual: lambda v, x, z: NotEqual()(x.re, z.re) | NotEqual()(x.im, z.im),
    IsNan:    lambda v, x: IsNan()(x.re) | IsNan()(x.im),
    IsInf:    lambda v, x: IsInf()(x.re) | IsInf()(x.im),
    IsFinite: lambda v, x: IsFinite()(x.re) & IsFinite()(x.im),
}
