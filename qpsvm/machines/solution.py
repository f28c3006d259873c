"""The solution of a support vector machine: alpha, coef, intercept, slack."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qpsvm.data.training_sets import BinaryTrainingSet, TrainingSet
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel
from qpsvm.kernels.kernel_repair import KernelRepair
from qpsvm.machines.conditions import Conditions
from qpsvm.machines.intercept import Interval
from qpsvm.machines.prediction import KernelMachine
from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.arrays import Array, Index, Vector, freeze, store_fields
from qpsvm.qp.solution import QPSolution

VECTORS = ("alpha", "expansion", "coef", "slack", "constraint_multipliers")
"""Fields of an SVMSolution that are arrays."""


@dataclass(frozen=True, eq=False)
class SVMSolution(KernelMachine):
    r"""A support vector machine of any family with one decision function.

    The decision function is :math:`f(x) = \mathrm{coef}^\top x + \mathrm{intercept}` for the linear
    kernel and :math:`f(x) = \sum_i \mathrm{expansion}_i k(x_i, x) + \mathrm{intercept}` for the
    others (``DataDescription`` subtracts ``k(x, x)``).

    Attributes
    ----------
    alpha : array of shape (N,)
        Dual variables, one per condition: per training sample for classifiers, novelty detection
        and quantiles; ``(alpha, alpha*)`` of length 2n for the tube of a regression; one per pair
        for ``Ranking``.
    expansion : array of shape (n,) or None
        Coefficients of the kernel expansion: from a dual program ``s_i alpha_i`` (regression:
        ``alpha_i - alpha*_i``), the program's own ``beta`` from a kernel primal one; None when only
        ``coef`` exists.
    coef : array of shape (d,) or None
        w, for the linear kernel.
    intercept : float
    intercept_interval : Interval
        All intercepts that are equally good for these weights; more than a point when no support
        vector is free. ``intercept`` is the midpoint.
    width : float
        The half-width the program chose: rho of ``NuClassification``, epsilon of ``NuRegression``;
        0 for the others.
    slack : array of shape (N,)
        By how much each condition is missed: :math:`\max(0, 1 - s_i f(x_i))` for a classifier.
    constraint_multipliers : array of shape (m,)
        Of constraints on (w, b): inequalities (not negative), then equalities; else empty.
    conditions : Conditions
        What the training problem asks of the samples; its ``upper`` is the box ``C_i``.
    kernel : Kernel
    data : TrainingSet
    qp : QPSolution
        The solution of the program this came from.
    repair : KernelRepair or None
        How an indefinite kernel was made a kernel.

    Raises
    ------
    InvalidDataError
        A field that is no number or array of numbers. Complex numbers and hidden entries of masked
        arrays become NaN.
    """

    alpha: Vector
    expansion: Vector | None
    coef: Vector | None
    intercept: float
    intercept_interval: Interval
    width: float
    slack: Vector
    constraint_multipliers: Vector
    conditions: Conditions
    kernel: Kernel
    data: TrainingSet
    qp: QPSolution
    repair: KernelRepair | None = None

    def __post_init__(self) -> None:
        # one precision for everything: what is measured must be what predicts
        store_fields(self, VECTORS, "a solution", InvalidDataError)
        for name in ("intercept", "width"):
            number = getattr(self, name)
            if type(number) is not float:
                object.__setattr__(self, name, _as_float(number, name))
        try:
            lower, upper = self.intercept_interval
        except (TypeError, ValueError) as error:
            raise InvalidDataError(
                f"intercept_interval of a solution is {self.intercept_interval!r} ({error}); pass "
                "Interval(lower, upper)."
            ) from error
        if type(lower) is not float or type(upper) is not float:
            lower, upper = (_as_float(end, "intercept_interval") for end in (lower, upper))
        object.__setattr__(self, "intercept_interval", Interval(lower, upper))

    @property
    def upper(self) -> Vector:
        """Upper bounds of alpha, shape (N,): ``C_i``, infinite where there is none."""
        return self.conditions.upper

    @cached_property
    def support(self) -> Index:
        """Support vectors, as rows of the caller's X: ``|alpha| > 1e-6 * alpha_unit``."""
        c = self.conditions
        used = np.abs(self.alpha) > MACHINES.support * c.alpha_unit(self.alpha)
        samples = np.unique(c.rows[np.flatnonzero(used)].indices)
        return np.asarray(freeze(self.data.kept[samples]))

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return len(self.support)

    @property
    def classes(self) -> Array:
        """The two labels of a classifier, (negative, positive)."""
        if not isinstance(self.data, BinaryTrainingSet):
            raise AttributeError("Only classifiers have classes.")
        return self.data.classes

    @property
    def is_ball(self) -> bool:
        return self.conditions.minus_self_similarity

    def __repr__(self) -> str:
        return (
            f"SVMSolution({self.status.value}, {self.n_support} of {self.data.n_samples} support "
            f"vectors, {self.kernel} kernel, {self.data.storage} data)"
        )


def _as_float(number: Any, name: str) -> float:
    """A float; NaN for an array, None or a complex number.

    Raises
    ------
    InvalidDataError
        Text, or anything else that is no number.
    """
    try:
        if isinstance(number, str | bytes):
            raise TypeError("it is text")
        if number is None or number is np.ma.masked or np.ndim(number) or np.iscomplexobj(number):
            return math.nan
        return float(number)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidDataError(
            f"{name} of a solution is {number!r} ({error}); pass a float."
        ) from error
