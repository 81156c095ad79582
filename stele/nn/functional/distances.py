"""Norms along an axis, and how far apart vectors are."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Value, literal
from stele.ir.types import axis_of, broadcast_shapes, number_of, show
from stele.ops.arguments import number
from stele.ops.elementwise.arithmetic import Maximum
from stele.ops.elementwise.unary import stop_gradient
from stele.ops.gather import Gather
from stele.ops.linear import broadcast, reshape
from stele.ops.norms import vector_norm
from stele.ops.statistics import sum


def normalize(input: Value, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float = 1e-12) -> Value:
    """The elements of x divided by their `p`-norm over the axis `dim`, or over several; norms count as `eps` at least.

    A number is what `dim=0` of it says, as in PyTorch. (`st.normalize` is another: it subtracts the mean.) Integers
    become float32. Raises ShapeError for an axis that x does not have.

    >>> F.normalize(st.tensor([[3.0, 4.0]])).tolist()
    [[0.6, 0.8]]
    """
    row = input if input.ndim else reshape(input, (1,))
    axes = dim if isinstance(dim, int) else tuple(dim)
    size = vector_norm(row, ord=p, axis=axes, keepdims=True)
    return reshape(row / Maximum()(size, eps), input.shape)


def cosine_similarity(x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Value:
    """The cosine of the angle between the vectors along the axis `dim` of `x1` and `x2`, which broadcast.

    Their dot product over the product of their norms, each of which counts as `eps` at least, without a derivative for
    that (PyTorch's rule). Integers become float32. Raises ShapeError where they do not broadcast and for an axis that
    they do not have.

    >>> F.cosine_similarity(st.tensor([[1.0, 0.0], [1.0, 0.0]]), st.tensor([[2.0, 0.0], [3.0, 3.0]]))
    tensor([1.        , 0.70710677])
    """
    shape = broadcast_shapes(x1.shape, x2.shape)
    a, b = broadcast(x1, shape), broadcast(x2, shape)
    if not shape:
        a, b = reshape(a, (1,)), reshape(b, (1,))
    axis = axis_of(dim, a.ndim)
    sizes = [vector_norm(v, ord=2, axis=axis, keepdims=True) for v in (a, b)]
    least = number(eps, "eps of cosine_similarity", 0)
    bounded = [n + stop_gradient(Maximum()(n, least) - n) for n in sizes]
    return sum((a / bounded[0]) * (b / bounded[1]), axis=axis)


def pairwise_distance(x1: Value, x2: Value, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Value:
    """The `p`-norm of x1 - x2 + `eps` over the last axis, of `x1` and `x2` (N, D) or (D,), which broadcast.

    The axis is dropped unless `keepdim`. Integers become float32. Raises ShapeError where they do not broadcast.

    >>> F.pairwise_distance(st.tensor([[0.0, 3.0]]), st.tensor([[4.0, 0.0]]))
    tensor([5.])
    """
    return vector_norm(x1 - x2 + eps, ord=p, axis=-1, keepdims=keepdim)


def pdist(input: Value, p: float = 2.0) -> Value:
    """The `p`-norms of the differences of all pairs of rows of x (N, M): (N * (N - 1) / 2,), row 0 with 1, 2 and so on.

    Integers become float32. Raises ShapeError for other than two axes, and for a negative p.

    >>> F.pdist(st.tensor([[0.0], [1.0], [3.0]])).tolist()
    [1.0, 3.0, 2.0]
    """
    if input.ndim != 2:
        raise ShapeError(f"pdist needs rows (N, M), got {show(input.shape)}")
    order = number(p, "p of pdist", 0)
    first, second = np.triu_indices(number_of(input.shape[0]), 1)
    if not len(first):
        return reshape(input, (-1,))[:0]
    rows = [Gather(0)(input, literal(places)) for places in (first, second)]
    return vector_norm(rows[0] - rows[1], ord=order, axis=1)
