"""The graph: ops applied to values, and walks over them."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import FrozenInstanceError, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, Union, cast

import numpy as np

from stele.errors import DeviceError, DTypeError, GraphError, advice, kind
from stele.ir.origin import Where, here
from stele.ir.record import Record
from stele.ir.sizes import Dim
from stele.ir.types import HOME, DType, Guard, TupleType, Type, dtype, refuse_unfit

Array = np.ndarray[Any, np.dtype[Any]]
T = TypeVar("T")
Operand = Union["Value", complex]
OneOrPair = Any     # a value; where positions are asked for, a pair of values
Placed = tuple["Value", bool]
"""A value with a leading axis of places (True), or the same at all places."""


def digest(raw: bytes) -> str:
    """The SHA-256 of bytes, as hexadecimal digits."""
    import hashlib  # imported late: 2 ms

    return hashlib.sha256(raw).hexdigest()


class Op(Record):
    """An operation: its fields are its attributes, its methods all that the system may ask of it.

    How it is computed is answered by exactly one of `scalar` (elementwise), `generate` (from the index),
    `source` (movement), `identity`/`combine` (reduction) or `expand` (composite); contractions, control
    and foreign ops are known to the backends by class. One that answers in none of these ways is a host op: programs
    call its `reference` in Python.
    """

    family: ClassVar[str] = "host"
    arity: ClassVar[int | None] = None
    """How many operands, where its `type` does not ask."""

    def __call__(self, *args: Any) -> Value:
        x = self.prepare(*args)
        for v in x:
            if isinstance(v.type, TupleType) and not isinstance(self, Item):
                raise GraphError(f"{self.name} takes arrays, got the tuple {v.type}: take one part with Item(k)")
        return kind_of(x)(self, x, self.typed(*(v.type for v in x)), here())  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        return type(self).__name__

    def prepare(self, *args: Any) -> tuple[Value, ...]:
        """The operands as values: Python numbers become literals of their own dtype."""
        return tuple(a if isinstance(a, Value) else literal(a) for a in args)

    def type(self, *x: Type) -> Type | TupleType:
        """The result's type; raises ShapeError or DTypeError where operands do not fit."""
        raise NotImplementedError(self.name)

    def typed(self, *x: Type) -> Type | TupleType:
        """The result's type on the device of the operands: of those on the host numbers, and what is made of nothing,
        follow the others."""
        y = self.type(*x)
        away = {t.device for t in x} - {HOME}
        if len(away) > 1:
            raise DeviceError(f"{self.name} takes operands of one device, got {' and '.join(map(str, x))}")
        return y.on(*away) if away else y

    def reference(self, *x: Any, **_: Any) -> Any:
        """The meaning in NumPy: an array, or a tuple of arrays for a tuple op. Of a host op the operands are read-only
        views of a program's memory: what is to be kept beyond the call is copied.
        """
        raise NotImplementedError(self.name)

    def vjp(self, d: Any, g: Any, y: Value, *x: Value) -> tuple[Value | None, ...]:
        """Cotangents of the operands, given that of the result (a tuple with None for a tuple op). Zero without a rule;
        a host op has to have one.
        """
        self.refuse_zero("vjp", y)
        return tuple(None for _ in x)

    def jvp(self, d: Any, dx: Sequence[Value | None], y: Value, *x: Value) -> Value | None:
        """Tangent of the result, given those of the operands (None is zero; a tuple op returns a tuple)."""
        self.refuse_zero("jvp", y)
        return None

    def refuse_zero(self, rule: str, y: Value) -> None:
        """Raises where a host op has no such rule for a result that has derivatives."""
        if self.family == "host" and (isinstance(y.type, TupleType) or y.dtype.is_float):
            raise GraphError(f"{self.name} has no derivative: its class has no {rule}",
                             hint=f"Give it one, or cut the derivative off with x.detach() before {self.name}.")

    def batch(self, d: Any, n: Dim, x: Sequence[Placed], y: Value) -> Any:
        """The op at n places at once: its result (a tuple for a tuple op) with a leading axis of n; None where it has
        no such form. At least one operand has such an axis too; `y` is the op at one place.
        """
        return None

    @classmethod
    def examples(cls) -> tuple[Any, ...]:
        """Instances with operands to test them on: pairs (op, operands), an operand an array or a Type to fill."""
        return ()

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs this op holds, alone or in tuples."""
        held: list[Any] = [getattr(self, f.name) for f in fields(self)]
        parts: Iterator[Any] = (g for x in held for g in (x if type(x) is tuple else (x,)))     # type: ignore[misc]
        return tuple(g for g in parts if isinstance(g, Graph))      # type: ignore[reportUnknownVariableType]


class Value:
    """The result of an op: immutable, compared by identity. An op makes a value of the `kind` of its operands."""

    __slots__ = ("__weakref__", "args", "op", "type", "where")
    __match_args__ = ("op", "args")

    op: Op
    args: tuple[Value, ...]
    type: Type
    where: Where
    kind: ClassVar[type[Value]]

    def __init__(self, op: Op, args: tuple[Value, ...], type: Type, where: Where) -> None:
        set_op(self, op)
        set_args(self, args)
        set_type(self, type)
        set_where(self, where)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to {name!r} of a value")

    if TYPE_CHECKING:  # given by ops/operators.py
        def __add__(self, other: Operand) -> Value: ...
        def __neg__(self) -> Value: ...
        def __getitem__(self, key: Any) -> Value: ...
        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __add__
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __matmul__ = __lshift__ = __rshift__ = __add__
        __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lt__ = __le__ = __gt__ = __ge__ = __add__
        __abs__ = __invert__ = __neg__

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.type.shape

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    def __repr__(self) -> str:
        return f"<{self.op.name} {self.type}>"


Value.kind = Value
set_op, set_args, set_type, set_where = (vars(Value)[name].__set__ for name in ("op", "args", "type", "where"))


def kind_of(values: Iterable[Value]) -> type[Value]:
    """The class of what is made of these values."""
    for v in values:
        if v.kind is not Value:
            return v.kind
    return Value


class Parameter(Op):
    """An input of a graph."""

    label: str
    of: Type
    family: ClassVar[str] = "leaf"

    def type(self, *x: Type) -> Type:
        return self.of


class Literal(Op):
    """A number: shape ().

    >>> literal(2.5).type
    Type(dtype=float32, shape=(), device='cpu')
    """

    value: Any      # a Python number: float, int, bool or complex
    dtype: DType
    family: ClassVar[str] = "leaf"

    def type(self, *x: Type) -> Type:
        return Type(self.dtype)

    def reference(self, *x: Array) -> Array:
        return self.dtype.array(self.value)

    @property
    def token(self) -> float | int | bool | str:
        """What is equal for equal numbers alone: zeros have signs."""
        return str(self.value) if isinstance(self.value, complex) else self.value or str(self.value)


class Constant(Op):
    """An array known when the graph is made; equal to another with the same bytes."""

    array: Array
    family: ClassVar[str] = "leaf"

    def type(self, *x: Type) -> Type:
        return Type(dtype(self.array.dtype), self.array.shape)

    def reference(self, *x: Array) -> Array:
        return self.array

    @property
    def digest(self) -> str:
        return digest(np.ascontiguousarray(self.array).tobytes())[:16]

    def key(self) -> tuple[Any, ...]:
        return (self.array.dtype.name, self.array.shape, self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def __repr__(self) -> str:
        return f"Constant({self.array.dtype.name}, {self.array.shape}, {self.digest})"


class Item(Op):
    """Part k of a tuple."""

    k: int
    family: ClassVar[str] = "leaf"

    def type(self, *x: Type | TupleType) -> Type:
        (of,) = x
        if not isinstance(of, TupleType) or not 0 <= self.k < len(of.items):
            raise GraphError(f"Item({self.k}) needs a tuple of more than {self.k} parts, got {of}")
        return of.items[self.k]

    def reference(self, x: Any) -> Array:
        return x[self.k]


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Results computed from parameters; `guards` are assumptions on sizes checked at entry."""

    parameters: tuple[Value, ...]
    results: tuple[Value, ...]
    guards: tuple[Guard, ...] = ()

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """All values that the results need, operands before users."""
        return tuple(walk(self.results))

    @cached_property
    def digest(self) -> str:
        """The same for equal graphs, in every process; origins and labels do not count."""
        return digest("\n".join(canonical(self)).encode())

    def key(self) -> str:
        return self.digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and (self is other or self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Graph({self.digest[:16]})"

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values)

    @property
    def everything(self) -> Iterator[Value]:
        """All values in walking order, parameters first, those of nested graphs behind the value that holds them."""
        return nested(walk([*self.parameters, *self.results]))


def canonical(graph: Graph) -> Iterator[str]:
    """One line per value, numbered in walking order, parameters first."""
    number = {v: k for k, v in enumerate(graph.parameters)}
    yield " ".join(str(v.type) for v in graph.parameters)
    for v in graph.values:
        if v not in number:
            number[v] = len(number)
            yield f"{number[v]} = {v.op!r} {' '.join(str(number[a]) for a in v.args)} : {v.type}"
    yield f"return {' '.join(str(number[v]) for v in graph.results)} {' '.join(map(str, graph.guards))}"


def literal(value: object, like: DType | None = None) -> Value:
    """A Python or NumPy number as a value of the given dtype (its own without one), which must be able to hold it."""
    if isinstance(value, np.ndarray):
        return Constant(cast(Array, value))()
    own = number_dtype(value)
    like = own if like is None else like
    number: Any = cast(Any, value).item() if isinstance(value, np.generic) else value
    number = number if isinstance(number, bool) else +number    # of an IntEnum the int
    refuse_unfit(like, (number,))
    if isinstance(number, complex):
        return Literal(number, like)()
    if not like.is_float:
        number = bool(number) if like.kind == "b" else int(number)
    large = like.is_float and isinstance(number, int) and number.bit_length() > 63      # halves are not made of those
    return Literal(float(number) if large else number, like)()


def number_dtype(value: object) -> DType:
    """The dtype of a Python or NumPy number by itself."""
    if isinstance(value, np.generic | np.ndarray):
        return dtype(cast(Array, value).dtype)
    if not isinstance(value, bool | int | float | complex):
        shown = " ".join(repr(value).split())
        raise DTypeError(f"an operand must be a tensor, an array or a number, got {kind(value)}: {shown:.60}",
                         hint=advice(value))
    return dtype(type(value))


def walk(results: Iterable[Value], stop: Callable[[Value], bool] | None = None) -> list[Value]:
    """All values that `results` need, operands before users, each once; does not look behind values that `stop`."""
    done: dict[Value, None] = {}
    begun = set[Value]()
    stack = [*results]
    stack.reverse()
    while stack:
        v = stack[-1]
        if v in done:
            stack.pop()
        elif v in begun or not v.args or (stop is not None and stop(v)):
            done[v] = None
            stack.pop()
        else:
            begun.add(v)
            stack += v.args[::-1]
    return list(done)


def nested(values: Iterable[Value]) -> Iterator[Value]:
    """The values, and behind each one those of the graphs that its op holds."""
    for v in values:
        yield v
        for graph in v.op.graphs:
            yield from graph.everything


def free(values: Iterable[Value]) -> set[Value]:
    """Those of `values`, operands first, that are made of nothing, such as numbers: every device can make them."""
    found: set[Value] = set()
    for v in values:
        if not isinstance(v.op, Parameter) and all(a in found for a in v.args):
            found.add(v)
    return found


def fed(values: Iterable[Value], those: Iterable[Value]) -> set[Value]:
    """Some values, and those of `values`, operands first, that are made of them."""
    found = {*those}
    for v in values:
        if not found.isdisjoint(v.args):
            found.add(v)
    return found


def users(values: Iterable[Value]) -> dict[Value, list[Value]]:
    """For each value the values that take it, in order, once per operand."""
    found: dict[Value, list[Value]] = {}
    for v in values:
        found.setdefault(v, [])
        for a in v.args:
            found.setdefault(a, []).append(v)
    return found


def closed(inputs: Sequence[Value], results: Sequence[Value]) -> Graph:
    """The graph of results whose parameters stand for `inputs`, in values of its own, constants that no history may
    leave aside: what is noted of them is noted of this graph alone.
    """
    meaning = {v: Value(v.op if isinstance(v.op, Parameter) else Parameter(f"p{k}", v.type), (), v.type, v.where)
               for k, v in enumerate(inputs)}
    for v in walk(results, stop=meaning.__contains__):
        if v not in meaning:
            shared = v.kind is Value and isinstance(v.op, Constant)
            meaning[v] = v if shared else Value(v.op, tuple(meaning[a] for a in v.args), v.type, v.where)
    return Graph(tuple(meaning[v] for v in inputs), tuple(meaning[v] for v in results))


def interpret(graph: Graph, args: Sequence[T], apply: Callable[[Value, list[T]], T]) -> list[T]:
    """The results when each parameter means `args[k]` and each other value `apply(value, operands)`."""
    if len(args) != len(graph.parameters):
        raise GraphError(f"this graph takes {len(graph.parameters)} arguments, got {len(args)}")
    meaning = dict(zip(graph.parameters, args))
    for v in walk(graph.results, stop=meaning.__contains__):
        if v not in meaning:
            meaning[v] = apply(v, [meaning[a] for a in v.args])
    return [meaning[v] for v in graph.results]


def substitute(graph: Graph, args: Sequence[Value]) -> list[Value]:
    """The results as values over `args`: the graph inlined."""
    return interpret(graph, args, lambda v, x: rebuild(v, x))


def replaced(results: Sequence[Value], now: dict[Value, Value], stop: Callable[[Value], bool] | None = None,
             make: Callable[[Value, list[Value]], Value] | None = None) -> list[Value]:
    """The results where some values are what they are `now`, to which all others are added that change by it, made anew
    by `make`; what lies behind values that `stop` does not change.
    """
    def ends(v: Value) -> bool:
        return v in now or (stop is not None and stop(v))
    for v in walk(results, ends):
        if not ends(v):
            now[v] = (make or rebuild)(v, [now.get(a, a) for a in v.args])
    return [now.get(v, v) for v in results]


def rebuild(v: Value, args: Sequence[Value]) -> Value:
    """The same op on other operands, keeping the origins; the value itself where nothing changed."""
    if all(a is b for a, b in zip(v.args, args)):
        return v
    return kind_of(args)(v.op, tuple(args), v.op.typed(*(a.type for a in args)), v.where)  # type: ignore[arg-type]


def parameter(label: str, type: Type) -> Value:
    """A fresh input."""
    return Parameter(label, type)()


def label_of(x: Value) -> str:
    """What a parameter is called."""
    assert isinstance(x.op, Parameter)
    return x.op.label
