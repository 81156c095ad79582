"""Functions whose derivatives are said by who wrote them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper, wraps
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from stele.arrays.operands import Operands
from stele.arrays.tensor import Tensor, constant, tensors
from stele.eager.handle import GRAD, TRACING, Handle, Tracing, tracing_into
from stele.eager.live import Live, symbol
from stele.errors import GraphError, ShapeError, TraceError, kind
from stele.higher.body import TURN, Body, shown
from stele.ir.door import public
from stele.ir.graph import Graph, Value, closed
from stele.ir.record import Aside
from stele.ir.types import Type
from stele.ops.arguments import function
from stele.ops.control import enclosed, fits, parts
from stele.ops.derived import Derived
from stele.ops.linear import zeros_like
from stele.ops.parts import conj
from stele.tracing import tree

P = ParamSpec("P")
R = TypeVar("R")


class Inner(Body):
    """The inside of a function with derivatives of its own, or of one of these, which `derives`: what it reads outside
    are `given` values, or noted."""

    def __init__(self, what: str, outer: Tracing | None, given: dict[int, Live], derives: bool) -> None:
        super().__init__(what, outer, ())
        self.given, self.reads, self.derives = given, dict[Value, Handle](), derives

    def read(self, handle: Handle) -> Live:
        if id(handle) in self.given:
            return self.given[id(handle)]
        v = super().read(handle)
        self.reads[v] = handle
        return v

    def write(self, handle: Handle, value: Live) -> None:
        if handle is TURN:
            raise TraceError(f"a print or a callback stands in {self.what}, which has no place among others",
                             hint="x.register_hook(f) sees the gradient of x, and f may print it.")
        raise TraceError(f"{self.what} rebinds a tensor from outside, such as the state of random numbers: "
                         "its derivative would do so again", hint="Draw before, and pass the numbers as an argument.")


class Own(Aside):
    """The derivative that came with a function, at a call of it: the leaves of the arguments at `places` are operands,
    of which the first `count` have derivatives; `handles` were read outside, and are operands behind them. What it
    returns has the spec `out`."""

    forward: bool

    def __init__(self, f: Callable[..., Any], by: Callable[..., Any] | None, spec: tree.Spec | None,
                 leaves: Sequence[Any], places: Sequence[int], count: int, handles: Sequence[Handle],
                 out: tree.Spec | None) -> None:
        self.f, self.by, self.spec, self.out, self.places = f, by, spec, out, (*places,)
        self.count, self.handles = count, (*handles,)
        self.leaves = tuple(None if k in places else x for k, x in enumerate(leaves))

    def args(self, x: Sequence[Value]) -> tuple[Any, Any]:
        """The arguments of these operands."""
        found = {k: Tensor(v) for k, v in zip(self.places, x)}
        return tree.unflatten(self.spec, [found.get(k, leaf) for k, leaf in enumerate(self.leaves)])

    def inside(self, entry: Sequence[Live]) -> Inner:
        """Where it runs on these symbols."""
        behind = entry[len(self.places):]
        given = dict(zip(map(id, self.handles), behind))
        return Inner(f"the derivative of {self.f.__name__}", TRACING.get(), given, True)

    def graph(self, x: Sequence[Type], y: Sequence[Type]) -> Graph:
        entry = [symbol(f"x{k}", t) for k, t in enumerate(x)]
        own = [t for t in (x[:self.count] if self.forward else y) if t.dtype.is_float]
        further = [symbol(f"{'dx' if self.forward else 'g'}{k}", t) for k, t in enumerate(own)]
        with tracing_into(body := self.inside(entry)):
            results = self.derive(entry, further, y)
        if body.reads:
            v = next(iter(body.reads))
            raise GraphError(f"the derivative of {self.f.__name__} reads a tensor {v.type} from outside that the "
                             "function itself does not read", hint="Pass it as an argument.")
        return closed([*entry, *further], results)

    def derive(self, x: Sequence[Live], along: Sequence[Live], y: Sequence[Type]) -> list[Value]:
        """What the user's code makes of it."""
        raise NotImplementedError

    @property
    def key(self) -> tuple[Any, ...]:
        return type(self), self.f, self.by, self.spec, self.places, self.leaves, self.handles, self.out

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.key == other.key

    def __hash__(self) -> int:
        return hash((type(self), self.f))


class Pull(Own):
    """The derivative of a function that gives, beside its result, what maps cotangents of it to those of arguments."""

    forward = False

    def derive(self, x: Sequence[Live], along: Sequence[Live], y: Sequence[Type]) -> list[Value]:
        args, kwargs = self.args(x)
        made, pull = pair(self.f(*args, **kwargs), self.f)
        leaves, spec = tree.flatten(made)
        gs = iter(along)
        seeds = [Tensor(conj(next(gs))) if constant(r).dtype.is_float else Tensor(zeros_like(constant(r).value))
                 for r in leaves]
        found = pull(tree.unflatten(spec, seeds))
        given = found if isinstance(found, tuple) and (len(args) != 1 or len(found) == 1) else (found,)     # type: ignore[reportUnknownVariableType]
        if len(given) != len(args):     # type: ignore[reportUnknownArgumentType]
            raise GraphError(f"the derivative of {self.f.__name__} returns {shown(found)} for {len(args)} arguments",   # type: ignore[reportUnknownArgumentType]
                             hint="Return a cotangent for each argument, None where it is zero.")
        of: dict[int, Value] = dict(zip(self.places[:self.count], x))
        return [conj(v) for v in matched(self, "cotangent", (given, {}), (args, kwargs), of)]


class Push(Own):
    """The derivative of a function as a second one, of arguments and their tangents."""

    forward = True

    def derive(self, x: Sequence[Live], along: Sequence[Live], y: Sequence[Type]) -> list[Value]:
        args, _ = self.args(x)
        moving = dict(zip((k for k, v in zip(self.places[:self.count], x) if v.dtype.is_float), along))
        still = {k: zeros_like(v) for k, v in zip(self.places, x)} | moving
        tangents, _ = tree.unflatten(self.spec, [Tensor(still[k]) if k in still else None
                                                 for k in range(len(self.leaves))])
        assert self.by is not None
        made, change = pair(self.by(args, tangents), self.by)
        made = tree.arranged(made, self.out)
        leaves = tree.flatten(made)[0]
        if len(leaves) != len(y) or not all(fits(constant(r).value.type, t) for r, t in zip(leaves, y)):
            raise GraphError(f"the derivative of {self.f.__name__} returns {shown(made)} as its result, but "
                             f"{self.f.__name__} itself {', '.join(map(str, y))}")
        of: dict[int, Value] = {k: constant(r).value for k, r in enumerate(leaves)}
        return matched(self, "tangent", change, made, of)


def is_derivative(at: Tracing | None) -> bool:
    """Whether what is traced is, or is within, a derivative that came with a function."""
    return isinstance(at, Body) and ((isinstance(at, Inner) and at.derives) or is_derivative(at.outer))


def pair(made: Any, f: Callable[..., Any]) -> tuple[Any, Any]:
    """A result and what comes with it."""
    if not isinstance(made, tuple) or len(made) != 2:   # type: ignore[reportUnknownArgumentType]
        raise GraphError(f"{f.__name__} must return a result and its derivative, got {kind(made)}",     # type: ignore[reportUnknownArgumentType]
                         hint="Of custom_gradient: y, pull. Of defjvp: y, dy.")
    return made     # type: ignore[reportUnknownVariableType]


def matched(rule: Own, what: str, given: Any, like: Any, of: dict[int, Value]) -> list[Value]:
    """For each float leaf of a tree its derivative of the same type: zeros where None stands for it, or for a part."""
    found = [leaf for part in aligned(given, like) for leaf in part]
    made: list[Value] = []
    for k, v in of.items():
        if not v.dtype.is_float:
            continue
        g = zeros_like(v) if found[k] is None else constant(found[k], v.dtype).value
        if not fits(g.type, v.type):
            raise ShapeError(f"the derivative of {rule.f.__name__} gives a {what} {g.type} for {v.type}",
                             hint="It has the shape of what it is of.")
        made.append(g)
    return made


def aligned(given: Any, like: Any) -> list[list[Any]]:
    """The leaves of a tree beside those of another, None for all that lies below a None."""
    own, found = tree.entries(like), tree.entries(given)
    if given is None or (own is None and found is None):
        return [[given] * len(tree.flatten(like)[0])]
    if own is None or found is None or not {*found[1]} <= {*own[1]} or (
            found[0] is not dict and len(found[1]) != len(own[1])):
        raise GraphError(f"a derivative has the structure of what it is of: got {shown(given)} for {shown(like)}")
    by_key = dict(zip(found[1], found[2]))
    return [part for key, inner in zip(own[1], own[2]) for part in aligned(by_key.get(key), inner)]


def derived(rule: Callable[..., Own], call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
            name: str) -> Any:
    """What a function gives, as one op with the derivatives of a rule."""
    leaves, spec = tree.flatten((args, kwargs))
    places = [k for k, x in enumerate(leaves) if isinstance(x, Tensor | np.ndarray)]
    operands = Operands(numbers=False)
    x = [operands.value(constant(leaves[k])) for k in places]
    entry = [symbol(f"x{k}", v.type) for k, v in enumerate(x)]
    with tracing_into(body := Inner(name, TRACING.get(), {}, False)):
        given = {k: Tensor(v) for k, v in zip(places, entry)}
        args, kwargs = tree.unflatten(spec, [given.get(k, leaf) for k, leaf in enumerate(leaves)])
        made, out = tree.flatten(call(*args, **kwargs))
        results = tuple(constant(y).value for y in made)
    if body.differentiable and GRAD.get():
        v = next(v for v, handle in body.reads.items() if handle.requires_grad)
        raise GraphError(f"{name} has a derivative of its own, which says nothing of a tensor {v.type} that it reads "
                         "from outside and that requires gradients", hint="Pass it as an argument.")
    (graph,), captured = enclosed([((*entry,), results)], body.known, name)
    own = sum(k < len(tree.flatten(args)[0]) for k in places)
    handles = [body.reads[v] for v in captured if v in body.reads]
    done = Derived(graph, rule(spec, leaves, places, own, handles, out), own)(*x, *captured)
    return tree.unflatten(out, tensors(list(parts(done)), operands.differentiable and GRAD.get()))


@public
def custom_gradient(f: Callable[P, tuple[R, Callable[[R], Any]]]) -> Callable[P, R]:
    """The function with the gradient that `f` gives: f returns a result, and the function that pulls a cotangent back.

    That function takes what has the structure, shapes and dtypes of the result, and returns a cotangent for each
    argument of f, a tuple of them where there are several: None for zero. It holds in both modes (in forward mode its
    transpose is taken, as it is linear), to any order, under `st.vmap` and compiled. f runs once more where a gradient
    is asked for. What f reads from outside has no gradient: a GraphError is raised for a tensor that requires one, and
    ArgumentError for what is no function.

    >>> @st.custom_gradient
    ... def log1pexp(x):
    ...     e = st.exp(x)
    ...     return st.log(1 + e), lambda g: g * (1 - 1 / (1 + e))
    >>> st.grad(log1pexp)(st.tensor(100.0)).tolist()        # inf / inf without it
    1.0
    """
    function(f, "what custom_gradient decorates")
    whole: Callable[..., Any] = f

    @public
    @wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        def value(*args: Any, **kwargs: Any) -> Any:
            return pair(whole(*args, **kwargs), whole)[0]

        return derived(lambda *at: Pull(whole, None, *at), value, args, kwargs, whole.__name__)

    return call


class custom_jvp(Generic[P, R]):
    """The function `f`, whose derivative in forward mode is what is given to `defjvp`: a rule for its tangents.

    The rule takes the arguments and their tangents, two tuples, and returns the result and its tangent, in the same
    structure; tangents have the shapes and dtypes of what they are of, None stands for one that is zero. It is linear
    in the tangents, so that reverse mode is its transpose; it holds to any order, under `st.vmap` and compiled. What f
    reads from outside has no derivative: a GraphError is raised for a tensor that requires gradients, and where there
    is no rule; ArgumentError for what is no function.

    >>> @st.custom_jvp
    ... def f(x, y):
    ...     return st.sin(x) * y
    >>> @f.defjvp
    ... def rule(x, dx):
    ...     return f(*x), st.cos(x[0]) * x[1] * dx[0] + st.sin(x[0]) * dx[1]
    >>> st.grad(f)(st.tensor(0.0), st.tensor(3.0)).tolist()
    3.0
    """

    @public
    def __init__(self, f: Callable[P, R]) -> None:
        self.f, self.rule = function(f, "what custom_jvp decorates"), None
        update_wrapper(self, f)

    def defjvp(self, rule: Callable[[Any, Any], tuple[R, Any]]) -> Callable[[Any, Any], tuple[R, Any]]:
        """The rule for tangents is this one; it is returned as it is."""
        self.rule: Any = function(rule, "the rule of a custom_jvp")
        return rule

    @public
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.rule is None:
            raise GraphError(f"{self.f.__name__} is a custom_jvp without a rule",
                             hint=f"Give it one: @{self.f.__name__}.defjvp.")
        by = self.rule
        return derived(lambda *at: Push(self.f, by, *at), self.f, args, kwargs, self.f.__name__)
