"""Checks that a solution belongs to a problem, and that its parts describe one machine.

A certificate is about weights and multipliers. A solution states more: slack, expansion, intercept
interval. Each of them is held here against what the weights imply.

Samples and kernel values must still be those that a problem was built of. Arrays of numbers belong
to the problem, and no other code can write to them. What the caller can still change: objects that
a kernel of his own looks at, what such a kernel computes, and the sparse matrix that holds the
arrays. A machine predicts with the samples and the kernel as they are now; the kernel matrix that
was kept has the values of before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from qpsvm.data.training_sets import TrainingSet
from qpsvm.exceptions import InvalidDataError
from qpsvm.kernels import Kernel
from qpsvm.kernels.gram import KERNELS
from qpsvm.kernels.kernel_repair import KernelRepair
from qpsvm.machines.evaluation import Evaluation
from qpsvm.machines.exact_types import (
    added_attributes,
    require_own_properties,
    require_stored,
    same_data,
    same_kernel,
)
from qpsvm.machines.intercept import Interval
from qpsvm.machines.primal_dual import DualPoint, PrimalDualPair
from qpsvm.machines.samples import SampleTable
from qpsvm.machines.settings import MACHINES
from qpsvm.machines.setup import Form, Implication, KernelSetup
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector, largest_magnitude
from qpsvm.numerics.precision import TINY
from qpsvm.qp.quadratic import SYMMETRY_RTOL
from qpsvm.qp.sample_gram import SampleGram


def require_unchanged_samples(data: TrainingSet) -> None:
    """Raise an error if the arrays of the training samples were replaced after construction.

    Raises
    ------
    InvalidDataError
        It has.
    """
    if not data.is_unchanged:
        raise InvalidDataError(
            "The samples were changed after the problem was built (problem.data.X has other "
            "arrays); build it again, and change a copy: problem.data.X.copy()."
        )


def require_same_values(model: Any, *, every: bool = True) -> None:
    """Call a user-defined kernel again, and raise an error if its values have changed.

    Values may differ by as much as a kernel matrix may from its transpose: a function need not
    round in the same way twice.

    Parameters
    ----------
    model : SupportVectorModel or JointModel
    every : bool
        Otherwise a few columns only: all samples with some.

    Raises
    ------
    InvalidDataError
        The kernel, or the samples it looks at, have changed.
    """
    kernel, repair = model.kernel, model.repair
    if type(kernel) in KERNELS.values() or not model.gram.gram.is_kept:
        return
    X, n = model.data.X, model.data.n_samples
    few = np.unique(np.linspace(0, n - 1, MACHINES.probed_columns).astype(np.intp))
    columns = np.arange(n) if every else few
    expected = model.gram.gram.dense[:, columns]
    if repair is not None:
        expected = repair.undone(expected, columns)
    fresh = SampleGram(kernel, X).dense if every else kernel(X, X[columns])
    difference = largest_magnitude(fresh - expected)
    if not difference <= SYMMETRY_RTOL * largest_magnitude(expected):
        raise InvalidDataError(
            f"The {kernel} kernel returns other values than when the problem was built (they "
            f"differ by up to {difference:.3g}): it, or the samples it looks at, have changed; "
            "build the problem again."
        )


def require_same_problem(
    model: KernelSetup, solution: Any, kind: type, shapes: dict[str, tuple[int, ...]]
) -> None:
    """Refuse a solution that predicts with another kernel or other data than the problem's.

    Parameters
    ----------
    model : SupportVectorModel or JointModel
    solution, kind
        ``kind`` is the class of the problem's solutions.
    shapes : dict
        Of the solution's arrays by name; ``expansion`` or ``coef`` may be None.

    Raises
    ------
    InvalidDataError
        It does, or one of its fields is none that a plain solution has.
    """
    require_stored(solution, kind)
    require_unchanged_samples(model.data)
    for name, expected in shapes.items():
        vector = getattr(solution, name)
        is_absent = vector is None and name in ("expansion", "coef")
        if not is_absent and np.shape(vector) != expected:
            raise InvalidDataError(
                f"The solution's {name} has shape {np.shape(vector)}, the problem needs "
                f"{expected}; it belongs to another problem."
            )
    if solution.coef is None and solution.expansion is None:
        raise InvalidDataError("The solution has neither coef nor expansion: nothing to certify.")
    if not same_kernel(model.kernel, solution.kernel):
        raise InvalidDataError(
            f"The solution predicts with another kernel than the problem's: "
            f"{described(solution.kernel)}, not {described(model.kernel)}; it belongs to another "
            "problem."
        )
    if not same_data(model.data, solution.data):
        raise InvalidDataError(
            "The solution predicts with other training data than the problem's (samples, labels "
            "or their order); it belongs to another problem."
        )
    if not same_repair(solution.repair, model.repair):
        raise InvalidDataError(
            "The solution predicts with another repair of the indefinite kernel than the problem's "
            "(problem.kernel_repair); it belongs to another problem."
        )
    if solution.coef is not None and not model.is_linear:
        raise InvalidDataError(
            f"The solution has another kind of weights: a coef, and {model.kernel} kernels have no "
            "explicit weights; it belongs to another problem."
        )


def require_own(model: PrimalDualPair, solution: SVMSolution) -> None:
    """Refuse a solution that predicts with another kernel or other data than the problem's."""
    require_stored(solution, SVMSolution)
    for name in ("alpha", "constraint_multipliers"):
        if getattr(solution, name) is None:
            raise InvalidDataError(
                f"The solution has no {name}: there is no lower bound to certify; pass an array."
            )
    n, d, m = model.data.n_samples, model.data.n_features, model.n_constraints
    shapes = {"alpha": len(model.conditions), "expansion": n, "coef": d}
    shapes |= {"constraint_multipliers": m}
    require_same_problem(
        model, solution, SVMSolution, {name: (size,) for name, size in shapes.items()}
    )
    if solution.coef is None and m:
        raise InvalidDataError("The solution has no coef: nothing to hold the constraints against.")
    if not model.conditions.equals(solution.conditions):
        raise InvalidDataError(
            "The solution's conditions (what is required of each sample, and with what C) are "
            "not the problem's; it belongs to another problem."
        )
    require_own_properties(solution)


def described(kernel: object) -> str:
    """Name a kernel in a message, with its class if it is not one of qpsvm's own."""
    if not isinstance(kernel, Kernel):
        return f"{type(kernel).__name__} (not a qpsvm.kernels.Kernel)"
    kind = type(kernel)
    if kind.__module__.partition(".")[0] == "qpsvm" and not any(added_attributes(kernel)):
        return str(kernel)
    return f"{kernel} (class {kind.__qualname__})"


def same_repair(mine: KernelRepair | None, theirs: KernelRepair | None) -> bool:
    """Return whether two machines predict with the same repair of an indefinite kernel."""
    if mine is None or theirs is None:
        return mine is theirs
    return (
        mine.policy == theirs.policy
        and mine.shift == theirs.shift
        and np.array_equal(mine.negative_vectors, theirs.negative_vectors)
    )


def implications(
    model: PrimalDualPair, form: Form, evaluation: Evaluation, table: SampleTable, best: Interval
) -> Iterator[Implication]:
    """Yield (name, stated value, value implied by the weights) for a solution's other fields.

    In units of the conditions, or of alpha. ``best`` are the intercepts that are best for these
    weights.
    """
    unit, solution = model.unit_of(table.margin), evaluation.solution
    yield "slack", solution.slack / unit, table.slack / unit
    if not best.upper > best.lower:
        # one best intercept: rounding may pick a neighbouring sample's, the gap covers that
        best = Interval(solution.intercept, solution.intercept)
    stated, implied = (
        np.array(interval) / unit for interval in (solution.intercept_interval, best)
    )
    yield "intercept_interval", stated, implied
    follows = model.norm.weights_follow
    if model.is_linear and (form == "primal" or not follows):
        yield "expansion", 0.0 if solution.expansion is None else math.inf, 0.0
    if follows and (form == "dual" or follows_from_alpha(model.repair)):
        conditions = model.conditions
        sizes = conditions.sample_sizes(conditions.alpha_unit(solution.alpha))  # of each sample
        # a sample without any condition has no size of its own
        sizes = np.where(sizes > 0.0, sizes, np.max(sizes))
        own = math.nan if solution.expansion is None else solution.expansion / sizes
        yield "expansion", own, evaluation.implied.expansion / sizes


def follows_from_alpha(repair: KernelRepair | None) -> bool:
    """Return whether the expansion of a primal program is taken from alpha.

    A shifted kernel matrix is singular but for rounding. What is in beta along its null vector
    costs nothing and predicts something, because new samples do not see the shift.
    """
    return repair is not None and repair.policy == "shift"


def weights_difference(model: PrimalDualPair, evaluation: Evaluation) -> float:
    """``|w - w(alpha)| / |w|`` with ``w(alpha) = sum_k a_k sum_i R_ki phi(x_i) / kappa``.

    The gap alone bounds it only in absolute terms, ``|w - w*| <= sqrt(2 gap)``. Of a 1-norm, whose
    weights do not follow from alpha: ``|w|_1 - w'adjoint``, relative, because a weight is not zero
    only where the adjoint is its sign; a penalised intercept is one of the weights.
    """
    if not model.norm.weights_follow:
        return _l1_stationarity_violation(model, evaluation.solution)
    solution, implied = evaluation.solution, evaluation.implied
    if solution.coef is not None:
        expected, known = implied.coef, implied.column_sizes
        assert expected is not None  # only a linear machine has a coef
        assert known is not None
        columns = known.of_entries
        # an optimum of w = 0 is a sum that cancels: its rounding is that of its terms
        floor = _smallest_size(model)
        size = max(_norm(solution.coef), MACHINES.cancelling * _norm(columns), floor)
        delta = np.abs(solution.coef - expected)
        distance = _norm(delta)
        if model.n_constraints:  # a weight that is fixed to be large must not hide the others
            own = np.maximum(np.maximum(np.abs(solution.coef), columns), TINY)
            distance = max(distance, size * float(np.max(delta / np.maximum(own, floor))))
    elif solution.expansion is not None:
        step = solution.expansion - implied.expansion
        terms = float(np.sqrt(np.abs(model.gram.diagonal())) @ np.abs(implied.expansion))
        size = max(_root(evaluation.square), MACHINES.cancelling * terms, _smallest_size(model))
        distance = _root(step @ model.kernel_product(step)) if step.any() else 0.0
    else:
        return math.inf
    ratio = distance / max(size, TINY)
    if model.constant:
        ratio = float(np.maximum(ratio, _intercept_difference(model, solution)))
    return ratio if math.isfinite(ratio) else math.inf


def _smallest_size(model: PrimalDualPair) -> float:
    """Largest norm of weights w that counts as zero."""
    return math.sqrt(2.0 * model.objective_floor / model.conditions.norm_weight)


def _l1_stationarity_violation(model: PrimalDualPair, solution: SVMSolution) -> float:
    weights = solution.coef if model.is_linear else solution.expansion
    if weights is None:
        return math.inf
    adjoint = model.adjoint(DualPoint(solution.alpha, solution.constraint_multipliers))
    weights = np.append(weights, [solution.intercept] * int(model.constant))
    size = float(np.sum(np.abs(weights)))
    excess = float(np.max(np.abs(adjoint))) - 1.0
    misaligned = abs(size - float(weights @ adjoint)) / max(size, TINY)
    if not (math.isfinite(excess) and math.isfinite(misaligned)):  # max would drop NaN
        return math.inf
    return max(0.0, excess, misaligned)


def _intercept_difference(model: PrimalDualPair, solution: SVMSolution) -> float:
    """``|b - (R 1)'a + ...|``, relative, for a penalised intercept: b follows from alpha."""
    signs, alpha = model.conditions.signs, solution.alpha
    of_constraints = model.balance_of_constraints(solution.constraint_multipliers)
    rounding = float(np.sum(np.abs(alpha))) + abs(of_constraints)
    size = max(abs(solution.intercept), 1e-2 * model.unit, 1e-10 * rounding)
    return abs(solution.intercept - float(signs @ alpha) + of_constraints) / max(size, TINY)


def _norm(vector: Vector) -> float:
    return float(np.linalg.norm(vector))


def _root(square: float | Vector) -> float:
    """The root of a square, 0 of one that rounding made negative; infinite where it overflowed."""
    if np.isneginf(square):
        return math.inf
    return float(np.sqrt(np.maximum(square, 0.0)))  # np.maximum passes NaN on
