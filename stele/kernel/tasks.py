"""What schedules do to nests: long sums split into partial sums, loops as rows, tiles and blocks of lanes."""
from __future__ import annotations

from dataclasses import replace
from math import prod

from stele.ir.sizes import Dim, ceil
from stele.ir.types import product
from stele.kernel.index import coefficient, linear, variable, variables
from stele.kernel.loops import (
    Apply,
    Axis,
    Block,
    Buffer,
    Element,
    Fold,
    Load,
    Loop,
    Nest,
    Number,
    Part,
    Step,
    Store,
    Temporary,
    Total,
    inside,
)
from stele.kernel.rebuild import Rebuild
from stele.ops.elementwise.arithmetic import Add
from stele.ops.linear import Sum

OPEN = 64
"""About how many steps a loop of open length takes."""


def known(x: Dim, otherwise: int) -> int:
    return x if isinstance(x, int) else otherwise


def size_of(axes: tuple[Axis, ...]) -> Dim:
    return product(tuple(a.extent for a in axes))


def core(nest: Nest) -> tuple[tuple[Step, ...], Loop | None]:
    """The steps of a row, inside of its lane loop if lanes run across rows."""
    match nest.body.steps:
        case (Loop(_, body, _) as across,) if any(isinstance(s, Fold) for s in body):
            return body.steps, across
    return nest.body.steps, None


def summed(nest: Nest, length: int | None) -> list[Nest]:
    """The nests to run one after the other where what is summed over many is summed in blocks of this length first."""
    sums = [s for s in inside(nest.body) if isinstance(s, Store) and s.adds]
    if length is None:
        return [nest]
    if sums:
        return added(nest, sums, length)
    steps, across = core(nest)
    (fold,) = (s for s in steps if isinstance(s, Fold))
    return partial_sums(nest, steps, fold, across, length)


def partial_sums(nest: Nest, steps: tuple[Step, ...], fold: Fold, across: Loop | None, length: int) -> list[Nest]:
    """The two nests of a split reduction; the outermost axis is cut into blocks of `length`."""
    block = Axis("%block", ceil(fold.axes[0].extent, length))
    kept = nest.rows + ((across.axis,) if across else ())
    shape = tuple(a.extent for a in (block, *kept))
    offset = linear([variable(a.name[1:]) for a in (block, *kept)], shape)
    memory = [Temporary(p.dtype, shape) for p in fold.parts]
    at = steps.index(fold)
    first = replace(fold.axes[0], block=(block.name, length))
    sums = Fold((first, *fold.axes[1:]), fold.bodies, fold.parts, fold.lane)
    totals = [Total(p.dtype, frozenset(a.name for a in kept), sums, k) for k, p in enumerate(fold.parts)]
    stores = [Store(m, offset, t) for m, t in zip(memory, totals)]
    head = wrapped(across, (*steps[:at], sums, *totals, *stores))
    loads = [Load(p.dtype, variables(offset), m, offset) for p, m in zip(fold.parts, memory)]
    parts = tuple(Part(p.op, p.dtype, x) for p, x in zip(fold.parts, loads))
    again = Fold((block,), (Block(tuple(loads)),), parts, fold.lane)
    copy = Rebuild({}, {}, {s: s for s in (*nest.prelude, *steps[:at]) if isinstance(s, Element)})
    copy.folds[fold] = again
    tail = (again, *(new for s in steps[at + 1:] for new in copy.step(s)))
    before = needed(steps[:at], tail)
    return [Nest((block, *nest.rows), 1, nest.prelude, head),
            Nest(nest.rows, 1, Block(needed(nest.prelude.steps, (*before, *tail))), wrapped(across, (*before, *tail)))]


def added(nest: Nest, sums: list[Store], length: int) -> list[Nest]:
    """The nest with its last rows in blocks, each of which adds up on its own what is summed over all rows, and the
    sums of the blocks in order."""
    *lead, last = nest.rows
    parts = (*lead, Axis("%block", ceil(last.extent, length)))
    memory = {s: Temporary(s.x.dtype, (*(a.extent for a in parts), product(s.value.shape))) for s in sums}
    zeros = [step for s in sums for step in zeroed(memory[s], parts)]
    body = Added(memory, parts, nest.prelude).block(nest.body)
    row = Loop(replace(last, block=("%block", length)), body, False)
    return [Nest(parts, 1, nest.prelude, Block((*zeros, row))), *(total_of(s.value, memory[s], parts) for s in sums)]


def place(memory: Temporary, parts: tuple[Axis, ...], offset: Dim) -> Dim:
    """Where an element of the sums of one block is."""
    return linear([*(variable(a.name[1:]) for a in parts), offset], memory.shape)


def zeroed(memory: Temporary, parts: tuple[Axis, ...]) -> tuple[Step, ...]:
    """The steps that clear the sums of one block."""
    zero = Number(memory.dtype, frozenset(), 0)
    store = Store(memory, place(memory, parts, variable("of")), zero)
    return zero, Loop(Axis("%of", memory.shape[-1]), Block((store,)), True)


class Added(Rebuild):
    """Copies a block so that what is summed over all rows is added to memory."""

    def __init__(self, memory: dict[Store, Temporary], parts: tuple[Axis, ...], before: Block) -> None:
        super().__init__({}, {}, {x: x for x in before if isinstance(x, Element)})
        self.memory, self.parts = memory, parts

    def step(self, step: Step) -> tuple[Step, ...]:
        if not (isinstance(step, Store) and step.adds):
            return super().step(step)
        x, memory = self.element(step.x), self.memory[step]
        offset = place(memory, self.parts, step.offset)
        old = Load(memory.dtype, variables(offset), memory, offset)
        new = Apply(memory.dtype, old.depends | x.depends, Add(), (old, x))
        return old, new, Store(memory, offset, new)


def total_of(v: Buffer, memory: Temporary, parts: tuple[Axis, ...]) -> Nest:
    """The nest that adds up the sums of all blocks."""
    offset = place(memory, parts, variable("of"))
    x = Load(memory.dtype, variables(offset), memory, offset)
    fold = Fold(parts, (*(Block(()) for _ in parts[1:]), Block((x,))), (Part(Sum((0,)), memory.dtype, x),), False)
    total = Total(memory.dtype, frozenset({"%of"}), fold, 0)
    lanes = Loop(Axis("%of", memory.shape[-1]), Block((fold, total, Store(v, variable("of"), total))), True)
    return Nest((), 1, Block(()), Block((lanes,)))


def wrapped(across: Loop | None, steps: tuple[Step, ...]) -> Block:
    return Block((Loop(across.axis, Block(steps), True),)) if across else Block(steps)


def needed(steps: tuple[Step, ...], later: tuple[Step, ...]) -> tuple[Step, ...]:
    """The elements among `steps` that later ones are computed from."""
    wanted: set[object] = set()
    for step in reversed((*steps, *inside(Block(later)))):
        if step in wanted or step not in steps:
            wanted.update(operands(step))
    return tuple(s for s in steps if s in wanted)


def operands(step: Step) -> tuple[Element, ...]:
    """What a step is computed from directly."""
    match step:
        case Store(_, _, x):
            return (x,)
        case Fold(_, _, parts, _):
            return tuple(p.x for p in parts)
        case Loop():
            return ()
    found: list[Element] = []
    for name in ("x", "args", "index", "computed"):
        part: Element | tuple[Element | tuple[Element, Dim], ...] | Dim = getattr(step, name, ())
        found += [part] if isinstance(part, Element) else [e[0] if isinstance(e, tuple) else e for e in part] \
            if isinstance(part, tuple) else []
    return tuple(found)


def chained(nest: Nest) -> list[Loop]:
    """Loops of which each is all that the one around it does, perhaps behind elements; outermost first."""
    chain: list[Loop] = []
    steps = nest.body.steps
    while loops := [s for s in steps if isinstance(s, Loop)]:
        if len(loops) > 1 or any(isinstance(s, Store | Fold) for s in steps):
            break
        chain.append(loops[0])
        steps = loops[0].body.steps
    return chain


def jumping(nest: Nest, least: int) -> tuple[list[Loop], Axis] | None:
    """The loops of a transposing nest, and which of them walks through memory where lanes jump by more than `least`.

    None where lanes do not jump, or loops are not perfectly nested.
    """
    chain: list[Loop] = []
    steps = nest.body.steps
    while len(steps) == 1 and isinstance(steps[0], Loop):
        chain.append(steps[0])
        steps = steps[0].body.steps
    if len(chain) < 2 or any(isinstance(s, Loop | Fold) for s in steps):
        return None
    jumps = [s for s in steps if isinstance(s, Load) and not s.computed
             and known(coefficient(s.offset, chain[-1].axis.name) or 0, least + 1) > least]
    near = next((c.axis for s in jumps for c in chain[:-1] if coefficient(s.offset, c.axis.name) == 1), None)
    return None if near is None else (chain, near)


def tiled(nest: Nest, chain: list[Loop], near: Axis, block: tuple[int, int]) -> Nest:
    """A transposing nest with the loop that walks through memory next to the lanes, both in blocks that stay in cache.
    """
    lane, outer, (high, wide) = chain[-1], [c.axis for c in chain[:-1]], block
    across, along = Axis("%across", ceil(near.extent, high)), Axis("%piece", ceil(lane.axis.extent, wide))
    inner = Loop(replace(lane.axis, block=(along.name, wide)), lane.body, True)
    body = Loop(replace(near, block=(across.name, high)), Block((inner,)), False)
    return Nest((*(a for a in outer if a is not near), across, along), 1, nest.prelude, Block((body,)))


def outward(nest: Nest, count: int) -> Nest:
    """The nest with so many of its outer loops as rows."""
    chain = chained(nest)
    outer = chain[:count]
    hoisted = tuple(s for loop in outer for s in loop.body.steps if not isinstance(s, Loop))
    steps = (*(s for s in nest.body if not isinstance(s, Loop)), *hoisted, chain[count])
    return Nest(tuple(c.axis for c in outer), 1, nest.prelude, Block(steps))


def blocked(nest: Nest, size: int) -> Nest:
    """The one loop of a nest, in lanes, in blocks of a size: one more row axis."""
    (loop,) = nest.body.steps
    assert isinstance(loop, Loop)
    block = Axis("%piece", ceil(loop.axis.extent, size))
    axis = replace(loop.axis, block=(block.name, size))
    return Nest((*nest.rows, block), 1, nest.prelude, Block((Loop(axis, loop.body, True),)))


def work_of(block: Block) -> int:
    """About how many elements a block handles."""
    total = 1
    for step in block:
        match step:
            case Loop(axis, body, _):
                total += length(axis) * work_of(body)
            case Fold(axes, _, _, _) if axes:
                total += prod(map(length, axes))
    return total


def length(axis: Axis) -> int:
    """About how many steps a loop takes."""
    return known(axis.extent, OPEN) if axis.block is None else axis.block[1]
