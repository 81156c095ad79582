"""Functions that run before and after the `forward` of one module."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stele.ops.arguments import flag, function


class Hook:
    """A function that runs with a module, until it is removed: by `remove`, or at the end of a `with`."""

    def __init__(self, among: list[Hook], f: Callable[..., Any], with_kwargs: bool) -> None:
        self.among, self.f, self.with_kwargs = among, f, with_kwargs

    def remove(self) -> None:
        """Lets the function run no more."""
        if self in self.among:
            self.among.remove(self)

    def __enter__(self) -> Hook:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Hooks:
    """The functions that run with one module."""

    def __init__(self) -> None:
        self.before: list[Hook] = []
        self.after: list[Hook] = []

    def add(self, among: list[Hook], f: Callable[..., Any], prepend: bool, with_kwargs: bool) -> Hook:
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
        y = module.forward(*x, **options)
        for hook in tuple(self.after):
            made = hook.f(module, x, options, y) if hook.with_kwargs else hook.f(module, x, y)
            y = y if made is None else made
        return y
