"""Protocols of the models and solutions that the verifier and certificates work on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias, TypeVar

from qpsvm.data.training_sets import TrainingSet
from qpsvm.kernels import Kernel
from qpsvm.kernels.kernel_repair import KernelRepair
from qpsvm.machines.form import Form
from qpsvm.machines.intercept import Interval
from qpsvm.machines.samples import MarginSummary, SampleTable
from qpsvm.numerics.arrays import Dense, Vector
from qpsvm.qp.quadratic import Quadratic
from qpsvm.qp.solution import QPSolution

Implication: TypeAlias = tuple[str, float | Vector, float | Vector]
"""The name of a quantity, as a solution states it, and as its weights imply it."""

SolutionT_contra = TypeVar("SolutionT_contra", contravariant=True)
EvaluationT = TypeVar("EvaluationT")
TableT = TypeVar("TableT", bound=SampleTable)


class TrainedMachine(Protocol):
    """Protocol of all solutions: dual variables, training data, the program's solution."""

    @property
    def alpha(self) -> Dense: ...
    @property
    def constraint_multipliers(self) -> Vector: ...
    @property
    def data(self) -> TrainingSet: ...
    @property
    def qp(self) -> QPSolution: ...


class VerifiableModel(Protocol[SolutionT_contra, EvaluationT, TableT]):
    """Protocol of a training problem for the verifier: both objectives, and other checks.

    ``SupportVectorModel`` is that of every family with one decision function, ``JointModel`` that
    of a program with one per class. A solution may come from any source, and nothing it says about
    itself is believed: it is evaluated on the training samples once, and everything else is a
    function of that evaluation. The type has three parameters: solutions, evaluations, and tables
    of samples.
    """

    @property
    def data(self) -> TrainingSet: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def repair(self) -> KernelRepair | None: ...

    # --- what kind of problem it is
    @property
    def always_has_an_optimum(self) -> bool: ...
    @property
    def is_hard(self) -> bool: ...
    @property
    def unit(self) -> float: ...
    @property
    def norm_curvature(self) -> float: ...
    @property
    def objective_floor(self) -> float: ...

    # --- bounds on the optimum
    def require_own(self, solution: SolutionT_contra) -> None: ...
    def decision_values(self, solution: SolutionT_contra) -> Any: ...
    def evaluate(self, solution: SolutionT_contra) -> EvaluationT: ...
    def primal_objective(self, evaluation: EvaluationT) -> float: ...
    def dual_objective(self, evaluation: EvaluationT) -> float: ...
    def infeasibility(self, evaluation: EvaluationT) -> float: ...
    def rounding(self, evaluation: EvaluationT, objective: float) -> float: ...
    def dual_rounding(self, evaluation: EvaluationT) -> float: ...
    def repair_size(self, evaluation: EvaluationT) -> float: ...
    def best_intercepts(self, evaluation: EvaluationT) -> Interval | None: ...

    def hessian_product(
        self, evaluation: EvaluationT, P: Quadratic, x: Vector | None
    ) -> Vector | None: ...

    # --- what else a solution states
    def sample_table(self, evaluation: EvaluationT) -> TableT: ...
    def summary(self, evaluation: EvaluationT, table: TableT) -> MarginSummary: ...
    def implications(
        self, form: Form, evaluation: EvaluationT, table: TableT, best: Any
    ) -> Iterator[Implication]: ...
    def weights_difference(self, evaluation: EvaluationT) -> float: ...
