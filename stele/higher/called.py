"""Python functions on NumPy's arrays as ops."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar, overload

from stele.arrays.opensize import plain
from stele.arrays.tensor import Operands, Tensor, constant, tensors
from stele.eager.handle import GRAD
from stele.errors import ArgumentError, kind
from stele.higher.custom import custom_gradient, custom_jvp
from stele.ir.door import public
from stele.ir.graph import Item, Value
from stele.ir.types import TupleType, Type, dtype
from stele.ops.arguments import flag, function, whole
from stele.ops.called import Called, Code, Result
from stele.tracing.state import Opaque

F = TypeVar("F", bound=Callable[..., Any])


@overload
def op(f: F, /) -> F: ...
@overload
def op(f: None = None, /, *, shape: Callable[..., Any] | None = None, like: int = 0,
       vjp: Callable[..., Any] | None = None, jvp: Callable[..., Any] | None = None, vectorized: bool = False
       ) -> Callable[[F], F]: ...
@public
def op(f: Callable[..., Any] | None = None, /, *, shape: Callable[..., Any] | None = None, like: int = 0,
       vjp: Callable[..., Any] | None = None, jvp: Callable[..., Any] | None = None, vectorized: bool = False) -> Any:
    """A function `f` of NumPy's arrays as an op: a decorator, with or without options.

    It runs in every style: programs call it in Python in the midst of native code, in loops and branches too, on the
    thread that called them. f takes read-only arrays and returns one, or a tuple of them; arguments by name are
    options, which it gets as they are. `shape(*specs)` says what it returns, in shapes and dtypes: a spec has both,
    and what is returned is a spec, a pair (shape, dtype), or a list of those for a tuple. Without it the result is
    like operand number `like`. Derivatives are written in functions of tensors: `vjp(g, y, *x)` returns the
    cotangents of the operands (a tuple where there are several, None for zero) for that of the result, or `jvp(dx, y,
    *x)` the tangent of the result for a tuple of theirs; either is enough for both modes. Where f is `vectorized`,
    further axes in front of all operands are such axes of the result, and `st.vmap` calls it once; else once for each
    place. It is called as often as its results are needed, which may be never. Raises GraphError where it returns
    what the rule does not say and where a derivative is asked for that nobody said; ArgumentError for what is no
    function, and for two derivatives.

    >>> @st.op(vjp=lambda g, y, x: g * 3 * x ** 2)
    ... def cube(x):
    ...     return x ** 3
    >>> st.compile(st.value_and_grad(lambda x: cube(x).sum()))(st.tensor([1.0, 2.0]))
    (tensor(9.), tensor([ 3., 12.]))
    >>> @st.op(shape=lambda x: ((x.shape[0],), "int64"))
    ... def kinds(x):
    ...     return np.array([len(set(row)) for row in x.tolist()])
    >>> kinds(st.tensor([[1, 1, 2], [3, 3, 3]])).tolist()
    [2, 1]
    """
    for given, name in ((shape, "the shape rule of op"), (vjp, "vjp of op"), (jvp, "jvp of op")):
        if given is not None:
            function(given, name)
    if vjp is not None and jvp is not None:
        raise ArgumentError("op takes vjp or jvp, got both", hint="Either is enough: it serves both modes.")
    how = Says(shape, whole(like, "like of op", 0), vjp, jvp, flag(vectorized, "vectorized of op"))

    def decorated(f: Callable[..., Any]) -> Callable[..., Any]:
        return written(function(f, "what op decorates"), how)

    return decorated if f is None else decorated(f)


class Says(NamedTuple):
    """What its author says of a function beside its code."""

    shape: Callable[..., Any] | None
    like: int
    vjp: Callable[..., Any] | None
    jvp: Callable[..., Any] | None
    vectorized: bool

    def types(self, *x: Type) -> Result:
        """The types of the results."""
        if self.shape is None:
            if self.like >= len(x):
                raise ArgumentError(f"op says that the result is like operand {self.like} of {len(x)}")
            return x[self.like]
        made = self.shape(*x)
        return TupleType(tuple(map(spec, made))) if isinstance(made, list) else spec(made)


def spec(x: Any) -> Type:
    """A type as a shape rule says it."""
    if isinstance(x, Type | Tensor):
        return Type(x.dtype, tuple(plain(x.shape)))
    pair: tuple[Any, ...] = x if isinstance(x, tuple) else ()    # pyright: ignore[reportUnknownVariableType]
    if len(pair) != 2:
        raise ArgumentError(f"a shape rule returns a spec or a pair (shape, dtype), got {kind(x)}",
                            hint="Several results are a list of those.")
    return Type(dtype(pair[1]), tuple(plain(pair[0])))


class Codes(Opaque):
    """A code of a function for each set of options that it is called with. Its shape rule runs where others are traced,
    itself with their programs."""

    def __init__(self, f: Callable[..., Any], how: Says) -> None:
        self.f, self.how = f, how
        self.known: dict[Any, Code] = {}

    def inside(self) -> tuple[Any, ...]:
        return self.how.shape,

    def of(self, options: dict[str, Any]) -> Code:
        """The code for these options."""
        key, f = tuple(sorted(options.items())), self.f
        if key not in self.known:
            self.known[key] = Code(f"{f.__module__}.{f.__qualname__}", partial(f, **options) if options else f,
                                   self.how.types, self.how.vectorized)
        return self.known[key]


def written(f: Callable[..., Any], how: Says) -> Callable[..., Any]:
    """The op of a function."""
    codes = Codes(f, how)

    @wraps(f)
    def plainly(*x: Any, **options: Any) -> Any:
        operands = Operands(numbers=False)
        values = [operands.value(constant(a)) for a in x]
        own = codes.of(options)
        return tensors(parts(Called(own.name, own)(*values)), operands.differentiable and GRAD.get())

    if how.vjp is not None:
        pull: Callable[..., Any] = how.vjp

        def graded(*x: Any, **options: Any) -> Any:
            y = plainly(*x, **options)
            return y, lambda g: pull(g, y, *x)

        return public(wraps(f)(custom_gradient(wraps(f)(graded))))
    if how.jvp is not None:
        push: Callable[..., Any] = how.jvp
        forward = custom_jvp(plainly)
        forward.defjvp(lambda x, dx: ((y := forward(*x)), push(dx, y, *x)))
        return public(wraps(f)(lambda *x, **options: forward(*x, **options)))
    return public(plainly)


def parts(y: Value) -> Any:
    """One result, or a tuple of them."""
    return tuple(Item(k)(y) for k in range(len(y.type.items))) if isinstance(y.type, TupleType) else y
