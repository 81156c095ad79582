"""Examples with other arguments give results or lessons; `python -m tests.long_exchanged` tries more."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from exchanged import VALUES, Exchange, examples, exchange, places, programs

import stele as st

PLANTED = """
x = st.tensor([1.0, 2.0])
y = broken(x * 2.0, 0)
"""


@pytest.fixture(autouse=True)
def all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_TRACEBACK", "full")


@pytest.mark.parametrize("start", range(0, 320, 64))
def test_examples_with_other_arguments_give_results_or_lessons(start: int) -> None:
    made = [e for seed in range(start, start + 64, 4) if (e := exchange(seed)) is not None]
    faults = [f"{e}: {wrong}" for e in made if (wrong := e.fault())]
    assert len(made) > 4 and not faults, "\n".join(faults)


def test_what_is_no_lesson_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of the package that looks at an argument before it is checked."""
    space: dict[str, Any] = {}
    text = "def broken(x, axis): return x.sum(axis + 0 if axis != 'abc' else 1 // 0)"
    exec(compile(text, "<stele broken>", "exec"), space)
    broken: Callable[..., Any] = space["broken"]
    broken.__module__ = "stele.broken"
    monkeypatch.setitem(st.__dict__, "broken", broken)
    monkeypatch.setitem(examples(), "planted", PLANTED.replace("broken", "st.broken"))      # type: ignore[arg-type]
    calls = {said: call for call, said, _ in places("planted")}
    assert ("broken", 1) in {(said, slot) for _, said, slot in places("planted")} and operator.mul.__name__ in calls
    at = Exchange("planted", calls["broken"], "broken", 1, "'abc'", False)
    assert "ZeroDivisionError in" in (at.fault() or "") and at._replace(value="0").fault() is None
    assert at._replace(value="object").fault() is None or "TypeError" in (at._replace(value="object").fault() or "")
    assert len(programs("planted")) == 1


def test_examples_of_every_room_are_drawn() -> None:
    assert len(examples()) > 1000 and len(VALUES) > 90
    drawn = [e for seed in range(0, 64 * 16, 16) if (e := exchange(seed)) is not None]
    assert len({e.example for e in drawn}) > 50 and {e.is_part for e in drawn} == {True, False}
