"""Sentences about the proof of training predictions."""

from __future__ import annotations

import math

from qpsvm.certificates import PredictionComparison
from qpsvm.reports.numbers import at_most, residual

ESTIMATED = " (rounding is estimated, not enclosed)"
"""What a claim that is not rigorous has to say."""


SUBJECTS = {
    "prediction": "no training sample's decision value",
    "pair order": "no training pair's difference of decision values",
}
"""What ``largest_change`` is about, by what is predicted."""


def prediction_clauses(compared: PredictionComparison, noun: str = "prediction") -> tuple[str, ...]:
    """Clauses that count proven predictions and bound the change of decision values.

    Parameters
    ----------
    compared : PredictionComparison
    noun : "prediction" or "pair order"
        What the counts are about.

    Examples
    --------
    >>> prediction_clauses(PredictionComparison(3, 3, 0, 0.5, rigorous=True))
    ('all 3 training predictions are proven to be those of the exact optimum',)
    """
    basis, n = "" if compared.rigorous else ESTIMATED, compared.n_samples
    change = compared.largest_change
    moves = ""
    if math.isfinite(change):
        subject = "no training prediction" if compared.n_same is None else SUBJECTS[noun]
        moves = f"{subject} is farther than {at_most(change)} from the exact optimum's"
    if compared.n_same is None:
        unknown = "how far training predictions are from the exact optimum's is not known"
        return (moves + basis if moves else unknown,)
    if compared.all_same:
        rows = f"all {n:,} training {noun}s are" if n > 1 else f"the training {noun} is"
        those = "those" if n > 1 else "that"
        return (f"{rows} proven to be {those} of the exact optimum{basis}",)
    counts = (
        f"{compared.n_same:,} of {n:,} training {noun}s proven to be those of the exact optimum, "
        f"{compared.n_different:,} proven to differ, {compared.n_undecided:,} undecided at this "
        "accuracy"
    )
    apart = compared.n_computed_differ
    if apart:
        gap = compared.computed_gap
        within = "" if gap is None else f" to a relative gap of {residual(gap)}"
        counts += f" ({apart:,} of these differ from an optimum computed{within})"
    return (counts + basis, moves) if moves else (counts + basis,)
