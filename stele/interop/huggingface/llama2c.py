"""Files of llama2.c: models (header and weights) and vocabularies (pieces with scores)."""
from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stele import files
from stele.errors import ArgumentError, DataError, kind
from stele.interop.huggingface.config import Config
from stele.interop.huggingface.llama import LlamaForCausalLM
from stele.ir.door import public
from stele.ir.graph import Array

BEGIN, END, BYTES, HEADER = 1, 2, 3, 28     # tokens; the first of those that stand for single bytes; bytes of a header
LONGEST = 1 << 27                           # bytes of a vocabulary
BYTE = re.compile(rb"<0x([0-9A-F]{2})>")


class Sizes(NamedTuple):
    """The header of a model."""

    dim: int
    hidden: int
    layers: int
    heads: int
    groups: int
    words: int
    length: int

    @property
    def config(self) -> dict[str, Any]:
        """The same in the words of a configuration."""
        return {"hidden_size": self.dim, "intermediate_size": self.hidden, "num_hidden_layers": self.layers,
                "num_attention_heads": self.heads, "num_key_value_heads": self.groups, "vocab_size": abs(self.words),
                "max_position_embeddings": self.length, "rms_norm_eps": 1e-5, "tie_word_embeddings": self.words > 0,
                "eos_token_id": [BEGIN, END]}

    def parts(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """What lies behind the header: names and shapes in order, those of layers with the layers in front."""
        d, h, n, head = self.dim, self.hidden, self.layers, self.dim // self.heads
        keys = self.groups * head
        yield "embed_tokens.weight", (abs(self.words), d)
        yield "input_layernorm.weight", (n, d)
        for name, rows in (("q", d), ("k", keys), ("v", keys), ("o", d)):
            yield f"self_attn.{name}_proj.weight", (n, rows, d)
        yield "post_attention_layernorm.weight", (n, d)
        yield "mlp.gate_proj.weight", (n, h, d)
        yield "mlp.down_proj.weight", (n, d, h)
        yield "mlp.up_proj.weight", (n, h, d)
        yield "norm.weight", (d,)
        yield "angles", (2, self.length, head // 2)
        if self.words < 0:
            yield "lm_head.weight", (-self.words, d)


def load(path: Path) -> LlamaForCausalLM:
    """The model of a file. Raises DataError for one that is missing or damaged."""
    with files.regular(path) as file:
        size = path.stat().st_size
        if size < HEADER:
            raise DataError(f"{path} is no model of llama2.c: it ends within its header, behind {size} bytes")
        header = np.frombuffer(file.read(HEADER), "<i4")
        if not all(0 < abs(int(n)) < 1 << 24 for n in header) or min(*header[:5], header[6]) < 0 \
                or header[0] % header[3] or header[3] % header[4]:
            raise DataError(f"{path} is no model of llama2.c: its header is {header.tolist()}")
        sizes = Sizes(*map(int, header))
        parts = dict(sizes.parts())
        count = sum(int(np.prod(shape, dtype=object)) for shape in parts.values())
        if size != HEADER + 4 * count:
            raise DataError(f"{path} has {size} bytes, where its header says {HEADER + 4 * count}",
                            hint="Export it in version 0 of the format, float32.")
        state = dict(named(sizes, {name: np.fromfile(file, "<f4", int(np.prod(shape))).reshape(shape)
                                   for name, shape in parts.items()}))
    model = LlamaForCausalLM(Config(sizes.config, str(path)))
    model.load_state_dict(state)
    return model


def named(sizes: Sizes, arrays: dict[str, Array]) -> Iterator[tuple[str, Array]]:
    """The weights under the names of the module; queries and keys have pairs half of a head apart, not side by side."""
    del arrays["angles"]
    for name, x in arrays.items():
        if name in ("embed_tokens.weight", "norm.weight"):
            yield f"model.{name}", x
        elif name == "lm_head.weight":
            yield name, x
        else:
            for k, layer in enumerate(x):
                yield f"model.layers.{k}.{name}", apart(layer, sizes) if ".q_" in name or ".k_" in name else layer


def apart(w: Array, sizes: Sizes) -> Array:
    """The rows of a projection, first ones of all pairs before the second ones."""
    head = sizes.dim // sizes.heads
    pairs: Array = w.reshape(-1, head // 2, 2, w.shape[1])
    return pairs.swapaxes(1, 2).reshape(w.shape)


class Pieces:
    """A vocabulary of llama2.c, the file at `path`: texts as numbers of their pieces, and back.

    `encode` gives int32 (T,), the beginning of a text first; `decode` the text of such numbers. Neighbours are joined
    as long as a piece is made of them, that with the best score first (Sennrich et al., 2016); what no piece begins
    with are its bytes. Raises DataError for a file that is missing or damaged, ArgumentError for what is no text.

    >>> import stele.interop.huggingface as hf
    >>> try:
    ...     hf.Pieces("no file")
    ... except ValueError as error:
    ...     print(type(error).__name__)
    DataError
    """

    @public
    def __init__(self, path: str | Path) -> None:
        path = files.located(path)
        try:
            with files.regular(path) as file:
                content = file.read(LONGEST)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
        found = list(listed(content, path))
        self.pieces = [piece for piece, _ in found]
        self.scores = [score for _, score in found]
        self.numbers = {piece: k for k, piece in reversed(list(enumerate(self.pieces)))}

    def __len__(self) -> int: return len(self.pieces)

    @public
    def encode(self, text: str) -> Array:
        """The numbers of the pieces of a `text`, behind that of its beginning: int32 (T,)."""
        if not isinstance(text, str):   # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"encode takes a text, got {kind(text)}")
        ids: list[int] = []
        for letter in (" " * bool(text) + text):
            raw = letter.encode()
            ids += [self.numbers[raw]] if raw in self.numbers else [b + BYTES for b in raw]
        while (best := max(self.joints(ids), default=None)) is not None:
            _, back, number = best
            place = len(ids) - back
            ids[place:place + 2] = [number]
        return np.array([BEGIN, *ids], np.int32)

    def joints(self, ids: list[int]) -> Iterator[tuple[float, int, int]]:
        """Neighbours that make a piece: its score, how far from the end they are, its number."""
        for k, (a, b) in enumerate(pairwise(ids)):
            number = self.numbers.get(self.pieces[a] + self.pieces[b])
            if number is not None:
                yield self.scores[number], len(ids) - k, number

    @public
    def decode(self, ids: Any) -> str:
        """The text of numbers (T,), without what stands for the beginning and the end."""
        given = [int(n) for n in np.asarray(ids).reshape(-1)]
        raw = b"".join(self.raw(n) for n in given if n not in (BEGIN, END))
        text = raw.decode(errors="replace")
        return text.removeprefix(" ") if given[:1] == [BEGIN] else text

    def raw(self, number: int) -> bytes:
        """The bytes of a piece."""
        if not 0 <= number < len(self):
            raise ArgumentError(f"a vocabulary of {len(self)} pieces has no number {number}")
        piece = self.pieces[number]
        return bytes([int(found[1], 16)]) if (found := BYTE.fullmatch(piece)) else piece


def listed(content: bytes, path: Path) -> Iterator[tuple[bytes, float]]:
    """The pieces of a vocabulary with their scores."""
    at = 4
    while at < len(content):
        length = int.from_bytes(content[at + 4:at + 8], "little")
        if len(content) < at + 8 + length:
            raise DataError(f"{path} is no whole vocabulary of llama2.c: it ends in the midst of a piece")
        yield content[at + 8:at + 8 + length], float(np.frombuffer(content[at:at + 4], "<f4")[0])
        at += 8 + length
    if len(content) < 4 or at == 4:
        raise DataError(f"{path} is no vocabulary of llama2.c: it has {len(content)} bytes")
