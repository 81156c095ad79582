"""Ops that ONNX Runtime's optimisers write in place of several, of its domain com.microsoft."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import Any

import stele as st
from stele.interop.onnx.contractions import gemm
from stele.interop.onnx.normalization import normalised
from stele.interop.onnx.recurrent import activation
from stele.interop.onnx.runtime import DOMAIN, biased, real
from stele.interop.onnx.values import Call, Rules, number
from stele.interop.onnx.windows import conv
from stele.nn import functional as F


def matmul(c: Call, a: Any, b: Any) -> Any:
    """alpha a b, of which matrices, and first axes, may be exchanged."""
    def exchanged(x: Any, side: str) -> Any:
        if c.get(f"transBatch{side}", 0):       # the first axis behind those between it and the last two
            x = st.moveaxis(x, 0, -2)
        return st.matrix_transpose(x) if c.get(f"trans{side}", 0) and x.ndim > 1 else x

    y = exchanged(a, "A") @ exchanged(b, "B")
    return y if c.get("alpha", 1.0) == 1.0 else y * c.get("alpha")


def activated(c: Call, y: Any) -> Any:
    """What an activation makes of a result, by parameters of which each activation has its own."""
    name = c.get("activation")
    said = c.get("activation_params") or [x for key in ("alpha", "beta", "gamma")
                                          if (x := c.get(f"activation_{key}")) is not None]
    more = {"Clip": st.clip, "HardSwish": F.hardswish,
            "Selu": lambda y, alpha, gamma: gamma * F.elu(y, alpha)}
    return y if not name else more[name](y, *said) if name in more else activation(name, *[*said, None, None][:2])(y)


def fused_conv(c: Call, x: Any, w: Any, bias: Any = None, more: Any = None) -> Any:
    """An activation of a convolution, to which another array is added."""
    y = conv(c, x, w, bias)
    return activated(c, y if more is None else y + more)


def skipped(c: Call, x: Any, skip: Any, scale: Any, shift: Any = None, bias: Any = None, centred: bool = True) -> Any:
    """A normalisation of x, what skipped a layer, and a bias; it gives their sum too."""
    total = biased(x + skip, bias)
    return (*normalised(c, total, scale, shift, c.get("epsilon", 1e-12), centred), total)[:max(c.count, 1)]


def skipped_by_square(c: Call, x: Any, skip: Any, scale: Any, bias: Any = None) -> Any:
    """The same by the root of the mean square."""
    return skipped(c, x, skip, scale, None, bias, centred=False)


def embedded(c: Call, ids: Any, kinds: Any, words: Any, places: Any, of_kind: Any, scale: Any, shift: Any,
             mask: Any = None, at: Any = None) -> Any:
    """Words, places and kinds looked up and normalised; how many words each row has; the sum."""
    at = st.arange(ids.shape[1]) if at is None else at
    total = st.take(words, ids, axis=0) + st.take(places, at, axis=0)
    total = biased(total, None if kinds is None else st.take(of_kind, kinds, axis=0))
    y, _, _ = normalised(c, total, scale, shift, c.get("epsilon", 1e-12))
    count = st.zeros((ids.shape[0],), dtype="int32") if mask is None else st.sum(mask, axis=1).astype("int32")
    return (y, count, total)[:max(c.count, 1)]


def quantised_embedded(c: Call, ids: Any, kinds: Any, words: Any, places: Any, of_kind: Any, scale: Any, shift: Any,
                       mask: Any, *by: Any) -> Any:
    """The same of quantised tables, whose scales and then zero points come last."""
    tables = (words, places, of_kind, scale, shift)
    words, places, of_kind, scale, shift = (None if x is None else real(x, *how)
                                            for x, *how in zip(tables, by[:5], by[5:]))
    return embedded(c, ids, kinds, words, places, of_kind, scale, shift, mask)


RULES: Rules = {f"{DOMAIN}:{name}": f for name, f in {
    "FusedMatMul": matmul, "TransposeMatMul": matmul, "FusedConv": fused_conv,
    "FusedGemm": lambda c, a, b, bias=None: activated(c, gemm(c, a, b, bias)),
    "Gelu": lambda c, x: F.gelu(x), "BiasGelu": lambda c, x, bias: F.gelu(x + bias),
    "FastGelu": lambda c, x, bias=None: F.gelu(biased(x, bias), "tanh"),
    "QuickGelu": lambda c, x: x * st.sigmoid(c.get("alpha", 1.702) * x),
    "SkipLayerNormalization": skipped, "SkipSimplifiedLayerNormalization": skipped_by_square,
    "EmbedLayerNormalization": embedded, "QEmbedLayerNormalization": quantised_embedded,
    "Inverse": lambda c, x: st.linalg.inv(x.astype("float32") if x.dtype == "float16" else x).astype(x.dtype),
    "ExpandDims": lambda c, x, axis: st.expand_dims(x, int(number(axis))),
    "Trilu": lambda c, x, k=None: (st.triu if c.get("upper", 1) else st.tril)(x, 0 if k is None else int(number(k))),
}.items()}
