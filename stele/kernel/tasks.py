"""Nests made ready to run: long sums split into partial sums, rows cut into tasks by shape alone."""
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
from stele.kernel.machine import Machine
from stele.kernel.rebuild import Rebuild
from stele.ops.elementwise.arithmetic import Add
from stele.ops.linear import Sum

LONG = 1 << 17
"""Elements that one set of accumulators should not sum: rounding errors would add up."""
OPEN = 64
"""About how many steps a loop of open length takes."""


def cut(nest: Nest, machine: Machine) -> list[Nest]:
    """The nests to run one after the other instead of a raw one."""
    sums = [s for s in inside(nest.body) if isinstance(s, Store) and s.adds]
    return [rows(part, machine) for part in (added(nest, sums, machine) if sums else split(nest, machine))]


def strided(nest: Nest, machine: Machine) -> int:
    """How badly lanes meet memory: accesses in lane loops that are neither contiguous nor the same for all lanes."""
    found = 0 if any(isinstance(step, Loop | Fold) and lanes_in(step) for step in inside(nest.body)) else machine.few
    for step in inside(nest.body):
        match step:
            case Loop(axis, body, True):
                found += crossing(body, axis)
            case Fold(axes, bodies, _, True) if axes:
                short = isinstance(axes[-1].extent, int) and axes[-1].extent < machine.few and bool(nest.rows)
                found += crossing(bodies[-1], axes[-1]) + 4 * short
    return found


def lanes_in(step: Loop | Fold) -> bool:
    """Whether a loop runs in lanes."""
    return step.lane and (isinstance(step, Loop) or bool(step.axes))


def crossing(block: Block, lane: Axis) -> int:
    """Loads and stores of a block that lanes along an axis make jump."""
    offsets = [(s.offset, s.depends if isinstance(s, Load) else variables(s.offset))
               for s in inside(block) if isinstance(s, Load | Store)]
    return sum(lane.name in depends and coefficient(offset, lane.name) not in (0, 1) for offset, depends in offsets)


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


def split(nest: Nest, machine: Machine) -> list[Nest]:
    """A reduction that is long and has few results, as partial sums of blocks and the sum of those, in index order."""
    steps, across = core(nest)
    folds = [s for s in steps if isinstance(s, Fold)]
    if len(folds) != 1 or any(isinstance(s, Loop) for s in steps) or not folds[0].axes:
        return [nest]
    (fold,) = folds
    if any(isinstance(s, Store) for body in fold.bodies for s in body):
        return [nest]
    width = across.axis.extent if across else 1
    work = size_of(fold.axes) * width
    tasks = known(size_of(nest.rows), machine.tasks) * known(ceil(width, machine.columns), machine.tasks)
    long = across is None and known(size_of(fold.axes), 0) > LONG
    if not (tasks < machine.tasks or long) or known(work, 4 * machine.grain) <= 2 * machine.grain:
        return [nest]
    step = max(1, 2 * machine.grain // known(size_of(fold.axes[1:]) * width, 1))
    if known(fold.axes[0].extent, step + 1) <= step:
        return [nest]
    return partial_sums(nest, steps, fold, across, step)


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


def added(nest: Nest, sums: list[Store], machine: Machine) -> list[Nest]:
    """The nest with its last rows in blocks, each of which adds up on its own what is summed over all rows, and the
    sums of the blocks in order."""
    *lead, last = nest.rows
    many = 4 * machine.tasks
    blocks = max(1, many // known(size_of(tuple(lead)), many))
    length = max(1, machine.grain // work_of(nest.body), -(-known(last.extent, many) // blocks))
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


def rows(nest: Nest, machine: Machine) -> Nest:
    """The nest with its outer loops as rows, long lane loops cut, and as many rows to a task as make it worth while."""
    if not nest.rows:
        nest = tiled(nest, machine) or outward(nest, machine)
    if len(nest.body.steps) == 1 and isinstance(loop := nest.body.steps[0], Loop) and loop.lane:
        nest = blocked(nest, loop, machine)
    grain = max(1, machine.grain // work_of(nest.body))
    if len(nest.rows) > 1 and isinstance(n := nest.rows[-1].extent, int) and n > grain:
        grain = next(g for g in range(grain, 0, -1) if n % g == 0 or 2 * g < grain)
    return replace(nest, grain=grain)


def tiled(nest: Nest, machine: Machine) -> Nest | None:
    """A transposing nest with the loop that walks through memory next to the lanes, both in blocks that stay in cache.

    None where lanes do not jump, or loops are not perfectly nested.
    """
    chain: list[Loop] = []
    steps = nest.body.steps
    while len(steps) == 1 and isinstance(steps[0], Loop):
        chain.append(steps[0])
        steps = steps[0].body.steps
    if len(chain) < 2 or any(isinstance(s, Loop | Fold) for s in steps):
        return None
    lane, outer = chain[-1], [c.axis for c in chain[:-1]]
    jumps = [s for s in steps if isinstance(s, Load) and not s.computed
             and known(coefficient(s.offset, lane.axis.name) or 0, machine.columns) > machine.few]
    near = next((a for s in jumps for a in outer if coefficient(s.offset, a.name) == 1), None)
    if near is None:
        return None
    wide, high = machine.columns, 4 * machine.columns
    across, along = Axis("%across", ceil(near.extent, high)), Axis("%piece", ceil(lane.axis.extent, wide))
    inner = Loop(replace(lane.axis, block=(along.name, wide)), lane.body, True)
    body = Loop(replace(near, block=(across.name, high)), Block((inner,)), False)
    return Nest((*(a for a in outer if a is not near), across, along), 1, nest.prelude, Block((body,)))


def outward(nest: Nest, machine: Machine) -> Nest:
    """The outer loops of a single loop nest as rows; loops stay inside where a row would be too short without them."""
    chain: list[Loop] = []
    steps = nest.body.steps
    while loops := [s for s in steps if isinstance(s, Loop)]:
        if len(loops) > 1 or any(isinstance(s, Store | Fold) for s in steps):
            break
        chain.append(loops[0])
        steps = loops[0].body.steps
    inner, count = 1, len(chain)
    while count > 1 and inner < machine.stretch:
        count -= 1
        inner *= known(chain[count].axis.extent, machine.stretch)
    if count < 1 or (count == len(chain) and len(chain) > 1):
        return nest
    outer = chain[:count] if len(chain) > 1 else []
    hoisted = tuple(s for loop in outer for s in loop.body.steps if not isinstance(s, Loop))
    steps = (*(s for s in nest.body if not isinstance(s, Loop)), *hoisted, chain[len(outer)])
    return Nest(tuple(c.axis for c in outer), 1, nest.prelude, Block(steps))


def blocked(nest: Nest, loop: Loop, machine: Machine) -> Nest:
    """A long lane loop in blocks, one more row axis."""
    work = max(1, work_of(loop.body))
    size = max(machine.columns, machine.grain // work // machine.columns * machine.columns)
    if known(loop.axis.extent, size + 1) <= size:
        return nest
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
