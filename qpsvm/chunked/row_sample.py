"""Random choice of rows of a chunk; rows with rare features or labels are chosen more often.

A row is chosen with probability proportional to ``1/n + sum_j x_ij^2 / (d sum_k x_kj^2)``, at most
1: half of the choice is uniform, half goes by the share that the row has in each column. Rare
features with large values are then seen often enough for their weights to be guessed. A tenth of
the choice, at least, is of each class: a machine that has seen no row of a class is no guess. A row
that is chosen stands for as many as the inverse of its probability.

Source: Drineas, Mahoney and Muthukrishnan, "Sampling algorithms for l2 regression and applications"
(2006), section 3, with the column sums in place of leverages.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qpsvm.chunked.contents import Contents
from qpsvm.chunked.settings import FIRST_PASS
from qpsvm.numerics.arrays import Index, Matrix, Vector, is_sparse


def chosen_rows(
    contents: Contents, n_sample: int, seed: Sequence[int], codes: Index | None = None
) -> tuple[Index, Vector]:
    """Choose about ``n_sample`` rows of a chunk at random, with the inverse of their probabilities.

    Parameters
    ----------
    contents : Contents
    n_sample : int
        All rows are chosen if there are no more.
    seed : sequence of int
    codes : array of int of shape (n,) or None
        The class of every row, numbered from 0; None without classes.

    Returns
    -------
    rows : array of int of shape (m,)
    shares : array of shape (m,)
        They add up to the number of rows.
    """
    n = contents.n_rows
    if n <= n_sample:
        return np.arange(n), np.ones(n)
    rng = np.random.default_rng(list(seed))
    chances = np.minimum(1.0, n_sample * 0.5 * (1.0 / n + _shares_of_columns(contents)))
    if codes is not None and len(counts := np.bincount(codes)) == 2:
        chances = np.maximum(
            chances, np.minimum(1.0, FIRST_PASS.rare_share * n_sample / counts[codes])
        )
    order, start = rng.permutation(n), rng.random()
    # a row is chosen where the sum of chances passes a whole number: the size hardly varies
    steps = np.floor(np.cumsum(chances[order]) + start)
    rows = order[np.diff(steps, prepend=0.0) > 0.0]
    rows = np.sort(rows if len(rows) else order[:1])
    shares = 1.0 / chances[rows]
    return rows, shares * (n / float(np.sum(shares)))


def _shares_of_columns(contents: Contents) -> Vector:
    """``1/d sum_j x_ij^2 / sum_k x_kj^2`` of every row; columns that overflow count nothing."""
    sums, parts = np.zeros(contents.n_features), list[Vector]()
    with np.errstate(over="ignore", invalid="ignore"):
        for _, block in contents.blocks():
            sums += np.asarray(_squares(block).sum(axis=0)).ravel()
        used = np.isfinite(sums) & (sums > 0.0)
        factors = used / np.where(used, sums, 1.0) / max(1, len(sums))
        for _, block in contents.blocks():
            parts.append(np.asarray(_squares(block) @ factors))
    return np.asarray(np.nan_to_num(np.concatenate(parts), nan=0.0, posinf=1.0))


def _squares(block: Matrix) -> Matrix:
    return block.power(2) if is_sparse(block) else block * block
