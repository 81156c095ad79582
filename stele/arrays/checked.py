"""Functions of tensors that are written in their words: arguments checked by the annotations of the parameters."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stele.arrays.tensor import Tensor, constant
from stele.errors import advice
from stele.ir.door import P, R
from stele.ops import arguments
from stele.ops.arguments import Form, is_array, optional, refuse


def operand(x: Any, what: str) -> Tensor:
    """A tensor; an array of NumPy or a number becomes one."""
    if not (isinstance(x, Tensor | bool | int | float | complex) or is_array(x)):
        refuse(what, "a tensor, an array or a number", x, advice(x))
    return constant(x)


def tensor(x: Any, what: str) -> Tensor:
    """A tensor, which the function rebinds."""
    return x if isinstance(x, Tensor) else refuse(what, "a tensor", x)


FORMS: dict[str, Form] = arguments.FORMS | {
    "TensorLike":           operand,
    "TensorLike | None":    optional(operand),
    "Tensor":               tensor,
    "Tensor | None":        optional(tensor),
}


def checked(f: Callable[P, R]) -> Callable[P, R]:
    """A function that users call, whose arguments are checked."""
    return arguments.checked(f, FORMS)
