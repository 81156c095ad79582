"""ONNX's ops that move elements: shapes, slices, joins, gathers and scatters."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
from typing import Any

import numpy as np

import stele as st
from stele.interop.onnx.values import Call, Rules, dtype_named, dtype_of, host, ints, number, shape_of, value, vector
from stele.nn import functional as F


def reshape(c: Call, x: Any, shape: Any = None) -> Any:
    """x in another shape: 0 keeps a size unless `allowzero`, -1 is what is left."""
    wanted = c.get("shape") if shape is None else ints(shape)
    sizes = [x.shape[k] if isinstance(n, int) and n == 0 and not c.get("allowzero", 0) else n
             for k, n in enumerate(wanted)]
    return x.reshape(tuple(sizes))


def shape(c: Call, x: Any) -> Any:
    """The sizes of x, or some of them."""
    sizes = shape_of(x)
    n = len(sizes)
    start, end = (min(max(k + n if k < 0 else k, 0), n) for k in (c.get("start", 0), c.get("end", n)))
    return vector(sizes[start:max(start, end)])


def transpose(c: Call, x: Any) -> Any:
    """x with its axes in another order: backwards without one."""
    order = tuple(c.get("perm") or range(x.ndim)[::-1])
    return np.transpose(x, order) if isinstance(x, np.ndarray) else st.permute_dims(x, order)


def squeeze(c: Call, x: Any, axes: Any = None) -> Any:
    """x without axes of length 1: those named, or all."""
    named = c.get("axes") if axes is None else ints(axes)
    kept = {k % x.ndim for k in named} if named else {k for k, n in enumerate(x.shape) if n == 1}
    return x.reshape(tuple(n for k, n in enumerate(x.shape) if k not in kept)) if isinstance(x, np.ndarray) \
        else st.squeeze(x, axis=tuple(kept))


def unsqueeze(c: Call, x: Any, axes: Any = None) -> Any:
    """x with new axes of length 1, at these places of the result."""
    named = c.get("axes") if axes is None else ints(axes)
    n = x.ndim + len(named)
    new = {k % n for k in named}
    sizes = iter(x.shape)
    return x.reshape(tuple(1 if k in new else next(sizes) for k in range(n)))


def flatten(c: Call, x: Any) -> Any:
    """x as a matrix whose rows begin at an axis."""
    axis = c.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))     # open sizes stay open


def concat(c: Call, *x: Any) -> Any:
    """Arrays joined along an axis."""
    if any(isinstance(part, np.ndarray) for part in x):
        return np.concatenate([host(part) for part in x], c.get("axis", 1))
    return st.concatenate(list(x), axis=c.get("axis", 1))


def split(c: Call, x: Any, sizes: Any = None) -> Any:
    """x in parts along an axis: of these sizes, or of equal ones of which the last may be shorter."""
    axis = c.get("axis", 0)
    parts = c.get("split") if sizes is None else ints(sizes)
    if not parts:
        n, count = x.shape[axis], c.get("num_outputs", c.count)
        each = -(-n // count)
        parts = [min(each, n - k * each) for k in range(count)]
    ends = np.cumsum(parts)
    lead = (slice(None),) * (axis % x.ndim)
    return tuple(x[(*lead, slice(int(end - n), int(end)))] for n, end in zip(parts, ends))


def sliced(c: Call, x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Any:
    """x between bounds along axes."""
    if c.version < 10:
        starts, ends, axes = c.get("starts"), c.get("ends"), c.get("axes")
    starts, ends = ints(starts), ints(ends)
    axes = range(len(starts)) if axes is None else ints(axes)
    steps = [1] * len(starts) if steps is None else ints(steps)
    key: list[Any] = [slice(None)] * x.ndim
    for a, b, axis, step in zip(starts, ends, axes, steps):
        key[axis] = slice(a, held(b, x.shape[axis], step), step)
    return x[tuple(key)]


def held(end: Any, n: Any, step: int) -> Any:
    """The end of a slice: far below 0 is before the first element."""
    return None if step < 0 and isinstance(end, int) and isinstance(n, int) and end < -n else end


def gather(c: Call, x: Any, indices: Any) -> Any:
    """The parts of x at indices along an axis, negative ones from its end."""
    axis = c.get("axis", 0)
    if isinstance(x, np.ndarray):
        return np.take(x, host(indices), axis)
    return st.take(x, wrapped(indices, x.shape[axis]), axis=axis)


def wrapped(indices: Any, n: Any) -> Any:
    """Indices of which negative ones count from the end."""
    return st.where(indices < 0, indices + n, indices)


def gather_elements(c: Call, x: Any, indices: Any) -> Any:
    """Of each place the element at an index along an axis."""
    axis = c.get("axis", 0)
    return st.take_along_axis(x, wrapped(indices, x.shape[axis]), axis=axis)


def index_tuple(x: Any, indices: Any, lead: int) -> tuple[Any, ...]:
    """Indices whose last axis names an element, as one array for each axis of x behind the first `lead`."""
    found = tuple(wrapped(indices[..., k], x.shape[lead + k]) for k in range(indices.shape[-1]))
    first = tuple(st.arange(x.shape[k]).reshape((-1,) + (1,) * (indices.ndim - 2 - k)) for k in range(lead))
    return (*first, *found)


def gather_nd(c: Call, x: Any, indices: Any) -> Any:
    """The parts of x that the last axis of indices names."""
    return x[index_tuple(x, indices, c.get("batch_dims", 0))]


def scatter_elements(c: Call, x: Any, indices: Any, updates: Any) -> Any:
    """x with updates at indices along an axis, or combined with what is there."""
    how = c.get("reduction", "none")
    return st.scatter(x, indices, updates, axis=c.get("axis", 0), mode="set" if how == "none" else how)


def scatter_nd(c: Call, x: Any, indices: Any, updates: Any) -> Any:
    """x with updates at the places that the last axis of indices names, or combined with what is there."""
    how, lead = c.get("reduction", "none"), indices.shape[-1]
    sizes, rest = x.shape[:lead], math.prod(x.shape[lead:])
    flat: Any = st.zeros(indices.shape[:-1], dtype="int64")
    for k, n in enumerate(sizes):
        flat = flat * n + wrapped(indices[..., k], n)
    at = st.broadcast_to(flat.reshape((-1, 1)), (math.prod(indices.shape[:-1]), rest))
    rows = st.scatter(x.reshape((math.prod(sizes), rest)), at, updates.reshape((-1, rest)),
                      axis=0, mode="set" if how == "none" else how)
    return rows.reshape(x.shape)


def reverse_sequence(c: Call, x: Any, lengths: Any) -> Any:
    """The first elements of each example backwards, as many as its length."""
    time, batch = c.get("time_axis", 0), c.get("batch_axis", 1)
    steps = st.arange(x.shape[time])
    n = lengths.reshape((-1, 1))
    at = st.where(steps < n, n - 1 - steps, steps)
    at = at if batch < time else at.T
    at = at.reshape(tuple(x.shape[k] if k in (time, batch) else 1 for k in range(x.ndim)))
    return st.take_along_axis(x, st.broadcast_to(at, x.shape), axis=time)


def pad(c: Call, x: Any, pads: Any = None, fill: Any = None, axes: Any = None) -> Any:
    """x with something around it; negative widths cut."""
    widths = c.get("pads", c.get("paddings")) if pads is None else ints(pads)
    named = list(range(x.ndim)) if axes is None else [k % x.ndim for k in ints(axes)]
    number_ = c.get("value", 0.0) if c.version < 11 else 0 if fill is None else number(fill)
    pairs: list[tuple[int, int]] = [(0, 0)] * x.ndim
    for k, axis in enumerate(named):
        pairs[axis] = (widths[k], widths[k + len(named)])
    mode = {"edge": "replicate", "wrap": "circular"}.get(how := str(c.get("mode", "constant")), how)
    flat = [n for pair in reversed(pairs) for n in pair]
    wide = x.astype("uint8") if x.dtype == "bool" else x
    y: Any = F.pad(wide, flat, mode, float(number_) if mode == "constant" else None)
    return st.asarray(y, dtype=x.dtype)


def topk(c: Call, x: Any, k: Any = None) -> Any:
    """The k largest or smallest along an axis, and where they stand."""
    n = c.get("k") if k is None else int(number(k))
    axis = c.get("axis", -1)
    values: Any
    places: Any
    values, places = st.topk(x, n, axis=axis, largest=bool(c.get("largest", 1)), sorted=True)
    return values, places.astype("int64")


def unique(c: Call, x: Any) -> Any:
    """The distinct elements, or slices along an axis: sorted or as they come, where each is first, and how often."""
    axis, array = c.get("axis"), host(x)
    found, first, inverse, counts = np.unique(array, True, True, True, axis)
    inverse = inverse.reshape(-1)
    if not c.get("sorted", 1):
        order = np.argsort(first, kind="stable")
        found, first, counts = np.take(found, order, axis or 0), first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    return tuple(value(v) for v in (found, *(v.astype(np.int64) for v in (first, inverse, counts))))[:max(c.count, 1)]


def nonzero(c: Call, x: Any) -> Any:
    """Where elements are not zero: a row for each axis."""
    return st.tensor(np.stack(np.nonzero(np.atleast_1d(host(x)))))


def compress(c: Call, x: Any, which: Any) -> Any:
    """The slices along an axis, or the elements, of which a condition says so."""
    axis = c.get("axis")
    x = x.reshape(-1) if axis is None else x
    places = np.flatnonzero(host(which))
    return st.take(x, st.tensor(places), axis=0 if axis is None else axis)


def tensor_scatter(c: Call, past: Any, new: Any, start: Any = None) -> Any:
    """A cache with new rows written in from a place on, round its end where that is asked for."""
    axis = c.get("axis", -2) % past.ndim
    n, size = new.shape[axis], past.shape[axis]
    first = st.zeros(past.shape[0], dtype="int64") if start is None else start.astype("int64")
    at = first.reshape((-1,) + (1,) * (past.ndim - 1)) + st.arange(n).reshape((-1,) + (1,) * (past.ndim - 1 - axis))
    at = at % size if c.get("mode", "linear") == "circular" else at
    return st.scatter(past, st.broadcast_to(at, new.shape), new, axis=axis)


def expand(c: Call, x: Any, shape: Any) -> Any:
    """x repeated to a shape with which it broadcasts."""
    wanted = ints(shape)
    n = max(len(wanted), x.ndim)
    own, wanted = [1] * (n - x.ndim) + list(x.shape), [1] * (n - len(wanted)) + wanted
    return st.broadcast_to(x, tuple(b if isinstance(a, int) and a == 1 else a for a, b in zip(own, wanted)))


def constant(c: Call) -> Any:
    """The value of an attribute."""
    for name in ("value", "sparse_value"):
        if (x := c.get(name)) is not None:
            return value(x)
    for name, dtype in (("value_int", "int64"), ("value_ints", "int64"), ("value_float", "float32"),
                        ("value_floats", "float32"), ("value_string", object), ("value_strings", object)):
        if (x := c.get(name)) is not None:
            return value(np.asarray(x, dtype))
    return None


def constant_of_shape(c: Call, shape: Any) -> Any:
    """An array of a shape that holds one number."""
    x = c.get("value")
    x = np.zeros(1, np.float32) if x is None else x
    if not isinstance(value(x), st.Tensor):
        return np.full(ints(shape), x.reshape(())[()], x.dtype)
    return st.full(tuple(ints(shape)), x.item(), dtype=x.dtype.name)


def arange(c: Call, start: Any, limit: Any, step: Any) -> Any:
    """Numbers from a start on, up to a limit."""
    x = np.arange(number(start), number(limit), number(step))
    return st.tensor(x.astype(start.dtype.numpy))


def tile(c: Call, x: Any, repeats: Any) -> Any:
    """x beside itself, so many times along each axis."""
    return st.tile(x, tuple(ints(repeats)))


def one_hot(c: Call, indices: Any, depth: Any, values: Any) -> Any:
    """Along a new axis the second value at an index, the first one elsewhere."""
    n, axis = int(number(depth)), c.get("axis", -1)
    axis = axis % (indices.ndim + 1)
    places = st.arange(n).reshape((n,) + (1,) * (indices.ndim - axis))
    at = st.unsqueeze(indices.astype("int64"), axis)
    return st.where(st.where(at < 0, at + n, at) == places, values[1], values[0])


def trilu(c: Call, x: Any, k: Any = None) -> Any:
    """The upper or lower triangle, from a diagonal on."""
    f = st.triu if c.get("upper", 1) else st.tril
    return f(x, k=0 if k is None else number(k))


def eye_like(c: Call, x: Any) -> Any:
    """Ones on a diagonal, in the shape of x."""
    dtype = dtype_named(c.get("dtype") or dtype_of(x)).name
    return st.eye(x.shape[0], x.shape[1], k=c.get("k", 0), dtype=dtype)


def depth_to_space(c: Call, x: Any) -> Any:
    """Blocks of channels as blocks of pixels."""
    b, (n, ch, h, w) = c.get("blocksize"), x.shape
    if c.get("mode", "DCR") == "DCR":
        y = st.permute_dims(x.reshape((n, b, b, ch // (b * b), h, w)), (0, 3, 4, 1, 5, 2))
    else:
        y = st.permute_dims(x.reshape((n, ch // (b * b), b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return y.reshape((n, ch // (b * b), h * b, w * b))


def space_to_depth(c: Call, x: Any) -> Any:
    """Blocks of pixels as blocks of channels."""
    b, (n, ch, h, w) = c.get("blocksize"), x.shape
    order = (0, 3, 5, 1, 2, 4) if c.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    y = st.permute_dims(x.reshape((n, ch, h // b, b, w // b, b)), order)
    return y.reshape((n, ch * b * b, h // b, w // b))


RULES: Rules = {
    "Reshape": reshape, "Shape": shape, "Size": lambda c, x: st.tensor(np.int64(np.prod(shape_of(x), dtype=np.int64))),
    "Transpose": transpose, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Flatten": flatten, "Concat": concat,
    "Split": split, "Slice": sliced, "Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd,
    "ScatterElements": scatter_elements, "Scatter": scatter_elements, "ScatterND": scatter_nd, "Expand": expand,
    "Constant": constant, "ConstantOfShape": constant_of_shape, "Range": arange, "Tile": tile, "OneHot": one_hot,
    "ReverseSequence": reverse_sequence, "Pad": pad, "TopK": topk, "Unique": unique, "NonZero": nonzero,
    "Compress": compress, "TensorScatter": tensor_scatter,
    "Trilu": trilu, "EyeLike": eye_like, "DepthToSpace": depth_to_space, "SpaceToDepth": space_to_depth,
}
