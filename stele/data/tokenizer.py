"""Texts as numbers of parts of words, by the library `tokenizers`, the `text` extra."""
from __future__ import annotations

import importlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from stele.data.files import read_bytes
from stele.errors import ArgumentError, DataError, kind
from stele.files import located, write
from stele.interop.keywords import speaks
from stele.ops.arguments import choice, is_many, positive, sequence

KINDS = ("bpe", "wordpiece", "unigram")


class Tokenizer:
    """A `tokenizer` of the library `tokenizers`: an object of it, or the path of its file, `tokenizer.json`.

    `encode` gives int32 (T,), `decode` the text; called with a text it encodes, so that it goes into `Dataset.map`.
    Texts are encoded in full and no further: lengths that a file says to cut or pad texts to do not count.
    `train` makes one of texts. Raises DataError for a file that is missing or damaged, and when the library is not
    installed; ArgumentError for what is no path.

    ```
    t = data.Tokenizer.train(texts, size=8000)
    t.decode(t.encode("the same text"))
    ```

    >>> try:
    ...     data.Tokenizer("no tokenizer.json")
    ... except ValueError as error:
    ...     print(type(error).__name__)
    DataError
    """

    @speaks
    def __init__(self, tokenizer: Any) -> None:
        if type(tokenizer).__module__.partition(".")[0] == "tokenizers":
            self.inner: Any = tokenizer
            return
        path = located(tokenizer)
        content = read_bytes(path)
        made: Any = library().Tokenizer
        with answering(f"a tokenizer needs a file of the library tokenizers, got another one at {path}"):
            self.inner = made.from_buffer(content)
        self.inner.no_padding()         # numbers alone do not say where a padding begins, which a model would read
        self.inner.no_truncation()

    @classmethod
    @speaks
    def train(cls, texts: Iterable[str], size: int = 30_000, kind: str = "bpe",
              specials: Sequence[str] = ("<pad>", "<unk>")) -> Tokenizer:
        """A tokenizer of at most `size` parts, learned from texts, its first numbers those of the `specials`.

        "bpe" is byte pair encoding of bytes (Sennrich et al., 2016; Radford et al., 2019), for which no text is
        unknown; "wordpiece" and "unigram" (Kudo, 2018) give "<unk>" for what they do not know.
        """
        checked(texts)
        kind, size = choice(kind, "kind of a tokenizer", KINDS), positive(size, "size of a tokenizer")
        special = list(sequence(specials, "specials of a tokenizer", "a list of words"))
        t = library()
        unknown = "<unk>" if "<unk>" in special else None
        bytes_of = t.pre_tokenizers.ByteLevel
        if kind == "bpe":
            inner = t.Tokenizer(t.models.BPE())
            inner.pre_tokenizer, inner.decoder = bytes_of(add_prefix_space=False), t.decoders.ByteLevel()
            trainer = t.trainers.BpeTrainer(vocab_size=size, special_tokens=special, show_progress=False,
                                            initial_alphabet=bytes_of.alphabet())
        elif kind == "wordpiece":
            inner = t.Tokenizer(t.models.WordPiece(unk_token=unknown))
            inner.pre_tokenizer, inner.decoder = t.pre_tokenizers.BertPreTokenizer(), t.decoders.WordPiece()
            trainer = t.trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, show_progress=False)
        else:
            inner = t.Tokenizer(t.models.Unigram())
            inner.pre_tokenizer, inner.decoder = t.pre_tokenizers.Metaspace(), t.decoders.Metaspace()
            trainer = t.trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token=unknown,
                                                show_progress=False)
        inner.train_from_iterator(texts, trainer)
        return cls(inner)

    def __len__(self) -> int: return int(self.inner.get_vocab_size())
    def __contains__(self, x: object) -> bool: return isinstance(x, str) and self.inner.token_to_id(x) is not None

    def __getitem__(self, x: Any) -> int:
        found = self.inner.token_to_id(x) if isinstance(x, str) else None
        if found is None:
            raise DataError(f"a tokenizer of {len(self)} parts has none called {x!r:.60}")
        return int(found)

    def __call__(self, text: str) -> np.ndarray:
        """The numbers of a text."""
        return self.encode(text)

    def encode(self, text: Any) -> np.ndarray:
        """The numbers of a text's parts: int32 (T,)."""
        if not isinstance(text, str):
            raise ArgumentError(f"encode takes a text, got {kind(text)}", hint="encode_batch takes several.")
        with answering("the tokenizer cannot encode this"):
            return np.array(self.inner.encode(text).ids, np.int32)

    def encode_batch(self, texts: Iterable[str]) -> list[np.ndarray]:
        """The numbers of several texts, found in parallel: a list of int32 (T,)."""
        several = checked(texts)
        with answering("the tokenizer cannot encode these"):
            return [np.array(found.ids, np.int32) for found in self.inner.encode_batch(several)]

    def decode(self, ids: Any) -> str:
        """The text of numbers (T,), without the specials."""
        numbers = np.asarray(ids).tolist()
        with answering("the tokenizer cannot decode this"):
            return str(self.inner.decode(numbers))

    def save(self, path: str | Path) -> None:
        """Writes the tokenizer to a file, which this class and the library read."""
        write(located(path), self.inner.to_str().encode())

    def __getstate__(self) -> str: return self.inner.to_str()
    def __setstate__(self, state: str) -> None: self.inner = library().Tokenizer.from_str(state)
    def __repr__(self) -> str: return f"Tokenizer({len(self)} parts)"


def checked(texts: Any) -> list[str]:
    """Several texts."""
    if isinstance(texts, str) or not is_many(texts):
        raise ArgumentError(f"a tokenizer takes a list of texts here, got {kind(texts)}")
    return list(texts)


@contextmanager
def answering(what: str) -> Generator[None]:
    """DataError for what the library finds wrong with its file, which panics of its own may say: these are no
    Exception, so that the name of their class tells them from Ctrl-C.
    """
    try:
        yield
    except MemoryError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise DataError(f"{what} ({' '.join(str(error).split()):.160}).") from None


def library() -> Any:
    """The library, an extra, so not needed to import this file."""
    try:
        return importlib.import_module("tokenizers")
    except ImportError:
        raise DataError("a Tokenizer needs the library tokenizers, got none installed. "
                        "Run: pip install 'stele-dl[text]'") from None
