"""What a function of values made of operands of some types, made again of others without asking its rules."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Sequence
from sys import intern
from types import EllipsisType, NoneType
from typing import Any

from stele.eager.live import Live, is_there
from stele.eager.replay import interned
from stele.ir.graph import Literal, Op, Parameter, Value, walk
from stele.ir.origin import Where
from stele.ir.types import DType, TupleType, Type

MOST = 1 << 10      # templates kept of one function
PLAIN = frozenset((int, bool, str, NoneType, EllipsisType, DType))

Step = tuple[Op, tuple[int, ...], Type]
Call = tuple["Template", list[Value], list[list[Value]]]


class Recorded(Live):
    """The result of a call, whose op and args are written out when somebody asks: a class of its own, as a class with
    `__getattr__` is slow to ask for what is there.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name not in ("op", "args") or (call := self.call) is None:   # None: another thread has just set them
            return object.__getattribute__(self, name)
        return call[0].part(name, call, self.where)


class Template:
    """The values made, operands before users, each with the places of its operands; and the places of the results.

    Sound, as functions of values look at types and at what is no value only, never at where a value comes from. Where
    there is one result, made last of all operands, `form` is the text of its steps without numbers: `literals`; such a
    result is a call of its template: `(template, operands, written)`, see `hidden`. Compared by identity: of one
    function, one kind of arguments, one dtype and shape of each operand.
    """

    __slots__ = ("carries", "form", "literals", "results", "steps", "type")

    def __init__(self, steps: tuple[Step, ...], results: int | tuple[int, ...], carries: bool, form: str = "",
                 literals: tuple[Any, ...] = ()) -> None:
        self.steps, self.results, self.form, self.literals = steps, results, intern(form), literals
        self.type: Any = steps[-1][2] if steps else None
        self.carries = carries      # whether the results that can do carry gradients

    def fill(self, operands: list[Value], where: Where) -> Value | tuple[Value, ...]:
        """The results for other operands of the same types, as made at `where`."""
        values, results = [*operands, *self.made(self.steps, operands, where)], self.results
        return values[results] if isinstance(results, int) else alike(results, [values[k] for k in results])

    def made(self, steps: tuple[Step, ...], operands: list[Value], where: Where) -> list[Value]:
        """The values of some steps."""
        values = operands.copy()
        for op, places, type in steps:
            values.append(Live(op, tuple([values[k] for k in places]), type, where))
        return values[len(operands):]

    def hidden(self, call: Call, where: Where) -> list[Value]:
        """The values on the way to the result of a call, written out when somebody first asks."""
        _, operands, written = call
        if not written:
            written.append(self.made(self.steps[:-1], operands, where))     # two threads at once: the first one counts
        return written[0]

    def part(self, name: str, call: Call, where: Where) -> Any:
        """The op or the args of the result of a call."""
        if name == "op":
            return self.steps[-1][0]
        values = call[1] + self.hidden(call, where)
        return tuple([values[k] for k in self.steps[-1][1]])


def alike(results: Any, parts: Sequence[Any]) -> tuple[Any, ...]:
    """Parts as a tuple, of the class that results have if that is a named one.

    >>> alike([1, 2], "ab")
    ('a', 'b')
    """
    return tuple(parts) if type(results) in (tuple, list) else type(results)(*parts)


def template(operands: Sequence[Value], y: Any, carries: bool) -> Template | None:
    """The template of a result, a value or several; None where it depends on more than the operands' types."""
    results = (y,) if isinstance(y, Value) else y
    if not isinstance(results, tuple | list) or not all(isinstance(v, Value) for v in results):
        return None
    place = {v: k for k, v in enumerate(operands)}
    steps: list[Step] = []
    for v in walk(results, stop=place.__contains__):
        if v not in place:
            if is_there(v) or isinstance(v.op, Parameter):
                return None
            place[v] = len(place)
            steps.append((v.op if isinstance(v.op, Literal) else interned(v.op), tuple([place[a] for a in v.args]),
                          v.type))
    if not all(map(is_closed, [v.type for v in place])):
        return None
    found = place[y] if isinstance(y, Value) else alike(results, [place[v] for v in results])
    used = {k for _, places, _ in steps for k in places}
    if not isinstance(y, Value) or not steps or not used.issuperset(range(len(operands))):
        return Template(tuple(steps), found, carries)
    literals = tuple([op.token for op, _, _ in steps if isinstance(op, Literal)])
    text = "; ".join(f"{f'{op.dtype} number' if isinstance(op, Literal) else repr(op)} {places}"
                     for op, places, _ in steps)
    return Template(tuple(steps), found, carries and y.dtype.is_float, text, literals)


def is_closed(type: Type | TupleType) -> bool:
    """Whether all sizes are numbers: what is assumed of open ones has to be noted each time."""
    if isinstance(type, TupleType):
        return all(map(is_closed, type.items))
    return all(isinstance(n, int) for n in type.shape)


def token_of(a: Any) -> tuple[Any, ...] | None:
    """What of an argument that is no value a result depends on, equal only where that is; None for other kinds."""
    kind = type(a)
    if kind in PLAIN:
        return kind, a
    if kind is float:
        return kind, a or str(a)
    if kind is complex:
        return kind, str(a)
    if isinstance(a, int):
        return int, int(a)
    if kind is slice:
        parts = token_of(a.start), token_of(a.stop), token_of(a.step)
        return None if None in parts else (kind, *parts)
    return None
