"""Words and their numbers: counted, encoded and decoded, as bags and one-hot rows, with vectors, kept in files."""
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stele.data.files import read_bytes
from stele.data.text import tokens
from stele.errors import ArgumentError, DataError, kind
from stele.files import located, regular, write
from stele.interop.keywords import answering, speaks
from stele.interop.names import VOCABULARIES
from stele.ops.arguments import function, instance, is_dict, is_many, is_series, positive, sequence, whole

LONGEST = 1 << 20       # bytes of a line of vectors: 300 numbers have 3,000
LARGEST = 1 << 34       # bytes of all numbers of a file of vectors: GloVe's largest has 2.6 billion


class Vocabulary:
    """Words by number: `words` in order, of which `unknown` stands for all others where it is among them.

    `tokenize` cuts a text into words: runs of letters, digits and apostrophes in lower case if none is given. `count`
    makes a vocabulary of texts; `v["word"]` is a number, `v[3]` a word, `v["<pad>"]` what pads. Numbers are int32,
    texts (T,). Raises DataError for a word that comes twice, and where a word has no number; ArgumentError for what are
    no words.

    >>> v = data.Vocabulary.count(["a good film", "a dull film"], min_freq=2)
    >>> list(v), v.encode("good film").tolist(), v.decode([3, 1])
    (['<pad>', '<unk>', 'a', 'film'], [1, 3], 'film <unk>')
    >>> data.Vocabulary(["yes", "no"]).one_hot("no yes").tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    @speaks
    def __init__(self, words: Sequence[str], unknown: str | None = "<unk>",
                 tokenize: Callable[[str], list[str]] | None = None) -> None:
        self.words = tuple(map(word, sequence(words, "words of a vocabulary", "a list of words")))
        self.unknown = None if unknown is None else instance(unknown, "unknown of a vocabulary", str)
        self.tokenize = tokens if tokenize is None else function(tokenize, "tokenize")
        self.numbers = {word: k for k, word in enumerate(self.words)}
        if len(self.numbers) < len(self.words):
            twice = next(word for word, n in Counter(self.words).items() if n > 1)
            raise DataError(f"every word of a vocabulary has one number, got {twice!r:.60} twice")

    @classmethod
    @speaks
    def count(cls, texts: Iterable[str | Sequence[str]], size: int | None = None, min_freq: int = 1,
              specials: Sequence[str] = ("<pad>", "<unk>"), unknown: str | None = "<unk>",
              tokenize: Callable[[str], list[str]] | None = None) -> Vocabulary:
        """The words of texts by how often they come, ties in alphabetical order, behind the `specials`.

        Texts are strings, or lists of words. At most `size` words, the specials among them, each of which comes
        `min_freq` times or more.
        """
        if isinstance(texts, str) or not is_many(texts):
            raise ArgumentError(f"a vocabulary is counted on several texts, got {kind(texts)}",
                                hint="Write Vocabulary.count([text])." if isinstance(texts, str) else None)
        cut = tokens if tokenize is None else function(tokenize, "tokenize")
        counts: Counter[str] = Counter()
        for text in texts:
            found = cut(text) if isinstance(text, str) else sequence(text, "a text", "a list of words")
            counts.update(map(word, found))
        least, first = positive(min_freq, "min_freq"), sequence(specials, "specials", "a list of words")
        kept = sorted((w for w, n in counts.items() if n >= least and w not in first), key=lambda w: (-counts[w], w))
        room = None if size is None else whole(size, "size of a vocabulary", len(first)) - len(first)
        return cls([*first, *kept[:room]], unknown, cut)

    if not TYPE_CHECKING:
        __getattr__ = answering("a vocabulary", VOCABULARIES)

    def __call__(self, text: str | Sequence[str]) -> np.ndarray:
        """The numbers of a text, as `encode` gives them."""
        return self.encode(text)

    def __len__(self) -> int: return len(self.words)
    def __iter__(self) -> Iterator[str]: return iter(self.words)
    def __contains__(self, x: object) -> bool: return x in self.numbers

    def __getitem__(self, x: Any) -> Any:
        if isinstance(x, str):
            return self.number(x)
        k: int = whole(x, "the number of a word")
        if not 0 <= k < len(self):
            raise DataError(f"a vocabulary of {len(self)} words has no number {k}")
        return self.words[k]

    def number(self, x: str) -> int:
        """The number of a word, or of the one that stands for all that are unknown."""
        found = self.numbers.get(x, self.numbers.get(self.unknown or "", -1))
        if found < 0:
            raise DataError(f"the word {x!r:.60} has no number in a vocabulary of {len(self)} words",
                            hint="With unknown= a word that there is stands for all others.")
        return found

    def encode(self, text: str | Sequence[str]) -> np.ndarray:
        """The numbers of a text, which is cut into words, or of a list of words: int32 (T,)."""
        found = self.tokenize(text) if isinstance(text, str) else sequence(text, "a text", "a list of words")
        return np.array([self.number(word(x)) for x in found], np.int32)

    def decode(self, ids: Any) -> str:
        """The words of numbers (T,), with blanks between them."""
        return " ".join(self.words[k] for k in map(int, self.checked(ids)))

    def one_hot(self, text: Any) -> np.ndarray:
        """A row for each word of a text, or of numbers (T,), 1 at its number and 0 elsewhere: float32 (T, words)."""
        ids = self.ids(text)
        found = np.zeros((len(ids), len(self)), np.float32)
        np.put_along_axis(found, ids[:, None], 1, axis=1)
        return found

    def bag(self, text: Any) -> np.ndarray:
        """How often each word comes in a text, or in numbers (T,): float32 (words,)."""
        return np.bincount(self.ids(text), minlength=len(self)).astype(np.float32)

    def ids(self, text: Any) -> np.ndarray:
        """The numbers of a text, of a list of words, or of numbers."""
        is_text = isinstance(text, str) or (is_series(text) and all(isinstance(x, str) for x in text) and len(text) > 0)
        return self.encode(text) if is_text else self.checked(text)

    def checked(self, ids: Any) -> np.ndarray:
        """Numbers of words, (T,)."""
        found = np.asarray(ids)
        if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
            raise DataError(f"numbers of words are integers (T,), got {found.dtype} {found.shape}")
        wrong = found[(found < 0) | (found >= len(self))]
        if len(wrong):
            raise DataError(f"a vocabulary of {len(self)} words has no number {wrong[0]}")
        return found.astype(np.int64)

    def save(self, path: str | Path) -> None:
        """Writes the words to a file: as JSON where its suffix is .json, else as text, one in each line."""
        path = located(path)
        if path.suffix == ".json":
            write(path, json.dumps({"words": self.words, "unknown": self.unknown}, ensure_ascii=False).encode())
            return
        broken = next((word for word in self.words if not word or "\n" in word), None)
        if broken is not None:
            raise DataError(f"a file of a word in each line cannot hold {broken!r:.60}. Save it as .json.")
        write(path, "".join(f"{word}\n" for word in self.words).encode())

    @classmethod
    @speaks
    def load(cls, path: str | Path, unknown: str | None = "<unk>",
             tokenize: Callable[[str], list[str]] | None = None) -> Vocabulary:
        """The vocabulary in a file that `save` wrote, or of a word in each line; `unknown` stands in JSON itself."""
        path = located(path)
        content = read_bytes(path)
        try:
            text = content.decode("utf-8")
            found: Any = json.loads(text) if path.suffix == ".json" else \
                {"words": text.removesuffix("\n").split("\n") if text else [], "unknown": unknown}
        except (ValueError, RecursionError) as error:
            raise DataError(f"a vocabulary needs to be UTF-8 text, or JSON, got something else in {path} "
                            f"({type(error).__name__}).") from None
        words: Any = found.get("words") if is_dict(found) else None
        if not is_series(words) or not all(isinstance(x, str) for x in words) \
                or not isinstance(found.get("unknown"), str | None):
            raise DataError(f"a vocabulary as JSON needs 'words', a list of text, and 'unknown', got others in {path}.")
        return cls(words, found.get("unknown"), tokenize)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.words[:4])) + (", ..." if len(self) > 4 else "")
        return f"Vocabulary([{shown}], {len(self)} words, unknown={self.unknown!r})"


def word(x: Any) -> str:
    """A word."""
    return x if isinstance(x, str) else _no_word(x)


def _no_word(x: Any) -> Any:
    raise ArgumentError(f"a word is text, got {kind(x)}: {x!r:.60}")


@speaks
def read_vectors(path: str | Path, vocabulary: Vocabulary | None = None) -> tuple[Vocabulary, np.ndarray]:
    """Vectors of words from a text file as GloVe and word2vec have it: the words, and float32 (words, D).

    A line has a word and its D numbers; a first line of two whole numbers, which word2vec writes, is passed over. With
    a `vocabulary` the vectors are those of its words, in its order, zeros where the file has none, and all else is
    passed over; without one the words are those of the file. For `nn.Embedding.from_pretrained`. Raises DataError for a
    file that is missing or damaged, ArgumentError for what is no path or no vocabulary.

    >>> with open("vectors.txt", "w") as file:
    ...     _ = file.write("film 0.5 -1\\na 0 2\\n")
    >>> v, x = data.read_vectors("vectors.txt", data.Vocabulary(["<unk>", "a"]))
    >>> x.tolist(), list(data.read_vectors("vectors.txt")[0])
    ([[0.0, 0.0], [0.0, 2.0]], ['film', 'a'])
    """
    path = located(path)
    vocabulary = None if vocabulary is None else a_vocabulary(vocabulary)
    words: list[str] = []
    found: list[np.ndarray] = []
    for text, row in vectors(path, vocabulary):
        words.append(text)
        found.append(row)
    if vocabulary is None:
        if not found:
            raise DataError(f"a file of vectors needs at least one, got none in {path}.")
        return Vocabulary(words, unknown=None), np.stack(found)
    made = np.zeros((len(vocabulary), len(found[0]) if found else 0), np.float32)
    for text, row in zip(words, found):
        made[vocabulary.numbers[text]] = row
    return vocabulary, made


def a_vocabulary(x: Any) -> Vocabulary:
    """x, if it is a vocabulary."""
    if not isinstance(x, Vocabulary):
        raise ArgumentError(f"vocabulary of read_vectors must be a Vocabulary, got {kind(x)}")
    return x


def vectors(path: Path, wanted: Vocabulary | None) -> Iterator[tuple[str, np.ndarray]]:
    """The words of a file that are wanted, with their vectors; of one that comes twice the first."""
    width, seen = 0, set[str]()
    for k, line in enumerate(lines(path), 1):
        parts = line.rstrip().split(" ")
        if k == 1 and len(parts) == 2 and all(part.isdecimal() for part in parts):
            continue
        width = width or len(parts) - 1
        text = " ".join(parts[:-width]) if width else ""    # GloVe has words with blanks in them
        if len(parts) <= width or not width:
            raise DataError(f"a line of vectors needs a word and {width or 'its'} numbers, got {line!r:.60}, line {k} "
                            f"of {path}.")
        if text in seen or (wanted is not None and text not in wanted):
            continue
        seen.add(text)
        if len(seen) * width * 4 > LARGEST:
            raise DataError(f"vectors of more than {LARGEST:,} bytes are not read at once: {path}. Give a vocabulary.")
        try:
            yield text, np.array(parts[-width:], np.float32)
        except ValueError as error:
            raise DataError(f"a vector has something else than numbers ({error}) in line {k} of {path}.") from None


def lines(path: Path) -> Iterator[str]:
    """The lines of a file that may be larger than the memory."""
    try:
        with regular(path) as file:
            while line := file.readline(LONGEST):
                if len(line) == LONGEST:
                    raise DataError(f"a line of vectors needs at most {LONGEST:,} bytes, got more in {path}.")
                yield line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"vectors need to be UTF-8 text, got other bytes ({error.reason}) in {path}.") from None
    except OSError as error:
        raise DataError(f"reading vectors needs a readable file, got {error.strerror} at {path}.") from None
