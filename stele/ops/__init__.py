"""One class per op, one file per family; `ALL` is every op by name, `FUNCTIONS` every function users may call."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.graph import Constant, Item, Literal, Op, Parameter, Value
from . import (
    composite,
    contraction,
    control,
    functional,
    generate,
    indexing,
    linear,
    operators,
    pooling,
    random,
    reduction,
    shaping,
    statistics,
)
from .elementwise import arithmetic, binary, unary

ALL: dict[str, type[Op]] = {op.__name__: op for op in (
    Parameter, Literal, Constant, Item, *linear.ALL, *generate.ALL, *arithmetic.ALL, *unary.ALL, *binary.ALL,
    *reduction.ALL, *contraction.ALL, *random.ALL, *control.ALL, *composite.ALL, *pooling.ALL)}
