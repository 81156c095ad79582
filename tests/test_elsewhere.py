"""What goes to other processes and other tasks: pickles, copies, processes of any start, contexts of asyncio."""
from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st
from stele import nn, optim
from stele.errors import GraphError

COPIES: dict[str, Callable[[Any], Any]] = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy}
OPTIMIZERS = {"SGD": lambda p: optim.SGD(p, lr=0.1, momentum=0.9), "Adam": lambda p: optim.Adam(p, lr=0.1),
              "LBFGS": lambda p: optim.LBFGS(p, lr=0.1), "Lookahead": lambda p: optim.Lookahead(optim.SGD(p, lr=0.1))}


@st.compile(dims={"x": {0: "n"}})
def doubled(x: Any) -> Any:
    return x * 2 + 1


def tripled(x: Any) -> Any:
    return x * 3


def looping(x: Any) -> Any:
    while x > 1:
        x = x / 2
    return x


class Model(nn.Module):
    """A module with compiled methods of both kinds."""

    def __init__(self) -> None:
        self.layer = nn.Linear(3, 2)
        self.run = st.compile(self.plain)

    def plain(self, x: Any) -> Any: return self.layer(x)

    @st.compile
    def forward(self, x: Any) -> Any: return self.layer(x)


def small() -> nn.Module:
    st.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def step(model: Any, optimizer: Any, schedule: Any = None) -> Any:
    def loss() -> Any:
        optimizer.zero_grad()
        found = (model(st.ones(2, 3)) ** 2).sum()
        found.backward()
        return found

    found = optimizer.step(loss) if isinstance(optimizer, optim.LBFGS) else (loss(), optimizer.step())[0]
    if schedule is not None:
        schedule.step()
    return found.item()


@pytest.mark.parametrize("how", COPIES)
def test_compiled_functions_go_as_functions_do(how: str) -> None:
    x, again = st.ones(2, 3), COPIES[how]
    doubled(x)
    assert again(doubled) is doubled
    other = st.compile(tripled, precision="strict")
    other(x)
    made = again(other)
    assert made is not other and made(x).tolist() == other(x).tolist()
    assert made.variants.options == other.variants.options
    rewritten = st.compile(looping, control="python")
    assert again(rewritten)(st.tensor(8.0)).item() == 1


def test_a_compiled_function_that_nobody_can_name_is_refused_by_its_name() -> None:
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(st.compile(lambda x: x))


@pytest.mark.parametrize("how", COPIES)
def test_modules_with_compiled_methods_go_with_their_weights(how: str) -> None:
    model, x = Model(), st.ones(1, 3)
    expected = model(x).tolist(), model.run(x).tolist()
    made = COPIES[how](model)
    assert (made(x).tolist(), made.run(x).tolist()) == expected
    made.layer.weight.assign(st.zeros(2, 3))
    assert made.run(x).tolist() == made(x).tolist() == [made.layer.bias.tolist()] != expected[0]
    bound = COPIES[how](model.forward)
    assert bound(x).tolist() == expected[0]
    whole = st.compile(small())
    assert COPIES[how](whole)(x).tolist() == whole(x).tolist()


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_go_with_their_models(name: str, how: str) -> None:
    model = small()
    optimizer = OPTIMIZERS[name](model.parameters())
    schedule = optim.lr_scheduler.ExponentialLR(getattr(optimizer, "optimizer", optimizer), 0.5)
    step(model, optimizer, schedule)
    made = COPIES[how]((model, optimizer, schedule))
    expected = [step(model, optimizer, schedule) for _ in range(3)]
    assert [step(*made) for _ in range(3)] == expected


@pytest.mark.parametrize("how", COPIES)
def test_programs_that_were_loaded_go_with_their_state(how: str, tmp_path: Path) -> None:
    weight = st.ones(3)
    f = st.compile(lambda x: x * weight)
    x = st.ones(2, 3)
    f(x)
    st.save(f, tmp_path / "f.safetensors")
    loaded = st.load(tmp_path / "f.safetensors")
    made = COPIES[how](loaded)
    (name,) = made.state
    made.state[name].assign(st.zeros(3))
    assert made(x).tolist() == [[0, 0, 0]] * 2 and loaded(x).tolist() == [[1, 1, 1]] * 2


def test_functions_of_placeholders_are_copied_as_functions_and_say_how_to_send_them() -> None:
    x = st.placeholder((3,))
    f = st.function([x], x * 2)
    assert copy.deepcopy(f) is f is copy.copy(f)
    with pytest.raises(GraphError, match=r"st\.save"):
        pickle.dumps(f)


@pytest.mark.parametrize("how", COPIES)
def test_dtypes_stay_the_ones_they_are(how: str) -> None:
    for dtype in (st.float32, st.bfloat16, st.bool):
        assert COPIES[how](dtype) is dtype


def sent(model: Any, optimizer: Any, f: Any, rng: Any) -> Any:
    """What a process makes of what it is sent."""
    return step(model, optimizer), model, optimizer, f(st.ones(2, 3)), rng.normal(size=2), rng


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_processes_take_and_give_what_a_training_needs(start: str) -> None:
    model, rng = small(), st.random.default_rng(3)
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    doubled(st.ones(2, 3))
    with ProcessPoolExecutor(1, multiprocessing.get_context(start)) as workers:
        loss, other, others, y, drawn, moved = workers.submit(sent, model, optimizer, doubled, rng).result(120)
    assert loss == step(model, optimizer) and step(other, others) == step(model, optimizer)
    np.testing.assert_array_equal(y.numpy(), np.full((2, 3), 3))
    assert drawn.tolist() == rng.normal(size=2).tolist() and moved.normal().item() == rng.normal().item()
