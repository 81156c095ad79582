"""What is kept of a compiled program beside its machine code: plain data that goes to disk and back."""
from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from stele.ir import sizes
from stele.ir.graph import Array
from stele.ir.sizes import Dim
from stele.ir.types import DTYPES, Type, dtype
from stele.kernel.memory import Piece

Origins = tuple[int, ...]


@dataclass(frozen=True)
class Output:
    """A result: its slot, its type, and where it really is: a slot of its own, `parameter` k or earlier `result` k."""

    slot: int
    type: Type
    source: str = "slot"
    k: int = 0


@dataclass(frozen=True)
class KernelNote:
    """A line of the report: what a kernel is, what it makes and the origins of its values."""

    kind: str
    what: str
    origins: Origins


@dataclass(frozen=True)
class SlotNote:
    """A line of the memory plan."""

    kind: str
    bytes: Dim
    what: str
    first: int
    last: int
    home: int | None
    origins: Origins


@dataclass(frozen=True)
class Manifest:
    """All that a loaded program needs to be called and to explain itself.

    `names` are the sizes by position; those in `private` are set by the program itself, to at most these numbers.
    What is kept from call to call is made again when one of the parameters in `steady` is another.
    """

    parameters: int
    slots: tuple[SlotNote, ...]
    names: tuple[str, ...]
    private: Mapping[str, int]
    outputs: tuple[Output, ...]
    in_place: Mapping[int, int]
    scratch: tuple[Dim, ...]
    sites: tuple[Origins, ...]
    kernels: tuple[KernelNote, ...]
    constants: Mapping[int, Array]
    steady: tuple[int, ...]
    seconds: Mapping[str, float]

    def pieces(self) -> list[Piece]:
        """What the arena holds."""
        return [Piece(k, s.bytes, s.first, s.last) for k, s in enumerate(self.slots)
                if s.kind == "temp" and s.home is None]

    def root(self, position: int) -> int:
        """The slot whose memory this one lives in."""
        while (home := self.slots[position].home) is not None:
            position = home
        return position

    def pack(self) -> bytes:
        """As bytes: constants as an .npz whose entry `manifest` is JSON."""
        plain = {f.name: flat(getattr(self, f.name)) for f in fields(self)}
        plain["constants"] = {str(k): str(dtype(a.dtype)) for k, a in self.constants.items()}
        arrays: dict[str, Any] = {f"c{k}": np.ascontiguousarray(a).reshape(a.shape).view(f"u{a.dtype.itemsize}")
                  for k, a in self.constants.items()}
        out = io.BytesIO()
        np.savez(out, manifest=np.frombuffer(json.dumps(plain).encode(), np.uint8), **arrays)
        return out.getvalue()

    @staticmethod
    def unpack(data: bytes) -> Manifest:
        """From the bytes that `pack` made."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            plain = json.loads(arrays["manifest"].tobytes())
            constants = {int(k): arrays[f"c{k}"].view(DTYPES[name].numpy) for k, name in plain["constants"].items()}
        return Manifest(
            plain["parameters"],
            tuple(SlotNote(**s | {"bytes": dim(s["bytes"]), "origins": tuple(s["origins"])}) for s in plain["slots"]),
            tuple(plain["names"]),
            plain["private"],
            tuple(Output(**o | {"type": type_of(o["type"])}) for o in plain["outputs"]),
            {int(k): v for k, v in plain["in_place"].items()},
            tuple(map(dim, plain["scratch"])),
            tuple(map(tuple, plain["sites"])),
            tuple(KernelNote(**k | {"origins": tuple(k["origins"])}) for k in plain["kernels"]),
            constants, tuple(plain["steady"]), plain["seconds"])


def flat(v: Any) -> Any:
    """Sizes as text, records as dictionaries of their fields."""
    if isinstance(v, sizes.Size):
        return str(v)
    if is_dataclass(v):
        return {f.name: flat(getattr(v, f.name)) for f in fields(v)}
    if isinstance(v, Sequence) and not isinstance(v, str):
        return [flat(x) for x in v]
    if isinstance(v, Mapping):
        return {str(k): flat(x) for k, x in v.items() if not isinstance(x, np.ndarray)}
    return v


def dim(x: int | str) -> Dim:
    """The dimension that `flat` wrote."""
    return x if isinstance(x, int) else sizes.parse(x)


def type_of(plain: Mapping[str, Any]) -> Type:
    """The Type that `flat` took apart."""
    return Type(DTYPES[plain["dtype"]["name"]], tuple(map(dim, plain["shape"])), plain["device"])
