"""Long texts whose next word or character is asked for: WikiText-2 and tiny Shakespeare."""
from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from stele.data.files import place_of
from stele.data.labelled import text_of
from stele.data.sets import ArrayDataset, Splits
from stele.errors import DataError
from stele.files import located
from stele.interop.keywords import speaks
from stele.ops.arguments import choice, positive

LINE, UNKNOWN = "<eos>", "<unk>"
NAMES = (("wiki.{}.tokens", "WikiText-2"), ("wiki.{}.raw", "WikiText-2 raw"))


@speaks
def wikitext2(folder: str | Path, length: int = 128, held_out: str = "test") -> Splits:
    """WikiText-2 from the `folder` `wikitext-2` (or `wikitext-2-raw`): rows of `length` words, and those that follow.

    x is int32 (N, length), y int64 (N, length), the number of the word behind each; `classes` are the words, by how
    often they come in the training text, "<eos>" at the end of each line. `held_out` says which text is the test's:
    "test" or "valid". Two million words (Merity et al., 2016). Raises DataError for a file that is missing or damaged,
    ArgumentError for what is no path, ShapeError for a length below 1, OptionError for another part.
    `download("wikitext2")` makes such a folder.

    >>> for part in ("train", "valid", "test"):
    ...     with open(f"wiki.{part}.tokens", "w") as file:
    ...         _ = file.write(" = One = \\n the one <unk> the \\n")
    >>> found = data.wikitext2(".", length=4)
    >>> " ".join(found.classes), found.train.x.tolist(), found.train.y.tolist()
    ('<eos> = the <unk> One one', [[1, 4, 1, 0], [2, 5, 3, 2]], [[4, 1, 0, 2], [5, 3, 2, 0]])
    """
    folder = place_of(folder, lambda path: any((path / form.format("train")).is_file() for form, _ in NAMES),
                      ("wikitext-2", "wikitext-2-raw"))
    length = positive(length, "length of wikitext2")
    choice(held_out, "held_out of wikitext2", ("test", "valid"))
    form, name = next((found for found in NAMES if (folder / found[0].format("train")).is_file()), NAMES[0])
    train, test = (words_of_lines(text_of(folder / form.format(part))) for part in ("train", held_out))
    counts = Counter(train)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    if UNKNOWN not in counts:
        words.append(UNKNOWN)
    numbers = {word: k for k, word in enumerate(words)}
    unknown = numbers[UNKNOWN]
    parts = (np.array([numbers.get(word, unknown) for word in part], np.int32) for part in (train, test))
    first, second = (followed(part, length, folder) for part in parts)
    return Splits(name, tuple(words), first, second)


def words_of_lines(text: str) -> list[str]:
    """The words of a text, the end of each line among them."""
    return [word for line in text.split("\n") if line.strip() for word in (*line.split(), LINE)]


def followed(numbers: np.ndarray, length: int, where: Path) -> ArrayDataset:
    """Rows of a long text, one behind the other, and for each number that which follows it."""
    count = (len(numbers) - 1) // length
    if count < 1:
        raise DataError(f"rows of {length} need a text of more, got {len(numbers)} in {where}. Ask for shorter rows.")
    x = numbers[:count * length].reshape(count, length)
    return ArrayDataset(x, numbers[1:count * length + 1].reshape(count, length).astype(np.int64))


@speaks
def tiny_shakespeare(folder: str | Path, length: int = 128) -> Splits:
    """Shakespeare's characters from the `folder` of `input.txt`: rows of `length` of them, and those that follow.

    x is int32 (N, length), y int64 (N, length); `classes` are the characters. 1,115,394 of them (Karpathy, 2015), of
    which the first 90 of 100 are for training. Raises DataError for a file that is missing or too short, ArgumentError
    for what is no path, ShapeError for a length below 1. `download("tiny_shakespeare")` makes such a folder.

    >>> with open("input.txt", "w") as file:
    ...     _ = file.write("to be or not to be, that is the question")
    >>> found = data.tiny_shakespeare(".", length=3)
    >>> "".join(found.classes[k] for k in found.train.x[0]), "".join(found.classes[k] for k in found.train.y[0])
    ('to ', 'o b')
    """
    folder, length = located(folder), positive(length, "length of tiny_shakespeare")
    text = text_of(folder / "input.txt" if folder.is_dir() else folder)
    letters = tuple(sorted(set(text)))
    numbers = {letter: k for k, letter in enumerate(letters)}
    found = np.array([numbers[letter] for letter in text], np.int32)
    cut = len(found) * 9 // 10
    return Splits("tiny Shakespeare", letters, followed(found[:cut], length, folder),
                  followed(found[cut:], length, folder))
