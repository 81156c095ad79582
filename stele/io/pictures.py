"""Pictures of files and back; needs Pillow, the `images` extra."""
from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from stele.arrays.tensor import Tensor
from stele.data.images import decoded, pillow
from stele.errors import DataError, DTypeError, ShapeError, kind
from stele.files import located, write
from stele.interop.keywords import speaks
from stele.ops.arguments import choice, is_array, whole

MODES = ("RGB", "L", "RGBA")
SUFFIXES = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".webp": "WEBP", ".bmp": "BMP", ".gif": "GIF"}


@speaks
def imread(path: str | Path, mode: str = "RGB") -> np.ndarray:
    """The picture in the file at `path` as uint8 (C, H, W): `mode` "RGB", "L" (grey, C is 1) or "RGBA".

    Formats are JPEG, PNG, WebP, BMP and GIF (its first frame); of 16 bits the upper 8 count, and pixels stay as they
    lie in the file, however a camera says that it was held. The memory is that of rows of pixels, (H, W, C), seen with
    its axes in another order. Raises DataError for a missing or corrupt file, one of another format, of more than
    67 million pixels or of a side 64 times the other, and when Pillow is not installed; OptionError for another mode,
    ArgumentError for what is no path.

    >>> st.io.imsave("red.png", np.array([255, 0, 0], np.uint8).reshape(3, 1, 1))
    >>> st.io.imread("red.png").tolist()
    [[[255]], [[0]], [[0]]]
    """
    mode = choice(mode, "mode of imread", MODES)
    pixels = np.array(decoded(located(path), mode))
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


@speaks
def imsave(path: str | Path, x: np.ndarray | Tensor, quality: int = 90) -> None:
    """Writes a picture x to the file at `path`, whose suffix says the format: jpg, png, webp, bmp or gif.

    x is uint8, or float from 0 to 1 (what is outside is clipped), (C, H, W) of 1, 3 or 4 channels, or (H, W): an array
    of NumPy or a tensor. `quality`, 1 to 100, is that of JPEG and WebP. The file appears when it is whole. Raises
    ShapeError for other shapes and qualities, DTypeError for other dtypes, DataError for another suffix, for channels
    that the format does not have and when Pillow is not installed, StorageError where the file cannot be written,
    ArgumentError for what is no path.

    >>> st.io.imsave("grey.png", np.array([[0.0, 0.2], [0.4, 1.0]]))
    >>> st.io.imread("grey.png", mode="L").tolist()
    [[[0, 51], [102, 255]]]
    """
    path, pixels = located(path), bytes_of(x)
    quality = whole(quality, "quality of imsave", 1, 100)
    form = SUFFIXES.get(path.suffix.lower())
    if form is None:
        raise DataError(f"imsave needs one of the suffixes {', '.join(SUFFIXES)}, got {path.name!r:.80}")
    if len(pixels) == 4 and form in ("JPEG", "BMP", "GIF"):
        raise DataError(f"a {form} has no transparency, got 4 channels. Save it as .png, or without the fourth.")
    options = {"quality": quality} if form in ("JPEG", "WEBP") else {}
    write(path, encoded(pixels, form, f"writing {path}", **options))


def encoded(pixels: np.ndarray, form: str, what: str, **options: Any) -> bytes:
    """The file of a picture of uint8 (C, H, W); `what` needs that, should Pillow not be installed."""
    rows = pixels[0] if len(pixels) == 1 else np.ascontiguousarray(pixels.transpose(1, 2, 0))
    made = io.BytesIO()
    pillow(what).fromarray(rows).save(made, form, **options)
    return made.getvalue()


def bytes_of(x: Any) -> np.ndarray:
    """A picture as uint8 (C, H, W)."""
    if not is_array(x) and not isinstance(x, Tensor):
        raise DTypeError(f"imsave takes an array of NumPy or a tensor, got {kind(x)}")
    x = x.numpy() if isinstance(x, Tensor) else x
    x = x[None] if x.ndim == 2 else x
    if x.ndim != 3 or x.shape[0] not in (1, 3, 4) or 0 in x.shape:
        raise ShapeError(f"imsave takes (C, H, W) of 1, 3 or 4 channels, or (H, W), got {x.shape}",
                         hint="x.transpose(2, 0, 1) makes channels the first axis." if x.shape[-1:] in ((3,), (4,))
                         else None)
    if x.dtype == np.uint8:
        return x
    if x.dtype.kind != "f":
        raise DTypeError(f"imsave takes bytes, uint8 from 0 to 255, or floats from 0 to 1, got {x.dtype}")
    if not np.isfinite(x).all():
        raise DataError("imsave takes finite numbers, got NaN or an infinity")
    return np.floor(np.clip(x, 0, 1).astype(np.float32) * 255 + 0.5).astype(np.uint8)
