"""ONNX's products, convolutions, poolings and normalisations."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import Any

import stele as st
from stele.interop.onnx.values import Call, Rules


def gemm(c: Call, a: Any, b: Any, bias: Any = None) -> Any:
    """alpha a b + beta bias, either factor transposed where that is asked for."""
    a = st.matrix_transpose(a) if c.get("transA", 0) else a
    b = st.matrix_transpose(b) if c.get("transB", 0) else b
    y = a @ b
    y = y if c.get("alpha", 1.0) == 1.0 else y * c.get("alpha")
    if bias is None or c.get("beta", 1.0) == 0.0:
        return y
    return y + (bias if c.get("beta", 1.0) == 1.0 else bias * c.get("beta"))


RULES: Rules = {
    "MatMul": lambda c, x, y: x @ y,
    "Gemm": gemm,
    "Einsum": lambda c, *x: st.einsum(c.get("equation").replace(" ", ""), *x),
    "Det": lambda c, x: st.linalg.det(x),
}
