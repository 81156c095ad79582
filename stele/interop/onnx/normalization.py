"""ONNX's normalisations, dropout and losses."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import stele as st
from stele.interop.onnx.values import Call, Rules, number
from stele.nn import functional as F


def channels(v: Any, x: Any) -> Any:
    """One number for each channel, as it broadcasts over x."""
    return v.reshape((-1,) + (1,) * (x.ndim - 2))


def batch_norm(c: Call, x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
    """Each channel by its running mean and variance; in training by those of the batch, which these follow."""
    eps, momentum = c.get("epsilon", 1e-5), c.get("momentum", 0.9)
    if not c.get("training_mode", 0):
        factor = scale / st.sqrt(var + eps)
        return (x * channels(factor, x) + channels(bias - mean * factor, x)).astype(x.dtype)
    axes = (0, *range(2, x.ndim))
    own, spread = st.mean(x, axis=axes), st.var(x, axis=axes)
    y = (x - channels(own, x)) / st.sqrt(channels(spread, x) + eps) * channels(scale, x) + channels(bias, x)
    return (y.astype(x.dtype), mean * momentum + own.astype(mean.dtype) * (1 - momentum),
            var * momentum + spread.astype(var.dtype) * (1 - momentum))


def instance_norm(c: Call, x: Any, scale: Any, bias: Any) -> Any:
    """Each channel of each example by its own mean and variance."""
    y = st.normalize(x, axis=tuple(range(2, x.ndim)), eps=c.get("epsilon", 1e-5))
    return y * channels(scale, x) + channels(bias, x)


def normalised(c: Call, x: Any, scale: Any, shift: Any, eps: float, centred: bool = True) -> tuple[Any, Any, Any]:
    """x over the deviation of its last axes, or the root of their mean square; their mean, and what x was times."""
    axis = c.get("axis", -1) % x.ndim
    axes = tuple(range(axis, x.ndim))
    wide = x.astype("float32") if c.get("stash_type", 1) == 1 and x.dtype != "float64" else x
    mean = st.mean(wide, axis=axes, keepdims=True) if centred else None
    square = st.mean(wide * wide, axis=axes, keepdims=True) if mean is None else st.var(wide, axis=axes, keepdims=True)
    inverse = 1 / st.sqrt(square + eps)
    y = ((wide if mean is None else wide - mean) * inverse).astype(x.dtype) * scale
    return y if shift is None else y + shift, mean, inverse


def layer_norm(c: Call, x: Any, scale: Any, bias: Any = None) -> Any:
    """Each example by the mean and variance of its last axes."""
    return normalised(c, x, scale, bias, c.get("epsilon", 1e-5))[:max(c.count, 1)]


def rms_norm(c: Call, x: Any, scale: Any) -> Any:
    """Each example by the root of the mean square of its last axes; ONNX Runtime's name for it gives the factor too."""
    y, _, inverse = normalised(c, x, scale, None, c.get("epsilon", 1e-5), centred=False)
    return (y, inverse)[:max(c.count, 1)]


def lrn(c: Call, x: Any) -> Any:
    """Each element over the squares of its neighbours among the channels."""
    n = c.get("size")
    square = x * x
    lead = (n - 1) // 2
    wide = F.pad(square.reshape((*x.shape[:2], -1)), (0, 0, lead, n - 1 - lead))
    total = reduce(add, (wide[:, k:k + x.shape[1]] for k in range(n))).reshape(x.shape)
    return x / (c.get("bias", 1.0) + c.get("alpha", 1e-4) / n * total) ** c.get("beta", 0.75)


def lp_normalization(c: Call, x: Any) -> Any:
    """x over its norm along an axis; zeros stay."""
    axis = c.get("axis", -1)
    norm = st.sum(st.abs(x), axis=axis, keepdims=True) if c.get("p", 2) == 1 else st.sqrt(
        st.sum(x * x, axis=axis, keepdims=True))
    return st.where(norm == 0, 0, x / norm).astype(x.dtype)


def dropout(c: Call, x: Any, ratio: Any = None, training: Any = None) -> Any:
    """x, or in training with elements dropped at random, and which were kept."""
    drops = bool(number(training)) if training is not None else False
    p = c.get("ratio", 0.5) if c.version < 12 else 0.5 if ratio is None else float(number(ratio))
    if not drops or p == 0:
        y, kept = x, st.ones(x.shape, dtype="bool")
    else:
        kept = st.rand(x.shape) >= p
        y = st.where(kept, x / (1 - p), 0).astype(x.dtype)
    return (y, kept)[:max(c.count, 1)]


RULES: Rules = {
    "BatchNormalization": batch_norm, "InstanceNormalization": instance_norm, "LayerNormalization": layer_norm,
    "RMSNormalization": rms_norm, "SimplifiedLayerNormalization": rms_norm, "LRN": lrn,
    "LpNormalization": lp_normalization, "Dropout": dropout,
}
