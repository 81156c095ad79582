"""Loops whose rows do not meet run by blocks of rows; what only looks like one runs whole."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from stele.backend import reference
from stele.backend.buffers import Buffer
from stele.ir.graph import Array, Constant, Graph, Item, Value, literal, parameter
from stele.ir.sizes import Dim, Size, size
from stele.ir.types import Type, float32, int64
from stele.kernel.bodies import step as laid
from stele.kernel.fuse import fuse
from stele.kernel.slots import Slots, bytes_of
from stele.kernel.steps import Loop
from stele.ops.contraction import matmul
from stele.ops.control import Scan, scan
from stele.ops.elementwise.unary import sigmoid, tanh
from stele.ops.gather import Gather, ScatterAdd
from stele.ops.generate import Iota
from stele.ops.linear import Concatenate, Sum, broadcast, expand_dims, flip, reshape, slice_axis, swap_last, transpose
from stele.ops.reduction import Max
from stele.pipeline import PASSES, Options, build
from stele.transform.expand import expand

Step = Callable[..., tuple[Sequence[Value], Sequence[Value]]]
Made = tuple[list[Value], list[Value]]

NONE = frozenset(PASSES) - {"expand"}
N = size("n")
B = 70


def leaf(*shape: Dim) -> Value:
    return parameter("x", Type(float32, shape))


def bound(shape: Sequence[Dim], sizes: dict[str, int]) -> list[int]:
    return [sizes[str(n)] if isinstance(n, Size) else n for n in shape]


def is_reference(results: Sequence[Value], leaves: Sequence[Value], **sizes: int) -> None:
    """The program, optimised and as it is, gives what the reference gives."""
    rng = np.random.default_rng(1)
    arrays = [rng.integers(0, 3, bound(v.shape, sizes)) if v.dtype == int64 else
              rng.normal(size=bound(v.shape, sizes)).astype(np.float32) for v in leaves]
    agrees(Graph(tuple(leaves), tuple(results)), arrays, sizes)


def agrees(graph: Graph, arrays: Sequence[Array], sizes: dict[str, int]) -> None:
    expected = reference.run(graph, arrays)
    for without in (frozenset[str](), NONE):
        program = build(graph, options=Options("cpu", without))
        for y, z in zip(program.run([Buffer.of(a) for a in arrays], sizes), expected, strict=True):
            np.testing.assert_allclose(y.array, z, rtol=2e-5, atol=2e-5, err_msg=str(without))


def goes_apart(v: Value) -> bool:
    """Whether the loop that v is a result of runs row by row."""
    slots = Slots(fuse)
    graph = expand(Graph(tuple(u for u in v.args[0].args), (v,)))
    for p in graph.parameters:
        slots.at[p] = slots.new("parameter", bytes_of(p.type), "")
    (kernel,) = fuse(graph).kernels
    step = laid(slots, kernel)
    assert isinstance(step, Loop)
    return step.rows is not None


def over(f: Step, start: Sequence[Value], xs: Sequence[Value], *more: Value, **how: Any) -> Made:
    """All results of a scan, and its operands."""
    carries, ys = scan(f, start, xs, **how)
    return [*carries, *ys], list(dict.fromkeys((*start, *xs, *more)))


def gru(h: Value, x: Value, w: Value) -> Value:
    z = sigmoid(matmul(h, w) + x)
    return z * h + (1 - z) * tanh(x)


def plain(b: Dim, t: int = 5, reverse: bool = False) -> Made:
    h, x, w = leaf(b, 12), leaf(t, b, 12), leaf(12, 12)
    return over(lambda c, s: ([n := gru(c[0], s[0], w)], [n * 2]), [h], [x], w, reverse=reverse)


APART: dict[str, Callable[[], Made]] = {}
WHOLE: dict[str, Callable[[], Made]] = {}


def apart(f: Callable[[], Made]) -> Callable[[], Made]:
    return APART.setdefault(f.__name__, f)


def whole(f: Callable[[], Made]) -> Callable[[], Made]:
    return WHOLE.setdefault(f.__name__, f)


@apart
def a_square_state() -> Made:
    h, x, w = leaf(33, 33), leaf(4, 33, 33), leaf(33, 33)
    return over(lambda c, s: ([gru(c[0], s[0], w)], []), [h], [x], w)


@apart
def carries_of_different_ranks() -> Made:
    a, b, c, x = leaf(B), leaf(B, 3), leaf(B, 3, 2), leaf(5, B, 3)

    def step(s: tuple[Value, ...], xs: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
        total = Sum((1, 2))(s[2])
        new = tanh(s[1] + xs[0] + broadcast(expand_dims(total, (1,)), (B, 3)))
        return [s[0] * 0.5 + total, new, tanh(s[2] + broadcast(expand_dims(new, (2,)), (B, 3, 2)))], [total, s[0]]

    return over(step, [a, b, c], [x])


@apart
def copies_of_carries() -> Made:
    a, b, x = leaf(B, 3), leaf(B, 3), leaf(4, B, 3)
    return over(lambda c, s: ([c[1], c[0]], [c[0], s[0], c[0] + s[0]]), [a, b], [x])


@apart
def one_value_many_results() -> Made:
    a, b, x = leaf(B, 3), leaf(B, 3), leaf(4, B, 3)
    return over(lambda c, s: ([n := tanh(c[0] + s[0]), n], [n, n, n * c[1]]), [a, b], [x])


@apart
def one_array_for_two_carries() -> Made:
    a, x = leaf(B, 3), leaf(4, B, 3)
    return over(lambda c, s: ([c[1] + s[0], c[0] * 0.5], []), [a, a], [x])


@apart
def a_constant_with_rows() -> Made:
    h, x, mask, bias = leaf(B, 3), leaf(4, B, 3), leaf(B, 1), leaf(3)
    return over(lambda c, s: ([tanh(c[0] * mask + s[0] + bias)], []), [h], [x], mask, bias)


@apart
def transposed_and_back() -> Made:
    h, x, b = leaf(48, 48), leaf(4, 48, 48), leaf(48)
    return over(lambda c, s: ([swap_last(tanh(swap_last(c[0]) + swap_last(s[0] * b)))], []), [h], [x], b)


@apart
def reversed_columns() -> Made:
    h, x = leaf(B, 6), leaf(4, B, 6)
    return over(lambda c, s: ([flip(tanh(c[0]), (1,)) + s[0]], [slice_axis(c[0], 1, 2, 3)]), [h], [x])


@apart
def gates_side_by_side() -> Made:
    h, x, w = leaf(B, 4), leaf(4, B, 8), leaf(4, 8)

    def step(c: tuple[Value, ...], s: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
        z = matmul(c[0], w) + s[0]
        new = tanh(slice_axis(z, 1, 0, 4)) * sigmoid(slice_axis(z, 1, 4, 4))
        return [new], [Concatenate(1)(new, c[0]), reshape(z, (B, 2, 4))]

    return over(step, [h], [x], w)


@apart
def columns_that_look_like_rows() -> Made:
    h, x, v = leaf(33, 33), leaf(4, 33, 33), leaf(33)
    return over(lambda c, s: ([tanh(c[0] * v + s[0])], []), [h], [x], v)


@apart
def rows_and_columns_by_one_vector() -> Made:
    h, x, v = leaf(33, 33), leaf(4, 33, 33), leaf(33)
    return over(lambda c, s: ([tanh(c[0] * v + expand_dims(v + Sum((1,))(s[0]), (1,)))], []), [h], [x], v)


@whole
def a_reduction_over_rows() -> Made:
    h, x = leaf(B, 3), leaf(4, B, 3)
    return over(lambda c, s: ([c[0] - Sum((0,))(c[0]) / B + s[0]], []), [h], [x])


@whole
def the_largest_row() -> Made:
    h, x = leaf(B, 3), leaf(4, B, 3)
    return over(lambda c, s: ([tanh(c[0] - Max((0,))(s[0]))], []), [h], [x])


@whole
def the_transposed_state() -> Made:
    h, x = leaf(33, 33), leaf(4, 33, 33)
    return over(lambda c, s: ([tanh(swap_last(c[0]) + s[0])], []), [h], [x])


@whole
def a_product_of_states() -> Made:
    h, x = leaf(33, 33), leaf(4, 33, 33)
    return over(lambda c, s: ([tanh(matmul(s[0], c[0]) * 0.1)], []), [h], [x])


@whole
def shifted_rows() -> Made:
    h, x = leaf(B, 3), leaf(4, B, 3)
    return over(lambda c, s: ([flip(c[0], (0,)) + s[0]],
                              [Concatenate(0)(slice_axis(c[0], 0, 1, B - 1), slice_axis(s[0], 0, 0, 1))]), [h], [x])


@whole
def rows_at_indices() -> Made:
    h, x, at = leaf(B, 3), leaf(4, B, 3), parameter("at", Type(int64, (B,)))
    return over(lambda c, s: ([Gather(0)(c[0], at) + s[0]], []), [h], [x], at)


@whole
def rows_added_at_indices() -> Made:
    h, x, at = leaf(B, 3), leaf(4, B, 3), parameter("at", Type(int64, (B,)))
    return over(lambda c, s: ([ScatterAdd(0, B)(c[0], at) * 0.1 + s[0]], []), [h], [x], at)


@whole
def rows_in_other_rows() -> Made:
    h, x = leaf(33, 33), leaf(4, 33, 33)
    return over(lambda c, s: ([c[0] + broadcast(Sum((1,))(s[0]), (33, 33))], []), [h], [x])


@whole
def rows_regrouped() -> Made:
    h, x = leaf(B, 2), leaf(4, B, 2)
    return over(lambda c, s: ([reshape(transpose(reshape(c[0], (2, B)), (1, 0)), (B, 2)) + s[0]], []), [h], [x])


@whole
def used_whole_and_by_rows() -> Made:
    h, x, w = leaf(33, 33), leaf(4, 33, 33), leaf(33, 33)
    return over(lambda c, s: ([tanh(matmul(c[0], w) * 0.1 + w + s[0])], []), [h], [x], w)


@whole
def a_slice_that_is_the_start() -> Made:
    x = leaf(33, 33)
    return over(lambda c, s: ([tanh(c[0] + expand_dims(s[0], (1,)))], [c[0]]), [x], [x])


@whole
def a_slice_that_is_a_constant() -> Made:
    h, x = leaf(8, 3), leaf(8, 8, 3)
    return over(lambda c, s: ([tanh(c[0] + s[0] + Sum((1,))(x * expand_dims(c[0], (1,))))], []), [h], [x])


@whole
def a_scalar_state() -> Made:
    h, x, t = leaf(B, 3), leaf(4, B, 3), leaf()
    return over(lambda c, s: ([c[0] * c[1] + s[0], c[1] * 0.5], []), [h, t], [x])


@whole
def a_nested_loop() -> Made:
    h, x, w = leaf(B, 3), leaf(4, B, 3), leaf(3, 3)

    def step(c: tuple[Value, ...], s: tuple[Value, ...]) -> tuple[list[Value], list[Value]]:
        (last,), (ys,) = scan(lambda d, _: ([tanh(matmul(d[0], w) + s[0])], [d[0] * 2]), [c[0]], [], length=3)
        return [last], [Sum((0,))(ys)]

    return over(step, [h], [x], w)


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    results, leaves = APART[name]()
    assert goes_apart(results[0])
    is_reference(results, leaves)


@pytest.mark.parametrize("name", WHOLE)
def test_whole(name: str) -> None:
    results, leaves = WHOLE[name]()
    is_reference(results, leaves)
    assert not goes_apart(results[0])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 31, 32, 33, 100])
def test_rows_of_any_number(rows: int, reverse: bool) -> None:
    is_reference(*plain(rows, reverse=reverse))
    is_reference(*plain(N, reverse=reverse), n=rows)


@pytest.mark.parametrize("length", [0, 1, 2])
def test_few_steps(length: int) -> None:
    is_reference(*plain(B, length))
    h, w = leaf(B, 3), leaf(3, 3)
    is_reference(*over(lambda c, _: ([tanh(matmul(c[0], w))], [c[0]]), [h], [], w, length=length))


def test_any_number_of_steps() -> None:
    h, x, w = leaf(N, 4), leaf(size("t"), N, 4), leaf(4, 4)
    for n, t in ((40, 0), (40, 1), (1, 5), (0, 3), (70, 4)):
        is_reference(*over(lambda c, s: ([gru(c[0], s[0], w)], [c[0]]), [h], [x], w), n=n, t=t)


def test_two_loops_and_a_loop_of_loops() -> None:
    h, x, w = leaf(B, 4), leaf(5, B, 4), leaf(4, 4)
    step = lambda c, s: ([gru(c[0], s[0], w)], [c[0] + s[0]])
    (last,), (ys,) = scan(step, [h], [x])
    (again,), (zs,) = scan(step, [last], [ys], reverse=True)
    is_reference([last, again, zs], [h, x, w])
    inner = lambda c, _: (scan(step, [c[0]], [x])[0], [])
    is_reference(*over(inner, [h], [], x, w, length=3))


def body(f: Callable[..., Sequence[Value]], *types: Type) -> Graph:
    parameters = tuple(parameter(f"p{k}", t) for k, t in enumerate(types))
    return Graph(parameters, tuple(f(*parameters)))


T, S = Type(float32, (B, 3)), Type(float32, (33, 33))
ARRAY = np.linspace(-1, 1, B * 3, dtype=np.float32).reshape(B, 3)
SCAN = Item(0)(Scan(body(lambda h, x: [tanh(h + x)], T, T), 1, 0, 2, False)(leaf(B, 3), leaf(B, 3)))
BODIES: dict[str, Graph] = {
    "numbers by index": body(lambda h, x, a: [h + x * Iota((B, 3), 0, float32)() * 0.01], T, T, T),
    "an array":         body(lambda h, x, a: [h * Constant(ARRAY)() + x], T, T, T),
    "the sum of a constant": body(lambda h, x, a: [tanh(h + x + expand_dims(Sum((1,))(a), (1,)))], T, T, T),
    "a loop over a constant": body(lambda h, x, a: [h + x + Item(0)(Scan(SCAN.args[0].op.body, 1, 0, 2, False)(a, a))],  # type: ignore[attr-defined]
                                   T, T, T),
    "one vector for rows and columns": body(
        lambda h, x, a: [tanh(h * (v := Sum((1,))(a)) + expand_dims(v + Sum((1,))(x), (1,)))], S, S, S),
    "a number made an array": body(lambda h, x, a: [h + broadcast(reshape(literal(2.0), (1, 1)), (B, 3)) * x], T, T, T),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_as_no_user_writes_them(name: str) -> None:
    shape = BODIES[name].parameters[0].shape
    h, x, a = leaf(*shape), leaf(4, *shape), leaf(*shape)
    is_reference([Item(0)(Scan(BODIES[name], 1, 1, 4, False)(h, x, a))], [h, x, a])
