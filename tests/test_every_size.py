"""Every public function at four sizes of an open axis, with one program, against NumPy."""
from __future__ import annotations

import ctypes
import math
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.ir.types import DType

SIZES = 5, 1, 4, 33
ERF, ERFC = np.vectorize(math.erf), np.vectorize(math.erfc)


def drawn(n: int) -> dict[str, Any]:
    """What the functions are given: axes of n, 3 and 4, images of height n, labels below 4."""
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 4)).astype("f4")
    return {"x": x, "y": rng.normal(size=(n, 4)).astype("f4"), "p": np.abs(x) + np.float32(0.5),
            "b": x > 0, "c": rng.normal(size=(n, 4)) > 0, "z": np.where(x > 1, np.float32(np.inf), x),
            "t": rng.integers(0, 4, n), "k": rng.integers(0, n, 6), "w": rng.normal(size=(4, 3)).astype("f4"),
            "cube": rng.normal(size=(2, n, 3)).astype("f4"), "v": rng.normal(size=n).astype("f4"),
            "image": rng.normal(size=(2, 3, n + 2, n + 3)).astype("f4"),
            "kernel": rng.normal(size=(4, 3, 3, 2)).astype("f4")}


DIMS = {"d.x": {0: "n"}, "d.y": {0: "n"}, "d.p": {0: "n"}, "d.b": {0: "n"}, "d.c": {0: "n"}, "d.z": {0: "n"},
        "d.t": {0: "n"}, "d.cube": {1: "n"}, "d.v": {0: "n"}, "d.image": {2: "h", 3: "w"}}

Side = Callable[[Any], Any]
BOTH: dict[str, Callable[[Any, Any], Any]] = {}     # one text for both: m is st or np
PAIRS: dict[str, tuple[Side, Side]] = {}            # of Stele, of NumPy

UNARY = """exp expm1 sin cos tan sinh cosh tanh abs sign floor ceil round trunc square isnan isinf isfinite negative
zeros_like ones_like positive signbit cbrt exp2 sinc i0 rad2deg deg2rad isposinf isneginf nan_to_num"""
BINARY = """add subtract multiply divide floor_divide remainder maximum minimum equal not_equal less less_equal greater
greater_equal copysign nextafter hypot logaddexp logaddexp2 fmod fmax fmin heaviside isclose allclose float_power"""
POSITIVE, LOGICAL = "log log1p sqrt reciprocal log2 log10", "logical_and logical_or logical_xor"
BITS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift"
START: dict[str, Any] = {"max": {"initial": 0.5}, "min": {"initial": 0.5}, "prod": {"initial": 0.5}}
REDUCTION, TRUTH, PLACE = "sum mean prod max min var std", "all any", "argmax argmin"
# or about arrays that no trace has
ABOUT_NO_ARRAYS = """
Options Tensor can_cast compile default_rng device eager enable_grad eval finfo from_dlpack from_numpy function
get_threads gradients iinfo isdtype lint load manual_seed no_grad placeholder result_type save set_threads tensor
broadcast_shapes masked_select profile apply_along_axis compress extract intersect1d setdiff1d setxor1d trim_zeros"""

HALVED = st.op(lambda x: x * np.float32(0.5))
ROOT = st.foreign(ctypes.CDLL(None).sqrtf, "float(float)")
OWN = st.custom_gradient(lambda x: (x, lambda g: g * 5 * x))
SQUARED = st.custom_jvp(st.square)
SQUARED.defjvp(lambda x, dx: (st.square(x[0]), 5 * x[0] * dx[0]))


def named(f: Any) -> Any:
    """f at many places, whose axis is called i."""
    return st.vmap(f, axis_name="i")


PROGRAMS = {"roll": 2, "diagonal": 2,       # a shift of the size and more, and a matrix taller than wide
            "copyto": 2, "place": 2, "put_along_axis": 2, "putmask": 2}     # and shapes to be one

for name in UNARY.split():
    BOTH[name] = lambda m, d, name=name: getattr(m, name)(d.z if name.startswith("is") else d.x)
for name in POSITIVE.split():
    BOTH[name] = lambda m, d, name=name: getattr(m, name)(d.p)
for name in BINARY.split():
    BOTH[name] = lambda m, d, name=name: (getattr(m, name)(d.x, d.p), getattr(m, name)(d.x, d.p[:1]))
for name in BITS.split():
    BOTH[name] = lambda m, d, name=name: getattr(m, name)(d.t, d.t[:1])
for name in LOGICAL.split():
    BOTH[name] = lambda m, d, name=name: getattr(m, name)(d.b, d.c)
for name in REDUCTION.split():
    BOTH[name] = lambda m, d, name=name: (getattr(m, name)(d.x), getattr(m, name)(d.x, axis=0),
                                          getattr(m, name)(d.cube, axis=(0, 1), keepdims=True),
                                          getattr(m, name)(d.x, where=d.b, **START.get(name, {})))
for name in TRUTH.split():
    BOTH[name] = lambda m, d, name=name: (getattr(m, name)(d.b), getattr(m, name)(d.b, axis=0))
for name in PLACE.split():
    BOTH[name] = lambda m, d, name=name: (getattr(m, name)(d.x), getattr(m, name)(d.x, axis=0))

def gaps(m: Any, x: Any, y: Any) -> Any:
    """Numbers with NaN among them."""
    return m.where((x > y + 1) & (y > 0), math.nan, x)


def written(m: Any, d: Any, write: Callable[[Any], Any]) -> Any:
    """A copy of x after something was written into it."""
    x = m.copy(d.x)
    write(x)
    return x


# fmt: off
BOTH |= {
    "logical_not":      lambda m, d: m.logical_not(d.b),
    "clip":             lambda m, d: (m.clip(d.x, -0.5, 0.5), m.clip(d.x, 0, len(d.x))),
    "where":            lambda m, d: (m.where(d.b, d.x, d.y), m.where(d.b, d.x, d.v[:, None])),
    "matmul":           lambda m, d: (m.matmul(d.x, d.w), m.matmul(d.x.T, d.x), m.matmul(d.x, d.x.T),
                                      m.matmul(d.v, d.v)),
    "vecdot":           lambda m, d: (m.vecdot(d.x, d.y), m.vecdot(d.x, d.y, axis=0)),
    "tensordot":        lambda m, d: (m.tensordot(d.x, d.y, ([0], [0])), m.tensordot(d.cube, d.w.T, 1)),
    "matrix_transpose": lambda m, d: m.matrix_transpose(d.cube),
    "concatenate":      lambda m, d: (m.concatenate([d.x, d.y, d.x[:1]]), m.concatenate([d.x, d.y], axis=1)),
    "stack":            lambda m, d: (m.stack([d.x, d.y]), m.stack([d.x, d.y], axis=1)),
    "reshape":          lambda m, d: (m.reshape(d.x, (-1, 2)), m.reshape(d.cube, (-1, 3)),
                                      m.reshape(d.x, (4, len(d.x)))),
    "squeeze":          lambda m, d: m.squeeze(d.x[:, :1], axis=1),
    "moveaxis":         lambda m, d: m.moveaxis(d.cube, 0, 2),
    "swapaxes":         lambda m, d: m.swapaxes(d.cube, 0, 1),
    "flip":             lambda m, d: (m.flip(d.x, axis=0), m.flip(d.x, axis=1)),
    "roll":             lambda m, d: (m.roll(d.x, 1, axis=0), m.roll(d.x, len(d.x) - 1, axis=0),
                                      m.roll(d.x, 3, axis=1)),
    "repeat":           lambda m, d: (m.repeat(d.x, 2, axis=0), m.repeat(d.w, d.x.shape[0], axis=0)),
    "tril":             lambda m, d: (m.tril(d.x), m.tril(m.ones((len(d.x), d.x.shape[0])), k=1)),
    "triu":             lambda m, d: (m.triu(d.x), m.triu(d.x @ d.x.T, k=1)),
    "broadcast_to":     lambda m, d: (m.broadcast_to(d.v, (3, *d.v.shape)), m.broadcast_to(d.w[0], (len(d.x), 3))),
    "take":             lambda m, d: (m.take(d.x, d.k, axis=0), m.take(d.w, d.t, axis=0)),
    "transpose":        lambda m, d: m.transpose(d.cube, (2, 0, 1)),
    "append":           lambda m, d: (m.append(d.x, d.y), m.append(d.x, d.y, axis=1)),
    "hstack":           lambda m, d: (m.hstack([d.x, d.y]), m.hstack([d.v, d.v])),
    "vstack":           lambda m, d: (m.vstack([d.x, d.y]), m.vstack([d.v, d.v])),
    "dstack":           lambda m, d: (m.dstack([d.x, d.y]), m.dstack([d.v, d.v])),
    "column_stack":     lambda m, d: m.column_stack([d.v, d.x]),
    "atleast_1d":       lambda m, d: m.atleast_1d(d.v),
    "atleast_2d":       lambda m, d: m.atleast_2d(d.v),
    "atleast_3d":       lambda m, d: (m.atleast_3d(d.v), m.atleast_3d(d.x)),
    "unstack":          lambda m, d: m.unstack(d.x, axis=1),
    "array_split":      lambda m, d: tuple(m.array_split(d.x, 3, axis=1)),
    "hsplit":           lambda m, d: tuple(m.hsplit(d.x, 2)),
    "vsplit":           lambda m, d: tuple(m.vsplit(d.x.T, [1])),
    "dsplit":           lambda m, d: tuple(m.dsplit(d.x[None], 2)),
    "insert":           lambda m, d: (m.insert(d.x, 1, 5.0, axis=1), m.insert(d.x, 0, d.v, axis=1)),
    "delete":           lambda m, d: m.delete(d.x, [0, -1], axis=1),
    "tile":             lambda m, d: m.tile(d.x, (2, 1, 3)),
    "rot90":            lambda m, d: (m.rot90(d.x), m.rot90(d.x, 2), m.rot90(d.x, -1)),
    "fliplr":           lambda m, d: m.fliplr(d.x),
    "flipud":           lambda m, d: m.flipud(d.x),
    "broadcast_arrays": lambda m, d: m.broadcast_arrays(d.x[:, :1], d.y),
    "diag":             lambda m, d: (m.diag(d.v), m.diag(d.v, -1), m.diag(d.x @ d.x.T)),
    "kron":             lambda m, d: (m.kron(d.x, d.w), m.kron(d.w, d.v)),
    "outer":            lambda m, d: m.outer(d.x, d.v),
    "inner":            lambda m, d: (m.inner(d.x, d.y), m.inner(d.v, d.v)),
    "einsum":           lambda m, d: (m.einsum("ij,jk,i->k", d.x, d.w, d.v), m.einsum("bnc->nb", d.cube)),
    "select":           lambda m, d: m.select([d.x > 0, d.y > 0], [d.x, d.y], default=-1.0),
    "tril_indices":     lambda m, d: d.w[m.tril_indices(3)],
    "triu_indices":     lambda m, d: d.w[m.triu_indices(3)],
    "gcd":              lambda m, d: (m.gcd(d.t, 6), m.gcd(d.t * 4, d.t[:1])),
    "lcm":              lambda m, d: m.lcm(d.t * 4, 6),
    "divmod":           lambda m, d: (*m.divmod(d.x, d.p), *m.divmod(d.t, 3)),
    "modf":             lambda m, d: m.modf(d.x * 3),
    "bitwise_count":    lambda m, d: m.bitwise_count(d.t * -37),
    "packbits":         lambda m, d: (m.packbits(d.b), m.packbits(d.b, axis=0, bitorder="little")),
    "unpackbits":       lambda m, d: m.unpackbits(m.packbits(d.b, axis=1), axis=0),
    "spacing":          lambda m, d: m.spacing(d.x),
    "isreal":           lambda m, d: m.isreal(d.x),
    "iscomplex":        lambda m, d: m.iscomplex(d.x),
    "array_equal":      lambda m, d: (m.array_equal(d.x, d.x + 0), m.array_equal(d.x, d.y)),
    "array_equiv":      lambda m, d: (m.array_equiv(d.x, d.x[:1]), m.array_equiv(d.x, d.x + 0)),
    "average":          lambda m, d: (m.average(d.x, weights=d.p), m.average(d.x, axis=0, weights=d.p[:, 0])),
    "ptp":              lambda m, d: (m.ptp(d.x), m.ptp(d.x, axis=0)),
    "trace":            lambda m, d: m.trace(d.x @ d.x.T),
    "vdot":             lambda m, d: m.vdot(d.x, d.y),
    "dot":              lambda m, d: (m.dot(d.x, d.x.T), m.dot(d.x, d.w), m.dot(d.cube, d.w.T), m.dot(d.v, 3)),
    "nancumsum":        lambda m, d: m.nancumsum(gaps(m, d.x, d.y), axis=0),
    "nancumprod":       lambda m, d: m.nancumprod(gaps(m, d.x, d.y), axis=1),
    "nanargmax":        lambda m, d: m.nanargmax(gaps(m, d.x, d.y), axis=1),
    "nanargmin":        lambda m, d: m.nanargmin(gaps(m, d.x, d.y), axis=1),
    "lexsort":          lambda m, d: m.lexsort((d.v, d.t)),
    "choose":           lambda m, d: m.choose(d.t, [d.v, -d.v, d.v + 1, d.v * 2]),
    "diagflat":         lambda m, d: m.diagflat(d.v, 1),
    "rollaxis":         lambda m, d: (m.rollaxis(d.cube, 2), m.rollaxis(d.cube, 0, 3)),
    "resize":           lambda m, d: m.resize(d.w, (5, 3)),
    "gradient":         lambda m, d: (*m.gradient(d.cube, axis=(0, 2)), m.gradient(d.x, 0.5, axis=1, edge_order=2),
                                      m.gradient(d.x, d.w[:, 0].cumsum(0) if m is np else st.cumulative_sum(d.w[:, 0]),
                                                 axis=1, edge_order=2)),
    "ediff1d":          lambda m, d: m.ediff1d(d.x, to_end=d.x[0]),
    "unwrap":           lambda m, d: (m.unwrap(d.x * 4, axis=0), m.unwrap(d.x * 4, period=2.5)),
    "correlate":        lambda m, d: (m.correlate(d.v, d.w[0], "full"), m.correlate(d.w[0], d.w[1, :2], "same")),
    "polyval":          lambda m, d: m.polyval(d.w[0], d.x),
    "polyadd":          lambda m, d: m.polyadd(d.w[0], d.w[1, :2]) + 0 * d.x[0, 0],
    "polysub":          lambda m, d: m.polysub(d.w[0, :2], d.w[1]) + 0 * d.x[0, 0],
    "polymul":          lambda m, d: m.polymul(d.w[0], d.w[1]) + 0 * d.x[0, 0],
    "polydiv":          lambda m, d: m.polydiv(d.w[0], d.w[1, :2])[0] + 0 * d.x[0, 0],
    "polyder":          lambda m, d: m.polyder(d.w[:, 0], 2) + 0 * d.x[0, 0],
    "polyint":          lambda m, d: m.polyint(d.w[:, 0]) + 0 * d.x[0, 0],
    "poly":             lambda m, d: m.poly(d.w[0]) + 0 * d.x[0, 0],
    "vander":           lambda m, d: (m.vander(d.v, 3), m.vander(d.v, 2, increasing=True)),
    "digitize":         lambda m, d: (m.digitize(d.x, m.linspace(-1, 1, 4)),
                                      m.digitize(d.x, m.linspace(1, -1, 4), right=True),
                                      m.digitize(d.x, m.flip(m.sort(d.x[:, 0])))),
    "histogram_bin_edges": lambda m, d: m.histogram_bin_edges(d.x, 3),
    "histogram2d":      lambda m, d: m.histogram2d(d.x[:, 0], d.v, 2, [[-1, 1], [-2, 2]]),
    "logspace":         lambda m, d: m.logspace(0, 2, 4) + 0 * d.x[0],
    "geomspace":        lambda m, d: m.geomspace(1, 8, 4) + 0 * d.x[0],
    "hanning":          lambda m, d: m.hanning(4) + 0 * d.x[0],
    "hamming":          lambda m, d: m.hamming(4) + 0 * d.x[0],
    "blackman":         lambda m, d: m.blackman(4) + 0 * d.x[0],
    "bartlett":         lambda m, d: m.bartlett(4) + 0 * d.x[0],
    "kaiser":           lambda m, d: m.kaiser(4, 3.0) + 0 * d.x[0],
    "identity":         lambda m, d: m.identity(4) + d.x[0],
    "tri":              lambda m, d: m.tri(d.x.shape[0], 3, 1),
    "diag_indices":     lambda m, d: (d.x @ d.x.T)[m.diag_indices(len(d.x))],
    "ix_":              lambda m, d: d.x[m.ix_([0], [1, 3])],
    "fromfunction":     lambda m, d: m.fromfunction(lambda i, j: i * 2 + j, (2, 4)) + d.x[0],
    "ravel_multi_index": lambda m, d: m.ravel_multi_index((d.t, d.t), (4, 5)),
    "unravel_index":    lambda m, d: m.unravel_index(d.t, (2, 2)),
    "union1d":          lambda m, d: m.union1d(d.w[0] * 0, d.w[0] * 0 + 1) if m is np
                        else st.union1d(d.w[0] * 0, d.w[0] * 0 + 1 + 0 * d.x[0, 0], size=2),
    "putmask":          lambda m, d: written(m, d, lambda x, y=d.y, w=d.w: m.putmask(x, y > 0, w[0])),
    "place":            lambda m, d: written(m, d, lambda x, y=d.y, w=d.w: m.place(x, y > -9, w[0])),
    "put":              lambda m, d: written(m, d, lambda x, w=d.w: m.put(x, [0, -1], w[0])),
    "copyto":           lambda m, d: written(m, d, lambda x, y=d.y: m.copyto(x, y)),
    "put_along_axis":   lambda m, d: written(m, d, lambda x, t=d.t: m.put_along_axis(x, t[:, None], 3.0, axis=1)),
    "piecewise":        lambda m, d: m.piecewise(d.x, [d.x > 0, d.x > 1], [lambda v: v + 1, 3.0, -1.0]) if m is st else
                        np.select([d.x > 1, d.x > 0], [3.0, d.x + 1], -1.0),
    "block":            lambda m, d: m.block([[d.x, d.y], [d.x * 2, d.y * 3]]),
    "copy":             lambda m, d: m.copy(d.x) + 1,
    "shape":            lambda m, d: m.ones(m.shape(d.x)) + d.x,
    "ndim":             lambda m, d: d.x * m.ndim(d.x),
    "size":             lambda m, d: d.x * m.size(d.x, 1),
    "zeros":            lambda m, d: m.zeros(d.x.shape) + d.x,
    "ones":             lambda m, d: m.ones((d.x.shape[0], 2)),
    "full":             lambda m, d: m.full((d.x.shape[0], 2), 7.0),
    "full_like":        lambda m, d: m.full_like(d.x, 3),
    "empty":            lambda m, d: m.ones(m.empty(d.x.shape).shape) + d.x,
    "empty_like":       lambda m, d: m.ones(m.empty_like(d.x).shape) + d.x,
    "asarray":          lambda m, d: m.asarray(d.x) + 1,
    "astype":           lambda m, d: m.astype(d.x, "float64"),
    "meshgrid":         lambda m, d: (*m.meshgrid(d.v, d.w[0]), *m.meshgrid(d.v, d.x[:, 0], indexing="ij"),
                                      *m.meshgrid(d.v, d.w[0], d.v, sparse=True)),
    "eye":              lambda m, d: (m.eye(len(d.x)), m.eye(3, d.x.shape[0])),
    "linspace":         lambda m, d: m.linspace(-1, 1, d.x.shape[0]),
    "arange":           lambda m, d: (m.arange(d.x.shape[0]), m.arange(1, 2 * d.x.shape[0], 2),
                                      m.arange(0, len(d.x), 0.5)),
}


def sigmoid(x: Any) -> Any: return 1 / (1 + np.exp(-x))
def softmax(x: Any, axis: int = -1) -> Any: return np.exp(x) / np.exp(x).sum(axis, keepdims=True)
def normal(x: Any, axis: Any = -1) -> Any:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)
def picked(x: Any, t: Any) -> Any: return x[np.arange(len(t)), t]
def counts(d: Any) -> Any: return np.bincount(d.k, minlength=len(d.x))[:, None]
def windows(x: Any) -> Any: return np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))[:, :, ::2, ::2]
def convolved(x: Any, w: Any) -> Any:
    return np.einsum("nchwyx,ocyx->nohw", np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3)), w)


def spread(x: Any, w: Any) -> Any:
    (h, v), k = w.shape[2:], [(0, 0), (0, 0)]
    return convolved(np.pad(x, [*k, (h - 1, h - 1), (v - 1, v - 1)]), w[:, :, ::-1, ::-1].swapaxes(0, 1))


LGAMMA = np.vectorize(math.lgamma)
def digamma(x: Any) -> Any: return (LGAMMA(x + 1e-4) - LGAMMA(x - 1e-4)) / 2e-4
def zeta(x: Any, q: Any) -> Any: return ((q[..., None] + np.arange(400)) ** -x[..., None]).sum(-1)
def scaled_i0(x: Any) -> Any: return np.i0(x) * np.exp(-np.abs(x))
def i1(x: Any) -> Any: return (np.i0(x + 1e-3) - np.i0(x - 1e-3)) / 2e-3
def ndtr(x: Any) -> Any: return ERFC(-x / math.sqrt(2)) / 2
def put(x: Any, i: Any, v: Any) -> Any:
    y = x.copy()
    np.put_along_axis(y, i, v[:, :1], 1)
    return y


def distinct(x: Any) -> Any:
    """What there is, five times: filled with the smallest, which is there 0 times more."""
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    rest = 5 - len(values)
    return (np.append(values, [values[0]] * rest), np.append(first, [first[0]] * rest), inverse,
            np.append(counts, [0] * rest))


def spread_of(x: Any) -> Any:
    centred = x - x.mean(1, keepdims=True)
    return centred @ centred.T / x.shape[1]


PAIRS |= {
    "asin":          (lambda d: st.asin(d.p / (d.p + 1)),         lambda d: np.arcsin(d.p / (d.p + 1))),
    "acos":          (lambda d: st.acos(d.p / (d.p + 1)),         lambda d: np.arccos(d.p / (d.p + 1))),
    "asinh":         (lambda d: st.asinh(d.x),                    lambda d: np.arcsinh(d.x)),
    "acosh":         (lambda d: st.acosh(d.p + 1),                lambda d: np.arccosh(d.p + 1)),
    "atanh":         (lambda d: st.atanh(d.p / (d.p + 1)),        lambda d: np.arctanh(d.p / (d.p + 1))),
    "atan2":         (lambda d: st.atan2(d.x, d.y),               lambda d: np.arctan2(d.x, d.y)),
    "bitwise_invert": (lambda d: st.bitwise_invert(d.t),          lambda d: ~d.t),
    "frac":          (lambda d: st.frac(d.x),                     lambda d: d.x - np.trunc(d.x)),
    "frexp":         (lambda d: st.frexp(d.x),                    lambda d: np.frexp(d.x)),
    "ldexp":         (lambda d: st.ldexp(d.v, d.t),               lambda d: np.ldexp(d.v, d.t)),
    "lerp":          (lambda d: st.lerp(d.x, d.y, 0.25),          lambda d: d.x + 0.25 * (d.y - d.x)),
    "lgamma":        (lambda d: st.lgamma(d.p),                   lambda d: LGAMMA(d.p)),
    "digamma":       (lambda d: st.digamma(d.p),                  lambda d: digamma(d.p.astype("f8"))),
    "polygamma":     (lambda d: st.polygamma(2, d.p + 1),         lambda d: -2 * zeta(d.p * 0 + 3, d.p + 1)),
    "zeta":          (lambda d: st.zeta(d.p + 3, d.p),            lambda d: zeta(d.p + 3, d.p)),
    "i0e":           (lambda d: st.i0e(d.x),                      lambda d: scaled_i0(d.x)),
    "i1":            (lambda d: st.i1(d.x),                       lambda d: i1(d.x.astype("f8"))),
    "i1e":           (lambda d: st.i1e(d.x),                      lambda d: i1(d.x.astype("f8")) * np.exp(-abs(d.x))),
    "erfinv":        (lambda d: st.erfinv(st.erf(d.x)),           lambda d: d.x),
    "erfcx":         (lambda d: st.erfcx(d.x),                    lambda d: np.exp(d.x ** 2) * ERFC(d.x)),
    "ndtr":          (lambda d: st.ndtr(d.x),                     lambda d: ndtr(d.x)),
    "ndtri":         (lambda d: st.ndtri(st.ndtr(d.x)),           lambda d: d.x),
    "log_ndtr":      (lambda d: st.log_ndtr(d.x),                 lambda d: np.log(ndtr(d.x))),
    "logit":         (lambda d: st.logit(st.sigmoid(d.x)),        lambda d: d.x),
    "entr":          (lambda d: st.entr(d.p),                     lambda d: -d.p * np.log(d.p)),
    "xlogy":         (lambda d: st.xlogy(d.x, d.p),               lambda d: d.x * np.log(d.p)),
    "xlog1py":       (lambda d: st.xlog1py(d.x, d.p),             lambda d: d.x * np.log1p(d.p)),
    "rsqrt":         (lambda d: st.rsqrt(d.p),                    lambda d: 1 / np.sqrt(d.p)),
    "atan":          (lambda d: st.atan(d.x),                     lambda d: np.arctan(d.x)),
    "sigmoid":       (lambda d: st.sigmoid(d.x),                  lambda d: sigmoid(d.x)),
    "log_sigmoid":   (lambda d: st.log_sigmoid(d.x),              lambda d: np.log(sigmoid(d.x))),
    "erf":           (lambda d: st.erf(d.x),                      lambda d: ERF(d.x)),
    "erfc":          (lambda d: st.erfc(d.x),                     lambda d: ERFC(d.x)),
    "relu":          (lambda d: st.relu(d.x),                     lambda d: np.maximum(d.x, 0)),
    "leaky_relu":    (lambda d: st.leaky_relu(d.x),
                      lambda d: np.where(d.x > 0, d.x, 0.01 * d.x)),
    "elu":           (lambda d: st.elu(d.x),
                      lambda d: np.where(d.x > 0, d.x, np.expm1(d.x))),
    "softplus":      (lambda d: st.softplus(d.x),                 lambda d: np.log1p(np.exp(d.x))),
    "silu":          (lambda d: st.silu(d.x),                     lambda d: d.x * sigmoid(d.x)),
    "gelu":          (lambda d: st.gelu(d.x),
                      lambda d: d.x * (1 + ERF(d.x / math.sqrt(2))) / 2),
    "stop_gradient": (lambda d: st.stop_gradient(d.x),            lambda d: d.x),
    "pow":           (lambda d: st.pow(d.p, d.x),                 lambda d: d.p ** d.x),
    "cummax":        (lambda d: (st.cummax(d.x, axis=0), st.cummax(d.x, axis=1)),
                      lambda d: (np.maximum.accumulate(d.x, 0), np.maximum.accumulate(d.x, 1))),
    "cummin":        (lambda d: (st.cummin(d.x, axis=0), st.cummin(d.x, axis=1)),
                      lambda d: (np.minimum.accumulate(d.x, 0), np.minimum.accumulate(d.x, 1))),
    "cumulative_sum": (lambda d: (st.cumulative_sum(d.x, axis=0), st.cumulative_sum(d.v, include_initial=True)),
                      lambda d: (np.cumsum(d.x, 0), np.append(0, np.cumsum(d.v)))),
    "cumulative_prod": (lambda d: (st.cumulative_prod(d.x, axis=0), st.cumulative_prod(d.x, axis=1)),
                      lambda d: (np.cumprod(d.x, 0), np.cumprod(d.x, 1))),
    "cumsum":        (lambda d: (st.cumsum(d.x), st.cumsum(d.x, axis=0)),
                      lambda d: (np.cumsum(d.x), np.cumsum(d.x, 0))),
    "cumprod":       (lambda d: (st.cumprod(d.x), st.cumprod(d.x, axis=1)),
                      lambda d: (np.cumprod(d.x), np.cumprod(d.x, 1))),
    "logcumsumexp":  (lambda d: st.logcumsumexp(d.x, axis=0), lambda d: np.logaddexp.accumulate(d.x, 0)),
    "sort":          (lambda d: (st.sort(d.x, axis=0), st.sort(d.v)), lambda d: (np.sort(d.x, 0), np.sort(d.v))),
    "argsort":       (lambda d: (st.argsort(d.x, axis=0), st.argsort(d.t)),
                      lambda d: (np.argsort(d.x, 0), np.argsort(d.t, kind="stable"))),
    "top_k":         (lambda d: st.top_k(d.x, 2), lambda d: (-np.sort(-d.x)[:, :2], np.argsort(-d.x)[:, :2])),
    "topk":          (lambda d: st.topk(d.x, 2), lambda d: (-np.sort(-d.x)[:, :2], np.argsort(-d.x)[:, :2])),
    "kthvalue":      (lambda d: st.kthvalue(d.x, 2), lambda d: (np.sort(d.x)[:, 1], np.argsort(d.x)[:, 1])),
    "bucketize":     (lambda d: st.bucketize(d.x, st.tensor([-1.0, 0, 1]), right=True),
                      lambda d: np.searchsorted([-1, 0, 1], d.x, "right")),
    "searchsorted":  (lambda d: (st.searchsorted(st.sort(d.v), d.x), st.searchsorted(st.tensor([-1.0, 0, 1]), d.x)),
                      lambda d: (np.searchsorted(np.sort(d.v), d.x), np.searchsorted([-1, 0, 1], d.x))),
    "isin":          (lambda d: (st.isin(d.t, d.k), st.isin(d.k, d.t)),
                      lambda d: (np.isin(d.t, d.k), np.isin(d.k, d.t))),
    "take_along_axis": (lambda d: st.take_along_axis(d.x, d.t[:, None], axis=1),
                      lambda d: np.take_along_axis(d.x, d.t[:, None], 1)),
    "scatter":       (lambda d: (st.scatter(d.x, d.t[:, None], d.y, axis=1), st.scatter(d.v, d.k, 2.0, mode="add")),
                      lambda d: (put(d.x, d.t[:, None], d.y), d.v + 2 * np.bincount(d.k, minlength=len(d.v)))),
    "index_add":     (lambda d: st.index_add(d.w, d.t, d.x[:, :3]),
                      lambda d: d.w + np.eye(4)[d.t].T @ d.x[:, :3]),
    "segment_sum":   (lambda d: st.segment_sum(d.x, d.t, 4), lambda d: np.eye(4)[d.t].T @ d.x),
    "segment_prod":  (lambda d: st.segment_prod(d.v, d.t, 4),
                      lambda d: np.array([d.v[d.t == k].prod() for k in range(4)])),
    "segment_max":   (lambda d: st.segment_max(d.v, d.t, 4),
                      lambda d: np.array([d.v[d.t == k].max(initial=-np.inf) for k in range(4)])),
    "segment_min":   (lambda d: st.segment_min(d.v, d.t, 4),
                      lambda d: np.array([d.v[d.t == k].min(initial=np.inf) for k in range(4)])),
    "count_nonzero": (lambda d: (st.count_nonzero(d.b), st.count_nonzero(d.t)),
                      lambda d: (np.count_nonzero(d.b), np.count_nonzero(d.t))),
    "nonzero":       (lambda d: st.nonzero(d.b, size=200, fill=-1), lambda d: tuple(
                      np.append(i, np.full(200 - len(i), -1)) for i in np.nonzero(d.b))),
    "argwhere":      (lambda d: st.argwhere(d.b, size=200, fill=-1), lambda d: np.concatenate(
                      [np.argwhere(d.b), np.full((200 - np.count_nonzero(d.b), d.b.ndim), -1)])),
    "unique":        (lambda d: (st.unique(d.t, size=5), *st.unique(d.t, return_counts=True, size=5)),
                      lambda d: (distinct(d.t)[0], *distinct(d.t)[::3])),
    "bincount":      (lambda d: st.bincount(d.t, size=6), lambda d: np.bincount(d.t, minlength=6)),
    "unique_values": (lambda d: st.unique_values(d.t, size=5), lambda d: distinct(d.t)[0]),
    "unique_counts": (lambda d: tuple(st.unique_counts(d.t, size=5)), lambda d: distinct(d.t)[::3]),
    "unique_inverse": (lambda d: tuple(st.unique_inverse(d.t, size=5)), lambda d: distinct(d.t)[::2]),
    "unique_all":    (lambda d: tuple(st.unique_all(d.t, size=5)), lambda d: distinct(d.t)),
    "histogram":     (lambda d: (st.histogram(d.x, 5, range=(-1, 1))[0], *st.histogram(d.x, 3)),
                      lambda d: (np.histogram(d.x, 5, (-1, 1))[0], *np.histogram(d.x, 3))),
    "diff":          (lambda d: (st.diff(d.x), st.diff(d.x, axis=0, prepend=0.0)),
                      lambda d: (np.diff(d.x), np.diff(d.x, axis=0, prepend=0))),
    "trapezoid":     (lambda d: (st.trapezoid(d.x, axis=0), st.trapezoid(d.x, d.y)),
                      lambda d: (np.trapezoid(d.x, axis=0), np.trapezoid(d.x, d.y))),
    "median":        (lambda d: (st.median(d.x), st.median(d.x, axis=0)),
                      lambda d: (np.median(d.x), np.median(d.x, 0))),
    "var_mean":      (lambda d: st.var_mean(d.x, axis=1), lambda d: (d.x.var(1), d.x.mean(1))),
    "std_mean":      (lambda d: st.std_mean(d.x, axis=1, correction=0), lambda d: (d.x.std(1), d.x.mean(1))),
    "norm":          (lambda d: (st.norm(d.x), st.norm(d.x, 1, axis=0)),
                      lambda d: (np.sqrt((d.x ** 2).sum()), np.abs(d.x).sum(0))),
    "addmm":         (lambda d: st.addmm(d.v, d.x, d.x.mT, beta=2, alpha=0.5),
                      lambda d: 2 * d.v + d.x @ d.x.T / 2),
    "quantile":      (lambda d: st.quantile(d.x, [0.1, 0.5], axis=0), lambda d: np.quantile(d.x, [0.1, 0.5], 0)),
    "percentile":    (lambda d: st.percentile(d.cube, 30, axis=(0, 1)), lambda d: np.percentile(d.cube, 30, (0, 1))),
    "cov":           (lambda d: (st.cov(d.x, correction=0), st.cov(d.x.T, correction=0)),
                      lambda d: (spread_of(d.x), spread_of(d.x.T))),
    "corrcoef":      (lambda d: st.corrcoef(d.x), lambda d: np.corrcoef(d.x).reshape(len(d.x), len(d.x))),
    "interp":        (lambda d: (st.interp(d.x, st.tensor([-1.0, 0.5]), st.tensor([3.0, 7.0])),
                      st.interp(d.w, st.sort(d.v), d.v)),
                      lambda d: (np.interp(d.x, [-1, 0.5], [3, 7]), np.interp(d.w, np.sort(d.v), d.v))),
    "convolve":      (lambda d: st.convolve(d.v, st.tensor([1.0, 2.0])) if len(d.v) > 0 else d.v,
                      lambda d: np.convolve(d.v, [1, 2])),
    **{f.__name__: (lambda d, f=f: (f(gaps(st, d.x, d.y)), f(gaps(st, d.x, d.y), axis=1)),
                    lambda d, f=law: (f(gaps(np, d.x, d.y)), f(gaps(np, d.x, d.y), axis=1)))
       for f, law in ((st.nansum, np.nansum), (st.nanprod, np.nanprod), (st.nanmean, np.nanmean),
                      (st.nanmax, np.nanmax), (st.nanmin, np.nanmin), (st.nanvar, np.nanvar), (st.nanstd, np.nanstd),
                      (st.nanmedian, np.nanmedian))},
    **{name: (lambda d, name=name: getattr(st, name)(gaps(st, d.x, d.y), 0.3, axis=1),
              lambda d, name=name: getattr(np, name)(gaps(np, d.x, d.y), 0.3, axis=1)) for name in
       ("nanquantile", "nanpercentile")},
    "matvec":        (lambda d: st.matvec(d.cube[0], d.w[0]), lambda d: d.cube[0] @ d.w[0]),
    "vecmat":        (lambda d: st.vecmat(d.v, d.x),              lambda d: d.v @ d.x),
    "partition":     (lambda d: st.partition(d.x, 1),             lambda d: np.sort(d.x)),
    "argpartition":  (lambda d: st.argpartition(d.x, 1),          lambda d: np.argsort(d.x)),
    "cumulative_trapezoid": (lambda d: (st.cumulative_trapezoid(d.x, axis=1),
                                        st.cumulative_trapezoid(d.x, d.w[:, 0], initial=0)),
                      lambda d: (np.cumsum((d.x[:, 1:] + d.x[:, :-1]) / 2, 1), np.pad(np.cumsum(
                          (d.x[:, 1:] + d.x[:, :-1]) / 2 * np.diff(d.w[:, 0]), 1), ((0, 0), (1, 0))))),
    "polyfit":       (lambda d: st.polyfit(d.w[:, 0], d.x.T, 1),  lambda d: np.polyfit(d.w[:, 0], d.x.T, 1)),
    "roots":         (lambda d: st.sort(st.real(st.roots(st.poly(d.w[0] + 0 * d.x[0, 0])))),
                      lambda d: np.sort(d.w[0])),
    "histogramdd":   (lambda d: st.histogramdd(d.x, 2, range=[(-1, 1)] * 4)[0],
                      lambda d: np.histogramdd(d.x, 2, [(-1, 1)] * 4)[0]),
    "indices":       (lambda d: st.indices((2, 4)) + 0 * d.t[0],  lambda d: np.indices((2, 4))),
    "flatnonzero":   (lambda d: st.flatnonzero(d.b, size=132, fill=-1),
                      lambda d: np.append(f := np.flatnonzero(d.b), np.full(132 - len(f), -1))),
    "fill_diagonal": (lambda d: written(st, SimpleNamespace(x=d.x[:1]), lambda x: st.fill_diagonal(x, 5.0)),
                      lambda d: written(np, SimpleNamespace(x=d.x[:1]), lambda x: np.fill_diagonal(x, 5.0))),
    "softmax":       (lambda d: (st.softmax(d.x), st.softmax(d.x, axis=0)),
                      lambda d: (softmax(d.x), softmax(d.x, 0))),
    "log_softmax":   (lambda d: st.log_softmax(d.x, axis=0),      lambda d: np.log(softmax(d.x, 0))),
    "logsumexp":     (lambda d: st.logsumexp(d.x),                lambda d: np.log(np.exp(d.x).sum())),
    "normalize":     (lambda d: st.normalize(d.cube, axis=(0, 1)), lambda d: normal(d.cube, (0, 1))),
    "layer_norm":    (lambda d: st.layer_norm(d.x, d.w[:, 0]),    lambda d: normal(d.x) * d.w[:, 0]),
    "pick":          (lambda d: st.pick(d.x, d.t),                lambda d: picked(d.x, d.t)),
    "one_hot":       (lambda d: (st.one_hot(d.t, 4), st.one_hot(d.k, d.x.shape[0])),
                      lambda d: (np.eye(4)[d.t], np.eye(len(d.x))[d.k])),
    "cross_entropy": (lambda d: st.cross_entropy(d.x, d.t),
                      lambda d: -np.log(picked(softmax(d.x), d.t)).mean()),
    "mse":           (lambda d: st.mse(d.x, d.y),                 lambda d: ((d.x - d.y) ** 2).mean()),
    "binary_cross_entropy": (lambda d: st.binary_cross_entropy(d.x, d.b.astype("float32")),
                      lambda d: -np.log(np.where(d.b, sigmoid(d.x), sigmoid(-d.x))).mean()),
    "embedding":     (lambda d: (st.embedding(d.w, d.t), st.embedding(d.x, d.k)),
                      lambda d: (d.w[d.t], d.x[d.k])),
    "permute":       (lambda d: st.permute(d.cube, 2, 0, 1),      lambda d: d.cube.transpose(2, 0, 1)),
    "flatten":       (lambda d: (st.flatten(d.cube), st.flatten(d.cube, 1)),
                      lambda d: (d.cube.ravel(), d.cube.reshape(2, -1))),
    "unsqueeze":     (lambda d: st.unsqueeze(d.x, axis=1),        lambda d: d.x[:, None]),
    "split":         (lambda d: (st.split(d.x, [1, len(d.x) - 1])[1], st.split(d.x, 2, axis=1)[1]),
                      lambda d: (d.x[1:], d.x[:, 2:])),
    "pad":           (lambda d: (st.pad(d.x, ((1, 2), (0, 1)), 3.0), st.pad(d.x, 2, mode="median"),
                                 st.pad(d.v, 2, mode="mean", stat_length=2), st.pad(d.x, 1, mode="linear_ramp")),
                      lambda d: (np.pad(d.x, ((1, 2), (0, 1)), constant_values=3.0), np.pad(d.x, 2, mode="median"),
                                 np.pad(d.v, 2, mode="mean", stat_length=2), np.pad(d.x, 1, mode="linear_ramp"))),
    "gather":        (lambda d: st.gather(d.x, 1, d.t[:, None]),  lambda d: np.take_along_axis(d.x, d.t[:, None], 1)),
    "index_select":  (lambda d: st.index_select(d.x, 0, d.k),     lambda d: d.x[d.k]),
    "index_copy":    (lambda d: st.index_copy(d.x, 0, d.k, d.y[:1]), lambda d: np.where(counts(d) > 0, d.y[:1], d.x)),
    "index_fill":    (lambda d: st.index_fill(d.x, 0, d.k, 3),    lambda d: np.where(counts(d) > 0, 3, d.x)),
    "index_put":     (lambda d: st.index_put(d.x, (d.k,), d.x[:1], accumulate=True),
                      lambda d: d.x + d.x[:1] * counts(d)),
    "masked_fill":   (lambda d: st.masked_fill(d.x, d.b, 2),      lambda d: np.where(d.b, 2, d.x)),
    "narrow":        (lambda d: st.narrow(d.x, 1, 1, 2),          lambda d: d.x[:, 1:3]),
    "block_diag":    (lambda d: st.block_diag(d.x, d.w[:1]),
                      lambda d: np.block([[d.x, np.zeros((len(d.x), 3))], [np.zeros((1, 4)), d.w[:1]]])),
    "chunk":         (lambda d: st.chunk(d.x, 2, axis=1),         lambda d: (d.x[:, :2], d.x[:, 2:])),
    "cartesian_prod": (lambda d: st.cartesian_prod(d.v, d.w[0]),
                      lambda d: np.stack([np.repeat(d.v, 3), np.tile(d.w[0], len(d.v))], 1)),
    "combinations":  (lambda d: st.combinations(d.x[0]),          lambda d: d.x[0][np.stack(np.triu_indices(4, 1), 1)]),
    "unfold":        (lambda d: (st.unfold(d.x, 0, 1), st.unfold(d.x, 1, 2, 2)),
                      lambda d: (d.x[:, :, None], d.x.reshape(-1, 2, 2))),
    "complex":       (lambda d: st.complex(d.x, d.y),             lambda d: d.x + 1j * d.y),
    "conj":          (lambda d: st.conj(st.complex(d.x, d.y)),    lambda d: d.x - 1j * d.y),
    "real":          (lambda d: st.real(st.complex(d.x, d.y)),    lambda d: d.x),
    "imag":          (lambda d: st.imag(st.complex(d.x, d.y)),    lambda d: d.y),
    "angle":         (lambda d: st.angle(st.complex(d.x, d.y)),   lambda d: np.arctan2(d.y, d.x)),
    "unflatten":     (lambda d: (st.unflatten(d.x, 1, (2, -1)), st.unflatten(d.x, 0, (1, -1))),
                      lambda d: (d.x.reshape(-1, 2, 2), d.x[None])),
    "diagonal":      (lambda d: (st.diagonal(d.x), st.diagonal(d.x @ d.x.T), st.diagonal(d.cube, axis1=2, axis2=1)),
                      lambda d: (np.diagonal(d.x), (d.x ** 2).sum(1), np.diagonal(d.cube, axis1=2, axis2=1))),
    "diag_embed":    (lambda d: st.diag_embed(d.x.T),             lambda d: d.x.T[:, :, None] * np.eye(len(d.x))),
    "conv2d":        (lambda d: st.conv2d(d.image, d.kernel),     lambda d: convolved(d.image, d.kernel)),
    "conv1d":        (lambda d: st.conv1d(d.image[:, :, 0], d.kernel[:, :, 0]),
                      lambda d: convolved(d.image[:, :, :1], d.kernel[:, :, :1])[:, :, 0]),
    "conv3d":        (lambda d: st.conv3d(d.image[:, :, None], d.kernel[:, :, None], padding=(1, 0, 0)),
                      lambda d: np.stack([(y := convolved(d.image, d.kernel)) * 0, y, y * 0], 2)),
    "conv_transpose1d": (lambda d: st.conv_transpose1d(d.image[:, :, 0], d.kernel[:3, :, 0]),
                         lambda d: spread(d.image[:, :, :1], d.kernel[:3, :, :1])[:, :, 0]),
    "conv_transpose2d": (lambda d: st.conv_transpose2d(d.image, d.kernel[:3]), lambda d: spread(d.image, d.kernel[:3])),
    "conv_transpose3d": (lambda d: st.conv_transpose3d(d.image[:, :, None], d.kernel[:3, :, None]),
                         lambda d: spread(d.image, d.kernel[:3])[:, :, None]),
    "max_pool2d":    (lambda d: st.max_pool2d(d.image, 2),        lambda d: windows(d.image).max((4, 5))),
    "avg_pool2d":    (lambda d: st.avg_pool2d(d.image, 2),        lambda d: windows(d.image).mean((4, 5))),
    "rand":          (lambda d: (st.rand(len(d.x), 4) < 1).sum(), lambda d: d.x.size),
    "randn":         (lambda d: st.isfinite(st.randn(d.x.shape)), lambda d: d.x == d.x),
    "randint":       (lambda d: st.randint(2, 3, d.x.shape),      lambda d: np.full(d.x.shape, 2)),
    "uniform":       (lambda d: st.uniform(1, 2, d.v.shape) >= 1, lambda d: d.v == d.v),
    "normal":        (lambda d: st.normal(4, 0, d.v.shape),       lambda d: np.full(d.v.shape, 4.0)),
    "bernoulli":     (lambda d: st.bernoulli(1.0, d.v.shape),     lambda d: d.v == d.v),
    "poisson":       (lambda d: st.poisson(d.p * 0),              lambda d: d.p * 0),
    "multinomial":   (lambda d: st.sort(st.multinomial(d.p, 4)),  lambda d: np.tile(np.arange(4), (len(d.p), 1))),
    "permutation":   (lambda d: (st.sort(st.permutation(d.v)), st.sort(st.permutation(d.x.shape[0]))),
                      lambda d: (np.sort(d.v), np.arange(len(d.v)))),
    "rand_like":     (lambda d: st.rand_like(d.x) < 1,            lambda d: d.x == d.x),
    "randn_like":    (lambda d: st.isfinite(st.randn_like(d.x)),  lambda d: d.x == d.x),
    "randint_like":  (lambda d: st.randint_like(d.x, 2, 3),       lambda d: np.full(d.x.shape, 2)),
    "dropout":       (lambda d: st.dropout(d.p, 0.5) * 0,         lambda d: d.p * 0),
    "scan":          (lambda d: st.scan(lambda c, r: (c + r, c), st.zeros(4), d.x),
                      lambda d: (d.x.sum(0), np.cumsum(d.x, 0) - d.x)),
    "map":           (lambda d: st.map(lambda r: r.sum() * r, d.x), lambda d: d.x.sum(1, keepdims=True) * d.x),
    "cond":          (lambda d: st.cond(d.x.shape[0] * st.ones(()) > 0, lambda x: x * 2, lambda x: x, d.x),
                      lambda d: d.x * 2),
    "switch":        (lambda d: st.switch(2, [lambda x: x, lambda x: x * 2, lambda x: x * 3], d.x), lambda d: d.x * 3),
    "while_loop":    (lambda d: st.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + d.x), (0, d.y))[1],
                      lambda d: d.y + 3 * d.x),
    "fori_loop":     (lambda d: st.fori_loop(0, d.x.shape[0], lambda i, s: s + d.x[i] * i, st.zeros(4)),
                      lambda d: (d.x * np.arange(len(d.x))[:, None]).sum(0)),
    "associative_scan": (lambda d: st.associative_scan(st.add, d.x), lambda d: np.cumsum(d.x, 0)),
    "grad":          (lambda d: st.grad(lambda x: (x ** 3).mean())(d.x), lambda d: 3 * d.x ** 2 / d.x.size),
    "value_and_grad": (lambda d: st.value_and_grad(lambda x: (x[1:] ** 2).sum())(d.v),
                      lambda d: ((d.v[1:] ** 2).sum(), 2 * d.v * (np.arange(len(d.v)) > 0))),
    "hessian":       (lambda d: st.hessian(lambda x: (x ** 2).sum())(d.v), lambda d: 2 * np.eye(len(d.v))),
    "checkpoint":    (lambda d: st.grad(st.checkpoint(lambda x: st.sum(st.sin(x))))(d.x), lambda d: np.cos(d.x)),
    "jvp":           (lambda d: st.jvp(st.sin, (d.x,), (d.y,)),   lambda d: (np.sin(d.x), np.cos(d.x) * d.y)),
    "vjp":           (lambda d: st.vjp(st.sin, d.x)[1](d.y)[0],   lambda d: np.cos(d.x) * d.y),
    "jacobian":      (lambda d: st.jacobian(lambda x: x * x.sum(), mode="forward")(d.v),
                      lambda d: np.eye(len(d.v)) * d.v.sum() + d.v[:, None]),
    "hvp":           (lambda d: st.hvp(lambda x: (x ** 3).sum(), d.x, d.y), lambda d: 6 * d.x * d.y),
    "vmap":          (lambda d: st.vmap(lambda x: x / x.sum())(d.p), lambda d: d.p / d.p.sum(1, keepdims=True)),
    "psum":          (lambda d: named(lambda x: st.psum(x, "i"))(d.x), lambda d: d.x * 0 + d.x.sum(0)),
    "pmean":         (lambda d: named(lambda x: st.pmean(x, "i"))(d.x), lambda d: d.x * 0 + d.x.mean(0)),
    "pmax":          (lambda d: named(lambda x: st.pmax(x, "i"))(d.x), lambda d: d.x * 0 + d.x.max(0)),
    "pmin":          (lambda d: named(lambda x: st.pmin(x, "i"))(d.x), lambda d: d.x * 0 + d.x.min(0)),
    "all_gather":    (lambda d: named(lambda x: st.all_gather(x, "i") * x)(d.x), lambda d: d.x[None] * d.x[:, None]),
    "axis_index":    (lambda d: named(lambda x: x * st.axis_index("i"))(d.x),
                      lambda d: d.x * np.arange(len(d.x))[:, None]),
    "axis_size":     (lambda d: named(lambda x: x * st.axis_size("i"))(d.x), lambda d: d.x * len(d.x)),
    "foreign":       (lambda d: ROOT(d.x * d.x), lambda d: np.abs(d.x)),
    "op":            (lambda d: HALVED(d.x) + d.x, lambda d: d.x * 1.5),
    "custom_gradient": (lambda d: st.grad(lambda x: OWN(x).sum())(d.x), lambda d: 5 * d.x),
    "custom_jvp":    (lambda d: st.grad(lambda x: SQUARED(x).sum())(d.x), lambda d: 5 * d.x),
    "fixed_point":   (lambda d: st.fixed_point(lambda x: x * 0.5 + d.x, d.y, tol=1e-8), lambda d: 2 * d.x),
}
# fmt: on

def test_every_public_function_has_an_entry() -> None:
    public = {name for name in dir(st) if not name.startswith("_") and callable(getattr(st, name))
              and not isinstance(getattr(st, name), DType)}
    entries = [*BOTH, *PAIRS, *ABOUT_NO_ARRAYS.split()]
    assert public == set(entries) and len(entries) == len(public)


@pytest.mark.parametrize("name", [*BOTH, *PAIRS])
def test_a_function_runs_at_every_size_with_one_program(name: str) -> None:
    ours, theirs = PAIRS.get(name) or (lambda d: BOTH[name](st, d), lambda d: BOTH[name](np, d))
    used = {key for f in (BOTH.get(name), *PAIRS.get(name, ())) for key in (f.__code__.co_names if f else ())}

    def f(d: Any) -> Any:
        return ours(SimpleNamespace(**d))

    dims = {path: axes for path, axes in DIMS.items() if path[2:] in used}
    g = st.compile(f, dims=dims or {"d.x": {0: "n"}})
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*cannot stay open")
        for n in SIZES:
            d = {key: x for key, x in drawn(n).items() if key in used | {"x"}}
            made, law = g({key: st.tensor(x) for key, x in d.items()}), theirs(SimpleNamespace(**d))
            for a, b in zip(made if isinstance(made, tuple) else (made,), law if isinstance(law, tuple) else (law,)):
                assert a.shape == np.shape(b), n
                np.testing.assert_allclose(a.numpy(), b, rtol=2e-4, atol=2e-5, err_msg=f"n = {n}")
    assert g.compiles == PROGRAMS.get(name, 1), g
