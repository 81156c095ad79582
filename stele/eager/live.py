"""Values that users hold: expressions, and beside them what is known of them."""
from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeGuard

from stele.errors import ArgumentError, kind
from stele.ir.graph import Op, Parameter, Value
from stele.ir.origin import Where, here
from stele.ir.types import HOME, Type, dtype
from stele.ops.elementwise.unary import StopGradient

CUT = StopGradient()


class Live(Value):
    """A value that a tensor may stand for: `data` are the numbers it got, `owner` is a weak reference to who named it,
    `call` says of what it is the result.

    What ops make of live values is live. One with numbers may `forget` of what they were made, and be a leaf from then
    on: so graphs hold values of their own, which `closed` makes of live ones.
    """

    __slots__ = ("call", "data", "owner")
    __setattr__ = object.__setattr__    # type: ignore[assignment]

    data: Any
    owner: Any
    call: Any

    def __init__(self, op: Op, args: tuple[Value, ...], type: Type, where: Where, data: Any = None) -> None:
        self.op, self.args, self.type, self.where = op, args, type, where
        self.data, self.owner, self.call = data, None, None


Live.kind = Live


def alive(v: Value) -> Live:
    """A value as one that a tensor may stand for."""
    if isinstance(v, Live):
        return v
    if not isinstance(v, Value):    # type: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"a Tensor is made of a value of the graph, got {kind(v)}", hint="Write st.tensor(data).")
    return Live(v.op, v.args, v.type, v.where)


def cut(x: Value) -> Live:
    """x as a value of its own, through which no gradient passes; numbers that the host has are shared."""
    if is_there(x) and x.type.device == HOME:
        return result(Parameter("value", x.type), x.where, x.data.seen(x.type.dtype, x.type.shape))
    return Live(CUT, (x,), x.type, x.where)


def symbol(label: str, type: Type) -> Live:
    """An input whose numbers come with a call."""
    return Live(Parameter(label, type), (), type, here())


def leaf(type: Type, data: Any, label: str = "value") -> Live:
    """A value that is nothing but its numbers."""
    return result(Parameter(label, type), here(), data)


@lru_cache(maxsize=1 << 12)
def held_as(kind: str, shape: tuple[int, ...]) -> Parameter:
    """What a value of the host is that is nothing but its numbers, by the name of its dtype."""
    return Parameter("value", Type(dtype(kind), shape))


def result(op: Parameter, where: Where, data: Any) -> Live:
    """A value that is nothing but the numbers a program made."""
    return Live(op, (), op.of, where, data)


def is_there(v: Value) -> TypeGuard[Live]:
    """Whether a value has its numbers."""
    return isinstance(v, Live) and v.data is not None


def is_pending(v: Value) -> TypeGuard[Live]:
    """Whether a value is to get numbers, and has none yet."""
    return isinstance(v, Live) and v.data is None


def is_symbolic(v: Value) -> bool:
    """Whether a value is an input without numbers: an argument of a trace, or a placeholder."""
    return isinstance(v.op, Parameter) and not is_there(v)


def is_open(v: Value) -> bool:
    """Whether the type of a value has a size that is known when a program runs."""
    return any(not isinstance(n, int) for n in getattr(v.type, "shape", ()))


def forget(v: Live, op: Op) -> None:
    """Drops the history of a value that has its numbers: it is a parameter from now on."""
    v.op, v.args, v.call = op, (), None
