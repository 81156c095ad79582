"""Caffe's layers, each in a few lines of Stele's ops: `rule(layer, *bottoms)`, with weights in `Call`."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import stele as st
from stele.interop.caffe.net import Layer
from stele.interop.caffe.text import Message
from stele.nn import functional as F

CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


@dataclass(frozen=True)
class Call:
    """A layer at work: its weights in order, and whether it is trained."""

    layer: Layer
    weights: tuple[st.Tensor, ...]
    training: bool

    def options(self, name: str) -> Message:
        """The options of the layer under a name."""
        return self.layer.options(f"{name}_param")

    def weight(self, k: int, shape: Sequence[Any]) -> st.Tensor:
        """Weight k in a shape: old files write four axes for every blob. Raises DataError where it has others."""
        x = self.weights[k] if k < len(self.weights) else None
        if x is None or [n for n in x.shape if n != 1] != [n for n in shape if n != 1]:
            self.layer.says.refuse(f"layer {self.layer} needs weight {k} of shape {tuple(shape)}, got "
                                   f"{'none' if x is None else tuple(x.shape)}", "Is this the net of that .caffemodel?")
        return x.reshape(tuple(shape))


Rule = Callable[..., Any]


def axis_of(o: Message, x: Any, default: int = 1, name: str = "axis") -> int:
    """An axis of x, counted from its beginning."""
    axis = o.get(name, default)
    if not -x.ndim <= axis < x.ndim:
        o.refuse(f"{name} {axis} is none of {x.ndim}")
    return axis % x.ndim


def each(o: Message, name: str, n: int, default: int | None, least: int = 0) -> tuple[int, ...]:
    """An option for each of n axes: once for all, one for each, or under names for height and width."""
    h, w = (f"{name.removesuffix('_size')}_{side}" for side in "hw")
    found = o.all(h, int) + o.all(w, int) if h in o.fields or w in o.fields else o.all(name, int)
    found = found or ([] if default is None else [default])
    if len(found) not in (1, n) or any(not least <= k < 1 << 31 for k in found):
        o.refuse(f"{name} needs a number from {least}, or {n} of them, got {found!s:.60}")
    return tuple(found) * n if len(found) == 1 else tuple(found)


def windows(o: Message, n: int) -> tuple[tuple[int, ...], ...]:
    """The kernel, stride, padding and dilation of n axes."""
    return (each(o, "kernel_size", n, None, 1), each(o, "stride", n, 1, 1), each(o, "pad", n, 0),
            each(o, "dilation", n, 1, 1))


def convolved(c: Call, *x: Any) -> Any:
    """A convolution of each bottom, or its transposition."""
    o, is_back = c.options("convolution"), c.layer.type == "Deconvolution"
    made = []
    for one in x:
        n = one.ndim - 2
        if n not in CONVOLUTIONS or axis_of(o, one) != 1:
            o.refuse(f"a convolution goes over 1 to 3 axes behind the channels, got {one.ndim} axes")
        kernel, stride, pad, dilation = windows(o, n)
        out, groups = number(o, "num_output"), o.get("group", 1)
        if groups < 1 or out % groups or one.shape[1] % groups:
            o.refuse(f"{one.shape[1]} channels and {out} outputs make no {groups} groups")
        sides = (one.shape[1], out // groups) if is_back else (out, one.shape[1] // groups)
        weight, bias = c.weight(0, (*sides, *kernel)), c.weight(1, (out,)) if o.get("bias_term", True) else None
        made.append(TRANSPOSED[n](one, weight, bias, stride, pad, 0, groups, dilation) if is_back else
                    CONVOLUTIONS[n](one, weight, bias, stride, pad, dilation, groups))
    return tuple(made)


def number(o: Message, name: str) -> int:
    """An option that has to be there."""
    n = o.get(name, 0)
    if not 0 < n < 1 << 31:
        o.refuse(f"{name} needs a number from 1, got {n}")
    return n


def inner_product(c: Call, x: Any) -> Any:
    """What lies behind an axis times a matrix."""
    o = c.options("inner_product")
    axis, out = axis_of(o, x), number(o, "num_output")
    width = math.prod(x.shape[axis:])
    weight = c.weight(0, (width, out)).T if o.get("transpose", False) else c.weight(0, (out, width))
    bias = c.weight(1, (out,)) if o.get("bias_term", True) else None
    return F.linear(x.reshape((*x.shape[:axis], width)), weight, bias)


def pooled(c: Call, x: Any) -> Any:
    """The largest elements or the means of windows, as many as there are with the last one that begins inside."""
    o, n = c.options("pooling"), x.ndim - 2
    how = o.word("pool", ("MAX", "AVE", "STOCHASTIC"))
    if n != 2 or how == "STOCHASTIC":
        o.refuse("a pooling is MAX or AVE, over two axes")
    if o.get("global_pooling", False):
        return (st.max if how == "MAX" else st.mean)(x, axis=(2, 3), keepdims=True)
    kernel, stride, pad, _ = windows(o, n)
    up = o.word("round_mode", ("CEIL", "FLOOR")) == "CEIL"
    for size, k, s, p in zip(x.shape[2:], kernel, stride, pad):
        if p >= k:
            o.refuse(f"a padding of {p} is as large as the window of {k}")
        if isinstance(size, int) and up and not any(pad) and (-(-(size - k) // s)) * s >= size:
            o.refuse(f"a window of {k} at every {s} begins outside of {size}")
    if any(2 * p > k for p, k in zip(pad, kernel)):
        o.refuse(f"a padding of {max(pad)} is more than half a window of {min(kernel)}")
    if how == "MAX":
        return F.max_pool2d(x, kernel, stride, pad, 1, up)
    return F.avg_pool2d(x, kernel, stride, pad, up)


def normalised_locally(c: Call, x: Any) -> Any:
    """Each element over the squares around it, across channels or within them."""
    o = c.options("lrn")
    size, alpha, beta, k = number_or(o, "local_size", 5), o.get("alpha", 1.0), o.get("beta", 0.75), o.get("k", 1.0)
    if size % 2 == 0:
        o.refuse(f"local_size is odd, got {size}")
    if o.word("norm_region", ("ACROSS_CHANNELS", "WITHIN_CHANNEL")) == "ACROSS_CHANNELS":
        return F.local_response_norm(x, size, alpha, beta, k)
    return x * (1 + alpha * F.avg_pool2d(x * x, size, 1, size // 2)) ** -beta


def number_or(o: Message, name: str, default: int) -> int:
    """An option from 1, or what stands for it."""
    return number(o, name) if name in o.fields else default


def normalised(c: Call, x: Any) -> Any:
    """x without its mean, over its deviation: those that were kept, which are sums with a factor."""
    o, shape = c.options("batch_norm"), (1, x.shape[1], *(1,) * (x.ndim - 2)) if x.ndim > 1 else (x.shape[0],)
    if not o.get("use_global_stats", True):
        axes = (0, *range(2, x.ndim))
        mean, var = st.mean(x, axis=axes, keepdims=True), st.var(x, axis=axes, keepdims=True)
    else:
        factor = c.weight(2, ())
        factor = st.where(factor == 0, 0.0, 1 / st.where(factor == 0, 1.0, factor))
        mean, var = (c.weight(k, shape) * factor for k in (0, 1))
    return (x - mean) / st.sqrt(var + o.get("eps", 1e-5))


def spread(c: Call, x: Any, bottoms: Sequence[Any], o: Message) -> Any:
    """What a Scale or a Bias multiplies or adds, over the axes that it is for."""
    axis = axis_of(o, x)
    count = o.get("num_axes", 1)
    wide = bottoms[0].shape if bottoms else x.shape[axis:] if count < 0 else x.shape[axis:axis + count]
    if axis + len(wide) > x.ndim:
        o.refuse(f"{len(wide)} axes from {axis} are more than {x.ndim}")
    y = bottoms[0] if bottoms else c.weight(0, wide)
    return y.reshape((*wide, *(1,) * (x.ndim - axis - len(wide))))


def scaled(c: Call, x: Any, *more: Any) -> Any:
    """x times weights, and plus others."""
    o = c.options("scale")
    y = spread(c, x, more, o)
    if not o.get("bias_term", False):
        return x * y
    return x * y + c.weight(len(c.weights) - 1, y.shape)


def joined(c: Call, *x: Any) -> Any:
    """Bottoms one behind the other."""
    o = c.options("concat")
    name = "concat_dim" if "concat_dim" in o.fields else "axis"
    return st.concat(x, axis=axis_of(o, x[0], 1, name))


def cut(c: Call, x: Any) -> Any:
    """Parts of x, as many as there are tops."""
    o, n = c.options("slice"), len(c.layer.tops)
    axis = axis_of(o, x, 1, "slice_dim" if "slice_dim" in o.fields else "axis")
    size, points = x.shape[axis], o.all("slice_point", int)
    if not points and size % n:
        o.refuse(f"{size} elements make no {n} equal parts")
    at = [0, *(points or [size // n * k for k in range(1, n)]), size]
    if len(at) != n + 1 or any(a >= b for a, b in pairwise(at)):
        o.refuse(f"slice_point needs {n - 1} places below {size}, each behind the one before, got {points!s:.60}")
    return tuple(x[(slice(None),) * axis + (slice(a, b),)] for a, b in pairwise(at))


def combined(c: Call, *x: Any) -> Any:
    """Bottoms element by element: their product, sum or the largest."""
    o = c.options("eltwise")
    how, factors = o.word("operation", ("PROD", "SUM", "MAX"), "SUM"), o.all("coeff", float)
    if factors and (len(factors) != len(x) or how != "SUM"):
        o.refuse(f"coeff is for sums, one for each of {len(x)} bottoms, got {len(factors)}")
    parts = [a * b for a, b in zip(x, factors)] if factors else [*x]
    made = parts[0]
    for part in parts[1:]:
        made = made + part if how == "SUM" else made * part if how == "PROD" else st.maximum(made, part)
    return made


def reshaped(c: Call, x: Any) -> Any:
    """x in another shape, from an axis on: 0 keeps a size, -1 is what is left."""
    o = c.options("reshape")
    axis, count, dims = o.get("axis", 0), o.get("num_axes", -1), o.message("shape").all("dim", int)
    axis = axis + x.ndim + 1 if axis < 0 else axis
    end = x.ndim if count < 0 else axis + count
    if not 0 <= axis <= end <= x.ndim or any(n < -1 for n in dims):
        o.refuse(f"axes {axis} to {end} of {x.ndim} cannot become {dims!s:.80}")
    if any(n == 0 and axis + k >= x.ndim for k, n in enumerate(dims)):
        o.refuse(f"dim 0 keeps a size that is not there: {dims!s:.80}")
    sizes = [x.shape[axis + k] if n == 0 else n for k, n in enumerate(dims)]
    return x.reshape((*x.shape[:axis], *sizes, *x.shape[end:]))


def flattened(c: Call, x: Any) -> Any:
    """x with some axes as one."""
    o = c.options("flatten")
    first, last = axis_of(o, x), axis_of(o, x, -1, "end_axis")
    if first > last:
        o.refuse(f"axis {first} is behind end_axis {last}")
    return x.reshape((*x.shape[:first], math.prod(x.shape[first:last + 1]), *x.shape[last + 1:]))


def cropped(c: Call, x: Any, like: Any) -> Any:
    """A part of x as large as another bottom, from an axis on."""
    o, offsets = c.options("crop"), c.options("crop").all("offset", int) or [0]
    axis = axis_of(o, x, 2)
    offsets = offsets * (x.ndim - axis) if len(offsets) == 1 else offsets
    if len(offsets) != x.ndim - axis or like.ndim != x.ndim or any(n < 0 for n in offsets):
        o.refuse(f"offset needs 1 number, or {x.ndim - axis}, from 0, got {offsets!s:.60}")
    if any(isinstance(n, int) and isinstance(m, int) and a + m > n
           for a, n, m in zip(offsets, x.shape[axis:], like.shape[axis:])):
        o.refuse(f"{tuple(like.shape)} at {offsets} is not inside of {tuple(x.shape)}")
    return x[(slice(None),) * axis + tuple(slice(a, a + n) for a, n in zip(offsets, like.shape[axis:]))]


def reduced(c: Call, x: Any) -> Any:
    """One number for all that lies behind an axis."""
    o = c.options("reduction")
    axes = tuple(range(axis_of(o, x, 0), x.ndim))
    how = o.word("operation", ("SUM", "ASUM", "SUMSQ", "MEAN"), first=1)
    y = abs(x) if how == "ASUM" else x * x if how == "SUMSQ" else x
    return (st.mean if how == "MEAN" else st.sum)(y, axis=axes) * o.get("coeff", 1.0)


def largest(c: Call, x: Any) -> Any:
    """Where the largest elements stand, and which they are."""
    o = c.options("argmax")
    k, values = number_or(o, "top_k", 1), o.get("out_max_val", False)
    if "axis" in o.fields:
        top, at = places(x, k, axis_of(o, x))
        return top if values else at.astype(x.dtype)
    top, at = places(x.reshape((x.shape[0], math.prod(x.shape[1:]))), k, 1)
    parts = [at.astype(x.dtype), top] if values else [at.astype(x.dtype)]
    return st.stack(parts, axis=1).reshape((x.shape[0], len(parts), k, *(1,) * (x.ndim - 3)))


def places(x: Any, k: int, axis: int) -> tuple[Any, Any]:
    """The k largest elements along an axis, and where they stand."""
    found: Any = st.topk(x, k, axis=axis)
    return found


def embedded(c: Call, x: Any) -> Any:
    """The rows of a table."""
    o = c.options("embed")
    out, rows = number(o, "num_output"), number(o, "input_dim")
    y = F.embedding(x.astype("int64"), c.weight(0, (rows, out)))
    return y + c.weight(1, (out,)) if o.get("bias_term", True) else y


def tiled(c: Call, x: Any) -> Any:
    """x several times along an axis."""
    o = c.options("tile")
    axis, n = axis_of(o, x), number(o, "tiles")
    return st.tile(x, (*(1,) * axis, n, *(1,) * (x.ndim - axis - 1)))


def centred(c: Call, x: Any) -> Any:
    """Each image, or each of its channels, without its mean and over its deviation."""
    o = c.options("mvn")
    axes = tuple(range(1 if o.get("across_channels", False) else 2, x.ndim))
    y = x - st.mean(x, axis=axes, keepdims=True)
    if not o.get("normalize_variance", True):
        return y
    return y / (st.sqrt(st.mean(y * y, axis=axes, keepdims=True)) + o.get("eps", 1e-9))


def affine(c: Call, x: Any, name: str) -> Any:
    """scale * x + shift."""
    o = c.options(name)
    return x * o.get("scale", 1.0) + o.get("shift", 0.0)


def logarithm(c: Call, name: str) -> float:
    """The logarithm of a base, which is that of e where it is -1."""
    base = c.options(name).get("base", -1.0)
    if base != -1 and base <= 0:
        c.options(name).refuse(f"a base is above 0, got {base}")
    return 1.0 if base == -1 else math.log(base)


def rectified(c: Call, x: Any) -> Any:
    """x where it is above 0, and a part of it below."""
    slope = c.options("relu").get("negative_slope", 0.0)
    return F.leaky_relu(x, slope) if slope else st.relu(x)


def learned(c: Call, x: Any) -> Any:
    """The same with slopes that are learned."""
    shared = c.options("prelu").get("channel_shared", False)
    slopes = c.weight(0, () if shared else (x.shape[1], *(1,) * (x.ndim - 2)))
    return st.where(x > 0, x, x * slopes)


def clipped(c: Call, x: Any) -> Any:
    """x between two numbers, which have to be there."""
    o = c.options("clip")
    if not o.fields.keys() >= {"min", "max"}:
        o.refuse("a Clip needs min and max")
    return st.clip(x, o.get("min", 0.0), o.get("max", 0.0))


RULES: Mapping[str, Rule] = {
    "Convolution": convolved, "Deconvolution": convolved, "InnerProduct": inner_product, "Pooling": pooled,
    "LRN": normalised_locally, "BatchNorm": normalised, "Scale": scaled, "Concat": joined, "Slice": cut,
    "Eltwise": combined, "Reshape": reshaped, "Flatten": flattened, "Crop": cropped, "Reduction": reduced,
    "ArgMax": largest, "Embed": embedded, "Tile": tiled, "MVN": centred, "ReLU": rectified, "PReLU": learned,
    "Bias":     lambda c, x, *more: x + spread(c, x, more, c.options("bias")),
    "ELU":      lambda c, x: F.elu(x, c.options("elu").get("alpha", 1.0)),
    "Clip":     clipped,
    "Swish":    lambda c, x: x * st.sigmoid(c.options("swish").get("beta", 1.0) * x),
    "Threshold": lambda c, x: (x > c.options("threshold").get("threshold", 0.0)).astype(x.dtype),
    "Sigmoid":  lambda c, x: st.sigmoid(x),
    "TanH":     lambda c, x: st.tanh(x),
    "AbsVal":   lambda c, x: abs(x),
    "BNLL":     lambda c, x: F.softplus(x),
    "Softmax":  lambda c, x: st.softmax(x, axis_of(c.options("softmax"), x)),
    "Dropout":  lambda c, x: F.dropout(x, c.options("dropout").get("dropout_ratio", 0.5), c.training),
    "Split":    lambda c, x: (x,) * len(c.layer.tops),
    "Silence":  lambda c, *x: (),
    "Permute":  lambda c, x: st.permute_dims(x, order_of(c, x)),
    "Power":    lambda c, x: affine(c, x, "power") ** c.options("power").get("power", 1.0),
    "Exp":      lambda c, x: st.exp(affine(c, x, "exp") * logarithm(c, "exp")),
    "Log":      lambda c, x: st.log(affine(c, x, "log")) / logarithm(c, "log"),
}


def order_of(c: Call, x: Any) -> tuple[int, ...]:
    """The axes in their new order, those that are not named behind."""
    order = c.options("permute").all("order", int)
    if len({*order}) != len(order) or any(not 0 <= k < x.ndim for k in order):
        c.options("permute").refuse(f"order needs different axes of {x.ndim}, got {order!s:.60}")
    return (*order, *(k for k in range(x.ndim) if k not in order))


WEIGHTS: Mapping[str, tuple[str, ...]] = {
    "Convolution": ("weight", "bias"), "Deconvolution": ("weight", "bias"), "InnerProduct": ("weight", "bias"),
    "BatchNorm": ("mean", "variance", "factor"), "Scale": ("weight", "bias"), "Bias": ("bias",), "PReLU": ("weight",),
    "Embed": ("weight", "bias"),
}
"""What the blobs of a layer are called, in their order."""

BIASES: Mapping[str, tuple[str, bool]] = {
    "Convolution": ("convolution_param", True), "Deconvolution": ("convolution_param", True),
    "InnerProduct": ("inner_product_param", True), "Embed": ("embed_param", True), "Scale": ("scale_param", False),
}
"""Which options say whether a layer has a bias, and whether it has one where they do not."""


def blobs_of(n: Layer) -> tuple[str, ...]:
    """What the blobs of a layer are called that its options ask for."""
    words = WEIGHTS.get(n.type, ())
    if n.type in ("Scale", "Bias") and len(n.bottoms) > 1:      # what is multiplied or added comes as a blob
        words = words[1:]
    name, usual = BIASES.get(n.type, ("", True))
    return words if not name or n.options(name).get("bias_term", usual) else tuple(w for w in words if w != "bias")
