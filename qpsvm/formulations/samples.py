"""The KKT conditions sample by sample, and the figures textbooks ask for.

With the margin ``m_i = s_i f(x_i)`` the optimum has exactly three cases:

==============  ==============  ================================
alpha_i         margin          case
==============  ==============  ================================
``0``           ``m_i >= 1``    ``"zero"``: the sample could be left out
``(0, C_i)``    ``m_i = 1``     ``"free"``: it lies on the margin
``C_i``         ``m_i <= 1``    ``"bound"``: it lies inside the margin or on the wrong side
==============  ==============  ================================

Each sample adds ``(C_i - a_i) max(0, 1 - m_i) + a_i max(0, m_i - 1)`` to the duality gap of
``w = sum_i s_i a_i x_i``. Its violation is the natural residual of the pair, in units of the
margin::

    violation_i = | a_i/u_i - clip(a_i/u_i - (m_i - 1), 0, C_i/u_i) |,    u_i = min(C_i, max_j a_j)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.formulations.problem import SVMProblem
from qpsvm.formulations.solution import SVMSolution, alpha_unit, support_threshold
from qpsvm.qp._arrays import Index, Vector

CASES = ("zero", "free", "bound")


@dataclass(frozen=True, eq=False)
class SampleTable:
    """One row per training sample.

    Attributes
    ----------
    label : array of shape (n,)
        The caller's labels.
    decision, margin, alpha, upper, slack, violation : arrays of shape (n,)
        ``f(x_i)``, ``s_i f(x_i)``, alpha, ``C_i``, ``max(0, 1 - margin)``, and the violation.
    case : array of int of shape (n,)
        Index into ``CASES``.
    """

    label: Any
    decision: Vector
    margin: Vector
    alpha: Vector
    upper: Vector
    slack: Vector
    violation: Vector
    case: Index

    def __len__(self) -> int:
        return len(self.alpha)

    @property
    def worst_violation(self) -> float:
        """Largest violation; infinite if any is not a number."""
        worst = float(np.max(self.violation, initial=0.0))
        return worst if np.isfinite(worst) else np.inf

    def worst_first(self) -> Index:
        """Sample indices ordered by violation, largest first (ties by index)."""
        return np.argsort(-self.violation, kind="stable")

    def row(self, i: int) -> dict[str, Any]:
        """Sample i by column name, in plain Python types."""
        label = self.label[i]
        return {
            "sample": int(i),
            "label": label.item() if isinstance(label, np.generic) else label,
            "decision": float(self.decision[i]),
            "margin": float(self.margin[i]),
            "alpha": float(self.alpha[i]),
            "C": float(self.upper[i]),
            "slack": float(self.slack[i]),
            "case": CASES[self.case[i]],
            "violation": float(self.violation[i]),
        }


@dataclass(frozen=True)
class MarginSummary:
    """What textbooks ask of a maximum-margin classifier.

    Attributes
    ----------
    margin_width : float
        ``2 / |w|``, the distance between the two margin hyperplanes (infinite for w = 0).
    n_support, n_free, n_bound : int
        Support vectors: all, on the margin, at their upper bound.
    leave_one_out_bound : float
        ``min(1, n_support / (n - 1))``: a bound on the expected error of a classifier trained on
        one sample less (Vapnik, *The Nature of Statistical Learning Theory*, theorem 5.2).
    training_errors : int
        Samples with a margin of zero or less.
    """

    margin_width: float
    n_support: int
    n_free: int
    n_bound: int
    leave_one_out_bound: float
    training_errors: int


def sample_table(problem: SVMProblem, solution: SVMSolution) -> SampleTable:
    """Hold every training sample against its KKT case.

    Nothing is taken from the solution but alpha and the decision function.
    """
    model, data = problem.model, problem.data
    with np.errstate(all="ignore"):
        scores, _ = model.scores_and_norm(solution)
        decision = scores + solution.intercept
        margin = data.signs * decision
        alpha, C = np.asarray(solution.alpha, dtype=np.float64), model.C
        unit = alpha_unit(alpha, C)
        relative = alpha / unit
        target = np.clip(relative - (margin - 1.0), 0.0, C / unit)
        violation = np.abs(relative - target)
        threshold = support_threshold(alpha, C)
        case = np.where(alpha <= threshold, 0, np.where(alpha >= C - threshold, 2, 1))
    return SampleTable(
        label=data.classes[(data.signs > 0).astype(np.intp)],
        decision=decision,
        margin=margin,
        alpha=alpha,
        upper=C,
        slack=np.maximum(0.0, 1.0 - margin),
        violation=np.where(np.isfinite(violation), violation, np.inf),
        case=case.astype(np.intp),
    )


def margin_summary(problem: SVMProblem, solution: SVMSolution, table: SampleTable) -> MarginSummary:
    """The textbook figures of a solution."""
    _, norm_squared = problem.model.scores_and_norm(solution)
    norm = float(np.sqrt(max(norm_squared, 0.0)))
    n = len(table)
    n_support = int(np.count_nonzero(table.case != 0))
    return MarginSummary(
        margin_width=2.0 / norm if norm > 0.0 else np.inf,
        n_support=n_support,
        n_free=int(np.count_nonzero(table.case == 1)),
        n_bound=int(np.count_nonzero(table.case == 2)),
        leave_one_out_bound=min(1.0, n_support / (n - 1)),
        training_errors=int(np.count_nonzero(table.margin <= 0.0)),
    )
