"""Which products a BLAS does: those it was measured to do faster than our own kernels."""
from __future__ import annotations

from dataclasses import replace
from math import prod

from stele.backend.base import Precision
from stele.backend.cpu import blas
from stele.backend.cpu.target import Target
from stele.backend.llvm.library import Gemm
from stele.ir.graph import Graph, Value
from stele.ir.report import Report
from stele.ir.rewrite import Rule, rewrite, rule
from stele.ir.types import Type, float32, float64
from stele.kernel.choice import Noted
from stele.ops.contraction import MatMul
from stele.ops.linear import Transpose

SMALL = 1 << 16
"""Multiplications below which a call costs more than it saves."""
NARROW = 16
"""Bytes of vectors below whose double our own kernels lose to a library with kernels of its own for each CPU."""


def library(graph: Graph, target: Target, precision: Precision = "fast", report: Report | None = None) -> Graph:
    """The graph with products handed to the BLAS: of float64 (measured 0.4 to 1.1 times the time of our kernels), and
    of float32 where vectors are narrow (0.35 times). Wide float32 products stay ours: they fuse, and are as fast.
    """
    report = report or Report()
    choices = Noted(given=target.choices, report=report)

    def match(v: Value) -> Value | None:
        if (y := product_by_library.match(v)) is None or (precision == "bf16" and v.dtype == float32):
            return None
        quick = 0.7 if v.dtype == float64 or target.vector_bytes <= NARROW else 1.4
        sizes = "x".join(map(str, (*v.shape, v.args[0].shape[1])))
        choice = choices.choose(f"product {sizes} {v.dtype} {y.op}", [(1.0, "gemm"), (quick, "blas")])
        return y if choice[1] == "blas" else None

    rules = (replace(product_by_library, match=match),)
    return graph if blas.library() is None else rewrite(graph, rules, report=report)


@rule(lambda x, w: MatMul()(x, w), x=Type(float64, (64, 64)), w=Type(float64, (64, 64)), error=64)
def product_by_library(v: Value) -> Value | None:
    """x @ w = gemm(x, w)"""
    x, w = v.args
    sizes = *x.shape, w.shape[-1]
    if v.ndim != 2 or v.dtype not in (float32, float64) or not all(isinstance(n, int) for n in sizes):
        return None
    (a, left), (b, right) = lying(x), lying(w)
    return Gemm(left, right)(a, b) if prod(sizes) >= SMALL else None


RULES: tuple[Rule, ...] = (product_by_library,)


def lying(x: Value) -> tuple[Value, bool]:
    """An operand as it is in memory, and whether that is transposed."""
    return (x.args[0], True) if isinstance(x.op, Transpose) else (x, False)
