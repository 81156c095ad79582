"""Models that go out as ONNX."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import stele as st
from stele.interop.convert.source import Source, flat, onnx_runtime
from stele.interop.convert.target import Run, Target, function
from stele.interop.onnx.module import load
from stele.interop.onnx.out.export import OPSET, export
from stele.ir.graph import Array


def written(source: Source, out: Path, example: Sequence[Array], fixed: Sequence[str], expected: Any, opset: int = OPSET
            ) -> Target:
    """A model of ONNX, of an opset."""
    export(function(source), [*map(st.tensor, example)], out, dims=source.opened(fixed), opset=opset)
    module, runtime = load(out), onnx_runtime()
    names, wanted = [i.name for i in module.inputs], expected(example)

    def session(x: Sequence[Array]) -> Any:
        return runtime.InferenceSession(str(out), providers=["CPUExecutionProvider"]).run(None, dict(zip(names, x)))

    def of(run: Run) -> Run:
        return lambda x: [joined(y, like) for y, like in zip(flat(run([*map(parted, x)])), wanted, strict=True)]

    weights = {name: load() for name, load in module.model.graph.weights.items()}
    return Target(weights, {"stele.interop.onnx": of(lambda x: module(*map(st.tensor, x)))} |
                  ({"ONNX Runtime": of(session)} if runtime else {}))


def parted(x: Array) -> Array:
    """Complex numbers as ONNX has them: pairs of real ones, on a last axis."""
    return x[..., None].view(f"f{x.itemsize // 2}") if x.dtype.kind == "c" else x


def joined(y: Array, like: Array) -> Array:
    """A result of ONNX as the numbers that it stands for."""
    return np.ascontiguousarray(y).view(like.dtype)[..., 0] if like.dtype.kind == "c" else y
