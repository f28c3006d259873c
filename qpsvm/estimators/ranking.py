"""Pairwise ranking: ``SVMRanker``."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qpsvm.chunked.solution import block_by_block
from qpsvm.data.targets import as_groups, as_targets, one_per_row
from qpsvm.estimators import inputs
from qpsvm.estimators.inputs import parameters
from qpsvm.estimators.kernel_estimator import KernelEstimator
from qpsvm.estimators.regression import NumberPredictor
from qpsvm.formulations import Ranking
from qpsvm.formulations.family import Formulation
from qpsvm.kernels import KernelArgument
from qpsvm.numerics.arguments import Samples, Targets, Weights, explains_calls
from qpsvm.numerics.arrays import IN_CACHE, Vector, row_blocks


@parameters
class SVMRanker(NumberPredictor, KernelEstimator):
    r"""Pairwise ranking machine, solved to a certified gap.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + C \sum_{t_i > t_j} \max(0, 1 - w^\top (\phi(x_i) -
        \phi(x_j)))

    Parameters
    ----------
    C : float
        Penalty on a violated pair, above 0 and finite.
    kernel, degree, gamma, coef0
        As for ``SVC``, but linear by default.
    loss : {"hinge", "squared_hinge"}
        Whether a violation v costs ``C v`` or ``C v^2``.
    eps, backend, constraints, indefinite, memory_limit, device, warm_start, max_iter, verbose
        As for ``SVC``.
    tol, cache_size, shrinking, random_state
        As for ``SVC``.

    Raises
    ------
    UnknownParameterError
        If a parameter does not exist; the message names its replacement.

    See Also
    --------
    qpsvm.Ranking : The formulation.

    Notes
    -----
    Only the order of the predictions means something: the higher, the more relevant. n samples of
    one group have up to n (n - 1) / 2 pairs. Source: Joachims, "Optimizing search engines using
    clickthrough data", KDD 2002, section 4.

    Examples
    --------
    >>> from qpsvm.estimators import SVMRanker
    >>> X, relevance, query = [[0.0], [1.0], [3.0], [5.0]], [0, 1, 0, 1], ["a", "a", "b", "b"]
    >>> machine = SVMRanker(C=10.0).fit(X, relevance, groups=query)
    >>> machine.score(X, relevance, groups=query)
    1.0
    """

    _fewest_samples = 2

    C: float = 1.0
    kernel: KernelArgument = "linear"
    loss: Literal["hinge", "squared_hinge"] = "hinge"

    @explains_calls
    def fit(
        self,
        X: Samples,
        y: Targets,
        sample_weight: Weights | None = None,
        *,
        groups: Targets | None = None,
        sensitive: Targets | None = None,
    ) -> Self:
        """Fit the ranking to samples and relevances, to a certified relative gap of ``eps``.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Relevance: only its order within a group matters.
        sample_weight : array of shape (n,), optional
            A pair counts by the product of its weights.
        groups : array of shape (n,), optional
            The query of every sample, any labels; one group without it.
        sensitive : array of shape (n,), optional
            Values for a ``fairness_band``, which cross-validation splits as it splits y.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the data or parameters are invalid, or there is nothing to order.

        Warns
        -----
        ConvergenceWarning
            The solution is not certified to ``eps``.
        """
        return self._fit(X, y, sample_weight, sensitive, groups=groups)

    def _formulation(self, weights: Vector) -> Formulation[Any]:
        del weights
        return Ranking(C=self.C, loss=self.loss)

    @block_by_block
    def predict(self, X: Samples) -> Any:
        """Scores to sort by, shape (m,): the higher, the more relevant.

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``.
        """
        return self._values(X)

    @block_by_block
    def decision_function(self, X: Samples) -> Any:
        """The same as ``predict``."""
        return self._values(X)

    @explains_calls
    def score(
        self,
        X: Samples,
        y: Targets,
        sample_weight: Weights | None = None,
        *,
        groups: Targets | None = None,
    ) -> float:
        """Share of pairs of a group with different relevance that are in the right order.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (m, d)
        y : array of shape (m,)
        sample_weight : array of shape (m,), optional
            A pair counts by the product of its weights.
        groups : array of shape (m,), optional

        Returns
        -------
        float
            1 without any such pair.

        Raises
        ------
        NotFittedError, ValueError
            Before ``fit``; other features than in ``fit``.
        """
        scores = self.predict(X)
        weights = None if sample_weight is None else inputs.weights(sample_weight, scores)
        return share_in_order(y, scores, groups, weights)


def share_in_order(
    y: Targets, scores: Vector, groups: Targets | None = None, weights: Vector | None = None
) -> float:
    """Share of pairs of a group with different relevance that scores put in the right order.

    Parameters
    ----------
    y, scores : arrays of shape (m,)
    groups : array of shape (m,) or None
    weights : array of shape (m,) or None
        A pair counts by the product of its weights.

    Examples
    --------
    >>> share_in_order([0, 1, 2], [0.1, 0.3, 0.2])
    0.6666666666666666
    """
    scores = np.asarray(scores)
    relevance = one_per_row(y, scores)
    if relevance.dtype.kind not in "iuO":  # integers of any size are compared as they are
        as_targets(relevance)  # refuses texts and NaN
    queries = as_groups(groups, len(scores))
    weights = np.ones(len(scores)) if weights is None else weights
    right = total = 0.0
    for query in np.unique(queries):
        members = queries == query
        t, f, c = relevance[members], scores[members], weights[members]
        for rows in row_blocks(len(t), len(t), IN_CACHE):  # all pairs would fill the memory
            ordered = (t[rows, None] > t) * np.outer(c[rows], c)
            right += float(np.sum(ordered * (f[rows, None] > f)))
            total += float(np.sum(ordered))
    return right / total if total else 1.0
