"""ONNX's ops on images: resized, sampled, boxes, patches put together, decoded."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

import stele as st
from stele.data.images import unpacked
from stele.errors import DataError
from stele.interop.onnx.model import Array
from stele.interop.onnx.values import Call, Rules, host, ints, number

FORMATS = ("JPEG", "JPEG2000", "BMP", "PNG", "TIFF", "WEBP", "PPM")    # those of ImageDecoder


def resize(c: Call, x: Any, *given: Any) -> Any:
    """x in another size: each axis is multiplied with a matrix of weights, which the sizes alone decide; open ones stay
    open where the rest allows it."""
    given = given if c.version >= 11 else (None, *given)
    roi, scales, sizes = (*given, *[None] * (3 - len(given)))
    if c.version < 9 or c.node.op == "Upsample":
        scales = c.get("scales") if scales is None else scales
    axes = c.get("axes") or list(range(x.ndim))
    axes = [k % x.ndim for k in axes]
    n = [x.shape[k] for k in axes]
    wanted = None if sizes is None or not len(ints(sizes)) else ints(sizes)
    if wanted is not None:
        factor, wanted = kept(c.get("keep_aspect_ratio_policy", "stretch"), wanted, n)
    else:
        factor = [int(s) if s == s // 1 else s for s in (scales if isinstance(scales, list) else host(scales).tolist())]
        wanted = [scaled(size, f) for size, f in zip(n, factor)]
    region = None if roi is None or not host(roi).size else host(roi).astype(np.float64).tolist()
    y = x
    for k, axis in enumerate(axes):
        if wanted[k] != n[k] or factor[k] != 1 or c.get("coordinate_transformation_mode") == "tf_crop_and_resize":
            span = (region[k], region[k + len(axes)]) if region else (0.0, 1.0)
            y = resized(c, y, axis, wanted[k], factor[k], span)
    return y.astype(x.dtype)


def scaled(n: int, factor: float) -> int:
    """A size times a factor, rounded down as float32 has it: 7 of 5 * 1.4. An open one stays open for halves."""
    p, q = factor.as_integer_ratio()
    return n * p // q if q <= 16 else math.floor(np.float32(n) * np.float32(factor))


def ratio(size: int, n: int) -> float:
    """What n is multiplied with to be a size: nobody asks for the numbers of open ones where it divides out."""
    whole = size // n
    return whole if whole * n == size else size / n


def kept(policy: str, wanted: Sequence[int], n: Sequence[int]) -> tuple[list[float], list[int]]:
    """Scales and sizes, the same scale for all axes where the aspect is to be kept."""
    scales = list(map(ratio, wanted, n))
    if policy == "stretch":
        return scales, list(wanted)
    one = min(scales) if policy == "not_larger" else max(scales)
    return [one] * len(n), [math.floor(one * size + 0.5) for size in n]


def resized(c: Call, x: Any, axis: int, size: int, scale: float, span: tuple[float, float]) -> Any:
    """x with one axis in another size."""
    n, outside, mode = x.shape[axis], c.get("extrapolation_value", 0.0), c.get("mode", "nearest")
    kit = st if is_open(c, n, size) else np
    if kit is np:
        n, size = int(n), int(size)
    at = coordinates(c, kit, n, size, scale, span)
    beyond = (at < 0) | (at > n - 1) if c.get("coordinate_transformation_mode") == "tf_crop_and_resize" else None
    if mode == "nearest":
        y = st.take(x, st.asarray(kit.clip(nearest(c, kit, at), 0, n - 1).astype("int64")), axis=axis)
    else:
        wide = x if x.dtype.is_float else x.astype("float32")
        dtype = wide.dtype.name if wide.dtype.bits > 16 else "float32"
        tent = weights(c, at, n, min(scale, 1.0), mode) if kit is np else st.relu(
            1 - st.abs(st.clip(at, 0, n - 1)[:, None] - st.arange(n)))
        m = st.asarray(tent.astype(dtype))
        y = st.moveaxis(st.matmul(st.moveaxis(wide, axis, -1), st.matrix_transpose(m)), -1, axis)
        if not x.dtype.is_float:
            low, high = (0, 255) if x.dtype == "uint8" else (-math.inf, math.inf)
            y = st.clip(st.round(y), low, high)
    if beyond is not None and beyond.any():
        y = st.where(st.tensor(beyond.reshape((-1,) + (1,) * (x.ndim - 1 - axis))), outside, y)
    return y


def is_open(c: Call, n: Any, size: Any) -> bool:
    """Whether an axis has an open size, and is resized in a way that needs no numbers of it."""
    is_simple = c.get("mode", "nearest") == "nearest" or (
        c.get("mode") == "linear" and not c.get("antialias", 0) and not c.get("exclude_outside", 0))
    return is_simple and not (isinstance(n, int) and isinstance(size, int)) and (
        c.get("coordinate_transformation_mode") not in ("half_pixel_symmetric", "tf_crop_and_resize"))


def coordinates(c: Call, kit: Any, n: int, size: int, scale: float, span: tuple[float, float]) -> Any:
    """Where in the old axis each place of the new one lies: an array of `kit`, which is NumPy, or Stele for open
    sizes."""
    k = kit.arange(size, dtype="float64")
    usual = "half_pixel" if c.version >= 11 and c.node.op == "Resize" else "asymmetric"
    match c.get("coordinate_transformation_mode", usual):
        case "half_pixel":
            return (k + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            adjusted = size / (n * scale)     # of a size that is no whole number
            return n / 2 * (1 - adjusted) + (k + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return (k + 0.5) / scale - 0.5 if size > 1 else kit.zeros_like(k)
        case "align_corners":
            return k * (n - 1) / (n * scale - 1) if size > 1 else kit.zeros_like(k)
        case "asymmetric" | "tf_half_pixel_for_nn" as how:
            return k / scale if how == "asymmetric" else (k + 0.5) / scale
        case "tf_crop_and_resize":
            start, end = span
            step = (end - start) * (n - 1) / (size - 1) if size > 1 else 0.0
            return start * (n - 1) + k * step if size > 1 else np.full_like(k, 0.5 * (start + end) * (n - 1))
        case other:
            raise DataError(f"Resize knows no coordinates {other!r}")


def nearest(c: Call, kit: Any, at: Any) -> Any:
    """The places next to coordinates."""
    match c.get("nearest_mode", "round_prefer_floor" if c.version >= 11 and c.node.op == "Resize" else "floor"):
        case "round_prefer_floor": return kit.ceil(at - 0.5)
        case "round_prefer_ceil":  return kit.floor(at + 0.5)
        case "floor":              return kit.floor(at)
        case _:                    return kit.ceil(at)


def weights(c: Call, at: Array, n: int, scale: float, mode: str) -> Array:
    """How much each old place weighs in each new one: (new, old)."""
    a = c.get("cubic_coeff_a", -0.75)
    reach = 1 if mode == "linear" else 2
    spread = scale if c.get("antialias", 0) else 1.0
    wide = math.ceil(reach / spread)
    base = np.floor(at)
    m = np.zeros((len(at), n))
    taps = base[:, None] + np.arange(1 - wide, wide + 1)
    d = np.abs(taps - at[:, None]) * spread
    w = np.maximum(1 - d, 0) if mode == "linear" else np.where(
        d <= 1, ((a + 2) * d - (a + 3)) * d * d + 1, np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0))
    inside = (taps >= 0) & (taps < n)
    if c.get("exclude_outside", 0):
        w = np.where(inside, w, 0)
    w = w / w.sum(1, keepdims=True)
    np.add.at(m, (np.arange(len(at))[:, None], np.clip(taps, 0, n - 1).astype(int)), w)
    return m


def grid_sample(c: Call, x: Any, grid: Any) -> Any:
    """x at the coordinates of a grid, over any number of axes."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(m := c.get("mode", "linear"), m)
    how, corners, axes = c.get("padding_mode", "zeros"), bool(c.get("align_corners", 0)), x.ndim - 2
    sizes = x.shape[2:]
    at = [placed(grid[..., axes - 1 - k], n, corners) for k, n in enumerate(sizes)]
    if mode == "nearest":
        return looked(x, [st.round(p) for p in at], how, corners)
    at = at if mode == "cubic" else [folded(p, n, how, corners) for p, n in zip(at, sizes)]
    reach = range(0, 2) if mode == "linear" else range(-1, 3)
    base = [st.floor(p) for p in at]
    found: Any = 0
    for offsets in product(reach, repeat=axes):
        w: Any = 1
        for p, b, o in zip(at, base, offsets):
            d = st.abs(p - (b + o))
            w = w * (1 - d if mode == "linear" else keys(d))
        found = found + looked(x, [b + o for b, o in zip(base, offsets)], how, corners) * st.unsqueeze(w, 1)
    return found.astype(x.dtype)


def placed(g: Any, n: int, corners: bool) -> Any:
    """Coordinates from -1 to 1 as places along an axis."""
    return (g + 1) / 2 * (n - 1) if corners else ((g + 1) * n - 1) / 2


def folded(p: Any, n: int, how: str, corners: bool) -> Any:
    """Places outside of an axis moved inside, where that is asked for."""
    if how == "border":
        return st.clip(p, 0, n - 1)
    if how != "reflection":
        return p
    low, high = (0.0, n - 1.0) if corners else (-0.5, n - 0.5)
    width = high - low
    if width == 0:
        return st.zeros_like(p)
    d = st.abs(p - low)
    turns = st.floor(d / width)
    rest = d - turns * width
    return st.clip(st.where(turns % 2 == 0, rest + low, high - rest), 0, n - 1)


def looked(x: Any, at: Sequence[Any], how: str, corners: bool) -> Any:
    """The elements of x at whole places, zeros outside where padding says so."""
    sizes = x.shape[2:]
    inside: Any = True
    flat: Any = 0
    for p, n in zip(at, sizes):
        p = folded(p, n, how, corners)
        inside = (p >= 0) & (p <= n - 1) & inside
        flat = flat * n + st.clip(p, 0, n - 1).astype("int64")
    rows = flat.reshape((x.shape[0], 1, -1))
    y = st.take_along_axis(x.reshape((*x.shape[:2], -1)), st.broadcast_to(rows, (*x.shape[:2], rows.shape[-1])), axis=2)
    y = y.reshape((*x.shape[:2], *flat.shape[1:]))
    return st.where(st.unsqueeze(inside, 1), y, 0) if how == "zeros" else y


def keys(d: Any, a: float = -0.75) -> Any:
    """Keys's cubic kernel."""
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return st.where(d <= 1, near, st.where(d < 2, far, 0))


def col2im(c: Call, x: Any, image: Any, block: Any) -> Any:
    """Columns of blocks added up to images, over any number of axes."""
    image_shape, block_shape = ints(image), ints(block)
    n = len(block_shape)
    stride, apart = c.get("strides") or [1] * n, c.get("dilations") or [1] * n
    pads = c.get("pads") or [0] * (2 * n)
    wide = [size + pads[k] + pads[k + n] for k, size in enumerate(image_shape)]
    counts = [(w - d * (k - 1) - 1) // s + 1 for w, k, s, d in zip(wide, block_shape, stride, apart)]
    places = np.zeros((math.prod(block_shape), math.prod(counts)), np.int64)
    for i, at in enumerate(np.ndindex(*block_shape)):
        for j, o in enumerate(np.ndindex(*counts)):
            places[i, j] = np.ravel_multi_index([s * q + d * p for s, q, d, p in zip(stride, o, apart, at)], wide)
    channels = x.shape[1] // math.prod(block_shape)
    rows = x.reshape((x.shape[0] * channels, -1))
    y = st.scatter(st.zeros((rows.shape[0], math.prod(wide)), dtype=x.dtype),
                   st.broadcast_to(st.tensor(places.reshape(1, -1)), rows.shape), rows, axis=1, mode="add")
    y = y.reshape((x.shape[0], channels, *wide))
    return y[(..., *(slice(pads[k], pads[k] + size) for k, size in enumerate(image_shape)))]


def roi_align(c: Call, x: Any, rois: Any, batch: Any) -> Any:
    """The mean or largest of samples in each cell of regions."""
    h, w, ratio = c.get("output_height", 1), c.get("output_width", 1), c.get("sampling_ratio", 0)
    scale = c.get("spatial_scale", 1.0)
    half = 0.5 if c.get("coordinate_transformation_mode", "half_pixel" if c.version >= 16 else "output_half_pixel") == \
        "half_pixel" else 0.0
    found: list[Any] = []
    for (x1, y1, x2, y2), k in zip(host(rois).astype(np.float64) * scale - half, ints(batch)):
        height, width = y2 - y1, x2 - x1
        if not half:
            height, width = max(height, 1.0), max(width, 1.0)
        many = [ratio or max(math.ceil(size / cells), 1) for size, cells in ((height, h), (width, w))]
        ys, xs = (start + (np.arange(cells)[:, None] + (np.arange(m) + 0.5) / m) * size / cells
                  for start, size, cells, m in ((y1, height, h, many[0]), (x1, width, w, many[1])))
        grid = sampled(x[int(k)], ys.reshape(-1), xs.reshape(-1), c.get("mode", "avg") == "max")
        cells = grid.reshape((grid.shape[0], -1, h, many[0], w, many[1]))
        found.append(st.mean(st.sum(cells, axis=1), axis=(2, 4)) if c.get("mode", "avg") == "avg" else st.max(
            cells, axis=(1, 3, 5)))
    return st.stack(found) if found else st.zeros((0, x.shape[1], h, w), dtype=x.dtype)


def sampled(x: Any, ys: Array, xs: Array, apart: bool) -> Any:
    """An image (C, H, W) between its pixels: the four weighed neighbours of each sample, (C, 4, len(ys), len(xs))."""
    sides: list[tuple[tuple[Array, Array], tuple[Array, Array]]] = []
    for at, n in ((ys, x.shape[1]), (xs, x.shape[2])):
        outside = (at < -1) | (at > n)
        p = np.clip(at, 0, None)
        low = np.minimum(np.floor(p), n - 1)
        p = np.where(low >= n - 1, n - 1, p)
        high = np.minimum(low + 1, n - 1)
        part = p - low
        low, high = low.astype(int), high.astype(int)
        sides.append(((low, np.where(outside, 0, 1 - part)), (high, np.where(outside, 0, part))))
    made = [st.take(st.take(x, st.tensor(i), axis=1), st.tensor(j), axis=2) * st.tensor(
        np.outer(a, b).astype(x.dtype.name)) for (i, a), (j, b) in product(*sides)]
    return st.stack(made, axis=1)


def suppressed(c: Call, boxes: Any, scores: Any, most: Any = None, overlap: Any = None, least: Any = None) -> Any:
    """Of boxes that overlap the one that scores best: (batch, class, box) of each that is left."""
    most_, limit = (0 if most is None else int(number(most))), (0.0 if overlap is None else float(number(overlap)))
    floor = -math.inf if least is None else float(number(least))
    all_boxes, all_scores = host(boxes).astype(np.float64), host(scores)
    found: list[tuple[int, int, int]] = []
    for b, k in np.ndindex(all_scores.shape[:2]):
        corners = corners_of(all_boxes[b], c.get("center_point_box", 0))
        kept: list[int] = []
        for i in np.argsort(-all_scores[b, k], kind="stable"):
            if len(kept) >= most_ or all_scores[b, k, i] <= floor:
                break
            if all(shared(corners[i], corners[j]) <= limit for j in kept):
                kept.append(int(i))
        found += [(b, k, i) for i in kept]
    return st.tensor(np.array(found, np.int64).reshape(-1, 3))


def corners_of(boxes: Array, centred: int) -> Array:
    """Boxes by their lower and upper corners."""
    if centred:
        return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)
    return np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1)


def shared(a: Array, b: Array) -> float:
    """What two boxes have in common, over what they cover together."""
    inner = np.prod(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0))
    both = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - inner
    return float(inner / both) if both > 0 else 0.0


def decode(c: Call, stream: Any) -> Any:
    """The pixels of a file of an image: (H, W, channels)."""
    form = c.get("pixel_format", "RGB")
    pixels = np.asarray(unpacked(host(stream).tobytes(), "L" if form == "Grayscale" else "RGB", "an input", FORMATS))
    pixels = pixels[..., None] if form == "Grayscale" else pixels[..., ::-1] if form == "BGR" else pixels
    return st.tensor(np.ascontiguousarray(pixels))


def deform_conv(c: Call, x: Any, w: Any, offset: Any, bias: Any = None, mask: Any = None) -> Any:
    """A convolution whose taps are moved by offsets, and weighed by a mask."""
    kernel, n = w.shape[2:], len(w.shape[2:])
    stride, apart = c.get("strides") or [1] * n, c.get("dilations") or [1] * n
    pads, groups, sets = c.get("pads") or [0] * (2 * n), c.get("group", 1), c.get("offset_group", 1)
    out, taps = offset.shape[2:], math.prod(kernel)
    moved = offset.reshape((x.shape[0], sets, taps, n, *out))
    columns: list[Any] = []
    for g in range(sets):
        part = x[:, g * (x.shape[1] // sets):(g + 1) * (x.shape[1] // sets)]
        for t, tap in enumerate(np.ndindex(*kernel)):
            at = []
            for k in range(n):
                own = st.arange(out[k]).reshape((-1,) + (1,) * (n - 1 - k)) * stride[k] - pads[k] + tap[k] * apart[k]
                at.append(moved[:, g, t, k] + own.astype(x.dtype))
            y = between(part, at)
            weigh = 1 if mask is None else mask.reshape((x.shape[0], sets, taps, *out))[:, g, t].unsqueeze(1)
            columns.append(y * weigh)
    each = [st.stack(columns[g * taps:(g + 1) * taps], axis=2) for g in range(sets)]
    table = st.concatenate(each, axis=1)        # (N, C, taps, *out)
    rows = table.reshape((x.shape[0], groups, x.shape[1] // groups * taps, -1))
    y = (w.reshape((groups, w.shape[0] // groups, -1)) @ rows).reshape((x.shape[0], w.shape[0], *out))
    return y if bias is None else y + bias.reshape((-1,) + (1,) * n)


def between(x: Any, at: Sequence[Any]) -> Any:
    """x between its elements, linearly, zeros outside."""
    base = [st.floor(p) for p in at]
    found: Any = 0
    for offsets in product((0, 1), repeat=len(at)):
        w = reduce(lambda a, b: a * b, [1 - st.abs(p - (b + o)) for p, b, o in zip(at, base, offsets)])
        found = found + looked(x, [b + o for b, o in zip(base, offsets)], "zeros", True) * st.unsqueeze(w, 1)
    return found


RULES: Rules = {
    "Resize": resize, "Upsample": resize, "GridSample": grid_sample, "Col2Im": col2im, "RoiAlign": roi_align,
    "NonMaxSuppression": suppressed, "ImageDecoder": decode, "DeformConv": deform_conv,
}
