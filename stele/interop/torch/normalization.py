"""PyTorch's normalisations and dropout, with those of their gradients that it names."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stele as st
from stele.interop.torch.elementwise import Rules
from stele.nn import functional as F


def channels(v: Any, x: Any) -> Any:
    """One number for each channel, as it broadcasts over x."""
    return v.reshape((-1,) + (1,) * (x.ndim - 2))


def wide(x: Any) -> Any:
    """x as statistics are taken of it: 16-bit floats in float32."""
    return x if x.dtype in ("float32", "float64") else x.astype("float32")


def statistics(x: Any, axes: Sequence[int], eps: float) -> tuple[Any, Any]:
    """The means over axes, and one over the deviations."""
    kept = tuple(axes)
    return (st.mean(wide(x), axis=kept, keepdims=True),
            st.rsqrt(st.var(wide(x), axis=kept, keepdims=True) + eps))


def layer_norm(x: Any, shape: Sequence[Any], weight: Any, bias: Any, eps: float, *_: Any) -> Any:
    """Each example by the mean and deviation of its last axes."""
    return F.layer_norm(x, tuple(shape), weight, bias, eps)


def layer_norm_whole(x: Any, shape: Sequence[Any], weight: Any, bias: Any, eps: float) -> Any:
    """The same with the means and one over the deviations."""
    return layer_norm(x, shape, weight, bias, eps), *statistics(x, range(x.ndim - len(shape), x.ndim), eps)


def layer_norm_gradient(g: Any, x: Any, shape: Sequence[Any], mean: Any, inverse: Any, weight: Any, bias: Any,
                        wanted: Sequence[bool]) -> Any:
    """The gradients of the input, the weight and the bias, from the statistics of the forward pass."""
    n, lead = tuple(range(x.ndim - len(shape), x.ndim)), tuple(range(x.ndim - len(shape)))
    normal = (wide(x) - mean) * inverse
    pulled = g if weight is None else g * weight
    dx = inverse * (pulled - st.mean(pulled, axis=n, keepdims=True)
                    - normal * st.mean(pulled * normal, axis=n, keepdims=True))
    dw = None if weight is None else st.sum(g * normal, axis=lead)
    db = None if bias is None else st.sum(g, axis=lead)
    return tuple(d if want else None for d, want in zip((dx, dw, db), wanted))


def group_norm(x: Any, weight: Any, bias: Any, n: Any, c: Any, area: Any, groups: int, eps: float) -> Any:
    """Each group of channels of each example by its mean and deviation, which are results too."""
    mean, inverse = statistics(x.reshape((n, groups, -1)), (2,), eps)
    return F.group_norm(x, groups, weight, bias, eps), mean.reshape((n, groups)), inverse.reshape((n, groups))


def group_norm_gradient(g: Any, x: Any, mean: Any, inverse: Any, weight: Any, n: Any, c: Any, area: Any, groups: int,
                        wanted: Sequence[bool]) -> Any:
    """The gradients of the input, the weight and the bias, from the statistics of the forward pass."""
    parts = (n, groups, c // groups, area)
    middle, scale = mean.reshape((n, groups, 1, 1)), inverse.reshape((n, groups, 1, 1))
    normal = (wide(x).reshape(parts) - middle) * scale
    grad = g.reshape(parts)
    pulled = grad if weight is None else grad * weight.reshape((1, groups, c // groups, 1))
    dx = scale * (pulled - st.mean(pulled, axis=(2, 3), keepdims=True)
                  - normal * st.mean(pulled * normal, axis=(2, 3), keepdims=True))
    dw, db = (st.sum(v, axis=(0, 3)).reshape((c,)) for v in (grad * normal, grad))
    return tuple(d if want else None for d, want in zip((dx.reshape(tuple(x.shape)), dw, db), wanted))


def running(x: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float) -> Any:
    """Each channel by running statistics."""
    return F.batch_norm(x, mean, var, weight, bias, False, 0.0, eps)


def batch(x: Any, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    """Each channel by the statistics of the batch, which are results too."""
    mean, inverse = statistics(x, (0, *range(2, x.ndim)), eps)
    return F.batch_norm(x, None, None, weight, bias, True, 0.0, eps), mean.reshape((-1,)), inverse.reshape((-1,))


def batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
               ) -> Any:
    """Each channel by the statistics of the batch, or by running ones, with what these become."""
    if not training:
        none = st.zeros(0, dtype=wide(x).dtype)
        return running(x, weight, bias, mean, var, eps), none, none, mean, var
    y, own, inverse = batch(x, weight, bias, eps)
    n = 1
    for k in (0, *range(2, x.ndim)):
        n = n * x.shape[k]
    spread = st.var(wide(x), axis=(0, *range(2, x.ndim))) * (n / st.maximum(st.asarray(n - 1.0), 1.0))
    return y, own, inverse, follow(mean, own, momentum), follow(var, spread, momentum)


def follow(old: Any, new: Any, momentum: float) -> Any:
    """A running number one step on."""
    return old * (1 - momentum) + new.astype(old.dtype) * momentum


def whole(x: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float) -> Any:
    """By running statistics; what training would need is empty."""
    none = st.zeros(0, dtype=wide(x).dtype)
    return running(x, weight, bias, mean, var, eps), none, none


def dropout(x: Any, p: float, training: Any = True) -> Any:
    """x with elements left out by chance, and which are left in."""
    if training is False:
        return x, st.ones_like(x, dtype="bool")
    kept = st.bernoulli(st.full(tuple(x.shape), 1.0 - p)) != 0
    return (st.where(kept, x / (1 - p), 0) if p < 1 else x * 0), kept


RULES: Rules = {
    "layer_norm": layer_norm, "native_layer_norm": layer_norm_whole,
    "native_layer_norm_backward": layer_norm_gradient,
    "native_group_norm": group_norm, "native_group_norm_backward": group_norm_gradient,
    "group_norm": lambda x, groups, weight, bias, eps, *_: F.group_norm(x, groups, weight, bias, eps),
    "rms_norm": lambda x, shape, weight, eps: F.rms_norm(x, tuple(shape), weight, eps),
    "_native_batch_norm_legit_functional": batch_norm,
    "_native_batch_norm_legit": lambda *given: batch_norm(*given)[:3],
    "_native_batch_norm_legit.no_stats": lambda x, w, b, training, momentum, eps: batch(x, w, b, eps),
    "_native_batch_norm_legit_no_training": lambda x, w, b, mean, var, momentum, eps: whole(x, w, b, mean, var, eps),
    "native_dropout": dropout, "dropout": lambda x, p, training: F.dropout(x, p, training),
}
