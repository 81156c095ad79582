"""Whole models in one HDF5 file, as Keras wrote them before it had its own format and still does for `.h5`."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stele import files
from stele.errors import DataError
from stele.interop.entries import entries, one_line
from stele.interop.keras.archive import LONGEST, Variables
from stele.interop.keras.model import Graph, Layer
from stele.ir.graph import Array

MAGIC = b"\x89HDF\r\n\x1a\n"
WEIGHTS = "model_weights"
COUNTS = "count",       # variables that no layer computes with: how much a Normalization was adapted to
HINT = "Write it with model.save('name.keras') or model.save('name.h5')."


def content(path: str | Path, most: int = -1) -> bytes:
    """What a file has, or its first bytes. Raises DataError where it is none."""
    where = files.located(path)
    try:
        with files.regular(where) as file:
            return file.read(most)
    except OSError as error:
        raise DataError(f"{where} is no whole file of Keras: {one_line(error)}", hint=HINT) from None


def is_hdf5(path: str | Path) -> bool:
    """Whether a file begins as those of HDF5 do. Raises DataError where it is none."""
    return content(path, len(MAGIC)) == MAGIC


def opened(path: str | Path) -> tuple[dict[str, Any], Variables]:
    """The configuration and the variables of a file. Raises DataError for what is missing or damaged."""
    held = content(path)
    variables = Variables(io.BytesIO(held), str(path))
    config = variables.words("", "model_config")
    if config is None or len(config) != 1:
        raise DataError(f"{path} has no model_config: it holds weights alone", hint=HINT)
    if len(config[0]) > LONGEST:
        raise DataError(f"the configuration in {path} has more than {LONGEST:,} letters")
    return entries(config[0].encode(), f"the configuration in {path}"), variables


def places(graph: Graph, variables: Variables) -> dict[str, str]:
    """Where the variables of a model lie, by name: each layer has a list of them, those that gradients move first."""
    found: dict[str, str] = {}
    for layer in graph.layers:
        held = dict(ordered(layer, True))
        names = sorted(held, key=lambda name: not held[name])
        group = f"{WEIGHTS}/{layer.name}"
        kept = [name for name in listed(variables, group, "weight_names") if last(name) not in COUNTS]
        if len(kept) != len(names):
            raise DataError(f"{variables.source} has {len(kept)} variables for layer {layer}, which has {len(names)}",
                            hint="Save the model again, once it is built.")
        found |= {name: f"{group}/{place}" for name, place in zip(names, kept)}
    return found


def ordered(layer: Layer, moves: bool) -> Iterator[tuple[str, bool]]:
    """The variables of a layer and of all within it, and whether gradients move them."""
    moves = moves and layer.options.flag("trainable", True)
    yield from ((stored.name, moves and stored.moves) for stored in layer.variables.values()
               if stored.place)
    for inner in (*layer.parts.values(), *(layer.graph.layers if layer.graph else ())):
        yield from ordered(inner, moves)


def listed(variables: Variables, group: str, name: str) -> list[str]:
    """The words of an attribute, which lie in several that are numbered where they are many."""
    found = variables.words(group, name)
    if found is not None:
        return found
    parts: list[list[str]] = []
    while (more := variables.words(group, f"{name}{len(parts)}")) is not None:
        parts.append(more)
    return [word for part in parts for word in part]


def last(name: str) -> str:
    """The name of a variable in its layer.

    >>> last("dense/kernel:0")
    'kernel'
    """
    return name.rpartition("/")[2].partition(":")[0]


def replaced(path: str | Path, like: str | Path, graph: Graph, arrays: Mapping[str, Array]) -> None:
    """Makes `path` a file as `like`, of a model with this graph, with other numbers in its variables by name."""
    out = io.BytesIO(content(like))
    variables = Variables(out, str(like), "r+")
    for name, place in places(graph, variables).items():
        variables.write(place, arrays[name])
    variables.file.close()
    files.write(path, out.getvalue())
