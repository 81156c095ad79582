"""Small models of Hugging Face's library: what their checkpoints hold, and what they answer, kept in `tests/recorded/`.

`python -m tests.huggingface`, where `transformers` and PyTorch are installed, asks and keeps anew. Weights follow from
their names, so none are kept.
"""
from __future__ import annotations

import json
import struct
import tempfile
import zlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

Array = np.ndarray[Any, Any]
KEPT = Path(__file__).resolve().parent / "recorded" / "huggingface.json"

TEXT = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
        "vocab_size": 40, "max_position_embeddings": 48}
LLAMA = {**TEXT, "num_key_value_heads": 2, "eos_token_id": 39, "bos_token_id": 0}
GPT2 = {"vocab_size": 40, "n_positions": 48, "n_embd": 16, "n_layer": 2, "n_head": 4, "eos_token_id": 39,
        "bos_token_id": 0}
VIT = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 16,
       "patch_size": 4}
RESNET = {"embedding_size": 8, "hidden_sizes": [8, 12], "depths": [2, 1]}
STRETCHED = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
             "high_freq_factor": 4.0, "original_max_position_embeddings": 16}

# The class, the configuration's class, and its options.
MODELS: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2":             ("GPT2LMHeadModel", "GPT2Config", GPT2),
    "gpt2-untied":      ("GPT2LMHeadModel", "GPT2Config", {
        **GPT2, "tie_word_embeddings": False, "scale_attn_by_inverse_layer_idx": True, "n_inner": 20}),
    "gpt2-features":    ("GPT2Model", "GPT2Config", GPT2),
    "llama":            ("LlamaForCausalLM", "LlamaConfig", LLAMA),
    "llama-stretched":  ("LlamaForCausalLM", "LlamaConfig", {
        **LLAMA, "rope_parameters": STRETCHED, "attention_bias": True, "mlp_bias": True, "head_dim": 6}),
    "llama-linear":     ("LlamaForCausalLM", "LlamaConfig", {
        **LLAMA, "rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}}),
    "llama-features":   ("LlamaModel", "LlamaConfig", LLAMA),
    "mistral":          ("MistralForCausalLM", "MistralConfig", {
        **LLAMA, "sliding_window": 5, "tie_word_embeddings": True}),
    "qwen2":            ("Qwen2ForCausalLM", "Qwen2Config", {
        **LLAMA, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}),
    "qwen3":            ("Qwen3ForCausalLM", "Qwen3Config", {**LLAMA, "head_dim": 8}),
    "bert":             ("BertModel", "BertConfig", TEXT),
    "bert-words":       ("BertForMaskedLM", "BertConfig", TEXT),
    "bert-texts":       ("BertForSequenceClassification", "BertConfig", {**TEXT, "num_labels": 3}),
    "bert-tokens":      ("BertForTokenClassification", "BertConfig", {**TEXT, "num_labels": 3, "hidden_act": "relu"}),
    "vit":              ("ViTForImageClassification", "ViTConfig", {**VIT, "num_labels": 5}),
    "vit-features":     ("ViTModel", "ViTConfig", {**VIT, "qkv_bias": False}),
    "resnet":           ("ResNetForImageClassification", "ResNetConfig", {**RESNET, "num_labels": 5}),
    "resnet-basic":     ("ResNetForImageClassification", "ResNetConfig", {
        **RESNET, "layer_type": "basic", "downsample_in_first_stage": True, "num_labels": 5}),
    "resnet-features":  ("ResNetModel", "ResNetConfig", {**RESNET, "downsample_in_bottleneck": True}),
}
WRITERS = "gpt2", "llama", "llama-stretched", "mistral", "qwen2", "qwen3"


def weights(shapes: Mapping[str, Any]) -> dict[str, Array]:
    """Numbers for each name, the same everywhere."""
    return {name: weight(name, tuple(shape)) for name, shape in shapes.items()}


def weight(name: str, shape: tuple[int, ...]) -> Array:
    """The numbers of one name: about 1 for what scales, above 0 for variances."""
    if name.endswith("num_batches_tracked"):
        return np.zeros(shape, np.int64)
    x = np.random.default_rng(zlib.crc32(name.encode())).normal(size=shape)
    if name.endswith("running_var"):
        return (0.5 + x ** 2).astype(np.float32)
    scales = len(shape) == 1 and name.endswith("weight")
    return (1 + 0.2 * x if scales else 0.3 * x).astype(np.float32)


def legacy(path: Path, words: int = 266) -> Path:
    """A model in the format of llama2.c."""
    sizes = 16, 24, 2, 4, 2, words, 64
    count = 16 * words + 16 * 5 + 2 * (16 * 16 * 2 + 8 * 16 * 2 + 3 * 16 * 24) + 64 * 4
    x = np.random.default_rng(0).normal(size=count) * 0.3
    path.write_bytes(struct.pack("<7i", *sizes) + x.astype("<f4").tobytes())
    return path


def inputs(kind: str) -> dict[str, Array]:
    """What a model is given: images, or texts."""
    rng = np.random.default_rng(0)
    if kind.startswith(("vit", "resnet")):
        return {"pixel_values": rng.normal(size=(2, 3, 16, 16)).astype(np.float32)}
    ids = rng.integers(1, 38, (2, 9))
    if kind.startswith("bert"):
        return {"input_ids": ids, "attention_mask": (np.arange(9) < [[9], [5]]).astype(np.int64),
                "token_type_ids": (np.arange(9) > 3).astype(np.int64)[None].repeat(2, 0)}
    return {"input_ids": ids}


def write(folder: Path, found: Mapping[str, Any], shards: int = 1) -> Path:
    """A folder as `save_pretrained` makes it: the configuration and weights, in one file or several with an index."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(found["config"]))
    arrays = weights(found["shapes"])
    if shards == 1:
        save_file(arrays, folder / "model.safetensors", {"format": "pt"})
        return folder
    names, files = sorted(arrays), [f"model-{k + 1:05}-of-{shards:05}.safetensors" for k in range(shards)]
    for k, file in enumerate(files):
        save_file({n: arrays[n] for n in names[k::shards]}, folder / file)
    where = {n: files[k % shards] for k, n in enumerate(names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    return folder


def ask(kind: str) -> dict[str, Any]:
    """What the library says of one model: its configuration, names and shapes of its weights, its answers."""
    torch, library = import_module("torch"), import_module("transformers")
    model, config, options = MODELS[kind]
    net = getattr(library, model)(getattr(library, config)(**options))
    with tempfile.TemporaryDirectory() as folder:
        net.save_pretrained(folder)
        says = json.loads((Path(folder) / "config.json").read_text())
        with safe_open(Path(folder) / "model.safetensors", "np") as file:
            shapes = {name: file.get_slice(name).get_shape() for name in sorted(file.keys())}
        write(Path(folder), {"config": says, "shapes": shapes})
        net = getattr(library, model).from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        made = net(**{name: torch.tensor(x) for name, x in inputs(kind).items()})
        answers = [made[k] for k in ("logits", "last_hidden_state", "pooler_output") if made.get(k) is not None]
        found = {"config": says, "shapes": shapes,
                 "answers": [[float(f"{x:.6g}") for x in a.flatten().tolist()] for a in answers]}
        if kind in WRITERS:
            ids = torch.tensor(inputs(kind)["input_ids"])
            found["text"] = net.generate(ids, max_new_tokens=30, do_sample=False, pad_token_id=39,
                                         attention_mask=torch.ones_like(ids)).tolist()
    return found


def main() -> None:
    """Asks of all models and keeps what they say."""
    kept = {kind: ask(kind) for kind in MODELS}
    KEPT.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}"
                                       for k, v in kept.items()) + "\n}\n")


if __name__ == "__main__":
    main()
