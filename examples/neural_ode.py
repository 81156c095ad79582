"""A neural ODE: the law of a damped pendulum, learnt from noisy measurements of how it swings.

    python examples/neural_ode.py --figure neural_ode.png

A small network stands for the right side of dx/dt = f(x), x = (angle, speed). Runge and Kutta's method takes it through
time, `st.scan` makes the loop one op of the graph, and the gradient runs through all of its steps. No data is needed.
It trains for less than a minute, and is then asked for what it has not seen: other starts, and four times as long.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import stele as st
from stele import Tensor, nn, optim

DT, TIMES, MANY, ASKED, NOISE = 0.1, 25, 64, 200, 0.05
RESULT = "over 10 seconds from new starts the mean error is below 0.05, which is the noise of one measurement"
Field = Callable[[Tensor], Tensor]


def pendulum(x: Tensor) -> Tensor:
    """The truth: d angle / dt = speed, d speed / dt = -2 sin(angle) - 0.2 speed, for x (N, 2)."""
    angle, speed = x[:, 0], x[:, 1]
    return st.stack([speed, -2 * st.sin(angle) - 0.2 * speed], axis=1)


def runge_kutta(f: Field, x: Tensor) -> Tensor:
    """The state a time DT later, by the classical method of order four."""
    a = f(x)
    b = f(x + DT / 2 * a)
    c = f(x + DT / 2 * b)
    d = f(x + DT * c)
    return x + DT / 6 * (a + 2 * b + 2 * c + d)


def solve(f: Field, x: Tensor, times: int) -> Tensor:
    """The states at DT, 2 DT, ...: (times, N, 2)."""
    def step(x: Tensor, _: None) -> tuple[Tensor, Tensor]:
        x = runge_kutta(f, x)
        return x, x

    return st.scan(step, x, None, length=times)[1]


def starts(many: int, seed: int) -> Tensor:
    """Angles and speeds to begin with."""
    return st.tensor(np.random.default_rng(seed).uniform(-1.5, 1.5, (many, 2)).astype(np.float32))


def measured() -> tuple[Tensor, Tensor]:
    """Where pendulums begin, and what a noisy instrument sees of them at all times."""
    begin = starts(MANY, 0)
    seen = solve(pendulum, begin, TIMES)
    return begin, seen + NOISE * st.randn(*seen.shape)


def network() -> nn.Sequential:
    """States (N, 2) -> how they change, (N, 2)."""
    return nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))


def learner(model: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    """The step that learns: integrate, compare, go back through time."""
    optimizer = optim.Adam(model.parameters(), lr=3e-3)

    @st.compile
    def step(begin: Tensor, seen: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = nn.mse_loss(solve(model, begin, TIMES), seen)
        loss.backward()
        optimizer.step()
        return loss

    return step


def training_step() -> Callable[[], object]:
    """One step of a new model on fixed measurements, to be timed."""
    st.manual_seed(0)
    step, batch = learner(network()), measured()
    return lambda: step(*batch)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns how far learnt trajectories are from the true ones."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--steps", type=int, default=2000, help="how many steps to learn; default: %(default)s")
    asked.add_argument("--figure", help="a file for orbits, true and learnt")
    given = asked.parse_args(argv)

    st.manual_seed(0)
    model, (begin, seen) = network(), measured()
    step = learner(model)
    for k in range(given.steps):
        loss = step(begin, seen)
        if k % 250 == 0:
            print(f"step {k}: loss {float(loss):.5f}")
    with st.no_grad():
        fresh = starts(ASKED, 1)
        truth, learnt = solve(pendulum, fresh, 4 * TIMES), solve(model, fresh, 4 * TIMES)
        error = float(st.linalg.norm(truth - learnt, axis=2).mean())
    print(f"the mean error is {error:.4f}; asked was: {RESULT}")
    if given.figure:
        draw(given.figure, truth, learnt, seen)
    return {"error": error}


def reached(found: dict[str, float]) -> bool:
    """Whether it learnt as well as the stated result."""
    return found["error"] < 0.05


def draw(path: str, truth: Tensor, learnt: Tensor, seen: Tensor) -> None:
    """Measurements as dots, three true orbits wide and grey, and what was learnt on top."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=(5, 5), layout="constrained")
    axes.plot(*seen[::2].reshape(-1, 2).numpy().T, ".", color="lightsteelblue", markersize=3)
    for k in range(3):
        axes.plot(*truth[:, k].numpy().T, color="lightgrey", linewidth=6)
        axes.plot(*learnt[:, k].numpy().T)
    axes.set(xlabel="angle", ylabel="speed")
    plt.savefig(path, dpi=80)


if __name__ == "__main__":
    main()
