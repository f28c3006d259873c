"""Quadratic programs, structured Hessians, solutions, KKT residuals and transforms.

``QuadraticProgram`` -> (a solver) -> ``QPSolution`` -> ``kkt.residuals``.
"""

from qpsvm.qp import exchange
from qpsvm.qp.canonical import from_canonical
from qpsvm.qp.canonical_form import CanonicalForm
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.kkt import residuals
from qpsvm.qp.kkt_residuals import Check, KKTResiduals, Residual, Tolerances
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.multipliers import multipliers_at
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.sample_gram import SampleGram
from qpsvm.qp.scaling import scale
from qpsvm.qp.solution import QPSolution, SolveStatistics, Status
from qpsvm.qp.stored_quadratic import DenseQuadratic, SparseQuadratic
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
