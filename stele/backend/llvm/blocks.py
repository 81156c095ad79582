"""Blocks of the loop IR as LLVM IR: loops in lanes with masked tails, folds over fixed lanes in a fixed tree."""
from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir

from stele.backend.llvm.dims import i64
from stele.backend.llvm.elements import Elements, Lanes, Registers
from stele.backend.llvm.launch import i32, known
from stele.backend.llvm.memory import Mask
from stele.backend.llvm.nest import least, loop, shuffle
from stele.backend.llvm.scalars import Scalar
from stele.ir.types import Type, bool_
from stele.kernel.loops import Axis, Block, Fold, Loop, Part, Step, Store


class Blocks(Elements):
    """Writes blocks into a frame."""

    def block(self, block: Block) -> None:
        """The steps of a block, for the values that its loop variables have here."""
        before, self.places = self.places, dict(self.places)
        self.advance(block)
        twins = self.twins(block)
        for step in block:
            if step in twins.values():
                continue    # its gaps are filled by one that comes later
            if isinstance(step, Store) and step in twins:
                self.store_both(twins[step], step)
            else:
                self.step(step)
        self.places = before

    def step(self, step: Step) -> None:
        match step:
            case Loop(axis, body, lane) if lane:
                for _ in self.vectors(axis, self.side[step]):
                    self.block(body)
            case Loop(axis, body, _):
                with self.serial(axis):
                    self.block(body)
            case Fold():
                self.fold(step)
            case Store(_, _, x):
                self.store(step, self.values[x])
            case _:
                self.values[step] = self.element(step)

    def span(self, axis: Axis) -> tuple[ir.Value, ir.Value]:
        """Where a loop starts and stops."""
        stop = self.frame.integer(axis.extent)
        if axis.block is None:
            return i64(0), stop
        outer, length = axis.block
        start = self.b.mul(self.frame.at[outer], i64(length))
        return start, least(self.b, self.b.add(start, i64(length)), stop)

    @contextmanager
    def serial(self, axis: Axis) -> Generator[None]:
        """A loop over single elements."""
        with loop(self.b, *self.span(axis)) as i:
            self.frame.at[axis.name] = i
            yield
            del self.frame.at[axis.name]

    def vectors(self, axis: Axis, many: int) -> Iterator[None]:
        """The pieces of a loop in lanes: `many` full vectors side by side while they fit, then the rest under masks."""
        outer, lanes = self.lanes, self.s.lanes
        start, stop = self.span(axis)
        first, last = known(start), known(stop)
        if first is not None and last is not None:
            rest = (last - first) % (lanes * many)
            if last - first > rest:
                yield from self.piece(axis, start, i64(last - rest), [None] * many)
            if rest:
                full, tail = divmod(rest, lanes)
                masks = [None] * full + ([self.memory.lanes_below(i64(tail))] if tail else [])
                yield from self.piece(axis, i64(last - rest), stop, masks)
        else:
            size = self.b.sub(stop, start)
            whole = self.b.sub(stop, self.b.srem(size, i64(lanes * many)))
            yield from self.piece(axis, start, whole, [None] * many)
            yield from self.piece(axis, whole, stop, None)
        self.lanes = outer

    def piece(self, axis: Axis, start: ir.Value, stop: ir.Value, masks: Sequence[Mask] | None) -> Iterator[None]:
        """A loop over groups of vectors; without masks over single vectors under the mask of what is left."""
        with loop(self.b, start, stop, self.s.lanes * (1 if masks is None else len(masks))) as i:
            self.frame.at[axis.name] = i
            self.lanes = Lanes(axis.name, masks or [self.memory.lanes_below(self.b.sub(stop, i))])
            yield
            del self.frame.at[axis.name]

    def fold(self, fold: Fold) -> None:
        """The loops of a fold, and its totals."""
        outer = self.lanes
        many = self.side[fold] if fold.lane and fold.axes else 1
        cells = [self.cells(part, fold, many) for part in fold.parts]
        self.nested(fold, 0, many, cells)
        self.lanes = outer
        self.totals[fold] = [self.total(part, fold, cell) for part, cell in zip(fold.parts, cells)]

    def cells(self, part: Part, fold: Fold, many: int) -> list[ir.Value]:
        """Accumulators, one for each vector side by side, that hold the identity."""
        in_lanes = bool(fold.lane and fold.axes)
        count = many if in_lanes else len(self.lanes.masks) if self.lanes.name in part.x.depends else 1
        wide = in_lanes or self.lanes.name in part.x.depends
        start = self.s.constant(part.op.identity(Type(part.dtype)), part.dtype)  # type: ignore[attr-defined]
        start = self.s.splat(start) if wide else start
        cells = [self.frame.local(start.value.type) for _ in range(count)]
        for cell in cells:
            self.b.store(start.value, cell)
        return cells

    def nested(self, fold: Fold, k: int, many: int, cells: list[list[ir.Value]]) -> None:
        """The loops of a fold from axis k on."""
        if k == len(fold.axes):
            for part, own in zip(fold.parts, cells):
                self.accumulate(part, own, fold)
            return
        if fold.lane and k == len(fold.axes) - 1:
            for _ in self.vectors(fold.axes[k], many):
                self.inner(fold, k, many, cells)
            return
        with self.serial(fold.axes[k]):
            self.inner(fold, k, many, cells)

    def inner(self, fold: Fold, k: int, many: int, cells: list[list[ir.Value]]) -> None:
        before, self.places = self.places, dict(self.places)
        for body in fold.bodies[k:]:
            self.advance(body)
        for step in fold.bodies[k]:
            self.step(step)
        self.nested(fold, k + 1, many, cells)
        self.places = before

    def accumulate(self, part: Part, cells: list[ir.Value], fold: Fold) -> None:
        """Combines the element into the accumulators; lanes outside of the loop keep theirs."""
        masks = self.lanes.masks if fold.lane and fold.axes else [None] * len(cells)
        for cell, mask, x in zip(cells, masks, self.spread(self.values[part.x], len(masks))):
            old = self.loaded(cell, part)
            new = self.combined(part, old, self.s.cast(x, part.dtype))
            if mask is not None:
                new = self.s.select(self.s.element(mask, bool_), new, old)
            self.b.store(self.s.together(new.value, old.value)[0], cell)

    def combined(self, part: Part, x: Scalar, y: Scalar) -> Scalar:
        return part.op.combine(self.s, x, y)  # type: ignore[attr-defined]

    def loaded(self, cell: ir.Value, part: Part) -> Scalar:
        return self.s.element(self.b.load(cell, typ=cell.allocated_type), part.dtype)

    def total(self, part: Part, fold: Fold, cells: list[ir.Value]) -> Registers:
        """The accumulators as they are, or for a fold in lanes all combined in a fixed tree."""
        found = [self.loaded(cell, part) for cell in cells]
        if not (fold.lane and fold.axes):
            return found
        while len(found) > 1:
            found = [self.combined(part, x, y) for x, y in zip(found[::2], found[1::2])]
        (x,), step = found, self.s.lanes
        while step > 1:
            step //= 2
            x = self.combined(part, x, self.turned(x, step))
        return [self.s.element(self.b.extract_element(x.value, i32(0)), part.dtype)]

    def turned(self, x: Scalar, step: int) -> Scalar:
        """Lane l of the result is lane l + step of x, around the end."""
        lanes = self.s.lanes
        picks = [(k + step) % lanes for k in range(lanes)]
        return self.s.element(shuffle(self.b, x.value, x.value, picks), x.dtype)
