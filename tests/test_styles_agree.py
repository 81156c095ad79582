"""Where NumPy defines a value, the three styles and the reference give it: special values, overflow, operators."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.ir.types import DTYPES

Array = np.ndarray[Any, np.dtype[Any]]
INTEGERS = ["uint8", "uint32", "int32", "int64"]
OUTSIDE = [np.nan, np.inf, -np.inf, 300.0, -1.0, -2.7, 3e9, 2.0**31, -(2.0**31), -(2.0**31) - 1000, 2.0**32, 2.0**63,
           1e30]


def styles(f: Callable[..., Any], *arrays: Array) -> dict[str, Array]:
    """The result of a function of tensors in every style, on the native backend and on the reference."""
    tensors = [st.tensor(a) for a in arrays]
    places = [st.placeholder(a.shape, a.dtype.name) for a in arrays]
    return {
        "imperative": f(*tensors).numpy(), "compiled": st.compile(f)(*tensors).numpy(),
        "reference": st.compile(f, backend="reference")(*tensors).numpy(),
        "symbolic": st.function(places, f(*places))(*tensors).numpy(),
    }


def all_give(want: Array, f: Callable[..., Any], *arrays: Array) -> None:
    """Asserts that every style gives these very numbers; a NaN is like another."""
    for style, got in styles(f, *arrays).items():
        assert got.dtype == want.dtype, style
        np.testing.assert_array_equal(got, want, err_msg=style)


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("operation", [operator.floordiv, operator.mod])
def test_division_of_integers_by_zero_is_zero(name: str, operation: Callable[..., Any]) -> None:
    x, z = np.array([5, 0, 7, 200, 9]).astype(name), np.array([0, 0, 2, 3, -1]).astype(name)
    with np.errstate(all="ignore"):
        all_give(operation(x, z), operation, x, z)
        all_give(operation(np.tile(x, 50), 0), lambda x: operation(x, 0), np.tile(x, 50))


def test_the_least_integer_over_minus_one_wraps() -> None:
    for name in ("int32", "int64"):
        x = np.array([np.iinfo(name).min, 7]).astype(name)
        with np.errstate(all="ignore"):
            all_give(x // -1, lambda x: x // -1, x)
            all_give(x % -1, lambda x: x % -1, x)


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_floats_that_fit_no_integer_have_one_meaning(source: str, name: str) -> None:
    with np.errstate(all="ignore"):
        x = np.tile(np.array(OUTSIDE), 7).astype(DTYPES[source].numpy)
    bits, way = (32, "i4") if name in ("uint8", "int32") else (64, "i8")
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1)
    wide = [int(v) if np.isfinite(v) and low <= int(v) < high else low for v in x.astype(np.float64)]
    all_give(np.array(wide, way).astype(name), lambda x: x.astype(name), x)
    all_give(np.array(wide, way).astype(name).sum(dtype=np.int64), lambda x: x.astype(name).sum(), x)


def test_floats_that_fit_no_integer_mean_what_numpy_says_on_x86() -> None:
    for name, want in {"uint8": [0, 0, 0, 44, 255, 254], "int32": [-(2**31)] * 3 + [300, -1, -2],
                       "int64": [-(2**63)] * 3 + [300, -1, -2]}.items():
        all_give(np.array(want, name), lambda x, name=name: x.astype(name), np.array(OUTSIDE[:6], np.float32))


INPLACE = ["iadd", "isub", "imul", "ifloordiv", "imod", "iand", "ior", "ixor", "ilshift", "irshift", "ipow"]


@pytest.mark.parametrize("name", INPLACE)
def test_every_in_place_operator_is_seen_under_every_name(name: str) -> None:
    change, numbers = getattr(operator, name), np.array([9, 12, 3])
    want = change(numbers.copy(), 2)

    def changed(x: st.Tensor) -> st.Tensor:
        alias, result = x, change(x, 2)
        return alias + (0 if result is x else 1000)

    all_give(want, lambda x: changed(x + 0), numbers)
    counter = st.tensor(numbers)
    st.compile(lambda: changed(counter))()
    assert counter.tolist() == want.tolist()


def test_a_number_may_be_shifted_by_a_tensor() -> None:
    x = np.array([0, 1, 5])
    all_give(1 << x, lambda x: 1 << x, x)
    all_give(64 >> x, lambda x: 64 >> x, x)
