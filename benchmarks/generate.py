"""Texts that go on, beside PyTorch's `transformers` and llama.cpp: tokens a second, one text, float32, as a table.

    python benchmarks/generate.py [ROWS ...] --python pytorch=PATH pytorch-compiled=PATH llama.cpp=PATH

PATH is an interpreter that has torch and transformers, or llama-cpp-python, gguf and safetensors. Each framework is a
process of its own for each row and number of threads, which reads the same weights: those of stories260K, of the folder
`--data`, and random ones in the shapes of larger models. All write greedily, and before anything is timed their tokens
are compared: where one writes another token than Stele, the two must be as good as equal by Stele's logits. Then they
take turns. Of each turn: how many tokens a second follow the first one of a short text, milliseconds until that first
token is there, and how many tokens a second of a long text are read until its next one is there. Programs are compiled
by then. Medians (least..most) in Markdown. With `--alone` seconds are those of the processor, whatever others do on the
machine, which is the same for one thread.
"""
from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import save_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from stele.interop import huggingface  # noqa: E402  (the interpreter need not have Stele)
from stele.interop.huggingface.config import Config  # noqa: E402
from stele.interop.huggingface.loading import architecture  # noqa: E402
from stele.rosetta import machine  # noqa: E402
from stele.rosetta.process import Died, Process  # noqa: E402

STORY, BEGIN = "stories260K", "Once upon a time, there was a"
NEW = 200                               # tokens that follow a short text
TIE = 1e-3                              # logits nearer than this are as good as equal
FRAMEWORKS = "stele", "pytorch", "pytorch-compiled", "llama.cpp"
MEASURES = "new tokens/s", "first token, ms", "tokens read/s"
Times = dict[str, list[float]]


class Row(NamedTuple):
    """A model: the words of its configuration, and tokens of a long text."""

    config: dict[str, Any]
    long: int


def llama(width: int, inner: int, layers: int, heads: int, places: int) -> dict[str, Any]:
    """The configuration of one of the models of llama2.c."""
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width,
            "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": heads,
            "num_key_value_heads": heads, "vocab_size": 32000, "max_position_embeddings": places,
            "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": True, "bos_token_id": 1,
            "eos_token_id": 2}


GPT2 = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024,
        "n_embd": 768, "n_layer": 12, "n_head": 12, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
        "tie_word_embeddings": True, "bos_token_id": 50256, "eos_token_id": 50256}
ROWS = {STORY: Row({**llama(64, 172, 5, 8, 512), "num_key_value_heads": 4, "vocab_size": 512}, 128),
        "stories15M": Row(llama(288, 768, 6, 6, 256), 128),
        "stories110M": Row(llama(768, 2048, 12, 12, 1024), 512),
        "gpt2": Row(GPT2, 512)}


def write(folder: Path, name: str, data: Path) -> int:
    """Writes a folder of configuration and weights; the bytes of these."""
    folder.mkdir()
    config = ROWS[name].config
    (folder / "config.json").write_text(json.dumps(config))
    said = Config(config, name)
    model: Any = huggingface.load(data / "models" / f"{STORY}.bin") if name == STORY else architecture(said)(said)
    rng = np.random.default_rng(0)
    state = {key: x.numpy() if name == STORY else drawn(rng, key, x.shape)
             for key, x in model.state_dict().items() if key != "lm_head.weight"}
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    return sum(x.nbytes for x in state.values())


def drawn(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> Any:
    """Weights whose sums are about 1; 1 for what scales, small biases."""
    if len(shape) == 1:
        return (rng.normal(size=shape) * 0.02 + name.endswith("weight")).astype(np.float32)
    return (rng.normal(size=shape) * min(shape) ** -0.5).astype(np.float32)


def texts(name: str, data: Path) -> tuple[list[int], list[int]]:
    """A short text and a long one: a story that begins, or tokens that mean nothing."""
    row = ROWS[name]
    ids = np.random.default_rng(1).integers(3, row.config["vocab_size"], row.long).tolist()
    begin = huggingface.Pieces(data / "models" / "tok512.bin").encode(BEGIN).tolist()
    return begin if name == STORY else ids[:len(begin)], ids


def compare(folder: Path, text: Sequence[int], wrote: dict[str, list[int]]) -> None:
    """Raises unless all wrote what Stele wrote, up to a token that is as good as Stele's."""
    for name, tokens in wrote.items():
        ours = wrote["stele"]
        if tokens == ours:
            continue
        place = next(k for k, (a, b) in enumerate(zip(ours, tokens, strict=True)) if a != b)
        model: Any = huggingface.load(folder)
        logits = model(np.array([[*text, *ours[:place]]]))[0, -1].numpy()
        gap = float(logits[ours[place]] - logits[tokens[place]])
        print(f"{folder.name}: token {place} of {name} is another, {gap:.2g} less likely", file=sys.stderr)
        if abs(gap) > TIE:
            raise SystemExit(f"{name} writes another text than Stele: nothing is timed")


def by_turns(folder: Path, given: tuple[list[int], list[int]], threads: int, pythons: dict[str, str],
             asked: argparse.Namespace) -> dict[str, Times]:
    """What each framework takes, in turns."""
    (short, long), how = given, {"alone": asked.alone}
    room = 1 << (max(len(short) + NEW, len(long) + 1) - 1).bit_length()
    processes: dict[str, Process] = {}
    found: dict[str, Times] = {name: {measure: [] for measure in MEASURES} for name in pythons}
    try:
        for name, python in pythons.items():
            processes[name] = Process(Path(python), folder, threads, folder.parent, worker=HERE / "generate_worker.py")
            processes[name].ask("load", framework=name, room=room)
        for count, ids in ((2, long), (NEW, short)):
            said = {name: process.ask("write", ids=ids, count=count, **how) for name, process in processes.items()}
            compare(folder, ids, {name: words["tokens"] for name, words in said.items()})
        for k in range(asked.turns + 1):    # the first of which is left out
            for name in (list, reversed)[k % 2](list(processes)):
                new = processes[name].ask("write", ids=short, count=NEW, **how)
                read = processes[name].ask("write", ids=long, count=1, **how)["first"]
                for measure, x in zip(MEASURES, ((NEW - 1) / new["rest"], new["first"] * 1e3, len(long) / read)):
                    found[name][measure] += [x] * (k > 0)
    finally:
        for process in processes.values():
            process.end()
    return found


def cell(values: Sequence[float]) -> str:
    """Median (least..most)."""
    middle, least, most = (f"{x:,.0f}" if x >= 100 else f"{x:.3g}" for x in (f(values) for f in (median, min, max)))
    return f"{middle} ({least}..{most})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROWS", help=f"of {', '.join(ROWS)}; all without")
    parser.add_argument("--python", nargs="+", default=[], metavar="FRAMEWORK=PATH",
                        help=f"interpreters of {', '.join(FRAMEWORKS[1:])}")
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared" / "data", help="where models/ is")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--alone", action="store_true", help="seconds of the processor, on one thread")
    asked = parser.parse_args()
    if asked.alone and asked.threads != [1]:
        parser.error("--alone measures one thread: add --threads 1")
    pythons = {"stele": sys.executable, **dict(text.split("=", 1) for text in asked.python)}
    for threads in asked.threads:
        m = machine.measure(threads)
        print(f"{m.cpu}, threads: {threads}; measured peaks {m.flops / 1e9:.0f} GFLOP/s, {m.traffic / 1e9:.0f} GB/s")
    print(f"\n| model | threads | | {' | '.join(pythons)} |\n| --- | --- | --- |{' --- |' * len(pythons)}")
    with tempfile.TemporaryDirectory() as place:
        for name in asked.rows or ROWS:
            folder = Path(place, name)
            size = write(folder, name, asked.data)
            for threads in asked.threads:
                try:
                    found = by_turns(folder, texts(name, asked.data), threads, pythons, asked)
                except Died as error:
                    raise SystemExit(f"{name}: {error}") from None
                for measure in MEASURES:
                    cells = " | ".join(cell(found[framework][measure]) for framework in pythons)
                    print(f"| {name}, {size / 1e6:.0f} MB | {threads} | {measure} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
