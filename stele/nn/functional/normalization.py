"""Normalisations over channels, groups, examples and last axes."""
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from stele.arrays import functions as F
from stele.arrays.checked import checked
from stele.arrays.creation import ones_like, zeros_like
from stele.arrays.opensize import opened
from stele.arrays.sized import where
from stele.arrays.tensor import Tensor, TensorLike, constant, lift
from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim, quotient
from stele.ir.types import SIZES, float32, is_zero, product, promote, same, show
from stele.ops import functional
from stele.ops.arguments import positive, wholes
from stele.ops.elementwise.unary import rsqrt, square
from stele.ops.linear import cast, reshape
from stele.ops.pooling import AvgPool
from stele.ops.statistics import mean, widened
from stele.tracing.noted import before, noted


def last_axes(name: str, x: Value, normalized_shape: Any, *scales: Value | None) -> int:
    """How many last axes are meant; raises ShapeError where x or a scale does not have them."""
    shape = wholes(normalized_shape, f"normalized_shape of {name}", 0)
    for v in (x, *(s for s in scales if s is not None)):
        n = v.ndim - len(shape)
        if n < 0 or (v is not x and n) or not all(same(a, b) for a, b in zip(v.shape[n:], shape)):
            raise ShapeError(f"{name} over {show(shape)} needs that as the last axes of x, and as the shape of its "
                             f"scales, got {show(v.shape)}")
    return len(shape)


def layer_norm(input: Value, normalized_shape: int | Sequence[int], weight: Value | None = None,
               bias: Value | None = None, eps: float = 1e-5) -> Value:
    """The elements of x normalised over its last axes, times `weight`, plus `bias` (Ba et al., 2016).

    (x - mean) / sqrt(variance + `eps`); `normalized_shape` is the shape of those axes, of weight and of bias. Raises
    ShapeError where x or they have another, DTypeError for other dtypes than floats.

    >>> F.layer_norm(st.tensor([[1.0, 3.0], [10.0, 30.0]]), (2,), eps=0).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """
    axes = last_axes("layer_norm", input, normalized_shape, weight, bias)
    return functional.layer_norm(input, weight, bias, axes=axes, eps=eps)


def rms_norm(input: Value, normalized_shape: int | Sequence[int], weight: Value | None = None,
             eps: float | None = None) -> Value:
    """The elements of x over the root of the mean of their squares over its last axes (Zhang and Sennrich, 2019).

    x / sqrt(mean(x**2) + `eps`), times `weight` where there is one; eps is the spacing of x's dtype at 1 without one.
    `normalized_shape` and errors are as in `layer_norm`; 16-bit floats are averaged in float32. Raises ShapeError where
    these are not the last axes of x.

    >>> F.rms_norm(st.tensor([3.0, 3.0]), 2, eps=0).tolist()
    [1.0, 1.0]
    """
    axes = last_axes("rms_norm", input, normalized_shape, weight)
    tiny = float(np.finfo(np.float64 if input.dtype.bits == 64 else np.float32).eps) if eps is None else eps
    x = widened(input)
    y = x * rsqrt(mean(square(x), axis=tuple(range(-axes, 0)), keepdims=True) + tiny)
    return cast(y if weight is None else y * weight, input.dtype)


def group_norm(input: Value, num_groups: int, weight: Value | None = None, bias: Value | None = None,
               eps: float = 1e-5) -> Value:
    """Examples (N, C, *) normalised per group of neighbouring channels (Wu and He, 2018).

    (x - mean) / sqrt(variance + `eps`) over a group and all that stands behind it, times `weight`, plus `bias`, both
    (C,). Of floats. Raises ShapeError where `num_groups` does not divide the channels, and for one example of which a
    group has one number (PyTorch's rule).

    >>> F.group_norm(st.tensor([[1.0, 3.0, 10.0, 30.0]]), 2, eps=0).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """
    groups = positive(num_groups, "num_groups of group_norm")
    if input.ndim < 2 or not same(quotient(input.shape[1], groups) * groups, input.shape[1]):
        raise ShapeError(f"group_norm needs (N, C, *) with C a multiple of num_groups={groups}, got "
                         f"{show(input.shape)}")
    n, channels, *rest = input.shape
    if is_zero(product((n, quotient(channels, groups), *rest)) - 1):
        raise alone("group_norm", "one number in a group", input.shape)
    parts = reshape(input, (n, groups, quotient(channels, groups), *rest))
    y = functional.normalize(parts, axis=tuple(range(2, parts.ndim)), eps=eps)
    return scaled(reshape(y, input.shape), weight, bias)


def alone(name: str, what: str, shape: Any, hint: str | None = None) -> ShapeError:
    """An error that says of what there is no variance."""
    return ShapeError(f"{name} of {what} has no variance to divide by, only zeros to give, got {show(tuple(shape))}",
                      hint=hint)


def scaled(y: Value, weight: Value | None, bias: Value | None) -> Value:
    """y times a weight, plus a bias, of each channel on axis 1."""
    per_channel = (-1, *(1,) * (y.ndim - 2))
    y = y if weight is None else y * reshape(weight, per_channel)
    return y if bias is None else y + reshape(bias, per_channel)


def local_response_norm(input: Value, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Value:
    """The elements of x (N, C, *) over what their neighbours of `size` channels say (Krizhevsky et al., 2012).

    x / (`k` + `alpha` * mean(x**2)) ** `beta`, the mean over size channels around, of which those that are not there
    count as zeros. Of floats. Raises ShapeError for fewer than three axes.

    >>> F.local_response_norm(st.ones((1, 2, 1)), 2, alpha=2.0, beta=1.0, k=0.0)[0, :, 0].tolist()
    [1.0, 0.5]
    """
    size = positive(size, "size of local_response_norm")
    if input.ndim < 3:
        raise ShapeError(f"local_response_norm needs (N, C, *) with an axis or more behind, got {show(input.shape)}")
    flat = reshape(input, (*input.shape[:2], product(input.shape[2:])))
    near = AvgPool((size, 1), (1, 1), ((size // 2, (size - 1) // 2), (0, 0)), (1, 1))(square(flat))
    return input / (reshape(near, input.shape) * alpha + k) ** beta


normalized, apply_scale, wide = lift(functional.normalize), lift(scaled), lift(widened)


@checked
def batch_norm(input: TensorLike, running_mean: Tensor | None, running_var: Tensor | None,
               weight: TensorLike | None = None, bias: TensorLike | None = None, training: bool = False,
               momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """A batch (N, C, *) normalised per channel, times `weight`, plus `bias`, both (C,) (Ioffe and Szegedy, 2015).

    (x - mean) / sqrt(variance + `eps`): when `training` of the batch, which `running_mean` and `running_var` (C,),
    where given, then follow, running = (1 - momentum) * running + `momentum` * batch, with the unbiased variance; else
    of the running ones. Of no examples there are none to follow. Integers become float32; 16-bit floats are normalised
    in float32. Raises ShapeError for fewer
    than two axes, where running statistics are missing, and when training for one number of each channel and for an eps
    that is not above 0.

    >>> x = st.tensor([[1.0], [3.0]])
    >>> F.batch_norm(x, st.zeros(1), st.ones(1), training=True).round(3).tolist()
    [[-1.0], [1.0]]
    """
    was = before((running_mean, running_var))
    y = over_batch(constant(input), running_mean, running_var, weight, bias, training, momentum, eps)
    return noted(was, (input, weight, bias), y)


def over_batch(x: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Any, bias: Any,
               training: bool, momentum: float | Tensor, eps: float) -> Tensor:
    """A batch normalised per channel; the momentum may be known only when the program runs."""
    if x.ndim == 1 and x.shape == (0,):
        return x
    if x.dtype.is_float and x.dtype.bits < 32:      # which hold no squares of large numbers
        beside = (weight, bias, *(() if training else (running_mean, running_var)))
        met = reduce(promote, [constant(v).dtype for v in beside if v is not None], x.dtype)
        made = over_batch(x.astype(float32), running_mean, running_var, weight, bias, training, momentum, eps)
        return made.astype(met)
    if x.ndim < 2:
        raise ShapeError(f"batch_norm needs (N, C, *), got {x.shape}", hint="Write x[:, None] for one channel.")
    axes = (0, *range(2, x.ndim))
    if training:
        if not eps > 0:
            raise ShapeError(f"batch_norm in training needs an eps above 0, got {eps}")
        mean, var = x.mean(axis=axes), x.var(axis=axes)
        n = product((x.value.shape[0], *x.value.shape[2:]))
        if is_zero(n - 1):
            raise alone("batch_norm in training", "one number of each channel", x.shape, "Give it larger batches, with "
                        "data.Loader(..., drop_last=True) for the last one, or write model.eval() to use the model.")
        mean, var, momentum = unless_empty(n, mean, var, momentum)
        follow(running_mean, running_var, mean.detach(), var.detach(), n, momentum)
    elif running_mean is None or running_var is None:
        raise ShapeError("batch_norm needs running_mean and running_var unless training=True")
    else:
        mean, var = running_mean, running_var
    scale = F.rsqrt(var + eps) if weight is None else weight * F.rsqrt(var + eps)
    shift = -mean * scale if bias is None else bias - mean * scale
    return apply_scale(x, scale, shift)


@checked
def instance_norm(input: TensorLike, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: TensorLike | None = None, bias: TensorLike | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Each channel of each example of (N, C, *) normalised by itself (Ulyanov et al., 2016).

    With `use_input_stats` by its own mean and variance, which `running_mean` and `running_var` (C,), where given, then
    follow, as in `batch_norm` and as means over the examples; else by the running ones. `weight`, `bias`, `momentum`
    and `eps` are as there. Of floats. Raises ShapeError for fewer than three axes and, with its own statistics, for one
    number of each channel.

    >>> F.instance_norm(st.tensor([[[1.0, 3.0], [10.0, 30.0]]]), eps=0).tolist()
    [[[-1.0, 1.0], [-1.0, 1.0]]]
    """
    x = constant(input)
    if x.ndim < 3:
        raise ShapeError(f"instance_norm needs (N, C, *) with an axis or more behind, got {x.shape}",
                         hint="Write x[None] for one example.")
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, eps=eps)
    if is_zero(product(x.value.shape[2:]) - 1):
        raise alone("instance_norm", "one number of each channel", x.shape)
    axes, was = tuple(range(2, x.ndim)), before((running_mean, running_var))
    if running_mean is not None or running_var is not None:
        seen = wide(x)
        mean, var = seen.mean(axis=axes).mean(axis=0), seen.var(axis=axes).mean(axis=0)
        n = product(x.value.shape[2:])
        mean, var, momentum = unless_empty(product((n, x.value.shape[0])), mean.detach(), var.detach(), momentum)
        follow(running_mean, running_var, mean, var, n, momentum)
    return noted(was, (x, weight, bias), apply_scale(normalized(x, axis=axes, eps=eps), weight, bias))


def unless_empty(n: Dim, mean: Tensor, var: Tensor, momentum: Any) -> tuple[Tensor, Tensor, Any]:
    """Statistics of n elements, and how far running ones follow them: nothing has none, and none follow it."""
    if is_zero(n):
        return zeros_like(mean), ones_like(var), 0.0
    if isinstance(n, int) or SIZES.get() is not None:
        return mean, var, momentum
    some = F.minimum(opened(n), 1)      # known only when the program runs
    return where(some == 1, mean, 0), where(some == 1, var, 1), momentum * some


def follow(running_mean: Tensor | None, running_var: Tensor | None, mean: Tensor, var: Tensor, n: Any,
           momentum: float | Tensor) -> None:
    """Moves running statistics towards those of a batch of n elements for each channel."""
    for running, now in ((running_mean, mean), (running_var, var + var / F.maximum(n - 1, 1))):
        if running is not None:
            running.assign(running * (1 - momentum) + now * momentum)
