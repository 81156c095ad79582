"""Parts of tensors, and tensors seen otherwise: what is written to one of a family is written to all, as in NumPy."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple
from weakref import ref

from stele.arrays.hooking import Hooking
from stele.arrays.looking import is_traced
from stele.arrays.opensize import plain
from stele.backend.newest import Newest
from stele.eager.evaluate import evaluate
from stele.eager.handle import GRAD, TRACING, Handle, is_stepping
from stele.eager.live import cut, symbol
from stele.eager.template import Template, template, token_of
from stele.errors import ArgumentError, GraphError
from stele.ir.graph import Op, Value
from stele.ir.origin import here
from stele.ir.sizes import Dim
from stele.ir.types import Shape, Type, below, product, same, settled
from stele.ops import bits, parts
from stele.ops.generate import iota
from stele.ops.indexing import Selection, put, written
from stele.ops.linear import Broadcast, Reshape, Slice, Transpose, reshape

FEW = 8     # names that are gone, up to which nobody looks for them
MOST = 1 << 10
new = tuple.__new__
Make = Callable[[Value], Value]
Back = Callable[[Make, Value, Value], Value]
Anew = Callable[[Value, tuple[Any, ...], dict[str, Any]], Any]
TYING = Lock()


class Way:
    """How a part comes of a whole of some type, and the whole of itself and another part.

    The values between are `chain`, the part first, and `path` where nothing of them repeats elements; None where an op
    has no way back. `back` is given where the graph does not say how.
    """

    def __init__(self, make: Make, type: Type, back: Back | None) -> None:
        self.make, self.back = make, back
        self.whole = x = symbol("whole", type)
        self.part = make(x)
        self.reading = template([x], self.part, False)
        self.writing: Template | None = None
        chain = [self.part]
        while chain[-1] is not x and builtins.type(chain[-1].op) in (*BACK, Broadcast):
            chain.append(chain[-1].args[0])
        self.chain = chain if chain[-1] is x else None
        self.path = None if any(isinstance(v.op, Broadcast) for v in chain) else self.chain

    def read(self, whole: Value) -> Value:
        """The part of other numbers."""
        return self.make(whole) if self.reading is None else self.reading.fill([whole], here())  # type: ignore[return-value]

    def replaced(self, whole: Value, part: Value) -> Value:
        """The whole with other numbers in the place of this part. Raises ArgumentError where the part has several
        places for one number of it, or none.
        """
        if self.writing is None and self.reading is not None:
            other = symbol("part", self.part.type)    # type: ignore[arg-type]
            self.writing = template([self.whole, other], self.written(self.whole, other), False)
        if self.writing is None:
            return self.written(whole, part)
        return self.writing.fill([whole, part], here())     # type: ignore[return-value]

    def written(self, whole: Value, part: Value) -> Value:
        """The whole with another part, op by op."""
        if self.back is not None:
            return self.back(self.make, whole, part)
        if self.path is None:
            return unwritable()
        path = [self.make(whole)]
        while path[-1] is not whole:
            path.append(path[-1].args[0])
        for v, x in pairwise(path):
            part = BACK[type(v.op)](v.op, x, part)
        return part

    @cached_property
    def apart(self) -> Sequence[Dim] | None:
        """The strides of the part where rows of the whole stand behind each other."""
        return self.strides(rows(self.whole.shape))

    def strides(self, own: Sequence[Dim]) -> Sequence[Dim] | None:
        """How far apart elements of the part are, of a whole with such strides; None where NumPy would copy them."""
        found: Sequence[Dim] | None = own
        if self.back is crossed:
            for op in reversed(ops_between(self.part, self.whole)):
                if isinstance(op, Transpose):
                    found = [found[a] for a in op.axes]
            return [*found[:-2], found[-2] + found[-1]]
        if self.back is other_bits:
            old, new = self.whole.dtype.bits, self.part.dtype.bits
            return [*(n * old // new for n in own[:-1]), *own[-1:]]
        chain = () if self.back is not None or self.chain is None else [*pairwise(self.chain)]
        for v, x in reversed(chain):
            match v.op:
                case Transpose(axes): found = [found[a] for a in axes]
                case Slice(_, _, steps): found = [n * step for n, step in zip(found, steps)]
                case Broadcast(shape):
                    alike = zip(found, x.shape, shape[len(shape) - x.ndim:])
                    found = [*[0] * (len(shape) - x.ndim), *(n if a == b else 0 for n, a, b in alike)]
                case _: found = reshaped(numbers(x.shape), numbers(found), numbers(v.shape))
            if found is None:
                return None
        return found


WAYS: Newest[Any, Way] = Newest(MOST)


class Tie(NamedTuple):
    """How a handle comes by its numbers: what `make` gives for those of `whole`, the handle it was made of, and these
    arguments, or the one of several results at a `place`. `up` is how the whole came by its own. Handles are not kept
    alive: what nobody can look at needs nothing.
    """

    whole: ref[Family]
    type: Type      # of the whole
    up: Tie | None
    make: Anew
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    place: int | None = None
    back: Back | None = None

    def way(self) -> Way:
        """How numbers pass between the two: found once for all ties like this one."""
        key = self.make, token((self.args, [*self.kwargs.items()])), self.place, self.type, numbers(self.type.shape)
        if key[1] is None or (way := WAYS.get(key)) is None:
            way = Way(self.made, self.type, self.back)
            if key[1] is not None and way.reading is not None:
                WAYS[key] = way
        return way

    def made(self, whole: Value) -> Value:
        """The part of other numbers."""
        y = self.make(whole, self.args, self.kwargs)
        return y if self.place is None else y[self.place]

    def seen(self) -> tuple[Way, Sequence[Dim] | None]:
        """The way, and how far apart NumPy has the elements of the part; None where it would have made a copy."""
        way, own = self.way(), None if self.up is None else self.up.seen()[1]
        return way, way.apart if own is None else way.strides(own)


def token(a: Any) -> Any:
    """What stands for an argument in a key; None for objects of other kinds."""
    if not isinstance(a, list | tuple):
        return token_of(a)
    parts = tuple(map(token, a))
    return None if None in parts else (type(a), *parts)


def detached(whole: Value, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Value:
    """The whole without its history."""
    return cut(whole)


def entire(make: Make, whole: Value, part: Value) -> Value:
    """The part itself, which is all of the whole."""
    return part


def unwritable(*_: Value) -> Value:
    """Raises for what has no numbers of its own."""
    raise ArgumentError(
        "an in-place operation on a tensor that repeats elements of another one, which is still in use: NumPy calls "
        "such a destination read-only", hint="Write y = x + 1 instead of x += 1, or x = x.copy() before it.")


def whole_of(op: Any, x: Value, part: Value) -> Value:
    """What a reordering was made of."""
    return op.vjp(None, part, x, x)[0]


BACK: dict[type, Callable[[Any, Value, Value], Value]] = {
    Reshape: whole_of, Transpose: whole_of,
    Slice: lambda op, x, part: written(x, part, Selection([*op.starts], [*op.shape], [*op.steps]))}
"""Ops whose operand can be made of it and of another result."""


def crossed(make: Make, whole: Value, part: Value) -> Value:
    """Matrices with another diagonal, whose elements lie where what finds them finds them."""
    at = make(reshape(iota(product(whole.shape)), whole.shape))
    return reshape(put(flattened(whole), 0, flattened(at), flattened(part)), whole.shape)


def ops_between(part: Value, whole: Value) -> list[Op]:
    """The ops that a part is made of a whole by, the last first."""
    found: list[Op] = []
    while part is not whole and part.args:
        found.append(part.op)
        part = part.args[0]
    return found


def flattened(x: Value) -> Value:
    """The elements of x in a row."""
    return reshape(x, (product(x.shape),))


def real_part(make: Make, whole: Value, part: Value) -> Value:
    """A number with another real part."""
    return parts.complex(part, parts.imag(whole)) if whole.dtype.is_complex else part


def imaginary_part(make: Make, whole: Value, part: Value) -> Value:
    """A number with another imaginary part; raises ArgumentError for real ones."""
    return parts.complex(parts.real(whole), part) if whole.dtype.is_complex else unwritable()


def other_bits(make: Make, whole: Value, part: Value) -> Value:
    """Elements with the bits of others, of any dtype."""
    return bits.seen_as(part, whole.dtype) if part.dtype != whole.dtype else Reshape(whole.shape)(part)


def numbers(shape: Sequence[Dim]) -> Shape:
    """A shape with the numbers of open sizes that were asked for, as numbers stand for them elsewhere."""
    return tuple(map(settled, shape))


def rows(shape: Shape) -> list[Dim]:
    """How many elements apart the neighbours along each axis are, where rows stand behind each other."""
    found: list[Dim] = [1]
    for n in shape[:0:-1]:
        found.append(found[-1] * n)
    return found[::-1][:len(shape)]


def reshaped(shape: Shape, strides: Sequence[Dim], new: Shape) -> list[Dim] | None:
    """The strides of elements under another shape; None where there are none, and they are copied.

    >>> reshaped((2, 6), (6, 1), (2, 2, 3)), reshaped((6, 2), (1, 6), (2, 3, 2)), reshaped((6, 2), (1, 6), (12,))
    ([6, 3, 1], [3, 1, 6], None)
    """
    if 0 in shape or [*strides] == rows(shape):
        return rows(new)
    old = [(n, stride) for n, stride in zip(shape, strides) if n != 1]
    found: list[Dim] = []
    i = k = 0
    while k < len(new):
        if new[k] == 1 or i == len(old):
            found, k = [*found, 1], k + 1
            continue
        there, wanted, j, m = old[i][0], new[k], i + 1, k + 1     # axes i to j are seen as axes k to m
        while not same(there, wanted):
            if below(wanted, there):
                wanted, m = wanted * new[m], m + 1
            else:
                there, j = there * old[j][0], j + 1
        if not all(same(apart, inner * n) for (_, apart), (n, inner) in pairwise(old[i:j])):
            return None
        found += [old[j - 1][1] * stride for stride in rows(new[k:m])]
        i, k = j, m
    return found


class Family(Hooking):
    """A tensor, with what it is a part of and what parts of it there are, if any."""

    __slots__ = ()

    parts: list[ref[Family]] | None
    tie: Tie | None

    def tie_to(self, whole: Family, make: Anew, args: tuple[Any, ...], kwargs: dict[str, Any], place: int | None = None,
               back: Back | None = None) -> None:
        """Has what is written to this tensor, just made of another one, be written to that one, and the other way."""
        if TRACING.get() is None:
            tie, v = whole.tie, whole._value
        else:       # where arguments are open sizes, which are other numbers in other traces
            tie, v, args, kwargs = whole.tie, whole.value, plain(args), {name: plain(x) for name, x in kwargs.items()}
        self.tie = new(Tie, (ref(whole), v.type, tie, make, args, kwargs, place, back))
        if (parts := whole.parts) is None:
            whole.parts = [ref(self)]
        else:
            noted(parts, self)
        while tie is not None:
            if (above := tie.whole()) is not None:
                noted(above.parts, self)    # type: ignore[arg-type]
            tie = tie.up

    def is_part(self, whole: Family, make: Anew, key: Any) -> bool:
        """Whether this tensor is the part of another one at a key."""
        tie = self.tie
        return tie is not None and tie.make is make and tie.whole() is whole and tie.args[0] == key and \
            whole.value.type == tie.type

    def ways(self) -> Iterator[tuple[Way, Family | None]]:
        """The ways from this tensor up, as far as NumPy makes no copies, with the tensors there that are still held."""
        tie = self.tie
        while tie is not None:
            (way, apart), above = tie.seen(), tie.whole()
            if apart is None:
                return
            yield way, above if above is not None and above.value.type == tie.type else None
            tie = tie.up

    def refuse_leaf(self) -> None:
        """Raises GraphError where a write in place would lose the gradient of this tensor, or of what it is part of."""
        tie = self.tie
        while tie is not None and tie.make is not detached and not (
                (above := tie.whole()) is not None and above.leaf and above.requires_grad):
            tie = tie.up
        ways = () if tie is None or tie.make is detached else self.ways()
        if GRAD.get() and (self.leaf or ways):
            for x in (self, *(above for _, above in ways if above is not None)):
                if x.leaf and x.requires_grad:
                    raise GraphError("a tensor that requires gradients is rebound in place, so its gradient would be "
                                     "lost", hint="Do it inside `with st.no_grad():`, or write y = x + 1.")

    def is_detached(self) -> bool:
        """Whether this is the `data` of another tensor, or a part of that."""
        tie = self.tie
        while tie is not None and tie.make is not detached:
            tie = tie.up
        return tie is not None

    def write(self, value: Value) -> None:
        """Rebinds this tensor, and all that in NumPy would share its memory.

        Of those that were there before a function is traced only what it writes to itself: the others follow when it
        has run.
        """
        made = self.shared(value) if self.tie is not None or self.parts is not None else ()
        REBIND(self, value)
        for x, v in made:
            REBIND(x, cut(v) if x.leaf or (x.requires_grad and not GRAD.get()) else v)
            if x.home is TRACING.get() and not x.leaf and x.dtype.is_float and GRAD.get() and not x.is_detached():
                x._requires_grad = x._requires_grad or self._requires_grad
        if made and is_stepping() and TRACING.get() is None and not is_traced(self.value):
            evaluate([x.value for x, _ in made])    # each op has its numbers at once

    def shared(self, value: Value) -> list[tuple[Family, Value]]:
        """The other tensors of this family with their numbers, once this one has these."""
        root: Family = self
        made: list[tuple[Family, Value]] = []
        inside = TRACING.get()
        if self.home is inside and value.type != self.value.type:
            return made
        if self.home is inside and (ways := [*self.ways()]) and (top := highest(ways)) is not None:
            root = ways[top][1]     # type: ignore[assignment]
            wholes: list[Value] = [root.value]
            for way, _ in reversed(ways[1:top + 1]):
                wholes.append(way.read(wholes[-1]))
            new = value
            for (way, _), old in zip(ways, reversed(wholes)):
                new = way.replaced(old, new)
            made.append((root, new))
        whole = made[0][1] if made else value
        for part in [*(root.parts or ())]:
            if (x := part()) is None or x is self or x.home is not inside:
                continue
            ways = [*x.ways()]
            at = next((k for k, (_, above) in enumerate(ways) if above is root), None)
            if at is not None:
                v = whole
                for way, _ in reversed(ways[:at + 1]):
                    v = way.read(v)
                made.append((x, v))
        return made

    value = property(Handle.value.fget, write)      # type: ignore[assignment]


def noted(parts: list[ref[Family]], x: Family) -> None:
    """Appends a tensor; now and then those that are gone are forgotten, while what other threads append stays."""
    parts.append(ref(x))
    if (n := len(parts)) <= FEW or n & (n - 1):
        return
    with TYING:
        for k in reversed(range(len(parts))):
            if parts[k]() is None:
                del parts[k]


def highest(ways: Sequence[tuple[Way, Family | None]]) -> int | None:
    """The last of the tensors that are still held."""
    return max((k for k, (_, above) in enumerate(ways) if above is not None), default=None)


REBIND: Any = Handle.value.fset
