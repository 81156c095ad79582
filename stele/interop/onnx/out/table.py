"""Which rule writes an op: the tables of all families."""
from __future__ import annotations

from stele.interop.onnx.out import (
    contractions,
    control,
    elementwise,
    fourier,
    functions,
    indexing,
    linalg,
    movement,
    reductions,
)
from stele.interop.onnx.out.scope import Rule
from stele.ir.graph import Op

FAMILIES = elementwise, movement, reductions, contractions, indexing, control, fourier, functions
RULES: dict[type[Op], Rule] = {op: rule for family in FAMILIES for op, rule in family.RULES.items()}
MEANINGS: dict[type[Op], Rule] = {**contractions.MEANINGS, **indexing.MEANINGS, **linalg.MEANINGS}
