"""The functions of the public interface on tensors."""
from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from stele.arrays import shapes
from stele.arrays.opensize import opened, plain
from stele.arrays.spoken import publish
from stele.arrays.tensor import (
    DeviceLike,
    DTypeLike,
    Tensor,
    TensorLike,
    arithmetic,
    array_of,
    constant,
    lift,
    placed,
    tensor,
)
from stele.eager.evaluate import evaluate
from stele.errors import DTypeError, ShapeError
from stele.ir import types
from stele.ir.door import public
from stele.ir.sizes import Size
from stele.ir.types import Type, int64
from stele.ir.types import dtype as type_named
from stele.ops import (
    arguments,
    contraction,
    convolution,
    diagonals,
    functional,
    generate,
    joining,
    linear,
    parts,
    pooling,
    products,
    selecting,
    shaping,
    statistics,
)
from stele.ops import einsum as einsums
from stele.ops.elementwise import binary, elementary, signs, special, unary
from stele.ops.linear import full as filled

# fmt: off
exp, log, log1p, expm1      = lift(unary.exp), lift(unary.log), lift(unary.log1p), lift(unary.expm1)
sqrt, rsqrt, square         = lift(unary.sqrt), lift(unary.rsqrt), lift(unary.square)
sin, cos, tan, atan         = lift(unary.sin), lift(unary.cos), lift(unary.tan), lift(unary.atan)
sinh, cosh, tanh            = lift(unary.sinh), lift(unary.cosh), lift(unary.tanh)
asin, acos, cbrt            = lift(elementary.asin), lift(elementary.acos), lift(elementary.cbrt)
asinh, acosh, atanh         = lift(elementary.asinh), lift(elementary.acosh), lift(elementary.atanh)
exp2, log2, log10           = lift(elementary.exp2), lift(elementary.log2), lift(elementary.log10)
atan2, hypot                = arithmetic(elementary.atan2), arithmetic(elementary.hypot)
logaddexp, heaviside        = arithmetic(elementary.logaddexp), arithmetic(signs.heaviside)
signbit, copysign           = lift(signs.signbit), arithmetic(signs.copysign)
nextafter, positive         = arithmetic(signs.nextafter), lift(signs.positive)
fmod, fmax, fmin            = arithmetic(signs.fmod), arithmetic(signs.fmax), arithmetic(signs.fmin)
frac, frexp, ldexp          = lift(signs.frac), lift(signs.frexp), lift(signs.ldexp)
isclose, nan_to_num         = arithmetic(signs.isclose), lift(signs.nan_to_num)
isposinf, isneginf          = lift(signs.isposinf), lift(signs.isneginf)
lerp, float_power           = arithmetic(signs.lerp), arithmetic(signs.float_power)
rad2deg, deg2rad            = lift(signs.rad2deg), lift(signs.deg2rad)
lgamma, digamma, polygamma  = lift(special.lgamma), lift(special.digamma), lift(special.polygamma)
zeta, sinc, logit, entr     = arithmetic(special.zeta), lift(special.sinc), lift(special.logit), lift(special.entr)
i0, i0e, i1, i1e            = lift(special.i0), lift(special.i0e), lift(special.i1), lift(special.i1e)
erfinv, erfcx               = lift(special.erfinv), lift(special.erfcx)
ndtr, ndtri, log_ndtr       = lift(special.ndtr), lift(special.ndtri), lift(special.log_ndtr)
xlogy, xlog1py              = arithmetic(special.xlogy), arithmetic(special.xlog1py)
logaddexp2                  = arithmetic(special.logaddexp2)
sigmoid, log_sigmoid        = lift(unary.sigmoid), lift(unary.log_sigmoid)
erf, erfc                   = lift(unary.erf), lift(unary.erfc)
relu, leaky_relu, elu       = lift(unary.relu), lift(unary.leaky_relu), lift(unary.elu)
softplus, reciprocal        = lift(unary.softplus), lift(unary.reciprocal)
abs, sign                   = lift(unary.absolute), lift(unary.sign)
floor, ceil, round, trunc   = lift(unary.floor), lift(unary.ceil), lift(unary.round), lift(unary.trunc)
isnan, isinf, isfinite      = lift(unary.isnan), lift(unary.isinf), lift(unary.isfinite)
logical_not, stop_gradient  = lift(unary.logical_not), lift(unary.stop_gradient)
add, subtract               = arithmetic(binary.add), arithmetic(binary.subtract)
multiply, divide, negative  = arithmetic(binary.multiply), arithmetic(binary.divide), arithmetic(binary.negative)
floor_divide, remainder     = arithmetic(binary.floor_divide), arithmetic(binary.remainder)
pow, clip                   = arithmetic(binary.pow), arithmetic(binary.clip)
maximum, minimum            = arithmetic(binary.maximum), arithmetic(binary.minimum)
equal, not_equal            = arithmetic(binary.equal), arithmetic(binary.not_equal)
less, less_equal            = arithmetic(binary.less), arithmetic(binary.less_equal)
greater, greater_equal      = arithmetic(binary.greater), arithmetic(binary.greater_equal)
logical_and, logical_or     = arithmetic(binary.logical_and), arithmetic(binary.logical_or)
bitwise_and, bitwise_or     = arithmetic(binary.bitwise_and), arithmetic(binary.bitwise_or)
bitwise_xor, bitwise_invert = arithmetic(binary.bitwise_xor), lift(unary.invert)
bitwise_left_shift          = arithmetic(binary.shift_left)
bitwise_right_shift         = arithmetic(binary.shift_right)
logical_xor, where          = arithmetic(binary.logical_xor), arithmetic(binary.where)
sum, mean, prod             = lift(statistics.sum), lift(statistics.mean), lift(statistics.prod)
max, min                    = lift(statistics.max), lift(statistics.min)
var, std                    = lift(statistics.var), lift(statistics.std)
allclose                    = arithmetic(statistics.allclose)
all, any                    = lift(statistics.all), lift(statistics.any)
argmax, argmin              = lift(statistics.argmax), lift(statistics.argmin)
matmul, vecdot, tensordot   = lift(contraction.matmul), lift(products.vecdot), lift(products.tensordot)
real, imag, conj            = lift(parts.real), lift(parts.imag), lift(parts.conj)
angle, complex              = lift(parts.angle), lift(parts.complex)
conv1d, conv_transpose1d    = lift(convolution.conv1d), lift(convolution.conv_transpose1d)
conv2d, conv_transpose2d    = lift(convolution.conv2d), lift(convolution.conv_transpose2d)
conv3d, conv_transpose3d    = lift(convolution.conv3d), lift(convolution.conv_transpose3d)
max_pool2d, avg_pool2d      = lift(pooling.max_pool2d), lift(pooling.avg_pool2d)
softmax, log_softmax        = lift(functional.softmax), lift(functional.log_softmax)
logsumexp, silu, gelu       = lift(functional.logsumexp), lift(functional.silu), lift(functional.gelu)
cummax                      = lift(functional.cummax)
normalize, layer_norm       = lift(functional.normalize), lift(functional.layer_norm)
pick, one_hot               = lift(functional.pick), lift(functional.one_hot)
cross_entropy, mse          = lift(functional.cross_entropy), lift(functional.mse)
binary_cross_entropy        = lift(functional.binary_cross_entropy)
take, embedding             = lift(selecting.take), lift(selecting.embedding)
take_along_axis, gather     = lift(selecting.take_along_axis), lift(selecting.gather)
index_select, index_add     = lift(selecting.index_select), lift(selecting.index_add)
index_copy, index_fill      = lift(selecting.index_copy), lift(selecting.index_fill)
index_put, masked_fill      = lift(selecting.index_put), lift(selecting.masked_fill)
select, narrow              = arithmetic(selecting.select), lift(selecting.narrow)
reshape, permute, swapaxes  = lift(shapes.reshape), lift(shapes.permute), lift(shaping.swapaxes)
transpose, moveaxis, flip   = lift(shapes.transpose), lift(shaping.moveaxis), lift(shapes.flip)
flatten, squeeze, unsqueeze = lift(shapes.flatten), lift(shaping.squeeze), lift(shapes.unsqueeze)
concatenate, stack, append  = lift(joining.concatenate), lift(joining.stack), lift(joining.append)
hstack, vstack, dstack      = lift(joining.hstack), lift(joining.vstack), lift(joining.dstack)
column_stack, block_diag    = lift(joining.column_stack), lift(joining.block_diag)
atleast_1d, atleast_2d      = lift(joining.atleast_1d), lift(joining.atleast_2d)
atleast_3d, unstack         = lift(joining.atleast_3d), lift(joining.unstack)
split, array_split, chunk   = lift(joining.split), lift(joining.array_split), lift(joining.chunk)
hsplit, vsplit, dsplit      = lift(joining.hsplit), lift(joining.vsplit), lift(joining.dsplit)
insert, delete              = lift(joining.insert), lift(joining.delete)
cartesian_prod              = lift(joining.cartesian_prod)
combinations                = lift(joining.combinations)
pad, roll, tile, rot90      = lift(shaping.pad), lift(shaping.roll), lift(shaping.tile), lift(shaping.rot90)
fliplr, flipud, unfold      = lift(shaping.fliplr), lift(shaping.flipud), lift(shaping.unfold)
unflatten, broadcast_arrays = lift(shaping.unflatten), lift(shaping.broadcast_arrays)
broadcast_to                = lift(shapes.broadcast_to)
tril, triu, diagonal        = lift(diagonals.tril), lift(diagonals.triu), lift(diagonals.diagonal)
diag, diag_embed            = lift(diagonals.diag), lift(diagonals.diag_embed)
einsum, kron, outer, inner  = lift(einsums.einsum), lift(products.kron), lift(einsums.outer), lift(einsums.inner)
matrix_transpose            = lift(linear.swap_last)
# fmt: on
repeated = lift(shaping.repeat)


@public
def full(shape: int | Sequence[int], value: builtins.complex, dtype: DTypeLike | None = None,
         device: DeviceLike = None) -> Tensor:
    """A tensor that holds the number `value` everywhere, of a `shape`: a size, or a sequence of sizes.

    Without a dtype it is the number's: float32, int64, bool or complex64. A fraction is dropped for integers; raises
    DTypeError for a number that the dtype does not hold.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.full((2,), 3.0).tolist(), st.full((2, 3), 7).dtype
    ([3.0, 3.0], int64)
    """
    value = value if isinstance(value, builtins.complex) else arguments.number(value, "value of full")
    dtype = type_named(type(value) if dtype is None else dtype)
    return placed(filled(shapes.shape_of((shape,)), value, dtype), device)


@public
def zeros(*shape: int | Sequence[int], dtype: DTypeLike = "float32", device: DeviceLike = None) -> Tensor:
    """A tensor of zeros, of a `shape` given as one sequence of sizes or as several sizes.

    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.zeros(2, 3).shape, st.zeros((2,), dtype="int64").tolist()
    ((2, 3), [0, 0])
    """
    return full(shapes.shape_of(shape), 0, type_named(dtype), device)


@public
def ones(*shape: int | Sequence[int], dtype: DTypeLike = "float32", device: DeviceLike = None) -> Tensor:
    """A tensor of ones, of a `shape` given as one sequence of sizes or as several sizes.

    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.ones(2).tolist(), st.ones((), dtype="bool").tolist()
    ([1.0, 1.0], True)
    """
    return full(shapes.shape_of(shape), 1, type_named(dtype), device)


@public
def full_like(x: TensorLike, value: builtins.complex) -> Tensor:
    """A tensor that holds the number `value` everywhere, in the shape and dtype of x, which may be an array or a list.

    A fraction is dropped for integers.

    >>> st.full_like(st.tensor([[1.0, 2.0]]), 7).tolist()
    [[7.0, 7.0]]
    """
    x = constant(x)
    return full(x.shape, value, x.dtype, x.device)


@public
def zeros_like(x: TensorLike) -> Tensor:
    """A tensor of zeros in the shape and dtype of x, which may be an array or a list.

    >>> st.zeros_like(st.tensor([3, 4])).tolist()
    [0, 0]
    """
    return full_like(x, 0)


@public
def ones_like(x: TensorLike) -> Tensor:
    """A tensor of ones in the shape and dtype of x, which may be an array or a list.

    >>> st.ones_like(st.tensor([[0.5], [2.5]])).tolist()
    [[1.0], [1.0]]
    """
    return full_like(x, 1)


@public
def arange(start: float, stop: float | None = None, step: float = 1, dtype: DTypeLike | None = None,
           device: DeviceLike = None) -> Tensor:
    """The numbers `start`, start + `step`, ... before `stop`, in one axis; from 0 where only one number is given.

    int64 if all of them are whole and no floats, else float32. Element k is start + k * step, rounded once. Raises
    ShapeError for a step of 0 and for numbers that are not finite.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.arange(4).tolist(), st.arange(2, 8, 3).tolist()
    ([0, 1, 2, 3], [2, 5])
    >>> st.arange(1, 0, -0.25).tolist()
    [1.0, 0.75, 0.5, 0.25]
    """
    ends = (0, start) if stop is None else (start, stop)
    number: Callable[[Any], float] = lambda n: arguments.number(n, "every number of arange")
    first, last, by = (n if isinstance(n, Size) else number(n) for n in map(plain, (*ends, step)))
    if generate.are_whole(first, last, by):
        dtype = type_named("int64" if dtype is None else dtype)
        return placed(generate.arange(first, last, number(by), dtype=dtype), device)
    dtype = type_named("float32" if dtype is None else dtype)
    return tensor(generate.steps(number(first), number(last), number(by)), dtype, device=device)


@public
def linspace(start: float, stop: float, count: int, dtype: DTypeLike = "float32", device: DeviceLike = None) -> Tensor:
    """As many numbers as `count` says, evenly from `start` to `stop`, both included; one is start alone.

    An integer dtype drops fractions.
    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    first, last = (float(arguments.number(n, "every end of linspace")) for n in (start, stop))
    n = arguments.size(plain(count), "count of linspace")
    if isinstance(n, Size):
        return placed(generate.linspace(first, last, n, dtype=type_named(dtype)), device)
    Type(type_named(dtype), (n,))   # refuses what no memory holds
    return tensor(np.linspace(first, last, n), dtype, device=device)


@public
def eye(n: int, m: int | None = None, dtype: DTypeLike = "float32", device: DeviceLike = None) -> Tensor:
    """A matrix (`n`, `m`) of zeros with ones on its main diagonal; square without m.

    It is made on `device`, where none is named on that of the innermost `with st.device(...)`.

    >>> st.eye(2).tolist(), st.eye(1, 3, dtype="int64").tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[1, 0, 0]])
    """
    shape = shapes.shape_of((n, n if m is None else m))
    rows, columns = (Tensor(generate.Iota(shape, axis, int64)()) for axis in (0, 1))
    return placed(equal(rows, columns).astype(dtype).value, device)


@public
def repeat(x: TensorLike, repeats: int | Sequence[int] | Tensor, axis: int | None = None) -> Tensor:
    """A tensor with each element of an axis as often as `repeats` says, one beside the other, as NumPy's repeat.

    repeats is one number for all, or an array of one for each element. Without an axis x is taken flat. The length that
    an array makes depends on its numbers, which are looked at: in a compiled function they have to be known. Raises
    ShapeError for negative numbers and another number of them.

    >>> st.repeat(st.tensor([[1, 2], [3, 4]]), 2, axis=1).tolist()
    [[1, 1, 2, 2], [3, 3, 4, 4]]
    >>> st.repeat(st.tensor([1, 2, 3]), [2, 0, 1]).tolist()
    [1, 1, 3]
    """
    x, times = constant(x), constant(repeats) if isinstance(repeats, Tensor | np.ndarray | list | tuple) else None
    if times is not None and times.size and times.dtype.kind not in "iu":
        arguments.refuse("repeats of repeat", "whole numbers", repeats)
    if times is None or times.size == 1:
        return repeated(x, repeats if times is None else int(times), axis)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    counts = times.read("repeats of repeat", "Write x[i], with positions i that a program can make, or pass a number.")
    if counts.shape != (x.shape[axis],) or (counts < 0).any():
        raise ShapeError(f"repeat needs one number of 0 or more for each of {x.shape[axis]} elements, got {counts}")
    return take(x, np.repeat(np.arange(counts.size), counts), axis=axis)


@public
def masked_select(x: TensorLike, mask: TensorLike) -> Tensor:
    """The elements of x where `mask` is true, in row-major order, as a vector; both broadcast against each other.

    Its length depends on numbers of the mask, which are looked at: in a compiled function it is refused. Raises
    DTypeError for other than a bool mask.

    >>> x = st.tensor([[1, 2], [3, 4]])
    >>> st.masked_select(x, x > 1).tolist(), st.masked_select(x, st.tensor([True, False])).tolist()
    ([2, 3, 4], [1, 3])
    """
    mask = constant(mask)
    if mask.dtype != "bool":
        raise DTypeError(f"masked_select needs a bool mask, got {mask.dtype}", hint="Write mask != 0.")
    whole, places = broadcast_arrays(constant(x), mask)
    return whole[places]


@public
def broadcast_shapes(*given: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of all the `given` shapes broadcast to. Raises ShapeError where they do not fit.

    >>> st.broadcast_shapes((3, 1), (4,), 1)
    (3, 4)
    """
    return tuple(map(opened, types.broadcast_shapes((), *(shapes.shape_of((shape,)) for shape in given))))


@public
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and the columns of the lower triangle of a matrix (`n`, `m`): on and below diagonal `k`.

    A matrix without m is square.

    >>> [i.tolist() for i in st.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return corner(np.tril_indices, n, k, m)


@public
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and the columns of the upper triangle of a matrix (`n`, `m`): on and above diagonal `k`.

    A matrix without m is square.

    >>> [i.tolist() for i in st.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return corner(np.triu_indices, n, k, m)


def corner(f: Callable[..., Any], n: int, k: int, m: int | None) -> tuple[Tensor, Tensor]:
    """What a function of NumPy says of the triangles of matrices of a size."""
    sizes = arguments.size(n, "n of a triangle"), arguments.size(n if m is None else m, "m of a triangle")
    rows, columns = f(sizes[0], arguments.whole(k, "k of a triangle"), sizes[1])
    return tensor(rows), tensor(columns)


@public
def from_numpy(array: Any) -> Tensor:
    """A tensor holding a copy of a NumPy `array`, in its dtype: float64 stays float64.

    Raises DTypeError for a dtype that tensors do not have, such as strings.

    >>> x = np.array([1.0, 2.0])
    >>> y = st.from_numpy(x)
    >>> x[0] = 7
    >>> y, y.dtype
    (tensor([1., 2.], dtype=float64), float64)
    """
    return tensor(array if isinstance(array, np.ndarray) else array_of(array))


@public
def from_dlpack(x: Any) -> Tensor:
    """A tensor holding a copy of x, any array that speaks DLPack: of NumPy, PyTorch, JAX and others, on the CPU.

    Raises ArgumentError for what has no `__dlpack__`.

    >>> st.from_dlpack(np.arange(3)).tolist()
    [0, 1, 2]
    """
    if not hasattr(x, "__dlpack__") or (arguments.is_array(x) and x.dtype.kind not in "biufc"):
        arguments.refuse("the argument of from_dlpack", "an array that speaks DLPack", x, "Write st.tensor(x).")
    return tensor(np.from_dlpack(x))


@public
def eval(*tensors: Tensor) -> Any:
    """The `tensors` with their numbers computed now, all in one program: one as it is, several as a tuple.

    Numbers are computed by themselves where they are looked at; several that share work cost less together. Raises
    ArgumentError for other than tensors.

    >>> x = st.arange(3.0)
    >>> y, z = st.eval(x.sum(), st.exp(x).sum())
    >>> float(y)
    3.0
    """
    for t in cast(tuple[Any, ...], tensors):
        if not isinstance(t, Tensor):
            arguments.refuse("every argument of eval", "a tensor", t)
    evaluate([t.value for t in tensors])
    return tensors[0] if len(tensors) == 1 else tensors


INNER = "repeated", "corner"     # what the functions are made of
publish([(name, f) for name, f in globals().items() if name not in INNER], __name__)
__all__ = [name for name, f in globals().items() if getattr(f, "__module__", "") == __name__ and name not in INNER]  # pyright: ignore[reportUnsupportedDunderAll]
