"""Keras's normalisations."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stele as st
from stele.interop.keras.call import Call, Kind, Kinds, kept, named


def wide(x: Any) -> Any:
    """x as statistics are taken of it: 16-bit floats in float32."""
    return x if x.dtype in ("float32", "float64") else x.astype("float32")


def along(v: Any, x: Any, axes: Sequence[int]) -> Any:
    """A variable as it broadcasts over some axes of x."""
    return v.reshape(tuple(n if k in axes else 1 for k, n in enumerate(x.shape)))


def affine(c: Call, x: Any, mean: Any, var: Any, axes: Sequence[int]) -> Any:
    """(x - mean) / sqrt(var + epsilon), scaled and moved by what the layer has, in the dtype of the layer."""
    scale, shift = c.raw("gamma"), c.raw("beta")
    by = st.rsqrt(var + c.options.number("epsilon", 1e-3))
    by = by if scale is None else by * along(scale, x, axes)
    y = x * by - mean * by
    return (y if shift is None else y + along(shift, x, axes)).astype(c.dtype)


def batch_norm(c: Call, x: Any, mask: Any = None) -> Any:
    """By running statistics; by those of the batch while the layer is trained, which the running ones follow."""
    x, axis = wide(x), c.options.axis("axis", x.ndim)
    mean, var = c.raw("moving_mean"), c.raw("moving_variance")
    if not c.training:
        return affine(c, x, along(mean, x, (axis,)), along(var, x, (axis,)), (axis,))
    over = tuple(k for k in range(x.ndim) if k != axis)
    own, spread = moments(x, over, c.mask if mask is None else mask)
    momentum = c.options.number("momentum", 0.99)
    for running, now in ((mean, own), (var, spread)):
        running.assign(running * momentum + now.detach().reshape((-1,)) * (1 - momentum))
    return affine(c, x, own, spread, (axis,))


def moments(x: Any, axes: Sequence[int], mask: Any = None) -> tuple[Any, Any]:
    """Mean and variance over axes, of the steps that count."""
    if mask is None:
        return st.mean(x, axis=tuple(axes), keepdims=True), st.var(x, axis=tuple(axes), keepdims=True)
    inside = st.broadcast_to(mask[..., None], x.shape).astype(x.dtype)
    count = st.sum(inside, axis=tuple(axes), keepdims=True) + 1e-7
    mean = st.sum(x * inside, axis=tuple(axes), keepdims=True) / count
    return mean, st.sum((x - mean) ** 2 * inside, axis=tuple(axes), keepdims=True) / count


def layer_norm(c: Call, x: Any) -> Any:
    """Each example over some axes by itself."""
    x, axes = wide(x), c.options.axes("axis", x.ndim)
    return affine(c, x, *moments(x, axes), axes)


def rms_norm(c: Call, x: Any) -> Any:
    """Each example over some axes by the root of its mean square."""
    x, axes = wide(x), c.options.axes("axis", x.ndim)
    by = st.rsqrt(st.mean(x * x, axis=axes, keepdims=True) + c.options.number("epsilon", 1e-6))
    return (x * by * along(c.raw("scale"), x, axes)).astype(c.dtype)


def group_norm(c: Call, x: Any) -> Any:
    """Each group of channels of each example by itself."""
    x, axis = wide(x), c.options.axis("axis", x.ndim)
    groups = x.shape[axis] if c.options.get("groups", 32) == -1 else c.options.whole("groups", 32)
    parts = x.reshape((*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1:]))
    mean, var = moments(parts, [k for k in range(1, parts.ndim) if k != axis])
    y = (parts - mean) * st.rsqrt(var + c.options.number("epsilon", 1e-3))
    scale, shift = c.raw("gamma"), c.raw("beta")
    y = y.reshape(x.shape) if scale is None else y.reshape(x.shape) * along(scale, x, (axis,))
    return (y if shift is None else y + along(shift, x, (axis,))).astype(c.dtype)


def unit_norm(c: Call, x: Any) -> Any:
    """x of length 1 along some axes."""
    square = st.sum(x * x, axis=c.options.axes("axis", x.ndim), keepdims=True)
    return x * st.rsqrt(st.maximum(square, 1e-24))


AFFINE = named("gamma:scale beta:center")

KINDS: Kinds = {
    "BatchNormalization": Kind(batch_norm, (*AFFINE, *named("moving_mean! moving_variance!")), mask=kept,
                               lacks=lambda o: "renorm" if o.get("renorm") else None),
    "LayerNormalization": Kind(layer_norm, AFFINE, mask=kept,
                               lacks=lambda o: "rms_scaling" if o.get("rms_scaling") else None),
    "RMSNormalization": Kind(rms_norm, named("scale")),
    "GroupNormalization": Kind(group_norm, AFFINE, mask=kept),
    "UnitNormalization": Kind(unit_norm, mask=kept),
}
