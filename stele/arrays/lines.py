"""Numbers from one end to another, evenly or by even factors, between numbers or the elements of arrays."""
from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from stele.arrays.calling import respelling
from stele.arrays.creation import asarray, at_home, is_held, named
from stele.arrays.functions import moveaxis
from stele.arrays.opensize import plain
from stele.arrays.sized import where
from stele.arrays.tensor import DeviceLike, DTypeLike, Tensor, TensorLike, constant, placed, tensor
from stele.errors import ShapeError
from stele.ir.door import public
from stele.ir.graph import Array
from stele.ir.sizes import Size
from stele.ir.types import Type, axis_of, below, float64, too_large
from stele.ops import arguments, generate


@overload
def linspace(start: TensorLike, stop: TensorLike, num: int = 50, dtype: DTypeLike | None = None,
             device: DeviceLike = None, endpoint: bool = True, requires_grad: bool = False, axis: int = 0,
             retstep: Literal[False] = False) -> Tensor: ...
@overload
def linspace(start: TensorLike, stop: TensorLike, num: int = 50, dtype: DTypeLike | None = None,
             device: DeviceLike = None, endpoint: bool = True, requires_grad: bool = False, axis: int = 0, *,
             retstep: Literal[True]) -> tuple[Tensor, Tensor]: ...
@public
@respelling
def linspace(start: TensorLike, stop: TensorLike, num: int = 50, dtype: DTypeLike | None = None,
             device: DeviceLike = None, endpoint: bool = True, requires_grad: bool = False, axis: int = 0,
             retstep: bool = False) -> Tensor | tuple[Tensor, Tensor]:
    """As many numbers as `num` says, evenly from `start` to `stop`, which is the last one unless `endpoint` is False.

    The first is start, exactly, and the last stop; one is start alone. float32 without a `dtype`, complex64 between
    complex numbers; an integer one drops fractions. `device` and `requires_grad` as of `full`. A row of num numbers.
    Between tensors, arrays or lists, which broadcast, rows of them, (num, ...), or along another `axis` of the result,
    with gradients, in their dtype where that is one of floats. With `retstep` a pair: the numbers, and the step between
    them, NaN where there is none. Raises ShapeError for a negative num and another axis,
    DTypeError for another dtype than there is, DeviceError for a device that there is not.

    >>> st.linspace(0, 1, 5).tolist(), st.linspace(0, 1, 4, endpoint=False).tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.25, 0.5, 0.75])
    >>> st.linspace(0, st.tensor([2.0, 4.0]), 3).tolist()
    [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]
    """
    n, closed = arguments.size(plain(num), "num of linspace"), arguments.flag(endpoint, "endpoint of linspace")
    if arguments.flag(retstep, "retstep of linspace"):
        line = linspace(start, stop, num, dtype, device, endpoint, requires_grad, axis)
        kind = line.dtype if line.dtype.is_float else "float32"
        steps: Any = n - closed if below(closed, n) else float("nan")
        return line, (asarray(stop, kind) - asarray(start, kind)) / steps
    if is_held(start) or is_held(stop):
        first, last, shares = between(start, stop, n, closed, dtype)
        made: Any = where(shares == 1, last, first + (last - first) * shares)
        return at_home(moveaxis(made, 0, axis), device, requires_grad, dtype)
    axis_of(arguments.whole(axis, "axis of linspace"), 1)
    ends: Any = [n if isinstance(n, complex) else arguments.number(n, "every end of linspace") for n in (start, stop)]
    first, last = ends
    if isinstance(first + last, complex):
        parts = ((complex(first).real, complex(last).real), (complex(first).imag, complex(last).imag))
        x, y = (linspace(*part, num, "float64", device, endpoint) for part in parts)
        return (x + y * 1j).astype(named(dtype, "complex64")).detach().requires_grad_(requires_grad)
    if isinstance(n, Size):
        line = generate.linspace(float(first), float(last), n, dtype=named(dtype), endpoint=closed)
        return placed(line, device, requires_grad)
    Type(named(dtype), (n,))   # refuses what no memory holds
    is_whole = type(first) is type(last) is int and named(dtype).kind in "iu"
    try:
        made = whole_steps(first, last, n, closed) if is_whole else spaced(float(first), float(last), n, closed)
    except MemoryError as error:
        raise too_large(float64, (n,), error) from None
    return tensor(made, named(dtype), requires_grad, device)


def whole_steps(first: int, last: int, n: int, closed: bool) -> Array | list[int]:
    """n integers evenly from first to last, without the fractions: what floats would round to below a whole number."""
    parts = max(n - closed, 1)
    fits = max(abs(first), abs(last), abs(last - first)) * max(parts, n) < 2**63
    sums = first * parts + (last - first) * np.arange(n, dtype="int64" if fits else object)
    whole: Array = np.where(sums < 0, -(-sums // parts), sums // parts)
    return whole if fits else whole.tolist()


def spaced(first: float, last: float, n: int, closed: bool) -> Array:
    """n numbers evenly from first to last as float64; by their halves where the ends are further apart than that."""
    if np.isfinite(last - first):
        return np.linspace(first, last, n, endpoint=closed)
    line = np.linspace(first / 2, last / 2, n, endpoint=closed) * 2
    line[:1] = first
    line[1:][-1:] = last if closed else line[1:][-1:]
    return line


def between(start: Any, stop: Any, n: Any, closed: bool, dtype: Any = None) -> tuple[Any, Any, Tensor]:
    """Two ends, at least one of them a tensor, and the share of the second at each of n places, along an axis before
    theirs."""
    first, last = (constant(x) * 1.0 if is_held(x) else x for x in (start, stop))
    total = first + last
    kind: Any = "float64" if total.dtype.real == float64 or not named(dtype).is_float else "float32"
    return first, last, linspace(0, 1, n, kind, total.device, closed).reshape(n, *(1,) * total.ndim)


@public
def logspace(start: TensorLike, stop: TensorLike, num: int = 50, endpoint: bool = True, base: TensorLike = 10.0,
             dtype: DTypeLike | None = None, device: DeviceLike = None, axis: int = 0) -> Tensor:
    """As many numbers as `num` says from `base` ** `start` to base ** `stop`, whose logarithms are even.

    `endpoint`, `dtype`, `device` and `axis` as of `linspace`, and what is made between tensors, arrays or lists, of
    which base may be one. float32 without a dtype. A row of num numbers. Raises ShapeError for a negative num,
    DTypeError for another dtype than there is, DeviceError for a device that there is not.

    >>> st.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    if any(map(is_held, (start, stop, base))):
        by: Any = constant(base) if is_held(base) else base
        made = by ** linspace(constant(start), stop, num, None, None, endpoint)
        return at_home(moveaxis(made, 0, axis), device, False, dtype)
    ends = [float(arguments.number(n, "every end of logspace")) for n in (start, stop)]
    line = np.linspace(ends[0], ends[1], arguments.count(num, "num of logspace"),
                       endpoint=arguments.flag(endpoint, "endpoint of logspace"))
    return moveaxis(tensor(arguments.number(base, "base of logspace") ** line, named(dtype), device=device), 0, axis)


@public
def geomspace(start: TensorLike, stop: TensorLike, num: int = 50, endpoint: bool = True, dtype: DTypeLike | None = None,
              device: DeviceLike = None, axis: int = 0) -> Tensor:
    """As many numbers as `num` says from `start` to `stop`, each the same multiple of the one before.

    `endpoint`, `dtype`, `device` and `axis` as of `linspace`, and what is made between tensors, arrays or lists: NaN
    there where ends are 0 or of two signs. A row of num numbers. Raises ShapeError for numbers that are 0 or of two
    signs.

    >>> st.geomspace(1, 8, 4).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    if is_held(start) or is_held(stop):
        first, last, shares = between(start, stop, num, arguments.flag(endpoint, "endpoint of geomspace"))
        made: Any = where(shares == 1, last, first * (last / first) ** shares)
        return at_home(moveaxis(made, 0, axis), device, False, dtype)
    first, last = (float(arguments.number(n, "every end of geomspace")) for n in (start, stop))
    if not first * last > 0:
        raise ShapeError(f"geomspace needs ends of one sign other than 0, got {start} and {stop}")
    line = np.geomspace(first, last, arguments.count(num, "num of geomspace"),
                        endpoint=arguments.flag(endpoint, "endpoint of geomspace"))
    return moveaxis(tensor(line, named(dtype), device=device), 0, axis)


__all__ = ["geomspace", "linspace", "logspace"]
