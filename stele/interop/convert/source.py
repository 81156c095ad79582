"""A model that comes in, whatever it is: a function on tensors, what it takes, its weights, and who else can run it."""
from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from keyword import iskeyword
from typing import Any

import numpy as np

import stele as st
from stele.errors import ArgumentError, nearest
from stele.ir.graph import Array

OPEN, DRAWN = 2, 2      # what an open size is where a model is run, and the numbers below which whole ones are drawn


@dataclass(frozen=True)
class Argument:
    """An input: whole numbers in it are below `below`; a size is a number, the name of an open one, or None."""

    name: str
    dtype: str
    shape: tuple[int | str | None, ...]
    below: int = DRAWN


@dataclass(frozen=True)
class Source:
    """A model: `call` takes tensors in the order of `arguments`; `weights` are those of its file, `state` those of the
    call by name, `steps` its ops or layers, one name for each. `original` runs it in the framework named `by`, on
    arrays; None where that is not installed.
    """

    kind: str
    call: Callable[..., Any]
    arguments: tuple[Argument, ...]
    weights: Mapping[str, Array]
    state: Mapping[str, st.Tensor]
    steps: tuple[str, ...]
    by: str = ""
    original: Callable[[Sequence[Array]], Any] | None = None

    def sizes(self, given: Mapping[str, int]) -> dict[str, int]:
        """The open sizes by name, as they are given or else 2. Raises ArgumentError for a name that is none."""
        names = [*dict.fromkeys(n for a in self.arguments for n in a.shape if isinstance(n, str))]
        for name in given.keys() - set(names):
            guess = nearest(name, names)
            raise ArgumentError(f"the model has no open size {name!r}; open are {', '.join(names) or 'none'}",
                                hint=f"Did you mean {guess!r}?" if guess else None)
        return {name: given.get(name, OPEN) for name in names}

    def drawn(self, sizes: Mapping[str, int], seed: int) -> list[Array]:
        """Random inputs: normal floats and complex numbers, whole numbers from 0, at these sizes."""
        rng, made = np.random.default_rng(seed), list[Array]()
        for a in self.arguments:
            shape = tuple(sizes.get(n, OPEN) if isinstance(n, str) else OPEN if n is None else n for n in a.shape)
            dtype = np.dtype(a.dtype)
            normal = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype.kind == "c" else 0)
            made.append(normal.astype(dtype) if dtype.kind in "fc" else
                        rng.integers(0, 2 if dtype.kind == "b" else a.below, shape).astype(dtype))
        return made

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """What the model gives, as arrays in order."""
        with st.no_grad(), still(self.state):
            return [*flat(self.call(*map(st.tensor, arrays)))]

    def matched(self, arrays: Sequence[Array]) -> dict[str, int]:
        """The open sizes at which arrays are."""
        return {n: m for a, x in zip(self.arguments, arrays) for n, m in zip(a.shape, x.shape) if isinstance(n, str)}

    def opened(self, fixed: Iterable[str]) -> dict[str, dict[int, str]]:
        """The sizes that stay open, by argument and axis, as `st.compile` takes them."""
        found = {a.name: {k: n for k, n in enumerate(a.shape) if isinstance(n, str) and n not in fixed}
                 for a in self.arguments}
        return {name: axes for name, axes in found.items() if axes}


@contextmanager
def still(state: Mapping[str, st.Tensor]) -> Generator[None]:
    """Inside, a model may change its state; behind it, these tensors are as they were."""
    before = {name: x.clone() for name, x in state.items()}
    try:
        yield
    finally:
        with st.no_grad():
            for name, x in state.items():
                x.assign(before[name])


def leaves(x: Any) -> Iterator[Any]:
    """What is in the containers of a result, in order."""
    if isinstance(x, Mapping):
        x = [*x.values()]   # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(x, tuple | list):
        for part in x:      # pyright: ignore[reportUnknownVariableType]
            yield from leaves(part)
    elif x is not None:
        yield x


def flat(x: Any) -> Iterator[Array]:
    """The arrays of a result, in order."""
    return (leaf.numpy() if isinstance(leaf, st.Tensor) else np.asarray(leaf) for leaf in leaves(x))


def installed(*names: str) -> bool:
    """Whether these modules are there; none is loaded before it is needed."""
    return all(find_spec(name) for name in names)


def onnx_runtime() -> Any:
    """ONNX Runtime, None where it is not installed."""
    try:
        return import_module("onnxruntime")
    except ImportError:
        return None


def arrays_of(tensors: Iterable[tuple[str, st.Tensor]]) -> dict[str, Array]:
    """Tensors by name, as arrays."""
    return {name: x.numpy() for name, x in tensors}


def cleaned(names: Iterable[str]) -> list[str]:
    """Names as Python may have them, each another."""
    made: list[str] = []
    for name in names:
        word = re.sub(r"\W", "_", name) or "x"
        word = word if word.isidentifier() and not iskeyword(word) else f"x_{word}"
        while word in made:
            word += "_"
        made.append(word)
    return made
