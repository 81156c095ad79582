"""PyTorch's factors and solutions of matrices. What it leaves for its own gradients is None."""
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false
from __future__ import annotations

from typing import Any

import stele as st
from stele.errors import DataError
from stele.interop.torch.elementwise import Rules


def fine(x: Any) -> Any:
    """That all matrices were factored: where one cannot be, Stele has raised LinAlgError."""
    return st.zeros(tuple(x.shape[:-2]), dtype="int32")


def solve(a: Any, b: Any, left: bool = True, check: bool = False) -> Any:
    """The solutions of a @ x = b, or of x @ a = b."""
    b = b.unsqueeze(-1) if (is_row := b.ndim == 1 or b.shape == a.shape[:-1]) else b
    x = st.linalg.solve(a, b) if left else st.linalg.solve(a.mT, b.mT).mT
    return x.squeeze(-1) if is_row else x, None, None, fine(a)


def qr(x: Any, mode: str = "reduced") -> Any:
    """Orthogonal columns, and what they are multiplied with."""
    if mode == "r":
        return st.empty((0,), dtype=x.dtype), st.linalg.qr(x).R
    return tuple(st.linalg.qr(x, mode))


def svd(x: Any, full: bool = False, vectors: bool = True, driver: Any = None) -> Any:
    """Singular values between their vectors, or alone."""
    return tuple(st.linalg.svd(x, full)) if vectors else (None, st.linalg.svdvals(x), None)


def eigh(x: Any, side: str = "L", vectors: bool = True) -> Any:
    """Eigenvalues of symmetric matrices, with their vectors or alone."""
    return tuple(st.linalg.eigh(x, side)) if vectors else (st.linalg.eigvalsh(x, side), None)


def lu(x: Any, pivot: bool = True) -> Any:
    """A permutation, and triangular factors of x."""
    if not pivot:
        raise DataError("factors of matrices exchange rows here, got lu with pivot=False")
    return tuple(st.linalg.lu(x))


def lu_factor(x: Any, pivot: bool = True, check: bool = False) -> Any:
    """Both factors in one matrix, and exchanged rows, which PyTorch counts from 1."""
    if not pivot:
        raise DataError("factors of matrices exchange rows here, got lu_factor with pivot=False")
    y, pivots = st.linalg.lu_factor(x)
    return y, (pivots + 1).astype("int32"), fine(x)


def lu_solve(x: Any, pivots: Any, b: Any, left: bool = True, adjoint: bool = False) -> Any:
    """The solutions of a @ y = b by the factors of a."""
    if adjoint or not left:
        raise DataError("lu_solve solves a @ y = b here, got adjoint=True or left=False")
    return st.linalg.lu_solve(x, pivots - 1, b)


RULES: Rules = {
    "linalg_lu": lu, "linalg_lu_factor_ex": lu_factor, "linalg_lu_solve": lu_solve,
    "linalg_inv_ex": lambda x, check=False: (st.linalg.inv(x), fine(x)),
    "linalg_cholesky_ex": lambda x, upper=False, check=False: (st.linalg.cholesky(x, upper=upper), fine(x)),
    "_linalg_det": lambda x: (st.linalg.det(x), None, None),
    "_linalg_slogdet": lambda x: (*st.linalg.slogdet(x), None, None),
    "_linalg_solve_ex": solve, "linalg_qr": qr, "_linalg_svd": svd, "_linalg_eigh": eigh,
    "linalg_solve_triangular": lambda a, b, upper, left=True, unit=False: st.linalg.solve_triangular(
        a, b, upper=upper, left=left, unitriangular=unit),
    "linalg_pinv.atol_rtol_tensor": lambda x, atol=None, rtol=None, hermitian=False: st.linalg.pinv(
        x, rtol, atol, hermitian),
    "linalg_eig": lambda x: tuple(st.linalg.eig(x)), "linalg_householder_product": st.linalg.householder_product,
    "cholesky": lambda x, upper=False: st.linalg.cholesky(x, upper=upper),
    "cholesky_solve": lambda b, x, upper=False: st.linalg.cho_solve(x, b, upper=upper),
    "cholesky_inverse": lambda x, upper=False: st.linalg.cho_solve(x, st.eye(x.shape[-1], dtype=x.dtype), upper=upper),
    "linalg_matrix_exp": st.linalg.expm,
}
