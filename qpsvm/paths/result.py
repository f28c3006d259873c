"""Results of ``svm_path`` and ``width_path``: machines, their certificates, and the events."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from qpsvm.certificates import Certificate, certify
from qpsvm.data.training_sets import TrainingSet
from qpsvm.display import Column, ColumnTable
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.family import Family
from qpsvm.kernels import RBF
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import is_real_number
from qpsvm.numerics.arrays import Vector
from qpsvm.paths.following import PathTrace
from qpsvm.paths.pieces import AT_LOWER, AT_UPPER, FREE
from qpsvm.paths.training import Training
from qpsvm.qp.solution import Status

STATES = {AT_LOWER: "lower", FREE: "free", AT_UPPER: "upper"}
"""Names of the states of a dual variable."""


class Event(NamedTuple):
    """A change of the active set at one value of the parameter.

    Attributes
    ----------
    value : float
        The parameter.
    sample : int
        The row of X whose dual variable changes.
    variable : int
        The index of that variable in alpha.
    before, after : "lower", "free" or "upper"
        Where the variable is below and above the value.
    """

    value: float
    sample: int
    variable: int
    before: str
    after: str


class PathTable(ColumnTable):
    """Base class of results with machines for ascending values of one parameter."""

    values: Vector
    solutions: tuple[SVMSolution, ...]

    @property
    @abstractmethod
    def over(self) -> str:
        """Name of the parameter."""

    @abstractmethod
    def problem_at(self, value: float) -> SVMProblem:
        """The dual problem at a value of the parameter."""

    @cached_property
    def certificates(self) -> tuple[Certificate, ...]:
        """The certificate of every solution."""
        pairs = zip(self.values, self.solutions, strict=True)
        return tuple(certify(self.problem_at(float(v)), solution) for v, solution in pairs)

    @property
    def relative_gaps(self) -> Vector:
        """Certified relative gap of every solution, rounding included, shape (m,)."""
        return np.array([proof.relative_gap_upper for proof in self.certificates])

    def columns(self) -> Mapping[str, Column]:
        """Value, objective, certified gap, support vectors and status of every machine."""
        return {
            self.over: self.values,
            "objective": [proof.primal_objective for proof in self.certificates],
            "relative_gap": self.relative_gaps,
            "support": [solution.n_support for solution in self.solutions],
            "status": [solution.status.value for solution in self.solutions],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Path(PathTable):
    """Machines for ascending values of one parameter; every one of them is certified.

    Attributes
    ----------
    training : Training
        Data, kernel matrix and formulation of all machines.
    values : array of shape (m,)
        Values of the parameter, ascending.
    solutions : tuple of SVMSolution
        The machine at each value, verified.
    eps : float
        The accuracy that was asked for.
    trace : PathTrace or None
        The linear pieces of an exact path.
    """

    training: Training
    values: Vector
    solutions: tuple[SVMSolution, ...]
    eps: float
    trace: PathTrace | None = None

    @property
    def over(self) -> str:
        """Name of the parameter."""
        return self.training.over

    @property
    def is_exact(self) -> bool:
        """Return whether the linear pieces are known for the whole range, without a gap."""
        if self.trace is None or not self.trace.stretches:
            return False
        ends = [self.trace.program.change(float(v)) for v in self.values[[0, -1]]]
        low, high = min(ends), max(ends)
        stretches = self.trace.stretches
        meets = all(a.end >= b.begin for a, b in pairwise(stretches))
        return meets and stretches[0].begin <= low and self.trace.reached >= high

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """All changes of the active set on the exact path, in ascending order of the parameter.

        Empty for a sequence. A variable that is free on both sides of a gap has no event in it.
        """
        if self.trace is None:
            return ()
        program, found = self.trace.program, list[Event]()
        samples = self.training.data.kept[self.solutions[0].conditions.samples]
        stretches = self.trace.stretches
        for left, right in pairwise(stretches):
            value = program.change(right.begin)
            ascends = program.change(right.end) > program.change(left.begin)
            first, then = (left, right) if ascends else (right, left)
            for k in np.flatnonzero(left.states != right.states).tolist():
                words = STATES[int(first.states[k])], STATES[int(then.states[k])]
                found.append(Event(value, int(samples[k]), k, *words))
        return tuple(sorted(found))

    def problem_at(self, value: float) -> SVMProblem:
        """The dual problem at a value of the parameter."""
        return self.training.problem(value)

    def solution_at(self, value: float) -> SVMSolution:
        """The machine at any value between the first and the last, verified.

        On an exact path alpha is interpolated between two events, where it is linear. The result
        is verified like any other, and where it does not pass, or in a sequence, a solver starts
        from the machine at the nearest value.

        Parameters
        ----------
        value : float

        Returns
        -------
        SVMSolution

        Raises
        ------
        InvalidParameterError
            A value outside the range of the path.
        """
        low, high = float(self.values[0]), float(self.values[-1])
        if not is_real_number(value) or not low <= value <= high:
            raise InvalidParameterError(
                f"{self.over} is {value!r}, and this path covers [{low:g}, {high:g}]; choose a "
                "value there, or compute a path with more values."
            )
        nearest = self.solutions[int(np.argmin(np.abs(self.values - value)))]
        alpha = None if self.trace is None else self.trace.at_parameter(float(value))
        return self.training.accepted(float(value), alpha, self.eps, nearest)

    def __repr__(self) -> str:
        low, high = self.values[0], self.values[-1]
        kind = "sequence"
        if self.trace is not None:
            whole = "exact" if self.is_exact else "exact in part"
            kind = f"{whole}, {len(self.events)} changes of the active set"
        optimal = sum(solution.status is Status.OPTIMAL for solution in self.solutions)
        return (
            f"Path({self.over} in [{low:g}, {high:g}], {len(self.values)} machines, {optimal} "
            f"optimal, {kind})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class WidthPath(PathTable):
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

    def __repr__(self) -> str:
        return (
            f"WidthPath({self.formulation!r}, gamma in [{self.values[0]:g}, "
            f"{self.values[-1]:g}], {len(self.values)} machines)"
        )
