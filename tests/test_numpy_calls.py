"""A few of the drawn calls beside NumPy; what is wrong is found (`tests/long_numpy_calls.py` has many)."""
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stele as st
from tests.numpy_calls import NOTED, Call, Operand, call, fault, functions
from tests.styles import all_give

FIRST, EACH = 5_000_000, 15


@pytest.mark.parametrize("batch", range(8))
def test_calls_give_what_numpy_gives(batch: int) -> None:
    found = {seed: text for seed in range(FIRST + batch * EACH, FIRST + (batch + 1) * EACH)
             if (text := fault(call(seed)))}
    assert not found, "\n".join(f"{seed}: {call(seed)}: {text}" for seed, text in found.items())


def test_seeds_make_the_same_calls_again_and_reach_most_functions() -> None:
    assert all(str(call(seed)) == str(call(seed)) for seed in range(200))
    assert len({(made.room, made.name) for made in map(call, range(3000))}) > 0.98 * len(functions())


# What drawn calls found: of NumPy's namespace or Stele's, and operands.
FOUND: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "integers that are added up stay": (lambda m, x: m.vdot(x, x), (np.array([100, 100], "i4"),)),
    "differences of unsigned integers": (lambda m, x, z: m.polysub(x, z), (np.array([3], "u1"), np.array([1, 9]))),
    "powers of small integers": (lambda m, x: m.vander(x, 4), (np.array([10, -7], "i1"),)),
    "an infinity beside nothing": (lambda m, x, v: m.convolve(x, v), (np.array([np.inf, 1]), np.array([1.0, 2]))),
    "correlations with a longer row": (lambda m, x, v: (m.correlate(x, v, "same"), m.correlate(x, v, "valid")),
                                       (np.array([6.5, 1.25]), np.array([8, -4, -2.5]))),
    "a line from infinity": (lambda m, x, p: m.interp(x, p, m.where(p < 0, -np.inf, p)),
                             (np.array([0.0, 1.5]), np.array([-1.0, 2]))),
    "a line to infinity, at its begin": (lambda m, x, p: m.interp(x, p, m.where(p > 0, np.inf, p)),
                                         (np.array([-1.0, 0, 1, 2]), np.array([-1.0, 1]))),
    "moments of a dtype": (lambda m, x: (m.mean(x, dtype="float64"), m.var(x, dtype="float64"),
                                         m.std(x, dtype="float32"), m.nanmean(x, dtype="float64"),
                                         m.nanvar(x, dtype="float64"), m.nanstd(x, dtype="float32"),
                                         m.mean(x, axis=0, dtype="int64")),
                           (np.array([[1, 2], [4, 9]], "i4"),)),
    "slopes beside an infinity": (lambda m, x: m.gradient(x), (np.array([1.0, 2, np.inf, 5, 7]),)),
    "a complex zero": (lambda m, x, z: m.absolute(m.power(x, z)), (np.zeros(2, "c8"), np.array([1 - 3j, 2], "c8"))),
    "weights of 64 bits": (lambda m, x, w: m.average(x, weights=w), (np.arange(3, dtype="f4"), np.array([0.1, 2, 3]))),
    "covariances with weights of 64 bits": (lambda m, x, w: m.cov(x, aweights=w), (
        np.array([5, 8, 9], "f4"), np.array([0.1, 2, 3]))),
    "lines of integers": (lambda m, x, z: m.linspace(x, z, 8, endpoint=False, dtype="uint8"),
                          (np.array([3.0, 0], "f4"), np.array([3.0, 8], "f4"))),
    "axes by their name": (lambda m, x: m.transpose(x, axes=(0, 1)), (np.ones((2, 3)),)),
    "the order of two axes": (lambda m, x: m.transpose(x, (0, 1)), (np.ones((2, 3)),)),
    "no axes": (lambda m, x: m.transpose(x, axes=None), (np.ones((2, 3)),)),
    "deviations of an infinity": (lambda m, x: m.nanstd(x), (np.array([1, np.inf, np.nan]),)),
    "some that are numbers": (lambda m, x: (m.nansum(x, where=x != 2, initial=5), m.nanmax(x, where=x < 3, initial=0),
                                            m.nanmean(x, where=x != 1)), (np.array([1, np.nan, 2, 4]),)),
    "fits of 32 bits": (lambda m, x, y: m.polyfit(x, y, 1), (np.array([0, 1, 3], "f4"), np.array([.1, 3, 2]))),
    "bits of a number": (lambda m, x: m.unpackbits(m.packbits(x, axis=0), axis=0), (np.array(True),)),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_is_numpys_in_every_style(name: str) -> None:
    f, arrays = FOUND[name]
    with np.errstate(all="ignore"):
        all_give(f(np, *arrays), lambda *x: f(st, *x), *arrays, rtol=1e-12)


def test_lines_between_unsigned_integers_go_down() -> None:
    assert np.linspace(5, st.tensor([3], "uint16"), 5, endpoint=False)[:, 0].tolist() == \
        pytest.approx([5, 4.6, 4.2, 3.8, 3.4])
    assert np.percentile(st.tensor([-2.0, 5.25, 0.25, -1.5, -3, 1.5], "float16"), [10.0], method="nearest") == -3


def wrong(f: Any, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What is said of a sum that is this function."""
    monkeypatch.setattr(st, "sum", f)
    return fault(Call("", "sum", (Operand(np.array([[1.0, -2.0], [3.0, 4.0]], "f4")),), {"axis": 1}, False))


def test_what_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = st.sum
    assert wrong(right, monkeypatch) is None
    assert "for np.float32(-1.0)" in str(wrong(lambda x, axis: right(x, axis=0), monkeypatch))
    assert "shape (2, 1) for (2,)" in str(wrong(lambda x, axis: right(x, axis=axis, keepdims=True), monkeypatch))
    assert "dtype int64 for float32" in str(wrong(lambda x, axis: right(x, axis=axis).astype("int64"), monkeypatch))
    assert "bare KeyError" in str(wrong(lambda x, axis: {}[axis], monkeypatch))
    before = NOTED.total()
    assert wrong(lambda x, axis: right(x, axis=7), monkeypatch) is None and NOTED.total() == before + 1


def test_sets_of_what_is_taken_to_be_distinct() -> None:
    x, z = np.array([5, 3, 1, 2]), np.array([3, 2, 9])
    for f in "intersect1d", "setdiff1d", "setxor1d":
        wanted = getattr(np, f)(x, z, assume_unique=True)
        for found in getattr(st, f)(x, z, assume_unique=True), getattr(np, f)(st.tensor(x), z, assume_unique=True):
            assert isinstance(found, st.Tensor) and found.tolist() == wanted.tolist()
