"""What rewritten expressions ask: Python's operators and functions for Python's values, the graph's for tensors."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

from stele.arrays.functions import logical_and, logical_not, logical_or, maximum, minimum
from stele.arrays.looking import is_traced
from stele.arrays.tensor import Tensor, constant
from stele.eager.handle import TRACING
from stele.errors import DTypeError
from stele.ir.origin import here, lines

Function = Callable[..., Any]
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "is": operator.is_, "is not": operator.is_not, "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}


def is_staged(x: Any) -> bool:
    """Whether x is a tensor of a function being traced, whose numbers are not known."""
    return isinstance(x, Tensor) and TRACING.get() is not None and is_traced(x.value)


def truth(x: Any) -> Tensor:
    """A condition of the graph: one bool."""
    x = constant(x)
    x = x.reshape(()) if x.ndim and x.size == 1 else x
    return x if x.dtype == "bool" else x != 0


def and_(*parts: Callable[[], Any]) -> Any:
    """`x and y`, of which the graph computes both."""
    return combined(parts, logical_and, lambda x: not x)


def or_(*parts: Callable[[], Any]) -> Any:
    """`x or y`, of which the graph computes both."""
    return combined(parts, logical_or, bool)


def combined(parts: Sequence[Callable[[], Any]], both: Callable[[Any, Any], Any], ends: Callable[[Any], bool]) -> Any:
    """The parts in order, up to one that `ends` it; from the first on that is staged all of them."""
    first, *others = parts
    x = first()
    for part in others:
        if is_staged(x):
            x = both(truth(x), truth(part()))
        elif ends(x):
            return x
        else:
            x = part()
    return x


def not_(x: Any) -> Any:
    """`not x`."""
    return logical_not(truth(x)) if is_staged(x) else not x


def compare(x: Any, signs: Sequence[str], *others: Callable[[], Any]) -> Any:
    """`x < y < z`, each computed once."""
    left = [x]

    def link(sign: str, other: Callable[[], Any]) -> bool:
        left.append(other())
        return SIGNS[sign](*left[-2:])

    return and_(*(partial(link, sign, other) for sign, other in zip(signs, others)))


# Python's functions


class Counted(NamedTuple):
    """A range whose bounds are tensors: whole numbers, known when the program runs."""

    start: Any
    stop: Any
    step: Any


def ranged(*args: Any) -> Any:
    """`range(stop)`, `range(start, stop)` or `range(start, stop, step)`."""
    if not any(map(is_staged, args)):
        return range(*args)
    for x in args:
        if isinstance(x, Tensor) and (x.ndim or x.dtype.kind not in "iu"):
            raise DTypeError(f"range takes whole numbers, got a tensor of {x.value.type}",
                             where=", ".join(lines(here())),
                             hint="Write x.astype('int64'), or x.shape[0] for a length.")
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    return Counted(start, stop, step)


def extreme(function: Function, both: Function) -> Function:
    """`max` or `min`, of numbers that are tensors too, or of the elements of one."""
    def found(*args: Any, **options: Any) -> Any:
        if options or not args or (len(args) == 1 and isinstance(args[0], Tensor) and args[0].ndim != 1):
            return function(*args, **options)
        items = list(args if args[1:] else args[0])
        if any(map(is_staged, items)) and all(not constant(item).ndim for item in items):
            return reduce(both, items)
        return function(items)

    return found


def quantified(function: Function, both: Function) -> Function:
    """`all` or `any`, of conditions that are tensors too."""
    def found(items: Iterable[Any]) -> Any:
        given = list(items)
        return reduce(both, map(truth, given)) if any(map(is_staged, given)) else function(given)

    return found


def number(function: Function, to: Callable[[Tensor], Tensor]) -> Function:
    """`int`, `float` or `bool`, of one number that is a tensor too, which stays one."""
    def found(*args: Any, **options: Any) -> Any:
        x: Any = args[0] if len(args) == 1 and not options else None
        return to(x.reshape(())) if is_staged(x) and x.size == 1 else function(*args, **options)

    return found


BUILTINS: dict[str, tuple[Function, Function]] = {
    "range": (range, ranged), "max": (max, extreme(max, maximum)), "min": (min, extreme(min, minimum)),
    "all": (all, quantified(all, logical_and)), "any": (any, quantified(any, logical_or)),
    "int": (int, number(int, lambda x: x.astype("int64"))), "bool": (bool, number(bool, truth)),
    "float": (float, number(float, lambda x: x if x.dtype.kind == "f" else x.astype("float32"))),
}


def builtin(name: str, function: Any) -> Any:
    """What Python calls so, which takes tensors too; any other function of that name as it is."""
    own, ours = BUILTINS[name]
    return ours if function is own else function
