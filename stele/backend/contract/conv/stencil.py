"""The geometry of convolutions: which flat position of which source plane each tap of the kernel reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from llvmlite import ir

from stele.backend.llvm.access import Extent
from stele.ir.record import Record
from stele.kernel.choice import images

Pair = tuple[int, int]


class Conv(Record):
    """A two-dimensional convolution: x (n, c, h, w), w (o, c / groups, kh, kw), y (n, o, h', w').

    `padding` is ((top, bottom), (left, right)).
    """

    batch: Extent
    channels: int
    outputs: int
    size: Pair
    kernel: Pair
    dtype: ir.Type
    stride: Pair = (1, 1)
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    dilation: Pair = (1, 1)
    groups: int = 1

    def __str__(self) -> str:
        sizes = f"{images(self.batch)}x{self.channels}x{self.size} {self.outputs}x{self.kernel}"
        return f"{sizes} {self.stride}{self.padding}{self.dilation}{self.groups} {self.dtype}".replace(" ", "")

    @property
    def target(self) -> Pair:
        """Height and width of y."""
        h, w = ((n + sum(p) - d * (k - 1) - 1) // s + 1
                for n, p, d, k, s in zip(self.size, self.padding, self.dilation, self.kernel, self.stride))
        return h, w


class Tap(Record):
    """One kernel element: it reads source phase `phase`, `shift` rows and columns from the target's position."""

    kernel: Pair
    phase: Pair
    shift: Pair


@dataclass(frozen=True)
class Stencil:
    """A convolution as sums of shifted planes.

    The source image, with `low` zeros before it, is cut into `phases` (every `phases[0]`-th row and `phases[1]`-th
    column); the target is made in `spread` phases likewise. Target phase `f` is the sum over `taps[f]`, each a source
    phase moved by `shift`. Planes are kept flat with rows `pitch` long, so that a shift is a constant: what lies
    between the end of a target row and `pitch` is computed in vain and dropped.
    """

    source: Pair
    target: Pair
    phases: Pair
    spread: Pair
    low: Pair
    taps: tuple[tuple[Tap, ...], ...]

    @cached_property
    def used(self) -> tuple[Pair, ...]:
        """The source phases that some tap reads."""
        return tuple(sorted({tap.phase for taps in self.taps for tap in taps})) or ((0, 0),)

    @property
    def phase_rows(self) -> list[Pair]:
        """The used phases in runs of rows: (first row phase, how many row phases on have all the same columns)."""
        rows = sorted({phase[0] for phase in self.used})
        if len(self.used) == len(rows) * self.phases[1] and rows == list(range(len(rows))):
            return [(0, len(rows))]
        return [(row, 1) for row in rows]

    @cached_property
    def reach(self) -> Pair:
        """How far taps shift down and right at most."""
        shifts = [tap.shift for taps in self.taps for tap in taps] or [(0, 0)]
        return max(s[0] for s in shifts), max(s[1] for s in shifts)

    @property
    def rows(self) -> int:
        """Rows of a target phase."""
        return -(-self.target[0] // self.spread[0])

    @property
    def width(self) -> int:
        """Columns of a target phase."""
        return -(-self.target[1] // self.spread[1])

    @cached_property
    def pitch(self) -> int:
        """Length of a flat row. Zeros right of one row may be the zeros left of the next."""
        whole = self.width + self.reach[1]
        if self.phases[1] > 1:
            return whole
        return max(self.width, whole - self.low[1], self.low[1] + min(self.source[1], whole - self.low[1]))

    def flat(self, rows: int) -> Stencil:
        """The same pixels in so many rows, where all are read as they lie, end to end."""
        pixels = self.target[0] * self.target[1]
        return replace(self, source=(rows, pixels // rows), target=(rows, pixels // rows))


def forward_stencil(conv: Conv) -> Stencil:
    """The stencil that makes y from x."""
    (sy, sx), (dy, dx) = conv.stride, conv.dilation
    taps = tuple(Tap((y, x), (y * dy % sy, x * dx % sx), (y * dy // sy, x * dx // sx))
                 for y in range(conv.kernel[0]) for x in range(conv.kernel[1]))
    low = conv.padding[0][0], conv.padding[1][0]
    return Stencil(conv.size, conv.target, conv.stride, (1, 1), low, (taps,))


def backward_stencil(conv: Conv) -> Stencil:
    """The stencil that makes the gradient of x from the gradient of y: x[s q + f] takes y[q + (f + p - k d) / s]."""
    lows = [_low(conv, axis) for axis in (0, 1)]
    phases = [(fy, fx) for fy in range(conv.stride[0]) for fx in range(conv.stride[1])]
    taps = tuple(tuple(Tap((ky, kx), (0, 0), (y + lows[0], x + lows[1]))
                       for ky, y in _reads(conv, 0, fy) for kx, x in _reads(conv, 1, fx)) for fy, fx in phases)
    return Stencil(conv.target, conv.size, (1, 1), conv.stride, (lows[0], lows[1]), taps)


def _reads(conv: Conv, axis: int, phase: int) -> list[Pair]:
    """Kernel positions that reach one phase of the source, with the shifts of the target they read."""
    s, d, p = conv.stride[axis], conv.dilation[axis], conv.padding[axis][0]
    return [(k, (phase + p - k * d) // s) for k in range(conv.kernel[axis]) if (phase + p - k * d) % s == 0]


def _low(conv: Conv, axis: int) -> int:
    shifts = [shift for phase in range(conv.stride[axis]) for _, shift in _reads(conv, axis, phase)]
    return max(0, -min(shifts, default=0))
