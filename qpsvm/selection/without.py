"""Training problems without one sample: their data, their prices, and the machine by a solve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qpsvm.certificates import Certificate, certify
from qpsvm.certificates.predictions import DecisionBounds
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError
from qpsvm.formulations.family import Family
from qpsvm.kernels import Precomputed
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Index, freeze
from qpsvm.numerics.single_precision import SinglePrecision, rows_of
from qpsvm.selection.settings import LEAVE_ONE_OUT
from qpsvm.solving import solve


def require_others(problem: SVMProblem) -> None:
    """Check that there is a training problem without any one sample.

    Raises
    ------
    InvalidDataError
        A single sample, or a class of a single sample.
    """
    data = problem.data
    if data.n_samples < 2:
        raise InvalidDataError("Leave-one-out needs two samples with a weight above 0, got one.")
    for label in np.unique(data.targets) if hasattr(data, "signs") else ():
        members = np.flatnonzero(data.targets == label)
        if len(members) == 1:
            raise InvalidDataError(
                f"Without sample {data.kept[members[0]]} there is only one class, as no other has "
                f"the label {label!r}; leave-one-out needs two samples of each class."
            )


@short_repr
@dataclass(frozen=True, eq=False)
class PriceGroup:
    """Samples without which the prices of all others are the same.

    Attributes
    ----------
    samples : array of int of shape (m,)
    problem : SVMProblem or None
        Of all samples, at these prices. None for few samples, which are refitted.
    """

    samples: Index
    problem: SVMProblem | None


def price_groups(problem: SVMProblem) -> Iterator[PriceGroup]:
    """Divide the samples by the prices of the others when they are left out.

    Prices that are divided by sums of weights (``average_loss``, balanced classes) change with the
    class and the weight of the sample that leaves; others do not change.
    """
    data: Any = problem.data
    factors = problem.model.conditions.price_factors
    if factors is not None and not factors.are_relative:
        yield PriceGroup(np.arange(data.n_samples), problem)
        return
    signs = getattr(data, "signs", np.zeros(data.n_samples))
    _, group = np.unique(np.column_stack([signs, data.weights]), axis=0, return_inverse=True)
    for g in range(int(np.max(group)) + 1):
        samples = np.flatnonzero(group.ravel() == g)
        is_small = len(samples) < LEAVE_ONE_OUT.smallest_group
        yield PriceGroup(samples, None if is_small else _at_prices_without(problem, samples))


def _at_prices_without(problem: SVMProblem, samples: Index) -> SVMProblem:
    """The problem of all samples, at the prices of the one without any of some samples.

    The samples are of one class and one weight, and have the price of each other.
    """
    model, formulation, n = problem.model, problem.formulation, problem.data.n_samples
    left_out = formulation.conditions(without(problem, int(samples[0])), model.gram)
    prices = np.insert(left_out.upper[: n - 1], samples[0], 0.0)
    prices[samples[0]] = prices[samples[1]]
    changes: dict[str, Any] = {"C": 1.0, "average_loss": False}
    if hasattr(formulation, "class_weight"):
        changes["class_weight"] = None
    data = replace(problem.data, weights=freeze(prices))
    family: Family = replace(formulation, **changes)
    return family.of_training_set(data, problem.kernel, "dual", gram=(model.gram, None))


def without(problem: SVMProblem, i: int) -> Any:
    """The training set without sample i."""
    data: Any = problem.data
    others = np.delete(np.arange(data.n_samples), i)
    given = isinstance(problem.kernel, Precomputed)
    X = data.X[np.ix_(others, others)] if given else rows_of(data.X, others)
    parts = {
        name: freeze(getattr(data, name)[others])
        for name in ("weights", "kept", "signs", "values")
        if hasattr(data, name)
    }
    return replace(data, X=X if isinstance(X, SinglePrecision) else freeze(X), **parts)


def refit(problem: SVMProblem, full: SVMSolution, i: int) -> DecisionBounds:
    """Bound the decision value of sample i for every optimum without it, by solving its problem.

    Parameters
    ----------
    problem : SVMProblem
    full : SVMSolution
        Where to begin.
    i : int
    """
    data, kernel = problem.data, problem.kernel
    formulation: Any = problem.formulation
    part = formulation.of_training_set(without(problem, i), kernel, "dual")
    given = isinstance(kernel, Precomputed)
    start = None if given else full  # a kernel matrix does not say which samples are the same
    machine = solve(part, eps=LEAVE_ONE_OUT.refit_eps, warm_start=start)
    row = rows_of(data.X, np.array([i]))
    sample = np.delete(row, i, axis=1) if given else row
    proof: Certificate = certify(part, machine, rigorous=True)
    return proof.decision_bounds(sample, squares=row[:, i] if given else None)
