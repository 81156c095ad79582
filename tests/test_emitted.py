"""Code of kernels and memory plans of programs, on six machines, are those that `tests/replay` keeps digests of.

A change that means to leave them alone is one that passes here; one that changes them runs `python -m tests.replay`,
and says in its commit which changed, why, and what `benchmarks/kernels.py` measured for those before and after.
"""
from __future__ import annotations

import pytest

from tests.replay.digest import ALL, MACHINES, digests, emitted, is_written_by, known, pair, printer


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


def test_machines_have_code_and_memory_of_their_own() -> None:
    texts = {name: emitted("product 1024", machine) for name, machine in MACHINES.items()}
    assert len({code for code, _ in texts.values()}) >= 5 and len({memory for _, memory in texts.values()}) >= 3
    assert pair(*texts["x86-64-v2"]) == pair(*emitted("product 1024", MACHINES["x86-64-v2"]))
