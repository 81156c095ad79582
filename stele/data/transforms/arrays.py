"""What transforms ask of arrays: one image of NumPy (C, H, W) with numbers, or a batch of tensors (N, C, H, W) with N.

A number drawn for one image is a Python number, for a batch a tensor (N,). Bytes count from 0 to 255, floats from 0
to 1.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stele as st
from stele.errors import DTypeError, ShapeError, kind
from stele.ir.door import public
from stele.ir.graph import Array
from stele.ir.types import dtype, refuse_unfit
from stele.ops.arguments import flag, function, is_array

Image = Any         # np.ndarray (C, H, W), or st.Tensor (N, C, H, W)
Drawn = Any         # a number of one image, or st.Tensor (N,)
SIDE = (1 << 31) - 1    # the longest side of an image
LUMA = (19595, 38470, 7471)     # of red, green and blue in a grey, of 65,536: ITU-R BT.601, as Pillow has them


def is_either(x: object) -> bool:
    """Whether x is an array of NumPy or a tensor."""
    return is_array(x) or isinstance(x, st.Tensor)


def module(x: Any) -> Any:
    """NumPy or Stele, whose functions take x."""
    return st if isinstance(x, st.Tensor) else np


def is_bytes(x: Image) -> bool:
    """Whether an image counts from 0 to 255."""
    return x.dtype == (np.uint8 if is_array(x) else st.uint8)


def is_float(x: Any) -> bool:
    """Whether an array is of floats."""
    return x.dtype.kind == "f" if is_array(x) else x.dtype.is_float


def floats(x: Image) -> Image:
    """The numbers of x as float32."""
    return x.astype(np.float32) if is_array(x) else x.astype("float32")


def kept(y: Any, like: Image) -> Image:
    """Floats y as an image of the dtype of another one: clipped, and what is behind the point cut off."""
    m = module(y)
    if is_bytes(like):
        return m.clip(y, 0, 255).astype(np.uint8 if m is np else "uint8")
    return m.clip(y, 0, 1).astype(like.dtype)


def rounded(y: Any, like: Image) -> Image:
    """Floats y as an image of the dtype of another one, bytes to the nearest."""
    if is_bytes(like):
        return kept(module(y).floor(y + 0.5), like)
    return y.astype(like.dtype)


def beside(p: Drawn, axes: int = 3) -> Drawn:
    """What was drawn, such that it broadcasts over the axes of each image."""
    return p.reshape(p.shape[0], *(1,) * axes) if isinstance(p, st.Tensor) else p


@public
def either(chance: Drawn, f: Callable[[Image], Image], x: Image) -> Image:
    """f(x) where the `chance` fell so, else x: for the `apply` of a random transform of yours.

    One image with a bool, or a batch (N, C, H, W) with a tensor of bools (N,); of any dtype that f gives back.

    >>> data.transforms.either(False, lambda x: 255 - x, np.zeros((1, 1, 1), np.uint8)).tolist()
    [[[0]]]
    >>> data.transforms.either(st.tensor([True, False]), lambda x: 1 - x, st.zeros((2, 1, 1, 1))).reshape(2).tolist()
    [1.0, 0.0]
    """
    f = function(f, "f of either")
    if isinstance(chance, st.Tensor):
        return st.where(beside(chance) if chance.ndim else chance, f(x), x)
    return f(x) if flag(chance, "chance of either") else x


def switch(which: Drawn, options: Sequence[Callable[[Image], Image]], x: Image) -> Image:
    """What the option of the number `which` makes of x."""
    if not isinstance(which, st.Tensor):
        number: int = which
        return options[number](x)
    y = x
    for k, option in enumerate(options):
        y = st.where(beside(which == k), option(x), y)
    return y


def pointwise(f: Callable[[Any], Any], x: Image) -> Image:
    """f of every number of x, as an image; of bytes by a table of the 256 there are."""
    if is_array(x) and is_bytes(x):
        numbers: Array = np.arange(256, dtype=np.float32)
        table: Array = kept(f(numbers), x)
        made: Array = table[x]
        return made
    return kept(f(floats(x)), x) if is_bytes(x) else kept(f(x), x)


def blended(x: Image, plain: Any, factor: Drawn) -> Image:
    """x moved away from a `plain` image, or towards it: plain + factor * (x - plain)."""
    plain = floats(plain) if is_bytes(x) else plain
    return kept(plain + (floats(x) - plain) * beside(as_float(factor)), x)


def as_float(p: Drawn) -> Drawn:
    """A number that makes no float64 of an array of float32."""
    return p if isinstance(p, st.Tensor) else float(p)


def grey(x: Image) -> Image:
    """The luminance of an image of three channels, or the one channel that there is."""
    channels(x)
    if x.shape[-3] == 1:
        return x
    red, green, blue = (x[..., k:k + 1, :, :] for k in range(3))
    if not is_bytes(x):
        return (red * LUMA[0] + green * LUMA[1] + blue * LUMA[2]) / 65536
    red, green, blue = (c.astype(np.int32 if is_array(c) else "int32") for c in (red, green, blue))
    found = (red * LUMA[0] + green * LUMA[1] + blue * LUMA[2] + 0x8000) >> 16
    return found.astype(np.uint8 if is_array(x) else "uint8")


def channels(x: Image) -> None:
    """Raises unless an image is grey or has three colours."""
    if x.shape[-3] not in (1, 3):
        raise ShapeError(f"colours need images of 1 or 3 channels, got {x.shape[-3]} in {tuple(x.shape)}")


def checked(x: Any) -> Image:
    """An image, as it is; raises for what is none."""
    if not is_either(x):
        raise DTypeError(f"a transform takes images, arrays of NumPy (C, H, W) or tensors (N, C, H, W), got {kind(x)}",
                         hint="st.io.imread reads a file as such an array.")
    if not is_bytes(x) and not is_float(x):
        raise DTypeError(f"an image is of bytes, uint8 from 0 to 255, or of floats from 0 to 1, got {x.dtype}")
    if is_array(x) and is_bytes(x) and x.shape[-1] in (3, 4) and x.shape[-3] > 4:
        raise ShapeError(f"an image has its channels first, (C, H, W), got {x.shape}, with them last",
                         hint="Write np.moveaxis(x, -1, -3).")
    return x


def room(x: Image, height: int, width: int) -> tuple[int, ...]:
    """The shape of an image of other sides. Raises ShapeError for one that no memory has room for."""
    shape = (*x.shape[:-2], height, width)
    if max(height, width) > SIDE or math.prod(shape) > SIDE << 24:
        raise ShapeError(f"an image of shape {shape} has more numbers than can be addressed")
    return shape


def filling(x: Image, fill: float) -> float:
    """What an image is filled with outside. Raises DTypeError for a number that its dtype does not hold."""
    refuse_unfit(dtype(x.dtype), (fill,))
    return fill


def window(x: Image, top: Drawn, left: Drawn, height: int, width: int) -> Image:
    """The part of an image that begins there."""
    if not isinstance(top, st.Tensor):
        return x[..., top:top + height, left:left + width]
    rows, columns = top.reshape(-1, 1) + st.arange(height), left.reshape(-1, 1) + st.arange(width)
    return gathered(x, rows.reshape(-1, height, 1), columns.reshape(-1, 1, width))


def gathered(x: Image, rows: Any, columns: Any) -> Image:
    """The pixels at places, (h, w) of one image or (N, h, w) of a batch; `rows` and `columns` broadcast."""
    *front, height, width = x.shape
    places = rows * width + columns
    if is_array(x):
        return np.take(x.reshape(*front, height * width), places, axis=-1, mode="clip")     # "raise" would look twice
    n, h, w = places.shape
    flat = x.reshape(*front, height * width)
    return st.take_along_axis(flat, places.reshape(n, 1, h * w), axis=2).reshape(*front, h, w)
