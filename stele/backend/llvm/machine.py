"""The machine as blocking sees it."""
from __future__ import annotations

from dataclasses import dataclass, field

from stele.backend.llvm.choice import ESTIMATES, Choices


@dataclass(frozen=True)
class Machine:
    """What blocking depends on; never the number of cores. `pace` is how many vectors a core multiplies in the time of
    a load: less than 1 where vectors are loaded whole and multiplied in halves. `far` is what a vector costs besides
    where the first cache is too small for a panel of it, in multiplications. `amx` says that there are tile
    registers, with products of bfloat16.
    """

    vector_bytes: int = 64
    registers: int = 32
    fma: bool = True
    pace: float = 1.0
    far: float = 0.8
    amx: bool = False
    l1: int = 32 << 10
    l2: int = 1 << 20
    l3: int = 32 << 20
    choices: Choices = field(default=ESTIMATES, compare=False, repr=False)

    def lanes(self, size: int) -> int:
        """Elements of so many bytes that a vector holds."""
        return self.vector_bytes // size
