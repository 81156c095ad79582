"""Functions of one example at many examples at once, and what these know of each other."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple

from stele.arrays.opensize import plain
from stele.arrays.operands import Operands
from stele.arrays.rebinding import record
from stele.arrays.streams import stream_of
from stele.arrays.tensor import Tensor, constant
from stele.eager.handle import TRACING, Handle, Tracing, tracing_into
from stele.eager.live import Live, is_there, symbol
from stele.errors import ArgumentError, GraphError, ShapeError, TraceError, kind
from stele.higher.body import TURN, Body, turn
from stele.ir.door import public
from stele.ir.graph import Placed, Value
from stele.ir.origin import setting
from stele.ir.sizes import Dim
from stele.ir.types import axis_of, same, show
from stele.ops import random
from stele.ops.arguments import function, instance, is_array, is_dict, is_series, refuse, size, whole
from stele.ops.generate import iota
from stele.ops.linear import Sum, along, broadcast, transpose
from stele.tracing import tree
from stele.transform.batch import spread

Axes = Any      # int | None, or a container of them: a prefix of the arguments


class Axis(NamedTuple):
    """An axis of places that has a name: the number of a place, as seen at each of them, and how many there are."""

    index: Live
    n: Dim


NAMED: ContextVar[Mapping[str, Axis]] = ContextVar("axes", default={})     # noqa: B039


class Places(Body):
    """The inside of a vmap: one place, whose operands stand in `given` as they are at all n places."""

    def __init__(self, n: Dim, outer: Tracing | None) -> None:
        super().__init__("what vmap maps", outer, ())
        self.n = n
        self.given: dict[Value, Placed] = {}
        self.rebound: dict[int, Handle] = {}

    def one(self, many: Value, label: str = "x") -> Live:
        """What stands at one place for a value that has all of them along its first axis."""
        inner = symbol(label, many.type.with_shape(many.shape[1:]))
        self.given[inner] = many, True
        return inner

    def read(self, handle: Handle) -> Live:
        if id(handle) not in self.now and (stream := stream_of(handle)) is not None:
            with tracing_into(self.outer):
                key = stream.key()
            self.now[id(handle)] = self.one(random.random_bits(key, shape=(self.n, 4)), "random numbers")
        if id(handle) not in self.now and handle is TURN:
            self.now[id(handle)] = self.one(broadcast(self.before(handle), (self.n,)), "turn")
        return super().read(handle)

    def write(self, handle: Handle, value: Live) -> None:
        if stream_of(handle) is None:       # of which every place has a part
            self.rebound[id(handle)] = handle
        self.now[id(handle)] = value

    def everywhere(self, results: list[Value]) -> list[Placed]:
        """The results at all places."""
        return spread(results, self.given, self.n, True, lambda v: v in self.known or is_there(v))

    def settle(self) -> None:
        """Rebinds outside what was rebound inside, to what is the same at all places."""
        new = [self.now[id(handle)] for handle in self.rebound.values()]
        for handle, (v, is_placed) in zip(self.rebound.values(), self.everywhere([*new])):
            if handle is TURN:
                turn(Sum((0,))(v) if is_placed else v)
                continue
            if is_placed:
                one = v.type.with_shape(v.shape[1:])
                raise TraceError(f"{self.what} rebinds a tensor {one} from outside to one that differs from place to "
                                 "place", hint="Return it, and rebind it outside. Of BatchNorm write .eval() first: "
                                 "its statistics are those of one batch.")
            handle.value = v


@public
def vmap(f: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0, axis_name: str | None = None,
         axis_size: int | None = None) -> Callable[..., Any]:
    """The function that applies `f`, written for one example, to many at once: an axis of its arguments is mapped over.

    `in_axes` says which axis of each argument: an int, None for what is the same for all, or a tuple with an entry for
    each argument, which may be a container as the argument is; of keyword arguments it is axis 0. `out_axes` says where
    the axis stands in the results (None for what is the same for all of them). f runs once, on symbols of one place,
    and each of its ops is then done at all places by a rule of its own: no loop, one program. It may hold other vmaps,
    `st.grad`, `st.jvp`, `st.scan` and `st.compile`, and be held by them. Every place draws random numbers of its own.
    Within f, `st.psum(x, axis_name)` and its like reach over all places. `axis_size` says how many there are, where no
    argument does. Arguments may have any dtypes. Raises ShapeError for axes that there are not or that differ in size,
    ArgumentError for what is no function, GraphError for a result of out_axes=None that differs from place to place.

    >>> dot = st.vmap(lambda x, y: (x * y).sum(), in_axes=(0, None))
    >>> dot(st.tensor([[1.0, 2.0], [3.0, 4.0]]), st.tensor([1.0, 10.0])).tolist()
    [21.0, 43.0]
    >>> each = st.vmap(st.grad(lambda w, x: (w * x).sum() ** 2), in_axes=(None, 0))     # gradients per example
    >>> each(st.tensor([1.0, 1.0]), st.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[6.0, 12.0], [42.0, 56.0]]
    """
    function(f, "what vmap maps")
    if isinstance(in_axes, Tensor) or is_array(in_axes):
        refuse("in_axes of vmap", "a whole number, None or a tuple", in_axes,
               "It gives a function: write st.vmap(f)(x).")
    given_size = None if axis_size is None else size(plain(axis_size), "axis_size of vmap")

    @public
    @wraps(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = [*prefixed(in_axes, args, "in_axes"), *prefixed(0, kwargs, "in_axes")]
        leaves, spec = tree.flatten((args, kwargs))
        operands = Operands(numbers=False)
        stacks = {k: operands.value(constant(checked(x, axis))) for k, (x, axis) in enumerate(zip(leaves, axes))
                  if axis is not None and x is not None}
        stacks = {k: first(v, axes[k], f"argument {k}") for k, v in stacks.items()}
        n = places([v.shape[0] for v in stacks.values()], given_size)
        body = Places(n, TRACING.get())
        named = NAMED.get()
        if axis_name is not None and instance(axis_name, "axis_name of vmap", str):
            index = body.one(iota(n), "axis_index")
            named = {**named, axis_name: Axis(index, n)}
        with tracing_into(body), setting(NAMED, named):
            inner = {k: Tensor(body.one(v), getattr(leaves[k], "requires_grad", False)) for k, v in stacks.items()}
            args, kwargs = tree.unflatten(spec, [inner.get(k, x) for k, x in enumerate(leaves)])
            made, out_spec = tree.flatten(f(*args, **kwargs))
            ys = [None if y is None else constant(y) for y in made]
            values = [y.value for y in ys if y is not None]
        found = iter(body.everywhere([*values]))
        body.settle()
        ends = prefixed(out_axes, tree.unflatten(out_spec, made), "out_axes")
        return tree.unflatten(out_spec, [
            None if y is None else record(Tensor(last(next(found), axis, n), y.requires_grad))
            for y, axis in zip(ys, ends)])

    return mapped


def prefixed(axes: Axes, x: Any, what: str) -> list[int | None]:
    """An axis for each leaf of x, of which `axes` is a prefix: an entry stands for all that lies below it."""
    if not is_series(axes) and not is_dict(axes):
        return [None if axes is None else whole(axes, what)] * len(tree.flatten(x)[0])
    found, own = tree.entries(axes), tree.entries(x)
    if own is None or found is None or {*found[1]} != {*own[1]} or isinstance(axes, dict) != isinstance(x, dict):
        given = "one leaf" if own is None else f"{kind(x)} of {len(own[1])}"
        raise ArgumentError(f"{what} of vmap must have the structure of what it is about, or be one number for it: "
                            f"{kind(axes)} of {len(found[1]) if found else 0} stands for {given}",
                            hint="Give one entry for each argument; None for those that are not mapped over.")
    by_key = dict(zip(found[1], found[2]))
    return [a for key, part in zip(own[1], own[2]) for a in prefixed(by_key[key], part, what)]


def checked(x: Any, axis: int | None) -> Any:
    """A leaf that has an axis to map over."""
    is_one = isinstance(x, Tensor) or is_array(x)
    if is_one and x.ndim:
        return x
    what = f"a tensor of no axes, {constant(x).value.type}" if is_one else kind(x)
    raise ShapeError(f"vmap maps over axis {axis} of each argument, got {what}",
                     hint="Write in_axes=(0, None) with None for the arguments that are the same for all.")


def first(v: Value, axis: int | None, what: str) -> Value:
    """The value with the axis that is mapped over in front."""
    assert axis is not None
    at = axis_of(axis, v.ndim)
    return transpose(v, (at, *(k for k in range(v.ndim) if k != at)))


def last(y: Placed, axis: int | None, n: Dim) -> Value:
    """A result with the axis of its places where it is wanted."""
    v, is_placed = y
    if axis is None:
        if is_placed:
            raise GraphError(f"out_axes is None for a result {v.type.with_shape(v.shape[1:])} that differs from place "
                             "to place", hint="Say where its axis goes, or reduce it with st.psum or st.pmean first.")
        return v
    v = along(y, n)
    at = axis_of(axis, v.ndim)
    rest = iter(range(1, v.ndim))
    return transpose(v, tuple(0 if k == at else next(rest) for k in range(v.ndim)))


def places(sizes: list[Dim], given: Dim | None) -> Dim:
    """How many places there are."""
    found = [*sizes, *(() if given is None else (given,))]
    if not found:
        raise ShapeError("vmap has no argument to map over, and no axis_size=")
    for n in found[1:]:
        if not same(found[0], n):
            raise ShapeError(f"the axes that vmap maps over differ in size: {show(tuple(found))}",
                             hint="Write None in in_axes for what is the same for all.")
    return next((n for n in found if isinstance(n, int)), found[0])
