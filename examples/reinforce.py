"""REINFORCE: a policy learns to balance a pole on a cart, of nothing but how long it stood (Williams, 1992).

    python examples/reinforce.py --figure reinforce.png

The cart-pole of Barto, Sutton and Anderson (1983) is pushed left or right, 50 times a second; an episode is over when
the pole leans by more than 12 degrees, the cart leaves its 4.8 metres, or 500 pushes are done. Physics, the policy's
choices and the gradient are one compiled step: 32 episodes run side by side in a `st.scan`. No data is needed. It
trains for less than a minute.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import stele as st
from stele import Tensor, nn, optim

EPISODES, PUSHES, DISCOUNT, ASKED = 32, 500, 0.99, 200
RESULT = "the pole stands for at least 475 of 500 pushes, in the mean of 200 new episodes"


def pushed(carts: Tensor, right: Tensor) -> Tensor:
    """Carts (N, 4), of place, speed, angle and turning, 0.02 s after a push of 10 N to the right, or to the left."""
    _, speed, angle, turning = carts.T
    sin, cos = st.sin(angle), st.cos(angle)
    force = (st.where(right, 10.0, -10.0) + 0.05 * turning ** 2 * sin) / 1.1        # pole of 0.1 kg, 1.1 kg in all
    turn = (9.8 * sin - cos * force) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))       # half the pole is 0.5 m
    move = force - 0.05 * turn * cos / 1.1
    return carts + 0.02 * st.stack([speed, move, turning, turn], axis=1)


def stands(carts: Tensor) -> Tensor:
    """Whether the pole leans by less than 12 degrees, and the cart is on its 4.8 metres."""
    return (st.abs(carts[:, 0]) < 2.4) & (st.abs(carts[:, 2]) < 0.2095)


def drawn(many: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Carts in the middle that hardly move (N, 4), and the lots that say which pushes are made (T, N)."""
    return rng.uniform(-0.05, 0.05, (many, 4)).astype(np.float32), rng.random((PUSHES, many), np.float32)


def episodes(policy: nn.Module, carts: Tensor, lots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Whole episodes, one for each cart, by lots (T, N): all states, which pushes went right, when the pole stood."""
    def step(state: tuple[Tensor, ...], chance: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        carts, standing = state
        right = chance < st.sigmoid(policy(carts)[:, 0])
        after = pushed(carts, right)
        return (st.where(standing[:, None], after, carts), standing & stands(after)), (carts, right, standing)

    with st.no_grad():
        return st.scan(step, (carts, st.ones(carts.shape[0], dtype=bool)), lots)[1]


def returns(rewards: Tensor) -> Tensor:
    """What each push was good for: all rewards (T, N) behind it, later ones counted less."""
    def step(total: Tensor, reward: Tensor) -> tuple[Tensor, Tensor]:
        total = reward + DISCOUNT * total
        return total, total

    return st.scan(step, st.zeros_like(rewards[0]), rewards, reverse=True)[1]


def learner(policy: nn.Module) -> Callable[[np.ndarray, np.ndarray], Tensor]:
    """The step that learns: it plays, makes what went better than the mean likelier, and says how long poles stood."""
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)

    @st.compile
    def step(carts: Tensor, lots: Tensor) -> Tensor:
        carts, right, standing = episodes(policy, carts, lots)
        weight = standing.astype("float32")
        gain = returns(weight)
        mean = (gain * weight).sum() / weight.sum()
        spread = st.sqrt(((gain - mean) ** 2 * weight).sum() / weight.sum())
        optimizer.zero_grad()
        surprise = nn.functional.binary_cross_entropy_with_logits(
            policy(carts)[:, :, 0], right.astype("float32"), reduction="none")
        loss = (surprise * (gain - mean) / (spread + 1e-6) * weight).sum() / weight.sum()
        loss.backward()
        optimizer.step()
        return weight.sum() / EPISODES

    return step


def network() -> nn.Sequential:
    """Carts (N, 4) -> the logit of a push to the right, (N, 1)."""
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))


def training_step() -> Callable[[], object]:
    """One step of a new policy on fixed lots, to be timed."""
    st.manual_seed(0)
    step, batch = learner(network()), drawn(EPISODES, np.random.default_rng(0))
    return lambda: step(*batch)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns for how many pushes the pole stands."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--steps", type=int, default=200, help="how many steps to learn; default: %(default)s")
    asked.add_argument("--figure", help="a file for a curve: for how many pushes the pole stood while it learnt")
    given = asked.parse_args(argv)

    st.manual_seed(0)
    policy, lasted, rng = network(), list[float](), np.random.default_rng(1)
    step = learner(policy)
    for k in range(given.steps):
        lasted.append(float(step(*drawn(EPISODES, rng))))
        if k % 20 == 0:
            print(f"step {k}: the pole stands for {lasted[-1]:.0f} pushes")
    found = {"pushes": float(st.compile(episodes)(policy, *drawn(ASKED, rng))[2].sum()) / ASKED}
    print(f"the pole stands for {found['pushes']:.1f} pushes; asked was: {RESULT}")
    if given.figure:
        draw(given.figure, lasted)
    return found


def reached(found: dict[str, float]) -> bool:
    """Whether it learnt as well as the stated result."""
    return found["pushes"] >= 475


def draw(path: str, lasted: list[float]) -> None:
    """For how many pushes the pole stood while it learnt."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    axes.plot(lasted)
    axes.set(xlabel="step", ylabel="pushes", ylim=(0, 520))
    axes.grid(alpha=0.4)
    plt.savefig(path, dpi=80)


if __name__ == "__main__":
    main()
