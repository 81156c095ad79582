"""The kernel of each op whose loops are written for it alone."""
from __future__ import annotations

from llvmlite import ir

from stele.backend.llvm.frame import Slots
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.ordered.network import emit_network, is_short
from stele.backend.llvm.ordered.places import emit_places
from stele.backend.llvm.ordered.radix import emit_radix
from stele.backend.llvm.ordered.running import emit_running
from stele.backend.llvm.ordered.search import emit_search
from stele.backend.llvm.ordered.top import emit_top
from stele.ir.types import product
from stele.kernel import kinds
from stele.kernel.machine import Machine
from stele.ops.counting import Places
from stele.ops.cumulative import Cumulative
from stele.ops.sorting import ArgTop, Search


def emit_ordered(module: ir.Module, name: str, kernel: kinds.Ordered, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the functions of a kernel; each launch needs what the one before has made."""
    (y,) = kernel.results
    match y.op:
        case Cumulative():
            return emit_running(module, name, y, slots, target)
        case Places():
            return emit_places(module, name, y, slots, target)
        case ArgTop():
            return emit_top(module, name, y, slots, target)
        case Search():
            return emit_search(module, name, y, slots, target)
        case _ if is_short(y.shape[-1], product(y.shape[:-1])):
            return emit_network(module, name, y, slots, target)
        case _:
            return emit_radix(module, name, y, slots, target)
