"""Numbers for pending values: one program for all that is wanted, kept by the structure of the expression."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from stele.backend.base import Program
from stele.backend.buffers import Buffer
from stele.backend.locks import RUNNING
from stele.errors import OutOfMemory
from stele.follow import FOLLOWER
from stele.handle import is_symbolic, leaf, owner, refuse_symbolic
from stele.ir.graph import Graph, Literal, Parameter, Value, parameter, walk
from stele.ir.origin import lines
from stele.ir.sizes import at
from stele.ir.types import TupleType, Type, bfloat16, dtype, float16
from stele.ops.elementwise.arithmetic import Add, Div, Maximum, Minimum, Mul, Neg, Select, Sub
from stele.ops.elementwise.base import Compare
from stele.ops.elementwise.binary import Bits, Shift
from stele.ops.elementwise.unary import Abs, Not, StopGradient
from stele.ops.linear import Broadcast, Cast
from stele.pipeline import PASSES, Options, build
from stele.transform.autodiff import gradients

FREED = "freed"

# An expression of so few values and elements, of exact ops only, is interpreted when new, compiled when seen again.
FEW_VALUES, FEW_ELEMENTS = 64, 1 << 14
EXACT = (Add, Sub, Mul, Div, Neg, Maximum, Minimum, Compare, Select, Bits, Shift, Abs, Cast, Not, StopGradient)
MOST_FAMILIES = 1 << 12
AS_IS = Options("reference", frozenset(name for name, _ in PASSES))

Numbers = tuple[float | int | bool, ...]


@dataclass
class Family:
    """Programs of one structure: for its first literal numbers, and one that takes such numbers as inputs."""

    first: Numbers
    trial: Program | None = None
    exact: Program | None = None
    general: Program | None = None


@dataclass
class Evaluator:
    """Programs of imperative expressions by structure, how many were compiled, and operations since the last ran."""

    families: dict[Any, Family] = field(default_factory=dict)
    compiles: int = 0
    recorded: int = 0
    last: Program | None = None

    def program(self, order: Sequence[Value], kept: Sequence[Value]) -> tuple[Program, list[Buffer]]:
        """A program that computes `kept`, and its inputs. Numbers in the text are inputs from their second value on."""
        leaves = [v for v in order if v.data is not None]
        literals = [v for v in order if isinstance(v.op, Literal)]
        buffers = [v.data for v in leaves]
        numbers: Numbers = tuple(v.op.value for v in literals)  # type: ignore[attr-defined]
        options = Options()
        key = structure(order, kept), options
        family = self.families.get(key)
        if family is None:
            family = self.families[key] = Family(numbers)
            if len(self.families) > MOST_FAMILIES:
                del self.families[next(iter(self.families))]
            if is_small(order):
                family.trial = build(cut_at(leaves, kept), options=AS_IS)
                return family.trial, buffers
        if family.first == numbers:
            family.exact = family.exact or self.build(leaves, kept, options)
            return family.exact, buffers
        family.general = family.general or self.build([*leaves, *literals], kept, options)
        return family.general, [*buffers, *(Buffer.of(v.op.reference()) for v in literals)]

    def build(self, inputs: Sequence[Value], kept: Sequence[Value], options: Options) -> Program:
        self.compiles += 1
        return build(cut_at(inputs, kept), options=options)


EVALUATOR = Evaluator()


def structure(order: Sequence[Value], kept: Sequence[Value]) -> Any:
    """A key that is equal for expressions that one program can compute: ops, wiring and types, not literal numbers."""
    number: dict[Value, int] = {}
    parts: list[Any] = []
    for v in order:
        number[v] = len(number)
        if v.data is not None:
            parts.append(v.type)
        elif isinstance(v.op, Literal):
            parts.append(v.op.dtype)
        else:
            parts.append((v.op, *(number[a] for a in v.args)))
    return tuple(parts), tuple(number[v] for v in kept)


def cut_at(inputs: Sequence[Value], results: Sequence[Value]) -> Graph:
    """The graph of results whose parameters stand for `inputs`, in values of its own: others may lose their history."""
    meaning = {v: parameter(v.op.label if isinstance(v.op, Parameter) else "x", v.type) for v in inputs}
    for v in walk(results, stop=meaning.__contains__):
        if v not in meaning:
            meaning[v] = Value(v.op, tuple(meaning[a] for a in v.args), v.type, v.where)
    return Graph(tuple(meaning[v] for v in inputs), tuple(meaning[v] for v in results))


def evaluate(targets: Iterable[Value]) -> None:
    """Gives every target its numbers, all in one program."""
    with RUNNING:
        if wanted := [v for v in dict.fromkeys(targets) if v.data is None]:
            run(wanted)


def run(wanted: Sequence[Value]) -> None:
    """Computes pending values, and stores beside them what live names and later gradients will look at."""
    order = walk(wanted, stop=lambda v: v.data is not None)
    for v in order:
        if is_symbolic(v):
            raise refuse_symbolic(v)
    pending = [v for v in order if v.data is None and not is_cheap(v)]
    parameters = [v for v in pending if (h := owner(v)) is not None and h.leaf]
    if parameters and not set(parameters).issuperset(wanted):
        run(parameters)
        return run([v for v in wanted if v.data is None])
    if (follower := FOLLOWER.get()) is not None:
        follower.evaluated(order, wanted)
    named = [v for v in pending if owner(v) is not None]
    differentiable = [v for v in wanted if (h := owner(v)) is not None and h.requires_grad]
    kept = list(dict.fromkeys([*wanted, *named, *(residuals(differentiable, order) if differentiable else ())]))
    program, buffers = EVALUATOR.program(order, kept)
    EVALUATOR.last, EVALUATOR.recorded = program, 0
    try:
        made = program.run(buffers, {})
    except OutOfMemory as error:
        name_largest(error, order)
        raise
    for v, buffer in zip(kept, made):
        v.data = buffer
    for v in kept:
        if (h := owner(v)) is not None and (h.leaf or not h.requires_grad):
            forget(v)


def name_largest(error: OutOfMemory, values: Iterable[Value]) -> None:
    """Adds to an error which of the arrays that a program computes is the largest, and the line that made it."""
    sizes = {v: v.type.size * v.dtype.bytes for v in values if not isinstance(v.type, TupleType) and v.args}
    known_ones = {v: n for v, n in sizes.items() if isinstance(n, int)}
    if known_ones and error.hint is None:
        v = max(known_ones, key=known_ones.__getitem__)
        error.hint = f"The largest array of this program is {v.type}, made at {', '.join(lines(v.where))}."


def is_small(order: Sequence[Value]) -> bool:
    """Whether interpreting an expression once is quicker than compiling it, and gives the same bits."""
    if all(map(is_cheap, order)):
        return True     # zeros and ones, such as what an optimizer starts from
    if len(order) > FEW_VALUES or not all(map(is_exact, order)):
        return False
    return sum(at(v.type.size, {}) for v in order) <= FEW_ELEMENTS


def is_exact(v: Value) -> bool:
    """Whether an op has one right result, so that every backend gives the same bits."""
    wide = not isinstance(v.type, TupleType) and v.dtype not in (float16, bfloat16)
    return wide and (v.data is not None or v.op.family in ("leaf", "movement") or isinstance(v.op, EXACT))


def is_cheap(v: Value) -> bool:
    """Whether storing a value costs more than computing it again: numbers, and numbers repeated."""
    return isinstance(v.type, TupleType) or isinstance(v.op, Literal) or (
        isinstance(v.op, Broadcast) and isinstance(v.args[0].op, Literal))


def residuals(targets: Sequence[Value], order: Sequence[Value]) -> list[Value]:
    """The values of `order` that the gradients of `targets` will need."""
    inside = set(order)
    wrt = [v for v in order if (v.data is not None and v.args) or ((h := owner(v)) is not None and h.leaf)]
    seeds = [parameter("g", v.type) for v in targets]
    found = [g for g in gradients(targets, seeds, wrt) if g is not None]
    needed = walk(found, stop=inside.__contains__)
    return [v for v in needed if v in inside and v.data is None and not is_cheap(v)]


def forget(v: Value, label: str = "value") -> None:
    """Drops the history of a value that has its numbers."""
    v.op, v.args = Parameter(label, v.type), ()


def free(results: Iterable[Value]) -> None:
    """Drops the history behind results, so that what only a gradient needed is released."""
    for v in walk(results, stop=lambda v: isinstance(v.op, StopGradient)):
        h = owner(v) if v.args and v.data is not None else None
        if h is not None and not h.leaf:
            forget(v, FREED)


def refuse_freed(results: Iterable[Value]) -> None:
    """Raises where a gradient would have to pass through history that an earlier `backward` has freed."""
    for v in walk(results, stop=lambda v: isinstance(v.op, StopGradient)):
        if isinstance(v.op, Parameter) and v.op.label == FREED:
            raise RuntimeError("backward through an expression whose history an earlier backward has freed. "
                               "Call the first one as loss.backward(retain_graph=True).")


def numbers(v: Value) -> Any:
    """The buffer of a value, computed now if it is not there."""
    if (follower := FOLLOWER.get()) is not None:
        follower.looked(v)
    if v.data is None:
        evaluate([v])
    return v.data


def known(array: Any, label: str = "value") -> Value:
    """A leaf that holds a copy of a NumPy array."""
    return leaf(Type(dtype(array.dtype), array.shape), Buffer.of(array), label)
