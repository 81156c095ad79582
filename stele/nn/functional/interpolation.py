"""Images and signals at other sizes: each axis resampled by its own linear map."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stele.errors import DTypeError, OptionError, ShapeError
from stele.ir.graph import Array, Value, literal
from stele.ir.sizes import Dim
from stele.ir.types import Type, number_of, show
from stele.nn.functional.adaptive import means
from stele.ops.arguments import InterpolationMode, flag, is_series, number, positive
from stele.ops.gather import Gather
from stele.ops.joining import stack
from stele.ops.linear import cast, expand_dims, reshape, slice_axis
from stele.ops.padding import pad
from stele.ops.shaping import repeat
from stele.ops.statistics import sum

SMOOTH = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}     # how many axes a mode is for
BOUND = 1 << 31     # of factors
MOST = 64       # taps of all phases of a period that are written out


def interpolate(input: Value, size: Any = None, scale_factor: Any = None, mode: InterpolationMode = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False
                ) -> Value:
    """Signals (N, C, L), images (N, C, H, W) or volumes (N, C, D, H, W) at another size.

    The `size` of the last axes, or a `scale_factor` which makes n floor(n * scale_factor): one number, or one for each.
    `mode` is "nearest" (the element at floor(i * n / m)), "nearest-exact" (that at the centre), "linear", "bilinear"
    and "trilinear" (of the two around, by axis), "bicubic" (of four, by Keys, 1981, with a = -0.75) or "area" (the mean
    of what a pixel covers). Positions are those of pixel centres, or, with `align_corners`, such that the first and the
    last elements meet. `antialias` widens what a smaller image is made of (of "bilinear" and "bicubic", as in Pillow).
    With `recompute_scale_factor` positions follow from the rounded size, else from the factor. Raises ShapeError for
    sizes that do not fit, OptionError for a mode of other axes, DTypeError for integers in a mode that makes means.

    >>> x = st.tensor([[[1.0, 3.0]]])
    >>> F.interpolate(x, scale_factor=2).tolist(), F.interpolate(x, 4, mode="linear").tolist()
    ([[[1.0, 1.0, 3.0, 3.0]]], [[[1.0, 1.5, 2.5, 3.0]]])
    >>> F.interpolate(st.ones((1, 3, 8, 8)), (4, 5), mode="bicubic", antialias=True).shape
    (1, 3, 4, 5)
    """
    axes = checked(input, mode, align_corners, antialias)
    last = input.shape[2:]
    factors = each_number(scale_factor, axes)
    if (size is None) == (factors is None):
        raise ShapeError("interpolate needs a size or a scale_factor, and not both")
    if factors is None:
        made: list[Dim] = [positive(n, "size of interpolate") for n in several(size, axes)]
    else:
        made = [scaled(n, s) for n, s in zip(last, factors)]
    Type(input.dtype, (*input.shape[:2], *made))    # before positions are counted
    steps = None if factors is None or recompute_scale_factor else factors
    if mode == "area":
        return means("interpolate", input, axes, tuple(made))
    x = input
    for k in range(axes):
        how = Resampling(mode, last[k], made[k], None if steps is None else steps[k], bool(align_corners), antialias)
        x = along(x, 2 + k, how)
    return x


def checked(x: Value, mode: str, align_corners: bool | None, antialias: bool) -> int:
    """How many axes are resampled; raises for what does not go together."""
    axes = x.ndim - 2
    if axes not in (1, 2, 3):
        raise ShapeError(f"interpolate needs (N, C, L), (N, C, H, W) or (N, C, D, H, W), got {show(x.shape)}")
    if SMOOTH.get(mode, axes) != axes:
        fit = " and ".join(repr(m) for m, n in SMOOTH.items() if n == axes)
        raise OptionError(f"mode {mode!r} of interpolate is for {SMOOTH[mode] + 2} axes, got {show(x.shape)}",
                          hint=f"For these there are {fit}, and 'nearest', 'nearest-exact' and 'area'.")
    if align_corners is not None and mode not in SMOOTH:
        raise OptionError(f"align_corners of interpolate is for modes that make means, not {mode!r}")
    if flag(antialias, "antialias of interpolate") and (axes != 2 or mode not in ("bilinear", "bicubic")):
        raise OptionError(f"antialias of interpolate is for 'bilinear' and 'bicubic' of images, not {mode!r}")
    if mode in (*SMOOTH, "area") and not x.dtype.is_float:
        raise DTypeError(f"mode {mode!r} of interpolate makes means, of floats; got {x.dtype}",
                         hint="Convert with .astype('float32').")
    return axes


def several(n: Any, axes: int) -> list[Any]:
    """One for each axis, of one or of as many."""
    found: list[Any] = [*n] if is_series(n) else [n] * axes
    if len(found) != axes:
        raise ShapeError(f"interpolate needs one size or factor, or {axes} of them, got {n}")
    return found


def each_number(scale: Any, axes: int) -> list[float] | None:
    """A factor for each axis."""
    return None if scale is None else [number(s, "scale_factor of interpolate") for s in several(scale, axes)]


def scaled(n: Dim, factor: float) -> Dim:
    """The size that a factor makes of one."""
    if not math.isfinite(factor) or not 0 < factor < BOUND:
        raise ShapeError(f"a scale_factor must be above 0 and below 2**31, got {factor}")
    made = n * int(factor) if factor == int(factor) else math.floor(number_of(n) * factor)
    if isinstance(made, int) and made < 1:
        raise ShapeError(f"a scale_factor of {factor} leaves nothing of {n} elements")
    return made


class Resampling(NamedTuple):
    """How n elements become m: by a mode, with positions by a factor, by sizes, or between corners."""

    mode: str
    n: Dim
    m: Dim
    factor: float | None
    corners: bool
    antialias: bool

    def period(self) -> tuple[int, int, Dim] | None:
        """(p, q, times): elements come in so many groups of p, of q of the input; None where they do not, or in one."""
        if self.corners:
            return None
        if self.factor is not None and self.factor >= 1 and self.factor == int(self.factor):
            return int(self.factor), 1, self.n
        if not isinstance(self.n, int) or not isinstance(self.m, int):
            return None
        if self.factor is not None and self.factor * self.n != self.m:
            return None
        times = math.gcd(self.n, self.m)
        return self.m // times, self.n // times, times

    def taps(self, n: int, m: int, wide: bool) -> tuple[Array, Array]:
        """For each result the first element it is made of, which may stand outside, and the weights from there on."""
        real: Any = np.float64 if wide else np.float32
        i = np.arange(m).astype(real)
        if self.corners:
            step = real((n - 1) / (m - 1) if m > 1 else 0)
        else:
            step = real(1 / self.factor if self.factor is not None else n / m)
        if self.antialias:
            return spread(i, step, n, CUBIC_AA if self.mode == "bicubic" else TRIANGLE)
        if self.mode.startswith("nearest"):
            shift = 0.5 if self.mode == "nearest-exact" else 0
            at = np.floor(((i + real(shift)) * real(step)).astype(np.float32) if not wide else (i + shift) * step)
            return np.minimum(at, n - 1).astype(np.int64), np.ones((m, 1))
        at = step * i if self.corners else step * (i + real(0.5)) - real(0.5)
        if self.mode == "bicubic":
            first = np.floor(at)
            return first.astype(np.int64) - 1, cubic(at - first)
        at = np.maximum(at, 0)
        first = np.minimum(np.floor(at), n - 1)
        return first.astype(np.int64), np.stack([1 - (at - first), at - first], 1)


def cubic(t: Array, a: float = -0.75) -> Array:
    """The weights of four elements at -1, 0, 1 and 2 for a position t in front of 0: Keys (1981)."""
    d = np.stack([t + 1, t, 1 - t, 2 - t], 1)
    return keys(d, a)


def keys(d: Array, a: float) -> Array:
    """The cubic kernel at distances d."""
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * a - 4 * a
    return np.where(d < 1, near, np.where(d < 2, far, 0))


class Filter(NamedTuple):
    """A kernel and how far it reaches from its middle."""

    reach: float
    weight: Callable[[Array], Array]


def triangle(d: Array) -> Array:
    return np.maximum(1 - np.abs(d), 0)


def wide_cubic(d: Array) -> Array:
    return keys(np.abs(d), -0.5)


TRIANGLE, CUBIC_AA = Filter(1, triangle), Filter(2, wide_cubic)


def spread(i: Array, step: Any, n: int, kernel: Filter) -> tuple[Array, Array]:
    """The taps of a kernel as wide as what a result stands for."""
    wide = max(float(step), 1.0)
    reach, centre = kernel.reach * wide, float(step) * (i.astype(np.float64) + 0.5)
    first = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
    count = np.minimum((centre + reach + 0.5).astype(np.int64), n) - first
    k: Array = np.arange(int(count.max(initial=1)))
    weights = np.where(k < count[:, None], kernel.weight((k + first[:, None] - centre[:, None] + 0.5) / wide), 0)
    return first, weights / weights.sum(1, keepdims=True)


def along(x: Value, axis: int, how: Resampling) -> Value:
    """One axis of x resampled: by slices where elements come in equal groups, else by their places."""
    if how.n == how.m and how.factor in (None, 1):
        return x
    period = how.period()
    if period is not None and period[1] == 1 and how.mode.startswith("nearest"):
        return repeat(x, times=period[0], axis=axis)
    wide = x.dtype.bits == 64
    if period is not None and not how.antialias and period[0] * 4 <= MOST and period[2] != 1:
        p, q, times = period
        return by_groups(x, axis, times, q, *middle(how, p, q, wide))
    n, m = number_of(how.n), number_of(how.m)
    first, weights = how._replace(n=n, m=m).taps(n, m, wide)
    reach: Array = np.arange(int(weights.shape[1]))
    places: Array = np.minimum(np.maximum(first[:, None] + reach, 0), n - 1)
    if weights.shape[1] == 1:
        return Gather(axis)(x, literal(places[:, 0]))
    behind = tuple(range(-(x.ndim - axis - 1), 0))
    return sum(Gather(axis)(x, literal(places)) * weighed(weights, x, behind), axis=axis + 1)


def weighed(weights: Array, x: Value, behind: tuple[int, ...]) -> Value:
    """Weights as an array of the dtype of x, which broadcasts over the axes behind."""
    return expand_dims(cast(literal(weights), x.dtype), behind)


def middle(how: Resampling, p: int, q: int, wide: bool) -> tuple[Array, Array]:
    """The taps of one group far from both ends, the first of which is element 0 of its group."""
    far = 4
    own = how._replace(n=q * (2 * far + 1), m=p * (2 * far + 1))
    first, weights = own.taps(q * (2 * far + 1), p * (2 * far + 1), wide)
    return first[far * p:(far + 1) * p] - far * q, weights[far * p:(far + 1) * p]


def by_groups(x: Value, axis: int, times: Dim, q: int, first: Array, weights: Array) -> Value:
    """Groups of results, each of the same few elements of its group and of those around it, the ends repeated."""
    low, high = int(max(0, -first.min())), int(max(0, (first + weights.shape[1]).max() - q))
    sides = tuple((low, high) if k == axis else (0, 0) for k in range(x.ndim))
    wide = pad(x, widths=sides, mode="edge")
    parts = {t: slice_axis(wide, axis, t + low, times, q) for t in range(-low, q + high)}
    made: list[Value] = []
    for start, own in zip(first.tolist(), weights.tolist()):
        terms = [parts[start + k] if w == 1 else parts[start + k] * w for k, w in enumerate(own) if w]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        made.append(total)
    if len(made) == 1:
        return made[0]
    return reshape(stack(made, axis=axis + 1), (*x.shape[:axis], times * len(made), *x.shape[axis + 1:]))


def upsample(input: Value, size: Any = None, scale_factor: Any = None, mode: InterpolationMode = "nearest",
             align_corners: bool | None = None) -> Value:
    """Another name of `interpolate`, with its `size`, `scale_factor`, `mode` and `align_corners` (PyTorch's older one).

    In the dtype of x. Raises ShapeError for other axes and where nothing is left, OptionError for another mode.

    >>> F.upsample(st.tensor([[[1.0, 3.0]]]), scale_factor=2).tolist()
    [[[1.0, 1.0, 3.0, 3.0]]]
    """
    return interpolate(input, size, scale_factor, mode, align_corners)
