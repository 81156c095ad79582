"""Tables of other libraries: files of HDF5, Parquet and Feather give what was put in, and bad ones are told."""
from __future__ import annotations

import io
import mmap
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stele import data
from stele.data import hdf5
from stele.errors import DataError
from tests.keras_models import KEPT

h5py = pytest.importorskip("h5py", reason="h5py is not installed")

COLUMNS: dict[str, tuple[Any, np.ndarray]] = {      # what is written, and what is read
    "floats": (np.arange(3.0), np.arange(3, dtype=np.float32)),
    "other end": (np.arange(3, dtype=">f8"), np.arange(3, dtype=np.float32)),
    "halves": (np.ones(3, np.float16), np.ones(3, np.float16)),
    "group/whole": (np.arange(6).reshape(3, 2), np.arange(6).reshape(3, 2)),
    "bytes": (np.array([1, 2, 3], ">i2"), np.array([1, 2, 3], np.int16)),
    "truths": (np.array([True, False, True]), np.array([True, False, True])),
    "texts": (["a", "né", ""], np.array(["a", "né", ""])),
    "fixed texts": (np.array([b"ab", b"c", b""]), np.array(["ab", "c", ""])),
    "none": (np.zeros((0, 2)), np.zeros((0, 2), np.float32)),
}


def written(make: Callable[[Any], Any], path: Path) -> Path:
    with h5py.File(path, "w") as file:
        make(file)
    return path


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_hdf5(name: str, tmp_path: Path) -> None:
    given, wanted = COLUMNS[name]
    path = written(lambda file: file.__setitem__(name, given), tmp_path / "t.h5")
    found = data.table(path, x=name).arrays[0]
    assert found.dtype == wanted.dtype and np.array_equal(found, wanted)


def test_packed_columns_of_hdf5_and_those_never_written(tmp_path: Path) -> None:
    def make(file: Any) -> None:
        file.create_dataset("packed", data=np.zeros((1000, 100)), compression="gzip")
        file.create_dataset("filled", (1000,), "f4", fillvalue=2)

    table = data.table(written(make, tmp_path / "t.h5"))
    assert table[999]["packed"].shape == (100,) and table[999]["filled"] == 2


def test_data_sets_that_stand_in_the_file_are_columns(tmp_path: Path) -> None:
    """Those behind links, which lead elsewhere, are none, nor are dtypes under a name."""
    def make(file: Any) -> None:
        file["a"], file["g/x/y"] = np.arange(3.0), np.ones(3)
        file["soft"], file["out"] = h5py.SoftLink("/a"), h5py.ExternalLink("other.h5", "/a")
        file["dtype"] = np.dtype("f4")

    assert sorted(data.table(written(make, tmp_path / "t.h5"))[0]) == ["a", "g/x/y"]


BAD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "elsewhere": (lambda file: file.create_dataset("a", (5,), "f4", external=[("other", 0, 20)]), "lie elsewhere"),
    "huge": (lambda file: file.create_dataset("a", (1 << 20, 1 << 20), "f4"), "claims float32.1048576, 1048576"),
    "nothing": (lambda file: file.__setitem__("a", h5py.Empty("f4")), "no numbers in this file"),
    "records": (lambda file: file.__setitem__("a", np.zeros(5, [("p", "f4"), ("q", "i4")])), "holds .*each alone"),
    "references": (lambda file: file.__setitem__("a", file.ref), "holds object: a column has numbers"),
    "a group in itself": (lambda file: file.create_group("g").__setitem__("again", file["g"]), "stands in itself"),
    "lists": (lambda file: file.create_dataset("a", (2,), dtype=h5py.vlen_dtype(np.int32)), "holds object"),
    "no UTF-8": (lambda file: file.__setitem__("a", np.array([b"\xff"])), "damaged one .* decode byte 0xff"),
}


@pytest.mark.parametrize("kind", BAD)
def test_columns_of_hdf5_that_are_none(kind: str, tmp_path: Path) -> None:
    make, says = BAD[kind]
    with pytest.raises(DataError, match=says):
        data.table(written(make, tmp_path / "t.h5"))


@pytest.mark.parametrize("content", [b"", b"x" * 99, hdf5.HEAP * 9])
def test_files_that_are_no_hdf5(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.h5").write_bytes(content)
    with pytest.raises(DataError, match="got a damaged one at"):
        data.table(tmp_path / "t.h5")


def texts(path: Path) -> bytearray:
    """A file with a heap of texts."""
    return bytearray(written(lambda file: file.__setitem__("a", ["one", "two", "three"]), path).read_bytes())


ENDLESS = {"free and empty": (0, 0), "back to its begin": (1, (1 << 64) - 16), "behind the heap": (1, 1 << 40),
           "free, shorter than a head": (0, 8)}


@pytest.mark.parametrize("kind", ENDLESS)
def test_heaps_without_end_are_refused(kind: str, tmp_path: Path) -> None:
    """HDF5 itself walks through some of them for ever."""
    content = texts(path := tmp_path / "t.h5")
    at = content.index(hdf5.HEAP)
    struct.pack_into("<HHIQ", content, at + 16, ENDLESS[kind][0], 1, 0, ENDLESS[kind][1])
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"its texts, from byte {at} on, have no end"):
        data.table(path)


def test_heaps_that_lie_in_each_other_take_no_longer() -> None:
    """Each walk is as long as the file; so many walks together are not."""
    one = hdf5.HEAP + bytes(3) + struct.pack("<Q", 1 << 20) + struct.pack("<HHIQ", 1, 1, 0, 16)
    content = (one * 40_000)[:1 << 20]
    with pytest.raises(DataError, match="have no end"):
        hdf5.check_heaps(content, 8, "a file")


def test_smaller_heaps_are_refused_by_hdf5_itself(tmp_path: Path) -> None:
    content = texts(path := tmp_path / "t.h5")
    at = content.index(hdf5.HEAP)
    struct.pack_into("<QHHIQ", content, at + 8, 4088, 0, 1, 0, 0)
    path.write_bytes(content)
    with pytest.raises(DataError, match="got a damaged one"):
        data.table(path)


@pytest.mark.parametrize("to", ["itself", "the first"])
@pytest.mark.parametrize("before", [0, 512])
def test_trees_without_end_are_refused(to: str, before: int, tmp_path: Path) -> None:
    """HDF5 itself goes round in them for ever."""
    path = tmp_path / "t.h5"
    with h5py.File(path, "w", userblock_size=before) as file:
        for k in range(600):
            file.create_group(f"group{k}")
    content = bytearray(path.read_bytes())
    nodes = {at - before: hdf5.number(content, at + 16, 8) for at in hdf5.places(bytes(content), hdf5.NODE)}
    first, second = next((at, after) for at, after in nodes.items() if after in nodes)
    hdf5.check_trees(bytes(content), 8, before, "a file")
    struct.pack_into("<Q", content, second + before + 16, second if to == "itself" else first)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a tree of its links or arrays, from byte \d+ on, has no end"):
        data.table(path)


@pytest.mark.parametrize("width", [2, 4, 8])
def test_whole_heaps_pass(width: int, tmp_path: Path) -> None:
    """Sizes of any width, heaps filled to the brim, and words that look like a heap's begin."""
    plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    plist.set_sizes(8, width)
    path = tmp_path / "t.h5"
    with h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, plist)) as file:
        file["a"] = wanted = ["x" * (k % 19) for k in range(400)] + ["GCOL", "GCOL\1", "GCOL\1" * 9]
    assert data.table(path, x="a").arrays[0].tolist() == wanted
    with path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        hdf5.check_heaps(content, width, "the file")


def test_files_that_keras_wrote_pass() -> None:
    import zipfile

    with zipfile.ZipFile(KEPT) as kept:
        names = [name for name in kept.namelist() if name.endswith(".h5")]
        assert names
        for name in names:
            with hdf5.opened(io.BytesIO(kept.read(name)), kept.read(name), name, "keras") as file:
                assert "model_config" in file.attrs


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_tables_of_arrow(ending: str, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    write = {".parquet": pytest.importorskip("pyarrow.parquet").write_table,
             ".feather": pytest.importorskip("pyarrow.feather").write_feather}[ending]
    columns = {"a": [1.0, None, 3.0], "b": [1, 2, 3], "s": ["x", "né", "z"], "l": [[1, 2], [3, 4], [5, 6]]}
    write(arrow.table(columns), path := tmp_path / f"t{ending}")
    table = data.table(path, x=["a", "b"], y="s")
    np.testing.assert_array_equal(table.arrays[0], np.array([[1, 1], [np.nan, 2], [3, 3]], np.float32))
    assert table.classes == ("né", "x", "z") and data.table(path, ["l"])[1]["l"].tolist() == [3, 4]
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match="got a damaged one"):
        data.table(path)
