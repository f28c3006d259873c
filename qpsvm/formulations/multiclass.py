"""Multiclass classification by two-class machines: ``OneVsRest`` and ``OneVsOne``.

With classes 1, ..., k, a two-class formulation gives a decision function for every split of them::

    one against the rest    f_m: class m against all others, m = 1, ..., k
                            predicted: the m with the largest f_m(x)

    one against one         f_ij: class j (above zero) against class i, for all i < j
                            predicted: the m that wins most of its k - 1 comparisons; ties go to the
                            larger sum of the f that speak for it less those that speak against it

Sources: Hsu and Lin, "A comparison of methods for multiclass support vector machines", *IEEE
Trans. Neural Networks* 13 (2002), sections 2 and 3; Knerr, Personnaz and Dreyfus (1990) for pairs.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict, Unpack

import numpy as np

from qpsvm.constraints import Constraints
from qpsvm.data.preparation import multiclass_training_set
from qpsvm.data.targets import as_signs
from qpsvm.data.training_sets import BinaryTrainingSet, MulticlassTrainingSet
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.family import Classifier, Family
from qpsvm.formulations.keywords import ExplainsKeywords, explains_keywords
from qpsvm.formulations.prices import class_factors
from qpsvm.kernels import Kernel, KernelArgument, Linear, Precomputed, as_kernel
from qpsvm.kernels.gram import Gram, gram
from qpsvm.kernels.indefinite import Indefinite, KernelRepair
from qpsvm.machines.form import Form
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.numerics.arguments import Labels, Samples, Targets, Weights
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector, freeze
from qpsvm.numerics.choices import require_flag
from qpsvm.numerics.single_precision import SinglePrecision, rows_of
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import SampleGram


class Options(TypedDict, total=False):
    """Keyword arguments of two-class formulations besides the data."""

    constraints: Constraints | None
    indefinite: Indefinite


class Split(NamedTuple):
    """One two-class problem: its name, the labels of all samples, and a mask of those it uses.

    ``weighs_rest``: whether class weights multiply the weights on the negative side, too.
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

    formulation: Family

    def __post_init__(self) -> None:
        if isinstance(self.formulation, type) or not hasattr(self.formulation, "dual"):
            raise InvalidParameterError(
                f"{type(self).__name__} takes a two-class formulation with its parameters, such as "
                f"SoftMargin(C=1.0), got {self.formulation!r}."
            )

    @abstractmethod
    def splits(self, codes: Index, classes: Labels) -> Iterator[Split]:
        """Yield the two-class problems; the larger label has positive decision values."""

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
        """Build the primal programs.

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
        InvalidParameterError
            The formulation is not about two classes.
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
        """Build the dual programs; parameters, result and errors as for ``primal``."""
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
        data = multiclass_training_set(X, y, function, sample_weight)
        formulation, factors = self.formulation, np.ones(data.n_samples)
        class_weight = getattr(formulation, "class_weight", None)
        if isinstance(class_weight, Mapping):
            # it names the caller's classes, which a split may have merged
            factors = class_factors(class_weight, data)
            formulation = replace(formulation, class_weight=None)  # type: ignore[call-arg]
        build = _Parts(formulation, form, data, factors, function.resolve(data.X), options)
        splits = list(self.splits(data.codes, data.classes))
        problems = tuple(build.problem(split) for split in splits)
        return ReducedProblem(problems, tuple(s.name for s in splits), data, self, form)


class _Parts:
    """The two-class problems of a reduction, whose kernel values are evaluated once for all."""

    def __init__(
        self,
        formulation: Family,
        form: Form,
        data: MulticlassTrainingSet,
        factors: Vector,
        kernel: Kernel,
        options: Options,
    ) -> None:
        if not isinstance(formulation, Classifier):
            raise InvalidParameterError(
                f"A reduction needs a two-class formulation, such as SoftMargin(C=1.0), got "
                f"{formulation!r}."
            )
        self.formulation, self.form, self.options = formulation, form, options
        self.data, self.factors, self.kernel = data, factors, kernel
        # what is done with an indefinite matrix depends on all of it, and a primal program holds
        # its matrix: each part has its own
        self.whole = None
        is_shared = form == "dual" and kernel.is_positive_semidefinite
        if is_shared and not isinstance(kernel, Linear | Precomputed):
            self.whole = SampleGram(kernel, data.X, positive_semidefinite=True)
        self.all_samples: tuple[Gram, KernelRepair | None] | None = None

    def problem(self, split: Split) -> SVMProblem:
        """The two-class problem of one split."""
        data, members = self.data, np.flatnonzero(split.members)
        signs, classes = as_signs(np.asarray(split.labels)[members])
        X = data.X
        if len(members) < data.n_samples:
            of_kernel = isinstance(self.kernel, Precomputed)
            X = X[np.ix_(members, members)] if of_kernel else rows_of(X, members)
        factors = self.factors[members]
        if not split.weighs_rest:
            factors = np.where(signs > 0.0, factors, 1.0)
        part = BinaryTrainingSet(
            X=X if isinstance(X, SinglePrecision) else freeze(X),
            weights=freeze(data.weights[members] * factors),
            kept=freeze(data.kept[members]),
            n_given=data.n_given,
            feature_names=data.feature_names,
            signs=signs,
            classes=classes,
        )
        return self.formulation.of_training_set(
            part, self.kernel, self.form, gram=self._gram(part, members), **self.options
        )

    def _gram(
        self, part: BinaryTrainingSet, members: Index
    ) -> tuple[Gram, KernelRepair | None] | None:
        """The kernel matrix of a part where it can be shared with others, else None."""
        if len(members) == self.data.n_samples:
            if self.all_samples is None:
                indefinite = self.options.get("indefinite", "error")
                self.all_samples = gram(self.kernel, part.X, indefinite=indefinite)
            return self.all_samples
        if self.whole is None:
            return None
        return KernelQuadratic(self.whole.sharing(members, part.X)), None


@dataclass(frozen=True)
class OneVsRest(Reduction):
    """One two-class machine per class, against all the others.

    ``f(x) = argmax_m f_m(x)``

    Parameters
    ----------
    formulation : object
        Of two classes. A ``class_weight`` by label multiplies the sample weights, ``"balanced"``
        balances each class against its rest.
    weigh_rest : bool
        Whether the samples of the rest have the weights of their classes, or weight 1, as in
        LIBLINEAR.

    Raises
    ------
    InvalidParameterError
        Not a formulation; another ``weigh_rest``.

    Notes
    -----
    The labels of the single problems are True (the class) and False (the rest). All of them share
    one kernel matrix.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]], ["a", "b", "c"]
    >>> problem = qpsvm.OneVsRest(qpsvm.SoftMargin(C=10.0)).dual(X, y)
    >>> problem.names
    ('a against the rest', 'b against the rest', 'c against the rest')
    >>> solution = qpsvm.solve(problem)
    >>> solution.predict([[0.0, 2.0], [-3.0, -2.0]])
    array(['a', 'c'], dtype='<U1')
    >>> qpsvm.verify(problem, solution).passed
    True
    """

    weigh_rest: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_flag(self.weigh_rest, "weigh_rest")

    def splits(self, codes: Index, classes: Labels) -> Iterator[Split]:
        everyone = np.full(len(codes), True)
        for m, label in enumerate(classes.tolist()):
            yield Split(f"{label} against the rest", codes == m, everyone, self.weigh_rest)

    def combine(self, decisions: Dense, n_classes: int) -> Dense:
        """Return the decision values unchanged."""
        del n_classes
        return decisions

    def combine_bounds(self, lower: Dense, upper: Dense, n_classes: int) -> tuple[Dense, Dense]:
        """Return the bounds unchanged."""
        del n_classes
        return lower, upper


@dataclass(frozen=True)
class OneVsOne(Reduction):
    """One two-class machine per pair of classes, and a vote.

    ``f(x) = argmax_m #{n : f_mn(x) speaks for m}``

    Parameters
    ----------
    formulation : object
        Of two classes. A ``class_weight`` by label multiplies the sample weights, ``"balanced"``
        balances each pair.
    break_ties : bool
        Whether the decision values decide between classes with equally many votes, as in
        scikit-learn's ``OneVsOneClassifier``, or the order of the labels, as in LIBSVM.

    Raises
    ------
    InvalidParameterError
        Not a formulation; another ``break_ties``.

    Notes
    -----
    ``decision_function`` adds to the votes a share of at most 1/3 for the sum of the decision
    values, which breaks ties; without ``break_ties`` it takes off a share of less than 1 for the
    place of the class among the labels.

    Examples
    --------
    >>> import qpsvm
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]], ["a", "b", "c"]
    >>> problem = qpsvm.OneVsOne(qpsvm.SoftMargin(C=10.0)).dual(X, y)
    >>> problem.names
    ('a against b', 'a against c', 'b against c')
    >>> qpsvm.solve(problem).predict([[0.0, 2.0], [-3.0, 0.0]])
    array(['a', 'c'], dtype='<U1')
    """

    break_ties: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_flag(self.break_ties, "break_ties")

    def splits(self, codes: Index, classes: Labels) -> Iterator[Split]:
        labels = classes.tolist()
        for i, j in itertools.combinations(range(len(labels)), 2):
            members = (codes == i) | (codes == j)
            # other samples do not take part: their label must only be one of the two
            sides = classes[np.where(codes == i, i, j)]
            yield Split(f"{labels[i]} against {labels[j]}", sides, members)

    def combine(self, decisions: Dense, n_classes: int) -> Dense:
        """Votes, plus what decides between equally many of them: see the notes of the class."""
        votes, confidence = np.zeros((2, len(decisions), n_classes))
        for f, (i, j) in zip(decisions.T, itertools.combinations(range(n_classes), 2), strict=True):
            votes[:, i] += f <= 0.0
            votes[:, j] += f > 0.0
            confidence[:, i] -= f
            confidence[:, j] += f
        if not self.break_ties:
            return votes - np.arange(n_classes) / n_classes
        return np.asarray(votes + confidence / (3.0 * (np.abs(confidence) + 1.0)))

    def combine_bounds(self, lower: Dense, upper: Dense, n_classes: int) -> tuple[Dense, Dense]:
        """Bounds on every class's votes, with each machine at the end worse for the class."""
        pairs = list(itertools.combinations(range(n_classes), 2))
        worst, best = np.empty((2, len(lower), n_classes))
        for m in range(n_classes):
            speaks_for = np.array([j == m for _, j in pairs])  # those with i = m fall with f
            worst[:, m] = self.combine(np.where(speaks_for, lower, upper), n_classes)[:, m]
            best[:, m] = self.combine(np.where(speaks_for, upper, lower), n_classes)[:, m]
        return worst, best
