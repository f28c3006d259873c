"""Primal and dual objective of the machine with one decision function per class.

With ``f_m(x) = w_m'phi(x) + b_m``, a sample of class ``y_i`` pays for the strongest of the others::

    1/2 sum_m (|w_m|^2 [+ b_m^2]) + sum_i C_i max_m (f_m(x_i) + 1 - [m = y_i] - f_{y_i}(x_i))

The maximum over m is one over a simplex, ``max_m c_m = max { p'c : p >= 0, 1'p = 1 }``, and the
dual variables of a sample are ``tau_im = C_i ([m = y_i] - p_m)``::

    sum_m tau_im = 0,     tau_im <= C_i [m = y_i],     w_m = sum_i tau_im phi(x_i)

A penalised intercept is the weight of a feature that is 1 everywhere: ``b_m = sum_i tau_im``.

Sources: Crammer and Singer, "On the algorithmic implementation of multiclass kernel-based vector
machines", *JMLR* 2 (2001), sections 4 and 5; Keerthi et al., "A sequential dual method for large
scale multi-class linear SVMs", KDD 2008, section 2.

``nearest_rows`` projects dual variables onto the rows' feasible sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.data.training_sets import MulticlassTrainingSet
from qpsvm.display import short_repr
from qpsvm.kernels import Kernel, Linear
from qpsvm.kernels.errors import EntryErrors
from qpsvm.kernels.gram import Gram
from qpsvm.kernels.kernel_repair import KernelRepair
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.score_errors import training_errors
from qpsvm.machines.setup import NO_MULTIPLIERS
from qpsvm.numerics.arrays import Dense, Mask, Vector, freeze, restore_frozen
from qpsvm.numerics.precision import EPS
from qpsvm.qp.kernel_quadratic import KernelQuadratic


def nearest_rows(V: Dense, upper: Dense) -> Dense:
    """Project V onto ``sum_m T_im = 0`` and ``T_im <= upper_im``, row by row.

    It is ``T = min(V - theta, upper)`` with one theta per row: ``upper - T`` is the projection of
    ``upper - V`` on a simplex of size ``sum_m upper_im``. Entries leave their bound in the order of
    ``V - upper``; with the first r of them free, theta is the sum of their V and of the bounds of
    the others, over r; the right r is the largest whose last entry is indeed free.

    Parameters
    ----------
    V : array of shape (n, k)
    upper : array of shape (n, k)
        Not negative, with a positive sum in every row.

    Returns
    -------
    array of shape (n, k)
        Rows that satisfy both conditions up to rounding stay as they are. Rows with NaN or
        infinite entries have NaN.

    Notes
    -----
    Source: Crammer and Singer, *JMLR* 2 (2001), section 5; Duchi et al., "Efficient projections
    onto the l1-ball for learning in high dimensions", ICML 2008, section 2.

    Examples
    --------
    >>> nearest_rows(np.array([[3.0, -1.0, 0.5]]), np.array([[2.0, 0.0, 0.0]]))
    array([[ 2.  , -1.75, -0.25]])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # the first projection rounds in units of V, which may be far larger than a feasible row
        return _projected(_projected(V, upper), upper)


def _projected(V: Dense, upper: Dense) -> Dense:
    """Project every row of V onto ``{v: sum v = 0, v <= upper}``, up to rounding in units of V."""
    sums, sizes = np.sum(V, axis=1), np.sum(np.abs(V), axis=1)
    holds = np.isfinite(sizes) & (np.abs(sums) <= V.shape[1] * EPS * sizes)
    holds &= np.all(upper >= V, axis=1)
    order = np.argsort(V - upper, axis=1)
    values, bounds = np.take_along_axis(V, order, 1), np.take_along_axis(upper, order, 1)
    held = np.sum(bounds, axis=1, keepdims=True) - np.cumsum(bounds, axis=1)
    theta = (np.cumsum(values, axis=1) + held) / np.arange(1, V.shape[1] + 1)
    free = np.count_nonzero(values - bounds < theta, axis=1)
    chosen = np.take_along_axis(theta, np.maximum(free - 1, 0)[:, None], 1)
    return np.where(holds[:, None], V, np.minimum(V - chosen, upper))


JointIntercept: TypeAlias = Literal["none", "penalized"]


@short_repr
@dataclass(frozen=True, eq=False)
class JointDecisions:
    """Decision values of a machine on the training samples.

    Attributes
    ----------
    solution : JointSolution
    scores : array of shape (n, k)
        ``w_m'phi(x_i)``: decision values without the intercepts. NaN without weights.
    """

    solution: JointSolution
    scores: Dense

    @property
    def decisions(self) -> Dense:
        """``f_m(x_i)``, shape (n, k)."""
        return self.scores + self.solution.intercept


@short_repr
@dataclass(frozen=True, eq=False)
class JointPair:
    """Primal and dual objective of one training problem, with its data, prices and kernel.

    Attributes
    ----------
    data : MulticlassTrainingSet
    kernel : Kernel
        With every parameter a number.
    box : array of shape (n,)
        ``C_i``.
    intercept : "none" or "penalized"
    gram : LowRankQuadratic or KernelQuadratic
        K, without the constant of a penalised intercept.
    repair : KernelRepair or None
        What was done to an indefinite K.
    """

    data: MulticlassTrainingSet
    kernel: Kernel
    box: Vector
    intercept: JointIntercept
    gram: Gram
    repair: KernelRepair | None = None

    def __post_init__(self) -> None:
        freeze(self.box)

    def __setstate__(self, state: dict[str, object]) -> None:
        restore_frozen(self, state)

    # --- what kind of problem it is --------------------------------------------------------------

    always_has_an_optimum = True
    is_hard = False
    unit = 1.0
    norm_curvature = 1.0
    objective_floor = 0.0  # w = 0 pays C_i for every sample: the optimum is above zero

    @property
    def is_linear(self) -> bool:
        """Return whether there are explicit weight vectors."""
        return isinstance(self.kernel, Linear)

    @property
    def constant(self) -> float:
        """The number that a penalised intercept adds to every entry of K."""
        return 1.0 if self.intercept == "penalized" else 0.0

    @cached_property
    def kernel_errors(self) -> EntryErrors | None:
        """Bounds on the errors of the kernel matrix; None where the matrix itself is the data."""
        return training_errors(self)

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return len(self.data.classes)

    @cached_property
    def own(self) -> Mask:
        """``[m = y_i]``, bool array of shape (n, k)."""
        return np.asarray(freeze(self.data.codes[:, None] == np.arange(self.n_classes)))

    @property
    def upper(self) -> Dense:
        """``C_i [m = y_i]``, shape (n, k)."""
        return np.where(self.own, self.box[:, None], 0.0)

    # --- the machine -----------------------------------------------------------------------------

    def kernel_product(self, V: Dense) -> Dense:
        """``K V`` for V of shape (n, k)."""
        if isinstance(self.gram, KernelQuadratic):
            return self.gram.gram.products(V)
        return np.column_stack([self.gram.matvec(column) for column in V.T])

    def coef(self, expansion: Dense) -> Dense | None:
        """``w_m = sum_i beta_im x_i``, shape (k, d), for the linear kernel; None for the others."""
        return np.asarray(self.data.X.T @ expansion).T if self.is_linear else None

    def intercepts(self, alpha: Dense) -> Vector:
        """``b_m = sum_i tau_im`` if penalised, else zero."""
        return np.asarray(self.constant * np.sum(alpha, axis=0))

    def decision_values(self, solution: JointSolution) -> JointDecisions:
        """Evaluate the decision functions of a solution on the training samples."""
        if solution.coef is not None:
            return JointDecisions(solution, np.asarray(self.data.X @ solution.coef.T))
        if solution.expansion is not None:
            return JointDecisions(solution, self.kernel_product(solution.expansion))
        return JointDecisions(solution, np.full(self.own.shape, np.nan))

    def squared_size(self, coef: Dense | None, expansion: Dense | None, b: Vector) -> float:
        """``sum_m |w_m|^2 + sum_m b_m^2``; NaN without weights."""
        if coef is not None:
            square = np.sum(coef * coef)
        elif expansion is not None:
            square = np.maximum(np.sum(expansion * self.kernel_product(expansion)), 0.0)
        else:
            return math.nan
        return float(square + b @ b)

    def shortfall(self, decisions: Dense) -> Vector:
        """``max_{m != y_i} f_m(x_i) + 1 - f_{y_i}(x_i)``, shape (n,): the slack where positive."""
        best = np.max(decisions, axis=1, where=~self.own, initial=-np.inf)
        return np.asarray(best + 1.0 - decisions[self.own])

    # --- the dual objective, for anything --------------------------------------------------------

    def feasible_dual(self, alpha: Dense, multipliers: Vector = NO_MULTIPLIERS) -> Dense:
        """Project tau onto the feasible set, row by row."""
        del multipliers
        return nearest_rows(alpha, self.upper)
