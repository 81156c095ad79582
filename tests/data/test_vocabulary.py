"""Vocabularies, vectors of words and tokenizers: numbers and back, files and back, and what is refused."""
from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stele import data
from stele.errors import ArgumentError, DataError, SteleError

V = data.Vocabulary
TEXTS = ["The film was good, the acting too.", "A good film!", "dull"]


def test_a_vocabulary_counts_and_cuts() -> None:
    v = V.count(TEXTS)
    assert list(v)[:5] == ["<pad>", "<unk>", "film", "good", "the"] and v["film"] == 2 and v[3] == "good"
    assert list(V.count(TEXTS, min_freq=2)) == ["<pad>", "<unk>", "film", "good", "the"]
    assert list(V.count(TEXTS, size=3)) == ["<pad>", "<unk>", "film"] and len(V.count([])) == 2
    assert list(V.count([["b", "B"], ["b"]], specials=(), unknown=None)) == ["b", "B"]
    assert list(V.count(["ab a"], specials=["_"], tokenize=list)) == ["_", "a", " ", "b"]
    assert V.count(["<pad> x"], tokenize=str.split)["<pad>"] == 0
    assert "film" in v and "bad" not in v and 3 not in v


def test_numbers_and_back() -> None:
    v = V.count(TEXTS)
    ids = v.encode("The FILM was terrible")
    assert ids.dtype == np.int32 and v.decode(ids) == "the film was <unk>"
    assert np.array_equal(v.encode(["the", "film", "was", "bad"]), ids) and np.array_equal(v("The FILM was x"), ids)
    assert v.encode("").shape == (0,) and v.decode([]) == ""
    assert np.array_equal(v.one_hot("film good"), np.eye(len(v), dtype=np.float32)[[2, 3]])
    bag = v.bag("good good film of ages")
    assert bag[[1, 2, 3]].tolist() == [2, 1, 2] and bag.sum() == 5 and bag.dtype == np.float32
    assert np.array_equal(v.bag(np.array([2, 2])), v.bag(["film", "film"]))
    for made in (lambda: v.decode([99]), lambda: v.decode([-1]), lambda: v.decode([0.5]), lambda: v[99],
                 lambda: V(["a"], unknown=None).encode("b"), lambda: V(["a"])["b"], lambda: V(["a", "a"])):
        with pytest.raises(DataError):
            made()
    for made in (lambda: V("words"), lambda: V([1]), lambda: V.count("a text"), lambda: V.count([3]),
                 lambda: v.encode([3])):
        with pytest.raises(SteleError):
            made()


@pytest.mark.parametrize("name", ["v.txt", "v.json"])
def test_a_vocabulary_is_kept_in_a_file(name: str, tmp_path: Path) -> None:
    v = V([*V.count(TEXTS), "naïve", " "])
    v.save(tmp_path / name)
    found = V.load(tmp_path / name)
    assert found.words == v.words and found.unknown == "<unk>"
    assert np.array_equal(found.encode("dull x"), v.encode("dull x"))
    with pytest.raises(DataError, match=r"\.json"):
        V(["a\nb"]).save(tmp_path / "w.txt")
    V(["a\nb"], unknown=None).save(tmp_path / "w.json")
    assert V.load(tmp_path / "w.json").words == ("a\nb",) and V.load(tmp_path / "w.json").unknown is None


def test_damaged_files_of_words_are_refused(tmp_path: Path) -> None:
    wrong: tuple[Any, ...] = (b"{", b"[]", b'{"words": 3}', b'{"words": [3], "unknown": null}', b"\xff", b"[" * 100_000,
                              b'{"words": ["a", "a"], "unknown": null}', b'{"words": [], "unknown": 3}')
    for content in wrong:
        (tmp_path / "v.json").write_bytes(content)
        with pytest.raises(DataError):
            V.load(tmp_path / "v.json")
    (tmp_path / "v.txt").write_text("a\nb\na\n")
    with pytest.raises(DataError, match="twice"):
        V.load(tmp_path / "v.txt")
    with pytest.raises(DataError, match="none at"):
        V.load(tmp_path / "none.txt")


def test_vectors_are_read(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("the 1 2 3\n. . . 4 5 6\nfilm -1e-2 0 .5\nthe 9 9 9\n")
    v, x = data.read_vectors(path)
    assert v.words == ("the", ". . .", "film") and x.dtype == np.float32
    assert x.tolist() == [[1, 2, 3], [4, 5, 6], [np.float32(-0.01), 0, 0.5]]
    own = V(["<unk>", "film", "dull", "the"])
    same, y = data.read_vectors(path, own)
    assert same is own and np.array_equal(y, np.stack([x[0] * 0, x[2], x[0] * 0, x[0]]))
    path.write_text("2 3\na 1 2 3\nb 4 5 6\n")
    assert data.read_vectors(path)[1].shape == (2, 3)
    for wrong in ("a 1 2\nb 1\n", "a 1 x\n", "a\n", "", "a " + "1 " * (1 << 20)):
        path.write_text(wrong)
        with pytest.raises(DataError, match=r"glove\.txt"):
            data.read_vectors(path)
    path.write_bytes(b"\xff\xfe 1 2\n")
    with pytest.raises(DataError, match="UTF-8"):
        data.read_vectors(path)
    with pytest.raises(ArgumentError):
        data.read_vectors(path, ["a"])  # type: ignore[arg-type]


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    (tmp_path / "t.json").write_text("{}")
    for made in (lambda: data.Tokenizer(tmp_path / "t.json"), lambda: data.Tokenizer.train(["a text"])):
        with pytest.raises(DataError, match=r"stele-dl\[text\]"):
            made()


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_a_tokenizer_is_trained_and_kept(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="tokenizers are of a library of that name")
    t = data.Tokenizer.train(["a good film", "a dull film", "good acting"] * 9, size=300, kind=kind)
    ids = t.encode("a good film")
    assert ids.dtype == np.int32 and t["<pad>"] == 0 and t.decode(ids).strip() == "a good film" and len(t) <= 300
    t.save(tmp_path / "t.json")
    for other in (data.Tokenizer(tmp_path / "t.json"), pickle.loads(pickle.dumps(t)), data.Tokenizer(t.inner)):
        assert np.array_equal(other("a good film"), ids)
    assert [found.tolist() for found in t.encode_batch(["a good film", ""])] == [ids.tolist(), []]
    if kind == "bpe":
        assert t.decode(t.encode("naïve §")) == "naïve §"   # bytes: no text is unknown
    assert "<unk>" in t and "nowhere" not in t
    for content in ("{}", "", json.dumps({"version": "1.0", "model": 3})):
        (tmp_path / "t.json").write_text(content)
        with pytest.raises(DataError):
            data.Tokenizer(tmp_path / "t.json")
    for made in (lambda: t.encode(["a"]), lambda: t.encode_batch("a"), lambda: data.Tokenizer(3)):   # type: ignore[arg-type]
        with pytest.raises(ArgumentError):
            made()
    with pytest.raises(DataError, match="none called"):
        t["nowhere"]
