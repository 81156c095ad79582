"""`stele generate FOLDER`: text that goes on, as a model writes it."""
from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

from stele import data
from stele.commands.options import GenerateOptions
from stele.errors import DataError
from stele.interop import huggingface
from stele.ir.graph import Array
from stele.pipeline import set_threads

HALF = "\ufffd"     # what stands for a letter of which bytes are missing
TOKENS = 128        # unless asked for others, where the model has so many places


def generate(options: GenerateOptions) -> None:
    """Prints the prompt and what follows it, each piece as it is drawn, and how fast that was, to stderr.

    Raises DataError for what is no model of text, or has no tokenizer, and for a prompt of no tokens.
    """
    if options.threads is not None:
        set_threads(options.threads)
    model = huggingface.load(options.model)
    if not isinstance(model, huggingface.LanguageModel):
        raise DataError(f"{options.model} is a {type(model).__name__}, which writes no text")
    tokenizer = huggingface.tokenizer(options.tokenizer or options.model)
    ids = tokenizer.encode(options.prompt or "")
    if not len(ids):
        raise DataError("a prompt of no tokens has nothing that could follow", hint='Write --prompt "Once upon a time"')
    if len(tokenizer) > (known := model.lm_head.out_features):
        raise DataError(f"the tokenizer has {len(tokenizer)} pieces, the model {known}",
                        hint="Write --tokenizer FILE, that of the model.")
    count = min(TOKENS, max(model.limit - len(ids), 1)) if options.tokens is None else options.tokens
    if len(ids) + count > model.limit:
        raise DataError(f"the model has {model.limit} places, got {len(ids)} pieces and {count} new ones",
                        hint=f"Write --tokens {model.limit - len(ids)}, or fewer." if len(ids) < model.limit else
                        "Shorten the --prompt.")
    begin, shown = 0.0, -2      # of those behind the first one, which may have to compile
    drawn = model.stream(ids, count, options.temperature, options.top_k, options.top_p, options.seed)
    letters = sys.stdout.encoding or "utf-8"    # those that it has none of become a question mark
    try:
        for text in texts(tokenizer, ids, drawn):
            print(text.encode(letters, "replace").decode(letters), end="", flush=True)
            shown += 1
            begin = time.perf_counter() if shown <= 0 else begin
    finally:
        print(flush=True)
    if shown > 0:
        print(f"{shown / (time.perf_counter() - begin):.1f} pieces a second", file=sys.stderr)


def texts(tokenizer: data.Tokenizer | huggingface.Pieces, ids: Array, drawn: Iterator[Array]) -> Iterator[str]:
    """The text of the prompt and then what each token adds to it; letters come when they are whole."""
    held: list[Any] = ids.tolist()
    shown = tokenizer.decode(held)
    yield shown
    for token in drawn:
        held.append(int(token))
        text = tokenizer.decode(held)
        if text.startswith(shown) and not text.endswith(HALF):
            yield text[len(shown):]
            shown = text
