"""Which products a BLAS does: those it was measured to do faster than our own kernels."""
from __future__ import annotations

from dataclasses import replace

from stele.backend.cpu import blas
from stele.backend.cpu.target import Target
from stele.backend.llvm.library import Gemm
from stele.ir.graph import Graph, Value
from stele.ir.rewrite import Rule, rewrite, rule
from stele.ir.types import Type, float32, float64
from stele.ops.contraction import MatMul
from stele.ops.linear import Transpose

SMALL = 1 << 16
"""Multiplications below which a call costs more than it saves."""
NARROW = 16
"""Bytes of vectors below whose double our own kernels lose to a library with kernels of its own for each CPU."""


def library(graph: Graph, target: Target) -> Graph:
    """The graph with products handed to the BLAS: of float64 (measured 0.4 to 1.1 times the time of our kernels), and
    of float32 where vectors are narrow (0.35 times). Wide float32 products stay ours: they fuse, and are as fast.
    """
    def match(v: Value) -> Value | None:
        if (y := product_by_library.match(v)) is None:
            return None
        quick = 0.7 if v.dtype == float64 or target.vector_bytes <= NARROW else 1.4
        sizes = "x".join(map(str, (*v.shape, v.args[0].shape[1])))
        choice = target.choices.choose(f"product {sizes} {v.dtype} {y.op}", [(1.0, "gemm"), (quick, "blas")])
        return y if choice[1] == "blas" else None

    return graph if blas.library() is None else rewrite(graph, (replace(product_by_library, match=match),))


@rule(lambda x, w: MatMul()(x, w), x=Type(float64, (64, 64)), w=Type(float64, (64, 64)), error=64)
def product_by_library(v: Value) -> Value | None:
    """x @ w = gemm(x, w)"""
    return call(v) if v.dtype in (float32, float64) else None


RULES: tuple[Rule, ...] = (product_by_library,)


def call(v: Value) -> Value | None:
    """A matrix product as a call, transposed operands read as they lie; None where it is small or a size is open."""
    x, w = v.args
    if v.ndim != 2 or not all(isinstance(n, int) for n in (*x.shape, *w.shape)) or work(x, w) < SMALL:
        return None
    (x, left), (w, right) = lying(x), lying(w)
    return Gemm(left, right)(x, w)


def work(x: Value, w: Value) -> int:
    """Multiplications of a product of known sizes."""
    return int(x.shape[0]) * int(x.shape[1]) * int(w.shape[1])


def lying(x: Value) -> tuple[Value, bool]:
    """An operand as it is in memory, and whether that is transposed."""
    return (x.args[0], True) if isinstance(x.op, Transpose) else (x, False)
