"""Fused kernels against the reference: every op, random graphs, tails, symbolic sizes, any order of tasks."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case
from hypothesis import given, settings
from hypothesis import strategies as some
from kernels import Array, Tables, execute
from llvmlite import ir

from stele.backend.buffers import Buffer
from stele.backend.llvm.emit import Emitter
from stele.backend.reference import run
from stele.ir.graph import Graph, Op, Value, literal, parameter
from stele.ir.sizes import Dim, size
from stele.ir.types import REAL, DType, Type, bfloat16, bool_, float16, float32, float64, int32, int64, uint8, uint32
from stele.kernel.fuse import fuse
from stele.kernel.machine import Machine
from stele.ops.composite import LogSoftmax, Softmax
from stele.ops.contraction import Conv2d, MatMul, matmul
from stele.ops.control import scan
from stele.ops.elementwise.arithmetic import Equal, Maximum, Select
from stele.ops.elementwise.unary import Exp, Sqrt, Tanh
from stele.ops.gather import CheckIndex, Gather, ScatterAdd
from stele.ops.linear import (
    Cast,
    Concatenate,
    Pad,
    Slice,
    Sum,
    Transpose,
    broadcast,
    cast,
    expand_dims,
    reshape,
    swap_last,
)
from stele.ops.pooling import MaxPool
from stele.ops.random import RandomBits
from stele.ops.reduction import Max
from stele.ops.windows import Window
from stele.pipeline import Options, build
from stele.transform.expand import expand

N = size("n")
RNG = np.random.default_rng(0)


def leaf(*shape: Any, of: DType = float32) -> Value:
    return parameter("x", Type(of, shape))


def numbers(shape: Sequence[int], of: DType = float32) -> Array:
    if of == bool_:
        return RNG.integers(0, 2, shape).astype(bool)
    values = RNG.normal(size=shape) if of.is_float else RNG.integers(0, 50, shape)
    return np.asarray(values).astype(of.numpy)


def agrees(results: Sequence[Value], leaves: Sequence[Value], arrays: Sequence[Array], tolerance: float = 2e-6,
           least: float = 1e-30, **sizes: int) -> int:
    """How many kernels compute the graph; asserts that they agree with the reference in any order of tasks, relative to
    the largest element of a result, or what is `least` computed with on the way there."""
    graph = Graph(tuple(leaves), tuple(results))
    found, fused = execute(graph, arrays, sizes)
    again, _ = execute(graph, arrays, sizes, backwards=True)
    for y, z, v, w in zip(found, again, results, run(graph, arrays)):
        assert y.tobytes() == z.tobytes()
        close(y, np.asarray(w), tolerance if v.dtype.bits >= 32 else 4e-3 if v.dtype == float16 else 3e-2, least)
    return len(fused.kernels)


def close(y: Array, expected: Array, tolerance: float, least: float = 1e-30) -> None:
    assert y.dtype == expected.dtype and y.shape == expected.shape
    if y.dtype.kind in "biu":
        assert (y == expected).all()
        return
    y, expected = y.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(expected)
    assert np.array_equal(y[~finite], expected[~finite], equal_nan=True)
    scale = np.abs(expected[finite]).max(initial=least)
    assert np.abs(y[finite] - expected[finite]).max(initial=0) <= tolerance * scale


def is_nest(op: Op) -> bool:
    """Whether the op alone is one kernel: no loop of the graph, no call of Python, no several results."""
    return op.family not in ("complex", "control", "foreign", "host", "matrices")


@pytest.mark.parametrize("case", [c for c in CASES if is_nest(c.values[0].op)])
def test_every_op(case: Case) -> None:
    graph = case.graph()
    found, _ = execute(graph, case.operands)
    for y, expected in zip(found, run(graph, case.operands)):
        close(y, expected, 3e-6)


LENGTHS = (1, 15, 16, 17, 100, 1000)
SHAPES: dict[str, Callable[[Value, Value], Value]] = {
    "elementwise": lambda x, b: x * b + 1,
    "transposed":  lambda x, b: swap_last(x) * 2,
    "padded":      lambda x, b: Pad((1, 2), (3, 0), (0, 1))(x + b),
    "sliced":      lambda x, b: Slice((0, 1), (x.shape[0], 20), (1, 3))(x * b),
    "flipped":     lambda x, b: Slice((0, 66), (x.shape[0], 67), (1, -1))(x * b),
    "joined":      lambda x, b: Concatenate(1)(x, x * b, x),
    "rows":        lambda x, b: Sum((1,))(x * b) * 0.5,
    "columns":     lambda x, b: Sum((0,))(x * b) + b,
    "all":         lambda x, b: Sum((0, 1))(x * b),
    "largest":     lambda x, b: Max((0,))(x) - b,
    "softmax":     lambda x, b: Softmax(1)(x * b),
    "normalized":  lambda x, b: x / broadcast(expand_dims(Sum((1,))(x * x) + 1, (1,)), x.shape),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("symbolic", [False, True])
def test_lengths(name: str, symbolic: bool) -> None:
    tolerance = 2e-5 if name == "all" else 2e-6     # a sum of 67,000 terms whose signs cancel
    for n in (17, 1000) if symbolic else LENGTHS:
        x, b = leaf(N if symbolic else n, 67), leaf(67)
        arrays = [numbers((n, 67)), numbers((67,))]
        agrees([SHAPES[name](x, b)], [x, b], arrays, tolerance, **({"n": n} if symbolic else {}))


@pytest.mark.parametrize("symbolic", [False, True])
def test_nothing(symbolic: bool) -> None:
    for name in SHAPES.keys() - {"padded", "largest"}:
        x, b = leaf(N if symbolic else 0, 67), leaf(67)
        agrees([SHAPES[name](x, b)], [x, b], [numbers((0, 67)), numbers((67,))], **({"n": 0} if symbolic else {}))


@pytest.mark.parametrize("of", [d for d in REAL if d != float32], ids=str)
def test_dtypes(of: DType) -> None:
    x, z = leaf(33, 70, of=of), leaf(33, 70, of=of)
    results = [Select()(Equal()(x, z), x, z), Maximum()(x, z), Sum((1,))(x), Sum((0,))(x), Sum((0, 1))(z),
               cast(x, float32), Max((1,))(x), Transpose((1, 0))(x)]
    if of != bool_:
        results.append(x * z)
    agrees(results, [x, z], [numbers((33, 70), of), numbers((33, 70), of)])


def test_sums_are_as_accurate_as_pairwise_ones() -> None:
    for shape, axes in (((3_000_000,), (0,)), ((300, 10_000), (0,)), ((10, 300_000), (1,)), ((20, 300_000), (1,))):
        x, a = leaf(*shape), (RNG.random(shape) + 1).astype(np.float32)
        (y,), _ = execute(Graph((x,), (Sum(axes)(x),)), [a])
        exact = a.astype(np.float64).sum(axes)
        assert np.abs(y - exact).max() / exact.max() < 2e-6


def elementwise_and_row_kernels() -> dict[str, tuple[list[Value], list[Value]]]:
    """What has to be one kernel."""
    x, g, b = leaf(N, 70), leaf(N, 70), leaf(70)
    label = leaf(N, of=int64)
    soft, total = Softmax(1)(x), lambda v: broadcast(expand_dims(Sum((1,))(v), (1,)), x.shape)
    centred = x - total(x) / 70
    normal = centred / Sqrt()(total(centred * centred) / 70 + 1e-5)
    hit = Equal()(broadcast(expand_dims(label, (1,)), x.shape), literal(3, int64))
    log = LogSoftmax(1)(x)
    loss = Sum((1,))(Select()(hit, log, broadcast(literal(0.0), x.shape)))
    c = b * x
    return {
        "a chain":                      ([c + 1], [x, b]),
        "a chain whose middle is kept": ([c, c + 1], [x, b]),
        "softmax":                      ([soft], [x]),
        "log-softmax":                  ([log], [x]),
        "softmax and its gradient":     ([soft, (g - total(g * soft)) * soft], [x, g]),
        "layer norm":                   ([normal * b], [x, b]),
        "cross entropy and gradient":   ([loss, soft - cast(hit, float32)], [x, label]),
        "an update with momentum":      ([(m := x * 0.9 + g), g - m * 0.1], [x, g]),
        "a moved sum":                  ([Sum((0,))(swap_last(x * x))], [x]),
    }


@pytest.mark.parametrize("name", elementwise_and_row_kernels())
def test_one_kernel(name: str) -> None:
    results, leaves = elementwise_and_row_kernels()[name]
    for n in (5, 64):
        arrays = [numbers([n if d == N else d for d in v.shape], v.dtype) for v in leaves]
        assert agrees(results, leaves, arrays, n=n) == 1


def contractions() -> dict[str, tuple[list[Value], list[Value], int]]:
    """Contractions with what should become part of them, and the number of kernels."""
    x, w, b, g = leaf(N, 37), leaf(37, 50), leaf(50), leaf(N, 50)
    deep, open_, q, k = leaf(N, 6, 37), leaf(4, N, 37), leaf(2, 3, N, 16), leaf(2, 3, N, 16)
    image, kernel = leaf(N, 8, 14, 14), leaf(16, 8, 3, 3)
    y = MatMul()(x, w) + b
    conv = Conv2d((1, 1), ((1, 1), (1, 1)), (1, 1), 1)(image, kernel)
    return {
        "bias and relu":        ([Maximum()(y, 0.0)], [x, w, b], 1),
        "a kept sum":           ([y, Tanh()(y)], [x, w, b], 1),
        "transposes":           ([MatMul()(swap_last(x), g), MatMul()(g, swap_last(w))], [x, w, g], 2),
        "a scaled operand":     ([MatMul()(x * 2, w)], [x, w], 1),
        "rows of a deep array": ([matmul(deep, w) + b], [deep, w, b], 1),
        "rows of open length":  ([matmul(open_, w) + b], [open_, w, b], 1),
        "a batch of products":  ([MatMul()(q, swap_last(k)) * 0.25], [q, k], 1),
        "convolution":          ([Maximum()(conv + reshape(leaf_bias := leaf(16), (16, 1, 1)), 0.0)],
                                 [image, kernel, leaf_bias], 1),
        "windows, padded":      ([MaxPool((3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1))(Tanh()(conv))], [image, kernel], 2),
        "softmax of a product": ([Softmax(1)(y)], [x, w, b], 2),
    }


@pytest.mark.parametrize("name", contractions())
def test_contractions(name: str) -> None:
    results, leaves, kernels = contractions()[name]
    arrays = [numbers([9 if d == N else d for d in v.shape]) for v in leaves]
    rounding = 3e-5 if any(v.ndim == 4 and v.shape[1] == 8 for v in leaves) else 5e-6   # Winograd on narrow vectors
    assert agrees(results, leaves, arrays, rounding, n=9) == kernels


@pytest.mark.parametrize("of", [float32, float64], ids=str)
@pytest.mark.parametrize("size", [(2, 1), (1, 1), (7, 1), (2, 9)], ids=str)
def test_rows_behind_an_image_are_not_read_by_what_is_the_same_in_all_lanes(size: tuple[int, int], of: DType) -> None:
    """Images one pixel wide, and a factor for each row: lanes that are masked off say where to read nevertheless."""
    image, rows, kernel = leaf(2, 3, *size, of=of), leaf(size[0], 1, of=of), leaf(6, 1, 3, 3, of=of)
    for x in (image, image * rows):
        conv = Conv2d((1, 2), ((2, 2), (2, 2)), (1, 1), 3)(x, kernel)
        behind = leaf(6, int(conv.shape[2]), 1, of=of)
        leaves = [v for v in (image, rows, kernel, behind) if v is not rows or x is not image]
        arrays = [numbers([int(n) for n in v.shape], of) for v in leaves]
        assert agrees([conv * behind], leaves, arrays, 3e-5) == 1


def normalised(x: Value, g: Value) -> list[Value]:
    """A row kernel and what it sums over all rows: an array along the row, and a number."""
    y = Softmax(x.ndim - 1).expand(x)
    rows = tuple(range(x.ndim - 1))
    return [y * g, Sum(rows)(y * g), Sum(rows)(Sum((x.ndim - 1,))(y * g * g)), Sum(rows)(g)]


@pytest.mark.parametrize("shape", [(3, 5), (100, 64), (300, 33), (7, 9, 40), (70, 2, 130), (1000, 1)], ids=str)
@pytest.mark.parametrize("of", [float32, float64], ids=str)
@pytest.mark.parametrize("symbolic", [False, True])
def test_sums_over_all_rows_of_a_kernel(shape: tuple[int, ...], of: DType, symbolic: bool) -> None:
    dims = (N, *shape[1:]) if symbolic else shape
    x, g = leaf(*dims, of=of), leaf(*dims, of=of)
    arrays = [numbers(shape, of), np.abs(numbers(shape, of))]
    agrees(normalised(x, g), [x, g], arrays, **({"n": shape[0]} if symbolic else {}))


def test_sums_over_all_rows_take_no_pass_of_their_own() -> None:
    x, g = leaf(300, 64), leaf(300, 64)
    assert agrees(normalised(x, g), [x, g], [numbers((300, 64)), numbers((300, 64))]) == 1


@pytest.mark.parametrize("shape", [(3000, 3200), (2801, 3001)], ids=str)
def test_results_too_large_for_caches(shape: tuple[int, ...]) -> None:
    x, array = leaf(*shape), numbers(shape)
    (y,) = build(Graph((x,), (x * x + 1,)), options=Options("cpu")).run([Buffer.of(array)], {})
    assert np.array_equal(y.array, array * array + 1)


@pytest.mark.parametrize("rows, is_asked", [(63, False), (64, True), (N, True)], ids=str)
def test_long_arrays_are_asked_for_ahead_of_time(rows: Dim, is_asked: bool) -> None:
    """At least one request a load of 64 bytes, for arrays that the second cache cannot hold."""
    x, machine, texts = leaf(rows, 1024), Machine(l2=64 * 1024 * 4), list[str]()
    (kernel,) = fuse(expand(Graph((x,), (x * x + 1,)))).kernels
    Emitter(ir.Module(), Tables(), machine, lambda module: texts.append(str(module))).emit("kernel", kernel)
    words = "load <16 x float>", 'call void @"llvm.prefetch'
    loads, asked = (sum(text.count(word) for text in texts) for word in words)
    assert loads > 0
    assert asked >= loads if is_asked else asked == 0


def test_rows_at_indices() -> None:
    table, index, g = leaf(300, 33), leaf(N, 7, of=int64), leaf(N, 7, 33)
    arrays = [numbers((300, 33)), RNG.integers(0, 300, (50, 7)), numbers((50, 7, 33))]
    assert agrees([Gather(0)(table, index) * 2], [table, index], arrays[:2], n=50) == 1
    assert agrees([ScatterAdd(0, 300)(g, index)], [g, index], [arrays[2], arrays[1]], n=50) == 1
    assert agrees([Gather(1)(table, index)], [table, index], [arrays[0], arrays[1] % 33], n=50) == 1
    narrow = leaf(33, of=int32)
    assert agrees([ScatterAdd(1, 40)(table, narrow)], [table, narrow], [arrays[0], numbers((33,), int32) % 40]) == 1


@pytest.mark.parametrize("bad", [-1, 300])
@pytest.mark.parametrize("op", [Gather(0), ScatterAdd(0, 300), CheckIndex(300)], ids=lambda op: op.name)
def test_an_index_outside_is_reported(op: Any, bad: int) -> None:
    x, index = leaf(300 if op == Gather(0) else 50, 33), leaf(50, of=int64)
    at = RNG.integers(0, 300, 50)
    at[31] = bad
    y = op(index) + 1 if op == CheckIndex(300) else op(x, index)
    with pytest.raises(LookupError) as status:
        execute(Graph((x, index), (y,)), [numbers((x.shape[0], 33)), at])
    assert status.value.args[0][0] == 1 and status.value.args[0][2] == bad


def test_random_bits_in_merged_loops() -> None:
    x, key = leaf(N, 37), leaf(4, of=uint32)
    mask = Cast(float32)(RandomBits((N, 37))(key)) * 2.0**-32
    assert agrees([x * mask], [x, key], [numbers((50, 37)), np.array([1, 2, 3, 4], np.uint32)], n=50) == 1


def test_windows() -> None:
    for stride in (1, 2, 3, 4):
        x = leaf(N, 4, 14, 95)
        y = Max((4, 5))(Window(3, 3, stride, 1)(Window(2, 3, 2, 1)(x)))
        assert agrees([y], [x], [numbers((3, 4, 14, 95))], n=3) == 1


def test_transposes() -> None:
    x = leaf(N, 70, 3, 40)
    arrays = [numbers((20, 70, 3, 40))]
    for axes in ((3, 2, 1, 0), (0, 3, 2, 1), (2, 0, 3, 1), (1, 0, 2, 3), (3, 0, 1, 2)):
        assert agrees([Transpose(axes)(x) + 1], [x], arrays, n=20) == 1


def test_a_reshape_of_memory_is_a_view() -> None:
    x = leaf(N, 6)
    y = Exp()(x)
    assert agrees([y, reshape(y, (N * 2, 3))], [x], [numbers((5, 6))], n=5) == 1


def test_numbers_as_results() -> None:
    x = leaf(N, 6)
    assert agrees([literal(2.5), broadcast(literal(1.0), (3, N))], [x], [numbers((5, 6))], n=5) == 2


@some.composite
def graphs(draw: Callable[[Any], Any]) -> tuple[list[Value], list[Value]]:
    """A few results of random elementwise ops, movements and sums."""
    shapes = draw(some.sampled_from([(4, 6, 18), (1, 17, 5), (3, 1, 40), (2, 2, 16)]))
    leaves = [leaf(*shapes), leaf(*shapes[1:]), leaf(shapes[-1])]
    values: list[Value] = list(leaves)
    for _ in range(draw(some.integers(1, 9))):
        x = draw(some.sampled_from(values))
        values.append(draw(some.sampled_from(steps(x, values))))
    return draw(some.lists(some.sampled_from(values[len(leaves):]), min_size=1, max_size=3, unique=True)), leaves


def steps(x: Value, values: Sequence[Value]) -> list[Value]:
    """What may be done with x."""
    found = [x * 0.5 + 1, Tanh()(x)]
    found += [Maximum()(x, z) for z in values if z.shape == x.shape]
    found += [x + z for z in values if z.shape == x.shape[x.ndim - z.ndim:]]
    for axis in range(x.ndim):
        found += [Sum((axis,))(x), x - broadcast(expand_dims(Max((axis,))(x), (axis,)), x.shape)]
        if x.shape[axis] > 1:
            rest = tuple(n - (k == axis) for k, n in enumerate(x.shape))
            found += [Slice(tuple(int(k == axis) for k in range(x.ndim)), rest, (1,) * x.ndim)(x)]
            found += [Concatenate(axis)(x, x * 2)]
    if x.ndim > 1:
        found += [swap_last(x), reshape(x, (-1,)), reshape(x, (*x.shape[:-2], -1)), Sum((0, x.ndim - 1))(x)]
    return found


@settings(max_examples=40, deadline=None, derandomize=True)
@given(graphs())
def test_random_graphs(graph: tuple[list[Value], list[Value]]) -> None:
    results, leaves = graph
    agrees(results, leaves, [numbers([int(n) for n in v.shape]) for v in leaves], 1e-5, least=1)   # sums cancel


def test_a_padded_sum_of_one() -> None:
    x, long = leaf(1, 37), leaf(5, 37)
    padded = [Pad((1,), (1,), (0,))(Sum((1,))(v)) for v in (x, long)]
    cropped = Slice((0,), (5,), (1,))(padded[1])
    agrees([*padded, cropped], [x, long], [numbers((1, 37)), numbers((5, 37))])


def test_a_gathered_value_is_in_memory() -> None:
    x, at = leaf(5, 3), leaf(7, of=int64)
    y = x * 2 + 1
    agrees([y, Gather(0)(y, at), y + Slice((0, 0), (5, 3), (1, 1))(Gather(0)(y, at))], [x, at],
           [numbers((5, 3)), numbers((7,), int64) % 5])


def test_parts_of_a_loop_are_joined() -> None:
    h, x = leaf(5, 3), leaf(4, 5, 3)
    (last,), (ys,) = scan(lambda c, s: ([c[0] + s[0]], [c[0] * s[0]]), [h], [x])
    joined = Concatenate(0)(expand_dims(last, (0,)), ys, Sum((0,))(expand_dims(ys, (0,))))
    graph = Graph((h, x), (joined, Concatenate(0)(last, h)))
    arrays = [numbers((5, 3)), numbers((4, 5, 3))]
    program = build(graph, options=Options("cpu"))
    for y, expected in zip(program.run([Buffer.of(a) for a in arrays], {}), run(graph, arrays)):
        close(y.array, expected, 2e-6)


@pytest.mark.parametrize("of", [float16, bfloat16, float32, float64, uint8, int32, bool_], ids=str)
def test_a_last_lane_stores_one_element(of: DType) -> None:
    for n in (1, 9, 17, 33):
        x = leaf(n, of=int64)
        agrees([x > 3 if of == bool_ else cast(x, of)], [x], [numbers((n,), int64)])
    if of.is_float:
        x, w = leaf(N, 1, of=of), leaf(1, 1, of=of)
        agrees([matmul(x, w)], [x, w], [numbers((40, 1), of), numbers((1, 1), of)], n=40)
