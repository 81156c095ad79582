"""Data sets: samples by number, streams, and what is made of them."""
from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from stele.data import ArrayDataset, Dataset, IterableDataset
from stele.data.chance import Chance
from stele.errors import ArgumentError, DataError, IndexOutOfRange, SteleError, UnknownName


class Numbers(Dataset):
    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int: return self.n

    def __getitem__(self, k: int) -> int: return 10 * k


def noisy(sample: Any, rng: np.random.Generator) -> Any:
    return sample, rng.random()


def test_sets_of_sets() -> None:
    ten = Numbers(10)
    assert list(ten.map(lambda k: k + 1)) == [1, 11, 21, 31, 41, 51, 61, 71, 81, 91]
    assert list(ten.filter(lambda k: k > 60).map(str)) == ["70", "80", "90"]
    assert list(ten.subset([3, 1, -1])) == [30, 10, 90] and list(ten.subset(slice(8, None))) == [80, 90]
    assert list(ten.subset(np.arange(10) > 7)) == [80, 90] and list(ten.subset([])) == []
    assert list(ten.take(2) + ten.take(1)) == [0, 10, 0] and len(ten.take(99)) == 10
    assert (ten + ten)[-1] == 90 and ten.subset([5])[-1] == 50


@settings(max_examples=50, deadline=None)
@given(n=hs.integers(0, 40), parts=hs.lists(hs.floats(0, 1), min_size=1, max_size=4), seed=hs.integers(-3, 3))
def test_parts_share_nothing_and_lose_nothing(n: int, parts: list[float], seed: int) -> None:
    whole = [p / (sum(parts) or 1) for p in parts]
    made = Numbers(n).split(*whole, seed=seed)
    found = [k for part in made for k in part]
    assert len(found) == len(set(found)) == (n if sum(parts) or len(parts) == 1 else 0)
    assert len(made) == max(len(parts), 2)
    assert all(abs(len(part) - n * p) <= 1 for part, p in zip(made, whole))
    assert [list(p) for p in made] == [list(p) for p in Numbers(n).split(*whole, seed=seed)]


def test_sets_and_streams_are_pickled_with_what_was_made_of_them() -> None:
    """As processes that are not forked want it, where functions are such that can be."""
    some, odd = Numbers(9).map(noisy).filter(all), IterableDataset(range(20).__iter__).filter(bool)
    for data in (some, Numbers(3) + Numbers(2), odd.map(noisy), odd.take(5), odd.shard(1, 3).shuffle(4)):
        assert list(pickle.loads(pickle.dumps(data))) == list(data) != []


@settings(max_examples=50, deadline=None)
@given(labels=hs.lists(hs.integers(0, 3), min_size=1, max_size=60), share=hs.floats(0.1, 0.9), seed=hs.integers(0, 3))
def test_parts_have_their_share_of_each_class(labels: list[int], share: float, seed: int) -> None:
    made = Numbers(len(labels)).split(share, 1 - share, seed=seed, stratify=labels)
    assert sorted(k for part in made for k in part) == list(Numbers(len(labels)))
    for c in set(labels):
        counts = [sum(labels[k // 10] == c for k in part) for part in made]
        assert abs(counts[0] - labels.count(c) * len(made[0]) / len(labels)) < 2.5, counts


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_shares_of_classes_are_exact_where_they_can_be(seed: int | None) -> None:
    names = np.array(["a", "b", "c"], object).repeat([50, 30, 20])
    made = Numbers(100).split(0.8, 0.1, 0.1, seed=seed, stratify=names)
    assert [sorted(Counter(names[k // 10] for k in part).values()) for part in made] == [[16, 24, 40], *[[2, 3, 5]] * 2]
    pairs = np.arange(100).repeat(2)    # of which all would be in the first part if all of them began at once
    made = Numbers(200).split(0.8, seed=seed, stratify=pairs)
    assert [len({pairs[k // 10] for k in part}) for part in made] == [100, 40]
    assert [len(part) for part in Numbers(0).split(0.5, stratify=[])] == [0, 0]


def test_a_part_alone_comes_with_the_rest() -> None:
    some, rest = Numbers(10).split(0.8)
    assert len(some) == 8 and sorted([*some, *rest]) == list(Numbers(10))
    assert [len(part) for part in Numbers(10).split([3])] == [3, 7]
    assert [[len(part) for part in Numbers(n).split(1.0)] for n in (10, 0)] == [[10, 0], [0, 0]]


def test_parts_by_number_and_in_order() -> None:
    a, b = Numbers(5).split(3, 2, seed=None)
    assert list(a) == [0, 10, 20] and list(b) == [30, 40]
    assert list(Numbers(5).split(3, 2, seed=1)[0]) != list(Numbers(5).split(3, 2, seed=2)[0])
    assert len(Numbers(5).split(1.0)[0]) == len(Numbers(5).split(1)[0]) == 5


def test_what_is_random_belongs_to_a_place() -> None:
    made = Numbers(3).map(noisy).map(noisy)
    (first, a), b = made.at(1, Chance(7, 2, 1))
    assert first == 10 and a != b and made.at(1, Chance(7, 2, 1)) == ((10, a), b)
    assert len({made.at(1, Chance(*place))[1] for place in ((7, 2, 1), (8, 2, 1), (7, 3, 1), (7, 2, 0))}) == 4
    assert made[1] == made.at(1, Chance(0, 0, 1)) == list(made)[1]


def test_streams() -> None:
    ten = IterableDataset(lambda: iter(range(10)))
    assert list(ten) == list(ten) == list(range(10))
    assert list(ten.filter(lambda k: k % 3 == 0).map(lambda k: k * k).take(3)) == [0, 9, 36]
    assert [list(ten.shard(k, 3)) for k in range(3)] == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]
    made = ten.map(noisy).filter(lambda sample: True).map(noisy)
    epochs = [list(made.stream(1, epoch)) for epoch in (0, 1)]
    assert epochs[0] == list(made.stream(1, 0)) and list(made) == list(made.stream(0, 0))
    assert len({x for epoch in epochs for (_, a), b in epoch for x in (a, b)}) == 40


def test_a_stream_is_shuffled_in_another_way_in_each_epoch() -> None:
    ten = IterableDataset(lambda: iter(range(10)))
    made = ten.map(lambda k: k).shuffle(4)
    orders = [list(made.stream(seed, epoch)) for seed, epoch in ((1, 0), (1, 1), (2, 0))]
    assert orders[0] == list(made.stream(1, 0)) == [2, 3, 5, 1, 6, 4, 9, 7, 0, 8]
    assert len({tuple(order) for order in orders}) == 3 and all(sorted(order) == list(range(10)) for order in orders)
    assert all(order[k] < k + 4 for order in orders for k in range(10)), "drawn of what was read"
    assert list(ten.shuffle(1)) == sorted(ten.shuffle(99)) == list(range(10)) != list(ten.shuffle(99))


class Lines(IterableDataset):
    def __iter__(self) -> Iterator[str]: yield from "abc"


def test_a_stream_of_a_class() -> None:
    assert list(Lines().map(str.upper)) == ["A", "B", "C"]


def test_arrays() -> None:
    part = ArrayDataset(np.arange(6).reshape(3, 2), ["a", "b", "c"])
    assert part[1][0].tolist() == [2, 3] and part[-1][1] == "c" and part.y.tolist() == ["a", "b", "c"]
    named = ArrayDataset(y=[1, 2], z=[3, 4])
    assert named[1] == {"y": 2, "z": 4} and named.y.tolist() == [1, 2]
    assert repr(named) == "ArrayDataset(y=int64[2], z=int64[2])"
    assert named["z"].tolist() == [3, 4]
    with pytest.raises(AttributeError, match="has no 'x'"):
        _ = named.x


@pytest.mark.parametrize("make, error, message", [
    (lambda: ArrayDataset(), DataError, "at least one array"),
    (lambda: ArrayDataset([1], y=[2]), DataError, "got 1 without and 1 with"),
    (lambda: ArrayDataset([1], [2, 3]), DataError, r"of one length, got \[1, 2\]"),
    (lambda: ArrayDataset(3.0), DataError, "whose first axis counts the samples, got a float"),
    (lambda: ArrayDataset({"x": [1]}), DataError, r"ArrayDataset\(\*\*columns\)"),
    (lambda: ArrayDataset(size=[1])["sise"], UnknownName, "no column 'sise'.*Did you mean 'size'"),
    (lambda: Numbers(3).filter(lambda x, y: y), ArgumentError, r"a sample and nothing else, got one of \(x, y\)"),
    (lambda: IterableDataset([1].__iter__).filter(lambda x, y: y), ArgumentError, "write lambda sample: sample"),
    (lambda: Numbers(3).split(0.5, 0.5, stratify=[1, 2]), DataError, "a label for each of 3 samples"),
    (lambda: Numbers(2).split(0.5, stratify=[None, 1]), DataError, "stratify is a number or a text for each sample"),
    (lambda: Numbers(2).split(0.5, stratify=np.zeros((2, 1))), DataError, r"of shape \(2, 1\)"),
    (lambda: ArrayDataset([1]).split(0.5, stratify="y"), DataError, r"a str of shape \(\).* Of arrays it is dataset.y"),
    (lambda: ArrayDataset([1])[1], IndexOutOfRange, "has 1 samples, got number 1"),
    (lambda: ArrayDataset([1])[:1], DataError, r"by its number, got a slice. Write x.subset"),
    (lambda: Numbers(3).subset([3]), IndexOutOfRange, "numbers, a mask or a slice"),
    (lambda: Numbers(3).subset([True]), IndexOutOfRange, "mask"),
    (lambda: Numbers(3).subset([[1]]), DataError, "along one axis"),
    (lambda: Numbers(3).subset(1.5), IndexOutOfRange, "numbers, a mask or a slice"),
    (lambda: Numbers(3).subset([1])[1], IndexOutOfRange, "has 1 samples"),
    (lambda: (Numbers(3) + Numbers(3))[6], IndexOutOfRange, "has 6 samples"),
    (lambda: Numbers(3).split(), DataError, "fractions or numbers"),
    (lambda: Numbers(3).split(0.5, 0.6), DataError, "add to 1 at most"),
    (lambda: Numbers(3).split(2, 2), DataError, "takes no more of them"),
    (lambda: Numbers(3).split(-1), DataError, "fractions or numbers"),
    (lambda: Numbers(3).split("0.5"), DataError, "fractions or numbers"),        # type: ignore[arg-type]
    (lambda: Numbers(3) + 1, DataError, "joined with another one, got an int"),
    (lambda: Numbers(3).map(3), SteleError, "a function"),                       # type: ignore[arg-type]
    (lambda: Numbers(3).take(-1), SteleError, "take"),
    (lambda: IterableDataset(3), SteleError, "a function"),                      # type: ignore[arg-type]
    (lambda: Lines().shard(2, 2), SteleError, "shard"),
    (lambda: len(Dataset()), DataError, "Dataset needs a method __len__"),
    (lambda: Dataset()[0], DataError, "needs a method __getitem__"),
    (lambda: list(IterableDataset()), DataError, "needs a method __iter__"),
])
def test_bad_arguments(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
