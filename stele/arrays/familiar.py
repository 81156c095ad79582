"""What PyTorch's tensors have under names of their own, for what is there already, and methods that write."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Self

from stele.arrays.views import Family
from stele.errors import ShapeError
from stele.ir.door import public, public_methods
from stele.ir.types import show

WRITING = """
abs absolute acos acosh add addcdiv addcmul addmm arccos arcsin arctan arctan2 asin asinh atan atan2 atanh baddbmm
bitwise_and bitwise_or bitwise_xor ceil clamp clip copysign cos cosh cumprod cumsum deg2rad digamma div divide erf erfc
erfinv exp exp2 expm1 fix float_power floor floor_divide fmod frac gcd heaviside hypot i0 index_add index_copy
index_fill index_put lcm lerp lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor logit
masked_fill mul multiply nan_to_num neg negative nextafter pow rad2deg reciprocal relu remainder round rsqrt scatter
scatter_add sigmoid sign sin sinc sinh sqrt square sub subtract tan tanh tril triu true_divide trunc xlogy"""
"""Methods that there are with `_` behind their name, too: the result is written to the tensor."""


@public_methods
class Familiar(Family):
    """Methods by the names that PyTorch gives them, for those who bring code."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements: `size`."""
        return its(self).size

    nelement = numel

    def dim(self) -> int:
        """The number of axes: `ndim`."""
        return self.ndim

    ndimension = dim

    def t(self) -> Self:
        """The transpose of a matrix: `T`. Raises ShapeError for more than two axes."""
        if self.ndim > 2:
            raise ShapeError(f"t needs at most two axes, got {show(self.shape)}",
                             hint="Write x.mT for stacks of matrices, x.permute(...) for other orders.")
        return its(self).T

    def cpu(self) -> Self:
        """This tensor on the device "cpu", as of `to`."""
        return its(self).to("cpu")

    def contiguous(self) -> Self:
        """The tensor itself: rows of every tensor stand behind each other."""
        return self

    def is_contiguous(self) -> bool:
        """Whether rows stand behind each other, as in every tensor: True."""
        return True

    def element_size(self) -> int:
        """The bytes of an element: `itemsize`."""
        return self.itemsize

    def half(self) -> Self:
        """This tensor as float16, as of `astype`."""
        return its(self).astype("float16")

    def bfloat16(self) -> Self:
        """This tensor as bfloat16, as of `astype`."""
        return its(self).astype("bfloat16")

    def short(self) -> Self:
        """This tensor as int16, as of `astype`."""
        return its(self).astype("int16")

    def type(self, dtype: Any) -> Self:
        """This tensor as another dtype: `astype`."""
        return its(self).astype(dtype)

    def type_as(self, other: Self) -> Self:
        """This tensor in the dtype of another one."""
        return its(self).astype(other.dtype)

    def expand_as(self, other: Self) -> Self:
        """This tensor broadcast to the shape of another one, as of `expand`."""
        return its(self).expand(*other.shape)

    def reshape_as(self, other: Self) -> Self:
        """These elements in the shape of another tensor, as of `reshape`."""
        return its(self).reshape(*other.shape)

    view_as = reshape_as

    def is_floating_point(self) -> bool:
        """Whether the dtype is one of real floats."""
        return self.dtype.is_float and not self.dtype.is_complex

    def is_complex(self) -> bool:
        """Whether the dtype is one of complex numbers."""
        return self.dtype.is_complex

    def select(self, dim: int, index: int) -> Self:
        """The part at a position along an axis, without that axis."""
        return its(self).narrow(dim, index, 1).squeeze(dim)

    def addcmul(self, tensor1: Any, tensor2: Any, value: float = 1) -> Self:
        """The sum self + `value` * tensor1 * tensor2, broadcast."""
        return its(self) + value * (its(self).beside(tensor1) * tensor2)

    def addcdiv(self, tensor1: Any, tensor2: Any, value: float = 1) -> Self:
        """The sum self + `value` * tensor1 / tensor2, broadcast."""
        return its(self) + value * (its(self).beside(tensor1) / tensor2)

    def scatter(self, dim: int, index: Any, src: Any) -> Self:
        """This tensor with `src` in the places that `index` names along an axis, as of `st.scatter`."""
        return house().scatter(self, index, src, dim)

    def scatter_add(self, dim: int, index: Any, src: Any) -> Self:
        """This tensor with `src` added in the places that `index` names along an axis, as of `st.scatter`."""
        return house().scatter(self, index, src, dim, "add")

    def index_add(self, dim: int, index: Any, source: Any, alpha: float = 1) -> Self:
        """This tensor with `alpha` * source added to the slices that `index` names, as of `st.index_add`."""
        return house().index_add(self, index, source, dim, alpha)

    def new_tensor(self, data: Any, dtype: Any = None) -> Self:
        """A tensor of these numbers, of this one's dtype, on its device."""
        return house().tensor(data, dtype=dtype or self.dtype, device=self.device)

    def new_full(self, size: Any, fill_value: Any, dtype: Any = None) -> Self:
        """A tensor of one number, of this one's dtype, on its device."""
        return house().full(size, fill_value, dtype=dtype or self.dtype, device=self.device)

    def new_zeros(self, *size: Any, dtype: Any = None) -> Self:
        """Zeros of this tensor's dtype, on its device."""
        return house().zeros(*size, dtype=dtype or self.dtype, device=self.device)

    def new_ones(self, *size: Any, dtype: Any = None) -> Self:
        """Ones of this tensor's dtype, on its device."""
        return house().ones(*size, dtype=dtype or self.dtype, device=self.device)

    new_empty = new_zeros

    # What writes whatever the gradient settings are, as `assign` does

    def fill_(self, value: Any) -> Self:
        """Rebinds this tensor to one number everywhere, and returns it."""
        return its(self).assign(value)

    def fill(self, value: Any) -> None:
        """Rebinds this tensor to one number everywhere; returns nothing, as NumPy's."""
        its(self).assign(value)

    def uniform_(self, low: float = 0.0, high: float = 1.0) -> Self:
        """Rebinds this tensor to random numbers from `low` to `high`, and returns it."""
        return its(self).assign(house().rand(*self.shape, dtype=self.dtype) * (high - low) + low)

    def normal_(self, mean: float = 0.0, std: float = 1.0) -> Self:
        """Rebinds this tensor to random numbers of a normal distribution, and returns it."""
        return its(self).assign(house().randn(*self.shape, dtype=self.dtype) * std + mean)

    def bernoulli_(self, p: Any = 0.5) -> Self:
        """Rebinds this tensor to ones with probability `p`, a number or a tensor of them, and zeros; returns it."""
        return its(self).assign(house().bernoulli(p, tuple(self.shape)))

    def exponential_(self, lambd: float = 1.0) -> Self:
        """Rebinds this tensor to random numbers of an exponential distribution of rate `lambd`, and returns it."""
        return its(self).assign(house().default_generator.exponential(1 / lambd, tuple(self.shape)))


def its(x: Family) -> Any:
    """A tensor: what its class has is not known here."""
    return x


def house() -> Any:
    """The namespace, whose functions know of tensors."""
    return sys.modules["stele"]


def writing(name: str) -> Callable[..., Any]:
    """The method whose result is written to the tensor, in its dtype."""
    def written(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.rebind(getattr(self, name)(*args, **kwargs))

    written.__name__ = written.__qualname__ = f"{name}_"
    written.__doc__ = f"Rebinds this tensor to what `{name}` gives, in its own dtype, and returns it."
    return public(written)
