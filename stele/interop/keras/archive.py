"""Files of Keras, opened with care: the configuration, and variables by the places where they lie."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stele import files
from stele.data import hdf5
from stele.errors import DataError
from stele.interop.entries import entries, one_line
from stele.interop.keras.model import Graph, stored_in
from stele.ir.graph import Array
from stele.ir.types import brain_float

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
LONGEST = 64 << 20      # bytes of a configuration
PACKED, SMALL = 100, 1 << 20    # what is packed becomes at most so many times larger, or so many bytes
MEMBERS = 10_000
EXTRA = "keras"


class Variables:
    """The arrays of an HDF5 file by their paths: of plain groups and of numbers that lie there as they are.

    Links to elsewhere, external, virtual and packed data are not followed; all that is read is at most what the file
    has.
    """

    def __init__(self, file: io.BytesIO, source: str, mode: str = "r") -> None:
        content = file.getvalue()
        self.source, self.left = source, len(content)
        try:
            self.file: Any = hdf5.opened(file, content, source, EXTRA, mode)
        except DataError:
            raise
        except hdf5.DAMAGED as error:
            raise DataError(f"{source} is no whole HDF5 file: {one_line(error)}",
                            hint="Save the model again.") from None

    def group(self, path: str) -> Any:
        """What stands at a path, None where nothing does."""
        found, kinds = self.file, hdf5.library(EXTRA)
        for part in path.split("/"):
            if not isinstance(found, kinds.Group) or found.get(part, getlink=True) is None:
                return None
            if not isinstance(found.get(part, getlink=True), kinds.HardLink):
                raise DataError(f"{path} of {self.source} is a link to elsewhere, which is not followed")
            found = found[part]
        return found

    def words(self, path: str, name: str) -> list[str] | None:
        """The words of an attribute of a group, None where it has none. Raises DataError for what are no words."""
        source = f"{name} of {path or 'the whole'} in {self.source}"
        try:
            group = self.group(path) if path else self.file
            if group is None or name not in group.attrs:
                return None
            held = group.attrs.get_id(name)
            self.take(int(np.prod(held.shape, dtype=object)) * held.dtype.itemsize, source)
            found = np.asarray(group.attrs[name], dtype=object).reshape(-1).tolist()
            words = [x.encode().decode() if isinstance(x, str) else x.decode() if isinstance(x, bytes) else x
                     for x in found]
        except DataError:
            raise
        except hdf5.DAMAGED as error:
            raise DataError(f"{source} cannot be read: {one_line(error)}") from None
        if not all(isinstance(word, str) for word in words):
            raise DataError(f"{source} is no text, but {words!r:.60}")
        return words

    def take(self, size: int, source: str, is_there: bool = True) -> None:
        """Counts bytes that are read. Raises DataError where all that is read is more than the file has."""
        self.left -= size
        if self.left < 0 or not is_there:
            raise DataError(f"{source} claims {size:,} bytes, which the file does not have")

    def read(self, path: str) -> Array:
        """The numbers at a path. Raises DataError for what is missing, and for what are no floats that lie there."""
        try:
            found = self.group(path)
            if not isinstance(found, hdf5.library(EXTRA).Dataset):
                raise DataError(f"{self.source} has no numbers at {path}",
                                hint="Save the model again, once it is built.")
            return self.numbers(found, path)
        except DataError:
            raise
        except hdf5.DAMAGED as error:
            raise DataError(f"{path} of {self.source} cannot be read: {one_line(error)}") from None

    def write(self, path: str, x: Array) -> None:
        """Puts other numbers in the place of those at a path. Raises DataError where these are of another shape."""
        held, found = self.read(path), self.group(path)
        if held.shape != x.shape:
            raise DataError(f"{path} of {self.source} has shape {held.shape}, got {x.shape}")
        found[...] = np.asarray(x, held.dtype).view(found.dtype)

    def numbers(self, found: Any, path: str) -> Array:
        """The numbers of a dataset."""
        if found.chunks is not None or found.external or found.is_virtual or found.shape is None:
            raise DataError(f"{path} of {self.source} is packed or lies elsewhere; Keras writes plain numbers")
        half = found.dtype.itemsize == 2 and found.attrs.get("dtype") in ("bfloat16", b"bfloat16")
        if found.dtype.kind != "f" and not half and found.dtype.kind not in "iub":
            raise DataError(f"{path} of {self.source} holds no numbers, but {found.dtype}")
        size = int(np.prod(found.shape, dtype=object)) * found.dtype.itemsize
        self.take(size, f"{path} of {self.source}", found.id.get_storage_size() == size)
        x = found[()]
        return x.view(brain_float()) if half and found.dtype.kind == "V" else np.asarray(x)


def member(archive: zipfile.ZipFile, name: str, source: str, most: int | None = None) -> bytes:
    """A member of an archive, unpacked; it is no larger than what is packed of it allows."""
    found = next((m for m in archive.infolist() if m.filename == name), None)
    if found is None:
        raise DataError(f"{source} has no {name}, which each file of Keras has",
                        hint="Write it with model.save('name.keras').")
    if found.flag_bits & 1:
        raise DataError(f"{name} in {source} needs a password")
    limit = PACKED * found.compress_size + SMALL
    limit = limit if most is None else min(most, limit)
    if found.file_size > limit:
        raise DataError(f"{name} in {source} claims {found.file_size:,} bytes of {found.compress_size:,} packed ones")
    with archive.open(found) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise DataError(f"{name} in {source} unpacks to more than {limit:,} bytes")
    return content


def members(path: str | Path) -> tuple[bytes, bytes]:
    """The configuration and the variables of a file, as they stand there. Raises DataError for what is damaged."""
    where = files.located(path)
    try:
        with files.regular(where) as file, zipfile.ZipFile(file) as archive:
            if len(archive.infolist()) > MEMBERS:
                raise DataError(f"{where} has more than {MEMBERS:,} members")
            return member(archive, CONFIG, str(where), LONGEST), member(archive, WEIGHTS, str(where))
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError,
            OverflowError, IndexError) as error:
        raise DataError(f"{where} is no whole file of Keras: {one_line(error)}",
                        hint="Write it with model.save('name.keras').") from None


def opened(path: str | Path) -> tuple[dict[str, Any], Variables]:
    """The configuration and the variables of a file. Raises DataError for what is missing or damaged."""
    config, weights = members(path)
    variables = Variables(io.BytesIO(weights), f"{WEIGHTS} of {path}")
    return entries(config, f"the configuration in {path}"), variables


def places(graph: Graph, variables: Variables) -> dict[str, str]:
    """Where the variables of a model lie, by name."""
    return {stored.name: stored.place for _, stored in stored_in(graph.layers) if stored.place}


def replaced(path: str | Path, like: str | Path, graph: Graph, arrays: Mapping[str, Array]) -> None:
    """Makes `path` a file as `like`, of a model with this graph, with other numbers in its variables by name."""
    config, weights = members(like)
    out = io.BytesIO(weights)
    variables = Variables(out, f"{WEIGHTS} of {like}", "r+")
    for name, place in places(graph, variables).items():
        variables.write(place, arrays[name])
    variables.file.close()
    with files.replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(METADATA, json.dumps({"keras_version": "3.0.0"}))
        archive.writestr(CONFIG, config)
        archive.writestr(WEIGHTS, out.getvalue())
