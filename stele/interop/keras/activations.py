"""Keras's activations, by name and as layers."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st
from stele.errors import DataError
from stele.interop.keras.call import Call, Kind, Kinds, kept, named
from stele.interop.keras.options import Options
from stele.nn import functional as F


def relu(x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """x from a threshold on, at most a value; below it a slope."""
    y = st.where(x > threshold, x, negative_slope * (x - threshold)) if threshold or negative_slope else st.relu(x)
    return y if max_value is None else st.minimum(y, max_value)


def sparsemax(x: Any) -> Any:
    """x less a threshold where that is above 0, as Keras computes it (after Martins and Astudillo, 2016)."""
    ordered = st.flip(st.sort(x, axis=-1), axis=-1)
    total, k = st.cumsum(ordered, axis=-1), st.arange(1, x.shape[-1] + 1).astype(x.dtype)
    inside = (ordered - (total - 1) / k > 0).astype(x.dtype)
    least = (st.sum(inside * total, axis=-1, keepdims=True) - 1) / st.sum(inside, axis=-1, keepdims=True)
    return st.relu(x - least)


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda x: x, "relu": st.relu, "relu6": F.relu6, "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "elu": F.elu, "selu": F.selu, "celu": F.celu, "gelu": F.gelu, "softplus": st.softplus, "softsign": F.softsign,
    "silu": st.silu, "swish": st.silu, "mish": F.mish, "tanh": st.tanh, "sigmoid": st.sigmoid, "exponential": st.exp,
    "hard_sigmoid": F.hardsigmoid, "hard_silu": F.hardswish, "hard_swish": F.hardswish,
    "hard_tanh": lambda x: st.clip(x, -1.0, 1.0), "log_sigmoid": st.log_sigmoid, "tanh_shrink": F.tanhshrink,
    "soft_shrink": F.softshrink, "hard_shrink": F.hardshrink, "glu": F.glu,
    "squareplus": lambda x: (x + st.sqrt(x * x + 4)) / 2, "sparse_sigmoid": lambda x: st.clip((x + 1) / 2, 0.0, 1.0),
    "sparse_plus": lambda x: st.where(x <= -1, 0.0, st.where(x < 1, (x + 1) ** 2 / 4, x)),
    "softmax": lambda x: st.softmax(x), "log_softmax": lambda x: st.log_softmax(x), "sparsemax": sparsemax,
}


def word(options: Options, name: str) -> str | None:
    """The name of an activation as an option says it, None where it is none of Keras's."""
    found = options.get(name) or "linear"
    if isinstance(found, dict) and found.get("class_name") == "function":
        found = found.get("config")
    return found if isinstance(found, str) and found in ACTIVATIONS else None


def activation(c: Call, name: str = "activation") -> Callable[[Any], Any]:
    """The activation that an option names."""
    found = word(c.options, name)
    if found is None:
        raise DataError(f"{name} of {c.options.source} is none of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[found]


def unknown(*names: str) -> Callable[[Options], str | None]:
    """Which of these options names an activation that is unknown, in words."""
    def lacks(options: Options) -> str | None:
        return next((f"{name}={options.get(name)!r:.60}" for name in names if word(options, name) is None), None)

    return lacks


def relu_layer(c: Call, x: Any) -> Any:
    """The layer: a slope below the threshold, and a largest value."""
    o = c.options
    most = None if o.get("max_value") is None else o.number("max_value")
    return relu(x, o.number("negative_slope", 0.0), most, o.number("threshold", 0.0))


def leaky(c: Call, x: Any) -> Any:
    """A slope below 0, under the name that it has or had."""
    return F.leaky_relu(x, c.options.number("alpha" if "alpha" in c.options.values else "negative_slope", 0.3))


def softmax(c: Call, x: Any, mask: Any = None) -> Any:
    """Over one axis or several; what the mask leaves out counts for nothing."""
    mask = c.mask if mask is None else mask
    x = x if mask is None else st.where(mask, x, -1e9 if x.dtype != "float16" else -3e4)
    axes = c.options.axes("axis", x.ndim)
    if len(axes) == 1:
        return st.softmax(x, axis=axes[0])
    return st.exp(x - st.logsumexp(x, axis=axes, keepdims=True))


ACTIVATION = unknown("activation")

KINDS: Kinds = {
    "Activation": Kind(lambda c, x: activation(c)(x), mask=kept, lacks=ACTIVATION),
    "ReLU": Kind(relu_layer, mask=kept),
    "LeakyReLU": Kind(leaky, mask=kept),
    "PReLU": Kind(lambda c, x: st.where(x > 0, x, c["alpha"] * x), named("alpha"), mask=kept),
    "ELU": Kind(lambda c, x: F.elu(x, c.options.number("alpha", 1.0)), mask=kept),
    "Softmax": Kind(softmax, mask=kept),
    "ThresholdedReLU": Kind(lambda c, x: st.where(x > c.options.number("theta", 1.0), x, 0.0), mask=kept),
}
