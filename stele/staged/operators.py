"""What rewritten code asks: Python's control for Python's values, the graph's for tensors that have no numbers yet."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial
from typing import Any

from stele.arrays.tensor import Tensor
from stele.eager.handle import TRACING
from stele.eager.live import symbol
from stele.errors import TraceError
from stele.higher.body import Body, shown
from stele.higher.control import cond, fori_loop, while_loop
from stele.higher.scan import scan
from stele.ir.origin import here, lines
from stele.ir.types import Type, int64
from stele.staged.expressions import Counted, and_, builtin, compare, is_staged, not_, or_, truth
from stele.staged.variables import UNSET, Behind, Scope, Unset, Variable, behind, held, joined

__all__ = ("UNSET", "Scope", "Unset", "and_", "builtin", "choose", "compare", "for_", "held", "if_", "not_", "or_",
           "returned", "while_")

Statement = Callable[..., None]
Flag = Callable[[], Any]
ONE_SIDE = "only one side sets of the choice in"
PERHAPS = "only steps set of the loop, of which there may be none, in"
CONTAINERS = (list, dict, set, deque)


def choose(test: Any, one: Callable[[], Any], other: Callable[[], Any], line: int) -> Any:
    """`one if test else other`, of which the graph computes the one that is taken."""
    if not is_staged(test):
        return one() if test else other()
    (made,) = branched(test, (lambda: [one()], lambda: [other()]), ("the choice",), line)
    return made


# Branches


def if_(test: Any, one: Statement, other: Statement, scope: Scope) -> None:
    """`if test: one else: other`."""
    if not is_staged(test):
        return one() if test else other()
    before = scope.get()
    sides = [partial(after, scope, before, side) for side in (one, other)]
    return scope.put(branched(test, sides, scope.names, scope.line))


def branched(test: Any, sides: Sequence[Callable[[], list[Any]]], names: Sequence[str], line: int) -> list[Any]:
    """The variables behind the side that is taken, where both stand in the graph."""
    ways = [tried(side) for side in sides]
    variables = [joined(name, [way[k] for way in ways], ONE_SIDE, line) for k, name in enumerate(names)]
    one, other = (partial(lambda side: handed(variables, side()), side) for side in sides)
    return taken(variables, cond(truth(test), one, other))


def tried(f: Callable[[], list[Any]]) -> list[Behind]:
    """What variables are where f leaves them, without a trace of it."""
    return Body("a trial", TRACING.get(), ()).run((), lambda: [behind(x) for x in f()])


def handed(variables: Sequence[Variable], values: Sequence[Any]) -> tuple[Tensor, ...]:
    """The tensors by which the graph hands variables through."""
    return tuple(t for variable, x in zip(variables, values) for t in variable.given(x))


def taken(variables: Sequence[Variable], values: Iterable[Tensor]) -> list[Any]:
    """The variables of tensors that were handed through."""
    rest = iter(values)
    return [variable.made(rest) for variable in variables]


def after(scope: Scope, before: Sequence[Any], run: Callable[[], None]) -> list[Any]:
    """The variables behind a statement, which are `before` before it. Raises TraceError where it changes a container:
    Python runs it once, whichever way the numbers go.
    """
    scope.put(before)
    kept = [(x, copy(x)) for x in scope.changed() if isinstance(x, CONTAINERS)]
    run()
    for x, was in kept:
        if len(x) != len(was) or any(a is not b for a, b in zip(entries(x), entries(was))):
            raise TraceError(f"{shown(x)} is changed in place in line {scope.line}, by what stands in the graph and "
                             "runs as often as numbers of tensors say", where=", ".join(lines(here())),
                             hint="Bind a new object to the name, or collect results with st.scan or st.map.")
    return scope.get()


def entries(x: Any) -> list[Any]:
    """What a container holds, and under which keys."""
    return [*x, *x.values()] if isinstance(x, dict) else list(x)


# Loops


def while_(test: Callable[[], Any], body: Statement, stops: Flag | None, scope: Scope) -> None:
    """`while test: body`, until `stops` says that it was left."""
    goes_on = test if stops is None else partial(and_, lambda: not_(stops()), test)

    while True:
        on = goes_on()
        if is_staged(on):
            return looped(scope, on, goes_on, body)
        if not on:
            return None
        body()


def for_(items: Any, body: Statement, stops: Flag | None, scope: Scope) -> None:
    """`for x in items: body(x)`, until `stops` says that it was left."""
    if isinstance(items, Counted):
        return counting(items, body, stops, scope)
    if is_staged(items):
        return walking(items, body, stops, scope)
    for item in items:
        stop = stops is not None and stops()
        if is_staged(stop):
            if isinstance(items, range):
                return counting(Counted(item, items.stop, items.step), body, stops, scope)
            if_(stop, nothing, partial(body, item), scope)
        elif stop:
            return None
        else:
            body(item)
    return None


def nothing() -> None:
    """What an if without an else does."""


def counting(items: Counted, body: Statement, stops: Flag | None, scope: Scope) -> None:
    """A loop over whole numbers."""
    start, stop, step = items
    count = -((start - stop) // step)

    def item(k: Any) -> Any:
        return start + k * step

    stepped(scope, count, lambda k: body(item(k)), stops)


def walking(items: Tensor, body: Statement, stops: Flag | None, scope: Scope) -> None:
    """A loop over the first axis of a tensor."""
    if stops is not None:
        return stepped(scope, items.shape[0], lambda k: body(items[k]), stops)
    t = items.value.type
    before, variables = settled(scope, body, t.with_shape(t.shape[1:]))

    def step(state: Any, x: Tensor) -> Any:
        return handed(variables, after(scope, taken(variables, state), partial(body, x))), None

    last, _ = scan(step, handed(variables, before), items)
    return scope.put(taken(variables, last))


def stepped(scope: Scope, count: Any, body: Statement, stops: Flag | None) -> None:
    """`count` steps, each of which is given its number, until `stops`."""
    if stops is None:
        before, variables = settled(scope, body, Type(int64))

        def step(k: Tensor, state: Any) -> tuple[Tensor, ...]:
            return handed(variables, after(scope, taken(variables, state), partial(body, k)))

        return scope.put(taken(variables, fori_loop(0, count, step, handed(variables, before))))
    number = Number()

    goes_on = partial(and_, lambda: number.k < count, lambda: not_(stops()))
    return looped(number.beside(scope), goes_on(), goes_on, lambda: number.count(body))


class Number:
    """The number of a step, as one more variable of a loop."""

    def __init__(self) -> None:
        self.k: Any = 0

    def count(self, body: Statement) -> None:
        """One step."""
        body(self.k)
        self.k = self.k + 1

    def beside(self, scope: Scope) -> Scope:
        """The variables of a loop, and this one."""
        def put(new: Sequence[Any]) -> None:
            self.k, *others = new
            scope.put(others)

        return scope._replace(get=lambda: [self.k, *scope.get()], put=put, names=("the step", *scope.names))


def looped(scope: Scope, on: Any, goes_on: Flag, body: Statement) -> None:
    """Steps as long as there is to be one more: `on` says it before the first, `goes_on` behind each."""
    flags = [on]

    def run() -> None:
        body()
        flags[0] = truth(goes_on())

    before, variables = settled(scope, run)

    def step(state: Any) -> tuple[Any, tuple[Tensor, ...]]:
        values = handed(variables, after(scope, taken(variables, state[1]), run))
        return flags[0], values

    _, last = while_loop(lambda state: state[0], step, (truth(on), handed(variables, before)))
    scope.put(taken(variables, last))


def settled(scope: Scope, body: Statement, *items: Type) -> tuple[list[Any], list[Variable]]:
    """The variables before a loop, and as what it carries them on: steps are tried until no more of them changes."""
    before = scope.get()
    first = [behind(x) for x in before]
    variables: list[Variable] | None = None
    while True:
        def trial(known: list[Variable] | None = variables) -> list[Any]:
            given = (Tensor(symbol("state", t)) for v in known or () for t in v.types)
            start = before if known is None else taken(known, given)
            return after(scope, start, partial(body, *(Tensor(symbol("x", t)) for t in items)))

        last = tried(trial)
        found = [joined(name, (one, other), PERHAPS, scope.line) for name, one, other in zip(scope.names, first, last)]
        scope.put(before)
        if variables is not None and all(map(Variable.is_like, found, variables)):
            return before, found
        variables = found


def returned(early: Any, result: Callable[[], Any]) -> Any:
    """What a function returns whose end is reached: `result` where it returned before. Raises TraceError where only
    numbers of tensors say so.
    """
    if is_staged(early) and held(result) is not None:
        raise TraceError("the function returns a tensor on some ways through it and nothing on others, by what numbers "
                         "of tensors say", where=", ".join(lines(here())), hint="Return a tensor at its end too.")
    return held(result) if is_staged(early) or early else None
