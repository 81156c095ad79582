"""Wrong arguments raise errors that teach and nothing else, and what is taken has the reference's numbers."""
from __future__ import annotations

import pytest
from bad_calls import FUNCTIONS, Call, call, fault, own, said

import stele as st

BATCH = 100


@pytest.mark.parametrize("start", range(0, 1200, BATCH))
def test_wrong_arguments_teach(start: int) -> None:
    faults = [f"{seed}: {made}: {wrong}" for seed in range(start, start + BATCH)
              if (wrong := fault(made := call(seed), native=False))]
    assert not faults, "\n".join(faults)


def test_native_numbers_are_the_references() -> None:
    faults = [f"{seed}: {made}: {wrong}" for seed in range(100_000, 100_150) if (wrong := fault(made := call(seed)))]
    assert not faults, "\n".join(faults)


def test_calls_are_drawn_from_everything_public_and_can_fail() -> None:
    drawn = {call(seed).name for seed in range(4000)}
    assert len(FUNCTIONS) > 190 and len(drawn) > 0.98 * len(FUNCTIONS)
    wrong = call(0)._replace(function=lambda *x, **k: 1 // 0)
    assert "ZeroDivisionError" in (fault(wrong) or "")


def test_only_a_function_that_was_given_may_raise_as_it_likes() -> None:
    """What a caller's function raises is the caller's; what any other line raises is a fault, in this check too."""
    assert fault(Call("scan", st.scan, (own(type), st.ones(2), st.ones(2)), {})) is None
    assert "AttributeError" in (fault(Call("said", said, (None,), {})) or "")
