"""A mixture of experts: a router sends each example to two of eight small networks, and they share the work out.

    python examples/mixture.py --figure mixture.png

Sixteen kinds of examples each have a law of their own, y = tanh(2 A (x - m)), and nothing but x, which lies around the
middle m of its kind, says which one holds. A router gives each example to the two experts it trusts most (Shazeer et
al., 2017); an expert takes as many as it has places, all experts work in one batched product, and a loss keeps them
equally busy (Fedus et al., 2021). Beside it learns a dense network that works as much for each example. No data is
needed. It trains for less than a minute.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import stele as st
from stele import Tensor, nn, optim

KINDS, INPUTS, OUTPUTS, EXPERTS, TOP, HIDDEN, BATCH, ASKED = 16, 16, 8, 8, 2, 64, 512, 8
PLACES = 3 * TOP * BATCH // (2 * EXPERTS)       # half as many again as each expert has to take in the mean
RESULT = "the error of the mixture is at most 0.5 of that of a dense network which works as much"


class Laws:
    """Examples by formula: x (N, INPUTS), y (N, OUTPUTS), and of which kind each is."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.middles = 2 * rng.standard_normal((KINDS, INPUTS))
        self.a = rng.standard_normal((KINDS, INPUTS, OUTPUTS)) / INPUTS ** 0.5

    def examples(self, many: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        kind = rng.integers(KINDS, size=many)
        apart = rng.standard_normal((many, INPUTS))
        y = np.tanh(2 * np.einsum("ni,nio->no", apart, self.a[kind]))
        return (self.middles[kind] + apart).astype(np.float32), y.astype(np.float32), kind


class Mixture(nn.Module):
    """Experts, and the router that knows them."""

    def __init__(self) -> None:
        self.router = nn.Linear(INPUTS, EXPERTS)
        self.w1 = nn.init.uniform((EXPERTS, INPUTS, HIDDEN), INPUTS ** -0.5)
        self.w2 = nn.init.uniform((EXPERTS, HIDDEN, OUTPUTS), HIDDEN ** -0.5)
        self.b1, self.b2 = nn.init.zeros((EXPERTS, 1, HIDDEN)), nn.init.zeros((EXPERTS, 1, OUTPUTS))

    def route(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """How much each expert is trusted (N, EXPERTS), by which weights (N, TOP) which ones are asked (N, TOP)."""
        trust = st.softmax(self.router(x), axis=1)
        most, expert = st.topk(trust, TOP, dim=1)
        return trust, most / most.sum(axis=1, keepdims=True), expert

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What the experts say together (N, OUTPUTS), and how unequally busy they are: 1 at best."""
        trust, weight, expert = self.route(x)
        asked = nn.functional.one_hot(expert.reshape(-1), EXPERTS)
        before = (st.cumsum(asked, axis=0) * asked).sum(axis=1) - 1             # how many came to this expert first
        place = st.where(before < PLACES, expert.reshape(-1) * PLACES + before, EXPERTS * PLACES)
        taken = st.segment_sum(st.repeat(x, TOP, axis=0), place, EXPERTS * PLACES + 1)[:-1]
        hidden = st.relu(taken.reshape(EXPERTS, PLACES, INPUTS) @ self.w1 + self.b1)
        said = hidden @ self.w2 + self.b2
        heard = st.pad(said.reshape(-1, OUTPUTS), ((0, 1), (0, 0)))[place].reshape(-1, TOP, OUTPUTS)
        share = asked.astype("float32").mean(axis=0)
        return (heard * weight[:, :, None]).sum(axis=1), EXPERTS * (share * trust.mean(axis=0)).sum()


class Dense(nn.Sequential):
    """A network that works as much for an example as TOP experts."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(INPUTS, TOP * HIDDEN), nn.ReLU(), nn.Linear(TOP * HIDDEN, OUTPUTS))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return super().forward(x), st.tensor(1.0)


def learner(model: Mixture | Dense) -> Callable[[np.ndarray, np.ndarray], Tensor]:
    """The step that learns; it returns the mean squared error."""
    optimizer = optim.Adam(model.parameters(), lr=3e-3)

    @st.compile
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        said, busy = model(x)
        error = nn.mse_loss(said, y)
        (error + 0.01 * busy).backward()
        optimizer.step()
        return error

    return step


def training_step() -> Callable[[], object]:
    """One step of a new mixture on fixed examples, to be timed."""
    st.manual_seed(0)
    step, (x, y, _) = learner(Mixture()), Laws().examples(BATCH, np.random.default_rng(0))
    return lambda: step(x, y)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns the errors of the mixture and of the dense network on new examples."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--steps", type=int, default=4000, help="how many steps to learn; default: %(default)s")
    asked.add_argument("--figure", help="a file for which experts are asked for which kinds")
    given = asked.parse_args(argv)

    st.manual_seed(0)
    laws, rng, models = Laws(), np.random.default_rng(1), (Mixture(), Dense())
    steps = [learner(model) for model in models]
    for k in range(given.steps):
        x, y, _ = laws.examples(BATCH, rng)
        errors = [step(x, y) for step in steps]
        if k % 500 == 0:
            print(f"step {k}: errors of mixture and dense network", *(f"{float(error):.4f}" for error in errors))
    x, y, kind = laws.examples(ASKED * BATCH, rng)
    with st.no_grad():
        mixture, dense = (float(np.mean([float(nn.mse_loss(model(x[k:k + BATCH])[0], y[k:k + BATCH]))
                                         for k in range(0, len(x), BATCH)])) for model in models)
        expert = models[0].route(st.tensor(x))[2].numpy()
    print(f"errors: {mixture:.4f} of the mixture, {dense:.4f} of the dense network; asked was: {RESULT}")
    if given.figure:
        draw(given.figure, kind, expert)
    return {"mixture": mixture, "dense": dense}


def reached(found: dict[str, float]) -> bool:
    """Whether it learnt as well as the stated result."""
    return found["mixture"] <= 0.5 * found["dense"]


def draw(path: str, kind: np.ndarray, expert: np.ndarray) -> None:
    """How often each expert is asked for each kind, kinds in the order of their experts."""
    import matplotlib.pyplot as plt

    share = np.zeros((KINDS, EXPERTS))
    np.add.at(share, (kind.repeat(TOP), expert.reshape(-1)), 1)
    share = share[np.argsort(share.argmax(axis=1), kind="stable")].T
    _, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
    axes.imshow(share / share.sum(axis=0), cmap="Blues")
    axes.set(xlabel="kind of example", ylabel="expert", xticks=range(KINDS), yticks=range(EXPERTS))
    plt.savefig(path, dpi=80)


if __name__ == "__main__":
    main()
