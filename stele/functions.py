"""The functions of the public interface on tensors."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stele import shapes
from stele.evaluate import evaluate
from stele.ir.door import public
from stele.ir.sizes import Size
from stele.ir.types import Type, int64
from stele.ir.types import dtype as type_named
from stele.opensize import plain
from stele.ops import arguments, contraction, functional, generate, indexing, linear, pooling, shaping, statistics
from stele.ops.elementwise import binary, unary
from stele.ops.linear import full as filled
from stele.spoken import publish
from stele.tensor import DTypeLike, Tensor, TensorLike, arithmetic, array_of, constant, lift, tensor

# fmt: off
exp, log, log1p, expm1      = lift(unary.exp), lift(unary.log), lift(unary.log1p), lift(unary.expm1)
sqrt, rsqrt, square         = lift(unary.sqrt), lift(unary.rsqrt), lift(unary.square)
sin, cos, tan, atan         = lift(unary.sin), lift(unary.cos), lift(unary.tan), lift(unary.atan)
sinh, cosh, tanh            = lift(unary.sinh), lift(unary.cosh), lift(unary.tanh)
sigmoid, log_sigmoid, erf   = lift(unary.sigmoid), lift(unary.log_sigmoid), lift(unary.erf)
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
logical_xor, where          = arithmetic(binary.logical_xor), arithmetic(binary.where)
sum, mean, prod             = lift(statistics.sum), lift(statistics.mean), lift(statistics.prod)
max, min                    = lift(statistics.max), lift(statistics.min)
var, std                    = lift(statistics.var), lift(statistics.std)
all, any                    = lift(statistics.all), lift(statistics.any)
argmax, argmin              = lift(statistics.argmax), lift(statistics.argmin)
matmul, conv2d              = lift(contraction.matmul), lift(contraction.conv2d)
max_pool2d, avg_pool2d      = lift(pooling.max_pool2d), lift(pooling.avg_pool2d)
softmax, log_softmax        = lift(functional.softmax), lift(functional.log_softmax)
logsumexp, silu             = lift(functional.logsumexp), lift(functional.silu)
normalize, layer_norm       = lift(functional.normalize), lift(functional.layer_norm)
affine                      = lift(functional.linear)
pick, one_hot               = lift(functional.pick), lift(functional.one_hot)
cross_entropy, mse          = lift(functional.cross_entropy), lift(functional.mse)
binary_cross_entropy        = lift(functional.binary_cross_entropy)
take, embedding             = lift(indexing.take), lift(indexing.embedding)
reshape, permute, swapaxes  = lift(shapes.reshape), lift(shapes.permute), lift(shaping.swapaxes)
flatten, squeeze, unsqueeze = lift(shapes.flatten), lift(shaping.squeeze), lift(shapes.unsqueeze)
concatenate, stack, split   = lift(shaping.concatenate), lift(shaping.stack), lift(shaping.split)
pad, roll, repeat           = lift(shaping.pad), lift(shaping.roll), lift(shaping.repeat)
moveaxis, flip, tril, triu  = lift(shaping.moveaxis), lift(shapes.flip), lift(shaping.tril), lift(shaping.triu)
broadcast_to                = lift(shapes.broadcast_to)
matrix_transpose            = lift(linear.swap_last)
# fmt: on
lifted_gelu = lift(functional.gelu)


@public
def full(shape: int | Sequence[int], value: float, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor that holds one number everywhere.

    >>> full((2,), 3.0).tolist()
    [3.0, 3.0]
    """
    value = arguments.number(value, "value of full")
    return Tensor(filled(shapes.shape_of((shape,)), value, type_named(type(value) if dtype is None else dtype)))


@public
def zeros(*shape: int | Sequence[int], dtype: DTypeLike = "float32") -> Tensor:
    """Zeros of a shape given as one sequence or as several numbers."""
    return full(shapes.shape_of(shape), 0, type_named(dtype))


@public
def ones(*shape: int | Sequence[int], dtype: DTypeLike = "float32") -> Tensor:
    """Ones of a shape given as one sequence or as several numbers."""
    return full(shapes.shape_of(shape), 1, type_named(dtype))


@public
def full_like(x: TensorLike, value: float) -> Tensor:
    """One number everywhere, in the shape and dtype of x."""
    x = constant(x)
    return full(x.shape, value, x.dtype)


@public
def zeros_like(x: TensorLike) -> Tensor:
    """Zeros in the shape and dtype of x."""
    return full_like(x, 0)


@public
def ones_like(x: TensorLike) -> Tensor:
    """Ones in the shape and dtype of x."""
    return full_like(x, 1)


@public
def arange(start: float, stop: float | None = None, step: float = 1, dtype: DTypeLike | None = None) -> Tensor:
    """start, start+step, ... before stop; from 0 where only one number is given.

    >>> arange(2, 8, 2).tolist()
    [2, 4, 6]
    """
    ends = (0, start) if stop is None else (start, stop)
    number = lambda n: arguments.number(n, "every number of arange")
    first, last, by = (n if isinstance(n, Size) else number(n) for n in map(plain, (*ends, step)))
    if generate.are_whole(first, last, by):
        return Tensor(generate.arange(first, last, number(by), dtype=type_named("int64" if dtype is None else dtype)))
    return tensor(generate.steps(number(first), number(last), number(by)), dtype="float32" if dtype is None else dtype)


@public
def linspace(start: float, stop: float, count: int, dtype: DTypeLike = "float32") -> Tensor:
    """`count` numbers evenly from start to stop, both included."""
    ends = [arguments.number(n, "every end of linspace") for n in (start, stop)]
    type = Type(type_named(dtype), (arguments.size(plain(count), "count of linspace"),))
    if isinstance(count, Size):
        return Tensor(generate.linspace(*ends, *type.shape, dtype=type.dtype))
    return tensor(np.linspace(*ends, *type.shape), dtype=dtype)


@public
def eye(n: int, m: int | None = None, dtype: DTypeLike = "float32") -> Tensor:
    """Ones on the diagonal of an n x m matrix of zeros."""
    shape = shapes.shape_of((n, n if m is None else m))
    rows, columns = (Tensor(generate.Iota(shape, axis, int64)()) for axis in (0, 1))
    return equal(rows, columns).astype(dtype)


@public
def gelu(x: TensorLike, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x; `approximate="tanh"` takes the tanh form."""
    return lifted_gelu(x, approximate=arguments.choice(approximate, "approximate", ("none", "tanh")) == "tanh")


@public
def from_numpy(array: Any) -> Tensor:
    """A tensor holding a copy of an array, in its dtype."""
    return tensor(array if isinstance(array, np.ndarray) else array_of(array))


@public
def from_dlpack(x: Any) -> Tensor:
    """A tensor holding a copy of any array that speaks DLPack."""
    if not hasattr(x, "__dlpack__") or (isinstance(x, np.ndarray) and x.dtype.kind not in "biufc"):
        arguments.refuse("the argument of from_dlpack", "an array that speaks DLPack", x, "Write st.tensor(x).")
    return tensor(np.from_dlpack(x))


@public
def eval(*tensors: Tensor) -> Any:
    """Computes the numbers of tensors now, all in one program; returns them."""
    for t in tensors:
        if not isinstance(t, Tensor):
            arguments.refuse("every argument of eval", "a tensor", t)
    evaluate([t.value for t in tensors])
    return tensors[0] if len(tensors) == 1 else tensors


publish(list(globals().items()), __name__)
