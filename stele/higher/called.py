"""Python functions on NumPy's arrays as ops."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar, overload

from stele.arrays.opensize import plain
from stele.arrays.operands import Operands
from stele.arrays.tensor import Tensor, constant, tensors
from stele.eager.handle import GRAD
from stele.errors import ArgumentError, kind
from stele.higher.custom import custom_gradient, custom_jvp
from stele.ir.door import public
from stele.ir.graph import Item, Value
from stele.ir.types import TupleType, Type, dtype
from stele.ops.arguments import flag, function, parameters, whole, wholes
from stele.ops.called import Called, Code, Result
from stele.tracing.state import Opaque, exact

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
    options, constants that it gets as they are, and so do those of its rules that name them behind the operands.
    `shape(*specs)` says what it returns, in shapes and dtypes: a spec has both, and what is returned is a spec, a pair
    (shape, dtype), or a list of those for a tuple. Without it the result is like operand number `like`. Derivatives are
    written in functions of tensors: `vjp(g, y, *x)` returns the cotangents of the operands (a tuple where there are
    several, None for zero) for that of the result, or `jvp(dx, y, *x)` the tangent of the result for a tuple of theirs;
    either is enough for both modes. Where f is `vectorized`, further axes in front of all operands are such axes of the
    result, and `st.vmap` calls it once, its shape rule too, with specs that have these axes; else once for each place.
    It is called as often as its results are needed, which may be never. Raises GraphError where it returns what the
    rule does not say and where a derivative is asked for that nobody said; ArgumentError for what is no function, for
    methods, for two derivatives, for sizes that are no whole numbers, and for tensors and lists by name.

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

    def types(self, name: str, *x: Type) -> Result:
        """The types of the results of the op of this name."""
        if self.shape is None:
            if self.like >= len(x):
                raise ArgumentError(f"op says that the result is like operand {self.like} of {len(x)}")
            return x[self.like]
        made = self.shape(*x)
        return TupleType(tuple(spec(name, t) for t in made)) if isinstance(made, list) else spec(name, made)


def spec(name: str, x: Any) -> Type:
    """A type as the shape rule of the op of this name says it."""
    pair: tuple[Any, ...] = (x.shape, x.dtype) if isinstance(x, Type | Tensor) else x if isinstance(x, tuple) else ()
    if len(pair) != 2:
        raise ArgumentError(f"a shape rule returns a spec or a pair (shape, dtype), got {kind(x)}",
                            hint="Several results are a list of those.")
    return Type(dtype(pair[1]), plain(wholes(pair[0], f"every size of the shape that the rule of {name} returns", 0)))


class Codes(Opaque):
    """The op of a function for each set of options that it is called with. Its rules run where others are traced,
    itself with their programs."""

    def __init__(self, f: Callable[..., Any], how: Says) -> None:
        self.f, self.how = f, how
        self.known: dict[Any, Callable[..., Any]] = {}
        self.of({})     # which programs that are read from files find by its name

    def inside(self) -> tuple[Any, ...]:
        return self.how.shape, self.how.vjp, self.how.jvp

    def of(self, options: dict[str, Any]) -> Callable[..., Any]:
        """The op with these options. Raises ArgumentError for one that is no constant."""
        for name, x in options.items():
            if isinstance(x, Tensor) or not isinstance(x, Hashable):
                raise ArgumentError(f"{name} of {self.f.__name__} is an option, as it is given by name, got {kind(x)}",
                                    hint="Give operands by place; an option is a number, a text or a tuple of them.")
        key = exact((*sorted(options.items()),))
        if key not in self.known:
            self.known[key] = with_options(self.f, self.how, options)
        return self.known[key]


def with_options(f: Callable[..., Any], how: Says, options: dict[str, Any]) -> Callable[..., Any]:
    """The op of a function that is called with some options."""
    says = how._replace(**{name: ruled(rule, options) for name, rule in (
        ("shape", how.shape), ("vjp", how.vjp), ("jvp", how.jvp)) if rule is not None and options})
    given = f"({', '.join(f'{name}={x!r}' for name, x in sorted(options.items()))})" if options else ""
    code = Code(f"{f.__module__}.{f.__qualname__}{given}", partial(f, **options) if options else f,
                partial(says.types, f.__name__), how.vectorized, defined=True)

    @wraps(f)
    def plainly(*x: Any) -> Any:
        operands = Operands(numbers=False)
        values = [operands.value(constant(a)) for a in x]
        return tensors(parts(Called(code.name, code)(*values)), operands.differentiable and GRAD.get())

    return differentiable(plainly, says.vjp, says.jvp)


def ruled(rule: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """A rule with those of an op's options that it names behind its operands."""
    form = parameters(rule)

    def takes(name: str, n: int) -> bool:
        return form is not None and any(
            p.kind is p.VAR_KEYWORD or (p.name == name and (p.kind is p.KEYWORD_ONLY or k >= n))
            for k, p in enumerate(form.parameters.values()))

    return lambda *x: rule(*x, **{name: a for name, a in options.items() if takes(name, len(x))})


def differentiable(f: Callable[..., Any], vjp: Callable[..., Any] | None, jvp: Callable[..., Any] | None
                   ) -> Callable[..., Any]:
    """A function with the derivative that its author says, in which its own result has that derivative too."""
    if vjp is not None:
        pull = vjp

        @wraps(f)
        def graded(*x: Any) -> Any:
            return f(*x), lambda g: pull(g, whole(*x), *x)

        whole = custom_gradient(graded)
        return whole
    if jvp is not None:
        push, forward = jvp, custom_jvp(f)
        forward.defjvp(lambda x, dx: ((y := forward(*x)), push(dx, y, *x)))
        return wraps(f)(lambda *x: forward(*x))
    return f


def written(f: Callable[..., Any], how: Says) -> Callable[..., Any]:
    """The op of a function. Raises ArgumentError for a method, whose first argument is no array."""
    place, form = f.__qualname__.rpartition(".")[0], parameters(f)
    first = next(iter(form.parameters), "") if form and place and not place.endswith("<locals>") else ""
    if first in ("self", "cls"):
        raise ArgumentError(f"{f.__qualname__} is a method, and its {first} is no array",
                            hint="Write the op as a function outside of the class.")
    codes = Codes(f, how)
    return public(wraps(f)(lambda *x, **options: codes.of(options)(*x)))


def parts(y: Value) -> Any:
    """One result, or a tuple of them."""
    return tuple(Item(k)(y) for k in range(len(y.type.items))) if isinstance(y.type, TupleType) else y
