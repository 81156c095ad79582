"""Linear algebra on tensors, under the names of the array API standard's extension."""
# Written by tools/make_stubs.py.
from collections.abc import Sequence
from stele.arrays.tensor import DTypeLike
from stele.arrays.tensor import Tensor
from stele.arrays.tensor import TensorLike
from typing import Any
from stele.ops.linalg import EighResult, EigResult, LstsqResult, LUFactorResult, LUResult, QRResult, SlogdetResult, SVDResult

__all__ = ['EigResult', 'EighResult', 'LUFactorResult', 'LUResult', 'LstsqResult', 'QRResult', 'SVDResult',
    'SlogdetResult', 'cho_solve', 'cholesky', 'cond', 'cross', 'det', 'diagonal', 'eig', 'eigh', 'eigvals', 'eigvalsh',
    'expm', 'householder_product', 'inv', 'kron', 'lstsq', 'lu', 'lu_factor', 'lu_solve', 'matmul', 'matrix_norm',
    'matrix_power', 'matrix_rank', 'matrix_transpose', 'multi_dot', 'norm', 'outer', 'pinv', 'qr', 'slogdet', 'solve',
    'solve_triangular', 'svd', 'svdvals', 'tensordot', 'trace', 'vecdot', 'vector_norm']
def cholesky(x: TensorLike, upper: bool=False) -> Tensor:
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
def cho_solve(x: TensorLike, b: TensorLike, upper: bool=False) -> Tensor:
    """The y with a @ y = `b`, where x is the Cholesky factor of a: lower triangular, or with `upper` upper triangular.

    Shapes are those of `solve`. Integers become float32. Raises ShapeError where shapes do not fit.

    >>> a, b = st.tensor([[4.0, 2.0], [2.0, 5.0]]), st.tensor([8.0, 12.0])
    >>> y = st.linalg.cho_solve(st.linalg.cholesky(a), b)
    >>> np.allclose(a @ y, b)
    True
    """
def solve(x: TensorLike, b: TensorLike) -> Tensor:
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
def solve_triangular(x: TensorLike, b: TensorLike, upper: bool=True, left: bool=True, unitriangular:
        bool=False) -> Tensor:
    """The y with x @ y = `b` for triangular matrices x (..., n, n) and b (..., n, k) or (n,); leading axes broadcast.

    Only the triangle that `upper` names is read; with `unitriangular` the diagonal is taken to be ones. Without `left`
    it is the y with y @ x = b, of b (..., k, n). Integers become float32. Raises ShapeError where shapes do not fit.

    >>> x = st.tensor([[2.0, 0.0], [1.0, 4.0]])
    >>> st.linalg.solve_triangular(x, st.tensor([2.0, 9.0]), upper=False).tolist()
    [1.0, 2.0]
    """
def inv(x: TensorLike) -> Tensor:
    """The inverses of square matrices x (..., n, n).

    To solve equations write `solve`, which is faster and more exact. Dtypes as in `cholesky`. Raises ShapeError unless
    x is square and, when run, NumPy's LinAlgError where a matrix is exactly singular.

    >>> st.linalg.inv(st.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
def det(x: TensorLike) -> Tensor:
    """The determinants (...) of square matrices (..., n, n). Their gradients hold for singular ones too.

    Dtypes as in `cholesky`. Raises ShapeError unless x is square.

    >>> st.linalg.det(st.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    8.0
    """
def slogdet(x: TensorLike) -> SlogdetResult:
    """The `sign` of the determinants of square matrices (..., n, n), and `logabsdet`, the log of their absolute values.

    Of a singular matrix they are 0 and -inf. Dtypes as in `cholesky`. Raises ShapeError unless x is square; a gradient
    raises LinAlgError where a matrix is singular.

    >>> sign, logabsdet = st.linalg.slogdet(st.tensor([[0.0, 1.0], [1.0, 0.0]]))
    >>> sign.tolist(), logabsdet.tolist()
    (-1.0, 0.0)
    """
def qr(x: TensorLike, mode: str='reduced') -> QRResult:
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
def lu(x: TensorLike) -> LUResult:
    """`P`, a permutation, `L` lower triangular with ones on its diagonal and `U` upper triangular, with P @ L @ U = x.

    Of x (..., m, n), P is (..., m, m), L (..., m, k) and U (..., k, n), k the smaller of m and n. Rows are exchanged so
    that no entry of L exceeds 1. Dtypes as in `cholesky`. Raises ShapeError for fewer than two axes.

    >>> P, L, U = st.linalg.lu(st.tensor([[1.0, 2.0], [4.0, 4.0]]))
    >>> P.tolist(), L.tolist(), U.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.25, 1.0]], [[4.0, 4.0], [0.0, 1.0]])
    """
def lu_factor(x: TensorLike) -> LUFactorResult:
    """`LU`, which holds L below and U on and above its diagonal, and `pivots`, for `lu_solve`: of x (..., m, n).

    Row k was exchanged for row pivots[..., k], one after the other, counted from 0 (SciPy's and JAX's convention;
    PyTorch counts from 1); of rows that are equal up to rounding, either. Dtypes as in `cholesky`. Raises ShapeError
    for fewer than two axes.

    >>> LU, pivots = st.linalg.lu_factor(st.tensor([[1.0, 2.0], [4.0, 4.0]]))
    >>> LU.tolist(), pivots.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [1, 1])
    """
def lu_solve(x: TensorLike, pivots: TensorLike, b: TensorLike) -> Tensor:
    """The y with a @ y = `b`, where x and `pivots` are what `lu_factor` makes of a; shapes and errors as in `solve`.

    Integers become float32. Raises ShapeError where shapes do not fit.

    >>> a, b = st.tensor([[1.0, 2.0], [4.0, 4.0]]), st.tensor([5.0, 12.0])
    >>> y = st.linalg.lu_solve(*st.linalg.lu_factor(a), b)
    >>> np.allclose(a @ y, b)
    True
    """
def eig(x: TensorLike) -> EigResult:
    """`eigenvalues` (..., n) and `eigenvectors` (..., n, n), as columns, of square matrices x (..., n, n).

    Both are complex, in no order; eigenvectors have length 1. Gradients of what depends on their phase mean nothing;
    those of eigenvectors hold where eigenvalues differ. Dtypes, made complex, as in `cholesky`. Raises ShapeError
    unless x is square and, when run, NumPy's LinAlgError for NaN and infinities.

    >>> w, v = st.linalg.eig(st.tensor([[0.0, 1.0], [-1.0, 0.0]]))
    >>> w.tolist()
    [1j, -1j]
    """
def eigvals(x: TensorLike) -> Tensor:
    """The eigenvalues (..., n), complex and in no order, of square matrices x (..., n, n); errors are those of `eig`.

    Raises ShapeError for other than square matrices.

    >>> st.linalg.eigvals(st.tensor([[0.0, 1.0], [-1.0, 0.0]])).tolist()
    [1j, -1j]
    """
def eigh(x: TensorLike, UPLO: str='L') -> EighResult:
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
def eigvalsh(x: TensorLike, UPLO: str='L') -> Tensor:
    """The eigenvalues (..., n), ascending, of symmetric matrices x (..., n, n), of which one triangle is read.

    `UPLO`, gradients and errors are those of `eigh`. Integers become float32. Raises ShapeError for other than square
    matrices, OptionError for another triangle.

    >>> st.linalg.eigvalsh(st.tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 2.0]
    """
def svd(x: TensorLike, full_matrices: bool=True, hermitian: bool=False) -> SVDResult:
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
def svdvals(x: TensorLike) -> Tensor:
    """The singular values (..., k), descending, of matrices x (..., m, n), k the smaller of m and n; as of `svd`.

    Integers become float32. Raises ShapeError for fewer than two axes.

    >>> st.linalg.svdvals(st.tensor([[0.0, 2.0], [3.0, 0.0]])).tolist()
    [3.0, 2.0]
    """
def pinv(x: TensorLike, rtol: TensorLike | None=None, atol: TensorLike | None=None, hermitian: bool=False) -> Tensor:
    """The pseudo-inverses (..., n, m) of matrices x (..., m, n), by singular values.

    Those up to `rtol`, a number or an array (...), times the largest one count as zero; without it, or for one
    below 0 (NumPy's rcond=-1), max(m, n) times the epsilon of the dtype. Those up to `atol` do as well, and if it
    is above 0 then rtol is 0 where it is not given. Of `hermitian` matrices the lower triangle is read alone.
    Dtypes as in `cholesky`. Gradients hold where the rank does not change. Raises ShapeError for fewer than two
    axes and, when run, NumPy's LinAlgError for NaN and infinities.

    >>> st.linalg.pinv(st.tensor([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
def matrix_rank(x: TensorLike, rtol: TensorLike | None=None, atol: TensorLike | None=None, hermitian:
        bool=False) -> Tensor:
    """How many singular values of matrices x (..., m, n) exceed `rtol` times the largest one, as int64 (...).

    `rtol` is a number or an array (...), without it max(m, n) times the epsilon of the dtype; `atol` and `hermitian` as
    in `pinv`. Raises ShapeError for fewer than two axes, and where rtol does not broadcast.

    >>> st.linalg.matrix_rank(st.tensor([[1.0, 2.0], [2.0, 4.0]])).tolist()
    1
    """
def lstsq(x: TensorLike, b: TensorLike, rtol: TensorLike | None=None) -> LstsqResult:
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
def expm(x: TensorLike) -> Tensor:
    """The exponentials of square matrices x (..., n, n), by scaling and squaring (Higham 2005), computed in float64.

    Dtypes as in `cholesky`. Raises ShapeError unless x is square.

    >>> st.linalg.expm(st.zeros(2, 2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
def matrix_power(x: TensorLike, n: int) -> Tensor:
    """The product of `n` times the same square matrix x (..., k, k); of 0 times the unit matrix, below 0 of inverses.

    In the dtype of x. Raises ShapeError unless x is square and, below 0, what `inv` raises.

    >>> st.linalg.matrix_power(st.tensor([[1, 1], [0, 1]]), 5).tolist()
    [[1, 5], [0, 1]]
    """
def householder_product(x: TensorLike, tau: TensorLike) -> Tensor:
    """The first n columns of the product of the reflections I - tau[k] v v.T, of x (..., m, n) and `tau` (..., k).

    Each v is a column of x with a one on the diagonal and zeros above it, as LAPACK's geqrf leaves them. Dtypes meet as
    in `matmul`. Raises ShapeError for fewer than two axes of x.

    >>> st.linalg.householder_product(st.tensor([[0.0], [1.0]]), st.tensor([1.0])).tolist()
    [[0.0], [-1.0]]
    """
def multi_dot(xs: Sequence[TensorLike]) -> Tensor:
    """The product of several matrices `xs` in the order that costs least; the first and the last may be vectors.

    Where sizes are open they are multiplied from the left. Dtypes meet as in `add`. Raises ShapeError for no matrices,
    and where sizes differ.

    >>> x, y, z = st.ones(2, 30), st.ones(30, 3), st.ones(3)
    >>> st.linalg.multi_dot([x, y, z]).tolist()
    [90.0, 90.0]
    """
def matmul(x: TensorLike, w: TensorLike) -> Tensor:
    """The matrix product of x and `w`: (..., n, k) @ (..., k, m) -> (..., n, m), over leading axes that broadcast.

    A vector counts as a row on the left and as a column on the right, whose axis is dropped. Dtypes meet as in `add`;
    integers wrap, 16-bit floats are summed in float32. Raises ShapeError where the inner sizes differ, and for a number
    (write x * w).

    >>> x = st.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> (x @ st.tensor([1.0, 10.0])).tolist(), (x @ x).tolist()
    ([21.0, 43.0], [[7.0, 10.0], [15.0, 22.0]])
    >>> st.matmul(st.zeros((8, 2, 3)), st.zeros((3, 5))).shape
    (8, 2, 5)
    """
def matrix_transpose(x: TensorLike) -> Tensor:
    """The array with its last two axes exchanged: each matrix of a stack transposed (`x.mT`).

    In the dtype of x. Raises ShapeError for fewer than two axes.

    >>> st.matrix_transpose(st.zeros((8, 2, 3))).shape
    (8, 3, 2)
    """
def vecdot(x: TensorLike, z: TensorLike, axis: int=-1) -> Tensor:
    """The sum of conj(x) * z along an axis, which both have in one size; the other axes broadcast.

    Dtypes meet as in `multiply`, and stay: integers wrap. Raises ShapeError where the sizes differ.

    >>> st.vecdot(st.tensor([[1, 2], [3, 4]]), st.tensor([1, 10])).tolist()
    [21, 43]
    """
def tensordot(x: TensorLike, z: TensorLike, axes: int | Sequence[int | Sequence[int]]=2) -> Tensor:
    """The sum of products over `axes`: the last so many of x with the first of z, or a pair of lists of axes.

    The other axes of x stand first, then those of z. Dtypes meet as in `matmul`. Of a pair of axes one may have length
    1, which repeats (PyTorch's rule). Raises ShapeError where the axes do not pair up, or differ in size.

    >>> x, z = st.ones(2, 3, 4), st.ones(4, 3, 5)
    >>> st.tensordot(x, z, axes=1).shape, st.tensordot(x, z, axes=([1, 2], [1, 0])).shape
    ((2, 3, 3, 5), (2, 5))
    """
def outer(x: TensorLike, z: TensorLike) -> Tensor:
    """The products of each entry of a vector (n,) and each of another (m,): (n, m).

    Dtypes meet as in `multiply`. Raises ShapeError for other than one axis.

    >>> st.linalg.outer(st.tensor([1, 2]), st.tensor([3, 4, 5])).tolist()
    [[3, 4, 5], [6, 8, 10]]
    """
def cross(x: TensorLike, z: TensorLike, axis: int=-1) -> Tensor:
    """The cross product of vectors of three entries along an axis; the other axes broadcast.

    Dtypes meet as in `multiply`. Raises ShapeError where the axis has other than three entries.

    >>> st.linalg.cross(st.tensor([1, 0, 0]), st.tensor([0, 1, 0])).tolist()
    [0, 0, 1]
    """
def kron(x: TensorLike, z: TensorLike) -> Tensor:
    """The Kronecker product: each entry of x times all of z, sizes multiplied; axes count from the last.

    Raises ArgumentError for what is neither an array nor a number. Dtypes meet as in `multiply`.

    >>> st.linalg.kron(st.tensor([[1, 2]]), st.tensor([[1], [10]])).tolist()
    [[1, 2], [10, 20]]
    """
def diagonal(x: TensorLike, offset: int=0) -> Tensor:
    """The entries x[..., i, i + `offset`] of matrices x (..., m, n): the main diagonal, one above it, or below if < 0.

    Of an offset beyond the matrix it is (..., 0). In the dtype of x. Raises ShapeError for fewer than two axes.

    >>> x = st.tensor([[1, 2, 3], [4, 5, 6]])
    >>> st.linalg.diagonal(x).tolist(), st.linalg.diagonal(x, offset=1).tolist()
    ([1, 5], [2, 6])
    """
def trace(x: TensorLike, offset: int=0, dtype: DTypeLike | None=None) -> Tensor:
    """The sums of the diagonals that `offset` names, as in `diagonal`, of matrices x (..., m, n).

    In dtype where one is given, else as `sum` adds up. Raises ShapeError for fewer than two axes.

    >>> st.linalg.trace(st.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    5.0
    """
def vector_norm(x: TensorLike, ord: float=2, axis: int | Sequence[int] | None=None, keepdims: bool=False, dtype:
        DTypeLike | None=None) -> Tensor:
    """The norm of all entries, or of those along an axis or several: sum(abs(x) ** `ord`) ** (1 / ord).

    `ord` inf is the largest absolute value, -inf the smallest, 0 the number of entries that are not 0. Integers and
    bools become float32; 16-bit floats add up in float32; x becomes another `dtype` first where one is given. Of order
    2 no square over- or underflows. Where a norm is 0 its gradient is 0 (PyTorch's choice).
    Raises ShapeError for an axis that x does not have, and for the smallest of nothing.

    >>> x = st.tensor([[3.0, 4.0], [0.0, -2.0]])
    >>> st.linalg.vector_norm(x, axis=1).tolist(), st.linalg.vector_norm(x, ord=1).tolist()
    ([5.0, 2.0], 9.0)
    """
def matrix_norm(x: TensorLike, ord: Any='fro', axis: int | Sequence[int]=(-2, -1), keepdims: bool=False, dtype:
        DTypeLike | None=None) -> Tensor:
    """The norms of matrices x (..., m, n), whose rows and columns lie along a pair of axes.

    `ord` is "fro", the root of the sum of squares; "nuc", the sum of singular values; 2 or -2, the largest or smallest
    of them; 1 or -1, the largest or smallest sum of absolute values of a column; inf or -inf that of a row. Dtypes,
    and `dtype`, as in `vector_norm`. Raises ShapeError for fewer than two axes, OptionError for another order.

    >>> x = st.tensor([[3.0, 0.0], [4.0, 0.0]])
    >>> st.linalg.matrix_norm(x).tolist(), st.linalg.matrix_norm(x, ord=1).tolist()
    (5.0, 7.0)
    """
def norm(x: TensorLike, ord: Any=None, axis: int | Sequence[int] | None=None, keepdims: bool=False, dtype: DTypeLike |
        None=None) -> Tensor:
    """The `matrix_norm` over a pair of axes, or the `vector_norm` over one, as NumPy and PyTorch choose between them.

    Without `ord` it is the root of the sum of squares, over all axes where none are named; with it and without axes x
    is a vector or a matrix. `dtype` as in `vector_norm`. Raises ShapeError for other axes, and as those do.

    >>> x = st.tensor([[3.0, 0.0], [4.0, 0.0]])
    >>> st.linalg.norm(x).tolist(), st.linalg.norm(x, 1).tolist(), st.linalg.norm(x, axis=0).tolist()
    (5.0, 7.0, [5.0, 0.0])
    """
def cond(x: TensorLike, p: Any=None) -> Tensor:
    """The condition numbers of matrices x (..., m, n): the largest singular value by the smallest; `p` is 2 or None.

    With p = -2 it is the inverse of that; any other order of `matrix_norm` is the norm of x times that of its inverse.
    Of singular matrices it is inf, as of zeros in any order. Integers become float32. Raises ShapeError for fewer than
    two axes and for no elements, OptionError for another order.

    >>> st.linalg.cond(st.tensor([[4.0, 0.0], [0.0, 2.0]])).tolist()
    2.0
    """
def __dir__() -> list[str]:
    """The public names alone."""
