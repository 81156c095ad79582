"""CIFAR-100 from the folders of its binary and its python version."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from stele.data.cifar import PIXELS
from stele.data.files import place_of, read_bytes
from stele.data.pickles import read_pickle
from stele.data.sets import ArrayDataset, Splits, split
from stele.errors import DataError
from stele.interop.keywords import speaks
from stele.ops.arguments import is_array, is_series

FINE_NAMES = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle
caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant flatfish
forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle
mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine
possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar
sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle wardrobe whale
willow_tree wolf woman worm"""
COARSE_NAMES = """
aquatic_mammals fish flowers food_containers fruit_and_vegetables household_electrical_devices household_furniture
insects large_carnivores large_man-made_outdoor_things large_natural_outdoor_scenes large_omnivores_and_herbivores
medium_mammals non-insect_invertebrates people reptiles small_mammals trees vehicles_1 vehicles_2"""
FINE, COARSE = tuple(FINE_NAMES.split()), tuple(COARSE_NAMES.split())


@speaks
def cifar100(folder: str | Path, coarse: bool = False) -> Splits:
    """CIFAR-100 from the `folder` `cifar-100-binary` or `cifar-100-python`, or the one around it: (N, 3, 32, 32) uint8.

    Labels are of 100 classes, or with `coarse` of the 20 that these belong to (Krizhevsky, 2009). 50,000 images for
    training and 10,000 for the test. Raises DataError for a file that is missing or damaged, ArgumentError for what is
    no path. `download("cifar100")` makes such a folder.

    >>> for name in ("train", "test"):
    ...     np.full((2, 2 + 3 * 32 * 32), 7, np.uint8).tofile(f"{name}.bin")     # two labels and the pixels, twice
    >>> found = data.cifar100(".")
    >>> found.train, found.classes[7]
    (ArrayDataset(uint8[2, 3, 32, 32], int64[2]), 'beetle')
    """
    folder = place_of(folder, has_any, ("cifar-100-binary", "cifar-100-python"))
    is_binary = any((folder / f"{part}.bin").is_file() for part in ("train", "test"))
    read, suffix = (_read_binary, ".bin") if is_binary else (_read_python, "")
    for part in ("train", "test"):
        if not (folder / f"{part}{suffix}").is_file():
            raise DataError(f"CIFAR-100 needs train.bin and test.bin (or the python version's train and test), got no "
                            f"{part}{suffix} in {folder}. Put the unpacked archive there.")
    train, test = (read(folder / f"{part}{suffix}", coarse) for part in ("train", "test"))
    return Splits("CIFAR-100", COARSE if coarse else FINE, train, test)


def has_any(folder: Path) -> bool:
    """Whether `folder` holds at least one file of either version."""
    return any((folder / f"{part}{suffix}").is_file() for part in ("train", "test") for suffix in (".bin", ""))


def _read_binary(path: Path, coarse: bool) -> ArrayDataset:
    """Rows of a coarse label, a fine one, and 3072 pixels: red, green and blue planes of 32x32."""
    content = read_bytes(path)
    if len(content) % (2 + PIXELS):
        raise DataError(f"a file of CIFAR-100 needs rows of {2 + PIXELS} bytes, got {len(content)} bytes in {path}. "
                        "Unpack the archive again.")
    rows = np.frombuffer(content, np.uint8).reshape(-1, 2 + PIXELS)
    labels = rows[:, 0 if coarse else 1].astype(np.int64)
    return split(rows[:, 2:].reshape(-1, 3, 32, 32), labels, 20 if coarse else 100, str(path))


def _read_python(path: Path, coarse: bool) -> ArrayDataset:
    """A pickled dict of `data` (N, 3072), `fine_labels` and `coarse_labels`."""
    batch, name = read_pickle(path), "coarse_labels" if coarse else "fine_labels"
    x, labels = batch.get("data"), batch.get(name)
    if not is_array(x) or x.ndim != 2 or x.shape[1] != PIXELS:
        raise DataError(f"data of CIFAR-100 needs to be (N, {PIXELS}) uint8, got something else in {path}.")
    if not is_series(labels) or not all(type(y) is int and abs(y) < 1 << 31 for y in labels):
        raise DataError(f"{name} of CIFAR-100 need to be a list of integers, got something else in {path}.")
    return split(x.reshape(-1, 3, 32, 32), np.array(labels, np.int64), 20 if coarse else 100, str(path))
