"""Bad files from outside: each is a DataError of one line that says what was needed, what came and where."""

import gzip
import lzma
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from formats import binary_batch, cifar, fashion, idx, python_batch, reviews

from stele.data import cifar10, download, fashion_mnist, find_images, find_texts, imdb, read_idx
from stele.data.files import read_bytes
from stele.data.pickles import read_pickle
from stele.errors import DataError

X, Y = np.random.default_rng(0).integers(0, 256, (3, 3, 32, 32), np.uint8), np.arange(3)
GREY = X[:, 0, 2:30, 2:30]
WHOLE = python_batch(X, Y)


class Evil:
    """A pickle that runs a command when it is read without care."""

    def __reduce__(self) -> tuple[Callable[..., int], tuple[str]]:
        import os
        return os.system, ("touch stele-was-here",)


class Getter:
    """A pickle that reaches for an attribute through a name that is admitted."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        import codecs
        return codecs.encode, ("text", "rot13")


def reading(read: Callable[[Path], object], content: bytes) -> Callable[[Path], object]:
    """A call of `read` on a file of that content."""
    def call(folder: Path) -> object:
        (folder / "file").write_bytes(content)
        return read(folder / "file")
    return call


def with_file(make: Callable[[Path], Path], name: str, content: bytes | None,
              read: Callable[[Path], object]) -> Callable[[Path], object]:
    """A call of `read` on a good set with one file replaced, or gone where content is None."""
    def call(folder: Path) -> object:
        root = make(folder / "set")
        (root / name).unlink(missing_ok=True)
        if content is not None:
            (root / name).write_bytes(content)
        return read(root)
    return call


def array_pickle(shape: tuple[int, ...], raw: bytes, dtype: bytes = b"u1", state: int = 5) -> bytes:
    """A batch whose array claims what it likes, written opcode by opcode."""
    def text(word: bytes) -> bytes:
        return b"U" + bytes([len(word)]) + word
    sizes = b"(" + b"".join(b"J" + struct.pack("<i", n) for n in shape) + b"t"
    array = (b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + text(b"b") + b"tR(K\x01" + sizes
             + b"cnumpy\ndtype\n(" + text(dtype) + b"K\x00K\x01tR\x89T" + struct.pack("<i", len(raw)) + raw + b"tb")
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + b"]u."


def folder_of(**files: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return folder
    return make


def rows(data: object, labels: object) -> bytes:
    return pickle.dumps({b"data": data, b"labels": labels}, protocol=2)


def imdb_of_other_names(folder: Path) -> object:
    root = reviews(folder / "aclImdb")
    for path in (root / "test" / "neg").iterdir():
        path.rename(path.with_suffix(".text"))
    return imdb(root)


BINARY, PYTHON = "cifar-10-batches-bin", "cifar-10-batches-py"
read_python = lambda root: cifar10(root / PYTHON)
read_binary = lambda root: cifar10(root / BINARY)
python = lambda content: with_file(cifar, f"{PYTHON}/data_batch_2", content, read_python)
binary = lambda content: with_file(cifar, f"{BINARY}/data_batch_2.bin", content, read_binary)
mnist_file = lambda name, content: with_file(fashion, f"{name}-ubyte.gz", content, fashion_mnist)
images = lambda path: read_idx(path, 3)

BAD = [
    ("needs an existing file, got none", lambda f: read_bytes(f / "none")),
    ("needs a file, got the folder", read_bytes),
    ("truncated or corrupt", reading(images, gzip.compress(idx(GREY))[:-20])),
    ("got a truncated or corrupt one", reading(images, b"\x1f\x8b")),
    ("CRC check failed", reading(images, gzip.compress(idx(GREY))[:-8] + bytes(8))),
    ("Compressed file ended", reading(images, lzma.compress(idx(GREY))[:-20])),
    ("needs a whole file", reading(images, b"\xfd7zXZ\x00" + bytes(20))),
    ("at most 5 bytes, got more", reading(lambda p: read_bytes(p, 5), gzip.compress(bytes(9)))),
    ("needs to begin with 0x00000803, got 0x ", reading(images, b"")),
    ("got 0x00000d03", reading(images, b"\x00\x00\x0d\x03" + bytes(12))),
    ("of images needs to begin with 0x00000803, got 0x00000801", reading(images, idx(Y))),
    ("of labels needs to begin with 0x00000801, got 0x00000803", reading(lambda p: read_idx(p, 1), idx(GREY))),
    ("needs a head of 16 bytes, got 9", reading(images, idx(GREY)[:9])),
    ("needs 2368 bytes, got 2367", reading(images, idx(GREY)[:-1])),
    ("needs 2368 bytes, got 2369", reading(images, idx(GREY) + b"x")),
    ("of shape (4294967295, 4294967295, 4294967295) needs", reading(images, b"\x00\x00\x08\x03" + b"\xff" * 12)),
    ("got no t10k-labels-idx1-ubyte[.gz]", mnist_file("t10k-labels-idx1", None)),
    ("need to be 28x28, got 32x32", mnist_file("train-images-idx3", idx(X[:, 0]))),
    ("got 20 samples and 3 labels", mnist_file("train-labels-idx1", idx(Y))),
    ("labels need to be 0..9, got 10 for sample 0", mnist_file("train-labels-idx1", idx(np.full(20, 10)))),
    ("got 0 samples and 20 labels", mnist_file("t10k-images-idx3", idx(GREY[:0]))),
    ("rows of 3073 bytes, got 9218", binary(binary_batch(X, Y)[:-1])),
    ("at least one sample, got an empty one", binary(b"")),
    ("to be 0..9, got 200 for sample 1", binary(binary_batch(X, np.array([0, 200, 0])))),
    ("got no data_batch_2.bin", binary(None)),
    ("got no data_batch_2 in", python(None)),
    ("admitted, got posix.system", python(pickle.dumps({b"data": Evil()}, 2))),
    ("got builtins.eval", python(b"\x80\x02cbuiltins\neval\n.")),
    ("got collections.OrderedDict", python(pickle.dumps(OrderedDict(), 2))),
    ("got numpy.load", python(b"\x80\x02cnumpy\nload\n.")),
    ("got numpy.ndarray.tofile", python(b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93.")),
    ("need codec latin1, got 'rot13'", python(pickle.dumps(Getter(), 2))),
    ("got instruction b'Q' at 4", python(b"\x80\x02K\x01Q.")),
    ("a pickle needs to be whole, got ValueError", python(WHOLE[:-100])),
    ("got IndexError", python(b"")),
    ("got instruction b'\\x00' at 0", python(b"\x00noise")),
    ("to be a pickled dict, got list", python(pickle.dumps([1], 2))),
    ("need dtype uint8, got", python(rows(np.zeros((1, 3072)), [1]))),
    ("got 'O8'", python(rows(np.array([[{}]]), [1]))),
    ("an array of shape (9, 3072) needs 27648 bytes, got 3", python(array_pickle((9, 3072), b"abc"))),
    ("needs (version, shape, dtype, order, bytes)", python(array_pickle((-1, -3), b"abc"))),
    ("needs data and labels, got no data", python(pickle.dumps({b"labels": [1]}, 2))),
    ("needs data and labels, got no labels", python(pickle.dumps({b"data": 1}, 2))),
    ("(N, 3072) uint8, got list", python(rows([1, 2], [1, 2]))),
    ("(N, 3072) uint8, got (3, 3071)", python(rows(X.reshape(3, -1)[:, 1:], [1, 2, 3]))),
    ("need to be a list of integers", python(rows(X.reshape(3, -1), ["a", "b", "c"]))),
    ("got 3 samples and 1 labels", python(rows(X.reshape(3, -1), [1]))),
    ("got -1 for sample 1", python(rows(X.reshape(3, -1), [1, -1, 1]))),
    ("got none of them in", cifar10),
    ("--data needs an existing folder", lambda f: find_images(f / "none")),
    ("got the file", reading(find_images, b"x")),
    ("an empty folder at", find_images),
    ("none of them at", lambda f: find_images(folder_of(a=b"x")(f / "o"))),
    ("train/pos and train/neg", find_texts),
    ("test/neg and test/pos, got no", lambda f: (reviews(f / "a") / "test").rename(f / "t") and imdb(f / "a")),
    ("named ID_RATING.txt, got none", imdb_of_other_names),
    ("UTF-8 text, got byte 0xe9 at 3", with_file(reviews, "train/neg/0_1.txt", b"caf\xe9 ", imdb)),
    ("download needs one of adult", lambda f: download("imagenet", f)),
]


@pytest.mark.parametrize("message, call", BAD, ids=[message for message, _ in BAD])
def test_bad_data(message: str, call: Callable[[Path], object], tmp_path: Path,
                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError) as caught:
        call(tmp_path)
    text = str(caught.value)
    assert message in text and "\n" not in text
    assert not (tmp_path / "stele-was-here").exists()


def test_messages_are_distinct() -> None:
    assert len({message for message, _ in BAD}) == len(BAD) >= 30


def test_pickle_reads_what_is_admitted(tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(WHOLE)
    batch = read_pickle(tmp_path / "good")
    assert batch["labels"] == Y.tolist() and np.array_equal(batch["data"], X.reshape(3, -1))
    (tmp_path / "old").write_bytes(array_pickle((1, 3), b"abc"))
    assert read_pickle(tmp_path / "old")["data"].tolist() == [[97, 98, 99]], "as Python 2 wrote it"
