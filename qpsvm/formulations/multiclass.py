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
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qpsvm.formulations.reduction import Reduction, Split
from qpsvm.native import products_by_row
from qpsvm.numerics.arguments import Labels, explains_constructor, require_flag
from qpsvm.numerics.arrays import Dense, Index


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

    def __post_init__(self) -> None:
        super().__post_init__()
        require_flag(self.weigh_rest, "weigh_rest")

    def names(self, classes: Labels) -> tuple[str, ...]:
        return tuple([f"{label} against the rest" for label in classes.tolist()])

    def sides(self, n_classes: int) -> Iterator[tuple[int, ...]]:
        for m in range(n_classes):
            yield (m,)

    def splits(self, codes: Index, classes: Labels) -> Iterator[Split]:
        everyone = np.full(len(codes), True)
        for m, name in enumerate(self.names(classes)):
            yield Split(name, codes == m, everyone, self.weigh_rest)

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

    def __post_init__(self) -> None:
        super().__post_init__()
        require_flag(self.break_ties, "break_ties")

    def names(self, classes: Labels) -> tuple[str, ...]:
        pairs = itertools.combinations(classes.tolist(), 2)
        return tuple([f"{first} against {second}" for first, second in pairs])

    def sides(self, n_classes: int) -> Iterator[tuple[int, ...]]:
        yield from itertools.combinations(range(n_classes), 2)

    def splits(self, codes: Index, classes: Labels) -> Iterator[Split]:
        pairs = itertools.combinations(range(len(classes)), 2)
        for name, (i, j) in zip(self.names(classes), pairs, strict=True):
            members = (codes == i) | (codes == j)
            # other samples do not take part: their label must only be one of the two
            sides = classes[np.where(codes == i, i, j)]
            yield Split(name, sides, members)

    def combine(self, decisions: Dense, n_classes: int) -> Dense:
        """Votes of each class plus a tie-break; see the notes of the class."""
        speaks_for = np.zeros((decisions.shape[1], n_classes))
        for pair, (i, j) in enumerate(itertools.combinations(range(n_classes), 2)):
            speaks_for[pair, i], speaks_for[pair, j] = -1.0, 1.0
        is_positive = (decisions > 0.0).astype(np.float64)
        votes = np.where(decisions <= 0.0, 1.0, 0.0) @ (speaks_for < 0.0)
        votes += is_positive @ (speaks_for > 0.0)
        if not self.break_ties:
            return np.asarray(votes - np.arange(n_classes) / n_classes)
        confidence = products_by_row(np.ascontiguousarray(decisions), speaks_for)
        return np.asarray(votes + confidence / (3.0 * (np.abs(confidence) + 1.0)))

    def combine_bounds(self, lower: Dense, upper: Dense, n_classes: int) -> tuple[Dense, Dense]:
        """Bounds on every class's votes, from the bounds of all machines."""
        pairs = list(itertools.combinations(range(n_classes), 2))
        worst, best = np.empty((2, len(lower), n_classes))
        for m in range(n_classes):
            speaks_for = np.array([j == m for _, j in pairs])  # those with i = m fall with f
            worst[:, m] = self.combine(np.where(speaks_for, lower, upper), n_classes)[:, m]
            best[:, m] = self.combine(np.where(speaks_for, upper, lower), n_classes)[:, m]
        return worst, best
