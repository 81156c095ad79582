"""How Stele spells PyTorch's calls that move, join, split and pick elements."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st

Call = Callable[..., Any]


def pad(x: Any, widths: Any, mode: str = "constant", value: Any = 0.0) -> Any:
    """PyTorch names the last axis first; negative widths cut, before what goes around is repeated."""
    pairs = [(widths[k], widths[k + 1]) for k in range(0, len(widths), 2)]
    whole = [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]
    wide = [(max(a, 0), max(b, 0)) for a, b in whole]

    def cut(y: Any) -> Any:
        return y[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(y.shape, whole))]
    if mode == "circular":
        return st.pad(cut(x), wide, mode=mode)
    return cut(st.pad(x, wide, value=0.0 if value is None else value, mode=mode))


def repeat_interleave(x: Any, repeats: Any, dim: int | None = None, output_size: Any = None) -> Any:
    return st.repeat_interleave(x, repeats, dim)


def tensor_split(x: Any, sections: Any, dim: int = 0) -> Any:
    cuts = sections.tolist() if isinstance(sections, st.Tensor) else sections
    return st.tensor_split(x, cuts if isinstance(cuts, int) else list(cuts), dim)


def unfold(x: Any, dim: int, size: int, step: int) -> Any:
    return st.unfold(x, dim, size, step) if x.ndim else st.unfold(st.reshape(x, -1), 0, size, step)[0]


MOVED: dict[str, Call] = {
    "column_stack": st.column_stack, "dstack": st.dstack, "hstack": st.hstack, "vstack": st.vstack,
    "diag": lambda x, diagonal=0: st.diag(x, diagonal), "diag_embed": lambda x, offset=0, dim1=-2, dim2=-1:
        st.diag_embed(x, offset, dim1, dim2), "diagonal": lambda x, offset=0, dim1=0, dim2=1:
        st.diagonal(x, offset, dim1, dim2), "einsum": lambda xs, equation: st.einsum(equation, *xs), "kron": st.kron,
    "masked_select": st.masked_select, "rot90": lambda x, k=1, dims=(0, 1): st.rot90(x, k, dims),
    "tensor_split": tensor_split, "unfold": unfold, "nn.functional.pad": pad, "__getitem__": lambda x, key: x[key],
    "repeat_interleave": repeat_interleave,
}
