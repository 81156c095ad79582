"""Images at other sizes: each axis by weights of the pixels that a new one covers."""
from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

import stele as st
from stele.data.transforms.arrays import Drawn, Image, floats, is_bytes, room, rounded
from stele.data.transforms.base import Cropping, Moving, RandomTransform
from stele.data.transforms.boxes import Box, boxes, positives
from stele.data.transforms.chance import Chance
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.nn import functional as F
from stele.ops.arguments import choice, flag, is_array, is_many, is_series, pair, positive

PILLOW = {"nearest": 0, "bilinear": 2, "bicubic": 3}    # what Pillow calls them
REACH = {"bilinear": 1, "bicubic": 2}
FIXED = 1 << 22         # Pillow's weights of bytes are whole numbers of so many parts


class Resize(Moving):
    """Images at another `size`: (height, width), or one number for the shorter side, the other in proportion.

    `interpolation` is "nearest" (the pixel in the middle), "bilinear" or "bicubic". With `antialias` a smaller image is
    made of all the pixels that a new one covers, as Pillow does it; without, of those next to its middle. Images are
    uint8 (C, H, W) or float, or tensors (N, C, H, W). Bytes are rounded, those of NumPy after each of the two axes (the
    one first that leaves less): to the same numbers with Pillow, which is used where it is installed, and without.
    Raises ShapeError for a size below 1, OptionError for another interpolation.

    >>> x = np.array([[[0, 0, 100, 200]]], np.uint8)
    >>> data.transforms.Resize((1, 2))(x).tolist()
    [[[14, 129]]]
    >>> data.transforms.Resize(2, interpolation="nearest")(x).shape
    (1, 2, 8)
    """

    @speaks
    def __init__(self, size: int | Sequence[int], interpolation: str = "bilinear", antialias: bool = True) -> None:
        self.size: Any = pair(size, "size of Resize", 1) if is_many(size) else positive(size, "size of Resize")
        self.interpolation = choice(interpolation, "interpolation of Resize", tuple(PILLOW))
        self.antialias = flag(antialias, "antialias of Resize")

    def move(self, x: Image, drawn: Any, mode: str) -> Image:
        """The image at the new size."""
        height, width = x.shape[-2:]
        if is_series(self.size):
            return resized(x, self.size[0], self.size[1], mode, self.antialias)
        short = min(height, width)
        return resized(x, self.size * height // short, self.size * width // short, mode, self.antialias)


class RandomResizedCrop(Cropping, RandomTransform):
    """A part of the image, drawn by area and proportions, at one `size` (height, width), or a square of one number.

    The part's share of the area is drawn from `scale`, its width by its height from `ratio` (their logarithm evenly);
    of ten tries the first that fits is taken, else the largest part in the middle of such proportions (Szegedy et al.,
    2015, as torchvision has it). `interpolation` is "nearest", "bilinear" or "bicubic", and antialiased as by Pillow.
    Images are uint8 or float (C, H, W), or tensors (N, C, H, W), each image of which has a part of its own. Raises
    ShapeError for sizes and ranges that are none, OptionError for another interpolation.

    >>> t = data.transforms.RandomResizedCrop(8, scale=(0.1, 1.0))
    >>> t(np.zeros((3, 20, 30), np.uint8), np.random.default_rng(0)).shape
    (3, 8, 8)
    """

    @speaks
    def __init__(self, size: int | Sequence[int], scale: Sequence[float] = (0.08, 1.0),
                 ratio: Sequence[float] = (3 / 4, 4 / 3), interpolation: str = "bilinear") -> None:
        self.size = pair(size, "size of RandomResizedCrop", 1)
        self.scale = positives(scale, "scale of RandomResizedCrop")
        self.ratio = positives(ratio, "ratio of RandomResizedCrop")
        self.interpolation = choice(interpolation, "interpolation of RandomResizedCrop", tuple(PILLOW))

    def draw(self, chance: Chance, x: Image) -> Box:
        """The part that is taken of each image."""
        return boxes(chance, x.shape[-2], x.shape[-1], self.scale, self.ratio)

    def part(self, x: Any, drawn: Box) -> tuple[int, int, int, int] | None:
        """The part of one image."""
        return None if isinstance(drawn.top, st.Tensor) else (drawn.top, drawn.left, drawn.height, drawn.width)

    def of_part(self, x: Image, mode: str) -> Image:
        """The part at the one size."""
        return resized(x, *self.size, mode, True)

    def of_all(self, x: Image, drawn: Box, mode: str) -> Image:
        """Of each image of a batch its own part, at the one size."""
        return of_parts(x, drawn, *self.size, mode)


def resized(x: Image, height: Any, width: Any, mode: str, antialias: bool) -> Image:
    """An image, or a batch, at another size."""
    if min(height, width) < 1:
        raise ShapeError(f"an image of shape {tuple(x.shape)} has no pixel left at {height} x {width}")
    if room(x, height, width) == tuple(x.shape):
        return x
    if is_array(x):
        return resized_alone(x, height, width, mode, antialias)
    if mode == "nearest":
        return F.interpolate(x, (height, width), mode="nearest-exact")
    whole = x if x.dtype.is_float else floats(x)
    y = F.interpolate(whole, (height, width), mode=mode, antialias=antialias)
    return rounded(y, x)


def resized_alone(x: np.ndarray, height: int, width: int, mode: str, antialias: bool) -> np.ndarray:
    """One image of NumPy at another size."""
    if mode == "nearest":
        rows, columns = (np.floor((np.arange(m) + 0.5) * (n / m)).astype(np.int64)
                         for n, m in zip(x.shape[-2:], (height, width)))
        return x[:, rows[:, None], columns]
    is_wide_first = width * x.shape[1] <= height * x.shape[2]   # what is between both axes is then smaller
    if antialias and x.dtype == np.uint8 and len(x) in (1, 3) and find_spec("PIL"):
        return by_pillow(x, height, width, mode, is_wide_first)
    for axis, m in ((2, width), (1, height))[::1 if is_wide_first else -1]:
        if x.shape[axis] != m:
            x = along(x, axis, m, mode, antialias)
    return x


def by_pillow(x: np.ndarray, height: int, width: int, mode: str, is_wide_first: bool) -> np.ndarray:
    """Bytes at another size, by Pillow: one axis after the other, in an order that is not its own choice."""
    from PIL import Image as Pillow  # an extra, so not needed to import this file

    rows = Pillow.fromarray(x[0] if len(x) == 1 else np.ascontiguousarray(x.transpose(1, 2, 0)))
    rows = rows.resize((width, x.shape[1]) if is_wide_first else (x.shape[2], height), PILLOW[mode])
    found = np.asarray(rows.resize((width, height), PILLOW[mode]))
    return found[None] if len(x) == 1 else found.transpose(2, 0, 1)


def along(x: np.ndarray, axis: int, m: int, mode: str, antialias: bool) -> np.ndarray:
    """One axis of an image of m pixels."""
    n = x.shape[axis]
    w = weights(np, 0, n, n, m, mode, np.float64) if antialias else beside_middles(n, m, mode)
    if x.dtype == np.uint8:
        w = np.trunc(w * FIXED + np.copysign(0.5, w))
    y = x @ w.T if axis == 2 else w @ x
    return np.clip(np.floor((y + FIXED / 2) / FIXED), 0, 255).astype(np.uint8) if x.dtype == np.uint8 \
        else y.astype(x.dtype)


def beside_middles(n: int, m: int, mode: str) -> np.ndarray:
    """The weights (m, n) of those pixels that stand next to the middle of a new one, whatever it covers."""
    at = (np.arange(m) + 0.5) * (n / m) - 0.5
    first = np.floor(np.maximum(at, 0) if mode == "bilinear" else at).astype(np.int64)
    t = (np.maximum(at, 0) if mode == "bilinear" else at) - first
    w = np.zeros((m, n))
    for k in range(1 - REACH[mode], 1 + REACH[mode]):
        part = np.maximum(1 - np.abs(t - k), 0) if mode == "bilinear" else cubic(np, np.abs(t - k), -0.75)
        np.add.at(w, (np.arange(m), np.clip(first + k, 0, n - 1)), part)
    return w


def cubic(m: Any, d: Any, a: float = -0.5) -> Any:
    """The kernel of Keys (1981) at distances d from 0."""
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((d - 5) * d + 8) * d * a - 4 * a
    return m.where(d < 1, near, m.where(d < 2, far, m.zeros_like(d)))


def weights(xp: Any, begin: Drawn, length: Drawn, n: int, m: int, mode: str, real: Any) -> Any:
    """How m pixels are made of n, of which `length` from `begin` on are used: (m, n), of a batch (N, m, n)."""
    i, j = (xp.arange(k).astype(real) + 0.5 for k in (m, n))
    begin, length = ((k.reshape(-1, 1, 1) if xp is st else k) for k in (begin, length))
    scale = length / m
    centre = begin + i[:, None] * scale
    inside = (j > begin) & (j < begin + length)
    if mode == "nearest":
        return (xp.floor(centre) + 0.5 == j).astype(real)
    d = xp.abs(j - centre) / xp.maximum(scale, 1)
    found = xp.where(inside, cubic(xp, d) if mode == "bicubic" else xp.maximum(1 - d, 0), 0)
    return found / xp.sum(found, axis=-1, keepdims=True)


def of_parts(x: Image, box: Box, height: int, width: int, mode: str) -> Image:
    """Of each image of a batch its own part, all at one size."""
    x32 = floats(x) if not x.dtype.is_float else x
    top, left, tall, wide = (floats(k) for k in box)
    rows = weights(st, top, tall, x.shape[-2], height, mode, "float32")
    columns = weights(st, left, wide, x.shape[-1], width, mode, "float32")
    y = rows[:, None] @ x32 @ st.swapaxes(columns, 1, 2)[:, None]
    return rounded(y, x) if is_bytes(x) else y.astype(x.dtype)


