"""What a model becomes: a file or a folder by its ending, and that loaded again."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import numpy as np

import stele as st
from stele import nn
from stele.call.library import spelled
from stele.errors import DataError
from stele.interop.convert.program import opened
from stele.interop.convert.source import Source, arrays_of, still
from stele.ir.graph import Array
from stele.tracing.state import Naming

Run = Callable[[Sequence[Array]], Any]


@dataclass(frozen=True)
class Target:
    """What was written: its weights where their names stand in it, and what runs it, each by a name."""

    weights: Mapping[str, Array] | None
    runs: Mapping[str, Run]


class Model(Naming):
    """A saved program that has the names of its arguments, and of its tensors."""

    def __init__(self, source: Source) -> None:
        self.call: Any = source.call
        self.__signature__ = Signature([Parameter(a.name, Parameter.POSITIONAL_OR_KEYWORD) for a in source.arguments])

    def __call__(self, *x: Any) -> Any:
        return self.call(*x)

    def named_members(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        return self.call.named_members(prefix)


def function(source: Source) -> Callable[..., Any]:
    """A model whose arguments and tensors have their names: a module is one."""
    return source.call if isinstance(source.call, nn.Module) else Model(source)


def compiled(source: Source, example: Sequence[Array], fixed: Sequence[str]) -> Any:
    """A model compiled at these arrays, but for its open sizes."""
    made = st.compile(function(source), dims=source.opened(fixed))
    with still(source.state):
        made(*map(st.tensor, example))
    return made


def program(source: Source, out: Path, example: Sequence[Array], fixed: Sequence[str], expected: Any) -> Target:
    """A file that `st.load` reads."""
    st.save(compiled(source, example, fixed), out)
    found = opened(out)
    return Target(found.weights, {"stele.load": found.run})


def state(source: Source, out: Path, *_: Any) -> Target:
    """Weights by name, as PyTorch's `load_state_dict` takes them once `safetensors` has read them."""
    st.save(dict(source.state), out)
    return Target(arrays_of(st.load(out).items()), {})


def library(source: Source, out: Path, example: Sequence[Array], fixed: Sequence[str], expected: Any) -> Target:
    """A folder with a shared library and its header."""
    name = re.sub(r"\W", "_", out.name, flags=re.ASCII)
    name = name if name[:1].isalpha() else f"model_{name}"
    compiled(source, example, fixed).export_library(out, name)
    sizes = re.findall(r"int64_t (\w+)", re.findall(rf"{name}_bytes\((.*?)\)", (out / f"{name}.h").read_text())[0])[:-1]
    held = ctypes.CDLL(str((out / f"lib{name}.so").resolve()))

    def run(x: Sequence[Array]) -> Any:
        at = source.matched(x)
        named = dict(zip(spelled([*at], name), at.values()))
        given = [ctypes.c_int64(named[n]) for n in sizes]
        size, prepare, call = (getattr(held, f"{name}_{word}") for word in ("bytes", "prepare", "run"))
        size.restype = ctypes.c_int64
        arena = np.zeros(max(size(*given, ctypes.c_int64(1)), 1), np.uint8)
        made = [np.zeros_like(y) for y in expected(x)]
        code = prepare(pointer(arena), ctypes.c_int64(arena.size), *given, ctypes.c_int64(1)) or call(
            pointer(arena), None, None, *map(pointer, [*map(np.ascontiguousarray, x), *made]))
        if code:
            raise DataError(f"the library says code {code}; its header has a text for it")
        return made

    return Target(None, {"the library": run})


def pointer(x: Array) -> ctypes.c_void_p:
    """Where an array lies."""
    return ctypes.c_void_p(x.ctypes.data)


WRITERS: Mapping[str, Callable[..., Target]] = {".stele": program, ".safetensors": state, "": library}
