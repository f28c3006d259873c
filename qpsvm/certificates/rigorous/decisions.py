"""Decision values with a bound on their rounding."""

from __future__ import annotations

import math

import numpy as np

from qpsvm.certificates.rigorous.kernels import expanded, squares
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Precomputed
from qpsvm.kernels.errors import entry_errors
from qpsvm.kernels.kernel_repair import FACTOR, KernelRepair
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Dense, Vector, row_blocks
from qpsvm.numerics.balls import Ball, product
from qpsvm.numerics.single_precision import Stored


def decision_enclosure(
    solution: SVMSolution | JointSolution, X: Stored, self_similarity: Vector | None = None
) -> tuple[Dense, Dense]:
    """Compute decision values with error bounds, ``|f(x) - value| <= error`` for each row x.

    f is ``coef'x + intercept``, or ``sum_i expansion_i k(x_i, x) + intercept`` with the exact
    kernel function (a callable's values are exact as they come), less ``k(x, x)`` for
    ``DataDescription``.

    Parameters
    ----------
    solution : SVMSolution or JointSolution
    X : array, DataFrame or sparse matrix of shape (m, d)
        What ``solution.decision_function`` takes.
    self_similarity : array of shape (m,), optional
        ``k(x, x)`` to the last bit, which a precomputed kernel matrix of new samples does not hold.

    Returns
    -------
    values, errors : arrays of shape (m,), or (m, k) with one decision function per class
        Where nothing is known (overflow, NaN in the solution) the value is 0, the error infinite.

    Raises
    ------
    InvalidDataError
        As ``decision_function``.

    Notes
    -----
    ``docs/rounding.md`` has the proof. exp, tanh and power are assumed to be accurate to 4 ulp.

    Examples
    --------
    >>> import qpsvm
    >>> solution = qpsvm.solve(qpsvm.SoftMargin().dual([[0.0], [2.0]], [-1, 1], kernel="rbf"))
    >>> values, errors = decision_enclosure(solution, [[0.5], [3.0]])
    >>> bool((errors < 1e-13).all())
    True
    """
    samples = solution.checked_samples(X)
    with np.errstate(all="ignore"):
        values = _values(solution, samples)
        values += Ball.exact(np.broadcast_to(solution.intercept, np.shape(values.mid)))
        if isinstance(solution, SVMSolution) and solution.conditions.minus_self_similarity:
            given = self_similarity
            values -= squares(solution.kernel, samples) if given is None else Ball.exact(given)
    known = np.isfinite(values.mid) & np.isfinite(values.rad)
    return np.where(known, values.mid, 0.0), np.where(known, values.rad, np.inf)


def _values(solution: SVMSolution | JointSolution, samples: Stored) -> Ball:
    """``w'phi(x)`` for every row, as a ball."""
    if solution.coef is not None:
        return product(samples, Ball.exact(solution.coef.T))
    if solution.expansion is None:
        raise InvalidDataError("This solution has neither coef nor an expansion.")
    beta = Ball.exact(solution.expansion)
    if solution.repair is not None:
        beta = _repaired(solution.repair, beta)
    if isinstance(solution.kernel, Precomputed):
        return product(samples, beta)
    size = np.abs(beta.mid) + beta.rad
    used = np.unique(np.nonzero(size)[0])
    centres, weights = solution.data.X[used], beta[used]
    errors = entry_errors(solution.kernel, samples, centres)
    blocks = (
        (rows, solution.kernel(samples[rows], centres))
        for rows in row_blocks(samples.shape[0], max(1, len(used)))
    )
    flat = (len(used), math.prod(beta.mid.shape[1:]))  # none may be used
    columns = Ball(weights.mid.reshape(flat), weights.rad.reshape(flat))
    values = expanded(blocks, columns, errors)
    shape = (samples.shape[0], *beta.mid.shape[1:])
    return Ball(values.mid.reshape(shape), values.rad.reshape(shape))


def _repaired(repair: KernelRepair, beta: Ball) -> Ball:
    """The coefficients ``T beta = beta - FACTOR V V'beta`` of a repaired kernel as a ball."""
    V = repair.negative_vectors
    along = product(V, product(V.T, beta))
    return beta - Ball.exact(FACTOR[repair.policy]) * along
