"""Linear algebra on tensors, under the names of the array API standard's extension."""
# Written by tools/make_stubs.py.
from stele.arrays.tensor import Tensor
from stele.arrays.tensor import TensorLike

__all__ = ['solve']
def solve(x: TensorLike, b: TensorLike) -> Tensor:
    """The y with x @ y = `b`: (..., n, n) and (..., n, k) -> (..., n, k), over leading axes that broadcast; by LAPACK.

    A `b` of one axis is a vector, and so is y (the array API standard's rule). float64 where one of them is, else
    float32; 16-bit floats are solved in float32 and rounded once. NumPy computes it in the midst of a program, on the
    thread that called. Raises ShapeError where x is not square or the sizes differ and, when run, NumPy's LinAlgError
    where a matrix is exactly singular.

    >>> x = st.tensor([[3.0, 1.0], [1.0, 2.0]])
    >>> y = st.linalg.solve(x, st.tensor([9.0, 8.0]))
    >>> np.allclose(y, [2, 3])
    True
    """
def __dir__() -> list[str]:
    """The public names alone."""
