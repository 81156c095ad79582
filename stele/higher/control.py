"""Branches and loops inside the program: `cond`, `switch`, `while_loop` and what is made of them and of `scan`."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from stele.arrays import functions as F
from stele.arrays.creation import arange
from stele.arrays.looking import is_traced
from stele.arrays.operands import Operands
from stele.arrays.tensor import Tensor, constant, tensors
from stele.eager.handle import GRAD
from stele.errors import ArgumentError, DTypeError, ShapeError, TraceError
from stele.higher.body import Body, Leaves, enter, is_python, returned, shown
from stele.higher.scan import scan, walked
from stele.ir.door import public
from stele.ir.graph import Literal, Value, kind_of, literal, walk
from stele.ir.sizes import Size
from stele.ir.types import int64
from stele.ops.arguments import flag, function, sequence, whole
from stele.ops.branch import branch
from stele.ops.control import Traced, fits, inside
from stele.ops.repeat import repeat
from stele.tracing import tree

MAPPED, COMBINING = "the function of map", "the function of associative_scan"


@public
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """`true_fun(*operands)` where `pred` holds, else `false_fun(*operands)`: one of them runs.

    pred is one bool. Operands and what the functions return are tensors or containers of tensors, alike for both. It is
    one op of the graph: differentiable, and a branch of the machine in a compiled program. What a function rebinds
    outside, such as the state of random numbers, is rebound if it ran. Of any dtypes. Raises DTypeError where pred is
    no bool, ShapeError where it is more than one, TraceError where the functions return what differs.

    >>> halve = lambda x: st.cond(x.sum() > 4, lambda x: x / 2, lambda x: x, x)
    >>> halve(st.tensor([2.0, 4.0])).tolist(), halve(st.tensor([1.0, 2.0])).tolist()
    ([1.0, 2.0], [1.0, 2.0])
    """
    truth = one_bool(constant(pred).value, "pred of cond")
    return chosen(truth, [false_fun, true_fun], ["false_fun of cond", "true_fun of cond"], operands)


@public
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`, of which one runs: the first for an `index` below 0, the last for one too large.

    index is one whole number. Else as `cond`: what the branches return is alike. Of any dtypes. Raises DTypeError for
    an index that is no whole number, ShapeError for more than one, ArgumentError where there are no branches.

    >>> f = lambda k: st.switch(k, [lambda x: x, lambda x: -x, lambda x: x * x], st.tensor(3.0))
    >>> [f(k).item() for k in (0, 1, 2, 9)]
    [3.0, -3.0, 9.0, 9.0]
    """
    functions = sequence(branches, "branches of switch", "a list of functions")
    if not functions:
        raise ArgumentError("switch needs at least one branch, got none")
    names = [f"branch {k} of switch" for k in range(len(functions))]
    k = constant(index).value
    if k.dtype.kind not in "iu":
        raise DTypeError(f"index of switch must be one whole number, got {k.type}",
                         hint="For a bool write st.cond; convert a float with .astype('int32').")
    if k.ndim:
        raise ShapeError(f"index of switch must be one whole number, got {k.type}", hint="Take one of them: index[0].")
    return chosen(k, functions, names, operands)


def one_bool(truth: Value, what: str) -> Value:
    """A value that decides; raises where it is no single bool."""
    if truth.dtype.kind != "b":
        raise DTypeError(f"{what} must be one bool, got {truth.type}", hint="Compare: x > 0, x != 0.")
    if truth.ndim:
        raise ShapeError(f"{what} must be one bool, got {truth.type}",
                         hint="Write x.any() or x.all(); to choose element by element write st.where.")
    return truth


def chosen(index: Value, functions: Sequence[Callable[..., Any]], names: Sequence[str], given: tuple[Any, ...]) -> Any:
    """What one of some functions of the same operands returns."""
    for f, name in zip(functions, names):
        function(f, name, [f"x{k}" for k in range(len(given))])
    operands = Operands(numbers=False)
    x, index = Leaves(given, operands), operands.beside(index)
    if is_python(index, *x.values):
        k = min(max(int(Tensor(index)), 0), len(functions) - 1)
        return tree.unflatten(*returned(functions[k](*tree.unflatten(x.spec, x.given))))
    outputs: list[tuple[tree.Spec | None, list[Any]]] = []

    def build(bodies: list[Body]) -> tuple[Value, ...]:
        inputs, count = [*x.values, *bodies[0].begin()], len(x.values)
        outputs.clear()

        def traced(body: Body, f: Callable[..., Any]) -> Traced:
            def one() -> list[Any]:
                y = f(*x.tree(entry[:count]))
                leaves, spec = tree.flatten(tree.arranged(y, outputs[0][0]) if outputs else y)
                made = [leaf if is_plain(leaf) else constant(leaf).value for leaf in leaves]
                outputs.append((spec, made))
                return made

            entry = inside([v.type for v in inputs], kind_of((index, *inputs)))
            return entry, (*body.run(entry[count:], one), *body.left)

        parts = agreed([traced(body, f) for body, f in zip(bodies, functions)], outputs, names)
        return branch(index, parts, inputs, set[Value]().union(*(body.known for body in bodies)))

    bodies, made = enter(names, build)
    spec, leaves = outputs[0]
    count = len(made) - len(bodies[0].carried)
    differentiable = (operands.differentiable or any(body.differentiable for body in bodies)) and GRAD.get()
    found = iter(bodies[0].rebind(made[count:], made[:count]))
    return tree.unflatten(spec, [None if leaf is None else tensors(next(found), differentiable) for leaf in leaves])


def is_plain(leaf: Any) -> bool:
    """Whether a leaf of what a branch returns is nothing, or a number whose dtype others decide."""
    return leaf is None or isinstance(leaf, bool | int | float | complex)


def agreed(parts: Sequence[Traced], outputs: Sequence[tuple[tree.Spec | None, list[Any]]], names: Sequence[str]
           ) -> list[Traced]:
    """Branches whose results are of the same types; raises TraceError where they are not."""
    first, least = outputs[0]
    for name, (spec, leaves) in zip(names, outputs):
        if spec != first or [leaf is None for leaf in leaves] != [leaf is None for leaf in least]:
            raise TraceError(f"{name} returns {shown(tree.unflatten(spec, leaves))} and {names[0]} "
                             f"{shown(tree.unflatten(first, least))}", hint="Return the same containers from both.")
    alike: list[list[Value]] = []
    for path, *leaves in zip(tree.paths(first, "the result"), *(leaves for _, leaves in outputs)):
        dtypes = [leaf.dtype for leaf in leaves if isinstance(leaf, Value)]
        like = dtypes[0] if dtypes else None
        made = [literal(leaf, like) if is_plain(leaf) else leaf for leaf in leaves if leaf is not None]
        for name, v in zip(names, made):
            if not fits(v.type, made[0].type):
                raise TraceError(f"{name} returns {path} as {v.type} and {names[0]} as {made[0].type}",
                                 hint="Branches return the same types: convert one with .astype, or broadcast it.")
        alike.append(made)
    return [(inputs, (*(made[k] for made in alike if made), *results[len(alike):]))
            for k, (inputs, results) in enumerate(parts)]


@public
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init: Any) -> Any:
    """The first state for which `cond_fun(state)` does not hold: `init`, and `state = body_fun(state)` until then.

    init and what body_fun returns may be tensors or containers of tensors; the state keeps its types. The loop is one
    op of the graph, and one loop of the machine in a compiled program. What they rebind outside, such as the
    state of random numbers, is carried along, and prints and callbacks come each time, in order. Of any dtypes. Raises
    DTypeError where cond_fun gives no bool, ShapeError where the state comes out with another type than it goes in,
    TraceError where cond_fun looks at nothing that is carried.

    >>> st.while_loop(lambda s: s[1] < 100, lambda s: (s[0] + 1, s[1] * 3), (0, 1))
    (tensor(5), tensor(243))
    """
    names = "cond_fun of while_loop", "body_fun of while_loop"
    for f, name in zip((cond_fun, body_fun), names):
        function(f, name, ("state",))
    return looped(cond_fun, body_fun, init, names)


def looped(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init: Any, names: tuple[str, str]) -> Any:
    """What a loop leaves that runs as long as a test holds."""
    operands = Operands(numbers=False)
    state = Leaves(init, operands)

    def test(x: Any) -> Value:
        return one_bool(constant(cond_fun(x)).value, f"what {names[0]} returns")

    if is_python(*state.values):
        x = tree.unflatten(state.spec, state.given)
        while not is_traced(truth := test(x)):
            if not Tensor(truth):
                return x
            x = tree.unflatten(state.spec, state.next(names[1], body_fun(x)))

    def build(bodies: list[Body]) -> tuple[Value, ...]:
        (tested, stepped), count = bodies, len(state.values)
        start = [*state.values, *stepped.begin()]
        types, kind = [v.type for v in start], kind_of(start)
        entry, again = inside(types, kind), inside(types, kind)
        truth = tested.run(entry[count:], lambda: test(state.tree(entry[:count])))
        if tested.missed:
            return ()
        if not isinstance(truth.op, Literal) and not any(v in entry for v in walk([truth])):
            raise TraceError(f"{names[0]} looks at nothing that the loop carries: once begun it would never end",
                             hint="Carry what it looks at in the state, and change it in the loop.")
        if tested.written:
            return ()
        new = stepped.run(again[count:], lambda: state.again(names[1], body_fun(state.tree(again[:count]))))
        return repeat((entry, (truth,)), (again, (*new, *stepped.left)), start, {*tested.known, *stepped.known})

    def step(s: Any) -> Any:
        return (y := tree.unflatten(state.spec, state.next(names[1], body_fun(s[0])))), test(y)

    bodies, last = enter(names, build)
    if bodies[0].written:       # what the body does is carried: it tests, and carries whether the test holds
        x = tree.unflatten(state.spec, state.given)
        return looped(itemgetter(1), step, (x, test(x)), names)[0]
    last = bodies[1].rebind(last[len(state.values):], last[:len(state.values)])
    differentiable = (operands.differentiable or any(body.differentiable for body in bodies)) and GRAD.get()
    return state.tensors(last, differentiable)


@public
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init: Any) -> Any:
    """The state after `state = body_fun(i, state)` for i from `lower` up to `upper`, which is left out.

    init and what body_fun returns may be tensors or containers of tensors; the state keeps its types, and i is a whole
    number. Bounds that are Python numbers or sizes make a `scan`, which is differentiable in both modes; bounds that
    are tensors a `while_loop`. Of any dtypes. Raises DTypeError for bounds that are no whole numbers, ShapeError where
    the state comes out with another type than it goes in.

    >>> st.fori_loop(1, 5, lambda i, x: x * i, st.tensor(1.0)).item()
    24.0
    """
    names = "the test of fori_loop", "body_fun of fori_loop"
    function(body_fun, names[1], ("i", "state"))
    low, high = bound(lower, "lower of fori_loop"), bound(upper, "upper of fori_loop")
    if not isinstance(low, Tensor) and not isinstance(high, Tensor):
        steps = high - low
        count: Any = steps if isinstance(steps, Size) else max(steps, 0)

        def step(state: Any, i: Any) -> tuple[Any, None]:
            return body_fun(i if low == 0 else i + low, state), None

        return walked(step, init, arange(count), names[1])[0]
    first, last = (constant(x, int64) for x in (low, high))
    wide = first.dtype if first.dtype.bytes > last.dtype.bytes else last.dtype

    def test(s: Any) -> Any:
        return s[0] < last

    def body(s: Any) -> tuple[Any, Any]:
        return s[0] + 1, body_fun(*s)

    return looped(test, body, (first.astype(wide), init), names)[1]


def bound(x: Any, what: str) -> Any:
    """A bound of a loop: one whole number, which may be a tensor."""
    if not isinstance(x, Tensor):
        return whole(x, what)
    if x.dtype.kind not in "iu":
        raise DTypeError(f"{what} must be one whole number, got {x.value.type}", hint="Convert it: .astype('int64').")
    if x.ndim:
        raise ShapeError(f"{what} must be one whole number, got {x.value.type}")
    return x


@public
def map(f: Callable[..., Any], xs: Any) -> Any:
    """f of each x along the first axis of `xs`, stacked: the outputs of a `scan` without a state.

    xs and what f returns may be tensors or containers of tensors. What f computes for all x alike is computed once, and
    products of all x become one where they can. Of any dtypes. Raises ShapeError for xs of no axes.

    >>> st.map(lambda x: x.sum() + x, st.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[4.0, 5.0], [10.0, 11.0]]
    """
    function(f, MAPPED, ("x",))
    return walked(lambda state, x: (state, f(x)), (), xs, MAPPED)[1]


@public
def associative_scan(f: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Running results of an associative function: y[0] = x[0], y[k] = `f(y[k - 1], x[k])`, along an `axis` of `elems`.

    elems may be a tensor or a container of tensors of one length along the axis, and f takes and returns two, or one,
    of the like, for many places at once: it has to be a function of each place alone. With `reverse` it runs from the
    end. For a known length it is computed in log2(n) rounds of slices (Blelloch, 1990), for an open one step by step.
    Of any dtypes. Raises ShapeError for lengths that differ, and for elems of no axes.

    >>> st.associative_scan(st.maximum, st.tensor([1.0, 3.0, 2.0, 5.0])).tolist()
    [1.0, 3.0, 3.0, 5.0]
    """
    function(f, COMBINING, ("x", "y"))
    backwards = flag(reverse, "reverse of associative_scan")
    leaves, spec = tree.flatten(elems)
    given = [constant(x) for x in leaves]
    if scalars := [x for x in given if not x.ndim]:
        raise ShapeError(f"associative_scan runs along an axis of elems, got {scalars[0].value.type}")
    moved = [F.moveaxis(x, axis, 0) for x in given]
    if not moved or any(x.shape[0] != moved[0].shape[0] for x in moved):
        raise ShapeError(f"associative_scan needs elems of one length along axis {axis}, got "
                         f"{', '.join(str(x.value.type) for x in given) or 'none'}")
    n: Any = moved[0].shape[0]

    def both(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
        leaves, made = tree.flatten(y := tree.arranged(f(x := tree.unflatten(spec, a), tree.unflatten(spec, b)), spec))
        if made != spec or not all(fits(constant(leaf).value.type, v.value.type) for leaf, v in zip(leaves, a)):
            raise ShapeError(f"{COMBINING} returns {shown(y)} for two {shown(x)}",
                             hint="It combines many at once, along the first axis, into as many of their types.")
        return [constant(leaf) for leaf in leaves]

    turned = [F.flip(x, 0) for x in moved] if backwards else moved
    made = rounds(both, turned) if isinstance(n, int) else steps(both, turned)
    return tree.unflatten(spec, [F.moveaxis(F.flip(y, 0) if backwards else y, 0, axis) for y in made])


Both = Callable[[list[Tensor], list[Tensor]], list[Tensor]]


def rounds(f: Both, x: list[Tensor]) -> list[Tensor]:
    """Running results: of pairs first, those are the odd ones, and the even ones are made of them."""
    n = x[0].shape[0]
    if n < 2:
        return x
    odd = rounds(f, f([a[0:n - 1:2] for a in x], [a[1::2] for a in x]))
    even = f([y[:(n - 1) // 2] for y in odd], [a[2::2] for a in x])
    return [woven(F.concatenate([a[:1], e]), o) for a, e, o in zip(x, even, odd)]


def woven(even: Tensor, odd: Tensor) -> Tensor:
    """Rows by turns."""
    m, rest = odd.shape[0], even.shape[1:]
    pairs = F.stack([even[:m], odd], axis=1).reshape(2 * m, *rest)
    return pairs if even.shape[0] == m else F.concatenate([pairs, even[m:]])


def steps(f: Both, x: list[Tensor]) -> list[Tensor]:
    """Running results, one after the other."""
    def step(state: list[Tensor], part: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        new = f(state, part)
        return new, new

    rest = scan(step, [a[0] for a in x], [a[1:] for a in x])[1]
    return [F.concatenate([a[:1], y]) for a, y in zip(x, rest)]
