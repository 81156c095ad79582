"""Trees of Flax as arrays by their paths, from Python or from files, which are read with care."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stele import files
from stele.errors import DataError, kind
from stele.ir.door import public
from stele.ir.graph import Array
from stele.ir.types import DTYPES, brain_float

CHUNKED = "__msgpack_chunked_array__"
DEEPEST = 100
Flat = dict[tuple[str, ...], Array]


def flat(tree: Any) -> Flat:
    """The arrays of a tree by their paths. Raises DataError for leaves that are no numbers."""
    found: Flat = {}
    waiting: list[tuple[tuple[str, ...], Any]] = [((), tree)]
    while waiting:
        path, x = waiting.pop()
        if isinstance(x, Mapping) or not path:
            if not isinstance(x, Mapping):
                raise DataError(f"a tree of Flax is a dict of dicts, got {kind(x)}",
                                hint="Give what init of linen returned, nnx.state(model), or flax.read(path).")
            if len(path) > DEEPEST:
                raise DataError(f"the tree has more than {DEEPEST} dicts within dicts")
            waiting += [((*path, str(key)), part) for key, part in reversed(list(x.items()))]
        elif "rngs" not in path:        # nnx keeps keys of random numbers among the rest
            found[path] = array("/".join(path), x)
    return found


def array(path: str, x: Any) -> Array:
    """A leaf as an array."""
    try:
        made = np.asarray(x)
    except Exception as error:      # whatever holds the leaf may refuse to give its numbers
        raise DataError(f"{path} of the tree gives no array: {error!r:.100}") from None
    if made.dtype.kind not in "fiub" and made.dtype.name != "bfloat16":
        is_strange = made.dtype.kind == "O"
        raise DataError(f"{path} of the tree holds no numbers, but {kind(x) if is_strange else made.dtype}",
                        hint="flax.linen.unbox(tree) takes arrays out of their boxes." if is_strange else None)
    return made


def nested(found: Mapping[tuple[Any, ...], Array]) -> dict[Any, Any]:
    """Arrays by their paths as a tree."""
    tree: dict[Any, Any] = {}
    for path, x in found.items():
        at = tree
        for key in path[:-1]:
            at = at.setdefault(key, {})
        at[path[-1]] = x
    return tree


@public
def read(source: str | Path | bytes) -> dict[str, Any]:
    """The tree of a file that `flax.serialization.to_bytes` wrote, or of such bytes: dicts of NumPy arrays.

    A `source` is a path or bytes. Arrays have the shapes and dtypes that are written. Raises DataError for what is
    damaged, for pieces that are no arrays and no numbers, and without msgpack (`pip install 'stele-dl[flax]'`).

    >>> from importlib.util import find_spec
    >>> from stele.interop import flax
    >>> flax.read(bytes([0x80])) if find_spec("msgpack") else {}
    {}
    """
    try:
        msgpack: Any = importlib.import_module("msgpack")
    except ImportError:
        raise DataError("files of Flax are read with msgpack, which is not installed",
                        hint="pip install 'stele-dl[flax]'") from None
    if isinstance(source, bytes):
        content, where = source, "the tree"
    else:
        content, where = bytes_of(files.located(source)), str(source)

    def piece(code: int, data: bytes) -> Any:
        if code not in (1, 3):
            raise DataError(f"{where} holds a piece of kind {code}, which is no array")
        return unpacked(msgpack.unpackb(data), where)

    try:
        tree = msgpack.unpackb(content, ext_hook=piece, raw=False, strict_map_key=False)
    except DataError:
        raise
    except Exception as error:      # msgpack has errors of many kinds, from C and from decoding texts
        raise DataError(f"{where} is no whole file of Flax: {' '.join(str(error).split())[:100]}",
                        hint="Write it with flax.serialization.to_bytes.") from None
    if not isinstance(tree, dict):
        raise DataError(f"{where} holds a dict of arrays, got {kind(tree)}")
    return joined(tree, where, 0)


def bytes_of(path: Path) -> bytes:
    """What a file holds."""
    try:
        with files.regular(path) as file:
            return file.read()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def unpacked(said: Any, where: str) -> Array:
    """An array as Flax writes it: its shape, the name of its dtype and its bytes."""
    match said:
        case [list(shape), str(name), bytes(content)] if all(type(n) is int and n >= 0 for n in shape) and \
                len(shape) <= 32 and name in DTYPES:
            dtype = brain_float() if name == "bfloat16" else np.dtype(name)
            if int(np.prod(shape, dtype=object)) * dtype.itemsize == len(content):
                return np.frombuffer(content, dtype).reshape(shape).copy()
    raise DataError(f"{where} holds what is no whole array: {said!r:.80}")


def joined(tree: dict[Any, Any], where: str, depth: int) -> dict[str, Any]:
    """A tree whose large arrays, which are written in pieces, are whole."""
    if depth > DEEPEST:
        raise DataError(f"{where} has more than {DEEPEST} dicts within dicts")
    if CHUNKED in tree:
        try:
            pieces, shape = ([tree[key][str(k)] for k in range(len(tree[key]))] for key in ("chunks", "shape"))
            return np.concatenate(pieces).reshape(shape)    # type: ignore[return-value]
        except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
            raise DataError(f"{where} holds an array whose pieces do not fit: {error}") from None
    return {str(key): joined(part, where, depth + 1) if isinstance(part, dict) else part for key, part in tree.items()}
