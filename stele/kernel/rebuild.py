"""Blocks copied with loop variables and elements replaced."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from stele.ir.sizes import Dim, names
from stele.kernel.index import substitute, variables
from stele.kernel.loops import Axis, Block, Element, Fold, Loop, Nest, Part, Position, Step, Store, inside
from stele.ops.arguments import is_series


class Rebuild:
    """Copies blocks: variables become the expressions in `dims`, loops those in `axes`, elements those in `elements`.

    A loop whose variable is in `gone` disappears: its body takes its place.
    """

    def __init__(self, dims: Mapping[str, Dim], axes: Mapping[str, Axis], elements: Mapping[Element, Element] = {},
                 gone: frozenset[str] = frozenset()) -> None:
        self.dims, self.axes, self.gone = dims, axes, gone
        self.elements: dict[Element, Element] = dict(elements)
        self.folds: dict[Fold, Fold] = {}

    def block(self, block: Block) -> Block:
        return Block(tuple(new for step in block for new in self.step(step)))

    def step(self, step: Step) -> tuple[Step, ...]:
        match step:
            case Loop(axis, body, lane):
                inner = self.block(body)
                return inner.steps if axis.name in self.gone else (Loop(self.axis(axis), inner, lane),)
            case Fold():
                return self.fold(step),
            case Store(value, offset, x, adds):
                return Store(value, self.dim(offset), self.element(x), adds),
        return self.element(step),

    def fold(self, fold: Fold) -> Fold:
        kept = [(self.axis(a), body) for a, body in zip(fold.axes, fold.bodies) if a.name not in self.gone]
        bodies = tuple(self.block(body) for _, body in kept)
        parts = tuple(Part(p.op, p.dtype, self.element(p.x)) for p in fold.parts)
        self.folds[fold] = Fold(tuple(a for a, _ in kept), bodies, parts, fold.lane)
        return self.folds[fold]

    def axis(self, axis: Axis) -> Axis:
        return self.axes.get(axis.name, axis)

    def dim(self, x: Dim) -> Dim:
        return substitute(x, self.dims)

    def element(self, x: Element) -> Element:
        if x not in self.elements:
            own = [f.name for f in fields(x) if f.name not in ("dtype", "depends", "op", "value")]
            changed = {name: self.part(getattr(x, name)) for name in own}
            depends = frozenset[str]().union(*(variables(self.dims[n]) if n in self.dims else {n} for n in x.depends))
            self.elements[x] = replace(x, depends=depends, **changed)
        return self.elements[x]

    def part(self, x: object) -> object:
        """A field of an element."""
        if is_series(x):
            return tuple(map(self.part, x))
        if isinstance(x, Element):
            return self.element(x)
        if isinstance(x, Fold):
            return self.folds[x]
        return self.dim(x) if hasattr(x, "terms") else x  # type: ignore[arg-type]


def expressions(nest: Nest) -> set[Dim]:
    """All index expressions with loop variables in a nest."""
    found: set[Dim] = set()
    for step in (*inside(nest.prelude), *inside(nest.body)):
        match step:
            case Store(_, offset, _) | Position(_, _, offset):
                found.add(offset)
            case Element():
                found.add(getattr(step, "offset", 0))
                found.update(e for bound in getattr(step, "bounds", ()) for e in bound)
    return {e for e in found if not isinstance(e, int) and any(n[0] == "%" for n in names(e))}
