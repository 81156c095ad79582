"""Parts of images, drawn by their area and proportions."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import stele as st
from stele.data.transforms.arrays import Drawn, module
from stele.data.transforms.chance import Chance
from stele.errors import ShapeError
from stele.ops.arguments import numbers

TRIES = 10


class Box(NamedTuple):
    """Where a part of an image begins, and how large it is: numbers, or tensors (N,)."""

    top: Drawn
    left: Drawn
    height: Drawn
    width: Drawn


def positives(x: Any, what: str) -> tuple[float, float]:
    """Two numbers in order, above 0."""
    low, high = numbers(x, what, 2)
    if not 0 < low <= high < math.inf:
        raise ShapeError(f"{what} must be two numbers above 0 in order, got {x!r:.60}")
    return low, high


def sizes(chance: Chance, height: int, width: int, scale: Sequence[float], ratio: Sequence[float]) -> tuple[Any, Any]:
    """Ten heights and widths, by shares of the area and by width / height."""
    area = chance.uniform(scale[0], scale[1], TRIES) * (height * width)
    shape = chance.uniform(math.log(ratio[0]), math.log(ratio[1]), TRIES)
    m = module(area)
    across = m.exp(shape / 2)
    return m.round(m.sqrt(area) / across), m.round(m.sqrt(area) * across)


def first(fits: Any, *found: Any) -> tuple[Any, ...]:
    """Whether one of several tries fits, and of each number that of the first one which does."""
    if isinstance(fits, st.Tensor):
        k = st.argmax(fits.astype("int32"), axis=-1).reshape(-1, 1)
        return (st.any(fits, axis=-1), *(st.take_along_axis(x, k, axis=1)[:, 0].astype("int64") for x in found))
    k = int(np.argmax(fits))
    return (bool(fits[k]), *(int(x[k]) for x in found))


def boxes(chance: Chance, height: int, width: int, scale: Sequence[float], ratio: Sequence[float]) -> Box:
    """The first of ten parts that fits into the image, else the largest of such proportions in its middle."""
    tall, wide = sizes(chance, height, width, scale, ratio)
    fits = (tall > 0) & (tall <= height) & (wide > 0) & (wide <= width)
    found, h, w = first(fits, tall, wide)
    most_h, most_w = largest(height, width, ratio)
    if isinstance(found, st.Tensor):
        h, w = st.where(found, h, most_h), st.where(found, w, most_w)
        top, left = chance.below(height - h + 1), chance.below(width - w + 1)
        return Box(st.where(found, top, (height - most_h) // 2), st.where(found, left, (width - most_w) // 2), h, w)
    if not found:
        return Box((height - most_h) // 2, (width - most_w) // 2, most_h, most_w)
    return Box(chance.below(height - h + 1), chance.below(width - w + 1), h, w)


def largest(height: int, width: int, ratio: Sequence[float]) -> tuple[int, int]:
    """The largest part of an image whose proportions are within a range."""
    if width < ratio[0] * height:
        return max(round(width / ratio[0]), 1), width
    if width > ratio[1] * height:
        return height, max(round(height * ratio[1]), 1)
    return height, width
