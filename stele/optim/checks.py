"""What is taken by the constructors and functions of this room, checked by the annotations of their parameters."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from stele.arrays import checked as arrays
from stele.arrays.tensor import Tensor
from stele.interop.keywords import speaks
from stele.ir.door import P, R
from stele.ops import arguments
from stele.ops.arguments import Form, is_many, is_mapping, is_series, mapping, numbers, refuse


def tensors(x: Any, what: str) -> tuple[Tensor, ...]:
    """Tensors, as anything gives them one by one."""
    found: tuple[Any, ...] = () if isinstance(x, Tensor) or is_mapping(x) or not is_many(x) else tuple(x)
    if not found or not all(isinstance(p, Tensor) for p in found):
        refuse(what, "a list of tensors", x, "Pass [x]." if isinstance(x, Tensor) else "Pass model.parameters().")
    return found


def named(x: Any, what: str) -> tuple[tuple[str, Tensor], ...]:
    """Tensors with their names."""
    found: list[Any] = list(x) if is_many(x) and not isinstance(x, Tensor) else [None]
    if not all(is_series(p) and len(p) == 2 and isinstance(p[1], Tensor) for p in found):
        refuse(what, "pairs of a name and a tensor", x, "Pass model.named_parameters().")
    return tuple((name, p) for name, p in found)


def mappings(x: Any, what: str) -> Any:
    """Options by name, for each key."""
    return {key: mapping(options, f"every entry of {what}") for key, options in mapping(x, what).items()}


def first_or_none(x: Any, what: str) -> tuple[Any, ...]:
    """Two numbers, the first of which may be None."""
    if is_series(x) and len(x) == 2 and x[0] is None:
        return None, numbers((0, x[1]), what, 2)[1]
    return numbers(x, what, 2)


# Of kinds that are not named here the function itself says what it takes.
FORMS: dict[str, Form] = arrays.FORMS | {
    "Iterable[Tensor]":                     tensors,
    "Sequence[Tensor]":                     tensors,
    "Iterable[tuple[str, Tensor]]":         named,
    "Mapping[str, Mapping[str, Any]]":      mappings,
    "Callable[[int], float]":               arguments.function,
    "tuple[float, float]":                  partial(numbers, count=2),
    "tuple[float | None, float]":           first_or_none,
    "tuple[float, float, float]":           partial(numbers, count=3),
}


def checked(f: Callable[P, R]) -> Callable[P, R]:
    """A function that users call, whose arguments are checked."""
    return speaks(arguments.checked(f, FORMS))


def option(kind: type, name: str, x: Any) -> Any:
    """An option of an optimiser of a kind, as the annotation of its constructor's parameter asks for it."""
    said = next((forms[name] for c in kind.__mro__ if name in (forms := arguments.asked_of(c.__init__))), "")
    return FORMS.get(said, arguments.untouched)(x, f"{name} of {kind.__name__}")
