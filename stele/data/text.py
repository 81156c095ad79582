"""Texts as rows of word numbers, by a vocabulary counted on the training texts."""

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

PAD, START, UNKNOWN, SHIFT = 0, 1, 2, 3
_WORD = re.compile(r"(?:[^\W_]|')+")
_ASCII = bytes(c if chr(c).isalnum() or c == ord("'") else ord(" ") for c in range(128)) + b" " * 128


def tokens(text: str) -> list[str]:
    """The words of a text: runs of letters, digits and apostrophes, in lower case, `<br />` removed.

    >>> tokens("It's GREAT!<br /><br />10/10, my na\u00efve friend")
    ["it's", 'great', '10', '10', 'my', 'na\u00efve', 'friend']
    """
    text = text.lower().replace("<br />", " ")
    if text.isascii():  # the same words, five times faster
        return text.encode("ascii").translate(_ASCII).decode("ascii").split()
    return _WORD.findall(text)


@dataclass(frozen=True, eq=False)
class Ragged:
    """Sequences of numbers of many lengths: sequence i is `ids[ends[i - 1]:ends[i]]`."""

    ids: np.ndarray
    ends: np.ndarray


class Numbering(dict[str, int]):
    """Words numbered in the order in which they are first seen."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number

    def number(self, texts: Iterable[str]) -> Ragged:
        """All words of all texts as numbers, one pass."""
        ids, ends = array("i"), array("q")
        for text in texts:
            ids.extend(map(self.__getitem__, tokens(text)))
            ends.append(len(ids))
        return Ragged(np.frombuffer(ids, np.int32) if ids else np.zeros(0, np.int32), np.array(ends, np.int64))


def encode(train: Iterable[str], test: Iterable[str], size: int, length: int
           ) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Training texts, test texts (both int32 (N, length)) and the words of numbers SHIFT...

    The vocabulary holds the `size - SHIFT` most frequent words of the training texts, ties in alphabetical order:
    word k of it has number SHIFT + k. A row is START and the words, UNKNOWN for others; its last `length` numbers,
    PAD in front of short ones.

    >>> x, _, words = encode(["good film", "a good one"], [], size=5, length=4)
    >>> x.tolist(), words
    ([[0, 1, 3, 2], [1, 4, 3, 2]], ('good', 'a'))
    """
    numbering = Numbering()
    seen = numbering.number(train)
    words = np.array(list(numbering), dtype=object)
    counts = np.bincount(seen.ids, minlength=len(words))
    order = sorted(range(len(words)), key=lambda k: (-counts[k], words[k]))[:size - SHIFT]
    unseen = numbering.number(test)
    table = np.full(len(numbering), UNKNOWN, np.int32)
    table[order] = np.arange(SHIFT, SHIFT + len(order), dtype=np.int32)
    return rows(seen, table, length), rows(unseen, table, length), tuple(words[order])


def rows(texts: Ragged, table: np.ndarray, length: int) -> np.ndarray:
    """(N, length) int32: START and `table[ids]`, cut or padded in front."""
    x = np.full((len(texts.ends), length), PAD, np.int32)
    begin = 0
    for row, end in zip(x, texts.ends, strict=True):
        count = min(end - begin, length)
        row[length - count:] = table[texts.ids[end - count:end]]
        if count < length:
            row[length - count - 1] = START
        begin = end
    return x


def words_of(row: Sequence[int] | np.ndarray, vocabulary: Sequence[str]) -> str:
    """The text of a row, for people: padding left out, `?` for unknown words.

    >>> words_of([0, 1, 3, 2], ("good", "a"))
    'good ?'
    """
    return " ".join("?" if n == UNKNOWN else vocabulary[n - SHIFT] for n in row if n not in (PAD, START))
