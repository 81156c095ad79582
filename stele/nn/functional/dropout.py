"""What is random: elements and channels left out, slopes and choices drawn, windows of any lengths."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stele.arrays import functions as F
from stele.arrays import random
from stele.arrays.checked import checked
from stele.arrays.creation import ones
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor, TensorLike, constant, lift
from stele.errors import ShapeError
from stele.ir.types import axis_of
from stele.nn.functional import activations
from stele.nn.functional.fractional import fractional
from stele.ops.arguments import each, flag, is_series, number

ALPHA = -activations.ALPHA * activations.SCALE      # what selu makes of -inf


def probability(p: Any, name: str) -> float:
    """The share of what is dropped: from 0 to 1."""
    return number(p, f"p of {name}", 0, 1)


@checked
def dropout(input: TensorLike, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """The elements of x, each zero with probability `p` and divided by 1 - p otherwise; x itself when not `training`.

    So the mean stays (Srivastava et al., 2014). Integers that are dropped become float32. x has any shape. Raises
    ShapeError unless 0 <= p <= 1.

    >>> F.dropout(st.ones(3), 0.2, training=False).tolist()
    [1.0, 1.0, 1.0]
    """
    x = constant(input)
    if not flag(training, "training of dropout") or probability(p, "dropout") == 0:
        return x
    return x * 0.0 if p == 1 else random.dropout(x, p)


@checked
def dropout1d(input: TensorLike, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """The channels of signals (N, C, L) or (C, L), each zero as a whole with probability `p`, as in `dropout`.

    When not `training` x itself (Tompson et al., 2015). Integers become float32. Raises ShapeError for other axes.

    >>> sorted(set(F.dropout1d(st.ones((50, 2, 3))).sum(axis=2).flatten().tolist()))
    [0.0, 6.0]
    """
    return channels("dropout1d", input, p, training, (2, 3))


@checked
def dropout2d(input: TensorLike, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """The channels of images (N, C, H, W), each zero as a whole with probability `p`, as in `dropout`.

    When not `training` x itself. Integers become float32. Raises ShapeError for other axes.

    >>> sorted(set(F.dropout2d(st.ones((50, 2, 3, 1))).sum(axis=(2, 3)).flatten().tolist()))
    [0.0, 6.0]
    """
    return channels("dropout2d", input, p, training, (3, 4))


@checked
def dropout3d(input: TensorLike, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """The channels of volumes (N, C, D, H, W) or (C, D, H, W), each zero as a whole with probability `p`.

    As in `dropout`; when not `training` x itself. Integers become float32. Raises ShapeError for other axes.

    >>> sorted(set(F.dropout3d(st.ones((50, 2, 3, 1, 1))).sum(axis=(2, 3, 4)).flatten().tolist()))
    [0.0, 6.0]
    """
    return channels("dropout3d", input, p, training, (4, 5))


def channels(name: str, input: Any, p: float, training: bool, ndims: tuple[int, int]) -> Tensor:
    """Whole channels dropped, of a batch or of one example."""
    x = constant(input)
    if x.ndim not in ndims:
        raise ShapeError(f"{name} needs {ndims[1]} axes, or {ndims[0]} of one example, got {x.shape}")
    if not flag(training, f"training of {name}") or probability(p, name) == 0:
        return x
    kept = x.ndim - ndims[0] + 1
    return x * 0.0 if p == 1 else x * random.dropout(ones((*x.shape[:kept], *(1,) * (x.ndim - kept)), dtype=x.dtype), p)


@checked
def alpha_dropout(input: TensorLike, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """The elements of x, each with probability `p` what `selu` makes of -inf, so that mean 0 and variance 1 stay.

    a * x + b of what comes out has them again (Klambauer et al., 2017); when not `training` x itself. x has any shape.
    Integers that are dropped become float32. Raises ShapeError for a probability outside of 0 to 1.

    >>> F.alpha_dropout(st.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """
    x, p = constant(input), probability(p, "alpha_dropout")
    return affine(x, p, x.shape) if flag(training, "training of alpha_dropout") else x


@checked
def feature_alpha_dropout(input: TensorLike, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """The channels of x (N, C, *), each as a whole with probability `p` what `alpha_dropout` puts there.

    When not `training` x itself. Integers that are dropped become float32. Raises ShapeError for a probability outside
    of 0 to 1.

    >>> F.feature_alpha_dropout(st.ones((1, 3, 2)), training=False).shape
    (1, 3, 2)
    """
    x, p = constant(input), probability(p, "feature_alpha_dropout")
    if not flag(training, "training of feature_alpha_dropout"):
        return x
    return affine(x, p, (*x.shape[:2], *(1,) * (x.ndim - 2)))


def affine(x: Tensor, p: float, shape: Sequence[int]) -> Tensor:
    """What is dropped, with the mean and the variance of before."""
    if p in (0, 1):
        return x * float(1 - p) if p else x
    a = ((1 - p) * (1 + p * ALPHA ** 2)) ** -0.5
    return where(random.bernoulli(1 - p, shape), x, ALPHA) * a - a * p * ALPHA


@checked
def rrelu(input: TensorLike, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
          ) -> Tensor:
    """The leaky rectifier whose slopes are drawn between `lower` and `upper` when `training`, and their mean else.

    x where it is not negative, else slope * x (Xu et al., 2015). x has any shape. Raises ShapeError where lower is
    above upper, DTypeError for complex numbers.

    >>> F.rrelu(st.tensor([-24.0, 1.0])).tolist()
    [-5.5, 1.0]
    """
    x, lower, upper = constant(input), number(lower, "lower of rrelu"), number(upper, "upper of rrelu")
    if lower > upper:
        raise ShapeError(f"rrelu needs lower <= upper, got {lower} and {upper}")
    slope = random.rand(x.shape, dtype=x.dtype) * (upper - lower) + lower \
        if flag(training, "training of rrelu") else (lower + upper) / 2
    return where(x >= 0, x, x * slope)


@checked
def gumbel_softmax(logits: TensorLike, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1
                   ) -> Tensor:
    """A draw of a class by `logits`, softened: the softmax of (logits + Gumbel noise) / `tau` along an axis `dim`.

    With `hard` it is one-hot, with the derivative of the soft one (Jang et al., 2017; Maddison et al., 2017). `eps` has
    no effect, as in PyTorch. Raises ShapeError for an axis that logits do not have, DTypeError for other dtypes than
    floats.

    >>> F.gumbel_softmax(st.zeros((5, 3)), hard=True).sum(axis=1).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    x = constant(logits)
    noise = -F.log(-F.log1p(-random.rand(x.shape, dtype=x.dtype)))
    y = F.softmax((x + noise) / tau, axis=dim)
    if not flag(hard, "hard of gumbel_softmax"):
        return y
    chosen = F.moveaxis(F.one_hot(F.argmax(y, axis=dim), classes=x.shape[axis_of(dim, x.ndim)], dtype=x.dtype), -1, dim)
    return chosen - y.detach() + y


pooled = lift(fractional)


@checked
def fractional_max_pool2d(input: TensorLike, kernel_size: int | Sequence[int],
                          output_size: int | Sequence[int] | None = None,
                          output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
                          _random_samples: TensorLike | None = None) -> Any:
    """The largest elements of windows of `kernel_size` at random places, (N, C, H, W) -> (N, C, *`output_size`).

    The windows' first elements go up by steps of neighbouring lengths, drawn for each channel (Graham, 2014), or given
    by `_random_samples` (N, C, 2) from 0 to 1. The size may be given as an `output_ratio` of H and W; `return_indices`
    is as in `max_pool2d`. Of floats. Raises ShapeError where windows do not fit.

    >>> F.fractional_max_pool2d(st.ones((1, 1, 5, 5)), 2, output_size=3).shape
    (1, 1, 3, 3)
    """
    return at_random("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, return_indices,
                     _random_samples)


@checked
def fractional_max_pool3d(input: TensorLike, kernel_size: int | Sequence[int],
                          output_size: int | Sequence[int] | None = None,
                          output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
                          _random_samples: TensorLike | None = None) -> Any:
    """The largest elements of windows at random places of volumes (N, C, D, H, W), as in `fractional_max_pool2d`.

    `kernel_size`, `output_size`, `output_ratio`, `return_indices`, `_random_samples` (N, C, 3) and errors are as there.
    Raises ShapeError where windows do not fit, DTypeError for complex numbers.

    >>> F.fractional_max_pool3d(st.ones((1, 1, 5, 5, 5)), 2, output_ratio=0.6).shape
    (1, 1, 3, 3, 3)
    """
    return at_random("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, return_indices,
                     _random_samples)


def at_random(name: str, axes: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any,
              return_indices: bool, samples: Any) -> Any:
    """Max-pooling over windows at random places."""
    x = constant(input)
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{name} needs {axes + 2} axes, or {axes + 1} of one example, got {x.shape}")
    if (output_size is None) == (output_ratio is None):
        raise ShapeError(f"{name} needs an output_size or an output_ratio, and not both")
    size, last = each(kernel_size, f"kernel_size of {name}", 1, axes), x.shape[x.ndim - axes:]
    ratios: Any = output_ratio if is_series(output_ratio) else (output_ratio,) * axes
    wanted = each(output_size, f"output_size of {name}", 1, axes) if output_ratio is None else \
        tuple(math.floor(n * number(r, f"output_ratio of {name}", 0, 1)) for n, r in zip(last, ratios))
    if any(w < 1 or k + w - 1 > n for n, k, w in zip(last, size, wanted)):
        raise ShapeError(f"{name}: {wanted} windows of {size} do not fit in {tuple(last)}")
    batch = x if x.ndim == axes + 2 else x[None]
    u = random.rand((*batch.shape[:2], axes), dtype=x.dtype) if samples is None else constant(samples)
    found = pooled(batch, u, size=size, wanted=wanted, return_indices=flag(return_indices, "return_indices"))
    if batch is x:
        return found
    return tuple(v[0] for v in found) if return_indices else found[0]
