"""Transforms that change colours and leave pixels where they are."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stele as st
from stele.data.sets import unit
from stele.data.transforms import arrays
from stele.data.transforms.arrays import Drawn, Image, beside, blended, either, grey, is_bytes, module, pointwise
from stele.data.transforms.base import RandomTransform, Transform
from stele.data.transforms.chance import Chance
from stele.errors import OptionError, ShapeError
from stele.interop.keywords import speaks
from stele.ops.arguments import is_array, is_many, is_series, number, numbers, positive


class ToFloat(Transform):
    """Bytes as float32 from 0 to 1, x / 255; images of floats as they are.

    Images are uint8 (C, H, W), or tensors (N, C, H, W). Raises DTypeError for other integers.

    >>> data.transforms.ToFloat()(np.full((1, 1, 1), 51, np.uint8))
    array([[[0.2]]], dtype=float32)
    """

    def apply(self, x: Image, drawn: Any) -> Image:
        """The image as one of floats."""
        if not is_bytes(x):
            return x
        return unit(x) if is_array(x) else arrays.floats(x) / 255


class Normalize(Transform):
    """Each channel less its `mean`, divided by its standard deviation `std`: (x - mean) / std.

    Images are float (C, H, W), or uint8, which are brought to 0..1 first, or tensors (N, C, H, W); the result is float.
    One number is for all channels. Raises ShapeError where the channels are others, OptionError for a std of 0.

    >>> t = data.transforms.Normalize(mean=[0.5], std=[0.25])
    >>> t(np.array([[[0, 255]]], np.uint8)).tolist()
    [[[-2.0, 2.0]]]
    """

    @speaks
    def __init__(self, mean: float | Sequence[float], std: float | Sequence[float]) -> None:
        self.mean, self.std = each_channel(mean, "mean"), each_channel(std, "std")
        if 0 in self.std:
            raise OptionError(f"std of Normalize divides, so that it cannot be 0: {self.std}")
        if len(self.mean) != len(self.std) and 1 not in (len(self.mean), len(self.std)):
            raise ShapeError(f"Normalize needs a mean and a std for each channel, got {len(self.mean)} and "
                             f"{len(self.std)}")

    def apply(self, x: Image, drawn: Any) -> Image:
        """The image of numbers around 0."""
        for given in (self.mean, self.std):
            if len(given) not in (1, x.shape[-3]):
                raise ShapeError(f"Normalize has {len(given)} numbers, for images of as many channels, got "
                                 f"{x.shape[-3]} in {tuple(x.shape)}")
        mean, std = (np.asarray(given, np.float32).reshape(-1, 1, 1) for given in (self.mean, self.std))
        if is_array(x) and x.dtype == np.uint8:
            y: np.ndarray = unit(x, np.empty(tuple(x.shape), np.float32))   # whatever the order of x's memory is
            y -= mean
            y /= std
            return y
        x = ToFloat().apply(x, None)
        mean, std = (given if is_array(x) else st.tensor(given) for given in (mean, std))
        return ((x - mean) / std).astype(x.dtype)


def each_channel(x: Any, what: str) -> tuple[float, ...]:
    """A number for each channel, or one for all."""
    return numbers(x, f"{what} of Normalize", len(x)) if is_series(x) else (number(x, f"{what} of Normalize"),)


class Grayscale(Transform):
    """The luminance of an image, in `num_output_channels` that are equal, 1 or 3.

    As Pillow's "L": 0.299 red + 0.587 green + 0.114 blue. Images are uint8 or float (3, H, W) or (1, H, W), or tensors
    (N, C, H, W). Raises ShapeError for other numbers of channels.

    >>> data.transforms.Grayscale()(np.array([255, 0, 0], np.uint8).reshape(3, 1, 1)).tolist()
    [[[76]]]
    """

    @speaks
    def __init__(self, num_output_channels: int = 1) -> None:
        self.num_output_channels: int = positive(num_output_channels, "num_output_channels of Grayscale")
        if self.num_output_channels not in (1, 3):
            raise ShapeError(f"num_output_channels of Grayscale must be 1 or 3, got {num_output_channels!r:.60}")

    def apply(self, x: Image, drawn: Any) -> Image:
        """The image without its colours."""
        y = grey(x)
        return y if self.num_output_channels == 1 else module(y).concat([y, y, y], axis=-3)


class RandomGrayscale(RandomTransform):
    """With the probability `p` the luminance in place of the colours, in as many channels as there are.

    Images are uint8 or float (3, H, W) or (1, H, W), or tensors (N, C, H, W). Raises ShapeError for a p that is none
    and for other numbers of channels.

    >>> t = data.transforms.RandomGrayscale(p=1.0)
    >>> t(np.array([0, 255, 0], np.uint8).reshape(3, 1, 1), np.random.default_rng(0)).tolist()
    [[[150]], [[150]], [[150]]]
    """

    @speaks
    def __init__(self, p: float = 0.1) -> None:
        self.p = number(p, "p of RandomGrayscale", 0, 1)

    def draw(self, chance: Chance, x: Image) -> Drawn:
        """Whether each image is grey."""
        return chance.coin(self.p)

    def apply(self, x: Image, drawn: Drawn) -> Image:
        """The image, grey or not."""
        plain = Grayscale(x.shape[-3])
        return either(drawn, lambda x: plain.apply(x, None), x)


class ColorJitter(RandomTransform):
    """Brightness, contrast, saturation and hue changed by chance.

    A factor of `brightness`, `contrast` and `saturation` is drawn from max(0, 1 - b) to 1 + b, or from (low, high); the
    `hue` is turned by up to so much of a circle, 0.5 at most. As Pillow's ImageEnhance: brightness moves from black,
    contrast from the mean luminance, saturation from the luminance of each pixel. Images of NumPy are changed in an
    order that is drawn too, tensors in the order above. Images are uint8 or float (3, H, W) or (1, H, W), or tensors
    (N, C, H, W). Raises ShapeError for ranges that are none and for other numbers of channels, ArgumentError for what
    is no number.

    >>> t = data.transforms.ColorJitter(brightness=(2.0, 2.0))
    >>> t(np.array([[[10, 200]]], np.uint8), np.random.default_rng(0)).tolist()
    [[[20, 255]]]
    """

    @speaks
    def __init__(self, brightness: float | Sequence[float] = 0, contrast: float | Sequence[float] = 0,
                 saturation: float | Sequence[float] = 0, hue: float | Sequence[float] = 0) -> None:
        self.brightness, self.contrast = span(brightness, "brightness"), span(contrast, "contrast")
        self.saturation = span(saturation, "saturation")
        self.hue = span(hue, "hue", middle=0.0, low=-0.5, high=0.5)

    def draw(self, chance: Chance, x: Image) -> Any:
        """The order of what is done, and how much of each; None of what is not."""
        spans = (self.brightness, self.contrast, self.saturation, self.hue)
        return chance.order(4), [None if low == high == (0 if k == 3 else 1) else chance.uniform(low, high)
                                 for k, (low, high) in enumerate(spans)]

    def apply(self, x: Image, drawn: Any) -> Image:
        """The image in other colours."""
        arrays.channels(x)
        order: list[int] = drawn[0]
        for k in order:
            x = x if drawn[1][k] is None else CHANGES[k](x, drawn[1][k])
        return x


def span(x: Any, what: str, middle: float = 1.0, low: float = 0.0, high: float = float("inf")) -> tuple[float, float]:
    """From where to where something is drawn: around the middle by so much, or between two numbers."""
    what = f"{what} of ColorJitter"
    if not is_many(x):
        most = number(x, what, 0, high)
        return max(middle - most, low), middle + most
    first, last = numbers(x, what, 2)
    if not low <= first <= last <= high:
        raise ShapeError(f"{what} must be two numbers in order, from {low} to {high}, got {x}")
    return first, last


def brightened(x: Image, factor: Drawn) -> Image:
    """x times a factor."""
    factor = beside(arrays.as_float(factor))
    return pointwise(lambda v: v * factor, x)


def contrasted(x: Image, factor: Drawn) -> Image:
    """x moved away from its mean luminance."""
    mean = middle(x)
    factor = beside(arrays.as_float(factor))
    return pointwise(lambda v: mean + (v - mean) * factor, x)


def middle(x: Image) -> Any:
    """The mean luminance of an image, of bytes a whole number; of a batch (N, 1, 1, 1)."""
    if is_array(x):
        mean = float(grey(x).mean())
        return np.float32(np.floor(mean + 0.5) if is_bytes(x) else mean)
    mean = st.mean(arrays.floats(grey(x)), axis=(1, 2, 3), keepdims=True)
    return st.floor(mean + 0.5) if is_bytes(x) else mean


def saturated(x: Image, factor: Drawn) -> Image:
    """x moved away from the luminance of each pixel."""
    return x if x.shape[-3] == 1 else blended(x, grey(x), factor)


def turned(x: Image, amount: Drawn) -> Image:
    """x with its hue turned by a part of a circle, by way of HSV (Smith, 1978)."""
    if x.shape[-3] == 1:
        return x
    m, values = module(x), arrays.floats(x) / 255 if is_bytes(x) else x
    red, green, blue = (values[..., k:k + 1, :, :] for k in range(3))
    high = m.maximum(m.maximum(red, green), blue)
    chroma = high - m.minimum(m.minimum(red, green), blue)
    some = m.where(chroma == 0, m.ones_like(chroma), chroma)
    hue = m.where(high == red, (green - blue) / some,
                  m.where(high == green, (blue - red) / some + 2, (red - green) / some + 4))
    hue = hue + beside(arrays.as_float(amount)) * 6
    sides = [(hue + k) % 6 for k in (5, 3, 1)]
    found = m.concat([high - chroma * m.clip(m.minimum(k, 4 - k), 0, 1) for k in sides], axis=-3)
    return arrays.rounded(found * 255 if is_bytes(x) else found, x)


CHANGES: list[Callable[[Image, Drawn], Image]] = [brightened, contrasted, saturated, turned]
