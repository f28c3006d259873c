"""``width_path``: machines with an RBF kernel for several widths, from the same distances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qpsvm.certificates import Certificate, certify
from qpsvm.data.training_sets import TrainingSet
from qpsvm.display import Column, Table
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.family import Family
from qpsvm.formulations.margin import SoftMargin
from qpsvm.kernels import RBF
from qpsvm.kernels.functions import SharedDistances
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import Samples, Targets, Weights, explains_calls
from qpsvm.numerics.arrays import Vector
from qpsvm.paths.settings import DEFAULTS, PathSettings, require_arguments
from qpsvm.paths.training import checked_values, solved, warn_of_misses


@dataclass(frozen=True, eq=False, repr=False)
class WidthPath(Table):
    """Machines for ascending gamma of an RBF kernel.

    Attributes
    ----------
    formulation : Family
    data : TrainingSet
    values : array of shape (m,)
        Values of gamma, ascending.
    solutions : tuple of SVMSolution
    """

    formulation: Family
    data: TrainingSet
    values: Vector
    solutions: tuple[SVMSolution, ...]

    @property
    def over(self) -> str:
        """Name of the parameter."""
        return "gamma"

    def problem_at(self, gamma: float) -> SVMProblem:
        """The dual problem at one gamma, with a kernel matrix of its own."""
        return self.formulation.of_training_set(self.data, RBF(float(gamma)), "dual")

    @cached_property
    def certificates(self) -> tuple[Certificate, ...]:
        """The certificate of every solution; each evaluates the kernel matrix of its width anew."""
        pairs = zip(self.values, self.solutions, strict=True)
        return tuple(certify(self.problem_at(gamma), solution) for gamma, solution in pairs)

    @property
    def relative_gaps(self) -> Vector:
        """Certified relative gap of every solution, rounding included, shape (m,)."""
        return np.array([proof.relative_gap_upper for proof in self.certificates])

    def columns(self) -> Mapping[str, Column]:
        """Columns of the table: gamma, objective, gap, support vectors and status."""
        return {
            "gamma": self.values,
            "objective": [proof.primal_objective for proof in self.certificates],
            "relative_gap": self.relative_gaps,
            "support": [solution.n_support for solution in self.solutions],
            "status": [solution.status.value for solution in self.solutions],
        }

    def __repr__(self) -> str:
        return (
            f"WidthPath({self.formulation!r}, gamma in [{self.values[0]:g}, "
            f"{self.values[-1]:g}], {len(self.values)} machines)"
        )


@explains_calls
def width_path(
    X: Samples,
    y: Targets | None = None,
    *,
    gamma: float | Sequence[float] | Vector,
    formulation: Family | None = None,
    sample_weight: Weights | None = None,
    eps: float = 1e-8,
    callback: Callable[[float, SVMSolution], object] | None = None,
    settings: PathSettings = DEFAULTS,
) -> WidthPath:
    r"""Machines with the kernel ``exp(-gamma |x - z|^2)`` for many gamma, each verified.

    .. math::

        K_\gamma = \exp(-\gamma D), \quad D_{ij} = \lVert x_i - x_j \rVert^2

    D is computed once, up to ``settings.distance_bytes``; for more samples every width evaluates
    the columns of its matrix that it needs. Each width is solved from the solution before.

    Parameters
    ----------
    X, y, sample_weight
        As for ``SoftMargin.primal``.
    gamma : sequence of float, or float
        Values above 0.
    formulation : Family, optional
        Any with one decision function. None: ``SoftMargin()``.
    eps : float
        Relative accuracy of every machine, as for ``qpsvm.solve``.
    callback : callable, optional
        Receives every gamma with its machine; returning False ends the path there.
    settings : PathSettings
        Numbers that tune the search, none of which weakens a proof.

    Returns
    -------
    WidthPath
        The machines, each with its certificate.

    Raises
    ------
    InvalidParameterError
        No gamma, or one that is not a finite number above 0; a formulation of another kind.
    InvalidDataError
        As ``SoftMargin.dual``.

    Warns
    -----
    ToleranceNotReachedWarning
        The verifier measured more than ``eps`` for some of the machines.

    Notes
    -----
    Machines are verified with the shared matrix, whose entries differ from those of ``RBF`` by
    rounding; ``certificates`` evaluate each kernel anew.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1]
    >>> path = qpsvm.paths.width_path(X, y, gamma=[0.1, 1.0, 10.0])
    >>> path
    WidthPath(SoftMargin(C=1.0), gamma in [0.1, 10], 3 machines)
    >>> bool(path.relative_gaps.max() < 1e-8)
    True
    """
    require_arguments(eps, callback, settings)
    wanted = checked_values(gamma, "gamma")
    kernels = [RBF(value) for value in wanted.tolist()]  # refuses what is none
    family = SoftMargin() if formulation is None else formulation
    if not isinstance(family, Family):
        raise InvalidParameterError(
            f"formulation is {family!r}; pass one with one decision function, such as "
            "qpsvm.SoftMargin(C=10.0)."
        )
    data = family.training_set(X, y, kernels[0], sample_weight)
    shared = None
    if 8 * data.n_samples**2 <= settings.distance_bytes:
        shared = SharedDistances(data.X, float(wanted[-1]))
    solutions = list[SVMSolution]()
    for kernel, value in zip(kernels, wanted.tolist(), strict=True):
        K = None if shared is None else (shared.gram(value), None)
        problem = family.of_training_set(data, kernel, "dual", gram=K)
        solutions.append(solved(problem, eps, solutions[-1] if solutions else None))
        if callback is not None and callback(value, solutions[-1]) is False:
            break
    warn_of_misses("gamma", wanted, solutions, eps)
    return WidthPath(family, data, wanted[: len(solutions)], tuple(solutions))
