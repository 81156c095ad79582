"""Functions of C by their addresses, which native programs call."""
from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from stele.errors import ArgumentError, CompileError, DTypeError, GraphError, ShapeError
from stele.ir.graph import Array, Item, Op, Placed, Value
from stele.ir.record import Aside
from stele.ir.sizes import Dim, Size, at, names, parse, replaced, size
from stele.ir.types import (
    DType,
    TupleType,
    Type,
    bool_,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    same,
    show,
    uint8,
    uint16,
    uint32,
    uint64,
)
from stele.ops.linear import along, broadcast, expand_dims

PROCESS = ctypes.CDLL(None)
TYPES: dict[str, DType] = {
    "double": float64, "float": float32, "bool": bool_, "_Bool": bool_, "signed char": int8, "unsigned char": uint8,
    "short": int16, "unsigned short": uint16, "int": int32, "signed": int32, "unsigned": uint32, "long": int64,
    "long long": int64, "unsigned long": uint64, "unsigned long long": uint64, "size_t": uint64, "ssize_t": int64,
    "ptrdiff_t": int64, "intptr_t": int64,
    **{f"{t}_t": t_ for t, t_ in (("int8", int8), ("int16", int16), ("int32", int32), ("int64", int64), (
        "uint8", uint8), ("uint16", uint16), ("uint32", uint32), ("uint64", uint64))}}
IN_ORDER = {" ".join(sorted(name.split())): t for name, t in TYPES.items()}
NO_NAMES = {*" ".join((*TYPES, "auto break case char complex const continue default do else enum extern for goto if",
                       "imaginary inline register restrict return sizeof static struct switch typedef union void",
                       "volatile while")).split()}
PARAMETER = re.compile(r"([\w\s]+?)(\s*\*\s*\w*)?((?:\s*\[[^\]]*\])*)\s*")
FUNCTION = re.compile(r"\s*(\w[\w\s]*?)\s*(?:\(\s*\*\s*\w*\s*\)\s*)?\((.*)\)\s*;?\s*", re.DOTALL)
OWN = "of_c__"       # before the names of sizes in a prototype: those of programs are others
HINT = 'Write it as C does: "double(double)", or "void(int64_t n, const float x[n], float y[n])".'


class Part(NamedTuple):
    """A parameter: a number, or an array of these sizes, which the function reads or, as a result, writes."""

    name: str
    dtype: DType
    shape: tuple[Dim, ...] | None = None
    is_result: bool = False


class Prototype(NamedTuple):
    """What a function takes and returns; without arrays it is a function of an element."""

    parts: tuple[Part, ...]
    returns: DType | None

    @property
    def bound(self) -> set[str]:
        """The sizes that arrays have."""
        return {n for p in self.parts for d in p.shape or () for n in names(d)}

    @property
    def operands(self) -> list[Part]:
        """What is given: numbers that are no sizes, and arrays that are read."""
        return [p for p in self.parts if not p.is_result and not self.is_size(p)]

    @property
    def results(self) -> list[Part]:
        """The arrays that are written."""
        return [p for p in self.parts if p.is_result]

    def is_size(self, p: Part) -> bool:
        """Whether a parameter says how large an array is."""
        return p.shape is None and OWN + p.name in self.bound


@lru_cache(256)
def prototype_of(text: str) -> Prototype:
    """The prototype that a text says. Raises ArgumentError where it says none."""
    found = FUNCTION.fullmatch(text)
    if found is None:
        raise ArgumentError(f"{text!r} is no signature of a function", hint=HINT)
    returns, _ = kind_and_name(found[1])
    parts = tuple(part_of(p.strip(), k, text) for k, p in enumerate(found[2].split(",")))
    made = Prototype(parts, None if returns == "void" else c_type(returns, text))
    if made.results and made.returns is not None:
        raise ArgumentError(f"{text!r} returns a number and writes arrays", hint='A function of arrays is "void(...)".')
    if not made.results and (made.returns is None or any(p.shape is not None for p in parts)):
        raise ArgumentError(f"{text!r} has no result", hint="An array without const is one: float y[n].")
    known = {next(iter(names(d))) for p in made.operands for d in p.shape or () if is_name(d)}
    if unknown := sorted(made.bound - known):
        raise ArgumentError(f"no array that is given says what {unknown[0].removeprefix(OWN)} is in {text!r}",
                            hint=f"One has an axis of just that size: const float x[{unknown[0].removeprefix(OWN)}].")
    return made


def part_of(text: str, k: int, whole: str) -> Part:
    """One parameter."""
    found = PARAMETER.fullmatch(text)
    if found is None:
        raise ArgumentError(f"{text!r} is no parameter in {whole!r}", hint=HINT)
    if found[2]:
        raise ArgumentError(f"{text!r} does not say how many numbers there are in {whole!r}",
                            hint="Write const float x[n] for what is read, float y[n] for a result.")
    word, name = kind_and_name(found[1])
    dtype, name = c_type(word, whole), name or f"x{k}"
    if not found[3]:
        return Part(name, dtype)
    shape = tuple(private(parse(n)) for n in re.findall(r"\[([^\]]*)\]", found[3]))
    return Part(name, dtype, shape, "const" not in word.split())


def kind_and_name(text: str) -> tuple[str, str]:
    """The words of a type, and the name behind it where there is one: a word that C has not for itself."""
    *front, last = text.split()
    is_name = front and last not in NO_NAMES and last.isidentifier() and not re.match("_[A-Z]", last)
    return (" ".join(front), last) if is_name else (" ".join([*front, last]), "")


def c_type(text: str, whole: str) -> DType:
    """The dtype of a type of C, whose words stand in any order, with signed and int where they say nothing more."""
    words = " ".join(sorted(w for w in text.split() if w != "const"))
    words = re.sub("(long|short) signed$", r"\1", re.sub("int (?=long|short|signed|unsigned)", "", words))
    if (found := IN_ORDER.get(words)) is None:
        raise ArgumentError(f"{text!r} is no type of a number in {whole!r}", hint=f"Known are {', '.join(TYPES)}.")
    return found


def private(x: Dim) -> Dim:
    """A size of a prototype under names that no program has."""
    for n in sorted(names(x)):
        x = replaced(x, n, size(OWN + n))
    return x


def is_name(x: Dim) -> bool:
    """Whether a size is a name by itself."""
    return isinstance(x, Size) and len(found := names(x)) == 1 and x == size(next(iter(found)))


def sizes_of(p: Prototype, shapes: Sequence[tuple[Dim, ...]]) -> dict[str, Dim]:
    """What the names of a prototype are for operands of these shapes. Raises ShapeError where they do not fit."""
    found: dict[str, Dim] = {}
    for part, shape in zip(p.operands, shapes):
        if len(shape) != len(part.shape or ()):
            raise ShapeError(f"{part.name} has {len(part.shape or ())} axes in the signature, got {show(shape)}")
        for want, n in zip(part.shape or (), shape):
            if is_name(want):
                found.setdefault(next(iter(names(want))), n)
    for part, shape in zip(p.operands, shapes):
        for want, n in zip(part.shape or (), shape):
            if not same(meant := filled(want, found), n):
                raise ShapeError(f"{part.name} has an axis of {str(want).replace(OWN, '')} = {meant} in the signature, "
                                 f"got {show(shape)}")
    return found


def filled(x: Dim, found: dict[str, Dim]) -> Dim:
    """A size of a prototype in the sizes of a program."""
    for n, by in found.items():
        x = replaced(x, n, by)
    return x


class Held(Aside):
    """What keeps a function where it is."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool: return isinstance(other, Held)
    def __hash__(self) -> int: return hash(Held)


class Foreign(Op):
    """What a function of C makes of operands, the last of which is its address.

    One of numbers is called for each element, where operands are of one shape or single numbers; one of arrays for each
    place along the `levels` leading axes. Calls are on any threads at once unless they are `serial`.
    """

    prototype: str
    levels: int = 0
    serial: bool = False
    held: Any = None        # a Held: None where the op was read from text
    family: ClassVar[str] = "foreign"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Foreign) and self.key == other.key

    def __hash__(self) -> int: return hash(self.key)

    @property
    def key(self) -> tuple[Any, ...]:
        """All that decides what is computed."""
        return self.prototype, self.levels, self.serial

    @property
    def said(self) -> Prototype:
        """The prototype."""
        return prototype_of(self.prototype)

    def type(self, *x: Type) -> Type | TupleType:
        *given, address = x
        p = self.said
        if len(given) != len(p.operands) or (address.dtype, address.shape) != (int64, ()):
            raise ShapeError(f"{self.prototype!r} takes {len(p.operands)} operands and an address, got {len(given)}")
        for part, t in zip(p.operands, given):
            if t.dtype != part.dtype:
                raise DTypeError(f"{part.name} of {self.prototype!r} is {part.dtype}, got {t}")
        if p.returns is not None:
            shape = next((t.shape for t in given if t.shape), ())
            if not all(t.shape == () or (t.ndim == len(shape) and all(map(same, t.shape, shape))) for t in given):
                raise ShapeError(f"{self.prototype!r} takes operands of one shape, got {', '.join(map(str, given))}")
            return Type(p.returns, shape)
        lead = given[0].shape[:self.levels]
        sizes = sizes_of(p, [t.shape[self.levels:] for t in given])
        made = tuple(Type(r.dtype, (*lead, *(filled(n, sizes) for n in r.shape or ()))) for r in p.results)
        return made[0] if len(made) == 1 else TupleType(made)

    def reference(self, *x: Array, **_: Any) -> Any:
        *given, address = x
        p = self.said
        function = function_at(self.prototype, int(address))
        if p.returns is not None:
            shape = np.broadcast_shapes(*(a.shape for a in given))
            rows = zip(*(np.broadcast_to(a, shape).reshape(-1).tolist() for a in given))
            return np.array([function(*row) for row in rows], p.returns.numpy).reshape(shape)
        kind = self.type(*(Type(part.dtype, a.shape) for part, a in zip(p.operands, given)), Type(int64, ()))
        made = [np.zeros(at_shape(t), t.dtype.numpy) for t in (kind.items if isinstance(kind, TupleType) else (kind,))]
        for place in np.ndindex(*given[0].shape[:self.levels]):
            inside = [np.asarray(a[place], order="C") for a in given]
            function(*arguments(p, inside, [y[place] for y in made]))
        return tuple(made) if isinstance(kind, TupleType) else made[0]

    def refuse_zero(self, rule: str, y: Value) -> None:
        if isinstance(y.type, TupleType) or y.dtype.is_float:
            raise GraphError("a function of C has no derivative by itself",
                             hint="Say it: st.foreign(..., vjp=...), jvp= or formula=; or cut it off with x.detach().")

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        (*given, (address, is_placed)) = x
        if is_placed:
            return None     # functions of their own, one after the other
        if self.said.returns is None:
            many = Foreign(self.prototype, self.levels + 1, self.serial, self.held)
            made = many(*(along(a, n) for a in given), address)
            return tuple(Item(k)(made) for k in range(len(y.type.items))) if isinstance(y.type, TupleType) else made
        shape = y.shape
        return self(*(a if not placed and not a.shape else whole(a, placed, n, shape) for a, placed in given), address)

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        fmax, fabs, swab = (np.array(address_in(name), np.int64) for name in ("fmax", "fabs", "swab"))
        x = np.array([1.5, -2.0, 0.0, 7.25])
        return ((cls("double(double, double)"), (x, np.array(0.5), fmax)),
                (cls("double(double)", serial=True), (x, fabs)),
                (cls("void(const uint8_t x[n], uint8_t y[n], long n)", 1),
                 (np.arange(12, dtype=np.uint8).reshape(2, 6), swab)))


def whole(a: Value, is_placed: bool, n: Dim, shape: tuple[Dim, ...]) -> Value:
    """An operand of a function of elements at n places, of this shape each."""
    if is_placed and a.ndim == 1 and shape:
        a = expand_dims(a, tuple(range(1, len(shape) + 1)))
    return broadcast(a, (n, *shape))


def at_shape(t: Type) -> tuple[int, ...]:
    """A shape whose sizes are known."""
    return tuple(at(n, {}) for n in t.shape)


def arguments(p: Prototype, given: Sequence[Array], made: Sequence[Array]) -> Iterator[Any]:
    """What a function of arrays is called with, in order."""
    sizes, operands, results = sizes_of(p, [a.shape for a in given]), iter(given), iter(made)
    for part in p.parts:
        if p.is_size(part):
            yield sizes[OWN + part.name]
        elif part.is_result:
            yield next(results).ctypes.data
        else:
            yield next(operands).item() if part.shape is None else next(operands).ctypes.data


def c_kind(part: Part) -> Any:
    """What ctypes calls a parameter."""
    return ctypes.c_void_p if part.shape is not None else np.ctypeslib.as_ctypes_type(part.dtype.numpy)


@lru_cache(256)
def function_at(text: str, address: int) -> Any:
    """The function at an address, for Python."""
    p = prototype_of(text)
    returns = None if p.returns is None else np.ctypeslib.as_ctypes_type(p.returns.numpy)
    return ctypes.CFUNCTYPE(returns, *map(c_kind, p.parts))(address)


def address_in(name: str) -> int:
    """Where the process has a function of the C library, or of Python; CompileError if it has none."""
    try:
        return ctypes.cast(getattr(PROCESS, name), ctypes.c_void_p).value or 0
    except AttributeError:
        raise CompileError(f"this process has no function {name}") from None


ALL = (Foreign,)
