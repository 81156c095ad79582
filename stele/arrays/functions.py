"""The functions of the public interface on tensors."""
from __future__ import annotations

from typing import Any, cast

from stele.arrays import shapes
from stele.arrays.spoken import publish
from stele.arrays.tensor import Tensor, arithmetic, at_places, each_seen, lift, seeing
from stele.arrays.ufuncs import with_methods
from stele.arrays.views import crossed, imaginary_part, real_part
from stele.eager.evaluate import evaluate
from stele.ir.door import public
from stele.ops import (
    arguments,
    contraction,
    diagonals,
    functional,
    joining,
    linear,
    padding,
    parts,
    selecting,
    shaping,
    statistics,
)
from stele.ops.elementwise import binary, elementary, signs, unary

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
signbit, copysign, spacing  = lift(signs.signbit), arithmetic(signs.copysign), lift(signs.spacing)
nextafter, positive         = arithmetic(signs.nextafter), lift(signs.positive)
fmod, fmax, fmin            = arithmetic(signs.fmod), arithmetic(signs.fmax), arithmetic(signs.fmin)
frac, frexp, ldexp          = lift(signs.frac), lift(signs.frexp), lift(signs.ldexp)
isclose, nan_to_num         = arithmetic(signs.isclose), lift(signs.nan_to_num)
isposinf, isneginf          = lift(signs.isposinf), lift(signs.isneginf)
lerp, float_power           = arithmetic(signs.lerp), arithmetic(signs.float_power)
rad2deg, deg2rad            = lift(signs.rad2deg), lift(signs.deg2rad)
sigmoid, log_sigmoid        = lift(unary.sigmoid), lift(unary.log_sigmoid)
erf, erfc                   = lift(unary.erf), lift(unary.erfc)
relu, leaky_relu, elu       = lift(unary.relu), lift(unary.leaky_relu), lift(unary.elu)
softplus, reciprocal        = lift(unary.softplus), lift(unary.reciprocal)
abs, sign                   = lift(unary.absolute), lift(unary.sign)
floor, ceil, trunc          = lift(unary.floor), lift(unary.ceil), lift(unary.trunc)
round                       = lift(binary.round)
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
logical_xor                 = arithmetic(binary.logical_xor)
sum, mean, prod             = lift(statistics.sum), lift(statistics.mean), lift(statistics.prod)
max, min                    = lift(statistics.max), lift(statistics.min)
var, std                    = lift(statistics.var), lift(statistics.std)
var_mean, std_mean          = lift(statistics.var_mean), lift(statistics.std_mean)
allclose                    = arithmetic(statistics.allclose)
all, any                    = lift(statistics.all), lift(statistics.any)
argmax, argmin              = lift(statistics.argmax), lift(statistics.argmin)
matmul                      = lift(contraction.matmul)
real, imag                  = seeing(parts.real, real_part), seeing(parts.imag, imaginary_part)
conj                        = lift(parts.conj)
angle, complex              = lift(parts.angle), lift(parts.complex)
softmax, log_softmax        = lift(functional.softmax), lift(functional.log_softmax)
logsumexp, silu, gelu       = lift(functional.logsumexp), lift(functional.silu), lift(functional.gelu)
normalize, layer_norm       = lift(functional.normalize), lift(functional.layer_norm)
pick, one_hot               = lift(functional.pick), lift(functional.one_hot)
cross_entropy, mse          = lift(functional.cross_entropy), lift(functional.mse)
binary_cross_entropy        = lift(functional.binary_cross_entropy)
take, embedding             = lift(selecting.take), lift(selecting.embedding)
gather, index_select        = lift(selecting.gather), lift(selecting.index_select)
index_copy, index_fill      = lift(selecting.index_copy), lift(selecting.index_fill)
index_put, masked_fill      = lift(selecting.index_put), lift(selecting.masked_fill)
select, narrow              = arithmetic(selecting.select), seeing(selecting.narrow)
reshape, permute, swapaxes  = seeing(shapes.reshape), seeing(shapes.permute), seeing(shaping.swapaxes)
transpose, moveaxis, flip   = seeing(shapes.transpose), seeing(shaping.moveaxis), seeing(shapes.flip)
flatten, squeeze, unsqueeze = seeing(shapes.flatten), seeing(shaping.squeeze), seeing(shapes.unsqueeze)
concatenate, stack, append  = lift(joining.concatenate), lift(joining.stack), lift(joining.append)
hstack, vstack, dstack      = lift(joining.hstack), lift(joining.vstack), lift(joining.dstack)
column_stack, block_diag    = lift(joining.column_stack), lift(joining.block_diag)
atleast_1d                  = each_seen(joining.atleast_1d, linear.reshape)
atleast_2d                  = each_seen(joining.atleast_2d, linear.reshape)
atleast_3d, unstack         = each_seen(joining.atleast_3d, linear.reshape), seeing(joining.unstack)
split, array_split, chunk   = seeing(joining.split), seeing(joining.array_split), seeing(joining.chunk)
hsplit, vsplit, dsplit      = seeing(joining.hsplit), seeing(joining.vsplit), seeing(joining.dsplit)
insert, delete              = at_places(joining.insert), at_places(joining.delete)
cartesian_prod              = lift(joining.cartesian_prod)
combinations                = lift(joining.combinations)
pad, roll, tile, rot90      = lift(padding.pad), lift(shaping.roll), lift(shaping.tile), seeing(shaping.rot90)
fliplr, flipud, unfold      = seeing(shaping.fliplr), seeing(shaping.flipud), seeing(shaping.unfold)
unflatten                   = seeing(shaping.unflatten)
broadcast_arrays            = each_seen(shaping.broadcast_arrays, linear.broadcast)
broadcast_to, meshgrid      = seeing(shapes.broadcast_to), lift(shaping.meshgrid)
tril, triu, diagonal        = lift(diagonals.tril), lift(diagonals.triu), seeing(diagonals.diagonal, crossed)
diag, diag_embed            = seeing(diagonals.diag, crossed, axes=2), lift(diagonals.diag_embed)
matrix_transpose            = seeing(linear.swap_last)
# fmt: on


@public
def eval(*tensors: Tensor) -> Any:
    """The `tensors` with their numbers computed now, all in one program: one as it is, several as a tuple.

    Numbers are computed by themselves where they are looked at; several that share work cost less together. Each in its
    own dtype. They may have any shapes. Raises ArgumentError for other than tensors.

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
with_methods(list(globals().items()))
__all__ = [name for name, f in globals().items() if getattr(f, "__module__", "") == __name__]  # pyright: ignore[reportUnsupportedDunderAll]
