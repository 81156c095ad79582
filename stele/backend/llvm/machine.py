"""The machine as schedules see it."""
from __future__ import annotations

from dataclasses import dataclass, field

from stele.backend.llvm.choice import ESTIMATES, Choices


@dataclass(frozen=True)
class Machine:
    """What schedules depend on; never the number of cores. `pace` is how many vectors a core multiplies in the time of
    a load: less than 1 where vectors are loaded whole and multiplied in halves. `far` is what a vector costs besides
    where the first cache is too small for a panel of it, in multiplications. `amx` says that there are tile
    registers, with products of bfloat16. So many `tasks` of a product keep any machine busy, and `fork` floating-point
    operations are worth a second thread: 3.5 us of one.
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
    tasks: int = 16
    fork: int = 400_000
    choices: Choices = field(default=ESTIMATES, compare=False, repr=False)

    @property
    def squeezes(self) -> bool:
        """Whether some lanes of a vector move together in one instruction (AVX-512)."""
        return self.vector_bytes == 64

    def lanes(self, size: int) -> int:
        """Elements of so many bytes that a vector holds."""
        return self.vector_bytes // size
