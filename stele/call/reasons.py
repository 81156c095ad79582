"""Why a compiled function was traced: one sentence for each time, with the user's lines that are why."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import dis
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import CodeType
from typing import Any, NamedTuple

from stele.call.plan import Plan
from stele.ir.origin import Origin, lines
from stele.ir.types import Guard
from stele.tracing.signature import Shapes, match, shape_of
from stele.tracing.state import SCALARS

ANOTHER = "is another object now"
ARRAY = "had {} axes", "was {}", "was on {}", "had requires_grad={}"     # what `signature.kind` says of a tensor


class Compile(NamedTuple):
    """Why a program was made, and the user's lines that are why; the `seconds` it took to trace and to compile it."""

    reason: str
    lines: tuple[str, ...]
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.reason}, at {', '.join(self.lines)} ({self.seconds:.2f} s)"


class Compiles(int):
    """How many programs a function has; going through it gives each as a `Compile`, and `print` shows them all.

    >>> print(Compiles([Compile("the first call", ("train.py:12",), 0.25)]))
    1 program
      1. the first call, at train.py:12 (0.25 s)
    """

    each: tuple[Compile, ...]

    def __new__(cls, each: Iterable[Compile]) -> Compiles:
        found = tuple(each)
        made = super().__new__(cls, len(found))
        made.each = found
        return made

    def __iter__(self) -> Iterator[Compile]:
        return iter(self.each)

    def __getitem__(self, k: int) -> Compile:
        return self.each[k]

    def __len__(self) -> int:
        return len(self.each)

    def __str__(self) -> str:
        head = f"{int(self)} program{'s' * (self != 1)}"
        return "\n".join([head, *(f"  {k}. {compile}" for k, compile in enumerate(self, 1))])


class Variant(NamedTuple):
    """A plan, and the shapes of its array leaves with the sizes that stay open."""

    plan: Plan
    shapes: Shapes


class Traces(NamedTuple):
    """How often calls of one pattern were traced, and the latest plan, while its program is kept, with what it was
    given, by name."""

    count: int
    plan: Plan | None
    given: Mapping[str, str]


class Asked(NamedTuple):
    """A call that no plan fits: where it is, its pattern, and its array shapes and arguments by name."""

    where: tuple[str, ...]
    pattern: tuple[Any, ...]
    shapes: Shapes
    given: Mapping[str, str]


def shown(x: Any) -> str:
    """What of an argument the choice of a plan depends on, in words."""
    shape = shape_of(x)
    return repr(x) if isinstance(x, SCALARS) else f"<{type(x).__name__} {id(x):#x}>" if shape is None else f"{shape}"


def why(asked: Asked, history: Mapping[Any, Traces], variants: Sequence[Variant], function: Callable[..., Any]
        ) -> Compile:
    """Why a call is traced, where `variants` are the plans of calls that differ in numbers and sizes at most."""
    if not history:
        return Compile("the first call", asked.where)
    if (before := history.get(asked.pattern)) is None:
        changes = [[*different(pattern, asked)] for pattern in reversed(history)]
        return Compile(min(changes, key=len)[0], asked.where)
    fitting = [(variant.plan, sizes) for variant in reversed(variants)
               if (sizes := match(variant.shapes, asked.shapes)) is not None]
    for plan, sizes in fitting:
        if failed(plan, sizes) is None and (found := next(plan.broken(), None)) is not None:
            return changed(found, function, asked)
    for plan, sizes in fitting:
        if (guard := failed(plan, sizes)) is not None:
            given = ", ".join(f"{name} = {n}" for name, n in sizes.items())
            return Compile(f"{guard} does not hold for {given}", lines(guard.where) or asked.where)
    arguments = (f"{name} was {before.given[name]}, now {x}" if x[:1] != "<" else f"{name} {ANOTHER}, {x}"
                 for name, x in asked.given.items() if before.given.get(name, x) != x)
    if (found := next(arguments, None)) is not None:
        return Compile(found, asked.where)
    broken = () if before.plan is None else before.plan.broken()
    found = next(chain(broken, ["an object was replaced, or its program was called too long ago"]))
    return changed(found, function, asked)


def failed(plan: Plan, sizes: Mapping[str, int]) -> Guard | None:
    """The first guard of a plan that does not hold at these sizes."""
    return next((guard for guard in plan.traced.graph.guards if not guard.holds(dict(sizes))), None)


def changed(found: str, function: Callable[..., Any], asked: Asked) -> Compile:
    """What `Plan.broken` says, with the line of the function that names what has changed."""
    name = found.split(" was ")[0].split(" is ")[0].split(" had ")[0].rpartition(".")[2].partition("[")[0]
    code = getattr(function, "__code__", None)
    named = None if code is None else naming(code, name)
    return Compile(found, asked.where if named is None else lines((named,)))


def naming(code: CodeType, name: str) -> Origin | None:
    """Where code, or code inside of it, names something first."""
    for instruction in dis.get_instructions(code):
        if instruction.argval == name:
            return Origin(code, instruction.offset)
    inner = (naming(each, name) for each in code.co_consts if isinstance(each, CodeType))
    return next((found for found in inner if found is not None), None)


def different(before: Sequence[Any], asked: Asked) -> Iterator[str]:
    """How patterns of calls differ, in words: structure, gradients, which tensors are one, then each argument."""
    (spec, grad, sharing, *kinds), (spec_now, grad_now, sharing_now, *kinds_now) = before, asked.pattern
    if spec != spec_now:
        yield from ["its arguments have another structure"] * (1 + max(len(kinds), len(kinds_now)))
        return
    if grad is not grad_now:
        yield f"gradients are {'on' if grad_now else 'off'} now"
    if sharing != sharing_now:
        yield "other tensors among its arguments are one and the same"
    for name, a, b in zip(asked.given, kinds, kinds_now):
        if a == b:
            continue
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            says = ARRAY if len(a) == len(ARRAY) else ARRAY[:2]
            yield from (f"{name} {text.format(x)}, now {y}" for text, x, y in zip(says, a, b) if x != y)
        else:
            yield f"{name} was {kind_of(a)}, now {kind_of(b)}"


def kind_of(kind: Any) -> str:
    """What a leaf is, as `signature.kind` has it, in words."""
    return kind.__name__ if isinstance(kind, type) else "a tensor" if len(kind) == len(ARRAY) else "a NumPy array"

