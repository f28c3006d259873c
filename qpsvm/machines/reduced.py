"""Multiclass problems as several two-class problems, and their combined solutions.

Where all two-class machines were solved on one kernel matrix (``SharedMatrix``), their problems and
solutions follow from arrays (``Together``), and are built when they are first read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from qpsvm.data.training_sets import MulticlassTrainingSet
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel, Linear, Precomputed
from qpsvm.machines.conditions import InterceptKind
from qpsvm.machines.exact_types import added_attributes, same_data, same_reduction
from qpsvm.machines.prediction import BaseMachine, KernelSums, checked_samples, linear_values
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.setup import Form
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import ExplainsMethods, Samples, an
from qpsvm.numerics.arrays import Array, Dense, Index, Vector
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.sample_gram import SampleGram
from qpsvm.qp.solution import Status


@short_repr
@dataclass(frozen=True, eq=False)
class Side:
    """One two-class problem among several: its samples, their labels, and what violations cost.

    Attributes
    ----------
    places : tuple of slice
        Where they are in the order of ``SharedMatrix``, in one or two pieces.
    signs, C : arrays of shape (m,)
        Labels -1 and 1, and C_i, or the share of every sample in a nu machine.
    """

    places: tuple[slice, ...]
    signs: Vector
    C: Vector


@short_repr
@dataclass(frozen=True, eq=False)
class SharedMatrix:
    """The kernel matrix and the order of samples that all machines of a reduction share.

    Attributes
    ----------
    kernel : Kernel
    gram : SampleGram or None
        Of X; None for the linear kernel.
    X : array of shape (n, d)
        The samples in ``order``.
    order : array of int of shape (n,)
        The rows of the data, sorted by class.
    sides : tuple of Side
        The two-class programs.
    is_squared : bool
        Whether a violation costs its square.
    intercept : "free", "penalized" or "none"
    total : float
        nu, which the dual variables of a nu machine add up to; 0 for soft margins.
    """

    kernel: Kernel
    gram: SampleGram | None
    X: Dense
    order: Index
    sides: tuple[Side, ...]
    is_squared: bool
    intercept: InterceptKind
    total: float = 0.0


@short_repr
@dataclass(frozen=True, eq=False)
class Together:
    """Several solved machines with proven gaps, in arrays, from which their solutions are built.

    Attributes
    ----------
    kernel : Kernel
    beta : array of shape (n, p)
        Coefficients of all samples in every machine.
    coef : array of shape (p, d) or None
        Weights of the features, for the linear kernel.
    intercepts : array of shape (p,)
    widths : tuple of float
        The width of every machine's margin; 0 for soft margins.
    build : callable
        Returns the tuple of solutions.
    """

    kernel: Kernel
    beta: Dense
    coef: Dense | None
    intercepts: Vector
    widths: tuple[float, ...]
    build: Callable[[], tuple[SVMSolution, ...]]


class CombinationRule(Protocol):
    """Protocol of multiclass reductions: how values of two-class machines are combined."""

    def combine(self, decisions: Dense, n_classes: int) -> Dense: ...

    def combine_bounds(self, lower: Dense, upper: Dense, n_classes: int) -> tuple[Dense, Dense]: ...


@dataclass(frozen=True, eq=False)
class ReducedProblem(ExplainsMethods):
    """A multiclass problem as several two-class problems.

    Attributes
    ----------
    two_class : tuple of SVMProblem, or callable that builds them
        They are built when they are first read.
    names : tuple of str
        What each of them tells apart.
    data : MulticlassTrainingSet
    reduction : OneVsRest or OneVsOne
    form : "primal" or "dual"
    shared : SharedMatrix or None
        What they share, where they are soft margins over one kernel matrix.
    """

    two_class: tuple[SVMProblem, ...] | Callable[[], tuple[SVMProblem, ...]]
    names: tuple[str, ...]
    data: MulticlassTrainingSet
    reduction: CombinationRule
    form: Form
    shared: SharedMatrix | None = None

    @cached_property
    def problems(self) -> tuple[SVMProblem, ...]:
        """The two-class problems, in the order of ``names``."""
        return self.two_class if isinstance(self.two_class, tuple) else self.two_class()

    @property
    def solution_type(self) -> type[ReducedSolution]:
        """The class of its solutions."""
        return ReducedSolution

    @property
    def classes(self) -> Array:
        """The caller's labels, sorted, shape (k,)."""
        return self.data.classes

    def parts(self, solution: ReducedSolution) -> list[tuple[SVMProblem, SVMSolution]]:
        """Return every two-class problem with its solution.

        Raises
        ------
        InvalidDataError
            The solution is not put together like this problem.
        """
        vars(solution).pop("sums", None)  # prepared for predictions: anew from what is verified
        stored = type(solution) is ReducedSolution and not any(added_attributes(solution))
        if not stored or type(solution.solutions) is not tuple:
            raise InvalidDataError(
                f"The solution is {an(solution)} with more than the fields of a "
                "ReducedSolution, or without a tuple of machines: it can predict with something "
                "else than the numbers that are verified; pass a ReducedSolution."
            )
        for what, same in (
            ("number of machines", len(solution.solutions) == len(self.problems)),
            ("reduction", same_reduction(self.reduction, solution.reduction)),
            ("set of training data or order of classes", same_data(self.data, solution.data)),
        ):
            if not same:
                raise InvalidDataError(
                    f"The solution has another {what} than the problem; it belongs to another one."
                )
        return list(zip(self.problems, solution.solutions, strict=True))

    def __repr__(self) -> str:
        return (
            f"ReducedProblem({self.reduction!r}, {self.form}, {self.problems[0].kernel} kernel, "
            f"{len(self.classes)} classes, {len(self.names)} problems)"
        )


@dataclass(frozen=True, eq=False)
class ReducedSolution(BaseMachine):
    """Two-class machines that together choose one of several classes.

    Attributes
    ----------
    solutions : tuple of SVMSolution
        In the order of ``ReducedProblem.problems``.
    data : MulticlassTrainingSet
    reduction : OneVsRest or OneVsOne
    together : Together or None
        The machines in arrays, as long as nobody has read ``solutions``.
    """

    solutions: tuple[SVMSolution, ...]
    data: MulticlassTrainingSet
    reduction: CombinationRule
    together: Together | None = field(default=None, repr=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Build the solutions of certified machines at their first reading."""
            together = self._unbuilt if name == "solutions" else None
            if together is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            object.__setattr__(self, "solutions", together.build())
            return self.solutions

    @property
    def _unbuilt(self) -> Together | None:
        """Arrays of the solved machines, whose solutions are not built yet; None once they are."""
        return None if "solutions" in vars(self) else vars(self).get("together")

    def __getstate__(self) -> dict[str, object]:
        _ = self.solutions  # machines, and not the way to them
        return vars(self) | {"together": None}

    @classmethod
    def of_all(
        cls, together: Together, data: MulticlassTrainingSet, reduction: CombinationRule
    ) -> ReducedSolution:
        """Put together certified machines, whose solutions are built when they are read."""
        made = object.__new__(cls)
        fields = ("data", data), ("reduction", reduction), ("together", together)
        for name, value in fields:
            object.__setattr__(made, name, value)
        return made

    @property
    def n_machines(self) -> int:
        """Number of two-class machines."""
        together = self._unbuilt
        return len(self.solutions) if together is None else len(together.intercepts)

    @property
    def widths(self) -> tuple[float, ...]:
        """The width of every machine's margin; 0 for families without one."""
        together = self._unbuilt
        return tuple(s.width for s in self.solutions) if together is None else together.widths

    @property
    def classes(self) -> Array:
        """The caller's labels, sorted like the columns of the decision function."""
        return self.data.classes

    @property
    def status(self) -> Status:
        """The worst status of the machines; OPTIMAL only if all were verified."""
        if self._unbuilt is not None:
            return Status.OPTIMAL  # nothing else is put together unbuilt
        return max((s.status for s in self.solutions), key=list(Status).index)

    def decision_function(self, X: Samples) -> Dense:
        """One value per class for every row of X, shape (m, k); the largest value wins."""
        return self.reduction.combine(self.machine_values(X), len(self.classes))

    def machine_values(self, X: Samples) -> Dense:
        """Decision values of every machine for every row of X, shape (m, p).

        Machines with one kernel share its values, so that each is evaluated once.
        """
        if self.sums is None:
            return np.column_stack([s.decision_function(X) for s in self.solutions])
        return self._values(checked_samples(X, self.data, self._kernel))

    def checked_values(self, samples: Stored) -> Dense:
        return self.reduction.combine(self.checked_machine_values(samples), len(self.classes))

    def checked_machine_values(self, samples: Stored) -> Dense:
        """``f(x)`` of every machine for every row x of samples, without a check of the samples."""
        is_linear = isinstance(self._kernel, Linear) and self.sums is not None
        return self._values(samples) if is_linear else self.machine_values(samples)

    def _values(self, samples: Stored) -> Dense:
        assert self.sums is not None
        values, together = self.sums(samples), self._unbuilt
        if together is not None:
            return values + together.intercepts
        return values + [s.intercept for s in self.solutions]

    @property
    def _kernel(self) -> Kernel:
        together = self._unbuilt
        return self.solutions[0].kernel if together is None else together.kernel

    @cached_property
    def sums(self) -> Callable[[Stored], Dense] | None:
        """Decision values without intercepts as a function of samples, shape (m, p).

        None where machines differ in their kernels.
        """
        together = self._unbuilt
        coef, beta = self._stacked() if together is None else (together.coef, together.beta)
        if coef is not None:
            return partial(linear_values, coef=coef)
        return None if beta is None else KernelSums(self._kernel, self.data.X, beta)

    def _stacked(self) -> tuple[Dense | None, Dense | None]:
        """Weights of all machines, or else coefficients of all samples; None where they differ."""
        machines = self.solutions
        weights = [s.coef for s in machines if s.coef is not None]
        if len(weights) == len(machines):
            return np.vstack(weights), None
        kernel = machines[0].kernel
        own_values = any(s.has_own_values for s in machines) or isinstance(kernel, Precomputed)
        if own_values or any(s.kernel != kernel or s.expansion is None for s in machines):
            return None, None
        place = np.zeros(self.data.n_given, dtype=np.intp)
        place[self.data.kept] = np.arange(self.data.n_samples)
        beta = np.zeros((self.data.n_samples, len(machines)))
        for column, s in zip(beta.T, machines, strict=True):
            column[place[s.data.kept]] = s.expansion
        return None, beta

    def __repr__(self) -> str:
        return (
            f"ReducedSolution({self.status.value}, {type(self.reduction).__name__}, "
            f"{len(self.classes)} classes, {self.n_machines} machines)"
        )
