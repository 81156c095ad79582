"""A graph network: which places are on the shortest way from A to B, learnt by messages between neighbours.

    python examples/graph_network.py --figure graph_network.png

Places are drawn at random in a square, each linked to those next to it; A and B are marked. In eight rounds every
place gathers messages of its neighbours (`st.segment_sum`) and changes its mind, by the same small networks each time;
then each says whether it is on the way (as in Battaglia et al., 2018). No data is needed. It trains for about a
minute, and is asked for graphs that it has not seen.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import stele as st
from stele import Tensor, nn, optim

PLACES, NEAREST, ROUNDS, HIDDEN, BATCH, ASKED = 20, 3, 8, 64, 32, 500
RESULT = "at least 0.97 of the places of unseen graphs are told right, and 0.75 of whole graphs"


class Graphs(NamedTuple):
    """Graphs side by side: which places are A and B (N, 2) and on the way (N,), which two a link joins (E,)."""

    marks: np.ndarray
    source: np.ndarray
    target: np.ndarray
    length: np.ndarray
    is_on: np.ndarray


def graphs(many: int, rng: np.random.Generator) -> tuple[Graphs, np.ndarray]:
    """So many graphs, and where their places are: (many, PLACES, 2)."""
    at = rng.random((many, PLACES, 2)).astype(np.float32)
    gap = np.linalg.norm(at[:, :, None] - at[:, None], axis=3) + 9 * np.eye(PLACES, dtype=np.float32)
    near = np.argsort(gap, axis=2)[:, :, :NEAREST].reshape(many, -1)
    own = np.broadcast_to(np.repeat(np.arange(PLACES), NEAREST), near.shape)
    graph, length = np.arange(many)[:, None], np.take_along_axis(gap.reshape(many, -1), own * PLACES + near, axis=1)
    way = np.where(np.eye(PLACES, dtype=bool), 0, np.full_like(gap, 99))
    way[graph, own, near] = way[graph, near, own] = length
    for k in range(PLACES):                                 # Floyd's algorithm: ways by place k
        way = np.minimum(way, way[:, :, k, None] + way[:, None, k])
    a, b = (rng.permuted(np.tile(np.arange(PLACES), (many, 1)), axis=1)[:, :2]).T
    by = way[graph[:, 0], a] + way[graph[:, 0], b]          # from A to B by each place
    is_on = (by < way[graph[:, 0], a, b][:, None] + 1e-4) & (by < 99)
    marks = np.stack([np.arange(PLACES) == end[:, None] for end in (a, b)], axis=2)
    ends = own + PLACES * graph, near + PLACES * graph      # every link goes both ways
    source, target = (np.concatenate(pair, axis=1).ravel() for pair in (ends, ends[::-1]))
    return Graphs(marks.reshape(-1, 2).astype(np.float32), source, target,
                  np.concatenate([length, length], axis=1).reshape(-1, 1), is_on.ravel().astype(np.float32)), at


def network(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs))


class Messages(nn.Module):
    """Rounds of messages; the score of each place for being on the way."""

    def __init__(self) -> None:
        self.begin, self.change, self.end = network(2, HIDDEN), network(2 * HIDDEN, HIDDEN), network(HIDDEN, 1)
        self.source, self.target = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.length = nn.Linear(1, HIDDEN, bias=False)
        self.sum, self.norm = nn.Linear(HIDDEN, HIDDEN), nn.LayerNorm(HIDDEN)

    def forward(self, marks: Tensor, source: Tensor, target: Tensor, length: Tensor) -> Tensor:
        mind = self.begin(marks)
        for _ in range(ROUNDS):
            said = st.relu(self.source(mind)[source] + self.target(mind)[target] + self.length(length))
            heard = self.sum(st.segment_sum(said, target, mind.shape[0]))
            mind = self.norm(mind + self.change(st.concatenate([mind, heard], axis=1)))
        return self.end(mind)[:, 0]


def learner(model: nn.Module) -> Callable[[Graphs], Tensor]:
    """The step that learns."""
    optimizer = optim.Adam(model.parameters(), lr=1e-3)

    @st.compile
    def step(batch: Graphs) -> Tensor:
        *inputs, is_on = batch
        optimizer.zero_grad()
        loss = nn.binary_cross_entropy_with_logits(model(*inputs), is_on)
        loss.backward()
        optim.clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return step


def training_step() -> Callable[[], object]:
    """One step of a new model on fixed graphs, to be timed."""
    st.manual_seed(0)
    step, batch = learner(Messages()), graphs(BATCH, np.random.default_rng(0))[0]
    return lambda: step(batch)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns how many places, and how many whole graphs, are told right."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--steps", type=int, default=4000, help="how many steps to learn; default: %(default)s")
    asked.add_argument("--figure", help="a file for graphs with their shortest ways, and what was found")
    given = asked.parse_args(argv)

    st.manual_seed(0)
    rng, model = np.random.default_rng(1), Messages()
    step = learner(model)
    for k in range(given.steps):
        loss = step(graphs(BATCH, rng)[0])
        if k % 500 == 0:
            print(f"step {k}: loss {float(loss):.4f}")
    test, at = graphs(ASKED, np.random.default_rng(2))
    told = (model(*test[:4]) > 0).numpy()
    right = (told == (test.is_on > 0)).reshape(-1, PLACES)
    found = {"places": float(right.mean()), "graphs": float(right.all(axis=1).mean())}
    print(f"told right: {found['places']:.3f} of places, {found['graphs']:.3f} of graphs; asked was: {RESULT}")
    if given.figure:
        draw(given.figure, test, at, told)
    return found


def reached(found: dict[str, float]) -> bool:
    """Whether it learnt as well as the stated result."""
    return found["places"] >= 0.97 and found["graphs"] >= 0.75


def draw(path: str, test: Graphs, at: np.ndarray, told: np.ndarray) -> None:
    """Six graphs: the true way dark, places found to be on it red."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (1350, 900), "white")
    pen = ImageDraw.Draw(image)
    corners = 450 * np.array([(k % 3, k // 3) for k in range(6)]) + 30
    places = at[:6].reshape(-1, 2) * 390 + corners.repeat(PLACES, axis=0)
    for a, b in zip(test.source, test.target):
        if a < len(places):
            is_way = test.is_on[a] and test.is_on[b]
            pen.line((*places[a], *places[b]), fill="#303030" if is_way else "#c8c8c8", width=9 if is_way else 4)
    for (x, y), mark, is_on in zip(places, test.marks, told):
        pen.circle((x, y), 15 if mark.any() else 9, fill="#c0392b" if is_on else "#8fa8c0")
    image.resize((900, 600), Image.Resampling.LANCZOS).quantize(32).save(path)


if __name__ == "__main__":
    main()
