"""Images looked at through a grid of places, and grids of affine maps."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import product as every

from stele.errors import OptionError, ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.ir.types import int64, is_zero, product, same, show
from stele.ops.along import take_along
from stele.ops.arguments import choice
from stele.ops.contraction import matmul
from stele.ops.elementwise.arithmetic import Maximum
from stele.ops.elementwise.binary import round, where
from stele.ops.elementwise.unary import absolute, floor
from stele.ops.generate import iota, quantity
from stele.ops.joining import stack
from stele.ops.linear import broadcast, cast, expand_dims, full, reshape, slice_axis, swap_last


def affine_grid(theta: Value, size: Sequence[int], align_corners: bool | None = None) -> Value:
    """The places that affine maps give to the pixels of images: (N, H, W, 2), or (N, D, H, W, 3) for volumes.

    `theta` is (N, 2, 3), or (N, 3, 4): the maps on (x, y, 1), where -1 and 1 are the outer edges of the image, or, with
    `align_corners`, the centres of its outer pixels. `size` is that of the images, (N, C, H, W) or (N, C, D, H, W). For
    `grid_sample`. Integers become float32. Raises ShapeError where they do not fit.

    >>> F.affine_grid(st.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2)).tolist()
    [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    axes = len(size) - 2
    if axes not in (2, 3) or theta.ndim != 3 or not all(map(same, theta.shape, (size[0], axes, axes + 1))):
        raise ShapeError("affine_grid needs theta (N, 2, 3) and a size (N, C, H, W), or (N, 3, 4) and (N, C, D, H, W), "
                         f"got {show(theta.shape)} and {tuple(size)}")
    last = tuple(size[2:])
    if any(map(is_zero, last)):
        raise ShapeError(f"affine_grid needs an image of a pixel or more, got the size {tuple(size)}")
    own = [spaced(n, bool(align_corners), theta) for n in last]
    lines = [broadcast(expand_dims(v, tuple(j for j in range(axes) if j != k)), last) for k, v in enumerate(own)]
    base = stack([*lines[::-1], full(last, 1.0, theta.dtype)], axis=-1)
    found = matmul(reshape(base, (1, product(last), axes + 1)), swap_last(theta))
    return reshape(found, (size[0], *last, axes))


def spaced(n: Dim, align_corners: bool, like: Value) -> Value:
    """The places of n pixels between -1 and 1."""
    i, many = cast(iota(n), like.dtype), cast(quantity(n), like.dtype)
    return i * 2 / Maximum()(many - 1, 1) - 1 if align_corners and n != 1 else (i * 2 + 1) / many - 1


def grid_sample(input: Value, grid: Value, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Value:
    """The elements of images at places: (N, C, H, W) and a `grid` (N, OH, OW, 2) give (N, C, OH, OW).

    A place is (x, y), from -1 at the left or upper edge to 1 at the other, or, with `align_corners`, at the centres of
    the outer pixels. `mode` is "bilinear", "nearest" (halves to even) or "bicubic" (Keys, 1981, with a = -0.75);
    `padding_mode` what lies outside: "zeros", the "border", or the image's "reflection". Volumes (N, C, D, H, W) with a
    grid (N, OD, OH, OW, 3) are taken too, but not by "bicubic". Integers become float32. What is "nearest" has no
    derivative in the grid. Raises ShapeError where they do not fit, OptionError for another mode.

    >>> x = st.tensor([[[[1.0, 3.0]]]])
    >>> F.grid_sample(x, st.tensor([[[[0.0, 0.0], [-0.5, 0.0]]]])).tolist()
    [[[[2.0, 1.0]]]]
    """
    axes = input.ndim - 2
    choice(mode, "mode of grid_sample", ("bilinear", "nearest", "bicubic"))
    choice(padding_mode, "padding_mode of grid_sample", PADDING)
    if axes not in (2, 3) or grid.ndim != axes + 2 or not same(grid.shape[-1], axes) \
            or not same(grid.shape[0], input.shape[0]):
        raise ShapeError("grid_sample needs (N, C, H, W) and a grid (N, OH, OW, 2), or (N, C, D, H, W) and one "
                         f"(N, OD, OH, OW, 3), got {show(input.shape)} and {show(grid.shape)}")
    if mode == "bicubic" and axes == 3:
        raise OptionError("mode 'bicubic' of grid_sample is for images", hint="For volumes there is 'bilinear'.")
    look = Look(input, grid, bool(align_corners), padding_mode)
    at = [look.position(k) for k in range(axes)]
    if mode == "nearest":
        return look.at([round(look.inside(k, p)) for k, p in enumerate(at)], None)
    if mode == "bilinear":
        at = [look.inside(k, p) for k, p in enumerate(at)]
    corner = [floor(p) for p in at]
    parts = [p - c for p, c in zip(at, corner)]
    reach = range(-1, 3) if mode == "bicubic" else range(2)
    weights = [four(t) if mode == "bicubic" else {0: 1 - t, 1: t} for t in parts]
    total: Value | None = None
    for steps in every(reach, repeat=axes):
        places = [c + s for c, s in zip(corner, steps)]
        if mode == "bicubic":
            places = [look.inside(k, p) for k, p in enumerate(places)]
        weight = weights[0][steps[0]]
        for k in range(1, axes):
            weight = weight * weights[k][steps[k]]
        found = look.at(places, weight)
        total = found if total is None else total + found
    return total  # type: ignore[return-value]


def four(t: Value, a: float = -0.75) -> dict[int, Value]:
    """The weights of the elements at -1, 0, 1 and 2 for a position t behind 0: Keys (1981)."""
    def near(d: Value) -> Value: return ((a + 2) * d - (a + 3)) * d * d + 1
    def far(d: Value) -> Value: return ((d - 5) * d + 8) * d * a - 4 * a
    return {-1: far(t + 1), 0: near(t), 1: near(1 - t), 2: far(2 - t)}


class Look:
    """Images, the places where they are looked at, and what lies beyond them."""

    def __init__(self, x: Value, grid: Value, corners: bool, padding: str) -> None:
        self.x, self.grid, self.corners, self.padding = x, grid, corners, padding
        self.axes = x.ndim - 2
        self.flat = reshape(x, (*x.shape[:2], product(x.shape[2:])))

    def size(self, k: int) -> Value:
        """The length of an axis, as a number of the grid's dtype."""
        return cast(quantity(self.x.shape[2 + k]), self.grid.dtype)

    def position(self, k: int) -> Value:
        """Where along an axis the places are, in pixels."""
        own = reshape(slice_axis(self.grid, -1, self.axes - 1 - k, 1), self.grid.shape[:-1])
        n = self.size(k)
        return (own + 1) * ((n - 1) / 2) if self.corners else ((own + 1) * n - 1) / 2

    def inside(self, k: int, at: Value) -> Value:
        """Positions as padding has them: those outside moved to the border, or reflected."""
        if self.padding == "zeros":
            return at
        if self.padding == "reflection":
            at = self.reflected(k, at)
        last = self.size(k) - 1
        return where(at > 0, where(at < last, at, last), 0.0)

    def reflected(self, k: int, at: Value) -> Value:
        """Positions reflected, as often as needed, at the edges, or at the centres of the outer pixels."""
        n = self.size(k)
        low, span = (0.0, n - 1) if self.corners else (-0.5, n)
        d = absolute(at - low)
        span = Maximum()(span, 1e-30)
        turns = floor(d / span)
        rest = d - turns * span
        is_even = turns - floor(turns / 2) * 2 < 0.5
        back = where(is_even, rest + low, span - rest + low)
        return where(self.size(k) > 1, back, 0.0) if self.corners else back

    def at(self, places: Sequence[Value], weight: Value | None) -> Value:
        """The elements at whole positions, times a weight; zero where one is outside."""
        flat: Value | None = None
        is_in: Value | None = None
        for k, p in enumerate(places):
            n = self.size(k)
            within = (p >= 0) & (p < n)
            own = cast(where(within, p, 0.0), int64)
            is_in = within if is_in is None else is_in & within
            flat = own if flat is None else flat * quantity(self.x.shape[2 + k]) + own
        n, c = self.x.shape[:2]
        many = product(self.grid.shape[1:-1])
        i = broadcast(reshape(flat, (n, 1, many)), (n, c, many))  # type: ignore[arg-type]
        found = reshape(take_along(self.flat, i, -1), (n, c, *self.grid.shape[1:-1]))
        beside = expand_dims(is_in, (1,))  # type: ignore[arg-type]
        factor = cast(beside, found.dtype) if weight is None else where(beside, expand_dims(weight, (1,)), 0.0)
        return found * factor


PADDING = ("zeros", "border", "reflection")
