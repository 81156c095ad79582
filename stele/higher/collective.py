"""What the examples of a `vmap` with a name know of each other."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from stele.arrays.operands import Operands
from stele.arrays.tensor import Tensor, constant, tensors
from stele.eager.handle import GRAD
from stele.errors import GraphError
from stele.higher.vmap import NAMED, Axis
from stele.ir.door import public
from stele.ir.graph import Value
from stele.ops import collective
from stele.ops.arguments import refuse
from stele.ops.elementwise.arithmetic import Div, Neg
from stele.ops.generate import quantity
from stele.ops.linear import cast
from stele.tracing import tree

X = TypeVar("X")


def axis(name: Any, what: str) -> Axis:
    """The axis of this name that a vmap around has made."""
    known = NAMED.get()
    if not isinstance(name, str):
        refuse("axis_name", "the name of an axis", name, hint="Write it as in st.vmap(f, axis_name='i').")
    if name not in known:
        others = f"the vmaps around it are named {', '.join(map(repr, known))}"
        raise GraphError(f"{what} over the axis {name!r}, but {others if known else 'no vmap around it has a name'}",
                         hint=f"Name it: st.vmap(f, axis_name={name!r}).")
    return known[name]


def each(f: Callable[[Value, Axis], Value], x: Any, name: str, what: str) -> Any:
    """f for each tensor of x."""
    own = axis(name, what)

    def one(leaf: Any) -> Tensor:
        operands = Operands(numbers=False)
        return tensors(operands.cut(f(operands.value(constant(leaf)), own)), operands.differentiable and GRAD.get())

    return tree.map(one, x)


@public
def psum(x: X, axis_name: str) -> X:
    """The sum of x, a tensor or a container of them, over all places of the axis that `st.vmap` names `axis_name`.

    It has the shape and dtype of x at one place, and is the same at all of them; its gradient is the sum of the
    gradients that all places have for it. Raises GraphError where no vmap around has that name.

    >>> st.vmap(lambda x: x / st.psum(x, "i"), axis_name="i")(st.tensor([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    return each(lambda v, own: collective.AllSum()(v, own.index), x, axis_name, "psum")


@public
def pmean(x: X, axis_name: str) -> X:
    """The mean of x, a tensor or a container of them, over all places of the axis that `st.vmap` names `axis_name`.

    It has the shape of x at one place; integers become float32. Raises GraphError where no vmap around has that name.

    >>> st.vmap(lambda x: x - st.pmean(x, "i"), axis_name="i")(st.tensor([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """
    def mean(v: Value, own: Axis) -> Value:
        return Div()(collective.AllSum()(v, own.index), cast(quantity(own.n), v.dtype))

    return each(mean, x, axis_name, "pmean")


@public
def pmax(x: X, axis_name: str) -> X:
    """The largest x of all places of the axis that `st.vmap` names `axis_name`, element by element.

    x is a tensor of real numbers or a container of them; the result has its shape and dtype at one place. Places that
    tie share the gradient evenly. Raises GraphError where no vmap around has that name.

    >>> st.vmap(lambda x: x == st.pmax(x, "i"), axis_name="i")(st.tensor([1.0, 3.0])).tolist()
    [False, True]
    """
    return each(lambda v, own: collective.AllMax()(v, own.index), x, axis_name, "pmax")


@public
def pmin(x: X, axis_name: str) -> X:
    """The smallest x of all places of the axis that `st.vmap` names `axis_name`, element by element.

    x is a tensor of real numbers or a container of them; the result has its shape and dtype at one place. Places that
    tie share the gradient evenly. Raises GraphError where no vmap around has that name.

    >>> st.vmap(lambda x: x - st.pmin(x, "i"), axis_name="i")(st.tensor([1.0, 3.0])).tolist()
    [0.0, 2.0]
    """
    return each(lambda v, own: Neg()(collective.AllMax()(Neg()(v), own.index)), x, axis_name, "pmin")


@public
def all_gather(x: X, axis_name: str) -> X:
    """x of all places of the axis that `st.vmap` names `axis_name`, along a new first axis; the same at all of them.

    x is a tensor of any dtype or a container of them. Raises GraphError where no vmap around has that name.

    >>> st.vmap(lambda x: st.all_gather(x, "i")[::-1], axis_name="i")(st.tensor([1.0, 3.0])).tolist()
    [[3.0, 1.0], [3.0, 1.0]]
    """
    return each(lambda v, own: collective.AllGather(own.n)(v, own.index), x, axis_name, "all_gather")


@public
def axis_index(axis_name: str) -> Tensor:
    """The number of this place on the axis that `st.vmap` names `axis_name`, as int64.

    It has no axes. Raises GraphError where no vmap around has that name.

    >>> st.vmap(lambda x: x * st.axis_index("i"), axis_name="i")(st.tensor([5.0, 5.0])).tolist()
    [0.0, 5.0]
    """
    return Tensor(axis(axis_name, "axis_index").index)


@public
def axis_size(axis_name: str) -> Any:
    """How many places the axis has that `st.vmap` names `axis_name`: an int, or an open size.

    Raises GraphError where no vmap around has that name.

    >>> st.vmap(lambda x: x / st.axis_size("i"), axis_name="i")(st.tensor([1.0, 3.0])).tolist()
    [0.5, 1.5]
    """
    return axis(axis_name, "axis_size").n
