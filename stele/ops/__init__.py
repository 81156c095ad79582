"""One class per op, one file per family; `ALL` is every op by name."""
from __future__ import annotations

from stele.ir.graph import Constant, Item, Literal, Op, Parameter
from stele.ops import (
    composite,
    contraction,
    control,
    counting,
    cumulative,
    factors,
    fourier,
    gather,
    generate,
    lapack,
    linear,
    operators,
    parts,
    pooling,
    random,
    reduction,
    sorting,
    windows,
)
from stele.ops.elementwise import arithmetic, binary, elementary, signs, special, unary

__all__ = ["ALL", "operators"]

FAMILIES = (linear, parts, windows, generate, arithmetic, unary, binary, elementary, signs, special, gather, reduction,
            contraction, random, control, composite, pooling, lapack, factors, fourier, cumulative, sorting, counting)
LEAVES: tuple[type[Op], ...] = Parameter, Literal, Constant, Item

ALL: dict[str, type[Op]] = {op.__name__: op for op in (*LEAVES, *(op for family in FAMILIES for op in family.ALL))}
