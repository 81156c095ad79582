"""The kinds of kernels, one class each, and how the values of a graph come about."""
from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from stele.ir.graph import Constant, Literal, Value
from stele.ir.origin import Where
from stele.ir.record import Single
from stele.ir.types import product
from stele.kernel.corners import NONE, Corners
from stele.ops.factors import Svd
from stele.ops.gather import Gather
from stele.ops.linear import Concatenate

Place = Enum("Place", ["LEAF", "NUMBER", "INLINE", "FOLD"])
"""How a value without a kernel of its own comes about: it is there before, is written into the code that reads it, is
computed where it is read unless it is kept, is a sum over what is computed there.
"""


class Computed(Single):
    """Results computed together: `body` in order, results included; `inputs` are read from memory. `anchor` is the
    value that the kernel is made for, where others only join it.
    """

    results: tuple[Value, ...]
    inputs: tuple[Value, ...]
    body: tuple[Value, ...]
    where: Where
    anchor: Value | None = None

    @property
    def kind(self) -> str:
        """The name of its class, for reports."""
        return type(self).__name__.lower()


class Nest(Computed):
    """Loops of our own: elementwise ops, movement, sums."""


class Anchored(Computed):
    """What is about one value."""

    anchor: Value   # type: ignore[misc]


class Contraction(Anchored):
    """A product or a convolution, its operands read and its result stored through loops; `corners` are a product's."""

    corners: Corners = NONE


class Scatter(Anchored):
    """Sums at computed indices."""


class Ordered(Anchored):
    """Running totals, sorts and searches: loops written for one op."""


class Matrices(Anchored):
    """Factors and solutions of many small matrices, one in each lane."""


class Library(Anchored):
    """A call of a library."""


class Host(Anchored):
    """A call of an op's own reference, in Python: of what says in no other way how it is computed."""


class Repeat(Anchored):
    """A loop or a branch of the graph, which becomes steps around kernels of its own."""


Launched = Nest | Contraction | Scatter | Ordered | Matrices | Library
"""Kernels that are native code, whose tasks run on all threads."""
Kernel = Launched | Host | Repeat
Role = Place | type[Kernel]
"""How a value comes about: by a kernel of this class where it has one of its own."""


ROLES: dict[str, Role] = {
    "leaf": Place.LEAF, "elementwise": Place.INLINE, "generate": Place.INLINE, "movement": Place.INLINE,
    "reduction": Place.FOLD, "indexing": Scatter, "contraction": Contraction, "control": Repeat, "foreign": Library,
    "host": Host, "composite": Host, "ordered": Ordered, "matrices": Matrices}

LARGEST, EACH = 32, 8
"""Rows and columns of matrices that are small, and how many rows each of some matrices may have to be worth lanes."""


def woven(v: Value) -> tuple[Value, ...]:
    """The two parts of a concatenation whose elements take turns, such as the parts of complex numbers; else none."""
    match v:
        case Value(Concatenate(axis), [x, z]) if x is not z and axis % v.ndim == v.ndim - 1 and v.dtype.bytes >= 4:
            return (x, z) if x.shape[-1] == z.shape[-1] == 1 else ()
        case _:
            return ()


def unwoven(results: Sequence[Value]) -> tuple[Value, ...]:
    """Results, with the parts of those that take turns in their place."""
    return tuple(part for v in results for part in woven(v) or (v,))


def is_small(v: Value) -> bool:
    """Whether matrices are taken side by side, one in each lane: real ones of at most LARGEST rows and columns, with at
    most EACH of them for every matrix there is, or of unknown number. LAPACK is faster for others, and has the vectors
    that belong to no singular value.
    """
    sides, count = [n for a in v.args for n in a.shape[-2:]], product(v.args[0].shape[:-2])
    if not all(a.dtype.kind == "f" for a in v.args) or not all(isinstance(n, int) and 0 < n <= LARGEST for n in sides):
        return False
    is_whole = not isinstance(v.op, Svd) or not v.op.full or len(set(sides)) == 1
    return is_whole and (not isinstance(count, int) or max(sides) <= EACH * count)


def role_of(v: Value) -> Role:
    """How a value comes about, inputs apart; by its family, if it is no exception."""
    match v.op:
        case Literal():
            return Place.NUMBER
        case Constant(array) if array.size == 1:
            return Place.NUMBER
        case Concatenate():
            return Nest
        case Gather():
            return Place.INLINE
        case op if op.family == "contraction" and not v.dtype.is_float:
            return Host
        case op if op.family == "ordered" and v.args[0].dtype.kind == "c":
            return Host
        case op if op.family == "matrices" and not is_small(v):
            return Host
        case op:
            return ROLES[op.family]
