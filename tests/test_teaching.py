"""Errors teach: they name what was called, the layer and the user's line, and show the user's frames alone."""
from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import data, nn, optim
from stele.errors import SteleError
from stele.ir.origin import is_house


class Pair(nn.Module):
    def __init__(self) -> None:
        self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.fc2(self.fc1(x))    # fc2 takes 4 features, not 8


class Net(nn.Module):
    def __init__(self) -> None:
        self.blocks = [nn.Linear(4, 4), Pair()]

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


def raised(f: Callable[[], Any]) -> BaseException:
    """What f raises."""
    try:
        f()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def house(error: BaseException) -> list[str]:
    """The frames of ours that a traceback shows."""
    return [f"{f.filename}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__) if is_house(f.filename)]


STYLES: dict[str, Callable[[Any], Any]] = {
    "imperative": lambda model: model,
    "compiled": st.compile,
    "compiled inside": lambda model: st.compile(lambda x: model(x)),
    "gradient": lambda model: st.grad(lambda x: model(x).sum()),
}


@pytest.mark.parametrize("style", STYLES)
def test_shape_errors_in_a_module_name_its_path_and_the_line(style: str) -> None:
    error = raised(lambda: STYLES[style](Net())(st.ones(2, 4)))
    line = Pair.forward.__code__.co_firstlineno + 1
    assert f"at {__file__.rpartition('/')[2]}:{line} (blocks.1.fc2)" in str(error)
    assert "takes 4 features" in str(error) and "(2, 8)" in str(error)
    assert house(error) == []
    assert traceback.extract_tb(error.__traceback__)[-1].name == "forward"


def test_the_users_own_errors_lose_our_frames_and_nothing_else() -> None:
    class Broken(nn.Module):
        def forward(self, x: Any) -> Any:
            return {}["key"]

    for f in (Broken(), st.compile(Broken()), st.grad(Broken())):
        error = raised(lambda: f(st.ones(2)))  # noqa: B023 (called at once)
        assert isinstance(error, KeyError) and house(error) == []
        assert traceback.extract_tb(error.__traceback__)[-1].name == "forward"


def test_frames_of_ours_are_shown_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STELE_TRACEBACK", "full")
    assert len(house(raised(lambda: Net()(st.ones(2, 4))))) > 3


x34, x24 = st.ones(3, 4), st.ones(2, 4)
weight = st.tensor([1.0], requires_grad=True)

DOORS: dict[str, Callable[[], Any]] = {
    "operator": lambda: x34 + x24, "reflected": lambda: (1, 2) @ x34, "in place": lambda: st.ones(3).__iadd__(x34),
    "method": lambda: x34.sum(axis=7), "function": lambda: st.matmul(x34, x34), "too many": lambda: st.exp(1, 2, 3),
    "no such option": lambda: x34.sum(axs=1), "number": lambda: float(x34), "made": lambda: st.tensor(["a"]),
    "sizes": lambda: st.zeros(-3), "drawn": lambda: st.randn(-3), "assign": lambda: st.ones(2).assign(x34),
    "backward": lambda: x34.backward(), "grad": lambda: st.grad(lambda x: x)(x34), "set": lambda: set_item(x34),
    "scan": lambda: st.scan(lambda s, x: s, x34, x34), "look": lambda: st.take(x34, st.tensor([9]), 0).numpy(),
    "compiled": lambda: st.compile(lambda x: x34[x])(st.tensor(9)), "layer": lambda: nn.Linear(-1, 4),
    "recurrent": lambda: nn.GRU(-1, 4), "loss": lambda: nn.mse_loss(x34, x24), "optimiser": lambda: optim.SGD([], 1.0),
    "adam": lambda: optim.Adam([weight], betas=(2, 2)), "loader": lambda: data.Loader((np.ones(3), np.ones(4))),
    "placeholder": lambda: st.placeholder(3), "function of": lambda: st.function([x34], x34),
}


def set_item(x: Any) -> None:
    x[9] = 1


@pytest.mark.parametrize("door", DOORS)
def test_errors_leave_through_a_door(door: str) -> None:
    error = raised(DOORS[door])
    assert isinstance(error, SteleError), repr(error)
    assert house(error) == []
    assert f"{__file__.rpartition('/')[2]}:" in str(error)
