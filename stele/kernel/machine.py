"""The machine as everything that decides sees it: what it carries, and what is worth its while."""
from __future__ import annotations

from dataclasses import dataclass, field

from stele.kernel.choice import ESTIMATES, Choices

LINE = 64
"""Bytes of a cache line; buffers begin with one."""


@dataclass(frozen=True)
class Machine:
    """What decisions depend on; never the number of cores.

    Its vectors: so many bytes in each of some registers; so many products of them are `pending` at once, for each takes
    some time. A product of two vectors is the unit of all prices: `pace` is that of a number loaded into all lanes,
    `far` what a vector costs besides that comes from the second cache, `shared` and `memory` what one costs from the
    third cache and from memory. `bf16` says that there are products of bfloat16, `amx` that tile registers have them
    too. Its caches: their bytes; `resident` elements of a row stay in one between the passes over it, and what costs
    up to `again` instructions and loads to compute again is dearer to keep in memory.

    Its tasks: so many `tasks` keep any machine busy, `grain` elements make one worth its start, `fork` floating-point
    operations a second thread: 3.5 us of one. A task takes at least `columns` adjacent columns, a few vectors side by
    side, and `steps` rows of a loop over steps, or `owned` elements that sums at computed indices go to. Fewer than
    `few` elements are not worth lanes of their own, fewer than `stretch` no loop around them in a row.
    """

    vector_bytes: int = 64
    registers: int = 32
    fma: bool = True
    pending: int = 8
    pace: float = 1.0
    far: float = 0.8
    shared: float = 2.0
    memory: float = 8.0
    amx: bool = False
    bf16: bool = False
    l1: int = 32 << 10
    l2: int = 1 << 20
    l3: int = 32 << 20
    resident: int = 1 << 16
    again: int = 10
    tasks: int = 16
    grain: int = 1 << 14
    fork: int = 400_000
    columns: int = 64
    steps: int = 32
    owned: int = 1 << 15
    few: int = 8
    stretch: int = 512
    choices: Choices = field(default=ESTIMATES, compare=False, repr=False)

    @property
    def squeezes(self) -> bool:
        """Whether some lanes of a vector move together in one instruction (AVX-512)."""
        return self.vector_bytes == 64

    def lanes(self, size: int) -> int:
        """Elements of so many bytes that a vector holds."""
        return self.vector_bytes // size


COMMON = Machine()
"""The machine of those who ask for none."""
