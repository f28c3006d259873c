"""Quadratic programs, structured Hessians, solutions, KKT residuals and transforms.

``QuadraticProgram`` -> (a solver) -> ``QPSolution`` -> ``kkt.residuals``.
"""

from qpsvm.qp import exchange
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.kkt import residuals
from qpsvm.qp.kkt_residuals import Check, KKTResiduals, Residual, Tolerances
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.multipliers import from_canonical, multipliers_at
from qpsvm.qp.program import CanonicalForm, QuadraticProgram
from qpsvm.qp.quadratic import DenseQuadratic, Quadratic, SparseQuadratic
from qpsvm.qp.sample_gram import SampleGram
from qpsvm.qp.scaling import scale
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.qp.transforms import drop_dependent_equalities, drop_infinite_rows, fold_bounds

__all__ = [
    "CanonicalForm",
    "Check",
    "DenseQuadratic",
    "KKTResiduals",
    "KernelQuadratic",
    "LowRankQuadratic",
    "QPSolution",
    "Quadratic",
    "QuadraticProgram",
    "Residual",
    "SampleGram",
    "SolveStatistics",
    "SparseQuadratic",
    "Status",
    "Tolerances",
    "drop_dependent_equalities",
    "drop_infinite_rows",
    "exchange",
    "fold_bounds",
    "from_canonical",
    "multipliers_at",
    "residuals",
    "scale",
]
