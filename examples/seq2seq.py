"""Sequence to sequence with attention: dates as people write them become dates as computers do.

    python examples/seq2seq.py --figure seq2seq.png

"tuesday 03 march 1998" and "03/03/98" are to be written as "1998-03-03", letter by letter. An encoder reads the text
both ways, and a decoder looks back at it before each letter (Bahdanau et al., 2015). Dates are made by formula, no data
is needed. It trains for about a minute.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import date

import numpy as np

import stele as st
from stele import Tensor, nn, optim

LETTERS = "~ ,-./0123456789abcdefghijklmnopqrstuvwxyz"      # the first one fills up what is short
FORMS = "%A %d %B %Y", "%B %d, %Y", "%d.%m.%Y", "%m/%d/%y", "%d %b %y", "%a %b %d %Y"
DAYS = np.arange(date(1950, 1, 1).toordinal(), date(2050, 1, 1).toordinal())
LENGTH, WRITTEN, HIDDEN, BATCH, ASKED = 28, 10, 64, 128, 2000
RESULT = "at least 0.99 of the dates it has not seen are written without a mistake"


def encode(texts: list[str], length: int) -> np.ndarray:
    """Letters as numbers, (N, length), filled up with 0."""
    return np.array([[LETTERS.index(c) for c in text.ljust(length, "~")] for text in texts])


def dates(days: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Days since year 1 as people write them, in forms drawn by lot, and as they are to be written."""
    found = [date.fromordinal(day) for day in days.tolist()]
    people = [day.strftime(FORMS[rng.integers(len(FORMS))]).lower() for day in found]
    return encode(people, LENGTH), encode([day.isoformat() for day in found], WRITTEN)


class Writer(nn.Module):
    """An encoder, attention, and a decoder that writes a letter at a time."""

    def __init__(self) -> None:
        self.letters = nn.Embedding(len(LETTERS), 32)
        self.encoder = nn.GRU(32, HIDDEN, bidirectional=True, batch_first=True)
        self.query = nn.Linear(2 * HIDDEN, 2 * HIDDEN)
        self.decoder = nn.GRUCell(32 + 2 * HIDDEN, 2 * HIDDEN)
        self.output = nn.Linear(4 * HIDDEN, len(LETTERS))

    def read(self, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What the encoder found at each letter (N, T, 2 HIDDEN), which are letters, and the state to write from."""
        memory, last = self.encoder(self.letters(source))
        return memory, source != 0, st.concatenate([last[0], last[1]], axis=1)

    def next(self, state: Tensor, letter: Tensor, memory: Tensor, is_letter: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The next state, scores of the letter to write, and where in the text it looked for it."""
        scores = (memory @ self.query(state)[:, :, None])[:, :, 0] / (2 * HIDDEN) ** 0.5
        look = st.softmax(st.where(is_letter, scores, -1e9), axis=1)
        seen = (look[:, None] @ memory)[:, 0]
        state = self.decoder(st.concatenate([self.letters(letter), seen], axis=1), state)
        return state, self.output(st.concatenate([state, seen], axis=1)), look

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """The loss of target (N, WRITTEN), each letter guessed of the right ones before it."""
        memory, is_letter, state = self.read(source)
        before = st.concatenate([st.zeros_like(target[:, :1]), target[:, :-1]], axis=1)
        scores = st.scan(lambda s, letter: self.next(s, letter, memory, is_letter)[:2], state, before.T)[1]
        return nn.cross_entropy(scores.reshape(-1, len(LETTERS)), target.T.reshape(-1))

    def write(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """The likeliest letters (N, WRITTEN), one after the other, and where it looked: (WRITTEN, N, T)."""
        memory, is_letter, state = self.read(source)

        def step(carry: tuple[Tensor, Tensor], _: None) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
            state, scores, look = self.next(*carry, memory, is_letter)
            letter = st.argmax(scores, axis=1)
            return (state, letter), (letter, look)

        letters, look = st.scan(step, (state, st.zeros(len(source), dtype="int64")), None, length=WRITTEN)[1]
        return letters.T, look


def learner(model: Writer) -> Callable[[np.ndarray, np.ndarray], Tensor]:
    """The step that learns."""
    optimizer = optim.Adam(model.parameters(), lr=2e-3)

    @st.compile
    def step(source: Tensor, target: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = model(source, target)
        loss.backward()
        optimizer.step()
        return loss

    return step


def training_step() -> Callable[[], object]:
    """One step of a new model on fixed dates, to be timed."""
    st.manual_seed(0)
    step, batch = learner(Writer()), dates(DAYS[:BATCH], np.random.default_rng(1))
    return lambda: step(*batch)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns how many unseen dates are written without a mistake."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--steps", type=int, default=800, help="how many steps to learn; default: %(default)s")
    asked.add_argument("--figure", help="a file for where it looked while it wrote")
    given = asked.parse_args(argv)

    st.manual_seed(0)
    rng, model = np.random.default_rng(1), Writer()
    held, known = np.split(rng.permutation(DAYS), [ASKED])
    step = learner(model)
    for k in range(given.steps):
        loss = step(*dates(rng.choice(known, BATCH), rng))
        if k % 250 == 0:
            print(f"step {k}: loss {float(loss):.4f}")
    source, target = dates(held, rng)
    written, look = (x.numpy() for x in st.compile(model.write)(source))
    if given.figure:
        draw(given.figure, source[0], written[0], look[:, 0])
    found = {"correct": float((written == target).all(axis=1).mean())}
    print("".join(LETTERS[c] for c in source[0]), "->", "".join(LETTERS[c] for c in written[0]))
    print(f"{found['correct']:.4f} are without a mistake; asked was: {RESULT}")
    return found


def reached(found: dict[str, float]) -> bool:
    """Whether it learnt as well as the stated result."""
    return found["correct"] >= 0.99


def draw(path: str, read: np.ndarray, written: np.ndarray, look: np.ndarray) -> None:
    """A row for each letter written, as dark as it looked at each letter read."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (24 * LENGTH + 60, 24 * WRITTEN + 60), "white")
    pen = ImageDraw.Draw(image)
    for (row, column), much in np.ndenumerate(look):
        x, y, shade = 51 + 24 * column, 51 + 24 * row, int(255 * (1 - much))
        pen.rectangle((x, y, x + 22, y + 22), fill=(shade, shade, 255))
        pen.text((x + 11, 24), LETTERS[read[column]].strip("~"), fill="black", anchor="mm", font_size=20)
        pen.text((24, y + 11), LETTERS[written[row]], fill="black", anchor="mm", font_size=20)
    image.save(path)


if __name__ == "__main__":
    main()
