"""Sentiment of film reviews: a recurrent network reads them word by word, in ragged batches.

    python examples/sentiment.py --data FOLDER --figure sentiment.png

It needs the IMDB reviews (Maas et al., 2011), which `stele.data.download("imdb", FOLDER)` brings. Reviews of about the
same length are put into a batch, so that little is padded, and packed, so that the layer ends each where it ends. One
program, compiled for all sizes, learns from batches of any length. It sees the 25,000 reviews to learn from three
times, in about a minute, and is asked for the 25,000 of the test set.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import stele as st
from stele import Tensor, data, nn, optim

WORDS, LONGEST, HIDDEN, BATCH = 10_000, 200, 64, 64
RESULT = "at least 0.85 of the reviews of the test set are told right"


class Reader(nn.Module):
    """Words (N, T) and how many there are of each review (N,) -> the logit of a good one, (N,)."""

    def __init__(self) -> None:
        self.words = nn.Embedding(WORDS, HIDDEN)
        self.read = nn.GRU(HIDDEN, HIDDEN, batch_first=True)
        self.score = nn.Linear(HIDDEN, 1)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(self.words(words), lengths, batch_first=True, enforce_sorted=False)
        return self.score(self.read(packed)[1][0])[:, 0]


def reviews(part: data.ArrayDataset) -> list[tuple[np.ndarray, float]]:
    """Reviews as the numbers of their words, without padding, and 1.0 for good ones."""
    return [(row[row != 0], float(good)) for row, good in zip(part.x, part.y)]


def loader(samples: list[tuple[np.ndarray, float]], shuffle: bool) -> data.Loader:
    """Batches (words (N, T), lengths (N,), 1.0 for good ones (N,)) of reviews of about the same length."""
    buckets = data.BucketBatchSampler([len(words) for words, _ in samples], BATCH, shuffle=shuffle)
    return data.Loader(samples, batch_sampler=buckets, collate=data.pad)


def learner(model: Reader) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Tensor]:
    """The step that learns, for batches of any size."""
    optimizer = optim.Adam(model.parameters(), lr=2e-3)

    @st.compile(dims={"words": {0: "n", 1: "t"}, "lengths": {0: "n"}, "good": {0: "n"}})
    def step(words: Tensor, lengths: Tensor, good: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = nn.binary_cross_entropy_with_logits(model(words, lengths), good)
        loss.backward()
        optim.clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return step


def training_step() -> Callable[[], object]:
    """One step of a new model on reviews of 120 to 150 words drawn at random, to be timed."""
    st.manual_seed(0)
    rng = np.random.default_rng(0)
    samples = [(rng.integers(1, WORDS, length), float(length % 2)) for length in rng.integers(120, 151, BATCH)]
    step, batch = learner(Reader()), data.pad(samples)
    return lambda: step(*batch)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Trains, prints and returns how many reviews of the test set are told right."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--data", default=".", help="the folder that holds aclImdb; default: this one")
    asked.add_argument("--epochs", type=int, default=3, help="how often to see every review; default: %(default)s")
    asked.add_argument("--figure", help="a file for what it thinks of a review while it reads")
    given = asked.parse_args(argv)

    imdb = data.imdb(Path(given.data, "aclImdb"), WORDS, LONGEST)
    known, unseen = reviews(imdb.train), reviews(imdb.test)
    train, test = loader(known, shuffle=True), loader(unseen, shuffle=False)
    st.manual_seed(0)
    model = Reader()
    step, ask = learner(model), st.compile(model, dims={"words": {0: "n", 1: "t"}, "lengths": {0: "n"}})
    for epoch in range(given.epochs):
        losses = [step(*batch) for batch in train]
        print(f"epoch {epoch + 1}: loss {float(sum(losses)) / len(losses):.4f}")
    with st.no_grad():
        right = sum(int(((ask(words, lengths) > 0) == (st.tensor(good) > 0)).sum()) for words, lengths, good in test)
    found = {"accuracy": right / len(imdb.test.y)}
    print(f"{found['accuracy']:.4f} are told right; asked was: {RESULT}")
    if given.figure:
        words = min((words for words, _ in unseen), key=lambda words: abs(len(words) - 80))
        with st.no_grad():
            thinks = st.sigmoid(model.score(model.read(model.words(st.tensor(words)))[0]))
        draw(given.figure, [imdb.vocabulary[n - 3] if n > 2 else "?" for n in words], thinks[:, 0].tolist())
    return found


def reached(found: dict[str, float]) -> bool:
    """Whether it learnt as well as the stated result."""
    return found["accuracy"] >= 0.85


def draw(path: str, words: list[str], thinks: list[float]) -> None:
    """A review, each word in the colour of what it thinks behind it: red for a bad film, green for a good one."""
    from PIL import Image, ImageDraw

    image, x, y = Image.new("RGB", (700, 40 + 30 * (len(words) // 8 + 1)), "white"), 20, 20
    pen = ImageDraw.Draw(image)
    for word, good in zip(words, thinks):
        wide = pen.textlength(word, font_size=18) + 8
        x, y = (20, y + 30) if x + wide > 680 else (x, y)
        pen.rectangle((x, y, x + wide, y + 24), fill=(int(255 * min(1, 2 - 2 * good)), int(255 * min(1, 2 * good)), 90))
        pen.text((x + 4, y + 2), word, fill="black", font_size=18)
        x += wide
    image.crop((0, 0, 700, y + 44)).save(path)


if __name__ == "__main__":
    main()
