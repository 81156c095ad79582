"""The samples that come with the package, so that training runs with no download."""

from pathlib import Path

import numpy as np

from stele.data.files import read_bytes
from stele.data.idx import fashion_mnist
from stele.data.sets import Splits, split
from stele.data.text import encode, tokens
from stele.errors import DataError
from stele.ir.door import public
from stele.ops.arguments import positive

SAMPLES = Path(__file__).parent / "samples"
SENTENCES = ("rt-polarity.neg", "rt-polarity.pos")
HELD_OUT = 10  # of each class, every tenth sentence is for the test


@public
def fashion_sample() -> Splits:
    """A sample of Fashion-MNIST that comes with the package: 10,000 training and 2,000 test images.

    Images are (N, 1, 28, 28) uint8. Each class has as many as the others, and the test images are of the official test
    set.

    >>> found = data.fashion_sample()
    >>> found.train, np.bincount(found.test.y).tolist()
    (ArrayDataset(uint8[10000, 1, 28, 28], int64[10000]), [200, 200, 200, 200, 200, 200, 200, 200, 200, 200])
    """
    full = fashion_mnist(SAMPLES)
    return Splits("Fashion-MNIST sample", full.classes, full.train, full.test)


@public
def sentence_sample(size: int = 30_000, length: int = 50) -> Splits:
    """Sentences of movie reviews that come with the package (rt-polarity): int32 (N, length), 0 negative, 1 positive.

    The vocabulary of `size` numbers is counted on the training texts only; a row is the last `length` numbers of a
    sentence, padded in front. Sentence k of a class is a test sentence when k % 10 == 9. Training never holds a
    sentence of the test: sentences of the same words are left out. Raises ShapeError for a
    size or a length below 1, ArgumentError for what is no whole number.

    >>> found = data.sentence_sample(size=1000, length=20)
    >>> found.train, found.vocabulary[:3]
    (ArrayDataset(int32[9595, 20], int64[9595]), ('the', 'a', 'and'))
    """
    size, length = positive(size, "size of sentence_sample"), positive(length, "length of sentence_sample")
    lines = [_sentences(SAMPLES / f"{name}.xz") for name in SENTENCES]
    test = [[line for k, line in enumerate(part) if k % HELD_OUT == HELD_OUT - 1] for part in lines]
    held_out = {tuple(tokens(line)) for part in test for line in part}
    train = [[line for line in part if tuple(tokens(line)) not in held_out] for part in lines]
    x, test_x, words = encode([line for part in train for line in part], [line for part in test for line in part],
                              size, length)
    y, test_y = (np.repeat((0, 1), [len(part) for part in parts]) for parts in (train, test))
    return Splits("rt-polarity sample", ("negative", "positive"), split(x, y, 2, str(SAMPLES)),
                   split(test_x, test_y, 2, str(SAMPLES)), words)


def _sentences(path: Path) -> list[str]:
    try:
        return [line.strip() for line in read_bytes(path).decode("utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise DataError(f"sentences need to be UTF-8 text, got other bytes in {path}. "
                        "Install the package again.") from None
