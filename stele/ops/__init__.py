"""One class per op, one file per family; `ALL` is every op by name."""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stele.ir.graph import Constant, Item, Literal, Op, Parameter
from stele.ops import operators

__all__ = ["ALL", "operators"]

FAMILIES = """
linear parts windows generate elementwise.arithmetic elementwise.unary elementwise.binary elementwise.elementary
elementwise.signs elementwise.special gather reduction contraction random control branch repeat checkpoint derived
fixed called foreign collective composite pooling lapack factors fourier cumulative sorting counting everyday bits"""
LEAVES: tuple[type[Op], ...] = Parameter, Literal, Constant, Item

if TYPE_CHECKING:
    ALL: dict[str, type[Op]]
else:
    def __getattr__(name: str) -> Any:
        """`ALL`, made when it is first asked for: it loads every family."""
        if name != "ALL":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        families = [import_module(f"stele.ops.{family}") for family in FAMILIES.split()]
        found = {op.__name__: op for op in (*LEAVES, *(op for family in families for op in family.ALL))}
        return globals().setdefault("ALL", found)
