"""Keras's layers that move elements, and those that merge several inputs."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
import string
from collections.abc import Callable
from functools import reduce
from typing import Any

import stele as st
from stele.errors import ShapeError
from stele.interop.keras.call import Call, Kind, Kinds, Rule


def flatten(c: Call, x: Any) -> Any:
    """Each example as one row, its channels last."""
    x = st.permute(x, (0, *range(2, x.ndim), 1)) if c.channels_first() and x.ndim > 1 else x
    return x.reshape((x.shape[0], math.prod(x.shape[1:])))


def reshape(c: Call, x: Any) -> Any:
    """Each example in another shape, of which one size may be left open."""
    shape = c.options.get("target_shape")
    if not isinstance(shape, list) or any(type(n) is not int or n < -1 for n in shape) or shape.count(-1) > 1:
        raise c.options.wrong("target_shape", "a list of sizes, one of them -1")
    known = math.prod(n for n in shape if n != -1)
    rest = math.prod(x.shape[1:]) // known if known else 0
    return x.reshape((x.shape[0], *(rest if n == -1 else n for n in shape)))


def permute(c: Call, x: Any) -> Any:
    """The axes behind the batch in another order, counted from 1."""
    return st.permute(x, (0, *c.options.each("dims", x.ndim - 1)))


def repeated(c: Call, x: Any) -> Any:
    """x (N, F) as n equal steps (N, n, F)."""
    return st.broadcast_to(x[:, None], (x.shape[0], c.options.whole("n"), x.shape[1]))


def padded(n: int) -> Rule:
    """Zeros around n axes."""
    def rule(c: Call, x: Any) -> Any:
        around = c.options.pairs("padding", n, 1)
        return st.pad(x, [(0, 0), (0, 0), *around] if is_first(c) else [(0, 0), *around, (0, 0)])

    return rule


def is_first(c: Call) -> bool:
    """Whether a layer that may lack a layout has channels behind the batch."""
    return "data_format" in c.options.values and c.channels_first()


def cropped(n: int) -> Rule:
    """Less around n axes."""
    def rule(c: Call, x: Any) -> Any:
        cuts, at = c.options.pairs("cropping", n, 1), 2 if is_first(c) else 1
        if any(type(size) is int and lo + hi >= size for (lo, hi), size in zip(cuts, x.shape[at:])):
            raise ShapeError(f"{c.options.source} crops {cuts}, which leaves nothing of {tuple(x.shape)}")
        inside = [slice(lo, size - hi) for (lo, hi), size in zip(cuts, x.shape[at:])]
        return x[(slice(None),) * at + tuple(inside)]

    return rule


def merge(f: Callable[[Any, Any], Any]) -> Rule:
    """Several inputs, two at a time; those of fewer axes get some behind the batch."""
    return lambda c, xs: reduce(f, levelled(xs))


def levelled(xs: list[Any]) -> list[Any]:
    """Inputs of as many axes each."""
    most = max(x.ndim for x in xs)
    return [x.reshape((x.shape[0], *(1,) * (most - x.ndim), *x.shape[1:])) if x.ndim < most else x for x in xs]


def dot(c: Call, xs: list[Any]) -> Any:
    """The sum of products along one axis of either."""
    x, z = xs
    said = c.options.get("axes")
    a, b = said if isinstance(said, list) and len(said) == 2 else (said, said)
    if type(a) is not int or type(b) is not int or not (-x.ndim < a < x.ndim and -z.ndim < b < z.ndim):
        raise c.options.wrong("axes", "one axis, or one of either input")
    a, b = a % x.ndim, b % z.ndim
    if c.options.flag("normalize"):
        x, z = (v * st.rsqrt(st.maximum(st.sum(v * v, axis=k, keepdims=True), 1e-14)) for v, k in ((x, a), (z, b)))
    letters = iter(string.ascii_letters[2:])
    left = ["a", *(next(letters) for _ in range(x.ndim - 1))]
    right = ["a", *(next(letters) for _ in range(z.ndim - 1))]
    left[a] = right[b] = "b"
    rest = [k for k in left[1:] + right[1:] if k != "b"]
    y = st.einsum(f"{''.join(left)},{''.join(right)}->a{''.join(rest)}", x, z)
    return y if rest else y[:, None]


def either(c: Call, y: Any) -> Any:
    """Steps that count in any of the inputs, where all have a mask."""
    return None if any(m is None for m in c.masks) else reduce(st.logical_or, c.masks)


def joined_masks(c: Call, y: Any) -> Any:
    """Steps that count in all of the inputs, or the masks one behind the other."""
    if all(m is None for m in c.masks):
        return None
    xs, axis = c.given[0], c.options.axis("axis", y.ndim)
    whole = [st.ones(x.shape, dtype="bool") if m is None else st.broadcast_to(m[..., None], x.shape)
             for x, m in zip(xs, c.masks)]
    return st.all(st.concatenate(whole, axis=axis), axis=-1)


KINDS: Kinds = {
    "Flatten": Kind(flatten), "Reshape": Kind(reshape), "Permute": Kind(permute), "RepeatVector": Kind(repeated),
    **{f"ZeroPadding{n}D": Kind(padded(n)) for n in (1, 2, 3)},
    **{f"Cropping{n}D": Kind(cropped(n)) for n in (1, 2, 3)},
    "Add": Kind(merge(lambda x, z: x + z), mask=either),
    "Subtract": Kind(merge(lambda x, z: x - z), mask=either),
    "Multiply": Kind(merge(lambda x, z: x * z), mask=either),
    "Average": Kind(lambda c, xs: sum(levelled(xs)[1:], levelled(xs)[0]) / len(xs), mask=either),
    "Maximum": Kind(merge(st.maximum), mask=either),
    "Minimum": Kind(merge(st.minimum), mask=either),
    "Concatenate": Kind(lambda c, xs: st.concatenate(xs, axis=c.options.axis("axis", xs[0].ndim)), mask=joined_masks),
    "Dot": Kind(dot),
}
