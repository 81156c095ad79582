"""Expressions at any shape: of elementwise ops in one axis of an open length, of others with sizes that have names."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from stele.backend.buffers import Buffer
from stele.eager.live import Live, is_there, leaf
from stele.errors import ShapeError
from stele.ir.graph import Literal, Op, Value
from stele.ir.sizes import Dim, size
from stele.ir.types import HOME, TupleType, Type, product
from stele.ops.contraction import Convolution, WeightGrad
from stele.ops.linear import Broadcast

LENGTH = size("n")
OPEN = ("leaf", "elementwise", "reduction", "movement", "ordered", "generate", "indexing", "composite",
        "contraction", "complex")
SIZED = ("Dim", "Shape", "tuple[Dim, ...]")     # annotations of attributes that follow the sizes of operands


class Flat(NamedTuple):
    """An expression of open sizes: its values, operands first, those that are kept, and the sizes."""

    order: list[Value]
    kept: list[Live]
    sizes: dict[str, int]


def flattened(order: Sequence[Value], kept: Sequence[Value], most: int) -> Flat | None:
    """The same numbers in one axis; None where there is more in an expression than elementwise ops of one shape, and
    what only moves the numbers that there are, or where there are more than `most` elements.

    What only moves numbers is done here, in NumPy: then one program is enough for all shapes, and for all that meet.
    """
    shape = next((v.shape for v in order if is_computed(v)), None)
    if not shape or prod(shape) > most:
        return None
    moved: dict[Value, Any] = {}
    for v in order:
        if isinstance(v.type, TupleType) or v.type.device != HOME:
            return None
        if is_there(v):
            moved[v] = v.data.array
        elif v.op.family in ("leaf", "movement") and all(a in moved for a in v.args):
            moved[v] = v.op.reference(*(moved[a] for a in v.args))
        elif not is_computed(v) or v.shape != shape:
            return None
    return None if any(v in moved for v in kept) else written(order, kept, moved, prod(shape))


def is_computed(v: Value) -> bool:
    return not is_there(v) and v.op.family == "elementwise"


def written(order: Sequence[Value], kept: Sequence[Value], moved: dict[Value, Any], n: int) -> Flat:
    """The values of an expression again, along one axis."""
    made: dict[Value, Live] = {}
    values: list[Value] = []

    def along(v: Value) -> Live:
        """A value that is there or moved, as numbers of one axis or as one number repeated."""
        if v not in made:
            number = v.args[0] if isinstance(v.op, Broadcast) else v
            if isinstance(number.op, Literal) and not is_there(number):
                one = Live(number.op, (), number.type, number.where)
                made[v] = Live(Broadcast((LENGTH,)), (one,), Type(v.dtype, (LENGTH,)), v.where)
                values.append(one)
            else:
                made[v] = leaf(Type(v.dtype, (LENGTH,)), Buffer.of(np.reshape(moved[v], -1)))
            values.append(made[v])
        return made[v]

    for v in order:
        if v not in moved:
            args = tuple([along(a) if a in moved else made[a] for a in v.args])
            kind: Any = v.op.typed(*(a.type for a in args))
            made[v] = Live(v.op, args, kind, v.where)
            values.append(made[v])
    return Flat(values, [made[v] for v in kept], {str(LENGTH): n})


def opened(order: Sequence[Value], kept: Sequence[Value], closed: Collection[int] = ()) -> Flat | None:
    """The same expression where sizes of operands have names, equal ones the same, but for those that are `closed`.

    None where names do not say of what size a result is. With its sizes for names it is the expression it was made of,
    so that all that look alike with names are computed by one program.
    """
    if any(v.op.family not in OPEN or isinstance(v.type, TupleType) or v.type.device != HOME for v in order):
        return None
    fixed = {*closed, *(n for v in order if v.op.family == "leaf" and not is_there(v) for n in v.shape)}
    numbers = dict.fromkeys(n for n in sizes_of(order) if n > 1 and n not in fixed)
    opens = {n: size(f"n{k}") for k, n in enumerate(numbers)}
    names: dict[Any, Dim] = {**{n: n for n in fixed}, **opens}
    made: dict[Value, Live] = {}
    for v in order:
        if is_there(v):
            made[v] = leaf(Type(v.dtype, tuple([named(n, names) for n in v.shape])), v.data)
            continue
        args = tuple([made[a] for a in v.args])
        for a, x in zip(v.args, args):
            for k in range(a.ndim):     # what several axes are as one
                names.setdefault(product(a.shape[:k + 1]), product(x.shape[:k + 1]))
                names.setdefault(product(a.shape[k:]), product(x.shape[k:]))
        op = renamed(v.op, names)
        try:
            kind: Any = op.typed(*(x.type for x in args))
        except ShapeError:      # it holds of numbers, but not of all that have these names
            return None
        made[v] = Live(op, args, kind, v.where)
        if not all(isinstance(n, int) for n in kernel(made[v])):
            return None
        for n, name in zip(v.shape, made[v].shape):
            names.setdefault(n, name)
    return Flat([*made.values()], [made[v] for v in kept], {str(s): n for n, s in opens.items()}) if opens else None


def sizes_of(order: Sequence[Value]) -> list[Any]:
    """The sizes of what is there, and of what is made from nothing."""
    return [n for v in order if is_there(v) or v.op.family == "generate" for n in v.shape]


def kernel(v: Value) -> tuple[Dim, ...]:
    """Height and width of the kernel of a convolution or of a gradient of one, which programs know; of others none."""
    if not isinstance(v.op, Convolution):
        return ()
    return (v if isinstance(v.op, WeightGrad) else v.args[1]).shape[2:]


def renamed(op: Op, names: dict[Any, Dim]) -> Op:
    """The op with names for the sizes among its attributes."""
    sized: dict[str, Any] = {}
    for f in fields(op):
        if f.type in SIZED:
            x: Any = getattr(op, f.name)
            sized[f.name] = tuple([named(n, names) for n in x]) if f.type != "Dim" else named(x, names)
    return replace(op, **sized) if sized else op


def named(n: Any, names: dict[Any, Dim]) -> Dim:
    """A size by its name, or by that of one beside it."""
    return n if n < 2 else next((names[n + k] - k for k in (0, 1, -1) if n + k in names), n)
