"""PyTorch's ops that move elements: shapes, slices, joins and padding."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stele as st
from stele.interop.torch.elementwise import Rules
from stele.nn import functional as F

LAST = 2 ** 63 - 1      # the end of a slice that has none


def same(x: Any, *_: Any) -> Any:
    """x itself."""
    return x


def cat(xs: Sequence[Any], axis: int = 0) -> Any:
    """Arrays joined along an axis; a vector of nothing beside others is left out."""
    full = [x for x in xs if not (x.ndim == 1 and is_empty(x.shape[0]))] or list(xs[:1])
    return st.concatenate(full, axis=axis)


def is_empty(n: Any) -> bool:
    """Whether a size is known to be zero."""
    return isinstance(n, int) and n == 0


def expand(x: Any, shape: Sequence[Any], *_: Any) -> Any:
    """x broadcast to a shape, of which -1 is what x has."""
    lead = len(shape) - x.ndim
    sizes = [x.shape[k - lead] if isinstance(n, int) and n == -1 else n for k, n in enumerate(shape)]
    return st.broadcast_to(x, tuple(sizes))


def place(x: Any, axis: int, key: Any) -> tuple[Any, ...]:
    """What picks `key` along an axis."""
    return (*(slice(None),) * (axis % max(x.ndim, 1)), key)


def between(start: Any, end: Any, step: Any = 1) -> slice:
    """A slice; an end that is out of reach is none."""
    return slice(start, None if isinstance(end, int) and end >= LAST else end, step)


def put(x: Any, source: Any, axis: int, key: Any) -> Any:
    """x with something else in the places of a key along an axis."""
    y = x.clone()
    y[place(x, axis, key)] = source
    return y


def parts(x: Any, sizes: Sequence[Any], axis: int) -> Any:
    """x in parts of some sizes along an axis."""
    found: list[Any] = []
    start: Any = 0
    for n in sizes:
        found.append(x[place(x, axis, slice(start, start + n))])
        start = start + n
    return tuple(found)


def chunks(x: Any, size: Any, axis: int) -> Any:
    """x in parts of one size along an axis; the last may be smaller."""
    n = x.shape[axis]
    return parts(x, [min(size, n - k) for k in range(0, n, size)] or [0], axis)


def squeeze(x: Any, dims: Any = None) -> Any:
    """x without the axes among some that have length 1, or without all that have."""
    named = range(x.ndim) if dims is None else [dims] if isinstance(dims, int) else dims
    gone = {k % x.ndim for k in named if x.ndim}
    return x.reshape(tuple(n for k, n in enumerate(x.shape) if not (k in gone and isinstance(n, int) and n == 1)))


def diagonal_put(x: Any, source: Any, offset: int = 0, a: int = 0, b: int = 1) -> Any:
    """x with a diagonal of others."""
    y = x.clone()
    y.diagonal(offset, a, b)[...] = source
    return y


def repeat(x: Any, times: Sequence[Any]) -> Any:
    """x so many times along each axis."""
    return st.tile(x.reshape((1,) * (len(times) - x.ndim) + tuple(x.shape)), tuple(times))


def strided(x: Any, shape: Sequence[Any], strides: Sequence[Any], offset: Any = 0) -> Any:
    """The elements of x, which lie in order, at an offset and strides."""
    return st.take(x.reshape(-1), strided_places(shape, strides, offset), axis=0)


def strided_put(x: Any, source: Any, shape: Sequence[Any], strides: Sequence[Any], offset: Any = 0) -> Any:
    """x, which lies in order, with others for the elements at an offset and strides."""
    flat = x.reshape(-1).clone()
    flat[strided_places(shape, strides, offset)] = source
    return flat.reshape(tuple(x.shape))


def strided_places(shape: Sequence[Any], strides: Sequence[Any], offset: Any) -> Any:
    """Where elements lie at an offset and strides."""
    at: Any = st.full(tuple(shape), offset or 0, dtype="int64")
    for k, (n, step) in enumerate(zip(shape, strides)):
        at = at + st.arange(n).reshape((-1,) + (1,) * (len(shape) - 1 - k)) * step
    return at


def padded(mode: str) -> Any:
    """Padding of the last axes, of a mode."""
    def rule(x: Any, widths: Sequence[Any], value: Any = None) -> Any:
        if mode == "constant" and x.dtype == "bool":
            return F.pad(x.astype("uint8"), widths, value=int(value or 0)) != 0
        return F.pad(x, list(widths), mode, value)

    return rule


def constant_pad(x: Any, widths: Sequence[Any], value: Any = 0) -> Any:
    """x with a number around its last axes; negative widths cut."""
    number = value if x.dtype.is_float or isinstance(value, complex) else int(value)
    return padded("constant")(x, list(widths), number)


def axes_swapped(x: Any, a: int, b: int) -> Any:
    """x with two axes swapped."""
    return st.swapaxes(x, a, b) if x.ndim else x


RULES: Rules = {
    "alias clone contiguous lift_fresh_copy": same, "detach detach_": st.stop_gradient,
    "copy": lambda x, source: st.broadcast_to(source, tuple(x.shape)).astype(x.dtype),
    "cat": cat, "stack": lambda xs, axis=0: st.stack(xs, axis=axis),
    "expand": expand, "view reshape _unsafe_view": lambda x, shape: x.reshape(tuple(shape)),
    "permute": lambda x, order: st.permute(x, tuple(order)) if x.ndim else x,
    "transpose.int": axes_swapped, "t": lambda x: axes_swapped(x, 0, 1) if x.ndim == 2 else x,
    "flip": lambda x, dims: st.flip(x, axis=tuple(dims)) if dims else x,
    "repeat": repeat, "unsqueeze": lambda x, dim: st.unsqueeze(x, dim),
    "squeeze squeeze.dim squeeze.dims": squeeze,
    "select.int": lambda x, dim, k: x[place(x, dim, k)],
    "slice.Tensor": lambda x, dim, start, end, step: x[place(x, dim, between(start, end, step))],
    "select_scatter": lambda x, source, dim, k: put(x, source, dim, k),
    "slice_scatter": lambda x, source, dim, start, end, step: put(x, source, dim, between(start, end, step)),
    "split_with_sizes": parts, "split.Tensor": chunks,
    "unbind.int": lambda x, dim=0: tuple(x[place(x, dim, k)] for k in range(x.shape[dim])),
    "diagonal": lambda x, offset, a, b: st.diagonal(x, offset, a, b), "diagonal_scatter": diagonal_put,
    "as_strided": strided, "as_strided_scatter": strided_put,
    "constant_pad_nd": constant_pad,
    "reflection_pad1d reflection_pad2d reflection_pad3d": padded("reflect"),
    "replication_pad1d replication_pad2d replication_pad3d": padded("replicate"),
    "unfold": lambda x, dim, size, step: st.unfold(x, dim, size, step),
    "roll": lambda x, shifts, dims: st.roll(x, tuple(shifts), tuple(dims)) if dims else st.roll(x, shifts[0]),
    "tril": lambda x, k=0: st.tril(x, k), "triu": lambda x, k=0: st.triu(x, k),
}
