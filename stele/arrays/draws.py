"""One draw of random numbers: its key, shape and dtypes, and the parameters of the distribution."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from stele.arrays.given import nested
from stele.arrays.rebinding import record
from stele.arrays.shapes import shape_of
from stele.arrays.streams import Stream
from stele.arrays.tensor import DeviceLike, DTypeLike, Tensor, TensorLike, constant, lift, placed
from stele.errors import DTypeError, ShapeError
from stele.ir.graph import Value, literal
from stele.ir.types import DType, Shape, broadcast_shapes, float32, float64, int64, promote, same, show
from stele.ir.types import dtype as type_named
from stele.ops import random
from stele.ops.arguments import is_array, is_series, number, shallow
from stele.ops.linear import broadcast, cast

Numbers = TensorLike | Sequence[Any]        # a parameter
uniform, normal, inner, wide_bits = map(lift, (random.uniform, random.normal, random.inner, random.wide_bits))
side = lift(random.stream)
CHANCES = "p", "pvals"
ANYTHING = "loc", "mean", "mu", "low", "high", "left", "mode", "right"     # parameters that may be below 0


def float_named(dtype: Any, complex_too: bool = False) -> DType:
    """The float dtype meant by a name; raises DTypeError for any other, in which numbers between 0 and 1 are 0."""
    if not (found := type_named(dtype)).is_float or (found.is_complex and not complex_too):
        raise DTypeError(f"random numbers of a continuous distribution need a float dtype, got {found}",
                         hint="Write st.randint(low, high, shape) for integers.")
    return found


def listed(x: Any) -> Any:
    """Lists of numbers as an array, in the dtype that NumPy gives them, and anything else as it is."""
    return np.asarray(nested(shallow(x))) if is_series(x) else x


def parameter(x: Any, name: str, apart: float | None = None) -> Any:
    """A parameter of a distribution: a number that it may be, and not `apart`, or a tensor of them, which are real."""
    if isinstance(x, Tensor) or is_array(x) or is_series(x):
        return real(constant(listed(x)), name)
    low = None if name in ANYTHING and apart is None else 0
    return number(x, name, low, 1 if name in CHANCES else None, apart)


def real(x: Tensor, name: str) -> Tensor:
    """A tensor that is a parameter. Raises DTypeError for complex numbers."""
    if x.dtype.is_complex:
        raise DTypeError(f"{name} of a distribution must be real, got {x.value.type}",
                         hint=f"Write {name}.real, or abs({name}).")
    return x


def counts(x: Any, name: str) -> Tensor:
    """A tensor that is a parameter of whole numbers, as int64. Raises DTypeError for others."""
    x = constant(listed(x))
    if x.dtype.kind not in "iub":
        raise DTypeError(f"{name} of a distribution must be whole numbers, got {x.value.type}",
                         hint=f"Write {name}.astype('int64'), which drops what is behind the point.")
    return x.astype(int64)


class Draw:
    """A draw of `size` numbers, as many as the parameters broadcast to without one; `given` has the parameters.

    Computed in float64 for float64, else in float32; what comes out is `made`. What a draw needs beside its first
    numbers has a `part` of its own: 0, 2, 4 or 6. `apart` says the end of its range that a parameter may not be.
    """

    def __init__(self, stream: Stream, size: Any = None, dtype: DTypeLike | None = None, device: DeviceLike = None,
                 apart: Mapping[str, float] = MappingProxyType({}), **given: Any) -> None:
        found = {name: parameter(x, name, apart.get(name)) for name, x in given.items()}
        arrays = [x for x in found.values() if isinstance(x, Tensor)]
        self.key = placed(stream.key(), device)
        self.shape = shaped(size, *(x.value.shape for x in arrays))
        own = float32
        for x in arrays:
            own = promote(own, x.dtype) if x.dtype.is_float else own
        self.dtype = own if dtype is None else float_named(dtype)
        self.wide = float64 if self.dtype == float64 else float32
        self.given = found

    def __getitem__(self, name: str) -> Any:
        """A parameter for arithmetic: a number, or a tensor in the dtype of the computation."""
        x = self.given[name]
        return x.astype(self.wide) if isinstance(x, Tensor) and x.dtype != self.wide else x

    def key_of(self, part: int) -> Tensor:
        return side(self.key, part) if part else self.key

    def of(self, draw: Callable[..., Tensor], part: int, dtype: DType) -> Tensor:
        return draw(self.key_of(part), shape=self.shape, dtype=dtype)

    def inner(self, part: int = 0, dtype: DType | None = None) -> Tensor:
        """Numbers between 0 and 1, neither of which comes out."""
        return self.of(inner, part, dtype or self.wide)

    def normal(self, part: int = 0) -> Tensor:
        """Standard normal numbers."""
        return self.of(normal, part, self.wide)

    def sample(self, distribution: str, *given: Any, part: int = 0) -> Tensor:
        """What a distribution that is drawn by tries makes of parameters in float64."""
        return record(Tensor(random.Sample(distribution)(self.key_of(part).value, *(self.spread(x) for x in given))))

    def spread(self, x: Any, shape: Shape | None = None) -> Value:
        """A parameter in the shape of the draw or another, whole numbers as int64 and others as float64."""
        v = x.value if isinstance(x, Tensor) else literal(x, int64 if isinstance(x, int) else float64)
        return broadcast(v if v.dtype == int64 else cast(v, float64), self.shape if shape is None else shape)

    def gamma(self, a: Any, part: int = 0) -> Tensor:
        """Numbers of the standard gamma distribution, in float64."""
        return self.sample("standard_gamma", a if isinstance(a, Tensor) else float(a), part=part)

    def made(self, y: Tensor) -> Tensor:
        """What was drawn, in the shape and dtype of the draw."""
        wide = y if y.value.shape == self.shape else Tensor(broadcast(y.value, self.shape))
        return wide if wide.dtype == self.dtype else wide.astype(self.dtype)


def shaped(size: Any, *given: Shape) -> tuple[Any, ...]:
    """The shape of a draw: its size, or else what its parameters broadcast to. Raises ShapeError if they do not fit."""
    own = broadcast_shapes((), *given)
    if size is None:
        return own
    shape = shape_of((size,))
    met = broadcast_shapes(shape, own)
    if len(met) != len(shape) or not all(map(same, met, shape)):
        raise ShapeError(f"parameters of the shape {show(own)} make no numbers of the size {show(shape)}",
                         hint="Leave size out, or give one that they broadcast to.")
    return shape
