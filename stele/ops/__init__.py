"""One class per op, one file per family; `ALL` is every op by name."""
from __future__ import annotations

from ..ir.graph import Constant, Item, Literal, Op, Parameter
from . import contraction, generate, linear, operators, reduction
from .elementwise import arithmetic, binary, unary

ALL: dict[str, type[Op]] = {op.__name__: op for op in (
    Parameter, Literal, Constant, Item, *linear.ALL, *generate.ALL, *arithmetic.ALL, *unary.ALL, *binary.ALL,
    *reduction.ALL, *contraction.ALL)}
