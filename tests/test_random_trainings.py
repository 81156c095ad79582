"""Random trainings obey the laws that `tests/random_trainings.py` states.

`python -m tests.random_trainings 300` tries many more.
"""
from __future__ import annotations

from typing import Any

import pytest

from tests import random_trainings
from tests.random_trainings import (
    CALLBACKS,
    LAWS,
    LAYERS,
    LOSSES,
    OPTIMIZERS,
    SCHEDULES,
    Averaged,
    Gone,
    check,
    drawn,
    gone,
)


@pytest.mark.parametrize("seed, laws", [(1, LAWS), *((seed, LAWS[:1]) for seed in (4, 5, 24, 27, 30)),
                                        *((seed, ("bf16",)) for seed in (0, 5, 11, 4420))])
def test_random_trainings(seed: int, laws: tuple[str, ...]) -> None:
    check(drawn(seed), laws)


def test_everything_is_drawn() -> None:
    made = [drawn(seed) for seed in range(400)]
    def found(name: str) -> set[Any]: return {x for said in made for x in (
        said[name] if isinstance(said[name], list) else [said[name]])}
    assert found("optimizer") == {*OPTIMIZERS} and found("loss") == {*LOSSES} and found("callbacks") == {*CALLBACKS}
    assert found("schedule") == {None, *SCHEDULES}
    assert found("layers") == {name for kind in LAYERS.values() for name in kind}
    assert all(len(found(name)) > 1 for name in made[0] if name != "options")


def test_a_training_in_bfloat16_that_goes_elsewhere_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose weights went two thirds of the way."""
    def shorter(said: Any, precision: str, moved: float) -> Gone:
        found = gone(said, precision, moved)
        return found._replace(way=found.way / 1.5) if precision == "bf16" else found

    monkeypatch.setattr(random_trainings, "gone", shorter)
    with pytest.raises(AssertionError, match="ways of weights in bfloat16"):
        check(drawn(5), ["bf16"])


def test_what_is_not_kept_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    said = drawn(1) | {"callbacks": ["swa"], "stops": [7], "epochs": 2, "every": 0.0}
    monkeypatch.setattr(Averaged, "load_state_dict", lambda self, state: None)
    with pytest.raises(AssertionError, match=r"in parts: /callback\.Averaged\.0"):
        check(said, LAWS[:1])
