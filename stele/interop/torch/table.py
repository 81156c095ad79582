"""Which function stands for an op of PyTorch: the tables of all families, by op and overload."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stele.interop.torch import (
    contractions,
    draws,
    elementwise,
    indexing,
    linalg,
    movement,
    normalization,
    recurrent,
    reductions,
    resizing,
    sizes,
    windows,
)

FAMILIES = (elementwise, reductions, movement, indexing, contractions, windows, resizing, normalization, recurrent,
            linalg, sizes, draws)

RULES: dict[str, Callable[..., Any]] = {
    name: rule for family in FAMILIES for names, rule in family.RULES.items() for name in names.split()}
"""A rule takes all arguments of the op's schema in order, without those that say where results lie."""
