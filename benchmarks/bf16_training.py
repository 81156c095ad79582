"""Steps with activations in float32 and in bfloat16 by turns: what they take of memory, and of time.

    python benchmarks/bf16_training.py [ROWS ...] [--turns 41] [--threads 1]
    STELE_TARGET=x86-64-v3 python benchmarks/bf16_training.py       # as a CPU that multiplies no bfloat16

The rows are those of the benchmark that have gradients, and a language model of four layers that learns. Bytes are
those of one call beside its parameters and results: the arena of what lies between kernels, and what is kept packed
from call to call; they are exact. Times are of one step, least and median, and the median, least and most of the turns'
ratios (bfloat16 over float32, so less than 1 is faster); on one thread, of the processor, so that others who use the
machine count little.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import stele as st
from stele import nn, optim
from stele.backend.cpu.target import detect

PRECISIONS = "fast", "bf16"
ROWS = "mlp", "cnn", "gru", "transformer", "language"
Step = Callable[[], Any]


class Language(nn.Module):
    """Guesses each next word of 8 texts of 128 words, out of 5,000."""

    def __init__(self, width: int = 256) -> None:
        self.words, self.places = nn.Embedding(5000, width), nn.Embedding(128, width)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True) for _ in range(4)])
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, 5000)

    def forward(self, x: Any) -> Any:
        h = self.words(x) + self.places(st.arange(x.shape[1]))
        for layer in self.layers:
            h = layer(h, is_causal=True, src_mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]))
        return self.out(self.norm(h))


def language() -> tuple[Any, Step]:
    """The language model's compiled step, and a call of it."""
    st.manual_seed(0)
    model = Language()
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)

    @st.compile
    def update(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(x).reshape(-1, 5000), y.reshape(-1))
        loss.backward()
        optimizer.step()
        return loss

    words = np.random.default_rng(0).integers(0, 5000, (8, 129))
    given = st.tensor(words[:, :-1].copy()), st.tensor(words[:, 1:].copy())
    return update, lambda: update(*given)


def row(name: str, precision: str) -> tuple[Any, Step]:
    """A compiled step in a precision, and a call of it."""
    with patch.object(st, "compile", partial(st.compile, precision=precision)):
        if name == "language":
            return language()
        program = import_module(f"stele.rosetta.stele.{name}")
        state = program.initialise("compile")
    given = program.place("compile", *program.data())
    return state[1] if isinstance(state, tuple) else state, lambda: program.step(state, *given)


def measured(step: Step, clock: Callable[[], float]) -> float:
    """Milliseconds of a step whose results are there."""
    start = clock()
    results = step()
    for y in results if isinstance(results, tuple) else (results,):
        if isinstance(y, st.Tensor):
            y.numpy()
    return (clock() - start) * 1e3


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("rows", nargs="*", default=ROWS, metavar="ROWS", help=", ".join(ROWS))
    asked.add_argument("--turns", type=int, default=41)
    asked.add_argument("--threads", type=int, default=1)
    given = asked.parse_args()
    st.set_threads(given.threads)
    target, clock = detect(), thread_time if given.threads == 1 else perf_counter
    products = "with" if target.bf16 else "no"
    print(f"{target.cpu}, {target.name}, {products} products of bfloat16, {given.threads} thread(s)")
    print("| step | arena MB: float32, bf16 | kept MB | ms, least: float32, bf16 | median | bf16 / float32 |")
    print("|" + "---|" * 6)
    for name in given.rows:
        made = [row(name, precision) for precision in PRECISIONS]
        times: list[list[float]] = [[], []]
        for k in range(given.turns + 1):
            for j in (0, 1)[::1 - 2 * (k % 2)]:
                times[j].append(measured(made[j][1], clock))
        times = [found[1:] for found in times]
        memory = [compiled.programs[-1].memory({}) for compiled, _ in made]
        ratios = [b / a for a, b in zip(*times)]
        cells = [", ".join(f"{m.arena.bytes / 1e6:.4g}" for m in memory),
                 ", ".join(f"{m.kept.bytes / 1e6:.4g}" for m in memory),
                 ", ".join(f"{min(t):.4g}" for t in times), ", ".join(f"{median(t):.4g}" for t in times),
                 f"{median(ratios):.2f} ({min(ratios):.2f} .. {max(ratios):.2f})"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
