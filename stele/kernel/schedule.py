"""How a raw nest runs on a machine: where its lanes are, its blocks, rows and tasks, what goes past the caches."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stele.ir.record import Record
from stele.ir.sizes import Dim, Size, ceil, of
from stele.ir.types import float64, product
from stele.kernel.cost import instructions
from stele.kernel.index import coefficient, plain, variables
from stele.kernel.loops import Apply, Axis, Block, Fold, Generate, Load, Loop, Nest, Step, Store, Temporary, inside
from stele.kernel.lower import Raw
from stele.kernel.machine import Machine
from stele.kernel.tasks import blocked, chained, core, jumping, known, outward, size_of, summed, tiled, work_of
from stele.transform.recompute import LARGE

LONG = 1 << 17
"""Elements that one set of accumulators should not sum: rounding errors would add up."""


class Rows(Record):
    """How one nest runs: so many `outer` loops become rows, or two are cut into a `tile`; its one loop in lanes is cut
    into a `piece`; a task is `grain` rows. Vectors have `lanes`, so many of which run side by side in each loop in
    lanes, in order. Stores by their numbers go `past` the caches, loads by theirs are asked for `ahead` of time.
    """

    outer: int
    tile: tuple[int, int] | None
    piece: int | None
    grain: int
    lanes: int
    side: tuple[int, ...]
    past: tuple[int, ...]
    ahead: tuple[int, ...]

    def __str__(self) -> str:
        def numbers(of: tuple[int, ...]) -> str: return " ".join(map(str, of))

        high, wide = self.tile or (0, 0)
        parts = {f"outermost {self.outer} as rows": self.outer, f"tiles of {high}x{wide}": self.tile,
                 f"pieces of {self.piece}": self.piece, f"tasks of {self.grain}": True,
                 f"{self.lanes} lanes" + " x " * bool(self.side) + " and ".join(map(str, self.side)): True,
                 f"stores {numbers(self.past)} past the caches": self.past,
                 f"loads {numbers(self.ahead)} ahead": self.ahead}
        return ", ".join(part for part, is_so in parts.items() if is_so)

    def of(self, nest: Nest) -> Nest:
        """The nest, cut."""
        if self.tile and (found := jumping(nest, 0)):
            nest = tiled(nest, *found, self.tile)
        nest = outward(nest, self.outer) if self.outer else nest
        nest = blocked(nest, self.piece) if self.piece else nest
        return replace(nest, grain=self.grain)


class Schedule(Record):
    """How a raw nest runs: lanes `across` its last rows or inside of each, long sums in blocks of a length, and how
    the nests run that are left."""

    across: bool
    block: int | None
    rows: tuple[Rows, ...]

    def __str__(self) -> str:
        sums = f"sums of {self.block}; " if self.block else ""
        return f"lanes {'across' if self.across else 'inside'}; {sums}{'; '.join(map(str, self.rows))}"

    def nests(self, raw: Raw) -> list[Nest]:
        """The nests to run one after the other, a row of the schedule for each."""
        return [rows.of(nest) for rows, nest in zip(self.rows, summed(raw.loops(self.across), self.block), strict=True)]


def schedule(raw: Raw, machine: Machine) -> Schedule:
    """The schedule of a raw nest: as the machine's choices have it, else as it is estimated to be best."""
    return machine.choices.choose(raw.question, candidates(raw, machine))[1]


def candidates(raw: Raw, machine: Machine) -> list[tuple[float, Schedule]]:
    """Schedules with their prices: how badly lanes meet memory, and how far tasks and stores are from the estimate."""
    found: list[tuple[float, Schedule]] = []
    for across in (False, True) if raw.crosses else (False,):
        nest = raw.loops(across)
        block = sums(nest, machine)
        one = Schedule(across, block, tuple(rows(each, machine) for each in summed(nest, block)))
        price = strided(nest, machine) if raw.crosses else 0
        found.append((price, one))
        others = [replace(one, rows=tuple(replace(r, grain=max(1, r.grain * up // down)) for r in one.rows))
                  for up, down in ((4, 1), (1, 4))]
        others.append(replace(one, rows=tuple(replace(r, past=()) for r in one.rows)))
        found += [(price + 1, other) for other in dict.fromkeys(others) if other != one]
    return found


def strided(nest: Nest, machine: Machine) -> int:
    """How badly lanes meet memory: accesses in lane loops that are neither contiguous nor the same for all lanes."""
    found = 0 if any(in_lanes(nest.body)) else machine.few
    for step in in_lanes(nest.body):
        if isinstance(step, Loop):
            found += crossing(step.body, step.axis)
        else:
            short = known(step.axes[-1].extent, machine.few) < machine.few and bool(nest.rows)
            found += crossing(step.bodies[-1], step.axes[-1]) + 4 * short
    return found


def in_lanes(block: Block) -> Iterator[Loop | Fold]:
    """The loops and folds that run in lanes, in order."""
    for step in inside(block):
        if isinstance(step, Loop | Fold) and step.lane and (isinstance(step, Loop) or step.axes):
            yield step


def crossing(block: Block, lane: Axis) -> int:
    """Loads and stores of a block that lanes along an axis make jump."""
    offsets = [(s.offset, s.depends if isinstance(s, Load) else variables(s.offset))
               for s in inside(block) if isinstance(s, Load | Store)]
    return sum(lane.name in depends and coefficient(offset, lane.name) not in (0, 1) for offset, depends in offsets)


def sums(nest: Nest, machine: Machine) -> int | None:
    """How long blocks are that are summed on their own; None where one set of accumulators sums all."""
    if any(isinstance(s, Store) and s.adds for s in inside(nest.body)):
        *lead, last = nest.rows
        many = 4 * machine.tasks
        blocks = max(1, many // max(1, known(size_of(tuple(lead)), many)))
        return max(1, machine.grain // work_of(nest.body), -(-known(last.extent, many) // blocks))
    steps, across = core(nest)
    folds = [s for s in steps if isinstance(s, Fold)]
    if len(folds) != 1 or any(isinstance(s, Loop) for s in steps) or not folds[0].axes:
        return None
    (fold,) = folds
    if any(isinstance(s, Store) for body in fold.bodies for s in body):
        return None
    width = across.axis.extent if across else 1
    work = size_of(fold.axes) * width
    tasks = known(size_of(nest.rows), machine.tasks) * known(ceil(width, machine.columns), machine.tasks)
    long = across is None and known(size_of(fold.axes), 0) > LONG
    if not (tasks < machine.tasks or long) or known(work, 4 * machine.grain) <= 2 * machine.grain:
        return None
    step = max(1, 2 * machine.grain // max(1, known(size_of(fold.axes[1:]) * width, 1)))
    return None if known(fold.axes[0].extent, step + 1) <= step else step


def rows(nest: Nest, machine: Machine) -> Rows:
    """The outer loops of a nest as rows, long lane loops cut, as many rows to a task as make it worth while, and what
    its vectors and caches do."""
    outer, tile, piece, cut = 0, None, None, nest
    if not nest.rows and (found := jumping(nest, machine.few)):
        tile = 4 * machine.columns, machine.columns
        cut = tiled(nest, *found, tile)
    elif not nest.rows:
        outer = short(chained(nest), machine)
        cut = outward(nest, outer) if outer else nest
    if len(cut.body.steps) == 1 and isinstance(loop := cut.body.steps[0], Loop) and loop.lane:
        size = max(machine.columns, machine.grain // max(1, work_of(loop.body)) // machine.columns * machine.columns)
        piece = size if known(loop.axis.extent, size + 1) > size else None
        cut = blocked(cut, piece) if piece else cut
    grain = max(1, machine.grain // work_of(cut.body))
    last = cut.rows[-1].extent if cut.rows else 1
    if (len(cut.rows) > 1 or is_large(cut)) and isinstance(last, int) and last > grain:
        grain = next(g for g in range(grain, 0, -1) if last % g == 0 or 2 * g < grain)
    steps = [*inside(cut.body)]
    stores, loads = ([s for s in steps if isinstance(s, kind)] for kind in (Store, Load))
    return Rows(outer, tile, piece, grain, lanes(steps, machine),
                tuple(unrolled(s.body if isinstance(s, Loop) else s.bodies[-1]) for s in in_lanes(cut.body)),
                tuple(k for k, s in enumerate(stores) if isinstance(s, Store) and streams(s, machine)),
                tuple(k for k, s in enumerate(loads) if isinstance(s, Load) and is_long(s, machine)))


def is_large(nest: Nest) -> bool:
    """Whether rows are of what is large: tasks that divide them may become parts of a chain."""
    loads = [s for s in inside(nest.body) if isinstance(s, Load)]
    return any(isinstance(n := product(s.value.shape), int) and n * s.dtype.bytes >= LARGE for s in loads)


def short(chain: list[Loop], machine: Machine) -> int:
    """How many of the outer loops become rows: loops stay inside where a row would be too short without them."""
    inner, count = 1, len(chain)
    while count > 1 and inner < machine.stretch:
        count -= 1
        inner *= known(chain[count].axis.extent, machine.stretch)
    return count if count < len(chain) else 0


def unrolled(body: Block) -> int:
    """How many vectors run side by side: more where little is computed."""
    work = sum(instructions(step.op, *(a.dtype for a in step.args)) for step in inside(body) if isinstance(step, Apply))
    work += sum(64 for step in inside(body) if isinstance(step, Generate) and len(step.args) > 0)
    return 4 if work <= 8 else 2 if work <= 40 else 1


def lanes(steps: list[Step], machine: Machine) -> int:
    """Lanes of a vector: of float64 where most memory is, else of float32."""
    widths = [step.value.dtype == float64 for step in steps if isinstance(step, Load | Store)]
    return machine.lanes(8 if 2 * sum(widths) > len(widths) else 4)


def streams(store: Store, machine: Machine) -> bool:
    """Whether a store goes past the caches: to a value too large to be found there again, in aligned vectors.

    That spares reading what is overwritten. A fence then makes such stores visible before the task is done.
    """
    value, lanes = store.value, machine.lanes(store.value.dtype.bytes)
    if isinstance(value, Temporary) or not isinstance(size := value.type.size, int) or value.dtype.bytes < 4:
        return False
    odd = [term for monomial, k in of(store.offset).terms if k % lanes for term in [Size(((monomial, k),))]]
    aligned = size % lanes == 0 and len(odd) <= 1 and all(plain(term) for term in odd)
    return aligned and size * value.dtype.bytes >= machine.l3


def is_long(load: Load, machine: Machine) -> bool:
    """Whether a load is of an array that the second cache cannot hold, whose rows are taken in order."""
    size: Dim = product(load.value.shape)
    return not load.computed and (not isinstance(size, int) or size * load.dtype.bytes >= machine.l2)
