"""Folders of Hugging Face's, and files of llama2.c, as sources."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from stele.interop.convert.source import Argument, Source, arrays_of, installed
from stele.interop.huggingface.folder import read
from stele.interop.huggingface.loading import load
from stele.ir.graph import Array

IMAGES = "ViT", "ResNet"


def opened(path: Path) -> Source:
    """The model of a folder, or of a file of llama2.c. Raises DataError for what is none."""
    module = load(path)
    layers = tuple(type(m).__name__ for _, m in module.named_modules() if not [*m.named_children()])
    if path.is_file():
        return Source("llama2.c", module, (words(len(module.state_dict()["model.embed_tokens.weight"])),),
                      arrays_of(module.state_dict().items()), module.state_dict(), layers)
    (config, weights), name = read(path), type(module).__name__
    if name.startswith(IMAGES):
        side = config.whole("image_size", 224)
        taken = Argument("pixel_values", "float32", ("batch", config.whole("num_channels", 3), side, side))
    else:
        taken = words(config.whole("vocab_size"))

    def original(arrays: Sequence[Array]) -> Any:
        library, torch = import_module("transformers"), import_module("torch")
        net = getattr(library, config.get("architectures")[0]).from_pretrained(path, attn_implementation="eager").eval()
        with torch.no_grad():
            made = net(torch.from_numpy(arrays[0]))
        known = ("logits", "last_hidden_state", "pooler_output")
        return [made[key].numpy() for key in known if made.get(key) is not None]

    return Source("Hugging Face", module, (taken,), weights, module.state_dict(), layers, "transformers",
                  original if installed("transformers", "torch") else None)


def words(count: int) -> Argument:
    """Texts as numbers of words, of so many that there are."""
    return Argument("input_ids", "int64", ("batch", "length"), count)
