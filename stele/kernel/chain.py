"""Kernels that a task may run one after the other: each computes a part of the leading axes from that part alone."""
from __future__ import annotations

from collections.abc import Sequence

from stele.ir.types import Shape, product
from stele.kernel.kinds import Kernel, Nest
from stele.kernel.slots import Slots
from stele.kernel.space import is_fold, reduced
from stele.ops.contraction import MatMul
from stele.ops.linear import Broadcast, Reshape, Transpose


def parts(kernels: Sequence[Kernel], slots: Slots) -> int:
    """How many parts of their leading axes kernels, the first a matrix product, compute on their own; 0 if they do not.

    What they make is only read in the part that it is made in, and written over nothing but what they made.
    """
    if not is_product(kernels[0]) or not all(isinstance(kernel, Nest) or is_product(kernel) for kernel in kernels):
        return 0
    lead = kernels[0].results[0].shape[:-2]
    made = {slots.of(v) for kernel in kernels for v in kernel.results}
    owned = all(slots.root(k) in made and slots.table[k].kind in ("temp", "result") for k in made)
    fits = owned and all(keeps(kernel, made, slots, lead) for kernel in kernels)
    return count if fits and isinstance(count := product(lead), int) and count >= slots.machine.tasks else 0


def is_product(kernel: Kernel) -> bool:
    return kernel.anchor is not None and isinstance(kernel.anchor.op, MatMul)


def keeps(kernel: Kernel, made: set[int], slots: Slots, lead: Shape) -> bool:
    """Whether what depends on a product, or on what is `made`, lies in the same part of the leading axes."""
    n = len(lead)
    moved = {v for v in kernel.inputs if slots.of(v) in made}
    moved |= {kernel.anchor} if kernel.anchor else set()
    for v in kernel.body:
        if v is kernel.anchor or moved.isdisjoint(v.args):
            continue
        match v.op:
            case Transpose(axes):           alike = axes[:n] == tuple(range(n))
            case Broadcast():               alike = v.ndim == v.args[0].ndim
            case Reshape() | MatMul():      alike = True
            case _ if is_fold(v):           alike = min(reduced(v), default=n) >= n
            case _:                         alike = v.op.family == "elementwise"
        if not alike:
            return False
        moved.add(v)
    return all(v.shape[:n] == lead for v in (*moved, *kernel.results))
