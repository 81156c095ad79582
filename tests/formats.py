"""The packaged samples rewritten into each format in which data sets are distributed."""

import atexit
import gzip
import os
import pickle
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from stele.data.files import read_bytes
from stele.data.idx import FILES
from stele.data.packaged import SAMPLES, SENTENCES, fashion_sample
from stele.data.sets import ArrayDataset

NET = """\
epochs = 2
metrics = ["accuracy"]

[data]
kind = "npz"
file = "points.npz"
batch_size = 16

[[layer]]
name = "hidden"
kind = "Linear"
out_features = 3

[[layer]]
name = "active"
kind = "Tanh"

[[layer]]
name = "both"
kind = "concat"
from = ["hidden", "active"]
axis = 1

[[layer]]
kind = "Linear"
out_features = 2

[loss]
kind = "cross_entropy"
label_smoothing = 0.1

[optimizer]
kind = "SGD"
lr = 0.5
"""
"""A configuration of `stele train`."""

ROOT = Path(__file__).resolve().parent.parent


@cache
def full_sets() -> Path:
    """The folder of the full data sets as unpacked: STELE_SHARED_DATA, ../unpacked, or unpacked now from `shared`.

    The test is skipped where there is none.
    """
    folders = Path(os.environ.get("STELE_SHARED_DATA") or ROOT.parent / "unpacked"), ROOT.parent / "unpacked"
    for folder in folders:
        if (folder / "aclImdb").is_dir():
            return folder
    script = shared("unpack.py")
    scratch = Path(tempfile.mkdtemp(prefix="stele-full-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    subprocess.run([sys.executable, str(script), str(scratch)], check=True, capture_output=True)
    return scratch


def shared(path: str) -> Path:
    """A file of the real data that is not packaged, under STELE_SHARED_DATA or ../shared; without it the test skips."""
    folder = Path(os.environ.get("STELE_SHARED_DATA") or ROOT.parent / "shared") / "data"
    if not (folder / path).exists():
        pytest.skip(f"no {folder / path}; set STELE_SHARED_DATA to the folder that holds data/")
    return folder / path


@cache
def held_out() -> ArrayDataset:
    return fashion_sample().test


def idx(x: np.ndarray) -> bytes:
    return struct.pack(f">4B{x.ndim}I", 0, 0, 8, x.ndim, *x.shape) + x.astype(np.uint8).tobytes()


def pictures(count: int, offset: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Packaged images as if of CIFAR-10: (N, 3, 32, 32) uint8 and labels."""
    full = held_out()
    grey = np.pad(full.x[offset:offset + count], ((0, 0), (0, 0), (2, 2), (2, 2)))
    return np.concatenate([grey, 255 - grey, grey // 2], axis=1), full.y[offset:offset + count]


def binary_batch(x: np.ndarray, y: np.ndarray) -> bytes:
    return np.column_stack([y.astype(np.uint8), x.reshape(len(x), -1)]).tobytes()


def python_batch(x: np.ndarray, y: np.ndarray) -> bytes:
    batch = {b"batch_label": b"a batch", b"labels": y.tolist(), b"data": x.reshape(len(x), -1),
             b"filenames": [b"%05d.png" % k for k in range(len(x))]}
    return pickle.dumps(batch, protocol=2)


def cifar(folder: Path, count: int = 7) -> Path:
    """Both versions of CIFAR-10, `count` images a batch, under `folder`."""
    versions = ("cifar-10-batches-bin", ".bin", binary_batch), ("cifar-10-batches-py", "", python_batch)
    for place, suffix, write in versions:
        (folder / place).mkdir(parents=True)
        for k, name in enumerate([*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]):
            (folder / place / f"{name}{suffix}").write_bytes(write(*pictures(count, k * count)))
    return folder


def fashion(folder: Path, packed: bool = True, count: int = 20) -> Path:
    """The four idx files, `count` samples each."""
    folder.mkdir(parents=True)
    full = fashion_sample()
    arrays = full.train.x[:, 0], full.train.y, full.test.x[:, 0], full.test.y
    for name, array in zip(FILES, arrays, strict=True):
        content = idx(array[:count])
        (folder / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(content) if packed else content)
    return folder


def reviews(folder: Path, count: int = 12) -> Path:
    """`aclImdb` with `count` sentences in each of its four folders."""
    for name, sign in zip(SENTENCES, ("neg", "pos"), strict=True):
        lines = read_bytes(SAMPLES / f"{name}.xz").decode().splitlines()
        for k, part in enumerate(("train", "test")):
            (folder / part / sign).mkdir(parents=True)
            for i, line in enumerate(lines[k * count:(k + 1) * count]):
                (folder / part / sign / f"{i}_{1 if sign == 'neg' else 9}.txt").write_text(line, encoding="utf-8")
    return folder


def element(kind: int, body: bytes, order: str = "<") -> bytes:
    """An element of a MATLAB file: a small one where it fits, as MATLAB writes names and sizes."""
    if len(body) <= 4 and order == "<":
        return struct.pack("<HH", kind, len(body)) + body.ljust(4, b"\0")
    return struct.pack(f"{order}II", kind, len(body)) + body + b"\0" * (-len(body) % 8)


def matrix(name: str, x: np.ndarray, kind: int, number: int, order: str = "<", flags: int = 0) -> bytes:
    """A matrix element: flags with the class, sizes, a name, the numbers column by column."""
    return element(14, b"".join((
        element(6, struct.pack(f"{order}II", kind | flags, 0), order),
        element(5, np.array(x.shape, f"{order}i4").tobytes(), order), element(1, name.encode(), order),
        element(number, x.astype(x.dtype.newbyteorder(order)).tobytes(order="F"), order))), order)


def packed(body: bytes) -> bytes:
    """An element packed by zlib."""
    small = zlib.compress(body)
    return struct.pack("<II", 15, len(small)) + small


def mat(*elements: bytes, order: str = "<") -> bytes:
    """A MATLAB 5 file."""
    head = b"MATLAB 5.0 MAT-file".ljust(124, b" ") + struct.pack(f"{order}H", 0x0100)
    return head + (b"IM" if order == "<" else b"MI") + b"".join(elements)


def chunk(name: bytes, body: bytes) -> bytes:
    """A part of a RIFF file."""
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def riff(*parts: bytes) -> bytes:
    """A wav file."""
    return b"RIFF" + struct.pack("<I", 4 + sum(map(len, parts))) + b"WAVE" + b"".join(parts)


def wav_form(tag: int = 1, channels: int = 1, rate: int = 8000, bits: int = 16, block: int | None = None,
             more: bytes = b"") -> bytes:
    """The part 'fmt '."""
    block = channels * bits // 8 if block is None else block
    return chunk(b"fmt ", struct.pack("<HHIIHH", tag, channels, rate, rate * block & 0xFFFFFFFF, block, bits) + more)
