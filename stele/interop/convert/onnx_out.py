"""Models that go out as ONNX."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stele as st
from stele.interop.convert.source import Source, onnx_runtime
from stele.interop.convert.target import Target, function
from stele.interop.onnx.module import load
from stele.interop.onnx.out.export import OPSET, export
from stele.ir.graph import Array


def written(source: Source, out: Path, example: Sequence[Array], fixed: Sequence[str], expected: Any, opset: int = OPSET
            ) -> Target:
    """A model of ONNX, of an opset."""
    export(function(source), [*map(st.tensor, example)], out, dims=source.opened(fixed), opset=opset)
    module, runtime = load(out), onnx_runtime()
    names = [i.name for i in module.inputs]

    def session(x: Sequence[Array]) -> Any:
        return runtime.InferenceSession(str(out), providers=["CPUExecutionProvider"]).run(None, dict(zip(names, x)))

    weights = {name: load() for name, load in module.model.graph.weights.items()}
    return Target(weights, {"stele.interop.onnx": lambda x: module(*map(st.tensor, x))} |
                  ({"ONNX Runtime": session} if runtime else {}))
