"""Functions that run before and after the `forward` of one module, and before and after its gradients."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stele.arrays.tensor import Tensor
from stele.eager import hooks as eager
from stele.eager.live import Live
from stele.errors import ArgumentError, kind
from stele.ir.graph import Value
from stele.ops.arguments import flag, function
from stele.tracing import tree

Gradients = tuple[Tensor | None, ...]


class Hook(eager.Hook):
    """A function that runs with a module, until it is removed."""

    def __init__(self, among: list[Hook], f: Callable[..., Any], with_kwargs: bool) -> None:
        super().__init__(among, f)
        self.with_kwargs = with_kwargs


class Hooks:
    """The functions that run with one module: with its `forward`, and with gradients of what it gives and takes."""

    def __init__(self) -> None:
        self.before: list[Hook] = []
        self.after: list[Hook] = []
        self.given: list[Hook] = []     # gradients of the results
        self.taken: list[Hook] = []     # gradients of the arguments

    def add(self, among: list[Hook], f: Callable[..., Any], prepend: bool, with_kwargs: bool = False) -> Hook:
        """Another function, behind the others or before them."""
        hook = Hook(among, function(f, "a hook"), flag(with_kwargs, "with_kwargs of a hook"))
        among.insert(0 if flag(prepend, "prepend of a hook") else len(among), hook)
        return hook

    def around(self, module: Any, x: Any, options: Any) -> Any:
        """The result of a module, and of what runs with it."""
        for hook in tuple(self.before):
            given: Any = hook.f(module, x, options) if hook.with_kwargs else hook.f(module, x)
            if given is not None and hook.with_kwargs:
                x, options = given
            elif given is not None:
                x = given if type(given) is tuple else (given,)     # type: ignore[assignment]
        passing = Passing(module, (*self.given,), (*self.taken,)) if self.given or self.taken else None
        x = passing.entering(x) if passing else x
        y = module.forward(*x, **options)
        for hook in tuple(self.after):
            made = hook.f(module, x, options, y) if hook.with_kwargs else hook.f(module, x, y)
            y = y if made is None else made
        return passing.leaving(y) if passing else y


class Passing:
    """One call of a module, of which hooks are to see gradients: of what it gave, then of what it took."""

    def __init__(self, module: Any, given: Sequence[Hook], taken: Sequence[Hook]) -> None:
        self.module, self.given, self.taken = module, given, taken
        self.watches, self.arguments = False, 0
        self.of_results: Gradients = ()

    def entering(self, x: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, of which those that carry gradients are watched."""
        places = [k for k, a in enumerate(x) if isinstance(a, Tensor) and a.requires_grad]
        self.watches, self.arguments = bool(places), len(x)
        watched = dict(zip(places, self.through([x[k] for k in places], lambda g: self.behind(places, g))))
        return tuple(watched.get(k, a) for k, a in enumerate(x))

    def leaving(self, y: Any) -> Any:
        """The results, watched where they carry gradients."""
        leaves, spec = tree.flatten(y)
        places = [k for k, a in enumerate(leaves) if isinstance(a, Tensor) and a.requires_grad]
        watched = dict(zip(places, self.through(
            [leaves[k] for k in places], lambda g: self.before(places, len(leaves), g))))
        return tree.unflatten(spec, [watched.get(k, a) for k, a in enumerate(leaves)])

    def through(self, x: Sequence[Tensor], see: eager.See) -> list[Tensor]:
        """Tensors whose gradients a function sees."""
        return [Tensor(v, True) for v in eager.watch([a.value for a in x], eager.Sight(see))] if x else []

    def before(self, places: Sequence[int], n: int, g: Sequence[Live]) -> Sequence[Value]:
        """The gradients of the results as hooks leave them."""
        now = spread(places, n, g)
        for hook in self.given:
            now = replaced(hook.f(self.module, now), now)
        self.of_results = now
        if not self.watches:
            for hook in self.taken:
                replaced(hook.f(self.module, (None,) * self.arguments, now), (None,) * self.arguments)
        return [a.value for a in now if a is not None]

    def behind(self, places: Sequence[int], g: Sequence[Live]) -> Sequence[Value]:
        """The gradients of the arguments as hooks leave them."""
        now = spread(places, self.arguments, g)
        for hook in self.taken:
            now = replaced(hook.f(self.module, now, self.of_results), now)
        return [a.value for a in now if a is not None]


def spread(places: Sequence[int], n: int, g: Sequence[Live]) -> Gradients:
    """Gradients in their places, None in others."""
    found = dict(zip(places, g))
    return tuple(Tensor(found[k]) if k in found else None for k in range(n))


def replaced(made: Any, now: Gradients) -> Gradients:
    """Gradients, or what a hook returns in their place: a tensor where there is one, a tuple of as many."""
    if made is None:
        return now
    new: Any = (made,) if isinstance(made, Tensor) else made
    if not isinstance(new, tuple | list) or len(new) != len(now):   # type: ignore[reportUnknownArgumentType]
        raise ArgumentError(f"a hook that was given {len(now)} gradients returns as many, or None, got {kind(made)}",
                            hint="A tuple has one for each of what it was given, None where there is none.")
    return tuple(a if a is None or b is None else Tensor(eager.fitting(b, a.value)) for a, b in zip(now, new))     # type: ignore[reportUnknownArgumentType]
