"""Comparison of a model's training predictions with those of the exact optima of its programs.

The computed optimum has its own certificate, with a far smaller weight error than the model's. It
bounds every decision value of the *exact* optimum. A label of several machines together is proven
only if the votes that decide it are proven: each machine's interval enters the vote at its worse
end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from qpsvm.audits.claims import Problem, Solution
from qpsvm.audits.rebuilt import Decisions, squares
from qpsvm.certificates import Certificate, PredictionComparison, certify
from qpsvm.certificates.comparison import Range, compare
from qpsvm.data import RegressionTrainingSet
from qpsvm.exceptions import ArithmeticModeError, InvalidDataError, InvalidParameterError
from qpsvm.numerics.arrays import Dense, Index, Mask
from qpsvm.numerics.precision import EPS
from qpsvm.numerics.single_precision import Stored

RIGOROUS_SAMPLES = 20_000
"""Training samples up to which rounding is enclosed and not estimated. With 20,000 samples the
enclosure takes about as long as the exact solve (8 s beside 11 s); it grows with their square."""

COMBINED_ROUNDING = 64.0 * EPS
"""Bound on the rounding of a value combined from a few dozen terms, relative to its size."""


@dataclass(frozen=True, eq=False)
class DecisionRanges:
    """Intervals of a model's decision values, and of the exact optimum's, for the same samples.

    Attributes
    ----------
    own : Decisions
        The model's, in the scale of the program, with what its own arithmetic may round.
    optimum : Range
        Of the exact optimum, in the same scale.
    computed : array of the same shape
        Those of the optimum that was computed.
    rigorous : bool
        Whether the optimum's hold in exact arithmetic.
    """

    own: Decisions
    optimum: Range
    computed: Dense
    rigorous: bool

    @property
    def computed_range(self) -> Range:
        """The computed optimum's decision values, with the rounding of the model's."""
        return Decisions(self.computed, self.own.rounding).range

    def __getitem__(self, rows: Index | Mask) -> DecisionRanges:
        return DecisionRanges(
            self.own[rows], self.optimum[rows], self.computed[rows], self.rigorous
        )


def proof_of(problem: Problem, best: Solution) -> Certificate:
    """Certify a computed optimum, rigorously where that is affordable and succeeds."""
    if problem.data.n_samples <= RIGOROUS_SAMPLES:
        try:
            proof = certify(problem, best, rigorous=True)
        except ArithmeticModeError:
            return certify(problem, best)
        if np.isfinite(proof.gap_upper):
            return proof
    return certify(problem, best)


def ranges(problem: Problem, own: Decisions, proof: Certificate, X: Stored) -> DecisionRanges:
    """Compute intervals of decision values for every row of X.

    Parameters
    ----------
    problem : SVMProblem or JointProblem
    own : Decisions
        The model's decision values for X as it may compute them.
    proof : Certificate
        Of the computed optimum.
    X : array or CSR array of shape (m, d)
        With a precomputed kernel, the square matrix of the training samples.
    """
    try:
        bounds = proof.decision_bounds(X, squares=squares(problem, X))
    except (InvalidParameterError, InvalidDataError):  # k(x, x) is not known
        computed = proof.solution.decision_function(X)
        anywhere = np.full(np.shape(computed), np.inf)
        return DecisionRanges(own, Range(-anywhere, anywhere), computed, proof.rigorous)
    return DecisionRanges(own, Range(bounds.lower, bounds.upper), bounds.values, proof.rigorous)


def of_proof(
    problem: Problem, own: Decisions, proof: Certificate, factor: float
) -> PredictionComparison:
    """Compare one machine's training predictions with what a certificate knows of the optimum's."""
    found = ranges(problem, own, proof, problem.data.X)
    return replace(of_machine(problem, found, factor), n_computed_differ=None)


def of_machine(problem: Problem, found: DecisionRanges, factor: float) -> PredictionComparison:
    """Compare one machine's predictions; ``largest_change`` is scaled by ``factor``."""
    has_labels = not isinstance(problem.data, RegressionTrainingSet)
    return compare(
        found.own.range.scaled(abs(factor)),
        found.optimum.scaled(abs(factor)),
        has_labels=has_labels,
        rigorous=found.rigorous,
        computed=found.computed_range.scaled(abs(factor)),
    )


def of_votes(
    machines: Sequence[DecisionRanges],
    factors: Sequence[float],
    combine_bounds: Callable[[Dense, Dense], tuple[Dense, Dense]],
    sure: Mask | None = None,
) -> PredictionComparison:
    """Compare the combined predictions of several machines, in the model's own scale.

    Parameters
    ----------
    machines : sequence of DecisionRanges
        Of the same samples, one per machine.
    factors : sequence of float
        The model's own decision values over those of each program.
    combine_bounds : callable
        From bounds of all machines, shape (m, machines), to bounds of one value per class, shape
        (m, k); the largest value wins.
    sure : array of bool of shape (m,), optional
        The samples whose label was compared with the model's own prediction; others are undecided.
    """

    def together(values: Sequence[Range]) -> Range:
        scaled = [one.scaled(f) for one, f in zip(values, factors, strict=True)]
        lower, upper = (
            np.column_stack(ends)
            for ends in zip(*((r.lower, r.upper) for r in scaled), strict=True)
        )
        with np.errstate(all="ignore"):
            worst, best = combine_bounds(lower, upper)
            # what adding up votes and decision values may have rounded
            return Range(
                worst - COMBINED_ROUNDING * (1.0 + np.abs(worst)),
                best + COMBINED_ROUNDING * (1.0 + np.abs(best)),
            )

    own = together([m.own.range for m in machines])
    if sure is not None:
        unknown = np.where(sure, 0.0, np.inf)[:, None]
        own = Range(own.lower - unknown, own.upper + unknown)
    return compare(
        own,
        together([m.optimum for m in machines]),
        has_labels=True,
        rigorous=all(found.rigorous for found in machines),
        computed=together([m.computed_range for m in machines]),
    )
