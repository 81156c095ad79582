"""Results written over donated parameters and dead temporaries are those of fresh memory."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import stele as st
from stele.backend import reference
from stele.backend.buffers import Buffer
from stele.errors import IndexOutOfRange
from stele.ir.graph import Constant, Graph, Value, parameter
from stele.ir.sizes import Dim, Size, size
from stele.ir.types import DType, Type, bfloat16, bool_, float16, float32, float64, int32
from stele.ops.contraction import Conv2d, Conv2dInputGrad, Conv2dWeightGrad, matmul
from stele.ops.control import scan
from stele.ops.elementwise.unary import relu, tanh
from stele.ops.gather import CheckIndex, Gather, ScatterOnto, ScatterPut
from stele.ops.linear import (
    Concatenate,
    Pad,
    Slice,
    Sum,
    broadcast,
    cast,
    expand_dims,
    flip,
    reshape,
    slice_axis,
    swap_last,
)
from stele.pipeline import PASSES, Options, build

NONE = frozenset(PASSES) - {"expand"}
N = size("n")
Program = tuple[Sequence[Value], Sequence[Value], Mapping[int, int]]
"""Parameters, results, and which parameter's memory which result may take over."""


@pytest.fixture(autouse=True)
def own_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted here is what our own kernels write in place; a library writes its results elsewhere."""
    monkeypatch.setenv("STELE_BLAS", "none")


def leaf(*shape: Dim, of: DType = float32) -> Value:
    return parameter("x", Type(of, shape))


def is_reference(program: Program, passes: bool = True, **sizes: int) -> int:
    """Asserts that a program with donated parameters gives what the reference gives; how many it overwrote."""
    leaves, results, donate = program
    rng, graph = np.random.default_rng(1), Graph(tuple(leaves), tuple(results))
    shapes = [[sizes[str(n)] if isinstance(n, Size) else n for n in v.shape] for v in leaves]
    arrays = [(rng.normal(size=shape) * 3).astype(v.dtype.numpy) for shape, v in zip(shapes, leaves)]
    expected = reference.run(graph, arrays)
    compiled = build(graph, donate=donate, options=Options("cpu", frozenset() if passes else NONE))
    buffers = [Buffer.of(a) for a in arrays]
    made = compiled.run(buffers, sizes)
    for y, z, v in zip(made, expected, results, strict=True):
        tolerance = {1: 0, 2: 5e-2, 4: 3e-5, 8: 1e-9}[v.dtype.bytes]
        largest = float(np.abs(z).max(initial=0))
        np.testing.assert_allclose(y.array.astype(np.float64), z.astype(np.float64), rtol=0, atol=tolerance * largest)
    for k, (b, a) in enumerate(zip(buffers, arrays)):
        assert k in donate or np.array_equal(b.array, a), "a parameter that nobody gave away"
    return len({id(b.block) for b in buffers} & {id(y.block) for y in made})


SHAPE = 33, 45
PROGRAMS: dict[str, tuple[Callable[[], Program], int]] = {}
PLAIN = {"read_flat": 0, "read_under_two_names": 0}
"""How many are overwritten without passes, where that is another number."""


def overwrites(count: int) -> Callable[[Callable[[], Program]], Callable[[], Program]]:
    """Notes a program and how many parameters share their memory with results."""
    def note(f: Callable[[], Program]) -> Callable[[], Program]:
        PROGRAMS[f.__name__] = f, count
        return f
    return note


def two(*shape: int) -> tuple[Value, Value]:
    return leaf(*shape), leaf(*shape)


@overwrites(2)
def sum_and_difference() -> Program:
    a, b = two(*SHAPE)
    return [a, b], [a + b, a - b], {0: 0, 1: 1}


@overwrites(2)
def sum_and_difference_crossed() -> Program:
    a, b = two(*SHAPE)
    return [a, b], [a - b, a + b], {0: 1, 1: 0}


@overwrites(2)
def a_swap() -> Program:
    a, b = two(*SHAPE)
    return [a, b], [b, a], {0: 0, 1: 1}


@overwrites(1)
def a_swap_with_work() -> Program:
    a, b = two(*SHAPE)
    return [a, b], [b * 2, tanh(a)], {0: 0, 1: 1}


@overwrites(2)
def momentum() -> Program:
    p, m, g = leaf(*SHAPE), leaf(*SHAPE), leaf(*SHAPE)
    new = m * 0.9 + g
    return [p, m, g], [p - new * 0.1, new], {0: 0, 1: 1}


@overwrites(0)
def read_transposed() -> Program:
    a = leaf(33, 33)
    return [a], [a + swap_last(a)], {0: 0}


@overwrites(0)
def read_flipped() -> Program:
    a = leaf(*SHAPE)
    return [a], [a + flip(a, (1,))], {0: 0}


@overwrites(0)
def read_sliced() -> Program:
    a = leaf(*SHAPE)
    return [a], [a + broadcast(slice_axis(a, 0, 1, 1), SHAPE)], {0: 0}


@overwrites(0)
def read_padded() -> Program:
    a = leaf(*SHAPE)
    return [a], [a * 2 + Slice((0, 0), SHAPE, (1, 1))(Pad((1, 0), (0, 0), (0, 0))(a))], {0: 0}


@overwrites(0)
def read_reshaped() -> Program:
    a = leaf(12, 12)
    return [a], [a * 2, reshape(swap_last(reshape(a, (6, 24))), (12, 12)) + 1], {0: 0}


@overwrites(1)
def read_flat() -> Program:
    a = leaf(12, 12)
    return [a], [a * 2, reshape(a, (144,)) + 1, reshape(a, (144, 1)) - 1], {0: 0}


@overwrites(1)
def read_under_two_names() -> Program:
    a = leaf(12, 12)
    return [a], [y := a * 2, y - reshape(reshape(a, (144,)), (12, 12))], {0: 0}


@overwrites(0)
def read_as_a_row() -> Program:
    a = leaf(40)
    return [a], [a * 2, a * expand_dims(a, (1,))], {0: 0}


@overwrites(0)
def read_with_its_sum() -> Program:
    a = leaf(*SHAPE)
    return [a], [a / (Sum((0, 1))(a * a) + 1)], {0: 0}


@overwrites(0)
def normalised() -> Program:
    a = leaf(200, 64)
    return [a], [a - broadcast(expand_dims(Sum((1,))(a), (1,)), (200, 64))], {0: 0}


@overwrites(0)
def read_by_a_later_kernel() -> Program:
    a, w = leaf(33, 33), leaf(33, 33)
    return [a, w], [y := a * 2, matmul(matmul(y, w), a)], {0: 0}


@overwrites(0)
def read_by_an_earlier_kernel() -> Program:
    a, w = leaf(33, 33), leaf(33, 33)
    return [a, w], [a - matmul(a, w) * 0.1], {0: 0}


@overwrites(1)
def returned_as_well() -> Program:
    a = leaf(*SHAPE)
    return [a], [a + 1, reshape(a, (45, 33))], {0: 0}


@overwrites(0)
def gathered() -> Program:
    a = leaf(*SHAPE)
    return [a], [a + Gather(0)(a, cast(relu(reshape(slice_axis(a, 1, 0, 1), (33,))), int32))], {0: 0}


@overwrites(1)
def scattered_onto() -> Program:
    a, parts, b = leaf(*SHAPE), leaf(4, SHAPE[1]), leaf(4)
    at = CheckIndex(SHAPE[0])(cast(relu(b), int32))
    return [a, parts, b], [ScatterOnto(0, SHAPE[0])(a, parts, at)], {0: 0}


@overwrites(0)
def scattered_onto_at_what_nobody_looked_at() -> Program:
    a, parts, b = leaf(*SHAPE), leaf(4, SHAPE[1]), leaf(4)
    return [a, parts, b], [ScatterOnto(0, SHAPE[0])(a, parts, cast(relu(b), int32))], {0: 0}


@overwrites(0)
def scattered_onto_its_own_parts() -> Program:
    a, b = leaf(33, 33), leaf(33, 33)
    at = cast(relu(reshape(slice_axis(b, 1, 0, 1), (33,))), int32)
    return [a, b], [ScatterOnto(0, 33)(a, a, at)], {0: 0}


@overwrites(1)
def put() -> Program:
    a, parts, b = leaf(*SHAPE), leaf(4, SHAPE[1]), leaf(4)
    at = CheckIndex(SHAPE[0])(cast(relu(b), int32))
    return [a, parts, b], [ScatterPut(0, SHAPE[0])(a, parts, at)], {0: 0}


@overwrites(1)
def put_at_what_is_known() -> Program:
    a, parts = leaf(*SHAPE), leaf(2, SHAPE[1])
    return [a, parts], [ScatterPut(0, SHAPE[0])(a, parts, Constant(np.array([2, 7]))())], {0: 0}


@overwrites(0)
def joined() -> Program:
    a = leaf(*SHAPE)
    return [a], [Concatenate(0)(slice_axis(a, 0, 1, 32), slice_axis(a, 0, 0, 1))], {0: 0}


@overwrites(1)
def added_to_a_product() -> Program:
    a, x, w = leaf(47, 61), leaf(47, 300), leaf(300, 61)
    return [a, x, w], [a - matmul(x, w) * 0.1], {0: 0}


@overwrites(2)
def two_behind_a_product() -> Program:
    a, m, x, w = leaf(47, 61), leaf(47, 61), leaf(47, 300), leaf(300, 61)
    new = m * 0.9 + matmul(x, w)
    return [a, m, x, w], [a - new * 0.1, new + a], {0: 0, 1: 1}


@overwrites(0)
def an_operand_of_its_product() -> Program:
    a, w = leaf(50, 50), leaf(50, 50)
    return [a, w], [relu(matmul(a, w)) + a], {0: 0}


@overwrites(0)
def a_product_plus_its_transpose() -> Program:
    a, x, w = leaf(50, 50), leaf(50, 20), leaf(20, 50)
    return [a, x, w], [matmul(x, w) + swap_last(a)], {0: 0}


@overwrites(0)
def a_carried_start() -> Program:
    h, x = leaf(40, 5), leaf(6, 40, 5)
    (last,), (ys,) = scan(lambda c, s: ([tanh(c[0] + s[0])], [c[0]]), [h], [x])
    return [h, x], [last, ys + h], {0: 0}


@overwrites(1)
def a_stack_after_its_loop() -> Program:
    h, x = leaf(40, 5), leaf(6, 40, 5)
    (last,), (ys,) = scan(lambda c, s: ([tanh(c[0] + s[0])], [c[0]]), [h], [x])
    return [h, x], [x + ys, last], {1: 0}


@pytest.mark.parametrize("passes", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, passes: bool) -> None:
    make, count = PROGRAMS[name]
    assert is_reference(make(), passes) == (count if passes else PLAIN.get(name, count))


@pytest.mark.parametrize("of", [float32, float64], ids=str)
@pytest.mark.parametrize("batch", [1, 3, N], ids=str)
def test_convolutions(batch: Dim, of: DType) -> None:
    sizes = {"n": 5} if batch == N else {}
    for h, stride, k in ((7, 1, 3), (12, 1, 3), (9, 2, 3), (6, 1, 1)):
        pad = k // 2
        attributes = (stride, stride), ((pad, pad), (pad, pad)), (1, 1), 1
        out = (h + 2 * pad - k) // stride + 1
        x, w = leaf(batch, 5, h, h, of=of), leaf(18, 5, k, k, of=of)
        y, dx, dw = (leaf(*shape, of=of) for shape in ((batch, 18, out, out), x.shape, w.shape))
        assert is_reference(([y, x, w], [relu(y + Conv2d(*attributes)(x, w))], {0: 0}), True, **sizes) == 1
        before = dx * 2 + Conv2dInputGrad(*attributes, (h, h))(y, w)
        assert is_reference(([dx, y, w], [before], {0: 0}), True, **sizes) == 1
        update = dw - Conv2dWeightGrad(*attributes, (k, k))(y, x) * 0.1
        assert is_reference(([dw, y, x], [update], {0: 0}), True, **sizes) == 1


def test_products_of_many_shapes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(12):
        m, n, k = (int(rng.choice([1, 3, 17, 64, 130, 513])) for _ in range(3))
        a, x, w = leaf(m, n), leaf(m, k), leaf(k, n)
        assert is_reference(([a, x, w], [a - matmul(x, w) * 0.1], {0: 0})) == 1


@pytest.mark.parametrize("of", [float64, float16, bfloat16, int32, bool_], ids=str)
def test_dtypes(of: DType) -> None:
    a, b = leaf(N, 45, of=of), leaf(N, 45, of=of)
    results = [a & b, a | b] if of == bool_ else [a + b, a - b]
    for n in (0, 1, 33):
        assert is_reference(([a, b], results, {0: 0, 1: 1}), n=n) == 2


def test_a_chain_of_temporaries() -> None:
    a, w = leaf(40, 40), leaf(40, 40)
    x = a
    for k in range(6):
        y = matmul(x, w) * 0.05
        x = tanh(y + x) + tanh(y * k)
    is_reference(([a, w], [x], {0: 0}))


LATE: dict[str, Callable[[st.Tensor, st.Tensor], st.Tensor]] = {
    "add":      lambda b, at: b.assign(st.index_add(b, at, st.ones((3, 8)))),
    "take":     lambda b, at: st.take(b, at, axis=0).sum(),
    "labels":   lambda b, at: st.cross_entropy(b[:3], at),
    "segments": lambda b, at: st.segment_sum(b[:3], at, 8).sum(),
    "factor":   lambda b, at: st.linalg.cholesky(b[:8] - at.sum()).sum(),
}


@pytest.mark.parametrize("behind", LATE.values(), ids=LATE)
def test_what_fails_late_leaves_what_comes_first_as_it_was(
        behind: Callable[[st.Tensor, st.Tensor], st.Tensor]) -> None:
    """A program may report what an index or a matrix is for as long as it has overwritten nothing."""
    a, b = st.ones((64, 8)), st.eye(8)

    @st.compile
    def step(at: Any) -> Any:
        a.assign(a * 2)
        return behind(b, at)

    step(st.tensor([0, 0, 0]))
    now = a.numpy().copy(), b.numpy().copy()
    with pytest.raises((IndexOutOfRange, np.linalg.LinAlgError)):
        st.eval(step(st.tensor([1, 99, 2])))
    assert np.array_equal(a.numpy(), now[0]) and np.array_equal(b.numpy(), now[1])


def test_a_token_costs_a_token() -> None:
    """A cache of keys is written where it lies, and so are few rows, columns or blocks of a large array."""
    cache = st.nn.KVCache(2, 2, 300, 8)
    table, block = st.zeros((300, 256)), st.zeros((64, 64, 32))
    state = cache.keys, cache.values, table, block

    @st.compile
    def step(x: Any, t: Any) -> None:
        cache.update(x, x)
        table[3:5], table[:, 7], table[-1] = x[0, 0, 0, :1], 2.0, 3.0
        table[t] = 5.0
        block[2:4, :, 1:3] = x[0, 0, 0, :2]

    step(st.full((2, 2, 1, 8), 1.0), st.tensor(10))
    at = [*map(places, state)]
    for k in (1, 2):
        step(st.full((2, 2, 1, 8), k + 1.0), st.tensor(10 + k))
    assert [*map(places, state)] == at
    expected, parts = np.zeros((300, 256)), np.zeros((64, 64, 32))
    expected[3:5], expected[:, 7], expected[-1], expected[10:13], parts[2:4, :, 1:3] = 3, 2, 3, 5, 3
    expected[3:12, 7] = 2
    np.testing.assert_array_equal(table.numpy(), expected)
    np.testing.assert_array_equal(block.numpy(), parts)
    assert cache.keys[:, :, :4, 0].tolist() == [[[1, 2, 3, 0]] * 2] * 2
    with pytest.raises(IndexOutOfRange):
        step(st.ones((2, 2, 1, 8)), st.tensor(300))
    np.testing.assert_array_equal(table.numpy(), expected)
    assert cache.length.tolist() == 3


def test_the_caches_of_all_layers_are_written_where_they_lie() -> None:
    """They have one length, so that whether there is room is found before the first of them is written."""
    last = st.nn.KVCache(1, 2, 300, 8)
    caches = [*(st.nn.KVCache(1, 2, 300, 8, before=last) for _ in range(3)), last]
    state = [x for cache in caches for x in (cache.keys, cache.values)]

    @st.compile
    def step(x: Any) -> Any:
        for cache in caches:
            k, v, sees = cache.update(x, x * 2)
            x = st.softmax(st.where(sees, x @ k.mT, -np.inf), -1) @ v
        return x

    step(st.ones((1, 2, 1, 8)))
    at = [*map(places, state)]
    for _ in range(3):
        step(st.ones((1, 2, 1, 8)))
        assert [*map(places, state)] == at
    assert caches[0].length.tolist() == last.length.tolist() == 4
    last.length.assign(300)
    kept = [x.numpy().copy() for x in state]
    with pytest.raises(IndexOutOfRange):
        step(st.ones((1, 2, 1, 8)))
    assert all(np.array_equal(x, y.numpy()) for x, y in zip(kept, state))


def places(x: Any) -> int:
    """Where a tensor's numbers lie."""
    return x.numpy().ctypes.data


def test_slices_of_any_kind_are_numpys() -> None:
    """Few elements of a large array, in every style, with what they do to gradients."""
    rng = np.random.default_rng(0)
    large = rng.normal(size=(40, 50, 60)).astype("f4")
    for key in (np.s_[3:5], np.s_[:, 7], np.s_[..., -1], np.s_[5::20, :, 59:1:-30], np.s_[0:0], np.s_[2, 3, 4]):
        expected, part = large.copy(), rng.normal(size=large[key].shape).astype("f4")
        expected[key] = part

        def put(x: Any, v: Any, key: Any = key) -> Any:
            y = x + 0
            y[key] = v
            return y

        def cubes(x: Any, v: Any, f: Any = put) -> Any: return (f(x, v) ** 3).sum()

        for made in (st.compile(put), put):
            f: Any = made
            x, v = (st.tensor(a, requires_grad=True) for a in (large, part))
            np.testing.assert_array_equal(f(x, v).numpy(), expected)
            slopes: Any = st.grad(partial(cubes, f=f), argnums=(0, 1))
            dx, dv = slopes(x, v)
            slope = 3 * large ** 2
            slope[key] = 0
            np.testing.assert_allclose(dx.numpy(), slope, rtol=1e-5)
            np.testing.assert_allclose(dv.numpy(), 3 * part ** 2, rtol=1e-5)


@pytest.mark.parametrize("places, count", [(300, 40_000), (20_000, 40_000), (6, 3)])
def test_numbers_are_added_where_they_lie_in_parts(places: int, count: int) -> None:
    """Many numbers of few places, of which each part of the indices has a copy of its own but the first."""
    rng = np.random.default_rng(0)
    at, x, kept = rng.integers(-places, places, count), rng.normal(size=count), st.tensor(rng.normal(size=places))
    first, threads, ends = kept.numpy().copy(), st.get_threads(), list[Any]()
    law = first.copy()
    np.add.at(law, at, x)

    @st.compile
    def step(i: Any, v: Any) -> None:
        kept.assign(st.index_add(kept, i, v))

    try:
        for n in (1, 2):
            st.set_threads(n)
            kept.assign(st.tensor(first))
            step(st.tensor(at), st.tensor(x))
            ends.append(kept.numpy().copy())
    finally:
        st.set_threads(threads)
    np.testing.assert_allclose(ends[0], law, rtol=1e-9, atol=1e-9)
    assert np.array_equal(ends[0], ends[1])
