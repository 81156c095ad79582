"""A module called with other tensors than it holds."""
from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from stele.arrays.tensor import constant
from stele.interop.keywords import speaks
from stele.nn.module import Module, bare, found
from stele.ops.arguments import instance, is_dict, is_series, mapping


@speaks
def functional_call(module: Module, parameters_and_buffers: Mapping[str, Any], args: Any = (),
                    kwargs: Mapping[str, Any] | None = None) -> Any:
    """What `module(*args, **kwargs)` is with other tensors in the place of its own, named by their paths.

    `parameters_and_buffers` are as in a `state_dict`; those that are not named stay, and where a tensor is tied all
    that are tied to it are replaced. One argument may stand alone as `args`. Gradients go to the tensors that are
    given, through what they were computed from, so that a step of an inner loop has a gradient. The module is the same
    behind it. Raises UnknownName for a path that there is not.

    >>> layer, x = nn.Linear(2, 1), st.ones(1, 2)
    >>> nn.functional_call(layer, {"weight": st.tensor([[3.0, 4.0]]), "bias": st.zeros(1)}, x).tolist()
    [[7.0]]
    """
    model: Module = instance(bare(module), "module of functional_call", Module)
    known = dict(model.named_tensors())
    new = {id(found(model, str(path), object, known)): constant(x) for path, x in mapping(
        parameters_and_buffers, "parameters_and_buffers of functional_call").items()}
    with ExitStack() as held:
        for part in model.modules():
            own = vars(part)
            for name, x in [*own.items()]:
                if (y := replaced(x, new)) is not x:
                    held.callback(own.__setitem__, name, x)
                    own[name] = y
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))


def replaced(x: Any, new: Mapping[int, Any]) -> Any:
    """What stands in an attribute, with other tensors in their places; x itself where there are none."""
    if id(x) in new:
        return new[id(x)]
    if not (is_dict(x) or is_series(x)):
        return x
    parts = [replaced(part, new) for part in (x.values() if is_dict(x) else x)]
    if all(a is b for a, b in zip(parts, x.values() if is_dict(x) else x)):
        return x
    if is_dict(x):
        return type(x)(zip(x, parts))
    return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
