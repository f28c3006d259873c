"""The solution of a machine with one decision function per class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.data.training_sets import MulticlassTrainingSet
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel
from qpsvm.kernels.kernel_repair import KernelRepair
from qpsvm.machines.conditions import alpha_unit
from qpsvm.machines.prediction import KernelMachine
from qpsvm.machines.settings import MACHINES
from qpsvm.machines.setup import NO_MULTIPLIERS
from qpsvm.numerics.arrays import Array, Dense, Index, Vector, freeze, store_fields
from qpsvm.qp.solution import QPSolution


@dataclass(frozen=True, eq=False)
class JointSolution(KernelMachine):
    r"""A trained machine with k decision functions that were learned together.

    :math:`f_m(x) = \mathrm{coef}_m^\top x + \mathrm{intercept}_m` for the linear kernel, and
    :math:`f_m(x) = \sum_i \mathrm{expansion}_{im} k(x_i, x) + \mathrm{intercept}_m` for the others.

    Attributes
    ----------
    alpha : array of shape (n, k)
        Dual variables tau: every row sums to zero, and only the entry of the sample's own class
        is above zero.
    expansion : array of shape (n, k) or None
        Coefficients of the kernel expansions: alpha itself from a dual program, the program's own
        beta from a kernel primal one; None when only ``coef`` exists.
    coef : array of shape (k, d) or None
        w_1, ..., w_k, for the linear kernel.
    intercept : array of shape (k,)
    slack : array of shape (n,)
        :math:`\max_m (f_m(x_i) + 1 - [m = y_i]) - f_{y_i}(x_i)`: by how much the sample's own class
        falls short of a margin of 1 over the best of the others.
    upper : array of shape (n,)
        ``C_i``, the bound of ``alpha[i, y_i]``.
    kernel : Kernel
    data : MulticlassTrainingSet
    qp : QPSolution
        The solution of the program this came from.
    repair : KernelRepair or None
        How an indefinite kernel was made a kernel.

    Raises
    ------
    InvalidDataError
        A field that is no array of numbers. Complex numbers and hidden entries of masked arrays
        become NaN.
    """

    alpha: Dense
    expansion: Dense | None
    coef: Dense | None
    intercept: Vector
    slack: Vector
    upper: Vector
    kernel: Kernel
    data: MulticlassTrainingSet
    qp: QPSolution
    repair: KernelRepair | None = None

    def __post_init__(self) -> None:
        # one precision for everything: what is measured must be what predicts
        names = ("alpha", "expansion", "coef", "intercept", "slack", "upper")
        store_fields(self, names, "a solution", InvalidDataError)

    @property
    def classes(self) -> Array:
        """The caller's labels, sorted like the columns of the decision function."""
        return self.data.classes

    @property
    def constraint_multipliers(self) -> Vector:
        """Empty: there are no constraints on the weights."""
        return NO_MULTIPLIERS

    @cached_property
    def support(self) -> Index:
        """Rows of the caller's X whose alphas are not zero."""
        threshold = MACHINES.support * alpha_unit(self.alpha, self.upper)
        used = np.max(np.abs(self.alpha), axis=1) > threshold
        return np.asarray(freeze(self.data.kept[used]))

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return len(self.support)

    def __repr__(self) -> str:
        return (
            f"JointSolution({self.status.value}, {len(self.classes)} classes, "
            f"{self.n_support} of {self.data.n_samples} support vectors, {self.kernel} kernel, "
            f"{self.data.storage} data)"
        )
