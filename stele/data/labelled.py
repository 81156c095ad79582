"""Texts with labels, of tables: AG News and SST-2."""
from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from stele.data.files import place_of, read_bytes
from stele.data.sets import Splits, split
from stele.data.text import encode
from stele.errors import DataError
from stele.files import located
from stele.interop.keywords import speaks
from stele.ops.arguments import positive

NEWS = ("World", "Sports", "Business", "Sci/Tech")
LONGEST = 1 << 20       # characters of one text


@speaks
def ag_news(folder: str | Path, size: int = 30_000, length: int = 100) -> Splits:
    """AG News from the `folder` of `train.csv` and `test.csv`: int32 (N, length), labels 0 World to 3 Sci/Tech.

    A text is the title and the description of an article; 120,000 for training and 7,600 for the test (Zhang et al.,
    2015). The vocabulary of `size` numbers is counted on the training texts only; a row is the last `length` numbers of
    a text, padded in front. Raises DataError for a file that is missing or damaged, ArgumentError for what is no path,
    ShapeError for a size or a length below 1. `download("ag_news")` makes such a folder.

    >>> for name in ("train.csv", "test.csv"):
    ...     with open(name, "w") as file:
    ...         _ = file.write('"3","Oil falls","Prices, again."\\n"2","A goal",""\\n')
    >>> found = data.ag_news(".", length=5)
    >>> found.train.x.tolist(), found.classes[found.train.y[0]]
    ([[1, 7, 5, 8, 4], [0, 0, 1, 3, 6]], 'Business')
    """
    folder = located(folder)
    return encoded("AG News", NEWS, [news(folder / name) for name in ("train.csv", "test.csv")], size, length, folder)


def news(path: Path) -> list[tuple[int, str]]:
    """Labels and texts of a file of (class, title, description), classes counted from 1."""
    try:
        table = list(csv.reader(io.StringIO(text_of(path), newline="")))
    except csv.Error as error:
        raise DataError(f"AG News needs fields between commas, got a damaged table ({error}): {path}.") from None
    found: list[tuple[int, str]] = []
    for k, row in enumerate(table, 1):
        if len(row) != 3 or row[0] not in ("1", "2", "3", "4"):
            raise DataError(f"AG News needs rows of a class 1 to 4, a title and a description, got {row!r:.80} as row "
                            f"{k} in {path}. Is it a file of another set?")
        found.append((int(row[0]) - 1, f"{row[1]} {row[2]}".replace("\\", " ")))
    return found


@speaks
def sst2(folder: str | Path, size: int = 30_000, length: int = 50) -> Splits:
    """SST-2 from the `folder` `SST-2` of GLUE: int32 (N, length), labels 0 negative and 1 positive.

    Sentences and phrases of film reviews: 67,349 for training; the test is `dev.tsv`, 872 sentences, since labels of
    the other are not given out (Socher et al., 2013; Wang et al., 2018). The vocabulary of `size` numbers is counted on
    the training texts only; a row is the last `length` numbers of a text, padded in front. Raises DataError for a file
    that is missing or damaged, ArgumentError for what is no path, ShapeError for a size or a length below 1.
    `download("sst2")` makes such a folder.

    >>> for name in ("train.tsv", "dev.tsv"):
    ...     with open(name, "w") as file:
    ...         _ = file.write("sentence\\tlabel\\na fine film \\t1\\n")
    >>> data.sst2(".", length=4).test.x.tolist()
    [[1, 3, 5, 4]]
    """
    folder = place_of(folder, lambda path: (path / "train.tsv").is_file(), ("SST-2",))
    parts = [reviews(folder / name) for name in ("train.tsv", "dev.tsv")]
    return encoded("SST-2", ("negative", "positive"), parts, size, length, folder)


def reviews(path: Path) -> list[tuple[int, str]]:
    """Labels and texts of a file of sentence, tab, label."""
    head, *lines = text_of(path).splitlines() or [""]
    if head.split("\t") != ["sentence", "label"]:
        raise DataError(f"SST-2 needs a first line 'sentence', tab, 'label', got {head!r:.80} in {path}.")
    found: list[tuple[int, str]] = []
    for k, line in enumerate(lines, 2):
        text, _, label = line.rpartition("\t")
        if label not in ("0", "1"):
            raise DataError(f"SST-2 needs lines of a sentence, a tab and 0 or 1, got {line!r:.80}, line {k} of {path}.")
        found.append((int(label), text))
    return found


def text_of(path: Path) -> str:
    """The characters of a file."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"texts need to be UTF-8, got byte 0x{error.object[error.start]:02x} at {error.start} of "
                        f"{path}.") from None


def encoded(name: str, classes: tuple[str, ...], parts: list[list[tuple[int, str]]], size: int, length: int,
            where: Path) -> Splits:
    """Training and test texts as numbers of words."""
    size, length = positive(size, f"size of {name}"), positive(length, f"length of {name}")
    texts = [[text for _, text in part] for part in parts]
    x, test_x, words = encode(texts[0], texts[1], size, length)
    labels = [np.array([label for label, _ in part], np.int64) for part in parts]
    train, test = (split(x, y, len(classes), str(where)) for x, y in zip((x, test_x), labels))
    return Splits(name, classes, train, test, words)
