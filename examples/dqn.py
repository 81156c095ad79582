"""DQN: what a push of the cart-pole is worth, learnt from a memory of pushes (Mnih et al., 2015).

    python examples/dqn.py --figure dqn.png

In each step eight carts are pushed once, mostly as the network thinks best, what came of it is written into a memory of
20,000 pushes, and the network learns from 128 that are drawn of them: a pole that falls costs 1, later ones less.
Playing, remembering, learning, and the slow copy of the network that says what the future is worth are one compiled
step. The best network of those that are tried on the way is kept. No data is needed. It trains for half a minute.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable

import stele as st
from stele import Tensor, nn, optim

CARTS, PUSHES, MEMORY, BATCH, DISCOUNT, ASKED = 8, 500, 20_000, 128, 0.99, 200
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


def begin(many: int) -> Tensor:
    """Carts in the middle that hardly move."""
    return st.uniform(-0.05, 0.05, (many, 4))


def network() -> nn.Sequential:
    """Carts (N, 4) -> what a push to the left and one to the right are worth, (N, 2)."""
    return nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))


class Player:
    """A network that plays and learns."""

    def __init__(self) -> None:
        self.worth, self.slow = network(), network()
        self.slow.load_state_dict(self.worth.state_dict())
        self.optimizer = optim.Adam(self.worth.parameters(), lr=1e-3)
        self.carts, self.age, self.steps = begin(CARTS), st.zeros(CARTS, dtype="int64"), st.tensor(0)
        self.before, self.after = st.zeros(MEMORY, 4), st.zeros(MEMORY, 4)
        self.right, self.stood = st.zeros(MEMORY, dtype="int64"), st.zeros(MEMORY, dtype=bool)

    def play(self) -> None:
        """One push of every cart, by lot less and less often, and its place in the memory."""
        best, share = st.argmax(self.worth(self.carts), axis=1), st.maximum(1 - self.steps / 2000, 0.05)
        right = st.where(st.rand(CARTS) < share, st.randint(0, 2, (CARTS,)), best)
        after = pushed(self.carts, right == 1)
        stood, row = stands(after), (self.steps * CARTS + st.arange(CARTS)) % MEMORY
        self.before[row], self.after[row] = self.carts, after
        self.right[row], self.stood[row] = right, stood
        self.age += 1
        goes_on = stood & (self.age < PUSHES)
        self.carts.assign(st.where(goes_on[:, None], after, begin(CARTS)))
        self.age, self.steps = st.where(goes_on, self.age, 0), self.steps + 1

    @st.compile
    def step(self) -> Tensor:
        """Plays, learns, and returns how old the episodes are that it plays."""
        with st.no_grad():
            self.play()
            row = (st.rand(BATCH) * st.minimum(self.steps * CARTS, MEMORY)).astype("int64")
            best = st.argmax(self.worth(self.after[row]), axis=1)           # van Hasselt et al., 2016
            future = st.take_along_axis(self.slow(self.after[row]), best[:, None], axis=1)[:, 0]
            worth = st.where(self.stood[row], DISCOUNT * future, -1.0)
        self.optimizer.zero_grad()
        guess = st.take_along_axis(self.worth(self.before[row]), self.right[row][:, None], axis=1)[:, 0]
        nn.functional.smooth_l1_loss(guess, worth).backward()
        self.optimizer.step()
        with st.no_grad():
            for slow, fast in zip(self.slow.parameters(), self.worth.parameters()):
                slow.assign(0.99 * slow + 0.01 * fast)
        return self.age.astype("float32").mean()


@st.compile
def lasting(worth: nn.Module, carts: Tensor) -> Tensor:
    """For how many pushes the poles of carts (N, 4) stand in the mean, if each push is the one thought best."""
    def step(state: tuple[Tensor, Tensor], _: None) -> tuple[tuple[Tensor, Tensor], Tensor]:
        after = pushed(state[0], st.argmax(worth(state[0]), axis=1) == 1)
        return (after, state[1] & stands(after)), state[1]

    with st.no_grad():
        stood = st.scan(step, (carts, st.ones(carts.shape[0], dtype=bool)), None, length=PUSHES)[1]
        return stood.astype("float32").mean() * PUSHES


def training_step() -> Callable[[], object]:
    """One step of a new player, to be timed."""
    st.manual_seed(0)
    player = Player()
    return lambda: player.step()


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns for how many pushes the pole stands."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--steps", type=int, default=12_000, help="how many steps to learn; default: %(default)s")
    asked.add_argument("--figure", help="a file for a curve: for how many pushes the pole stood while it learnt")
    given = asked.parse_args(argv)

    st.manual_seed(0)
    player, best, curve = Player(), network(), list[float]()
    for k in range(given.steps):
        player.step()
        if k % 500 == 0:
            curve.append(float(lasting(player.worth, begin(50))))
            if curve[-1] == max(curve):
                best.load_state_dict(player.worth.state_dict())
            print(f"step {k}: the pole stands for {curve[-1]:.0f} pushes")
    found = {"pushes": float(lasting(best, begin(ASKED)))}
    print(f"the pole stands for {found['pushes']:.1f} pushes; asked was: {RESULT}")
    if given.figure:
        draw(given.figure, curve)
    return found


def reached(found: dict[str, float]) -> bool:
    """Whether it learnt as well as the stated result."""
    return found["pushes"] >= 475


def draw(path: str, curve: list[float]) -> None:
    """For how many pushes the pole stood while it learnt."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    axes.plot(curve)
    axes.set(xlabel="500 steps", ylabel="pushes", ylim=(0, 520))
    axes.grid(alpha=0.4)
    plt.savefig(path, dpi=80)


if __name__ == "__main__":
    main()
