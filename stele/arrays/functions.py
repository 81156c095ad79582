"""The functions of the public interface on tensors."""
from __future__ import annotations

from typing import Any, cast

from stele.arrays import shapes
from stele.arrays.spoken import publish
from stele.arrays.tensor import Tensor, arithmetic, lift
from stele.eager.evaluate import evaluate
from stele.ir.door import public
from stele.ops import (
    arguments,
    contraction,
    convolution,
    functional,
    indexing,
    linear,
    parts,
    pooling,
    shaping,
    statistics,
)
from stele.ops.elementwise import binary, unary

# fmt: off
exp, log, log1p, expm1      = lift(unary.exp), lift(unary.log), lift(unary.log1p), lift(unary.expm1)
sqrt, rsqrt, square         = lift(unary.sqrt), lift(unary.rsqrt), lift(unary.square)
sin, cos, tan, atan         = lift(unary.sin), lift(unary.cos), lift(unary.tan), lift(unary.atan)
sinh, cosh, tanh            = lift(unary.sinh), lift(unary.cosh), lift(unary.tanh)
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
logical_xor, where          = arithmetic(binary.logical_xor), arithmetic(binary.where)
sum, mean, prod             = lift(statistics.sum), lift(statistics.mean), lift(statistics.prod)
max, min                    = lift(statistics.max), lift(statistics.min)
var, std                    = lift(statistics.var), lift(statistics.std)
all, any                    = lift(statistics.all), lift(statistics.any)
argmax, argmin              = lift(statistics.argmax), lift(statistics.argmin)
matmul                      = lift(contraction.matmul)
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
take, embedding             = lift(indexing.take), lift(indexing.embedding)
reshape, permute, swapaxes  = lift(shapes.reshape), lift(shapes.permute), lift(shaping.swapaxes)
flatten, squeeze, unsqueeze = lift(shapes.flatten), lift(shaping.squeeze), lift(shapes.unsqueeze)
concatenate, stack, split   = lift(shaping.concatenate), lift(shaping.stack), lift(shaping.split)
pad, roll, repeat           = lift(shaping.pad), lift(shaping.roll), lift(shaping.repeat)
moveaxis, flip, tril, triu  = lift(shaping.moveaxis), lift(shapes.flip), lift(shaping.tril), lift(shaping.triu)
broadcast_to, meshgrid      = lift(shapes.broadcast_to), lift(shaping.meshgrid)
matrix_transpose            = lift(linear.swap_last)
# fmt: on


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


publish(list(globals().items()), __name__)
__all__ = [name for name, f in globals().items() if getattr(f, "__module__", "") == __name__]  # pyright: ignore[reportUnsupportedDunderAll]
