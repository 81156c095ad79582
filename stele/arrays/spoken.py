"""Functions of values as users read them: signatures in the words of tensors, under the names where they stand."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

# What users read where a parameter is annotated so; any other annotation is read as it stands.
WORDS: dict[str, str] = {
    "Value":                            "TensorLike",
    "Value | None":                     "TensorLike | None",
    "Operand":                          "TensorLike",
    "Operand | None":                   "TensorLike | None",
    "Numbers":                          "TensorLike",
    "Numbers | None":                   "TensorLike | None",
    "Sequence[Value]":                  "Sequence[TensorLike]",
    "Value | Sequence[Value]":          "TensorLike | Sequence[TensorLike]",
    "Dim":                              "int",
    "Axes":                             "int | Sequence[int] | None",
    "Shape":                            "int | Sequence[int]",
    "Positions":                        "TensorLike | Sequence[int]",
    "Sizes":                            "int | Sequence[int]",
    "SizesOrDType":                     "int | Sequence[int] | DTypeLike",
    "DType":                            "DTypeLike",
    "DType | None":                     "DTypeLike | None",
    "Key":                              "Index",
    "Equation":                         "str | TensorLike",
    "Terms":                            "TensorLike | Sequence[int]",
    "Edges":                            "int | TensorLike",
    "Bins":                             "int | TensorLike | Sequence[int | TensorLike]",
    "Places":                           "TensorLike | slice | Sequence[int]",
    "int | Single":                     "int | Sequence[int]",
    "int | Pair":                       "int | Sequence[int]",
    "int | Triple":                     "int | Sequence[int]",
    "int | Pair | None":                "int | Sequence[int] | None",
    "int | Single | Padding":           "int | Sequence[int | Sequence[int]]",
    "int | Pair | Padding":             "int | Sequence[int | Sequence[int]]",
    "int | Triple | Padding":           "int | Sequence[int | Sequence[int]]",
    "int | Single | Padding | str":     "int | Sequence[int | Sequence[int]] | str",
    "int | Pair | Padding | str":       "int | Sequence[int | Sequence[int]] | str",
    "int | Triple | Padding | str":     "int | Sequence[int | Sequence[int]] | str",
    **dict.fromkeys(("Reduction", "BatchReduction", "InterpolationMode"), "str"),
    "Sequence[tuple[Dim, Dim]]":        "int | Sequence[int | Sequence[int]]",
}


RETURNED: dict[str, str] = {"OneOrPair": "Value | tuple[Value, Value]"}


class Word(str):
    """An annotation that prints without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


own = cache(inspect.signature)      # many a function is lifted twice: to a function and to a method


@cache
def signature(f: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function of values as one of tensors, whose keyword-only parameters also have positions.

    >>> from stele.ops import statistics
    >>> signature(statistics.argmax)
    <Signature (x: TensorLike, axis: int | None = None, keepdims: bool = False) -> Tensor>
    """
    parameters = own(f).parameters.values()
    placed = all(p.kind is not p.VAR_POSITIONAL for p in parameters)
    said = [p.replace(annotation=Word(WORDS.get(p.annotation, p.annotation)),
                      kind=p.POSITIONAL_OR_KEYWORD if placed else p.kind) for p in parameters]
    annotation: str = own(f).return_annotation
    returned = RETURNED.get(annotation, annotation)
    return inspect.Signature(said, return_annotation=Word(returned.replace("Value", "Tensor")))


class Said:
    """What a lifted function is made of: a function of values, and its signature, which is made when somebody asks."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.__wrapped__, self.is_method = f, False

    @property
    def __signature__(self) -> inspect.Signature:
        said = signature(self.__wrapped__)
        if not self.is_method:
            return said
        first, *rest = said.parameters.values()
        return said.replace(parameters=[first.replace(name="self", annotation=first.empty), *rest])


def is_lifted(f: Any) -> bool:
    """Whether this is a function of tensors made of one of values."""
    return isinstance(getattr(f, "__wrapped__", None), Said)


def publish(room: Iterable[tuple[str, Any]], module: str, owner: str = "") -> None:
    """Names lifted functions by where they stand: in a module, or in a class of it as methods, whose first is self."""
    for name, held in room:
        f: Any = held.fget if isinstance(held, property) else held
        if is_lifted(f):
            f.__module__, f.__name__, f.__qualname__ = module, name, f"{owner}.{name}" if owner else name
            f.__wrapped__.is_method = bool(owner)
