"""Base class of formulations: from samples to conditions to the primal or dual program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, cast

import numpy as np

from qpsvm.chunked import chunked_kernel_problem, chunked_problem, is_chunked
from qpsvm.chunked.contents import Task
from qpsvm.chunked.sources import require_whole
from qpsvm.constraints import Constraints, combine
from qpsvm.data.training_sets import (
    TrainingSet,
    binary_training_set,
    regression_training_set,
    unlabelled_training_set,
)
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.keywords import explains_keywords, remedy_for_formulations
from qpsvm.formulations.parameters import check_parameters
from qpsvm.kernels import Kernel, KernelArgument, Linear, as_kernel
from qpsvm.kernels.gram import Gram
from qpsvm.kernels.gram import gram as build_gram
from qpsvm.kernels.kernel_repair import Indefinite, KernelRepair, require_policy
from qpsvm.machines.conditions import Conditions
from qpsvm.machines.dual_program import DualRecovery, dual_program
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.norms import SQUARED, Norm
from qpsvm.machines.primal_program import PrimalRecovery, primal_program
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.setup import Form
from qpsvm.numerics.arguments import (
    ExplainsConstructor,
    ExplainsMethods,
    Samples,
    Targets,
    Weights,
    with_article,
)
from qpsvm.qp.program import QuadraticProgram

Built = TypeVar("Built")

ProgramAndRecovery: TypeAlias = tuple[
    Callable[[SupportVectorModel], QuadraticProgram], Callable[[SupportVectorModel], Any]
]


@dataclass(frozen=True)
class Formulation(ExplainsConstructor, ExplainsMethods, ABC, Generic[Built]):
    """Base class of everything that turns samples and targets into a training problem."""

    _instead: ClassVar[str] = (
        "a formulation builds a problem, qpsvm.solve({}(...).dual(X, y)), whose solution predicts. "
        "The estimators, such as qpsvm.estimators.SVC, have fit and predict."
    )

    @classmethod
    def _remedy_for(cls, keyword: str) -> str:
        return remedy_for_formulations(cls.__name__, keyword)

    def __post_init__(self) -> None:
        check_parameters(self)

    def __repr__(self) -> str:
        """The first parameter, and all that differ from their defaults."""
        shown = [
            f"{f.name}={getattr(self, f.name)!r}"
            for i, f in enumerate(fields(self))
            if i == 0 or getattr(self, f.name) != f.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    @explains_keywords
    def primal(
        self,
        X: Samples,
        y: Targets | None = None,
        *,
        kernel: KernelArgument = "linear",
        sample_weight: Weights | None = None,
        constraints: Constraints | None = None,
        indefinite: Indefinite = "error",
    ) -> Built:
        """The primal program: variables (w, b, slack), or (beta, b, slack) for other kernels.

        A reduction of several classes has one for each of its two-class machines.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
            The (n, n) kernel matrix with ``kernel="precomputed"``. A copy is kept, of read-only
            arrays and of ``numpy.memmap`` too: what is done to X, or to its file, changes no
            problem. The copy of a read-only array of float32 (``X.flags.writeable = False``, a map
            opened for reading) is float32 and becomes float64, exactly, a block of rows at a time.
            Everything is computed in float64.
        y : array of shape (n,)
            For classifiers two different labels of any kind, the larger one the positive class,
            or more of them for several classes; for regression the targets. Not used by
            ``OneClass`` and ``DataDescription``.
        kernel : Kernel, str or callable
            See ``qpsvm.kernels``. Parameters that depend on the data (``gamma="scale"``) are those
            of all samples.
        sample_weight : array of shape (n,), optional
            Factors of the losses, not negative. A weight of 2 is the same as a repeated row (for a
            kernel whose parameters are numbers: "scale" looks at the rows as they are), a
            weight of 0 the same as a missing one (the row is removed).
        constraints : LinearConstraints, builder, or list of them, optional
            On (w, b), for the linear kernel; see ``qpsvm.constraints``. ``CrammerSinger`` has none.
        indefinite : {"error", "clip", "flip", "shift"}
            What to do with a kernel matrix that has negative eigenvalues; what was done is in
            ``problem.kernel_repair``.

        Returns
        -------
        SVMProblem, JointProblem or ReducedProblem

        Raises
        ------
        InvalidDataError
            Samples, labels, weights or constraints an SVM cannot be built from.
        InvalidParameterError
            An unknown kernel or policy, or parameters these data make impossible.
        KernelError, IndefiniteKernelError
            A kernel matrix that is not symmetric, or not positive semidefinite.
        MemoryLimitError
            A kernel matrix larger than a quarter of the machine's memory.
        """
        return self._built("primal", X, y, kernel, sample_weight, constraints, indefinite)

    @explains_keywords
    def dual(
        self,
        X: Samples,
        y: Targets | None = None,
        *,
        kernel: KernelArgument = "linear",
        sample_weight: Weights | None = None,
        constraints: Constraints | None = None,
        indefinite: Indefinite = "error",
    ) -> Built:
        """The dual program: one variable alpha per condition (and one per constraint).

        Parameters, result and errors are those of ``primal``; the Hessian is structured, so
        nothing of size n x n is computed before a solver asks for it.
        """
        return self._built("dual", X, y, kernel, sample_weight, constraints, indefinite)

    @abstractmethod
    def _built(
        self,
        form: Form,
        X: Samples,
        y: Targets | None,
        kernel: KernelArgument,
        sample_weight: Weights | None,
        constraints: Constraints | None,
        indefinite: Indefinite,
    ) -> Built:
        """Build the primal or dual training problem from samples and targets."""


@dataclass(frozen=True, repr=False)
class Family(Formulation[SVMProblem]):
    """Base class of formulations that train one decision function.

    A subclass says what its training data are (``training_set``) and what it asks of them
    (``conditions``). Programs, recovery, certificates and sample tables follow from that.
    """

    # the penalty on the weights; what builds the program of each form, and what recovers a machine
    _norm: ClassVar[Norm] = SQUARED
    # what y is for samples in chunks; None where they need all samples at once
    _task: ClassVar[Task | None] = None
    _primal: ClassVar[ProgramAndRecovery] = primal_program, PrimalRecovery
    _dual: ClassVar[ProgramAndRecovery] = dual_program, DualRecovery

    @abstractmethod
    def training_set(
        self, X: Samples, y: Targets | None, kernel: Kernel, sample_weight: Weights | None
    ) -> TrainingSet:
        """Check the data and build a training set without rows of weight zero."""

    @abstractmethod
    def conditions(self, data: Any, gram: Gram) -> Conditions:
        """Build the loss, bounds and signs of every training condition."""

    def _built(
        self,
        form: Form,
        X: Samples,
        y: Targets | None,
        kernel: KernelArgument,
        sample_weight: Weights | None,
        constraints: Constraints | None,
        indefinite: Indefinite,
        **more: object,
    ) -> SVMProblem:
        """Build the program of samples in memory, or the problem of samples in chunks.

        The latter is a ChunkedProblem, for other kernels than the linear one a
        ChunkedKernelProblem; ``more`` is passed on to ``training_set``.
        """
        function, name = as_kernel(kernel), type(self).__name__
        needs_all = self._task is None
        if isinstance(X, np.memmap):  # is an array, too
            needs_all |= constraints is not None or not isinstance(function, Linear)
        if needs_all:
            require_whole(X, name)
        elif is_chunked(X):
            if constraints is not None:
                raise InvalidParameterError(
                    "constraints on (w, b) are not supported for samples in chunks; leave them out."
                )
            task: Any = self._task
            if isinstance(function, Linear):
                return cast("SVMProblem", chunked_problem(self, task, X, y, sample_weight))
            judged = chunked_kernel_problem(self, task, function, X, y, sample_weight)
            return cast("SVMProblem", judged)
        data = self.training_set(X, y, function, sample_weight, **more)
        return self.of_training_set(data, function.resolve(data.X), form, constraints, indefinite)

    def of_training_set(
        self,
        data: TrainingSet,
        kernel: Kernel,
        form: Form,
        constraints: Constraints | None = None,
        indefinite: Indefinite = "error",
        *,
        gram: tuple[Gram, KernelRepair | None] | None = None,
    ) -> SVMProblem:
        """Build the program for a checked training set and a kernel with numeric parameters.

        Parameters
        ----------
        data : TrainingSet
            As the family's ``training_set`` returns it.
        kernel : Kernel
        form : {"primal", "dual"}
        constraints, indefinite
            As for ``primal``.
        gram : (LowRankQuadratic or KernelQuadratic, KernelRepair or None), optional
            What ``qpsvm.kernels.gram`` returns for these samples, if it is there already.

        Returns
        -------
        SVMProblem

        Raises
        ------
        InvalidParameterError, KernelError, IndefiniteKernelError, MemoryLimitError
            As ``primal``.
        """
        if not (isinstance(indefinite, str) and indefinite == "error"):
            require_policy(indefinite)
        rows = None
        is_empty = isinstance(constraints, list | tuple) and not constraints
        if constraints is not None and not is_empty:
            if not isinstance(kernel, Linear):
                raise InvalidParameterError(
                    f"constraints are on (w, b), and {with_article(f'{kernel} kernel')} has no "
                    "explicit w; use the linear kernel, on transformed features if need be."
                )
            weights = np.zeros(data.n_given)
            weights[data.kept] = data.weights
            rows = combine(constraints, data.X, data.feature_names, weights)
        K, repair = gram or build_gram(kernel, data.X, indefinite=indefinite)
        conditions = self.conditions(data, K)
        model = SupportVectorModel(data, kernel, conditions, K, repair, rows, self._norm)
        program, recovery = self._primal if form == "primal" else self._dual
        own = program(model) if form == "primal" else partial(program, model)
        return SVMProblem(own, self, form, model, recovery(model))


class Classifier(Family):
    """Base class of formulations for two-class problems."""

    _task: ClassVar[Task | None] = "binary"

    training_set = staticmethod(binary_training_set)


class Regressor(Family):
    """Base class of formulations for regression: samples with numeric targets."""

    _task: ClassVar[Task | None] = "regression"

    training_set = staticmethod(regression_training_set)


class Unlabelled(Family):
    """Base class of formulations for unlabelled samples."""

    _task: ClassVar[Task | None] = "unlabelled"

    def training_set(
        self, X: Samples, y: Targets | None, kernel: Kernel, sample_weight: Weights | None
    ) -> TrainingSet:
        del y
        return unlabelled_training_set(X, kernel, sample_weight)
