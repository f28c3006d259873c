"""Comparison of a file's prediction data with the verified solution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.kernels import Precomputed
from qpsvm.machines.reduced import ReducedSolution
from qpsvm.models.machine import SavedMachine
from qpsvm.models.training import targets_of
from qpsvm.numerics.arrays import Array, Matrix
from qpsvm.numerics.precision import TINY
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.kkt_residuals import Check


def predictions_check(
    machine: SavedMachine | ReducedSolution,
    targets: Array | None,
    problem: Any,
    solution: Any,
    eps: float,
) -> Check:
    """Check that a model predicts with the samples and coefficients of a verified solution.

    Scaled 0 where they are the same to the last bit, 1 where they are not. The coefficients of a
    repaired kernel follow from eigenvectors, which may come out with other last bits: there it is
    the relative difference.
    """
    own = targets_of(problem.data)
    same = own is targets if own is None or targets is None else np.array_equal(own, targets)
    machines: Any = (machine,)
    solutions = (solution,)
    if isinstance(machine, ReducedSolution):
        machines, solutions = machine.solutions, solution.solutions
    changed, repaired = 0.0 if same else math.inf, 0.0
    for saved, verified in zip(machines, solutions, strict=True):
        if not np.array_equal(saved.support, verified.support):
            changed = math.inf
        changed = max(changed, _samples_differ(saved, verified))
        if verified.repair is not None and verified.expansion is not None:
            repaired = max(repaired, _coefficients_differ(saved, verified))
    if changed != 0.0:
        return Check("predictions", changed, 1.0, eps)
    return Check("predictions", repaired, repaired, eps)


def _samples_differ(machine: SavedMachine, solution: Any) -> float:
    """Largest difference between a machine's samples and the same rows of the training data."""
    if isinstance(machine.kernel, Precomputed):
        return 0.0 if np.array_equal(machine.data.kept, solution.data.kept) else math.inf
    data = solution.data
    rows = np.searchsorted(data.kept, machine.data.kept)
    if not np.array_equal(data.kept[np.minimum(rows, len(data.kept) - 1)], machine.data.kept):
        return math.inf
    return difference(machine.data.X, data.X[rows])


def _coefficients_differ(machine: SavedMachine, solution: Any) -> float:
    whole = solution.repair.coefficients(solution.expansion)
    own = whole[np.searchsorted(solution.data.kept, machine.data.kept)]
    if machine.expansion is None or own.shape != machine.expansion.shape:
        return math.inf
    size = max(float(np.max(np.abs(whole), initial=0.0)), TINY)
    return float(np.max(np.abs(own - machine.expansion), initial=0.0)) / size


def difference(given: Stored, expected: Stored) -> float:
    """Largest absolute difference of two matrices; infinite for different shapes."""
    if given.shape != expected.shape:
        return math.inf
    apart: Matrix
    if sp.issparse(given) or sp.issparse(expected):
        apart = (sp.csr_array(given) - sp.csr_array(expected)).data
    else:
        apart = np.asarray(given) - np.asarray(expected)
    return float(np.max(np.abs(apart), initial=0.0))
