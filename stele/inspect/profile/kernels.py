"""What the kernels of a program are: what each computes and moves by its price, and for which lines and layers."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from stele import pipeline
from stele.backend.cpu.build import Laid, lay_out
from stele.backend.cpu.program import Program
from stele.backend.llvm.pieces import STEP, work_of
from stele.inspect.profile.origins import Place, places_of
from stele.ir.graph import Graph, Value
from stele.ir.report import Report
from stele.ir.sizes import Dim, at
from stele.ir.types import TupleType
from stele.kernel.kinds import Host, Kernel
from stele.kernel.slots import Slots, bytes_of
from stele.kernel.steps import Crossing, Loop, Run, Step, runs, within

QUIET = {"movement", "generate", "leaf"}
"""Families of ops that a kernel is not named after, unless it has no others."""
PRODUCTS = {"contraction", "foreign", "matrices"}


class Shared(NamedTuple):
    """A place, and its share of a kernel."""

    place: Place
    share: float


@dataclass(frozen=True)
class Work:
    """One kernel of a program at given sizes: its kind and ops; the multiplications of its products and the
    instructions of its loops, those of an element of `width` bytes; the bytes that one start reads and writes; whose
    work it is; whether what it makes is kept from call to call.
    """

    kind: str
    what: str
    work: int
    bytes: int
    width: int
    places: tuple[Shared, ...]
    kept: bool = False


def kernels(program: Program, graph: Graph, sizes: Mapping[str, int]) -> list[Work]:
    """The kernels of a timed program in the order of its report, with the origins that the values of `graph` have."""
    laid = laid_out(replace(program.request, graph=Graph(graph.parameters, graph.results)))
    return [*found(laid.steps, laid.slots, {**sizes, **laid.slots.private})]


def laid_out(request: pipeline.Request) -> Laid:
    """The stages of the compiler up to kernels and buffers, once more: programs on the disk keep neither."""
    report = Report()
    if request.options.memory is not None:
        return pipeline.write(request, lambda module: None, report)[0]
    return lay_out(pipeline.lower(request, report), report)


def found(steps: Sequence[Step], slots: Slots, sizes: Mapping[str, int]) -> Iterator[Work]:
    """Kernels as a program numbers them: those of loops before the loop, where that is one launch."""
    for step in steps:
        if isinstance(step, Run | Crossing):
            yield one(step.kernel, slots, sizes)
        elif not isinstance(step, Loop) or step.rows is None:
            for inner in within(step):
                yield from found(inner, slots, sizes)
        else:
            rows = {**sizes, step.rows.name: at(step.rows.total, sizes)}
            inner = [one(run.kernel, slots, rows) for run in runs(step.body)]
            yield from inner
            yield whole(step, inner, sizes)


def one(kernel: Kernel, slots: Slots, sizes: Mapping[str, int]) -> Work:
    """One kernel."""
    prices = [(v, price(v, sizes)) for v in kernel.body]
    made = [t for v in kernel.results for _, t in slots.arrays(v)]
    moved = sum(at(bytes_of(t), sizes) for t in made) + sum(read(v, kernel, sizes) for v in kernel.inputs)
    work = 0 if isinstance(kernel, Host) else sum(n for _, n in prices)
    kept = not isinstance(kernel, Host) and slots.is_kept(kernel)
    return Work(kernel.kind, title(kernel), work, moved, max((t.dtype.bytes for t in made), default=4),
                   shares(prices), kept)


def whole(loop: Loop, inner: Sequence[Work], sizes: Mapping[str, int]) -> Work:
    """A loop of the graph that runs in one launch: its kernels at all steps; it moves what comes in and goes out."""
    length, v = at(loop.length, sizes), loop.value
    types = [*(a.type for a in v.args), *(v.type.items if isinstance(v.type, TupleType) else (v.type,))]
    total = sum(k.work for k in inner) or 1
    places = Counter[Place]()
    for k in inner:
        for place, share in k.places:
            places[place] += share * (k.work or 1 / len(inner)) / total  # type: ignore[assignment]
    rest = sum(places.values())
    return Work("scan", f"{length} steps of {', '.join(dict.fromkeys(k.what for k in inner))}",
                   length * sum(k.work for k in inner), sum(at(bytes_of(t), sizes) for t in types),
                   max((k.width for k in inner), default=4),
                   tuple(Shared(place, share / rest) for place, share in places.items()))


def price(v: Value, sizes: Mapping[str, int]) -> int:
    """The multiplications of a product, or the instructions of a loop: one for each element is one."""
    if isinstance(v.type, TupleType):
        return sum(at(a.type.size, sizes) for a in v.args if not isinstance(a.type, TupleType))
    work = at(work_of(v), sizes)
    return work if v.op.family in PRODUCTS else work // STEP


def read(x: Value, kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Bytes of an operand that a kernel reads: no more than what moves are to take of it."""
    if isinstance(x.type, TupleType):
        return 0
    inside = [v for v in kernel.body if any(a is x for a in v.args)]
    taken: Dim = x.type.size
    parts = [v.type.size for v in inside if v.op.family == "movement" and not isinstance(v.type, TupleType)]
    most = at(taken, sizes)
    if parts and len(parts) == len(inside):
        most = min(most, sum(at(n, sizes) for n in parts))
    return most * x.dtype.bytes


def title(kernel: Kernel) -> str:
    """What a kernel computes: what it is about, the other ops, and what it makes."""
    ops = Counter(v.op.name for v in kernel.body if v.op.family not in QUIET) or Counter(
        v.op.name for v in kernel.body)
    about = [kernel.anchor.op.name] if kernel.anchor is not None and kernel.anchor.op.name in ops else []
    names = [name if (n := ops[name]) == 1 else f"{n} {name}" for name in dict.fromkeys([*about, *ops])]
    made = [str(v.type) for v in kernel.results]
    few = " ".join(names[:5]) + f" and {len(names) - 5} more" * (len(names) > 5)
    return f"{few} \N{RIGHTWARDS ARROW} {made[0]}" + f" and {len(made) - 1} more" * (len(made) > 1)


def shares(prices: Sequence[tuple[Value, int]]) -> tuple[Shared, ...]:
    """Whose work a kernel is, by the prices of its values; the shares make one."""
    total = sum(n for _, n in prices)
    weights = [(v, n / total if total else 1 / len(prices)) for v, n in prices]
    by_place: dict[Place, float] = {}
    for v, weight in weights:
        places = places_of(v.where)
        for place in places:
            by_place[place] = by_place.get(place, 0.0) + weight / len(places)
    return tuple(Shared(place, share) for place, share in by_place.items() if share or not total)
