"""Batches in which images are mixed with others of theirs, and labels in proportion."""
from __future__ import annotations

from typing import Any

import numpy as np

import stele as st
from stele.data.transforms.arrays import is_either, is_float, module
from stele.errors import ArgumentError, DataError, DTypeError, ShapeError, kind
from stele.interop.keywords import speaks
from stele.ops.arguments import is_array, is_series, number, positive


class Mixing:
    """What mixes pairs of a batch: `of`, and how much of each one is left."""

    @speaks
    def __init__(self, alpha: float = 1.0, num_classes: int | None = None) -> None:
        name = type(self).__name__
        self.alpha = number(alpha, f"alpha of {name}", 1e-6, 1e6)
        self.num_classes = None if num_classes is None else positive(num_classes, f"num_classes of {name}")

    def __call__(self, batch: Any, rng: np.random.Generator | None = None) -> tuple[Any, Any]:
        """The images mixed, and the labels as float32 (N, classes) in the same proportion."""
        x, labels = self.checked(batch)
        if is_array(x) and not isinstance(rng, np.random.Generator):
            raise ArgumentError(f"{type(self).__name__} of arrays of NumPy draws from a generator, got {kind(rng)}",
                                hint="Write t(batch, np.random.default_rng(seed)).")
        y = self.one_hot(labels)
        m, source = module(x), rng or st.random
        beta: Any = source.beta
        share = beta(self.alpha, self.alpha)
        mixed, share = self.of(x, m.roll(x, 1, axis=0), share, source)
        share = np.float32(share) if m is np else share
        return mixed, y * share + m.roll(y, 1, axis=0) * (1 - share)

    def of(self, x: Any, others: Any, share: Any, rng: Any) -> tuple[Any, Any]:
        """x mixed with others, and the share of it that is left."""
        raise DataError(f"{type(self).__name__} needs a method of(self, x, others, share, rng).")

    def checked(self, batch: Any) -> tuple[Any, Any]:
        """The images and the labels."""
        name = type(self).__name__
        if not is_series(batch) or len(batch) != 2 or not all(is_either(a) for a in batch):
            raise DataError(f"{name} takes a batch (x, y), images (N, C, H, W) and labels, got {kind(batch)}")
        x, y = batch
        if x.ndim != 4 or y.ndim not in (1, 2) or tuple(x.shape[:1]) != tuple(y.shape[:1]):
            raise ShapeError(f"{name} takes images (N, C, H, W) and labels (N,) or (N, classes), got "
                             f"{tuple(x.shape)} and {tuple(y.shape)}")
        return x, y

    def one_hot(self, y: Any) -> Any:
        """Labels as float32 (N, classes)."""
        if y.ndim == 2:
            return y.astype("float32")
        if self.num_classes is None or is_float(y):
            raise DTypeError(f"{type(self).__name__} mixes labels (N, classes), or integers (N,) below num_classes; "
                             f"got {y.dtype} (N,) and num_classes={self.num_classes}")
        return (y[:, None] == module(y).arange(self.num_classes)).astype("float32")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(alpha={self.alpha}, num_classes={self.num_classes})"


class MixUp(Mixing):
    """Each image of a batch blended with the one before it, labels in proportion (Zhang et al., 2018).

    `t((x, y), rng)` of NumPy's arrays or `t((x, y))` of tensors: images x float (N, C, H, W), labels y of integers (N,)
    below `num_classes`, or (N, classes); it gives both, the labels as float32 (N, classes). How much of an image is
    left is drawn from the beta distribution of `alpha`, once for the batch. For the `batch_transform` of a `Loader`, or
    in a compiled step. Raises DTypeError for images of bytes, ShapeError for other shapes, DataError for what is no
    batch, ArgumentError for NumPy's arrays without a generator.

    >>> x, y = np.array([0.0, 1.0], np.float32).reshape(2, 1, 1, 1), np.array([0, 1])
    >>> x, y = data.transforms.MixUp(alpha=1.0, num_classes=2)((x, y), np.random.default_rng(0))
    >>> bool(x[0, 0, 0, 0] == y[0, 1]), y.sum(1).tolist()
    (True, [1.0, 1.0])
    """

    def of(self, x: Any, others: Any, share: Any, rng: Any) -> tuple[Any, Any]:
        """The blend of both images, and the share."""
        if not is_float(x):
            raise DTypeError(f"MixUp blends images of floats, got {x.dtype}", hint="Put ToFloat before it.")
        share = np.float32(share) if is_array(x) else share
        return (x * share + others * (1 - share)).astype(x.dtype), share


class CutMix(Mixing):
    """A part of each image of a batch taken from the one before it, labels in proportion (Yun et al., 2019).

    As `MixUp`, of images of any dtype: how much of an image is left follows from `alpha`, where the part lies is drawn
    evenly; labels are integers (N,) below `num_classes`, or (N, classes), and become float32. Raises ShapeError for
    other shapes, DTypeError for labels of floats (N,), DataError for what is no batch, ArgumentError for NumPy's arrays
    without a generator.

    >>> x, y = np.arange(2, dtype=np.uint8).reshape(2, 1, 1, 1).repeat(4, axis=3), np.array([0, 1])
    >>> x, y = data.transforms.CutMix(num_classes=2)((x, y), np.random.default_rng(3))
    >>> bool(x[1].mean() == y[1, 1]), x.shape, y.dtype
    (True, (2, 1, 1, 4), dtype('float32'))
    """

    def of(self, x: Any, others: Any, share: Any, rng: Any) -> tuple[Any, Any]:
        """The images with a part of others."""
        m, (height, width) = module(x), x.shape[-2:]
        half = m.sqrt(1 - share) / 2
        at_y, at_x = rng.integers(0, height), rng.integers(0, width)
        bounds = [m.clip(at + m.floor(half * n).astype("int64") * side, 0, n)
                  for at, n in ((at_y, height), (at_x, width)) for side in (-1, 1)]
        top, bottom, left, right = bounds
        rows, columns = m.arange(height)[:, None], m.arange(width)
        inside = (rows >= top) & (rows < bottom) & (columns >= left) & (columns < right)
        cut = (bottom - top) * (right - left)
        return m.where(inside, others, x), 1 - cut / (height * width)
