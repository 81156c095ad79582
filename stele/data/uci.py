"""Tables of the UCI Machine Learning Repository: iris, wine and adult."""
from __future__ import annotations

from pathlib import Path

import numpy as np

from stele.data.labelled import text_of
from stele.data.sets import ArrayDataset, Splits
from stele.errors import DataError
from stele.files import located
from stele.interop.keywords import speaks
from stele.ops.arguments import whole

IRIS = ("Iris-setosa", "Iris-versicolor", "Iris-virginica")
INCOMES = ("<=50K", ">50K")

# The columns of adult, and which of them hold words.
ADULT = ("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship",
         "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country")
WORDS = {"workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country"}


@speaks
def iris(folder: str | Path, held_out: int = 5) -> Splits:
    """Fisher's irises from the `folder` of `iris.data`: x float32 (N, 4) in cm, labels of three species.

    150 flowers (Fisher, 1936): length and width of the sepal and of the petal. There is no official test: every flower
    number k with k % `held_out` == held_out - 1 is in it. Raises DataError for a file that is missing or damaged,
    ArgumentError for what is no path, ShapeError for a held_out below 2. `download("iris")` makes such a folder.

    >>> with open("iris.data", "w") as file:
    ...     _ = file.write("5.1,3.5,1.4,0.2,Iris-setosa\\n6.3,3.3,6.0,2.5,Iris-virginica\\n\\n")
    >>> found = data.iris(".", held_out=2)
    >>> found.train.x.tolist(), found.classes[found.test.y[0]]
    ([[5.099999904632568, 3.5, 1.399999976158142, 0.20000000298023224]], 'Iris-virginica')
    """
    path = file_in(located(folder), "iris.data")
    found = [(row[:4], label(row[4], IRIS, path)) for row in rows(path, 5)]
    return parted("iris", IRIS, found, whole(held_out, "held_out of iris", 2), path)


@speaks
def wine(folder: str | Path, held_out: int = 5) -> Splits:
    """Wines of three growers from the `folder` of `wine.data`: x float32 (N, 13), labels of the growers.

    178 wines by thirteen measures of chemistry (Forina et al., 1991). There is no official test: every wine number k
    with k % `held_out` == held_out - 1 is in it. Raises DataError for a file that is missing or damaged, ArgumentError
    for what is no path, ShapeError for a held_out below 2. `download("wine")` makes such a folder.

    >>> with open("wine.data", "w") as file:
    ...     for grower in (1, 2, 3):
    ...         _ = file.write(f"{grower},14.2,1.71,2.43,15.6,127,2.8,3.06,.28,2.29,5.64,1.04,3.92,1065\\n")
    >>> data.wine(".", held_out=3).train
    ArrayDataset(float32[2, 13], int64[2])
    """
    path = file_in(located(folder), "wine.data")
    found = [(row[1:], label(row[0], ("1", "2", "3"), path)) for row in rows(path, 14)]
    return parted("wine", ("grower 1", "grower 2", "grower 3"), found, whole(held_out, "held_out of wine", 2), path)


@speaks
def adult(folder: str | Path) -> Splits:
    """Incomes of a census from the `folder` of `adult.data` and `adult.test`: named columns, and `y` 0 or 1.

    Columns are int64 (N,), or words (N,) where they name a kind ("?" where nobody knows); y says whether somebody has
    more than 50,000 dollars a year. 32,561 people for training and 16,281 for the test (Kohavi, 1996). Raises DataError
    for a file that is missing or damaged, ArgumentError for what is no path. `download("adult")` makes such a folder.

    >>> row = "39, Private, 77516, Masters, 13, Divorced, Adm-clerical, Unmarried, White, Male, 2174, 0, 40, Peru"
    >>> for name, line in (("adult.data", f"{row}, <=50K"), ("adult.test", f"|1x3 Cross validator\\n{row}, >50K.")):
    ...     with open(name, "w") as file:
    ...         _ = file.write(f"{line}\\n\\n")
    >>> sample = data.adult(".").test[0]
    >>> int(sample["age"]), str(sample["occupation"]), int(sample["y"])
    (39, 'Adm-clerical', 1)
    """
    folder = located(folder)
    train, test = (people(file_in(folder, name)) for name in ("adult.data", "adult.test"))
    return Splits("adult", INCOMES, train, test)


def people(path: Path) -> ArrayDataset:
    """The columns of one file."""
    found = rows(path, len(ADULT) + 1)
    columns: dict[str, np.ndarray] = {}
    for k, name in enumerate(ADULT):
        column = [row[k] for row in found]
        columns[name] = np.array(column) if name in WORDS else numbers(column, path).astype(np.int64)
    y = np.array([label(row[-1].removesuffix("."), INCOMES, path) for row in found], np.int64)
    return ArrayDataset(**columns, y=y)


def file_in(folder: Path, name: str) -> Path:
    """The file of a folder, or that file itself."""
    return folder / name if folder.is_dir() or folder.name != name else folder


def rows(path: Path, fields: int) -> list[list[str]]:
    """The lines of a table of so many fields between commas; empty ones and remarks are left out."""
    found: list[list[str]] = []
    for k, line in enumerate(text_of(path).splitlines(), 1):
        if not line.strip() or line.startswith("|"):
            continue
        found.append([field.strip() for field in line.split(",")])
        if len(found[-1]) != fields:
            raise DataError(f"the table needs {fields} fields in a line, got {len(found[-1])} in line {k} of {path}. "
                            "Is it a file of another set?")
    if not found:
        raise DataError(f"a table needs at least one line, got none in {path}.")
    return found


def numbers(column: list[str], path: Path) -> np.ndarray:
    """The numbers that are written so."""
    try:
        found = np.array(column, np.float64)
    except ValueError as error:
        raise DataError(f"a column of numbers has something else ({error}) in {path}.") from None
    if not np.isfinite(found).all():
        raise DataError(f"a column of numbers has NaN or an infinity in {path}.")
    return found


def label(text: str, classes: tuple[str, ...], path: Path) -> int:
    """The number of a class."""
    if text not in classes:
        raise DataError(f"a class of this table needs to be one of {', '.join(classes)}, got {text!r:.60} in {path}.")
    return classes.index(text)


def parted(name: str, classes: tuple[str, ...], found: list[tuple[list[str], int]], held_out: int, path: Path
           ) -> Splits:
    """Every so many-th row for the test, the others for training."""
    x = np.stack([numbers(row, path) for row, _ in found]).astype(np.float32)
    y = np.array([number for _, number in found], np.int64)
    is_test = np.arange(len(x)) % held_out == held_out - 1
    if not is_test.any():
        raise DataError(f"a test of every {held_out}th row needs as many, got {len(x)} in {path}.")
    return Splits(name, classes, ArrayDataset(x[~is_test], y[~is_test]), ArrayDataset(x[is_test], y[is_test]))
