"""The calls that the examples of a docstring make, and what is raised where an argument of one of them is another."""
from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from bad_calls import shown

import stele as st
from stele import errors
from stele.ops.arguments import is_array, is_series

ERRORS = {name for name, x in vars(errors).items() if inspect.isclass(x) and issubclass(x, Exception)} | {"LinAlgError"}
MISFITS: tuple[Any, ...] = ("wrong", object(), -99, 99, -1, 0, 0.5, -0.5, float("nan"), [99, 99], [-1], [0.5], [1] * 7,
                            None, 1j, True, [], "int32")


class Call(NamedTuple):
    """What is called, with what, and what is done with the result, as the example does."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    then: tuple[tuple[Any, ...], ...] = ()

    def __str__(self) -> str:
        given = [shown(a) for a in self.args] + [f"{k}={shown(a)}" for k, a in self.kwargs.items()]
        return f"{getattr(self.function, '__name__', 'called')}({', '.join(given)})"

    def made(self) -> Any:
        """The result."""
        y = self.function(*self.args, **self.kwargs)
        for args in self.then:
            y(*args)
        return y


class Heard(ast.NodeTransformer):
    """Code whose calls go through `_heard`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Name("_heard", ast.Load()), [node.func, *node.args], node.keywords), node)


def is_of(f: Any, x: Any) -> bool:
    """Whether calling f is calling the public name x: it, the same method, an object of a class or its methods."""
    owner, own = getattr(f, "__self__", None), getattr(x, "__func__", x)
    if inspect.isclass(x):
        return f is x or isinstance(f, x) or isinstance(owner, x)
    return not isinstance(f, st.nn.Module) and inspect.unwrap(getattr(f, "__func__", f)) is inspect.unwrap(own)


def calls(x: Any, examples: Sequence[doctest.Example], space: dict[str, Any]) -> list[Call]:
    """The calls of x that the examples of its docstring make; those of an object of it are made of all such objects."""
    found: list[Call] = []

    def heard(f: Any, *args: Any, **kwargs: Any) -> Any:
        if is_of(f, x):
            found.append(Call(f, args, kwargs))
        return f(*args, **kwargs)

    space = space | {"_heard": heard, "__name__": "example"}
    for example in examples:
        tree = ast.fix_missing_locations(Heard().visit(ast.parse(example.source)))
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):   # an example may show an error
            exec(compile(tree, "<example>", "exec"), space)
    then = tuple(call.args for call in found if inspect.isclass(x) and isinstance(call.function, x))
    return [call._replace(then=then) if call.function is x else call for call in found]


def others(a: Any) -> Iterator[Any]:
    """What may stand where `a` stood, and hardly fits."""
    if is_array(a) and a.dtype.kind in "biufc":
        a = st.tensor(a)
    if isinstance(a, st.Tensor):
        shape: Any = a.shape
        yield from (st.zeros(shape, dtype=dtype) for dtype in ("complex64", "bool", "int64", "float32"))
        for other in ((*shape, 7), shape[1:], (*shape[:-1], 7), (7, *shape[1:]), (0,) * len(shape)):
            yield st.zeros(other, dtype=a.dtype)
    elif is_series(a) and a:
        yield [*a, a[-1]]
        yield list(a[:-1])
        yield from ([b, *a[1:]] for b in others(a[0]))
    yield from MISFITS
    if not isinstance(a, st.Tensor):
        yield from (st.zeros((2, 3)), st.zeros((4, 5)), st.zeros((2, 3), dtype="complex64"))


def variations(call: Call) -> Iterator[Call]:
    """The same call with one argument that is another, of those it was given and of those it was not."""
    for k, a in enumerate(call.args):
        yield from (call._replace(args=(*call.args[:k], b, *call.args[k + 1:])) for b in others(a))
    known = list(inspect.signature(call.function).parameters.values())[len(call.args):]
    free = [p.name for p in known if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for name in dict.fromkeys([*call.kwargs, *free]):
        yield from (call._replace(kwargs=call.kwargs | {name: b}) for b in others(call.kwargs.get(name)))


def raised(made: Callable[[], Any], looks: bool = False) -> Exception | None:
    """What a call raises, or with `looks` the look at its numbers."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            y = made()
            if looks:
                st.eval(*(t for t in (y if is_series(y) else [y]) if isinstance(t, st.Tensor)))
        except Exception as error:
            return error
    return None


def names_of(error: Exception | None) -> set[str]:
    """The classes that may be said to have been raised: an axis that there is not is a ShapeError too."""
    return {kind.__name__ for kind in type(error).__mro__} & ERRORS - {"SteleError"}


def promised(text: str) -> list[str]:
    """The errors that a docstring says are raised, in order."""
    prose = " ".join(text.partition(">>>")[0].split())
    return list(dict.fromkeys(re.findall(rf"\b({'|'.join(sorted(ERRORS))})\b", prose)))
