"""Which values become one kernel: producers join their readers where one pass over rows serves all."""
from __future__ import annotations

from collections.abc import Iterator

from stele.ir.graph import Graph, Value
from stele.ir.record import Single
from stele.ir.report import Report
from stele.ir.types import product
from stele.kernel.groups import Group, Groups, Refusal
from stele.kernel.index import Splits, regroup, variable, variables
from stele.kernel.inline import LARGEST
from stele.kernel.kinds import Contraction, Kernel, Nest, Place, Repeat, unwoven, woven
from stele.kernel.machine import COMMON, Machine
from stele.kernel.order import ordered
from stele.kernel.space import Space, Unfit, follow, measured
from stele.ops.linear import Pad


class Fused(Single):
    """Kernels in the order they run; `views` maps values to those whose buffer they share."""

    kernels: tuple[Kernel, ...]
    views: dict[Value, Value]


def show_kernel(kernel: Kernel) -> str:
    """A kernel as one line: its kind, what it reads, what it computes and what of that it stores.

    >>> from stele.ir.graph import parameter
    >>> from stele.ir.types import Type, float32
    >>> from stele.ops import operators
    >>> x = parameter("x", Type(float32, (3,)))
    >>> print(*map(show_kernel, fuse(Graph((x,), (x * x + 1,))).kernels))
    nest (float32[3]) -> Mul Broadcast Add -> (float32[3])
    """
    inputs, results = (", ".join(str(v.type) for v in side) for side in (kernel.inputs, kernel.results))
    return f"{kernel.kind} ({inputs}) -> {' '.join(v.op.name for v in kernel.body)} -> ({results})"


def fuse(graph: Graph, machine: Machine = COMMON, report: Report | None = None) -> Fused:
    """The kernels of a graph without composite ops, for a machine.

    Two elementwise ops are one kernel: `c = b * a; d = c + 1` makes one with `d` as its only result.
    """
    groups = Groups(graph, machine, report or Report())
    join_parts(groups)
    join_producers(groups)
    join_epilogues(groups)
    join_siblings(groups)
    weave(groups)
    return Fused(tuple(map(groups.kernel, ordered(groups))), groups.views)


def lying(graph: Graph, machine: Machine = COMMON) -> tuple[list[Value], list[Value]]:
    """What loops and products of a graph store for other kernels, and what others than these read from memory."""
    kernels = fuse(graph, machine).kernels
    return ([v for kernel in kernels if isinstance(kernel, Nest | Contraction) for v in kernel.results],
            [v for kernel in kernels if not isinstance(kernel, Nest | Contraction | Repeat) for v in kernel.inputs])


def join_parts(groups: Groups) -> None:
    """Joins groups whose results take turns in memory: one pass stores both."""
    for _, makers in weaves(groups):
        if len(makers) == 2:
            first, then = sorted(makers, key=lambda g: groups.order[g.results[-1]])
            join(groups, first, then)


def weave(groups: Groups) -> None:
    """Lets a group of two results that take turns in memory store them there itself."""
    for group, makers in weaves(groups):
        made, *more = makers
        if more or groups.comes_before(made, group):
            continue
        body, results = groups.united_body(made, group), groups.united_results(made, group)
        alone = len(set(parts := unwoven(results))) == len(parts)     # nobody else reads what takes turns
        nested = any(woven(a) for v in body for a in v.args)          # what takes turns is stored, and read from memory
        if alone and not nested and measured(parts, body) is not None:
            groups.unite(made, group, body, anchor=None)


def weaves(groups: Groups) -> Iterator[tuple[Group, set[Group]]]:
    """Groups that lay two results side by side, with those that loops of ours compute them in, if that is all."""
    for group in [*groups.groups]:
        if group in groups.groups and (v := group.anchor) is not None and (parts := woven(v)):
            makers = [groups.maker(a) for a in parts]
            if all(g is not None and g.anchor is None for g in makers):
                yield group, {g for g in makers if g is not None}


def join_producers(groups: Groups) -> None:
    """Takes groups into those that read their results, in order, so that rows are known before they are shared."""
    for group in [*groups.groups]:
        if group.anchor is not None or group not in groups.groups:
            continue
        refused: set[Group] = set()
        while candidates := [g for g in groups.needs(group) - refused if g.anchor is None]:
            before = max(candidates, key=lambda g: groups.order[g.results[-1]])
            refused = set() if join(groups, before, group) else refused | {before}


def join_epilogues(groups: Groups) -> None:
    """Takes loops over the result of a contraction into its store."""
    for group in [*groups.groups]:
        if group not in groups.groups or (v := group.anchor) is None or groups.role[v] is not Contraction:
            continue
        for reader in sorted(groups.readers.get(v, ()), key=lambda g: groups.order[g.results[-1]]):
            body = groups.united_body(group, reader)
            if is_noted(groups, group, reader, unstored(groups, group, v, reader, body)):
                groups.unite(group, reader, body, anchor=v)
                group = reader


def join_siblings(groups: Groups) -> None:
    """Joins groups over the same space that read the same memory."""
    by_shape: dict[object, list[Group]] = {}
    for group in groups.groups:
        if group.anchor is None:
            by_shape.setdefault(tuple(group.domain), []).append(group)
    for alike in by_shape.values():
        for k, group in enumerate(alike):
            for other in alike[k + 1:k + 9]:
                shared = any(a.shape == group.domain for a in group.inputs & other.inputs)
                if shared and other in groups.groups and group in groups.groups and other not in groups.needs(group):
                    join(groups, group, other)


def is_noted(groups: Groups, first: Group, then: Group, refusal: Refusal | None) -> bool:
    """Whether two groups become one, which the report learns."""
    reason, price, limit = refusal or Refusal("one pass serves both")
    groups.report.decided("apart" if refusal else "joined", f"{first} with {then}", reason, first.where | then.where,
                          price, limit)
    return refusal is None


def join(groups: Groups, first: Group, then: Group) -> bool:
    """Makes one group of two, if one space serves both and it pays."""
    body = groups.united_body(first, then)
    if is_noted(groups, first, then, refusal := refused(groups, first, then, body)):
        groups.unite(first, then, body, None)
    return refusal is None


def refused(groups: Groups, first: Group, then: Group, body: set[Value]) -> Refusal | None:
    """Why two groups may not become one whose body this is."""
    values = groups.values
    again = groups.machine.again
    if any(values.is_rounded(v) and values.is_outcome(v) for v in first.results):
        return Refusal("a product stores it, in half the memory")
    if product(first.results[-1].shape) != product(then.domain):
        folds = any(groups.role[v] is Place.FOLD for v in body)
        for v in first.results:
            if values.is_padded_outcome(v):
                return Refusal("a product stores it, and what reads it goes over more")
            if not folds and values.weight(v) > again:
                return Refusal("dear to compute for each element that reads it", values.weight(v), again)
    if len(body) > LARGEST:
        return Refusal("too many values for one kernel", len(body), LARGEST)
    if groups.comes_before(first, then) or groups.comes_before(then, first):
        return Refusal("other kernels stand between them")
    if first.is_plain and then.is_plain and first.domain == then.domain and len(body) == len(first.body | then.body):
        return None
    results, weights = groups.united_results(first, then), [values.weight(v) for v in first.results]
    def pays() -> Refusal | None: return unpaid(groups, measured(results, body), first)

    return groups.refusals.of(results, body, pays, first.results, *weights)


def unpaid(groups: Groups, space: Space | None, first: Group) -> Refusal | None:
    """Why one pass would not pay, or that there is none: something dear is computed again for each element, or rows are
    few or too long. Where results lie in another order than the rows, each row stores short stretches all over them:
    only small ones may.
    """
    machine = groups.machine
    if space is None:
        return Refusal("no rows serve both")
    for v in first.results:
        if (weight := groups.values.weight(v)) > machine.again and not space.once(v):
            return Refusal("dear to compute again for each element", weight, machine.again)
    if not space.folds:
        return None
    rows = product(tuple(space.ranges[r] for r in space.rows))
    passes = [s.loops for s in space.stages if s.loops] + [f.loops for f in space.folds.values()]
    work = [product(tuple(space.ranges[n] for n in loops)) for loops in passes]
    kept_inside = any(variables(e) - set(space.rows) for index in space.stores.values() for e in index)
    one_pass = len(set(map(id, space.folds.values()))) == 1 and not any(s.loops for s in space.stages)
    if one_pass and not kept_inside:
        return None
    longest, fits = max((w if isinstance(w, int) else 0 for w in work), default=1), machine.resident
    if isinstance(rows, int):
        if not all(isinstance(w, int) for w in work):
            return Refusal("rows of an open length")
        outer = set[str]().union(*(variables(index[0]) for index in space.stores.values() if index))
        apart = bool(space.rows) and not outer <= set(space.rows)
        fits = fits if rows >= machine.tasks and not apart else fits // max(rows, 1)
    return None if longest <= fits else Refusal("rows are few, or longer than a cache", longest, fits)


def unstored(groups: Groups, group: Group, v: Value, reader: Group, body: set[Value]) -> Refusal | None:
    """Why a contraction v may not store what a reader computes: only if that is computed from the same element of v and
    what else there is in memory."""
    at = tuple(0 if n == 1 else variable(f"c{k}") for k, n in enumerate(v.shape))
    if reader.anchor is not None or any(r.type.size != v.type.size for r in reader.results):
        return Refusal("the product does not store what has another size")
    other = {u.op.family for u in reader.body} - {"elementwise", "movement", "generate"}
    if other or any(isinstance(u.op, Pad) for u in reader.body):
        return Refusal("the product stores elementwise ops and movement alone")
    if groups.comes_before(group, reader):
        return Refusal("other kernels stand between them")
    try:
        splits = Splits(f"%c{v.ndim - 1}")
        found = follow(reader.results, body, at, v.shape, splits)
        once = all(found[r] == {regroup(at, v.shape, r.shape, splits)} for r in reader.results)
        return None if once and found.get(v) == {at} else Refusal("other elements of the product are needed too")
    except Unfit:
        return Refusal("its elements are not those of the product, one by one")
