"""`load`: a folder, or a file of llama2.c, as a module."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from stele import nn
from stele.errors import DataError, DTypeError
from stele.files import located
from stele.interop.huggingface import bert, gpt2, llama, llama2c, resnet, vit
from stele.interop.huggingface.config import Config
from stele.interop.huggingface.folder import Weights, read
from stele.ir.door import public
from stele.ir.types import dtype as named_dtype

ARCHITECTURES: Mapping[str, Callable[[Config], nn.Module]] = {
    "GPT2LMHeadModel": gpt2.GPT2LMHeadModel,
    "GPT2Model": gpt2.GPT2Model,
    **{f"{name}ForCausalLM": llama.LlamaForCausalLM for name in ("Llama", "Mistral", "Qwen2", "Qwen3")},
    **{f"{name}Model": llama.LlamaModel for name in ("Llama", "Mistral", "Qwen2", "Qwen3")},
    "BertModel": bert.BertModel,
    "BertForMaskedLM": bert.BertForMaskedLM,
    "BertForSequenceClassification": bert.BertForSequenceClassification,
    "BertForTokenClassification": bert.BertForTokenClassification,
    "ViTModel": vit.ViTModel,
    "ViTForImageClassification": vit.ViTForImageClassification,
    "ResNetModel": resnet.ResNetModel,
    "ResNetForImageClassification": resnet.ResNetForImageClassification,
}
BASES = "transformer", "model", "bert", "vit", "resnet"

# What older versions wrote beside the weights: masks and angles, which follow from the configuration; and what heads
# that were trained beside each other have of their own.
SPARE = re.compile(r"(^|.*\.)h\.\d+\.attn\.(bias|masked_bias)|.*rotary_emb\.inv_freq|.*embeddings\.position_ids")
HEADS = re.compile(r"cls\.seq_relationship\..*|(bert|vit)\.pooler\..*|cls\.predictions\..*|lm_head\..*|pooler\..*")
OLD = {"gamma": "weight", "beta": "bias"}


@public
def load(folder: str | Path, dtype: Any = "float32") -> nn.Module:
    """The model of a `folder` with `config.json` and `model.safetensors`, or the parts of one with an index.

    GPT-2, Llama, Mistral, Qwen, BERT, ViT and ResNet, alone or with the heads that their configurations name, under
    the names of their checkpoints, in evaluation mode and in the `dtype` that is given, a float. Language models
    `generate`. A file in the format of llama2.c, `.bin`, is a Llama. Raises DataError for what is missing, damaged or
    of another architecture, and where configuration and weights do not fit; DTypeError for what is no float.

    ```
    model = huggingface.load("gpt2")
    model.generate(tokens, max_new_tokens=40, temperature=0.8, top_p=0.95, seed=0)
    ```

    >>> import stele.interop.huggingface as hf
    >>> try:
    ...     hf.load("no folder")
    ... except ValueError as error:
    ...     print(type(error).__name__)
    DataError
    """
    kind = named_dtype(dtype)
    if not kind.is_float:
        raise DTypeError(f"a model is loaded as floats, got {kind}", hint="Write dtype='float32'.")
    where = located(folder)
    if where.is_file():
        return llama2c.load(where).to(kind).eval()
    config, weights = read(where)
    model = architecture(config)(config).to(kind)
    state = fitted(model, weights)
    if isinstance(model, bert.BertModel | vit.ViTModel) and not any(name.startswith("pooler.") for name in state):
        model.pooler = None     # saved without one, of which configurations say nothing
    model.load_state_dict(state)
    return model.eval()


def architecture(config: Config) -> Callable[[Config], nn.Module]:
    """What makes the model that a configuration names."""
    names: Any = config.get("architectures")
    if not isinstance(names, list) or not names:
        raise DataError(f"architectures names a class in {config.source}, got {names!r:.60}")
    for name in names:
        if isinstance(name, str) and name in ARCHITECTURES:
            return ARCHITECTURES[name]
    raise DataError(f"{config.source} describes a {', '.join(map(str, names)):.80}; known are "
                    f"{', '.join(ARCHITECTURES)}", hint="Export it as ONNX, and use stele.interop.onnx.load.")


def fitted(model: nn.Module, weights: Weights) -> Weights:
    """Weights under the names of the model: what older versions called otherwise or had more is taken care of."""
    names = {old: renamed(old) for old in weights if not SPARE.fullmatch(old)}
    own, base = model.state_dict(), getattr(model, "base", None)
    if base is not None and not any(new.startswith(f"{base}.") for new in names.values()):
        names = {old: new if new in own else f"{base}.{new}" for old, new in names.items()}
    elif base is None and (first := prefix_of(names.values())):
        names = {old: new.removeprefix(f"{first}.") for old, new in names.items()}
    return weights.named({old: new for old, new in names.items()
                          if new in own or model.member(new) is not None or not HEADS.fullmatch(new)})


def renamed(name: str) -> str:
    """What is called so now."""
    front, dot, last = name.rpartition(".")
    return f"{front}{dot}{OLD.get(last, last)}"


def prefix_of(names: Iterable[str]) -> str | None:
    """The word that a model with a head has before its own names, where there are any."""
    return next((base for base in BASES for name in names if name.startswith(f"{base}.")), None)
