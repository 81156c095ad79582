"""Code of kernels and memory plans of programs, on six machines, are those that `tests/replay` keeps digests of.

A change that means to leave them alone is one that passes here; one that changes them runs `python -m tests.replay`,
and says in its commit which changed, why, and what `benchmarks/kernels.py` measured for those before and after.
"""
from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from stele.ir.report import Report
from stele.kernel.kinds import Host, Launched
from stele.pipeline import write
from tests.replay import instructions
from tests.replay.digest import ALL, CASES, MACHINES, digests, emitted, is_written_by, known, pair, printer, request


@pytest.mark.parametrize("name", ALL)
def test_code_and_memory_are_what_they_were(name: str) -> None:
    if not is_written_by(printer()):
        pytest.skip(f"the digests are of text that another llvmlite wrote than {printer()}")
    before, now = known(), digests([name])
    changed = [" on ".join(key) for key in now if before.get(key) != now[key]]
    assert not changed, f"other code or memory: {changed}; see with python -m tests.replay --show CASE MACHINE"


def test_no_digest_is_of_a_case_that_is_gone() -> None:
    assert known().keys() == {(name, machine) for name in ALL for machine in MACHINES}
    assert len(known()) >= 80


def test_every_kind_of_kernel_and_every_algorithm_is_emitted() -> None:
    """A kernel that the compiler makes, or an algorithm of convolutions that it chooses, which no case asks for is not
    held. Libraries are those of one machine; of two machines one or the other has every algorithm."""
    machines = MACHINES["sapphire"], MACHINES["neon"]
    reports = [Report() for _ in CASES for _ in machines]
    for report, (name, target) in zip(reports, product(CASES, machines), strict=True):
        write(request(name, target), lambda module: None, report)
    kinds = {kind.__name__.lower() for kind in (*get_args(Launched), Host)} - {"library"}
    assert kinds <= {note.kind for report in reports for note in report.kernels}
    choices = [choice for report in reports for choice in report.choices.values()]
    for question in ("convolution weight", "convolution"):
        asked = [choice for choice in choices if choice.question.startswith(question)]
        there = {name for choice in asked for name, _ in choice.beaten} | {choice.taken for choice in asked}
        assert {choice.taken for choice in asked} == there and len(there) > 2
        choices = [choice for choice in choices if choice not in asked]
    assert any(choice.taken.startswith("Strassen") for choice in choices if choice.question.startswith("gemm"))


@pytest.mark.parametrize("name", instructions.MULTIPLYING)
def test_instructions_for_each_multiply_add_are_what_they_were(name: str) -> None:
    if not is_written_by(printer()):
        pytest.skip(f"the counts are of code that another LLVM made than that of {printer()}")
    found = instructions.densest(name)
    assert ", ".join(map(str, found)) == instructions.known()[name]
    assert max(loop.each for loop in found) <= (3.1 if "depthwise" in name else 2.4)    # strided rows are taken apart


def test_no_count_is_of_a_case_that_is_gone() -> None:
    assert [*instructions.known()] == [*instructions.MULTIPLYING]


def test_machines_have_code_and_memory_of_their_own() -> None:
    texts = {name: emitted("product 1024", machine) for name, machine in MACHINES.items()}
    assert len({code for code, _ in texts.values()}) >= 5 and len({memory for _, memory in texts.values()}) >= 3
    assert pair(*texts["x86-64-v2"]) == pair(*emitted("product 1024", MACHINES["x86-64-v2"]))
