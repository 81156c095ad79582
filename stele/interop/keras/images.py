"""Keras's layers that resize, crop and rescale images, and that normalise by numbers that were adapted."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stele as st
from stele.errors import DataError
from stele.interop.keras.call import Call, Kind, Kinds, kept, named
from stele.ir.graph import Array


def cubic(t: Array) -> Array:
    """Keys's kernel (1981) of a = -0.5."""
    t = np.abs(t)
    return np.where(t < 1, (1.5 * t - 2.5) * t * t + 1, np.where(t < 2, ((-0.5 * t + 2.5) * t - 4) * t + 2, 0))


def lanczos(n: int) -> Callable[[Array], Array]:
    """The kernel of Lanczos over n samples on either side."""
    return lambda t: np.where(np.abs(t) < n, np.sinc(t) * np.sinc(t / n), 0)


KERNELS: dict[str, Callable[[Array], Array]] = {
    "bilinear": lambda t: np.maximum(1 - np.abs(t), 0), "bicubic": cubic, "lanczos3": lanczos(3),
    "lanczos5": lanczos(5)}
KNOWN = ("nearest", *KERNELS)


def shares(n: int, wanted: int, how: str, antialias: bool) -> Array:
    """What each of n samples gives to each that is wanted, (n, wanted): pixels are where their middles are."""
    at = (np.arange(wanted) + 0.5) * (n / wanted) - 0.5
    if how == "nearest":
        return (np.arange(n)[:, None] == np.floor((np.arange(wanted) + 0.5) * (n / wanted))).astype(np.float32)
    wide = max(n / wanted, 1.0) if antialias else 1.0
    weights = KERNELS[how]((np.arange(n)[:, None] - at) / wide)
    total = weights.sum(axis=0)
    return np.where(np.abs(total) > 1e-6, weights / np.where(total == 0, 1, total), 0).astype(np.float32)


def resized(c: Call, x: Any, size: tuple[Any, Any], how: str, antialias: bool = False) -> Any:
    """Images (N, C, H, W) in another size."""
    whole = x if x.dtype.is_float else x.astype(c.dtype)
    if any(type(n) is not int for n in (*x.shape[2:], *size)):
        raise DataError(f"{c.options.source} interpolates images of a size that is known, got {tuple(x.shape)}",
                        hint="Leave height and width out of dims.")
    h, w = (st.tensor(shares(n, m, how, antialias)).astype(whole.dtype) for n, m in zip(x.shape[2:], size))
    y = st.einsum("nchw,hk->nckw", whole, h) @ w
    if x.dtype.is_float:
        return y
    lo, hi = np.iinfo(str(x.dtype)).min, np.iinfo(str(x.dtype)).max
    return st.clip(st.round(y), lo, hi).astype(x.dtype)


def repeated(x: Any, times: tuple[int, ...]) -> Any:
    """x (N, C, *) with each element as often as is said, along each axis."""
    wide = x.reshape((*x.shape[:2], *(k for n in x.shape[2:] for k in (n, 1))))
    whole = (*x.shape[:2], *(k for pair in zip(x.shape[2:], times) for k in pair))
    return st.broadcast_to(wide, whole).reshape((*x.shape[:2], *(n * t for n, t in zip(x.shape[2:], times))))


def up_sampling(c: Call, x: Any) -> Any:
    """More samples, repeated or interpolated."""
    n = x.ndim - 2
    times = c.options.each("size", n, 2)
    how = c.options.word("interpolation", KNOWN, "nearest")
    if n == 1:      # steps in the middle, always
        return st.permute(repeated(st.permute(x, (0, 2, 1)), times), (0, 2, 1))
    if how == "nearest":
        return c.laid(x, lambda x: repeated(x, times))
    return c.laid(x, lambda x: resized(c, x, (x.shape[2] * times[0], x.shape[3] * times[1]), how))


def fit(x: Any, height: int, width: int) -> Any:
    """The largest middle of images (N, C, H, W) that has the shape of a size."""
    h, w = x.shape[2:]
    tall, wide = max(min(h, int(w * height / width)), 1), max(min(w, int(h * width / height)), 1)
    top, left = (h - tall) // 2, (w - wide) // 2
    return x[:, :, top:top + tall, left:left + wide]


def filled(c: Call, x: Any, height: int, width: int) -> Any:
    """Images (N, C, H, W) with a number around them, so that they have the shape of a size."""
    h, w = x.shape[2:]
    top, left = (max(h, int(w * height / width)) - h) // 2, (max(w, int(h * width / height)) - w) // 2
    around = ((0, 0), (0, 0), (top, top), (0, 0) if top else (left, left))
    return st.pad(x, around, value=c.options.number("fill_value", 0.0))


def resizing(c: Call, x: Any) -> Any:
    """Images in a size; `crop_to_aspect_ratio` and `pad_to_aspect_ratio` keep their proportions."""
    height, width = c.options.whole("height"), c.options.whole("width")

    def made(x: Any) -> Any:
        if c.options.flag("crop_to_aspect_ratio"):
            x = fit(x, height, width)
        elif c.options.flag("pad_to_aspect_ratio"):
            x = filled(c, x, height, width)
        return resized(c, x, (height, width), c.options.word("interpolation", KNOWN), c.options.flag("antialias"))

    return c.laid(x, made)


def center_crop(c: Call, x: Any) -> Any:
    """The middle of images; smaller ones are cut to its proportions and resized."""
    height, width = c.options.whole("height"), c.options.whole("width")

    def made(x: Any) -> Any:
        h, w = x.shape[2:]
        if h < height or w < width:
            return resized(c, fit(x, height, width), (height, width), "bilinear")
        top, left = (h - height) // 2, (w - width) // 2
        return x[:, :, top:top + height, left:left + width]

    return c.laid(x if x.dtype.is_float else x.astype(c.dtype), made)


def constant(c: Call, name: str) -> Any:
    """A number, or some, that an option says."""
    found = c.options.get(name)
    found = found.get("config", {}).get("value") if isinstance(found, dict) else found
    try:
        return st.tensor(np.asarray(found, dtype=np.float32)).astype(c.dtype)
    except (TypeError, ValueError):
        raise c.options.wrong(name, "a number, or rows of them") from None


def rescaling(c: Call, x: Any) -> Any:
    """x * scale + offset."""
    return x.astype(c.dtype) * constant(c, "scale") + constant(c, "offset")


def normalization(c: Call, x: Any) -> Any:
    """(x - mean) / sqrt(variance) by numbers that were adapted or given; the other way round with `invert`."""
    axes = () if c.options.get("axis") in (None, []) else c.options.axes("axis", x.ndim)
    mean, var = (constant(c, name) if c[name] is None else c[name] for name in ("mean", "variance"))
    if mean.ndim:
        at = [1] * x.ndim
        for k, n in zip(reversed(axes), reversed(mean.shape)):
            at[k] = n
        mean, var = mean.reshape(tuple(at)), var.reshape(tuple(at))
    by = st.maximum(st.sqrt(var), 1e-7)
    x = x.astype(c.dtype)
    return mean + x * by if c.options.flag("invert") else (x - mean) / by


def augmented(c: Call, x: Any) -> Any:
    """Images as they are: what is drawn while a model is trained belongs to its data here."""
    if c.run.training:
        raise DataError(f"{c.options.source} changes images by chance while the model is trained, which has no rule",
                        hint="Change them with st.data.transforms before they go in, and take the layer out in Keras.")
    return x.astype(c.dtype)


RANDOM = ("Brightness", "ColorDegeneration", "ColorJitter", "Contrast", "ElasticTransform", "Erasing", "Flip",
          "GaussianBlur", "Grayscale", "Hue", "Invert", "Perspective", "Posterization", "Rotation", "Saturation",
          "Sharpness", "Shear", "Translation", "Zoom")

KINDS: Kinds = {
    **{f"Random{name}": Kind(augmented) for name in RANDOM},
    **{f"UpSampling{n}D": Kind(up_sampling) for n in (1, 2, 3)},
    "Resizing": Kind(resizing), "CenterCrop": Kind(center_crop), "Rescaling": Kind(rescaling, mask=kept),
    "Normalization": Kind(normalization, named("mean!:mean=None variance!:variance=None"), mask=kept),
}
