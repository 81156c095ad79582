"""Kernels never wait for each other, whatever was joined; and that is checked."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stele.backend import reference
from stele.backend.buffers import Buffer
from stele.errors import GraphError
from stele.ir.graph import Graph, Value, literal, parameter
from stele.ir.report import Report
from stele.ir.types import Type, float32, int32, int64
from stele.kernel import space
from stele.kernel.alike import Alike
from stele.kernel.fuse import Fused, fuse, join_epilogues, join_producers, join_siblings, show_kernel
from stele.kernel.groups import Groups
from stele.kernel.kinds import Contraction
from stele.kernel.machine import COMMON
from stele.kernel.order import ordered
from stele.ops.contraction import Conv2d, matmul
from stele.ops.elementwise.binary import maximum
from stele.ops.elementwise.unary import exp, sin, square, tanh
from stele.ops.linear import Cast, Concatenate, Sum, broadcast, flip, reshape, slice_axis, swap_last
from stele.ops.reduction import ArgMax, Max
from stele.pipeline import Options, build, request, write
from stele.transform.expand import expand

ROWS, COLUMNS = 63, 17


def waiting_graph() -> Graph:
    """Groups that join by twos into two, each of which needs a result of the other."""
    x = parameter("x", Type(int32, (ROWS, COLUMNS)))
    b = broadcast(x, (1, *x.shape))
    c = Concatenate(0)(b, b, b)
    part = slice_axis(c, 0, 1, 1)
    d = broadcast(part, c.shape) - c
    at = ArgMax(0)(x)
    u = Cast(int64)(Sum((0,))(b)) * broadcast(at, x.shape)
    return Graph((x,), (b, part, at, u, Cast(int64)(d) - broadcast(at, d.shape), at * 0))


def random_graph(seed: int) -> Graph:
    """Passes over rows, over columns and over all, that read each other every which way, with many results."""
    rng = np.random.default_rng(seed)
    parameters = [parameter("x", Type(float32, (ROWS, COLUMNS))), parameter("v", Type(float32, (COLUMNS,)))]
    seen = list(parameters)

    def one(*shapes: tuple[int, ...]) -> Value:
        fitting = [v for v in seen if not shapes or v.shape in shapes]
        return fitting[int(rng.integers(len(fitting)))]

    for _ in range(int(rng.integers(6, 40))):
        x, kind = one(), int(rng.integers(10))
        if kind < 3:
            small = [v for v in seen if v.shape == x.shape[x.ndim - v.ndim:]]
            y = small[int(rng.integers(len(small)))]
            made = (x * broadcast(y, x.shape), tanh(x - broadcast(y, x.shape)))[kind % 2]
        elif kind < 5 and x.ndim:
            axis = int(rng.integers(x.ndim))
            made = (Sum((axis,)), Max((axis,)), ArgMax(axis))[int(rng.integers(3))](x)
            made = made if made.dtype == float32 else Cast(float32)(made)
        elif kind == 5 and x.ndim == 2:
            made = broadcast(x, (int(rng.integers(1, 4)), *x.shape))
        elif kind == 6 and x.ndim:
            made = Concatenate(0)(x, square(x))
        elif kind == 7 and x.ndim:
            made = slice_axis(x, 0, 0, (x.shape[0] + 1) // 2) if rng.random() < 0.5 else flip(x, (0,))
        elif kind == 8 and x.ndim == 2:
            made = matmul(x, tanh(matmul(swap_last(x), x)))
        else:
            made = (exp(-square(x)), sin(x), reshape(x, (-1,)))[int(rng.integers(3))]
        if made.type.size < 40_000:
            seen.append(made)
    results = [v for v in seen[2:] if rng.random() < 0.4]
    return expand(Graph(tuple(parameters), (*results, seen[-1])))


def assert_ordered(fused: Fused, graph: Graph) -> None:
    """Each kernel reads what kernels before it made."""
    made = {r for kernel in fused.kernels for r in kernel.results}
    known = set(graph.parameters)
    for kernel in fused.kernels:
        for v in kernel.inputs:
            while v in fused.views:
                v = fused.views[v]
            assert v in known or v not in made
        known |= {*kernel.results}


def test_groups_that_would_wait_for_each_other_stay_apart() -> None:
    graph = waiting_graph()
    assert_ordered(fuse(graph), graph)
    x = np.random.default_rng(0).integers(-50, 50, (ROWS, COLUMNS)).astype(np.int32)
    results = build(graph, options=Options(backend="cpu")).run([Buffer.of(x)], {})
    for y, expected in zip(results, reference.run(graph, [x]), strict=True):
        assert (y.array == expected).all()


def test_random_graphs_have_an_order() -> None:
    for seed in range(150):
        graph = random_graph(seed)
        assert_ordered(fuse(graph), graph)


def test_latest_is_never_less_than_that_of_what_a_group_needs() -> None:
    """What `comes_before` relies on when it does not look further."""
    for seed in range(40):
        groups = Groups(random_graph(seed), COMMON, Report())
        for step in (join_producers, join_epilogues, join_siblings):
            step(groups)
            for group in groups.groups:
                assert all(groups.latest[g] <= groups.latest[group] for g in groups.needs(group))


def test_kernels_that_wait_for_each_other_are_an_error() -> None:
    x = parameter("x", Type(float32, (3,)))
    groups = Groups(Graph((x,), (Sum((0,))(x), Max((0,))(x))), COMMON, Report())
    one, other = groups.groups
    groups.before = {one: {other}, other: {one}}
    with pytest.raises(GraphError, match=r"wait for each other: .*(Sum|Max) float32\[\], .*(Sum|Max)"):
        list(ordered(groups))


def test_depending_by_another_group_is_found_whatever_the_order_of_values() -> None:
    """`late` needs `first` by way of `mixed`, whose early result it reads."""
    x = parameter("x", Type(float32, (3,)))
    early = exp(x)
    reader = tanh(early)
    produced = sin(x)
    groups = Groups(Graph((x,), (reader, early, produced, square(produced))), COMMON, Report())
    mixed, late, first, tail = (groups.made[v] for v in (early, reader, produced, groups.values.graph.results[3]))
    groups.unite(mixed, tail, groups.united_body(mixed, tail), None)
    assert groups.comes_before(first, late)


def layers(count: int) -> Graph:
    """So many equal layers: a product, and rows of it without their mean."""
    given = (parameter("x", Type(float32, (ROWS, COLUMNS))),
             *(parameter(f"w{k}", Type(float32, (COLUMNS, COLUMNS))) for k in range(count)))
    x = given[0]
    for w in given[1:]:
        y = matmul(x, w)
        centred = y - broadcast(reshape(Sum((1,))(y), (ROWS, 1)), y.shape)
        x = tanh(centred + broadcast(reshape(Sum((1,))(square(centred)), (ROWS, 1)), y.shape))
    return Graph(given, (x,))


def test_equal_layers_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    measured = space.measured

    def counted(*given: Any) -> Any:
        asked[-1] += 1
        return measured(*given)

    for module in ("fuse", "inline"):
        monkeypatch.setattr(f"stele.kernel.{module}.measured", counted)
    for count in (6, 12):
        asked.append(0)
        assert fuse(layers(count)).kernels
    assert asked[0] == asked[1] > 0


def test_what_is_found_of_equal_layers_holds_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are those that are formed when nothing is remembered."""
    graphs = [*map(random_graph, range(60)), layers(4)]
    kept = [[*map(show_kernel, fuse(graph).kernels)] for graph in graphs]

    def of(self: Any, results: Any, body: Any, find: Callable[[], Any], *rest: Any) -> Any:
        return find()

    monkeypatch.setattr(Alike, "of", of)
    assert kept == [[*map(show_kernel, fuse(graph).kernels)] for graph in graphs]


def test_kernels_are_one_code_whatever_else_shares_their_numbers() -> None:
    """Both compute exp(x) * 2 of a 2 that the second finds there, and so has in another place of its order."""
    x, z = (parameter(name, Type(float32, (1000,))) for name in "xz")
    two = broadcast(literal(2.0), x.shape)
    modules: list[Any] = []
    asked = request(Graph((x, z), (exp(x) * two, exp(z) * two)), options=Options(backend="cpu"))
    write(asked, modules.append, Report())
    assert len(modules) == 2, "one of the kernel, one of the program"


@pytest.mark.parametrize("rows", [1, 3])
def test_what_follows_a_contraction_is_stored_by_it(rows: int) -> None:
    """A batch of one image, too: its axis of length 1 has one index, however it is written."""
    image, kernel = parameter("x", Type(float32, (rows, 4, 6, 6))), parameter("w", Type(float32, (5, 4, 3, 3)))
    x, w, b = (parameter(name, Type(float32, shape)) for name, shape in (("a", (rows, 7)), ("k", (7, 5)), ("b", (5,))))
    made = Conv2d((1, 1), ((1, 1), (1, 1)), (1, 1), 1)(image, kernel)
    shifted = made + broadcast(reshape(b, (1, 5, 1, 1)), made.shape)
    for graph in (Graph((image, kernel, b), (maximum(shifted, 0.0),)),
                  Graph((x, w, b), (maximum(matmul(x, w) + broadcast(b, (rows, 5)), 0.0),))):
        (one,) = fuse(expand(graph)).kernels
        assert isinstance(one, Contraction) and one.results == expand(graph).results
