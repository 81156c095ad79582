"""What functions of values take of what users give: the values of tensors, of arrays and of open sizes."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from typing import Any

import numpy as np

from stele.arrays.given import array_of
from stele.arrays.opensize import plain
from stele.eager.evaluate import known
from stele.eager.handle import GRAD, TRACING, Handle
from stele.eager.live import cut
from stele.eager.template import alike
from stele.errors import DeviceError
from stele.ir.graph import Array, Constant, Value
from stele.ir.origin import here, lines
from stele.ir.sizes import Size
from stele.ir.types import HOME, NAMED
from stele.ops.arguments import shallow
from stele.ops.generate import quantity

SMALL = 64      # elements of an array made while tracing, up to which it is written into the graph


class Operands:
    """Takes the values out of tensors, and remembers whether any of them carries gradients, and where they lie."""

    __slots__ = ("differentiable", "first", "numbers")

    differentiable: bool
    numbers: bool

    def __init__(self, numbers: bool) -> None:
        self.differentiable, self.numbers = False, numbers
        self.first: Value | None = None

    def value(self, a: Any) -> Any:
        """What an op takes for an argument of the user: values for tensors and arrays, also inside of lists."""
        if isinstance(a, Handle):
            self.differentiable = self.differentiable or a._requires_grad
            return self.beside(a.value)
        if isinstance(a, np.ndarray):
            return self.beside(array_value(a))
        if isinstance(a, Size):
            return quantity(plain(a)) if self.numbers else plain(a)
        if isinstance(a, list | tuple) and any(isinstance(part, Handle | np.ndarray) for part in shallow(a)):
            return tuple(self.value(part) for part in a)
        return plain(a) if isinstance(a, list | tuple | slice) else a

    def beside(self, v: Value) -> Value:
        """The value itself; raises DeviceError where others lie on another device: numbers of the host alone follow."""
        if not v.shape and v.type.device == HOME:
            return v
        self.first = self.first or v
        if v.type.device != (place := self.first.type.device):
            raise DeviceError(f"operands lie on one device, got {self.first.type} on {place} and {v.type} on "
                              f"{v.type.device}", where=", ".join(lines(here())),
                              hint=f"Move one of them: x.to({place!r}), or st.tensor(x, device={place!r}) of an array.")
        return v

    def cut(self, y: Any) -> Any:
        """Under `no_grad` the results are cut off from what carries gradients."""
        if GRAD.get() or not self.differentiable:
            return y
        if not isinstance(y, Value):
            return alike(y, [self.cut(part) for part in y]) if isinstance(y, tuple | list) else y
        return cut(y) if y.dtype.is_float else y


def array_value(array: Array) -> Value:
    """The value of an array: its numbers now, or in a traced function an input where calls can find the array again."""
    tracing = TRACING.get()
    found = None if tracing is None else tracing.array(array)
    if found is not None:
        return found
    if tracing is None or array.size > SMALL:       # the leaf has a copy of its own
        array = np.asarray(array)
        return known(array if array.dtype in NAMED else array_of(array), "array")
    return Constant(array_of(array))()
