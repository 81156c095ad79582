"""Calls as NumPy's scripts write them: lists of numbers for arrays, dtypes by place, and what is said of options."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.arrays.spellings import UNSAID
from stele.errors import ArgumentError, DTypeError, OptionError, ShapeError

# Each is evaluated with NumPy as np, and with Stele.
LINES = """
np.outer([1, 2, 3], [4, 5]); np.maximum([1, 2], [2.5, 1]); np.add([1, 2], 1); np.array([1.0, 2.0]) + [3, 4]
np.cumprod([1, 2, 3]); np.diag([1, 2]); np.cross([1.0, 0, 0], [0, 1.0, 0]); np.tile([1, 2], 2); np.rint([2.5])
np.repeat([1, 2, 3], [1, 0, 2]); np.interp([0.5, 1.5], [0, 1, 2], [0, 10, 20]); np.polyval([1, 2], [0.0])
np.searchsorted([1, 3, 5], [0, 3, 6]); np.isin([1, 2], [2]); np.allclose([1.0], [1.0]); np.logical_not([0])
np.correlate([1, 2, 3], [0, 1, 0.5], "same"); np.average(np.arange(3.0), weights=[3, 1, 1]); np.vander([1, 2, 3], 3)
np.concatenate([[1, 2], [3]]); np.stack([[1, 2], [3, 4]]); np.where([True, False], [1, 2], 0)
np.matmul([[1, 2], [3, 4]], [1, 1]); np.insert([1, 2, 3], 1, 9); np.delete([1, 2, 3], 1); np.append([1, 2], [3])
np.abs([-1, 2]); np.sum([[1, 2], [3, 4]], axis=0)
np.linalg.norm([3.0, 4.0]); np.quantile([1.0, 2.0, 4.0], [0.5, 0.25]); np.exp([]); np.take([4, 5, 6], [0, 2])
np.zeros(2, int); np.ones((2, 1), bool); np.zeros((2, 3), "int8"); np.empty((0, 3), complex); np.full(2, 7, "int16")
np.argsort([3, 1, 2], kind="stable"); np.sort(np.array([3.0, 1.0]), kind="quicksort"); np.float32(2) * np.arange(3)
np.int64(2) * np.arange(3); np.array([True]) & np.bool_(True); np.float64(3) + np.array([1], dtype="float64")
np.meshgrid(np.arange(3), np.arange(2), sparse=True)[1]; np.fft.fft2([[1.0, 2.0], [3.0, 4.0]]).real
np.fft.ifft2(np.fft.fft2(np.eye(3))).real; np.finfo(np.float32).tiny; np.euler_gamma; np.uint8(200) + np.uint8(5)
"""


@pytest.mark.parametrize("line", [part.strip() for line in LINES.strip().splitlines() for part in line.split("; ")])
def test_lines_of_numpy(line: str) -> None:
    law, y = (np.asarray(eval(line, {"np": n})) for n in (np, st))
    assert y.shape == law.shape and (y.dtype.kind == law.dtype.kind)
    np.testing.assert_allclose(y, law, rtol=1e-6, atol=1e-6)


def test_lists_are_constants_of_programs_and_have_no_part_in_gradients() -> None:
    x = st.tensor([1.0, 2.0, 3.0])
    assert st.compile(lambda x: st.add(x, [1, 2, 3]) * [2, 2, 2])(x).tolist() == [4.0, 8.0, 12.0]
    assert st.grad(lambda x: st.multiply(x, [1, 2, 3]).sum())(x).tolist() == [1.0, 2.0, 3.0]
    made = [st.add(x, numbers) for numbers in ([1, 2, 3], [1.5, 2, 3], [True, False, True], [1, 2, 4])]
    assert [y.tolist() for y in made] == [[2, 4, 6], [2.5, 4, 6], [2, 2, 4], [2, 4, 7]]
    assert [st.add(st.tensor([1, 2]), [1, n]).dtype for n in (1, 0.5)] == [st.int64, st.float32]


@pytest.mark.parametrize("call, error, message", [
    (lambda x: st.exp((x, x)), ArgumentError, r"x of exp .* list of others.*st.stack\(x\) of tensors, or x\[0\]"),
    (lambda x: st.sum([x, 1.0]), ArgumentError, "list of numbers"),
    (lambda x: st.exp(["a"]), ArgumentError, "list of others"),
    (lambda x: st.exp([[1], [2, 3]]), ShapeError, "one shape"),
    (lambda x: st.add(x, [2**70]), DTypeError, "does not fit"),
    (lambda x: st.zeros(2, out=x), ArgumentError, r"no out=.*y\[\.\.\.\] = f\(x\)"),
    (lambda x: st.divide(1, x, where=x > 0), ArgumentError, r"no where=.*st.where\(mask, f\(x\), other\)"),
    (lambda x: st.reshape(x, 1, 1, order="F"), ArgumentError, "takes no order="),
    (lambda x: st.argsort(x, kind="quik"), OptionError, "'quicksort'"),
    (lambda x: st.zeros(2, "f5"), DTypeError, "f5"), (lambda x: st.float32(x), DTypeError, r"x.astype\('float32'\)"),
    (lambda x: st.int8(300), DTypeError, "does not fit"), (lambda x: st.int32(float("nan")), DTypeError, "not fit"),
    (lambda x: st.int64("3"), DTypeError, "of a number, got a str")])
def test_errors_teach(call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(st.tensor([1.0]))


def test_arguments_that_are_answered_are_taken_by_no_function_of_that_meaning() -> None:
    for name in UNSAID.keys() - {"out"}:
        with pytest.raises(ArgumentError, match=f"exp takes no {name}="):
            st.exp(st.tensor([1.0]), **{name: 1})


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "uint64", "bool", "complex64"])
def test_a_dtype_makes_numbers(dtype: str) -> None:
    y = getattr(st, dtype)(1)
    assert st.tensor(y).dtype == dtype and y == 1 and getattr(st, dtype)() == 0


FRACTIONS = [0.1, 0.7]
BESIDE = {
    "add": lambda m, x: x + FRACTIONS, "radd": lambda m, x: FRACTIONS - x,
    "maximum": lambda m, x: m.maximum(x, FRACTIONS),
    "where": lambda m, x: m.where(x > 9, x, FRACTIONS), "matmul": lambda m, x: x @ FRACTIONS,
    "concatenate": lambda m, x: m.concatenate([x, FRACTIONS]), "stack": lambda m, x: m.stack([FRACTIONS, x]),
    "interp": lambda m, x: m.interp(x, [0.0, 3.0], FRACTIONS), "clip": lambda m, x: m.clip(x, FRACTIONS, [0.3, 0.9]),
    "polyval": lambda m, x: m.polyval(FRACTIONS, x), "histogram": lambda m, x: m.histogram(x, [0.1, 0.3, 2.3])[1],
    "np.add": lambda m, x: np.add(x, FRACTIONS), "np.quantile": lambda m, x: np.quantile(x, FRACTIONS),
    "np.dot": lambda m, x: np.dot(x, FRACTIONS), "np.append": lambda m, x: np.append(x, FRACTIONS)}


@pytest.mark.parametrize("style", [lambda f: f, st.compile])
@pytest.mark.parametrize("name", BESIDE)
def test_a_list_is_as_precise_as_what_it_stands_beside(name: str, style: Callable[..., Any]) -> None:
    x = np.array([1.0, 2.0])
    for dtype, within in (("float64", 1e-15), ("float32", 1e-6)):
        y = style(lambda t: BESIDE[name](st, t))(st.tensor(x.astype(dtype)))
        assert y.dtype == dtype
        np.testing.assert_allclose(y.numpy(), BESIDE[name](np, x), rtol=within)
