"""Functions across the border: Stele's inside PyTorch, PyTorch's inside Stele, with gradients through both."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, reduce, wraps
from importlib import import_module
from operator import add
from typing import Any

import stele as st
from stele import nn
from stele.arrays import dlpack
from stele.errors import ArgumentError, DTypeError, GraphError, ShapeError
from stele.interop.torch.export import named, shared, torch
from stele.ir.door import public
from stele.ops.arguments import function
from stele.tracing import tree

Call = Callable[..., Any]
KNOWN = 1024            # shapes and dtypes for which a function's results are kept
SAY = "Say it: from_torch_function(f, shape=lambda x: (x.shape, x.dtype))."


@public
def to_torch(f: Callable[..., Any]) -> Any:
    """A function `f` of Stele's tensors as one of PyTorch's; a Stele module as a `torch.nn.Module`.

    Arguments and results may be containers. Arguments cross without being copied; results and gradients are copies,
    to which PyTorch may write, but for an argument without a gradient that is returned. Gradients of PyTorch's go
    through it, of any order (`create_graph=True`); Stele's parameters that f reads from outside get their `.grad` in a
    first-order backward pass. Of a module the parameters are `torch.nn.Parameter`s of the result, under their names,
    for PyTorch's optimisers: they begin with a copy of the numbers, and
    `module.load_state_dict(result.state_dict(), strict=False)` brings them back; buffers stay the module's own. Within
    `torch.compile` they are called as they are, between two parts of what it compiles. Raises DataError without
    PyTorch, DTypeError for gradients of complex numbers.

    >>> from importlib.util import find_spec
    >>> from stele.interop.torch import to_torch
    >>> if find_spec("torch"):
    ...     import torch
    ...     x = torch.ones(3, requires_grad=True)
    ...     to_torch(lambda x: (x ** 3).sum())(x).backward()
    ...     assert x.grad.tolist() == [3.0, 3.0, 3.0]
    """
    return module_of(f) if isinstance(f, nn.Module) else torch().compiler.disable(
        bridged(function(f, "what to_torch takes")))


def bridged(f: Call) -> Call:
    """A function of containers of PyTorch's tensors, by one of Stele's."""
    @wraps(f)
    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree.flatten((args, kwargs))
        crossing = [k for k, x in enumerate(leaves) if isinstance(x, torch().Tensor)]
        shape: list[Any] = []

        def flat(*x: Any) -> list[Any]:
            given = dict(zip(crossing, x))
            own, named = tree.unflatten(spec, (given.get(k, leaf) for k, leaf in enumerate(leaves)))
            made, shape[:] = (parts := tree.flatten(f(*own, **named)))[0], [parts[1]]
            return made

        # what nobody gives requires gradients, so that parameters outside get theirs where no argument does
        made = crossed().apply(flat, torch().empty(0, requires_grad=True), *(leaves[k] for k in crossing))
        return tree.unflatten(shape[0], made)

    return called


def given(x: Any) -> st.Tensor:
    """A tensor of PyTorch's as one of Stele on its memory; it requires gradients where that one does."""
    y = shared(x)
    if x.requires_grad and y.dtype.is_complex:
        raise DTypeError("gradients of complex numbers do not cross from PyTorch",
                         hint="Give the parts: torch.view_as_real(z).")
    return y.requires_grad_() if x.requires_grad else y


def back(x: Any) -> Any:
    """A tensor of Stele's as one of PyTorch's, which may be written to: a copy. Anything else as it is."""
    return torch().from_dlpack(x).clone() if isinstance(x, st.Tensor) else x


def returned(y: Any, own: Sequence[st.Tensor], before: Sequence[Any], x: Sequence[Any]) -> Any:
    """A result for PyTorch: its own tensor x, where a function returns what it was given, of the same value as before,
    and no gradient is asked."""
    for a, value, b in zip(own, before, x):
        if y is a and a.value is value and not a.requires_grad:
            return b
    return back(y)


@cache
def crossed() -> Any:
    """The function of PyTorch's autograd whose two directions are Stele's."""
    class Crossed(torch().autograd.Function):
        @staticmethod
        def forward(ctx: Any, f: Call, _: Any, *x: Any) -> tuple[Any, ...]:
            ctx.f, ctx.x = f, [given(a) for a in x]
            ctx.save_for_backward(*x)       # which finds what was written to in between
            before = [a.value for a in ctx.x]
            with st.enable_grad():
                ctx.y = f(*ctx.x)
            made = tuple(returned(y, ctx.x, before, x) for y in ctx.y)
            ctx.mark_non_differentiable(*(a for a, y in zip(made, ctx.y) if isinstance(a, torch().Tensor)
                                          and not (is_float(y) and y.requires_grad)))
            return made

        @staticmethod
        def backward(ctx: Any, *g: Any) -> tuple[Any, ...]:
            x, wanted = ctx.saved_tensors, ctx.needs_input_grad[2:]
            if any(wanted) and torch().is_grad_enabled():   # create_graph=True: the gradient is a function that has one
                found = iter(bridged(pulled(ctx.f, wanted))(list(x), list(g)))
                return None, None, *(next(found) if want else None for want in wanted)
            pairs = [(a, shared(b)) for a, b in zip(ctx.y, g) if is_float(a) and a.requires_grad]
            for a in ctx.x:
                a.grad = None
            if pairs:
                reduce(add, ((a * b).sum() for a, b in pairs)).backward(retain_graph=True)
            return None, None, *(grad_of(a) if want else None for a, want in zip(ctx.x, wanted))

    return Crossed


def is_float(x: Any) -> bool:
    """Whether x is a tensor of real numbers."""
    return isinstance(x, st.Tensor) and x.dtype.is_float


def grad_of(x: st.Tensor) -> Any:
    """The gradient of a tensor, for PyTorch: zeros where nothing depends on it."""
    return back(st.zeros_like(x) if x.grad is None else x.grad)


def pulled(f: Call, wanted: Sequence[bool]) -> Call:
    """The function of operands and cotangents that gives the cotangents of those operands that are wanted."""
    def gradient(x: Sequence[Any], g: Sequence[Any]) -> list[Any]:
        moving = [a for a, want in zip(x, wanted) if want]

        def some(*a: Any) -> list[Any]:
            new = iter(a)
            return f(*(next(new) if want else old for old, want in zip(x, wanted)))

        y, pull = st.vjp(lambda *a: [b for b in some(*a) if is_float(b)], *moving)
        seeds = [c for c in g if c is not None and c.dtype.is_float]
        return list(pull(seeds[:len(y)]))

    return gradient


def module_of(model: nn.Module) -> Any:
    """A module of PyTorch whose parameters are those of a model, and which calls it; copies call copies of it."""
    return crossing()(model)


@cache
def crossing() -> Any:
    """The class of modules of PyTorch that call one of Stele's."""
    class Crossing(torch().nn.Module):
        def __init__(self, model: nn.Module) -> None:
            super().__init__()
            self._stele = model
            hold(self, model)

        def __reduce__(self) -> Any: return module_of, (self._stele,), self.__dict__

        @torch().compiler.disable
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            names = [name for name, _ in self._stele.named_parameters()]

            def run(weights: Sequence[st.Tensor], args: Any, kwargs: Any) -> Any:
                with standing(self._stele, names, weights):
                    return self._stele(*args, **kwargs)

            return bridged(run)([self.get_parameter(name) for name in names], args, kwargs)

        def train(self, mode: bool = True) -> Any:
            self._stele.train(mode)
            return super().train(mode)

    return Crossing


def hold(holder: Any, model: nn.Module) -> None:
    """Has a module of PyTorch hold the parameters of a model, in modules as deep as their names."""
    kinds = torch().nn
    for name, p in model.named_parameters():
        *path, last = name.split(".")
        place = holder
        for key in path:
            if key not in place._modules:
                place.add_module(key, kinds.Module())
            place = place._modules[key]
        place.register_parameter(last, kinds.Parameter(back(p), requires_grad=p.requires_grad))


@contextmanager
def standing(model: nn.Module, names: Sequence[str], weights: Sequence[st.Tensor]) -> Generator[None]:
    """As long as this lasts, other tensors stand for a model's parameters."""
    own = [model.get_parameter(name) for name in names]
    before = [p.value for p in own]
    try:
        for p, w in zip(own, weights):
            p.value = w.value
        yield
    finally:
        for p, value in zip(own, before):
            p.value = value


@public
def from_torch_function(f: Callable[..., Any], *, shape: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function `f` of PyTorch's tensors as an op of Stele, in every style and with derivatives of any order.

    Programs call it in Python, on their own memory. f takes tensors and returns one, or a tuple of them; what else it
    takes, `partial(f, dim=-1)` gives. Its derivatives are those of `torch.autograd`. What it returns for shapes and
    dtypes is asked of PyTorch once, without numbers; where sizes are open or depend on numbers, `shape(*specs)` says it
    as for `st.op`. Raises ShapeError where that is missing, ArgumentError for arguments by name, DataError without
    PyTorch.

    >>> from importlib.util import find_spec
    >>> from stele.interop.torch import from_torch_function
    >>> if find_spec("torch"):
    ...     import torch
    ...     cube = from_torch_function(lambda x: x ** 3)
    ...     assert st.grad(lambda x: cube(x).sum())(st.tensor([2.0])).tolist() == [12.0]
    """
    torch()
    f = function(f, "what from_torch_function takes")

    def pull(g: Any, y: Any, *x: Any) -> Any:
        many = [k for k, a in enumerate(x) if a.dtype.is_float]
        own = len(g) if isinstance(g, tuple) else 1
        op = from_torch_function(gradient(f, own, many), shape=lambda *t: [t[own + k] for k in many])
        found = op(*(g if isinstance(g, tuple) else (g,)), *x)
        by_place = dict(zip(many, found if isinstance(found, tuple | list) else (found,)))
        return tuple(by_place.get(k) for k in range(len(x)))

    @st.op(shape=shape or lru_cache(KNOWN)(lambda *t: meta(f, t)), vjp=pull)
    @wraps(f)
    def called(*arrays: Any) -> Any:
        with torch().no_grad():
            made = f(*map(of_array, arrays))
        return tuple(map(to_array, made)) if isinstance(made, tuple | list) else to_array(made)

    @wraps(f)
    def by_place(*x: Any, **named: Any) -> Any:
        if named:
            raise ArgumentError(f"a function of PyTorch's takes tensors by place, got {', '.join(named)} by name",
                                hint=f"Write from_torch_function(partial(f, {next(iter(named))}=...)).")
        return called(*x)

    return by_place


def of_array(x: Any) -> Any:
    """An array of NumPy's as a tensor of PyTorch's on its memory."""
    return torch().utils.dlpack.from_dlpack(dlpack.given(x, max_version=dlpack.VERSION))


def to_array(x: Any) -> Any:
    """A tensor of PyTorch's as an array of NumPy's on its memory."""
    return dlpack.taken(a_tensor(x).detach(), None)


def a_tensor(x: Any) -> Any:
    """A result of PyTorch's. Raises GraphError where it is no tensor."""
    if not isinstance(x, torch().Tensor):
        raise GraphError(f"a function of PyTorch's returns tensors, got {type(x).__name__}")
    return x


def meta(f: Call, types: Sequence[Any]) -> Any:
    """The shapes and dtypes that a function returns, computed without numbers."""
    for t in types:
        if not all(isinstance(n, int) for n in t.shape):
            raise ShapeError(f"the result for open sizes {t} cannot be asked of PyTorch", hint=SAY)
    kinds, fakes = torch(), import_module("torch._subclasses.fake_tensor")
    try:
        # fakes go with true tensors, such as the weights of a module
        with fakes.FakeTensorMode(allow_non_fake_inputs=True):
            made = f(*(kinds.empty(tuple(t.shape), dtype=getattr(kinds, t.dtype.name)) for t in types))
    except (fakes.DataDependentOutputException, fakes.DynamicOutputShapeException) as error:
        raise ShapeError(f"the result cannot be asked of PyTorch without numbers, on which {error} depends", hint=SAY
                         ) from None
    parts = map(a_tensor, made if isinstance(made, tuple | list) else (made,))
    said = [(tuple(y.shape), named(y.dtype)) for y in parts]
    return said if isinstance(made, tuple | list) else said[0]


def gradient(f: Call, results: int, moving: Sequence[int]) -> Call:
    """The function of cotangents and operands that gives the cotangents of some operands, by PyTorch's autograd."""
    def pull(*given: Any) -> tuple[Any, ...]:
        kinds = torch()
        with kinds.enable_grad():
            g, x = given[:results], list(given[results:])
            for k in moving:
                x[k] = x[k] if x[k].requires_grad else x[k].detach().requires_grad_()
            made = f(*x)
            pairs = [(a, b) for a, b in zip(made if isinstance(made, tuple | list) else (made,), g) if a.requires_grad]
            wrt = [x[k] for k in moving]
            found = kinds.autograd.grad([a for a, _ in pairs], wrt, [b for _, b in pairs], create_graph=True,
                                        allow_unused=True) if pairs else [None] * len(wrt)
        return tuple(kinds.zeros_like(a) if d is None else d for a, d in zip(wrt, found))

    return pull
