"""Layers that put something around signals, images and volumes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from stele.arrays.tensor import Tensor
from stele.errors import ShapeError
from stele.interop.keywords import speaks
from stele.nn import functional
from stele.nn.module import Module, given, wrong
from stele.ops.arguments import number, wholes

Widths = int | Sequence[int]


class Padded(Module):
    """Something around the last axes of x, whatever stands before them."""

    axes: ClassVar[int] = 2
    mode: ClassVar[str] = "constant"
    padding: tuple[int, ...]
    value: float = 0.0

    def make(self, padding: Widths) -> None:
        """Notes how much is put there: before and behind the last axis, then the one before it."""
        found = wholes(padding, f"padding of {type(self).__name__}")
        if len(found) not in (1, 2 * self.axes):
            form = "(left, right)", "(left, right, top, bottom)", "(left, right, top, bottom, front, back)"
            raise ShapeError(f"padding of {type(self).__name__} must be a number or {form[self.axes - 1]}, got {found}")
        self.padding = found * 2 * self.axes if len(found) == 1 else found

    def extra_repr(self) -> str:
        return f"{self.padding}"

    def forward(self, x: Tensor) -> Tensor:
        x = given(self, x)
        if x.ndim < self.axes:
            raise wrong(self, f"(*, {', '.join('DHW'[3 - self.axes:])})", x, {})
        return functional.pad(x, self.padding, self.mode, self.value or None)


class Around(Padded):
    """Padding that needs no number to be put there."""

    @speaks
    def __init__(self, padding: Widths) -> None:
        self.make(padding)


class ConstantPad(Padded):
    """Padding by a number."""

    @speaks
    def __init__(self, padding: Widths, value: float) -> None:
        self.make(padding)
        self.value = number(value, f"value of {type(self).__name__}")

    def extra_repr(self) -> str:
        return f"{self.padding}, {self.value!r}"


class ConstantPad1d(ConstantPad):
    """Signals (*, L) with the number `value` around.

    `padding` is a number for all sides, or (left, right). Negative widths cut. In the dtype of x. Raises ShapeError for
    another number of widths and where x has fewer axes.

    >>> nn.ConstantPad1d((1, 2), 7.0)(st.tensor([1.0, 2.0])).tolist()
    [7.0, 1.0, 2.0, 7.0, 7.0]
    """

    axes: ClassVar[int] = 1


class ConstantPad2d(ConstantPad):
    """Images (*, H, W) with the number `value` around.

    `padding` is a number for all sides, or (left, right, top, bottom). Negative widths cut. In the dtype of x. Raises
    ShapeError for another number of widths and where x has fewer axes.

    >>> nn.ConstantPad2d(1, 0.5)(st.zeros((2, 3, 3))).shape
    (2, 5, 5)
    """


class ConstantPad3d(ConstantPad):
    """Volumes (*, D, H, W) with the number `value` around.

    `padding` is a number for all sides, or (left, right, top, bottom, front, back). Negative widths cut. In the dtype
    of x. Raises ShapeError for another number of widths and where x has fewer axes.

    >>> nn.ConstantPad3d(1, 0.5)(st.zeros((2, 3, 3, 3))).shape
    (2, 5, 5, 5)
    """

    axes: ClassVar[int] = 3


class ZeroPad1d(Around):
    """Signals (*, L) with zeros around.

    `padding` is a number for all sides, or (left, right). Negative widths cut. In the dtype of x. Raises ShapeError for
    another number of widths and where x has fewer axes.

    >>> nn.ZeroPad1d(1)(st.tensor([1.0, 2.0])).tolist()
    [0.0, 1.0, 2.0, 0.0]
    """

    axes: ClassVar[int] = 1


class ZeroPad2d(Around):
    """Images (*, H, W) with zeros around.

    `padding` is a number for all sides, or (left, right, top, bottom). Negative widths cut. In the dtype of x. Raises
    ShapeError for another number of widths and where x has fewer axes.

    >>> nn.ZeroPad2d(1)(st.zeros((2, 3, 3))).shape
    (2, 5, 5)
    """


class ZeroPad3d(Around):
    """Volumes (*, D, H, W) with zeros around.

    `padding` is a number for all sides, or (left, right, top, bottom, front, back). Negative widths cut. In the dtype
    of x. Raises ShapeError for another number of widths and where x has fewer axes.

    >>> nn.ZeroPad3d(1)(st.zeros((2, 3, 3, 3))).shape
    (2, 5, 5, 5)
    """

    axes: ClassVar[int] = 3


class ReflectionPad1d(Around):
    """Signals (*, L) with their elements, from the edge backwards around.

    `padding` is a number for all sides, or (left, right). Wider than x it goes on to and fro. In the dtype of x. Raises
    ShapeError for another number of widths and where x has fewer axes.

    >>> nn.ReflectionPad1d(2)(st.tensor([1.0, 2.0, 3.0])).tolist()
    [3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]
    """

    axes: ClassVar[int] = 1
    mode: ClassVar[str] = "reflect"


class ReflectionPad2d(Around):
    """Images (*, H, W) with their elements, from the edge backwards around.

    `padding` is a number for all sides, or (left, right, top, bottom). Wider than x it goes on to and fro. In the dtype
    of x. Raises ShapeError for another number of widths and where x has fewer axes.

    >>> nn.ReflectionPad2d(1)(st.zeros((2, 3, 3))).shape
    (2, 5, 5)
    """

    mode: ClassVar[str] = "reflect"


class ReflectionPad3d(Around):
    """Volumes (*, D, H, W) with their elements, from the edge backwards around.

    `padding` is a number for all sides, or (left, right, top, bottom, front, back). Wider than x it goes on to and fro.
    In the dtype of x. Raises ShapeError for another number of widths and where x has fewer axes.

    >>> nn.ReflectionPad3d(1)(st.zeros((2, 3, 3, 3))).shape
    (2, 5, 5, 5)
    """

    axes: ClassVar[int] = 3
    mode: ClassVar[str] = "reflect"


class ReplicationPad1d(Around):
    """Signals (*, L) with the elements at their edge around.

    `padding` is a number for all sides, or (left, right). Negative widths cut. In the dtype of x. Raises ShapeError for
    another number of widths and where x has fewer axes.

    >>> nn.ReplicationPad1d((2, 0))(st.tensor([1.0, 2.0])).tolist()
    [1.0, 1.0, 1.0, 2.0]
    """

    axes: ClassVar[int] = 1
    mode: ClassVar[str] = "replicate"


class ReplicationPad2d(Around):
    """Images (*, H, W) with the elements at their edge around.

    `padding` is a number for all sides, or (left, right, top, bottom). Negative widths cut. In the dtype of x. Raises
    ShapeError for another number of widths and where x has fewer axes.

    >>> nn.ReplicationPad2d(1)(st.zeros((2, 3, 3))).shape
    (2, 5, 5)
    """

    mode: ClassVar[str] = "replicate"


class ReplicationPad3d(Around):
    """Volumes (*, D, H, W) with the elements at their edge around.

    `padding` is a number for all sides, or (left, right, top, bottom, front, back). Negative widths cut. In the dtype
    of x. Raises ShapeError for another number of widths and where x has fewer axes.

    >>> nn.ReplicationPad3d(1)(st.zeros((2, 3, 3, 3))).shape
    (2, 5, 5, 5)
    """

    axes: ClassVar[int] = 3
    mode: ClassVar[str] = "replicate"


class CircularPad1d(Around):
    """Signals (*, L) with the elements of the other end around.

    `padding` is a number for all sides, or (left, right). Negative widths cut. In the dtype of x. Raises ShapeError for
    another number of widths and where x has fewer axes.

    >>> nn.CircularPad1d((2, 0))(st.tensor([1.0, 2.0, 3.0])).tolist()
    [2.0, 3.0, 1.0, 2.0, 3.0]
    """

    axes: ClassVar[int] = 1
    mode: ClassVar[str] = "circular"


class CircularPad2d(Around):
    """Images (*, H, W) with the elements of the other end around.

    `padding` is a number for all sides, or (left, right, top, bottom). Negative widths cut. In the dtype of x. Raises
    ShapeError for another number of widths and where x has fewer axes.

    >>> nn.CircularPad2d(1)(st.zeros((2, 3, 3))).shape
    (2, 5, 5)
    """

    mode: ClassVar[str] = "circular"


class CircularPad3d(Around):
    """Volumes (*, D, H, W) with the elements of the other end around.

    `padding` is a number for all sides, or (left, right, top, bottom, front, back). Negative widths cut. In the dtype
    of x. Raises ShapeError for another number of widths and where x has fewer axes.

    >>> nn.CircularPad3d(1)(st.zeros((2, 3, 3, 3))).shape
    (2, 5, 5, 5)
    """

    axes: ClassVar[int] = 3
    mode: ClassVar[str] = "circular"
