"""The tokenizer beside a model."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from stele.data.tokenizer import Tokenizer, library
from stele.errors import DataError
from stele.files import located
from stele.interop.huggingface.folder import read_json
from stele.interop.huggingface.llama2c import Pieces
from stele.ir.door import public

FILE, WORDS, MERGES, SPECIALS = "tokenizer.json", "vocab.json", "merges.txt", "special_tokens_map.json"
END = "<|endoftext|>"       # what GPT-2 has behind a text, which no file beside its vocabulary says


@public
def tokenizer(folder: str | Path) -> Tokenizer | Pieces:
    """The tokenizer of a `folder`: its `tokenizer.json`, or `vocab.json` with `merges.txt` as older ones have them.

    A file ending in `.bin` is a vocabulary of llama2.c. Encoding gives integers (T,). Raises DataError where there is
    none, and where the library tokenizers is not installed.

    >>> import stele.interop.huggingface as hf
    >>> try:
    ...     hf.tokenizer("no folder")
    ... except ValueError as error:
    ...     print(type(error).__name__)
    DataError
    """
    where = located(folder)
    if where.suffix == ".bin":
        return Pieces(where)
    if (where / FILE).is_file() or where.is_file():
        return Tokenizer(where if where.is_file() else where / FILE)
    if (where / WORDS).is_file() and (where / MERGES).is_file():
        return Tokenizer(pairs(where))
    raise DataError(f"{where} has no {FILE}, nor {WORDS} and {MERGES}",
                    hint="Save it beside the model: tokenizer.save_pretrained(folder).")


def pairs(folder: Path) -> Any:
    """Byte pair encoding as older folders have it."""
    parts = library()
    try:
        made = parts.Tokenizer(parts.models.BPE.from_file(str(folder / WORDS), str(folder / MERGES)))
    except Exception as error:      # the library raises that class itself
        raise DataError(f"{folder} holds no vocabulary of byte pairs: {error}") from None
    made.pre_tokenizer = parts.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = parts.decoders.ByteLevel()
    made.add_special_tokens([word for word in specials(folder) if made.token_to_id(word) is not None])
    return made


def specials(folder: Path) -> list[str]:
    """The words that are no text, which are one token each and which no decoded text has."""
    said: list[Any] = [*read_json(folder / SPECIALS).values()] if (folder / SPECIALS).is_file() else []
    listed: list[Any] = [found if isinstance(found, list) else [found] for found in said]
    several: list[Any] = [x for found in listed for x in found]
    words: list[Any] = [x["content"] if isinstance(x, dict) and "content" in x else x for x in several]
    return [END, *(word for word in words if isinstance(word, str))]
