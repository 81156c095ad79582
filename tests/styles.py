"""A function of tensors in every style: imperative when new and seen before, compiled, on the reference, symbolic."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import stele as st

Array = np.ndarray[Any, np.dtype[Any]]


def styles(f: Callable[..., Any], *arrays: Array) -> Iterator[tuple[str, list[Array]]]:
    """The results in every style, by its name; `f` gives a tensor or several."""
    tensors = [st.tensor(a) for a in arrays]
    yield "imperative", numbers(f(*tensors))
    yield "imperative again", numbers(f(*tensors))
    yield "imperative from then on", numbers(f(*tensors))
    yield "compiled", numbers(st.compile(f)(*tensors))
    yield "reference", numbers(st.compile(f, backend="reference")(*tensors))
    places = [st.placeholder(a.shape, a.dtype.name) for a in arrays]
    yield "symbolic", numbers(st.function(places, f(*places))(*tensors))


def numbers(y: Any) -> list[Array]:
    """The arrays of one tensor or of several, computed together."""
    several = list(y) if isinstance(y, list | tuple) else [y]
    st.eval(*several)
    return [v.numpy() for v in several]


def all_give(want: Any, f: Callable[..., Any], *arrays: Array, rtol: float = 0) -> None:
    """Asserts that every style gives arrays of these dtypes and numbers; zeros have signs, a NaN is like another."""
    expected = list(want) if isinstance(want, list | tuple) else [want]
    for style, found in styles(f, *arrays):
        assert len(found) == len(expected)
        for k, (got, right) in enumerate(zip(found, map(np.asarray, expected))):
            assert (got.dtype, got.shape) == (right.dtype, right.shape), f"{style}, result {k}"
            np.testing.assert_allclose(got, right, rtol=rtol, atol=0, err_msg=f"{style}, result {k}")
            if got.dtype.kind != "b":
                zero = right == 0
                np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(right[zero]), f"{style}, result {k}")


def all_raise(error: type[Exception], text: str, f: Callable[..., Any], *arrays: Array) -> None:
    """Asserts that every style refuses, with an error that says `text`."""
    places = [st.placeholder(a.shape, a.dtype.name) for a in arrays]
    tensors = [st.tensor(a) for a in arrays]
    for style, call in {"imperative": f, "compiled": st.compile(f)}.items():
        refused(style, error, text, call, tensors)
    refused("symbolic", error, text, f, places)


def refused(style: str, error: type[Exception], text: str, call: Callable[..., Any], args: list[Any]) -> None:
    """Asserts that a call raises."""
    try:
        call(*args)
    except error as e:
        assert text in str(e), f"{style}: {e}"
        return
    raise AssertionError(f"{style}: nothing was raised")
