"""Methods of NumPy's ufuncs on tensors, what stands in for them of its functions, and lines between tensors."""
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportDeprecated=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.arrays import ufuncs
from stele.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError, TraceError
from tests.styles import all_give, all_raise


def onto(f: Any, x: Any, i: Any, *v: Any) -> Any:
    """What `f.at` leaves of x."""
    x = x * 1
    assert f.at(x, i, *v) is None
    return x


MADE: dict[str, Callable[[Any], Any]] = {       # of x (3, 4)
    "reduce":       lambda x: np.add.reduce(x, 1),
    "all":          lambda x: np.multiply.reduce(x, axis=None, keepdims=True),
    "initial":      lambda x: np.add.reduce(x, initial=3),
    "where":        lambda x: np.add.reduce(x, axis=1, where=x > 0),
    "least where":  lambda x: np.minimum.reduce(x, axis=0, where=[[True], [False], [True]], initial=0.5),
    "and where":    lambda x: np.logical_and.reduce(x > -1, axis=1, where=x > 0),
    "accumulate":   lambda x: np.add.accumulate(x),
    "products":     lambda x: np.multiply.accumulate(x, axis=1),
    "so far":       lambda x: np.maximum.accumulate(x, 1),
    "least so far": lambda x: np.minimum.accumulate(x[0]),
    "logarithms":   lambda x: np.logaddexp.accumulate(x, axis=1),
    "outer":        lambda x: np.subtract.outer(x[0], x),
    "pairs":        lambda x: np.hypot.outer(x[:, 0], x[0]),
    "powers":       lambda x: np.power.outer(abs(x[0]), [1, 2]).astype("f4"),
    "less":         lambda x: np.less.outer(x[0], x[1]),
    "parts":        lambda x: np.add.reduceat(x, [0, 2, 1], axis=1),
    "largest":      lambda x: np.maximum.reduceat(x, np.array([1, 0])),
    "at":           lambda x: onto(np.add, x, [0, 2, 0], 2.0),
    "at rows":      lambda x: onto(np.add, x, [1, 1], x[:2]),
    "at pairs":     lambda x: onto(np.subtract, x, ([0, 0], [1, 1]), 1),
    "at a slice":   lambda x: onto(np.multiply, x, (slice(None), [1, -1]), 2),
    "at most":      lambda x: onto(np.minimum, x, [0, 0], x[1:]),
    "at least":     lambda x: onto(np.maximum, x, 1, 0),
    "sum":          lambda x: np.sum(x, axis=0, where=x > 0, initial=1),
    "max":          lambda x: np.max(x, initial=30),
    "any":          lambda x: np.any(x > 1, axis=0, where=[[True], [False], [True]], keepdims=True),
    "modf":         lambda x: np.modf(x),
    "divmod":       lambda x: np.divmod(x, 0.5),
    "average":      lambda x: np.average(x, axis=1, weights=[1.0, 2.0, 3.0, 4.0]).astype("f4"),
    "block":        lambda x: np.block([[x, x], [x * 2, x]]),
    "choose":       lambda x: np.choose([0, 1, 0, 1], [x[0], x[1]]),
    "fix":          lambda x: np.fix(x * 3),
    "degrees":      lambda x: np.degrees(x),
    "matvec":       lambda x: np.matvec(x, x[0]),
    "vecmat":       lambda x: np.vecmat(x[:, 0], x),
    "vander":       lambda x: np.vander(x[0], 3, increasing=True).astype("f4"),
    "piecewise":    lambda x: np.piecewise(x, [x < 0, x >= 0], [0.5, lambda x: x * 2]),
    "polyint":      lambda x: np.polyint(x[0]).astype("f4"),
    "along":        lambda x: np.apply_along_axis(lambda row: row[::-1] * 2, 1, x),
    "outwards":     lambda x: np.apply_along_axis(lambda row: np.outer(row[:2], row), 0, x),
    "einsum":       lambda x: np.einsum(x, [0, 1], x, [2, 1], [0, 2]),
    "path":         lambda x: np.einsum("ij,kj->ik", x, x, optimize="greedy"),
    "cross":        lambda x: np.cross(x[:, :3], x[0, :3]),
    "histogram":    lambda x: np.histogram2d(x[0], x[1], bins=2)[0],
    "triangle":     lambda x: np.linalg.qr(x.T, mode="r"),
    "linspace":     lambda x: np.linspace(x[0], x[1], 5),
    "one end":      lambda x: np.linspace(0, x[0, 0], 3, endpoint=False),
    "full":         lambda x: np.full_like(x, x[0]),
    "mean where":   lambda x: np.mean(x, axis=0, where=x > 0),
    "some of none": lambda x: (np.mean(x, axis=1, where=False), np.max(x[:0], axis=0, initial=2), np.sum(x[:, :0], 1)),
    "spread where": lambda x: (np.var(x, axis=1, where=x > 0, ddof=1), np.std(x, where=[[True], [False], [True]])),
    "least where, kept": lambda x: np.min(x, axis=(0, 1), where=x > 0, initial=0.25, keepdims=True),
    "product":      lambda x: np.prod(x, 1, where=x < 1, initial=2),
    "all where":    lambda x: np.all(x > 0, axis=0, where=x > -0.5),
    "weights too":  lambda x: np.average(x, axis=0, weights=np.array([1, 2, 4], "f4"), returned=True),
    "count too":    lambda x: np.average(x, axis=1, returned=True),
    "degrees of":   lambda x: np.angle(x, deg=True),
    "biased":       lambda x: np.cov(x, bias=True).astype("f4"),
    "spacing":      lambda x: np.spacing(x),
    "polydiv":      lambda x: np.polydiv(x[0], x[1, :2] + 3)[0],
    "packbits":     lambda x: np.packbits(x > 0),
    "little bits":  lambda x: np.packbits((x > 0).reshape(2, -1), axis=0, bitorder="little"),
    "unpackbits":   lambda x: np.unpackbits(np.packbits(x > 0), count=12).reshape(3, 4),
    "more bits":    lambda x: np.unpackbits(np.packbits(x > 0, axis=1), axis=1, count=9, bitorder="little"),
    "fewer bits":   lambda x: np.unpackbits(np.packbits(x > 0), count=-3),
    "linspace inside": lambda x: np.linspace(x[0], x[1], 3, axis=-1),
    "geomspace inside": lambda x: np.geomspace(abs(x[0]), abs(x[1]), 3, axis=1).astype("f4"),
    "sort of all":  lambda x: (np.sort(x, axis=None), np.argsort(x, axis=None)),
    "mean around":  lambda x: np.pad(x, 2, "mean"),
    "median around": lambda x: np.pad(x, ((1, 2), (2, 0)), "median", stat_length=(2, 3)),
    "most around":  lambda x: np.pad(np.round(x * 9).astype("i4"), 1, "maximum", stat_length=2),
    "whole means":  lambda x: np.pad(np.round(x * 9).astype("i4"), 1, "mean"),
    "least around": lambda x: np.pad(x > 0, 1, "minimum"),
    "ramps":        lambda x: np.pad(x, (3, 2), "linear_ramp", end_values=((1, 2), (3, -4))),
    "whole ramps":  lambda x: np.pad(np.round(x * 9).astype("i4"), 3, "linear_ramp", end_values=20),
    "two constants": lambda x: np.pad(x, 2, constant_values=((1, 2), (3, 4))),
}


@pytest.mark.parametrize("name", MADE)
def test_they_are_part_of_the_program(name: str) -> None:
    x = np.random.default_rng(3).normal(size=(3, 4)).astype("f4")
    want, got = MADE[name](x), MADE[name](st.tensor(x))
    assert all(isinstance(y, st.Tensor) for y in (got if isinstance(got, tuple) else [got]))
    all_give(want, MADE[name], x, rtol=4e-6)


@pytest.mark.parametrize("name", ["where", "so far", "outer", "parts", "at rows", "sum", "linspace", "full", "cross"])
def test_another_size_runs_the_same_program(name: str) -> None:
    f = st.compile(MADE[name], dims={"x": {1: "n"}})
    for n in (4, 7, 9):
        x = np.random.default_rng(n).normal(size=(3, n)).astype("f4")
        np.testing.assert_allclose(f(st.tensor(x)), MADE[name](x), rtol=1e-5)
    assert f.traces == 1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float64", "bool"])
def test_methods_have_the_dtypes_that_numpy_has(dtype: str) -> None:
    x = np.array([[3, 0, 1], [1, 1, 0]]).astype(dtype)
    for f in (np.add, np.multiply, np.maximum, np.minimum, np.logical_or):
        all_give(f.reduce(x), lambda x, f=f: f.reduce(x), x)
        all_give(f.reduceat(x, [1, 0], 1), lambda x, f=f: f.reduceat(x, [1, 0], 1), x)
        if f is not np.logical_or:
            all_give(f.accumulate(x), lambda x, f=f: f.accumulate(x), x)
    all_give(np.add.reduce(x, dtype="int32"), lambda x: np.add.reduce(x, dtype="int32"), x)
    all_give(np.add.accumulate(x, dtype="float32"), lambda x: np.add.accumulate(x, dtype="float32"), x)


def test_elements_that_are_written_twice_take_both() -> None:
    x = np.arange(6, dtype="u1")
    for f in (np.add, np.subtract, np.multiply, np.maximum):
        v = np.array([7, 9, 250], "u1")
        all_give(onto(f, x, [1, 1, 5], v), lambda x, v, f=f: onto(f, x, [1, 1, 5], v), x, v)
    whole = st.arange(6.0)
    part = whole.reshape(2, 3)[1]
    np.add.at(part, [0, 0], 1.0)        # part of the memory of another
    assert whole.tolist() == [0, 1, 2, 5, 4, 5]
    for dtype in ("bfloat16", "float16", "int8", "complex64"):
        x = st.ones(2, dtype=dtype)
        np.add.at(x, [0, 0], 1)
        assert x.tolist() == [3, 1] and x.dtype == dtype
    empty = st.zeros(0)
    np.add.at(empty, [], 1.0)
    assert empty.shape == (0,)


def test_gradients_pass_through_methods() -> None:
    g = st.grad(lambda x: (np.multiply.outer(x, x) * np.add.accumulate(x)).sum())(st.tensor([1.0, 2.0]))
    assert g.tolist() == [7 + 3 * 4, 7 + 3 * 5]      # of (x0 + x1) (x0^2 + x1 (x0 + x1))
    g = st.grad(lambda x: onto(np.add, x, [0, 0], x).sum())(st.tensor([1.0, 2.0]))
    assert g.tolist() == [2, 2]


def test_methods_are_found_once() -> None:
    """What is known of their arguments is kept: as often as there are methods, and not as there are calls."""
    x = st.ones(2, 3)
    for _ in range(2):
        before = ufuncs.form_of.cache_info().currsize
        for _ in range(5):
            np.add.reduce(x, axis=1, keepdims=True)
            np.maximum.accumulate(x, axis=0, dtype="float64")
    assert ufuncs.form_of.cache_info().currsize == before


def test_what_methods_refuse() -> None:
    x = np.ones((2, 3), "f4")
    all_raise(ArgumentError, "Give initial=", lambda x: np.maximum.reduce(x, where=x > 0), x)
    all_raise(IndexOutOfRange, "from 0 to 2", lambda x: np.add.reduceat(x, [0, 3], 1), x)
    all_raise(DTypeError, "float64 into int64", lambda x: onto(np.add, x, [0], np.array(0.5)), np.arange(3))
    all_raise(DTypeError, "uint8", lambda x: onto(np.add, x, [0], -1), np.arange(3, dtype="u1"))
    all_raise(ArgumentError, "np.negative.at has no counterpart", lambda x: onto(np.negative, x, [0]), x)


def test_functions_have_the_methods_of_the_ufuncs_that_they_stand_for() -> None:
    """A NumPy script changed by its import line writes `np.add.at` and `np.maximum.accumulate`."""
    x = np.arange(1, 7, dtype="f4").reshape(2, 3)
    a, b = (st.tensor(x * 1) for _ in range(2))
    for name in ("add", "subtract", "multiply", "divide", "pow", "power", "remainder", "mod", "maximum", "fmin",
                 "hypot", "less", "not_equal", "logical_xor", "arctan2", "copysign", "logaddexp"):
        law = getattr(np, name).outer(x[0], x)
        np.testing.assert_allclose(getattr(st, name).outer(a[0], a), law, rtol=1e-5)
    for f, g in ((st.add, np.add), (st.multiply, np.multiply), (st.maximum, np.maximum), (st.minimum, np.minimum)):
        np.testing.assert_array_equal(f.reduce(a, axis=1, initial=2), g.reduce(x, axis=1, initial=2))
        np.testing.assert_array_equal(f.accumulate(a, 1), g.accumulate(x, 1))
        np.testing.assert_array_equal(f.reduceat(a, [0, 1], axis=1), g.reduceat(x, [0, 1], axis=1))
        f.at(b, [0, 0], a[1])
        np.testing.assert_array_equal(b, onto(g, x, [0, 0], x[1]))
        b = st.tensor(x * 1)
    with pytest.raises(ArgumentError, match=r"what add\.at writes to must be a tensor"):
        st.add.at(x, [0], 1)


@pytest.mark.parametrize(("f", "method", "hint"), [
    (st.subtract, "reduce", r"y = st\.subtract\(y, row\)"), (st.divide, "at", r"x\[i\] = st\.divide\(x\[i\]"),
    (st.hypot, "accumulate", r"st\.stack"), (st.less, "reduceat", r"st\.less\("), (st.sin, "at", r"st\.sin\(x\[i\]"),
    (st.absolute, "reduce", r"one array.*st\.abs\(x\)")])
def test_methods_that_functions_do_not_have_say_what_to_write(f: Any, method: str, hint: str) -> None:
    with pytest.raises(ArgumentError, match=rf"has no {method}.*{hint}"):
        getattr(f, method)(st.ones(2), [0], 1)


def test_elements_that_do_not_count_have_no_gradient() -> None:
    x = st.tensor([1.0, 3.0, float("nan"), -5.0])
    for f in (st.mean, st.std, st.sum, st.prod, lambda x, where: st.max(x, initial=0, where=where)):
        g = st.grad(lambda x, f=f: f(x, where=x > 0))(x)
        assert g[2:].tolist() == [0, 0] and st.isfinite(g).all()
    assert st.grad(lambda x: st.pad(x, 1, mode="median").sum())(st.tensor([1.0, 2.0, 4.0])).tolist() == [1, 3, 1]
    with pytest.raises(ArgumentError, match="Give initial="):
        st.max(x, where=x > 0)


def test_places_may_be_tensors() -> None:
    """How many elements are left is looked at, so that programs refuse it."""
    x, mask = st.tensor([1.0, 2.0, 3.0]), st.tensor([True, False, True])
    for f in (st.delete, np.delete):
        assert f(x, mask).tolist() == [2] and f(x, mask.numpy()).tolist() == [2]
        assert f(x, st.tensor([0, -1])).tolist() == [2] and f(x, st.tensor(1)).tolist() == [1, 3]
    assert st.insert(x, st.tensor([1, 2]), 9).tolist() == [1, 9, 2, 9, 3]
    with pytest.raises(TraceError, match="tolist"):
        st.compile(st.delete)(x, mask)
    both = st.intersect1d(st.tensor([4, 1, 4, 3]), st.tensor([3, 4, 4]), return_indices=True)
    assert [part.tolist() for part in both] == [[3, 4], [3, 0], [0, 1]]


# Lines between tensors

@pytest.mark.parametrize("function", [st.linspace, st.geomspace, st.logspace])
def test_lines_between_tensors(function: Any) -> None:
    a, b = np.array([[1.0], [2.0]]), np.array([4.0, 8.0, 0.5])
    law: Any = getattr(np, function.__name__)
    for n, endpoint in ((5, True), (4, False), (1, True), (0, True)):
        all_give(law(a, b, n, endpoint=endpoint), lambda x, z, n=n, e=endpoint: function(x, z, n, endpoint=e), a, b,
                 rtol=1e-14)
        np.testing.assert_allclose(function(1, st.tensor(b), n, endpoint=endpoint), law(1, b, n, endpoint=endpoint))
        np.testing.assert_allclose(function([1, 2], 3.0, n), law([1, 2], 3.0, n), rtol=1e-6)


def test_lines_and_constants_have_gradients() -> None:
    x = st.tensor([1.0, 3.0], requires_grad=True)
    (st.linspace(x[0], x[1], 3) * st.tensor([1.0, 2.0, 4.0])).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 5]
    g = st.grad(lambda x: (st.full((2, 3), x) * st.full_like(x, x[0])).sum())(st.tensor([1.0, 2.0, 3.0]))
    assert g.tolist() == [2 * (1 + 2 + 3) + 2, 2, 2]
    leaf = st.full((2,), x, requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad


def test_constants_of_tensors() -> None:
    x = np.array([1.5, 2.5])
    all_give(np.full((3, 2), x), lambda x: st.full((3, 2), x), x)
    all_give(np.full((3, 2), x, "int32"), lambda x: st.full((3, 2), x, dtype="int32"), x)
    all_give(np.full((3,), x[0]), lambda x: st.full(3, x[0]), x)
    all_give(np.full((0, 2), [1, 2]), lambda x: st.full((0, 2), [1, 2]), x)
    all_raise(ShapeError, "(3,)", lambda x: st.full(3, x), x)
    same = st.tensor(x)
    whole = st.full((2, 2), same)
    whole[0] = 0.0
    assert same.tolist() == x.tolist() and whole.tolist() == [[0, 0], [1.5, 2.5]]
