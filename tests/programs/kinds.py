"""The table of what a program may do: how Stele spells it, what NumPy says of it, and how to make arguments for it."""
from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import stele as st
from stele.ir.types import DType
from stele.ir.types import dtype as type_named
from tests.host_ops import ordered, running
from tests.programs import moves, reductions, windows
from tests.programs.complexes import COMPLEX, TAKES_COMPLEX, part
from tests.programs.kind import INT, PYTHON, Kind, Made, accumulated, alone, floats, inside, named, paired, place, truth
from tests.programs.matrices import LINEAR
from tests.programs.mixed import in_other_words
from tests.programs.numbers import F32, Array, common, wide
from tests.programs.program import Program
from tests.programs.special import DRAWS, HIGHER, SPECIAL, signed

if TYPE_CHECKING:
    from tests.programs.grammar import Growth


def tripled(g: Growth, x: str) -> Made:
    """A condition, and two that meet."""
    return (g.bool_like(x), x, g.partner(x)), {}


def bounded(g: Growth, x: str) -> Made:
    low, high = sorted(g.integer(-2, 3) if g.dtype(x).kind == "i" else g.integer(0, 3) for _ in range(2))
    return (x,), g.choose([{"min": low, "max": high}, {"min": low}, {"max": high}])


def shifted(g: Growth, x: str) -> Made:
    return (x, g.integer(0, g.dtype(x).bits + 2)), {}


def retyped(g: Growth, x: str) -> Made:
    """Another dtype; complex numbers stay complex, or become bools."""
    found = [d for d in g.dtypes if not g.dtype(x).is_complex or d.startswith("complex") or d == "bool"]
    return (x,), {"dtype": g.choose(found)}


def powered(g: Growth, x: str) -> Made:
    return (x, g.choose([0, 1, 2, 3, 4, 5, -1, -2, 0.5, -0.5, 1.5] if g.dtype(x).is_float else [0, 1, 2, 3])), {}


def cast(x: Array, dtype: str) -> Array:
    """To another dtype, where the value has a place there."""
    d = type_named(dtype)
    if x.dtype.kind == "f" and d.kind in INT:
        bounds = np.iinfo(d.numpy)
        whole = np.trunc(x)
        if not (np.isfinite(x) & (whole >= bounds.min) & (whole < float(bounds.max) + (d.bits < 53))).all():
            raise ValueError("a float without a place among the integers")
    return (x != 0) if d.kind == "b" else x.astype(wide(d))


def elementwise(f: Callable[..., Array]) -> Callable[..., Array]:
    return np.vectorize(f, otypes=[np.float64])


def sigmoid(x: Array) -> Array: return np.exp(-np.logaddexp(x.dtype.type(0), -x))
def gelu(x: Array) -> Array: return x * 0.5 * (1 + elementwise(math.erf)(x / math.sqrt(2)))
def relu(x: Array) -> Array: return np.where(x < 0, np.zeros_like(x), x)
def power(x: Array, z: Any) -> Array:
    """As the standard has it; for one exponent NumPy takes a square root, which knows no powers of -inf and -0."""
    if isinstance(z, PYTHON):
        return np.power(x, np.full(x.shape, z, x.dtype) if x.dtype.kind == "f" else z)
    return np.power(x, np.array(np.broadcast_to(z, np.broadcast_shapes(np.shape(x), np.shape(z)))))


def floor_divide(x: Array, z: Array) -> Array:
    """As the array API standard has it, the quotient itself where one is infinite."""
    y = np.floor_divide(x, z)
    return np.where(np.isinf(x) | np.isinf(z), x / z, y) if y.dtype.kind == "f" else y


def clip(x: Array, min: Any = None, max: Any = None) -> Array: return np.clip(x, min, max)
def elu(x: Array) -> Array: return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def binary(name: str, numpy: Callable[..., Array], **changes: Any) -> Kind:
    return Kind(name, getattr(st, name), numpy, paired, **{"weight": 2.0, **changes})


ELEMENTWISE = (
    floats("exp", np.exp), floats("log", np.log), floats("log1p", np.log1p), floats("expm1", np.expm1),
    floats("sqrt", np.sqrt), floats("rsqrt", lambda x: 1 / np.sqrt(x)), floats("reciprocal", lambda x: 1 / x),
    floats("sin", np.sin), floats("cos", np.cos), floats("tan", np.tan, weight=0.3), floats("atan", np.arctan),
    floats("sinh", np.sinh, weight=0.5), floats("cosh", np.cosh, weight=0.5), floats("tanh", np.tanh, weight=2.0),
    floats("sigmoid", sigmoid, weight=2.0), floats("log_sigmoid", lambda x: -np.logaddexp(x.dtype.type(0), -x)),
    floats("softplus", lambda x: np.logaddexp(x.dtype.type(0), x)), floats("erf", elementwise(math.erf)),
    floats("erfc", elementwise(math.erfc)),
    *(floats(name, getattr(np, of), weight=0.3) for name, of in (
        ("asinh", "arcsinh"), ("log2", "log2"), ("log10", "log10"), ("exp2", "exp2"), ("cbrt", "cbrt"))),
    *(floats(name, getattr(np, of), make=inside(*steps), weight=0.3) for name, of, *steps in (
        ("asin", "arcsin", "tanh"), ("acos", "arccos", "tanh"), ("acosh", "arccosh", "square", "add:1"),
        ("atanh", "arctanh", "tanh"))),
    Kind("signbit", lambda x: st.signbit(signed(x)), lambda x: np.signbit(signed(x)), alone, "f", result=truth,
         smooth=False),
    floats("gelu", gelu, domain="f", noise="tail"), floats("silu", lambda x: x * sigmoid(x), domain="f"),
    floats("elu", elu, noise="rounded"), floats("leaky_relu", lambda x: np.where(x >= 0, x, x * 0.01)),
    floats("floor", np.floor, noise="exact", domain="f", smooth=False),
    floats("ceil", np.ceil, noise="exact", domain="f", smooth=False),
    floats("round", np.rint, noise="exact", domain="f", smooth=False),
    floats("trunc", np.trunc, noise="exact", domain="f", smooth=False),
    floats("isnan", np.isnan, noise="exact", domain="f", result=truth, smooth=False),
    floats("isinf", np.isinf, noise="exact", domain="f", result=truth, smooth=False),
    floats("isfinite", np.isfinite, noise="exact", domain="f", result=truth, smooth=False),
    Kind("square", st.square, np.square, alone, "iuf", noise="rounded"),
    Kind("called", st.op(vjp=lambda g, y, x: g * 2 * x)(np.square), np.square, alone, "iuf", noise="rounded"),
    Kind("foreign", st.foreign(ctypes.CDLL(None).fabs, "double(double)", vjp=lambda g, y, x: g * st.sign(x)),
         lambda x: np.abs(x.astype(np.float64)), alone, "f", result=lambda d, a: (type_named("float64"),)),
    Kind("relu", st.relu, relu, alone, "iuf"),
    Kind("abs", st.abs, np.abs, alone, "iuf", result=part),
    Kind("sign", st.sign, np.sign, alone, "iuf", smooth=False),
    Kind("negative", st.negative, np.negative, alone, "iuf"),
    Kind("logical_not", st.logical_not, np.logical_not, alone, "b", result=truth, smooth=False),
    binary("add", np.add, domain="iuf", noise="rounded", weight=5.0),
    binary("subtract", np.subtract, domain="iuf", noise="rounded", weight=4.0),
    binary("multiply", np.multiply, domain="iuf", noise="rounded", weight=5.0),
    binary("divide", np.divide, operands="float", noise="rounded"),
    Kind("power", st.pow, power, paired, "f", noise="rounded", weight=0.5),
    binary("logaddexp", np.logaddexp, operands="float", noise="rounded", weight=0.5),
    binary("hypot", np.hypot, operands="float", noise="rounded", weight=0.5),
    binary("fmax", np.fmax, domain="iuf", weight=0.3), binary("fmin", np.fmin, domain="iuf", weight=0.3),
    binary("fmod", np.fmod, domain="iuf", smooth=False, weight=0.5),
    binary("maximum", np.maximum, domain="iuf"), binary("minimum", np.minimum, domain="iuf"),
    binary("floor_divide", floor_divide, domain="iuf", smooth=False),
    binary("remainder", np.remainder, domain="iuf", smooth=False),
    binary("equal", np.equal, result=truth, smooth=False, weight=0.5),
    binary("not_equal", np.not_equal, result=truth, smooth=False, weight=0.5),
    binary("less", np.less, result=truth, smooth=False, weight=0.5),
    binary("less_equal", np.less_equal, result=truth, smooth=False, weight=0.5),
    binary("greater", np.greater, result=truth, smooth=False, weight=0.5),
    binary("greater_equal", np.greater_equal, result=truth, smooth=False, weight=0.5),
    binary("logical_and", np.logical_and, domain="b", result=truth, smooth=False),
    binary("logical_or", np.logical_or, domain="b", result=truth, smooth=False),
    binary("logical_xor", np.logical_xor, domain="b", result=truth, smooth=False),
    Kind("shift_left", lambda x, z: x << z, np.left_shift, shifted, INT, smooth=False),
    Kind("shift_right", lambda x, z: x >> z, np.right_shift, shifted, INT, smooth=False),
    Kind("pow", st.pow, power, powered, "iuf", noise="rounded"),
    Kind("clip", st.clip, clip, bounded, "iuf"),
    Kind("where", lambda m, x, z: st.where(m, x, z), np.where, tripled, "biuf",
         operands="where", result=lambda d, a: (d[1],), weight=2.0),
    Kind("astype", lambda x, dtype: x.astype(dtype), cast, retyped, operands="own", result=named, noise="rounded",
         weight=3.0, smooth=False),
    Kind("bits", lambda x: x.view("uint8") & 1, lambda x: x.view(np.uint8) & 1, alone, INT, operands="own",
         result=lambda d, a: (type_named("uint8"),), smooth=False, weight=0.3),
    Kind("held_tanh", st.checkpoint(st.tanh), np.tanh, alone, "f", operands="float", noise="rounded"),
    Kind("held_product", st.checkpoint(lambda x, z: x * z), np.multiply, paired, "iuf", noise="rounded"),
    Kind("stop_gradient", st.stop_gradient, lambda x: x, alone, "f", weight=0.3, smooth=False),
)


def fold(name: str, numpy: Callable[..., Any], **changes: Any) -> Kind:
    return Kind(name, getattr(st, name), numpy, reductions.axes, **{"noise": "sum", **changes})


def running_of(x: Array, axis: int) -> Array:
    return np.logical_or.accumulate(x, axis) if x.dtype == bool else np.add.accumulate(x, axis)


REDUCTIONS = (
    fold("sum", np.sum, result=accumulated, weight=4.0),
    fold("mean", np.mean, operands="float", weight=2.0),
    fold("prod", np.prod, result=accumulated, weight=0.5),
    fold("max", np.max, domain="iuf", noise="exact", weight=2.0), fold("min", np.min, domain="iuf", noise="exact"),
    fold("all", np.all, noise="exact", result=truth, smooth=False),
    fold("any", np.any, noise="exact", result=truth, smooth=False),
    fold("var", np.var, domain="f", result=part),
    fold("std", np.std, domain="f", result=part, weight=0.5, smooth=False),
    fold("logsumexp", reductions.logsumexp, domain="f"),
    Kind("argmax", st.argmax, np.argmax, reductions.position, "iuf", result=place, smooth=False, weight=1.5),
    Kind("argmin", st.argmin, np.argmin, reductions.position, "iuf", result=place, smooth=False),
    Kind("cummax", st.cummax, np.maximum.accumulate, reductions.axis, weight=1.0),
    Kind("cummin", st.cummin, np.minimum.accumulate, reductions.axis, weight=0.5),
    Kind("cumulative_sum", st.cumulative_sum, np.cumsum, reductions.axis, result=accumulated, noise="sum"),
    Kind("cumulative_prod", st.cumulative_prod, np.cumprod, reductions.axis, result=accumulated, noise="sum",
         weight=0.5),
    Kind("logcumsumexp", st.logcumsumexp, np.logaddexp.accumulate, reductions.axis, "f", noise="sum", weight=0.5),
    Kind("median", st.median, np.median, reductions.place_in_order, "f", noise="sum", weight=0.5),
    Kind("chosen", moves.in_one, moves.in_one, moves.chosen, "iuf", operands="own", result=accumulated, noise="sum"),
    Kind("softmax", st.softmax, reductions.softmax, reductions.axis, "f", noise="sum", weight=2.0),
    Kind("log_softmax", st.log_softmax, reductions.log_softmax, reductions.axis, "f", noise="sum"),
    Kind("norm", lambda x, axis: st.linalg.vector_norm(x, axis=axis), reductions.norm, reductions.axis, "f",
         noise="sum"),
    Kind("normalize", st.normalize, reductions.normalize, reductions.axis, "f", noise="sum"),
    Kind("layer_norm", st.layer_norm, reductions.layer_norm, reductions.scaled, "f", noise="sum"),
    Kind("cross_entropy", st.cross_entropy, reductions.cross_entropy, reductions.labelled, "f", operands="own",
         noise="sum"),
    Kind("mse", st.mse, reductions.mse, reductions.alike, "f", noise="sum", weight=0.5),
)

def scattered(x: Any, i: Any, axis: int, mode: str) -> Any:
    """What stands at positions, put there in the opposite order."""
    return st.scatter(x, i, st.flip(st.take_along_axis(x, i, axis), axis), axis, mode)


MOVES = (
    Kind("reshape", lambda x, shape: st.reshape(x, *shape), np.reshape, moves.reshape, operands="own", weight=3.0),
    Kind("permute", lambda x, order: st.permute(x, *order), lambda x, order: np.transpose(x, order), moves.permute,
         operands="own", weight=2.0),
    Kind("flip", st.flip, np.flip, moves.axis, operands="own"),
    Kind("roll", st.roll, np.roll, moves.roll, operands="own"),
    Kind("repeat", lambda x, times, axis: st.repeat(x, times, axis), lambda x, times, axis: np.repeat(x, times, axis),
         moves.repeat, operands="own"),
    Kind("pad", st.pad, lambda x, widths, value: np.pad(x, widths, constant_values=value), moves.pad, "iuf",
         operands="own", weight=2.0),
    Kind("tril", st.tril, np.tril, moves.triangle, "iuf", operands="own"),
    Kind("triu", st.triu, np.triu, moves.triangle, "iuf", operands="own"),
    Kind("concatenate", lambda *x, axis: st.concatenate(x, axis=axis), lambda *x, axis: np.concatenate(x, axis),
         moves.joined, weight=3.0),
    Kind("stack", lambda *x, axis: st.stack(x, axis=axis), lambda *x, axis: np.stack(x, axis), moves.stacked),
    Kind("split", st.split, moves.split_of, moves.split, operands="own", weight=2.0),
    Kind("unsqueeze", st.unsqueeze, np.expand_dims, moves.new_axis, operands="own"),
    Kind("squeeze", st.squeeze, np.squeeze, moves.ones, operands="own"),
    Kind("broadcast_to", st.broadcast_to, np.broadcast_to, moves.broadcast, operands="own", weight=2.0),
    Kind("getitem", lambda x, key: x[key], lambda x, key: x[key], moves.key, operands="own", weight=5.0),
    Kind("share", moves.share_of, moves.share_of, moves.share, operands="own", weight=2.0),
    Kind("rows", moves.whole_rows, moves.whole_rows, moves.as_rows, operands="own"),
    Kind("take", st.take, np.take, moves.taken, operands="own", weight=2.0),
    Kind("gather", lambda x, *i: x[i], lambda x, *i: x[i], moves.gathered, operands="own"),
    Kind("mixed", lambda x, *i, key: x[moves.key_of(key, i)], lambda x, *i, key: x[moves.key_of(key, i)],
         moves.mixed_read, operands="own", weight=2.0),
    Kind("tile", st.tile, lambda x, repetitions: np.tile(x, repetitions), moves.tile, operands="own"),
    Kind("rot90", st.rot90, np.rot90, moves.rot90, operands="own", weight=0.5),
    Kind("diagonal", st.diagonal, np.diagonal, moves.diagonal, operands="own"),
    Kind("diag_embed", st.diag_embed, moves.diag_embed_of, moves.embedded, operands="own"),
    Kind("extend", st.pad, lambda x, widths, mode: np.pad(x, widths, mode), moves.extended, operands="own"),
    Kind("sort", st.sort, moves.sort_of, moves.ordered, operands="own", weight=2.0),
    Kind("argsort", st.argsort, moves.argsort_of, moves.ordered, operands="own", result=place, smooth=False),
    Kind("topk", lambda x, **how: st.topk(x, **how)[0], moves.topk_of, moves.first, operands="own"),
    Kind("places", lambda x, **how: st.topk(x, **how)[1], moves.places_of, moves.first, operands="own", result=place,
         smooth=False),
    Kind("unique", st.unique_values, moves.unique_of, moves.whole, operands="own"),
    Kind("unique_parts", lambda x, **how: st.unique(x, **how), moves.unique_parts_of, moves.parts, operands="own"),
    Kind("masked", lambda x, m, size: x[st.nonzero(m, size=size)], moves.found_of, moves.found, operands="own"),
    Kind("searchsorted", lambda x, z, side: st.searchsorted(st.sort(st.reshape(x, -1)), z, side=side), moves.search_of,
         moves.searched, result=place, smooth=False),
    Kind("histogram", lambda x, **how: st.histogram(x, **how)[0], moves.histogram_of, moves.binned, "f", operands="own",
         result=place, smooth=False),
    Kind("segments", lambda x, i, segments, mode: getattr(st, f"segment_{mode}")(x, i, segments), moves.segments_of,
         moves.segments, "iuf", operands="own", noise="sum"),
    Kind("take_along_axis", st.take_along_axis, np.take_along_axis, moves.taken_along, operands="own"),
    Kind("scatter", scattered, moves.scatter_of, moves.scattered, "iuf", operands="own", noise="sum"),
    Kind("index_add", lambda x, i, axis: st.index_add(x, i, st.take(x, i, axis), axis), moves.index_add_of,
         moves.added, "iuf", operands="own", noise="sum"),
    Kind("pick", st.pick, moves.pick_of, moves.picked, operands="own"),
    Kind("one_hot", st.one_hot, moves.one_hot_of, moves.one_hot, INT, operands="own", result=named, smooth=False),
)

WINDOWS = (
    Kind("einsum", lambda *x, equation: st.einsum(equation, *x), lambda *x, equation: np.einsum(equation, *x),
         moves.einsum, "f", noise="coarse", weight=2.0),
    Kind("matmul", st.matmul, np.matmul, windows.product, "iuf", noise="coarse", weight=4.0),
    Kind("conv2d", st.conv2d, windows.convolved, windows.convolution(2), "f", noise="coarse", weight=3.0),
    Kind("convolution", lambda x, w, **moves: getattr(st, f"conv{x.ndim - 2}d")(x, w, **moves), windows.convolved,
         windows.convolution(1, 3), "f", noise="coarse", weight=3.0),
    Kind("conv_transpose", lambda x, w, **moves: getattr(st, f"conv_transpose{x.ndim - 2}d")(x, w, **moves),
         windows.spread, windows.convolution(1, 2, 3, transposed=True), "f", noise="coarse", weight=3.0),
    Kind("max_pool2d", st.max_pool2d, windows.max_pool2d, windows.pooling, "f", operands="own", weight=2.0),
    Kind("avg_pool2d", st.avg_pool2d, windows.avg_pool2d, windows.pooling, "f", operands="own", noise="sum"),
)


# Ops that have no kernel: Python computes them in the midst of programs.
HOST = (
    Kind("running", lambda x, axis: running(x, axis=axis), running_of, moves.axis, operands="own", noise="sum",
         weight=3.0),
    Kind("ordered", lambda x: ordered(x)[0], np.sort, alone, operands="own", weight=2.0),
)


def setitem(x: Any, v: Any, key: Any) -> None: x[key] = v
def set_at(x: Any, v: Any, i: Any) -> None: x[i] = v


def updated(x: Any, z: Any, symbol: str) -> None:
    """x symbol= z."""
    match symbol:
        case "+": x += z
        case "-": x -= z
        case "*": x *= z
        case "/": x /= z
        case "//": x //= z
        case "%": x %= z
        case "&": x &= z
        case _: raise ValueError(symbol)


def keyed(x: Array, v: Any, key: Any) -> Array:
    y = x.copy()
    y[key] = v
    return y


UPDATES = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide,
           "%": np.remainder, "&": np.bitwise_and}

# These write what their first argument stands for: NumPy's side gives its new numbers.
IN_PLACE = (
    Kind("setitem", setitem, keyed, moves.replaced, operands="target", weight=3.0, feature="in-place"),
    Kind("set_mask", set_at, lambda x, v, i: keyed(x, v, i), moves.masked, operands="target", feature="in-place"),
    Kind("set_masked_part", lambda x, v, m, key: setitem(x, v, moves.key_of(key, [m])),
         lambda x, v, m, key: keyed(x, v, moves.key_of(key, [m])), moves.masked_part, operands="target",
         feature="in-place"),
    Kind("set_rows", set_at, lambda x, v, i: keyed(x, v, i), moves.rows, operands="target", feature="in-place"),
    Kind("set_mixed", lambda x, v, *i, key: setitem(x, v, moves.key_of(key, i)),
         lambda x, v, *i, key: keyed(x, v, moves.key_of(key, i)), moves.mixed_written, operands="target", weight=1.0,
         feature="in-place"),
    Kind("set_each", lambda x, m, function: setitem(x, getattr(st, function)(x[m]), m),
         lambda x, m, function: keyed(x, getattr(np, function)(x[m]), m), moves.each, "iuf", operands="own",
         noise="rounded", feature="in-place"),
    Kind("update", updated, lambda x, z, symbol: UPDATES[symbol](x, z), moves.update, "iuf", operands="common",
         noise="rounded", weight=3.0, feature="in-place"),
    Kind("alias", lambda x: x, lambda x: x, alone, operands="own", weight=1.0, feature="in-place"),
)
WRITES = frozenset(k.name for k in IN_PLACE) - {"alias"}


def writes(program: Program) -> bool:
    """Whether a program writes in place, in the body of a loop or a branch too."""
    return any(s.law in WRITES or any(map(writes, s.bodies.values())) for s in program.steps)


OWN = tuple(replace(k, domain=k.domain + "c") if k.name in TAKES_COMPLEX else k for k in (
    *ELEMENTWISE, *SPECIAL, *REDUCTIONS, *MOVES, *LINEAR, *WINDOWS, *COMPLEX, *DRAWS, *HIGHER, *HOST, *IN_PLACE))
ALL = (*OWN, *in_other_words(OWN))
KINDS = {k.name: k for k in ALL}

# Steps one behind the other that rewrites look for; a number is the second operand of the step before it.
IDIOMS = tuple(tuple(line.split()) for line in """
exp log; exp add:1 log; exp subtract:1; sigmoid log; sigmoid negative add:1 log; negative exp add:1 reciprocal
square add:1 sqrt; square add:1 reciprocal; softmax log; square log1p; square sqrt; negative negative; add:0; multiply:1
multiply:3 multiply:0.5; relu relu; negative abs; negative relu; square relu; abs relu; cos negative add:1
reciprocal reciprocal; exp exp; negative square; abs square; sign abs; multiply:0; abs abs
divide:4; pow:0; maximum:0 minimum:1; negative maximum:0; exp negative exp; floor floor; negative multiply:-1
""".replace("\n", ";").split(";") if line.strip())


def promoted(operands: str, dtypes: list[DType]) -> list[DType]:
    """What operands are converted to before they meet."""
    if operands == "own":
        return dtypes
    if operands == "target":
        return [dtypes[0], dtypes[0], *dtypes[2:]]
    if operands == "where":
        return [dtypes[0], *[common(*dtypes[1:])] * (len(dtypes) - 1)]
    met = common(*dtypes)
    return [met if operands == "common" or met.is_float else F32] * len(dtypes)
