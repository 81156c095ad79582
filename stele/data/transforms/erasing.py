"""Parts of images that are taken out of them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import stele as st
from stele.data.transforms.arrays import Drawn, Image, beside
from stele.data.transforms.base import RandomTransform
from stele.data.transforms.boxes import first, positives, sizes
from stele.data.transforms.chance import Chance
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.ops.arguments import is_array, is_series, number, numbers


class RandomErasing(RandomTransform):
    """With the probability `p` a part of the image is made one `value` (Zhong et al., 2017), a number or one a channel.

    The part's share of the area is drawn from `scale`, its height by its width from `ratio` (their logarithm evenly);
    of ten tries the first that fits is taken, and none if none does. Images are of any dtype, (C, H, W) or tensors
    (N, C, H, W), each image of which loses a part of its own. Raises ShapeError for ranges that are none and for values
    of other channels.

    >>> t = data.transforms.RandomErasing(p=1.0, scale=(0.25, 0.25), ratio=(1.0, 1.0), value=7)
    >>> np.sum(t(np.zeros((1, 8, 8), np.uint8), np.random.default_rng(0)) == 7)
    np.int64(16)
    """

    @speaks
    def __init__(self, p: float = 0.5, scale: Sequence[float] = (0.02, 0.33), ratio: Sequence[float] = (0.3, 3.3),
                 value: float | Sequence[float] = 0) -> None:
        self.p = number(p, "p of RandomErasing", 0, 1)
        self.scale, self.ratio = positives(scale, "scale of RandomErasing"), positives(ratio, "ratio of RandomErasing")
        what = "value of RandomErasing"
        self.value = numbers(value, what, len(value)) if is_series(value) else (number(value, what),)

    def draw(self, chance: Chance, x: Image) -> tuple[Drawn, ...]:
        """Whether a part goes, and which."""
        if len(self.value) not in (1, x.shape[-3]):
            raise ShapeError(f"RandomErasing has {len(self.value)} values, for images of as many channels, got "
                             f"{x.shape[-3]} in {tuple(x.shape)}")
        height, width = x.shape[-2:]
        coin = chance.coin(self.p)
        wide, tall = sizes(chance, height, width, self.scale, self.ratio)
        found, h, w = first((tall > 0) & (tall < height) & (wide > 0) & (wide < width), tall, wide)
        return coin & found, chance.below(height - h + 1), chance.below(width - w + 1), h, w

    def apply(self, x: Image, drawn: tuple[Drawn, ...]) -> Image:
        """The image, with or without the part."""
        chance, top, left, height, width = drawn
        value: Any = np.asarray(self.value).reshape(-1, 1, 1).astype(np.float64)
        if is_array(x):
            if not chance:
                return x
            y = x.copy()
            y[:, top:top + height, left:left + width] = value
            return y
        rows, columns = st.arange(x.shape[-2]).reshape(-1, 1), st.arange(x.shape[-1])
        top, left, height, width = (beside(v) for v in (top, left, height, width))
        inside = (rows >= top) & (rows < top + height) & (columns >= left) & (columns < left + width)
        return st.where(beside(chance) & inside, st.tensor(value).astype(x.dtype), x)
