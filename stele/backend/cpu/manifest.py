"""What is kept of a compiled program beside its machine code: plain data that goes to disk and back."""
from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

import numpy as np

from stele.backend.cpu.cache import apart, together
from stele.ir import sizes
from stele.ir.graph import Array
from stele.ir.origin import NOWHERE, Origin, Where
from stele.ir.record import Record
from stele.ir.report import BufferNote, Choice, Decision, Fired, KernelNote, Report
from stele.ir.sizes import Dim
from stele.ir.types import DTYPES, Type, dtype
from stele.kernel.memory import Place, Plan


class Output(Record):
    """A result: its slot, its type, and where it really is: a slot of its own, `parameter` k or earlier `result` k."""

    slot: int
    type: Type
    source: str = "slot"
    k: int = 0


class HostNote(Record):
    """A call into Python: the number of the value that it computes, and the slots of the object that is called, of what
    is read and of what is made."""

    value: int
    slot: int
    inputs: Sequence[int]
    outputs: Sequence[int]


class Manifest(Record):
    """All that a loaded program needs to be called and, in `report`, to explain itself: read when somebody asks.

    `names` are the sizes by position. What is kept from call to call is made again when one of the parameters in
    `steady` is another. `multiplies` says whether it multiplies matrices anywhere.
    """

    parameters: int
    plan: Plan
    names: tuple[str, ...]
    outputs: tuple[Output, ...]
    constants: Mapping[int, Array]
    steady: tuple[int, ...]
    multiplies: bool
    hosts: tuple[HostNote, ...]
    report: bytes

    def pack(self) -> bytes:
        """As bytes: JSON, the report, and the bytes of each constant."""
        arrays = [(k, dtype(a.dtype).name, a.shape) for k, a in self.constants.items()]
        outputs = [(o.slot, o.type.dtype.name, o.type.shape, o.type.device, o.source, o.k) for o in self.outputs]
        plain = self.parameters, self.plan, self.names, outputs, arrays, self.steady, self.multiplies, self.hosts
        return together(json.dumps(flat(plain)).encode(), self.report, *(a.tobytes() for a in self.constants.values()))

    @staticmethod
    def unpack(data: bytes) -> Manifest:
        """From the bytes that `pack` made."""
        own, report, *raw = apart(data)
        parameters, plan, names, outputs, arrays, steady, multiplies, hosts = json.loads(own)
        places, in_place, scratch, private = plan
        return Manifest(
            parameters,
            Plan(tuple(Place(kind, dim(bytes_), *life) for kind, bytes_, *life in places),
                 {int(k): v for k, v in in_place.items()}, tuple(map(dim, scratch)), private),
            tuple(names),
            tuple(Output(slot, Type(DTYPES[name], tuple(map(dim, shape)), device), source, k)
                  for slot, name, shape, device, source, k in outputs),
            {k: np.ndarray(shape, DTYPES[name].numpy, each) for (k, name, shape), each in zip(arrays, raw)},
            tuple(steady), multiplies, tuple(HostNote(*host) for host in hosts), report)


def pack_report(report: Report, number: Mapping[Origin, int]) -> bytes:
    """A report as bytes; `number` names origins by the values with them."""
    def origins(where: Where) -> list[int]:
        return sorted({number[o] for o in where if o in number})

    def records(found: Iterable[Any], names: list[str]) -> list[list[Any]]:
        return [[origins(r.where) if of == "where" else flat(getattr(r, of)) for of in names] for r in found]

    plain = vars(report) | {"sites": [*map(origins, report.sites)]}
    for name, kind in NOTES.items():
        found = getattr(report, name)
        plain[name] = records(found.values() if name in ("rules", "choices") else found, names_of(kind))
    return zlib.compress(json.dumps(plain).encode())


def unpack_report(data: bytes, wheres: Sequence[Where]) -> Report:
    """From the bytes that `pack_report` made, with the origins that values have now, by their numbers."""
    def origins(numbers: Sequence[int]) -> Where:
        return NOWHERE.union(*(wheres[k] for k in numbers))

    plain = json.loads(zlib.decompress(data))
    for name, kind in NOTES.items():
        names = names_of(kind)
        plain[name] = [kind(*(origins(x) if of == "where" else tupled(x) for of, x in zip(names, each)))
                       for each in plain[name]]
    named = {"rules": {r.name: r for r in plain["rules"]}, "choices": {c.question: c for c in plain["choices"]}}
    return Report(**plain | named | {"sites": [*map(origins, plain["sites"])]})


NOTES: dict[str, Any] = {"rules": Fired, "decisions": Decision, "choices": Choice, "kernels": KernelNote,
                         "buffers": BufferNote}
"""The records of a report, each of which is a list in its bytes."""


@cache
def names_of(kind: Any) -> list[str]:
    """The names of a record's fields."""
    return [f.name for f in fields(kind)]


def flat(v: Any) -> Any:
    """Sizes as text, records as the list of their fields."""
    if isinstance(v, int | str | float | None):
        return v
    if isinstance(v, tuple | list):
        return [flat(x) for x in cast(Sequence[Any], v)]
    if isinstance(v, sizes.Size):
        return str(v)
    return [flat(getattr(v, name)) for name in names_of(type(v))] if is_dataclass(v) else v


def tupled(x: Any) -> Any:
    """Lists as the tuples that they were."""
    return tuple(map(tupled, cast(list[Any], x))) if isinstance(x, list) else x


def dim(x: int | str) -> Dim:
    """The dimension that `flat` wrote."""
    return x if isinstance(x, int) else sizes.parse(x)
