"""Folders as `save_pretrained` writes them: the configuration, and weights that stay on the disk until used."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stele import files
from stele.errors import DataError
from stele.interop.entries import entries
from stele.interop.huggingface.config import Config
from stele.ir.graph import Array
from stele.saving import laid_out

CONFIG, WHOLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
LONGEST = 100 << 20     # bytes of a header or of a file of JSON
LAYERS = 1000           # of a model


class Entry(NamedTuple):
    """Where an array lies in which file."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int

    def read(self) -> Array:
        """The array, in memory of its own."""
        with files.regular(self.path) as file:
            file.seek(self.begin)
            found = np.fromfile(file, self.dtype, int(np.prod(self.shape, dtype=object)))
        if found.size != np.prod(self.shape, dtype=object):
            raise DataError(f"{self.path} ends before its last array", hint="Download it again.")
        return found.reshape(self.shape)


class Weights(Mapping[str, Array]):
    """The arrays of one file or several by name, each read when it is asked for."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self.entries = entries

    def __getitem__(self, name: str) -> Array: return self.entries[name].read()
    def __iter__(self) -> Iterator[str]: return iter(self.entries)
    def __len__(self) -> int: return len(self.entries)

    def named(self, names: Mapping[str, str]) -> Weights:
        """Some of these, under new names by their old ones."""
        return Weights({new: self.entries[old] for old, new in names.items()})


def read_json(path: Path) -> dict[str, Any]:
    """The entries of a file of JSON. Raises DataError where it is missing, too long or no such file."""
    try:
        with files.regular(path) as file:
            content = file.read(LONGEST + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}",
                        hint="Give the folder that save_pretrained wrote.") from None
    if len(content) > LONGEST:
        raise DataError(f"{path} has more than {LONGEST} bytes, which no such file has")
    return entries(content, str(path))


def arrays_of(path: Path) -> dict[str, Entry]:
    """What lies where in a safetensors file. Raises DataError where its header does not say."""
    try:
        with files.regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, LONGEST):
                raise DataError(f"{path} is no whole safetensors file: its header would have {length} bytes")
            places, _ = laid_out(file.read(length), size - 8 - length)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is no whole safetensors file: {error}", hint="Download it again.") from None
    return {name: Entry(path, x.dtype, x.shape, 8 + length + x.begin) for name, x in places.items()}


def weights_of(folder: Path) -> Weights:
    """The weights of a folder, in one file or in those that its index names."""
    if (folder / WHOLE).is_file():
        return Weights(arrays_of(folder / WHOLE))
    if not (folder / INDEX).is_file():
        raise DataError(f"{folder} holds neither {WHOLE} nor {INDEX}",
                        hint="Write the weights as safetensors: model.save_pretrained(folder).")
    where = read_json(folder / INDEX).get("weight_map")
    if not isinstance(where, dict) or not all(isinstance(f, str) and f == Path(f).name for f in where.values()):
        raise DataError(f"{folder / INDEX} has no weight_map from names to files of its folder")
    parts = {file: arrays_of(folder / file) for file in sorted(set(where.values()))}
    if lacking := [name for name, file in where.items() if name not in parts[file]]:
        raise DataError(f"{where[lacking[0]]} has no {lacking[0]!r}, which {INDEX} puts there")
    return Weights({name: parts[file][name] for name, file in where.items()})


def read(folder: str | Path) -> tuple[Config, Weights]:
    """The configuration and the weights of a folder. Raises DataError for what is missing or damaged."""
    folder = files.located(folder)
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}", hint="Give the folder with config.json and model.safetensors.")
    values, weights = read_json(folder / CONFIG), weights_of(folder)
    return Config(values, str(folder / CONFIG), min(len(weights), LAYERS)), weights
