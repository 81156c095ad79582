"""Parts of images, images with a border, and mirrored ones."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import stele as st
from stele.data.transforms.arrays import Drawn, Image, either, filling, room, window
from stele.data.transforms.base import Cropping, Moving, RandomTransform
from stele.data.transforms.chance import Chance
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.ops.arguments import choice, flag, is_array, number, pair, wholes

BORDERS = ("constant", "edge", "reflect", "symmetric")


class Pad(Moving):
    """Images with a border: `padding` of one number, (left and right, top and bottom), or (left, top, right, bottom).

    `padding_mode` "constant" puts `fill` there, "edge" the nearest pixel, "reflect" and "symmetric" the image mirrored,
    without its edge and with it. Images are of any dtype, (C, H, W) or tensors (N, C, H, W). Raises ShapeError for
    other numbers of sides and for negative ones, OptionError for another mode.

    >>> data.transforms.Pad((1, 0), fill=9)(np.array([[[1, 2]]], np.uint8)).tolist()
    [[[9, 1, 2, 9]]]
    """

    @speaks
    def __init__(self, padding: int | Sequence[int], fill: float = 0, padding_mode: str = "constant") -> None:
        self.padding = sides(padding, "padding of Pad")
        self.fill = number(fill, "fill of Pad")
        self.padding_mode = choice(padding_mode, "padding_mode of Pad", BORDERS)

    def move(self, x: Image, drawn: Any, mode: str) -> Image:
        """The image with its border around it."""
        return padded(x, self.padding, self.fill, self.padding_mode)


def sides(x: Any, what: str) -> tuple[int, int, int, int]:
    """Left, top, right and bottom."""
    found = wholes(x, what, 0)
    if len(found) not in (1, 2, 4):
        raise ShapeError(f"{what} must be one number, two or four (left, top, right, bottom), got {found}")
    left, top, right, bottom = found * (4 // len(found))
    return left, top, right, bottom


def padded(x: Image, padding: Sequence[int], fill: float, mode: str) -> Image:
    """An image with a border of so many pixels left, above, right and below."""
    left, top, right, bottom = padding
    if not any(padding):
        return x
    widths = [(0, 0)] * (x.ndim - 2) + [(top, bottom), (left, right)]
    if mode in ("reflect", "symmetric") and any(n > x.shape[k] - (mode == "reflect") for k in (-2, -1)
                                                for n in widths[k]):
        raise ShapeError(f"a border of {max(padding)} pixels needs an image as large, got {tuple(x.shape)}")
    *_, height, width = x.shape
    shape = room(x, top + height + bottom, left + width + right)
    if not is_array(x):
        return st.pad(x, widths, mode=mode, value=fill) if mode == "constant" else st.pad(x, widths, mode=mode)
    if mode != "constant":
        around: Any = np.pad
        return around(x, widths, mode=mode)
    y = np.full(shape, filling(x, fill), x.dtype)
    y[..., top:top + height, left:left + width] = x
    return y


class CenterCrop(Cropping):
    """The middle of an image, of one `size` (height, width), or a square; what lies outside of the image is 0.

    Images are of any dtype, (C, H, W) or tensors (N, C, H, W). Raises ShapeError for sizes below 1.

    >>> data.transforms.CenterCrop((1, 2))(np.arange(4, dtype=np.uint8).reshape(1, 1, 4)).tolist()
    [[[1, 2]]]
    """

    @speaks
    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = pair(size, "size of CenterCrop", 1)

    def part(self, x: Any, drawn: Any) -> tuple[int, int, int, int] | None:
        """The part in the middle of an image that is large enough."""
        (height, width), (h, w) = x.shape[-2:], self.size
        return None if h > height or w > width else (round((height - h) / 2), round((width - w) / 2), h, w)

    def of_all(self, x: Image, drawn: Any, mode: str) -> Image:
        """The same of a smaller one, around which is nothing."""
        (height, width), (h, w) = x.shape[-2:], self.size
        down, right = max(h - height, 0), max(w - width, 0)
        return self.move(padded(x, (right // 2, down // 2, (right + 1) // 2, (down + 1) // 2), 0, "constant"), drawn,
                         mode)


class RandomCrop(Cropping, RandomTransform):
    """A part of the image of one `size` (height, width), or a square, wherever chance puts it.

    `padding`, `fill` and `padding_mode` put a border around the image first, as `Pad` does; with `pad_if_needed` it is
    as large as the part needs. Images are of any dtype, (C, H, W) or tensors (N, C, H, W), each image of which has a
    part of its own. Raises ShapeError for sizes below 1 and for a part larger than the image, OptionError for another
    mode.

    >>> t = data.transforms.RandomCrop(32, padding=4)
    >>> t(np.zeros((3, 32, 32), np.uint8), np.random.default_rng(0)).shape
    (3, 32, 32)
    """

    @speaks
    def __init__(self, size: int | Sequence[int], padding: int | Sequence[int] | None = None,
                 pad_if_needed: bool = False, fill: float = 0, padding_mode: str = "constant") -> None:
        self.size = pair(size, "size of RandomCrop", 1)
        self.padding = (0, 0, 0, 0) if padding is None else sides(padding, "padding of RandomCrop")
        self.pad_if_needed = flag(pad_if_needed, "pad_if_needed of RandomCrop")
        self.fill = number(fill, "fill of RandomCrop")
        self.padding_mode = choice(padding_mode, "padding_mode of RandomCrop", BORDERS)

    def border(self, x: Image) -> tuple[int, int, int, int]:
        """What is put around the image."""
        left, top, right, bottom = self.padding
        if self.pad_if_needed:
            down = max(self.size[0] - x.shape[-2] - top - bottom, 0)
            across = max(self.size[1] - x.shape[-1] - left - right, 0)
            left, top, right, bottom = left + across, top + down, right + across, bottom + down
        return left, top, right, bottom

    def draw(self, chance: Chance, x: Image) -> tuple[Drawn, Drawn]:
        """The row and the column where the part begins."""
        left, top, right, bottom = self.border(x)
        height, width = x.shape[-2] + top + bottom, x.shape[-1] + left + right
        if self.size[0] > height or self.size[1] > width:
            raise ShapeError(f"RandomCrop of {self.size} needs an image as large, got {height} x {width} with its "
                             "border", hint="Resize it before, or write pad_if_needed=True.")
        return chance.below(height - self.size[0] + 1), chance.below(width - self.size[1] + 1)

    def part(self, x: Any, drawn: tuple[Drawn, Drawn]) -> tuple[Drawn, Drawn, int, int] | None:
        """The part of an image without a border."""
        return None if any(self.border(x)) else (*drawn, *self.size)

    def of_all(self, x: Image, drawn: tuple[Drawn, Drawn], mode: str) -> Image:
        """The part of the image with its border."""
        return window(padded(x, self.border(x), self.fill, self.padding_mode), *drawn, *self.size)


class RandomHorizontalFlip(Moving, RandomTransform):
    """With the probability `p` the image with left and right exchanged.

    Images are of any dtype, (C, H, W) or tensors (N, C, H, W). Raises ShapeError for a p that is none.

    >>> t = data.transforms.RandomHorizontalFlip(p=1.0)
    >>> t(np.array([[[1, 2, 3]]], np.uint8), np.random.default_rng(0)).tolist()
    [[[3, 2, 1]]]
    """

    @speaks
    def __init__(self, p: float = 0.5) -> None:
        self.p = number(p, "p of RandomHorizontalFlip", 0, 1)

    def draw(self, chance: Chance, x: Image) -> Drawn:
        """Whether each image is mirrored."""
        return chance.coin(self.p)

    def move(self, x: Image, drawn: Drawn, mode: str) -> Image:
        """The image, which is mirrored or not."""
        return either(drawn, lambda x: x[..., ::-1], x)


class RandomVerticalFlip(RandomHorizontalFlip):
    """With the probability `p` the image with top and bottom exchanged.

    Images are of any dtype, (C, H, W) or tensors (N, C, H, W). Raises ShapeError for a p that is none.

    >>> t = data.transforms.RandomVerticalFlip(p=1.0)
    >>> t(np.array([[[1], [2]]], np.uint8), np.random.default_rng(0)).tolist()
    [[[2], [1]]]
    """

    def move(self, x: Image, drawn: Drawn, mode: str) -> Image:
        """The image, which is mirrored or not."""
        return either(drawn, lambda x: x[..., ::-1, :], x)
