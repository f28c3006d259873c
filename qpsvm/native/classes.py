"""Steps of samples for the machine with one decision function per class."""

from __future__ import annotations

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native.checks import (
    Array,
    Dense,
    Vector,
    require_apart,
    require_array,
    require_at_least,
    require_indices,
    require_row_wise,
    require_vector,
)
from qpsvm.native.library import Status, run
from qpsvm.native.pairs import Steps


def descend_classes(
    K: Dense,
    codes: Array,
    upper: Vector,
    tau: Dense,
    gradient: Dense,
    *,
    constant: float = 0.0,
    tol: float,
    max_steps: int,
) -> Steps:
    """Minimise over the dual variables of one sample after the other, each time exactly.

    The program is::

        minimise    1/2 sum_m tau_m'(K + c 11')tau_m - sum_i tau_{i,y_i}
        subject to  sum_m tau_im = 0,   tau_im <= C_i [m = y_i]

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, each row in one piece.
    codes : int64 array of shape (n,)
        y, the class of every sample, from 0 to k - 1.
    upper : array of shape (n,)
        C_i, above zero and finite.
    tau, gradient : arrays of shape (n, k)
        A feasible point and ``(K + c 11') tau - [m = y_i]`` there. Both change in place.
    constant : float
        c >= 0: 1 for penalised intercepts.
    tol : float
        Violation at which the run ends.
    max_steps : int
        Largest number of steps.

    Returns
    -------
    Steps
        ``violation`` is the largest difference of gradients within a sample that moving variables
        would lower.

    Raises
    ------
    InvalidParameterError
        An array of another type, shape or layout than these, a class out of range, a variable above
        its bound, arrays that overlap.

    Examples
    --------
    Two samples of two classes:

    >>> K, codes, tau = np.eye(2), np.array([0, 1]), np.zeros((2, 2))
    >>> g = -np.eye(2)
    >>> descend_classes(K, codes, np.full(2, 9.0), tau, g, tol=1e-9, max_steps=9).steps
    2
    >>> tau
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    n = len(require_vector(upper, "upper", None, finite=True))
    if n and not np.min(upper) > 0.0:
        raise InvalidParameterError(f"upper has {np.min(upper)}: every bound must be above 0")
    require_array(tau, "tau", np.float64, (n, None), written=True)
    k = tau.shape[1]
    require_array(gradient, "gradient", np.float64, (n, k), written=True)
    require_indices(require_array(codes, "codes", np.int64, (n,)), "codes", k)
    stride = require_row_wise(K, "K")
    if K.shape != (n, n):
        raise InvalidParameterError(f"K has the shape {K.shape}: there are {n} samples")
    box = np.where(codes[:, None] == np.arange(k), upper[:, None], 0.0)
    if not (tau <= box).all():
        raise InvalidParameterError("tau has a variable above its bound, or not a number")
    tol = require_at_least(tol, "tol", 0.0)
    constant = require_at_least(constant, "constant", 0.0)
    require_apart({"tau": tau, "gradient": gradient}, {"K": K, "codes": codes, "upper": upper})
    memory = np.empty(n), np.empty(2 * k)
    violation, steps = np.zeros(1), np.zeros(1, np.int64)
    status = run(
        "classes_run",
        n,
        k,
        K,
        stride,
        constant,
        codes,
        upper,
        tol,
        max(0, int(max_steps)),
        tau,
        gradient,
        *memory,
        violation,
        steps,
    )
    return Steps(Status(status), int(steps[0]), float(violation[0]))
