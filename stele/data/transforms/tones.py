"""Other tones of images, each for all of an image or not at all: inverted, in fewer steps, sharper, stretched."""
from __future__ import annotations

from typing import Any

import numpy as np

import stele as st
from stele.data.transforms.arrays import Drawn, Image, beside, either, floats, is_bytes, kept, module, pointwise
from stele.data.transforms.base import RandomTransform
from stele.data.transforms.chance import Chance
from stele.errors import DTypeError
from stele.interop.keywords import speaks
from stele.ops.arguments import is_array, number, whole


class RandomTone(RandomTransform):
    """The base of what changes the tones of an image with the probability `p`."""

    @speaks
    def __init__(self, p: float = 0.5) -> None:
        self.p = number(p, f"p of {type(self).__name__}", 0, 1)

    def draw(self, chance: Chance, x: Image) -> Drawn:
        """Whether an image is changed."""
        return chance.coin(self.p)

    def apply(self, x: Image, drawn: Drawn) -> Image:
        """The image, changed or not."""
        return either(drawn, self.toned, x)

    def toned(self, x: Image) -> Image:
        """The image in other tones."""
        raise NotImplementedError(f"{type(self).__name__} has no toned(self, x)")


class RandomInvert(RandomTone):
    """Images inverted with the probability `p`: 255 - x of bytes, 1 - x of floats.

    Images are uint8 or float (C, H, W), or tensors (N, C, H, W). Raises ShapeError for a p that is none.

    >>> data.transforms.RandomInvert(p=1.0)(np.array([[[0, 55]]], np.uint8), np.random.default_rng(0)).tolist()
    [[[255, 200]]]
    """

    def toned(self, x: Image) -> Image: return inverted(x)


class RandomPosterize(RandomTone):
    """Bytes of which the first `bits` are left, of eight, with the probability `p`.

    Images are uint8 (C, H, W), or tensors (N, C, H, W). Raises ShapeError for other numbers of bits, DTypeError for
    images of floats.

    >>> data.transforms.RandomPosterize(2, p=1.0)(np.array([[[63, 200]]], np.uint8), np.random.default_rng(0)).tolist()
    [[[0, 192]]]
    """

    @speaks
    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = whole(bits, "bits of RandomPosterize", 0, 8)

    def toned(self, x: Image) -> Image:
        of_bytes(x, "RandomPosterize")
        return posterized(x, self.bits)


class RandomSolarize(RandomTone):
    """Images inverted where they are `threshold` or brighter, with the probability `p`.

    Images are uint8 or float (C, H, W), or tensors (N, C, H, W), and the threshold is of their scale. Raises ShapeError
    for a p that is none.

    >>> t = data.transforms.RandomSolarize(threshold=128, p=1.0)
    >>> t(np.array([[[127, 200]]], np.uint8), np.random.default_rng(0)).tolist()
    [[[127, 55]]]
    """

    @speaks
    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = number(threshold, "threshold of RandomSolarize")

    def toned(self, x: Image) -> Image: return inverted_above(x, self.threshold)


class RandomAdjustSharpness(RandomTone):
    """Images moved away from what they are when smoothed, by a `sharpness_factor`, with the probability `p`.

    0 is the smoothed image, 1 the image itself, 2 one twice as sharp; edges stay. Images are uint8 or float (C, H, W),
    or tensors (N, C, H, W). Raises ShapeError for a negative factor.

    >>> x = np.array([[[0, 0, 0], [0, 130, 0], [0, 0, 0]]], np.uint8)
    >>> data.transforms.RandomAdjustSharpness(0, p=1.0)(x, np.random.default_rng(0))[0, 1].tolist()
    [0, 50, 0]
    """

    @speaks
    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = number(sharpness_factor, "sharpness_factor of RandomAdjustSharpness", 0)

    def toned(self, x: Image) -> Image: return sharpened(x, self.sharpness_factor)


class RandomAutocontrast(RandomTone):
    """Images the darkest number of each of whose channels becomes 0 and the brightest 255, or 1, with probability `p`.

    Images are uint8 or float (C, H, W), or tensors (N, C, H, W). Raises ShapeError for a p that is none.

    >>> t = data.transforms.RandomAutocontrast(p=1.0)
    >>> t(np.array([[[50, 100, 150]]], np.uint8), np.random.default_rng(0)).tolist()
    [[[0, 127, 255]]]
    """

    def toned(self, x: Image) -> Image: return stretched(x)


class RandomEqualize(RandomTone):
    """Bytes such that each channel has about as many of each, with the probability `p`.

    Images are uint8 (C, H, W), or tensors (N, C, H, W). Raises DTypeError for images of floats.

    >>> t = data.transforms.RandomEqualize(p=1.0)
    >>> x = np.array([[[1, 2, 3, 4]]], np.uint8).repeat(85, axis=2)
    >>> t(x, np.random.default_rng(0))[0, 0, ::85].tolist()
    [0, 85, 170, 255]
    """

    def toned(self, x: Image) -> Image:
        of_bytes(x, "RandomEqualize")
        return equalized(x)


def of_bytes(x: Image, what: str) -> None:
    """Raises unless an image is of bytes."""
    if not is_bytes(x):
        raise DTypeError(f"{what} changes bytes, uint8 from 0 to 255, got {x.dtype}", hint="Put it before ToFloat.")


def inverted(x: Image) -> Image:
    """Dark where x is bright."""
    return (255 if is_bytes(x) else 1) - x


def inverted_above(x: Image, least: float) -> Image:
    """Inverted where x is that bright."""
    most = 255 if is_bytes(x) else 1
    return pointwise(lambda v: module(v).where(v < least, v, most - v), x)


def posterized(x: Image, bits: int) -> Image:
    """Bytes of so many bits."""
    return x & (256 - (1 << 8 - bits))


def sharpened(x: Image, factor: Drawn) -> Image:
    """x moved away from what it is when smoothed, 5 of 13 parts and 1 of each neighbour; edges stay."""
    m, (height, width) = module(x), x.shape[-2:]
    if min(height, width) < 3:
        return x
    v = floats(x) if is_bytes(x) else x
    around = sum(v[..., i:height - 2 + i, j:width - 2 + j] for i in range(3) for j in range(3))
    inner = v[..., 1:-1, 1:-1]
    smooth = (around + inner * 4) / 13
    smooth = m.floor(smooth + 0.5) if is_bytes(x) else smooth
    factor = beside(factor) if isinstance(factor, st.Tensor) else np.float32(factor)
    changed = kept(smooth + (inner - smooth) * factor, x)
    middle = m.concat([x[..., 1:-1, :1], changed, x[..., 1:-1, -1:]], axis=-1)
    return m.concat([x[..., :1, :], middle, x[..., -1:, :]], axis=-2)


def stretched(x: Image) -> Image:
    """An image the darkest number of each of whose channels is 0, the brightest 255, or 1 of floats."""
    m = module(x)
    if not is_bytes(x):
        low, high = (f(x, axis=(-2, -1), keepdims=True) for f in (m.min, m.max))
        return m.where(high > low, (x - low) / m.where(high > low, high - low, 1), x)
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
