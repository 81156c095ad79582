"""Composite ops, contractions of open sizes and convolutions that make one pixel become what they mean in other ops."""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from stele.ir.graph import Graph, Op, Value
from stele.ir.report import Report
from stele.ir.rewrite import rewrite, rule
from stele.ir.types import Type, int64, product
from stele.ops import ALL
from stele.ops.composite import Softmax
from stele.ops.contraction import ALL as CONTRACTIONS
from stele.ops.contraction import Convolution, MatMul
from stele.ops.convolution import conv2d
from stele.ops.linear import Sum, cast, full, reshape, swap_last
from stele.transform.contractions import open_contractions
from stele.transform.inline import written_out
from stele.transform.patterns import FLOATS

COMPOSITES: tuple[type[Op], ...] = tuple(op for op in ALL.values() if op.family == "composite")


@rule(lambda x: Softmax(1)(x), also=COMPOSITES, error=16)
def expand_composite(v: Value) -> Value | None:
    """a composite op = its expansion"""
    return v.op.expand(*v.args)  # type: ignore[attr-defined]


@rule(lambda x, w: MatMul()(x, w), x=Type(int64, (3, 4)), w=Type(int64, (4, 2)))
def product_of_integers(v: Value) -> Value | None:
    """x @ w = a sum of products, where operands are no floats"""
    match v:
        case Value(MatMul(), [x, w]) if not v.dtype.is_float:
            terms = reshape(x, (*x.shape, 1)) * reshape(w, (*w.shape[:-2], 1, *w.shape[-2:]))
            return cast(Sum((v.ndim - 1,))(terms), v.dtype)
        case _:
            return None


@rule(lambda x, w: MatMul()(x, w), x=(3, 0), w=(0, 4), also=CONTRACTIONS)
def product_of_nothing(v: Value) -> Value | None:
    """a product with an operand or a result of no elements = zeros"""
    shapes = (v.shape, *(x.shape for x in v.args))
    return full(v.shape, 0, v.dtype) if any(0 in shape for shape in shapes) else None


@rule(lambda x, w: conv2d(x, w), x=(2, 3, 2, 2), w=(4, 3, 2, 2), also=CONTRACTIONS, error=16, dtypes=FLOATS)
def convolution_of_one_pixel(v: Value) -> Value | None:
    """a convolution whose kernel is as large as its images, or a gradient of it = a matrix product"""
    op, (a, b) = v.op, v.args
    if not isinstance(op, Convolution) or op.groups > 1 or any(map(any, op.padding)):
        return None
    ahead, _, slope = (isinstance(op, kind) for kind in op.kin)
    if b.shape[2:] != (a if ahead else v).shape[2:]:
        return None
    x, w = (reshape(u, (u.shape[0], product(u.shape[1:]))) for u in (a, b))
    return reshape(MatMul(rounds=False)(swap_last(x) if slope else x, swap_last(w) if ahead else w), v.shape)


RULES = (expand_composite, product_of_nothing, product_of_integers, convolution_of_one_pixel)


def expand(graph: Graph, off: Collection[str] = (), report: Report | None = None, direct: bool = False) -> Graph:
    """The graph without composite ops and contractions that no kernel takes; name rules in `off` to leave them out."""
    graph = written_out(graph)
    others = {type(v.op) for v in graph.everything if v.op.family == "composite"}.difference(COMPOSITES)
    rules = (*RULES, replace(expand_composite, also=tuple(others))) if others else RULES
    return open_contractions(rewrite(graph, rules, off, report), direct)
