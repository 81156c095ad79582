"""Connectionist temporal classification: lines of digits are read without being told where each digit stands.

    python examples/ctc.py --figure ctc.png

Lines of three to eight digits are drawn by formula, leaning, of many sizes, over and beside each other, under noise.
A small convolutional network and a recurrent one give each column of the image a score for every digit and for
"nothing new", and the loss sums over all ways in which the columns can spell the number (Graves et al., 2006). It reads
greedily: the best score of each column, repetitions and nothings left out. No data is needed. It trains for two
minutes.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import stele as st
from stele import Tensor, nn, optim

# Five columns of seven dots each, a hexadecimal number per column, the lowest bit on top.
FONT = """3E5149453E 00427F4000 4261514946 2141454B31 1814127F10
          2745454539 3C4A494930 0171090503 3649494936 064949291E"""
GLYPHS = [np.array([[int(glyph[2 * k:2 * k + 2], 16) >> dot & 1 for k in range(5)] for dot in range(7)])
          for glyph in FONT.split()]
HIGH, WIDE, DIGITS, NOTHING, BATCH, ASKED = 16, 96, 8, 10, 32, 500
RESULT = "at least 0.95 of unseen lines are read without a mistake"
Lines = tuple[np.ndarray, np.ndarray, np.ndarray]


def line(digits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An image (HIGH, WIDE) of digits."""
    image, x = np.zeros((HIGH, WIDE), np.float32), rng.uniform(0, 4)
    for digit in digits:
        high, wide, lean = rng.uniform(8, 13), rng.uniform(5, 9), rng.uniform(-0.3, 0.3)
        top = rng.uniform(0, HIGH - high)
        row = ((np.arange(HIGH) - top) / high * 7)[:, None]
        column = (np.arange(WIDE) - x) / wide * 5 + lean * (row - 3.5)
        inside = (row >= 0) & (row < 7) & (column >= 0) & (column < 5)
        dots = GLYPHS[digit][row.clip(0, 6).astype(int), column.clip(0, 4).astype(int)]
        image = np.maximum(image, inside * dots * rng.uniform(0.6, 1))
        x += wide + rng.uniform(0.5, 3)
    return image + 0.15 * rng.standard_normal(image.shape)


def lines(many: int, rng: np.random.Generator) -> Lines:
    """Images (N, 1, HIGH, WIDE), their digits (N, DIGITS), and how many there are of each."""
    count, digits = rng.integers(3, DIGITS + 1, many), rng.integers(10, size=(many, DIGITS))
    images = [line(row[:n], rng) for row, n in zip(digits, count)]
    return np.stack(images)[:, None].astype(np.float32), digits, count


class Reader(nn.Module):
    """Images -> the logarithms of what each of WIDE / 2 columns shows: (WIDE / 2, N, 11)."""

    def __init__(self) -> None:
        self.see = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d((2, 1)))
        self.read = nn.GRU(32 * HIGH // 4, 64, bidirectional=True)
        self.score = nn.Linear(128, 11)

    def forward(self, images: Tensor) -> Tensor:
        seen = self.see(images)
        columns = seen.permute(3, 0, 1, 2).reshape(WIDE // 2, images.shape[0], 32 * HIGH // 4)
        return st.log_softmax(self.score(self.read(columns)[0]), axis=2)


def learner(model: Reader) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Tensor]:
    """The step that learns."""
    optimizer = optim.Adam(model.parameters(), lr=2e-3)

    @st.compile
    def step(images: Tensor, digits: Tensor, count: Tensor) -> Tensor:
        optimizer.zero_grad()
        wide = st.full((images.shape[0],), WIDE // 2, dtype="int64")
        loss = nn.functional.ctc_loss(model(images), digits, wide, count, blank=NOTHING)
        loss.backward()
        optim.clip_grad_norm(model.parameters(), 5.0)
        optimizer.step()
        return loss

    return step


def spelt(scores: np.ndarray) -> list[list[int]]:
    """What the best of all scores (T, N, 11) spell: repetitions are one digit, and nothings none."""
    best = scores.argmax(axis=2).T
    return [[int(a) for a, b in zip(row, [NOTHING, *row[:-1]]) if a not in (b, NOTHING)] for row in best]


def training_step() -> Callable[[], object]:
    """One step of a new model on fixed lines, to be timed."""
    st.manual_seed(0)
    step, batch = learner(Reader()), lines(BATCH, np.random.default_rng(0))
    return lambda: step(*batch)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns how many unseen lines are read without a mistake."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--steps", type=int, default=2500, help="how many steps to learn; default: %(default)s")
    asked.add_argument("--figure", help="a file for lines, and what was read")
    given = asked.parse_args(argv)

    st.manual_seed(0)
    rng, model = np.random.default_rng(1), Reader()
    step = learner(model)
    for k in range(given.steps):
        loss = step(*lines(BATCH, rng))
        if k % 200 == 0:
            print(f"step {k}: loss {float(loss):.4f}")
    images, digits, count = lines(ASKED, np.random.default_rng(2))
    with st.no_grad():
        read = spelt(model(st.tensor(images)).numpy())
    right = [made == row[:n].tolist() for made, row, n in zip(read, digits, count)]
    found = {"correct": float(np.mean(right))}
    print(f"{found['correct']:.3f} of lines are read without a mistake; asked was: {RESULT}")
    if given.figure:
        draw(given.figure, images[:12, 0], read)
    return found


def reached(found: dict[str, float]) -> bool:
    """Whether it learnt as well as the stated result."""
    return found["correct"] >= 0.95


def draw(path: str, images: np.ndarray, read: list[list[int]]) -> None:
    """Lines in two columns, and below each what was read."""
    from PIL import Image, ImageDraw

    sheet = Image.new("L", (640, 6 * 84), 255)
    pen = ImageDraw.Draw(sheet)
    for k, (image, digits) in enumerate(zip(images, read)):
        x, y = 12 + k % 2 * 320, 8 + k // 2 * 84
        sheet.paste(Image.fromarray((255 * (1 - image.clip(0, 1))).astype(np.uint8)).resize((288, 48)), (x, y))
        pen.text((x, y + 50), "".join(map(str, digits)), fill=0, font_size=22)
    sheet.quantize(8).save(path)


if __name__ == "__main__":
    main()
