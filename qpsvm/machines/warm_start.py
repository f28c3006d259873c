"""Transfer of a solution to a problem with other samples or another C.

Known samples keep their share of the box, ``alpha_k upper'_k / upper_k``; new ones begin with zero.
A sample is known by its features and its sign; where there are several of a kind, by their order.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from qpsvm.data.training_sets import TrainingSet
from qpsvm.exceptions import InvalidParameterError
from qpsvm.kernels import Precomputed
from qpsvm.machines.conditions import Conditions
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics import contents, duplicates
from qpsvm.numerics.arrays import Index, Vector

_ODD = np.uint64(0x9E3779B97F4A7C15)

Hashes: TypeAlias = npt.NDArray[np.uint64]
"""64-bit hashes of conditions, shape (N,)."""


class NothingKnownError(InvalidParameterError):
    """No sample of the warm start is known to be a sample of the problem."""


def transfer_warm_start(model: SupportVectorModel, start: SVMSolution) -> SVMSolution:
    """Build a starting point for a problem from an earlier solution.

    Parameters
    ----------
    model : SupportVectorModel
    start : SVMSolution
        Of the same family, of samples with as many features.

    Returns
    -------
    SVMSolution
        Its alpha is feasible; coef (of the linear kernel), intercept and width are the start's.

    Raises
    ------
    InvalidParameterError
        Another family; or no sample of the start is known to be one of the problem's.
    """
    if start.alpha is None:
        raise InvalidParameterError("warm_start has no alpha; pass a solution that has, or none.")
    old, new = _known(model, start)
    alpha = np.zeros(len(model.conditions))
    alpha[new] = _grown(start.alpha[old], _at(start.conditions, old), _at(model.conditions, new))
    multipliers = start.constraint_multipliers
    if multipliers is None or len(multipliers) != model.n_constraints:
        multipliers = np.zeros(model.n_constraints)
    with np.errstate(over="ignore", invalid="ignore"):  # whatever there was to start from
        point = model.feasible_dual(alpha, multipliers)
    return start.replace(
        alpha=point.alpha,
        expansion=model.expansion(point.alpha),
        coef=start.coef if model.is_linear else None,
        constraint_multipliers=point.constraint_multipliers,
        slack=np.zeros(len(alpha)),
        conditions=model.conditions,
        kernel=model.kernel,
        data=model.data,
        repair=model.repair,
    )


def _known(model: SupportVectorModel, start: SVMSolution) -> tuple[Index, Index]:
    """Match conditions of the warm start and of the problem; return both indices."""
    n, N = model.data.n_samples, len(model.conditions)
    given, asked = start.data.n_samples, len(start.conditions)
    both = start.conditions, model.conditions
    of_one_sample_each = all(conditions.selection is not None for conditions in both)
    if asked * n != N * given and of_one_sample_each:
        raise InvalidParameterError(
            f"warm_start is a solution of another kind of problem ({asked} conditions on {given} "
            f"samples, this one has {N} on {n}); pass one of the same kind, or none."
        )
    every = np.arange(N)
    if given == n and asked == N and start.data.equals(model.data):
        return every, every
    if of_one_sample_each and not any(
        isinstance(k, Precomputed) for k in (start.kernel, model.kernel)
    ):
        earlier = _keys(start.data, start.conditions)
        _, old, new = np.intersect1d(
            earlier, _keys(model.data, model.conditions), return_indices=True
        )
        if len(old):
            return old, new
    if given == n and asked == N:  # scaled anew; a matrix of another kernel
        return every, every
    raise NothingKnownError(
        f"warm_start is a solution of {given} samples, none of which is known to be one of the "
        f"{n} of the problem; pass one that shares samples, scaled in the same way, or none. "
        "(Ranked pairs, and rows of a kernel matrix, are not compared.)"
    )


def _at(conditions: Conditions, chosen: Index) -> tuple[Vector, Vector]:
    return conditions.lower[chosen], conditions.upper[chosen]


def _grown(alpha: Vector, earlier: tuple[Vector, Vector], own: tuple[Vector, Vector]) -> Vector:
    """Scale alpha with its bound; unchanged where a bound is infinite or zero."""
    before, now = (np.where(alpha < 0.0, *box) for box in (earlier, own))
    ends = np.isfinite(before) & np.isfinite(now) & (before != 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        grown = alpha / np.where(ends, before, 1.0) * np.where(ends, now, 1.0)
    return np.where(ends, grown, alpha)


def _keys(data: TrainingSet, conditions: Conditions) -> Hashes:
    """A hash of every condition, distinct for repeated conditions, shape (N,)."""
    assert conditions.selection is not None
    signs, index = conditions.signs, conditions.selection.index
    if data.storage == "objects":
        of_samples = contents.row_hashes(data.X)
    else:
        of_samples = duplicates.row_hashes(data.X)
    keys = of_samples if index is None else of_samples[index]
    keys = np.where(signs > 0.0, keys, ~keys)
    return keys + _ODD * _occurrence(keys)


def _occurrence(keys: Hashes) -> Hashes:
    """Number of equal keys before each key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    places = np.arange(len(keys))
    occurrence = np.empty(len(keys), dtype=np.uint64)
    occurrence[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return occurrence
