"""The weights of a `.caffemodel`: a protocol buffer of which names, types and blobs are read, by the numbers of their
fields, straight from the file.

Note: why no library of protocol buffers reads it. Five messages with a dozen fields matter, of a schema with hundreds
that would have to be written down for one, and a blob of hundreds of megabytes stays on the disk until it is used.
"""
from __future__ import annotations

import math
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stele import files
from stele.errors import DataError

Array = np.ndarray[Any, np.dtype[Any]]

# Numbers of fields, as caffe.proto has them.
NET_LAYERS, NET_LAYER = 2, 100                              # of version 1, and of today
LAYER_NAME, LAYER_TYPE, LAYER_BLOBS = 1, 2, 7
OLD_NAME, OLD_TYPE, OLD_BLOBS = 4, 5, 6
BLOB_NUM, BLOB_WIDTH, BLOB_DATA, BLOB_SHAPE, BLOB_DOUBLES = 1, 4, 5, 7, 8
SHAPE_DIM = 1
VARINT, EIGHT, LENGTH, FOUR = 0, 1, 2, 5                    # kinds of fields
MOST_AXES = 32


class Field(NamedTuple):
    """A field: its number, its kind, and its number or bytes."""

    number: int
    kind: int
    value: Any


class Saved(NamedTuple):
    """What a file holds of a layer."""

    name: str
    blobs: tuple[Array, ...]


def fields(raw: memoryview, where: str) -> Iterator[Field]:
    """The fields of a message. Raises DataError for what is no whole one."""
    at = 0
    while at < len(raw):
        key, at = varint(raw, at, where)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = varint(raw, at, where)
            yield Field(number, kind, value)
            continue
        if kind == LENGTH:
            size, at = varint(raw, at, where)
        elif kind in (EIGHT, FOUR):
            size = 8 if kind == EIGHT else 4
        else:
            raise DataError(f"{where}: field {number} is of kind {kind}, which no such file has",
                            hint="Is this the .caffemodel, and was it downloaded whole?")
        if size > len(raw) - at:
            raise DataError(f"{where} is cut off: field {number} has {size:,} bytes, {len(raw) - at:,} are there",
                            hint="Download it again.")
        yield Field(number, kind, raw[at:at + size])
        at += size


def varint(raw: memoryview, at: int, where: str) -> tuple[int, int]:
    """A number of seven bits a byte, and where the next field begins."""
    found = 0
    for k in range(10):
        if at + k >= len(raw):
            break
        byte = raw[at + k]
        found |= (byte & 127) << 7 * k
        if byte < 128:
            return found & (1 << 64) - 1, at + k + 1
    raise DataError(f"{where} is cut off, or no protocol buffer", hint="Download it again.")


def blob(raw: memoryview, where: str) -> Array:
    """The numbers of a blob in its shape, which is that of four axes in old files."""
    shape: list[int] | None = None
    old: dict[int, int] = {}
    parts: list[Array] = []
    for f in fields(raw, where):
        if f.number == BLOB_SHAPE and f.kind == LENGTH:
            shape = [n for g in fields(f.value, where) if g.number == SHAPE_DIM for n in numbers(g, where)]
        elif f.number in (BLOB_DATA, BLOB_DOUBLES) and f.kind != VARINT:
            dtype = np.dtype("<f4" if f.number == BLOB_DATA else "<f8")
            if len(f.value) % dtype.itemsize:
                raise DataError(f"{where}: {len(f.value)} bytes are no row of {dtype}")
            parts.append(np.frombuffer(f.value, dtype))
        elif BLOB_NUM <= f.number <= BLOB_WIDTH and f.kind == VARINT:
            old[f.number] = f.value
    data = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, "<f4")
    if shape is None:
        shape = [old.get(k, 1) for k in range(BLOB_NUM, BLOB_WIDTH + 1)] if old else [data.size]
    if len(shape) > MOST_AXES:
        raise DataError(f"{where}: a blob has at most {MOST_AXES} axes, got {len(shape):,}", hint="Download it again.")
    if (count := math.prod(shape)) != data.size:
        raise DataError(f"{where}: a blob of shape {shape!s:.80} needs {count:,} numbers, {data.size:,} are there",
                        hint="Download it again.")
    return data.reshape(shape)


def numbers(f: Field, where: str) -> Iterator[int]:
    """The numbers of a repeated field, alone or one behind the other."""
    if f.kind == VARINT:
        yield f.value
    at = 0
    while f.kind == LENGTH and at < len(f.value):
        value, at = varint(f.value, at, where)
        yield value


def saved(raw: memoryview, is_old: bool, where: str) -> Saved:
    """What a file holds of one layer."""
    name_at, blobs_at = (OLD_NAME, OLD_BLOBS) if is_old else (LAYER_NAME, LAYER_BLOBS)
    found = [f for f in fields(raw, where) if f.kind == LENGTH]
    name = next((bytes(f.value).decode(errors="replace") for f in found if f.number == name_at), "")
    return Saved(name, tuple(blob(f.value, f"{where}, layer {name!r:.60}") for f in found if f.number == blobs_at))


def read(path: str | Path) -> dict[str, tuple[Array, ...]]:
    """The blobs of a file by the layer that they are of; they are views of it. Raises DataError for what is damaged."""
    try:
        with files.regular(files.located(path)) as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except ValueError:
        raise DataError(f"{path} is empty", hint="Download it again.") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    found = [saved(f.value, f.number == NET_LAYERS, str(path)) for f in fields(whole, str(path))
             if f.number in (NET_LAYERS, NET_LAYER) and f.kind == LENGTH]
    if not found:
        raise DataError(f"{path} holds no layer of Caffe", hint="Is this the .caffemodel?")
    return {layer.name: layer.blobs for layer in found if layer.blobs}
