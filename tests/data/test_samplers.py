"""Samplers: which samples an epoch has, pinned to the number."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from stele.data import (
    ArrayDataset,
    BalancedSampler,
    BatchSampler,
    BucketBatchSampler,
    Loader,
    RandomSampler,
    Sampler,
    SequentialSampler,
    WeightedRandomSampler,
)
from stele.data.samplers import _exponential
from stele.errors import DataError

WEIGHTS = [1.0, 0.0, 5.0, 2.0]
SAMPLERS: dict[str, tuple[Sampler, list[int]]] = {
    "in order": (SequentialSampler(4), [0, 1, 2, 3]),
    "random": (RandomSampler(8), [4, 2, 0, 6, 1, 5, 7, 3]),
    "some": (RandomSampler(range(8), num_samples=3), [4, 2, 0]),
    "again": (RandomSampler(5, replacement=True, num_samples=7), [2, 0, 3, 4, 3, 4, 0]),
    "weighted": (WeightedRandomSampler(WEIGHTS, 6), [2, 2, 0, 3, 0, 2]),
    "weighted, once": (WeightedRandomSampler(WEIGHTS, 3, replacement=False), [2, 0, 3]),
    "balanced": (BalancedSampler([0, 1, 1, 1, 1, 1, 1], 8), [0, 0, 0, 0, 2, 4, 1, 5]),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_orders_are_pinned(name: str) -> None:
    sampler, wanted = SAMPLERS[name]
    assert np.asarray(sampler(1, 2)).tolist() == wanted and len(sampler) == len(wanted)
    assert name == "in order" or any(np.asarray(sampler(1, epoch)).tolist() != wanted for epoch in range(3, 9))


def test_how_often_samples_are_drawn() -> None:
    counts = np.bincount(WeightedRandomSampler(WEIGHTS, 8000)(0, 0), minlength=4)
    np.testing.assert_allclose(counts / 1000, WEIGHTS, atol=0.25)
    assert counts[1] == 0
    firsts = Counter(int(WeightedRandomSampler(WEIGHTS, 1, replacement=False)(0, k)[0]) for k in range(800))
    assert firsts[2] > firsts[3] > firsts[0] > firsts[1] == 0


def test_the_logarithm_of_draws_is_one() -> None:
    u = np.array([2.0 ** -53, 1e-9, 0.1, 0.5, 0.75, 1 - 2.0 ** -53])
    np.testing.assert_allclose(_exponential(u), -np.log(u), rtol=3e-16)


@settings(max_examples=40, deadline=None)
@given(labels=hs.lists(hs.integers(0, 4), min_size=1, max_size=40), count=hs.integers(1, 60), seed=hs.integers(0, 3))
def test_classes_come_equally_often(labels: list[int], count: int, seed: int) -> None:
    found = BalancedSampler(labels, count)(seed, 1)
    assert len(found) == count
    classes = Counter(labels[k] for k in found)
    assert max(classes.values()) - min(classes.get(c, 0) for c in set(labels)) <= 1
    for c in set(labels):
        times = Counter(int(k) for k in found if labels[k] == c)
        least = min((times.get(k, 0) for k, label in enumerate(labels) if label == c))
        assert max(times.values(), default=0) - least <= 1


@settings(max_examples=40, deadline=None)
@given(lengths=hs.lists(hs.integers(0, 99), min_size=1, max_size=60), size=hs.integers(1, 9), pool=hs.integers(1, 4),
       drop=hs.booleans())
def test_buckets(lengths: list[int], size: int, pool: int, drop: bool) -> None:
    sampler = BucketBatchSampler(lengths, size, pool=pool, drop_last=drop)
    batches = sampler(1, 0)
    found = [int(k) for batch in batches for k in batch]
    assert len(batches) == len(sampler) and len(set(found)) == len(found)
    assert len(found) == (len(lengths) // size * size if drop else len(lengths))
    assert all(len(batch) == size for batch in batches) or not drop
    if size * pool >= len(lengths):
        spans = sorted((min(lengths[k] for k in b), max(lengths[k] for k in b)) for b in batches)
        assert all(a[1] <= b[0] for a, b in pairwise(spans)), "sorted, they do not overlap"


def test_a_loader_follows_its_sampler() -> None:
    def backwards(seed: int, epoch: int) -> Any:
        return range(9 - epoch, -1, -1)

    x = np.arange(10) * 10
    made = Loader(x, 4, sampler=backwards)
    assert [b.tolist() for b in made] == [[90, 80, 70, 60], [50, 40, 30, 20], [10, 0]] and len(made) == 3
    assert next(iter(made)).tolist() == [80, 70, 60, 50]
    assert [b.tolist() for b in Loader(x, sampler=[3, 1, 3])] == [[30, 10, 30]]
    assert [b.tolist() for b in Loader(x, batch_sampler=[[3, 1], [], [5]])] == [[30, 10], [], [50]]
    batches = Loader(x, batch_sampler=BatchSampler(SequentialSampler(10), 4, drop_last=True))
    assert [b.tolist() for b in batches] == [[0, 10, 20, 30], [40, 50, 60, 70]] and len(batches) == 2
    lengths = [3, 1, 2] * 3
    state = Loader(x[:9], batch_sampler=BucketBatchSampler(lengths, 2), seed=4)
    steps = iter(state)
    next(steps)
    again = Loader(x[:9], batch_sampler=BucketBatchSampler(lengths, 2))
    again.load_state_dict(state.state_dict())
    assert [b.tolist() for b in again] == [b.tolist() for b in steps] and len(again) == 5


def test_what_is_drawn_twice_is_transformed_in_two_ways() -> None:
    made = Loader(np.arange(3), sampler=[1, 1, 2, 1], transform=lambda k, rng: (k, rng.random()), num_workers=0)
    k, numbers = next(iter(made))
    assert k.tolist() == [1, 1, 2, 1] and len(set(numbers.tolist())) == 4
    alone = Loader(np.arange(3), transform=lambda k, rng: (k, rng.random()), num_workers=0)
    assert next(iter(alone))[1][1:].tolist() == numbers[[0, 2]].tolist()


@pytest.mark.parametrize("make, message", [
    (lambda: RandomSampler(0), "at least one sample"), (lambda: RandomSampler(3.5), "how many samples"),
    (lambda: RandomSampler(3, num_samples=4), "replacement=True"),
    (lambda: WeightedRandomSampler([1, -1]), "from 0 on"), (lambda: WeightedRandomSampler("ab"), "are numbers"),
    (lambda: WeightedRandomSampler([0, 0]), "0 samples have a weight"),
    (lambda: WeightedRandomSampler([1, 0], 2, replacement=False), "1 samples have a weight above 0, got 2"),
    (lambda: BalancedSampler([]), "at least one sample, got none"), (lambda: BalancedSampler([[1]]), r"shape \(1, 1\)"),
    (lambda: BalancedSampler([None, 1]), "a number or a text for each sample, got a list"),
    (lambda: BalancedSampler([[1], [1, 2]]), "labels of BalancedSampler is a number or a text"),
    (lambda: BatchSampler(RandomSampler(3), 0), "batch_size is at least 1"),
    (lambda: BucketBatchSampler(["a"], 2), "lengths are numbers"),
    (lambda: BucketBatchSampler([1], 2, pool=0), "pool is at least 1"),
    (lambda: BucketBatchSampler([1], 2.0), "batch_size is a whole number"),
    (lambda: Sampler()(0, 0), "needs a method __call__"), (lambda: len(Sampler()), "needs a method __len__"),
    (lambda: Loader([1, 2], sampler=[2]).order(0), "gives 0..1, got 2..2"),
    (lambda: Loader([1, 2], sampler=[-1]).order(0), "gives 0..1, got -1..-1"),
    (lambda: Loader([1, 2], sampler=[0.5]).order(0), "numbers of samples"),
    (lambda: Loader([1, 2], sampler=3), "a function of .seed, epoch., or numbers"),
    (lambda: Loader([1, 2], sampler=[0], shuffle=True), "leave one out"),
    (lambda: Loader([1, 2], batch_size=2, batch_sampler=[[0]]), "leave them out"),
    (lambda: Loader([1, 2, 3], sampler=WeightedRandomSampler([1, 2], 9)), "of 2 samples, but there are 3.*of classes"),
    (lambda: Loader([1, 2, 3], sampler=BalancedSampler([1, 2, 1, 2])), "of 4 samples, but there are 3"),
    (lambda: Loader([1, 2, 3], batch_sampler=BucketBatchSampler([1], 2)), "of 1 samples, but there are 3"),
    (lambda: Loader([1, 2], batch_sampler=BatchSampler(BalancedSampler([1]), 2)), "of 1 samples, but there are 2"),
    (lambda: list(Loader(["a", "b"], batch_sampler=[[0], []])), "asks for a batch of no sample"),
])
def test_bad_arguments(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        make()


def test_samplers_are_iterated_and_written_as_in_pytorch() -> None:
    class Backwards(Sampler):
        def __init__(self, n: int) -> None: self.n = n
        def __iter__(self) -> Any: return iter(range(self.n - 1, -1, -1))
        def __len__(self) -> int: return self.n

    assert [x.tolist() for x in Loader(np.arange(5), 2, sampler=Backwards(5))] == [[4, 3], [2, 1], [0]]
    assert [b.tolist() for b in BatchSampler(Backwards(5), 2)(3, 7)] == [[4, 3], [2, 1], [0]]
    assert list(SequentialSampler(3)) == [0, 1, 2] and sorted(RandomSampler(4)) == [0, 1, 2, 3]
    assert [list(b) for b in BatchSampler(SequentialSampler(3), 2)] == [[0, 1], [2]]
    assert len([*BucketBatchSampler([3, 1, 2], 2)]) == 2 and len([*Loader(np.arange(5), 2, True)]) == 3
    assert [len(part) for part in ArrayDataset(np.arange(20)).split([0.8, 0.2])] == [16, 4]
