"""Linear algebra as users write it: factors, solutions and spectra of matrices and of stacks of them.

LAPACK computes them, and kernels of our own stacks of small matrices (docs/matrices.md).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stele.errors import ShapeError
from stele.ir.graph import Value
from stele.ir.sizes import Dim
from stele.ir.types import DType, below, float32, number_of, promote, same, show
from stele.ops.arguments import choice, number
from stele.ops.contraction import matmul
from stele.ops.diagonals import tril, triu
from stele.ops.elementwise.arithmetic import Maximum, Select
from stele.ops.elementwise.base import Operand
from stele.ops.elementwise.unary import stop_gradient
from stele.ops.factors import (
    Cholesky,
    Eig,
    Eigh,
    Eigvals,
    Eigvalsh,
    Exchanged,
    Lu,
    Qr,
    Svd,
    Svdvals,
    exchange,
    first,
    identity,
)
from stele.ops.generate import quantity
from stele.ops.joining import concatenate
from stele.ops.lapack import Det, Expm, Inv, Pinv, Slogdet, Solve, SolveTriangular, adjoint, items, squares
from stele.ops.linear import broadcast, cast, expand_dims, full, reshape, slice_axis
from stele.ops.shaping import needs_matrices
from stele.ops.statistics import max as largest
from stele.ops.statistics import squares as squared
from stele.ops.statistics import sum


class QRResult(NamedTuple):
    """What `qr` gives: x = Q @ R.

    >>> isinstance(st.linalg.qr(st.eye(2)), st.linalg.QRResult)
    True
    """

    Q: Any
    R: Any


class LUResult(NamedTuple):
    """What `lu` gives: x = P @ L @ U.

    >>> isinstance(st.linalg.lu(st.eye(2)), st.linalg.LUResult)
    True
    """

    P: Any
    L: Any
    U: Any


class LUFactorResult(NamedTuple):
    """What `lu_factor` gives: L and U in one matrix, and what rows were exchanged.

    LU has L below and U on and above its diagonal, `pivots` the row that each row was exchanged for.

    >>> isinstance(st.linalg.lu_factor(st.eye(2)), st.linalg.LUFactorResult)
    True
    """

    LU: Any
    pivots: Any


class EigResult(NamedTuple):
    """What `eig` gives: x @ eigenvectors = eigenvectors * eigenvalues[..., None, :].

    >>> isinstance(st.linalg.eig(st.eye(2)), st.linalg.EigResult)
    True
    """

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What `eigh` gives: x @ eigenvectors = eigenvectors * eigenvalues[..., None, :].

    >>> isinstance(st.linalg.eigh(st.eye(2)), st.linalg.EighResult)
    True
    """

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """What `svd` gives: x = U @ diag(S) @ Vh.

    >>> isinstance(st.linalg.svd(st.eye(2)), st.linalg.SVDResult)
    True
    """

    U: Any
    S: Any
    Vh: Any


class SlogdetResult(NamedTuple):
    """What `slogdet` gives: det(x) = sign * exp(logabsdet).

    >>> isinstance(st.linalg.slogdet(st.eye(2)), st.linalg.SlogdetResult)
    True
    """

    sign: Any
    logabsdet: Any


class LstsqResult(NamedTuple):
    """What `lstsq` gives: the solution, the rank of the matrix and its `singular_values`.

    In `residuals` stands what is left over of each right side.

    >>> isinstance(st.linalg.lstsq(st.eye(2), st.ones(2, 1)), st.linalg.LstsqResult)
    True
    """

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


def cholesky(x: Value, *, upper: bool = False) -> Value:
    """The triangular y with y @ y.mT = x, for symmetric positive definite matrices x (..., n, n).

    y is lower triangular, and of x the lower triangle is read; with `upper` the other ones, and y.mT @ y = x. The
    gradient is that among symmetric matrices, a symmetric one (PyTorch's and NumPy's conventions). Of complex numbers
    the matrices are Hermitian, and .mT is a conjugate transpose. float64 and complex dtypes stay, others become
    float32; 16-bit floats raise DTypeError. Raises ShapeError unless x is square and, when run, NumPy's
    LinAlgError where a matrix is not positive definite.

    >>> x = st.tensor([[4.0, 2.0], [2.0, 5.0]])
    >>> st.linalg.cholesky(x).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    y = Cholesky("U" if upper else "L")(x)
    return adjoint(y) if upper else y


def solve(x: Value, b: Value) -> Value:
    """The y with x @ y = `b`: (..., n, n) and (..., n, k) -> (..., n, k), over leading axes that broadcast.

    A `b` of one axis is a vector, and so is y, another a stack of matrices (the array API standard's rule); where it is
    none for x, but one (..., n) of vectors, y is one too (PyTorch's). float64 where one of them is, else float32;
    16-bit floats are solved in float32 and rounded once. Raises ShapeError where x is not square or the sizes differ
    and, when run, NumPy's LinAlgError where a matrix is exactly singular.

    >>> x = st.tensor([[3.0, 1.0], [1.0, 2.0]])
    >>> y = st.linalg.solve(x, st.tensor([9.0, 8.0]))
    >>> np.allclose(y, [2, 3])
    True
    """
    met = promote(x.dtype, b.dtype)
    y = system(Solve(), *(cast(v, float32) if v.dtype.bits == 16 else v for v in (x, b)))
    return cast(y, met) if met.is_float else y


def system(op: Solve | SolveTriangular, x: Value, b: Value) -> Value:
    """The solution for right sides that are matrices, or one vector."""
    if x.ndim < 2 or b.ndim < 1:
        raise ShapeError(f"{op.called} needs matrices and what they are to give, got {show(x.shape)} and "
                         f"{show(b.shape)}", hint="Of numbers it is b / x.")
    is_vectors = b.shape == x.shape[:-1] and (b.ndim == 1 or not same(x.shape[-1], b.shape[-2]))
    if b.ndim > 1 and not is_vectors:
        return op(x, b)
    y = op(x, expand_dims(b, (b.ndim,)))
    return reshape(y, y.shape[:-1])


def solve_triangular(x: Value, b: Value, *, upper: bool = True, left: bool = True, unitriangular: bool = False
                     ) -> Value:
    """The y with x @ y = `b` for triangular matrices x (..., n, n) and b (..., n, k) or (n,); leading axes broadcast.

    Only the triangle that `upper` names is read; with `unitriangular` the diagonal is taken to be ones. Without `left`
    it is the y with y @ x = b, of b (..., k, n). Integers become float32. Raises ShapeError where shapes do not fit.

    >>> x = st.tensor([[2.0, 0.0], [1.0, 4.0]])
    >>> st.linalg.solve_triangular(x, st.tensor([2.0, 9.0]), upper=False).tolist()
    [1.0, 2.0]
    """
    if left:
        return system(SolveTriangular(not upper, unitriangular), x, b)
    needs_matrices("solve_triangular", b)
    return adjoint(system(SolveTriangular(upper, unitriangular), adjoint(x), adjoint(b)))


def cho_solve(x: Value, b: Value, *, upper: bool = False) -> Value:
    """The y with a @ y = `b`, where x is the Cholesky factor of a: lower triangular, or with `upper` upper triangular.

    Shapes are those of `solve`. Integers become float32. Raises ShapeError where shapes do not fit.

    >>> a, b = st.tensor([[4.0, 2.0], [2.0, 5.0]]), st.tensor([8.0, 12.0])
    >>> y = st.linalg.cho_solve(st.linalg.cholesky(a), b)
    >>> np.allclose(a @ y, b)
    True
    """
    y = solve_triangular(adjoint(x) if upper else x, b, upper=False)
    return solve_triangular(x if upper else adjoint(x), y, upper=True)


def inv(x: Value) -> Value:
    """The inverses of square matrices x (..., n, n).

    To solve equations write `solve`, which is faster and more exact. Dtypes as in `cholesky`. Raises ShapeError unless
    x is square and, when run, NumPy's LinAlgError where a matrix is exactly singular.

    >>> st.linalg.inv(st.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return Inv()(x)


def det(x: Value) -> Value:
    """The determinants (...) of square matrices (..., n, n). Their gradients hold for singular ones too.

    Dtypes as in `cholesky`. Raises ShapeError unless x is square.

    >>> st.linalg.det(st.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    8.0
    """
    return Det()(x)


def slogdet(x: Value) -> SlogdetResult:
    """The `sign` of the determinants of square matrices (..., n, n), and `logabsdet`, the log of their absolute values.

    Of a singular matrix they are 0 and -inf. Dtypes as in `cholesky`. Raises ShapeError unless x is square; a gradient
    raises LinAlgError where a matrix is singular.

    >>> sign, logabsdet = st.linalg.slogdet(st.tensor([[0.0, 1.0], [1.0, 0.0]]))
    >>> sign.tolist(), logabsdet.tolist()
    (-1.0, 0.0)
    """
    return SlogdetResult(*items(Slogdet()(x)))


def qr(x: Value, *, mode: str = "reduced") -> QRResult:
    """`Q`, whose columns are orthonormal, and the upper triangular `R` with Q @ R = x, of x (..., m, n).

    In mode "reduced" Q is (..., m, k) and R (..., k, n), k the smaller of m and n; in mode "complete" k is m. Signs are
    LAPACK's. In mode "r" there is R alone, and an empty Q. Dtypes as in `cholesky`. Raises ShapeError for fewer than
    two axes, OptionError for another mode. Gradients hold where the first k columns of x are linearly independent; mode
    "complete" has none where m > n.

    >>> x = st.tensor([[3.0, 1.0], [4.0, 2.0], [0.0, 5.0]])
    >>> Q, R = st.linalg.qr(x)
    >>> np.allclose(Q @ R, x, atol=1e-6), Q.shape, R.shape
    (True, (3, 2), (2, 2))
    """
    complete = choice(mode, "mode of qr", ("reduced", "complete", "r")) == "complete"
    needs_matrices("qr", x)
    if mode == "r":
        r = qr(x).R
        return QRResult(full((0,), 0, r.dtype), r)
    m, n = x.shape[-2:]
    if not below(m, n):
        return QRResult(*items(Qr(complete)(x)))
    q, r = items(Qr(False)(first(x, m)))        # the columns behind follow from q
    return QRResult(q, concatenate([r, adjoint(q) @ cast(slice_axis(x, -1, m, n - m), q.dtype)], axis=-1))


def lu(x: Value) -> LUResult:
    """`P`, a permutation, `L` lower triangular with ones on its diagonal and `U` upper triangular, with P @ L @ U = x.

    Of x (..., m, n), P is (..., m, m), L (..., m, k) and U (..., k, n), k the smaller of m and n. Rows are exchanged so
    that no entry of L exceeds 1. Dtypes as in `cholesky`. Raises ShapeError for fewer than two axes.

    >>> P, L, U = st.linalg.lu(st.tensor([[1.0, 2.0], [4.0, 4.0]]))
    >>> P.tolist(), L.tolist(), U.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.25, 1.0]], [[4.0, 4.0], [0.0, 1.0]])
    """
    y, _, rows = items(Lu()(x))
    m, n = y.shape[-2:]
    k = m if below(m, n) else n
    unit = first(identity(m, y), k)
    return LUResult(exchange(rows, y), tril(first(y, k), k=-1) + unit, slice_axis(triu(y), -2, 0, k))


def lu_factor(x: Value) -> LUFactorResult:
    """`LU`, which holds L below and U on and above its diagonal, and `pivots`, for `lu_solve`: of x (..., m, n).

    Row k was exchanged for row pivots[..., k], one after the other, counted from 0 (SciPy's and JAX's convention;
    PyTorch counts from 1); of rows that are equal up to rounding, either. Dtypes as in `cholesky`. Raises ShapeError
    for fewer than two axes.

    >>> LU, pivots = st.linalg.lu_factor(st.tensor([[1.0, 2.0], [4.0, 4.0]]))
    >>> LU.tolist(), pivots.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [1, 1])
    """
    return LUFactorResult(*items(Lu()(x))[:2])


def lu_solve(x: Value, pivots: Value, b: Value) -> Value:
    """The y with a @ y = `b`, where x and `pivots` are what `lu_factor` makes of a; shapes and errors as in `solve`.

    Integers become float32. Raises ShapeError where shapes do not fit.

    >>> a, b = st.tensor([[1.0, 2.0], [4.0, 4.0]]), st.tensor([5.0, 12.0])
    >>> y = st.linalg.lu_solve(*st.linalg.lu_factor(a), b)
    >>> np.allclose(a @ y, b)
    True
    """
    squares("lu_solve", x)
    p = exchange(Exchanged(x.shape[-1])(pivots), x)
    y = system(SolveTriangular(True, True), x, matmul(adjoint(p), b))
    return system(SolveTriangular(False, False), x, y)


def eig(x: Value) -> EigResult:
    """`eigenvalues` (..., n) and `eigenvectors` (..., n, n), as columns, of square matrices x (..., n, n).

    Both are complex, in no order; eigenvectors have length 1. Gradients of what depends on their phase mean nothing;
    those of eigenvectors hold where eigenvalues differ. Dtypes, made complex, as in `cholesky`. Raises ShapeError
    unless x is square and, when run, NumPy's LinAlgError for NaN and infinities.

    >>> w, v = st.linalg.eig(st.tensor([[0.0, 1.0], [-1.0, 0.0]]))
    >>> w.tolist()
    [1j, -1j]
    """
    return EigResult(*items(Eig()(x)))


def eigvals(x: Value) -> Value:
    """The eigenvalues (..., n), complex and in no order, of square matrices x (..., n, n); errors are those of `eig`.

    Raises ShapeError for other than square matrices.

    >>> st.linalg.eigvals(st.tensor([[0.0, 1.0], [-1.0, 0.0]])).tolist()
    [1j, -1j]
    """
    return Eigvals()(x)


def eigh(x: Value, *, UPLO: str = "L") -> EighResult:
    """`eigenvalues` (..., n), ascending, and `eigenvectors` (..., n, n), as columns, of symmetric matrices (..., n, n).

    Of x the triangle that `UPLO` names is read, "L" or "U"; gradients are symmetric, as of `cholesky`, which also says
    the dtypes. Eigenvectors have length 1, and the first large element of real ones is above 0: gradients of what
    depends on such a choice mean nothing. Gradients of eigenvectors hold where eigenvalues differ; parts that belong to
    equal ones are left out, where PyTorch and JAX give NaN. Raises ShapeError unless x is square, OptionError for
    another UPLO and, when run, NumPy's LinAlgError for NaN and infinities.

    >>> w, v = st.linalg.eigh(st.tensor([[2.0, 0.0], [0.0, 1.0]]))
    >>> w.tolist(), st.abs(v).tolist()
    ([1.0, 2.0], [[0.0, 1.0], [1.0, 0.0]])
    """
    return EighResult(*items(Eigh(choice(UPLO, "UPLO", ("L", "U")))(x)))


def eigvalsh(x: Value, *, UPLO: str = "L") -> Value:
    """The eigenvalues (..., n), ascending, of symmetric matrices x (..., n, n), of which one triangle is read.

    `UPLO`, gradients and errors are those of `eigh`. Integers become float32. Raises ShapeError for other than square
    matrices, OptionError for another triangle.

    >>> st.linalg.eigvalsh(st.tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 2.0]
    """
    return Eigvalsh(choice(UPLO, "UPLO", ("L", "U")))(x)


def svd(x: Value, *, full_matrices: bool = True, hermitian: bool = False) -> SVDResult:
    """`U`, the singular values `S` (..., k), descending, and `Vh` with U * S @ Vh = x, of matrices x (..., m, n).

    k is the smaller of m and n. U is (..., m, m) and Vh (..., n, n); without `full_matrices` U is (..., m, k) and Vh
    (..., k, n). Of `hermitian` matrices the lower triangle is read alone. The first large element of real columns of U
    is above 0. Gradients of what depends on such a choice
    mean nothing; those of U and Vh hold where singular values differ and none is 0, and parts that belong to equal ones
    are left out, where PyTorch and JAX give NaN. Dtypes as in `cholesky`. Raises ShapeError for fewer than two axes
    and, when run, NumPy's LinAlgError for NaN and infinities.

    >>> U, S, Vh = st.linalg.svd(st.tensor([[0.0, 2.0], [3.0, 0.0]]))
    >>> S.tolist(), np.allclose(U * S @ Vh, [[0, 2], [3, 0]])
    ([3.0, 2.0], True)
    """
    return SVDResult(*items(Svd(full_matrices)(whole(x, "svd") if hermitian else x)))


def svdvals(x: Value) -> Value:
    """The singular values (..., k), descending, of matrices x (..., m, n), k the smaller of m and n; as of `svd`.

    Integers become float32. Raises ShapeError for fewer than two axes.

    >>> st.linalg.svdvals(st.tensor([[0.0, 2.0], [3.0, 0.0]])).tolist()
    [3.0, 2.0]
    """
    return Svdvals()(x)


def tolerance(x: Value, rtol: Operand | None, atol: Operand | None = None) -> Value:
    """Which part of the largest singular value counts as zero: what was asked for, or, also for a number below 0, what
    rounding makes of zeros; no part beside an absolute tolerance above 0."""
    dtype = x.dtype.real if x.dtype.is_float and x.dtype.bits > 16 else float32
    if rtol is not None and not (isinstance(rtol, float | int) and rtol < 0):
        return said(rtol, dtype)
    sizes = (quantity(n, dtype) for n in x.shape[-2:])
    usual = Maximum()(*sizes) * float(np.finfo(dtype.numpy).eps)
    return usual if atol is None else Select()(said(atol, dtype) > 0, 0.0, usual)


def said(t: Operand, dtype: DType) -> Value:
    """A tolerance as an array."""
    return cast(t, dtype) if isinstance(t, Value) else quantity(1, dtype) * float(number(t, "a tolerance"))


def whole(x: Value, called: str) -> Value:
    """The symmetric matrices of which the lower triangle is that of x; gradients are those of the whole."""
    squares(called, x)
    y = tril(x) + adjoint(tril(x, k=-1))
    return stop_gradient(y) + (x - stop_gradient(x))


def top_of(s: Value) -> Value:
    """The largest of singular values, 0 of none."""
    return largest(s, axis=-1) if s.shape[-1] != 0 else sum(s, axis=-1)


def pinv(x: Value, *, rtol: Operand | None = None, atol: Operand | None = None, hermitian: bool = False) -> Value:
    """The pseudo-inverses (..., n, m) of matrices x (..., m, n), by singular values.

    Those up to `rtol`, a number or an array (...), times the largest one count as zero; without it, or for one
    below 0 (NumPy's rcond=-1), max(m, n) times the epsilon of the dtype. Those up to `atol` do as well, and if it
    is above 0 then rtol is 0 where it is not given. Of `hermitian` matrices the lower triangle is read alone.
    Dtypes as in `cholesky`. Gradients hold where the rank does not change. Raises ShapeError for fewer than two
    axes and, when run, NumPy's LinAlgError for NaN and infinities.

    >>> st.linalg.pinv(st.tensor([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    needs_matrices("pinv", x)
    x = whole(x, "pinv") if hermitian else x
    part = tolerance(x, rtol, atol)
    part = part if atol is None else Maximum()(part, said(atol, part.dtype) / top_of(Svdvals()(x)))
    return Pinv()(x, part)


def matrix_rank(x: Value, *, rtol: Operand | None = None, atol: Operand | None = None, hermitian: bool = False
                ) -> Value:
    """How many singular values of matrices x (..., m, n) exceed `rtol` times the largest one, as int64 (...).

    `rtol` is a number or an array (...), without it max(m, n) times the epsilon of the dtype; `atol` and `hermitian` as
    in `pinv`. Raises ShapeError for fewer than two axes, and where rtol does not broadcast.

    >>> st.linalg.matrix_rank(st.tensor([[1.0, 2.0], [2.0, 4.0]])).tolist()
    1
    """
    s = Svdvals()(whole(x, "matrix_rank") if hermitian else x)
    least = tolerance(x, rtol, atol) * top_of(s)
    least = least if atol is None else Maximum()(least, said(atol, s.dtype))
    return sum(s > expand_dims(least, (s.ndim - 1,)), axis=-1)


def lstsq(x: Value, b: Value, *, rtol: Operand | None = None) -> LstsqResult:
    """The y for which x @ y is nearest to `b`, the shortest of several: x (..., m, n), b (..., m, k) or (m,).

    It is `solution` (..., n, k) or (n,); `residuals` are the sums of squares of b - x @ y (..., k) or (), `rank` and
    `singular_values` those of x. Singular values up to `rtol` times the largest one count as zero, as in `pinv`, of
    which this is the product with b. What nobody looks at is not computed. Integers become float32. Raises ShapeError
    where the sizes do not fit and, when run, NumPy's LinAlgError for NaN and infinities.

    >>> x = st.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> y = st.linalg.lstsq(x, st.tensor([1.0, 3.0, 5.0]))
    >>> np.allclose(y.solution, [1, 2]), y.rank.tolist()
    (True, 2)
    """
    if b.ndim == 1:
        y = lstsq(x, expand_dims(b, (1,)), rtol=rtol)
        return y._replace(solution=y.solution[..., 0], residuals=y.residuals[..., 0])
    needs_matrices("lstsq", x)
    if b.ndim == 0 or not same(x.shape[-2], b.shape[-2]):
        raise ShapeError(f"lstsq needs x.shape[-2] == b.shape[-2], got {show(x.shape)} and {show(b.shape)}",
                         hint="A stack of vectors b (..., m) is one of matrices of one column: b[..., None].")
    y = pinv(x, rtol=rtol) @ b
    return LstsqResult(y, sum(squared(b - x @ y), axis=-2), matrix_rank(x, rtol=rtol), svdvals(x))


def expm(x: Value) -> Value:
    """The exponentials of square matrices x (..., n, n), by scaling and squaring (Higham 2005), computed in float64.

    Dtypes as in `cholesky`. Raises ShapeError unless x is square.

    >>> st.linalg.expm(st.zeros(2, 2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return Expm()(x)


def matrix_power(x: Value, n: int) -> Value:
    """The product of `n` times the same square matrix x (..., k, k); of 0 times the unit matrix, below 0 of inverses.

    In the dtype of x. Raises ShapeError unless x is square and, below 0, what `inv` raises.

    >>> st.linalg.matrix_power(st.tensor([[1, 1], [0, 1]]), 5).tolist()
    [[1, 5], [0, 1]]
    """
    squares("matrix_power", x)
    if n < 0:
        return matrix_power(inv(x), -n)
    found: Value | None = None
    while n:
        if n % 2:
            found = x if found is None else found @ x
        n //= 2
        x = x @ x if n else x
    return broadcast(identity(x.shape[-1], x), x.shape) if found is None else found


def householder_product(x: Value, tau: Value) -> Value:
    """The first n columns of the product of the reflections I - tau[k] v v.T, of x (..., m, n) and `tau` (..., k).

    Each v is a column of x with a one on the diagonal and zeros above it, as LAPACK's geqrf leaves them. Dtypes meet as
    in `matmul`. Raises ShapeError for fewer than two axes of x.

    >>> st.linalg.householder_product(st.tensor([[0.0], [1.0]]), st.tensor([1.0])).tolist()
    [[0.0], [-1.0]]
    """
    needs_matrices("householder_product", x)
    if not tau.ndim:
        raise ShapeError("householder_product needs tau (..., k), got a number")
    (m, n), many = x.shape[-2:], number_of(tau.shape[-1])
    if below(m, n) or below(n, many):
        raise ShapeError(f"householder_product needs x (..., m, n) with m >= n and tau (..., k) with k <= n, got "
                         f"{show(x.shape)} and {show(tau.shape)}")
    unit = broadcast(first(identity(m, x), n), x.shape)
    reflectors, y = tril(x, k=-1) + unit, unit
    for k in reversed(range(many)):
        v = slice_axis(reflectors, -1, k, 1)
        y = y - expand_dims(slice_axis(tau, -1, k, 1), (tau.ndim,)) * (v @ (adjoint(v) @ y))
    return y


def multi_dot(xs: Sequence[Value]) -> Value:
    """The product of several matrices `xs` in the order that costs least; the first and the last may be vectors.

    Where sizes are open they are multiplied from the left. Dtypes meet as in `add`. Raises ShapeError for no matrices,
    and where sizes differ.

    >>> x, y, z = st.ones(2, 30), st.ones(30, 3), st.ones(3)
    >>> st.linalg.multi_dot([x, y, z]).tolist()
    [90.0, 90.0]
    """
    if not xs:
        raise ShapeError("multi_dot needs at least one matrix, got none")
    for v in (*(v for v in (xs[0], xs[-1]) if v.ndim != 1), *xs[1:-1]):
        needs_matrices("multi_dot", v)
    sizes: list[Dim] = [1 if xs[0].ndim == 1 else xs[0].shape[-2], *(v.shape[-1] for v in xs)]
    if xs[-1].ndim == 1:
        sizes[-1] = 1
    return grouped(list(xs), cuts(sizes) if all(isinstance(n, int) for n in sizes) else {}, 0, len(xs))


def cuts(n: Sequence[Any]) -> dict[tuple[int, int], int]:
    """Where to part the product of matrices (n[0], n[1]), (n[1], n[2]), ...: for each range of them the best place."""
    last = len(n) - 1
    cost, best = {(k, k + 1): 0 for k in range(last)}, dict[tuple[int, int], int]()
    for length in range(2, last + 1):
        for i in range(last - length + 1):
            j = i + length
            cost[i, j], best[i, j] = min((cost[i, k] + cost[k, j] + n[i] * n[k] * n[j], k) for k in range(i + 1, j))
    return best


def grouped(xs: Sequence[Value], best: dict[tuple[int, int], int], i: int, j: int) -> Value:
    """The product of the matrices i..j-1, parted where it is best, else before the last."""
    if j - i == 1:
        return xs[i]
    k = best.get((i, j), j - 1)
    return matmul(grouped(xs, best, i, k), grouped(xs, best, k, j))
