"""Operands copied into panels `[depth][width]`, with whatever is fused in front of them, transposed in registers."""
from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from stele.backend.contract.bilinear import ONE, Scheme
from stele.backend.contract.code import Code, Int, Number, Numbers, Pair, Ref, Vectors, place, read
from stele.backend.llvm.access import Operand
from stele.backend.llvm.vectors import transpose
from stele.ir.record import Record

LATER, ROWS_LATER = 64, 16
"""How many depths ahead an operand is asked for, where they lie side by side and where they are rows of memory."""
Index = Callable[[Number, Number], Numbers]
"""`index(x, k)`: the operand's index at position `x` across the panel and depth `k`."""


class Panel(Record):
    """Panels of one operand: `width` elements across, stored at every depth, whole vectors of depths at a time; or sums
    of the operand's parts, each in a panel `apart` elements after the one before.

    `axis` is the operand's axis that runs across. A scheme cuts the operand, a matrix of the axes 1 and 2, into parts
    of the `sizes` (across, deep).
    """

    operand: Operand
    axis: int
    index: Index
    dtype: ir.Type
    lanes: int
    width: int
    scheme: Scheme = ONE
    sizes: Pair = (0, 0)
    apart: Number = 0

    def fill(self, b: Code, to: Ref, across: Pair, deep: Pair, buffer: Ref) -> None:
        """Copies positions `across[0]..` below `across[1]`, depths `deep[0]..` below `deep[1]`, to one panel at `to`.

        Positions past the end become zeros. `buffer` has room for `lanes * lanes` elements of each sum and is used
        when the operand is contiguous in depth, to transpose.
        """
        if self.operand.lane_axis == self.axis:
            self._copy(b, to, across, deep)
        else:
            self._transpose(b, to, across, deep, buffer.of(self.dtype))

    def _sums(self, b: Code, position: Pair, axis: int, mask: ir.Value) -> Vectors:
        """The sums at a position (across, deep) of all parts. Of several parts what comes later is asked for, too:
        their rows lie in memory pages of their own."""
        vectors: Vectors = []
        for q in range(self.scheme.side ** 2):
            digits = divmod(q, self.scheme.side)[::-1 if self.axis == 2 else 1]
            x, k = (start + b.int(size) * digit for start, size, digit in zip(position, self.sizes, digits))
            if self.operand.plain is not None and self.scheme is not ONE:
                later = self.index(x, k + (ROWS_LATER if axis == self.axis else LATER))
                place(b, self.operand, later, self.dtype).prefetch()
            vectors.append(read(b, self.operand, self.index(x, k), axis, self.lanes, mask))
        return (self.scheme.right if self.axis == 2 else self.scheme.left)(b, vectors)

    def _copy(self, b: Code, to: Ref, across: Pair, deep: Pair) -> None:
        """Reads along the panel, one depth after another."""
        places = [(x0, b.int(across[0]) + x0) for x0 in range(0, self.width, self.lanes)]
        pieces = [(x0, x, b.below(across[1] - x, self.lanes)) for x0, x in places]
        with b.loop(*deep) as k:
            row = to + (k - deep[0]) * self.width
            for x0, x, mask in pieces:
                for p, vector in enumerate(self._sums(b, (x, k), self.axis, mask)):
                    (row + (b.int(self.apart) * p + x0)).keep(vector, min(self.lanes, self.width - x0))

    def _transpose(self, b: Code, to: Ref, across: Pair, deep: Pair, buffer: Ref) -> None:
        """Reads squares along the depth and stores their columns."""
        lanes, axis = self.lanes, self.operand.lane_axis
        whole = self.width // lanes * lanes

        def square(x0: Number, k: Int, width: int) -> None:
            """Lanes of depths from `k` on of the `width` positions from `x0` on."""
            with b.loop(0, lanes) as r:
                x = across[0] + x0 + r
                inside = b.and_(x < across[1], r < width)
                mask = b.below(b.either(inside, deep[1] - k, 0), lanes)
                x = b.either(inside, x, across[0])      # lanes left out of a page never touched cost 100 ns as well
                for p, vector in enumerate(self._sums(b, (x, k), axis, mask)):
                    (buffer + (r * lanes + p * lanes ** 2)).store(vector)
            with b.loop(0, self.scheme.products) as p:
                made = buffer + p * lanes ** 2
                columns = transpose(b, [(made + r * lanes).load(lanes) for r in range(lanes)])
                start = p * self.apart + (k - deep[0]) * self.width + x0
                for i, vector in enumerate(columns):
                    (to + (start + i * self.width)).keep(vector, width)

        with b.loop(*deep, lanes) as k:
            with b.loop(0, whole, lanes) as x0:
                square(x0, k, lanes)
            if whole < self.width:
                square(whole, k, self.width - whole)
