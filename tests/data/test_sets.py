"""Readers of data sets, each on small files of the exact format that is distributed, and on damaged ones."""
from __future__ import annotations

import csv
import io
import pickle
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from formats import element, mat, matrix, packed

from stele import data
from stele.data.archives import ARCHIVES
from stele.data.download import unpack
from stele.data.matlab import read_mat
from stele.errors import DataError, OptionError, SteleError

RNG = np.random.default_rng


def pictures(n: int, size: int = 32, seed: int = 0) -> np.ndarray:
    """Random images (n, 3, size, size)."""
    return RNG(seed).integers(0, 256, (n, 3, size, size), dtype=np.uint8)


@pytest.mark.parametrize("kind", ["plain", "packed", "other order", "small numbers"])
def test_matlab_files_are_read(kind: str, tmp_path: Path) -> None:
    x, y = pictures(4).transpose(2, 3, 1, 0), np.array([[1], [10], [3], [10]])
    order = ">" if kind == "other order" else "<"
    numbers = y.astype("u1" if kind == "small numbers" else "f8")     # doubles that are stored as bytes
    parts = matrix("X", x, 9, 2, order), matrix("y", numbers, 6, 2 if kind == "small numbers" else 9, order)
    path = tmp_path / "x.mat"
    path.write_bytes(mat(*(map(packed, parts) if kind == "packed" else parts), order=order))
    found = read_mat(path)
    assert np.array_equal(found["X"], x) and found["X"].dtype == np.uint8
    assert np.array_equal(found["y"], y) and found["y"].dtype == np.float64


def test_what_is_no_real_array_is_left_out(tmp_path: Path) -> None:
    x = np.arange(6.0).reshape(2, 3)
    cell, text = element(14, element(6, struct.pack("<II", 1, 0))), matrix("name", x.astype("u2"), 4, 4)
    (tmp_path / "x.mat").write_bytes(mat(cell, text, matrix("z", x, 6, 9, flags=0x0800), matrix("x", x, 6, 9)))
    assert list(read_mat(tmp_path / "x.mat")) == ["x"]


def test_damaged_matlab_files_are_refused(tmp_path: Path) -> None:
    x = np.arange(12.0).reshape(3, 4)
    whole, path = mat(packed(matrix("x", x, 6, 9)), matrix("y", x, 6, 9)), tmp_path / "x.mat"
    wrong = {"version 7.3": b"\x89HDF\r\n\x1a\n" + bytes(600), "head": b"MATLAB" * 30, "whole": whole[:-9]}
    for said, content in wrong.items():
        path.write_bytes(content)
        with pytest.raises(DataError, match=said):
            read_mat(path)
    rng = RNG(1)
    for _ in range(300):
        content = np.frombuffer(whole, np.uint8).copy()
        content[rng.integers(128, len(content), 2)] = rng.integers(0, 256, 2)
        path.write_bytes(content.tobytes())
        with suppress(DataError):
            read_mat(path)
    path.write_bytes(mat(packed(matrix("x", np.zeros((1, 1)), 6, 9))[:-3]))
    with pytest.raises(DataError):
        read_mat(path)
    huge = element(14, b"".join((element(6, struct.pack("<II", 6, 0)), element(5, struct.pack("<2i", 1 << 30, 1 << 30)),
                                 element(1, b"x"), element(9, bytes(16)))))
    path.write_bytes(mat(huge))
    with pytest.raises(DataError, match="1073741824x1073741824"):
        read_mat(path)


def written_svhn(folder: Path) -> Any:
    x, y = pictures(5), np.array([1, 10, 9, 10, 5], np.uint8)
    for name in ("train_32x32.mat", "test_32x32.mat"):
        (folder / name).write_bytes(mat(packed(matrix("X", x.transpose(2, 3, 1, 0), 9, 2)),
                                        packed(matrix("y", y[:, None], 9, 2))))
    return x, y % 10, data.svhn


def written_stl10(folder: Path) -> Any:
    x, y = pictures(3, 96), np.array([1, 10, 4], np.uint8)
    for part in ("train", "test"):
        x.transpose(0, 1, 3, 2).tofile(folder / f"{part}_X.bin")
        y.tofile(folder / f"{part}_y.bin")
    return x, y.astype(int) - 1, data.stl10


def written_cifar100(folder: Path) -> Any:
    x, y = pictures(6), np.array([0, 99, 5, 6, 7, 8])
    rows = np.concatenate([y[:, None] // 5, y[:, None], x.reshape(6, -1)], 1).astype(np.uint8)
    for part in ("train", "test"):
        rows.tofile(folder / f"{part}.bin")
    return x, y, data.cifar100


def written_cifar100_python(folder: Path) -> Any:
    x, y = pictures(6), [0, 99, 5, 6, 7, 8]
    for part in ("train", "test"):
        batch = {b"filenames": [b"a.png"] * 6, b"batch_label": b"one", b"fine_labels": y,
                 b"coarse_labels": [n // 5 for n in y], b"data": x.reshape(6, -1)}
        (folder / part).write_bytes(pickle.dumps(batch, protocol=2))
    return x, np.array(y), data.cifar100


IMAGES = (written_svhn, written_stl10, written_cifar100, written_cifar100_python)


@pytest.mark.parametrize("written", IMAGES)
def test_sets_of_images_are_read(written: Callable[[Path], Any], tmp_path: Path) -> None:
    x, y, read = written(tmp_path)
    found = read(tmp_path)
    for part in (found.train, found.test):
        assert np.array_equal(part.x, x) and part.x.dtype == np.uint8 and part.x.flags.c_contiguous
        assert np.array_equal(part.y, y) and part.y.dtype == np.int64 and part.y.max() < len(found.classes)
    if read is not data.svhn:       # whose files come without a folder
        around = tmp_path / {data.stl10: "stl10_binary", data.cifar100: "cifar-100-python"}[read]
        around.mkdir()
        for path in [path for path in tmp_path.iterdir() if path.is_file()]:
            path.rename(around / path.name)
        assert np.array_equal(read(tmp_path).train.x, x) and np.array_equal(read(around).train.x, x)
    if read is data.cifar100:
        coarse = data.cifar100(tmp_path, coarse=True)
        assert np.array_equal(coarse.train.y, y // 5) and len(coarse.classes) == 20 and len(found.classes) == 100
        assert found.classes == tuple(sorted(found.classes))


@pytest.mark.parametrize("written", IMAGES)
def test_damaged_sets_of_images_are_refused(written: Callable[[Path], Any], tmp_path: Path) -> None:
    read = written(tmp_path)[2]
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        for content in (whole[:-5], b"", None):
            path.unlink()
            if content is not None:
                path.write_bytes(content)
            with pytest.raises(DataError):
                read(tmp_path)
            path.write_bytes(whole)
    assert len(read(tmp_path).train)


def test_labels_out_of_range_are_refused(tmp_path: Path) -> None:
    written_stl10(tmp_path)
    np.array([1, 11, 4], np.uint8).tofile(tmp_path / "train_y.bin")
    with pytest.raises(DataError, match="labels"):
        data.stl10(tmp_path)
    (tmp_path / "train_32x32.mat").write_bytes(mat(matrix("X", pictures(1), 9, 2), matrix("y", np.ones((1, 1)), 6, 9)))
    with pytest.raises(DataError, match="32, 32, 3, N"):
        data.svhn(tmp_path)


def test_ag_news_is_read_with_its_quotes(tmp_path: Path) -> None:
    rows = [("3", "Oil, again", 'He said "no"\\and left'), ("1", "Peace", "a line\nand another"), ("4", "Chips", "")]
    for name in ("train.csv", "test.csv"):
        made = io.StringIO(newline="")
        csv.writer(made, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
        (tmp_path / name).write_text(made.getvalue())
    found = data.ag_news(tmp_path, length=9)
    assert found.train.y.tolist() == [2, 0, 3] and found.train.x.dtype == np.int32 and found.train.x.shape == (3, 9)
    words = [[("", "^", "?", *found.vocabulary)[n] for n in row] for row in found.test.x]
    assert words[0] == ["", "^", "oil", "again", "he", "said", "no", "and", "left"]
    assert words[1][-5:] == ["peace", "a", "line", "and", "another"] and words[2][-1] == "chips"
    for wrong in ('"5","a","b"\n', '"1","a"\n', '"1","' + "x" * 200_000 + '","b"\n', "\xff"):
        (tmp_path / "test.csv").write_bytes(wrong.encode("latin1"))
        with pytest.raises(DataError):
            data.ag_news(tmp_path)


def test_sst2_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "SST-2"
    folder.mkdir()
    (folder / "train.tsv").write_text("sentence\tlabel\nhide new secretions \t0\na fine film \t1\n")
    (folder / "dev.tsv").write_text("sentence\tlabel\na film unseen \t1\n")
    found = data.sst2(tmp_path, length=5)
    assert found.train.y.tolist() == [0, 1] and found.test.x[0, -1] == 2 and len(found.test) == 1
    for wrong in ("", "sentence\tlabel\n",
                  "index\tsentence\n0\ta\n", "sentence\tlabel\na film\t2\n", "sentence\tlabel\nx\n"):
        (folder / "dev.tsv").write_text(wrong)
        with pytest.raises(DataError):
            data.sst2(tmp_path)


def test_corpora_give_rows_and_what_follows(tmp_path: Path) -> None:
    lines = " \n = Title = \n \n a b c a <unk> . \n a b \n"
    folder = tmp_path / "wikitext-2"
    folder.mkdir()
    for part in ("train", "valid", "test"):
        (folder / f"wiki.{part}.tokens").write_text(lines if part == "train" else " a z b \n" * 4)
    found = data.wikitext2(tmp_path, length=3)
    text = [*["=", "Title", "="], "<eos>", *["a", "b", "c", "a", "<unk>", "."], "<eos>", "a", "b", "<eos>"]
    x, y = found.train.x, found.train.y
    assert [found.classes[k] for k in x.reshape(-1)] == text[:12] and x.dtype == np.int32 and y.dtype == np.int64
    assert [found.classes[k] for k in y.reshape(-1)] == text[1:13]
    assert "z" not in found.classes and found.classes[found.test.x[0, 1]] == "<unk>"
    assert np.array_equal(data.wikitext2(tmp_path, 3, held_out="valid").test.x, found.test.x)
    with pytest.raises(DataError, match="shorter rows"):
        data.wikitext2(tmp_path, length=99)
    with pytest.raises(OptionError):
        data.wikitext2(tmp_path, held_out="train")
    (tmp_path / "input.txt").write_text("ab" * 100)
    for place in (tmp_path, tmp_path / "input.txt"):
        found = data.tiny_shakespeare(place, length=4)
        assert found.classes == ("a", "b") and found.train.x.shape == (44, 4) and found.test.x.shape == (4, 4)
        assert np.array_equal(found.train.y, 1 - found.train.x)


def test_tables_are_read(tmp_path: Path) -> None:
    kinds = ("Iris-setosa", "Iris-versicolor", "Iris-virginica")
    (tmp_path / "iris.data").write_text("".join(f"{k}.1,3.5,1.4,0.2,{kinds[k % 3]}\n" for k in range(10)) + "\n")
    found = data.iris(tmp_path)
    assert found.train.x.shape == (8, 4) and found.test.x[:, 0].tolist() == [np.float32(4.1), np.float32(9.1)]
    assert found.test.y.tolist() == [1, 0] and found.train.x.dtype == np.float32
    (tmp_path / "wine.data").write_text("".join(f"{k % 3 + 1},14.23,.28,{','.join(['1'] * 11)}\n" for k in range(6)))
    found = data.wine(tmp_path / "wine.data", held_out=3)
    assert found.train.y.tolist() == [0, 1, 0, 1] and found.test.y.tolist() == [2, 2]
    line = "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, 2174, 0, 40, Cuba"
    (tmp_path / "adult.data").write_text(f"{line}, <=50K\n{line}, >50K\n\n")
    (tmp_path / "adult.test").write_text(f"|1x3 Cross validator\n{line}, >50K.\n\n")
    found = data.adult(tmp_path)
    assert found.train.y.tolist() == [0, 1] and found.test.y.tolist() == [1] and len(found.train.arrays) == 15
    assert found.test[0]["occupation"] == "?" and found.train[1]["capital_gain"] == 2174
    for name, wrong in (("iris.data", "1,2,3,4,Iris-rubra\n"), ("iris.data", "1,2,nan,4,Iris-setosa\n" * 5),
                        ("iris.data", "1,2,x,4,Iris-setosa\n" * 5), ("iris.data", "1,2\n"), ("iris.data", ""),
                        ("adult.test", f"{line}, 50K\n"), ("adult.test", f"{line.replace('39', 'x')}, >50K\n")):
        (tmp_path / name).write_text(wrong)
        with pytest.raises(DataError):
            (data.iris if name == "iris.data" else data.adult)(tmp_path)


READERS: tuple[Callable[[Any], Any], ...] = (data.svhn, data.stl10, data.cifar100, data.ag_news, data.sst2,
                                             data.wikitext2, data.tiny_shakespeare, data.iris, data.wine, data.adult)


@pytest.mark.parametrize("read", READERS)
def test_an_empty_folder_and_what_is_none_teach(read: Callable[[Any], Any], tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(DataError, match=tmp_path.name):
            read(folder)
    with pytest.raises(SteleError):
        read(7)


def test_every_reader_has_its_archive() -> None:
    named = {read.__name__ for read in READERS}
    assert named <= ARCHIVES.keys()
    assert all(file.unpacked > file.size for name in named for file in ARCHIVES[name])


def zipped(path: Path, *members: tuple[str, bytes]) -> Path:
    """A zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    path.with_name(f"{path.name}.unpacked").unlink(missing_ok=True)
    return path


def test_zips_unpack_inside_their_folder_and_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, to = tmp_path / "x.zip", tmp_path / "to"
    unpack(zipped(path, ("set/", b""), ("set/a.txt", b"ok"), ("b", b"")), to)
    assert (to / "set/a.txt").read_bytes() == b"ok" and (to / "b").read_bytes() == b""
    for name in ("../c", "set/../../c", "/c"):
        with suppress(DataError):
            unpack(zipped(path, (name, b"x")), to)
        assert not (tmp_path / "c").exists()
    whole = zipped(path, ("zeros", bytes(3_000_000))).read_bytes()
    with pytest.raises(DataError, match="more than 1,000,000 bytes"):
        unpack(path, to, 1_000_000)
    assert not (to / "zeros").exists()
    for content in (whole[:-30], whole[:1000], b"PK\3\4", whole.replace(b"zeros", b"zeroz", 1)):
        path.write_bytes(content)
        with pytest.raises(DataError):
            unpack(path, to)
    locked = bytearray(zipped(path, ("d", b"x")).read_bytes())
    locked[6] |= 1
    locked[locked.rindex(b"PK\1\2") + 8] |= 1
    path.write_bytes(bytes(locked))
    with pytest.raises(DataError, match="password"):
        unpack(path, to)
