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
from stele.arrays.layout import Laid, meet, numbers, reshaped, rows
from stele.arrays.looking import is_traced
from stele.arrays.opensize import plain
from stele.backend.newest import Newest
from stele.eager.evaluate import evaluate
from stele.eager.handle import GRAD, TRACING, Handle, is_stepping
from stele.eager.live import alive, cut, symbol
from stele.eager.template import Template, template, token_of
from stele.errors import ArgumentError, GraphError
from stele.ir.graph import Op, Value
from stele.ir.origin import here
from stele.ir.types import Shape, Type, product
from stele.ops import bits, parts
from stele.ops.generate import iota
from stele.ops.indexing import Selection, put, written
from stele.ops.linear import Broadcast, Reshape, Slice, Transpose, reshape, zeros_like

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
        while chain[-1] is not x and builtins.type(chain[-1].op) in BACK:
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
        if self.back is None and self.path is None:
            return unwritable()
        return self.with_numbers_of(whole, part)

    def with_numbers_of(self, whole: Value, part: Value) -> Value:
        """The whole with the numbers of a part, which may be there several times where the part repeats them."""
        if self.back is not None:
            return self.back(self.make, whole, part)
        path = [self.make(whole)]
        while path[-1] is not whole:
            path.append(path[-1].args[0])
        for v, x in pairwise(path):
            part = BACK[type(v.op)](v.op, x, part)
        return part

    @cached_property
    def apart(self) -> Laid | None:
        """Where the part lies in a whole whose rows stand behind each other."""
        return self.laid((0, rows(self.whole.shape)))

    def laid(self, own: Laid) -> Laid | None:
        """Where the part lies, of a whole that lies so; None where NumPy would copy it."""
        start, strides = own
        if self.back is crossed:
            for op in reversed(ops_between(self.part, self.whole)):
                if isinstance(op, Transpose):
                    strides = [strides[a] for a in op.axes]
            return None, [*strides[:-2], strides[-2] + strides[-1]]
        if self.back is other_bits:
            old, new = self.whole.dtype.bits, self.part.dtype.bits
            return None, [*(n * old // new for n in strides[:-1]), *strides[-1:]]
        if self.back is not None or self.chain is None:
            return own if self.back is entire else (None, strides)
        for v, x in reversed([*pairwise(self.chain)]):
            match v.op:
                case Transpose(axes): strides = [strides[a] for a in axes]
                case Slice(starts, _, steps):
                    start = None if start is None else sum((k * n for k, n in zip(starts, strides)), start)
                    strides = [n * step for n, step in zip(strides, steps)]
                case Broadcast(shape):
                    alike = zip(strides, x.shape, shape[len(shape) - x.ndim:])
                    strides = [*[0] * (len(shape) - x.ndim), *(n if a == b else 0 for n, a, b in alike)]
                case _:
                    if (found := reshaped(numbers(x.shape), numbers(strides), numbers(v.shape))) is None:
                        return None
                    strides = found
        return start, strides


WAYS: Newest[Any, Way] = Newest(MOST)


class Tie(NamedTuple):
    """How a handle comes by its numbers: what `make` gives for those of `whole`, the handle it was made of, and these
    arguments, or the one of several results at a `place`. `up` is how the whole came by its own, `kin` are all parts of
    what is highest up. Handles are not kept alive: what nobody can look at needs nothing.
    """

    whole: ref[Family]
    type: Type      # of the whole
    up: Tie | None
    kin: list[ref[Family]]
    make: Anew
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    place: int | None = None
    back: Back | None = None

    def way(self) -> Way:
        """How numbers pass between the two: found once for all ties like this one."""
        key = self.key()
        if key[1] is None or (way := WAYS.get(key)) is None:
            way = Way(self.made, self.type, self.back)
            if key[1] is not None and way.reading is not None:
                WAYS[key] = way
        return way

    def key(self) -> tuple[Any, ...]:
        """What all ties like this one have in common; the second of it is None where nothing stands for arguments."""
        arguments = token((self.args, [*self.kwargs.items()]))
        return self.make, arguments, self.place, self.type, numbers(self.type.shape)

    def made(self, whole: Value) -> Value:
        """The part of other numbers."""
        y = self.make(whole, self.args, self.kwargs)
        return y if self.place is None else y[self.place]

    def without(self, x: Family, old: ref[Family]) -> Tie:
        """The same, where another whole stands for a tensor."""
        up = None if self.up is None else self.up.without(x, old)
        return self._replace(whole=old if self.whole() is x else self.whole, up=up)

    def seen(self) -> tuple[Way, Laid | None]:
        """The way, and where NumPy has the elements of the part; None where it would have made a copy."""
        way, own = self.way(), None if self.up is None else self.up.seen()[1]
        return way, way.apart if own is None else way.laid(own)


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


def repeated(op: Any, x: Value, part: Value) -> Value:
    """What a part repeats."""
    one = [1] * (part.ndim - x.ndim) + [1 if n == 1 else k for n, k in zip(x.shape, part.shape[part.ndim - x.ndim:])]
    return reshape(Slice((0,) * part.ndim, tuple(one), (1,) * part.ndim)(part), x.shape)


BACK: dict[type, Callable[[Any, Value, Value], Value]] = {
    Reshape: whole_of, Transpose: whole_of, Broadcast: repeated,
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
        parts: list[ref[Family]] | None = whole.parts
        if parts is None:
            whole.parts = parts = [ref(self)]
        else:
            noted(parts, self)
        kin = parts if tie is None else tie.kin
        self.tie = new(Tie, (ref(whole), v.type, tie, kin, make, args, kwargs, place, back))
        while tie is not None:
            if (above := tie.whole()) is not None:
                noted(above.parts, self)    # type: ignore[arg-type]
            elif tie.up is None:
                noted(tie.kin, self)
            tie = tie.up

    def is_part(self, whole: Family, make: Anew, key: Any) -> bool:
        """Whether this tensor is the part of another one at a key."""
        tie = self.tie
        return tie is not None and tie.make is make and tie.whole() is whole and tie.args[0] == key and \
            whole.value.type == tie.type

    def refuse_leaf(self) -> None:
        """Raises GraphError where a write in place would lose the gradient of this tensor, or of what it is part of."""
        tie = self.tie
        while tie is not None and tie.make is not detached and not (
                (above := tie.whole()) is not None and above.leaf and above.requires_grad):
            tie = tie.up
        ties = () if tie is None or tie.make is detached else ties_of(self)
        if GRAD.get() and (self.leaf or ties):
            for x in (self, *(whole_of_tie(self, tie) for tie, _ in ties)):
                if x is not None and x.leaf and x.requires_grad:
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

        Of those that were there before a function is traced it writes to this one, or to the whole that it is a part
        of: the others only show it until the function has run, and follow then.
        """
        inside, root, made = TRACING.get(), *self.shared(value)
        REBIND(self, value)
        for x, v in made:
            v = cut(v) if x.leaf or (x.requires_grad and not GRAD.get()) else v
            if x.home is inside or x is root:
                REBIND(x, v)
            else:
                inside.follow(x, alive(v))  # type: ignore[union-attr]
            if x.home is inside and not x.leaf and x.dtype.is_float and GRAD.get() and not x.is_detached():
                x._requires_grad = x._requires_grad or self._requires_grad
        if made and is_stepping() and inside is None and not is_traced(self.value):
            evaluate([x.value for x, _ in made])    # each op has its numbers at once

    def shared(self, value: Value) -> tuple[Family, list[tuple[Family, Value]]]:
        """The highest tensor that this is a part of, and the others of its family with what they are now."""
        root: Family = self
        made: list[tuple[Family, Value]] = []
        if (self.tie is None and self.parts is None) or value.type != self.value.type:
            return root, made
        inside, ties = TRACING.get(), [*ties_of(self)]
        wholes = [whole_of_tie(self, tie) for tie, _ in ties]
        mine = [] if (top := highest(wholes)) is None else ties[:top + 1]
        if mine:
            root = wholes[len(mine) - 1]     # type: ignore[assignment]
            made.append((root, into(mine, root.value, value)))
        whole = made[0][1] if made else value
        known = {id(self), id(root)}
        for part in [*(root.parts or ())]:
            if (x := part()) is None or id(x) in known or not sees(self, x):
                continue
            its = [*ties_of(x)]
            at = next((k for k, (tie, _) in enumerate(its) if tie.whole() is root), None)
            if at is not None and (x.home is inside or overlap(mine, its[:at + 1])):
                known.add(id(x))
                made.append((x, out_of(its[:at + 1], whole)))
        if ties and wholes[-1] is None:     # which those who are left share without it
            made += siblings(self, ties, value, known)
        return root, made

    value = property(Handle.value.fget, write)      # type: ignore[assignment]


Ties = Sequence[tuple[Tie, Way]]


def into(ties: Ties, whole: Value, part: Value, put: Callable[[Way, Value, Value], Value] = Way.replaced) -> Value:
    """A whole with other numbers in the place of a part that these ties lead up from."""
    wholes = [whole]
    for _, way in reversed(ties[1:]):
        wholes.append(way.read(wholes[-1]))
    for (_, way), old in zip(ties, reversed(wholes)):
        part = put(way, old, part)
    return part


def out_of(ties: Ties, whole: Value) -> Value:
    """The part of a whole that these ties lead up from."""
    for _, way in reversed(ties):
        whole = way.read(whole)
    return whole


def overlap(a: Ties, b: Ties) -> bool:
    """Whether two parts have elements of their whole in common: one that no ties lead up from is the whole."""
    shape, found = (b or a)[-1][0].type.shape, list[tuple[Laid | None, Shape]]()
    for ties in (a, b):
        laid: Laid | None = 0, rows(shape)
        for _, way in reversed(ties):
            laid = laid and way.laid(laid)
        found.append((laid, ties[0][1].part.shape if ties else shape))
    return meet(*found)


def leave(x: Family) -> None:
    """Has a tensor share its numbers with no other one; those that did keep what they are, and share it on."""
    inside, old = TRACING.get(), type(x)(x.value)
    others = [y for part in x.parts or () if (y := part()) is not None and y.tie is not None]
    if x.home is not inside:
        inside.leaves(x, old, others)   # type: ignore[union-attr]
    for y in others:
        y.tie = y.tie.without(x, ref(old))  # type: ignore[union-attr]
    old.parts, old.tie, x.parts, x.tie = x.parts, x.tie, None, None


def related(xs: Sequence[Family], written: Sequence[int]) -> tuple[Any, ...]:
    """Which of some tensors have elements in common with those of them that are written to, and how."""
    near = {id(x.tie.kin) for x in xs if x.tie is not None}
    if not near or near.isdisjoint(id(x.parts if x.tie is None else x.tie.kin) for x in map(xs.__getitem__, written)):
        return ()
    found, up = list[Any](), [[*ties_of(x)] for x in xs]
    for k, j in ((k, j) for k in written for j in range(len(xs)) if j != k):
        if (at := common(xs[k], up[k], xs[j], up[j])) is not None:
            mine, theirs = up[k][:at[0]], up[j][:at[1]]
            if overlap(mine, theirs):
                keys = [tie.key() for tie, _ in (*mine, *theirs)]
                found.append((k, j, *(key if key[1] is not None else object() for key in keys)))
    return tuple(found)


def common(x: Family, its: Ties, y: Family, others: Ties) -> tuple[int, int] | None:
    """How many ties lead up from each of two tensors to the lowest that both are parts of, or are themselves."""
    lines = [[ref(of), *(tie.whole for tie, _ in ties)] for of, ties in ((x, its), (y, others))]
    return next(((k, j) for k, a in enumerate(lines[0]) for j, b in enumerate(lines[1]) if a is b), None)


def ties_of(x: Family) -> Iterator[tuple[Tie, Way]]:
    """The ties from a tensor up, as far as NumPy makes no copies, with the ways there."""
    tie = x.tie
    while tie is not None:
        way, laid = tie.seen()
        if laid is None:
            return
        yield tie, way
        tie = tie.up


def sees(x: Family, other: Family) -> bool:
    """Whether what is written to a tensor is seen in another one at once: one that was made where it is written, or one
    that is found there from outside; never one that a trace left behind that is over."""
    inside = TRACING.get()
    return other.home is inside or (inside is not None and (inside.finds(other) or (
        x.home is inside and other.home is None)))


def whole_of_tie(x: Family, tie: Tie) -> Family | None:
    """What a tie of a tensor leads up to, None where that is held no more, or by nobody who could look."""
    whole = tie.whole()
    return whole if whole is not None and sees(x, whole) and whole.value.type == tie.type else None


def siblings(x: Family, ties: Ties, value: Value, known: set[int]) -> Iterator[tuple[Family, Value]]:
    """Other parts, not `known` yet, of wholes that are gone, where they have elements of a tensor with a new value."""
    for part in [*ties[-1][0].kin]:
        if (other := part()) is None or id(other) in known or not sees(x, other):
            continue
        its = [*ties_of(other)]
        at = common(x, ties, other, its) or (0, 0)
        if all(at) and overlap(mine := ties[:at[0]], theirs := its[:at[1]]):
            whole = into(theirs, zeros_like(mine[-1][1].whole), other.value, Way.with_numbers_of)
            yield other, out_of(theirs, into(mine, whole, value))


def noted(parts: list[ref[Family]], x: Family) -> None:
    """Appends a tensor; now and then those that are gone are forgotten, while what other threads append stays."""
    parts.append(ref(x))
    if (n := len(parts)) <= FEW or n & (n - 1):
        return
    with TYING:
        for k in reversed(range(len(parts))):
            if parts[k]() is None:
                del parts[k]


def highest(above: Sequence[Family | None]) -> int | None:
    """The last of the tensors that are still held."""
    return max((k for k, x in enumerate(above) if x is not None), default=None)


REBIND: Any = Handle.value.fset
