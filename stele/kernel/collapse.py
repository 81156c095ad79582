"""Adjacent loops over jointly contiguous memory become one loop."""
from __future__ import annotations

from collections.abc import Iterator

from stele.ir.sizes import Dim
from stele.kernel.index import coefficient, substitute
from stele.kernel.loops import Axis, Block, Fold, Loop, Nest, inside
from stele.kernel.rebuild import Rebuild, expressions


def collapse(nest: Nest) -> Nest:
    """The nest with each pair of perfectly nested loops merged in which all memory is walked through in step."""
    extents: dict[str, Dim] = {a.name: a.extent for a in nest.rows}
    pairs = [*zip(extents, [*extents][1:]), *perfect(nest.body, extents)]
    walked = expressions(nest)
    merged: dict[str, str] = {}
    for outer, inner in reversed(pairs):
        inner = merged.get(inner, inner)
        if all(in_step(e, outer, inner, extents[inner]) for e in walked):
            merged[outer] = inner
            extents[inner] = extents[outer] * extents[inner]
            walked = {substitute(e, {outer: 0}) for e in walked}
    if not merged:
        return nest
    return apply(nest, merged, extents)


def apply(nest: Nest, merged: dict[str, str], extents: dict[str, Dim]) -> Nest:
    """The nest without the loops that `merged` maps to those that take over."""
    gone = frozenset(merged)
    axes = {n: Axis(n, e) for n, e in extents.items()}
    copy = Rebuild(dict.fromkeys(gone, 0), axes, gone=gone)
    rows = tuple(axes[a.name] for a in nest.rows if a.name not in gone)
    return Nest(rows, nest.grain, copy.block(nest.prelude), copy.block(nest.body))


def perfect(block: Block, extents: dict[str, Dim]) -> Iterator[tuple[str, str]]:
    """Pairs of loops with nothing between them, outer first; notes all extents."""
    for step in inside(block):
        match step:
            case Loop(axis, body, _):
                extents[axis.name] = axis.extent
                match body.steps:
                    case (Loop(inner, _, _),):
                        yield axis.name, inner.name
            case Fold(axes, bodies, _, _):
                extents |= {a.name: a.extent for a in axes}
                yield from ((a.name, b.name) for a, b, body in zip(axes, axes[1:], bodies) if not body.steps)


def in_step(e: Dim, outer: str, inner: str, extent: Dim) -> bool:
    """Whether an expression moves by one outer step exactly as by `extent` inner steps."""
    a, b = coefficient(e, outer), coefficient(e, inner)
    return a is not None and b is not None and a == b * extent
