"""Products and convolutions against float64 NumPy, on every machine they block for, however tasks are split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product as pairs

import numpy as np
import pytest
from contraction import AVX2, AVX512, SSE4, Bench, Memory, error, float_type, guarded, machine_here, size, strides
from llvmlite import ir

import stele as st
from stele.backend.base import Precision
from stele.backend.contract.bilinear import ONE, STRASSEN
from stele.backend.contract.code import Sink, Site
from stele.backend.contract.conv import pointwise
from stele.backend.contract.conv.algorithms import convolution, input_gradient, weight_gradient
from stele.backend.contract.conv.engine import convolve
from stele.backend.contract.conv.layer import forward
from stele.backend.contract.conv.stencil import Conv
from stele.backend.contract.product import gemm as products
from stele.backend.contract.product import schedule as scheduling
from stele.backend.contract.product.gemm import gemm
from stele.backend.contract.product.schedule import Gemm
from stele.backend.contract.tile import Price, Tile
from stele.backend.llvm.access import Extent
from stele.backend.llvm.launch import Launch, i64
from stele.backend.llvm.nest import kernel, splat
from stele.backend.llvm.vectors import transpose
from stele.kernel.corners import NONE, Corner, Corners
from stele.kernel.machine import Machine

HERE = machine_here()
MACHINES = [m for m in (AVX512, AVX2, SSE4) if m.vector_bytes <= HERE.vector_bytes]
TOLERANCE = {np.float32: 2e-6, np.float64: 4e-15}

SIZES = (            # batch, m, n, k
    (1, 64, 64, 64),
    (1, 1, 1, 1),
    (1, 33, 37, 41),
    (3, 17, 50, 20),
    (1, 130, 70, 700),
    (1, 10, 128, 9000),
    (1, 300, 125, 9600),
    (2, 5, 300, 3),
)


def product(machine: Machine, dtype: type, sizes: tuple[int, int, int, int],
            transposed: tuple[bool, bool] = (False, False), plain: bool = True, symbolic: str = "",
            shared: bool = False, corners: Corners = NONE) -> tuple[Bench, np.ndarray]:
    """A product and what it should be; `symbolic` names the sizes the kernels are not told."""
    batch, m, n, k = sizes
    rng, kind = np.random.default_rng(0), float_type(np.dtype(dtype))
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((batch, m, k), (1 if shared else batch, k, n)))
    layouts = [strides(x.shape, (0, 2, 1) if t else None) for x, t in zip((a, b), transposed)]
    data = [np.ascontiguousarray(x.transpose(0, 2, 1)) if t else x for x, t in zip((a, b), transposed)]
    extents = [size(i) if name in symbolic else value for i, (name, value) in enumerate(zip("bmnk", sizes))]
    left, right = (Memory(i + 1, kind, layout).operand(plain) for i, layout in enumerate(layouts))
    right, spec = replace(right, batched=not shared), Gemm(*extents, kind, corners=corners)
    out = Memory(0, kind, strides((batch, m, n)))
    c = np.full((batch, m, n), np.nan, dtype)

    def build(module: ir.Module, temp):
        return gemm(module, "gemm", machine, spec, left, right, out.write, out.near, temp)

    return Bench(machine, build, [guarded(x) for x in (c, *data)], sizes), a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.vector_bytes}")
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_product(machine: Machine, dtype: type, sizes: tuple[int, int, int, int]) -> None:
    bench, expected = product(machine, dtype, sizes)
    assert error(bench.check(), expected) < TOLERANCE[dtype]


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("symbolic", ["", "m", "bk", "mnk"])
@pytest.mark.parametrize("n", [64, 67])
def test_operands_in_any_layout(transposed: tuple[bool, bool], plain: bool, symbolic: str, n: int) -> None:
    bench, expected = product(HERE, np.float32, (1, 45, n, 300), transposed, plain, symbolic)
    assert error(bench.check(), expected) < 2e-6


@pytest.mark.parametrize("plain", [False, True])
def test_one_right_operand_for_a_batch(plain: bool) -> None:
    bench, expected = product(HERE, np.float32, (4, 30, 64, 50), plain=plain, symbolic="b", shared=True)
    assert error(bench.check(), expected) < 2e-6


@pytest.mark.parametrize("n", [64, 1024])
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.vector_bytes}")
def test_calls_of_many_rows_pack_what_others_read_in_place(machine: Machine, n: int) -> None:
    bench, _ = product(machine, np.float32, (2, 257, n, 70), symbolic="m", shared=True)
    c, x, weight = bench.arrays
    rows: list[np.ndarray] = []
    assert len(bench.launches) == 2
    for m in (1, 13, 80, 81, 256, 257):
        y, few = (guarded(a[:, :m], strides(a.shape)) for a in (c, x))
        bench.at([y, few, weight], (2, m, n, 70))
        assert error(bench.check(), few.astype(np.float64) @ weight) < 2e-6
        few[:] = 0.1
        bench.at([y, few, guarded(np.full_like(weight, np.arange(n) / 7))], (2, m, n, 70))
        rows.append(bench.check()[0, 0].copy())         # the same sums whatever the rows
    assert all(np.array_equal(row, rows[0]) for row in rows)


def corners_hold(product: Callable[..., tuple[Bench, np.ndarray]], transposed: bool, place: int, side: int) -> None:
    """What lies in a corner of an operand is not multiplied, and what lies in one of the result is zero."""
    sizes, start = (2, 300, 310, 320), 20
    corners = tuple((Corner(side, start),) if k == place else () for k in range(3))
    bench, expected = product(sizes, (transposed, transposed), corners=corners)
    i, j = np.ogrid[:sizes[3 if place == 1 else 1], :sizes[3 if place == 0 else 2]]
    beyond = side * (j - i)
    if place < 2:
        x = bench.arrays[1 + place].transpose(0, 2, 1) if transposed else bench.arrays[1 + place]
        x[:, beyond >= start] = 0
        left, right = (a.transpose(0, 2, 1) if transposed else a for a in bench.arrays[1:])
        expected = left.astype(np.float64) @ right
        x[:, beyond >= start + 160] = np.nan
        assert error(bench.check(), expected) < 2e-6
    else:
        found = bench.check()
        assert not found[:, beyond >= start + 160].any()
        assert error(np.where(beyond < start, found, 0), np.where(beyond < start, expected, 0)) < 2e-6


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.vector_bytes}")
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("side", [1, -1])
def test_corners_are_not_multiplied(machine: Machine, transposed: bool, place: int, side: int) -> None:
    corners_hold(partial(product, machine, np.float32), transposed, place, side)


def test_an_empty_depth_is_zero() -> None:
    bench, _ = product(HERE, np.float32, (1, 5, 7, 0), symbolic="k")
    assert not bench.check().any()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.vector_bytes}")
@pytest.mark.parametrize("n, k, options", [
    (10, 128, {}), (128, 300, {}), (384, 40, {"plain": False}), (67, 300, {"transposed": (True, True)}),
    (192, 1100, {}), (128, 1100, {"transposed": (False, True)}), (64, 30, {"symbolic": "mk"}),
    (96, 30, {"symbolic": "mn", "shared": True})])
def test_few_rows_of_as_many_as_come(machine: Machine, n: int, k: int, options: dict) -> None:
    options = {"symbolic": "m", **options}
    axis = 2 if options.get("transposed", (False,))[0] else 1
    for dtype in TOLERANCE:
        bench, _ = product(machine, dtype, (2, 60, n, k), **options)
        rows, (_, x, weight) = bench.check(), bench.arrays
        for m in (1, 2, 3, 4, 5, 9, 29, 49):
            y, few = (guarded(a, strides(whole.shape)) for a, whole in (
                (rows[:, :m] * np.nan, rows), (x.take(range(m), axis), x)))
            bench.at([y, few, weight], (2, m, n, k))
            assert np.array_equal(bench.check(), rows[:, :m])


def test_rows_do_not_depend_on_how_many_there_are() -> None:
    few, many = (product(HERE, np.float32, (1, m, 40, 100), symbolic="m")[0] for m in (7, 200))
    many.arrays[1][0, :7] = few.arrays[1][0]
    many.arrays[2][...] = few.arrays[2]
    assert np.array_equal(few.check()[0], many.check()[0, :7])


BY_PARTS = (         # batch, m, n, k
    (1, 64, 64, 64),
    (1, 2, 2, 2),
    (2, 34, 50, 22),
    (1, 90, 166, 130),
    (3, 130, 70, 254),
)


def one_by_parts(patch: pytest.MonkeyPatch, rows: int) -> None:
    """Every product goes by parts, on small tiles, some rows a task."""
    def schedule(machine: Machine, spec: Gemm, left, right, precision="fast") -> scheduling.Schedule:
        found = scheduling.by_parts(machine, spec, right, Price(machine, spec.dtype))[0][1]
        tile = replace(found.tile, rows=rows)
        return replace(found, tile=tile, m=2 * rows)

    patch.setattr(products, "schedule", schedule)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.vector_bytes}")
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("sizes", BY_PARTS, ids=str)
def test_product_by_parts(machine: Machine, plain: bool, sizes: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    for rows, left, right in ((1, False, False), (3, False, True), (5, True, False), (4, True, True)):
        one_by_parts(monkeypatch, rows)
        bench, expected = product(machine, np.float32, sizes, (left, right), plain)
        assert error(bench.check(), expected) < 6e-6


def test_one_right_operand_for_a_batch_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    one_by_parts(monkeypatch, 4)
    bench, expected = product(HERE, np.float32, (4, 30, 64, 50), shared=True)
    assert error(bench.check(), expected) < 6e-6


def schemes(machine: Machine, *sizes: Extent, precision: Precision = "fast", **options) -> int:
    """Into how many parts the operands of a product are cut each way."""
    m, n, k = sizes
    spec = Gemm(1, m, n, k, options.pop("dtype", ir.FloatType()), **options)
    memory = Memory(0, spec.dtype, (1, 1, 1)).operand()
    return scheduling.schedule(machine, spec, memory, memory, precision).scheme.side


@pytest.mark.parametrize("machine", (AVX512, AVX2, SSE4), ids=lambda m: f"{m.vector_bytes}")
def test_large_products_go_by_parts(machine: Machine) -> None:
    assert schemes(machine, 1024, 3072, 768) == 2
    assert schemes(machine, 1024, 3072, 768, precision="strict") == 1
    assert schemes(machine, 1024, 3072, 768, precision="bf16") == 1
    assert schemes(machine, 1024, 3072, 768, product=lambda b, x, y, z: z) == 1
    assert schemes(machine, 1024, 3072, 768, dtype=ir.DoubleType()) == 1
    assert all(schemes(machine, *odd) == 1 for odd in ((1023, 3072, 768), (1024, 3071, 768), (1024, 3072, 767)))
    assert all(schemes(machine, *few) == 1 for few in ((256, 256, 256), (64, 512, 6400), (512, 512, 64)))
    assert schemes(machine, size(0), 3072, 768) == schemes(machine, 1024, 3072, size(0)) == 1


def test_what_is_the_same_at_every_call_is_packed_once_where_no_near_cache_holds_it() -> None:
    """Few rows read each number of a large weight once: 14 GB/s where it lies in rows, 28 packed (EPYC, Zen 4)."""
    machine = replace(AVX512, l2=1 << 20)

    def mode(n: int, **how: bool) -> str:
        left, right = (Memory(k, ir.FloatType(), strides((1, *shape))).operand()
                       for k, shape in enumerate(((1, 768), (768, n))))
        return scheduling.schedule(machine, Gemm(1, 1, n, 768, ir.FloatType()), left, replace(right, **how)).right

    assert mode(3072, batched=False, steady=True) == "shared"
    assert mode(3072, batched=False) == mode(3072, steady=True) == mode(256, batched=False, steady=True) == "in place"


def test_what_a_task_reads_for_every_panel_is_near() -> None:
    memory = Memory(0, ir.FloatType(), (1, 1, 1)).operand()
    for n in (1024, 2048):
        spec = Gemm(1, n, n, n, ir.FloatType())
        _, cut = min(scheduling.by_parts(AVX2, spec, memory, Price(AVX2, spec.dtype)), key=lambda pair: pair[0])
        assert 7 * cut.m * cut.k * 4 <= AVX2.l3 // 2 * 1.05     # whole tiles are rounded up


@pytest.mark.skipif(HERE.vector_bytes < 64, reason="large products go by parts sooner on wide machines")
def test_parts_keep_the_promise_on_errors() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, np.float32) for shape in ((768, 1024), (1024, 1536)))
    memory = [Memory(i, ir.FloatType(), strides((1, *s))) for i, s in enumerate(((768, 1536), a.shape, b.shape))]

    def off(precision: Precision) -> float:
        def build(module: ir.Module, temp):
            spec, (out, x, y) = Gemm(1, 768, 1536, 1024, ir.FloatType()), memory
            return gemm(module, "gemm", HERE, spec, x.operand(), y.operand(), out.write, out.near, temp, precision)

        return float(np.abs(Bench(HERE, build, [np.zeros((768, 1536), np.float32), a, b]).check()
                            - a.astype(np.float64) @ b).mean())

    assert 1.2 * off("strict") < off("fast") < 4 * off("strict")


DIRECT = partial(convolution, precision="strict"), partial(input_gradient, precision="strict")
DIRECT_WEIGHT = partial(weight_gradient, precision="strict")
CONVOLUTIONS = (     # n, c, o, (h, w), (kh, kw), and what is not the default
    (2, 3, 5, (9, 11), (3, 3), {"padding": ((1, 1), (1, 1))}),
    (3, 5, 7, (8, 9), (3, 3), {"padding": ((1, 1), (1, 1)), "stride": (2, 2)}),
    (2, 4, 6, (10, 7), (4, 2), {"padding": ((2, 1), (0, 3))}),
    (5, 4, 6, (7, 7), (1, 1), {"stride": (2, 2)}),
    (2, 5, 18, (6, 6), (1, 1), {}),
    (2, 5, 18, (6, 6), (1, 1), {"padding": ((2, 1), (0, 2))}),
    (2, 6, 9, (10, 13), (3, 2), {"padding": ((2, 2), (1, 1)), "stride": (1, 3), "dilation": (2, 1), "groups": 3}),
    (9, 8, 33, (7, 7), (3, 3), {"padding": ((1, 1), (1, 1))}),
    (2, 4, 4, (20, 35), (5, 5), {"padding": ((2, 2), (2, 2)), "stride": (1, 2), "groups": 4}),
    (1, 3, 8, (40, 40), (7, 7), {"padding": ((3, 3), (3, 3)), "stride": (2, 2)}),
    (1, 2, 3, (12, 12), (2, 2), {"stride": (3, 3)}),
    (3, 50, 50, (32, 32), (3, 3), {"padding": ((1, 1), (1, 1))}),
    (2, 70, 3, (61, 40), (3, 3), {"padding": ((1, 1), (1, 1))}),
    (4, 600, 40, (6, 6), (1, 1), {}),
    (3, 5, 20, (7, 7), (1, 1), {}),
    (1, 40, 30, (14, 14), (1, 1), {}),
    (2, 3000, 9, (8, 9), (1, 1), {}),
)


def windows(x: np.ndarray, conv: Conv, y: int, k: int) -> np.ndarray:
    """The view of padded `x` that kernel element (y, k) meets, one element for each of the output."""
    (h, w), (sy, sx), (dy, dx) = conv.target, conv.stride, conv.dilation
    return x[:, :, y * dy:y * dy + (h - 1) * sy + 1:sy, k * dx:k * dx + (w - 1) * sx + 1:sx]


def references(conv: Conv, x: np.ndarray, w: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The convolution of x with w, and the gradients of x and w for the cotangent g."""
    x, w, g = (a.astype(np.float64) for a in (x, w, g))
    (top, bottom), (left, right) = conv.padding
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    y, dx, dw = np.zeros_like(g), np.zeros_like(padded), np.zeros_like(w)
    outputs, channels = conv.outputs // conv.groups, conv.channels // conv.groups
    for group in range(conv.groups):
        o, c = (slice(group * n, (group + 1) * n) for n in (outputs, channels))
        for i in range(conv.kernel[0]):
            for j in range(conv.kernel[1]):
                seen = windows(padded, conv, i, j)[:, c]
                y[:, o] += np.einsum("nchw,oc->nohw", seen, w[o, :, i, j])
                windows(dx, conv, i, j)[:, c] += np.einsum("nohw,oc->nchw", g[:, o], w[o, :, i, j])
                dw[o, :, i, j] = np.einsum("nchw,nohw->oc", seen, g[:, o])
    return y, dx[:, :, top:top + conv.size[0], left:left + conv.size[1]], dw


def benches(machine: Machine, dtype: type, case: tuple, symbolic: bool) -> list[tuple[Bench, np.ndarray]]:
    """A convolution and its two gradients, each with what it should be."""
    n, c, o, image, window, options = case
    kind, rng = float_type(np.dtype(dtype)), np.random.default_rng(1)
    conv = Conv(size(0) if symbolic else n, c, o, image, window, kind, **options)
    x, w, g = (rng.standard_normal(shape).astype(dtype)
               for shape in ((n, c, *image), (o, c // conv.groups, *window), (n, o, *conv.target)))

    def bench(make, out: np.ndarray, *operands: np.ndarray) -> Bench:
        memory = [Memory(i, kind, strides(a.shape)) for i, a in enumerate((out, *operands))]
        left, right = (m.operand() for m in memory[1:])
        store = memory[0].stores(make is DIRECT_WEIGHT)
        return Bench(machine, lambda module, temp: make(module, "conv", machine, conv, left, right, *store, temp),
                     [guarded(a) for a in (np.full_like(out, np.nan), *operands)], (n,))

    made = bench(DIRECT[0], g, x, w), bench(DIRECT[1], x, g, w), bench(DIRECT_WEIGHT, w, x, g)
    return list(zip(made, references(conv, x, w, g)))


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolution(case: tuple, symbolic: bool) -> None:
    for bench, expected in benches(HERE, np.float32, case, symbolic):
        assert error(bench.check(), expected) < 2e-6


@pytest.mark.parametrize("machine,dtype", [(m, d) for m in MACHINES for d in TOLERANCE if (m, d) != (HERE, np.float32)],
                         ids=str)
@pytest.mark.parametrize("case", CONVOLUTIONS[:7], ids=str)
def test_convolution_on_machines(machine: Machine, dtype: type, case: tuple) -> None:
    for bench, expected in benches(machine, dtype, case, False):
        assert error(bench.check(), expected) < TOLERANCE[dtype]


class Halved(Memory):
    """Memory read through a fused prologue and written through a fused epilogue: x / 2 in, relu out."""

    def read(self, b, ctx, index, lane_axis, lanes, mask):
        x = super().read(b, ctx, index, lane_axis, lanes, mask)
        half = ir.Constant(self.dtype, 0.5)
        return b.fmul(x, half if lanes == 1 else splat(b, half, lanes))

    def write(self, b, ctx, index, lane_axis, lanes, mask, vector):
        none = ir.Constant(vector.type, None if lanes > 1 else 0.0)
        vector = b.select(b.fcmp_ordered("<", vector, none), none, vector)
        super().write(b, ctx, index, lane_axis, lanes, mask, vector)


@pytest.mark.parametrize("by_parts", [False, True])
def test_fused_product(by_parts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if by_parts:
        one_by_parts(monkeypatch, 3)
    rng, kind = np.random.default_rng(0), ir.FloatType()
    a, w = (rng.standard_normal(shape, np.float32) for shape in ((1, 40, 30), (1, 30, 50)))
    c, x, y = (Halved(i, kind, strides(shape)) for i, shape in enumerate(((1, 40, 50), a.shape, w.shape)))

    def build(module: ir.Module, temp):
        spec = Gemm(1, 40, 50, 30, kind)
        return gemm(module, "gemm", HERE, spec, x.operand(False), y.operand(False), c.write, c.near, temp)

    out = Bench(HERE, build, [guarded(m) for m in (np.zeros((1, 40, 50), np.float32), a, w)]).check()
    assert error(out, np.maximum(a.astype(np.float64) @ w / 4, 0)) < (6e-6 if by_parts else 2e-6)


@pytest.mark.parametrize("case", [CONVOLUTIONS[1], CONVOLUTIONS[10], CONVOLUTIONS[12]], ids=str)
def test_fused_convolution(case: tuple) -> None:
    n, c, o, image, window, options = case
    kind, rng = ir.FloatType(), np.random.default_rng(1)
    conv = Conv(size(0), c, o, image, window, kind, **options)
    x, w, g = (rng.standard_normal(shape).astype(np.float32)
               for shape in ((n, c, *image), (o, c // conv.groups, *window), (n, o, *conv.target)))
    expected = references(conv, x, w, g)
    for make, out, operands, value in zip((*DIRECT, DIRECT_WEIGHT), (g, x, w),
                                          ((x, w), (g, w), (x, g)), expected):
        memory = [Halved(i, kind, strides(a.shape)) for i, a in enumerate((out, *operands))]

        def build(module: ir.Module, temp, make=make, memory=memory):
            left, right = (m.operand(False) for m in memory[1:])
            store = memory[0].stores(make is DIRECT_WEIGHT)
            return make(module, "conv", HERE, conv, left, right, *store, temp)

        bench = Bench(HERE, build, [guarded(a) for a in (out, *operands)], (n,))
        assert error(bench.check(), np.maximum(value / 4, 0)) < 2e-6


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_transpose(lanes: int) -> None:
    square = np.arange(lanes * lanes, dtype=np.float32).reshape(lanes, lanes)
    target, source = (Memory(k, ir.FloatType(), (lanes, 1)) for k in (0, 1))

    def build(module: ir.Module, temp):
        with kernel(module, "turn") as (b, ctx, *_):
            rows = [source.read(b, ctx, (i64(r), i64(0)), 1, lanes, None) for r in range(lanes)]
            for r, column in enumerate(transpose(b, rows)):
                target.write(b, ctx, (i64(r), i64(0)), 1, lanes, None, column)
        return [Launch("turn", 1, 0)], []

    assert np.array_equal(Bench(HERE, build, [np.zeros_like(square), square]).check(), square.T)


POINTWISE = (    # n, c, o, (h, w), stride, bands
    (2, 256, 64, (14, 14), (1, 1), 1),
    (3, 256, 24, (14, 14), (1, 1), 7),
    (1, 64, 70, (12, 10), (1, 1), 1),
    (2, 6, 70, (12, 10), (1, 1), 3),
    (3, 40, 30, (9, 6), (2, 3), 5),
    (2, 128, 512, (28, 28), (1, 1), 1),
    (3, 40, 8, (2, 2), (1, 1), 1),
)


@pytest.mark.parametrize("case", POINTWISE, ids=str)
def test_pointwise_by_any_scheme(case: tuple) -> None:
    n, c, o, image, stride, bands = case
    conv, rng = Conv(n, c, o, image, (1, 1), ir.FloatType(), stride), np.random.default_rng(1)
    x, w, g = (rng.standard_normal(s).astype(np.float32) for s in ((n, c, *image), (o, c, 1, 1), (n, o, *conv.target)))
    memory = [Memory(i, ir.FloatType(), strides(a.shape)) for i, a in enumerate((g, x, w))]
    expected, layer = references(conv, x, w, g)[0], forward(conv)
    pixels = conv.target[0] * conv.target[1] // bands
    for scheme, tile in pairs((ONE, STRASSEN), ((4, 1), (5, 2), (7, 3))):
        planes = pointwise.band(layer, HERE.lanes(4), pixels)
        cut = pointwise.Pointwise(layer, Tile(HERE, ir.FloatType(), *tile), 2, planes, scheme)

        def build(module: ir.Module, temp, cut=cut):
            left, right, out = memory[1].operand(), memory[2].operand(), memory[0].flat
            return convolve(Site(module, "conv", HERE, temp), cut, left, right, Sink(out.write, out.near))

        bench = Bench(HERE, build, [guarded(a) for a in (np.full_like(g, np.nan), x, w)])
        assert error(bench.check(), expected) < 6e-6


@pytest.mark.parametrize("shape, outputs", [((2, 4, 40, 9000), 4), ((1, 3, 60, 20000), 8)])
def test_rows_too_long_for_the_cache(shape: tuple[int, int, int, int], outputs: int) -> None:
    """Bands of one row are taken where none of more fit."""
    rng = np.random.default_rng(0)
    x, w = rng.random(shape, np.float32), rng.random((outputs, shape[1], 3, 3), np.float32)
    y = st.compile(lambda x, w: st.conv2d(x, w, padding=1), precision="strict")(x, w).numpy()
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    expected = sum(np.einsum("nchw,oc->nohw", padded[:, :, i:i + shape[2], j:j + shape[3]], w[:, :, i, j])
                   for i in range(3) for j in range(3))
    np.testing.assert_allclose(y, expected, rtol=1e-4)
