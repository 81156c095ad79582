"""Gradients of an expression by its history: found by rules once, replayed where a structure was seen before."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stele.backend.base import Program
from stele.backend.buffers import Buffer
from stele.backend.locks import held
from stele.backend.newest import Newest
from stele.eager.evaluate import evaluate, give, number_of, worked
from stele.eager.follow import replaying
from stele.eager.handle import TRACING, Handle, owner
from stele.eager.hooks import LEAVES, of_leaf
from stele.eager.live import Live, alive, cut, forget, is_symbolic, is_there, result
from stele.eager.replay import FREED, MOST, Seen, look
from stele.errors import GraphError
from stele.ir.graph import Op, Parameter, Value, walk
from stele.ir.origin import asked_here
from stele.ops.derived import Watched
from stele.ops.elementwise.unary import StopGradient
from stele.ops.gather import rows_added
from stele.ops.linear import full
from stele.transform.autodiff import gradients

Found = list[tuple[Handle, Live]]


@dataclass
class Pull:
    """How the gradients of an expression are had, values by their numbers: what the program takes (`~k` is the gradient
    that leaf k has so far), which of its results are values, and for each leaf that gets a gradient which result that
    is, or `~k` for value k. The history of some goes, and what they are then. Ops of its key are `held`.
    """

    program: Program
    inputs: list[int | Buffer]
    results: list[int | None]
    gradients: list[tuple[int, Parameter, int]]
    forgotten: list[tuple[int, Op]]
    held: list[Op]
    sizes: Mapping[str, int]


PULLS: Newest[Any, Pull] = Newest(MOST)


def backward(value: Live, seed: Value | None, retain: bool) -> Found:
    """The leaves that a value depends on, each with its gradient added to the one it has; the cotangent of the value is
    one without a seed. Where a structure was seen before they have their numbers; otherwise `settle` is to follow.
    """
    if seed is not None or not replaying([value]) or TRACING.get() is not None:
        return searched(value, full(value.shape, 1, value.dtype) if seed is None else seed)
    with held():
        while (seen := look([value], through=True)) is not None and not watched(seen):
            before = [None if h._grad is None else h._grad._value for _, h in seen.ends]
            evaluate([*seen.first, *(g for g in before if g is not None)])
            if not any(map(is_there, seen.pending)):
                break
        else:
            return searched(value, full(value.shape, 1, value.dtype))
        key = seen.key, tuple(seen.literals), retain, *(None if g is None else g.type for g in before)
        pull = PULLS.get(key)
        return found(value, retain, seen, before, key) if pull is None else replayed(pull, seen, before)


def searched(value: Value, seed: Value) -> Found:
    """`backward` by the rules, as expressions."""
    refuse_freed([value])
    leaves = [h for v in walk([value]) if (h := owner(v)) is not None and h.leaf and h.requires_grad]
    pulled = [(h, of_leaf(h, g)) for h, g in zip(leaves, gradients([value], [seed], [h.value for h in leaves]))
              if g is not None]
    return [(h, kept(g if h.grad is None else h.grad.value + g)) for h, g in pulled]


def kept(g: Value) -> Live:
    """A gradient as `.grad` holds it, with no way back to what it was computed from; parts of few rows stay parts."""
    return cut(g) if rows_added(g) is None else Live(g.op, tuple(map(cut, g.args)), g.type, g.where)


def watched(seen: Seen) -> bool:
    """Whether hooks are to see gradients of an expression."""
    return any(isinstance(op, Watched) for op in seen.held) or (
        bool(LEAVES.known) and any(LEAVES.of(h)[0] for _, h in seen.ends))


def settle(value: Live, pulled: Sequence[Live], retain: bool) -> None:
    """Numbers for a value and its gradients, unless they are symbolic; then the history is freed unless `retain`."""
    if TRACING.get() is not None or any(map(is_symbolic, walk([value]))):
        return
    evaluate([value, *pulled])
    if not retain:
        free([value])


def found(value: Live, retain: bool, seen: Seen, before: Sequence[Live | None], key: Any) -> Found:
    """`backward` by the rules, kept for the next expression of this structure."""
    refuse_freed([value])
    number, seen.values = seen.places(), seen.opened()
    places = [k for k, _ in seen.ends]
    pulled = gradients([value], [full(value.shape, 1, value.dtype)], [seen.values[k] for k in places])
    made = [g if g is None else alive(g if old is None else old + g) for g, old in zip(pulled, before)]
    wanted = [v for v in dict.fromkeys([value, *(g for g in made if g is not None)]) if v.data is None]
    order = walk(wanted, stop=is_there)
    work = worked(wanted, order, retain)
    so_far = {g: ~k for k, g in enumerate(before) if g is not None}
    inputs: list[Any] = [*(number.get(v, so_far.get(v, v.data)) for v in work.leaves), *map(number_of, work.literals)]
    place = {v: k for k, v in enumerate(work.kept)}
    gone = [*work.run(), *(() if retain else free([value]))]
    forgotten = [(number[v], v.op) for v in gone if v in number]
    from_ = [(k, Parameter("value", g.type), place[g] if g in place else ~number[g])
             for k, g in enumerate(made) if g is not None]
    pull = Pull(work.program, inputs, [number.get(v) for v in work.kept], from_, forgotten, seen.held, work.sizes)
    if not work.trial:
        PULLS[key] = pull
    return handed(pull, seen, [v.data for v in work.kept])


def replayed(pull: Pull, seen: Seen, before: Sequence[Any]) -> Found:
    """`backward` as it was for another expression of this structure."""
    values = seen.values = seen.opened()
    buffers = [k if isinstance(k, Buffer) else values[k].data if k >= 0 else before[~k].data for k in pull.inputs]
    return handed(pull, seen, give(pull, pull.program, buffers, values))


def handed(pull: Pull, seen: Seen, made: Sequence[Buffer]) -> Found:
    """The leaves with their gradients: values that are nothing but numbers."""
    where = asked_here()
    return [(seen.ends[leaf][1], result(op, where, made[k] if k >= 0 else seen.values[~k].data))
            for leaf, op, k in pull.gradients]


def free(results: Iterable[Live]) -> list[Live]:
    """Drops the history behind results, so that what only a gradient needed is released; returns whose it was."""
    done: list[Live] = []
    for v in walk(results, stop=lambda v: isinstance(v.op, StopGradient)):
        if v.args and is_there(v) and (h := owner(v)) is not None and not h.leaf:
            forget(v, Parameter(FREED, v.type))
            done.append(v)
    return done


def refuse_freed(results: Iterable[Value]) -> None:
    """Raises where a gradient would have to pass through history that an earlier `backward` has freed."""
    for v in walk(results, stop=lambda v: isinstance(v.op, StopGradient)):
        if isinstance(v.op, Parameter) and v.op.label == FREED:
            raise GraphError("backward through an expression whose history an earlier backward has freed",
                             hint="Call the first one as loss.backward(retain_graph=True).")
