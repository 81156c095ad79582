"""Images turned, sheared, scaled and moved: each pixel taken from where an affine map says."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import stele as st
from stele.data.transforms.arrays import Drawn, Image, filling, floats, gathered, is_bytes, module, rounded
from stele.data.transforms.base import Moving, RandomTransform
from stele.data.transforms.boxes import positives
from stele.data.transforms.chance import Chance
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.ops.arguments import choice, is_array, is_many, is_series, number, numbers

MODES = ("nearest", "bilinear")


class Map(NamedTuple):
    """Where a pixel at (x, y), seen from the middle, is taken from: (a x + b y + c, d x + e y + f)."""

    a: Drawn
    b: Drawn
    c: Drawn
    d: Drawn
    e: Drawn
    f: Drawn


def inverse(angle: Drawn, right: Drawn, down: Drawn, scale: Drawn, shear_x: Drawn, shear_y: Drawn) -> Map:
    """The map back from an image that was sheared, scaled, turned clockwise and moved; angles in degrees."""
    m = module(angle)
    turn, sx, sy = (v * (math.pi / 180) for v in (angle, shear_x, shear_y))
    cos, sin, along, down_y = m.cos(turn), m.sin(turn), m.tan(sx), m.tan(sy)
    a, b = (1 + along * down_y) / scale, along / scale
    d, e = down_y / scale, 1 / scale
    linear = a * cos - b * sin, a * sin + b * cos, d * cos - e * sin, d * sin + e * cos
    return Map(linear[0], linear[1], -(linear[0] * right + linear[1] * down),
               linear[2], linear[3], -(linear[2] * right + linear[3] * down))


def warped(x: Image, to: Map, fill: float, mode: str, middle: Any = None) -> Image:
    """The image as the map takes it, seen from the `middle` (x, y); `fill` stands where it leads outside."""
    height, width = x.shape[-2:]
    cx, cy = (width / 2, height / 2) if middle is None else middle
    a, b, c, d, e, f = (v.reshape(-1, 1, 1) if isinstance(v, st.Tensor) else float(v) for v in to)
    xp: Any = st if not is_array(x) else np
    across = xp.arange(width).astype("float32") + (0.5 - cx)
    down = xp.arange(height).astype("float32")[:, None] + (0.5 - cy)
    px, py = a * across + (b * down + (c + cx)), d * across + (e * down + (f + cy))
    outside = (px < 0) | (px >= width) | (py < 0) | (py >= height)
    if xp is st:
        outside, px, py = (st.broadcast_to(v, (x.shape[0], height, width)) for v in (outside, px, py))
    found = taken(x, px, py) if mode == "nearest" else between(x, px - 0.5, py - 0.5)
    return xp.where(outside[:, None] if xp is st else outside, xp.asarray(filling(x, fill)).astype(x.dtype), found)


def taken(x: Image, px: Any, py: Any) -> Image:
    """The pixels that lie at places."""
    return gathered(x, place(py, x.shape[-2]), place(px, x.shape[-1]))


def place(at: Any, n: int) -> Any:
    """Whole places within an axis of n pixels."""
    m = module(at)
    return m.clip(m.floor(at), 0, n - 1).astype("int64")


def between(x: Image, px: Any, py: Any) -> Image:
    """What lies between the four pixels around places, the edges repeated."""
    m = module(px)
    left, top = m.floor(px), m.floor(py)
    tx, ty = px - left, py - top
    if m is st:
        tx, ty = tx[:, None], ty[:, None]
    source = floats(x) if is_bytes(x) else x
    rows, columns = ([place(v + k, n) for k in (0, 1)] for v, n in ((top, x.shape[-2]), (left, x.shape[-1])))
    upper, lower = (first + (second - first) * tx for first, second in (
        [gathered(source, row, column) for column in columns] for row in rows))
    return rounded(upper + (lower - upper) * ty, x)


def degrees_of(x: Any, what: str) -> tuple[float, float]:
    """From (-x, x), or between two numbers."""
    if is_many(x):
        low, high = numbers(x, what, 2)
        if not -math.inf < low <= high < math.inf:
            raise ShapeError(f"{what} must be two numbers in order, got {x!r:.60}")
        return low, high
    most = number(x, what, 0, 1e6)
    return -most, most


class RandomRotation(Moving, RandomTransform):
    """The image turned about its middle, counter-clockwise by an angle between -`degrees` and it, or of (low, high).

    `interpolation` is "nearest" or "bilinear"; `fill` stands where the image is not. The middle is `center`, (x, y)
    in pixels from the corner at the top left, where one is given. Images are uint8 or float (C, H, W), or tensors
    (N, C, H, W), each image of which has an angle of its own. Raises ShapeError for degrees that are none, OptionError
    for another interpolation.

    >>> t = data.transforms.RandomRotation((90, 90))
    >>> t(np.array([[[1, 2], [3, 4]]], np.uint8), np.random.default_rng(0)).tolist()
    [[[2, 4], [1, 3]]]
    """

    @speaks
    def __init__(self, degrees: float | Sequence[float], interpolation: str = "nearest", fill: float = 0,
                 center: Sequence[float] | None = None) -> None:
        self.degrees = degrees_of(degrees, "degrees of RandomRotation")
        self.interpolation = choice(interpolation, "interpolation of RandomRotation", MODES)
        self.fill = number(fill, "fill of RandomRotation")
        self.center = None if center is None else numbers(center, "center of RandomRotation", 2)

    def draw(self, chance: Chance, x: Image) -> Map:
        """Where each pixel is taken from."""
        return inverse(-chance.uniform(*self.degrees), 0, 0, 1, 0, 0)

    def move(self, x: Image, drawn: Map, mode: str) -> Image:
        """The image turned about its middle."""
        return warped(x, drawn, self.fill, mode, self.center)


class RandomAffine(Moving, RandomTransform):
    """The image turned, moved, scaled and sheared about its middle, each by chance.

    It is turned clockwise by up to `degrees` or by (low, high), moved by up to a share of its width and height
    (`translate`), scaled by a factor of `scale`, and sheared by up to `shear` degrees along x, by (low, high), or along
    both axes by (low, high, low, high). `interpolation` is "nearest" or "bilinear"; `fill` stands where the image is
    not. All of it is about `center`, (x, y) in pixels from the corner at the top left, where one is given. Images are
    uint8 or float (C, H, W), or tensors (N, C, H, W), each image of which has a map of its own. Raises ShapeError for
    ranges that are none, OptionError for another interpolation.

    >>> t = data.transforms.RandomAffine((180, 180), scale=(1.0, 1.0))
    >>> t(np.array([[[1, 2, 3]]], np.uint8), np.random.default_rng(0)).tolist()
    [[[3, 2, 1]]]
    """

    @speaks
    def __init__(self, degrees: float | Sequence[float], translate: Sequence[float] | None = None,
                 scale: Sequence[float] | None = None, shear: float | Sequence[float] | None = None,
                 interpolation: str = "nearest", fill: float = 0, center: Sequence[float] | None = None) -> None:
        self.degrees = degrees_of(degrees, "degrees of RandomAffine")
        self.translate = (0.0, 0.0) if translate is None else numbers(translate, "translate of RandomAffine", 2)
        if not all(0 <= share <= 1 for share in self.translate):
            raise ShapeError(f"translate of RandomAffine must be two shares from 0 to 1, got {translate!r:.60}")
        self.scale = (1.0, 1.0) if scale is None else positives(scale, "scale of RandomAffine")
        self.shear = shears(shear)
        self.interpolation = choice(interpolation, "interpolation of RandomAffine", MODES)
        self.fill = number(fill, "fill of RandomAffine")
        self.center = None if center is None else numbers(center, "center of RandomAffine", 2)

    def draw(self, chance: Chance, x: Image) -> Map:
        """Where each pixel is taken from."""
        m = module(x)
        angle, scale = chance.uniform(*self.degrees), chance.uniform(*self.scale)
        right, down = (m.round(chance.uniform(-share * n, share * n))
                       for share, n in zip(self.translate, (x.shape[-1], x.shape[-2])))
        return inverse(angle, right, down, scale, chance.uniform(*self.shear[:2]), chance.uniform(*self.shear[2:]))

    def move(self, x: Image, drawn: Map, mode: str) -> Image:
        """The image at its new place."""
        return warped(x, drawn, self.fill, mode, self.center)


def shears(x: Any) -> tuple[float, float, float, float]:
    """From where to where images are sheared along x, and along y."""
    if x is None:
        return 0.0, 0.0, 0.0, 0.0
    if is_series(x) and len(x) == 4:
        found = numbers(x, "shear of RandomAffine", 4)
        return *degrees_of(found[:2], "shear of RandomAffine"), *degrees_of(found[2:], "shear of RandomAffine")
    return *degrees_of(x, "shear of RandomAffine"), 0.0, 0.0
