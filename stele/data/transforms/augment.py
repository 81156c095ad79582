"""RandAugment: a few changes of fourteen kinds, drawn for each image."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import stele as st
from stele.data.transforms.arrays import (
    Drawn,
    Image,
    beside,
    channels,
    floats,
    is_bytes,
    kept,
    module,
    pointwise,
    switch,
)
from stele.data.transforms.base import RandomTransform
from stele.data.transforms.chance import Chance
from stele.data.transforms.colours import brightened, contrasted, saturated
from stele.data.transforms.warps import MODES, Map, inverse, warped
from stele.errors import DTypeError
from stele.ir.door import public
from stele.ops.arguments import choice, is_array, number, whole

STRONGEST = {"shear": 0.3, "translate": 150 / 331, "rotate": 30.0, "enhance": 0.9, "posterize": 4.0, "solarize": 1.0}
MAPS, KINDS = 6, 14     # of the kinds the first six move pixels (the first, none), and all there are


class RandAugment(RandomTransform):
    """`num_ops` changes of fourteen kinds, one behind the other, each drawn anew (Cubuk et al., 2019).

    The kinds: none, shear and translation along x and y, rotation, brightness, colour, contrast, sharpness, posterize,
    solarize, autocontrast and equalize, as torchvision has them. How strong they are is `magnitude` of
    `num_magnitude_bins`; those that have a direction go either way. `interpolation` is "nearest" or "bilinear", and
    `fill` stands where the image is not. Images are uint8 (3, H, W) or (1, H, W), or tensors (N, C, H, W), each image
    of which has changes of its own. Raises ShapeError for numbers out of range, OptionError for another interpolation,
    DTypeError for images of floats.

    >>> t = data.transforms.RandAugment(num_ops=2, magnitude=9)
    >>> t(np.zeros((3, 32, 32), np.uint8), np.random.default_rng(0)).shape
    (3, 32, 32)
    """

    @public
    def __init__(self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
                 interpolation: str = "nearest", fill: float = 0) -> None:
        self.num_ops = whole(num_ops, "num_ops of RandAugment", 0)
        self.num_magnitude_bins = whole(num_magnitude_bins, "num_magnitude_bins of RandAugment", 2)
        self.magnitude = whole(magnitude, "magnitude of RandAugment", 0, self.num_magnitude_bins - 1)
        self.interpolation = choice(interpolation, "interpolation of RandAugment", MODES)
        self.fill = number(fill, "fill of RandAugment")

    def draw(self, chance: Chance, x: Image) -> list[tuple[Drawn, Drawn]]:
        """Of each change its kind and its direction."""
        return [(chance.below(KINDS), chance.coin(0.5)) for _ in range(self.num_ops)]

    def strength(self, kind: str) -> float:
        """How strong changes of a kind are."""
        return STRONGEST[kind] * self.magnitude / (self.num_magnitude_bins - 1)

    def apply(self, x: Image, drawn: list[tuple[Drawn, Drawn]]) -> Image:
        """The image with its changes made."""
        channels(x)
        if not is_bytes(x):
            raise DTypeError(f"RandAugment changes bytes, uint8 from 0 to 255, got {x.dtype}",
                             hint="Put it before ToFloat.")
        for which, sign in drawn:
            x = self.coloured(self.moved(x, which, sign, self.interpolation), which, sign)
        return x

    def mask(self, x: Image, drawn: list[tuple[Drawn, Drawn]]) -> Image:
        """The mask as the image was moved."""
        for which, sign in drawn:
            x = self.moved(x, which, sign, "nearest")
        return x

    def moved(self, x: Image, which: Drawn, sign: Drawn, mode: str) -> Image:
        """The image moved, if the change is one that moves pixels."""
        if not isinstance(which, st.Tensor) and not 0 < which < MAPS:
            return x
        height, width = x.shape[-2:]
        shear = math.degrees(math.atan(self.strength("shear")))
        across, down = (int(self.strength("translate") * n) for n in (width, height))
        m = module(which)
        amount = [m.where(which == k, m.where(sign, -1.0, 1.0) * a, 0.0)
                  for k, a in enumerate((0, shear, shear, across, down, -self.strength("rotate")))]
        to = inverse(amount[5], amount[3], amount[4], 1.0, amount[1], amount[2])
        corner = self.from_corner(to, which, width, height)
        return warped(x, corner, self.fill, mode)

    def from_corner(self, to: Map, which: Drawn, width: int, height: int) -> Map:
        """The map seen from the middle; that of a shear is one from the corner at the top left."""
        m = module(which)
        shears = (which == 1) | (which == 2)
        return to._replace(c=to.c + m.where(shears, to.b * (height / 2), 0.0),
                           f=to.f + m.where(shears, to.d * (width / 2), 0.0))

    def coloured(self, x: Image, which: Drawn, sign: Drawn) -> Image:
        """The image in other colours, if the change is one of those."""
        if not isinstance(which, st.Tensor) and which < MAPS:
            return x
        amount = self.strength("enhance")
        factor = module(which).where(sign, 1 - amount, 1 + amount) if isinstance(sign, st.Tensor) else \
            1 + (-amount if sign else amount)
        bits = 8 - round(self.strength("posterize"))
        least = 255 * (1 - self.strength("solarize"))
        options: list[Callable[[Image], Image]] = [
            lambda x: brightened(x, factor), lambda x: saturated(x, factor), lambda x: contrasted(x, factor),
            lambda x: sharpened(x, factor), lambda x: x & (256 - (1 << 8 - bits)),
            lambda x: pointwise(lambda v: module(v).where(v < least, v, 255 - v), x), stretched, equalized]
        return switch(which - MAPS, options, x)


def sharpened(x: Image, factor: Drawn) -> Image:
    """Bytes moved away from what they are when smoothed, 5 of 13 parts and 1 of each neighbour; edges stay."""
    m, (height, width) = module(x), x.shape[-2:]
    if min(height, width) < 3:
        return x
    v = floats(x)
    around = sum(v[..., i:height - 2 + i, j:width - 2 + j] for i in range(3) for j in range(3))
    inner = v[..., 1:-1, 1:-1]
    smooth = m.floor((around + inner * 4) / 13 + 0.5)
    factor = beside(factor) if isinstance(factor, st.Tensor) else np.float32(factor)
    changed = kept(smooth + (inner - smooth) * factor, x)
    middle = m.concat([x[..., 1:-1, :1], changed, x[..., 1:-1, -1:]], axis=-1)
    return m.concat([x[..., :1, :], middle, x[..., -1:, :]], axis=-2)


def stretched(x: Image) -> Image:
    """Bytes such that the darkest of each channel is 0 and the brightest 255."""
    m = module(x)
    low, high = (f(x, axis=(-2, -1), keepdims=True).astype("int32") for f in (m.min, m.max))
    wide = m.where(high > low, high - low, 255)
    low = m.where(high > low, low, 0)
    return ((x.astype("int32") - low) * 255 // wide).astype("uint8")


def equalized(x: Image) -> Image:
    """Bytes such that each channel has as many of each: by its cumulated histogram, as Pillow has it."""
    m = module(x)
    if is_array(x):
        counts = np.stack([np.bincount(c.reshape(-1), minlength=256) for c in x])
    else:
        counts = counted(x)
    total = x.shape[-2] * x.shape[-1]
    bright = m.max(x, axis=(-2, -1)).astype("int64")[..., None]
    last = m.take_along_axis(counts, bright, axis=-1)
    step = (total - last) // 255
    below = m.cumulative_sum(counts, axis=-1) - counts
    table = m.minimum((below + step // 2) // m.where(step > 0, step, 1), 255)
    table = m.where(step > 0, table, m.arange(256)).astype("uint8")
    places = x.reshape(*x.shape[:-2], -1).astype("int64")
    return m.take_along_axis(table, places, axis=-1).reshape(x.shape)


def counted(x: Any) -> Any:
    """How often each byte comes in each channel of each image: (N, C, 256)."""
    n, c, h, w = x.shape
    images = st.arange(n * c).reshape(n, c, 1, 1) * 256 + x.astype("int64")
    ones = st.ones(n * c * h * w, dtype="float32")
    return st.segment_sum(ones, images.reshape(-1), n * c * 256).reshape(n, c, 256).astype("int64")
