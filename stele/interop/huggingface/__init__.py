"""Models of Hugging Face's folders, and those of llama2.c: loaded, run, trained, and text that they write."""
from __future__ import annotations

from stele.interop.huggingface.generation import LanguageModel
from stele.interop.huggingface.llama2c import Pieces
from stele.interop.huggingface.loading import load
from stele.interop.huggingface.texts import tokenizer

__all__ = ("LanguageModel", "Pieces", "load", "tokenizer")


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
