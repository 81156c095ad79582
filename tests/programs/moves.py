"""Movement, indexing and what is written in place: arguments, and what NumPy says."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.programs.numbers import EDGES, Array, common

if TYPE_CHECKING:
    from tests.programs.grammar import Growth


def reshape(g: Growth, x: str) -> Any:
    """Another shape of as many elements; open sizes keep their place or stand at -1."""
    shape = list(g.shape(x))
    match g.integer(0, 3):
        case 0:
            return (x,), {"shape": (-1,)}
        case 1 if len(shape) > 1:
            k = g.integer(0, len(shape) - 2)
            merged = -1 if g.is_open(x, k) or g.is_open(x, k + 1) else shape[k] * shape[k + 1]
            new = [*shape[:k], merged, *shape[k + 2:]]
        case 2 if len(shape) < 5:
            k = g.integer(0, len(shape))
            new = [*shape[:k], 1, *shape[k:]]
        case _:
            k = g.integer(0, len(shape) - 1) if shape else 0
            divisors = [d for d in (2, 3, 4, 5, 8) if shape and shape[k] % d == 0]
            d = g.choose(divisors)
            new = [*shape[:k], -1 if g.is_open(x, k) else shape[k] // d, d, *shape[k + 1:]]
    return (x,), {"shape": tuple(-1 if k != -1 and g.is_any_open(x, k) else k for k in new)}


def permute(g: Growth, x: str) -> Any:
    return (x,), {"order": tuple(int(k) for k in g.rng.permutation(g.ndim(x)))}


def axis(g: Growth, x: str) -> Any:
    return (x,), {"axis": g.axis(x)}


def new_axis(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) < 5)
    return (x,), {"axis": g.integer(0, g.ndim(x))}


def ones(g: Growth, x: str) -> Any:
    """Axes of length 1, named: of an open axis a placeholder cannot know."""
    return (x,), {"axis": g.choose([k for k, n in enumerate(g.shape(x)) if n == 1])}


def roll(g: Growth, x: str) -> Any:
    return (x,), {"shift": g.integer(-5, 5), "axis": g.axis(x)}


def repeat(g: Growth, x: str) -> Any:
    return (x,), {"times": g.integer(1, 3), "axis": g.axis(x)}


def pad(g: Growth, x: str) -> Any:
    widths = tuple((g.integer(0, 2), g.integer(0, 2)) if g.coin() else (0, 0) for _ in g.shape(x))
    return (x,), {"widths": widths, "value": g.choose([0, 0, 1])}


def triangle(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) >= 2)
    return (x,), {"k": g.integer(-2, 2)}


def joined(g: Growth, x: str) -> Any:
    """Two to four arrays that agree but for one axis."""
    k = g.integer(0, g.ndim(x) - 1)
    def rest(z: str) -> Any: return (*g.shape(z)[:k], *g.shape(z)[k + 1:])
    fits: list[Any] = [*g.names(lambda z: g.ndim(z) == g.ndim(x) and rest(z) == rest(x))]
    if g.is_mixed(0.3):
        fits = [g.array(g.dtype(x), (*g.shape(x)[:k], g.integer(1, 3), *g.shape(x)[k + 1:]))]
    others = [g.choose(fits) for _ in range(g.integer(1, 3))]
    return ((x, *others) if g.coin() else (*others, x)), {"axis": k}


def stacked(g: Growth, x: str) -> Any:
    fits: list[Any] = [*g.names(lambda z: g.shape(z) == g.shape(x) and g.dtype(z) == g.dtype(x))]
    fits = [g.array(g.dtype(x), g.shape(x))] if g.is_mixed(0.3) else fits
    g.need(g.ndim(x) < 5)
    return (x, *(g.choose(fits) for _ in range(g.integer(1, 2)))), {"axis": g.integer(0, g.ndim(x))}


def split(g: Growth, x: str) -> Any:
    k = g.integer(0, g.ndim(x) - 1)
    n = g.shape(x)[k]
    g.need(n >= 2)
    return (x,), {"size": (n + 1) // 2 if n < 6 else g.integer((n + 3) // 4, n), "axis": k}


def split_of(x: Array, size: int, axis: int) -> list[Array]:
    return np.split(x, range(size, x.shape[axis], size), axis)


def broadcast(g: Growth, x: str) -> Any:
    """A new leading axis, or axes of length 1 made longer."""
    shape = [g.choose([2, 3, 5]) if n == 1 and g.coin() else n for n in g.shape(x)]
    lead = [g.choose([1, 2, 3])] if g.ndim(x) < 4 and g.coin() else []
    return (x,), {"shape": (*lead, *shape)}


def part(g: Growth, n: int) -> slice:
    """A slice of an axis of n: near its edges, walking up or down."""
    near = [None, 0, 1, 2, n - 1, n, n // 2, -1, -2, *(k for k in EDGES if k < n)]
    return slice(g.choose(near), g.choose(near), g.choose([None, None, None, 1, 2, 3, -1, -2]))


def entries(g: Growth, shape: tuple[int, ...]) -> Any:
    """A key of ints, slices, None and Ellipsis."""
    parts: list[Any] = []
    for n in shape[:g.integer(1, len(shape))]:
        parts.append(g.integer(-n, n - 1) if n and g.rng.random() < 0.2 else part(g, n))
    if g.rng.random() < 0.1:
        parts.insert(g.integer(0, len(parts)), None)
    if g.rng.random() < 0.1:
        parts.append(...)
    return tuple(parts) if len(parts) > 1 or g.coin() else parts[0]


def key(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) > 0)
    return (x,), {"key": entries(g, g.shape(x))}


def share(g: Growth, x: str) -> Any:
    """What lies between two shares of an axis, counted by Python's own numbers."""
    g.need(g.ndim(x) > 0)
    low, high = g.choose([0, 0, 0.3, 0.5]), g.choose([0.5, 0.7, 1])
    return (x,), {"axis": g.integer(0, g.ndim(x) - 1), "low": low, "high": high}


def share_of(x: Any, axis: int, low: float, high: float) -> Any:
    n = x.shape[axis]
    return x[(*(slice(None),) * axis, slice(int(n * low), round(n * high)))]


def as_rows(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) > 0 and all(math.prod(env[x].shape) > 0 for env in g.envs))
    return (x,), {}


def whole_rows(x: Any) -> Any:
    """All axes but the first as one."""
    return x.reshape(len(x), -1)


def taken(g: Growth, x: str) -> Any:
    k = g.integer(0, g.ndim(x) - 1)
    count = g.choose([1, 3, 17])
    inner = g.choose([(), (count,), (2, count)])
    return (x, g.indices(x, k, lambda shape: inner)), {"axis": k}


def taken_along(g: Growth, x: str) -> Any:
    """An own position for each place beside an axis."""
    g.need(g.ndim(x) > 0)
    k, count = g.integer(0, g.ndim(x) - 1), g.choose([1, 3])
    return (x, g.indices(x, k, lambda shape: (*shape[:k], count, *shape[k + 1:]))), {"axis": k}


def scattered(g: Growth, x: str) -> Any:
    (x, i), axis = taken_along(g, x)
    return (x, i), axis | {"mode": g.choose(["set", "add", "max", "min", "mul"])}


def scatter_of(x: Array, i: Array, axis: int, mode: str) -> Array:
    """What stands at positions, put there in the opposite order."""
    y, v = x.copy(), np.flip(np.take_along_axis(x, i, axis), axis)
    places = tuple(i if k == axis else np.arange(n).reshape([-1 if j == k else 1 for j in range(x.ndim)])
                   for k, n in enumerate(x.shape))
    match mode:
        case "add": np.add.at(y, places, v)
        case "max": np.maximum.at(y, places, v)
        case "min": np.minimum.at(y, places, v)
        case "mul": np.multiply.at(y, places, v)
        case _: y[places] = v
    return y


def added(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) > 0)
    k, count = g.integer(0, g.ndim(x) - 1), g.choose([1, 5])
    return (x, g.indices(x, k, lambda shape: (count,))), {"axis": k}


def index_add_of(x: Array, i: Array, axis: int) -> Array:
    y = np.moveaxis(x.copy(), axis, 0)
    np.add.at(y, i, np.moveaxis(x, axis, 0)[i])
    return np.moveaxis(y, 0, axis)


def ordered(g: Growth, x: str) -> Any:
    return (x,), {"axis": g.axis(x), "descending": g.coin()}


def argsort_of(x: Array, axis: int, descending: bool) -> Array:
    """Equal elements in the order they have, NaN the largest."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    back = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - back, axis)


def sort_of(x: Array, axis: int, descending: bool) -> Array:
    return np.take_along_axis(x, argsort_of(x, axis, descending), axis)


def first(g: Growth, x: str) -> Any:
    """A few of the elements along an axis, or up to all of them."""
    axis = g.axis(x)
    g.need(not g.is_open(x, axis))
    n = g.shape(x)[axis]
    return (x,), {"k": g.choose([1, min(2, n), g.integer(1, n)]), "axis": axis, "largest": g.coin()}


def places_of(x: Array, k: int, axis: int, largest: bool) -> Array:
    return np.take(argsort_of(x, axis, largest), np.arange(k), axis)


def topk_of(x: Array, k: int, axis: int, largest: bool) -> Array:
    return np.take_along_axis(x, places_of(x, k, axis, largest), axis)


def whole(g: Growth, x: str) -> Any:
    """All elements, as many as there may be distinct ones."""
    g.need(not any(g.is_open(x, k) for k in range(g.ndim(x))))
    return (x,), {"size": math.prod(g.shape(x))}


def unique_of(x: Array, size: int) -> Array:
    """Distinct elements in order, each as it came first, then the smallest again."""
    row = sort_of(x.reshape(-1), 0, False)
    y = row[np.r_[True, row[1:] != row[:-1]]]
    return np.r_[y, np.full(size - y.size, y[0])]


def parts(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) > 0 and not g.dtype(x).is_complex)
    k = g.axis(x)
    g.need(not g.is_open(x, k) and 0 not in g.shape(x))
    return (x,), {"axis": k, "size": g.shape(x)[k]}


def unique_parts_of(x: Array, axis: int, size: int) -> Array:
    """Distinct parts of an axis in order of rows, then the smallest again."""
    moved = np.moveaxis(x, axis, 0)
    rows = moved.reshape(len(moved), -1)
    if (rows != rows).any():
        raise ValueError("rows of what is not a number have no order")
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    y = moved[order][np.r_[True, (rows[1:] != rows[:-1]).any(1)]]
    return np.moveaxis(np.concatenate([y, *[y[:1]] * (size - len(y))]), 0, axis)


def found(g: Growth, x: str) -> Any:
    """A mask of the first axis of x, with room for as many as there are, or for all."""
    g.need(g.ndim(x) > 0 and math.prod(g.shape(x)) < 20_000)
    lengths = [env[x].shape[0] for env in g.envs]
    alike = g.names(lambda z: g.dtype(z).kind == "b" and [env[z].shape for env in g.envs] == [(n,) for n in lengths])
    if alike and g.coin():
        return (x, g.choose(alike)), {"size": max(lengths)}
    masks = [g.rng.random(n) < 0.5 for n in lengths]
    return (x, g.added("b", masks)), {"size": max(int(m.sum()) for m in masks) + g.choose([0, 0, 1])}


def found_of(x: Array, m: Array, size: int) -> Array:
    """The chosen parts, then the first again."""
    i = np.flatnonzero(m)
    if i.size > size:
        raise IndexError("more than there is room for")
    return x[np.r_[i, np.zeros(size - i.size, int)]]


def searched(g: Growth, x: str) -> Any:
    return (x, g.partner(x)), {"side": g.choose(["left", "right"])}


def search_of(x: Array, z: Any, side: Any) -> Any:
    return np.searchsorted(np.sort(x.reshape(-1)), z, side)


def binned(g: Growth, x: str) -> Any:
    """Bins whose edges all dtypes hold."""
    return (x,), {"bins": g.choose([1, 4, 16]), "range": (-4, 4)}


def histogram_of(x: Array, bins: int, range: Any) -> Array:
    edges = np.linspace(*range, bins + 1)
    at = np.searchsorted(edges, x.reshape(-1), "right") - 1
    at = np.where(x.reshape(-1) == edges[-1], bins - 1, at)
    return np.bincount(at[(at >= 0) & (x.reshape(-1) <= edges[-1])], minlength=bins)


def segments(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) > 0 and not g.is_open(x, 0))
    i = g.indices(x, 0, lambda shape: shape[:1], negative=False)
    return (x, i), {"segments": g.shape(x)[0], "mode": g.choose(["sum", "max", "min"])}


def segments_of(x: Array, i: Array, segments: int, mode: str) -> Array:
    ends = (-np.inf, np.inf) if x.dtype.kind == "f" else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    start, f = {"sum": (0, np.add), "max": (ends[0], np.maximum), "min": (ends[1], np.minimum)}[mode]
    y = np.full((segments, *x.shape[1:]), start, x.dtype)
    f.at(y, i, x)
    return y


def gathered(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) > 0)
    count = g.choose([1, 4])
    return (x, *(g.indices(x, k, lambda shape: (count,)) for k in range(g.integer(1, min(2, g.ndim(x)))))), {}


def mixed(g: Growth, x: str) -> Any:
    """A key of integer arrays that broadcast, named "0", "1", ..., and masks among slices, ints, None and Ellipsis."""
    g.need(g.ndim(x) > 0)
    count = g.choose([1, 4])
    arrays: list[str] = []
    parts: list[Any] = []
    chosen = g.integer(0, 2 * g.ndim(x))       # where a mask stands, of two axes if there are two more
    for k, n in enumerate(g.shape(x)):
        two = k == chosen and k + 1 < g.ndim(x) and g.coin()
        shape = g.shape(x)[k:k + 1 + two]
        if k == chosen and count <= math.prod(shape) < 300 and not any(g.is_open(x, j) for j in (k, k + two)):
            parts.append(known_mask(g, shape, count))
            chosen = -2 if two else -1
        elif chosen == -2:                     # the second axis of a mask
            chosen = -1
        elif n and len(arrays) < 3 and g.coin():
            inner = g.choose([(), (count,), (2, 1), (2, count)])
            parts.append(str(len(arrays)))
            arrays.append(g.indices(x, k, lambda shape, inner=inner: inner))
        else:
            parts.append(g.integer(-n, n - 1) if n and g.rng.random() < 0.2 and not g.is_open(x, k) else part(g, n))
    if g.rng.random() < 0.2:
        parts.insert(g.integer(0, len(parts)), g.choose([None, ...]))
    g.need(len(arrays) > 0 or chosen < 0)
    return arrays, tuple(parts)


def known_mask(g: Growth, shape: tuple[int, ...], count: int) -> Any:
    """A mask whose numbers are known beforehand, true at so many places, as nested tuples."""
    mask = np.zeros(math.prod(shape), bool)
    mask[g.rng.permutation(mask.size)[:count]] = True
    return nested(mask.reshape(shape).tolist())


def nested(x: Any) -> Any:
    return tuple(map(nested, x)) if isinstance(x, list) else x


def mixed_read(g: Growth, x: str) -> Any:
    arrays, parts = mixed(g, x)
    return (x, *arrays), {"key": parts}


def mixed_written(g: Growth, x: str) -> Any:
    g.need(math.prod(g.shape(x)) < 20_000)
    arrays, parts = mixed(g, x)
    shape = np.empty(g.shape(x), bool)[key_of(parts, [g.cell(i).array for i in arrays])].shape
    return (x, source(g, x, shape), *arrays), {"key": parts}


def key_of(parts: tuple[Any, ...], arrays: Any) -> Any:
    """A key with arrays and masks in their places."""
    return tuple(arrays[int(p)] if isinstance(p, str) else np.array(p) if isinstance(p, tuple) else p for p in parts)


def tile(g: Growth, x: str) -> Any:
    times = tuple(g.integer(1, 3) for _ in range(g.integer(1, g.ndim(x) + (g.ndim(x) < 4))))
    return (x,), {"repetitions": times}


def rot90(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) >= 2)
    a, b = (int(k) for k in g.rng.permutation(g.ndim(x))[:2])
    return (x,), {"k": g.integer(-1, 3), "axes": (a, b)}


def diagonal(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) >= 2)
    a, b = (int(k) for k in g.rng.permutation(g.ndim(x))[:2])
    g.need(not g.is_open(x, a) and not g.is_open(x, b))
    return (x,), {"offset": g.integer(-2, 2), "axis1": a, "axis2": b}


def embedded(g: Growth, x: str) -> Any:
    g.need(0 < g.ndim(x) < 4 and g.shape(x)[-1] < 40)
    return (x,), {"offset": g.integer(-2, 2)}


def diag_embed_of(x: Array, offset: int) -> Array:
    n = x.shape[-1] + abs(offset)
    y = np.zeros((*x.shape[:-1], n, n), x.dtype)
    k = np.arange(x.shape[-1])
    y[..., k + max(-offset, 0), k + max(offset, 0)] = x
    return y


def extended(g: Growth, x: str) -> Any:
    """A pad that repeats what is there."""
    g.need(g.ndim(x) > 0 and not any(g.is_open(x, k) for k in range(g.ndim(x))) and 0 not in g.shape(x))
    widths = tuple((g.integer(0, 3), g.integer(0, 3)) if g.coin() else (0, 0) for _ in g.shape(x))
    return (x,), {"widths": widths, "mode": g.choose(["reflect", "symmetric", "edge", "wrap"])}


def einsum(g: Growth, x: str) -> Any:
    """One, two or three operands under random letters, those of one length under one."""
    operands = [x, *(g.choose(g.names(lambda z: g.dtype(z) == g.dtype(x) and g.ndim(z) < 4 and
                                      math.prod(g.shape(z)) < 2000)) for _ in range(g.integer(0, 2)))]
    g.need(all(g.ndim(z) < 4 and math.prod(g.shape(z)) < 2000 for z in operands))
    sizes: dict[str, tuple[int, ...]] = {}
    terms: list[str] = []
    for z in operands:
        term = ""
        for k in range(g.ndim(z)):
            lengths = tuple(env[z].shape[k] for env in g.envs)
            free = [c for c in "abcdefghijkl" if c not in sizes][:1]
            term += g.choose([c for c, n in sizes.items() if n == lengths and c not in term] + free)
            sizes[term[-1]] = lengths
        terms.append(term)
    letters = "".join(g.choose([*sizes]) for _ in range(g.integer(0, 3))) if sizes else ""
    out = "".join(dict.fromkeys(letters))
    g.need(math.prod(n[0] for n in sizes.values()) < 100_000)
    return tuple(operands), {"equation": ",".join(terms) + "->" + out}


def picked(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) > 0)
    return (x, g.indices(x, g.ndim(x) - 1, lambda shape: shape[:-1], negative=False)), {}


def pick_of(x: Array, i: Array) -> Array:
    return np.take_along_axis(x, i[..., None].astype(np.int64), -1)[..., 0]


def one_hot(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) < 5 and g.cell(x).array.size > 0)
    most = max(int(env[x].array.max()) for env in g.envs)
    g.need(most < 100)
    return (x,), {"classes": most + g.choose([1, 2]), "dtype": g.choose(["float32", "int64", "bool"])}


def one_hot_of(i: Array, classes: int, dtype: str) -> Array:
    if ((i < 0) | (i >= classes)).any():
        raise IndexError("a label outside of the classes")
    return i[..., None] == np.arange(classes)


# In place

def source(g: Growth, x: str, shape: tuple[int, ...]) -> Any:
    """What may be written to a part of x of that shape: a number, or an array of a dtype that fits into x's."""
    fits = g.names(lambda z: common(g.dtype(x), g.dtype(z)) == g.dtype(x) and not g.is_alias(x, z)
                   and fits_into(g.shape(z), shape))
    if g.is_mixed(0.3):
        return g.array(g.dtype(x), tuple(1 if g.coin() else n for n in shape[g.integer(0, len(shape)):]))
    return g.choose([*fits, *[g.number(x)] * (1 + (not fits))])


def fits_into(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(inner, outer) == outer
    except ValueError:
        return False


def replaced(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) > 0)
    chosen = entries(g, g.shape(x))
    shape = np.empty(g.shape(x), bool)[chosen].shape
    return (x, source(g, x, shape)), {"key": chosen}


def masked(g: Growth, x: str) -> Any:
    return (x, g.number(x), g.bool_like(x)), {}


def masked_part(g: Growth, x: str) -> Any:
    """One number for all places of a mask of the first axis, and a part of the axes behind."""
    g.need(g.ndim(x) > 1)
    mask = of_rows(g, x)
    behind = tuple(g.integer(-n, n - 1) if n and g.coin() and not g.is_open(x, k) else part(g, n)
                   for k, n in enumerate(g.shape(x)[1:], 1))
    return (x, g.number(x), mask), {"key": ("0", *behind[:g.integer(1, len(behind))])}


def of_rows(g: Growth, x: str) -> str:
    """A new mask of the first axis of x."""
    return g.added("b", [g.rng.random(env[x].shape[0]) < 0.5 for env in g.envs])


def mask_of(g: Growth, x: str) -> Any:
    """A condition of all elements of x, or of those of its first axis."""
    g.need(g.ndim(x) > 0)
    return g.bool_like(x) if g.coin() else of_rows(g, x)


def chosen(g: Growth, x: str) -> Any:
    """How what a mask chooses becomes one."""
    return (x, mask_of(g, x)), {"how": g.choose(["sum", "mean"]) if g.dtype(x).is_float else "sum"}


def in_one(x: Any, m: Any, how: str) -> Any:
    """The same, in Stele and in NumPy."""
    return getattr(x[m], how)(axis=0)


def each(g: Growth, x: str) -> Any:
    """What becomes of all elements that a mask chooses."""
    functions = {"f": ["tanh", "exp", "negative"], "i": ["square", "negative"], "u": ["square"]}
    return (x, mask_of(g, x)), {"function": g.choose(functions[g.dtype(x).kind])}


def rows(g: Growth, x: str) -> Any:
    g.need(g.ndim(x) > 0 and math.prod(g.shape(x)) < 20_000)
    i = g.indices(x, 0, lambda shape: (g.choose([1, 3]),))
    return (x, source(g, x, (*g.shape(i), *g.shape(x)[1:])), i), {}


def update(g: Growth, x: str) -> Any:
    symbols = ["+", "-", "*", "/"] if g.dtype(x).is_float else ["+", "-", "*", "//", "%", "&"]
    symbol = g.choose(symbols)
    return (x, source(g, x, g.shape(x))), {"symbol": symbol}
