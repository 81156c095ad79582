"""Derivatives as users ask for them: of functions, and of expressions."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, TypeVarTuple, overload

import numpy as np

from stele.arrays.tensor import Tensor, constant
from stele.eager.backward import refuse_freed
from stele.eager.handle import TRACING, enable_grad, owner
from stele.eager.hooks import of_leaf
from stele.eager.live import is_symbolic
from stele.errors import DTypeError, GraphError, ShapeError, kind
from stele.higher.body import shown
from stele.ir.door import public
from stele.ir.graph import Value, walk
from stele.ir.origin import lines
from stele.ops.arguments import function, is_array, is_series, refuse, sequence, wholes
from stele.ops.linear import Reshape, full, zeros_like
from stele.tracing import tree
from stele.transform import autodiff

A = TypeVarTuple("A")
P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
T = TypeVar("T", bound=Tensor | list[Any] | tuple[Any, ...] | dict[str, Any])   # its gradient is of its own kind,
B = TypeVar("B", bound=tree.Branch)                                             # a dict by parameter name,
N = TypeVar("N", bound=np.ndarray[Any, Any] | np.generic | float)               # or a tensor


class Gradient(Protocol[P]):
    """What `grad` makes: it takes what the function takes, and gives the gradient of its first argument."""

    @overload
    def __call__(self: Gradient[Concatenate[T, Q]], x: T, /, *args: Q.args, **kwargs: Q.kwargs) -> T: ...
    @overload
    def __call__(self: Gradient[Concatenate[B, Q]], x: B, /, *args: Q.args, **kwargs: Q.kwargs
                 ) -> dict[str, Tensor]: ...
    @overload
    def __call__(self: Gradient[Concatenate[N, Q]], x: N, /, *args: Q.args, **kwargs: Q.kwargs) -> Tensor: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class Both(Protocol[P]):
    """What `value_and_grad` makes: it gives what the function gives, and the gradient of its first argument."""

    @overload
    def __call__(self: Both[Concatenate[T, Q]], x: T, /, *args: Q.args, **kwargs: Q.kwargs) -> tuple[Tensor, T]: ...
    @overload
    def __call__(self: Both[Concatenate[B, Q]], x: B, /, *args: Q.args, **kwargs: Q.kwargs
                 ) -> tuple[Tensor, dict[str, Tensor]]: ...
    @overload
    def __call__(self: Both[Concatenate[N, Q]], x: N, /, *args: Q.args, **kwargs: Q.kwargs
                 ) -> tuple[Tensor, Tensor]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


def fresh(x: Any) -> Tensor:
    """The same numbers under a value of their own, so that only this use of x counts."""
    x = constant(x)
    return Tensor(Reshape(x.value.shape)(x.value), True)


def seed_of(loss: Any) -> Value:
    """Ones for a loss of one number; raises for anything else."""
    if not isinstance(loss, Tensor):
        hint = "Return the loss, a tensor of one number; beside others as (loss, more), with has_aux=True."
        raise GraphError(f"a function to differentiate returns a tensor, got {kind(loss)}", hint=hint)
    if loss.dtype.is_complex:
        raise DTypeError(f"a derivative starts from a real number, got {loss.value.type}",
                         hint="Take st.abs(z), z.real or z.imag first; st.vjp takes cotangents that are complex.")
    if not loss.dtype.is_float and loss.size == 1:
        raise DTypeError(f"a derivative starts from one float number, got {loss.value.type}: whole numbers have none",
                         hint="Compute it of floats: x.astype('float32'), 2.0 instead of 2.")
    if not loss.dtype.is_float or loss.size != 1:
        raise ShapeError(f"a derivative starts from one float number, got {loss.value.type}",
                         hint="Reduce it first, for example with .sum() or .mean().")
    return full(loss.value.shape, 1, loss.dtype)


@overload
def gradients(loss: Tensor, wrt: T) -> T: ...
@overload
def gradients(loss: Tensor, wrt: tree.Branch) -> dict[str, Tensor]: ...
@public
def gradients(loss: Tensor, wrt: Any) -> Any:
    """The gradient of a number `loss` with respect to each tensor of `wrt`: a tensor, a container of them, or a module.

    Nothing is written to `.grad`, and the history of `loss` stays. Each in its own dtype. They have the shapes of what
    they are of: zeros where the loss depends on one by what has no slope, such as `st.sign`. Raises GraphError where
    it does not depend on one, and for a tensor that requires no gradients, but inside a compiled function and of
    placeholders: its history ends where numbers are looked at.

    >>> x = st.tensor([1.0, 2.0], requires_grad=True)
    >>> st.gradients((x * x).sum(), x).tolist()
    [2.0, 4.0]
    """
    seed = seed_of(loss)
    leaves, spec = tree.flatten(tree.expand(wrt))
    for k, x in enumerate(leaves):
        if not isinstance(x, Tensor):
            refuse("wrt of gradients", "a tensor, or a container of tensors", x)
        if not (x.requires_grad or TRACING.get() is not None or is_symbolic(x.value)):
            raise GraphError(f"tensor {k} of wrt, {x.value.type}, requires no gradients: what is computed of it keeps "
                             "no history once its numbers are there",
                             hint="Make it with requires_grad=True before the loss is computed, or use st.grad.")
    refuse_freed([loss.value])
    found = left(leaves, autodiff.gradients([loss.value], [seed], [x.value for x in leaves]))
    for k, (x, g) in enumerate(zip(leaves, found)):
        if g is None:
            raise GraphError(f"the loss does not depend on tensor {k} of wrt, {x.value.type} "
                             f"(made at {', '.join(lines(x.value.where))})",
                             hint="Compute the loss from it, with requires_grad=True, before you look at the loss.")
    return tree.unflatten(spec, (Tensor(g, loss.requires_grad) for g in found if g is not None))


def left(x: Sequence[Tensor], found: Sequence[Value | None]) -> list[Value | None]:
    """The gradients of tensors, those of leaves as their hooks leave them."""
    return [of_leaf(a, g) if g is not None and a.leaf else g for a, g in zip(x, found)]


def argument_numbers(x: Any) -> tuple[int, ...]:
    """Which arguments a derivative is taken of."""
    if isinstance(x, Tensor) or is_array(x):
        refuse("argnums", "a whole number or several", x, "What is differentiated is called later: st.grad(f)(x).")
    return wholes(x, "argnums", 0)


@overload
def value_and_grad(  # pyright: ignore[reportOverlappingOverload]
    f: Callable[P, Tensor], argnums: Literal[0] = 0, has_aux: Literal[False] = False) -> Both[P]: ...
@overload
def value_and_grad(f: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
                   ) -> Callable[P, tuple[Any, Any]]: ...
@public
def value_and_grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
                   ) -> Callable[..., Any]:
    """The function that returns (f(...), gradient with respect to the arguments `argnums`), for an `f` of one number.

    An argument may be a tensor, a container of tensors or a module (whose gradient is a dict by parameter name). With
    `has_aux`, f returns (loss, more) and so does the result: ((loss, more), gradient). Raises ShapeError where f
    returns more than one number, or no float.

    >>> value, g = st.value_and_grad(lambda x: (x ** 3).sum())(st.tensor([1.0, 2.0]))
    >>> value.tolist(), g.tolist()
    (9.0, [3.0, 12.0])
    """
    function(f, "what is differentiated")
    numbers = argument_numbers(argnums)

    @public
    @wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        wanted(numbers, argnums, args)
        new, wrt = renewed(args, numbers)
        with enable_grad():
            y = f(*new, **kwargs)
        loss, *more = with_more(y) if has_aux else (y,)
        seed, (leaves, spec) = seed_of(loss), tree.flatten(wrt)
        found = left(leaves, autodiff.gradients([loss.value], [seed], [x.value for x in leaves]))
        open_ended = loss.requires_grad and carries_on(args, [loss])
        parts = tree.unflatten(spec, [Tensor(zeros_like(x.value) if g is None else g, open_ended)
                                      for x, g in zip(leaves, found)])
        loss = Tensor(loss.value, open_ended)
        return ((loss, *more) if has_aux else loss), (parts[0] if isinstance(argnums, int) else tuple(parts))

    return differentiated


def wanted(numbers: Sequence[int], argnums: Any, args: Sequence[Any]) -> None:
    """Raises unless there are arguments of all these numbers."""
    if max(numbers, default=0) >= len(args):
        raise GraphError(f"a derivative with argnums={argnums} needs {max(numbers) + 1} positional arguments, "
                         f"got {len(args)}")


def with_more(y: Any) -> Sequence[Any]:
    """The loss and what else a function returns beside it."""
    if is_series(y) and y:
        return y
    refuse("with has_aux, what a function to differentiate returns", "(loss, more)", y)


def carries_on(args: Any, results: Sequence[Tensor]) -> bool:
    """Whether derivatives of results may be asked for: they depend on tensors from outside that require gradients."""
    given = any(isinstance(x, Tensor) and x.requires_grad for x in tree.flatten(args)[0])
    return given or any((h := owner(v)) is not None and h.leaf and h.requires_grad
                        for v in walk(y.value for y in results))


def computed(f: Callable[..., Any], args: Any, what: str) -> tuple[list[Tensor], tree.Spec | None]:
    """The tensors that f returns, and the containers around them; raises ArgumentError for what is no tensor."""
    results, spec = tree.flatten(enable_grad()(function(f, what))(*args))
    for y in results:
        if not isinstance(y, Tensor):
            refuse(f"the result of {what}", "tensors", y, "Return what it computes of its arguments.")
    return results, spec


def renewed(args: tuple[Any, ...], numbers: Sequence[int]) -> tuple[tuple[Any, ...], list[Any]]:
    """The arguments with fresh tensors in the chosen places, and these; of a module its parameters as they are."""
    new, wrt = list(args), list[Any]()
    for k in numbers:
        new[k], own = anew(args[k])
        if new[k] is not args[k]:
            continuous(tree.flatten(own)[0], f"argument {k}", "name other arguments with argnums=")
        wrt.append(own)
    return tuple(new), wrt


def anew(x: Any) -> tuple[Any, Any]:
    """An argument with fresh tensors, and these in a container of their own, since a function may take a dict apart; a
    module as it is, and its parameters."""
    if isinstance(x, tree.Branch):
        return x, tree.expand(x)
    leaves, spec = tree.flatten(x)
    leaves = [*map(fresh, leaves)]
    return tree.unflatten(spec, leaves), tree.unflatten(spec, leaves)


def continuous(leaves: Sequence[Tensor], what: str, otherwise: str) -> None:
    """Raises DTypeError for tensors of whole numbers, by which there is no derivative."""
    for x in leaves:
        if not x.dtype.is_float:
            raise DTypeError(f"no derivative by {what}, {x.value.type}: whole numbers have none",
                             hint=f"Convert it with .astype('float32'), or {otherwise}.")


@overload
def grad(  # pyright: ignore[reportOverlappingOverload]
    f: Callable[P, Tensor], argnums: Literal[0] = 0, has_aux: Literal[False] = False) -> Gradient[P]: ...
@overload
def grad(f: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[P, Any]: ...
@public
def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that returns the gradient of `f` with respect to the arguments `argnums`, of any order.

    f returns one number; with `has_aux`, (number, more), and so does the result: (gradient, more). Raises ShapeError
    where f returns more than one number, or no float.

    >>> st.grad(st.grad(lambda x: x ** 3))(st.tensor(2.0)).tolist()
    12.0
    >>> st.grad(lambda x, y: x * y, argnums=(0, 1))(st.tensor(2.0), st.tensor(5.0))
    (tensor(5.), tensor(2.))
    """
    both = value_and_grad(f, argnums, has_aux)

    @public
    @wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        y, g = both(*args, **kwargs)
        return (g, *y[1:]) if has_aux else g

    return gradient


@public
def vjp(f: Callable[[*A], R], *args: *A) -> tuple[R, Callable[[R], tuple[*A]]]:
    """The result f(*args), and the function that maps a cotangent of it to cotangents of the arguments `args` of `f`.

    A cotangent has the structure of the result (GraphError for another), and is returned as a tuple, one per argument
    (a dict by parameter name of a module): it times the Jacobian, in one backward pass whatever its size.

    >>> y, pull = st.vjp(lambda x: x * x, st.tensor([1.0, 2.0]))
    >>> pull(st.tensor([1.0, 10.0]))[0].tolist()
    [2.0, 40.0]
    """
    inner, wrt = zip(*map(anew, args)) if args else ((), ())
    leaves, shape = tree.flatten(wrt)
    results, spec = computed(f, inner, "what vjp differentiates")
    carries = carries_on(args, results)

    @public
    def pull(g: Any) -> tuple[Any, ...]:
        given, same = tree.flatten(tree.arranged(g, spec))
        if same != spec:
            raise GraphError(f"a cotangent has the structure of the result, {shown(tree.unflatten(spec, results))}, "
                             f"got {shown(g)}")
        seeds = [constant(c, r.dtype).value for c, r in zip(given, results)]
        found = autodiff.gradients([r.value for r in results], seeds, [x.value for x in leaves])
        return tree.unflatten(shape, [Tensor(zeros_like(x.value) if d is None else d, x.requires_grad)
                                      for x, d in zip(leaves, found)])

    return tree.unflatten(spec, [Tensor(r.value, carries and r.requires_grad) for r in results]), pull


def along(x: Any, what: str) -> tuple[Any, ...]:
    """Arguments or tangents one by one; raises ArgumentError for a tensor, whose rows are none."""
    if is_array(x) or isinstance(x, Tensor):
        refuse(what, "a tuple", x, "Of one argument write st.jvp(f, (x,), (dx,)).")
    return sequence(x, what, "a tuple of tensors")


@public
def jvp(f: Callable[[*A], R], args: tuple[*A], tangents: tuple[*A]) -> tuple[R, R]:
    """The result f(*args), and its change along the `tangents` of the arguments `args` of `f`, both tuples.

    The Jacobian times the tangents, in one forward pass. The tangent of a module is a dict by parameter name. Raises
    GraphError for tangents of another structure or other shapes than the arguments have, DTypeError for other dtypes
    and for arguments that are whole numbers, ArgumentError for what is no tuple.

    >>> y, dy = st.jvp(lambda x: x * x, (st.tensor(3.0),), (st.tensor(1.0),))
    >>> y.tolist(), dy.tolist()
    (9.0, 6.0)
    """
    args, tangents = (along(x, f"the {what} of jvp") for x, what in ((args, "arguments"), (tangents, "tangents")))
    inner, wrt = zip(*map(anew, args)) if args else ((), ())
    results, spec = computed(f, inner, "what jvp differentiates")
    leaves, shape = tree.flatten(wrt)
    given, same = tree.flatten(tree.arranged(tangents, shape))
    if same != shape:
        raise GraphError(f"the tangents of jvp have the structure of its arguments, {shown(wrt)}, got "
                         f"{shown(tangents)}", hint="Give zeros for those that stay: st.zeros_like(x).")
    continuous(leaves, "an argument of jvp", "leave it out of the function's arguments")
    changes = [constant(t, x.dtype).value for t, x in zip(given, leaves)]
    for x, t in zip(leaves, changes):
        autodiff.check("tangent", x.value, t)
    found = autodiff.tangents([r.value for r in results], [x.value for x in leaves], changes)
    carries = carries_on(args, results)
    flags = [carries and r.requires_grad for r in results]
    made = [Tensor(zeros_like(r.value) if d is None else d, flag) for r, d, flag in zip(results, found, flags)]
    return tree.unflatten(spec, [Tensor(r.value, flag) for r, flag in zip(results, flags)]), tree.unflatten(spec, made)
