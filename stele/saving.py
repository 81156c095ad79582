"""Trees of tensors, programs and plain values as one safetensors file: whole, damage found by a digest, data only."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from stele import files
from stele.arrays.tensor import Tensor, tensor
from stele.call.compiled import Compiled, Method
from stele.call.loaded import Loaded, loaded
from stele.call.stored import stored
from stele.call.symbolic import Function
from stele.errors import ArgumentError, DataError, kind
from stele.ir.door import public
from stele.ir.graph import Array
from stele.ir.types import bfloat16
from stele.ops.arguments import is_dict, is_mapping, refuse

TREE, DIGEST = "stele", "sha256"    # the entries of the file's metadata
AXES = 32                           # of an array in a file, at most
DTYPES: dict[str, Any] = {
    "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16, "U32": np.uint32,
    "I32": np.int32, "U64": np.uint64, "I64": np.int64, "F16": np.float16, "BF16": bfloat16.numpy, "F32": np.float32,
    "F64": np.float64, "C64": np.complex64}
WORDS = {np.dtype(of): word for word, of in DTYPES.items()}
TAGS = ("$program", "$tensor", "$complex", "$tuple", "$float")
HINT = ("A checkpoint holds tensors, arrays, numbers, strings, None, lists, tuples, dicts, compiled functions, and "
        "what has a state_dict().")


@runtime_checkable
class Stateful(Protocol):
    """What can be saved and restored: modules, optimisers, schedules, loaders, the generator of random numbers."""

    def state_dict(self) -> Mapping[str, Any]: ...
    def load_state_dict(self, state: Any) -> Any: ...


@public
def save(state: Any, path: str | Path) -> None:
    """Writes a `state` as one safetensors file at `path`, which `load` reads: whole, or the old file stays as it was.

    `state` is a tree of dicts, lists and tuples with tensors, NumPy arrays, numbers, strings and None; modules,
    optimisers, schedules, loaders and `st.default_generator` in it stand for their `state_dict()`. The tensors' names
    are their paths, so any reader of safetensors finds them; the rest is JSON in the metadata, beside a SHA-256 of all.
    Compiled functions in it, their methods and what `st.function` makes stand for what was traced of them, with the
    tensors that they read and rebind: without their Python source they run, differentiate and train on.
    Raises DataError for other objects, naming their path, and StorageError, naming file and bytes, for a full
    disk and a folder that there is not.

    >>> st.save({"step": 7, "w": st.ones(2)}, "state.safetensors")
    >>> st.load("state.safetensors")["step"]
    7
    >>> area = st.compile(lambda r: st.pi * r ** 2)
    >>> area(st.ones(2))
    tensor([3.1415927, 3.1415927])
    >>> st.save(area, "area.safetensors")
    >>> st.load("area.safetensors")(st.zeros(2)).tolist()
    [0.0, 0.0]
    """
    arrays: dict[str, Array] = {}
    tree = json.dumps(packed(state, "", arrays))
    found = {TREE: tree, DIGEST: digest(arrays, tree)}
    files.write(path, *pack(arrays, found))


@public
def load(path: str | Path, into: Mapping[str, Any] | None = None) -> Any:
    """What `save` has written at `path`, with tensors in the places of tensors and functions in those of programs.

    Any other safetensors file is a dict of tensors. `into={"model": model, "optimizer": optimizer}` restores those
    entries of a dict in place as well, all of them or, if one does not fit, none. Raises DataError for a file that is
    missing, damaged or no safetensors file, and for entries that are missing or do not fit.

    >>> model = nn.Linear(2, 1)
    >>> st.save({"model": model, "epoch": 3}, "run.safetensors")
    >>> st.load("run.safetensors", into={"model": model})["epoch"]
    3
    """
    arrays, tree = read(path)
    try:
        state = {n: tensor(a) for n, a in arrays.items()} if tree is None else unpacked(json.loads(tree), arrays)
    except DataError as error:      # the file is whole: what it calls is not here
        raise DataError(f"{path}: {error.args[0]}", hint=error.hint) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is no whole checkpoint: {error}", hint="Take the last copy that was whole.") from None
    if into is not None:
        restore(state, into, path)
    return state


def restore(state: Any, into: Mapping[str, Any], path: str | Path) -> None:
    """Puts entries of a state into objects: into all of them, or into none."""
    if not is_mapping(into):
        refuse("into of load", "a dict of objects, as {'model': model}", into)
    for name, target in into.items():
        if not callable(getattr(target, "load_state_dict", None)) or isinstance(target, type):
            raise ArgumentError(f"into of load names objects that have load_state_dict, got {kind(target)} as {name!r}")
    if missing := sorted(into.keys() - state.keys() if isinstance(state, dict) else into):
        held = ", ".join(map(repr, state)) if isinstance(state, dict) else f"a {type(state).__name__}"
        raise DataError(f"{path} holds no entry {missing[0]!r}, but {held or 'nothing'}")
    before = {name: {key: x.detach() if isinstance(x, Tensor) else x for key, x in target.state_dict().items()}
              for name, target in into.items()}
    try:
        for name, target in into.items():
            target.load_state_dict(state[name])
    except BaseException:
        for name, target in into.items():
            target.load_state_dict(before[name])
        raise


def packed(x: Any, path: str, arrays: dict[str, Array]) -> Any:
    """A tree as JSON, its tensors put among the arrays under their paths."""
    if isinstance(x, Compiled | Method | Function | Loaded):
        return {"$program": packed(x.stored() if isinstance(x, Loaded) else stored(x), path, arrays)}
    if isinstance(x, Stateful):
        x = dict(x.state_dict())
    if isinstance(x, Tensor | np.ndarray | np.generic):
        name = path or "value"
        while name in arrays:
            name += "'"
        array = np.asarray(x.numpy() if isinstance(x, Tensor) else x, order="C")
        array = arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
        if array.dtype != np.complex128:
            if array.dtype not in WORDS:
                raise DataError(f"a checkpoint cannot hold the array of {array.dtype} at {path or 'the top'}",
                                hint=HINT)
            return {"$tensor": name}
        arrays[name] = array[..., None].view(np.float64)    # the format has no such dtype: their parts
        return {"$complex": name}
    if isinstance(x, dict):
        if strange := [key for key in x if not isinstance(key, str) or key in TAGS]:
            raise DataError(f"a checkpoint's keys are strings, got {strange[0]!r} at {path or 'the top'}")
        return {key: packed(part, f"{path}.{key}" if path else key, arrays) for key, part in x.items()}
    if isinstance(x, list | tuple):
        parts = [packed(part, f"{path}.{k}" if path else str(k), arrays) for k, part in enumerate(x)]
        return parts if isinstance(x, list) else {"$tuple": parts}
    if isinstance(x, float) and not math.isfinite(x):
        return {"$float": repr(x)}
    if x is None or isinstance(x, bool | int | float | str):
        return x
    raise DataError(f"a checkpoint cannot hold the {type(x).__name__} at {path or 'the top'}", hint=HINT)


def unpacked(x: Any, arrays: Mapping[str, Array]) -> Any:
    """The tree that `packed` made JSON of; ValueError if it names a tensor that is not there."""
    match x:
        case {"$tensor": str(name), **rest} if not rest and name in arrays: return tensor(arrays[name])
        case {"$tuple": list(parts), **rest} if not rest: return tuple(unpacked(part, arrays) for part in parts)
        case {"$complex": str(name), **rest} if not rest and name in arrays and is_pairs(arrays[name]):
            return tensor(arrays[name].view(np.complex128)[..., 0])
        case {"$program": parts, **rest} if not rest: return loaded(unpacked(parts, arrays))
        case {"$float": "nan" | "inf" | "-inf" as text, **rest} if not rest: return float(text)
        case dict() if not x.keys() & set(TAGS): return {key: unpacked(part, arrays) for key, part in x.items()}
        case list(): return [unpacked(part, arrays) for part in x]
        case dict(): raise ValueError(f"{x!r:.60} stands in it")
        case _: return x


def is_pairs(x: Array) -> bool:
    """Whether an array holds the parts of complex numbers, on a last axis of two."""
    return x.dtype == np.float64 and x.shape[-1:] == (2,)


def read(path: str | Path) -> tuple[dict[str, Array], str | None]:
    """The arrays of a safetensors file by name, and the tree beside them as JSON, None where another program wrote it.

    Raises DataError if the file is missing, damaged, or not what its digest says.
    """
    if not files.located(path).is_file():
        raise DataError(f"there is no file {path}", hint="Give the path of a .safetensors file.")
    try:
        with files.regular(path) as file:
            content = file.read()
        arrays, notes = parsed(content)
        whole = not {TREE, DIGEST} & notes.keys() or notes.get(DIGEST) == digest(arrays, notes.get(TREE, ""))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is no whole safetensors file: {error}",
                        hint="Download or export it again.") from None
    if not whole:
        raise DataError(f"{path} is damaged: its content is not what its digest says",
                        hint="Take the last copy that was whole.")
    return arrays, notes.get(TREE)


def pack(arrays: Mapping[str, Array], notes: Mapping[str, str]) -> list[bytes | memoryview]:
    """A safetensors file: the length of its header, the header as JSON, and all arrays, which are not copied.

    What is aligned most stands first, so that all are.
    """
    header: dict[str, Any] = {"__metadata__": dict(notes)}
    parts, end = list[memoryview](), 0
    for name in sorted(arrays, key=lambda name: (-arrays[name].itemsize, name)):
        array = arrays[name]
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": WORDS[array.dtype], "shape": [*array.shape], "data_offsets": [begin, end]}
        parts.append(array.reshape(-1).view(np.uint8).data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *parts]


class Place(NamedTuple):
    """Where an array lies among the bytes behind a header, and what it is."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def parsed(content: bytes) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays of a safetensors file, which share its bytes, and its metadata; ValueError where it is none."""
    length = int.from_bytes(content[:8], "little")
    if length > len(content) - 8:
        raise ValueError(f"its header would have {length:,} bytes, {max(len(content) - 8, 0):,} are there")
    data = memoryview(content)[8 + length:]
    places, notes = laid_out(content[8:8 + length], len(data))
    return {name: np.frombuffer(data[x.begin:x.end], x.dtype).reshape(x.shape) for name, x in places.items()}, notes


def laid_out(header: bytes, size: int) -> tuple[dict[str, Place], dict[str, str]]:
    """What the header of a safetensors file says of the bytes behind it, and its metadata.

    Arrays lie one behind the other, and fill all bytes: ValueError where they do not.
    """
    found = json.loads(header.decode(), object_pairs_hook=each_once)
    if not is_dict(found):
        raise ValueError("its header is no dict")
    notes = found.pop("__metadata__", {})
    if not is_dict(notes) or not all(isinstance(x, str) for x in notes.values()):
        raise ValueError("its metadata is no dict of strings")
    places, at = dict[str, Place](), 0
    for name, said in sorted(found.items(), key=lambda item: offsets(item[1])):
        word, shape, (begin, end) = said.get("dtype"), said.get("shape"), offsets(said)
        if not isinstance(word, str) or word not in DTYPES:
            raise ValueError(f"{name} is {word!r:.40}, which is none of {', '.join(DTYPES)}")
        if not isinstance(shape, list) or len(shape) > AXES or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"{name} has no shape: {shape!r:.60}")
        place = Place(np.dtype(DTYPES[word]), tuple(shape), begin, end)
        if begin != at or end > size or math.prod(shape) * place.dtype.itemsize != end - begin:
            raise ValueError(f"{name} of shape {shape!r:.60} does not lie at {begin} to {end} of {size} bytes")
        places[name], at = place, end
    if at != size:
        raise ValueError(f"{size - at:,} bytes behind its last array")
    return places, notes


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dict of JSON; ValueError where it names one thing twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("its header names one thing twice")
    return found


def offsets(found: Any) -> tuple[int, int]:
    """Where an array begins and ends, as an entry of a header says; ValueError where it does not."""
    match found:
        case {"data_offsets": [begin, past]} if type(begin) is int and type(past) is int and 0 <= begin <= past:
            return begin, past
    raise ValueError(f"{found!r:.80} says of no array where it lies")


def digest(arrays: Mapping[str, Array], tree: str) -> str:
    """SHA-256 of all that a file means: its tree, and names, dtypes, shapes and bytes of its arrays."""
    found = hashlib.sha256(tree.encode())
    for name in sorted(arrays):
        array = arrays[name]
        found.update(f"\n{name} {array.dtype.name} {array.shape}\n".encode())
        found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def options_of(state: Any, own: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The numbers and strings of a state under the names in `own`, each of a kind with what stands there, lists for
    tuples too, as JSON has them; else DataError.
    """
    if not isinstance(state, Mapping) or state.keys() != own.keys():
        raise DataError(f"the state is none of {what}, whose options are {', '.join(own) or 'none'}")
    found = dict(state)
    for name, x in own.items():
        if isinstance(x, tuple) and isinstance(state[name], list):
            found[name] = tuple(state[name])
        elif not isinstance(state[name], type(x)) and not {type(x), type(state[name])} <= {int, float}:
            raise DataError(f"{name} is {state[name]!r:.40} in the state, {x!r} in this {what}")
    return found
