"""Calls of the functions that NumPy has too, drawn by a seed from NumPy's signatures, and what they may come to:
NumPy's value, shape and dtype in every style, or a lesson."""
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false
from __future__ import annotations

import inspect
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import stele as st
from stele.arrays.spellings import ALIASES
from stele.errors import SteleError, TraceError

ROOMS: dict[str, tuple[ModuleType, ModuleType]] = {
    "": (np, st), "linalg.": (np.linalg, st.linalg), "fft.": (np.fft, st.fft)}
# What makes no numbers, reads or writes files, takes functions, or is a question about types.
LEFT_OUT = """
apply_along_axis array asanyarray asarray ascontiguousarray astype can_cast copyto empty empty_like fill_diagonal
from_dlpack fromfunction isdtype load ndim piecewise place promote_types put put_along_axis putmask result_type save
shape size broadcast_shapes fix
"""
# What keeps integers where NumPy makes floats of them, or the other way round, as its docstring says.
OTHERWISE = """
reciprocal heaviside histogram2d histogramdd fabs rint conj conjugate pow power quantile percentile nanquantile
nanpercentile median nanmedian nanmean linalg.lstsq square round around vander polyder
"""
DTYPES = ("float32",) * 5 + ("float64",) * 3 + ("int32", "int64", "int64", "uint8", "int8", "bool", "float16",
                                               "complex64", "complex128", "uint16", "uint32", "uint64", "int16")
REAL = tuple(d for d in DTYPES if not d.startswith("complex"))
WHOLE, FLOATS = ("int64", "int32", "uint8", "int8", "uint16"), ("float32", "float32", "float64")
SHAPES = ((), (1,), (3,), (4,), (7,), (0,), (2, 3), (3, 3), (1, 4), (3, 1), (0, 3), (2, 0), (2, 3, 4), (1, 3, 2))
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0)
# Of what is not finite: as the standard has it, or in the steps of other sums.
FINITE = """
divmod floor_divide remainder mod polyfit percentile quantile nanpercentile nanquantile vecdot i0
"""
ELSEWHERE = ("split",)        # what means something else here than under `np.`: PyTorch's
ROUGH = {"float16": 2e-2, "float32": 4e-4, "float64": 1e-8, "complex64": 4e-4, "complex128": 1e-8}
NOTED: Counter[str] = Counter()     # what was refused, and why

# Where results may be any of several: any sign, any order.
LAWS: dict[str, Callable[..., Any]] = {
    "linalg.eig": lambda w, v: np.sort_complex(np.round(np.asarray(w, "c16"), 3)),
    "linalg.eigvals": lambda w: np.sort_complex(np.round(np.asarray(w, "c16"), 3)),
    "roots": lambda w: np.sort_complex(np.round(np.asarray(w, "c16"), 2)),
    "linalg.eigh": lambda w, v: w,
    "linalg.svd": lambda *x: x[1] if len(x) == 3 else x[0],
    "linalg.qr": lambda *x: np.abs(x[-1]) if len(x) == 1 else x[0] @ x[1],
    "unique_values": lambda x: np.sort(x),
    "linalg.lstsq": lambda x, *rest: x, "polydiv": lambda q, r: q,
    "partition": lambda x: x * 0, "argpartition": lambda x: x * 0,      # here all of them are in order
}


class Operand(NamedTuple):
    """An array, seen through a key: of the same elements as a tensor."""

    base: np.ndarray[Any, Any]
    key: Any = ...

    def array(self) -> Any: return self.base[self.key]
    def tensor(self) -> Any: return st.tensor(self.base)[self.key]

    def __str__(self) -> str:
        x = self.array()
        key = "" if self.key is ... else f" seen at {self.key}"
        return f"{np.array2string(x, threshold=30, separator=',')} {x.dtype}{list(x.shape)}{key}".replace("\n", "")


class Call(NamedTuple):
    """A function by the name of its room and its own, and its arguments, of which some are operands."""

    room: str
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    compiled: bool

    def __str__(self) -> str:
        given = [shown(a) for a in self.args] + [f"{k}={shown(a)}" for k, a in self.kwargs.items()]
        return f"{self.room}{self.name}({', '.join(given)})"


def shown(x: Any) -> str:
    """An argument as a line of a report says it."""
    if isinstance(x, list | tuple) and not isinstance(x, Operand):
        return f"[{', '.join(map(shown, x))}]"
    return str(x) if isinstance(x, Operand) else repr(x)


@cache
def functions() -> tuple[tuple[str, str], ...]:
    """Rooms and names of all that both have."""
    found: list[tuple[str, str]] = []
    for room, (theirs, ours) in ROOMS.items():
        for name in sorted(dir(theirs)):
            f = getattr(theirs, name)
            there = name in ours.__all__ or (not room and name in ALIASES)
            if there and callable(f) and not isinstance(f, type) and name not in LEFT_OUT.split():
                found.append((room, name))
    return tuple(found)


class Draw:
    """Arguments by chance."""

    def __init__(self, seed: int) -> None:
        self.rng, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.special = self.rng.random() < 0.15

    def one(self, *of: Any) -> Any:
        """One of these."""
        return self.rng.choice(of)

    def may(self, p: float = 0.4) -> bool:
        """True so often."""
        return self.rng.random() < p

    def array(self, shape: tuple[int, ...] | None = None, dtypes: tuple[str, ...] = DTYPES, low: int = -4,
              high: int = 9) -> Operand:
        """An operand: small numbers, quarters among floats, now and then what is no number; sometimes a view."""
        shape = shape if shape is not None else self.one(*SHAPES) or ()
        kind = np.dtype(self.one(*dtypes))
        key: Any = ...
        if shape and self.may(0.2):
            step = self.one(-1, 2, -2)
            key = (..., slice(None, None, step))
            shape = (*shape[:-1], shape[-1] * abs(step) - (shape[-1] > 0) * self.one(0, abs(step) - 1))
        x = self.numbers.integers(max(low, 0) if kind.kind == "u" else low, high, shape)
        y = np.asarray(x + self.numbers.integers(0, 4, shape) / 4 if kind.kind in "fc" and low < 0 else x, kind)
        if kind.kind == "c":
            y = np.asarray(y + 1j * self.numbers.integers(-3, 4, shape), kind)
        if kind.kind == "b":
            y = np.asarray(self.numbers.integers(0, 2, shape), bool)
        y = y.copy()
        if self.special and kind.kind == "f" and y.size and low < 0:
            y[tuple(self.numbers.integers(0, n) for n in shape)] = self.one(*SPECIAL)
        return Operand(y, key)

    def beside(self, x: Operand, dtypes: tuple[str, ...] = DTYPES, **rest: Any) -> Operand:
        """An operand that broadcasts to another one, or nearly always."""
        shape = np.shape(x.array())
        if self.may(0.3):
            shape = tuple(1 if self.may(0.5) else n for n in shape)[self.one(0, 0, 1):]
        same = self.may(0.5) and str(x.base.dtype) in dtypes
        return self.array(shape, (str(x.base.dtype),) if same else dtypes, **rest)

    def axis(self, x: Operand, several: bool = True, none: bool = True) -> Any:
        """An axis of an operand, some, or none; seldom one that is not there."""
        n = max(x.array().ndim, 1)
        if none and self.may(0.25):
            return None
        if several and n > 1 and self.may(0.3):
            return tuple(self.rng.sample(range(n), self.one(1, 2)))
        return self.one(n, -n - 1) if self.may(0.03) else self.rng.randrange(-n, n)

    def along(self, x: Operand, axis: Any) -> int:
        """The length of an axis; of all elements without one."""
        shape = np.shape(x.array())
        return int(np.prod(shape)) if axis is None else shape[axis] if -len(shape) <= axis < len(shape) else 1

    def square(self) -> Operand:
        """Matrices far from singular, often one."""
        n, many = self.one(1, 2, 3, 4), self.one((), (), (2,), (0,), (2, 1))
        x = self.numbers.normal(size=(*many, n, n)) + 3 * np.eye(n)
        kind = self.one("float32", "float64", "complex64", "complex128")
        x = x + 1j * self.numbers.normal(size=x.shape) if kind[0] == "c" else x
        return Operand(x.astype(kind))

    def symmetric(self) -> Operand:
        """Matrices that are positive definite."""
        x = self.square().base
        y = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(x.shape[-1])
        return Operand(y.astype(x.dtype))

    def row(self, n: int | None = None, dtypes: tuple[str, ...] = DTYPES, **rest: Any) -> Operand:
        """A row of some numbers."""
        return self.array((self.one(1, 2, 3, 5) if n is None else n,), dtypes, **rest)

    def ordered(self, n: int | None = None, dtypes: tuple[str, ...] = FLOATS) -> Operand:
        """A row of numbers in ascending order, all of them others."""
        n = self.one(2, 3, 5) if n is None else n
        return Operand(np.cumsum(self.numbers.integers(1, 4, n)).astype(self.one(*dtypes)) - 4)

    def mask(self, x: Operand) -> Operand:
        """Bools that broadcast to an operand."""
        return self.beside(x, ("bool",))


Drawn = tuple[list[Any], dict[str, Any]]


def options(d: Draw, x: Operand, name: str, room: str) -> dict[str, Any]:
    """Options of a function of one array, by the names that its signature has."""
    parameters = inspect.signature(getattr(ROOMS[room][0], name)).parameters
    found: dict[str, Any] = {}
    for key, p in parameters.items():
        if key in OPTIONS and p.default is not p.empty and d.may(OFTEN.get(key, 0.35)):
            found[key] = OPTIONS[key](d, x, name)
    if "where" in found and not isinstance(getattr(np, name), np.ufunc) and name in ("max", "min", "amax", "amin",
                                                                                    "nanmax", "nanmin"):
        found["initial"] = d.one(0, 3)
    return found


SINGLE = """
argmax argmin argsort sort cumsum cumprod cumulative_sum cumulative_prod nancumsum nancumprod nanargmax nanargmin diff
trapezoid unstack packbits unpackbits unwrap cross argpartition partition ptp fft ifft rfft irfft hfft ihfft vecdot
expand_dims take_along_axis
"""
REQUIRED = "unstack", "diff", "trapezoid", "unwrap", "cumulative_sum", "cumulative_prod", "cross"
FLOATING = "mean", "var", "std", "nanmean", "nanvar", "nanstd", "cov", "corrcoef", "geomspace", "logspace"
ROWS = "cumsum", "cumprod", "nancumsum", "nancumprod", "cumulative_sum", "cumulative_prod", "sort", "argsort"
OFTEN = {"axis": 0.7, "dtype": 0.15, "where": 0.25, "initial": 0.2}

OPTIONS: Mapping[str, Callable[[Draw, Operand, str], Any]] = {
    "axis":      lambda d, x, name: d.axis(x, name not in SINGLE.split(), name not in REQUIRED),
    "axes":      lambda d, x, name: tuple(d.rng.sample(range(x.array().ndim), d.rng.randrange(x.array().ndim + 1))),
    "keepdims":  lambda d, x, name: d.may(0.7),
    "dtype":     lambda d, x, name: d.one(*FLOATS, *(() if name in FLOATING else ("int32", "int64", "uint8"))),
    "where":     lambda d, x, name: d.mask(x),
    "initial":   lambda d, x, name: d.one(0, 1, 3, 2.5),
    "ddof":      lambda d, x, name: d.one(0, 1, 2),
    "correction": lambda d, x, name: d.one(0, 1),
    "decimals":  lambda d, x, name: d.one(0, 1, -1),
    "deg":       lambda d, x, name: d.may(),
    "k":         lambda d, x, name: d.one(0, 1, -1, 5),
    "offset":    lambda d, x, name: d.one(0, 1, -1, 9),
    "kind":      lambda d, x, name: "stable" if "argsort" in name else d.one("stable", "quicksort", None),
    "stable":    lambda d, x, name: d.one(True, None),
    "n":         lambda d, x, name: d.one(0, 1, 2, 3, 5),
    "norm":      lambda d, x, name: d.one("ortho", "forward", "backward", None),
    "method":    lambda d, x, name: d.one("linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull"),
    "side":      lambda d, x, name: d.one("left", "right"),
    "right":     lambda d, x, name: d.may(),
    "equal_nan": lambda d, x, name: d.may(),
    "invert":    lambda d, x, name: d.may(),
    "include_initial": lambda d, x, name: d.may(),
    "bitorder":  lambda d, x, name: d.one("big", "little"),
    "count":     lambda d, x, name: d.one(None, 0, 5, 20, -1),
    "return_counts": lambda d, x, name: d.may(),
    "return_inverse": lambda d, x, name: d.may(),
    "return_index": lambda d, x, name: d.may(),
    "return_indices": lambda d, x, name: d.may(),
    "assume_unique": lambda d, x, name: False,
    "trim":      lambda d, x, name: d.one("fb", "f", "b"),
    "increasing": lambda d, x, name: d.may(),
    "endpoint":  lambda d, x, name: d.may(),
    "retstep":   lambda d, x, name: d.may(),
    "rowvar":    lambda d, x, name: d.may(),
    "bias":      lambda d, x, name: d.may(),
    "returned":  lambda d, x, name: d.may(),
    "density":   lambda d, x, name: d.may(),
    "range":     lambda d, x, name: (-2.0, 5.5),
    "period":    lambda d, x, name: d.one(2.0, 6.5),
    "nan":       lambda d, x, name: d.one(0.0, 7.0),
    "posinf":    lambda d, x, name: d.one(None, 9.0),
    "neginf":    lambda d, x, name: d.one(None, -9.0),
    "edge_order": lambda d, x, name: d.one(1, 2),
    "sparse":    lambda d, x, name: d.may(),
    "indexing":  lambda d, x, name: d.one("xy", "ij"),
    "minlength": lambda d, x, name: d.one(0, 5, 12),
    "UPLO":      lambda d, x, name: d.one("L", "U"),
    "upper":     lambda d, x, name: d.may(),
    "full_matrices": lambda d, x, name: d.may(),
    "copy":      lambda d, x, name: True,
    "fill_value": lambda d, x, name: 3,
    "ord":       lambda d, x, name: d.one(None, 1, 2, np.inf, -np.inf) if "norm" in name else 2,
    "discont":   lambda d, x, name: d.one(None, 4.0),
    "fweights":  lambda d, x, name: None, "aweights": lambda d, x, name: None,
}


def several(d: Draw, least: int = 1, rows: bool = False) -> list[Operand]:
    """Operands of one shape, or that differ along their first axis."""
    x = d.array(d.one((2,), (3,), (0,), (2, 3), (1, 3), (2, 3, 1)) if rows else None)
    return [x, *(d.array(np.shape(x.array()), DTYPES if d.may(0.3) else (str(x.base.dtype),))
                 for _ in range(d.one(least - 1, least, least + 1)))]


def joined(d: Draw, axis: bool = True) -> Drawn:
    """Arrays one behind the other."""
    parts = several(d)
    n = parts[0].array().ndim
    more: dict[str, Any] = {"axis": d.one(*range(-n, n), *([None] * (n > 0 or 1)))} if axis and d.may(0.7) else {}
    if axis and d.may(0.1):
        more["dtype"] = d.one("float64", "float32")
    return [parts], more


def with_axis(*drawn: Callable[[Draw], Any]) -> Callable[[Draw], Drawn]:
    """Arguments that are drawn one by one."""
    return lambda d: ([f(d) for f in drawn], {})


def near(d: Draw, x: Operand, n: int) -> Operand:
    """Positions below n, in a small array."""
    return d.array(d.one((), (2,), (3,), (0,), (2, 2)), ("int64", "int64", "int32"), -n, n) if n else d.array(
        (0,), ("int64",))


def taken(d: Draw) -> Drawn:
    """take: positions along an axis."""
    x = d.array()
    axis = d.axis(x, False)
    mode = d.one("raise", "wrap", "clip")
    n = d.along(x, axis)
    return [x, near(d, x, n + (mode != "raise") * 3)], {"axis": axis, "mode": mode} if d.may(0.8) else {}


def along_axis(d: Draw) -> Drawn:
    """take_along_axis: as many axes."""
    x = d.array(d.one((3,), (2, 3), (2, 3, 4)))
    axis = d.rng.randrange(-x.array().ndim, x.array().ndim)
    shape = list(x.array().shape)
    n, shape[axis] = shape[axis], d.one(0, 1, 2, 5)
    return [x, d.array(tuple(shape), ("int64",), -n, n)], {"axis": axis}


def products(d: Draw) -> Drawn:
    """Two operands of `matmul`."""
    n = d.one(0, 1, 2, 3)
    a = d.one((n,), (2, n), (3, 2, n), (1, 4, n), ())
    b = d.one((n,), (n, 2), (3, n, 2), (n, 1), (n, 0))
    x = d.array(a)
    return [x, d.array(b, DTYPES if d.may(0.4) else (str(x.base.dtype),))], {}


def contracted(d: Draw) -> Drawn:
    """tensordot."""
    x, z = d.array((2, 3, 4)), d.array((4, 3, 2))
    return [x, z], {"axes": d.one(0, 1, ([2], [0]), ([1, 2], [1, 0]), (0, 2), ([-1], [-3]))}


def einsummed(d: Draw) -> Drawn:
    """einsum."""
    terms = d.one("ij,jk->ik", "ij,jk", "ii", "ii->i", "ij->", "ij,ij->i", "...j,jk->...k", "i,j->ij", "ij->ji", "i,i",
                  "ij,ij,jk->k")
    sizes = {c: d.one(1, 2, 3) for c in "ijk"}
    parts = [d.array((*([2] if "..." in t else []), *(sizes[c] for c in t.replace("...", ""))))
             for t in terms.partition("->")[0].split(",")]
    return [terms, *parts], {}


def padded(d: Draw) -> Drawn:
    """pad."""
    x = d.array()
    n = x.array().ndim
    width = d.one(0, 1, 3, (1, 2), *([tuple((d.one(0, 1, 2), d.one(0, 1, 5)) for _ in range(n))] if n else []))
    mode = d.one("constant", "edge", "reflect", "symmetric", "wrap", "mean", "median", "maximum", "minimum",
                 "linear_ramp")
    more: dict[str, Any] = {"constant": {"constant_values": d.one(0, 2, (1, 3))}, "linear_ramp": {
        "end_values": d.one(0, 4, (1, -2))}}.get(mode, {"stat_length": d.one(None, 1, 2, (1, 3))} if mode in (
            "mean", "median", "maximum", "minimum") else {})
    return [x, width], {"mode": mode, **(more if d.may(0.6) else {})}


def histogrammed(d: Draw) -> Drawn:
    """histogram and its kin."""
    x = d.array(dtypes=FLOATS + WHOLE)
    more: dict[str, Any] = {"bins": d.one(1, 4, 10, d.ordered(4))} if d.may(0.7) else {}
    more |= {"range": (-2.0, 5.5)} if d.may(0.3) else {}
    return [x], more


def weighed(d: Draw) -> Drawn:
    """average."""
    x = d.array()
    axis = d.axis(x, False)
    n = np.shape(x.array()) if axis is None or d.may(0.5) else (d.along(x, axis),)
    more: dict[str, Any] = {"axis": axis, "weights": d.array(n, FLOATS + WHOLE, 1, 5)} if d.may(0.7) else {"axis": axis}
    return [x], {**more, **{k: v for k, v in {"returned": d.may(), "keepdims": d.may()}.items() if v}}


def quantiled(d: Draw) -> Drawn:
    """quantile, by its name q of 0 to 1."""
    x = d.array(dtypes=REAL)
    return [x, d.one(0.0, 0.25, 0.5, 1.0, [0.1, 0.9], Operand(np.array([0.25, 0.5], "f4")))], {}


def percentiled(d: Draw) -> Drawn:
    """percentile."""
    (x, q), more = quantiled(d)
    return [x, q * 100 if isinstance(q, float) else [10.0, 90.0]], more


def polynomials(d: Draw) -> Drawn:
    """Two rows of coefficients, the first of which is not 0."""
    kinds = (*FLOATS, *WHOLE, "complex64")
    return [d.row(dtypes=kinds, low=1), d.row(dtypes=kinds, low=1)], {}


def reshaped(d: Draw) -> Drawn:
    """reshape."""
    x = d.array()
    n = x.array().size
    return [x, d.one((n,), -1, (1, n), (n, 1, 1), (-1, 2), (2, -1), (3, 2))], {}


def clipped(d: Draw) -> Drawn:
    """clip."""
    x = d.array(dtypes=REAL)
    low, high = d.one(None, -1, 0, 2, d.beside(x, (str(x.base.dtype),))), d.one(None, 3, 5, 2)
    return [x, low, high], {}


def lines(d: Draw) -> Drawn:
    """linspace and its kin."""
    x = d.array(d.one((), (2,), (2, 3)), FLOATS + WHOLE, 1, 4)
    more = {"num": d.one(0, 1, 2, 5), "endpoint": d.may(0.6), "axis": d.one(0, -1, *([1] * x.array().ndim))}
    z = d.one(5, 3.5, d.beside(x, FLOATS, low=1, high=6))
    return d.one([x, z], [z, x]), {k: v for k, v in more.items() if d.may(0.7)}


def chosen(d: Draw) -> Drawn:
    """choose."""
    parts = several(d, 2)
    mode = d.one("raise", "wrap", "clip")
    i = d.array(np.shape(parts[0].array()), ("int64",), *((0, len(parts)) if mode == "raise" else (-4, 6)))
    return [i, parts], {"mode": mode} if d.may(0.7) else {}


def selected(d: Draw) -> Drawn:
    """select."""
    parts = several(d)
    masks = [d.array(np.shape(p.array()), ("bool",)) for p in parts]
    return [masks, parts], {"default": d.one(0, 2)} if d.may() else {}


def covariances(d: Draw) -> Drawn:
    """cov."""
    n = d.one(1, 2, 4)
    more: dict[str, Any] = {"fweights": d.row(n, ("int64",), low=1, high=4)} if d.may(0.2) else {}
    more |= {"aweights": d.row(n, FLOATS, low=1, high=4)} if d.may(0.2) else {}
    more |= {"ddof": d.one(0, 1)} if d.may(0.2) else {}
    more |= {"bias": True} if d.may(0.2) else {}
    return [d.array(d.one((n,), (2, n), (3, n)))], more


def deleted(d: Draw) -> Drawn:
    """delete."""
    x = d.array(d.one((3,), (5,), (2, 3), (3, 4)))
    axis = d.axis(x, False)
    n = max(d.along(x, axis), 1)
    return [x, d.one(0, -1, slice(None, None, 2), [0, n - 1], Operand(d.numbers.integers(0, n, 2)),
                     Operand(d.numbers.integers(0, 2, n).astype(bool)))], {"axis": axis}


def inserted(d: Draw) -> Drawn:
    """insert."""
    x = d.array(d.one((3,), (5,), (2, 3), (3, 4)))
    axis = d.axis(x, False)
    return [x, d.one(0, -1, 1, [0, 2], slice(0, 2)), d.one(7, d.array((1,), (str(x.base.dtype),)))], {"axis": axis}


def rolled(d: Draw) -> Drawn:
    """roll."""
    x = d.array()
    axis = d.axis(x)
    return [x, d.one(0, 1, -2, 7) if not isinstance(axis, tuple) else tuple(d.one(0, 1, -2) for _ in axis)], {
        "axis": axis}


def repeated(d: Draw) -> Drawn:
    """repeat."""
    x = d.array()
    axis = d.axis(x, False)
    n = d.along(x, axis)
    return [x, d.one(0, 1, 3, Operand(d.numbers.integers(0, 3, n)))], {"axis": axis} if d.may(0.8) else {}


def compressed(d: Draw) -> Drawn:
    """compress."""
    x = d.array()
    axis = d.axis(x, False)
    return [Operand(d.numbers.integers(0, 2, d.along(x, axis)).astype(bool)), x], {"axis": axis}


def transformed(d: Draw) -> Drawn:
    """Transforms along several axes."""
    return [d.array(d.one((2, 3), (3, 4), (2, 3, 4), (1, 2)))], {}


def interpolated(d: Draw) -> Drawn:
    """interp."""
    n = d.one(1, 2, 5)
    more: dict[str, Any] = {k: v for k, v in {"left": -1.0, "right": 9.0}.items() if d.may(0.3)}
    return [d.array(dtypes=FLOATS), d.ordered(n), d.row(n, FLOATS)], more | ({"period": 20.5} if d.may(0.15) else {})


def differences(d: Draw) -> Drawn:
    """diff."""
    x = d.array(d.one((3,), (2, 3), (5,), (0, 3)))
    more: dict[str, Any] = {"n": d.one(0, 1, 2, 5)} if d.may(0.5) else {}
    more |= {"axis": d.axis(x, False, False)} if d.may(0.6) else {}
    return [x], more | ({d.one("prepend", "append"): d.one(0, 2)} if d.may(0.2) else {})


def sloped(d: Draw) -> Drawn:
    """gradient."""
    x = d.array(d.one((3,), (4, 3), (5,)), FLOATS + WHOLE)
    return [x, *([d.one(1.0, 0.5, 2)] if d.may(0.4) else [])], {"axis": d.axis(x, none=False)} if d.may(0.5) else {}


def split_up(name: str) -> Callable[[Draw], Drawn]:
    """split and its kin."""
    def drawn(d: Draw) -> Drawn:
        x = d.array(d.one((4,), (4, 2), (2, 4), (4, 4, 2)))
        more = {"axis": d.axis(x, False, False)} if name in ("split", "array_split") and d.may(0.6) else {}
        return [x, d.one(1, 2, 3, [1], [1, 3], [0, 9], [-1])], more

    return drawn


def crossed(d: Draw) -> Drawn:
    """cross."""
    x = d.array(d.one((3,), (2, 3)))
    return [x, d.array(np.shape(x.array()), (str(x.base.dtype),))], {}


def moved(d: Draw) -> Drawn:
    """moveaxis."""
    x = d.array(d.one((2, 3), (2, 3, 4)))
    return [x, d.axis(x, False, False), d.axis(x, False, False)], {}


def of_squares(d: Draw) -> Drawn: return [d.square()], {}


def solved(d: Draw) -> Drawn:
    """solve."""
    x = d.square()
    n = x.base.shape[-1]
    b = (*x.base.shape[:-2], n, d.one(1, 2)) if x.base.ndim > 2 else d.one((n,), (n, 2))
    return [x, d.array(b, (str(x.base.dtype),))], {}


def tall(d: Draw) -> Drawn:
    """Matrices of full rank."""
    m, n = d.one((2, 2), (3, 2), (2, 3), (4, 1))
    x = d.numbers.normal(size=(*d.one((), (2,)), m, n)) + np.eye(m, n) * 3
    return [Operand(x.astype(d.one("f4", "f8", "c8")))], {}


def least(d: Draw) -> Drawn:
    """lstsq."""
    (x,), more = tall(d)
    x = Operand(x.base if x.base.ndim == 2 else x.base[0])
    return [x, d.array(d.one((x.base.shape[0],), (x.base.shape[0], 2)), (str(x.base.dtype),))], more


DRAWN: dict[str, Callable[[Draw], Drawn]] = {
    **dict.fromkeys(("concatenate", "concat"), joined),
    "stack":        lambda d: ([several(d)], {}),
    **{n: lambda d: ([several(d, rows=True)], {}) for n in ("hstack", "vstack", "row_stack", "dstack", "column_stack")},
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d"), lambda d: ([d.array()], {})),
    "meshgrid":     lambda d: ([d.row() for _ in range(d.one(1, 2, 3))], {}),
    "broadcast_arrays": lambda d: ([x := d.array(), d.beside(x)], {}),
    "broadcast_to": lambda d: ([d.beside(z := d.array()), np.shape(z.array()) if d.may(0.8) else (2, 3)], {}),
    "block":        lambda d: ([[several(d, rows=True)]], {}),
    "take":         taken, "take_along_axis": along_axis, "pad": padded, "average": weighed, "choose": chosen,
    **dict.fromkeys(("matmul", "dot", "linalg.matmul"), products),
    **dict.fromkeys(("inner", "vecdot", "linalg.vecdot", "vdot"), lambda d: ([x := d.array(), d.array(
        np.shape(x.array()))], {})),
    **dict.fromkeys(("outer", "kron"), lambda d: ([d.array(), d.array()], {})),
    "linalg.outer": lambda d: ([d.row(), d.row()], {}),
    "matvec":       lambda d: ([d.array((2, 3)), d.array(d.one((3,), (4, 3)))], {}),
    "vecmat":       lambda d: ([d.array(d.one((3,), (1, 3))), d.array((3, 2))], {}),
    **dict.fromkeys(("tensordot", "linalg.tensordot"), contracted), "einsum": einsummed,
    "histogram":    histogrammed, "histogram_bin_edges": histogrammed,
    "histogram2d":  lambda d: ([d.row(5, FLOATS), d.row(5, FLOATS)], {"bins": d.one(2, 3, [2, 3])}),
    "histogramdd":  lambda d: ([d.array((5, 2), FLOATS)], {"bins": d.one(2, 3)}),
    "bincount":     lambda d: ([d.row(d.one(0, 3, 6), ("int64", "int32", "uint8"), low=0)], {}),
    "digitize":     lambda d: ([d.array(dtypes=FLOATS + WHOLE), d.ordered()], {}),
    "searchsorted": lambda d: ([d.ordered(), d.array(dtypes=FLOATS)], {}),
    **dict.fromkeys(("quantile", "nanquantile"), quantiled),
    **dict.fromkeys(("percentile", "nanpercentile"), percentiled),
    **dict.fromkeys(("polyadd", "polysub", "polymul", "polydiv"), polynomials),
    "polyval":      lambda d: ([d.row(), d.array()], {}),
    "polyder":      lambda d: ([d.row()], {"m": d.one(0, 1, 2)}), "polyint": lambda d: ([d.row()], {"m": d.one(1, 2)}),
    "poly":         lambda d: ([d.row(dtypes=FLOATS + WHOLE)], {}),
    "roots":        lambda d: ([d.row(d.one(2, 3), REAL, low=1)], {}),
    "polyfit":      lambda d: ([d.ordered(5), d.row(5, FLOATS), d.one(0, 1, 2)], {}),
    "vander":       lambda d: ([d.row()], {"N": d.one(0, 2, 4)} if d.may() else {}),
    **dict.fromkeys(("convolve", "correlate"), lambda d: (
        [d.row(), d.row()], {"mode": d.one("full", "same", "valid")})),
    "reshape":      reshaped, "clip": clipped, "select": selected, "cov": covariances, "delete": deleted,
    "roll":         rolled,
    "corrcoef":     lambda d: ([d.array((3, 4))], {}),
    "insert":       inserted, "repeat": repeated, "compress": compressed, "interp": interpolated, "diff": differences,
    "append":       lambda d: ([x := d.array(), d.array(np.shape(x.array()))], {"axis": d.one(None, 0)}),
    "extract":      lambda d: ([x := d.array(), d.array(np.shape(x.array()))], {}),
    **dict.fromkeys(("linspace", "geomspace", "logspace"), lines), "gradient": sloped,
    **{n: split_up(n) for n in ("split", "array_split", "hsplit", "vsplit", "dsplit")},
    **dict.fromkeys(("cross", "linalg.cross"), crossed), "moveaxis": moved,
    "swapaxes":     moved,
    "rollaxis":     lambda d: ([x := d.array((2, 3, 4)), d.axis(x, False, False), d.one(0, 1, -1, 3)], {}),
    **dict.fromkeys(("transpose", "permute_dims"), lambda d: ([x := d.array(d.one((2, 3), (2, 3, 4), ()))], {
        "axes": tuple(d.rng.sample(range(x.array().ndim), x.array().ndim))} if d.may(0.6) else {})),
    "rot90":        lambda d: ([d.array(d.one((2, 3), (2, 3, 4)))], {
                        "k": d.one(0, 1, 2, 3, -1), "axes": d.one((0, 1), (1, 0))}),
    "tile":         lambda d: ([d.array(), d.one(0, 2, (2, 1), (1, 2, 2), ())], {}),
    "resize":       lambda d: ([d.array(), d.one(3, (2, 2), (0,), (3, 5))], {}),
    "expand_dims":  lambda d: ([d.array(), d.one(0, -1, (0, 1), 1)], {}),
    "squeeze":      lambda d: ([d.array(d.one((1,), (1, 3), (3, 1), (2, 1, 1), ()))], {
                        "axis": d.one(0, -1, (0,), 1)} if d.may() else {}),
    "where":        lambda d: ([d.mask(x := d.array()), x, d.beside(x)], {}),
    "full":         lambda d: ([d.one((), 3, (2, 0), (2, 3)), d.array(())], {}),
    "full_like":    lambda d: ([d.array(), d.one(2, 3.5)], {}),
    "lexsort":      lambda d: ([several(d, 2, rows=True)], {}),
    **dict.fromkeys(("partition", "argpartition"), lambda d: (
        [d.array(d.one((3,), (2, 3), (5,)), REAL), d.one(0, 1, -1, [0, 2])], {})),
    "ravel_multi_index": lambda d: ([[d.array((3,), ("int64",), 0, n) for n in (2, 3)], (2, 3)], {
                        "mode": d.one("raise", "clip", "wrap")}),
    "unravel_index": lambda d: ([d.array(dtypes=("int64", "int32"), low=0, high=6), (2, 3)], {}),
    "isin":         lambda d: ([d.array(), d.array()], {}),
    **dict.fromkeys(("union1d", "setdiff1d", "setxor1d", "intersect1d"), lambda d: ([x := d.array(), d.array(
        dtypes=(str(x.base.dtype),))], {})),
    **dict.fromkeys(("allclose", "isclose", "array_equal", "array_equiv"), lambda d: (
        [x := d.array(), d.one(x, d.beside(x))], {})),
    "ix_":          lambda d: ([d.row(2, ("int64", "bool")), d.row(3, ("int64", "bool"))], {}),
    "trim_zeros":   lambda d: ([d.row(5, low=0, high=2)], {}),
    "unpackbits":   lambda d: ([d.array(dtypes=("uint8",), low=0, high=250)], {}),
    "unwrap":       lambda d: ([d.array(d.one((3,), (2, 3)), FLOATS)], {}),
    "spacing":      lambda d: ([d.array(dtypes=FLOATS)], {}),
    "packbits":     lambda d: ([d.array(dtypes=("uint8", "bool", "int64"), low=0, high=3)], {}),
    "ldexp":        lambda d: ([x := d.array(dtypes=FLOATS), d.array(np.shape(x.array()), ("int32", "int64"))], {}),
    **dict.fromkeys(("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift"), lambda d: (
        [x := d.array(dtypes=WHOLE, low=0), d.array(np.shape(x.array()), (str(x.base.dtype),), low=0, high=5)], {})),
    **dict.fromkeys(("pow", "power"), lambda d: (
        [x := d.array(low=d.one(-4, 0)), d.beside(x, low=d.one(-2, 0), high=4)], {})),
    "ediff1d":      lambda d: ([d.array()], {d.one("to_end", "to_begin"): d.one(0, 7)} if d.may() else {}),
    "trapezoid":    lambda d: ([d.array(d.one((3,), (2, 3)), FLOATS + WHOLE)], {"dx": 0.5} if d.may() else {}),
    **{n: lambda d: ([d.one(0, 1, 2, 5)], {}) for n in ("bartlett", "blackman", "hamming", "hanning", "identity",
                                                        "diag_indices")},
    **dict.fromkeys(("tri", "eye"), lambda d: ([d.one(0, 2, 3)], {"M": d.one(None, 0, 4), "k": d.one(0, 1, -2)})),
    **dict.fromkeys(("tril_indices", "triu_indices"), lambda d: (
        [d.one(0, 2, 3)], {"k": d.one(0, 1, -1), "m": d.one(None, 4)})),
    "kaiser":       lambda d: ([d.one(0, 1, 5), d.one(0.0, 8.5)], {}),
    "indices":      lambda d: ([d.one((2, 3), (0,), (2,))], {}),
    "arange":       lambda d: (d.one([3], [1, 4], [0, 5, 2], [3.5], [5, 0, -1], [0.0, 1.0, 0.25]), {}),
    **dict.fromkeys(("zeros", "ones"), lambda d: ([d.one((), 3, (2, 0), (2, 3))], {})),
    **dict.fromkeys(("fft.fftfreq", "fft.rfftfreq"), lambda d: ([d.one(1, 4, 5)], {"d": d.one(1.0, 0.5)})),
    **dict.fromkeys(("fft.fft2", "fft.ifft2", "fft.fftn", "fft.ifftn", "fft.rfftn", "fft.irfftn"), transformed),
    **dict.fromkeys(("fft.fft", "fft.ifft", "fft.rfft", "fft.irfft", "fft.hfft", "fft.ihfft"), lambda d: (
        [d.array(d.one((3,), (4,), (2, 3), (3, 1), (1,)))], {})),
    **{f"linalg.{n}": of_squares for n in ("det", "inv", "slogdet", "eig", "eigvals", "cond")},
    "linalg.matrix_power": lambda d: ([d.square(), d.one(0, 1, 2, 3, -1)], {}),
    **dict.fromkeys(("linalg.cholesky", "linalg.eigh", "linalg.eigvalsh"), lambda d: ([d.symmetric()], {})),
    "linalg.solve": solved, "linalg.lstsq": least,
    **dict.fromkeys(("linalg.qr", "linalg.svd", "linalg.svdvals", "linalg.pinv", "linalg.matrix_rank"), tall),
    "linalg.multi_dot": lambda d: ([[d.array((2, 3), FLOATS), d.array((3, 2), FLOATS), d.array((2, 4), FLOATS)]], {}),
}


def call(seed: int) -> Call:
    """The call of this number."""
    d = Draw(seed)
    room, name = d.one(*functions())
    d.special &= name not in FINITE.split()
    f = getattr(ROOMS[room][0], name)
    drawn = DRAWN.get(f"{room}{name}") or (DRAWN.get(name) if not room else None)
    if drawn is not None:
        args, kwargs = drawn(d)
    elif isinstance(f, np.ufunc) and f.nin == 2:
        x = d.array()
        numbers = [x, d.one(2, 0, -1, 0.5, True)], [d.one(3, 1.5), x]
        args, kwargs = [x, d.beside(x)] if d.may(0.85) else d.one(*numbers), {}
    else:
        args, kwargs = [d.array(d.one(*SHAPES[1:]) if name in ROWS else None)], {}
    first = next((a for a in leaves(args) if isinstance(a, Operand)), None)
    if first is not None and not isinstance(f, np.ufunc):
        kwargs = {**options(d, first, name, room), **kwargs}
    return Call(room, name, tuple(args), kwargs, d.may(0.25))


def leaves(x: Any) -> Iterator[Any]:
    """What lists hold."""
    if isinstance(x, list | tuple) and not isinstance(x, Operand):
        for part in x:
            yield from leaves(part)
    else:
        yield x


def given(x: Any, tensor: bool) -> Any:
    """Arguments with arrays or tensors in the place of operands."""
    if isinstance(x, Operand):
        return x.tensor() if tensor else x.array()
    if isinstance(x, dict):
        return {k: given(v, tensor) for k, v in x.items()}
    return type(x)(given(v, tensor) for v in x) if isinstance(x, list | tuple) else x


def filled(x: Any, parts: Iterator[Any]) -> Any:
    """Arguments with others in the place of operands, in order."""
    if isinstance(x, Operand):
        return next(parts)
    if isinstance(x, dict):
        return {k: filled(v, parts) for k, v in x.items()}
    return type(x)(filled(v, parts) for v in x) if isinstance(x, list | tuple) else x


def fault(made: Call) -> str | None:
    """What is wrong with a call in any style, in words; None where all is NumPy's, or refused in words."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        theirs, ours = (getattr(room, made.name) for room in ROOMS[made.room])
        try:
            want: Any = theirs(*given(made.args, False), **given(made.kwargs, False))
        except Exception as error:
            want = error
        found: dict[str, Any] = {}
        if f"{made.room}{made.name}" not in ELSEWHERE:
            found["st"] = attempt(lambda: ours(*given(made.args, True), **given(made.kwargs, True)))
        if made.compiled and "st" in found:
            found["compiled"] = attempt(lambda: compiled(made, ours))
        if any(isinstance(a, Operand) for a in leaves([*made.args, *made.kwargs.values()])):
            found["np"] = attempt(lambda: theirs(*given(made.args, True), **given(made.kwargs, True)))
        faults = [f"{style}: {text}" for style, got in found.items()
                  if (text := judged(made, style, want, got, found.get("st")))]
        return "; ".join(faults) or None


def attempt(f: Callable[[], Any]) -> Any:
    """What comes of a call: results as arrays, or the error."""
    try:
        made = f()
        return [np.asarray(p) for p in leaves(unpacked(made))]
    except Exception as error:
        return error


def unpacked(made: Any) -> Any:
    """Results, those with names too, as lists."""
    return [unpacked(p) for p in made] if isinstance(made, list | tuple) else made


def compiled(made: Call, ours: Callable[..., Any]) -> Any:
    """The call in a compiled function of its operands."""
    arguments = [made.args, made.kwargs]
    operands = [a for a in leaves([*made.args, *made.kwargs.values()]) if isinstance(a, Operand)]

    def f(*tensors: Any) -> Any:
        args, kwargs = filled(arguments, iter(tensors))
        return ours(*args, **kwargs)

    return st.compile(f)(*(a.tensor() for a in operands))


def judged(made: Call, style: str, want: Any, got: Any, imperative: Any) -> str | None:
    """What is wrong with one result."""
    name = f"{made.room}{made.name}"
    if isinstance(got, Exception):
        is_lesson = isinstance(got, SteleError | np.linalg.LinAlgError)
        if not is_lesson and not (style == "np" and isinstance(want, Exception)):
            return f"bare {type(got).__name__}: {str(got)[:200]}"
        if isinstance(want, Exception):
            return None
        if style == "compiled" and not isinstance(imperative, Exception) and not isinstance(got, TraceError):
            return f"compiled alone refuses: {type(got).__name__}: {str(got)[:200]}"
        if style != "np" or isinstance(imperative, Exception):
            NOTED[f"{style} {name}: {type(got).__name__}: {str(got)[:70]}"] += style != "np"
            return None
        return f"np alone refuses: {type(got).__name__}: {str(got)[:200]}"
    if isinstance(want, Exception):
        if isinstance(want, TypeError) or style == "np":
            return None
        NOTED[f"takes what NumPy refuses, {name}: {str(want)[:70]}"] += 1
        return None
    law = LAWS.get(name)
    right = [np.asarray(p) for p in leaves(unpacked(want))]
    if len(got) != len(right):
        return f"{len(got)} results for {len(right)}"
    if law is not None:
        got, right = [np.asarray(law(*got))], [np.asarray(law(*right))]
    if name.endswith(("var", "std")):     # of too few elements NaN, where NumPy divides by 0
        right = [np.where(np.isinf(r), np.nan, r) for r in right]
    wide = any(isinstance(a, Operand) and a.base.dtype.name in ("float64", "complex128")
               for a in leaves([*made.args, *made.kwargs.values()]))
    exact = isinstance(getattr(np, made.name, None), np.ufunc) and not made.room
    otherwise = name in OTHERWISE.split()
    return "; ".join(filter(None, (differs(g, r, wide, exact, otherwise) for g, r in zip(got, right)))) or None


def differs(got: Any, right: Any, wide: bool, exact: bool, otherwise: bool) -> str | None:
    """How a result differs from NumPy's: in shape, dtype or numbers."""
    if got.shape != right.shape:
        return f"shape {got.shape} for {right.shape}"
    a, b = got.dtype, right.dtype
    if otherwise:
        got = got.astype(b)
    elif (a.kind in "fc") != (b.kind in "fc") or (a.kind not in "fc" and a != b) or \
            (a != b and (a.kind != b.kind or (wide and b.name in ("float64", "complex128")))):
        return f"dtype {a} for {b}"
    if b.kind not in "fc":
        bad = got != right
    else:
        rough = max(ROUGH.get(a.name, 0.0), ROUGH[b.name], 0.0 if wide else ROUGH["float32"])
        x, y = got.astype(wider := "c16" if b.kind == "c" else "f8"), right.astype(wider)
        size = np.max(np.abs(y[np.isfinite(y)]), initial=0.0)
        bad = ~np.isclose(x, y, rtol=rough, atol=rough * (0.1 + 0.1 * size), equal_nan=True)
        if b.kind == "c":       # products of infinities are nobody's
            bad &= np.isfinite(y)
        if exact and b.kind == "f":
            bad |= (x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y))
    if not bad.any():
        return None
    return f"{got[bad].flat[0]!r} for {right[bad].flat[0]!r} at {np.argwhere(bad)[0].tolist()}"
