"""The IMDB reviews from the folders of `aclImdb`."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from stele.data.files import place_of
from stele.data.sets import Splits, split
from stele.data.text import encode
from stele.errors import DataError
from stele.files import regular
from stele.interop.keywords import speaks

CLASSES = ("negative", "positive")
IMDB_PLACES = ("aclImdb",)
LARGEST = 1 << 20   # bytes of one review: the longest of the set has 14,000
_SIGNS = ("neg", "pos")
_NAME = re.compile(r"(\d+)_(\d+)\.txt")


def has_imdb(folder: Path) -> bool:
    """Whether `folder` holds a part of the set."""
    return any((folder / part / sign).is_dir() for part in ("train", "test") for sign in _SIGNS)


@speaks
def imdb(folder: str | Path, size: int = 30_000, length: int = 150) -> Splits:
    """IMDB from `aclImdb/{train,test}/{neg,pos}/ID_RATING.txt`: int32 (N, length), labels 0 negative, 1 positive.

    `folder` is aclImdb, or has it in it. The vocabulary of `size` numbers is counted on the training texts only; a row
    is the last `length` numbers of a text, padded in front. Raises DataError for missing folders and for what is no
    text.

    >>> import pathlib
    >>> for name in ("train/neg/0_1", "train/pos/0_9", "test/neg/0_2", "test/pos/0_8"):
    ...     file = pathlib.Path(name + ".txt")
    ...     file.parent.mkdir(parents=True, exist_ok=True)
    ...     _ = file.write_text("good film" if "pos" in name else "bad film")
    >>> found = data.imdb(".", length=4)
    >>> found.train.x.tolist(), found.train.y.tolist(), found.vocabulary
    ([[0, 1, 4, 3], [0, 1, 5, 3]], [0, 1], ('film', 'bad', 'good'))
    """
    folder = place_of(folder, has_imdb, IMDB_PLACES)
    parts = {part: [_reviews(folder / part / sign) for sign in _SIGNS] for part in ("train", "test")}
    texts = {part: _texts(negative + positive) for part, (negative, positive) in parts.items()}
    train, test, words = encode(texts["train"], texts["test"], size, length)
    labels = {part: np.repeat((0, 1), (len(negative), len(positive))) for part, (negative, positive) in parts.items()}
    return Splits("IMDB", CLASSES, split(train, labels["train"], 2, f"{folder}/train"),
                   split(test, labels["test"], 2, f"{folder}/test"), words)


def _reviews(folder: Path) -> list[Path]:
    """The reviews of one folder by id."""
    if not folder.is_dir():
        raise DataError(f"IMDB needs the folders train/neg, train/pos, test/neg and test/pos, got no {folder}. "
                        "Unpack aclImdb_v1.tar.gz and pass its aclImdb folder.")
    found = [(int(name[1]), int(name[2]), name[0]) for name in map(_NAME.fullmatch, os.listdir(folder)) if name]
    if not found:
        raise DataError(f"IMDB needs reviews named ID_RATING.txt, got none in {folder}. "
                        "Unpack aclImdb_v1.tar.gz again.")
    return [folder / name for _, _, name in sorted(found)]


def _texts(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        try:
            with regular(path) as file:
                if os.fstat(file.fileno()).st_size > LARGEST:
                    raise DataError(f"a review needs at most {LARGEST} bytes, got more at {path}.")
                yield file.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"a review needs to be UTF-8 text, got byte 0x{error.object[error.start]:02x} "
                            f"at {error.start} of {path}. Unpack aclImdb_v1.tar.gz again.") from None
        except OSError as error:
            raise DataError(f"IMDB needs readable reviews, got {error.strerror} at {path}.") from None
