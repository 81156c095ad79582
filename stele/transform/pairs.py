"""Complex numbers as pairs of real ones: what code is written for is real, and parts fuse like all else.

A complex parameter of shape s is the same buffer seen as its parts, of shape (*s, 2), and so is a complex result.
`TABLE` says how each op acts on pairs; a host op has whole complex numbers, put together before it and taken apart
behind it.
"""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    parameter,
    rebuild,
)
from stele.ir.origin import inherit
from stele.ir.report import Report
from stele.ir.types import TupleType, Type, bool_
from stele.ops.linear import Cast, Concatenate, cast, expand_dims, reshape, slice_axis, zeros_like
from stele.ops.parts import Complex, Conj, Imag


@dataclass(frozen=True, eq=False)
class Pair:
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
    if not is_complex(v) and all(isinstance(a, Value) for a in x):
        return rebuild(v, x)    # type: ignore[arg-type]
    with inherit(v.where):
        return TABLE.get(type(v.op), hosted)(v, *x)


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


TABLE: dict[type[Op], Callable[..., Parts]] = {
    Literal:  number,
    Constant: constant,
    Cast:     converted,
    Imag:     lambda v, x: x.im,
    Conj:     lambda v, x: Pair(x.re, -x.im),
    Complex:  lambda v, re, im: Pair(re, im),
}
