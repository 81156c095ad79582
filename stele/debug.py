"""Looking into functions that are compiled: prints, callbacks and breakpoints that run with the program, in order."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from stele.arrays.looking import is_traced
from stele.arrays.opensize import OpenSize, plain
from stele.arrays.tensor import Tensor
from stele.eager.handle import TRACING
from stele.errors import ArgumentError
from stele.higher.body import TURN, no_order
from stele.ir.door import public
from stele.ir.graph import Array
from stele.ir.origin import here, lines
from stele.ops.arguments import flag, function
from stele.ops.called import Called, Code
from stele.ops.generate import quantity
from stele.tracing import tree

__all__ = ("breakpoint", "callback", "print")

@public
def print(*what: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False, where: bool = True,
          **named: Any) -> None:
    """Prints tensors and whatever else as `print` does, when the program runs, in the order in which it is written.

    In compiled functions it stands in the branch that is taken, in each step of a loop, and under `st.vmap` for one
    example after the other. `what` is printed with `sep` between and `end` behind, to `file` (what sys.stdout is then),
    which `flush` empties; where its first part is a text with braces, it is what `str.format` makes of it with the
    others and those that are `named`. With `where` the line of the call stands behind it. Tensors of any dtype and
    shape are shown as NumPy's arrays are, sizes, open ones too, as numbers. Raises TraceError for tensors of
    `st.placeholder`, whose functions have no order, and in branches and loops that examples of `st.vmap` choose and end
    for themselves; when it runs, ArgumentError for braces that it cannot fill.

    >>> @st.compile
    ... def f(x):
    ...     y = x * 2
    ...     st.debug.print("y is {} and its sum {total}", y, total=y.sum(), where=False)
    ...     return y.sum()
    >>> _ = f(st.tensor([1.0, 2.0]))
    y is [2. 4.] and its sum 6.0
    """
    place = f"    # {', '.join(lines(here()))}" if flag(where, "where of print") else ""

    def show(*what: Any, **named: Any) -> None:
        first, *others = what or ("",)
        if isinstance(first, str) and "{" in first:
            try:
                text = first.format(*others, **named)
            except (IndexError, KeyError, TypeError, ValueError) as error:
                raise ArgumentError(f"print cannot fill {first!r:.80}: {error}{place}", hint="Give a part or a name "
                                    "for each of its braces; {:.2f} is for tensors of one element.") from error
        else:
            text = sep.join(map(str, [*what, *(f"{name}={x}" for name, x in named.items())]))
        builtins.print(text, end=f"{place}{end}", file=file, flush=flush)

    called("print", show, what, named)


@public
def callback(f: Callable[..., Any], *what: Any, **named: Any) -> None:
    """Calls `f` with tensors as NumPy's arrays, when the program runs: for logs, plots, checks. Its result is dropped.

    `what` and `named` are its arguments: those that are tensors, or containers of them, as they are then, sizes (also
    in a shape) as Python's numbers; others as they are. Calls come in the order in which they are written, in loops
    once for each step, under `st.vmap` once for each example. What f raises ends the program. Of any dtypes and shapes.
    What only f reads and fills, a list or attributes, is no reason to trace a function again, where f stands in the
    call itself, or in a variable of the function that only such calls use: a name, a method, a lambda, a
    functools.partial. Raises TraceError for tensors of
    `st.placeholder`, for a list or dict among the arguments of a compiled function that f holds itself, which no later
    call would fill, and in branches and loops that examples of `st.vmap` choose and end for themselves; ArgumentError
    for what is no function.

    >>> seen = []
    >>> @st.compile
    ... def f(x):
    ...     return st.fori_loop(0, 3, lambda k, x: (st.debug.callback(seen.append, x), x * 2)[1], x)
    >>> f(st.tensor(1.0)).tolist(), [float(x) for x in seen]
    (8.0, [1.0, 2.0, 4.0])
    """
    called(getattr(f, "__name__", "callback"), function(f, "what callback calls"), what, named)


@public
def breakpoint(*what: Any, **named: Any) -> None:
    """Stops in the debugger when the program gets there, where `what` and `named` are the numbers of tensors and sizes.

    It is Python's own `breakpoint`, in a frame that holds the arguments under these names. Of any dtypes and shapes.
    Raises TraceError for tensors of `st.placeholder`. To step op by op, run the function inside of `with st.eager():`.

    >>> import sys
    >>> stops = []
    >>> hook, sys.breakpointhook = sys.breakpointhook, lambda: stops.append("here")     # instead of the debugger
    >>> st.compile(lambda x: (st.debug.breakpoint(y=x * 2), x + 1)[1])(st.tensor(1.0)).tolist(), stops
    (2.0, ['here'])
    >>> sys.breakpointhook = hook
    """
    place = ", ".join(lines(here()))

    def stop(*what: Any, **named: Any) -> None:
        sys.stderr.write(f"stopped at {place}: `what` and `named` hold the numbers\n")
        sys.breakpointhook()

    called("breakpoint", stop, what, named)


def __dir__() -> list[str]:
    return sorted(__all__)


def called(name: str, f: Callable[..., Any], what: Sequence[Any], named: dict[str, Any]) -> None:
    """f on the numbers of tensors and sizes: now where they are known, else when the program gets here."""
    leaves, spec = tree.flatten((tuple(what), named))
    is_later = TRACING.get() is not None
    given = {k: x if isinstance(x, Tensor) else Tensor(quantity(plain(x))) for k, x in enumerate(leaves)
             if isinstance(x, Tensor) or (is_later and isinstance(x, OpenSize))}
    run = partial(whole, f, spec, leaves, list(given))
    if not is_later:
        if any(is_traced(x.value) for x in given.values()):
            raise no_order(name)
        run(*(x.numpy() for x in given.values()))
        return
    code = Code(f"debug.{name}", lambda turn, *x: (run(*x), turn + np.int64(1))[1], lambda turn, *x: turn, in_turn=f)
    TURN.value = Called(code.name, code)(TURN.value, *(x.detach().value for x in given.values()))


def whole(f: Callable[..., Any], spec: tree.Spec | None, leaves: Sequence[Any], places: Sequence[int], *x: Array
          ) -> None:
    """f on its arguments, with numbers in the place of tensors, copies which it may keep, and in that of sizes."""
    given = {k: np.array(a) if isinstance(leaves[k], Tensor) else int(a) for k, a in zip(places, x)}
    what, named = tree.unflatten(spec, [given.get(k, leaf) for k, leaf in enumerate(leaves)])
    f(*what, **named)
