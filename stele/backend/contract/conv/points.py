"""The linear maps of Winograd's convolutions F(m x m, 3 x 3), by their points of interpolation.

A convolution of a patch with a kernel is a product of polynomials: both are evaluated at `m + 2` points, multiplied
there, and brought back. The points are 0, infinity and pairs +-p: what a pair shares (even and odd part) is computed
once. The scheme is from *Lavin, Gray: Fast Algorithms for Convolutional Neural Networks* (2015); docs/convolution.md
tells how the choice of points decides the rounding error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from llvmlite import ir

from stele.backend.contract.code import Code, Number, Ref, Vectors
from stele.backend.llvm.access import Builder, size_of
from stele.backend.llvm.nest import multiply_add, splat
from stele.ir.record import Record
from stele.kernel.machine import Machine

Map = Callable[[Builder, Vectors], Vectors]


class Points(Record):
    """Points 0, +p and -p of each pair, infinity."""

    pairs: tuple[float, ...]

    def __str__(self) -> str:
        return f"F({self.side},3)"

    @property
    def side(self) -> int:
        """Rows and columns that a patch makes: m."""
        return 2 * len(self.pairs)

    @property
    def count(self) -> int:
        """Points of one axis: as many elements as a patch reads."""
        return self.side + 2

    @property
    def every(self) -> int:
        """Points of a patch."""
        return self.count ** 2

    def others(self, p: float | None = None) -> list[float]:
        """Coefficients, lowest first, of the polynomial in x^2 that vanishes at all pairs but p."""
        result = [1.0]
        for q in self.pairs:
            if q != p:
                result = [low - q * q * high for low, high in zip([0.0, *result], [*result, 0.0])]
        return result


F2, F4 = Points((1.0,)), Points((0.625, 1.5))
"""F(2,3), exact but for its sums, and F(4,3) at the points with the least error among those with few digits."""


class Maps(Record):
    """The three maps of some points as code, on vectors of one axis."""

    machine: Machine
    points: Points

    def source(self, b: Builder, x: Vectors) -> Vectors:
        """`m + 2` elements at the points."""
        points = self.points
        result = [self.sum(b, points.others(), x[0::2])]
        for p in points.pairs:
            even, odd = (self.sum(b, points.others(p), x[start:-1:2][:len(points.pairs)]) for start in (2, 1))
            result += [self.times(b, p, odd, even), self.times(b, -p, odd, even)]
        return [*result, self.sum(b, points.others(), x[1::2])]

    def weight(self, b: Builder, w: Vectors) -> Vectors:
        """3 elements of a kernel at the points, divided by what the points make of the product."""
        points = self.points
        result = [self.times(b, 1 / prod(-p * p for p in points.pairs), w[0])]
        for p in points.pairs:
            scale = 1 / (2 * p * p * prod(p * p - q * q for q in points.pairs if q != p))
            even = self.times(b, scale, self.times(b, p * p, w[2], w[0]))
            result += [self.times(b, scale * p, w[1], even), self.times(b, -scale * p, w[1], even)]
        return [*result, w[2]]

    def target(self, b: Builder, y: Vectors) -> Vectors:
        """`m` elements from values at the points."""
        pairs, m = self.points.pairs, self.points.side
        halves = [y[1 + 2 * k:3 + 2 * k] for k in range(len(pairs))]
        sums, differences = ([part(plus, minus) for plus, minus in halves] for part in (b.fadd, b.fsub))
        result: Vectors = []
        for i in range(m):
            value = self.sum(b, [p ** i for p in pairs], differences if i % 2 else sums)
            value = b.fadd(value, y[0]) if i == 0 else value
            result.append(b.fadd(value, y[-1]) if i == m - 1 else value)
        return result

    def cotangent(self, b: Builder, g: Vectors) -> Vectors:
        """The adjoint of `target`: `m` elements at the points."""
        result = [g[0]]
        for p in self.points.pairs:
            even, odd = ([p ** k for k in range(start, self.points.side, 2)] for start in (0, 1))
            x, y = self.sum(b, even, g[0::2]), self.sum(b, odd, g[1::2])
            result += [b.fadd(x, y), b.fsub(x, y)]
        return [*result, g[-1]]

    def gradient(self, b: Builder, z: Vectors) -> Vectors:
        """The adjoint of `weight`: 3 elements of a kernel's gradient from values at the points."""
        first = self.times(b, 1 / prod(-p * p for p in self.points.pairs), z[0])
        result: list[ir.Value | None] = [first, None, z[-1]]
        for k, p in enumerate(self.points.pairs):
            plus, minus = z[1 + 2 * k:3 + 2 * k]
            scale = 1 / (2 * p * p * prod(p * p - q * q for q in self.points.pairs if q != p))
            both = b.fadd(plus, minus)
            for i, part in enumerate((both, b.fsub(plus, minus), both)):
                result[i] = self.times(b, scale * p ** i, part, result[i])
        return [x for x in result if x is not None]

    def sum(self, b: Builder, factors: Sequence[float], x: Vectors) -> ir.Value:
        """`factors[0] * x[0] + factors[1] * x[1] + ...`, from the last on."""
        result: ir.Value | None = None
        for factor, value in zip(reversed(factors), reversed(x)):
            result = self.times(b, factor, value, result)
        assert result is not None
        return result

    def times(self, b: Builder, factor: float, x: ir.Value, y: ir.Value | None = None) -> ir.Value:
        """`factor * x + y`."""
        if factor == 1.0:
            return x if y is None else b.fadd(x, y)
        if factor == -1.0 and y is not None:
            return b.fsub(y, x)
        c = splat(b, ir.Constant(x.type.element, factor), x.type.count)
        return b.fmul(c, x) if y is None else multiply_add(b, self.machine.fma, c, x, y)


def square(apply: Map, b: Code, size: int, read: Callable[[int, int], ir.Value],
           write: Callable[[int, int, ir.Value], None]) -> None:
    """A map of one axis applied to the columns, then to the rows, of `size x size` vectors: of `read(row, column)` to
    `write(row, column, vector)`.
    """
    columns = [apply(b, [read(y, x) for y in range(size)]) for x in range(size)]
    for y, row in enumerate(zip(*columns)):
        for x, value in enumerate(apply(b, [*row])):
            write(y, x, value)


def square_in_loops(apply: Map, b: Code, size: int, read: Callable[[Number, Number], ir.Value],
                    write: Callable[[Number, Number, ir.Value], None]) -> None:
    """As `square`, with the map there once for all columns and once for all rows: a third of the code to compile, for
    maps whose time does not count (in the others it makes layers 2 to 3 % slower).
    """
    with b.loop(0, size) as x:
        made = apply(b, [read(y, x) for y in range(size)])
        kind, step = made[0].type, made[0].type.count * size_of(made[0].type.element)
        with b.goto_entry_block():
            room = Ref(b, b.alloca(kind, len(made) * size), kind)
        for y, value in enumerate(made):
            b.store(value, (room + x).bytes(y * size * step).address)
    with b.loop(0, len(made)) as y:
        line = room + y * size
        for x, value in enumerate(apply(b, [b.load(line.bytes(k * step).address, typ=kind) for k in range(size)])):
            write(y, x, value)
