#!/usr/bin/env python3
"""Write the packaged samples `stele/data/samples` from the full sets.

    python tools/make_samples.py FASHION RT [--train 10000] [--test 2000]

FASHION holds the four idx files of Fashion-MNIST (plain, .gz or .xz), RT the files rt-polarity.pos and .neg (plain or
.gz). The images are the first ones of each class of the official training and test set, in official order, the same
number of each class; the sentences are complete. The same input gives the same bytes.
"""

import argparse
import lzma
import struct
from pathlib import Path

import numpy as np

from stele.data.files import read_bytes
from stele.data.idx import FASHION, FILES, fashion_mnist
from stele.data.packaged import SAMPLES, SENTENCES
from stele.data.sets import ArrayDataset

PRESET = lzma.PRESET_EXTREME | 9


def first_of_each_class(part: ArrayDataset, count: int) -> ArrayDataset:
    """The first `count / classes` samples of each class, in their order."""
    each = count // len(FASHION)
    chosen = np.sort(np.concatenate([np.flatnonzero(part.y == k)[:each] for k in range(len(FASHION))]))
    return ArrayDataset(part.x[chosen], part.y[chosen])


def idx(x: np.ndarray) -> bytes:
    """The idx file of a uint8 array."""
    return struct.pack(f">4B{x.ndim}I", 0, 0, 8, x.ndim, *x.shape) + x.astype(np.uint8).tobytes()


def sentences(folder: Path, name: str) -> bytes:
    """One of the two files of sentences as it is distributed."""
    path = folder / name
    return read_bytes(path if path.is_file() else folder / f"{name}.gz")


def main() -> None:
    """Read, choose, write, and print what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fashion", type=Path)
    parser.add_argument("rt", type=Path)
    parser.add_argument("--train", type=int, default=10_000)
    parser.add_argument("--test", type=int, default=2_000)
    options = parser.parse_args()

    full = fashion_mnist(options.fashion)
    train, test = first_of_each_class(full.train, options.train), first_of_each_class(full.test, options.test)
    contents = dict(zip(FILES, map(idx, (train.x[:, 0], train.y, test.x[:, 0], test.y)), strict=True))
    contents |= {name: sentences(options.rt, name) for name in SENTENCES}
    SAMPLES.mkdir(exist_ok=True)
    for name, content in contents.items():
        packed = lzma.compress(content, preset=PRESET)
        (SAMPLES / f"{name}.xz").write_bytes(packed)
        print(f"{name}.xz  {len(packed):,} bytes")


if __name__ == "__main__":
    main()
