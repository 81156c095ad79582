"""NumPy 2 is the law of values, in every style: numbers that do not fit, dtypes of results, infinities, edges."""
from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.errors import ArgumentError, DTypeError, ShapeError
from stele.inspect.numpy_scalars import NumpyScalars
from stele.ir.types import DTYPES
from tests.styles import all_give, all_raise

INTEGERS = [n for n, d in DTYPES.items() if d.kind in "iu"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def ends(name: str) -> tuple[int, int]:
    """The least and the largest number of an integer dtype."""
    return int(np.iinfo(name).min), int(np.iinfo(name).max)


# Python numbers beside arrays

@pytest.mark.parametrize("name", ["bool", *INTEGERS])
def test_integers_compare_exactly_with_any_number(name: str) -> None:
    low, high = (0, 1) if name == "bool" else ends(name)
    x = np.array([low, 1, high] if name == "bool" else [low, 1, 5, high - 1, high]).astype(name)
    everything: list[Any] = [
        -1, 0, 5, 5.0, 4.5, -0.5, 261, 2**40, 2**70, -(2**70), low, high, low - 1, high + 1, float(high), math.inf,
        -math.inf, math.nan, 1e30, np.int64(-1), np.float64(5.5), np.float32(0.5), True]
    for compare in COMPARISONS:
        for c in everything:
            assert compare(st.tensor(x), c).tolist() == [bool(compare(v, c)) for v in x.tolist()], (compare, c)
            assert compare(c, st.tensor(x)).tolist() == [bool(compare(c, v)) for v in x.tolist()], (compare, c)
    some = [-1, 4.5, high + 1, math.inf]
    want = [np.array([compare(v, c) for v in x.tolist()]) for compare in COMPARISONS for c in some]
    all_give(want, lambda x: [compare(x, c) for compare in COMPARISONS for c in some], x)


def test_named_comparisons_take_a_number_on_either_side() -> None:
    x = np.array([0, 7], np.uint32)
    all_give([np.array([True, True]), np.array([False, False]), np.array([True, True])],
             lambda x: [st.less(-1, x), st.equal(2**32, x), st.greater_equal(x, -1)], x)


ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_, operator.or_,
              operator.xor, st.maximum, st.minimum, lambda x, n: st.where(x > 1, x, n),
              lambda x, n: x.assign(n), lambda x, n: st.full_like(x, n),
              lambda x, n: operator.setitem(x + 0, 0, n), lambda x, n: operator.iadd(x + 0, n)]


@pytest.mark.parametrize("name", INTEGERS)
def test_a_number_that_does_not_fit_is_refused(name: str) -> None:
    low, high = ends(name)
    x = np.array([1, 2, 3]).astype(name)
    for f in ARITHMETIC:
        for number in (low - 1, high + 1, 2**70):
            all_raise(DTypeError, f"does not fit in {name}", lambda x, f=f, number=number: f(x, number), x)


@pytest.mark.parametrize("name", INTEGERS)
def test_the_last_numbers_that_fit_are_taken(name: str) -> None:
    x, (low, high) = np.array([1, 2, 3]).astype(name), ends(name)
    with np.errstate(all="ignore"):
        want = [x * 0 + high, np.maximum(x, high), np.minimum(x, low), x ^ high, np.where(x > 1, x, low).astype(name)]
    all_give(want, lambda x: [x * 0 + high, st.maximum(x, high), st.minimum(x, low), x ^ high,
                              st.where(x > 1, x, low)], x)


@pytest.mark.parametrize("name", INTEGERS)
def test_lists_of_numbers_that_do_not_fit_are_refused(name: str) -> None:
    low, high = ends(name)
    for bad in (low - 1, high + 1, 2**70, math.nan, math.inf, -math.inf, 1e30):
        for data in (bad, [1, bad], [[bad], [1.5]]):
            with pytest.raises(DTypeError, match=f"does not fit in {name}"):
                st.tensor(data, name)
        with pytest.raises(DTypeError, match=f"does not fit in {name}"):
            st.full((2,), bad, name)
    assert st.tensor([low, high], name).tolist() == [low, high]
    assert st.tensor([1.9, True], name).tolist() == [1, 1]
    assert st.tensor(np.array([300, 5]), "uint8").tolist() == [44, 5], "an array is converted"


def test_whole_numbers_beyond_every_integer() -> None:
    assert st.tensor([2**70], "float32").tolist() == [float(2**70)]
    for big in (2**63, 2**70):
        with pytest.raises(DTypeError, match="does not fit in int64"):
            st.tensor([big])
    all_raise(DTypeError, "does not fit in float32", lambda x: x + 10**400, np.ones(2, np.float32))
    all_give(np.full(2, 2.0**70, np.float32), lambda x: x + 2**70, np.ones(2, np.float32))
    for big in (2**63, 2**70, -10**30):
        assert (st.zeros(2, dtype="bfloat16") + big).astype("float64").tolist() == \
            st.tensor([big, big], "bfloat16").astype("float64").tolist()
        assert (st.zeros(2, dtype="bfloat16") < big).tolist() == [big > 0] * 2


@pytest.mark.parametrize("name", INTEGERS)
def test_bounds_beyond_an_integer_bound_nothing(name: str) -> None:
    x, (low, high) = np.array([1, 5, 9]).astype(name), ends(name)
    all_give([x, np.clip(x, 2, 7), np.clip(x, None, 6), x],
             lambda x: [st.clip(x, low - 1, high + 1), st.clip(x, 2, 7), x.clip(low - 9, 6), x.clip(low, high)], x)
    all_raise(DTypeError, "does not fit", lambda x: st.clip(x, high + 1, None), x)


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_ranges_that_walk_down(name: str) -> None:
    want = np.arange(5, 0, -2).astype(DTYPES[name].numpy)
    all_give([want], lambda x: [st.arange(5, 0, -2, dtype=name) + x], np.zeros(3, DTYPES[name].numpy))


# Dtypes of results

def test_a_dtype_equals_its_names() -> None:
    for name, dtype in DTYPES.items():
        assert st.zeros(1, dtype=name).dtype == name == dtype
        assert dtype == dtype.numpy and dtype == dtype.numpy.type and dtype.numpy == dtype
        assert hash(dtype) == hash(name) and {name: 1}[dtype] == 1  # type: ignore[index]
        assert dtype != "float" and dtype != "x"
        assert [other for other in DTYPES if dtype == other] == [name]
    kinds = [float, int, bool, list, None]
    assert [[dtype == kind for kind in kinds].index(True) for dtype in (st.float32, st.int64, st.bool_)] == [0, 1, 2]
    assert not any(st.float64 == kind for kind in kinds)


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS])
def test_truth_of_numbers(name: str) -> None:
    x = np.array([[0, 1, 1], [1, 1, 1]]).astype(DTYPES[name].numpy)
    if name not in ("bool", *INTEGERS):
        x[0, 1] = math.nan
    z, scalar, truth = x[::-1].copy(), x[1, 1].copy(), x != 0
    want = [truth.all(), truth.any(1), np.True_, np.True_, truth, truth, ~truth, truth & truth[::-1],
            truth | truth[::-1], truth ^ truth[::-1]]
    all_give(want, lambda x, z, s: [
        st.all(x), st.any(x, 1), st.all(s * 1), st.any(s), st.all(x, axis=()), x.any(axis=()), st.logical_not(x),
        st.logical_and(x, z), st.logical_or(x, z), st.logical_xor(x, z)], x, z, scalar)


def test_logic_of_python_numbers() -> None:
    assert st.logical_not(st.tensor([5, 0])).tolist() == [False, True] and st.logical_and(5, 2).item() is True
    assert st.all(st.tensor(2.5)).item() is True and st.any(st.tensor(0)).item() is False
    assert (~st.tensor([5])).tolist() == [-6] and (st.tensor([5]) & 2).tolist() == [0], "operators work on bits"


@pytest.mark.parametrize("name", ["bool", *INTEGERS])
def test_sums_and_products_of_integers_are_of_64_bits(name: str) -> None:
    x = np.array([[200, 3, 1], [7, 9, 1]]).astype(name)
    kind = np.uint64 if x.dtype.kind == "u" else np.int64
    one, wide = x[0, 0].copy(), x.astype(kind)
    want = [wide.sum(), one.astype(kind), wide, wide[0], wide.prod(), wide.prod(1), one.astype(kind), wide]
    all_give(want, lambda x, one: [x.sum(), one.sum(), x.sum(axis=()), x[0].sum(axis=(), keepdims=True), x.prod(),
                                   x.prod(1), one.prod(), x.prod(axis=())], x, one)


@pytest.mark.parametrize("name", FLOATS)
def test_reductions_over_no_axes_keep_floats(name: str) -> None:
    x = np.array([1.5, -2.5]).astype(DTYPES[name].numpy)
    all_give([x, x, x, x, x, abs(x * 0), x], lambda x: [
        x.sum(axis=()), x.prod(axis=()), x.max(axis=()), x.min(axis=()), x.mean(axis=()), x.var(axis=()),
        st.logsumexp(x, axis=())], x)


@pytest.mark.parametrize("name", INTEGERS)
def test_whole_powers_of_integers_stay_integers(name: str) -> None:
    x = np.array([0, 1, 2, 3, 7, 200, ends(name)[0], ends(name)[1]]).astype(name)
    z = np.array([0, 1, 2, 5, 3, 8, 3, 31]).astype(name)
    with np.errstate(all="ignore"):
        want = [x**n for n in range(8)] + [np.power(np.array(2, name), z), np.power(x, z), x**13, x**31]
    all_give(want, lambda x, z: [*(x**n for n in range(8)), 2**z, x**z, x**13, x.pow(31)], x, z)
    all_give(np.float32(x[1:6]) ** np.float32(2.0), lambda x: x**2.0, x[1:6])
    all_give(np.float32(x[1:6]) ** np.float32(-1), lambda x: x**-1.0, x[1:6], rtol=1e-6)
    all_raise(DTypeError, "to the power -1", lambda x: x**-1, x)


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS])
def test_rounding_keeps_the_dtype(name: str) -> None:
    x = np.array([0, 1, 3, 2**15 + 1]).astype(DTYPES[name].numpy) / np.array(4 if name in FLOATS else 1)
    x = x.astype(DTYPES[name].numpy)
    want = [x] * 4 if name not in FLOATS else [np.floor(x), np.ceil(x), np.rint(x), np.trunc(x)]
    all_give(want, lambda x: [st.floor(x), st.ceil(x), st.round(x), st.trunc(x)], x)


def test_negative_powers_of_integers_in_arrays_are_those_of_pytorch() -> None:
    x, z = np.array([0, 1, -1, -1, 2, -3], np.int32), np.array([-1, -5, -2, -3, -1, -2], np.int32)
    all_give(np.array([0, 1, 1, -1, 0, 0], np.int32), lambda x, z: x**z, x, z)


@pytest.mark.parametrize("name", ["bool", *INTEGERS])
def test_in_place_results_of_a_later_kind_are_refused(name: str) -> None:
    x = np.array([1, 0, 1]).astype(name)
    for change in (lambda x: operator.itruediv(x, 2), lambda x: operator.iadd(x, 0.5),
                   lambda x: operator.imul(x, st.tensor([0.5]))):
        all_raise(DTypeError, "keeps the dtype", lambda x, change=change: change(x), x)
    if name.startswith("u"):
        all_raise(DTypeError, "keeps the dtype", lambda x: operator.iadd(x, st.tensor([1], "int64")), x)
    all_give(x.astype(np.float32) / 2, lambda x: operator.itruediv(x.astype("float32"), st.tensor(2.0, "float64")), x)


# Values of floats

@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_means_of_many_16_bit_floats(name: str) -> None:
    x = np.full(70_000, 3.0).astype(DTYPES[name].numpy)
    large = np.full((2, 64), 1000.0).astype(DTYPES[name].numpy) * np.array([[1], [1.5]], DTYPES[name].numpy)
    zero = np.zeros((), DTYPES[name].numpy)
    all_give([x[0], zero, zero, large[:, 0], zero, large.reshape(1, 1, 2, 64)[..., ::8]], lambda x, y: [
        x.mean(), x.var(), x.std(), y.mean(1), y.std(1).max(),
        st.avg_pool2d(y.reshape(1, 1, 2, 64), (1, 8))], x, large)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_layer_norm_of_large_16_bit_floats(name: str) -> None:
    x = np.array([[-1000.0, 1000.0, -1000.0, 1000.0]]).astype(DTYPES[name].numpy)
    all_give(np.sign(x), st.layer_norm, x)


@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_hyperbolic_functions_up_to_overflow(name: str) -> None:
    dtype = DTYPES[name]
    if dtype.is_float:
        top = {"float16": 11.7, "bfloat16": 89.0, "float32": 89.4, "float64": 710.4}[name]
        x = np.array([0.0, -0.0, 1e-3, 0.3, 1, 5, 39.9, 40.1, top, 2 * top, math.inf, math.nan, -1.0, -top, -math.inf])
    else:
        x = np.array([0, 1, 5, 40, 41, 89])
    x = x.astype(dtype.numpy)
    wide = x.astype(np.float64 if dtype.is_float else np.float32).astype(np.float64)
    out = dtype.numpy if dtype.is_float else np.dtype(np.float32)
    with np.errstate(all="ignore"):
        want = [np.sinh(wide).astype(out), np.cosh(wide).astype(out)]
    rtol = {"float16": 1e-3, "bfloat16": 8e-3, "float64": 1e-15}.get(name, 5e-7)
    all_give(want, lambda x: [st.sinh(x), st.cosh(x)], x, rtol=rtol)


def test_hyperbolic_gradients() -> None:
    x = np.array([-2.0, 0.0, 0.5, 89.2], np.float32)
    wide = x.astype(np.float64)
    all_give([np.cosh(wide).astype("f4"), np.sinh(wide).astype("f4")], lambda x: [
        st.grad(lambda v: st.sinh(v).sum())(x), st.grad(lambda v: st.cosh(v).sum())(x)], x, rtol=1e-6)


def test_float64_to_float16_rounds_once() -> None:
    rng = np.random.default_rng(0)
    halfway = (np.arange(1, 400) + 0.5) * 2.0**-10 + 1
    x = np.concatenate([halfway + 2.0**-40, halfway - 2.0**-40, halfway, rng.standard_normal(99) * 1e-7, [
        65519.999999999, 65520.0, 1e300, -1e300, math.inf, -math.inf, math.nan, 5e-324, -0.0, 2.0**-25 * (1 + 1e-12)]])
    with np.errstate(all="ignore"):
        all_give(x.astype(np.float16), lambda x: x.astype("float16"), x)
        all_give(x.astype(np.float16).astype(np.float32), lambda x: x.astype("float16").astype("float32"), x)


def nearest(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bfloat16 nearest to each number, by exact arithmetic: an even one of two that are as near."""
    dtype = DTYPES["bfloat16"].numpy
    found = []
    for number in x.tolist():
        near = np.array(number, dtype)
        if math.isfinite(number):
            bits = int(near.view(np.uint16))
            around = [np.array(b, np.uint16).view(dtype) for b in range(max(bits - 1, 0), bits + 2)]
            near = min(filter(np.isfinite, around),
                       key=lambda y: (abs(Fraction(float(y)) - Fraction(number)), int(y.view(np.uint16)) & 1))
        found.append(near)
    return np.array(found, dtype)


def test_numbers_become_bfloat16_in_one_rounding() -> None:
    rng = np.random.default_rng(0)
    halfway = (np.arange(1, 400) + 0.5) * 2.0**-7 + 1
    x = np.concatenate([halfway + 2.0**-40, -halfway - 2.0**-40, halfway - 2.0**-40, halfway,
                        rng.standard_normal(99) * 1e-39, rng.standard_normal(99), [5e-324, -0.0, math.inf, math.nan]])
    whole = np.concatenate([(2**30 + (np.arange(1, 40) * 2 + 1) * 2**22 + k) for k in (-1, 0, 1)])
    for numbers in (x, whole, -whole, whole.astype(np.int32), whole.astype(np.uint32)):
        want = nearest(numbers)
        all_give(want, lambda x: x.astype("bfloat16"), numbers)
        all_give(want.astype("f4"), lambda x: x.astype("bfloat16").astype("float32"), numbers)
        made = st.tensor(numbers, dtype="bfloat16").numpy()
        np.testing.assert_array_equal(made.astype("f4"), want.astype("f4"))
    one = np.ones(3, DTYPES["bfloat16"].numpy)
    all_give(nearest(one * halfway[0] + 2.0**-40), lambda x: x * float(halfway[0] + 2.0**-40), one)
    assert st.tensor(1e300, dtype="bfloat16").tolist() == math.inf


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 3.0, -7.5, 1e-3, 65504.0, 1e30, 3e38, -3e38, 1e-38, math.inf, -math.inf,
           math.nan]


def whole_quotient(x: Any, z: Any) -> Any:
    """NumPy's, but with infinities it is the quotient itself, infinite or zero, as the array API standard says."""
    return np.where(np.isinf(x) | np.isinf(z), x / z, np.floor_divide(x, z))


@pytest.mark.parametrize("name", FLOATS)
def test_whole_division_and_remainders_of_floats(name: str) -> None:
    rng = np.random.default_rng(0)
    dtype, more = DTYPES[name].numpy, [1e308, 5e-324, 1e-308, 2.0**53 + 1] if name == "float64" else [1e-44, 2.0**25]
    with np.errstate(all="ignore"):
        numbers = np.array([*SPECIAL, *more, *rng.standard_normal(8) * 10.0 ** rng.integers(-5, 6, 8)]).astype(dtype)
        x, z = (v.ravel().copy() for v in np.meshgrid(numbers, numbers))
        z = np.where(np.abs(z) < {"float64": 1e-307, "bfloat16": 1e-37, "float32": 1e-37}.get(name, 0), z * 0, z)
        want = [whole_quotient(x, z), np.remainder(x, z)]
    all_give(want, lambda x, z: [x // z, x % z], x, z)


def test_whole_division_looks_at_the_remainder() -> None:
    for name in ("float32", "float64"):
        one = np.ones(1, name)
        all_give([one // 0.1, one % 0.1, -one / math.inf, -one % math.inf, one % math.inf],
                 lambda x: [x // 0.1, x % 0.1, -x // math.inf, -x % math.inf, x % math.inf], one)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_remainders_are_exact_with_and_without_fma(name: str, fused: bool) -> None:
    rng, s = np.random.default_rng(0), NumpyScalars(fused)
    top = {"float32": 37, "float64": 300}[name]
    x, z = ((rng.standard_normal(4000) * 10.0 ** rng.integers(-k, k, 4000)).astype(name) for k in (top, top))
    with np.errstate(all="ignore"):
        x[:500] = np.round(x[:500] % 1e6) * z[:500]     # near a whole multiple
        want, whole = np.remainder(x, z), whole_quotient(x, z)
    np.testing.assert_array_equal(s.remainder(s.element(x), s.element(z)).value, want)
    np.testing.assert_array_equal(s.quotient(s.element(x), s.element(z)).value, whole)


# Gradients at edges

@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_gradients_at_edges(name: str) -> None:
    x = np.array([0.0, 1.0, -1.0, 2.0], name)
    want = [[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1], [1, 1, 0, 0]]
    all_give([np.array(w, name) for w in want], lambda x, n: [
        st.grad(lambda v: (v**0).sum())(x), st.grad(lambda v: (v**n).sum())(x),
        st.grad(lambda v: st.clip(v, -1, 1).sum())(x), st.grad(lambda v: v.clip(0, None).sum())(x),
        st.grad(lambda v: st.clip(v, n, n + 1).sum())(x)], x, np.zeros(4, name))


def test_bounds_in_arrays_take_the_gradient_of_what_they_replace() -> None:
    x, low, high = np.array([0.0, 1.0, 2.0, 3.0], "f4"), np.float32(1), np.full(4, 2, "f4")
    all_give([np.float32(1), np.array([0, 0, 0, 1], "f4")], lambda x, low, high: [
        st.grad(lambda b: st.clip(x, b, high).sum())(low), st.grad(lambda b: st.clip(x, low, b).sum())(high)],
        x, low, high)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_the_deviation_of_a_constant_has_gradient_zero(name: str) -> None:
    x = np.array([[2.0, 2.0], [1.0, 3.0]], name)
    want = np.array([[0, 0], [-0.5, 0.5]], name)
    all_give([np.array([0, 1], name), want], lambda x: [x.std(1), st.grad(lambda v: v.std(1).sum())(x)], x, rtol=1e-6)


def test_padding_keeps_the_sign_of_a_zero() -> None:
    for dtype in ("float32", "float16", "int32"):
        x = np.ones(2, dtype)
        want = np.array([0, 1, 1, 0], dtype) * np.array([-1, 1, 1, -1], dtype)
        all_give(want, lambda x: st.pad(x, [(1, 1)], value=-0.0), x)


def test_padding_of_a_pool_takes_no_gradient() -> None:
    x = np.full((1, 1, 2, 2), -np.inf, np.float32)
    x[0, 0, 1, 1] = 4
    all_give(np.ones_like(x), lambda x: st.grad(lambda v: st.max_pool2d(v, 2, 2, 1).sum())(x), x)
    all_give(np.full_like(x, 7), lambda x: st.jvp(
        lambda v: st.max_pool2d(v, 2, 2, 1), (x,), (st.full_like(x, 7),))[1], x)


# Shapes and arguments

def test_diagonals_beyond_every_matrix() -> None:
    x = np.arange(6.0).reshape(2, 3).astype(np.float32) + 1
    far = [2**63 - 1, -(2**63), 2**70, -(2**70), 2**62]
    all_give([np.tril(x, k // abs(k) * 9) for k in far] + [np.triu(x, k // abs(k) * 9) for k in far],
             lambda x: [st.tril(x, k=k) for k in far] + [st.triu(x, k=k) for k in far], x)


def test_matrices_with_no_columns() -> None:
    for n, m in ((3, 0), (0, 3), (0, 0)):
        all_give(np.eye(n, m, dtype=np.float32) + 1, lambda x, n=n, m=m: st.eye(n, m) + x, np.ones(1, np.float32))


def test_axes_and_flags_are_what_they_say() -> None:
    x = np.ones((2, 3, 4), np.float32)
    all_raise(ShapeError, "axis 7", lambda x: st.concatenate([x], axis=7), x)
    for name in ("sum", "mean", "prod", "max", "min", "var", "std", "all", "any"):
        all_raise(ArgumentError, f"keepdims of {name} must be True", lambda x, name=name: getattr(x, name)(1, 2), x)
        all_raise(ArgumentError, f"axis of {name} must be", lambda x, name=name: getattr(x, name)(True), x)
    all_give(x.mean((1, 2), keepdims=True), lambda x: x.mean((1, 2), True), x)


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "wrap", "edge"])
def test_padding_goes_to_and_fro_as_often_as_it_takes(mode: Any) -> None:
    for n, widths in ((1, (7, 2)), (2, (0, 9)), (3, (13, 22)), (5, (5, 10)), (5, (11, 3)), (5, (1, 1))):
        x = np.arange(2.0 * n, dtype="f4").reshape(2, n)
        want = np.pad(x, ((0, 0), widths), mode=mode)
        weights, places = np.arange(want.size, dtype="f4").reshape(want.shape), want.astype(int)
        all_give(want, lambda x: st.pad(x, [(0, 0), widths], mode=mode), x)     # noqa: B023
        got = st.grad(lambda x: (st.pad(x, [(0, 0), widths], mode=mode) * weights).sum())(st.tensor(x))   # noqa: B023
        assert got.flatten().tolist() == np.bincount(places.ravel(), weights.ravel()).tolist()
    with pytest.raises(ShapeError, match="more than can be addressed"):
        st.pad(st.zeros(2, 3, 4), [(1 << 62, 0)] * 3, mode=mode)


@pytest.mark.parametrize("widths", [2, (1, 2), [3], ((1, 2),), ((1,), (2,)), ((1, 2), [0, 3])], ids=str)
def test_widths_of_padding_are_numpys(widths: Any) -> None:
    x = np.arange(6.0, dtype="f4").reshape(2, 3)
    all_give(np.pad(x, widths), lambda x: st.pad(x, widths), x)
    assert np.array_equal(np.pad(st.tensor(x), widths), np.pad(x, widths))
    with pytest.raises(ArgumentError, match=r"\(2, 1\) is a pair for all axes"):
        st.pad(st.zeros(2, 2, 2), (1, 2, 3))


def test_whole_quotients_by_subnormals_are_infinite_where_products_take_these_for_zeros_too() -> None:
    x, y = np.array([[6e-39], [0.0], [1.0], [-6e-39]], "f4"), np.array([[-199.0]], "f4")
    all_give(np.array([[-np.inf], [-np.inf], [-199], [np.inf]], "f4"),
             lambda x, y: ((y // x) @ st.ones(1, 1)), x, y)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_a_median_of_two_is_their_mean(name: str) -> None:
    """Which is infinite beside an infinity, and no overflow of two large ones."""
    top = float(np.finfo(name).max)
    x = np.array([[-1, math.inf], [-math.inf, 3], [math.inf, math.inf], [1, 2]]).astype(name)
    all_give(np.array([math.inf, -math.inf, math.inf, 1.5]).astype(name), lambda x: st.median(x, axis=1), x)
    all_give(np.array(top).astype(name), st.median, np.array([top, top]).astype(name))
