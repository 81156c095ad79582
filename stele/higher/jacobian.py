"""Derivatives with more than one number: Jacobians, Hessians, and products of these."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from stele.arrays.creation import eye
from stele.arrays.tensor import Tensor
from stele.eager.handle import enable_grad
from stele.errors import DTypeError, GraphError
from stele.higher.gradient import argument_numbers, grad, jvp, renewed, wanted
from stele.higher.vmap import vmap
from stele.ir.door import public
from stele.ir.graph import Value
from stele.ops.arguments import choice, function
from stele.ops.linear import zeros_like
from stele.tracing import tree
from stele.transform import autodiff

T = TypeVar("T")
MODES = "reverse", "forward"


@public
def jacobian(f: Callable[..., Any], argnums: int | Sequence[int] = 0, mode: str = "reverse") -> Callable[..., Any]:
    """The function that returns the derivative of every number that `f` returns by every number of arguments `argnums`.

    f may return tensors or containers of tensors, and an argument may be one, or a module. For each tensor y of the
    result and each x of the arguments there is a tensor of shape y.shape + x.shape: in the containers of the result
    stand those of the arguments. `mode` "reverse" makes one backward pass for each number of the result, "forward" one
    forward pass for each number of the arguments, all of them at once: take the smaller number. Of any order. Raises
    DTypeError for results or arguments that are no real floats, OptionError for another mode.

    >>> st.jacobian(lambda x: x * x.sum())(st.tensor([1.0, 2.0])).tolist()
    [[4.0, 1.0], [2.0, 5.0]]
    >>> st.jacobian(lambda x, y: {"z": x @ y}, argnums=1, mode="forward")(st.ones(2, 3), st.ones(3))["z"].shape
    (2, 3)
    """
    function(f, "what is differentiated")
    numbers, forward = argument_numbers(argnums), choice(mode, "mode of jacobian", MODES) == "forward"

    @public
    @wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        wanted(numbers, argnums, args)
        new, wrt = renewed(args, numbers)
        results, spec = tree.flatten(enable_grad()(f)(*new, **kwargs))
        leaves, inner = tree.flatten(wrt[0] if isinstance(argnums, int) else tuple(wrt))
        ys, xs = ([real(v, what) for v in values] for values, what in ((results, "a result"), (leaves, "an argument")))
        if forward:
            columns = [pushed(ys, x) for x in xs]
            rows = [[column[k] for column in columns] for k in range(len(ys))]
        else:
            rows = [pulled(y, xs) for y in ys]
        carries = any(isinstance(x, Tensor) and x.requires_grad for x in tree.flatten(args)[0])
        return tree.unflatten(spec, [tree.unflatten(inner, [Tensor(part.value, carries) for part in row])
                                     for row in rows])

    return differentiated


def real(x: Any, what: str) -> Value:
    """A tensor that has derivatives by numbers one by one."""
    if not isinstance(x, Tensor):
        raise GraphError(f"{what} of what jacobian differentiates must be a tensor, got {type(x).__name__}")
    if not x.dtype.is_float or x.dtype.is_complex:
        raise DTypeError(f"{what} of what jacobian differentiates must be a real float, got {x.value.type}",
                         hint="Take its real and imaginary parts, or convert it with .astype('float32').")
    return x.value


def pulled(y: Value, xs: Sequence[Value]) -> list[Tensor]:
    """The derivatives of y by each x, by one cotangent for each number of y."""
    def row(seed: Tensor) -> list[Tensor]:
        found = autodiff.gradients([y], [seed.value], xs)
        return [Tensor(zeros_like(x) if g is None else g) for g, x in zip(found, xs)]

    made = vmap(row)(each(y))
    return [part.reshape((*y.shape, *x.shape)) for part, x in zip(made, xs)]


def pushed(ys: Sequence[Value], x: Value) -> list[Tensor]:
    """The derivatives of each y by x, by one tangent for each number of x."""
    def column(change: Tensor) -> list[Tensor]:
        found = autodiff.tangents(ys, [x], [change.value])
        return [Tensor(zeros_like(y) if t is None else t) for t, y in zip(found, ys)]

    made = vmap(column, out_axes=-1)(each(x))
    return [part.reshape((*y.shape, *x.shape)) for part, y in zip(made, ys)]


def each(x: Value) -> Tensor:
    """One array of the shape of x for each of its numbers, with a one in that place."""
    n: Any = x.type.size
    return eye(n, dtype=x.dtype).to(x.type.device).reshape((n, *x.shape))


@public
def hessian(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The function that returns the second derivatives of `f` by its arguments `argnums`, of shape x.shape + x.shape.

    f returns one number. An argument may be a container of tensors or a module: the result has its structure twice, for
    each tensor x the derivatives by each z, of shape x.shape + z.shape. The gradient in reverse mode is pushed forward,
    along every number at once; `st.hvp` makes one product without it. Raises ArgumentError for what is no function and,
    when called, ShapeError where f returns other than one float number.

    >>> st.hessian(lambda x: (x ** 3).sum())(st.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    >>> st.hessian(lambda p: p["a"] * p["b"])({"a": st.tensor(2.0), "b": st.tensor(3.0)})["a"]["b"].tolist()
    1.0
    """
    return jacobian(grad(f, argnums), argnums, "forward")


@public
def hvp(f: Callable[[T], Tensor], x: T, v: T) -> T:
    """The Hessian of `f` at x times `v`, without the Hessian: the change of the gradient along v.

    f returns one number of x, a tensor, a container of tensors or a module; v and the result have its structure and
    shapes, dicts by parameter name for a module. It
    takes some four times what f takes (Pearlmutter, 1994). Raises ShapeError where f returns other than one float
    number, GraphError for a v of another structure.

    >>> st.hvp(lambda x: (x ** 3).sum(), st.tensor([1.0, 2.0]), st.tensor([1.0, 10.0])).tolist()
    [6.0, 120.0]
    """
    slope: Callable[[T], T] = grad(f)  # type: ignore[assignment]
    return jvp(slope, (x,), (v,))[1]
