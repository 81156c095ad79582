"""How Stele spells PyTorch's calls: a table from the name of an op to a function of PyTorch's arguments."""
from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import stele as st
from tests.conformance.moving import MOVED
from tests.conformance.networks import NETWORKS
from tests.conformance.ordering import ORDERED
from tests.conformance.words import kind, refuse

Call = Callable[..., Any]


def number(x: Any) -> Any:
    """What PyTorch takes for a number where Stele wants one of Python's."""
    return x.item() if hasattr(x, "item") else x


def reduction(f: Call, named: str | None = None) -> Call:
    """A reduction over `dim`, kept where asked for."""
    def call(x: Any, dim: Any = None, keepdim: bool = False, **rest: Any) -> Any:
        refuse(rest, f"{', '.join(rest)}=")
        axis = (None if named is None and dim == () else tuple(dim)) if isinstance(dim, tuple | list) else dim
        return f(x, axis=axis, keepdims=keepdim)
    return call


def position(f: Call) -> Call:
    def call(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        y = f(x, axis=dim) if x.ndim else f(st.reshape(x, -1), axis=0 if dim is not None else None)
        if not keepdim:
            return y
        return st.reshape(y, (1,) * x.ndim) if dim is None else st.unsqueeze(y, axis=dim) if x.ndim else y
    return call


def extreme(fold: Call, place: Call, pairwise: Call) -> Call:
    """PyTorch's max and min: of all, along an axis with positions, or of two arrays."""
    def call(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, st.Tensor):
            return pairwise(x, dim)
        if dim is None:
            return fold(x)
        refuse(not x.ndim, "positions along an axis of a number")
        y = place(x, axis=dim)
        return fold(x, axis=dim, keepdims=keepdim), st.unsqueeze(y, axis=dim) if keepdim else y
    return call


def variance(f: Call) -> Call:
    def call(x: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, correction: Any = None) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        axis = None if dim == () else tuple(dim) if isinstance(dim, tuple | list) else dim
        return f(x, axis=axis, keepdims=keepdim, correction=int(unbiased) if correction is None else correction)
    return call


def along(f: Call) -> Call:
    """softmax and its kin: along an axis, after a conversion where one is asked for."""
    def call(x: Any, dim: int, dtype: Any = None) -> Any:
        return f(x if dtype is None else x.astype(kind(dtype)), axis=dim)
    return call


def scaled(f: Call) -> Call:
    """x f (alpha z)."""
    def call(x: Any, z: Any, alpha: float = 1) -> Any: return f(x, z if alpha == 1 else z * alpha)
    return call


def divided(x: Any, z: Any, rounding_mode: str | None = None) -> Any:
    match rounding_mode:
        case None: return st.divide(x, z)
        case "floor": return st.floor_divide(x, z)
        case _: return st.trunc(st.divide(x, z))


def repeated(x: Any, times: Any) -> Any:
    times = tuple(times)
    x = st.reshape(x, (1,) * (len(times) - x.ndim) + tuple(x.shape))
    for axis, n in enumerate(times):
        none = tuple(slice(0 if k == axis else None) for k in range(x.ndim))
        x = st.concatenate([x] * n, axis=axis) if n else x[none]
    return x


def tiled(x: Any, times: Any) -> Any:
    return repeated(x, (1,) * (x.ndim - len(times)) + tuple(times))


def squeezed(x: Any, dim: Any = None) -> Any:
    if dim is None:
        return st.squeeze(x)
    axes = [d % builtins.max(x.ndim, 1) for d in (dim if isinstance(dim, tuple | list) else [dim])]
    return st.squeeze(x, axis=tuple(a for a in axes if x.ndim and x.shape[a] == 1))


def rolled(x: Any, shifts: Any, dims: Any = None) -> Any:
    if dims is None or dims == ():
        whole = shifts if isinstance(shifts, int) else shifts[0]
        return st.reshape(st.roll(st.reshape(x, -1), shift=whole, axis=0), x.shape)
    for shift, axis in zip(*([n] if isinstance(n, int) else n for n in (shifts, dims))):
        x = st.roll(x, shift=shift, axis=axis)
    return x


def moved(x: Any, source: Any, target: Any) -> Any:
    order = [a for a in range(x.ndim) if a not in [s % x.ndim for s in source]]
    for t, s in sorted((t % x.ndim, s % x.ndim) for s, t in zip(source, target)):
        order.insert(t, s)
    return st.permute(x, *order)


def stacked_as(f: Call, axis: int, least: Call) -> Call:
    return lambda xs: f([least(x) for x in xs], axis=axis)


def clamp(x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return st.clip(x, min=min if low is None else low, max=max if high is None else high)


def arange(*args: Any, dtype: Any = None, **rest: Any) -> Any:
    return st.arange(*map(number, (*args, *rest.values())), dtype=kind(dtype))


def full(shape: Any, value: Any, dtype: Any = None, **rest: Any) -> Any:
    return st.full(tuple(shape) if isinstance(shape, tuple | list) else shape, value, dtype=kind(dtype))


def like(f: Call) -> Call:
    def call(x: Any, *args: Any, dtype: Any = None, **rest: Any) -> Any:
        y = f(x, *args)
        return y if dtype is None else y.astype(kind(dtype))
    return call


def chunked(x: Any, count: int, dim: int = 0) -> Any:
    return st.split(x, -(-x.shape[dim] // count), axis=dim)


def norm(x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """PyTorch's older norm: over all axes where none are named, and of numbers along an axis of one."""
    refuse(dtype, "dtype=")
    if not x.ndim:
        return st.linalg.vector_norm(x, ord=p if p != "fro" else 2)
    if p == "nuc" or (p == "fro" and dim is not None):
        return st.linalg.norm(x, p, dim, keepdim)
    return st.linalg.vector_norm(x, 2 if p == "fro" else p, dim, keepdim)


def linalg_norm(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    refuse(dtype, "dtype=")
    return st.linalg.norm(x, ord, tuple(dim) if isinstance(dim, list) else dim, keepdim)


def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    x = x if dtype is None else x.astype(kind(dtype))
    return st.linalg.vector_norm(x, ord, dim, keepdim) if x.ndim else st.linalg.vector_norm(x, ord)


def pinv(x: Any, z: Any = None, rtol: Any = None) -> Any:
    """Of a matrix, or of the product of two that its variant for singular ones takes."""
    return st.linalg.pinv(x if z is None else x @ z.mT, rtol=rtol)


def matrix_rank(x: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """An absolute tolerance is the same part of the largest singular value."""
    if atol is None or not builtins.min(x.shape[-2:]):
        return st.linalg.matrix_rank(x, rtol=rtol)
    part = atol / st.max(st.linalg.svdvals(x), axis=-1)
    return st.linalg.matrix_rank(x, rtol=part if rtol is None else st.maximum(part, rtol))


def lstsq(x: Any, b: Any, driver: str) -> Any:
    """PyTorch's drivers leave out what they do not compute."""
    y, nothing = st.linalg.lstsq(x, b), st.zeros(0)
    has_rank, has_values = driver != "gels", driver in ("gelss", "gelsd")
    return (y.solution, y.residuals if x.shape[-2] > x.shape[-1] and driver != "gelsy" else nothing,
            y.rank if has_rank else nothing.astype("int64"), y.singular_values if has_values else nothing)


def solve(x: Any, b: Any) -> Any:
    """A stack of vectors is known by its shape."""
    if b.ndim == x.ndim - 1 and b.shape == x.shape[:-1]:
        return st.linalg.solve(x, b[..., None])[..., 0]
    return st.linalg.solve(x, b)


def tensordot(x: Any, z: Any, dims: Any = 2) -> Any:
    """Axes of length 1 repeat."""
    if isinstance(dims, list | tuple):
        sizes = list(x.shape)
        for i, j in zip(*dims):
            sizes[i] = builtins.max(sizes[i], z.shape[j])
        x = st.broadcast_to(x, sizes)
    return st.tensordot(x, z, axes=dims)


def qr(x: Any, mode: str = "reduced") -> Any:
    return (st.zeros(0), st.linalg.qr(x).R) if mode == "r" else st.linalg.qr(x, mode)


# fmt: off
SPELLED: dict[str, Call] = {
    **{f.__name__: f for f in (st.ceil, st.cos, st.cosh, st.exp, st.expm1, st.floor, st.log, st.log1p, st.sin,
        st.sinh, st.tan, st.tanh, st.trunc, st.sqrt, st.rsqrt, st.square, st.reciprocal, st.sign, st.sigmoid, st.erf,
        st.erfc, st.isnan, st.isinf, st.isfinite, st.maximum, st.minimum, st.pow, st.remainder, st.floor_divide,
        st.matmul,
        st.asin, st.acos, st.asinh, st.acosh, st.atanh, st.atan2, st.copysign, st.deg2rad, st.digamma, st.erfinv,
        st.exp2, st.fmax, st.fmin, st.fmod, st.frac, st.heaviside, st.hypot, st.i0, st.isclose, st.lgamma, st.log10,
        st.log2,
        st.logaddexp, st.logaddexp2, st.logit, st.nan_to_num, st.rad2deg, st.signbit, st.sinc, st.xlogy,
        st.positive)},
    **{f"special.{f.__name__}": f for f in (st.entr, st.erfcx, st.i0e, st.i1, st.log_ndtr, st.ndtr, st.ndtri,
        st.xlog1py, st.zeta)},
    "polygamma": lambda x, n: st.polygamma(n, x), "lerp": st.lerp,
    "abs": st.abs, "atan": st.atan,
    "neg": st.negative, "mul": st.multiply, "div": divided, "true_divide": st.divide, "add": scaled(st.add),
    "sub": scaled(st.subtract), "round": lambda x, decimals=0: refuse(decimals, "decimals=") or st.round(x),
    "eq": st.equal, "ne": st.not_equal, "lt": st.less, "le": st.less_equal, "gt": st.greater, "ge": st.greater_equal,
    "clamp": clamp, "clamp_min": lambda x, low: st.clip(x, min=low), "clamp_max": lambda x, high: st.clip(x, max=high),
    "__radd__": lambda x, z: z + x, "__rsub__": lambda x, z: z - x, "__rmul__": lambda x, z: z * x,
    "__rdiv__": lambda x, z: z / x, "__rpow__": lambda x, z: z ** x, "__rmatmul__": lambda x, z: z @ x,
    "where": lambda x, m, z: st.where(m, x, z),
    "logical_and": st.logical_and, "logical_or": st.logical_or, "logical_xor": st.logical_xor,
    "logical_not": st.logical_not,
    "masked_fill": lambda x, m, v: st.where(m, v if not isinstance(v, st.Tensor) else v.astype(x.dtype), x),
    # reductions
    "sum": reduction(st.sum), "mean": reduction(st.mean), "prod": reduction(st.prod), "all": reduction(st.all),
    "any": reduction(st.any), "amax": reduction(st.max), "amin": reduction(st.min),
    "logsumexp": reduction(st.logsumexp), "std": variance(st.std), "var": variance(st.var),
    "argmax": position(st.argmax), "argmin": position(st.argmin),
    "max": extreme(st.max, st.argmax, st.maximum), "min": extreme(st.min, st.argmin, st.minimum),
    "var_mean": lambda x, *a, **k: (variance(st.var)(x, *a, **k),
        reduction(st.mean)(x, *[d for d in a if not isinstance(d, bool)],
                           **{n: v for n, v in k.items() if n in ("dim", "keepdim")})),
    "softmax": along(st.softmax), "log_softmax": along(st.log_softmax),
    "trace": st.linalg.trace, "tensordot": tensordot,
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: st.linalg.diagonal(moved(x, (dim1, dim2), (-2, -1)), offset),
    # products
    "mm": st.matmul, "bmm": st.matmul, "mv": st.matmul, "dot": st.matmul, "vdot": st.matmul,
    "inner": lambda x, z: x * z if not x.ndim or not z.ndim else x @ (z.mT if z.ndim > 1 else z),
    "outer": st.linalg.outer, "kron": st.linalg.kron, "linalg.vecdot": st.vecdot,
    "cross": lambda x, z, dim=-1: st.linalg.cross(x, z, dim), "norm": norm, "linalg.norm": linalg_norm,
    "linalg.vector_norm": vector_norm, "linalg.matrix_norm": st.linalg.matrix_norm,
    "linalg.cholesky": st.linalg.cholesky, "linalg.inv": st.linalg.inv, "linalg.det": st.linalg.det,
    "linalg.slogdet": st.linalg.slogdet, "linalg.qr": qr,
    "linalg.solve": solve, "linalg.solve_triangular": st.linalg.solve_triangular,
    "linalg.eigh": st.linalg.eigh, "linalg.eigvalsh": st.linalg.eigvalsh,
    "linalg.svd": st.linalg.svd, "linalg.svdvals": st.linalg.svdvals, "linalg.pinv": pinv, "linalg.lstsq": lstsq,
    "linalg.matrix_rank": matrix_rank, "linalg.matrix_power": st.linalg.matrix_power,
    "addmm": lambda c, x, z, alpha=1, beta=1: c * beta + (x @ z) * alpha,
    "baddbmm": lambda c, x, z, alpha=1, beta=1: c * beta + (x @ z) * alpha,
    "linalg.multi_dot": st.linalg.multi_dot,
    **NETWORKS,
    # movement
    "reshape": lambda x, shape: st.reshape(x, *shape) if shape else st.reshape(x, ()),
    "ravel": lambda x: st.reshape(x, -1),
    "flatten": lambda x, start_dim=0, end_dim=-1: st.flatten(x, start_dim, end_dim),
    "permute": lambda x, dims: st.permute(x, *dims), "transpose": st.swapaxes, "movedim": moved,
    "flip": lambda x, dims: st.flip(x, axis=dims), "fliplr": lambda x: st.flip(x, axis=1),
    "flipud": lambda x: st.flip(x, axis=0), "roll": rolled, "tril": lambda x, diagonal=0: st.tril(x, diagonal),
    "triu": lambda x, diagonal=0: st.triu(x, diagonal), "unsqueeze": lambda x, dim: st.unsqueeze(x, axis=dim),
    "squeeze": squeezed, "broadcast_to": st.broadcast_to, "expand": lambda x, shape: x.expand(*shape),
    "cat": lambda xs, dim=0: st.concatenate(xs, axis=dim), "stack": lambda xs, dim=0: st.stack(xs, axis=dim),
    "split": lambda x, size, dim=0: st.split(x, size, axis=dim), "chunk": chunked,
    "unbind": lambda x, dim=0: tuple(x[(*[slice(None)] * (dim % x.ndim), k)] for k in range(x.shape[dim])),
    "select": lambda x, dim, k: x[(*[slice(None)] * (dim % x.ndim), k)],
    "repeat": repeated, "tile": tiled,
    "index_select": lambda x, dim, i: st.take(x, i, axis=dim),
    "take": lambda x, i: st.take(st.reshape(x, -1), i),
    **ORDERED,
    **MOVED,
    # made from nothing
    "arange": arange, "eye": lambda n, m=None, dtype=None, **rest: st.eye(n, m, dtype=kind(dtype) or "float32"),
    "full": full, "ones": lambda shape, dtype=None, **rest: st.ones(shape, dtype=kind(dtype)),
    "zeros": lambda shape, dtype=None, **rest: st.zeros(shape, dtype=kind(dtype)),
    "linspace": lambda a, b, n, dtype=("", "float32"), **rest: st.linspace(number(a), number(b), n, dtype=kind(dtype)),
    "zeros_like": like(st.zeros_like), "ones_like": like(st.ones_like), "full_like": like(st.full_like),
}
# Samples, by op and number, in which PyTorch is not the truth.
CONVENTIONS = {**{("logcumsumexp", k): "of elements of 10,000 float32 has no digits behind the point" for k in (0, 1)},
               ("nn.functional.layer_norm", 2): "one element is 0 when normalised: PyTorch's is off by a rounding",
               ("special.ndtr", 2): "far on the left PyTorch's is 0, where a float32 holds the probability",
               ("linalg.svd", 200): "columns of U beyond the singular values turn with the others: PyTorch leaves them"}
# Variants that have words: of others PyTorch differentiates matrices that are not what they say, or drops results.
LIMITED: dict[str, tuple[str, ...]] = {"linalg.lstsq": ("",), "linalg.pinv": ("", "singular")}
# fmt: on
