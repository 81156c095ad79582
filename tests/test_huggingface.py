"""Models of Hugging Face's folders and of llama2.c give and write what theirs do, and damage is refused."""
from __future__ import annotations

import copy
import io
import json
import pickle
import struct
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats import shared
from huggingface import KEPT, MODELS, inputs, legacy, weights, write
from safetensors.numpy import load_file, save_file

import stele as st
from stele import nn, optim
from stele.cli import COMMANDS
from stele.commands.arguments import run
from stele.errors import ArgumentError, DataError, ShapeError
from stele.interop import huggingface
from stele.interop.huggingface.config import Config
from stele.interop.huggingface.generation import Kind, chosen

Array = np.ndarray[Any, Any]
SAYS: Mapping[str, Any] = json.loads(KEPT.read_text())
STORY = ("Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she "
         "saw a big, red ball. She wanted to play with it, but it was too high.\nLily's mom said, \"Lily, let's go to "
         "the park.\"")


def answers(model: Any, kind: str, **options: Any) -> list[Array]:
    """What a model makes of the inputs that were recorded."""
    made = st.compile(model, **options)(**{name: st.tensor(x) for name, x in inputs(kind).items()})
    return [a.numpy().reshape(-1) for a in (made if isinstance(made, tuple) else [made]) if a is not None]


def agree(found: list[Array], kind: str) -> None:
    """The answers are those that were recorded."""
    for a, b in zip(found, SAYS[kind]["answers"], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5 * np.abs(b).max())


@pytest.mark.parametrize("kind", MODELS)
def test_models_give_what_the_library_gives(kind: str, tmp_path: Path) -> None:
    model = huggingface.load(write(tmp_path / "model", SAYS[kind]))
    assert not model.training
    agree(answers(model, kind, backend="reference"), kind)
    held = {name for name in SAYS[kind]["shapes"] if not name.endswith("num_batches_tracked")}
    assert held <= set(model.state_dict())


@pytest.mark.parametrize("kind", ["bert-words", "resnet"])
def test_compiled_models_do_too(kind: str, tmp_path: Path) -> None:
    agree(answers(huggingface.load(write(tmp_path / "model", SAYS[kind])), kind), kind)


@pytest.mark.parametrize("kind", ["gpt2", "llama-stretched", "mistral"])
def test_text_goes_on_as_the_library_writes_it(kind: str, tmp_path: Path) -> None:
    model, want = huggingface.load(write(tmp_path / "model", SAYS[kind])), np.array(SAYS[kind]["text"])
    assert isinstance(model, huggingface.LanguageModel)
    ids = inputs(kind)["input_ids"]
    np.testing.assert_array_equal(model.generate(ids, 30, temperature=0), want)
    if kind != "gpt2":
        return
    ends = [row[9:].tolist().index(39) + 10 if 39 in row[9:] else 39 for row in want]
    one = [model.generate(row, 30, temperature=0).tolist() for row in ids]      # each ends by itself
    assert one == [row[:end].tolist() for row, end in zip(want, ends)]


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return huggingface.load(write(tmp_path_factory.mktemp("m") / "gpt2", SAYS["gpt2"]))


def test_a_seed_is_a_text(writer: Any) -> None:
    ids = inputs("gpt2")["input_ids"][0]
    draw: Callable[..., list[int]] = lambda **how: writer.generate(ids, 20, stop=(), **how).tolist()
    assert draw(seed=1) == draw(seed=1) != draw(seed=2)
    st.manual_seed(3)
    one, other = draw(), draw()
    st.manual_seed(3)
    assert one == draw() != other


def test_the_most_likely_tokens_draw_nothing(writer: Any) -> None:
    ids = inputs("gpt2")["input_ids"][0]
    before = st.default_generator.state_dict()
    assert writer.generate(ids, 4, temperature=0).tolist() == writer.generate(ids, 4, temperature=0, seed=1).tolist()
    assert repr(st.default_generator.state_dict()) == repr(before)


def test_several_tokens_of_a_call_are_those_of_several_calls(writer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = inputs("gpt2")["input_ids"]
    write: Callable[..., Any] = lambda model, **how: model.generate(ids, 20, stop=(), **how).tolist()
    hows = {"temperature": 0}, {"seed": 1}, {"seed": 2, "top_k": 5}, {"seed": 3, "top_p": 0.9}
    found = [write(writer, **how) for how in hows]
    monkeypatch.setattr("stele.interop.huggingface.generation.LIGHT", 0)
    assert found == [write(copy.deepcopy(writer), **how) for how in hows]


def test_streams_do_not_disturb_each_other(writer: Any) -> None:
    ids = inputs("gpt2")["input_ids"][0]
    one, other = (writer.stream(ids, 12, seed=k, stop=()) for k in (1, 2))
    both = [(int(a), int(b)) for a, b in zip(one, other)]
    alone = [[int(a) for a in writer.stream(ids, 12, seed=k, stop=())] for k in (1, 2)]
    assert both == list(zip(*alone)) and alone[0] != alone[1]
    broken = writer.stream(ids, 12, seed=1)
    next(broken)
    broken.close()
    assert [int(a) for a in writer.stream(ids, 12, seed=1, stop=())] == alone[0]


def test_text_ends_behind_what_stops_it(writer: Any) -> None:
    ids = inputs("gpt2")["input_ids"][0]
    whole = [int(a) for a in writer.stream(ids, 12, temperature=0, stop=())]
    end = whole[4]
    assert [int(a) for a in writer.stream(ids, 12, temperature=0, stop=[end])] == whole[:whole.index(end) + 1]


def test_a_share_of_nothing_is_the_most_likely_token(writer: Any) -> None:
    ids = inputs("gpt2")["input_ids"][0]
    want = writer.generate(ids, 8, temperature=0).tolist()
    for how in {"top_p": 0}, {"top_k": 1}:
        assert writer.generate(ids, 8, seed=1, **how).tolist() == want


def test_a_copy_writes_the_same(writer: Any) -> None:
    ids = inputs("gpt2")["input_ids"][0]
    want = writer.generate(ids, 8, seed=0).tolist()
    for other in (copy.deepcopy(writer), pickle.loads(pickle.dumps(writer))):
        assert other.generate(ids, 8, seed=0).tolist() == want


def test_draws_follow_temperature_top_k_and_top_p() -> None:
    logits, n, heat = np.array([0.5, 2.0, -1.0, 1.0, 1.5, -3.0], np.float32), 20_000, 0.7
    p = np.exp(logits / heat) / np.exp(logits / heat).sum()
    order = np.argsort(-p)
    for top_k, top_p in ((None, None), (3, None), (None, 0.8), (4, 0.75)):
        kept = order[:top_k]
        share = p[kept] / p[kept].sum()
        kept = kept[np.cumsum(share) - share < (top_p or 1.0)]
        want = np.zeros(6)
        want[kept] = p[kept] / p[kept].sum()
        kind, rng = Kind(n, 32, top_k, top_p is not None, False), st.random.Generator(1)
        found = chosen(st.broadcast_to(st.tensor(logits), (n, 6)), kind, st.tensor(heat), st.tensor(top_p or 1.0), rng)
        seen = np.bincount(found.numpy(), minlength=6) / n
        assert ((seen > 0) == (want > 0)).all()
        np.testing.assert_allclose(seen, want, atol=5 * 0.5 / n ** 0.5)


@pytest.mark.parametrize(("how", "says"), [
    ({"max_new_tokens": 40}, "48 places, got 9 tokens and 40"), ({"max_new_tokens": 0}, "max_new_tokens"),
    ({"input_ids": [1] * 48}, "Give it at most 47 tokens"),
    ({"temperature": -1.0}, "temperature"), ({"top_p": 1.5}, "top_p"), ({"top_k": 0}, "top_k"),
    ({"stop": ["x"]}, "stop"), ({"input_ids": [0.5]}, "at least one token"), ({"input_ids": []}, "at least one token")])
def test_what_cannot_be_written_is_refused(how: dict[str, Any], says: str, writer: Any) -> None:
    with pytest.raises((ArgumentError, ValueError), match=says):
        writer.generate(**{"input_ids": inputs("gpt2")["input_ids"][0], "max_new_tokens": 8, **how})


@pytest.mark.parametrize(("kind", "x", "says"), [
    *((kind, np.arange(5), r"tokens \(N, L\), got \(5,\).*x\[None\]") for kind in ("gpt2", "llama", "bert")),
    *((kind, np.zeros((3, 16, 16), "f4"), r"images \(N, C, H, W\).*x\[None\]") for kind in ("vit", "resnet")),
    ("vit", np.zeros((1, 3, 20, 16), "f4"), r"images of size \(16, 16\), got \(20, 16\)")])
def test_inputs_of_other_axes_are_refused(kind: str, x: Array, says: str, tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match=says):
        huggingface.load(write(tmp_path / "model", SAYS[kind]))(st.tensor(x))


@pytest.mark.parametrize("kind", ["resnet", "resnet-basic"])
def test_layers_of_a_residual_network_are_relu_within(kind: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "model", SAYS[kind])
    change(hidden_act="silu")(folder)
    acts = {name: m.act for name, m in huggingface.load(folder).named_modules() if hasattr(m, "act")}
    within = [act for name, act in acts.items() if ".layer." in name]
    outside = [act for name, act in acts.items() if ".layer." not in name and ".shortcut" not in name]
    assert {*within} == {"relu", None} and {*outside} == {"silu"}      # the last has none, as the sum has one


def test_vocabularies_of_pairs_have_tokens_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    words = ["<|endoftext|>", "<mask>", *"ab<|>/", "ab"]
    (tmp_path / "vocab.json").write_text(json.dumps({word: k for k, word in enumerate(words)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"mask_token": {"content": "<mask>"}, "x": ["</s>"]}))
    t = huggingface.tokenizer(tmp_path)
    assert t.encode("ab<|endoftext|>b<mask>").tolist() == [8, 0, 3, 1] and t.decode([8, 0, 3, 1]) == "abb"
    assert len(t) == 9


def test_parts_of_a_checkpoint_are_one(tmp_path: Path) -> None:
    model = huggingface.load(write(tmp_path / "parts", SAYS["llama"], shards=3))
    agree(answers(model, "llama", backend="reference"), "llama")


def test_names_of_older_checkpoints_are_understood(tmp_path: Path) -> None:
    for kind, old in (("gpt2", lambda n: n.removeprefix("transformer.")),
                      ("bert", lambda n: f"bert.{n}".replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                          "LayerNorm.bias", "LayerNorm.beta"))):
        folder = write(tmp_path / kind, SAYS[kind])
        more = {"h.0.attn.bias": np.ones((1, 1, 4, 4), np.float32)} if kind == "gpt2" else {
            "cls.seq_relationship.bias": np.ones(2, np.float32)}
        save_file({old(n): a for n, a in weights(SAYS[kind]["shapes"]).items()} | more, folder / "model.safetensors")
        agree(answers(huggingface.load(folder), kind, backend="reference"), kind)


@pytest.mark.parametrize("kind", ["bert", "vit-features"])
def test_folders_without_a_pooler_give_features_alone(kind: str, tmp_path: Path) -> None:
    whole = huggingface.load(folder := write(tmp_path / kind, SAYS[kind]))
    kept = {n: a for n, a in weights(SAYS[kind]["shapes"]).items() if not n.startswith("pooler.")}
    save_file(kept, folder / "model.safetensors")
    x = st.tensor(next(iter(inputs(kind).values())))
    features, pooled = huggingface.load(folder)(x)
    assert pooled is None and bool((features == whole(x)[0]).all())
    save_file({n: a for n, a in kept.items() if "embedding" not in n}, folder / "model.safetensors")
    with pytest.raises(DataError, match=r"missing: embeddings"):
        huggingface.load(folder)


def test_dtypes(tmp_path: Path) -> None:
    folder = write(tmp_path / "model", SAYS["vit"])
    half = {n: a.astype(np.float16) for n, a in weights(SAYS["vit"]["shapes"]).items()}
    save_file(half, folder / "model.safetensors")
    assert {x.dtype for x in huggingface.load(folder).parameters()} == {st.float32}
    assert {x.dtype for x in huggingface.load(folder, dtype="float64").parameters()} == {st.float64}
    with pytest.raises(TypeError, match="loaded as floats"):
        huggingface.load(folder, dtype="int8")


def test_loaded_models_learn(tmp_path: Path) -> None:
    model = huggingface.load(write(tmp_path / "model", SAYS["llama"])).train()
    ids, optimizer = st.tensor(inputs("llama")["input_ids"]), optim.Adam(model.parameters(), lr=0.02)

    @st.compile(backend="reference")
    def step() -> st.Tensor:
        optimizer.zero_grad()
        loss = nn.cross_entropy(model(ids)[:, :-1].reshape(-1, 40), ids[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        return loss

    losses = [float(step()) for _ in range(8)]
    assert losses[-1] < 0.7 * losses[0] and all(x.grad is not None for x in model.parameters())


def change(**entries: Any) -> Callable[[Path], None]:
    """Writes a configuration with other entries."""
    def made(folder: Path) -> None:
        values = json.loads((folder / "config.json").read_text()) | entries
        (folder / "config.json").write_text(json.dumps(values))
    return made


def index(**where: str) -> Callable[[Path], None]:
    """Puts an index in the place of the weights."""
    def made(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "one.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    return made


def untied(folder: Path) -> None:
    """Writes a head of its own beside the embedding that is to be its weight."""
    x = load_file(folder / "model.safetensors")
    save_file({**x, "lm_head.weight": x["transformer.wte.weight"] + 1}, folder / "model.safetensors")


def header(text: str, length: int | None = None) -> Callable[[Path], None]:
    """Weights with this header."""
    def made(folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", length or len(text)) + text.encode())
    return made


@pytest.mark.parametrize(("damage", "says"), [
    (lambda f: (f / "config.json").unlink(), "config.json cannot be read"),
    (lambda f: (f / "config.json").write_text("{"), "is no JSON"),
    (lambda f: (f / "config.json").write_text("[" * 100_000), "is no JSON"),
    (lambda f: (f / "config.json").write_text("[]"), "is an object of JSON"),
    (lambda f: (f / "model.safetensors").unlink(), "neither model.safetensors nor"),
    (change(architectures=["T5Model"]), "describes a T5Model; known are"),
    (change(architectures=None), "has no 'architectures'"),
    (change(n_embd=None), "has no 'n_embd'"),
    (change(n_embd="x"), "n_embd is a whole number"),
    (change(n_embd=1 << 40), "n_embd is a whole number"),
    (change(n_embd=1 << 20), "has shape"),
    (change(n_head=3), "n_head divides the features"),
    (change(n_layer=10 ** 6), "n_layer is a whole number from 1 to 28"),
    (change(n_layer=1), "unknown: transformer.h.1"),
    (change(n_layer=3), "missing: transformer.h.2"),
    (untied, "lm_head.weight and transformer.wte.weight are one tensor"),
    (change(activation_function="gelo"), "activation_function is one of"),
    (change(attn_pdrop=float("nan")), "attn_pdrop is a number"),
    (change(tie_word_embeddings="yes"), "tie_word_embeddings is true or false"),
    (index(**{"a": "../secret.safetensors"}), "no weight_map"),
    (index(**{"a": "one.safetensors"}), "one.safetensors has no 'a'"),
    (index(**{"a": "two.safetensors"}), "two.safetensors cannot be read"),
    (header("{}", 1 << 60), "its header would have"),
    (header('{"a": {"dtype": "F32", "shape": [1000000000], "data_offsets": [0, 4000000000]}}'), "a of shape"),
    (header('{"a": {"dtype": "F4", "shape": [], "data_offsets": [0, 0]}}'), "a is 'F4', which is none of"),
    (header('{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 0]}}'), "a has no shape"),
    (header('{"a": 3}'), "3 says of no array where it lies"),
    (header("{}  ", 2), "2 bytes behind its last array"),
    (header('{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}, "b": {"dtype": "U8", "shape": [1], '
            '"data_offsets": [0, 1]}}x', 120), "b of shape"),
    (header('{"a": {}, "a": {}}'), "names one thing twice"),
    (header('{"__metadata__": 3}'), "no dict of strings"),
    (index(**{"a": "one\0"}), "this is no path"),
    (index(**{"a": "\ud800"}), "this is no path")])
def test_damage_is_refused(damage: Callable[[Path], None], says: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "model", SAYS["gpt2"])
    damage(folder)
    with pytest.raises(DataError, match=says):
        huggingface.load(folder)


def test_a_model_has_no_more_layers_than_there_are(tmp_path: Path) -> None:
    """Weights of no elements cost nothing, and each would be a layer."""
    folder = write(tmp_path / "model", SAYS["gpt2"])
    none = ", ".join(f'"{k}": {{"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}}' for k in range(3000))
    header(f"{{{none}}}")(folder)
    change(n_layer=2000)(folder)
    with pytest.raises(DataError, match="n_layer is a whole number from 1 to 1000"):
        huggingface.load(folder)
    with pytest.raises(DataError, match="depths are at most 1000 layers together"):
        Config({"depths": [600, 600]}, deepest=1000).depths("depths")


@pytest.mark.parametrize("rope", [{"rope_type": "yarn"}, {"rope_type": "llama3"}, "x", {"partial_rotary_factor": 0.5}])
def test_angles_of_other_forms_are_refused(rope: Any, tmp_path: Path) -> None:
    folder = write(tmp_path / "model", SAYS["llama"])
    change(rope_parameters=rope)(folder)
    with pytest.raises(DataError, match=r"rope|turns a part|low_freq"):
        huggingface.load(folder)


def pieces(path: Path) -> Path:
    """A vocabulary of bytes, letters and three words."""
    words = [b"<unk>", b"<s>", b"</s>", *(f"<0x{k:02X}>".encode() for k in range(256)), b" ", b"a", b"b", b"ab", b" ab",
             b"ba", "é".encode()]
    scores = [0.0] * 262 + [1.0, 3.0, 2.0, 0.0]
    path.write_bytes(struct.pack("<i", 4) + b"".join(
        struct.pack("<fi", score, len(word)) + word for word, score in zip(words, scores)))
    return path


def test_pieces(tmp_path: Path) -> None:
    t = huggingface.Pieces(pieces(tmp_path / "tok.bin"))
    assert t.encode("abba").tolist() == [1, 263, 264] and t.decode([1, 263, 264]) == "abba"
    assert t.encode("").tolist() == [1] and t.encode("é")[2] == 265
    assert t.encode("€").tolist() == [1, 259, *(b + 3 for b in "€".encode())]
    for text in ("a é € b\n", " ab", "baab ba", "\U0001f600"):
        assert t.decode(t.encode(text)) == text
    with pytest.raises(ArgumentError, match="no number 999"):
        t.decode([999])
    whole = (tmp_path / "tok.bin").read_bytes()
    for damaged in (b"", whole[:4], whole[:-1], b"\xff" * 40):
        (tmp_path / "bad.bin").write_bytes(damaged)
        with pytest.raises(DataError, match=r"vocabulary of llama2\.c"):
            huggingface.tokenizer(tmp_path / "bad.bin")


def test_models_of_llama2c(tmp_path: Path) -> None:
    path = legacy(tmp_path / "model.bin")
    model, raw = huggingface.load(path), path.read_bytes()
    q = np.frombuffer(raw, "<f4", offset=28 + 4 * (16 * 266 + 32)).reshape(-1, 16)[:16]
    own = dict(model.named_parameters())["model.layers.0.self_attn.q_proj.weight"].numpy()
    assert Counter(map(bytes, q)) == Counter(map(bytes, own)) and (own[1] == q[2]).all() and (own[2] == q[1]).all()
    for damaged, says in ((raw[:20], "its header, behind 20 bytes"),
                          (raw[:-4], "where its header"), (raw + b"\0", "where its header"),
                          (struct.pack("<7i", *[1 << 23] * 7), "where its header"), (b"\xff" * 28, "no model")):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=says):
            huggingface.load(path)


def test_the_story_of_260_thousand_weights() -> None:
    model = huggingface.load(shared("models/stories260K.bin"))
    pieces = huggingface.tokenizer(shared("models/tok512.bin"))
    assert isinstance(model, huggingface.LanguageModel)
    ids = pieces.encode("Once upon a time")
    assert ids.tolist() == [1, 403, 407, 261, 378]
    assert pieces.decode(model.generate(ids, 100, temperature=0)).startswith(STORY)


def test_the_command_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                            monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["generate", str(legacy(tmp_path / "m.bin")), "--tokenizer", str(pieces(tmp_path / "tok.bin")), "--prompt",
             "abba", "--tokens", "6", "--seed", "1"]
    assert run(asked, COMMANDS) == 0
    first = capsys.readouterr()
    assert first.out.startswith("abba") and first.out.endswith("\n") and "pieces a second" in first.err
    assert run(asked, COMMANDS) == 0
    assert capsys.readouterr().out == first.out
    letters = io.TextIOWrapper(io.BytesIO(), "ascii")
    with monkeypatch.context() as at:
        at.setattr(sys, "stdout", letters)      # without --tokens as many as there are places
        assert run([word.replace("abba", "日a") for word in asked if word not in ("--tokens", "6")], COMMANDS) == 0
    assert letters.buffer.getvalue().startswith(b"?a")
    capsys.readouterr()

    def interrupted(*x: Any, **how: Any) -> Any:
        yield np.int64(260)
        raise KeyboardInterrupt

    monkeypatch.setattr(huggingface.LanguageModel, "stream", interrupted)
    assert run(asked, COMMANDS) == 130
    assert capsys.readouterr() == ("abbaa\n", "interrupted\n")


@pytest.mark.parametrize(("words", "says"), [
    (["/nowhere"], "got nothing at /nowhere"), (["{onnx}"], "needs to be a folder or a .bin file"),
    (["{bin}"], "Write --tokenizer"), (["{vit}"], "which writes no text"),
    (["{gpt2}"], "has no tokenizer.json"), (["{gpt2}", "--tokenizer", "/nowhere"], "needs a file that exists"),
    (["{gpt2}", "--temperature", "hot"], "--temperature needs a number, got 'hot'"),
    (["{gpt2}", "--top-p", "2"], "--top-p needs a number in 0..1"),
    (["{gpt2}", "--top-k", "0"], "--top-k needs a number"),
    (["{bin}", "--tokenizer", "{tok}", "--tokens", "500"], "got 1 pieces and 500 new ones. Write --tokens 63"),
    (["{gpt2}", "--tokenizer", "{tok}"], "the tokenizer has 266 pieces, the model 40"),
    (["{gpt2}", "--topk", "3"], "Did you mean --top-k?"), ([], "needs FOLDER")])
def test_the_command_refuses(words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = {"bin": legacy(tmp_path / "m.bin"), **{k: write(tmp_path / k, SAYS[k]) for k in ("vit", "gpt2")}}
    places["tok"] = pieces(tmp_path / "tok.bin")
    places["onnx"] = tmp_path / "m.onnx"
    places["onnx"].touch()
    assert run(["generate", *(word.format(**places) for word in words)], COMMANDS) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and says in said
