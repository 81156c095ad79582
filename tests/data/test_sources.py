"""What a loader can be given: arrays, samples, folders, tables, and sets of other libraries."""
from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.data import (
    ArrayDataset,
    ImageFolder,
    IterableDataset,
    Loader,
    TextFolder,
    fashion_sample,
    table,
    transforms,
)
from stele.data.pixels import pixels
from stele.errors import DataError, SteleError

X, Y = np.arange(10, dtype=np.float32).reshape(5, 2), np.arange(5)


class Rows:
    """As PyTorch's sets are: nothing of ours."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def __len__(self) -> int: return 5
    def __getitem__(self, k: int) -> Any: return X[k], int(Y[k])
    def set_epoch(self, epoch: int) -> None: self.told.append(epoch)


class Stream:
    def __iter__(self) -> Iterator[int]: return iter(range(5))


class IterableDataset_(Rows):
    """PyTorch's streams inherit a `__getitem__` that raises; some have a length."""

    def __getitem__(self, k: int) -> Any: raise NotImplementedError
    def __iter__(self) -> Iterator[int]: return iter(range(5))


IterableDataset_.__name__ = "IterableDataset"


def test_arrays_dicts_and_samples() -> None:
    for given in ((X, Y), ArrayDataset(X, Y), (st.tensor(X), Y.tolist()), [(X[k], k) for k in range(5)], Rows(),
                  ArrayDataset(X, Y).subset([0, 1, 2, 3, 4]), ArrayDataset(X, Y).take(2) + ArrayDataset(X[2:], Y[2:])):
        (x, y), (x2, y2) = Loader(given, 3)
        assert np.array_equal(np.concatenate([x, x2]), X) and np.array_equal(np.concatenate([y, y2]), Y), given
        assert (x.dtype, y.dtype) == (np.float32, np.int64)
    named = next(iter(Loader({"x": X, "y": Y}, 3)))
    assert named["x"].shape == (3, 2) and named["y"].tolist() == [0, 1, 2]
    assert [x.tolist() for x in Loader(X[:, 0], 3)] == [[0, 2, 4], [6, 8]]
    assert list(Loader(["a", "b", "c"], 2)) == [["a", "b"], ["c"]]
    some = Loader(ArrayDataset(X, Y).subset([4, 0, 2]).subset([2, 0]), 2)
    assert next(iter(some))[1].tolist() == [2, 4]


def test_streams_of_others() -> None:
    for given in (Stream(), IterableDataset_(), IterableDataset(lambda: iter(range(5)))):
        loader = Loader(given, 2)
        assert [x.tolist() for x in loader] == [[0, 1], [2, 3], [4]], given
    assert len(Loader(IterableDataset_(), 2)) == 3
    assert [x.tolist() for x in Loader(Stream(), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert "Stream, batch_size=2" in repr(Loader(Stream(), 2))
    with pytest.raises(TypeError, match="before it ends"):
        len(Loader(Stream(), 2))


def test_sets_of_others_are_told_the_epoch() -> None:
    for given in (Rows(), IterableDataset_()):
        loader = Loader(given, 2)
        assert len([0 for _ in range(3) for _ in loader]) == 9 and given.told == [0, 1, 2]


def test_sets_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    made = torch.utils.data.TensorDataset(torch.arange(6.0).reshape(3, 2), torch.arange(3))
    x, y = next(iter(Loader(made, 2)))
    assert type(x) is np.ndarray and x.dtype == np.float32 and y.tolist() == [0, 1]
    theirs = torch.utils.data.DataLoader(made, batch_size=2)
    for processes in (False, True):
        loader = Loader(theirs, processes=processes)
        assert [y.tolist() for _, y in loader] == [[0, 1], [2]] and len(loader) == 2


@pytest.mark.parametrize("mode, shape", [("RGB", (3, 4, 5)), ("L", (1, 4, 5)), ("RGBA", (4, 4, 5)), ("P", (3, 4, 5)),
                                         ("1", (1, 4, 5)), ("CMYK", (3, 4, 5)), ("F", (1, 4, 5))])
def test_images_of_pillow_in_samples_have_their_channels_first(mode: str, shape: tuple[int, ...]) -> None:
    """As those of an ImageFolder, which transforms take; alone, and in the dicts of Hugging Face's sets."""
    images = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    colour = np.tile(np.uint8([255, 0, 0]), (4, 5, 1))
    image = images.fromarray(colour).convert(mode)

    class Samples:
        def __len__(self) -> int: return 2
        def __getitem__(self, k: int) -> Any: return {"image": image, "label": k}

    batch = next(iter(Loader(Samples(), 2, scale=False)))
    assert batch["image"].shape == (2, *shape) and batch["label"].tolist() == [0, 1]
    assert batch["image"].dtype == (np.float32 if mode == "F" else np.uint8)
    if mode in ("RGB", "P"):
        assert np.array_equal(batch["image"][0], colour.transpose(2, 0, 1))
    if mode == "RGB":
        cut = next(iter(Loader(Samples(), 2, transform=transforms.RandomCrop(3))))
        assert cut["image"].shape == (2, 3, 3, 3)


@pytest.mark.parametrize("mode, dtype", [("I;16", "<u2"), ("I;16B", ">u2"), ("I", "i4")])
def test_all_bits_of_a_grey_image_of_pillow_are_kept(mode: str, dtype: str) -> None:
    images = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    grey = np.array([[0, 1, 300], [40000, 65535, 7]], dtype)
    found = next(iter(Loader([(images.frombytes(mode, (3, 2), grey.tobytes()), 1)])))[0]
    assert found.dtype == grey.dtype.newbyteorder("=") and np.array_equal(found[0, 0], grey)


def test_sets_of_hugging_face() -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    import pyarrow
    made = datasets.Dataset(pyarrow.table({"ids": [[1, 2], [3, 4], [5, 6]], "text": ["a", "b", "c"]}), fingerprint="x")
    assert [(b["ids"].tolist(), b["text"]) for b in Loader(made, 2)] == [([[1, 2], [3, 4]], ["a", "b"]),
                                                                         ([[5, 6]], ["c"])]
    with pytest.raises(DataError, match=r"Loader\(found\['train'\]\)"):
        Loader(datasets.DatasetDict({"train": made}))
    stream = datasets.IterableDataset.from_generator(lambda: ({"text": text} for text in "abc"))
    for processes in (False, True):
        assert [b["text"] for b in Loader(stream, 2, processes=processes)] == [["a", "b"], ["c"]]


@pytest.mark.parametrize("make, message", [
    (lambda: Loader(fashion_sample()), "Write Loader.found.train"),
    (lambda: Loader(iter([1])), "which can be read once"), (lambda: Loader("a.csv"), "data.table"),
    (lambda: Loader(3), "got an int"), (lambda: Loader([]), "at least one sample"),
    (lambda: Loader({}), "at least one"),
    (lambda: Loader(Stream(), shuffle=True), "its own order"), (lambda: Loader(Stream(), sampler=[0]), "its own order"),
    (lambda: Loader([(1, 2), (1,)]), r"tuples of one length, got \[1, 2\]"),
    (lambda: Loader(X, transform=3), "transform is a function"),
    (lambda: Loader(X, collate=3), "collate is a function"),
    (lambda: Loader(X, num_workers=-1), "num_workers >= 0"), (lambda: Loader(X, num_workers=1.5), "a whole number"),
    (lambda: Loader(X, num_workers=0, processes=True), "needs num_workers >= 1"),
    (lambda: Loader(X, seed=None), "seed is a whole number"), (lambda: Loader(X, shuffle="yes"), "True or False"),
    (lambda: Loader(X, scale=3), "entry by entry"), (lambda: Loader(X, True), "batch_size is a whole number")])
def test_bad_arguments(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(SteleError, match=message):
        make()


def test_folders_of_texts(tmp_path: Path) -> None:
    for name, text in (("b/2.txt", "two"), ("b/deep/3.TXT", "drei äö"), ("a/1.txt", "one"), ("a/no.csv", ""),
                       ("a/.hidden.txt", "")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    texts = TextFolder(tmp_path, transform=str.upper)
    assert list(texts) == [("ONE", 0), ("TWO", 1), ("DREI ÄÖ", 1)] and texts.labels.tolist() == [0, 1, 1]
    (tmp_path / "b/2.txt").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"UTF-8, got byte 0xff at 0 of .*2\.txt"):
        texts[1]
    (tmp_path / "c").mkdir()
    with pytest.raises(DataError, match=r"got none of \.txt in .*c"):
        TextFolder(tmp_path)


def test_folders_of_images(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = np.random.default_rng(0).integers(0, 256, (2, 5, 7, 3), np.uint8)
    for k, name in enumerate(("cat", "dog")):
        (tmp_path / name).mkdir()
        image.fromarray(pixels[k]).save(tmp_path / name / "1.png")
    image.fromarray(pixels[0, :, :, 0]).save(tmp_path / "dog" / "2.bmp")      # grey
    animals = ImageFolder(tmp_path)
    assert np.array_equal(animals[1][0], pixels[1].transpose(2, 0, 1)) and animals.labels.tolist() == [0, 1, 1]
    assert np.array_equal(animals[2][0], np.broadcast_to(pixels[0, :, :, 0], (3, 5, 7)))
    cut = ImageFolder(tmp_path, transform=lambda x, rng: x[:, :4, int(rng.integers(3)):][:, :, :4])
    runs = [[x for x, _ in Loader(cut, 2, seed=1, num_workers=n, processes=p)] for n, p in ((0, False), (2, True))]
    assert all(np.array_equal(a, b) for a, b in zip(*runs)) and runs[0][0].dtype == np.float32
    (tmp_path / "cat" / "1.png").write_bytes(b"GIF89a")
    with pytest.raises(DataError, match="got another format"):
        animals[0]
    with pytest.raises(DataError, match="got no folder at"):
        ImageFolder(tmp_path / "none")
    with pytest.raises(DataError, match="got no folder in"):
        ImageFolder(tmp_path / "cat")


@pytest.mark.parametrize("size", [(7, 3), (1, 1), (2300, 2000)])
def test_pixels_are_those_of_the_image_and_outlive_it(size: tuple[int, int]) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    wanted = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), np.uint8)
    found = pixels(image.fromarray(wanted))
    others = [image.new("RGB", size) for _ in range(4)]
    assert np.array_equal(found, wanted.transpose(2, 0, 1)) and found.dtype == np.uint8 and len(others) == 4
    found[:] = 0


TEXT = "a,b,kind,note\n1,0.5,x,\"p, q\"\n2,,y,r\n3,1e3,x,\n"


def test_tables_of_text(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\ufeff" + TEXT, "utf-8")
    found = table(path)
    assert (found.names, [a.dtype.kind for a in found.arrays]) == (("a", "b", "kind", "note"), ["i", "f", "U", "U"])
    assert found[0] == {"a": 1, "b": np.float32(0.5), "kind": "x", "note": "p, q"} and np.isnan(found[1]["b"])
    made = table(path, x=["a", "b"], y="kind")
    assert made.x.dtype == np.float32 and made.x[2].tolist() == [3, 1000] and made.classes == ("x", "y")
    assert made.y.tolist() == [0, 1, 0] and table(path, x="a", y="a").x.tolist() == [1, 2, 3]
    path.write_text("x,flag,y\n1,True,false\n2,FALSE,true\n")
    truths = table(path, x=["x", "flag"], y="y")
    assert truths.x.tolist() == [[1, 1], [2, 0]] and truths.y.tolist() == [0, 1] and truths.y.dtype == np.int64
    assert truths.classes == ("False", "True") and table(path)["flag"].tolist() == [True, False]
    path.write_text("a,b\n1,True\n,\n3,false\n")
    for x, wanted in zip(table(path).arrays, ([1, np.nan, 3], [1, np.nan, 0])):
        assert x.dtype == np.float32 and np.array_equal(x, wanted, equal_nan=True)
    packed = tmp_path / "t.tsv"
    packed.write_bytes(gzip.compress(TEXT.replace(",", "\t").replace("p\t", "p,").encode()))
    assert table(packed, ["a"])[2] == {"a": 3} and len(Loader(table(packed), 2)) == 2


@pytest.mark.parametrize("text, options, message", [
    ("", {}, "a line of names"), ("a,b\n1\n", {}, "got 1 in line 2"), (TEXT, {"columns": ["c"]}, "'a', 'b'.*got 'c'"),
    (TEXT, {"columns": ["kimd"]}, "got 'kimd'.* Did you mean 'kind'"),
    (TEXT, {"x": ["a", "kind"]}, "columns of numbers, but 'kind'"), (TEXT, {"y": "kind"}, "needs features x"),
    (TEXT, {"x": []}, "at least one column"), (b"a\n\xff\n", {}, "needs to be UTF-8"),
    ("a,b,a\n1,2,3\n", {}, "names of their own, got two of 'a'"),
    ('a,b\n"' + "0" * 200_000 + ",2\n", {}, "field larger than field limit .* quotation mark")])
def test_bad_tables(text: Any, options: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=message):
        table(path, **options)


def test_files_that_are_no_table(tmp_path: Path) -> None:
    for name, message in (("t.csv", "existing file"), ("t.xls", "a file of .csv")):
        with pytest.raises(DataError, match=message):
            table(tmp_path / name)


COLUMNS: dict[str, Any] = {"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "kind": ["x", "y", "x"]}


def check(source: Any) -> None:
    made = table(source, x=["a", "b"], y="kind")
    assert made.x.tolist() == [[1, 0.5], [2, 1.5], [3, 2.5]] and made.x.dtype == np.float32
    assert made.y.tolist() == [0, 1, 0] and made.classes == ("x", "y")
    assert table(source, ["b"])[1] == {"b": np.float32(1.5)}
    with pytest.raises(DataError, match="got 'c'"):
        table(source, ["c"])


def test_frames_of_pandas() -> None:
    frame = pytest.importorskip("pandas", reason="pandas is not installed").DataFrame(COLUMNS)
    check(frame)
    check(frame.set_index("a", drop=False)[::1])
    assert next(iter(Loader(frame, 2)))["kind"].tolist() == ["x", "y"]
    gaps = type(frame)({"n": [1, None, 3], "truth": [True, None, False], "text": ["a", None, "b"]})
    for kinds in ({}, {"n": "Int64", "truth": "boolean", "text": "string"}):
        found = table(gaps.astype(kinds))
        assert np.array_equal(found["n"], [1, np.nan, 3], equal_nan=True) and found["text"].tolist() == ["a", "", "b"]
        assert np.array_equal(found["truth"], [1, np.nan, 0], equal_nan=True)
    assert table(type(frame)({"truth": np.array([True, False], object)}))["truth"].tolist() == [True, False]


def test_frames_of_polars() -> None:
    frame = pytest.importorskip("polars", reason="Polars is not installed").DataFrame(COLUMNS)
    check(frame)
    with pytest.raises(DataError, match=r"a table needs numbers.*Write frame\.collect\(\)"):
        table(frame.lazy())


def test_arrow_and_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    made = arrow.table(COLUMNS)
    check(made)
    from pyarrow import feather, parquet
    parquet.write_table(made, tmp_path / "t.parquet")
    feather.write_feather(made, tmp_path / "t.feather")
    check(tmp_path / "t.parquet")
    check(tmp_path / "t.feather")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(DataError, match="a damaged one"):
        table(tmp_path / "t.parquet")


def test_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        for name, column in COLUMNS.items():
            file[name] = column
        file["deep/images"] = np.zeros((3, 2, 2), np.uint8)
    check(tmp_path / "t.h5")
    assert table(tmp_path / "t.h5", ["deep/images"])[0]["deep/images"].shape == (2, 2)
    (tmp_path / "t.h5").write_bytes(b"not that")
    with pytest.raises(DataError, match="a damaged one"):
        table(tmp_path / "t.h5")


def test_readers_that_are_missing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    for name, library in (("t.parquet", "pyarrow"), ("t.h5", "h5py")):
        monkeypatch.setitem(sys.modules, library, None)
        monkeypatch.setitem(sys.modules, f"{library}.parquet", None)
        (tmp_path / name).touch()
        with pytest.raises(DataError, match=rf"with {library}, which is not installed.* pip install .stele-dl.tables"):
            table(tmp_path / name)
