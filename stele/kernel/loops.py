"""The loop IR: nests of loops over elements of values, as printable data.

A `Nest` runs its body once per row; rows are cut into tasks. Inside, a `Block` lists steps in order: elements
(each computed once per iteration of the innermost loop around it), loops, folds and stores. Indices, offsets and
bounds are `ir.sizes` expressions over loop variables and named sizes; offsets count elements of a row-major buffer.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from stele.ir.graph import Op, Value
from stele.ir.record import Single
from stele.ir.sizes import Dim, ceil
from stele.ir.types import DType, product


class Axis(Single):
    """A loop variable `name` from 0 to `extent`; with `block = (v, n)` from v*n to at most (v+1)*n."""

    name: str
    extent: Dim
    block: tuple[str, int] | None = None

    def __str__(self) -> str:
        if self.block is None:
            return f"{self.name} < {self.extent}"
        outer, n = self.block
        return f"{n}*{outer} <= {self.name} < min({n}*({outer}+1), {self.extent})"


class Temporary(Single):
    """Memory between two nests of one kernel; stands where a Value stands in loads and stores."""

    dtype: DType
    shape: tuple[Dim, ...]


Buffer: TypeAlias = "Value | Temporary"
Bound = tuple[Dim, Dim, Dim]
"""`(e, low, high)`: holds where low <= e < high."""


class Element(Single):
    """A number per iteration; `depends` names the loop variables it varies with."""

    dtype: DType
    depends: frozenset[str]


class Load(Element):
    """Element `offset + sum(x * stride for x, stride in computed)` of a value in memory; 0 outside of `bounds`."""

    value: Buffer
    offset: Dim
    computed: tuple[tuple[Element, Dim], ...] = ()
    bounds: tuple[Bound, ...] = ()


class Number(Element):
    """A constant."""

    value: float | int | bool


class Position(Element):
    """An index expression as a number."""

    index: Dim


class Apply(Element):
    """`op.scalar` of elements."""

    op: Op
    args: tuple[Element, ...]


class Generate(Element):
    """`op.generate` of an index and elements."""

    op: Op
    index: tuple[Element, ...]
    args: tuple[Element, ...]


class Within(Element):
    """x where the bounds hold, else 0."""

    x: Element
    bounds: tuple[Bound, ...]


class Check(Element):
    """An index into an axis of `size`: what lies outside is reported and becomes 0. Only asked within `bounds`."""

    x: Element
    size: Dim
    value: Value
    bounds: tuple[Bound, ...] = ()


class Total(Element):
    """Result `part` of a fold."""

    fold: Fold
    part: int


class Part(Single):
    """One accumulator: `op.combine` of the elements x, starting from the op's identity."""

    op: Op
    dtype: DType
    x: Element


class Fold(Single):
    """Nested loops that combine elements: `bodies[k]` is what the loop over `axes[k]` does before the next one.

    `lane` says that the last axis runs in lanes, which are combined in a fixed tree at the end.
    """

    axes: tuple[Axis, ...]
    bodies: tuple[Block, ...]
    parts: tuple[Part, ...]
    lane: bool


class Loop(Single):
    """One loop, in lanes or not."""

    axis: Axis
    body: Block
    lane: bool


class Store(Single):
    """Element x goes to `offset` of a value's buffer; with `adds`, what goes there is its sum over all rows."""

    value: Buffer
    offset: Dim
    x: Element
    adds: bool = False


Step: TypeAlias = "Element | Loop | Fold | Store"


class Block(Single):
    """Steps in order."""

    steps: tuple[Step, ...]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)


class Nest(Single):
    """`prelude` once per task, then `body` for each of its rows: `grain` of the product of the rows' extents."""

    rows: tuple[Axis, ...]
    grain: int
    prelude: Block
    body: Block

    @property
    def tasks(self) -> Dim:
        return ceil(product(tuple(axis.extent for axis in self.rows)), self.grain)


def inside(block: Block) -> Iterator[Step]:
    """All steps of a block and of the loops in it."""
    for step in block:
        yield step
        if isinstance(step, Loop):
            yield from inside(step.body)
        if isinstance(step, Fold):
            for body in step.bodies:
                yield from inside(body)


def show(nest: Nest) -> str:
    """A nest as text, one step per line."""
    names: dict[Element, str] = {}
    rows = ", ".join(map(str, nest.rows)) or "once"
    lines = [f"rows {rows} by {nest.grain}", *listing(nest.prelude, names, "  "), *listing(nest.body, names, "  ")]
    return "\n".join(lines)


def listing(block: Block, names: dict[Element, str], indent: str) -> Iterator[str]:
    """The lines of a block."""
    for step in block:
        match step:
            case Loop(axis, body, lane):
                yield f"{indent}{'lanes' if lane else 'for'} {axis}"
                yield from listing(body, names, indent + "  ")
            case Fold(axes, bodies, parts, lane):
                for axis, body in zip(axes, bodies):
                    yield f"{indent}fold{' lanes' if lane and axis is axes[-1] else ''} {axis}"
                    yield from listing(body, names, indent + "  ")
                for part in parts:
                    yield f"{indent}  {part.op.name} <- {name_of(part.x, names)}"
            case Store(value, offset, x):
                yield f"{indent}{buffer(value)}[{offset}] {'+' * step.adds}= {name_of(x, names)}"
            case _:
                if not isinstance(step, Number | Position):
                    yield f"{indent}{name_of(step, names)} = {formula(step, names)}"


def name_of(x: Element, names: dict[Element, str]) -> str:
    if isinstance(x, Number):
        return str(x.value)
    if isinstance(x, Position):
        return str(x.index)
    return names.setdefault(x, f"e{len(names)}")


def formula(x: Element, names: dict[Element, str]) -> str:
    """How an element is computed, as text."""
    match x:
        case Load():
            extra = "".join(f"+{name_of(e, names)}*{stride}" for e, stride in x.computed)
            return f"{buffer(x.value)}[{x.offset}{extra}]{limits(x.bounds)}"
        case Apply(op=op, args=args):
            return f"{op.name}({', '.join(name_of(a, names) for a in args)})"
        case Generate(op=op, index=index, args=args):
            at, of = (", ".join(name_of(a, names) for a in part) for part in (index, args))
            return f"{op.name}[{at}]({of})"
        case Within(x=inner, bounds=bounds):
            return f"{name_of(inner, names)}{limits(bounds)}"
        case Check(x=inner, size=size):
            return f"check({name_of(inner, names)} < {size})"
        case Total(fold=fold, part=part):
            return f"fold.{part} ({fold.parts[part].op.name})"
    return type(x).__name__


def limits(bounds: tuple[Bound, ...]) -> str:
    return "".join(f" if {low} <= {e} < {high}" for e, low, high in bounds)


def buffer(value: Buffer) -> str:
    """A buffer by what it holds."""
    if isinstance(value, Temporary):
        return f"temporary{value.dtype}{list(value.shape)}"
    label = getattr(value.op, "label", value.op.name)
    return f"{label}:{value.type}"
