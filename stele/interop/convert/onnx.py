"""Models of ONNX as sources."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stele.errors import DataError
from stele.interop.convert.source import Argument, Source, cleaned, onnx_runtime
from stele.interop.imported import word
from stele.interop.onnx.model import Input
from stele.interop.onnx.module import load
from stele.interop.onnx.values import dtype_named
from stele.ir.graph import Array


def opened(path: Path) -> Source:
    """The model of a file. Raises DataError for what is none, and for inputs that are no tensors."""
    module = load(path)
    graph = module.model.graph
    runtime = onnx_runtime()

    def original(arrays: Sequence[Array]) -> Any:
        session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return session.run(None, dict(zip((i.name for i in module.inputs), arrays)))

    weights = {name: graph.weights[name]() for name in graph.weights}
    names = cleaned(i.name for i in module.inputs)
    module.name_inputs(names)
    return Source("ONNX", module, tuple(map(argument, module.inputs, names)), weights, module.state_dict(),
                  tuple(n.op for n in graph.nodes), "ONNX Runtime", original if runtime else None)


def argument(i: Input, name: str) -> Argument:
    """An input as it is declared."""
    if i.kind != "tensor" or i.shape is None:
        raise DataError(f"input {i.name!r} is a {i.kind} without a shape, so no numbers can be drawn for it")
    shape = tuple(word(n) if isinstance(n, str) else n for n in i.shape)
    return Argument(name, str(dtype_named(i.dtype)), shape)
