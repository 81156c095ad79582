"""Folders of Hugging Face's as sources."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from stele.interop.convert.source import Argument, Source
from stele.interop.huggingface.folder import read
from stele.interop.huggingface.loading import load
from stele.ir.graph import Array

IMAGES = "ViT", "ResNet"


def opened(path: Path) -> Source:
    """The model of a folder. Raises DataError for what is none."""
    module, (config, weights) = load(path), read(path)
    name = type(module).__name__
    if name.startswith(IMAGES):
        side = config.whole("image_size", 224)
        taken = Argument("pixel_values", "float32", ("batch", config.whole("num_channels", 3), side, side))
    else:
        taken = Argument("input_ids", "int64", ("batch", "length"), config.whole("vocab_size"))

    try:
        library, torch = import_module("transformers"), import_module("torch")
    except ImportError:
        library = torch = None

    def original(arrays: Sequence[Array]) -> Any:
        assert torch is not None
        net = getattr(library, config.get("architectures")[0]).from_pretrained(path, attn_implementation="eager").eval()
        with torch.no_grad():
            made = net(torch.from_numpy(arrays[0]))
        known = ("logits", "last_hidden_state", "pooler_output")
        return [made[key].numpy() for key in known if made.get(key) is not None]

    layers = tuple(type(m).__name__ for _, m in module.named_modules() if not [*m.named_children()])
    return Source("Hugging Face", module, (taken,), weights, module.state_dict(), layers, "transformers",
                  original if library else None)
