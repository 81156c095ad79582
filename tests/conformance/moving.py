"""How Stele spells PyTorch's calls that move, join, split and pick elements."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stele as st

Call = Callable[..., Any]


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
    "tensor_split": tensor_split, "unfold": unfold, "__getitem__": lambda x, key: x[key],
    "repeat_interleave": repeat_interleave,
}
