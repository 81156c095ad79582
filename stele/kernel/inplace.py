"""Which results may be written over which inputs."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from stele.ir.graph import Constant, Value, fed
from stele.ir.sizes import Dim
from stele.kernel.kinds import Contraction, Kernel, Matrices, Nest, Scatter
from stele.kernel.slots import Slots
from stele.kernel.space import depths, leading
from stele.kernel.steps import Again, Crossing, Loop, Run, Step, everything, runs
from stele.ops import gather
from stele.ops.gather import CheckCount, CheckIndex, Gather, ScatterOnto, ScatterPut


def overwritable(kernel: Kernel, slots: Slots) -> Iterator[tuple[Value, Value]]:
    """Pairs (result, input) of one type where element i of the input is read for element i of results only.

    An input whose memory is also read as another one, reshaped, is left alone, and so is one that several results are
    made of in loops of their own.
    """
    match kernel:
        case Scatter(anchor=Value(ScatterOnto() | ScatterPut(), [x, *others])):
            if slots.of(x) not in map(slots.of, others):
                yield kernel.anchor, x
            return
        case Nest() | Contraction(): pass
        case _: return
    readers = Counter(map(slots.of, kernel.inputs))
    leads = own = set[Value]()      # results that no other is made of, and those that loops of their own store
    if isinstance(kernel, Nest) and len(kernel.results) > 1:
        found, together = leading(kernel.results, depths(kernel.results, kernel.body))
        leads, own = {*found}, {*found}.difference(together)
    for x in kernel.inputs:
        if readers[slots.of(x)] > 1 or not any(fits(y, x) for y in kernel.results):
            continue
        touched = fed(kernel.body, (x,))
        if any(v.op.family != "elementwise" for v in touched - {x}):
            continue
        made = [y for y in kernel.results if y in touched]
        apart = own & touched and len(leads & touched) > 1
        if not apart and all(fits(y, x) for y in made):
            yield from ((y, x) for y in made)


def fits(y: Value, x: Value) -> bool:
    """Whether y takes the bytes of x, element by element."""
    return y.shape == x.shape and y.dtype.bytes == x.dtype.bytes


def is_over(slots: Slots, steps: Sequence[Step], y: Value, new: int, inside: int) -> bool:
    """Whether the steps of a loop may write a new carry y, at `new`, over the old one, which they read at `inside`."""
    run = next((run for run in steps if isinstance(run, Run) and slots.base(y) in run.kernel.results), None)
    if run is None or slots.table[inside].last > run.clock:
        return False
    return slots.table[inside].last < run.clock or any(
        slots.of(v) == new and slots.of(x) == inside for v, x in overwritable(run.kernel, slots))


def certain(steps: Sequence[Step]) -> Iterator[Run]:
    """The kernels that run in every call."""
    for step in steps:
        if isinstance(step, Run):
            yield step
        elif isinstance(step, Loop) and isinstance(step.length, int) and step.length > 0:
            yield from certain(step.body)


def is_looked_at(i: Value, size: Dim) -> bool:
    """Whether indices are inside for sure where a kernel reads them."""
    match i:
        case Value(CheckIndex()): return True
        case Value(Constant(array)): return isinstance(size, int) and bool(((array >= 0) & (array < size)).all())
    return False


def doubtful(steps: Sequence[Step]) -> Iterator[int]:
    """The clocks of kernels that may refuse a matrix, or find an index outside that none before has looked at.

    What is in a branch, or in a loop of no steps, may not have run.
    """
    seen = set[tuple[Value, Dim, bool]]()
    always = set(certain(steps))
    for run in runs(steps):
        if isinstance(run.kernel, Matrices):
            yield run.clock
        for v in run.kernel.body:
            match v:
                case Value(CheckIndex(size), [i]): key = i, size, isinstance(v.op, CheckCount)
                case Value(Gather(axis), [x, i]): key = i, x.shape[axis], False
                case Value(gather.Scatter(_, size, wraps), [*_, i]): key = i, size, wraps
                case _: continue
            if key not in seen and not is_looked_at(i, key[1]):
                yield run.clock
                seen |= {key} if run in always else set()


def share(slots: Slots, steps: Sequence[Step], donated: Mapping[int, int]) -> dict[int, int]:
    """Lets temporaries take over the memory of inputs that die, and donated parameters that of their results.

    A temporary that came to be before its kernel runs, as results of a branch do, another way may fill sooner.
    `donated` maps result slots to parameter slots; what comes back is the part of it that is possible: nothing is
    overwritten before the last call into Python, or the last kernel that may report something, since that leaves
    everything as it was, nor before the end of a loop that may never end, since what interrupts that does so, too.
    """
    crossed = max((step.last if isinstance(step, Again) else step.clock for step in everything(steps)
                   if isinstance(step, Crossing | Again)), default=0)
    crossed = max(crossed, *doubtful(steps), -1)
    pairs: dict[tuple[int, int], int] = {}
    for run in runs(steps):
        clock, taken = run.clock, set[int]()
        for y, x in overwritable(run.kernel, slots):
            new, old = slots.of(y), slots.of(x)
            pairs[new, old] = clock
            root = slots.root(old)
            if slots.table[old].last == clock == slots.table[new].first and new not in taken and root not in taken \
                    and slots.table[new].kind == slots.table[root].kind == "temp" and slots.table[new].home is None:
                slots.table[new].home = root
                slots.table[root].last = max(slots.table[root].last, slots.table[new].last)
                taken |= {new, root}
    return {new: old for new, old in donated.items()
            if slots.table[new].first > crossed and (slots.table[old].last < slots.table[new].first
            or slots.table[old].last == slots.table[new].first == pairs.get((new, old), -1))}
