"""Multiclass classification by two-class machines: ``OneVsRest`` and ``OneVsOne``.

With classes 1, ..., k, a two-class formulation gives a decision function for every split of them::

    one against the rest    f_m: class m against all others, m = 1, ..., k
                            predicted: the m with the largest f_m(x)

    one against one         f_ij: class j (above zero) against class i, for all i < j
                            predicted: the m that wins most of its k - 1 comparisons; ties go to the
                            larger sum of the f that speak for it less those that speak against it

Sources: Hsu and Lin, "A comparison of methods for multiclass support vector machines", *IEEE
Trans. Neural Networks* 13 (2002), sections 2 and 3; Knerr, Personnaz and Dreyfus (1990) for pairs.

Kernel values are evaluated once for all machines of a reduction.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from qpsvm.chunked.sources import require_whole
from qpsvm.constraints import Constraints
from qpsvm.data.targets import as_signs
from qpsvm.data.training_sets import (
    BinaryTrainingSet,
    MulticlassTrainingSet,
    multiclass_training_set,
)
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.family import Classifier, Formulation
from qpsvm.formulations.margin import SoftMargin
from qpsvm.formulations.nu import NuClassification
from qpsvm.formulations.parameters import factors_by_label, per_sample_C
from qpsvm.kernels import RBF, Kernel, KernelArgument, Linear, Polynomial, Precomputed, as_kernel
from qpsvm.kernels.gram import gram
from qpsvm.kernels.kernel_repair import Indefinite, require_policy
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.reduced import ReducedProblem, SharedMatrix, Side
from qpsvm.machines.setup import Form
from qpsvm.native import products_by_row
from qpsvm.numerics.arguments import (
    Labels,
    Samples,
    Targets,
    Weights,
    explains_constructor,
)
from qpsvm.numerics.arrays import Dense, Index, Mask, freeze
from qpsvm.numerics.single_precision import SinglePrecision, rows_of
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.sample_gram import KEPT_BYTES, SampleGram

TwoClass = TypeVar("TwoClass", bound=Classifier)


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


@dataclass(frozen=True, repr=False)
class Reduction(Formulation[ReducedProblem]):
    """A reduction of a multiclass problem to two-class problems.

    Attributes
    ----------
    formulation : object
        Of two classes: ``SoftMargin``, ``NuClassification``, ``LeastSquares`` and the like.
    """

    formulation: Classifier

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.formulation, Classifier):
            raise InvalidParameterError(
                f"{type(self).__name__} takes a two-class formulation with its parameters, such as "
                f"SoftMargin(C=1.0), got {self.formulation!r}."
            )

    @abstractmethod
    def sides(self, n_classes: int) -> Sequence[tuple[int, ...]]:
        """The classes of every two-class problem by number, the positive one last.

        Only the positive one where all others are negative.
        """

    def names(self, classes: Labels) -> tuple[str, ...]:
        """Names of the two-class problems: what each of them tells apart."""
        labels = [*classes.tolist(), "the rest"]
        ends = ((*side, -1)[:2] for side in self.sides(len(classes)))
        return tuple(f"{labels[first]} against {labels[second]}" for first, second in ends)

    def splits(self, codes: Index, classes: Labels) -> Iterator[Split]:
        """Yield the two-class problems; the larger label has positive decision values."""
        for name, side in zip(self.names(classes), self.sides(len(classes)), strict=True):
            if len(side) == 1:
                everyone = np.full(len(codes), True)
                yield Split(name, codes == side[0], everyone, self.weighs_rest)
            else:
                # other samples do not take part: their label must only be one of the two
                labels = classes[np.where(codes == side[0], *side)]
                yield Split(name, labels, np.isin(codes, side))

    @property
    def weighs_rest(self) -> bool:
        """Return whether class weights apply to samples that are against a single class."""
        return bool(getattr(self, "weigh_rest", True))

    @abstractmethod
    def combine(self, decisions: Dense, n_classes: int) -> Dense:
        """Combine one value per problem, shape (m, p), to one per class, shape (m, k)."""

    @abstractmethod
    def combine_bounds(self, lower: Dense, upper: Dense, n_classes: int) -> tuple[Dense, Dense]:
        """Bounds on ``combine``, shape (m, k) each, from bounds on its arguments."""

    def _built(
        self,
        form: Form,
        X: Samples,
        y: Targets | None,
        kernel: KernelArgument,
        sample_weight: Weights | None,
        constraints: Constraints | None,
        indefinite: Indefinite,
    ) -> ReducedProblem:
        require_policy(indefinite)
        function = as_kernel(kernel)
        require_whole(X, type(self).__name__)
        data = multiclass_training_set(X, y, function, sample_weight)
        function = function.resolve(data.X)
        shared = None
        if form == "dual" and constraints is None and indefinite == "error":
            shared = shared_matrix(self, data, function)
        parts = partial(self._parts, form, data, function, constraints, indefinite, shared)
        own = parts() if shared is None else parts
        return ReducedProblem(own, self.names(data.classes), data, self, form, shared)

    def _parts(
        self,
        form: Form,
        data: MulticlassTrainingSet,
        kernel: Kernel,
        constraints: Constraints | None,
        indefinite: Indefinite,
        shared: SharedMatrix | None,
    ) -> tuple[SVMProblem, ...]:
        """Build the two-class problems of all splits, which share kernel values."""
        # what is done with an indefinite matrix depends on all of it, and a primal program holds
        # its matrix: each part has its own
        whole = place = of_all = None
        if shared is not None and shared.gram is not None:
            whole, place = shared.gram, np.argsort(shared.order)
        elif (form == "dual" and kernel.is_positive_semidefinite) and not isinstance(
            kernel, Linear | Precomputed
        ):
            whole = SampleGram(kernel, data.X, positive_semidefinite=True)
        found = list[SVMProblem]()
        for split in self.splits(data.codes, data.classes):
            formulation, part = two_class_part(self.formulation, data, split, kernel)
            members, own = np.flatnonzero(split.members), None
            if place is None and len(members) == data.n_samples:
                own = of_all = of_all or gram(kernel, part.X, indefinite=indefinite)
            elif whole is not None:
                members = members if place is None else place[members]
                own = KernelQuadratic(whole.sharing(members, part.X)), None
            found.append(
                formulation.of_training_set(part, kernel, form, constraints, indefinite, gram=own)
            )
        return tuple(found)


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
        of_classes = factors_by_label(class_weight, data.classes.tolist())
        factors = of_classes[data.codes[members]]
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


def shared_matrix(
    reduction: Reduction, data: MulticlassTrainingSet, kernel: Kernel
) -> SharedMatrix | None:
    """Describe the machines of a reduction as parts of one kernel matrix; None if they are not.

    Parameters
    ----------
    reduction : Reduction
    data : MulticlassTrainingSet
    kernel : Kernel
        With every parameter a number.
    """
    own: Any = reduction.formulation
    is_nu = type(own) is NuClassification
    if not (_is_plain(own, data) and _has_matrix(data, kernel)):
        return None
    order = np.argsort(data.codes, kind="stable")
    counts = np.bincount(data.codes, minlength=len(data.classes))
    ends = np.concatenate([[0], np.cumsum(counts)])
    C = 1.0 if is_nu else own.C
    own_C = per_sample_C(C, data, class_weight=own.class_weight).rounded[order]
    of_rest = own_C if reduction.weighs_rest else per_sample_C(C, data).rounded[order]
    X = np.asarray(rows_of(data.X, order))
    is_linear = type(kernel) is Linear
    gram = None if is_linear else SampleGram(kernel, X, positive_semidefinite=True)
    found = list[Side]()
    for classes in reduction.sides(len(data.classes)):
        places = tuple(slice(int(ends[m]), int(ends[m + 1])) for m in classes)
        if len(classes) == 1:
            signs, upper = np.full(len(order), -1.0), of_rest.copy()
            signs[places[0]], upper[places[0]] = 1.0, own_C[places[0]]
            places = (slice(0, len(order)),)
        else:
            signs = np.repeat([-1.0, 1.0], [counts[m] for m in classes])
            upper = np.concatenate([own_C[place] for place in places])
        if is_nu:
            upper /= len(upper)
            if own.nu > own.largest_nu_of(upper, signs):
                return None  # what is built then says so
        found.append(Side(places, signs, upper))
    is_squared = not is_nu and own.loss == "squared_hinge"
    total = own.nu if is_nu else 0.0
    return SharedMatrix(kernel, gram, X, order, tuple(found), is_squared, own.intercept, total)


def _is_plain(formulation: object, data: MulticlassTrainingSet) -> bool:
    """Return whether samples have the same ``C_i`` in a two-class problem as in the whole set."""
    if type(formulation) is NuClassification:
        is_unweighted = formulation.class_weight is None and bool((data.weights == 1.0).all())
        return is_unweighted and formulation.intercept == "free"
    if type(formulation) is not SoftMargin or formulation.average_loss:
        return False
    return not isinstance(formulation.class_weight, str)  # balanced anew in every part


def _has_matrix(data: MulticlassTrainingSet, kernel: Kernel) -> bool:
    is_known = type(kernel) in (Linear, Polynomial, RBF) and kernel.is_positive_semidefinite
    is_dense = not isinstance(data.X, SinglePrecision) and data.storage == "dense"
    return is_known and is_dense and 8 * data.n_samples**2 <= KEPT_BYTES


# --- the two reductions --------------------------------------------------------------------------


@explains_constructor
@dataclass(frozen=True, repr=False)
class OneVsRest(Reduction):
    r"""One against the rest: one two-class machine per class.

    .. math::

        f(x) = \operatorname{argmax}_m f_m(x)

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
        Not a formulation of two classes; another ``weigh_rest``.

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

    def sides(self, n_classes: int) -> Sequence[tuple[int, ...]]:
        return [(m,) for m in range(n_classes)]

    def combine(self, decisions: Dense, n_classes: int) -> Dense:
        """Return the decision values unchanged."""
        del n_classes
        return decisions

    def combine_bounds(self, lower: Dense, upper: Dense, n_classes: int) -> tuple[Dense, Dense]:
        """Return the bounds unchanged."""
        del n_classes
        return lower, upper


@explains_constructor
@dataclass(frozen=True, repr=False)
class OneVsOne(Reduction):
    r"""One against one: one two-class machine per pair of classes, and votes.

    .. math::

        f(x) = \operatorname{argmax}_m \#\{n : f_{mn}(x) \text{ votes for } m\}

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
        Not a formulation of two classes; another ``break_ties``.

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

    def sides(self, n_classes: int) -> Sequence[tuple[int, ...]]:
        return [*itertools.combinations(range(n_classes), 2)]

    def combine(self, decisions: Dense, n_classes: int) -> Dense:
        """Votes of each class plus a tie-break; see the notes of the class."""
        speaks_for = _signs_of_pairs(n_classes)
        is_positive = (decisions > 0.0).astype(np.float64)
        votes = np.where(decisions <= 0.0, 1.0, 0.0) @ (speaks_for < 0.0)
        votes += is_positive @ (speaks_for > 0.0)
        if not self.break_ties:
            return np.asarray(votes - np.arange(n_classes) / n_classes)
        confidence = products_by_row(np.ascontiguousarray(decisions), speaks_for)
        return np.asarray(votes + confidence / (3.0 * (np.abs(confidence) + 1.0)))

    def combine_bounds(self, lower: Dense, upper: Dense, n_classes: int) -> tuple[Dense, Dense]:
        """Bounds on every class's votes, from the bounds of all machines."""
        pairs = self.sides(n_classes)
        worst, best = np.empty((2, len(lower), n_classes))
        for m in range(n_classes):
            speaks_for = np.array([j == m for _, j in pairs])  # those with i = m fall with f
            worst[:, m] = self.combine(np.where(speaks_for, lower, upper), n_classes)[:, m]
            best[:, m] = self.combine(np.where(speaks_for, upper, lower), n_classes)[:, m]
        return worst, best


@lru_cache(maxsize=8)  # a loop over pairs takes as long as the prediction of a sample
def _signs_of_pairs(n_classes: int) -> Dense:
    """Signs of the values of each pair that count for each class, 0 for none, shape (p, k)."""
    signs = np.zeros((n_classes * (n_classes - 1) // 2, n_classes))
    for pair, (i, j) in enumerate(itertools.combinations(range(n_classes), 2)):
        signs[pair, i], signs[pair, j] = -1.0, 1.0
    return np.asarray(freeze(signs))
