"""What a rule sees of the layer that it computes, and what the table says of a kind of layers."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import stele as st
from stele.interop.keras.model import Layer, Variable
from stele.interop.keras.options import Options

LAYOUTS = "channels_first", "channels_last"


class Run(Protocol):
    """A run of a model: its weights by name, and whether it is being trained."""

    weights: Mapping[str, st.Tensor]
    training: bool

    def layer(self, layer: Layer, args: Sequence[Any], kwargs: Mapping[str, Any], masks: Sequence[Any]) -> Any:
        """What a layer gives, and the masks of it."""
        ...


class Call:
    """A layer at work. `masks` are those of its arguments: which steps of a sequence count, None where all do."""

    def __init__(self, layer: Layer, run: Run, given: Sequence[Any], masks: Sequence[Any] = ()) -> None:
        self.layer, self.run, self.options = layer, run, layer.options
        self.given, self.masks = given, masks
        self.training = run.training and layer.options.flag("trainable", True)

    @property
    def dtype(self) -> str:
        """The dtype that the layer computes in."""
        return self.options.policy().removeprefix("mixed_")

    @property
    def mask(self) -> Any:
        """The mask of the first argument."""
        return self.masks[0] if self.masks else None

    def raw(self, name: str) -> Any:
        """A variable in the dtype that it is kept in, None where the layer has none of this name."""
        found = self.layer.variables.get(name)
        return None if found is None else self.run.weights[found.name]

    def __getitem__(self, name: str) -> Any:
        """A variable in the dtype that the layer computes in, None where it has none of this name."""
        found = self.raw(name)
        return found if found is None or found.dtype == self.dtype else found.astype(self.dtype)

    def part(self, name: str, x: Any, mask: Any = None, **kwargs: Any) -> Any:
        """What a layer within this one gives."""
        return self.run.layer(self.layer.parts[name], [x], kwargs, [mask])[0]

    def channels_first(self) -> bool:
        """Whether channels stand behind the batch, not last."""
        return self.options.word("data_format", LAYOUTS, "channels_last") == "channels_first"

    def laid(self, x: Any, f: Callable[[Any], Any]) -> Any:
        """f of x with its channels behind the batch, in the layout that x came in."""
        if self.channels_first():
            return f(x)
        y = f(st.permute(x, (0, x.ndim - 1, *range(1, x.ndim - 1))))
        return st.permute(y, (0, *range(2, y.ndim), 1))


Rule = Callable[..., Any]
"""`rule(c, *args, **kwargs)`: from a call and the arguments of the layer to its result, or a tuple of results."""


def nothing(options: Options) -> Mapping[str, Any]:
    """No layers within."""
    return {}


def supported(options: Options) -> str | None:
    """No option that a rule lacks."""
    return None


def lost(c: Call, y: Any) -> Any:
    """No mask goes on."""
    return None


def kept(c: Call, y: Any) -> Any:
    """The mask of the first argument goes on."""
    return c.mask


class Kind(NamedTuple):
    """A kind of layers: its rule, its variables in the order of the file, the configurations of layers within it by
    where they lie, how masks go on, which option it lacks a rule for, in words, and how many states it keeps from call
    to call where it is stateful.
    """

    rule: Rule
    variables: tuple[Variable, ...] = ()
    parts: Callable[[Options], Mapping[str, Any]] = nothing
    mask: Callable[[Call, Any], Any] = lost
    lacks: Callable[[Options], str | None] = supported
    states: int = 0


def named(words: str, place: str = "", prefix: str = "") -> tuple[Variable, ...]:
    """Variables as "kernel bias:use_bias moving_mean!", with an option behind ":", "!" for what no gradient moves.

    >>> named("kernel bias:use_bias")[1].option
    'use_bias'
    """
    split = [word.partition(":") for word in words.split()]
    return tuple(Variable(prefix + name.rstrip("!"), place, option, not name.endswith("!"))
                 for name, _, option in split)


Kinds = dict[str, Kind]
