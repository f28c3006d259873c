"""The machine without one sample, by solving its problem."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from qpsvm.certificates import certify
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Precomputed
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import freeze
from qpsvm.numerics.single_precision import SinglePrecision, rows_of
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.solving import solve


def refit(problem: SVMProblem, full: SVMSolution, i: int, square: float) -> tuple[float, float]:
    """Decision value of sample i for the machine without it, and its distance from the optimum's.

    Parameters
    ----------
    problem : SVMProblem
    full : SVMSolution
        Where to begin.
    i : int
    square : float
        ``k(x_i, x_i)``.

    Raises
    ------
    InvalidDataError
        Without the sample there is one class only.
    """
    data: Any = problem.data
    others = np.delete(np.arange(data.n_samples), i)
    given = isinstance(problem.kernel, Precomputed)
    X = data.X[np.ix_(others, others)] if given else rows_of(data.X, others)
    parts = {
        name: freeze(getattr(data, name)[others])
        for name in ("weights", "kept", "signs", "values")
        if hasattr(data, name)
    }
    if "signs" in parts and abs(float(np.sum(parts["signs"]))) == len(others):
        raise InvalidDataError(
            f"Without sample {i} there is only one class; leave-one-out needs two samples of each."
        )
    left = replace(data, X=X if isinstance(X, SinglePrecision) else freeze(X), **parts)
    formulation: Any = problem.formulation
    part = formulation.of_training_set(left, problem.kernel, "dual")
    start = None if given else full  # a kernel matrix does not say which samples are the same
    machine = solve(part, eps=LEAVE_ONE_OUT.refit_eps, warm_start=start)
    sample = data.X[[i]][:, others] if given else rows_of(data.X, np.array([i]))
    squares = [square] if given else None
    bounds = certify(part, machine).decision_bounds(sample, squares=squares)
    value = float(bounds.values[0])
    radius = max(float(bounds.upper[0]) - value, value - float(bounds.lower[0]))
    return value, radius if math.isfinite(radius) else math.inf
