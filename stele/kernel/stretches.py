"""Slices that are one stretch of memory as operands: kernels that differ in where theirs begin are alike."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stele.ir.graph import Value
from stele.kernel.kinds import Contraction, Launched, Nest
from stele.ops.linear import Slice


def apart(kernel: Launched) -> tuple[Launched, Mapping[Value, tuple[Value, int]]]:
    """The kernel where slices take the place of inputs that nothing else in it reads; of each slice that input, and how
    many bytes behind its first one it begins."""
    if not isinstance(kernel, Nest | Contraction):
        return kernel, {}
    readers: dict[Value, list[Value]] = {x: [] for x in kernel.inputs}
    for v in kernel.body:
        for x in readers.keys() & set(v.args):
            readers[x].append(v)
    alone = {x: found[0] for x, found in readers.items() if len(found) == 1 and found[0] not in kernel.results}
    found = {v: (x, first) for x, v in alone.items() if (first := begin(v)) is not None}
    slices = {x: v for v, (x, _) in found.items()}
    return replace(kernel, inputs=tuple(slices.get(x, x) for x in kernel.inputs),
                   body=tuple(v for v in kernel.body if v not in found)) if found else kernel, found


def begin(v: Value) -> int | None:
    """How many bytes behind its operand a slice begins, where it is one stretch of that operand's memory."""
    if not isinstance(v.op, Slice):
        return None
    first, stride, is_whole = 0, v.dtype.bytes, True
    for start, n, step, total in reversed([*zip(v.op.starts, v.shape, v.op.steps, v.args[0].shape)]):
        if n != 1 and (step != 1 or not is_whole):
            return None
        is_whole = is_whole and n == total
        first, stride = first + start * stride, stride * total
    return first if isinstance(first, int) else None
