"""Elementwise functions as the array API standard has them: special cases, promotion, operators, every dtype."""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

import stele as st
from stele.errors import SteleError
from stele.ir.types import dtype as type_named
from tests.array_api.special_cases import CASES

FLOATS = "float16", "bfloat16", "float32", "float64"
NAMES = sorted({case.name for case in CASES})
LENGTH = 71     # lanes of every width, and a tail
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def columns(name: str, dtype: str) -> list[np.ndarray[Any, Any]]:
    """The operands of a function's cases, one beside the other, over and over: each case in lanes and in tails."""
    rows = [case.operands for case in CASES if case.name == name]
    rows = rows * (-(-LENGTH // len(rows)) + 1)
    made = rows[:max(LENGTH, len(rows) // 2 + LENGTH) | 1]
    return [np.array(column).astype(type_named(dtype).numpy) for column in zip(*made)]


def wanted(name: str, count: int) -> list[tuple[tuple[float, ...], float]]:
    found = [(case.operands, case.result) for case in CASES if case.name == name]
    return [found[k % len(found)] for k in range(count)]


def is_wrong(got: float, want: float, eps: float) -> bool:
    """Whether a result is another number, or a zero of another sign."""
    if math.isnan(want) or math.isinf(want):
        return str(got) != str(want)
    return not abs(got - want) <= 2 * eps * abs(want) or math.copysign(1, got) != math.copysign(1, want)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("backend", ["native", "reference"])
def test_special_cases(backend: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All functions in one program, in vector lanes and in tails."""
    if backend == "reference":
        monkeypatch.setenv("STELE_BACKEND", backend)
    given = {name: columns(name, dtype) for name in NAMES}

    def every(given: dict[str, list[Any]]) -> dict[str, Any]:
        return {name: getattr(st, name)(*x) for name, x in given.items()}

    made = st.compile(every)({name: [st.tensor(a) for a in x] for name, x in given.items()})
    faults: list[str] = []
    for name in NAMES:
        assert made[name].dtype == dtype
        numbers = made[name].numpy().astype(np.float64).tolist()
        faults += [f"{name}{operands} is {want}, got {got}"
                   for got, (operands, want) in zip(numbers, wanted(name, len(numbers)))
                   if is_wrong(got, want, EPS[dtype])]
    assert not faults, "\n".join(sorted(set(faults)))


@pytest.mark.parametrize("backend", ["native", "reference"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_special_cases_of_a_power_that_is_a_number(dtype: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which may be products and roots: as written and in one program."""
    if backend == "reference":
        monkeypatch.setenv("STELE_BACKEND", backend)
    cases = {(str(c.operands[0]), str(c.operands[1])): c.result for c in CASES if c.name == "pow"}
    bases, powers = ([*dict.fromkeys(column)] for column in zip(*cases))
    x = st.tensor([*map(float, bases)], dtype=dtype)

    def every(x: Any) -> list[Any]:
        return [x ** float(z) for z in powers]

    for made in (every(x), st.compile(every)(x)):
        rows = [y.numpy().astype("f8").tolist() for y in made]
        found = {(b, z): v for z, row in zip(powers, rows) for b, v in zip(bases, row)}
        assert not [(case, w, found[case]) for case, w in cases.items() if is_wrong(found[case], w, EPS[dtype])]


def test_a_special_case_that_is_wrong_is_found() -> None:
    assert is_wrong(0.0, -0.0, 1e-7) and is_wrong(math.inf, -math.inf, 1e-7) and is_wrong(1.0, math.nan, 1e-7)
    assert is_wrong(math.nan, 0.0, 1e-7) and is_wrong(1.001, 1.0, 1e-7) and is_wrong(math.nan, 1.0, 1e-7)
    assert not is_wrong(-0.0, -0.0, 1e-7) and not is_wrong(math.nan, math.nan, 1e-7)
    assert len(CASES) > 500 and len(NAMES) > 40


INTEGERS = "uint8", "int32", "uint32", "int64"
SYMBOLS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne}
IN_PLACE = {"+": operator.iadd, "-": operator.isub, "*": operator.imul, "//": operator.ifloordiv, "%": operator.imod,
            "&": operator.iand, "|": operator.ior, "^": operator.ixor, "<<": operator.ilshift, ">>": operator.irshift,
            "**": operator.ipow}


@settings(max_examples=150)
@given(hs.data())
def test_operators_on_integers(data: hs.DataObject) -> None:
    """Reflected, in place, with Python's numbers: NumPy's results, in the dtype of the array."""
    dtype = data.draw(hs.sampled_from(INTEGERS))
    symbol = data.draw(hs.sampled_from(sorted(SYMBOLS)))
    low, high = (0, 7) if symbol in ("<<", ">>", "**") else (0, 200) if dtype[0] == "u" else (-200, 200)
    array = np.array(data.draw(hs.lists(hs.integers(low, high), min_size=0, max_size=9)), dtype)
    number = data.draw(hs.integers(low, high))
    x, f = st.tensor(array), SYMBOLS[symbol]
    with np.errstate(all="ignore"):
        for made, law in ((f(x, number), f(array, number)), (f(number, x), f(number, array)),
                          (f(x, x), f(array, array))):
            assert made.dtype.name == law.dtype.name
            np.testing.assert_array_equal(made.numpy(), law)
        if symbol in IN_PLACE:
            target, known = st.tensor(array), array.copy()
            same = target
            target = IN_PLACE[symbol](target, number)
            assert target is same
            np.testing.assert_array_equal(target.numpy(), IN_PLACE[symbol](known, number))


@settings(max_examples=60)
@given(hs.lists(hs.booleans(), max_size=9), hs.booleans(), hs.sampled_from("&|^"))
def test_operators_on_bools(bits: list[bool], other: bool, symbol: str) -> None:
    x, array, f = st.tensor(np.array(bits, bool)), np.array(bits, bool), SYMBOLS[symbol]
    assert f(x, other).tolist() == f(array, other).tolist() == f(other, x).tolist()
    assert (~x).tolist() == st.bitwise_invert(x).tolist() == (~array).tolist()


@settings(max_examples=60)
@given(hs.lists(hs.floats(width=32, allow_subnormal=False), min_size=1, max_size=20),
       hs.sampled_from(["copysign", "nextafter", "fmax", "fmin", "maximum", "minimum", "fmod"]))
def test_functions_of_two_floats_are_numpy_s_to_the_bit(x: list[float], name: str) -> None:
    a, b = np.array(x, np.float32), np.array(x[::-1], np.float32)
    with np.errstate(all="ignore"):
        law = getattr(np, name)(a, b)
    made = getattr(st, name)(st.tensor(a), st.tensor(b)).numpy()
    np.testing.assert_array_equal(made, law)
    if name not in ("fmax", "fmin", "maximum", "minimum"):      # where zeros of two signs meet, either may stay
        np.testing.assert_array_equal(np.signbit(made[law == law]), np.signbit(law[law == law]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nextafter_steps_once(dtype: str) -> None:
    kind = type_named(dtype).numpy
    a = np.array([1, -1, 0, -0.0, 0.5, 2.0**-14, -2.0**-14, 2.0**-24, 60000, math.inf, -math.inf]).astype(kind)
    for to in (math.inf, -math.inf, 0.0):
        made = st.nextafter(st.tensor(a), to).numpy()
        np.testing.assert_array_equal(made, np.nextafter(a, np.array(to).astype(kind)))


@settings(max_examples=60)
@given(hs.lists(hs.floats(width=32), min_size=1, max_size=20), hs.integers(-300, 300))
def test_frexp_and_ldexp_are_numpy_s(x: list[float], n: int) -> None:
    a = np.array(x, np.float32)
    mantissa, exponent = st.frexp(st.tensor(a))
    with np.errstate(all="ignore"):
        m, e = np.frexp(a)
        np.testing.assert_array_equal(mantissa.numpy(), m)
        np.testing.assert_array_equal(exponent.numpy(), np.where(np.isfinite(a), e, 0))
        law = np.ldexp(a, n)
        normal = (np.abs(law) > 2e-38) | (law == 0)
        np.testing.assert_array_equal(st.ldexp(st.tensor(a), n).numpy()[normal & (a != 0)], law[normal & (a != 0)])


@pytest.mark.parametrize("x", [st.tensor([1.5]), st.tensor(7), st.zeros(0), st.tensor([True])])
def test_integers_and_bools_become_the_default_float(x: Any) -> None:
    for name in ("acos", "asinh", "atan2", "exp2", "hypot", "log2", "logaddexp", "lgamma", "sinc", "xlogy"):
        f = getattr(st, name)
        made = f(x, x) if name in ("atan2", "hypot", "logaddexp", "xlogy") else f(x)
        assert made.dtype == "float32" and made.shape == x.shape


def test_clip_takes_none_numbers_and_arrays() -> None:
    x = st.tensor([-2.0, 0.5, 9.0, math.nan])
    for bounds in ({}, {"min": 0}, {"max": 1.0}, {"min": st.tensor([0.0, 1.0, 2.0, 3.0]), "max": 8}):
        law = np.clip(x.numpy(), **{k: v.numpy() if isinstance(v, st.Tensor) else v for k, v in bounds.items()}) \
            if bounds else x.numpy()
        np.testing.assert_array_equal(st.clip(x, **bounds).numpy(), law)
        assert st.clip(x, **bounds).dtype == "float32"
    assert st.clip(st.tensor([1, 300]), 0, 255).dtype == "int64" and st.clip(x, None, 1).tolist()[0] == -2


@pytest.mark.parametrize("ask", [lambda: +st.tensor([True]), lambda: st.bitwise_and(st.ones(2), 1),
                                 lambda: st.bitwise_left_shift(st.tensor([True]), True), lambda: ~st.ones(2)])
def test_what_has_no_meaning_is_refused(ask: Callable[[], Any]) -> None:
    with pytest.raises(SteleError) as error:
        ask()
    assert error.value.hint
