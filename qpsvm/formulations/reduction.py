"""Reductions of several classes to two: the base class, and the problems of the parts.

A reduction names the two-class problems (``splits``) and turns their decision values into votes
(``combine``). Kernel values are evaluated once for all parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypedDict, TypeVar, Unpack

import numpy as np

from qpsvm.chunked.sources import require_whole
from qpsvm.constraints import Constraints
from qpsvm.data.preparation import multiclass_training_set
from qpsvm.data.targets import as_signs
from qpsvm.data.training_sets import BinaryTrainingSet, MulticlassTrainingSet
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.family import Classifier, Family
from qpsvm.formulations.keywords import ExplainsKeywords, explains_keywords
from qpsvm.formulations.prices import class_factors
from qpsvm.formulations.shared_matrix import shared_matrix
from qpsvm.kernels import Kernel, KernelArgument, Linear, Precomputed, as_kernel
from qpsvm.kernels.gram import Gram, gram
from qpsvm.kernels.kernel_repair import Indefinite, KernelRepair
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.reduced import ReducedProblem, SharedMatrix
from qpsvm.machines.setup import Form
from qpsvm.numerics.arguments import Labels, Samples, Targets, Weights
from qpsvm.numerics.arrays import Dense, Index, Mask, freeze
from qpsvm.numerics.single_precision import SinglePrecision, rows_of
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import SampleGram

TwoClass = TypeVar("TwoClass", bound=Classifier)


class Options(TypedDict, total=False):
    """Keyword arguments of two-class formulations besides the data."""

    constraints: Constraints | None
    indefinite: Indefinite


class Split(NamedTuple):
    """The samples, and their labels, of one two-class problem that is part of a reduction.

    Attributes
    ----------
    name : str
    labels : array of shape (n,)
        Labels of all samples.
    members : array of bool, shape (n,)
        The samples that take part.
    weighs_rest : bool
        Whether class weights apply to the samples of the negative class, too.
    """

    name: str
    labels: Labels
    members: Mask
    weighs_rest: bool = True


@dataclass(frozen=True)
class Reduction(ExplainsKeywords, ABC):
    """A reduction of a multiclass problem to two-class problems.

    Attributes
    ----------
    formulation : object
        Of two classes: ``SoftMargin``, ``NuClassification``, ``LeastSquares`` and the like.
    """

    formulation: Classifier

    def __post_init__(self) -> None:
        if not isinstance(self.formulation, Classifier):
            raise InvalidParameterError(
                f"{type(self).__name__} takes a two-class formulation with its parameters, such as "
                f"SoftMargin(C=1.0), got {self.formulation!r}."
            )

    __repr__ = Family.__repr__

    @abstractmethod
    def splits(self, codes: Index, classes: Labels) -> Iterator[Split]:
        """Yield the two-class problems; the larger label has positive decision values."""

    @abstractmethod
    def names(self, classes: Labels) -> tuple[str, ...]:
        """Names of the two-class problems: what each of them tells apart."""

    @abstractmethod
    def sides(self, n_classes: int) -> Iterator[tuple[int, ...]]:
        """Yield the classes of every two-class problem, the positive one last.

        By number; only the positive one where all others are negative.
        """

    @abstractmethod
    def combine(self, decisions: Dense, n_classes: int) -> Dense:
        """Combine one value per problem, shape (m, p), to one per class, shape (m, k)."""

    @abstractmethod
    def combine_bounds(self, lower: Dense, upper: Dense, n_classes: int) -> tuple[Dense, Dense]:
        """Bounds on ``combine``, shape (m, k) each, from bounds on its arguments."""

    @explains_keywords
    def primal(
        self,
        X: Samples,
        y: Targets | None,
        *,
        kernel: KernelArgument = "linear",
        sample_weight: Weights | None = None,
        **options: Unpack[Options],
    ) -> ReducedProblem:
        """Build a training problem that solves the primal program of every two-class machine.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
            The (n, n) kernel matrix with ``kernel="precomputed"``.
        y : array of shape (n,)
            Two or more different labels of any kind.
        kernel : Kernel, str or callable
            Parameters that depend on the data (``gamma="scale"``) are those of all samples.
        sample_weight : array of shape (n,), optional
        **options
            Whatever else the two-class formulation takes.

        Returns
        -------
        ReducedProblem

        Raises
        ------
        InvalidDataError, KernelError, MemoryLimitError
            As those of the two-class formulation.
        """
        return self._problem("primal", X, y, kernel, sample_weight, options)

    @explains_keywords
    def dual(
        self,
        X: Samples,
        y: Targets | None,
        *,
        kernel: KernelArgument = "linear",
        sample_weight: Weights | None = None,
        **options: Unpack[Options],
    ) -> ReducedProblem:
        """Build a training problem that solves the dual program of every two-class machine.

        Arguments, result and errors are those of ``primal``.
        """
        return self._problem("dual", X, y, kernel, sample_weight, options)

    def _problem(
        self,
        form: Form,
        X: Samples,
        y: Targets | None,
        kernel: KernelArgument,
        sample_weight: Weights | None,
        options: Options,
    ) -> ReducedProblem:
        function = as_kernel(kernel)
        require_whole(X, type(self).__name__)
        data = multiclass_training_set(X, y, function, sample_weight)
        function = function.resolve(data.X)
        shared = None
        if form == "dual" and not options:
            sides = self.sides(len(data.classes))
            weighs = getattr(self, "weigh_rest", True)
            shared = shared_matrix(self.formulation, sides, data, function, weigh_rest=weighs)
        build = _Parts(self.formulation, form, data, function, options, shared)
        names = self.names(data.classes)
        parts = partial(build.problems, self)
        return ReducedProblem(parts() if shared is None else parts, names, data, self, form, shared)


class _Parts:
    """Builds the two-class problems of a reduction, which share kernel values."""

    def __init__(
        self,
        formulation: Classifier,
        form: Form,
        data: MulticlassTrainingSet,
        kernel: Kernel,
        options: Options,
        shared: SharedMatrix | None,
    ) -> None:
        self.formulation, self.form, self.options = formulation, form, options
        self.data, self.kernel = data, kernel
        # what is done with an indefinite matrix depends on all of it, and a primal program holds
        # its matrix: each part has its own
        self.whole, self.place = None, None
        is_shared = form == "dual" and kernel.is_positive_semidefinite
        if shared is not None and shared.gram is not None:
            self.whole, self.place = shared.gram, np.argsort(shared.order)
        elif is_shared and not isinstance(kernel, Linear | Precomputed):
            self.whole = SampleGram(kernel, data.X, positive_semidefinite=True)
        self.all_samples: tuple[Gram, KernelRepair | None] | None = None

    def problems(self, reduction: Reduction) -> tuple[SVMProblem, ...]:
        """Build the two-class problems of all splits."""
        splits = reduction.splits(self.data.codes, self.data.classes)
        return tuple(self.problem(split) for split in splits)

    def problem(self, split: Split) -> SVMProblem:
        """Build the two-class problem of one split."""
        formulation, part = two_class_part(self.formulation, self.data, split, self.kernel)
        gram = self._gram(part, np.flatnonzero(split.members))
        return formulation.of_training_set(part, self.kernel, self.form, gram=gram, **self.options)

    def _gram(
        self, part: BinaryTrainingSet, members: Index
    ) -> tuple[Gram, KernelRepair | None] | None:
        """Return the kernel matrix of a two-class problem if others share its values, else None."""
        if self.place is not None and self.whole is not None:
            return KernelQuadratic(self.whole.sharing(self.place[members], part.X)), None
        if len(members) == self.data.n_samples:
            if self.all_samples is None:
                indefinite = self.options.get("indefinite", "error")
                self.all_samples = gram(self.kernel, part.X, indefinite=indefinite)
            return self.all_samples
        if self.whole is None:
            return None
        return KernelQuadratic(self.whole.sharing(members, part.X)), None


def two_class_part(
    formulation: TwoClass, data: MulticlassTrainingSet, split: Split, kernel: Kernel | None = None
) -> tuple[TwoClass, BinaryTrainingSet]:
    """Return formulation and samples of one two-class problem of a reduction.

    Class weights name the caller's classes. A pair has two of these and is the same problem as of
    the two alone. A split that merges classes multiplies the sample weights by them instead.
    """
    members = np.flatnonzero(split.members)
    signs, classes = as_signs(np.asarray(split.labels)[members])
    X, weights = data.X, data.weights[members]
    if len(members) < data.n_samples:
        is_kernel = isinstance(kernel, Precomputed)
        X = X[np.ix_(members, members)] if is_kernel else rows_of(X, members)
    class_weight = getattr(formulation, "class_weight", None)
    if isinstance(class_weight, Mapping):
        factors = class_factors(class_weight, data)[members]
        labels = data.classes[data.codes[members]]
        if split.weighs_rest and np.array_equal(np.asarray(split.labels)[members], labels):
            own = classes.tolist()
            known = {label: class_weight[label] for label in own if label in class_weight}
            formulation = replace(formulation, class_weight=known)  # type: ignore[call-arg]
        else:
            formulation = replace(formulation, class_weight=None)  # type: ignore[call-arg]
            if not split.weighs_rest:
                factors = np.where(signs > 0.0, factors, 1.0)
            weights = weights * factors
    part = BinaryTrainingSet(
        X=X if isinstance(X, SinglePrecision) else freeze(X),
        weights=freeze(weights),
        kept=freeze(data.kept[members]),
        n_given=data.n_given,
        feature_names=data.feature_names,
        signs=signs,
        classes=classes,
    )
    return formulation, part
