"""Numbers for pending values: one program for all that is wanted, kept by the structure of the expression."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from stele import config
from stele.backend.base import Program
from stele.backend.buffers import Buffer
from stele.backend.locks import HOST, RUNNING, held
from stele.backend.newest import Newest
from stele.eager.flat import flattened, kernel, opened, sizes_of
from stele.eager.follow import FOLLOWER, making
from stele.eager.handle import TRACING, owner, refuse_symbolic
from stele.eager.hooks import SEEING
from stele.eager.live import Live, forget, is_open, is_pending, is_symbolic, is_there, leaf
from stele.eager.replay import EVALUATIONS, Evaluation, Seen, look, recognise, recognised
from stele.errors import IndexOutOfRange, NotANumber, OutOfMemory
from stele.ir.graph import Literal, Parameter, Value, closed, parameter, walk
from stele.ir.origin import here, lines, setting
from stele.ir.sizes import at
from stele.ir.stages import show
from stele.ir.types import TupleType, Type, bfloat16, dtype, float16
from stele.ops.elementwise.arithmetic import Add, Div, Maximum, Minimum, Mul, Neg, Select, Sub
from stele.ops.elementwise.base import Compare
from stele.ops.elementwise.binary import Bits, Shift
from stele.ops.elementwise.unary import Abs, Not, StopGradient
from stele.ops.gather import Gather
from stele.ops.linear import Broadcast, Cast, Transfer
from stele.ops.sorting import Sort
from stele.pipeline import PASSES, Options, build
from stele.transform.autodiff import gradients

# So few elements need no program of their own the first few times that an expression is seen: one of so few values, of
# exact ops only, is interpreted then, and one of elementwise ops computed in one axis.
FEW_VALUES, FEW_ELEMENTS, TRIALS = 64, 1 << 14, 4
EXACT = (Add, Sub, Mul, Div, Neg, Maximum, Minimum, Compare, Select, Bits, Shift, Abs, Cast, Not, StopGradient,
         Gather, Sort)
FAILURES = IndexOutOfRange, NotANumber, np.linalg.LinAlgError     # what numbers make a program raise
MOST_FAMILIES, MOST_SHARED = 1 << 12, 1 << 9
WHOLE = ("elementwise", "reduction", "ordered", "indexing", "generate", "contraction", "composite")
AS_IS = Options("reference", frozenset(PASSES))

Numbers = tuple[float | int | bool | str, ...]


@dataclass
class Family:
    """Programs of one structure: for its first literal numbers, and one that takes such numbers as inputs; and how
    often it was interpreted."""

    first: Numbers
    trials: int = 0
    exact: Program | None = None
    general: Program | None = None


@dataclass
class Evaluator:
    """Programs of imperative expressions by structure, how many were compiled and how many ran, and operations since
    the last did."""

    families: Newest[Any, Family] = field(default_factory=lambda: Newest(MOST_FAMILIES))
    first: Newest[Any, dict[str, int]] = field(default_factory=lambda: Newest(MOST_FAMILIES))    # sizes of a structure
    compiles: int = 0
    runs: int = 0
    recorded: int = 0
    last: Program | None = None
    built: float = 0.0      # seconds

    def program(self, order: Sequence[Value], kept: Sequence[Live], own: bool = False, first: Numbers | None = None
                ) -> Work:
        """What computes `kept`: a program of its own where there were as many trials as may be, and none for other
        shapes too will do. Numbers in the text are inputs from their second value on, the `first` being these.
        """
        leaves = [v for v in order if is_there(v)]
        literals = [v for v in order if isinstance(v.op, Literal) and not is_there(v)]
        numbers: Numbers = tuple(v.op.token for v in literals if isinstance(v.op, Literal))
        options = Options()
        key = structure(order, kept), options
        family = self.families.get(key)
        if family is None:
            family = self.families[key] = Family(numbers if first is None else first)
        if not own and family.trials < TRIALS and (trial := self.trial(order, leaves, kept)) is not None:
            family.trials += 1
            return trial
        if not own and family.exact is family.general and (work := self.shared(order, kept)) is not None:
            return work._replace(leaves=leaves, literals=literals if work.literals else [], kept=kept)
        if family.first == numbers:
            family.exact = family.exact or self.build(leaves, kept, options)
            return Work(family.exact, leaves, [], kept)
        family.general = family.general or self.build([*leaves, *literals], kept, options)
        return Work(family.general, leaves, literals, kept)

    def trial(self, order: Sequence[Value], leaves: Sequence[Live], kept: Sequence[Live]) -> Work | None:
        """How an expression is computed that is new, if that needs no program of its own."""
        if is_small(order):
            return Work(build(closed(leaves, kept), options=AS_IS), leaves, [], kept, trial=True)
        if (flat := flattened(order, kept, FEW_ELEMENTS)) is None:
            return None
        return self.program(flat.order, flat.kept, True)._replace(kept=kept, sizes=flat.sizes, trial=True)

    def shared(self, order: Sequence[Value], kept: Sequence[Live]) -> Work | None:
        """A program for other shapes too, from the second of a structure on: what differs from the first stays open."""
        if len(order) > MOST_SHARED:
            return None
        if (form := opened(order, kept)) is not None:
            key, sizes = structure(form.order, form.kept), form.sizes
        else:       # where names for all sizes do not do, those do that differ from the first of this outline
            key, sizes = outline(order), {str(k): n for k, n in enumerate(sizes_of(order))}
        first = self.first[key] = self.first.get(key, sizes)
        closed = {*sizes.values()} - {n for name, n in sizes.items() if first.get(name) != n}
        if len(closed) == len({*sizes.values()}) or (form := opened(order, kept, closed) if closed else form) is None:
            return None
        return self.program(form.order, form.kept, True, ())._replace(sizes=form.sizes)

    def build(self, inputs: Sequence[Value], kept: Sequence[Value], options: Options) -> Program:
        self.compiles += 1
        start = perf_counter()
        with making("compiling"):
            program = build(closed(inputs, kept), options=options)
        self.built = perf_counter() - start
        show("compiles", lambda: f"the first of its structure, at {', '.join(lines(here()))} ({self.built:.2f} s)",
             "an expression")
        return program

    def run(self, program: Program, buffers: Sequence[Buffer], values: Sequence[Value],
            sizes: Mapping[str, int] = {}) -> Sequence[Buffer]:
        """One run of a program for these values."""
        self.last, self.recorded, self.runs = program, 0, self.runs + 1
        calls, start = program.calls, perf_counter() if config.SHOW.text() else 0.0
        follower = FOLLOWER.get()
        try:
            made = (program if follower is None else follower.running(program, values)).run(buffers, sizes)
            if start:
                self.show(program, calls, perf_counter() - start)
            return made
        except OutOfMemory as error:
            name_largest(error, walk(values, stop=is_there))
            raise
        except FAILURES:    # the lines and layers of a program are those of the expression that it was made for
            if (error := again(values, calls) if calls else None) is None:
                raise
            raise error from None

    def show(self, program: Program, calls: int, seconds: float) -> None:
        """STELE_SHOW=evaluations: a run, and the line that looked."""
        ops = sum(bool(v.args) for v in program.graph)
        how = "interpreted" if not program.report().kernels else "replayed" if calls else \
            f"compiled or loaded in {self.built * 1e3:.2f} ms"
        show("evaluations", lambda: f"{ops} op{'s' * (ops != 1)}, {how}, run in {seconds * 1e3:.3f} ms",
             ", ".join(lines(here())))


def again(values: Sequence[Value], calls: int) -> Exception | None:
    """What pending values raise in a program of their own, which says where they were made; None if they do not."""
    order = walk(values, stop=is_there)
    leaves, kept = [v for v in order if is_there(v)], [v for v in order if is_pending(v) and not is_cheap(v)]
    if kept:
        program = build(closed(leaves, kept), options=Options())
        program.calls = calls
        try:
            program.run([v.data for v in leaves], {})
        except FAILURES as error:
            return error
    return None


class Work(NamedTuple):
    """A program with the values it takes, literal numbers apart, those it gives, and sizes. A `trial` is run once only.
    """

    program: Program
    leaves: Sequence[Live]
    literals: Sequence[Value]
    kept: Sequence[Live]
    sizes: Mapping[str, int] = {}
    trial: bool = False

    def run(self) -> list[Live]:
        """Gives the kept values their numbers; returns those whose history goes, as nobody needs it."""
        buffers = [*(v.data for v in self.leaves), *map(number_of, self.literals)]
        for v, buffer in zip(self.kept, EVALUATOR.run(self.program, buffers, self.kept, self.sizes)):
            shape: Any = v.type.shape
            v.data = buffer if buffer.shape == shape else buffer.seen(v.type.dtype, shape)
        done = [v for v in self.kept if (h := owner(v)) is not None and (h.leaf or not h.requires_grad)]
        for v in done:
            forget(v, Parameter("value", v.type))
        return done


def number_of(v: Value) -> Buffer:
    """A literal's number in memory."""
    return Buffer.of(v.op.reference())


EVALUATOR = Evaluator()


def structure(order: Sequence[Value], kept: Sequence[Value]) -> Any:
    """A key that is equal for expressions that one program can compute: ops, wiring and types, not literal numbers."""
    number: dict[Value, int] = {}
    parts: list[Any] = []
    for v in order:
        number[v] = len(number)
        if is_there(v):
            parts.append(v.type)
        elif isinstance(v.op, Literal):
            parts.append(v.op.dtype)
        else:
            parts.append((v.op, *(number[a] for a in v.args)))
    return tuple(parts), tuple(number[v] for v in kept)


def outline(order: Sequence[Value]) -> Any:
    """What of a structure is the same at other sizes, whatever ops make of them; kernels of convolutions stay."""
    number = {v: k for k, v in enumerate(order)}
    return tuple([(v.dtype, v.ndim) if is_there(v) else (
        type(v.op), *(number[a] for a in v.args), kernel(v)) for v in order])


def evaluate(targets: Iterable[Live]) -> None:
    """Gives every target its numbers, all in one program; numbers of the host need none."""
    targets = list(targets)
    with HOST if len(RUNNING) == 1 else held(devices(targets)):
        for v in targets:
            if v.data is None and v.call is None and isinstance(v.op, Literal):
                v.data = number_of(v)
        if wanted := [v for v in dict.fromkeys(targets) if v.data is None]:
            run(wanted)


def devices(values: Sequence[Value]) -> set[str]:
    """The devices that computing these values takes; calls are not written out for that."""
    found, seen = {v.type.device for v in values}, {*values}
    stack = [*values]
    while stack:
        v = stack.pop()
        there, call = is_there(v), v.call if isinstance(v, Live) else None
        if there or call is not None or isinstance(v.op, Transfer):
            found.add(v.type.device)
        new = {*(() if there else v.args if call is None else call[1])} - seen
        stack, seen = [*stack, *new], seen | new
    return found


def run(wanted: Sequence[Live]) -> None:
    """Computes pending values, and stores beside them what live names and later gradients will look at."""
    follower = FOLLOWER.get()
    usual = (follower is None or follower.replays(wanted)) and TRACING.get() is None
    if usual and len(wanted) == 1 and recognised(wanted[0], EVALUATOR.run):
        return
    seen = look(wanted) if usual else None
    if seen is not None and seen.first:
        run(seen.first)
        if any(map(is_there, seen.pending)):
            return run([v for v in wanted if v.data is None])
    if seen is not None and (past := EVALUATIONS.get(seen.key)) is not None and replay(past, seen):
        return
    order = walk(wanted, stop=is_there)
    for v in order:
        if is_symbolic(v) or is_open(v):
            raise refuse_symbolic(v)
    parameters = [v for v in order if is_pending(v) and not is_cheap(v) and (h := owner(v)) is not None and h.leaf]
    if parameters and not set(parameters).issuperset(wanted):
        run(parameters)
        return run([v for v in wanted if v.data is None])
    if follower is not None:
        follower.evaluated(order, wanted)
    work = worked(wanted, order)
    forgotten = work.run()
    if seen is not None and not work.trial:
        remember(seen, work, forgotten)


def worked(wanted: Sequence[Live], order: Sequence[Value], retain: bool = True) -> Work:
    """What computes the wanted values, those with live names and, with `retain`, those that later gradients need."""
    named = [v for v in order if is_pending(v) and not is_cheap(v) and owner(v) is not None]
    differentiable = [v for v in wanted if retain and (h := owner(v)) is not None and h.requires_grad]
    needed = dict.fromkeys([*wanted, *named])
    later = residuals(differentiable, order) if differentiable else []
    if later and is_much([*filter(is_there, order), *later]):
        later = []      # which `backward` computes again
    return EVALUATOR.program(order, [*needed, *(v for v in later if v not in needed)])


def is_much(values: Iterable[Value]) -> bool:
    """Whether values take more than half of what there is a budget of memory for."""
    budget = Options().budget
    return budget is not None and 2 * sum(at(v.type.size, {}) * v.dtype.bytes for v in values) > budget


def replay(past: Evaluation, seen: Seen) -> bool:
    """Computes an expression as one of its structure was computed before; False where its numbers need a program."""
    values, program = seen.opened() if past.opens else seen.values, past.exact
    buffers = [values[k].data for k in past.inputs]
    if program is None or past.literals != seen.literals:
        program = past.general
        buffers += [number_of(values[k]) for k in past.numbers]
    if program is None:
        return False
    give(past, program, buffers, values)
    return True


def give(past: Any, program: Any, buffers: Sequence[Buffer], values: Sequence[Any]) -> Sequence[Buffer]:
    """Runs a program as before: values get their numbers, and some lose their history. Returns all that was made."""
    made = EVALUATOR.run(program, buffers, values, past.sizes)
    for k, buffer in zip(past.results, made):
        if k is not None:
            values[k].data = buffer
    for k, op in past.forgotten:
        forget(values[k], op)
    return made


def remember(seen: Seen, work: Work, forgotten: Sequence[Live]) -> None:
    """Keeps how an expression was computed, for the next of its structure."""
    past, number = EVALUATIONS.get(seen.key), seen.places()
    if past is None:
        past = EVALUATIONS[seen.key] = Evaluation(
            seen.held, [number[v] for v in work.leaves], [number[v] for v in work.kept],
            [(number[v], v.op) for v in forgotten], work.sizes)
    if work.literals:
        past.general, past.numbers = work.program, [number[v] for v in work.literals]
    else:
        past.exact, past.literals = work.program, seen.literals
    past.opens = max(*past.inputs, *past.results, *past.numbers, -1, -1) >= len(seen.values)
    if not work.literals and not past.opens:
        recognise(past, seen)


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
    parts = chain.from_iterable(v.type.items if isinstance(v.type, TupleType) else (v.type,) for v in order)
    return sum(at(t.size, {}) for t in parts) <= FEW_ELEMENTS


def is_exact(v: Value) -> bool:
    """Whether an op has one right result, so that every backend gives the same bits: it moves numbers, its result is
    whole, or it is one of these. What the host computes has one because it does so for every backend.
    """
    if is_there(v) or v.op.family in ("leaf", "movement", "host"):
        return True
    if any(isinstance(a.type, TupleType) for a in (v, *v.args)):
        return False
    dtypes = {a.dtype for a in (v, *v.args)}
    if any(d.is_complex or d in (float16, bfloat16) for d in dtypes):
        return False
    return isinstance(v.op, EXACT) or (v.op.family in WHOLE and v.dtype.kind in "biu")


def is_cheap(v: Value) -> bool:
    """Whether storing a value costs more than computing it again: numbers, and numbers repeated."""
    return isinstance(v.type, TupleType) or isinstance(v.op, Literal) or (
        isinstance(v.op, Broadcast) and isinstance(v.args[0].op, Literal))


def residuals(targets: Sequence[Live], order: Sequence[Value]) -> list[Live]:
    """The values of `order` that the gradients of `targets` will need."""
    inside = set(order)
    wrt = [v for v in order if (is_there(v) and v.args) or ((h := owner(v)) is not None and h.leaf and h.requires_grad)]
    seeds = [parameter("g", v.type) for v in targets]
    with setting(SEEING, False):
        found = [g for g in gradients(targets, seeds, wrt) if g is not None]
    needed = walk(found, stop=inside.__contains__)
    return [v for v in needed if v in inside and is_pending(v) and not is_cheap(v)]


def numbers(v: Live) -> Any:
    """The buffer of a value, computed now if it is not there. To be called, and used, under its device's lock."""
    if (follower := FOLLOWER.get()) is not None:
        follower.looked(v)
    if v.data is None:
        run([v])
    return v.data


def known(array: Any, label: str = "value") -> Live:
    """A leaf that holds a copy of a NumPy array."""
    return leaf(Type(dtype(array.dtype), array.shape), Buffer.of(array), label)
