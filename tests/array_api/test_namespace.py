"""The namespace as the standard describes it: inspection, dtypes' properties, protocols of arrays."""
from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import stele as st
from stele.errors import ArgumentError, DTypeError, OptionError, ShapeError
from stele.ir.types import DTYPES, promote

KINDS = {
    "bool": ["bool"], "signed integer": ["int8", "int16", "int32", "int64"],
    "unsigned integer": ["uint8", "uint16", "uint32", "uint64"], "real floating": ["float32", "float64"],
    "complex floating": ["complex64", "complex128"],
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
FLOATS = [d.name for d in DTYPES.values() if d.kind == "f"]
INTEGERS = KINDS["integral"]


def test_tensors_know_their_namespace() -> None:
    x = st.ones(2)
    assert x.__array_namespace__() is st and st.__array_api_version__ == "2025.12"
    for version in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is st
    with pytest.raises(OptionError, match=r"2025\.12, got '2020\.01'"):
        x.__array_namespace__(api_version="2020.01")


def test_inspection() -> None:
    info = st.__array_namespace_info__()
    there = info.capabilities()
    assert there["boolean indexing"] is True and there["data-dependent shapes"] is True
    assert st.ones((1,) * there["max dimensions"]).numpy().ndim == there["max dimensions"]
    assert info.default_device() == "cpu" and [str(d) for d in info.devices()] == ["cpu", "cpu:1"]
    with st.device("cpu:1"):
        assert info.default_device() == "cpu:1"
    for device in info.devices():
        usual = info.default_dtypes(device=device)
        assert usual["real floating"] == st.zeros(1).dtype and usual["integral"] == st.arange(3).dtype
        assert usual["indexing"] == st.argmax(st.ones(3)).dtype
    for kind, names in KINDS.items():
        found = info.dtypes(kind=kind)
        assert list(found.items()) == [(n, d) for n, d in DTYPES.items() if n in names]
        assert all(getattr(st, n) is d for n, d in found.items())
    assert set(info.dtypes()) == {n for names in KINDS.values() for n in names} & set(DTYPES)
    assert set(info.dtypes(kind=("bool", "signed integer"))) == {"bool", *KINDS["signed integer"]}


@pytest.mark.parametrize("name", DTYPES)
def test_kinds_of_dtypes(name: str) -> None:
    for kind, names in KINDS.items():
        wanted = name in names or (kind in ("real floating", "numeric") and name in ("float16", "bfloat16"))
        assert st.isdtype(DTYPES[name], kind) is wanted
    assert st.isdtype(DTYPES[name], DTYPES[name]) and st.isdtype(DTYPES[name], ("bool", ("numeric", "bool")))
    assert not st.isdtype(DTYPES[name], ())
    assert [n for n, d in DTYPES.items() if st.isdtype(d, DTYPES[name])] == [name]
    with pytest.raises(OptionError, match="'integral'"):
        st.isdtype(DTYPES[name], "integer")


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_takes_our_dtypes(name: str) -> None:
    assert np.dtype(DTYPES[name]) == np.zeros(2, DTYPES[name]).dtype == DTYPES[name].numpy  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FLOATS)
def test_limits_of_floats(name: str) -> None:
    want = ml_dtypes.finfo(DTYPES[name].numpy)
    for found in (st.finfo(name), st.finfo(st.ones(2, dtype=name)), st.finfo(DTYPES[name])):
        for field in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(found, field) == float(getattr(want, field)) and type(getattr(found, field)) in (int, float)
        assert found.dtype is DTYPES[name]
    with pytest.raises(DTypeError, match="finfo"):
        st.iinfo(name)
    assert st.finfo("complex64") == st.finfo("float32") and st.finfo(st.ones(1, dtype="complex128")).bits == 64


@pytest.mark.parametrize("name", INTEGERS)
def test_limits_of_integers(name: str) -> None:
    want = np.iinfo(name)
    for found in (st.iinfo(name), st.iinfo(st.ones(2, dtype=name)), st.iinfo(np.ones(2, name))):
        assert (found.bits, found.max, found.min, found.dtype) == (want.bits, want.max, want.min, DTYPES[name])
    with pytest.raises(DTypeError, match="iinfo"):
        st.finfo(name)


@pytest.mark.parametrize("of", DTYPES)
def test_what_can_be_cast_is_what_meets(of: str) -> None:
    for to in DTYPES:
        assert st.can_cast(of, to) == st.can_cast(st.ones(1, dtype=of), DTYPES[to]) \
            == (promote(DTYPES[of], DTYPES[to]) == to)
    within = [n for n in INTEGERS if of in INTEGERS and np.iinfo(n).min <= np.iinfo(of).min
              and np.iinfo(of).max <= np.iinfo(n).max]
    assert all(st.can_cast(of, n) for n in within)


ONES = some.sampled_from([*DTYPES]).flatmap(lambda n: some.sampled_from([n, DTYPES[n], st.ones(2, dtype=n)]))


@given(some.lists(ONES, min_size=1, max_size=3), some.lists(some.sampled_from([True, 2, 0.5]), max_size=2))
def test_numbers_are_weak(arrays: list[Any], numbers: list[Any]) -> None:
    found = st.result_type(*arrays, *numbers)
    dtype = st.result_type(*arrays)
    if any(type(n) is float for n in numbers) and not dtype.is_float:
        assert found == "float32"
    elif dtype == "bool" and 2 in numbers:
        assert found == "int64"
    else:
        assert found == dtype


def test_result_type_refuses() -> None:
    with pytest.raises(ArgumentError, match="result_type"):
        st.result_type()
    with pytest.raises(DTypeError, match="no dtype 'float23'"):
        st.result_type("float23")


def test_astype_copies_or_not() -> None:
    x = st.tensor([1.7, -2.0, 0.0])
    assert st.astype(x, st.int8).tolist() == [1, -2, 0] and st.astype(x, st.bool).tolist() == [True, True, False]
    assert st.astype(x, "float32", copy=False) is x
    y = st.astype(x, "float32")
    y += 1
    assert x.tolist() == [np.float32(1.7), -2.0, 0.0]
    assert st.astype(x, "int16", device="cpu:1").device == "cpu:1"
    assert x.astype("float64", copy=False).dtype == "float64"


def test_constants() -> None:
    assert (st.e, st.pi, st.inf) == (math.e, math.pi, math.inf) and st.nan != st.nan
    assert st.ones(3)[st.newaxis].shape == (1, 3)


def test_arrays_become_python_numbers() -> None:
    assert (bool(st.tensor(2)), int(st.tensor(-2.7)), float(st.tensor(3)), complex(st.tensor(1.5))) == (
        True, -2, 3.0, 1.5 + 0j)
    assert [10, 20, 30][st.tensor(1, dtype="uint8")] == 20 and range(5)[st.tensor(-1, dtype="int16")] == 4
    for dtype in ("float32", "bool"):
        with pytest.raises(DTypeError, match="only an integer tensor is an index"):
            range(3)[st.zeros((), dtype=dtype)]
    for word in (bool, int, float, complex):
        with pytest.raises(ShapeError, match="one element"):
            word(st.ones(2))
    with pytest.raises(OverflowError):
        int(st.tensor(math.inf))
    with pytest.raises(ValueError, match="NaN"):
        int(st.tensor(math.nan))


def test_unary_plus_is_an_array_of_its_own() -> None:
    x = st.tensor([1, 2])
    y = +x
    y += 1
    assert (x.tolist(), y.tolist()) == ([1, 2], [2, 3])


def test_moving_to_a_device() -> None:
    x = st.tensor([1.0, 2.0])
    there = x.to_device("cpu:1")
    assert there.device == "cpu:1" and there.to_device(x.device).device == "cpu" and x.to_device("cpu") is x
    stream = st.device("cpu:1").stream()
    assert (x.to_device("cpu:1", stream=stream) + 1).tolist() == [2, 3]
