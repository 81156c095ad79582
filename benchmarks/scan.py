"""Times a layer-normalised GRU written with `st.scan` against `nn.GRU`: one training step each, side by side.

    python benchmarks/scan.py [--rounds 7] [--steps 5]
"""
from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import stele as st
from stele import nn, optim
from stele.arrays.tensor import Tensor
from stele.nn import init

BATCH, LENGTH, FEATURES, HIDDEN = 64, 150, 125, 100


class NormalisedGRU(nn.Module):
    """A GRU whose three gates are layer-normalised in each step: (T, N, inputs) -> the last state (N, hidden)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        self.hidden = hidden
        self.weight_x = init.xavier_uniform((inputs, 3 * hidden))
        self.weight_h = init.xavier_uniform((hidden, 3 * hidden))
        self.bias = init.zeros((3 * hidden,))
        self.scale, self.shift = init.ones((3 * hidden,)), init.zeros((3 * hidden,))

    def forward(self, x: Tensor) -> Tensor:
        n = self.hidden

        def step(h: Tensor, gates: Tensor) -> tuple[Tensor, None]:
            normal = st.normalize((h @ self.weight_h).reshape(-1, 3, n), axis=-1).reshape(-1, 3 * n)
            c = normal * self.scale + self.shift
            r, z = st.sigmoid(gates[:, :n] + c[:, :n]), st.sigmoid(gates[:, n:2 * n] + c[:, n:2 * n])
            return (1 - z) * st.tanh(gates[:, 2 * n:] + r * c[:, 2 * n:]) + z * h, None

        last, _ = st.scan(step, st.zeros((x.shape[1], n)), x @ self.weight_x + self.bias)
        return last


class Plain(nn.Module):
    """`nn.GRU`, its last state."""

    def __init__(self, inputs: int, hidden: int) -> None:
        self.gru = nn.GRU(inputs, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.gru(x)[1][-1]


def training(model: nn.Module) -> Callable[[Tensor], Tensor]:
    """One step of training as a compiled function."""
    optimizer = optim.Adam(model.parameters(), 1e-3)

    @st.compile
    def step(x: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    st.manual_seed(0)
    x = st.tensor(np.random.default_rng(0).standard_normal((LENGTH, BATCH, FEATURES)).astype(np.float32))
    steps = {"nn.GRU": training(Plain(FEATURES, HIDDEN)), "scan": training(NormalisedGRU(FEATURES, HIDDEN))}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        step(x)
    for _ in range(options.rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            for _ in range(options.steps):
                step(x)
            times[name].append((time.perf_counter() - start) / options.steps * 1e3)
    median = {name: statistics.median(ms) for name, ms in times.items()}
    print("| step | ms | min..max | x nn.GRU |\n|---|---|---|---|")
    for name, ms in times.items():
        print(f"| {name} | {median[name]:.2f} | {min(ms):.2f}..{max(ms):.2f} | {median[name] / median['nn.GRU']:.2f} |")


if __name__ == "__main__":
    main()
