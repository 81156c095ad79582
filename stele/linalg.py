"""Linear algebra on tensors, under the names of the array API standard's extension."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stele.arrays.spellings import LINALG, unknown
from stele.arrays.spoken import publish
from stele.arrays.tensor import lift, seeing
from stele.arrays.views import crossed
from stele.ops import contraction, linalg, linear, norms, products
from stele.ops.linalg import (
    EighResult,
    EigResult,
    LstsqResult,
    LUFactorResult,
    LUResult,
    QRResult,
    SlogdetResult,
    SVDResult,
)

__all__ = [
    "EigResult", "EighResult", "LUFactorResult", "LUResult", "LstsqResult", "QRResult", "SVDResult",
    "SlogdetResult", "cho_solve", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "expm", "householder_product", "inv", "kron", "lstsq", "lu", "lu_factor", "lu_solve", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr",
    "slogdet", "solve", "solve_triangular", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]

# fmt: off
cholesky, cho_solve              = lift(linalg.cholesky), lift(linalg.cho_solve)
solve, solve_triangular          = lift(linalg.solve), lift(linalg.solve_triangular)
inv, det, slogdet                = lift(linalg.inv), lift(linalg.det), lift(linalg.slogdet)
qr, lu                           = lift(linalg.qr), lift(linalg.lu)
lu_factor, lu_solve              = lift(linalg.lu_factor), lift(linalg.lu_solve)
eig, eigvals                     = lift(linalg.eig), lift(linalg.eigvals)
eigh, eigvalsh                   = lift(linalg.eigh), lift(linalg.eigvalsh)
svd, svdvals                     = lift(linalg.svd), lift(linalg.svdvals)
pinv, matrix_rank, lstsq         = lift(linalg.pinv), lift(linalg.matrix_rank), lift(linalg.lstsq)
expm, matrix_power               = lift(linalg.expm), lift(linalg.matrix_power)
householder_product, multi_dot   = lift(linalg.householder_product), lift(linalg.multi_dot)
matmul, matrix_transpose         = lift(contraction.matmul), seeing(linear.swap_last)
vecdot, tensordot, outer         = lift(products.vecdot), lift(products.tensordot), lift(products.outer)
cross, kron                      = lift(products.cross), lift(products.kron)
diagonal, trace                  = seeing(products.diagonal, crossed), lift(products.trace)
vector_norm, matrix_norm         = lift(norms.vector_norm), lift(norms.matrix_norm)
norm, cond                       = lift(norms.norm), lift(norms.cond)
# fmt: on

publish(list(globals().items()), __name__)

if not TYPE_CHECKING:   # or every name would be one to a type checker
    def __getattr__(name: str) -> Any:
        """No such name; the error says which one there is."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown("stele.linalg", name, __all__, LINALG)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
