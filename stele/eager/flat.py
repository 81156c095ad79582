"""Expressions of elementwise ops at any shape: one program of one axis, of an open length, computes them all."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from stele.backend.buffers import Buffer
from stele.eager.live import Live, is_there, leaf
from stele.ir.graph import Literal, Value
from stele.ir.sizes import size
from stele.ir.types import HOME, TupleType, Type
from stele.ops.linear import Broadcast

LENGTH = size("n")


class Flat(NamedTuple):
    """An expression in one axis of `LENGTH` elements: its values, operands first, those that are kept, and how long."""

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
