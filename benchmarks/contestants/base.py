"""Base classes of contestants: anything that turns samples into a machine.

A contestant is one class with two methods. ``fit`` is timed and does the work; ``answer`` is not
timed and says what was found, in the scale of the program (``docs/benchmark.md`` has an example
of under 40 lines). It judges nothing: whoever claims an optimum is checked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from benchmarks.sets import Matrix, Vector
from qpsvm.backends import installed_version
from qpsvm.kernels import Kernel
from qpsvm.machines import TrainingProblem
from qpsvm.qp import Status

Formulation: TypeAlias = Any
"""Any formulation of ``qpsvm.formulations``; each has parameters of its own."""
Fitted: TypeAlias = Any
"""Result of ``Contestant.fit``, of a type that each contestant chooses."""
Problem: TypeAlias = TrainingProblem[Any, Any]
"""One program of any family, in either form."""

NO_OPTIMUM = (Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE)
"""Statuses that claim that there is no optimum."""


@dataclass(frozen=True, eq=False)
class Task:
    """One program to be solved, as a contestant sees it.

    Attributes
    ----------
    formulation : Formulation
        ``qpsvm.SoftMargin(C=1.0)``: family and parameters.
    X : array or CSR array of shape (n, d)
    y : array of shape (n,) or None
    kernel : Kernel
    eps : float
        Relative accuracy asked for; a peer takes it as its tolerance.
    time_limit : float
        Seconds, for solvers that have such a limit. The process is ended some time later.
    seed, threads : int
    """

    formulation: Formulation
    X: Matrix
    y: Vector | None
    kernel: Kernel
    eps: float
    time_limit: float = 60.0
    seed: int = 0
    threads: int = 1

    @cached_property
    def problem(self) -> Problem:
        """The dual program; kernel values are evaluated when they are first used."""
        problem: Problem = self.formulation.dual(self.X, self.y, kernel=self.kernel)
        return problem


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of a contestant, in the scale of ``task.problem``.

    Either ``solution``, complete; or ``alpha`` and the intercept; or weights ``coef`` and the
    intercept. Weights alone bound the optimum from above only.

    Attributes
    ----------
    claimed : Status
        OPTIMAL: it says that it met ``eps``, in qpsvm's meaning.
    width : float or None
        rho or epsilon of a nu program; None: the best one for these weights.
    own_rule : bool
        OPTIMAL means that it met a stopping rule of its own instead.
    problem : TrainingProblem or None
        The program that ``solution`` belongs to, where it is not ``task.problem``.
    build_seconds, setup_seconds, solve_seconds : float
        As far as known.
    """

    claimed: Status
    solution: object = None
    alpha: ArrayLike | None = None
    coef: ArrayLike | None = None
    intercept: float = 0.0
    width: float | None = None
    own_rule: bool = False
    problem: Problem | None = None
    native_status: str = ""
    iterations: int | None = None
    build_seconds: float = float("nan")
    setup_seconds: float = float("nan")
    solve_seconds: float = float("nan")
    settings: Mapping[str, object] = field(default_factory=dict)
    message: str = ""


class Contestant(ABC):
    """Base class of all contestants.

    Attributes
    ----------
    name : str
        As suites write it: ``sklearn:SVC``.
    distribution : str
        The package that provides it, for its version.
    required_modules : tuple of str
        Modules that must be importable.
    """

    name: str
    distribution: str = ""
    required_modules: tuple[str, ...] = ()

    def version(self) -> str:
        """Version of the package."""
        return installed_version(self.distribution) if self.distribution else ""

    def refusal(self, task: Task) -> str:  # noqa: ARG002
        """Return why the contestant does not solve this program; empty if it does."""
        return ""

    @abstractmethod
    def fit(self, task: Task) -> Fitted:
        """Solve the task; the whole call is timed."""

    @abstractmethod
    def answer(self, task: Task, fitted: Fitted) -> Answer:
        """Return the answer that ``fit`` found; not timed."""
