"""PyTorch's elementwise ops, and those that make arrays of nothing."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st
from stele.nn import functional as F

Rules = dict[str, Callable[..., Any]]


def is_bool(x: Any) -> bool:
    """Whether x holds yes or no."""
    return isinstance(x, bool) or (isinstance(x, st.Tensor) and x.dtype == "bool")


def truth(x: Any) -> Any:
    """Whether elements are not zero."""
    return x if is_bool(x) else x != 0


def add(x: Any, z: Any, alpha: Any = 1) -> Any:
    """x + alpha * z."""
    if is_bool(x) and is_bool(z):
        return st.logical_or(x, z) if alpha else x
    return x + (z if alpha == 1 else z * alpha)


def sub(x: Any, z: Any, alpha: Any = 1) -> Any:
    """x - alpha * z."""
    return x - (z if alpha == 1 else z * alpha)


def mul(x: Any, z: Any) -> Any:
    """x * z."""
    return st.logical_and(x, z) if is_bool(x) and is_bool(z) else x * z


def div(x: Any, z: Any, rounding: str | None = None) -> Any:
    """x / z, rounded down or to zero where that is asked for."""
    if rounding == "floor":
        return x // z
    if rounding == "trunc":
        return (x - st.fmod(x, z)) // z if is_whole(x) and is_whole(z) else st.trunc(x / z)
    return x / z


def is_whole(x: Any) -> bool:
    """Whether x holds whole numbers."""
    return x.dtype.kind in "iu" if isinstance(x, st.Tensor) else isinstance(x, int)


def clamp(x: Any, low: Any, high: Any) -> Any:
    """x held between bounds; the lower one gives way where they cross. At a bound the derivative is 1."""
    x = x if low is None else st.where((x < low) | is_nan(low), low, x)
    return x if high is None else st.where((x > high) | is_nan(high), high, x)


def is_nan(x: Any) -> Any:
    """Whether x, an array or a number, is no number."""
    return x != x


def power(x: Any, z: Any) -> Any:
    """x to the power of z: whole numbers stay whole where both are."""
    if isinstance(z, float) and is_whole(x):
        return x.astype("float32") ** z
    return st.pow(x, z)


def rounded(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that leaves whole numbers as they are."""
    return lambda x, *more: f(x, *more) if x.dtype.is_float else x


def elu(x: Any, alpha: Any, scale: Any, within: Any) -> Any:
    """x times a scale, and below zero an exponential."""
    return st.where(x > 0, x * scale, st.expm1(st.where(x > 0, 0, x) * within) * (alpha * scale))


def gelu(x: Any, approximate: str) -> Any:
    """x times the share of normal numbers below it."""
    return F.gelu(x, approximate=approximate)


def softplus(x: Any, beta: Any, threshold: Any) -> Any:
    """The logarithm of 1 + exp(x * beta), over beta; x itself where that is large."""
    return F.softplus(x, beta, threshold)


def full(shape: Any, number: Any, dtype: Any) -> Any:
    """An array of one number."""
    return st.full(tuple(shape), number, dtype=dtype)


def full_like(x: Any, number: Any, dtype: Any = None) -> Any:
    """An array of one number, in the shape of x."""
    return st.full(tuple(x.shape), number, dtype=dtype or x.dtype)


def undefined(shape: Any, *more: Any) -> Any:
    """An array whose numbers nobody may use: zeros."""
    return st.zeros(tuple(shape), dtype=more[-1] or "float32")


def arange(start: Any, end: Any, step: Any, dtype: Any) -> Any:
    """Numbers from a start to an end."""
    whole = all(not isinstance(n, float) for n in (start, end, step))
    return st.arange(start, end, step, dtype=dtype or ("int64" if whole else "float32"))


def quantised(x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    """x rounded to steps of a scale, within so many, and where it was within: gradients pass there as they come."""
    at = st.round(x * (1 / scale)) + zero
    inside = (at >= low) & (at <= high)
    y = (st.clip(at, low, high) - zero) * scale
    held = st.where(inside, x, st.stop_gradient(x))
    return (held + st.stop_gradient(y - held)).astype(x.dtype), inside


def quantised_along(x: Any, scale: Any, zero: Any, axis: int, low: int, high: int) -> Any:
    """The same, with a scale for each place along an axis."""
    shape = [-1 if k == axis % x.ndim else 1 for k in range(x.ndim)]
    return quantised(x, scale.reshape(shape), zero.reshape(shape), low, high)


def cast(x: Any, dtype: Any = None, *_: Any) -> Any:
    """x in another dtype."""
    return x if dtype is None else x.astype(dtype)


UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": st.abs, "acos": st.acos, "acosh": st.acosh, "asin": st.asin, "asinh": st.asinh, "atan": st.atan,
    "atanh": st.atanh, "cos": st.cos, "cosh": st.cosh, "erf": st.erf, "erfc": st.erfc, "exp": st.exp, "exp2": st.exp2,
    "expm1": st.expm1, "isinf": st.isinf, "isnan": st.isnan, "log": st.log, "log10": st.log10, "log1p": st.log1p,
    "log2": st.log2, "neg": st.negative, "relu": st.relu, "rsqrt": st.rsqrt, "sigmoid": st.sigmoid, "sin": st.sin,
    "sinh": st.sinh, "sqrt": st.sqrt, "tan": st.tan, "tanh": st.tanh, "bitwise_not": st.bitwise_invert,
    "reciprocal": lambda x: 1 / x, "logical_not": lambda x: st.logical_not(truth(x)), "silu": st.silu,
    "mish": F.mish, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "lgamma": st.lgamma,
    "i0": st.i0, "special_i0e": st.i0e, "special_i1": st.i1, "special_i1e": st.i1e, "special_erfcx": st.erfcx,
    "digamma": st.digamma, "angle": st.angle, "erfinv": st.erfinv, "conj": st.conj,
    "_conj": st.conj, "_conj_physical": st.conj, "special_log_ndtr": st.log_ndtr,
    "special_ndtri": st.ndtri, "square": st.square,
}

RULES: Rules = {
    **UNARY,
    "ceil": rounded(st.ceil), "floor": rounded(st.floor), "trunc": rounded(st.trunc), "round": rounded(st.round),
    "round.decimals": rounded(st.round),
    "sign": lambda x: x if is_bool(x) else st.sign(x),
    "add.Tensor add.Scalar": add, "sub.Tensor sub.Scalar": sub, "mul.Tensor mul.Scalar": mul,
    "rsub.Tensor rsub.Scalar": lambda x, z, alpha=1: sub(z, x, alpha),
    "div.Tensor div.Scalar div.Tensor_mode div.Scalar_mode": div,
    "remainder.Tensor remainder.Scalar remainder.Scalar_Tensor": st.remainder, "fmod.Tensor fmod.Scalar": st.fmod,
    "floor_divide floor_divide.Scalar": st.floor_divide,
    "pow.Tensor_Tensor pow.Tensor_Scalar pow.Scalar": power,
    "fmax": st.fmax, "fmin": st.fmin, "hypot": st.hypot, "copysign.Tensor copysign.Scalar": st.copysign,
    "signbit": st.signbit, "nextafter": st.nextafter, "frexp.Tensor": st.frexp,
    "xlogy.Tensor xlogy.Scalar_Self xlogy.Scalar_Other": st.xlogy,
    "special_xlog1py special_xlog1py.other_scalar special_xlog1py.self_scalar": st.xlog1py,
    "polygamma": st.polygamma, "special_zeta": st.zeta,
    "polar": lambda r, angle: st.complex(r * st.cos(angle), r * st.sin(angle)), "complex": st.complex,
    "view_as_complex": lambda x: st.complex(x[..., 0], x[..., 1]),
    "view_as_real": lambda x: st.stack([st.real(x), st.imag(x)], axis=-1),
    "gcd prims::gcd": st.gcd, "lcm": st.lcm,
    "atan2": st.atan2, "atan2.out": lambda x, z, out: st.atan2(x, z), "maximum": st.maximum, "minimum": st.minimum,
    "eq.Tensor eq.Scalar": lambda x, z: x == z, "ne.Tensor ne.Scalar": lambda x, z: x != z,
    "lt.Tensor lt.Scalar": lambda x, z: x < z, "le.Tensor le.Scalar": lambda x, z: x <= z,
    "gt.Tensor gt.Scalar": lambda x, z: x > z, "ge.Tensor ge.Scalar": lambda x, z: x >= z,
    "logical_and": lambda x, z: st.logical_and(truth(x), truth(z)),
    "logical_or": lambda x, z: st.logical_or(truth(x), truth(z)),
    "logical_xor": lambda x, z: st.logical_xor(truth(x), truth(z)),
    "bitwise_and.Tensor bitwise_and.Scalar": st.bitwise_and, "bitwise_or.Tensor bitwise_or.Scalar": st.bitwise_or,
    "bitwise_xor.Tensor bitwise_xor.Scalar": st.bitwise_xor,
    "bitwise_left_shift.Tensor __lshift__.Scalar": st.bitwise_left_shift,
    "bitwise_right_shift.Tensor __rshift__.Scalar": st.bitwise_right_shift,
    "clamp clamp.Tensor": clamp, "clamp_min clamp_min.Tensor": lambda x, low: clamp(x, low, None),
    "clamp_max clamp_max.Tensor": lambda x, high: clamp(x, None, high),
    "where.self where.ScalarOther where.ScalarSelf where.Scalar": lambda t, x, z: st.where(truth(t), x, z),
    "masked_fill.Scalar masked_fill.Tensor": lambda x, t, z: st.where(t, z, x),
    "elu": elu, "gelu": gelu, "softplus": softplus,
    "leaky_relu": lambda x, slope: st.where(x > 0, x, x * slope),
    "hardtanh": F.hardtanh,
    "fill.Scalar fill.Tensor": lambda x, z: st.broadcast_to(st.asarray(z, dtype=x.dtype), tuple(x.shape)),
    "full": full, "full_like": full_like,
    "scalar_tensor prims::scalar_tensor": lambda x, dtype: st.tensor(x, dtype=dtype or "float32"),
    "zeros": lambda shape, dtype: full(shape, 0, dtype or "float32"),
    "ones": lambda shape, dtype: full(shape, 1, dtype or "float32"),
    "empty.memory_format empty_strided empty_permuted": undefined,
    "arange.start_step": arange,
    "fake_quantize_per_tensor_affine_cachemask": quantised,
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": lambda x, scale, zero, on, low, high: (
        [st.where(on != 0, y, z) for y, z in zip(quantised(x, scale, zero, low, high), (x, True))]),
    "fake_quantize_per_channel_affine_cachemask": quantised_along,
    "_to_copy": cast, "to.dtype": cast,
}
