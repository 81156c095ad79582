"""What users give beside arrays (sizes, axes, numbers, options), each kind checked in one place."""
from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, partial, wraps
from inspect import Signature, signature
from typing import Any, NoReturn, TypeGuard

import numpy as np

from stele import config
from stele.errors import ArgumentError, OptionError, ShapeError, SteleError, advice, nearest
from stele.ir.door import P, R, T, flag, leaving, owner, refuse_form
from stele.ir.graph import Constant, Value, literal
from stele.ir.sizes import Dim, Size
from stele.ir.types import MOST_AXES, MOST_BYTES, Shape, dtype, number_of

Form = Callable[[Any, str], Any]
FLOATING: Any = np.floating

# Words that a parameter takes, by its annotation: those of FORMS.
Reduction = str
BatchReduction = str
InterpolationMode = str


def refuse(what: str, wanted: str, got: object, hint: str | None = None, error: type[ArgumentError] = ArgumentError
           ) -> NoReturn:
    """Raises ArgumentError, or one of its kind: `what` must be `wanted`, got something of another kind."""
    shown = f"an array {got.type}" if isinstance(got, Value) else f"{type(got).__name__}: {reprlib.repr(got)}"
    raise error(f"{what} must be {wanted}, got {shown}", hint=hint)


def whole(x: Any, what: str, low: int | None = None, high: int | None = None) -> Any:
    """x as an int from `low` to `high`; an open size stays one.

    >>> import numpy as np
    >>> whole(np.int32(3), "axis")
    3
    """
    if isinstance(x, Size):
        return x
    if isinstance(x, bool | type) or not hasattr(x, "__index__"):
        refuse(what, "a whole number", x, f"Write {int(x)}." if isinstance(x, float) and x.is_integer() else None)
    try:
        n = operator.index(x)
    except TypeError:       # a NumPy array has __index__, of whatever shape and dtype
        refuse(what, "a whole number", x)
    if (low is not None and n < low) or (high is not None and n > high):
        bounds = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ShapeError(f"{what} must be {bounds}, got {_said(n)}")
    if low is not None and high is None and n.bit_length() > 63:    # no array has so many, and no float need hold it
        raise ShapeError(f"{what} must fit into 64 bits, got {_said(n)}")
    return n


def _said(n: int) -> str:
    return str(n) if n.bit_length() <= 64 else f"a whole number of {n.bit_length()} bits"


def size(x: Any, what: str) -> Dim:
    """The length of an axis: 0 or more."""
    return whole(x, what, 0)


def positive(x: Any, what: str) -> Any:
    """A whole number of 1 or more."""
    return whole(x, what, 1)


def count(x: Any, what: str) -> Any:
    """A number of places, 0 or more, for which the host can address 8 bytes each."""
    return whole(x, what, 0, MOST_BYTES // 8)


def times(x: Any, what: str, low: int = 0) -> int:
    """How often something is written into a program: 65,536 times at most."""
    return whole(x, what, low, 1 << 16)


def sequence(x: Any, what: str, wanted: str, unordered: bool = False) -> tuple[Any, ...]:
    """The entries of anything but text that has them in an order, or that may have them in none."""
    if isinstance(x, str | bytes | bytearray | memoryview | Value | Mapping) or not is_many(x) or \
            (isinstance(x, set | frozenset) and not unordered):
        refuse(what, wanted, x)  # type: ignore[reportUnknownArgumentType]
    return tuple(x)  # type: ignore[arg-type]


def is_array(x: object) -> TypeGuard[np.ndarray[Any, Any]]:
    """Whether x is an array of NumPy."""
    return isinstance(x, np.ndarray)


def is_series(x: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether x is a list or a tuple."""
    return isinstance(x, list | tuple)


def shallow(x: Any) -> Any:
    """Lists as they are; ShapeError where they stand in each other deeper than an array has axes, or in themselves."""
    level = {id(x): x}
    for _ in range(MOST_AXES):
        level = {id(p): p for part in level.values() for p in part if is_series(p)}
        if not level:
            return x
    raise ShapeError(f"an array has at most {MOST_AXES} axes, got lists that stand deeper in each other")


def is_mapping(x: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether x has values by key."""
    return isinstance(x, Mapping)


def is_dict(x: object) -> TypeGuard[dict[Any, Any]]:
    """Whether x is a dict."""
    return isinstance(x, dict)


def mapping(x: Any, what: str) -> Mapping[Any, Any]:
    """Values by key."""
    return x if is_mapping(x) else refuse(what, "a dict", x)


def is_many(x: object) -> TypeGuard[Iterable[Any]]:
    """Whether x has entries; an array of no axes has none."""
    return isinstance(x, Iterable) and getattr(x, "ndim", None) != 0  # type: ignore[reportUnknownArgumentType]


def wholes(x: Any, what: str, low: int | None = None, high: int | None = None) -> tuple[Any, ...]:
    """Whole numbers, given as one or as a sequence of them."""
    if not is_many(x):
        return whole(x, what, low, high),
    return tuple(whole(n, what, low, high) for n in sequence(x, what, "a whole number or a sequence of them"))


def shape(x: Any, what: str = "a shape") -> Shape:
    """A shape given as one size or as a sequence of sizes.

    >>> shape([2, 3]), shape(4)
    ((2, 3), (4,))
    """
    return wholes(x, f"every size of {what}", 0)


def each(x: Any, what: str, low: int = 0, axes: int = 2) -> tuple[Any, ...]:
    """A whole number for so many axes, or one for each."""
    found = wholes(x, what, low)
    if len(found) not in (1, axes):
        several = ("", " or two", " or three")[axes - 1]
        raise ShapeError(f"{what} must be one whole number{several}, got {len(found)}: {found}")
    return found * axes if len(found) == 1 else found


def pair(x: Any, what: str, low: int = 0) -> tuple[int, int]:
    """A whole number for both axes, or one for each."""
    first, second = each(x, what, low)
    return first, second


def number(x: Any, what: str, low: float | None = None, high: float | None = None, apart: float | None = None) -> Any:
    """A Python or NumPy number, from `low` to `high` where given, of which it may not be `apart`."""
    if isinstance(x, str | bytes | complex | type) or not (hasattr(x, "__float__") or hasattr(x, "__index__")) or \
            isinstance(x, Value) or getattr(x, "ndim", 0):
        refuse(what, "a number", x)
    x = number_of(x) if isinstance(x, Size) else x
    try:
        given: Any = x if isinstance(x, int | float) else x.item() if hasattr(x, "item") else float(x)
    except ValueError:      # a decimal number that signals
        refuse(what, "a number", x)
    n: Any = float(given) if isinstance(given, FLOATING) else given      # of more digits than Python has
    if not isinstance(n, int | float):                      # what dates and times are made of
        refuse(what, "a number", x)
    if isinstance(n, int) and n.bit_length() > 1023:
        refuse(what, "a number that a float64 holds", x)
    if (low is not None and not n >= low) or (high is not None and not n <= high):
        raise ShapeError(f"{what} must be " + (f"at least {low}" if high is None else f"from {low} to {high}")
                         + f", got {n}")
    if apart is not None and n == apart:
        raise ShapeError(f"{what} may not be {n}")
    return n


def instance(x: Any, what: str, of: type[T], hint: str | None = None) -> T:
    """x, which is an object of a class."""
    if not isinstance(x, of):
        refuse(what, f"{'an' if of.__name__[0] in 'AEIOU' else 'a'} {of.__name__}", x, hint)
    return x


def function(x: Any, what: str, given: Sequence[str] | None = None) -> Callable[..., Any]:
    """Something that can be called, with what it is `given` where its signature is known.

    >>> function(lambda i: i, "body_fun of fori_loop", ("i", "state"))
    Traceback (most recent call last):
    stele.errors.ArgumentError: body_fun of fori_loop is called with (i, state), and takes (i). Give it 2 parameters.
    """
    if not callable(x):
        refuse(what, "a function", x)
    if given is not None and (takes := parameters(x)) is not None:
        try:
            takes.bind(*given)
        except TypeError:
            raise ArgumentError(f"{what} is called with ({', '.join(given)}), and takes {takes}",
                                hint=f"Give it {len(given) or 'no'} parameter{'s' * (len(given) != 1)}.") from None
    return x


def parameters(f: Callable[..., Any]) -> Signature | None:
    """What a function takes, where Python knows it."""
    try:
        return signature(f)
    except (TypeError, ValueError):     # of functions in C that say nothing of it
        return None


def choice(x: Any, what: str, options: Collection[str], error: type[SteleError] = OptionError) -> str:
    """One of the names there are; the error says which one was probably meant.

    >>> choice("bf61", "precision", ("fast", "strict", "bf16"))
    Traceback (most recent call last):
    stele.errors.OptionError: precision must be 'fast', 'strict' or 'bf16', got 'bf61'. Did you mean 'bf16'?
    """
    if isinstance(x, str) and x in options:
        return x
    *most, last = map(repr, options)
    raise error(f"{what} must be {', '.join(most)}{' or ' if most else ''}{last}, got {reprlib.repr(x)}",
                hint=meant(x, options))


def meant(x: Any, options: Collection[str]) -> str | None:
    """A question for the nearest of the names there are.

    >>> meant("rgb", ("RGB", "L"))
    "Did you mean 'RGB'?"
    """
    near = nearest(x, options, 0.5) if isinstance(x, str) else None
    return f"Did you mean {near!r}?" if near else None


def amount(x: Any, what: str) -> int:
    """Bytes, 1 or more: a whole number of them, or a text with a unit.

    >>> amount("1.5GiB", "memory")
    1610612736
    """
    if not isinstance(x, str):
        if isinstance(x, bool | Size) or not hasattr(x, "__index__"):
            refuse(what, "bytes, such as '1.5GiB' or 500_000_000", x)
        x = str(operator.index(x))
    try:
        return config.amount(x)
    except ValueError:
        raise OptionError(f"{what} must be 1 byte or more, such as '1.5GiB', '500MB' or 500_000_000, got {x!r}",
                          hint="Units are B, KB, MB, GB, TB, and KiB, MiB, GiB, TiB, of 1024.") from None


def operand(x: Any, what: str) -> Value:
    """An array of the graph; a number is one of no axes."""
    if isinstance(x, Value):
        return x
    if not isinstance(x, bool | int | float | complex | np.generic | np.ndarray):
        refuse(what, "a tensor, an array or a number", x, advice(x))
    return literal(x)  # type: ignore[reportUnknownArgumentType]


def positions(x: Any, what: str) -> Value:
    """Positions on an axis: an array, a number, or a list of numbers."""
    if not is_series(x):
        return operand(x, what)
    return Constant(np.array(wholes(x, f"every index of {what}", -2**63, 2**63 - 1), np.int64))()


def operands(x: Any, what: str) -> tuple[Value, ...]:
    """A sequence of arrays."""
    if isinstance(x, Value):
        refuse(what, "a list of tensors", x, "Write [x, y, ...].")
    return tuple(operand(v, f"every part of {what}") for v in sequence(x, what, "a list of tensors"))


def numbers(x: Any, what: str, count: int) -> tuple[Any, ...]:
    """So many numbers as `count` says, as a sequence."""
    found = sequence(x, what, f"{count} numbers")
    if len(found) != count:
        raise ShapeError(f"{what} must be {count} numbers, got {len(found)}: {reprlib.repr(found)}")
    return tuple(number(n, f"every number of {what}") for n in found)


def axes(x: Any, what: str) -> Any:
    """An axis, or several."""
    found = wholes(x, what)
    return found if is_many(x) else found[0]


def widths(x: Any, what: str) -> tuple[tuple[Dim, Dim], ...]:
    """A pair (before, behind) for each axis, or one for all of them."""
    entry, form = f"a pair (before, behind) of {what}", "a list of pairs (before, behind), one for each axis"
    sides = sequence(x, what, form) if is_many(x) else [x]
    if len(sides) > 2 and not any(map(is_many, sides)):
        refuse(what, form, x, hint="(2, 1) is a pair for all axes, ((2, 2), (1, 1)) has one for each.")
    if len(sides) == 2 and not any(map(is_many, sides)):
        return pair(sides, entry),
    return tuple(pair(p, entry) for p in sides)


def padding(x: Any, what: str, axes: int = 2) -> Any:
    """A number, one per axis, (before, behind) of each, 'valid' or 'same'."""
    if isinstance(x, str):
        return choice(x, what, ("valid", "same"))
    sides = tuple(x) if is_many(x) else ()
    if not any(map(is_many, sides)):
        return each(x, what, axes=axes)
    if len(sides) != axes:
        form = ("((before, behind),)", "((top, bottom), (left, right))", "three pairs (before, behind)")[axes - 1]
        raise ShapeError(f"{what} must be {form}, got {reprlib.repr(sides)}")
    return tuple(pair(p, what) for p in sides)


def optional(form: Form) -> Form:
    """The form, or None."""
    return lambda x, what: None if x is None else form(x, what)


def untouched(x: Any, what: str) -> Any:
    """Whatever is given: the function itself looks at it."""
    return x


# How an argument is checked, by the annotation that its parameter has in the functions of this room.
FORMS: dict[str, Form] = {
    "Value":                            operand,
    "Value | None":                     optional(operand),
    "Sequence[Value]":                  operands,
    "Value | Sequence[Value]":          lambda x, what: (operands if is_series(x) else operand)(x, what),
    "int":                              whole,
    "int | None":                       optional(whole),
    "Dim":                              whole,
    "int | Sequence[int]":              axes,
    "int | Sequence[int] | None":       optional(axes),
    "Sequence[int]":                    wholes,
    "int | Sequence[int | Sequence[int]]": untouched,
    "Axes":                             optional(axes),
    "Shape":                            shape,
    "float":                            number,
    "float | None":                     optional(number),
    "complex":                          untouched,
    "bool":                             flag,
    "bool | None":                      optional(flag),
    "str":                              untouched,
    "str | None":                       untouched,
    "Reduction":                        partial(choice, options=("mean", "sum", "none")),
    "BatchReduction":                   partial(choice, options=("mean", "sum", "none", "batchmean")),
    "InterpolationMode":                partial(choice, options=("nearest", "nearest-exact", "linear", "bilinear",
                                                                 "bicubic", "trilinear", "area")),
    "float | str":                      untouched,
    "DType":                            lambda x, what: dtype(x),
    "DType | None":                     optional(lambda x, what: dtype(x)),
    "Any":                              untouched,
    "Operand":                          untouched,
    "Operand | None":                   untouched,
    "Numbers":                          untouched,
    "Numbers | None":                   untouched,
    "Positions":                        positions,
    "Sizes":                            untouched,
    "SizesOrDType":                     untouched,
    "Key":                              untouched,
    "Equation":                         untouched,
    "Terms":                            untouched,
    "Edges":                            untouched,
    "Bins":                             untouched,
    "Places":                           untouched,
    "int | Single":                     partial(each, axes=1),
    "int | Pair":                       pair,
    "int | Triple":                     partial(each, axes=3),
    "int | Pair | None":                optional(pair),
    "int | Single | Padding":           partial(padding, axes=1),
    "int | Pair | Padding":             padding,
    "int | Triple | Padding":           partial(padding, axes=3),
    "int | Single | Padding | str":     partial(padding, axes=1),
    "int | Pair | Padding | str":       padding,
    "int | Triple | Padding | str":     partial(padding, axes=3),
    "Sequence[tuple[Dim, Dim]]":        widths,
    "Mapping[str, Any]":                mapping,
}


@cache
def asked_of(f: Callable[..., Any]) -> dict[str, Any]:
    """The names of the parameters of a function with their annotations, which are text; "" where there is none."""
    return {name: "" if p.annotation is p.empty else p.annotation for name, p in signature(f).parameters.items()}


def checked(f: Callable[P, R], forms: Mapping[str, Form] = FORMS) -> Callable[P, R]:
    """A function that users call, whose arguments are checked by the annotations of its parameters.

    What none of the `forms` is for is left to the function itself; a constructor's are named by what is made.
    """
    @wraps(f)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            checks, what = asked_of(f), owner(f, args)
            given: Any = [forms.get(said, untouched)(x, f"{name} of {what}")
                          for (name, said), x in zip(checks.items(), args)]
            named: Any = {name: forms.get(checks.get(name, ""), untouched)(x, f"{name} of {what}")
                          for name, x in kwargs.items()}
            call: Any = f
            try:
                return call(*given, *args[len(given):], **named)
            except TypeError as error:
                refuse_form(error, f, args, kwargs)
                raise
        except Exception as error:
            leaving(error)
            raise

    return called
