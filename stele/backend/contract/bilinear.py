"""Bilinear schemes of block products: how many products of parts make a product, and of which sums of parts."""
from __future__ import annotations

from collections.abc import Callable

from stele.backend.contract.code import Vectors
from stele.backend.llvm.access import Builder
from stele.ir.record import Record

Sums = Callable[[Builder, Vectors], Vectors]


class Scheme(Record):
    """Operands are cut into `side x side` parts; `products` are made of sums `left` and `right` of these parts, row by
    row, and the parts of the result are the sums `result` of products.
    """

    name: str
    side: int
    products: int
    left: Sums
    right: Sums
    result: Sums

    def __str__(self) -> str:
        return self.name


def _left(b: Builder, a: Vectors) -> Vectors:
    s1 = b.fadd(a[2], a[3])
    s2 = b.fsub(s1, a[0])
    return [a[0], a[1], b.fsub(a[1], s2), a[3], s1, s2, b.fsub(a[0], a[2])]


def _right(b: Builder, x: Vectors) -> Vectors:
    t1 = b.fsub(x[1], x[0])
    t2 = b.fsub(x[3], t1)
    return [x[0], x[2], x[3], b.fsub(t2, x[2]), t1, t2, b.fsub(x[3], x[1])]


def _result(b: Builder, p: Vectors) -> Vectors:
    u2 = b.fadd(p[0], p[5])
    u3 = b.fadd(u2, p[6])
    return [b.fadd(p[0], p[1]), b.fadd(b.fadd(u2, p[4]), p[2]), b.fsub(u3, p[3]), b.fadd(u3, p[4])]


ONE = Scheme("one", 1, 1, lambda b, x: x, lambda b, x: x, lambda b, x: x)
STRASSEN = Scheme("Strassen", 2, 7, _left, _right, _result)
"""Seven products instead of eight (*Strassen: Gaussian elimination is not optimal*, 1969), with Winograd's 15 sums."""
