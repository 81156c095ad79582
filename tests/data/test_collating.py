"""Samples become batches: every structure, and errors that say which part of a sample does not fit."""
from __future__ import annotations

from collections import namedtuple
from functools import partial
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.data import Loader, collate, pad, unit
from stele.errors import DataError

Pair = namedtuple("Pair", "x y")


def test_leaves() -> None:
    for samples, dtype in (([1, 2], np.int64), ([1.5, 2.0], np.float32), ([True, False], np.bool_),
                           ([np.float64(1), np.float64(2)], np.float64), ([np.uint8(1), np.uint8(2)], np.uint8),
                           ([[1.5], [2.5]], np.float32), ([1, 2.5], np.float32),
                           ([[1], [2.5]], np.float32), ([1, np.float64(2.5)], np.float64),
                           ([np.int64(1), 2.5], np.float64)):
        batch = collate(samples)
        assert batch.dtype == dtype and batch.tolist() == samples
    assert collate(["a", "b"]) == ["a", "b"] and collate([["a"], ["b", "c"]]) == [["a"], ["b", "c"]]
    assert collate([st.ones(2), st.zeros(2)]).tolist() == [[1, 1], [0, 0]]


def test_columns_of_samples_and_batches_of_them_have_one_dtype() -> None:
    samples = [(np.zeros(2), k if k % 2 else k / 4) for k in range(5)]
    for given in (samples, [dict(zip("xy", sample)) for sample in samples]):
        for batch in Loader(given, batch_size=2):
            labels = [*batch.values()][1] if isinstance(batch, dict) else batch[1]
            assert labels.dtype == np.float32 or labels.tolist() == [1]


def test_entries_of_samples_stand_in_any_order() -> None:
    samples = [{"a": np.zeros(2), "b": np.ones(2), "k": 0}, {"k": 1, "b": np.ones(2), "a": np.zeros(2)}]
    for batch in (collate(samples), *Loader(samples, 2), *Loader(samples, 2, collate=collate)):
        assert {name: x.tolist() for name, x in batch.items()} == {"a": [[0, 0]] * 2, "b": [[1, 1]] * 2, "k": [0, 1]}


def test_structures() -> None:
    batch = collate([Pair(np.zeros((2, 3), np.uint8), {"a": (k, "t")}) for k in range(4)])
    assert isinstance(batch, Pair) and batch.x.shape == (4, 2, 3) and batch.x.dtype == np.uint8
    assert batch.y["a"][0].tolist() == [0, 1, 2, 3] and batch.y["a"][1] == ["t"] * 4


@pytest.mark.parametrize("samples, message", [
    ([(1, np.ones(2)), (2, np.ones(3))], r"sample\[1\] has shapes \(2,\), \(3,\).*collate=data.pad"),
    ([{"a": 1}, {"b": 1}], "one structure, but a sample number 0 is {'a': 1} and number 1 is {'b': 1}"),
    ([{"a": (1, 2)}, {"a": (1,)}], r"one structure, but a sample\['a'\]"),
    ([(1, 2), 3], "one structure"), ([None, None], "a sample is None"),
    ([(1, object())], r"a sample\[1\] is an object"),
    ([(np.zeros((3, 4, 5)), 1), (np.zeros((3, 5, 5)), 1)], r"Resize\(\(height, width\)\), sequences collate=data.pad"),
    ([(1, np.random.default_rng(0))], r"a sample\[1\] is a numpy.*Generator.*given a sample and its generator"),
    ([], "a list of samples, got a list of none"), (3, "a list of samples, got an int"),
    ([[[1], [1, 2]]], "a sample is a list that is no array")])
def test_bad_samples(samples: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        collate(samples)


def test_padding() -> None:
    samples = [(np.array([1, 2, 3], np.int32), "a"), (np.array([4], np.int32), "b"), ([], "c")]
    x, lengths, texts = pad(samples)
    assert x.tolist() == [[1, 2, 3], [4, 0, 0], [0, 0, 0]] and x.dtype == np.int32
    assert lengths.tolist() == [3, 1, 0] and lengths.dtype == np.int64 and texts == ["a", "b", "c"]
    x, lengths = pad([[1.5], [2.5, 3.5]], -1, left=True, multiple=3)
    assert x.tolist() == [[-1, -1, 1.5], [-1, 2.5, 3.5]] and x.dtype == np.float32
    assert pad([[1, 2], [2.5], []])[0].dtype == np.float32 and pad([[1, 2], []])[0].dtype == np.int64
    frames = pad([{"sound": np.ones((k, 2)), "image": np.zeros(3), "y": k} for k in (1, 4)], fields=["sound"])
    assert list(frames) == ["sound", "sound_lengths", "image", "y"]
    assert frames["sound"].shape == (2, 4, 2) and frames["sound"].sum() == 10 and frames["image"].shape == (2, 3)


@pytest.mark.parametrize("samples, options, message", [
    ([np.ones((2, 3)), np.ones((2, 4))], {}, r"in their first axis alone, but sample has shapes \(2, 3\), \(2, 4\)"),
    ([([1], 2)], {"fields": [2]}, "fields of a sample are 0, 1, got 2"),
    ([([1], 2)], {"fields": [1]}, r"sample\[1\] has shapes \(\)"),
    ([[1]], {"multiple": 0}, "multiple is a whole number"), ([], {}, "a list of samples")])
def test_bad_padding(samples: Any, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        pad(samples, **options)


@pytest.mark.parametrize("samples", [
    [(np.arange(3) + k, {"a": np.full((2, 2), k, np.float32)}, k, "t") for k in range(5)],
    [(np.arange(3), np.arange(2)), (np.arange(3) / 2, np.arange(2)), (np.arange(3), np.arange(2))],
    [[np.arange(2), np.arange(2) + k] for k in range(3)], [(np.array(["a", "b"]), [1.5, 2.5])] * 2,
    [(np.zeros((3, 4, 4))[:, ::2, ::-1], np.array(5))] * 3], ids=range(5))
def test_a_loader_makes_what_collate_makes(samples: Any) -> None:
    def same(a: Any, b: Any) -> None:
        if isinstance(a, tuple | list):
            assert type(a) is type(b) and len(a) == len(b)
            [same(*parts) for parts in zip(a, b)]
        elif isinstance(a, dict):
            [same(a[name], b[name]) for name in a]
        else:
            assert type(a) is type(b) and np.array_equal(a, b) and getattr(a, "dtype", 0) == getattr(b, "dtype", 0)

    for size in (1, 2, 5):
        for k, batch in enumerate(Loader(samples, size, transform=lambda sample: sample)):
            same(batch, collate(samples[k * size:(k + 1) * size]))
    with pytest.raises(DataError, match=r"sample\[0\] has shapes"):
        list(Loader([(np.ones(2), 1), (np.ones(3), 1)], transform=lambda sample: sample))
    with pytest.raises(DataError, match="one structure"):
        list(Loader([(np.ones(2), 1), np.ones(2)], transform=lambda sample: sample))


def same_batches(found: Any, wanted: Any) -> bool:
    return all(np.array_equal(a, b) for one, other in zip(found, wanted, strict=True) for a, b in zip(one, other))


def test_a_loader_collates_as_it_is_told() -> None:
    texts = [([k] * (k % 3 + 1), k) for k in range(6)]
    batches = list(Loader(texts, 3, collate=pad(value=-1)))
    assert same_batches(batches, Loader(texts, 3, collate=partial(pad, value=-1)))
    named = next(iter(Loader([Pair(1, 2.0), Pair(3, 4.0)])))
    assert isinstance(named, Pair) and named.x.tolist() == [1, 3] and named.y.tolist() == [2.0, 4.0]
    assert [x.shape for x, _, _ in batches] == [(3, 3), (3, 3)] and batches[1][1].tolist() == [1, 2, 3]
    assert list(Loader(texts, 4, collate=list))[1] == texts[4:]
    images = [(np.full((3, 2, 2), k, np.uint8), k) for k in range(4)]
    x, y = next(iter(Loader(images, 4, transform=lambda sample: (sample[0][:, :1], sample[1]))))
    assert x.dtype == np.float32 and np.array_equal(x[:, 0, 0, 0], unit(np.arange(4, dtype=np.uint8)))
    x, y = next(iter(Loader(images, 4, transform=lambda sample: sample, scale=False)))
    assert x.dtype == np.uint8 and y.dtype == np.int64


def test_batches_of_ever_other_shapes_keep_no_memory() -> None:
    from stele.data.epochs import KINDS, Buffers
    buffers = Buffers()
    for n in range(50):
        buffers.empty((4, n), np.dtype(np.int64))
    assert len(buffers.shelves) == KINDS
