"""The kernel of each op on many small matrices."""
from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from stele.backend.llvm.frame import Slots
from stele.backend.llvm.launch import Launch
from stele.backend.llvm.matrices import orthogonal, spectra, triangles
from stele.backend.llvm.matrices.sheets import Work
from stele.ir.graph import Op
from stele.kernel import kinds
from stele.kernel.machine import Machine
from stele.ops.factors import Cholesky, Eigh, Eigvalsh, Lu, Qr, Svd, Svdvals
from stele.ops.lapack import Cofactors, Det, Inv, Slogdet, Solve, SolveTriangular

ALGORITHMS: dict[type[Op], Callable[[Work], None]] = {
    Cholesky: triangles.cholesky, Solve: triangles.solve, Inv: triangles.solve, Lu: triangles.lu,
    SolveTriangular: triangles.solve_triangular, Det: triangles.det, Slogdet: triangles.slogdet,
    Cofactors: triangles.cofactors, Qr: orthogonal.qr, Eigh: spectra.eigh, Eigvalsh: spectra.eigh, Svd: spectra.svd,
    Svdvals: spectra.svd}

WAITING = Eigvalsh, Svdvals
"""What mostly waits for one root or quotient after another: two vectors of matrices are computed meanwhile."""


def emit_matrices(module: ir.Module, name: str, kernel: kinds.Matrices, slots: Slots, target: Machine) -> list[Launch]:
    """Adds the function of a kernel."""
    op = kernel.anchor.op
    work = Work(module, name, kernel.anchor, slots, target, vectors=2 if isinstance(op, WAITING) else 1)
    return [work.emit(ALGORITHMS[type(op)])]
