"""KKT conditions sample by sample, and textbook figures of a machine.

A condition asks its row value ``r = R f`` to reach ``p`` (less ``e t`` where the program chooses a
width t); for a classifier r is the margin ``s_i f(x_i)`` and p is 1. At the optimum there are three
cases:

==============  ===============  ================================
alpha           row value        case
==============  ===============  ================================
``0``           ``r >= p``       ``"zero"``: the sample could be left out
inside the box  ``r = p``        ``"free"``: it lies on the margin, or on the edge of the tube
at a bound      ``r <= p``       ``"bound"``: it is beyond, and pays
==============  ===============  ================================

(With a quadratic loss nothing is at a bound: a "free" condition has ``alpha = (p - r) / d``.) Each
sample of a classifier adds ``(C_i - a_i) max(0, 1 - m_i) + a_i max(0, m_i - 1)`` to the duality
gap. The violation of a condition is the natural residual of the pair, in units of both::

    violation = | a/u - clip(a/u - (d a + r - p)/unit, lower/u, upper/u) |
    u = min(box, max |a|),   unit: ``Conditions.unit``, 1 for a classifier
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qpsvm.data.training_sets import BinaryTrainingSet
from qpsvm.display import Column, ColumnTable, short_repr
from qpsvm.machines.conditions import Conditions
from qpsvm.machines.settings import MACHINES
from qpsvm.machines.setup import DecisionValues, TrainingSetup
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Index, Vector
from qpsvm.qp.kkt_residuals import largest_of

CASES = ("zero", "free", "bound")


@dataclass(frozen=True, eq=False, repr=False)
class SampleTable(ColumnTable):
    """One row per condition: per training sample, side of a tube, or ranked pair.

    Attributes
    ----------
    sample : array of int of shape (N,)
        The sample the condition is about, as the caller numbered the rows of X.
    label : array of shape (N,)
        The caller's label or target of that sample.
    decision, margin, required : arrays of shape (N,)
        ``f(x_i)``, the row value (``s_i f(x_i)`` for a classifier), and what it must reach.
    alpha, lower, upper, slack, violation : arrays of shape (N,)
        alpha, its bounds, by how much the condition is missed, and the violation.
    case : array of int of shape (N,)
        Index into ``CASES``.
    """

    sample: Index
    label: Labels
    decision: Vector
    margin: Vector
    required: Vector
    alpha: Vector
    lower: Vector
    upper: Vector
    slack: Vector
    violation: Vector
    case: Index

    def __len__(self) -> int:
        return len(self.alpha)

    @property
    def worst_violation(self) -> float:
        """Largest violation; infinite if any is not a number."""
        return largest_of(self.violation)

    def worst_first(self) -> Index:
        """Sample indices ordered by violation, largest first (ties by index)."""
        return np.argsort(-self.violation, kind="stable")

    def columns(self) -> dict[str, Column]:
        """Every column by name, with the case as a word; rows in stored order."""
        return {
            "sample": self.sample,
            "label": self.label,
            "decision": self.decision,
            "margin": self.margin,
            "required": self.required,
            "alpha": self.alpha,
            "C": self.upper,
            "slack": self.slack,
            "case": np.array(CASES)[self.case],
            "violation": self.violation,
        }

    def order(self) -> Index:
        return self.worst_first()

    def row(self, i: int) -> dict[str, object]:
        """Condition i by column name, in plain Python types."""
        cells = {name: column[i] for name, column in self.columns().items()}
        return {k: v.item() if isinstance(v, np.generic) else v for k, v in cells.items()}


@short_repr
@dataclass(frozen=True)
class MarginSummary:
    """Textbook figures of a support vector machine: support vectors, margin, error bound.

    Attributes
    ----------
    n_support, n_free, n_bound : int
        Conditions that hold the machine: all, those met exactly, those at their bound. For a
        two-class machine these are its support vectors.
    margin_width : float or None
        ``2 / |w|``, the distance between the two margin hyperplanes of a classifier
        (``2 rho / |w|`` where rho is chosen by the program); infinite for w = 0.
    leave_one_out_bound : float or None
        Samples that are not proven to have an alpha of zero at the optimum, over ``n - 1``, at most
        1: a bound on the expected error of a classifier trained on one sample less (Vapnik, *The
        Nature of Statistical Learning Theory*, theorem 5.2); None where the theorem does not hold.
    training_errors : int or None
        Samples of a classifier with a margin of zero or less.
    """

    n_support: int
    n_free: int
    n_bound: int
    margin_width: float | None = None
    leave_one_out_bound: float | None = None
    training_errors: int | None = None

    @staticmethod
    def counts(case: Index) -> tuple[int, int, int]:
        """Numbers of conditions that hold a machine: all, those met exactly, those at a bound."""
        _, free, bound = np.bincount(case, minlength=3).tolist()
        return free + bound, free, bound

    def __str__(self) -> str:
        counts = f"{self.n_support} support vectors ({self.n_free} free, {self.n_bound} at a bound)"
        if self.margin_width is None:
            return counts
        text = f"margin width {self.margin_width:.6g}, {counts}"
        if self.leave_one_out_bound is None:
            return text
        return (
            f"{text}; at the optimum the expected leave-one-out error is at most "
            f"{self.leave_one_out_bound:.3g}"
        )


def sample_table(model: TrainingSetup, values: DecisionValues) -> SampleTable:
    """Compare every condition with the KKT case of its alpha.

    Nothing is taken from the solution but alpha and the decision function.
    """
    data, c = model.data, model.conditions
    solution, scores = values.solution, values.scores
    with np.errstate(all="ignore"):
        v = model.violations(scores, solution.intercept, solution.width)
        alpha = np.asarray(solution.alpha, dtype=np.float64)
        unit = c.alpha_unit(alpha)
        relative = alpha / unit
        margin = model.row_values(scores, solution.intercept)
        unit_of_v = model.unit_of(margin)
        gradient = (c.curvature * alpha - v) / unit_of_v
        target = np.clip(relative - gradient, c.lower / unit, c.upper / unit)
        violation = np.abs(relative - target)
        decision = scores + solution.intercept
        if c.minus_self_similarity:
            decision = decision - model.gram.diagonal()
            margin = margin - model.gram.diagonal()
    return SampleTable(
        sample=c.at_samples(data.kept),
        label=c.at_samples(data.targets),
        decision=c.at_samples(decision),
        margin=margin,
        required=margin + v,
        alpha=alpha,
        lower=c.lower,
        upper=c.upper,
        slack=model.slack(v),
        violation=np.where(np.isfinite(violation), violation, np.inf),
        case=kkt_cases(alpha, c),
    )


def kkt_cases(alpha: Vector, c: Conditions) -> Index:
    """Classify dual variables as zero, strictly between their bounds, or at a bound."""
    with np.errstate(all="ignore"):
        threshold = MACHINES.support * c.alpha_unit(alpha)
        # an end that is small beside the other alphas is reached to a share of itself
        near_lower = np.minimum(
            threshold, np.where(c.lower < 0.0, -MACHINES.support * c.lower, np.inf)
        )
        near_upper = np.minimum(threshold, MACHINES.support * c.upper)
        at_lower, at_upper = alpha <= c.lower + near_lower, alpha >= c.upper - near_upper
        case = np.where(at_lower & (c.lower == 0.0), 0, np.where(at_lower | at_upper, 2, 1))
    return case.astype(np.intp)


def margin_summary(
    model: TrainingSetup,
    values: DecisionValues,
    table: SampleTable,
    n_possible: Callable[[], int],
) -> MarginSummary:
    """Compute the textbook figures of a solution.

    Parameters
    ----------
    model : TrainingSetup
    values : DecisionValues
    table : SampleTable
    n_possible : callable
        Counts the samples that are not proven to have an alpha of zero at the optimum; called
        where the leave-one-out error has a bound.
    """
    counts = MarginSummary.counts(table.case)
    if not isinstance(model.data, BinaryTrainingSet):
        return MarginSummary(*counts)
    norm = _norm(values)
    half_width = values.solution.width if model.conditions.width_sign else 1.0
    n, factors = len(table), model.conditions.exact_upper
    # without a free one the intercept may move, and relative ``C_i`` change with every sample
    is_plain = model.is_hard or (factors is not None and not factors.are_relative)
    bound = None
    if is_plain and counts[1] and not model.conditions.width_sign and n > 1:
        bound = min(1.0, n_possible() / (n - 1))
    return MarginSummary(
        *counts,
        margin_width=2.0 * half_width / norm if norm > 0.0 else np.inf,
        leave_one_out_bound=bound,
        training_errors=int(np.count_nonzero(table.margin <= 0.0)),
    )


def _norm(values: DecisionValues) -> float:
    """``|w|``, computed so that it is not zero where ``|w|^2`` underflows."""
    left, right = values.solution.expansion, values.scores
    if values.solution.coef is not None:
        left = right = values.solution.coef
    if left is None:
        return np.nan
    a, b = float(np.max(np.abs(left))), float(np.max(np.abs(right)))
    if not (a > 0.0 and b > 0.0):
        return 0.0 if a >= 0.0 and b >= 0.0 else np.nan
    cosine = max(float((left / a) @ (right / b)), 0.0)
    return float(np.sqrt(a) * np.sqrt(b) * np.sqrt(cosine))
