"""What the kernels of one op are written with: functions of even units of work, memory that their launches share."""
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from llvmlite import ir

from stele.backend.llvm.dims import i64
from stele.backend.llvm.frame import Frame, Slots
from stele.backend.llvm.launch import BUFS, Launch, new_kernel, pointer
from stele.backend.llvm.memory import Memory
from stele.backend.llvm.nest import least, loop
from stele.backend.llvm.scalars import LLVMScalars
from stele.ir.sizes import Dim, ceil
from stele.kernel.machine import Machine


class Function:
    """A function being written whose tasks are some units of work each: `unit` loops over those of a call."""

    def __init__(self, module: ir.Module, name: str, slots: Slots, lanes: int, target: Machine) -> None:
        self.name, self.frame = name, Frame(new_kernel(module, name), slots, {})
        self.b = self.frame.b
        self.s = LLVMScalars(self.b, lanes, target.fma)
        self.memory = Memory(self.frame, self.s)
        self.lanes = lanes
        self.launch: Launch | None = None

    def shared(self, position: int) -> ir.Value:
        """The address of memory that launches share."""
        return self.frame.word(BUFS, position, pointer)

    @contextmanager
    def units(self, count: Dim, share: int = 1) -> Generator[ir.Value]:
        """A loop over the units of this call, `share` of them a task; the function ends behind it."""
        b, (begin, end) = self.b, self.frame.tasks
        stop = least(b, b.mul(end, i64(share)), self.frame.integer(count))
        with loop(b, b.mul(begin, i64(share)), stop) as unit:
            yield unit
        b.ret_void()
        self.launch = Launch(self.name, ceil(count, share))


def share_of(work: Dim, target: Machine) -> int:
    """How many units of some work each make a task worth its start."""
    return max(1, target.grain // max(work, 1)) if isinstance(work, int) else 1
