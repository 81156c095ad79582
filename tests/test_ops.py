"""Every op of the table: its type rule, its reference, its expansion, its printed form; and errors that teach."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case
from peer import torch_gives

from stele.backend.reference import run
from stele.errors import SteleError
from stele.ir import sizes
from stele.ir.graph import Constant, Graph, Value, literal, parameter
from stele.ir.types import DTYPES, Type, bool_, float32, int32, int64, uint32, uint64
from stele.ops import ALL
from stele.ops.contraction import matmul
from stele.ops.control import Scan, scan
from stele.ops.convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from stele.ops.cumulative import cummax
from stele.ops.diagonals import tril
from stele.ops.elementwise.binary import clip, pow, where
from stele.ops.elementwise.unary import erfc
from stele.ops.functional import cross_entropy, gelu, layer_norm, one_hot, softmax
from stele.ops.gather import ScatterAdd
from stele.ops.generate import arange, extent
from stele.ops.indexing import index, set_index
from stele.ops.joining import concatenate, split, stack
from stele.ops.linear import Broadcast, Pad, Slice, reshape, transpose
from stele.ops.padding import pad
from stele.ops.pooling import avg_pool2d, max_pool2d
from stele.ops.random import RandomBits, dropout, integers, multiply_words, normal, philox, uniform
from stele.ops.reduction import ArgMax, Max
from stele.ops.selecting import embedding, take
from stele.ops.shaping import repeat, roll
from stele.ops.statistics import any as any_of
from stele.ops.statistics import argmax, mean, std, var

X = np.arange(120, dtype=np.float32).reshape(4, 5, 6)


def x(*shape: Any, dtype: Any = float32) -> Value:
    return parameter("x", Type(dtype, shape))


def compute(f: Callable[..., Value], *arrays: Any) -> Any:
    """f on arrays, by the reference."""
    arrays = tuple(np.asarray(a) for a in arrays)
    values = tuple(parameter(f"x{k}", Type(DTYPES[a.dtype.name], a.shape)) for k, a in enumerate(arrays))
    return run(Graph(values, (f(*values),)), arrays)[0]


def test_every_op_has_examples() -> None:
    assert [name for name, cls in ALL.items() if cls.family != "leaf" and not cls.examples()] == []


def test_names_are_unique_and_documented() -> None:
    for name, cls in ALL.items():
        assert cls.__name__ == name and cls.__doc__ and not cls.__doc__.startswith(name + "("), name


@pytest.mark.parametrize("case", CASES)
def test_the_reference_has_the_type_that_the_rule_says(case: Case) -> None:
    graph = case.graph()
    for y, a in zip(graph.results, run(graph, case.operands)):
        assert a.dtype == y.dtype.numpy and a.shape == y.shape


@pytest.mark.parametrize("case", [p for p in CASES if p.values[0].op.family == "composite"])
def test_the_expansion_means_the_same(case: Case) -> None:
    graph, args = case.wide()
    expanded = Graph(graph.parameters, tuple(y.op.expand(*y.args) for y in graph.results))  # type: ignore[attr-defined]
    for a, b in zip(run(graph, args), run(expanded, args)):
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", [p for p in CASES if p.values[0].op.family != "control"])
def test_the_printed_op_reads_back(case: Case) -> None:
    assert eval(repr(case.op), {**ALL, **DTYPES}) == case.op


@pytest.mark.parametrize("case", [p for p in CASES if p.values[0].op.family == "movement"])
def test_the_source_of_every_element_is_where_the_reference_took_it(case: Case) -> None:
    op, y = case.op, case.graph().results[0]
    if not hasattr(type(op), "source") or op.name == "Reshape":
        pytest.skip("has several operands, or moves by regrouping")
    numbered = np.arange(1, case.operands[0].size + 1, dtype=np.float32).reshape(case.operands[0].shape)
    expected = op.reference(numbered)
    operand = Type(float32, numbered.shape)
    for i in np.ndindex(*y.shape):
        source = op.source(i, operand)  # type: ignore[attr-defined]
        inside = all(low <= e < high for e, low, high in source.bounds)
        assert expected[i] == (numbered[source.index] if inside else 0), (i, source)


@pytest.mark.parametrize("key", [
    0, -1, (0, 1, 2), slice(1, 3), (..., 2), (slice(None, None, -1), 3), (None, slice(0, -1, 2), ..., None),
    (slice(4, 0, -2), slice(None), slice(1, 100)), slice(3, 1), (slice(None), slice(-3, None))])
def test_index_and_set_index_are_numpy_s(key: Any) -> None:
    np.testing.assert_array_equal(compute(lambda v: index(v, key), X), X[key])
    expected = X.copy()
    expected[key] = -1
    np.testing.assert_array_equal(compute(lambda v: set_index(v, -1.0, key=key), X), expected)


def test_integer_arrays_gather_and_the_last_write_stays() -> None:
    i, j = np.array([[3, -1], [0, 2]]), np.array([1, -2])
    np.testing.assert_array_equal(compute(lambda v, i: index(v, (slice(None), i)), X, i), X[:, i])
    np.testing.assert_array_equal(compute(lambda v, i, j: index(v, (i, j)), X, i, j), X[i, j])
    np.testing.assert_array_equal(compute(lambda v, i, j: index(v, (i, slice(1, 3), j)), X, i, j), X[i, 1:3, j])
    mixed = compute(lambda v, j: index(v, (0, slice(1, 3), j, None)), X, j)
    np.testing.assert_array_equal(mixed, X[0, 1:3, j, None])
    np.testing.assert_array_equal(compute(lambda v, i: take(v, i, axis=2), X, i), X[:, :, i])
    np.testing.assert_array_equal(compute(embedding, X, np.array([1, 1])), X[[1, 1]])
    rows = np.stack([X[:, 0] * 0 + 7, X[:, 0] * 0 + 8], 1)
    for at in (np.array([1, 3]), np.array([2, 2])):
        expected = X.copy()
        expected[:, at] = rows
        written = compute(lambda v, r, i: set_index(v, r, key=(slice(None), i)), X, rows, at)
        np.testing.assert_array_equal(written, expected)


def test_shapes_and_layouts_are_numpy_s() -> None:
    np.testing.assert_array_equal(compute(lambda v: roll(v, shift=2, axis=1), X), np.roll(X, 2, 1))
    np.testing.assert_array_equal(compute(lambda v: repeat(v, times=3, axis=1), X), X.repeat(3, 1))
    np.testing.assert_array_equal(compute(lambda v: tril(v, k=1), X), np.tril(X, 1))
    np.testing.assert_array_equal(compute(lambda v: stack([v, v], axis=1), X), np.stack([X, X], 1))
    np.testing.assert_array_equal(compute(lambda v: concatenate(split(v, 2, axis=1)[::-1], axis=1), X),
                                  np.concatenate([X[:, 4:], X[:, 2:4], X[:, :2]], 1))
    widths = ((0, 1), (2, 0), (1, 1))
    np.testing.assert_array_equal(compute(lambda v: pad(v, widths=widths, value=-np.inf), X),
                                  np.pad(X, widths, constant_values=-np.inf))
    np.testing.assert_array_equal(compute(lambda v: v * 0 + arange(1, 7, dtype=float32), X)[0, 0], np.arange(1, 7))


def test_statistics_are_numpy_s() -> None:
    np.testing.assert_allclose(compute(lambda v: var(v, axis=(0, 2)), X), X.var((0, 2)), rtol=1e-6)
    np.testing.assert_allclose(compute(lambda v: std(v, correction=1, axis=1), X), X.std(1, ddof=1), rtol=1e-6)
    np.testing.assert_array_equal(compute(lambda v: argmax(v % 17), X), (X % 17).argmax())
    np.testing.assert_array_equal(compute(lambda v: any_of(v > 118, axis=0), X), (X > 118).any(0))
    assert compute(lambda v: ArgMax(0)(v), np.array([1, np.nan, 3], "f4")) == 1


def test_products_of_every_rank_are_numpy_s() -> None:
    rng = np.random.default_rng(1)
    for a, b in [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 5, 3), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)),
                 ((3,), (2, 3, 4))]:
        u, w = rng.normal(size=a), rng.normal(size=b)
        np.testing.assert_allclose(compute(matmul, u, w), u @ w, rtol=1e-12)


def test_a_matrix_under_leading_axes_is_one_product() -> None:
    y = matmul(x(2, 5, 3), parameter("w", Type(float32, (3, 4))))
    assert y.op.name == "Reshape" and y.args[0].args[0].shape == (10, 3)


def test_named_sizes_bind_when_a_graph_runs() -> None:
    n = sizes.size("n")
    v = x(n, 3)
    graph = Graph((v,), (mean(v, axis=0), extent(n), max_pool2d(reshape(v, (n, 1, 1, 3)), size=(1, 2))))
    for rows in (1, 5):
        a = np.random.default_rng(rows).normal(size=(rows, 3)).astype("f4")
        average, count, pooled = run(graph, [a])
        np.testing.assert_allclose(average, a.mean(0), rtol=1e-5, atol=1e-6)
        assert count == rows and pooled.shape == (rows, 1, 1, 1)


def test_philox_gives_the_published_words() -> None:
    """The known answers for philox4x32-10 of the Random123 distribution."""
    ones = 0xFFFFFFFF
    for counter, key, expected in [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ones,) * 4, (ones,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
         (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ]:
        words = philox(list(np.array(counter, "u4")[:, None]), list(np.array(key, "u4")[:, None]), multiply_words)
        assert tuple(int(w[0]) for w in words) == expected


class Words:
    """A scalar builder on uint32 and int64 arrays, enough for RandomBits."""

    def cast(self, e: Any, dtype: Any) -> Any:
        return np.asarray(e).astype(dtype.numpy)

    def constant(self, value: int, dtype: Any) -> Any:
        return np.asarray(value, dtype.numpy)

    def mulhi(self, e: Any, m: int) -> Any:
        return multiply_words(np.asarray(e), m)[0]


@pytest.mark.parametrize("shape", [(), (7,), (2, 3, 4), (sizes.size("n"), 5)])
def test_scalar_code_of_random_bits_gives_the_reference_s_words(shape: Any) -> None:
    known = tuple(sizes.at(n, {"n": 3}) for n in shape)
    key = np.array([5, 6, 7, 8], np.uint32)
    with np.errstate(over="ignore"):
        made = RandomBits(shape).generate(Words(), tuple(np.indices(known)), *key)
        np.testing.assert_array_equal(made, RandomBits(known).reference(*key))


def test_random_numbers_have_their_distributions() -> None:
    key = Constant(np.array([1, 0, 2, 0], np.uint32))()
    numbers = lambda v: run(Graph((), (v,)), [])[0]
    u, z, k = (numbers(v) for v in (uniform(key, shape=(100, 200)), normal(key, shape=(100, 200)),
                                    integers(key, low=literal(-2), span=literal(5, uint64), shape=(20000,))))
    assert u.min() >= 0 and u.max() < 1 and abs(u.mean() - 0.5) < 0.01 and abs(u.var() - 1 / 12) < 0.002
    assert abs(z.mean()) < 0.02 and abs(z.std() - 1) < 0.02 and abs((z**4).mean() - 3) < 0.15
    assert set(k) == set(range(-2, 3)) and np.bincount(k + 2).min() > 3700
    kept = numbers(dropout(Broadcast((20000,))(Constant(np.ones((), "f4"))()), key, p=0.25))
    assert set(kept) == {0, np.float32(1 / 0.75)} and abs((kept == 0).mean() - 0.25) < 0.02


def test_max_pooling_never_lets_padding_win() -> None:
    image = -np.ones((1, 1, 3, 3), "f4")
    best, average = (compute(lambda v: f(v, size=3, stride=2, padding=1), image) for f in (max_pool2d, avg_pool2d))  # noqa: B023
    np.testing.assert_array_equal(best, -np.ones((1, 1, 2, 2)))
    np.testing.assert_allclose(average, -np.full((1, 1, 2, 2), 4 / 9))


def test_scan_computes_what_does_not_move_before_the_loop() -> None:
    h, xs, w = x(2, 3), parameter("xs", Type(float32, (5, 2, 3))), parameter("w", Type(float32, (3, 3)))
    (last,), (ys,) = scan(lambda c, s: ((c[0] @ transpose(w, (1, 0)) + s[0],), (c[0],)), [h], [xs])
    loop = last.args[0].op
    assert isinstance(loop, Scan) and ys.args == last.args
    assert [v.op.name for v in last.args[0].args] == ["Parameter", "Parameter", "Transpose"] and loop.length == 5
    rng = np.random.default_rng(2)
    args = [rng.normal(size=v.shape).astype("f4") for v in (h, xs, w)]
    a, seen = args[0], []
    for step in args[1]:
        seen.append(a)
        a = a @ args[2].T + step
    made = run(Graph((h, xs, w), (last, ys)), args)
    np.testing.assert_allclose(made[0], a, rtol=1e-5)
    np.testing.assert_allclose(made[1], np.stack(seen), rtol=1e-5)


def test_scan_backwards_and_without_slices() -> None:
    (total,), (sums,) = scan(lambda c, s: ((c[0] + s[0],), (c[0] + s[0],)), [0.0], [x(4)], reverse=True)
    last, seen = run(Graph(tuple(v for v in total.args[0].args if v.op.family == "leaf" and v.shape), (total, sums)),
                     [np.array([1, 2, 3, 4], "f4")])
    assert last == 10 and list(seen) == [10, 9, 7, 4]
    (power,), _ = scan(lambda c, s: ((c[0] * 2,), ()), [1.0], [], length=10)
    assert run(Graph((), (power,)), [])[0] == 1024


def test_small_powers_are_products() -> None:
    names = [pow(x(3), k).op.name for k in (2, 0.5, -1)]
    assert names == ["Square", "Sqrt", "Reciprocal"] and pow(x(3), 2.5).op.name == "Pow"
    np.testing.assert_allclose(compute(lambda v: clip(v, min=3, max=50), X), X.clip(3, 50))
    np.testing.assert_array_equal(compute(lambda v: where(v > 50, v, 0), X), np.where(X > 50, X, 0))


ERRORS: list[tuple[Callable[[], Any], str]] = [
    (lambda: matmul(x(8, 3), x(5, 3)),
     r"x.shape\[-1\] == w.shape\[-2\].*\(8, 3\) @ \(5, 3\).*Did you mean w.T"),
    (lambda: matmul(x(), x(3)),                               r"one axis or more.*x \* w"),
    (lambda: x(2, 3) + x(4),                                  r"\(2, 3\) and \(4,\) do not broadcast: 3 vs 4"),
    (lambda: reshape(x(2, 3), (4,)),
     r"cannot reshape \(2, 3\) to \(4,\): 6 elements against 4"),
    (lambda: transpose(x(2, 3), (0, 0)),                      r"each of the 2 axes once"),
    (lambda: Slice((0,), (1,), (1,))(x(2, 3)),                r"for each of 2 axes"),
    (lambda: Pad((0,), (1,), (0,))(x(2, 3)),                  r"for each of 2 axes"),
    (lambda: concatenate([x(2, 3), x(2, 4)]),
     r"axis 0 needs equal shapes elsewhere, got \(2, 3\) and \(2, 4\)"),
    (lambda: concatenate([]),                                 r"at least one array"),
    (lambda: softmax(x(2, 3), axis=2),                        r"axis 2 is out of range for an array of 2 dimensions"),
    (lambda: softmax(x(2, dtype=int32)),
     r"Softmax needs a float dtype, got int32.*astype\('float32'\)"),
    (lambda: x(3) & x(3),
     r"And needs a bool or an integer dtype, got float32.*compare first"),
    (lambda: x(3, dtype=bool_) << x(3, dtype=bool_),          r"ShiftLeft needs an integer dtype, got bool"),
    (lambda: take(x(3), x(2)),                                r"integer dtype.*float32\[2\].*astype\('int64'\)"),
    (lambda: index(x(3), x(3, dtype=bool_)),                  r"depends on numbers.*st.where"),
    (lambda: index(x(3), (0, 0)),                             r"2 indices for an array of 1 axes"),
    (lambda: index(x(3), 3),                                  r"index 3 is out of range for axis 0 of \(3,\)"),
    (lambda: index(x(3), ("a",)),                                r"an index is an int, a slice.*got str"),
    (lambda: conv2d(x(1, 3, 8, 8), x(4, 2, 3, 3)),            r"x.shape\[1\] == w.shape\[1\] \* groups"),
    (lambda: conv2d(x(1, 3, 2, 2), x(4, 3, 3, 3)),            r"kernel \(3, 3\).*does not fit.*more padding"),
    (lambda: conv2d(x(3, 8, 8), x(4, 3, 3, 3)),               r"x as \(N, C, H, W\)"),
    (lambda: conv2d(x(1, 3, 8, 8), x(4, 3, 3, 3), padding="same", stride=2), r"'same' with stride 1"),
    (lambda: conv1d(x(3, 8), x(4, 3, 3)),                     r"needs x as \(N, C, L\) and w as \(O, C/groups, K"),
    (lambda: conv1d(x(1, 3, 2), x(4, 3, 3)),                  r"Conv1d: the kernel \(3,\).*does not fit in \(2,\)"),
    (lambda: conv3d(x(1, 3, 4, 4, 4), x(4, 2, 3, 3, 3)),      r"Conv3d .*x.shape\[1\] == w.shape\[1\] \* groups"),
    (lambda: conv_transpose2d(x(3, 8, 8), x(3, 4, 3, 3)),     r"conv_transpose2d needs x as \(N, C, H, W\)"),
    (lambda: conv_transpose2d(x(1, 3, 8, 8), x(4, 3, 3, 3)),  r"x.shape\[1\] == w.shape\[0\].*C comes first"),
    (lambda: conv_transpose1d(x(1, 3, 8), x(3, 4, 3), groups=2), r"groups divide, got \(1, 3, 8\)"),
    (lambda: conv_transpose1d(x(1, 3, 8), x(3, 4, 3), stride=2, output_padding=2), r"output_padding below one of"),
    (lambda: conv_transpose3d(x(1, 3, 2, 2, 2), x(3, 4, 1, 1, 1), padding=1), r"leaves nothing.*Use less padding"),
    (lambda: conv_transpose2d(x(1, 3, 0, 9), x(3, 4, 5, 5)), "convolution of nothing.*a batch may be empty"),
    (lambda: conv_transpose1d(x(1, 3, 8, dtype=int32), x(3, 4, 3)), r"conv_transpose1d needs float.*got int32"),
    (lambda: max_pool2d(x(3, 8, 8), size=2),                  r"\(N, C, H, W\), got \(3, 8, 8\)"),
    (lambda: max_pool2d(x(1, 3, 8, 8), size=2, padding=2),    r"padding below the window size"),
    (lambda: max_pool2d(x(1, 3, 1, 8), size=2),               r"does not fit in \(1, 8\)"),
    (lambda: Max((0,))(x(0, 3)),                              r"nothing to choose from"),
    (lambda: cross_entropy(x(4, 10), x(5, dtype=int64)),      r"labels need the shape \(4,\).*got \(5,\)"),
    (lambda: scan(lambda c, s: (c, ()), [x(3)], []),          r"xs to loop over.*length="),
    (lambda: scan(lambda c, s: ((), ()), [x(3)], [x(4)]),     r"takes 1 carries and returns 0"),
    (lambda: scan(lambda c, s: ((s[0],), ()), [x(3)], [x(4)]),
     r"carry 0 goes in as float32\[3\] and comes out as float32\[\].*keeps"),
    (lambda: RandomBits((3,))(x(4)),                          r"key uint32\[4\].*float32"),
    (lambda: dropout(x(3), x(4, dtype=uint32), p=1.0),        r"0 <= p < 1"),
    (lambda: ScatterAdd(0, 4)(x(3), x(2, dtype=int64)),       r"index.shape, got \(3,\) and \(2,\)"),
    (lambda: split(x(5), [2, 2]),                             r"add up to 4.*has 5"),
    (lambda: compute(embedding, X, np.array([4])),            r"index 4 is out of range for an axis of 4"),
    (lambda: compute(lambda v: one_hot(v, classes=3), np.array([1, -1])), r"index -1 is out of range for an axis of 3"),
    (lambda: run(Graph((v := x(2),), (v,)), [np.zeros(3, "f4")]), r"float32\[2\] got an array of shape \(3,\)"),
    (lambda: run(Graph((v := x(2),), (v,)), [np.zeros(2)]),   r"got an array of float64.*astype\('float32'\)"),
]


@pytest.mark.parametrize("wrong, lesson", ERRORS, ids=[f"{k}" for k in range(len(ERRORS))])
def test_errors_teach(wrong: Callable[[], Any], lesson: str) -> None:
    with pytest.raises(SteleError) as caught:
        wrong()
    assert re.search(lesson, str(caught.value)), caught.value


IMAGE, KERNEL = (np.random.default_rng(3).normal(size=shape) for shape in ((2, 4, 9, 8), (6, 2, 3, 2)))
VOLUME, DEEP, BACK = (np.random.default_rng(4).normal(size=shape) for shape in (
    (2, 4, 5, 6, 4), (6, 2, 3, 2, 3), (4, 3, 3, 2)))
LABELS = np.arange(9) * 5 % 8
# fmt: off
PAIRS: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "conv2d":        (lambda v, w: conv2d(v, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
                      lambda f, v, w: f.conv2d(v, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
                      (IMAGE, KERNEL)),
    "conv1d":        (lambda v, w: conv1d(v, w, stride=2, padding=((3, 3),), dilation=2, groups=2),
                      lambda f, v, w: f.conv1d(v, w, stride=2, padding=3, dilation=2, groups=2),
                      (IMAGE[..., 0], KERNEL[..., 0])),
    "conv1d_same":   (lambda v, w: conv1d(v, w, padding="same"), lambda f, v, w: f.conv1d(v, w, padding="same"),
                      (IMAGE[:, :2, 0], KERNEL[..., 0])),
    "conv3d":        (lambda v, w: conv3d(v, w, stride=(2, 1, 3), padding=(1, 0, 2), dilation=(2, 1, 1), groups=2),
                      lambda f, v, w: f.conv3d(v, w, stride=(2, 1, 3), padding=(1, 0, 2), dilation=(2, 1, 1), groups=2),
                      (VOLUME, DEEP)),
    "conv_transpose1d": (lambda v, w: conv_transpose1d(v, w, stride=3, padding=2, output_padding=1, dilation=2),
                         lambda f, v, w: f.conv_transpose1d(v, w, stride=3, padding=2, output_padding=1, dilation=2),
                         (IMAGE[..., 0], BACK[..., 0])),
    "conv_transpose2d": (lambda v, w: conv_transpose2d(v, w, stride=(2, 1), padding=(1, 0), output_padding=(1, 2),
                                                       groups=2, dilation=(1, 3)),
                         lambda f, v, w: f.conv_transpose2d(v, w, stride=(2, 1), padding=(1, 0), output_padding=(1, 2),
                                                            groups=2, dilation=(1, 3)),
                         (IMAGE, BACK)),
    "conv_transpose3d": (lambda v, w: conv_transpose3d(v, w, stride=(2, 1, 2), padding=(1, 1, 0)),
                         lambda f, v, w: f.conv_transpose3d(v, w, stride=(2, 1, 2), padding=(1, 1, 0)),
                         (VOLUME, DEEP[:4])),
    "max_pool2d":    (lambda v: max_pool2d(v, size=3, stride=2, padding=1),
                      lambda f, v: f.max_pool2d(v, 3, 2, 1),                   (IMAGE,)),
    "avg_pool2d":    (lambda v: avg_pool2d(v, size=3, stride=2, padding=1),
                      lambda f, v: f.avg_pool2d(v, 3, 2, 1),                   (IMAGE,)),
    "gelu":          (gelu, lambda f, v: f.gelu(v),                            (IMAGE,)),
    "gelu_tanh":     (lambda v: gelu(v, approximate="tanh"),
                      lambda f, v: f.gelu(v, approximate="tanh"),              (IMAGE,)),
    "erfc":          (erfc, lambda f, v: v.erfc(),                             (IMAGE * 3,)),
    "cummax":        (lambda v: cummax(v, axis=2), lambda f, v: v.cummax(2).values,
                      (np.where(IMAGE > 2, np.nan, IMAGE),)),
    "layer_norm":    (lambda v: layer_norm(v, axes=2), lambda f, v: f.layer_norm(v, (9, 8)), (IMAGE,)),
    "cross_entropy": (cross_entropy, lambda f, v, t: f.cross_entropy(v, t),    (IMAGE[0, 0], LABELS)),
}
# fmt: on


@pytest.mark.parametrize("name", PAIRS)
def test_numbers_are_those_of_pytorch(name: str) -> None:
    ours, theirs, arrays = PAIRS[name]
    (expected,) = torch_gives(f"ops_{name}", lambda torch: [
        theirs(torch.nn.functional, *map(torch.tensor, arrays)).numpy()])
    np.testing.assert_allclose(compute(ours, *arrays), expected, rtol=1e-10, atol=1e-10)
