"""Programs that look for NaN behind every call, and then run the graph op by op, to say where it arose."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, cast

import numpy as np

from stele.backend import reference
from stele.backend.base import Commit, Program, committed, itself
from stele.backend.buffers import Buffer
from stele.errors import NotANumber
from stele.ir.graph import Graph, Parameter, Value, walk
from stele.ir.origin import Where, lines
from stele.ir.report import Report
from stele.kernel.memory import Peak
from stele.ops.branch import Cond
from stele.ops.checkpoint import Checkpoint
from stele.ops.control import Scan
from stele.ops.derived import Derived
from stele.ops.repeat import While
from stele.transform.retype import bind

Test = Callable[[Any], bool]


class Watched:
    """A program whose results are looked at before anything is rebound to them: parameters stay as they were."""

    def __init__(self, program: Program, graph: Graph) -> None:
        self.program, self.graph, self.calls = program, graph, 0

    def run(self, buffers: Sequence[Buffer], sizes: Mapping[str, int], keep: frozenset[int] = frozenset(),
            commit: Commit = itself) -> Any:
        """As every program; raises NotANumber where a result holds NaN."""
        self.calls += 1
        made: list[Buffer] = self.program.run(buffers, sizes, frozenset(range(len(buffers))))
        if any(has_nan(b.array) for b in made):
            raise self.error([b.array for b in buffers], sizes)
        return committed(commit, made)

    @property
    def peak_bytes(self) -> int | Peak:
        """Of the program that is watched, which overwrites nothing then."""
        return self.program.peak_bytes

    def report(self) -> Report:
        return self.program.report()

    def error(self, arrays: Sequence[Any], sizes: Mapping[str, int]) -> NotANumber:
        """What is said of NaN in the results for these arrays."""
        when = f"in call {self.calls} of this program"
        found = source(bind(self.graph, sizes) if sizes else self.graph, arrays, has_nan)
        if found is None:
            return NotANumber(f"a result holds NaN {when}, though no op alone makes one of these inputs",
                              hint="Look whether precision='strict' is without it.")
        v = found.value
        if isinstance(v.op, Parameter):
            return NotANumber(f"the input {v.op.label!r}, {v.type}, held NaN already {when}",
                              hint="Look at the data, and at what computed it.")
        said = " and ".join(map(extent, found.operands)) or "nothing"
        step = f", in step {found.step} of its loop" * (found.step is not None)
        own, asked = apart(v.where)
        gradient = f" in the gradient of {own}" if asked and own else " in the gradient" * bool(asked)
        text = f"{v.op.name}{gradient} made NaN of {said}{step}, {when}"
        return NotANumber(text, where=asked or own, hint=found.reason)


def apart(where: Where) -> tuple[str, str]:
    """The lines of a value, and for one of a gradient, apart from those it is the gradient of, who asked for it."""
    return ", ".join(lines(o for o in where if not o.gradient)), ", ".join(lines(o for o in where if o.gradient))


class Found(NamedTuple):
    """The value that first holds what is looked for, its operands, the step of the loop that it is in, in a
    gradient the one it is the gradient of, and why."""

    value: Value
    operands: Sequence[Any]
    step: int | None = None
    reason: str | None = None


def source(graph: Graph, arrays: Sequence[Any], test: Test) -> Found | None:
    """The value behind a result for which the test holds, of whose operands it holds for none."""
    meaning: dict[Value, Any] = dict(zip(graph.parameters, arrays))
    with np.errstate(all="ignore"):
        for v in walk(graph.results, stop=meaning.__contains__):
            if v not in meaning:
                meaning[v] = reference.apply(v, [meaning[a] for a in v.args])
        return behind(graph.results, meaning, test)


def behind(results: Iterable[Value], meaning: Mapping[Value, Any], test: Test) -> Found | None:
    """The same, where the numbers of all values are known."""
    v = next((v for v in results if test(meaning[v])), None)
    if v is None:
        return None
    while (before := next((a for a in v.args if test(meaning[a])), None)) is not None:
        v = before
    operands = [meaning[a] for a in v.args]
    if isinstance(v.op, Checkpoint | Derived):
        return source(v.op.body, operands, test) or Found(v, operands)
    if isinstance(v.op, Cond):
        return source(v.op.taken(operands[0]), operands[1:], test) or Found(v, operands)
    if isinstance(v.op, Scan | While):
        found = within(v.op, operands, test) if isinstance(v.op, Scan) else repeated(v.op, operands, test)
        return found or Found(v, operands)
    reason = None
    if test is has_nan and (origin := behind(v.args, meaning, has_inf)) is not None:
        op, (own, asked) = origin.value.op, apart(origin.value.where)
        place = f"in the gradient of {own}" if asked and own else f"at {own or asked}"
        made = f"held by the input {op.label!r}" if isinstance(op, Parameter) else f"made by {op.name} {place}"
        reason = f"The first inf among what it was made of was {made}."
    return Found(v, operands, None, reason)


def within(loop: Scan, operands: Sequence[Any], test: Test) -> Found | None:
    """The same for the body of a loop, at the first step of which it holds."""
    carries, xs, constants = loop.split(operands)
    steps = range(len(xs[0]) if xs else int(loop.length))
    for k in reversed(steps) if loop.reverse else steps:
        given = [*carries, *(x[k] for x in xs), *constants]
        if (found := source(loop.body, given, test)) is not None:
            return found._replace(step=k + 1)
        carries = reference.run(loop.body, given)[:loop.carries]
    return None


def repeated(loop: While, operands: Sequence[Any], test: Test) -> Found | None:
    """The same for a loop that runs as long as a test holds."""
    carries, constants = loop.split(operands)
    for n in count(1):
        given = [*carries, *constants]
        if not reference.run(loop.test, given)[0]:
            return None
        if (found := source(loop.body, given, test)) is not None:
            return found._replace(step=n)
        carries = tuple(reference.run(loop.body, given))
    return None


def has_nan(x: Any) -> bool:
    """Whether an array, or one of a tuple, holds NaN."""
    if isinstance(x, tuple):
        return any(map(has_nan, cast(Sequence[Any], x)))
    return x.dtype.kind in "fcV" and bool(np.isnan(x).any())


def has_inf(x: Any) -> bool:
    """Whether an array, or one of a tuple, holds an infinity."""
    if isinstance(x, tuple):
        return any(map(has_inf, cast(Sequence[Any], x)))
    return x.dtype.kind in "fcV" and bool(np.isinf(x).any())


def extent(x: Any) -> str:
    """The type of an array, and from where to where its numbers go."""
    if isinstance(x, tuple):
        return "arrays"
    ends = f" in {x.min()} .. {x.max()}" if x.size > 1 else f" {x.item()}" * x.size
    return f"{x.dtype.name}[{','.join(map(str, x.shape))}]{ends}"
