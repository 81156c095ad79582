"""How Stele spells PyTorch's calls: most are calls of one function here by PyTorch's own arguments, others say more."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stele as st
from tests.conformance.networks import NETWORKS

Call = Callable[..., Any]

# Ops that are one function of that name, which takes PyTorch's arguments as they are.
SAME = """
    abs acos acosh add addmm all amax amin any arange argmax argmin argsort asin asinh atan atan2 atanh baddbmm bmm
    broadcast_to bucketize cat ceil chunk clamp column_stack copysign cos cosh count_nonzero cumprod cumsum deg2rad diag
    diag_embed diagonal diff digamma div dot dstack eq erf erfc erfinv exp exp2 expm1 eye fft.fft fft.fftn fft.ifft
    fft.irfft fft.rfft flatten flip fliplr flipud floor floor_divide fmax fmin fmod frac full full_like gather ge gt
    heaviside hstack hypot i0 index_select inner isclose isfinite isin isinf isnan kron le lerp lgamma linalg.cholesky
    linalg.det linalg.eigh linalg.eigvalsh linalg.inv linalg.matrix_norm linalg.matrix_power linalg.matrix_rank
    linalg.multi_dot linalg.norm linalg.qr linalg.slogdet linalg.solve_triangular linalg.svd linalg.svdvals
    linalg.vecdot linalg.vector_norm linspace log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp
    logical_and logical_not logical_or logical_xor logit logsumexp lt masked_fill masked_select matmul maximum mean
    meshgrid minimum mm movedim mul mv nan_to_num nanmean nansum ne neg norm ones ones_like outer permute positive pow
    prod quantile rad2deg ravel reciprocal remainder reshape roll rot90 round rsqrt searchsorted sigmoid sign signbit
    sin sinc sinh softmax special.entr special.erfcx special.i0e special.i1 special.log_ndtr special.ndtr special.ndtri
    special.xlog1py special.zeta split sqrt square stack sub sum take tan tanh tensordot tile topk
    transpose trapezoid tril triu true_divide trunc unbind unfold unsqueeze vstack xlogy zeros zeros_like
"""


def named(op: str) -> Call:
    """The function of a name: in its room where there is one, as of `linalg`, else in `stele` itself."""
    room, _, name = op.rpartition(".")
    return getattr(getattr(st, room) if room in ("fft", "linalg") else st, name)


def one_and_places(f: Call, pairwise: Call) -> Call:
    """PyTorch's max and min: of all elements, along an axis with positions, or of two arrays."""
    def call(x: Any, *args: Any, **rest: Any) -> Any:
        if args and isinstance(args[0], st.Tensor):
            return pairwise(x, *args)
        return f(x, *args, **rest, return_indices=True) if args or rest else f(x)
    return call


def unbiased(f: Call) -> Call:
    """Variances, which PyTorch corrects by 1; the first argument may say whether."""
    def call(x: Any, *args: Any, **rest: Any) -> Any:
        if args and isinstance(args[0], bool):
            args, rest = args[1:], rest | {"unbiased": args[0]}
        if rest.get("correction") is None and "unbiased" not in rest:
            rest |= {"correction": 1}
        return f(x, *args, **rest)
    return call


def median(x: Any, *args: Any, **rest: Any) -> Any:
    return st.median(x, *args, method="lower", return_indices=bool(args or rest), **rest)


def nonzero(x: Any, as_tuple: bool = False) -> Any:
    """PyTorch's number has one axis there."""
    return st.nonzero(st.atleast_1d(x)) if as_tuple else st.argwhere(x)


def unique(x: Any, sorted: bool = True, **rest: Any) -> Any:
    return st.unique(x, **rest)


def repeat_interleave(x: Any, repeats: Any, dim: int | None = None, output_size: Any = None) -> Any:
    return st.repeat_interleave(x, repeats, dim)


def tensor_split(x: Any, sections: Any, dim: int = 0) -> Any:
    """Cuts may stand in a tensor."""
    return st.tensor_split(x, sections.tolist() if isinstance(sections, st.Tensor) else sections, dim)


def scatter(x: Any, dim: int, i: Any, v: Any, reduce: str | None = None) -> Any:
    return st.scatter(x, i, v, axis=dim, mode={None: "set", "add": "add", "multiply": "mul"}[reduce])


def pinv(x: Any, z: Any = None, **rest: Any) -> Any:
    """Of a matrix, or of the product of two that its variant for singular ones takes."""
    return st.linalg.pinv(x if z is None else x @ z.mT, **rest)


def solve(x: Any, b: Any) -> Any:
    """PyTorch reads vectors from a b of the shape of the rows of x, also where it is a stack of matrices."""
    is_vectors = b.shape == x.shape[:-1]
    return st.linalg.solve(x, b[..., None])[..., 0] if is_vectors else st.linalg.solve(x, b)


def lstsq(x: Any, b: Any, driver: str) -> Any:
    """PyTorch's drivers leave out what they do not compute."""
    y, nothing = st.linalg.lstsq(x, b), st.zeros(0, dtype=x.dtype)
    has_rank, has_values = driver != "gels", driver in ("gelss", "gelsd")
    return (y.solution, y.residuals if x.shape[-2] > x.shape[-1] and driver != "gelsy" else nothing,
            y.rank if has_rank else nothing.astype("int64"), y.singular_values if has_values else nothing)


def is_pole(x: Any) -> Any:
    """Where the gamma function has none."""
    return (x <= 0) & (x == np.trunc(x))


# fmt: off
SPELLED: dict[str, Call] = {
    **{op: named(op) for op in SAME.split()},
    **NETWORKS,
    # operators and methods
    "__radd__": lambda x, z: z + x, "__rsub__": lambda x, z: z - x, "__rmul__": lambda x, z: z * x,
    "__rdiv__": lambda x, z: z / x, "__rpow__": lambda x, z: z ** x, "__rmatmul__": lambda x, z: z @ x,
    "__getitem__": lambda x, key: x[key], "expand": lambda x, shape: x.expand(shape),
    # other words
    "clamp_min": lambda x, low: st.clip(x, min=low), "clamp_max": lambda x, high: st.clip(x, max=high),
    "where": lambda x, m, z: st.where(m, x, z), "einsum": lambda xs, equation: st.einsum(equation, *xs),
    "vdot": st.vecdot, "cross": st.linalg.cross, "trace": st.linalg.trace,
    "polygamma": lambda x, n: st.polygamma(n, x), "repeat": st.tile,
    "select": lambda x, dim, k: st.take(x, k, axis=dim),
    "squeeze": lambda x, dim=None: st.squeeze(x, dim, strict=False),
    "take_along_dim": lambda x, i, dim=None: st.take_along_dim(x, i, dim),
    "scatter": scatter, "scatter_add": lambda x, dim, i, v: st.scatter(x, i, v, axis=dim, mode="add"),
    "index_add": lambda x, dim, i, v, alpha=1: st.index_add(x, i, v, axis=dim, alpha=alpha),
    "repeat_interleave": repeat_interleave, "tensor_split": tensor_split, "nonzero": nonzero, "unique": unique,
    # several results
    "max": one_and_places(st.max, st.maximum), "min": one_and_places(st.min, st.minimum), "median": median,
    "cummax": lambda x, dim: st.cummax(x, dim, return_indices=True),
    "cummin": lambda x, dim: st.cummin(x, dim, return_indices=True),
    "sort": lambda x, *args, **rest: st.sort(x, *args, **rest, return_indices=True),
    "std": unbiased(st.std), "var": unbiased(st.var), "var_mean": unbiased(st.var_mean),
    "linalg.lstsq": lstsq, "linalg.pinv": pinv, "linalg.solve": solve,
}
# Variants whose op PyTorch calls in another way.
VARIANTS: dict[tuple[str, str], Call] = {
    ("linalg.lstsq", "grad_oriented"): lambda x, b, driver: lstsq(x, b, driver)[:2],
}
# Where PyTorch is not the truth, by op: of its arrays and keywords all of a sample, or places in it; and why.
CONVENTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "acosh": (lambda x: x < 1, "where it has no value it has no derivative: PyTorch has one below -1"),
    "copysign": (lambda x, _: np.isinf(x), "the derivative at infinity is a sign, as elsewhere: PyTorch's is NaN"),
    "digamma": (lambda x: is_pole(x), "infinite at a pole, its derivative too: PyTorch's derivative is a large number"),
    "heaviside": (lambda x, _: np.isnan(x), "NaN of NaN, as in NumPy: PyTorch has 0"),
    "hypot": (lambda x, z: (x == 0) & (z == 0), "the derivative at 0 is 0, as of a norm: PyTorch's is NaN"),
    "i0": (np.isinf, "infinite at infinity: PyTorch has NaN"),
    "special.i1": (np.isinf, "infinite at infinity: PyTorch has NaN"),
    "special.zeta": (lambda x, z: (x > 1e10) | np.isnan(x),
                     "its limit for large x, where PyTorch has NaN; NaN of NaN, at poles too"),
    "special.log_ndtr": (lambda x: x < -1e5,
                         "its derivative far on the left is -x: PyTorch's has three digits, then NaN"),
    "sinc": (np.isinf, "0 at infinity: PyTorch has NaN"),
    "sign": (np.isnan, "NaN of NaN, as the array API standard has it: PyTorch has 0"),
    "polygamma": (lambda x, n: np.isinf(x) | is_pole(x), "its limit at infinity, infinite at poles: PyTorch has NaN "
                                                         "and large numbers"),
    "logcumsumexp": (lambda x, *_, **__: (abs(x) > 1000).any(),
                     "of elements of 10,000 float32 has no digits behind the point"),
    "nn.functional.layer_norm": (lambda x, *_, **__: x.size == 1,
                                 "of one element it is 0: PyTorch's is off by a rounding"),
    "special.ndtr": (lambda x: (x < -5).any(),
                     "far on the left PyTorch's is 0, where a float32 holds the probability"),
    "linalg.svd": (lambda x, full_matrices=True: full_matrices and x.shape[-1] != x.shape[-2],
                   "vectors beyond the singular values may be others, and turn with the first: PyTorch leaves them"),
    "linalg.pinv": (lambda x, *_, hermitian=False, **__: hermitian,
                    "not symmetric, so that PyTorch's gradient is of no matrix"),
}
# fmt: on
