"""What one element of an op costs: its scalar code, counted by a builder that builds nothing."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from stele.ir.graph import Op
from stele.ir.types import DType, float32, uint32
from stele.kernel.functions import Functions
from stele.kernel.vocabulary import Element, Operand, is_half, result_dtype

SLOW = {"div": 4, "sqrt": 4, "idiv": 8}
"""Instructions that take as long as several others."""


class Counter(Functions[None]):
    """Counts instructions; paths that few elements take are free."""

    fused = True

    def __init__(self) -> None:
        self.count = 0

    def element(self, dtype: DType, cost: int = 1) -> Element[None]:
        self.count += cost
        return Element(self, None, dtype)

    def constant(self, value: float | int | bool, dtype: DType) -> Element[None]:
        return self.element(dtype, 0)

    def convert(self, x: Element[None], dtype: DType) -> Element[None]:
        return self.element(dtype)

    def unpack(self, x: Element[None]) -> Element[None]:
        return self.element(uint32)

    def pack(self, bits: Element[None], dtype: DType) -> Element[None]:
        return self.element(dtype)

    def bitcast(self, x: Element[None], dtype: DType) -> Element[None]:
        return self.element(dtype, 0)

    def select(self, c: Element[None], x: Operand, y: Operand) -> Element[None]:
        return self.element(self.meet(x, y)[0].dtype)

    def fma(self, x: Operand, y: Operand, z: Operand) -> Element[None]:
        return self.element(self.meet(x, y, z)[0].dtype)

    def rare(self, mask: Element[None], slow: Callable[[], Element[None]], fast: Element[None]) -> Element[None]:
        return fast

    def unary(self, name: str, x: Operand) -> Element[None]:
        return self.element(self.meet(x)[0].dtype, SLOW.get(name, 1))

    def binary(self, name: str, x: Operand, y: Operand) -> Element[None]:
        return self.element(result_dtype(name, self.meet(x, y)[0].dtype), SLOW.get(name, 1))


@lru_cache(maxsize=4096)
def instructions(op: Op, *x: DType) -> int:
    """About how many instructions `op.scalar` is for operands of these dtypes; a 16-bit float counts as float32.

    >>> from stele.ops.elementwise.arithmetic import Add
    >>> from stele.ir.types import float32
    >>> instructions(Add(), float32, float32)
    1
    """
    s = Counter()
    op.scalar(s, *(Element(s, None, float32 if is_half(d) else d) for d in x))  # type: ignore[attr-defined]
    return s.count
