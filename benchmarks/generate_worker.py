"""One framework that writes texts greedily, for `benchmarks/generate.py`: a line of JSON comes in, an answer goes out.

Everything is float32, weights and caches too, and each writes as fast as its own words allow: Stele by `model.stream`,
PyTorch by calls of a model of `transformers`, one for each token, without gradients, with a cache that grows, or with
one of a fixed size and the whole step compiled; llama.cpp by `llama_decode` and its greedy sampler, from a GGUF file of
the same numbers.
"""
from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_int32
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

Stream = Callable[[Sequence[int], int], Iterator[int]]      # so many tokens behind a text, as they come
SCALES = "attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight"    # (in, out) in GPT-2


def stele(folder: Path, threads: int, room: int) -> Stream:
    import stele as st
    from stele.interop import huggingface

    st.set_threads(threads)
    model: Any = huggingface.load(folder)
    return lambda ids, count: map(int, model.stream(ids, count, temperature=0, stop=()))


def pytorch(folder: Path, threads: int, room: int, compiled: bool = False) -> Stream:
    torch, library = import_module("torch"), import_module("transformers")
    torch.set_num_threads(threads)
    model = library.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def step(ids: Any, cache: Any) -> Any:
        made = model(ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
        return made.logits[:, -1].argmax(-1, keepdim=True)

    kept = library.StaticCache(config=model.config, max_cache_len=room) if compiled else None
    step = torch.compile(step, dynamic=False) if compiled else step

    @torch.inference_mode()
    def stream(ids: Sequence[int], count: int) -> Iterator[int]:
        if kept is not None:
            kept.reset()
        cache = kept or library.DynamicCache(config=model.config)
        token = torch.tensor([ids])
        for _ in range(count):
            token = step(token, cache)
            yield int(token)

    return stream


def llama(folder: Path, threads: int, room: int) -> Stream:
    api = import_module("llama_cpp")
    silent = api.llama_log_callback(lambda level, text, data: None)
    api.llama_log_set(silent, None)
    api.llama_backend_init()
    model = api.llama_model_load_from_file(str(gguf(folder)).encode(), api.llama_model_default_params())
    how = api.llama_context_default_params()
    how.n_ctx = how.n_batch = how.n_ubatch = room
    how.n_threads = how.n_threads_batch = threads
    how.type_k = how.type_v = api.GGML_TYPE_F32
    how.flash_attn_type = api.LLAMA_FLASH_ATTN_TYPE_DISABLED    # which computes in halves
    context, sampler = api.llama_init_from_model(model, how), api.llama_sampler_init_greedy()

    def stream(ids: Sequence[int], count: int) -> Iterator[int]:
        assert silent
        api.llama_memory_clear(api.llama_get_memory(context), True)
        given = list(ids)
        for _ in range(count):
            room = (c_int32 * len(given))(*given)
            if failed := api.llama_decode(context, api.llama_batch_get_one(room, len(given))):
                raise RuntimeError(f"llama_decode answers {failed}")
            given = [api.llama_sampler_sample(sampler, context, -1)]
            yield given[0]

    return stream


def gguf(folder: Path) -> Path:
    """The model of a folder as a GGUF file of float32, beside it."""
    library, path = import_module("gguf"), folder / "model.gguf"
    c = json.loads((folder / "config.json").read_text())
    kind, layers = c["model_type"], c.get("n_layer") or c["num_hidden_layers"]
    names = library.get_tensor_name_map(getattr(library.MODEL_ARCH, kind.upper()), layers)
    out = library.GGUFWriter(path, kind)
    width, heads = (c.get(a) or c.get(b) for a, b in (("n_embd", "hidden_size"), ("n_head", "num_attention_heads")))
    out.add_file_type(library.LlamaFileType.ALL_F32)
    out.add_tokenizer_model("no_vocab")
    out.add_vocab_size(c["vocab_size"])
    out.add_context_length(c.get("n_positions") or c["max_position_embeddings"])
    out.add_embedding_length(width)
    out.add_block_count(layers)
    out.add_head_count(heads)
    out.add_feed_forward_length(c.get("intermediate_size", 4 * width))
    if kind == "gpt2":
        out.add_layer_norm_eps(c["layer_norm_epsilon"])
    else:
        out.add_head_count_kv(c["num_key_value_heads"])
        out.add_layer_norm_rms_eps(c["rms_norm_eps"])
        out.add_rope_dimension_count(width // heads)
    for name, x in import_module("safetensors.numpy").load_file(folder / "model.safetensors").items():
        if name.endswith(SCALES) and kind == "gpt2":
            x = x.T.copy()
        if name.endswith(("q_proj.weight", "k_proj.weight")):   # pairs that turn lie side by side here
            x = x.reshape(-1, 2, width // heads // 2, width).swapaxes(1, 2).reshape(x.shape)
        out.add_tensor(names.get_name(name, (".weight", ".bias")), x)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path


FRAMEWORKS: dict[str, Callable[[Path, int, int], Stream]] = {
    "stele": stele, "pytorch": pytorch, "pytorch-compiled": partial(pytorch, compiled=True), "llama.cpp": llama}


def timed(stream: Stream, ids: Sequence[int], count: int, clock: Callable[[], float]) -> tuple[float, float, list[int]]:
    """Seconds until the first token and of those behind it, and the tokens."""
    begin = clock()
    tokens = stream(ids, count)
    made = [next(tokens)]
    first = clock()
    made += tokens
    return first - begin, clock() - first, made


def main(folder: Path, threads: int) -> None:
    streams: list[Stream] = []
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "load":
            streams.append(FRAMEWORKS[asked["framework"]](folder, threads, asked["room"]))
            print("{}", flush=True)
        else:
            clock = time.process_time if asked["alone"] else time.perf_counter
            first, rest, tokens = timed(streams[0], asked["ids"], asked["count"], clock)
            print(json.dumps({"first": first, "rest": rest, "tokens": tokens}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
