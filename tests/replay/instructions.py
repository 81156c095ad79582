"""Instructions for each multiply-add of vectors, of ARM64: in the densest loop of each contraction."""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from stele.backend.cpu.jit import assembly
from stele.ir.report import Report
from stele.pipeline import write
from tests.replay.cases import CASES
from tests.replay.digest import request
from tests.replay.machines import MACHINES

PATH = Path(__file__).resolve().parent / "instructions.txt"
MACHINE = "neon"
KINDS = ("product", "linear", "conv", "scan", "attention")
MULTIPLYING = tuple(name for name in CASES if name.startswith(KINDS))
FEWEST = 8
"""Multiply-adds of a loop that is one of a product, and no remainder of it."""


class Loop(NamedTuple):
    """What one turn of a loop without branches does."""

    adding: int
    instructions: int

    @property
    def each(self) -> float:
        """Instructions for each multiply-add of a vector."""
        return self.instructions / self.adding

    def __str__(self) -> str:
        return f"{self.each:.2f} = {self.instructions}/{self.adding}"


def loops(text: str) -> Iterator[Loop]:
    """The parts of an assembly text between two labels which multiply vectors and add."""
    for part in re.split(r"^\S+:", text, flags=re.MULTILINE):
        rows = [row.split() for row in part.splitlines() if row.startswith("\t") and row[1] not in "./"]
        adding = sum(name in ("fmla", "fmls") and "." in more[0] for name, *more in rows)
        if adding >= FEWEST:
            yield Loop(adding, len(rows))


def densest(name: str) -> list[Loop]:
    """Of each contraction of a case, the loop with the fewest instructions for a multiply-add."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    modules, report, machine = list[Any](), Report(), MACHINES[MACHINE]
    write(request(name, machine), modules.append, report)
    contractions = {f"k{k}" for k, note in enumerate(report.kernels) if note.kind == "contraction"}
    found = [[*loops(assembly(str(module).partition("\n")[2], machine))]
             for module in modules if module.name.partition(".")[0] in contractions]
    return [min(one, key=lambda loop: loop.each) for one in found]


def table(by: str) -> str:
    """The counts of all cases as text."""
    rows = [f"{name:32} | {', '.join(map(str, densest(name)))}" for name in MULTIPLYING]
    return "\n".join([f"{by}: instructions for each multiply-add on {MACHINE}; `python -m tests.replay` writes this",
                      *rows, ""])


def known() -> dict[str, str]:
    """The counts that are kept, by case."""
    rows = [row.partition("|") for row in PATH.read_text().splitlines()[1:]] if PATH.exists() else []
    return {name.strip(): counts.strip() for name, _, counts in rows}
