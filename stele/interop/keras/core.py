"""Keras's dense layers, embeddings, and what adds noise while a model is trained."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
from typing import Any

import stele as st
from stele.interop.keras.activations import ACTIVATION, activation
from stele.interop.keras.call import Call, Kind, Kinds, kept, named
from stele.nn import functional as F


def biased(c: Call, y: Any) -> Any:
    """y plus the bias, where there is one, on the last axis."""
    return y if c["bias"] is None else y + c["bias"]


def dense(c: Call, x: Any) -> Any:
    """x @ kernel + bias on the last axis."""
    return activation(c)(biased(c, x @ c["kernel"]))


def einsum_dense(c: Call, x: Any) -> Any:
    """The sum of products that the equation says."""
    return activation(c)(biased(c, st.einsum(str(c.options.get("equation")).replace(" ", ""), x, c["kernel"])))


def embedding(c: Call, x: Any) -> Any:
    """The rows of the table."""
    return st.embedding(c["embeddings"], x if x.dtype.kind in "iu" else x.astype("int32"))


def zeros_left_out(c: Call, y: Any) -> Any:
    """Which steps are not the index 0, where the layer asks for that."""
    return c.given[0] != 0 if c.options.flag("mask_zero") else None


def masked(c: Call, x: Any) -> Any:
    """x with zeros in steps that hold one value alone."""
    return st.where(counted(c, x)[..., None], x, 0.0)


def counted(c: Call, x: Any) -> Any:
    """Which steps hold another number than the one that means nothing."""
    return st.any(x != c.options.number("mask_value", 0.0), axis=-1)


def dropout(c: Call, x: Any) -> Any:
    """Elements left out by chance, or whole slices along the axes of size 1 in the shape of the noise."""
    shape = c.options.get("noise_shape")
    return dropped(c, x, None if shape is None else [n if k is None else k for n, k in zip(x.shape, shape)])


def dropped(c: Call, x: Any, shape: Any = None) -> Any:
    """x with what a mask of a shape leaves out by chance."""
    p = c.options.number("rate")
    if not c.run.training or p == 0:
        return x
    return F.dropout(x, p) if shape is None else x * F.dropout(st.ones(tuple(shape), dtype=x.dtype), p)


def spatial_dropout(c: Call, x: Any) -> Any:
    """Whole channels left out by chance."""
    ones = (1,) * (x.ndim - 2)
    return dropped(c, x, (*x.shape[:2], *ones) if c.channels_first() else (x.shape[0], *ones, x.shape[-1]))


def noise(c: Call, x: Any) -> Any:
    """x plus normal noise."""
    return x + c.options.number("stddev") * st.randn(x.shape).astype(x.dtype) if c.run.training else x


def gaussian_dropout(c: Call, x: Any) -> Any:
    """x times normal noise around 1, as wide as dropout's."""
    p = c.options.number("rate")
    return x * (1 + math.sqrt(p / (1 - p)) * st.randn(x.shape).astype(x.dtype)) if c.run.training and p else x


KINDS: Kinds = {
    "Dense": Kind(dense, named("kernel bias:use_bias"), lacks=ACTIVATION, mask=kept),
    "EinsumDense": Kind(einsum_dense, named("kernel bias:bias_axes"), lacks=ACTIVATION),
    "Embedding": Kind(embedding, named("embeddings"), mask=zeros_left_out),
    "Masking": Kind(masked, mask=lambda c, y: counted(c, c.given[0])),
    "Identity": Kind(lambda c, x: x, mask=kept),
    "ActivityRegularization": Kind(lambda c, x: x, mask=kept),
    "Dropout": Kind(dropout, mask=kept),
    **dict.fromkeys(("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"), Kind(spatial_dropout, mask=kept)),
    "GaussianNoise": Kind(noise, mask=kept),
    "GaussianDropout": Kind(gaussian_dropout, mask=kept),
    "AlphaDropout": Kind(lambda c, x: F.alpha_dropout(x, c.options.number("rate"), c.run.training), mask=kept),
}
