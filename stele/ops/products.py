"""Products and diagonals of vectors and matrices, as users write them."""
from __future__ import annotations

import builtins
from collections.abc import Sequence

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.types import DType, axes_of, axis_of, below, broadcast_shapes, product, same, show
from stele.ops.arguments import sequence, whole, wholes
from stele.ops.contraction import is_empty, matmul
from stele.ops.gather import Gather
from stele.ops.generate import iota, quantity
from stele.ops.joining import concatenate
from stele.ops.linear import Slice, broadcast, cast, expand_dims, reshape, slice_axis, transfer, transpose
from stele.ops.parts import conj
from stele.ops.shaping import needs_matrices
from stele.ops.statistics import sum


def diagonal(x: Value, *, offset: int = 0) -> Value:
    """The entries x[..., i, i + `offset`] of matrices x (..., m, n): the main diagonal, one above it, or below if < 0.

    Of an offset beyond the matrix it is (..., 0). In the dtype of x. Raises ShapeError for fewer than two axes.

    >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
    >>> st.linalg.diagonal(x).tolist(), st.linalg.diagonal(x, offset=1).tolist()
    ([1, 5], [2, 6])
    """
    needs_matrices("diagonal", x)
    *lead, m, n = x.shape
    row, column = builtins.max(0, -offset), builtins.max(0, offset)
    down, across = m - row, n - column
    if offset and (is_empty(down) or is_empty(across)):
        return slice_axis(reshape(x, (*lead, m * n)), -1, 0, 0)
    k, start = down if below(down, across) else across, row * n + column
    flat = reshape(x, (*lead, m * n))
    if isinstance(n, int):
        return Slice((*(0 for _ in lead), start), (*lead, k), (*(1 for _ in lead), n + 1))(flat)
    return Gather(len(lead))(flat, transfer(iota(k) * quantity(n + 1) + quantity(start), x.type.device))


def trace(x: Value, *, offset: int = 0, dtype: DType | None = None) -> Value:
    """The sums of the diagonals that `offset` names, as in `diagonal`, of matrices x (..., m, n).

    In dtype where one is given, else as `sum` adds up. Raises ShapeError for fewer than two axes.

    >>> st.linalg.trace(st.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    5.0
    """
    line = diagonal(x, offset=offset)
    return sum(line, axis=-1) if dtype is None else cast(sum(cast(line, dtype), axis=-1), dtype)


def vecdot(x: Value, z: Value, *, axis: int = -1) -> Value:
    """The sum of conj(x) * z along an axis, which both have in one size; the other axes broadcast.

    Dtypes meet as in `multiply`, and stay: integers wrap. Raises ShapeError where the sizes differ.

    >>> st.vecdot(st.tensor([[1, 2], [3, 4]]), st.tensor([1, 10])).tolist()
    [21, 43]
    """
    behind = axis_of(axis, builtins.max(x.ndim, z.ndim)) - builtins.max(x.ndim, z.ndim)
    needs_axis("vecdot", x, z, behind)
    y = conj(x) * z
    return cast(sum(y, axis=behind), y.dtype)


def needs_axis(called: str, x: Value, z: Value, behind: int) -> None:
    """Raises ShapeError unless both have an axis so far from the end, in one size."""
    if builtins.min(x.ndim, z.ndim) + behind < 0 or not same(x.shape[behind], z.shape[behind]):
        raise ShapeError(f"{called} needs one size along axis {behind} of both, got {show(x.shape)} and "
                         f"{show(z.shape)}", hint="Other axes broadcast, this one does not.")


def outer(x: Value, z: Value) -> Value:
    """The products of each entry of a vector (n,) and each of another (m,): (n, m).

    Dtypes meet as in `multiply`. Raises ShapeError for other than one axis.

    >>> st.linalg.outer(st.tensor([1, 2]), st.tensor([3, 4, 5])).tolist()
    [[3, 4, 5], [6, 8, 10]]
    """
    if x.ndim != 1 or z.ndim != 1:
        raise ShapeError(f"outer needs two vectors, got {show(x.shape)} and {show(z.shape)}",
                         hint="Write x.flatten(), or x[..., :, None] * z[..., None, :] for stacks.")
    return expand_dims(x, (1,)) * expand_dims(z, (0,))


def cross(x: Value, z: Value, *, axis: int = -1) -> Value:
    """The cross product of vectors of three entries along an axis; the other axes broadcast.

    Dtypes meet as in `multiply`. Raises ShapeError where the axis has other than three entries.

    >>> st.linalg.cross(st.tensor([1, 0, 0]), st.tensor([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    shape = broadcast_shapes(x.shape, z.shape)
    behind = axis_of(axis, len(shape)) - len(shape)
    needs_axis("cross", x, z, behind)
    if not same(x.shape[behind], 3):
        raise ShapeError(f"cross needs vectors of three entries along axis {behind}, got {show(x.shape)} and "
                         f"{show(z.shape)}")
    def turned(v: Value, k: int) -> Value:
        return concatenate([slice_axis(v, behind, k, 3 - k), slice_axis(v, behind, 0, k)], axis=behind)
    return turned(x, 1) * turned(z, 2) - turned(x, 2) * turned(z, 1)


def dot(x: Value, z: Value) -> Value:
    """The products of rows of x (..., k) with columns of z (..., k, m), all with all: NumPy's `dot`.

    Of vectors and matrices what `matmul` gives; of more axes (..., k) with (more, k, m) it is (..., more, m); a z of
    one axis is one column; of a number with anything it is `multiply`. Dtypes meet as in `multiply`. Raises ShapeError
    where k differs.

    >>> st.dot(st.tensor([1, 2]), st.tensor([3, 4])).tolist(), st.dot(st.ones(2, 3), st.ones(4, 3, 5)).shape
    (11, (2, 4, 5))
    """
    if x.ndim == 0 or z.ndim == 0:
        return x * z
    if builtins.max(x.ndim, z.ndim) <= 2 or z.ndim == 1:
        return matmul(x, z)
    if not same(x.shape[-1], z.shape[-2]):
        raise ShapeError(f"dot needs as many columns of x as rows of z, got {show(x.shape)} and {show(z.shape)}")
    return tensordot(x, z, axes=((x.ndim - 1,), (z.ndim - 2,)))


def addmm(x: Value, y: Value, z: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    """The sum `beta` * x + `alpha` * (y @ z), of matrices or stacks of them, or of vectors as of `matmul`.

    x broadcasts to the shape of the product; where beta is 0 its elements do not matter, NaN neither. A z of one axis
    is a vector, as of PyTorch's addmv. Dtypes meet as in `add`. Raises ShapeError where shapes do not fit.

    >>> st.addmm(st.tensor([1.0, 2.0]), st.eye(2), st.ones(2, 2), alpha=10).tolist()
    [[11.0, 12.0], [11.0, 12.0]]
    """
    product = matmul(y, z)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (x if beta == 1 else x * beta)


def kron(x: Value, z: Value) -> Value:
    """The Kronecker product: each entry of x times all of z, sizes multiplied; axes count from the last.

    Raises ArgumentError for what is neither an array nor a number. Dtypes meet as in `multiply`.

    >>> st.linalg.kron(st.tensor([[1, 2]]), st.tensor([[1], [10]])).tolist()
    [[1, 2], [10, 20]]
    """
    ndim = builtins.max(x.ndim, z.ndim)
    a, b = ((1,) * (ndim - v.ndim) + v.shape for v in (x, z))
    rows = reshape(x, tuple(n for k in a for n in (k, 1)))
    return reshape(rows * reshape(z, tuple(n for k in b for n in (1, k))), tuple(n * k for n, k in zip(a, b)))


def tensordot(x: Value, z: Value, *, axes: int | Sequence[int | Sequence[int]] = 2) -> Value:
    """The sum of products over `axes`: the last so many of x with the first of z, or a pair of lists of axes.

    The other axes of x stand first, then those of z. Dtypes meet as in `matmul`. Of a pair of axes one may have length
    1, which repeats (PyTorch's rule). Raises ShapeError where the axes do not pair up, or differ in size.

    >>> x, z = st.ones(2, 3, 4), st.ones(4, 3, 5)
    >>> st.tensordot(x, z, axes=1).shape, st.tensordot(x, z, axes=([1, 2], [1, 0])).shape
    ((2, 3, 3, 5), (2, 5))
    """
    a, b = paired(x, z, axes)
    x, z = repeated(x, a, z, b), repeated(z, b, x, a)
    if len(a) != len(b) or not builtins.all(same(x.shape[i], z.shape[j]) for i, j in zip(a, b)):
        raise ShapeError(f"tensordot needs axes in pairs of one size, got {a} of {show(x.shape)} and {b} of "
                         f"{show(z.shape)}")
    keep = [[k for k in range(v.ndim) if k not in used] for v, used in ((x, a), (z, b))]
    left, right = (tuple(v.shape[k] for k in kept) for v, kept in zip((x, z), keep))
    inner = product(tuple(x.shape[k] for k in a))
    y = matmul(reshape(transpose(x, (*keep[0], *a)), (product(left), inner)),
               reshape(transpose(z, (*b, *keep[1])), (inner, product(right))))
    return reshape(y, (*left, *right))


def repeated(x: Value, axes: tuple[int, ...], z: Value, others: tuple[int, ...]) -> Value:
    """x with those of its axes that have length 1 as long as the others, of z, that they are paired with."""
    sizes = {a: z.shape[b] for a, b in zip(axes, others) if x.shape[a] == 1}
    return broadcast(x, tuple(sizes.get(k, n) for k, n in enumerate(x.shape))) if sizes else x


def paired(x: Value, z: Value, axes: int | Sequence[int | Sequence[int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of each operand that a tensordot sums over."""
    if not isinstance(axes, Sequence):
        n = whole(axes, "axes of tensordot", 0, builtins.min(x.ndim, z.ndim))
        return tuple(range(x.ndim - n, x.ndim)), tuple(range(n))
    pair = sequence(axes, "axes of tensordot", "a whole number, or a pair of lists of axes")
    if len(pair) != 2:
        raise ShapeError(f"axes of tensordot must be a whole number, or a pair of lists of axes, got {axes}")
    first, second = (wholes(a, "every axis of tensordot") for a in pair)
    return axes_of(first, x.ndim), axes_of(second, z.ndim)
