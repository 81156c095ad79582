"""Tables as arrays: files of CSV, Parquet, Arrow and HDF5, frames of pandas and Polars."""
from __future__ import annotations

import csv
import importlib
import io
import math
import mmap
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from stele.data import hdf5
from stele.data.files import PACKED, read_bytes
from stele.data.sets import ArrayDataset
from stele.errors import DataError, kind, nearest
from stele.files import located
from stele.interop.keywords import speaks
from stele.ops.arguments import is_many, sequence

Columns = Mapping[str, Any]
FRAMES = ("pandas", "polars", "pyarrow")
DEEPEST, MOST = 64, 10_000       # groups of HDF5 in each other, and data sets in all
MISSING = ("", "NA", "N/A", "nan", "NaN", "null", "None")
TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False} | dict.fromkeys(
    MISSING, np.nan)


class Table(ArrayDataset):
    """Columns of a table as a data set; `classes` are the texts or truths that the numbers of `y` stand for, if any."""

    classes: tuple[str, ...] = ()


@speaks
def table(source: Any, columns: Sequence[str] | None = None, *, x: str | Sequence[str] | None = None,
          y: str | None = None) -> Table:
    """A table as a data set: a file (.csv, .tsv, .parquet, .feather, .arrow, .h5) or a frame of pandas, Polars, Arrow.

    Without more, samples are dicts of all columns, or of `columns`. With `x` they are tuples: the features (N, F) of
    several columns, float32, or the one named column (N,); and `y`, the labels (N,), where texts and truths become
    their numbers int64 in `classes`. Numbers are int64 or float32, floats of a file or a frame too; true and false are
    bool, and with one missing float32, as numbers are: a missing one is NaN; texts stay texts. `source` is read whole:
    in HDF5 columns are the names of data sets ("group/name"), of any axes. A CSV file begins with the names. Raises
    DataError for files that are missing, damaged or of no such kind, for columns that there are not, and where a
    library that reads them is missing (the extra `tables`).

    >>> import pathlib
    >>> _ = pathlib.Path("iris.csv").write_text("length,width,kind\\n5.1,3.5,setosa\\n6.2,2.9,other\\n")
    >>> flowers = data.table("iris.csv", x=["length", "width"], y="kind")
    >>> flowers, flowers.classes, flowers.y.tolist()
    (Table(float32[2, 2], int64[2]), ('other', 'setosa'), [1, 0])
    >>> data.table("iris.csv", ["width", "kind"])[0]
    {'width': np.float32(3.5), 'kind': np.str_('setosa')}
    """
    where = kind(source) if is_frame(source) else str(source)
    if y is not None and x is None:
        raise DataError("a table with labels y needs features x: write table(source, x=[...], y=...).")
    if x is None:
        names = None if columns is None else list(sequence(columns, "columns of table", "a list of columns' names"))
        return Table(**{name: _numbers(column) for name, column in _columns(source, names, where).items()})
    names = [x] if isinstance(x, str) else list(sequence(x, "x of table", "a column's name or a list of them"))
    found = _columns(source, names if y is None else [*names, y], where)
    if not names:
        raise DataError("the features x of a table are at least one column, got none.")
    inputs = _numbers(found[x]) if isinstance(x, str) else _matrix({name: found[name] for name in names}, where)
    if y is None:
        return Table(inputs)
    labels = _numbers(found[y])
    if labels.dtype.kind not in "bUT":
        return Table(inputs, labels)
    classes, labels = np.unique(labels, return_inverse=True)
    made = Table(inputs, labels.astype(np.int64))
    made.classes = tuple(map(str, classes))
    return made


def is_frame(x: Any) -> bool:
    """Whether x is a table of another library."""
    return type(x).__module__.partition(".")[0] in FRAMES and hasattr(x, "columns")


def _columns(source: Any, names: list[str] | None, where: str) -> dict[str, Any]:
    """The columns that are asked for, as they come."""
    if is_frame(source):
        return _chosen(_of_frame(source), names, where)
    path = located(source)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"a table is a file of {', '.join(READERS)}, or a frame, got {where}.")
    if not path.is_file():
        raise DataError(f"a table needs an existing file, got none at {path}. Is the path right?")
    try:
        return reader(path, names)
    except DataError:
        raise
    except (*hdf5.DAMAGED, NotImplementedError) as error:   # as the libraries raise them, pyarrow's too
        raise DataError(f"a table needs to be whole, got a damaged one at {path} ({error}).") from None


def _of_frame(frame: Any) -> dict[str, Any]:
    """Columns by name; Arrow's are numbered there."""
    if hasattr(frame, "collect"):       # a plan of Polars'
        raise DataError(f"a table needs numbers, got {kind(frame)}, which has none yet", hint="Write frame.collect().")
    names: Any = getattr(frame, "column_names", frame.columns)
    return {str(name): frame[name] for name in names}


def _chosen(columns: Columns, names: list[Any] | None, where: str) -> dict[str, Any]:
    for name in names or ():
        if not isinstance(name, str) or name not in columns:
            near = nearest(str(name), columns)
            raise DataError(f"{where} has the columns {', '.join(map(repr, list(columns)[:20]))}, got {name!r}",
                            hint=near and f"Did you mean {near!r}?")
    return dict(columns) if names is None else {name: columns[name] for name in names}


def _csv(path: Path, names: list[str] | None) -> dict[str, Any]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"a table of text needs to be UTF-8, got byte 0x{error.object[error.start]:02x} at "
                        f"{error.start} of {path}.") from None
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t" if path.suffix == ".tsv" else ","))
    except csv.Error as error:
        raise DataError(f"a table of text needs to be whole, got {error} in {path}. Is a quotation mark missing?"
                        ) from None
    rows = [row for row in rows if row]
    if len(rows) < 2:
        raise DataError(f"a table needs a line of names and one of values at least, got {len(rows)} lines in {path}.")
    for k, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise DataError(f"the lines of a table have as many values as the first, {len(rows[0])}, got {len(row)} "
                            f"in line {k + 1} of {path}.")
    if twice := next((name for k, name in enumerate(rows[0]) if name in rows[0][:k]), None):
        raise DataError(f"the columns of a table have names of their own, got two of {twice!r} in {path}.")
    return _chosen(dict(zip(rows[0], map(list, zip(*rows[1:])))), names, str(path))


def _arrow(path: Path, names: list[str] | None) -> dict[str, Any]:
    try:
        arrow = importlib.import_module("pyarrow")
        library = (importlib.import_module("pyarrow.parquet") if path.suffix.lower() == ".parquet"
                   else importlib.import_module("pyarrow.feather"))
    except ImportError:
        raise DataError(f"{path} is read with pyarrow, which is not installed", hint="pip install 'stele-dl[tables]'"
                        ) from None
    try:
        table = library.read_table(path, use_threads=False)     # where memory ends in a thread of Arrow's, all ends
        table.validate(full=True)                               # what offsets and texts say is believed from here on
        return _chosen(_of_frame(table), names, str(path))
    except MemoryError:
        raise
    except arrow.ArrowException as error:
        raise ValueError(error) from None


def _hdf5(path: Path, names: list[str] | None) -> dict[str, Any]:
    hdf5.library("tables")
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content, \
            hdf5.opened(path, content, str(path), "tables") as opened:
        there = dict(islice(_sets(opened, "", str(path)), MOST + 1))
        if len(there) > MOST:
            raise DataError(f"{path} has more than {MOST:,} data sets, or groups that stand in themselves")
        return {name: _loaded(x, f"{name!r} of {path}", size) for name, x in _chosen(there, names, str(path)).items()}


def _sets(group: Any, above: str, source: str) -> Iterator[tuple[str, Any]]:
    """The data sets of a group and of those in it by their names, of HDF5. They are walked one by one: what the library
    has for that asks how large the trees of each are, and falls over damaged ones.
    """
    if above.count("/") > DEEPEST:
        raise DataError(f"{source} has groups in each other deeper than {DEEPEST}, or a group that stands in itself")
    kinds = hdf5.library("tables")
    for name in group:
        if not isinstance(name, str):
            raise DataError(f"{source} is damaged: a name in it is no text, but {name!r}")
        if isinstance(group.get(name, getlink=True), kinds.HardLink):       # others lead elsewhere
            match group[name]:
                case kinds.Dataset() as x:
                    yield f"{above}{name}", x
                case kinds.Group() as inner:
                    yield from _sets(inner, f"{above}{name}/", source)
                case _:
                    pass        # a dtype under a name


def _loaded(x: Any, source: str, size: int) -> Any:
    """A data set of HDF5 in memory; it lies in this file, which has `size` bytes, and is no larger than these allow."""
    if x.external or x.is_virtual or x.shape is None:
        raise DataError(f"{source} has no numbers in this file: they lie elsewhere, or there are none")
    if math.prod(x.shape) * x.dtype.itemsize > PACKED * size:
        raise DataError(f"{source} claims {x.dtype}{list(x.shape)}, more than the {size:,} bytes of the file can hold")
    is_text = hdf5.library("tables").check_string_dtype(x.dtype) is not None
    if x.dtype.kind in "VO" and not is_text:
        raise DataError(f"{source} holds {x.dtype}: a column has numbers, truths or texts, each alone")
    return x.asstr()[()] if is_text else x[()]


READERS = {".csv": _csv, ".tsv": _csv, ".parquet": _arrow, ".feather": _arrow, ".arrow": _arrow, ".h5": _hdf5,
           ".hdf5": _hdf5}


def _matrix(columns: Columns, where: str) -> np.ndarray:
    """Columns of numbers side by side, (N, F) float32."""
    arrays = {name: _numbers(column) for name, column in columns.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or array.ndim != 1:
            raise DataError(f"features are columns of numbers, but {name!r} of {where} is {array.dtype}"
                            f"{list(array.shape)}", hint="Leave it out of x, or turn it into numbers first.")
    return np.stack([array.astype(np.float32) for array in arrays.values()], axis=1)


def _numbers(column: Any) -> np.ndarray:
    """A column as an array: floats as float32, whole numbers as they are, texts as texts."""
    if isinstance(column, list):
        return _parsed(column)      # pyright: ignore[reportUnknownArgumentType]
    array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if array.dtype == object:
        return _objects(array)
    return array.astype(np.float32 if array.dtype.kind == "f" and array.dtype.itemsize > 4
                        else array.dtype.newbyteorder("="), copy=False)


def _objects(array: np.ndarray) -> np.ndarray:
    """A column of Python objects: texts, truths, numbers with None among them, or lists of one length."""
    missing = getattr(sys.modules.get("pandas"), "NA", None)
    given: list[Any] = array.tolist()
    values: list[Any] = [None if v is missing or (isinstance(v, float) and math.isnan(v)) else v for v in given]
    if all(isinstance(v, str) for v in values):
        return np.array(values, dtype=str)
    if all(isinstance(v, bool) for v in values):
        return np.array(values)
    if all(v is None or isinstance(v, int | float) for v in values):
        return np.array([np.nan if v is None else v for v in values], np.float32)
    if values and all(is_many(v) and not isinstance(v, str) for v in values) and len({len(v) for v in values}) == 1:
        found = np.array([np.asarray(v) for v in values])
        return found.astype(np.float32) if found.dtype == np.float64 else found
    return np.array(["" if v is None else str(v) for v in values], dtype=str)


def _parsed(texts: list[str]) -> np.ndarray:
    """Texts as numbers or truths, if all are."""
    if all(text.strip() in TRUTHS for text in texts):
        found = np.array([TRUTHS[text.strip()] for text in texts])
        return found if found.dtype == np.bool_ else found.astype(np.float32)
    for dtype in (np.int64, np.float64):
        try:
            found = np.array([np.nan if t.strip() in MISSING else t for t in texts] if dtype is np.float64 else texts)
            made = found.astype(dtype)
        except (ValueError, OverflowError):
            continue
        return made.astype(np.float32) if dtype is np.float64 else made
    return np.array(texts, dtype=str)
