"""Random loaders: whatever is drawn, cut and changed, any workers give the same bits, and what is resumed the rest."""
from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as some

from stele import data
from stele.data import transforms as T

RNG = np.random.default_rng(0)
IMAGES, LABELS = RNG.integers(0, 256, (29, 3, 9, 8), np.uint8), RNG.integers(0, 4, 29)
WORKERS = some.sampled_from([(0, False), (1, False), (3, False), (1, True), (2, True)])
CHANGES: list[Any] = [
    T.RandomHorizontalFlip(), T.RandomCrop(8, padding=2), T.RandomResizedCrop((6, 7)), T.ColorJitter(0.4, 0.3, hue=0.1),
    T.RandomAffine(30, (0.2, 0.1), (0.7, 1.4), (-9, 9)), T.RandomRotation(90, "bilinear", fill=9), T.RandomErasing(0.7),
    T.RandAugment(1, 9), T.GaussianBlur(3), T.RandomApply([T.RandomInvert()]), T.RandomPosterize(3), T.Pad(1),
    T.RandomChoice([T.RandomVerticalFlip(1.0), T.Grayscale(3)])]


def orders(n: int, batch: int, drop: bool) -> dict[str, dict[str, Any]]:
    """The options by which a loader of n samples says in which order they come."""
    plain: dict[str, Any] = {"batch_size": batch, "drop_last": drop}
    return {
        "in order": plain, "shuffled": plain | {"shuffle": True},
        "drawn":    plain | {"sampler": data.RandomSampler(n, replacement=True, num_samples=17)},
        "weighted": plain | {"sampler": data.WeightedRandomSampler(np.arange(n) + 0.5)},
        "balanced": plain | {"sampler": data.BalancedSampler(LABELS[:n], num_samples=21)},
        "buckets":  {"batch_sampler": data.BucketBatchSampler(LABELS[:n] + 1, batch, pool=2, drop_last=drop)}}


@some.composite
def options(draw: Any) -> dict[str, Any]:
    """What a loader is made of, but for its workers."""
    n = draw(some.integers(1, len(LABELS)))
    order = draw(some.sampled_from(["in order", "shuffled", "drawn", "weighted", "balanced", "buckets"]))
    made = orders(n, draw(some.integers(1, 9)), draw(some.booleans()))[order]
    changes = [*draw(some.lists(some.sampled_from(CHANGES), max_size=3, unique_by=id)), T.ToFloat()]
    kept = data.ArrayDataset(IMAGES[:n], LABELS[:n]).map(T.Compose(changes))
    mixes = draw(some.sampled_from([None, T.MixUp(num_classes=4), T.CutMix(num_classes=4)]))
    return made | {"data": kept, "batch_transform": mixes, "seed": draw(some.integers(0, 9))}


def bits(batches: Iterable[Any]) -> list[Any]:
    """What batches hold, to be compared."""
    return [[(part.dtype.str, part.shape, part.tobytes()) for part in batch] for batch in batches]


@settings(max_examples=25)
@given(options(), WORKERS, WORKERS, some.integers(0, 30))
def test_any_workers_give_the_same_bits_and_resume_anywhere(
        of: dict[str, Any], how: tuple[int, bool], other: tuple[int, bool], at: int) -> None:
    law = data.Loader(**of, num_workers=0)
    epochs = [bits(law), bits(law)]
    assert len(epochs[0]) == len(law)
    loader = data.Loader(**of, num_workers=how[0], processes=how[1])
    at = at % (len(law) + 1)
    batches = iter(loader)
    begun = bits(islice(batches, at))
    state = loader.state_dict()
    assert begun == epochs[0][:at] and bits(batches) == epochs[0][at:] and bits(loader) == epochs[1]
    again = data.Loader(**of | {"seed": 99}, num_workers=other[0], processes=other[1])
    again.load_state_dict(state)
    assert [bits(again), bits(again)] == [epochs[0][at:], epochs[1]]
