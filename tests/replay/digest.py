"""The digests: of the IR of all kernels, and of the memory plan, by case and machine."""
from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from stele.backend.cpu.build import Laid
from stele.backend.cpu.jit import assembly
from stele.backend.cpu.target import Target
from stele.ir.report import Report
from stele.pipeline import LIBRARY, Request, write
from tests.replay.cases import CASES, WORKLOADS, Traced, case, workload
from tests.replay.machines import MACHINES

PATH = Path(__file__).resolve().parent / "digests.txt"
ALL = (*CASES, *WORKLOADS)

Key = tuple[str, str]
Pair = tuple[str, str]


@cache
def traced(name: str) -> Traced:
    """What the compiler is asked for in a case, traced once."""
    return case(name) if name in CASES else workload(name)


def emitted(name: str, machine: Target) -> tuple[str, str]:
    """The IR and the memory plan of a case on a machine, as text."""
    modules: list[Any] = []
    laid, _ = write(request(name, machine), modules.append, Report())
    return "\n".join(map(str, modules)), plan(laid)


def machine_code(text: str, machine: Target) -> list[list[str]]:
    """The instructions that modules become, in assembly, without what surrounds them."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    modules = text.split("; ModuleID")[1:]
    return [[line for line in assembly(module.partition("\n")[2], machine).splitlines()
             if line.strip() and not line.strip().startswith((".", "#", "//"))] for module in modules]


def request(name: str, machine: Target) -> Request:
    """What a case asks of a machine that has no library."""
    asked = traced(name)
    options = replace(asked.options, without=asked.options.without | {LIBRARY})
    return Request(asked.graph, asked.donate, asked.steady, options, machine)


def plan(laid: Laid) -> str:
    """Every slot with its bytes and life, what takes over whose memory, and where results are."""
    rows = [f"{k} {s.kind} {s.bytes} {s.what} {s.first}..{s.last} {s.home}" for k, s in enumerate(laid.slots.table)]
    return "\n".join([*rows, repr(sorted(laid.in_place.items())), *map(repr, laid.outputs)])


def digests(names: Iterable[str] = ALL) -> dict[Key, Pair]:
    """The digests of code and memory plan, by case and machine."""
    return {(name, machine): pair(*emitted(name, target)) for name in names for machine, target in MACHINES.items()}


def pair(*texts: str) -> Any:
    """Twelve digits of each text's SHA-256."""
    return tuple(hashlib.sha256(text.encode()).hexdigest()[:12] for text in texts)


def printer() -> str:
    """Who writes the text that is digested."""
    return f"llvmlite {version('llvmlite')}"


def table(found: Mapping[Key, Pair], by: str) -> str:
    """Digests as text, which `known` reads."""
    rows = [f"{name:24} | {machine:9} | {code} | {memory}" for (name, machine), (code, memory) in found.items()]
    return "\n".join([f"{by}: code and memory plan of each case on each machine; `python -m tests.replay` writes this",
                      *rows, ""])


def known() -> dict[Key, Pair]:
    """The digests that are kept."""
    lines = PATH.read_text().splitlines()[1:] if PATH.exists() else []
    parts = [[part.strip() for part in line.split("|")] for line in lines]
    return {(name, machine): (code, memory) for name, machine, code, memory in parts}


def is_written_by(by: str) -> bool:
    """Whether the digests that are kept are of texts by this printer."""
    return PATH.read_text().startswith(f"{by}:")
