"""Dtypes as the standard has them: how they meet, and integers of every width, which wrap as NumPy's do."""
from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays

import stele as st
from stele.ir.types import DTYPES, REAL, promote
from tests.styles import all_give

SIGNED, UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)

# Rows and columns of the standard's tables of integers: 8, 16, 32 and 64 bits.
BETWEEN_SIGNED = [[max(a, b) for b in range(4)] for a in range(4)]
MIXED = {"int8": ("int16", "int32", "int64"), "int16": ("int16", "int32", "int64"),
         "int32": ("int32", "int32", "int64"), "int64": ("int64", "int64", "int64")}


def test_dtypes_meet_by_the_tables_of_the_standard() -> None:
    for family in (SIGNED, UNSIGNED):
        for (j, a), (k, b) in product(enumerate(family), repeat=2):
            assert promote(DTYPES[a], DTYPES[b]) == family[BETWEEN_SIGNED[j][k]]
    for a, row in MIXED.items():
        for b, want in zip(UNSIGNED, row):
            assert promote(DTYPES[a], DTYPES[b]) == promote(DTYPES[b], DTYPES[a]) == want
    assert promote(st.float32, st.float64) == "float64" and promote(st.bool, st.bool) == "bool"


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_operands_meet_as_dtypes_do(a: str, b: str) -> None:
    want = promote(DTYPES[a], DTYPES[b])
    assert st.result_type(a, b) == st.result_type(st.zeros(2, dtype=a), b) == want == promote(DTYPES[b], DTYPES[a])
    assert (st.ones(2, dtype=a) + st.ones((2, 1), dtype=b)).dtype == want
    assert st.where(st.tensor([True, False]), st.ones(2, dtype=a), st.zeros(2, dtype=b)).dtype == want
    assert st.concatenate([st.ones(1, dtype=a), st.zeros(1, dtype=b)]).dtype == want


def test_uint64_meets_signed_integers_as_in_numpy_and_is_compared_exactly() -> None:
    x = np.array([0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1], np.uint64)
    z = np.array([[-1], [0], [1], [2**63 - 1], [-(2**63)]], np.int64)
    assert (st.tensor(x) + st.tensor(z)).dtype == (x + z).dtype == np.float64
    signs = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
    want = [np.array([[f(a, b) for a in x.tolist()] for b in z[:, 0].tolist()]) for f in signs]
    all_give(want, lambda x, z: [f(x, z) for f in signs], x, z)
    all_give([w.T for w in want], lambda x, z: [f(x, z) for f in signs], x[:, None], z[:, 0])


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "<": operator.lt, "<=": operator.le, "==": operator.eq,
}


def law(name: str, x: Any, z: Any) -> Any:
    """NumPy's answer; the standard leaves shifts by negative numbers open."""
    with np.errstate(all="ignore"):
        return ARITHMETIC[name](x, abs(z) % 70 if name in ("<<", ">>") and z.dtype.kind == "i" else z)


def mean_of(name: str, x: st.Tensor, z: st.Tensor) -> st.Tensor:
    return ARITHMETIC[name](x, st.remainder(st.abs(z), 70) if name in ("<<", ">>") and z.dtype.kind == "i" else z)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_arithmetic_wraps_as_of_numpy(dtype: str) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    ends = [low, low + 1, 0, 1, 2, 3, 7, 8, 31, 63, 64, high - 1, high, *((-1, -2) if low else ())]
    x, z = (v.ravel().copy() for v in np.meshgrid(np.array(ends, dtype), np.array(ends, dtype)))
    for name in ARITHMETIC:
        all_give(law(name, x, z), lambda x, z, name=name: mean_of(name, x, z), x, z)
    with np.errstate(all="ignore"):
        all_give([-x, ~x, abs(x), np.sign(x), np.maximum(x, z), np.minimum(x, z), x**3],
                 lambda x, z: [-x, ~x, abs(x), st.sign(x), st.maximum(x, z), st.minimum(x, z), x**3], x, z)


@settings(max_examples=60, deadline=None)
@given(data=some.data(), dtype=some.sampled_from(INTEGERS), name=some.sampled_from([*ARITHMETIC]))
def test_arithmetic_of_any_integers(data: some.DataObject, dtype: str, name: str) -> None:
    shapes = data.draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=5, min_side=0))
    x, z = (data.draw(arrays.arrays(dtype, shape)) for shape in shapes.input_shapes)
    y, want = mean_of(name, st.asarray(x), st.asarray(z)), law(name, x, z)
    assert y.dtype == want.dtype and y.shape == want.shape and np.array_equal(y.numpy(), want)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("shape", [(3, 70), (0, 4), (129,), ()])
def test_reductions_of_integers(dtype: str, shape: tuple[int, ...]) -> None:
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    x = np.random.default_rng(0).integers(low, high, shape, dtype, endpoint=True)
    axis = -1 if shape else None
    all_give([np.asarray(f(x, axis)) for f in (np.sum, np.prod)], lambda x: [x.sum(axis), x.prod(axis)], x)
    all_give([np.asarray(f(x, axis)) for f in (np.max, np.min)], lambda x: [x.max(axis), x.min(axis)], x)
    if shape:
        all_give([x.argmax(axis), x.argmin(axis)], lambda x: [x.argmax(axis), x.argmin(axis)], x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_scatters_and_loops_of_integers(dtype: str) -> None:
    rng = np.random.default_rng(1)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    x, w = (rng.integers(low, high, s, dtype, endpoint=True) for s in ((5, 7), (7, 3)))
    all_give([x @ w, x[0] @ w], lambda x, w: [x @ w, x[0] @ w], x, w)
    i = np.array([3, 0, 3, 6], np.uint64)
    all_give(x[:, i], lambda x, i: st.take(x, i, axis=1), x, i)
    want = x.copy()
    want[:, 2:4] = 1
    all_give(want, lambda x: written(x), x)
    with np.errstate(all="ignore"):
        want = np.add.accumulate(x, dtype=dtype)
    all_give(want, lambda x: st.scan(lambda c, r: (c + r, c + r), x[0] * 0, x)[1], x)


def written(x: st.Tensor) -> st.Tensor:
    """x with ones in two columns."""
    y = x + 0
    y[:, 2:4] = 1
    return y


@pytest.mark.parametrize("to", [d.name for d in REAL])
@pytest.mark.parametrize("of", INTEGERS)
def test_casts_of_integers_keep_the_low_bits(of: str, to: str) -> None:
    low, high = np.iinfo(of).min, np.iinfo(of).max
    x = np.array([low, low + 1, 0, 1, 100, 127, high - 1, high] * 5, of)
    with np.errstate(all="ignore"):
        want = x != 0 if to == "bool" else DTYPES[to].array(x)
    all_give(want, lambda x: x.astype(to), x, rtol=2**-7 if to == "bfloat16" else 0)


@pytest.mark.parametrize("of", ["float32", "float64"])
def test_floats_become_uint64_up_to_its_last(of: str) -> None:
    x = np.array([0, 1.9, 2.0**31, 2.0**53, 2.0**63 - 2.0**40, 2.0**63, 2.0**63 + 2.0**41, 1.8e19, -1.5], of)
    want = np.array([int(v) % 2**64 for v in x.tolist()], np.uint64)
    all_give(np.tile(want, 9), lambda x: x.astype("uint64"), np.tile(x, 9))


def test_python_integers_make_arrays_of_the_last_of_uint64() -> None:
    assert st.tensor([2**64 - 1, 0], dtype="uint64").tolist() == [2**64 - 1, 0]
    assert st.full((2,), 2**64 - 1, dtype="uint64").tolist() == [2**64 - 1] * 2
    assert st.arange(2**64 - 4, 2**64 - 1, 2, dtype="uint64").tolist() == [2**64 - 4, 2**64 - 2]
    assert st.arange(2**63 + 3, 2**63, -1, dtype="uint64").tolist() == [2**63 + 3, 2**63 + 2, 2**63 + 1]
