"""Base class of formulations: from samples to conditions to the primal or dual program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import (
    Any,
    ClassVar,
    TypeAlias,
)

import numpy as np

from qpsvm.chunked import chunked_kernel_problem, chunked_problem, is_chunked
from qpsvm.chunked.contents import Task
from qpsvm.chunked.sources import require_whole
from qpsvm.constraints import Constraints, combine
from qpsvm.data.preparation import (
    binary_training_set,
    regression_training_set,
    unlabelled_training_set,
)
from qpsvm.data.training_sets import BinaryTrainingSet, RegressionTrainingSet, TrainingSet
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.keywords import ExplainsKeywords, explains_keywords
from qpsvm.formulations.parameters import check_parameters
from qpsvm.kernels import Kernel, KernelArgument, Linear, as_kernel
from qpsvm.kernels.gram import Gram, gram
from qpsvm.kernels.kernel_repair import Indefinite, KernelRepair, require_policy
from qpsvm.machines.conditions import Conditions
from qpsvm.machines.dual_program import DualRecovery, dual_program
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.norms import SQUARED, Norm
from qpsvm.machines.primal_program import PrimalRecovery, primal_program
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.verifiable import Form
from qpsvm.numerics.arguments import Samples, Targets, Weights, with_article
from qpsvm.qp.program import QuadraticProgram

ProgramAndRecovery: TypeAlias = tuple[
    Callable[[SupportVectorModel], QuadraticProgram], Callable[[SupportVectorModel], Any]
]


@dataclass(frozen=True)
class Family(ExplainsKeywords, ABC):
    """A formulation: its parameters, and the conditions that they put on samples.

    A subclass says what its training data are (``training_set``) and what it asks of them
    (``conditions``). Programs, recovery, certificates and sample tables follow from that.
    """

    # the penalty on the weights; what builds the program of each form, and what recovers a machine
    _norm: ClassVar[Norm] = SQUARED
    # what y is for samples in chunks; None where they need all samples at once
    _task: ClassVar[Task | None] = None
    _primal: ClassVar[ProgramAndRecovery] = primal_program, PrimalRecovery
    _dual: ClassVar[ProgramAndRecovery] = dual_program, DualRecovery

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

    @abstractmethod
    def training_set(
        self, X: Samples, y: Targets | None, kernel: Kernel, sample_weight: Weights | None
    ) -> TrainingSet:
        """Check the data and build a training set without rows of weight zero."""

    @abstractmethod
    def conditions(self, data: Any, gram: Gram) -> Conditions:
        """Build the conditions on the samples; ``gram`` is the unsigned kernel matrix."""

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
    ) -> SVMProblem:
        """The primal program: variables (w, b, slack), or (beta, b, slack) for other kernels.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
            The (n, n) kernel matrix with ``kernel="precomputed"``. A copy is kept, of read-only
            arrays and of ``numpy.memmap`` too: what is done to X, or to its file, changes no
            problem. The copy of a read-only array of float32 (``X.flags.writeable = False``, a map
            opened for reading) is float32 and becomes float64, exactly, a block of rows at a time.
            Everything is computed in float64.
        y : array of shape (n,)
            For classifiers two different labels of any kind, the larger one the positive class;
            for regression the targets. Not used by ``OneClass`` and ``DataDescription``.
        kernel : Kernel, str or callable
            See ``qpsvm.kernels``.
        sample_weight : array of shape (n,), optional
            Factors of the losses, not negative. A weight of 2 is the same as a repeated row (for a
            kernel whose parameters are numbers: "scale" looks at the rows as they are), a
            weight of 0 the same as a missing one (the row is removed).
        constraints : LinearConstraints, builder, or list of them, optional
            On (w, b), for the linear kernel; see ``qpsvm.constraints``.
        indefinite : {"error", "clip", "flip", "shift"}
            What to do with a kernel matrix that has negative eigenvalues; what was done is in
            ``problem.kernel_repair``.

        Returns
        -------
        SVMProblem

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
        if self._reads_chunks(X, kernel, constraints):
            in_chunks: SVMProblem = self._in_chunks(X, y, kernel, sample_weight, constraints)
            return in_chunks
        data, function = self._data(X, y, kernel, sample_weight)
        return self.of_training_set(data, function, "primal", constraints, indefinite)

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
    ) -> SVMProblem:
        """The dual program: one variable alpha per condition (and one per constraint).

        Parameters, result and errors are those of ``primal``; the Hessian is structured, so
        nothing of size n x n is computed before a solver asks for it.
        """
        if self._reads_chunks(X, kernel, constraints):
            in_chunks: SVMProblem = self._in_chunks(X, y, kernel, sample_weight, constraints)
            return in_chunks
        data, function = self._data(X, y, kernel, sample_weight)
        return self.of_training_set(data, function, "dual", constraints, indefinite)

    def _reads_chunks(
        self, X: object, kernel: KernelArgument, constraints: Constraints | None
    ) -> bool:
        """Return whether samples are read chunk by chunk.

        A large memory map is an array, too, for what needs all samples at once.
        """
        if not isinstance(X, np.memmap):
            return is_chunked(X)
        suits = self._task is not None and constraints is None
        return suits and isinstance(as_kernel(kernel), Linear) and is_chunked(X)

    def _in_chunks(
        self,
        X: object,
        y: object,
        kernel: KernelArgument,
        sample_weight: object,
        constraints: Constraints | None,
    ) -> Any:
        """Build the problem of samples that are read chunk by chunk, of whatever form.

        It is a ChunkedProblem; for other kernels than the linear one a ChunkedKernelProblem.

        Raises
        ------
        InvalidParameterError
            A formulation, kernel or constraints that need all samples at once.
        """
        if self._task is None:
            require_whole(X, type(self).__name__)
        assert self._task is not None
        function = as_kernel(kernel)
        if constraints is not None:
            raise InvalidParameterError(
                "constraints on (w, b) are not supported for samples in chunks; leave them out."
            )
        if isinstance(function, Linear):
            return chunked_problem(self, self._task, X, y, sample_weight)
        return chunked_kernel_problem(self, self._task, function, X, y, sample_weight)

    def _data(
        self,
        X: Samples,
        y: Targets | None,
        kernel: KernelArgument,
        sample_weight: Weights | None,
        **more: object,
    ) -> tuple[TrainingSet, Kernel]:
        """Check data and kernel; ``more`` is passed on to ``training_set``."""
        require_whole(X, type(self).__name__)
        function = as_kernel(kernel)
        data = self.training_set(X, y, function, sample_weight, **more)
        return data, function.resolve(data.X)

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
        model = self._model(data, kernel, constraints, indefinite, gram)
        if form == "primal":
            program, recovery = self._primal
            return SVMProblem(program(model), self, form, model, recovery(model))
        program, recovery = self._dual
        return SVMProblem(partial(program, model), self, form, model, recovery(model))

    def _model(
        self,
        data: TrainingSet,
        kernel: Kernel,
        constraints: Constraints | None,
        indefinite: Indefinite,
        known: tuple[Gram, KernelRepair | None] | None,
    ) -> SupportVectorModel:
        """Build the model: the family's conditions on these samples."""
        require_policy(indefinite)
        given = constraints
        if isinstance(given, list | tuple) and not given:
            given = None
        rows = None
        if given is not None:
            if not isinstance(kernel, Linear):
                raise InvalidParameterError(
                    f"constraints are on (w, b), and {with_article(f'{kernel} kernel')} has no "
                    "explicit w; use the linear kernel, on transformed features if need be."
                )
            weights = np.zeros(data.n_given)
            weights[data.kept] = data.weights
            rows = combine(given, data.X, data.feature_names, weights)
        K, repair = known or gram(kernel, data.X, indefinite=indefinite)
        return SupportVectorModel(
            data=data,
            kernel=kernel,
            conditions=self.conditions(data, K),
            gram=K,
            repair=repair,
            constraints=rows,
            norm=self._norm,
        )


class Classifier(Family):
    """Base class of formulations for two-class problems."""

    _task: ClassVar[Task | None] = "binary"

    def training_set(
        self, X: Samples, y: Targets | None, kernel: Kernel, sample_weight: Weights | None
    ) -> BinaryTrainingSet:
        return binary_training_set(X, y, kernel, sample_weight)


class Regressor(Family):
    """Base class of formulations for regression: samples with numeric targets."""

    _task: ClassVar[Task | None] = "regression"

    def training_set(
        self, X: Samples, y: Targets | None, kernel: Kernel, sample_weight: Weights | None
    ) -> RegressionTrainingSet:
        return regression_training_set(X, y, kernel, sample_weight)


class Unlabelled(Family):
    """Base class of formulations for unlabelled samples."""

    _task: ClassVar[Task | None] = "unlabelled"

    def training_set(
        self, X: Samples, y: Targets | None, kernel: Kernel, sample_weight: Weights | None
    ) -> TrainingSet:
        del y
        return unlabelled_training_set(X, kernel, sample_weight)


# --- checking parameters -------------------------------------------------------------------------
