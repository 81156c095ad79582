"""Complex numbers, and Fourier transforms: arguments, and what NumPy says in wider floats."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import stele as st
from stele.ir.types import DType
from tests.programs.kind import Kind, Made, alone
from tests.programs.numbers import Array, joined

if TYPE_CHECKING:
    from tests.programs.grammar import Growth

NAMES = """
exp log sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh log2 log10 reciprocal square abs negative
isnan isinf isfinite add subtract multiply divide equal not_equal where astype stop_gradient sum mean prod all any var
std
cumulative_sum cumulative_prod reshape permute flip roll repeat pad tril triu concatenate stack split unsqueeze squeeze
broadcast_to getitem take gather mixed masked tile rot90 diagonal diag_embed extend take_along_axis pick einsum matmul
share rows solve solve_triangular inv det slogdet cholesky running setitem set_mask set_rows set_mixed set_masked_part
update alias"""
TAKES_COMPLEX = frozenset(NAMES.split())
"""Kinds whose operands may be complex numbers."""
BY_PARTS = "add", "subtract", "astype"
"""Kinds that round the parts of complex numbers apart; others round either by as much as the whole number."""


def part(d: list[DType], a: dict[str, Any]) -> tuple[DType, ...]:
    return d[0].real,


def whole(d: list[DType], a: dict[str, Any]) -> tuple[DType, ...]:
    return d[0].complex,


def halves(d: list[DType], a: dict[str, Any]) -> tuple[DType, ...]:
    """Of transforms: real ones of what is mirrored."""
    return (d[0].real if a["name"] in ("irfft", "hfft", "irfftn") else d[0].complex),


def both(g: Growth, x: str) -> Made:
    """Two parts, real floats."""
    def fits(z: str) -> bool: return g.shape(z) == g.shape(x) and g.dtype(z).kind == "f"
    return (x, g.choose([*g.names(fits), 0.0, 1.0])), {}


def transformed(g: Growth, x: str) -> Made:
    """A transform along one axis, or the last two, that makes them as long as they are or as some number says."""
    g.need(g.ndim(x) > 0 and g.dtype(x).bits > 16 and 0 not in g.shape(x))
    is_real = not g.dtype(x).is_complex
    name = g.choose(["fft", "ifft", "fftn", "ifftn", "irfft", "hfft", "irfftn",
                     *(["rfft", "rfft", "ihfft", "rfftn"] if is_real else [])])
    norm = g.choose(["backward", "ortho", "forward"])
    if name.endswith("n"):
        axes = tuple(int(k) for k in g.rng.permutation(g.ndim(x))[:2])
        s = tuple(g.integer(1, 9) for _ in axes) if g.coin() else None
        return (x,), {"name": name, "s": s, "axes": axes, "norm": norm}
    axis = g.axis(x)
    n = None if g.coin() else g.choose([1, 2, 3, 5, 8, 16, 31])
    g.need(n is not None or name not in ("irfft", "hfft") or g.shape(x)[axis] > 1)
    return (x,), {"name": name, "n": n, "axis": axis, "norm": norm}


def transform(x: Any, name: str, **how: Any) -> Any:
    return getattr(np.fft if isinstance(x, np.ndarray) else st.fft, name)(x, **how)


def of_parts(name: str, numpy: Callable[[Array], Array], **changes: Any) -> Kind:
    return Kind(name, getattr(st, name), numpy, alone, **{"domain": "fc", "result": part, **changes})


COMPLEX = (
    Kind("complex", st.complex, joined, both, "f", operands="float", result=whole, weight=2.0),
    of_parts("real", np.real, weight=2.0), of_parts("imag", np.imag, weight=2.0), of_parts("conj", np.conj,
                                                                                          result=lambda d, a: (d[0],)),
    of_parts("angle", np.angle, noise="rounded", result=lambda d, a: (d[0].complex.real,)),
    Kind("fourier", transform, transform, transformed, "fc", result=halves, noise="coarse", weight=3.0),
)
