"""Where NumPy defines a value, the three styles and the reference give it: special values, overflow, operators."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.backend import reference
from stele.errors import DTypeError
from stele.ir.graph import Graph
from stele.ir.types import DTYPES
from tests.styles import Array, all_give, styles

INTEGERS = [n for n, d in DTYPES.items() if d.kind in "iu"]
OUTSIDE = [np.nan, np.inf, -np.inf, 300.0, -1.0, -2.7, 3e9, 2.0**31, -(2.0**31), -(2.0**31) - 1000, 2.0**32, 2.0**63,
           1e30]


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
    bits, way = (64, "i8") if name in ("uint32", "int64", "uint64") else (32, "i4")
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1)
    if name == "uint64":
        wide = [0 if v >= 2.0**64 else int(v) % 2**64 if abs(v) < 2.0**64 and v >= low else 2**63 for v in x.tolist()]
        want = np.array(wide, np.uint64)
    else:
        wide = [int(v) if np.isfinite(v) and low <= int(v) < high else low for v in x.astype(np.float64)]
        want = np.array(wide, way).astype(name)
    all_give(want, lambda x: x.astype(name), x)
    all_give(want.sum(), lambda x: x.astype(name).sum(), x)


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


IDENTITIES: dict[str, Callable[..., Any]] = {
    "the size of a negative": lambda x: abs(-x), "of a square": lambda x: st.relu(x * x),
    "of what is positive": lambda x: st.relu(abs(x)), "of a negative factor": lambda x: -x * 3 + -(x * 3),
    "of products with numbers": lambda x: x * 2 * 3 - x * 4, "of differences": lambda x: -(x - 3) + (0 - x),
    "of rows": lambda x: abs(-x.reshape(2, -1)).sum(axis=0).sum(),
}


@pytest.mark.parametrize("f", IDENTITIES.values(), ids=IDENTITIES.keys())
def test_integers_wrap_alike(f: Callable[..., Any]) -> None:
    for name in INTEGERS:
        low, high = np.iinfo(name).min, np.iinfo(name).max
        x = np.array([low, low + 1, high, high - 1, high // 2 + 1, 0, 1, 5]).astype(name)
        with np.errstate(all="ignore"):
            all_give(wrapped(f, x), f, x)


def wrapped(f: Callable[..., Any], x: Array) -> Array:
    """What the reference makes of each op for itself, without any rule."""
    place = st.placeholder(x.shape, x.dtype.name)
    return reference.run(Graph((place.value,), (f(place).value,)), [x])[0]


@pytest.mark.parametrize("f", [operator.neg, lambda x: x - x, lambda x: x // x, lambda x: x % x, st.sign])
def test_bools_are_no_numbers(f: Callable[..., Any]) -> None:
    for style in (f, st.compile(f)):
        with pytest.raises(DTypeError, match="needs numbers, got bool"):
            style(st.tensor([True, False]))


def test_integers_are_whole_already() -> None:
    x = np.array([2**53 + 1, -7, 0, 2**63 - 1])
    for f in (st.floor, st.ceil, st.round, st.trunc):
        all_give(x, f, x)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_the_sign_of_a_zero_is_zero(name: str) -> None:
    for style, (got,) in styles(st.sign, np.tile(np.array([-0.0, 0.0, -2.0, np.nan]), 9).astype(name)):
        assert not np.signbit(got[::4]).any() and (got[2::4] == -1).all() and np.isnan(got[3::4]).all(), style


HALVES: dict[str, Callable[..., Any]] = {
    "a product": lambda x, z: (x * z).astype("float32"),
    "a chain": lambda x, z: ((x * z - x) * z + x / 3).astype("float32"),
    "a sum of products": lambda x, z: (x * z).sum().astype("float32"),
    "what follows a sum": lambda x, z: (x.sum() * 3 - z).astype("float32"),
    "sums of rows": lambda x, z: ((x.reshape(25, 40).sum(axis=0) * 3 + 1) * z[:40]).astype("float32"),
    "what follows a largest": lambda x, z: ((x - x.max()) * z).astype("float32"),
}


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("f", HALVES.values(), ids=HALVES.keys())
def test_every_result_of_half_precision_is_rounded_wherever_it_is_fused(f: Callable[..., Any], name: str) -> None:
    rng = np.random.default_rng(3)
    x, z = (rng.standard_normal(1000).astype(np.float32).astype(DTYPES[name].numpy) for _ in range(2))
    found = dict(styles(f, x, z))
    for style, (got,) in found.items():
        np.testing.assert_array_equal(got, found["reference"][0], err_msg=style)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_what_follows_a_product_of_matrices_sees_it_rounded(name: str) -> None:
    rng = np.random.default_rng(3)
    x, w = (rng.integers(-40, 40, (48, 48)).astype(np.float32).astype(DTYPES[name].numpy) for _ in range(2))
    product = (x.astype(np.float64) @ w.astype(np.float64)).astype(np.float32).astype(x.dtype)
    all_give((product.astype(np.float32) * 3).astype(x.dtype), lambda x, w: (x @ w) * 3, x, w)
    all_give(product.astype(np.float32) * 3, lambda x, w: (x @ w).astype("float32") * 3, x, w)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_what_follows_a_convolution_sees_it_rounded(name: str) -> None:
    rng = np.random.default_rng(3)
    x, w = (rng.integers(-9, 9, s).astype(np.float32).astype(DTYPES[name].numpy) for s in ((2, 3, 8, 8), (4, 3, 3, 3)))
    exact = st.conv2d(st.tensor(x.astype(np.float32)), st.tensor(w.astype(np.float32))).numpy().astype(x.dtype)
    all_give(exact.astype(np.float32) * 3, lambda x, w: st.conv2d(x, w).astype("float32") * 3, x, w)
    gradients = st.compile(st.grad(lambda x: st.conv2d(x, st.tensor(w)).astype("float32").sum()), backend="reference")
    assert gradients(st.tensor(x)).dtype.name == name


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_functions_of_half_precision_round_once(name: str) -> None:
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((8, 300)) * 3).astype(np.float32).astype(DTYPES[name].numpy)
    wide = x.astype(np.float32)
    for f in (lambda x: st.softmax(x, axis=1), lambda x: st.log_softmax(x, axis=1), st.gelu, st.silu,
              lambda x: st.logsumexp(x, axis=1)):
        want, found = f(st.tensor(wide)).astype(name).numpy(), dict(styles(f, x))
        np.testing.assert_allclose(found.pop("reference")[0].astype("f8"), want.astype("f8"), rtol=2e-2, atol=1e-6)
        for style, (got,) in found.items():
            np.testing.assert_array_equal(got, want, err_msg=style)
    for f in (lambda x: st.square(st.softmax(x, axis=1)), lambda x: st.square(st.gelu(x))):
        g, h = (st.grad(lambda x, f=f: f(x).astype("float32").sum())(st.tensor(v)).numpy() for v in (x, wide))
        scale = np.abs(h).max() * float(np.ldexp(1, -8 if name == "bfloat16" else -11))
        assert np.abs(g.astype(np.float32) - h).max() <= 8 * scale


@pytest.mark.parametrize("number", [2, 2.5, -0.5, 0.5, 0, float("nan")])
@pytest.mark.parametrize("name", ["bool", "uint8", "int32", "int64", "float16"])
def test_a_number_becomes_one_of_the_dtype_it_is_written_into(name: str, number: float) -> None:
    if number != number and name not in ("bool", "float16"):
        pytest.skip("no integer is NaN: refused")

    def everywhere(x: st.Tensor) -> Any:
        y, z = x.clone(), x.detach()
        y[0] = number
        return y, z.assign(number), st.full(2, number, name), st.full_like(x, number)

    x = st.tensor([0, 1], dtype=name)
    law = np.asarray(number).astype(x.numpy().dtype)
    for style in (everywhere, st.compile(everywhere)):
        y, *others = style(x)
        np.testing.assert_array_equal(y.numpy(), np.array([law, 1], law.dtype))
        for z in others:
            np.testing.assert_array_equal(z.numpy(), np.array([law, law]))
