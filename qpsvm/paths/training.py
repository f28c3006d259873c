"""Problems of a path: one data set and kernel, a formulation whose parameter moves; settings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from qpsvm.backends.base import Settings
from qpsvm.data.training_sets import TrainingSet
from qpsvm.direct.machine import suits
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidParameterError, ToleranceNotReachedWarning
from qpsvm.formulations import EpsilonRegression, NuClassification, OneClass, SoftMargin
from qpsvm.formulations.family import Family
from qpsvm.kernels import Kernel, KernelArgument, KernelRepair, as_kernel, gram
from qpsvm.kernels.gram import Gram
from qpsvm.kernels.kernel_repair import Indefinite
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import (
    Samples,
    Targets,
    Weights,
    explains_constructor,
    is_real_number,
    require_choice,
    require_kind,
)
from qpsvm.numerics.arrays import Vector, freeze
from qpsvm.numerics.duplicates import clip_scaled
from qpsvm.qp.kkt_residuals import Tolerances
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.solving import solve_with
from qpsvm.verification import verify_evaluated

PARAMETERS = ("C", "epsilon", "nu")


@explains_constructor
@dataclass(frozen=True)
class PathSettings:
    """Limits of paths; none changes what a certificate proves.

    Attributes
    ----------
    exact_variables : int
        Dual variables up to which ``exact="auto"`` follows the exact path.
    max_events : int
        Changes of the active set after which an exact path goes on as a warm-started sequence.
    max_restarts : int
        The same for the places where the path is lost and a solver is asked to find it again.
    max_exchanges : int
        Changes of the active set at one parameter value before a solver is asked.
    kept_bytes : int
        A sequence along C with a kernel keeps its whole matrix up to this size, and solves over
        that; 11585 samples.
    sequence_share : float
        Machines that are solved from the one before are solved to this share of ``eps``, for their
        certificates to hold with rounding, and complementary slackness with them.
    tightest : float
        The ``eps`` of the most accurate solves: those whose active set an exact path starts from.
    cover_share : float
        Machines of a certified path are solved to this share of ``eps``, but not below
        ``tightest``.
    narrowest_gap : float
        A search for the reach of a machine of a certified path ends with a gap between this share
        of ``eps`` and ``eps``.
    reach_solves : int
        Solves of one such search, at most.
    max_machines : int
        Machines of a certified path, at most.
    distance_bytes : int
        Squared distances are kept and shared between kernel widths up to this size.
    """

    exact_variables: int = 600
    max_events: int = 10_000
    max_restarts: int = 50
    max_exchanges: int = 100
    kept_bytes: int = 2**30
    sequence_share: float = 0.04
    tightest: float = 1e-10
    cover_share: float = 1e-3
    narrowest_gap: float = 0.8
    reach_solves: int = 12
    max_machines: int = 1000
    distance_bytes: int = 2**27


DEFAULTS = PathSettings()


@short_repr
@dataclass(frozen=True, eq=False)
class Training:
    """Checked data, one kernel matrix, and a formulation with a varying parameter.

    Attributes
    ----------
    formulation : Family
        Its value of the parameter is replaced.
    over : {"C", "epsilon", "nu"}
        Name of the parameter.
    data : TrainingSet
    kernel : Kernel
        With every parameter a number.
    gram : (LowRankQuadratic or KernelQuadratic, KernelRepair or None)
        Shared by all problems of the path.
    """

    formulation: Family
    over: str
    data: TrainingSet
    kernel: Kernel
    gram: tuple[Gram, KernelRepair | None] = field(repr=False)

    @classmethod
    def of(
        cls,
        X: Samples,
        y: Targets | None,
        kernel: KernelArgument = "rbf",
        over: str = "C",
        formulation: Family | None = None,
        sample_weight: Weights | None = None,
        indefinite: Indefinite = "error",
    ) -> Training:
        """Check the arguments of a path and evaluate what its problems share.

        Parameters
        ----------
        X, y, kernel, sample_weight, indefinite
            As for ``SoftMargin.primal``.
        over, formulation
            As for ``svm_path``.

        Raises
        ------
        InvalidParameterError
            An unknown parameter, or a formulation that does not have it.
        InvalidDataError, KernelError, IndefiniteKernelError
            As ``SoftMargin.dual``.
        """
        require_choice(over, PARAMETERS, "over")
        family = default_formulation(over, y) if formulation is None else formulation
        if not isinstance(family, Family) or over not in {f.name for f in fields(family)}:
            raise InvalidParameterError(
                f"formulation is {family!r}, which has no parameter {over!r} and one decision "
                "function; pass one that has, or another over."
            )
        function = as_kernel(kernel)
        data = family.training_set(X, y, function, sample_weight)
        function = function.resolve(data.X)
        known = gram(function, data.X, indefinite=indefinite)
        return cls(family, over, data, function, known)

    def formulation_at(self, value: float) -> Family:
        """The formulation with another value of the parameter."""
        return replace(self.formulation, **{self.over: float(value)})

    def problem(self, value: float) -> SVMProblem:
        """The dual problem at one value of the parameter."""
        family = self.formulation_at(value)
        return family.of_training_set(self.data, self.kernel, "dual", gram=self.gram)

    def accepted(
        self, value: float, alpha: Vector | None, eps: float, start: SVMSolution | None = None
    ) -> SVMSolution:
        """Return the verified machine of dual variables, or solve where they do not pass.

        Parameters
        ----------
        value : float
        alpha : array of shape (N,) or None
            None where they are not known.
        eps : float
        start : SVMSolution, optional
            The machine at another value, where a solver may start.
        """
        problem = self.problem(value)
        return solved(problem, eps, start) if alpha is None else accepted(problem, alpha, eps)


def solved(
    problem: SVMProblem, eps: float, start: SVMSolution | None = None, backend: str = "auto"
) -> SVMSolution:
    """Solve a problem without warning of a missed ``eps``; ``warn_of_misses`` does.

    The short way takes no start, and is faster without than others are with one.
    """
    if backend == "auto" and suits(problem.model):
        start = None
    return solve_with(problem, backend, Settings(eps=eps).started(), start).solution


def feasible_alpha(problem: SVMProblem, alpha: Vector) -> Vector:
    """Move dual variables into the dual's feasible set, up to rounding.

    Verification then keeps them as they are, and what was computed from them holds.
    """
    c = problem.model.conditions
    within = clip_scaled(alpha, c.lower, c.upper)
    return np.asarray(problem.model.feasible_dual(within, np.zeros(0)).alpha)


def accepted(problem: SVMProblem, alpha: Vector, eps: float) -> SVMSolution:
    """Verify the machine that follows from dual variables, and solve the problem if it fails."""
    given = QPSolution(Status.UNKNOWN, x=alpha, native_status="from a path")
    evaluation = problem.evaluate(given)
    machine: SVMSolution = evaluation.solution
    found = machine.replace(qp=problem.recovery.to_qp(evaluation))
    if verify_evaluated(problem, evaluation.of(found), eps=eps).passed:
        return found.replace(qp=found.qp.replace(status=Status.OPTIMAL))
    return solved(problem, eps, machine)


def warn_of_misses(name: str, values: Vector, solutions: Sequence[SVMSolution], eps: float) -> None:
    """Warn the caller of a public function if machines of a path miss ``eps``."""
    pairs = zip(values, solutions, strict=False)
    missed = [v for v, solution in pairs if solution.status is not Status.OPTIMAL]
    if missed:
        warnings.warn(
            f"{len(missed)} of {len(solutions)} machines did not reach eps={eps:g}, the first at "
            f"{name}={missed[0]:g}; path.relative_gaps has what was reached. Try a larger eps, or "
            "scale the features.",
            ToleranceNotReachedWarning,
            stacklevel=3,
        )


def default_formulation(over: str, y: Targets | None) -> Family:
    """The formulation of a path whose parameter alone is given."""
    if over == "C":
        return SoftMargin()
    if over == "epsilon":
        return EpsilonRegression()
    return OneClass() if y is None else NuClassification()


def checked_values(values: float | Sequence[float] | Vector, name: str) -> Vector:
    """Distinct finite parameter values in ascending order, shape (m,); a number is one value.

    Raises
    ------
    InvalidParameterError
        No value, or one that is no finite number.
    """
    given: Any = np.asarray([values] if is_real_number(values) else values)
    if given.ndim != 1 or given.size == 0 or not all(is_real_number(v) for v in given.tolist()):
        raise InvalidParameterError(
            f"values of {name} are {values!r}; pass at least one number, in one row."
        )
    ascending = np.unique(given.astype(np.float64))
    if not np.isfinite(ascending).all():
        raise InvalidParameterError(f"values of {name} include {ascending[-1]}; pass finite ones.")
    return np.asarray(freeze(ascending))


def require_arguments(eps: float, callback: object, settings: object) -> None:
    """Check the arguments that all paths have in common.

    Raises
    ------
    InvalidParameterError
    """
    Tolerances(eps)  # the rule for eps is there
    require_kind(callback, Callable | None, "callback", "a function, or None")
    require_kind(settings, PathSettings, "settings", "a PathSettings object")
