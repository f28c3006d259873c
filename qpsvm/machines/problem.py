"""An SVM training problem: its quadratic program, its data, and the recovery of the machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from qpsvm.display import wrapped
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.blocks import ModelRecovery
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.prediction import KernelMachine
from qpsvm.machines.setup import Form, KernelSetup
from qpsvm.machines.solution import SVMSolution
from qpsvm.machines.warm_start import transfer_warm_start
from qpsvm.numerics.arguments import ExplainsMethods, VectorLike, an, with_article
from qpsvm.qp import exchange
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.multipliers import from_canonical
from qpsvm.qp.program import CanonicalForm, QuadraticProgram, Storage
from qpsvm.qp.solution import QPSolution, Status

if TYPE_CHECKING:
    from qpsvm.data.training_sets import TrainingSet
    from qpsvm.kernels import Kernel
    from qpsvm.kernels.kernel_repair import KernelRepair

Model = TypeVar("Model", bound=KernelSetup)
Solution = TypeVar("Solution", bound=KernelMachine)


@dataclass(frozen=True, eq=False)
class TrainingProblem(ExplainsMethods, Generic[Model, Solution]):
    """A training problem as a quadratic program with its data and recovery.

    Attributes
    ----------
    program : QuadraticProgram, or callable that builds it
        A dual program is built when it is first asked for: whoever has the model may not need it.
    formulation : object
        What the user named, with its parameters: ``SoftMargin(C=1.0)``. Its ``primal`` and ``dual``
        build this problem again.
    form : "primal" or "dual"
    model : SupportVectorModel or JointModel
        Data, resolved kernel and conditions: what certificates are computed from.
    recovery : ModelRecovery
    """

    program: QuadraticProgram | Callable[[], QuadraticProgram]
    formulation: Any
    form: Form
    model: Model
    recovery: ModelRecovery[Any]

    solution_type: ClassVar[type[Any]]

    @cached_property
    def qp(self) -> QuadraticProgram:
        """The quadratic program, ready for any solver."""
        given = self.program
        return given if isinstance(given, QuadraticProgram) else given()

    @property
    def family(self) -> str:
        """Name of the formulation with its parameters, for display."""
        return repr(self.formulation)

    @property
    def data(self) -> TrainingSet:
        """The checked training data."""
        return self.model.data

    @property
    def kernel(self) -> Kernel:
        """The kernel, with all parameters as numbers."""
        return self.model.kernel

    @property
    def variables(self) -> dict[str, slice]:
        """Slices of the program's x by name: ``x[problem.variables["xi"]]``."""
        return self.recovery.blocks

    @property
    def kernel_repair(self) -> KernelRepair | None:
        """The repair of an indefinite kernel matrix: its spectrum and its change."""
        return self.model.repair

    def canonical(
        self, storage: Storage = "natural", *, memory_limit: int | None = None
    ) -> CanonicalForm:
        """Return the textbook's P, q, G, h, A, b; ``canonical("cvxopt")`` is for CVXOPT.

        ``minimize 1/2 x'Px + q'x  subject to  Gx <= h, Ax = b``, bounds among the rows of G; and
        ``cvxopt.solvers.qp(*problem.canonical("cvxopt"))`` solves it.
        ``QuadraticProgram.canonical`` describes parameters, result and errors; ``from_canonical``
        converts a solver's solution of the six to the machine.
        """
        return self.qp.canonical(storage, memory_limit=memory_limit)

    def recover(self, qp_solution: QPSolution) -> Solution:
        """Recover alpha, coef, intercept and slack from a solution of ``qp``.

        Needs no trust in it: a missing vector becomes NaN, what overflows infinite or NaN, and no
        verifier passes these.

        Raises
        ------
        InvalidParameterError
            Not a QPSolution. What a solver made of ``canonical()`` is for ``from_canonical``.
        """
        if isinstance(qp_solution, Mapping):
            raise InvalidParameterError(
                "recover takes a QPSolution, got a mapping; pass what cvxopt.solvers.qp or another "
                "solver returned for problem.canonical() to problem.from_canonical."
            )
        _require(qp_solution, QPSolution, "recover")
        solution: Solution = self.evaluate(qp_solution).solution
        return solution

    def evaluate(self, solution: Solution | QPSolution) -> Any:
        """Evaluate a solution on the training samples, as certificates and checks need it.

        A solution of ``qp`` is recovered first. Nothing is evaluated twice that several of them
        ask for: ``Evaluation`` has what there is.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(solution, QPSolution):
                return self.recovery.recover(solution)
            return self.model.evaluate(solution)

    def from_canonical(
        self,
        x: VectorLike | Mapping[str, VectorLike],
        z: VectorLike | None = None,
        y: VectorLike | None = None,
    ) -> Solution:
        """Recover the machine from a solver's solution of the matrices that ``canonical()`` gives.

        Parameters
        ----------
        x : array of shape (n,), or mapping
            The point; or everything by name, as ``cvxopt.solvers.qp`` returns it.
        z, y : arrays, optional
            Multipliers of the canonical rows of G and of those of A; without them, the best ones
            for x.

        Returns
        -------
        SVMSolution or JointSolution
            For ``qpsvm.verify`` and ``qpsvm.polish``; nothing is claimed of it.

        Raises
        ------
        InvalidProgramError
            As ``qpsvm.qp.from_canonical``, which does the same for a bare program.

        Examples
        --------
        >>> import qpsvm
        >>> from cvxopt import solvers
        >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
        >>> answer = solvers.qp(*problem.canonical("cvxopt"), options={"show_progress": False})
        >>> qpsvm.verify(problem, problem.from_canonical(answer), eps=1e-5).passed
        True
        """
        return self.recover(from_canonical(self.qp, x, z, y))

    def to_qp(self, solution: Solution) -> QPSolution:
        """Build the solution of ``qp`` from any alpha and (w, b).

        Raises
        ------
        InvalidParameterError
            Not a solution of such a problem.
        """
        _require(solution, self.solution_type, "to_qp")
        return self.recovery.to_qp(self.model.decision_values(solution))

    def start_from(self, solution: Solution) -> QPSolution:
        """Build a warm start of ``qp`` from a solution of a problem of the same kind.

        Raises
        ------
        InvalidParameterError
            It is of another number of samples.
        """
        if solution.data.n_samples != self.data.n_samples:
            raise InvalidParameterError(
                "warm_start is a solution with another number of samples than the problem; "
                "pass one with as many samples, or none."
            )
        return self.to_qp(solution)

    def to_npz(self, path: str | os.PathLike[str], *, memory_limit: int | None = None) -> None:
        """Write the program, exact to the bit; ``qpsvm.qp.exchange.read_npz`` reads it.

        Parameters
        ----------
        path : path
        memory_limit : int, optional
            Bytes a structured Hessian may take as a matrix.

        Raises
        ------
        DataFileError
            The path cannot be written.
        MemoryLimitError
            The Hessian is larger than the limit.
        """
        exchange.write_npz(self.qp, path, memory_limit=memory_limit)

    def to_qps(self, path: str | os.PathLike[str], *, memory_limit: int | None = None) -> None:
        """Write the program as QPS text (MPS with a QUADOBJ section), every number in full.

        Parameters and errors are those of ``to_npz``; ``qpsvm.qp.exchange.read_qps`` reads it, and
        so do HiGHS, CPLEX, Gurobi and others.
        """
        name = type(self.formulation).__name__
        exchange.write_qps(self.qp, path, name=f"{name}_{self.form}", memory_limit=memory_limit)

    def to_latex(self) -> str:
        r"""The program as a LaTeX display, with the shapes of its matrices (needs amsmath).

        Examples
        --------
        >>> import qpsvm
        >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
        >>> print(problem.to_latex().splitlines()[3])
          & \tfrac{1}{2} \alpha^\top P \alpha + q^\top \alpha \\
        """
        return exchange.latex(self.qp)

    def __repr__(self) -> str:
        data = self.data
        return wrapped(
            f"{type(self).__name__}({self.family}, {self.form}, {self.kernel} kernel, "
            f"{data.n_samples} samples x {data.n_features} features ({data.storage}), "
            f"{self.qp.n_variables} variables)"
        )


MachineProblem: TypeAlias = TrainingProblem[Any, Any]
"""A problem whose one program gives a machine, with one decision function or one per class."""

Program: TypeAlias = MachineProblem | QuadraticProgram
"""Whatever is solved as one program."""


@dataclass(frozen=True, eq=False, repr=False)
class SVMProblem(TrainingProblem[SupportVectorModel, SVMSolution]):
    """The training problem of a machine with one decision function; see ``TrainingProblem``."""

    solution_type: ClassVar[type[SVMSolution]] = SVMSolution

    def start_from(self, solution: SVMSolution) -> QPSolution:
        """Build a starting point from a solution, also of other samples or another C.

        Only x for a large kernel program: multipliers would take a pass over the kernel matrix, and
        a solver that goes through it column by column has no use for them.
        """
        own, P = transfer_warm_start(self.model, solution), self.qp.P
        if isinstance(P, KernelQuadratic) and self.form == "dual" and not P.gram.is_worth_keeping:
            x = np.concatenate([own.alpha, own.constraint_multipliers])
            return QPSolution(Status.UNKNOWN, x=x, native_status="from a model")
        return self.to_qp(own)


def _require(solution: object, kind: type[object], caller: str) -> None:
    if not isinstance(solution, kind):
        raise InvalidParameterError(
            f"{caller} takes {with_article(kind.__name__)}, got {an(solution)}; problem.recover "
            "and problem.to_qp are the ways between the two."
        )
