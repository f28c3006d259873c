"""Multiclass classification in one program: ``CrammerSinger``.

Primal, in (w_1, ..., w_k, xi)::

    minimize    1/2 sum_m |w_m|^2 + sum_i C_i xi_i
    subject to  w_{y_i}'x_i - w_m'x_i >= 1 - xi_i   for every m != y_i,     xi_i >= 0

Dual, in tau, one variable per sample and class::

    minimize    1/2 sum_m tau_m'K tau_m - sum_i tau_{i,y_i}
    subject to  sum_m tau_im = 0,   tau_im <= C_i [m = y_i]

so ``tau_im <= 0`` for the other classes. With a penalised intercept K is replaced by K + 1.
``C_i = C x class weight x sample weight``, divided by the sum of the sample weights for
``average_loss=True``.

Source: Crammer and Singer, "On the algorithmic implementation of multiclass kernel-based vector
machines", *JMLR* 2 (2001), sections 4 and 5; in this form Keerthi et al., "A sequential dual method
for large scale multi-class linear SVMs", KDD 2008, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qpsvm.chunked.sources import require_whole
from qpsvm.constraints import Constraints
from qpsvm.data.training_sets import multiclass_training_set
from qpsvm.exceptions import UnknownParameterError
from qpsvm.formulations.family import Formulation
from qpsvm.formulations.parameters import ClassWeight, per_sample_C
from qpsvm.kernels import KernelArgument, as_kernel
from qpsvm.kernels.gram import gram
from qpsvm.kernels.kernel_repair import Indefinite, require_policy
from qpsvm.machines.joint.model import JointIntercept, JointModel
from qpsvm.machines.joint.programs import (
    JointDualRecovery,
    JointPrimalRecovery,
    dual_program,
    primal_program,
)
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.problem import TrainingProblem
from qpsvm.machines.setup import Form
from qpsvm.numerics.arguments import Samples, Targets, Weights


@dataclass(frozen=True, eq=False, repr=False)
class JointProblem(TrainingProblem[JointModel, JointSolution]):
    """A multiclass problem as one quadratic program; see ``TrainingProblem``."""

    solution_type: ClassVar[type[JointSolution]] = JointSolution


@dataclass(frozen=True, repr=False)
class CrammerSinger(Formulation[JointProblem]):
    r"""The multiclass machine of Crammer and Singer.

    .. math::

        \min_w \; \tfrac{1}{2} \sum_m \lVert w_m \rVert^2 + C \sum_i \Bigl( \max_m (w_m^\top x_i + 1
        - [m = y_i]) - w_{y_i}^\top x_i \Bigr)

    Parameters
    ----------
    C : float
        Penalty on a margin violation, above 0 and finite.
    intercept : {"none", "penalized"}
        Whether the decision functions have no intercepts, or such that enter the objective as
        :math:`\tfrac{1}{2} \sum_m b_m^2`.
    class_weight : dict, "balanced" or None
        Factors of C by label.
    average_loss : bool
        Divide C by the sum of the sample weights, which is n without any.

    Raises
    ------
    InvalidParameterError
        C not a finite number above 0, another intercept, class weights not above zero.

    Notes
    -----
    The primal program has the variables (w_1, ..., w_k, xi), or (beta_1, ..., beta_k, xi), the dual
    one a variable tau per sample and class; its Hessian is structured, and K is stored once for all
    classes.

    With two classes it is ``SoftMargin`` with twice the C: :math:`w_2 = -w_1 = w / 2`. With
    ``intercept="penalized"`` it is what ``LinearSVC(multi_class="crammer_singer")`` minimises.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]], ["a", "b", "c"]
    >>> problem = qpsvm.CrammerSinger(C=10.0).dual(X, y)
    >>> problem.qp.n_variables, problem.qp.n_equalities
    (9, 3)
    >>> solution = qpsvm.solve(problem)
    >>> solution.predict([[0.0, 2.0], [-3.0, -2.0]])
    array(['a', 'c'], dtype='<U1')
    >>> qpsvm.verify(problem, solution).passed
    True
    """

    C: float = 1.0
    intercept: JointIntercept = "none"
    class_weight: ClassWeight = None
    average_loss: bool = False

    def _built(
        self,
        form: Form,
        X: Samples,
        y: Targets | None,
        kernel: KernelArgument,
        sample_weight: Weights | None,
        constraints: Constraints | None,
        indefinite: Indefinite,
    ) -> JointProblem:
        if constraints is not None:
            raise UnknownParameterError(
                "CrammerSinger takes no constraints on (w, b): it has a decision function per "
                "class; OneVsRest and OneVsOne take them."
            )
        require_policy(indefinite)
        function = as_kernel(kernel)
        require_whole(X, type(self).__name__)
        data = multiclass_training_set(X, y, function, sample_weight)
        resolved = function.resolve(data.X)
        C = per_sample_C(self.C, data, class_weight=self.class_weight, average=self.average_loss)
        K, repair = gram(resolved, data.X, indefinite=indefinite)
        model = JointModel(data, resolved, C.rounded, self.intercept, K, repair)
        if form == "primal":
            return JointProblem(
                primal_program(model), self, form, model, JointPrimalRecovery(model)
            )
        return JointProblem(dual_program(model), self, form, model, JointDualRecovery(model))
