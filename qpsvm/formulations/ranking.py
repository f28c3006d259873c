"""Pairwise ranking: ``Ranking`` (RankSVM).

Primal, in (w, xi), one row for every pair (i, j) of a query group with relevance ``t_i > t_j``::

    minimize    1/2 w'w + sum_ij C_ij xi_ij
    subject to  w'phi(x_i) - w'phi(x_j) >= 1 - xi_ij,   xi_ij >= 0

Dual, in alpha, one variable for every pair, with D the matrix of pair differences ``e_i - e_j``::

    minimize    1/2 alpha'(D K D') alpha - 1'alpha     subject to  0 <= alpha_ij <= C_ij

There is no intercept: it cancels. ``C_ij`` is C times the sample weights of both.

Source: Herbrich, Graepel and Obermayer, "Large margin rank boundaries for ordinal regression"
(2000); Joachims, "Optimizing search engines using clickthrough data", KDD 2002, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
import scipy.sparse as sp

from qpsvm.constraints import Constraints
from qpsvm.data.targets import as_groups, as_targets, one_per_row
from qpsvm.data.training_sets import RegressionTrainingSet, regression_training_set
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError
from qpsvm.formulations.family import Family
from qpsvm.formulations.keywords import explains_keywords
from qpsvm.formulations.margin import hinge
from qpsvm.kernels import Kernel, KernelArgument
from qpsvm.kernels.gram import Gram
from qpsvm.kernels.kernel_repair import Indefinite
from qpsvm.machines.conditions import Conditions
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.upper_bounds import in_range, scaled_product
from qpsvm.numerics.arguments import Samples, Targets, Weights
from qpsvm.numerics.arrays import Index, Vector, freeze, require_memory


@short_repr
@dataclass(frozen=True, eq=False)
class RankedTrainingSet(RegressionTrainingSet):
    """Samples with relevance grades, in query groups.

    Attributes
    ----------
    pairs : array of int of shape (N, 2)
        (better, worse) of every pair to be ordered.
    """

    pairs: Index

    def score(self, decision: Vector, y: Targets | None) -> float:
        """Share of pairs with different y in the right order, all of X as one group."""
        values = as_targets(one_per_row(y, decision))
        require_memory(len(values), len(values), "The table of pairs", "score one group at a time.")
        higher = values[:, None] > values
        right = (np.asarray(decision)[:, None] > decision)[higher]
        return float(np.mean(right)) if right.size else 1.0


@dataclass(frozen=True, repr=False)
class Ranking(Family):
    r"""The pairwise ranking machine.

    .. math::

        \min \; \tfrac{1}{2} w^\top w + C \sum_{t_i > t_j} \max(0, 1 - w^\top (\phi(x_i) -
        \phi(x_j)))

    Parameters
    ----------
    C : float
        Penalty on a violated pair, above 0 and finite.
    loss : {"hinge", "squared_hinge"}
        Whether a violation v costs ``C v`` or :math:`C v^2`.
    average_loss : bool
        Divide C by the number of pairs (the sum of their weights).

    Raises
    ------
    InvalidParameterError
        C not a finite number above 0, another loss.

    Notes
    -----
    ``decision_function`` orders: the higher, the more relevant. n samples of one group have up to
    n (n - 1) / 2 pairs.

    Examples
    --------
    >>> import qpsvm
    >>> X, relevance = [[0.0], [1.0], [3.0]], [0, 1, 2]
    >>> solution = qpsvm.solve(qpsvm.Ranking(C=10.0).dual(X, relevance))
    >>> round(float(solution.coef[0]), 6)
    1.0
    """

    C: float = 1.0
    loss: Literal["hinge", "squared_hinge"] = "hinge"
    average_loss: bool = False

    def training_set(
        self,
        X: Samples,
        y: Targets | None,
        kernel: Kernel,
        sample_weight: Weights | None,
        groups: Targets | None = None,
    ) -> RankedTrainingSet:
        data = regression_training_set(X, y, kernel, sample_weight)
        codes = as_groups(groups, data.n_given)[data.kept]
        pairs = _pairs(data.values, codes)
        if not len(pairs):
            raise InvalidDataError(
                "No two samples of a group have different relevance y: there is no order to learn."
            )
        own = {field.name: getattr(data, field.name) for field in fields(data)}
        return RankedTrainingSet(**own, pairs=freeze(pairs))

    def conditions(self, data: RankedTrainingSet, gram: Gram) -> Conditions:
        better, worse = data.pairs.T
        N = len(data.pairs)
        entries = np.column_stack([np.ones(N), -np.ones(N)]).ravel()
        # a copy: sorting the columns of a row must not sort the pairs
        rows = (entries, data.pairs.flatten(), np.arange(0, 2 * N + 1, 2))
        weights = [data.weights[better], data.weights[worse]]
        total = np.sum(in_range(scaled_product(weights))) if self.average_loss else 1.0
        C = in_range(scaled_product([self.C, *weights], total))
        D = sp.csr_array(rows, shape=(N, data.n_samples))
        return hinge(D, C, self.loss, intercept="none")

    @explains_keywords
    def primal(
        self,
        X: Samples,
        y: Targets | None = None,
        *,
        groups: Targets | None = None,
        kernel: KernelArgument = "linear",
        sample_weight: Weights | None = None,
        constraints: Constraints | None = None,
        indefinite: Indefinite = "error",
    ) -> SVMProblem:
        """The primal program; parameters as for every family, and the query groups.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Relevance: only its order within a group matters.
        groups : array of shape (n,), optional
            The query of every sample, any labels; one group without it.
        kernel, sample_weight, constraints, indefinite
            As ``SoftMargin.primal``.

        Returns
        -------
        SVMProblem

        Raises
        ------
        InvalidDataError
            As ``SoftMargin.primal``; groups of another length; nothing to order.
        MemoryLimitError
            More pairs than fit into a quarter of the machine's memory.
        """
        own = kernel, sample_weight, constraints, indefinite
        return self._built("primal", X, y, *own, groups=groups)

    @explains_keywords
    def dual(
        self,
        X: Samples,
        y: Targets | None = None,
        *,
        groups: Targets | None = None,
        kernel: KernelArgument = "linear",
        sample_weight: Weights | None = None,
        constraints: Constraints | None = None,
        indefinite: Indefinite = "error",
    ) -> SVMProblem:
        """The dual program: one variable per pair; parameters and errors as for ``primal``."""
        own = kernel, sample_weight, constraints, indefinite
        return self._built("dual", X, y, *own, groups=groups)


def _pairs(relevance: Vector, groups: Index) -> Index:
    """(better, worse) of every pair of samples within a group, in the order of the samples."""
    found = []
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        n = len(members)
        require_memory(n, 6 * n, "The pairs of a group", "pass groups, or fewer samples.")
        better, worse = np.nonzero(relevance[members][:, None] > relevance[members])
        found.append(np.column_stack([members[better], members[worse]]))
    return np.concatenate(found).astype(np.intp)
