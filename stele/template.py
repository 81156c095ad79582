"""What a function of values made of operands of some types, made again of others without asking its rules."""
from __future__ import annotations

from collections.abc import Sequence
from sys import intern
from types import EllipsisType, NoneType
from typing import Any, NamedTuple

from stele.ir.graph import Literal, Op, Parameter, Value, walk
from stele.ir.origin import Where
from stele.ir.types import DType, TupleType, Type
from stele.replay import interned

MOST = 1 << 10      # templates kept of one function
PLAIN = frozenset((int, bool, str, NoneType, EllipsisType, DType))

Step = tuple[Op, tuple[int, ...], Type]


class Template(NamedTuple):
    """The values made, operands before users, each with the places of its operands; and the places of the results.

    Sound, as functions of values look at types and at what is no value only, never at where a value comes from. Where
    there is one result, made last of all operands, `form` is the text of its steps without numbers: `literals`.
    """

    steps: tuple[Step, ...]
    results: int | tuple[int, ...]
    form: str
    literals: tuple[Any, ...]

    def fill(self, operands: list[Value], where: Where) -> Value | tuple[Value, ...]:
        """The results for other operands of the same types, as made at `where`."""
        values, results = operands.copy(), self.results
        for op, places, type in self.steps:
            values.append(Value(op, tuple([values[k] for k in places]), type, where))
        if not isinstance(results, int):
            return tuple([values[k] for k in results])
        if self.form:
            values[-1].call = Call(self, operands, values[len(operands):-1])
        return values[results]


class Call(NamedTuple):
    """What a value is the result of: a template filled with operands, and the values on the way."""

    template: Template
    operands: list[Value]
    hidden: list[Value]

    def is_untouched(self) -> bool:
        """Whether no value on the way has numbers or a name."""
        for v in self.hidden:   # noqa: SIM110 (a generator takes twice the time)
            if v.data is not None or v.owner is not None:
                return False
        return True


def template(operands: Sequence[Value], y: Any) -> Template | None:
    """The template of a result, a value or several; None where it depends on more than the operands' types."""
    results = (y,) if isinstance(y, Value) else y
    if not isinstance(results, tuple | list) or not all(isinstance(v, Value) for v in results):
        return None
    place = {v: k for k, v in enumerate(operands)}
    steps: list[Step] = []
    for v in walk(results, stop=place.__contains__):
        if v not in place:
            if v.data is not None or isinstance(v.op, Parameter):
                return None
            place[v] = len(place)
            steps.append((v.op if isinstance(v.op, Literal) else interned(v.op), tuple([place[a] for a in v.args]),
                          v.type))
    if not all(map(is_closed, [v.type for v in place])):
        return None
    found = tuple([place[v] for v in results])
    if not isinstance(y, Value):
        return Template(tuple(steps), found, "", ())
    literals = tuple([op.value or str(op.value) for op, _, _ in steps if isinstance(op, Literal)])
    used = {k for _, places, _ in steps for k in places}
    text = "; ".join(f"{f'{op.dtype} number' if isinstance(op, Literal) else repr(op)} {places}"
                     for op, places, _ in steps) if steps and used.issuperset(range(len(operands))) else ""
    return Template(tuple(steps), found[0], intern(text), literals)


def is_closed(type: Type | TupleType) -> bool:
    """Whether all sizes are numbers: what is assumed of open ones has to be noted each time."""
    if isinstance(type, TupleType):
        return all(map(is_closed, type.items))
    return all(isinstance(n, int) for n in type.shape)


class Unseen(Exception):
    """An argument of a kind that no template is kept for."""


def token_of(a: Any) -> Any:
    """What of an argument that is no value a result depends on, equal only where that is. Raises Unseen."""
    kind = type(a)
    if kind in PLAIN:
        return kind, a
    if kind is float:
        return kind, a or str(a)
    if kind is tuple or kind is list:
        return kind, *map(token_of, a)
    if kind is slice:
        return kind, token_of(a.start), token_of(a.stop), token_of(a.step)
    raise Unseen
