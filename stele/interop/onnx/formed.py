"""Whether nodes have the inputs and attributes that ONNX says of their ops."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import onnx

from stele.interop.onnx.model import Model, Node, graphs


class Form(NamedTuple):
    """How many inputs an op takes, which of them by place it must have, and attributes that it must have."""

    least: int
    most: int
    needed: tuple[int, ...]
    attributes: tuple[str, ...]


@cache
def form(op: str, version: int, domain: str) -> Form | None:
    """What ONNX says of an op, None where it does not know it."""
    try:
        schema = onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    return Form(schema.min_input, schema.max_input, tuple(k for k, x in enumerate(schema.inputs) if x.option == single),
                tuple(name for name, a in schema.attributes.items() if a.required))


def faults(nodes: Sequence[Node], model: Model) -> Iterator[str]:
    """What nodes lack or have too much, those of graphs within nodes too."""
    for n in nodes:
        own = (n.domain, n.op) in model.functions
        if not own and (known := form(n.op, n.version, n.domain)) is not None:
            yield from fault(n, known)
        for g in (g for a in n.attributes.values() for g in graphs(a)):
            yield from faults(g.nodes, model)


def fault(n: Node, known: Form) -> Iterator[str]:
    """What is wrong with one node."""
    count = max((k + 1 for k, name in enumerate(n.inputs) if name), default=0)
    left_out = [k for k in known.needed if k < count and not n.inputs[k]]
    if not known.least <= count <= known.most:
        least, most = known.least, known.most
        wanted = f"{least}" if least == most else f"at least {least}" if most > 99 else f"{least} to {most}"
        yield f"{n} takes {wanted} input{'s' * (wanted != '1')}, got {count}"
    elif left_out:
        yield f"{n} needs its input {left_out[0]}, which is left out"
    if lacking := [name for name in known.attributes if name not in n.attributes]:
        yield f"{n} lacks the attribute{'s' * (len(lacking) > 1)} {', '.join(lacking)}"
