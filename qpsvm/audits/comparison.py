"""The exact optimum of a program, and a model's distance from it: objective and predictions.

The computed optimum has its own certificate, with a far smaller weight error than the model's. It
bounds every decision value of the *exact* optimum. A label of several machines together is proven
only if the votes that decide it are proven: each machine's interval enters the vote at its worse
end.

The exact optimum lies in ``[D^, P^]``, the objectives of a computed one with their rounding, and
the model's objective P is known up to rounding. So the ratio ``(P - P*) / |P*|`` lies between its
values at the ends, unless the optimum may be zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from qpsvm.audits.claims import Claim, Problem, Solution
from qpsvm.audits.rebuilt import Decisions, squares
from qpsvm.certificates import Certificate, PredictionComparison, certify
from qpsvm.certificates.comparison import Range, compare
from qpsvm.data import RegressionTrainingSet
from qpsvm.display import short_repr
from qpsvm.exceptions import ArithmeticModeError, InvalidDataError, InvalidParameterError
from qpsvm.numerics.arrays import Dense, Index, Mask
from qpsvm.numerics.precision import EPS, TINY
from qpsvm.numerics.single_precision import Stored
from qpsvm.reports.numbers import at_least, share
from qpsvm.verification import KKTReport

RIGOROUS_SAMPLES = 20_000
"""Most training samples for which an audit bounds rounding rigorously. With 20,000 samples the
enclosure takes about as long as the exact solve (8 s beside 11 s); it grows with their square."""

COMBINED_ROUNDING = 64.0 * EPS
"""Relative rounding error allowed for a class's value that combines several machines' values."""


@short_repr
@dataclass(frozen=True, eq=False)
class Optimum:
    """The exact optimum of a program, and the model's distance from it.

    Attributes
    ----------
    solution : SVMSolution or JointSolution
        Solved to a tenth of the audit's eps.
    proof : Certificate
        Of that solution: it bounds every figure of the exact optimum. Rigorous where that is
        affordable.
    excess : float
        ``(P - P^) / |P^|``: by how much the model's primal objective is above that of the solution,
        relative to that; infinite where that is zero.
    least_excess, most_excess : float
        Bounds on the same ratio for the exact optimum, with what rounding may hide. Zero and
        infinite where nothing is proven.
    scaled_excess, least_scaled : float
        The excess and its lower bound relative to ``max(|P^|, floor)``, as gaps are.
    predictions : PredictionComparison
        Of the model's training predictions with those of the *exact* optimum, sample by sample.
    decision_change : float
        Largest difference of the decision values of a training sample from those of the solution,
        in the model's own scale. ``predictions.largest_change`` bounds that from the exact optimum.
    ranges : DecisionRanges
        Intervals of the decision values of all samples, in the model's own scale.
    """

    solution: Solution
    proof: Certificate
    excess: float
    least_excess: float
    most_excess: float
    scaled_excess: float
    least_scaled: float
    predictions: PredictionComparison
    decision_change: float
    ranges: DecisionRanges = field(repr=False)

    @property
    def predictions_differ(self) -> int | None:
        """Number of training labels proven to differ from the exact optimum's."""
        return self.predictions.n_different

    @property
    def above(self) -> str:
        """The excess in words, relative to the exact optimum; empty where that may be zero."""
        if not math.isfinite(self.most_excess):
            return ""
        least, most = share(self.least_excess), share(self.most_excess)
        return least if least == most else f"at least {share(float(at_least(self.least_excess)))}"

    def facts(self, compared: PredictionComparison | None) -> dict[str, object]:
        """Names and values for the table of a report."""
        facts: dict[str, object] = {
            "objective above the computed optimum, relative": self.excess,
            "certified relative gap of the computed optimum": self.proof.relative_gap,
        }
        if compared is not None and compared.n_same is not None:
            facts["training labels proven to be the exact optimum's"] = compared.n_same
            facts["training labels proven to differ"] = compared.n_different
            facts["training labels undecided"] = compared.n_undecided
        change = self.predictions.largest_change
        return facts | {"largest change of a decision value, at most": change}

    def to_dict(self) -> dict[str, object]:
        """The figures by name, for JSON."""
        names = ("excess", "least_excess", "most_excess", "predictions_differ", "decision_change")
        return {
            "status": self.solution.status.value,
            "relative_gap": self.proof.relative_gap,
            **{name: getattr(self, name) for name in names},
        }


@short_repr
@dataclass(frozen=True, eq=False)
class DecisionRanges:
    """Intervals of a model's decision values, and of the exact optimum's, for the same samples.

    Attributes
    ----------
    own : Decisions
        The model's, with what its own arithmetic may round.
    optimum : Range
        Of the exact optimum.
    computed : Decisions
        Those of the optimum that was computed, with the rounding of the model's.
    rigorous : bool
        Whether the optimum's hold in exact arithmetic.
    """

    own: Decisions
    optimum: Range
    computed: Decisions
    rigorous: bool

    def scaled(self, factor: float) -> DecisionRanges:
        """All values times ``factor``."""
        own, optimum = self.own.scaled(factor), self.optimum.scaled(factor)
        return DecisionRanges(own, optimum, self.computed.scaled(factor), self.rigorous)

    def __getitem__(self, rows: Index | Mask) -> DecisionRanges:
        own, optimum = self.own[rows], self.optimum[rows]
        return DecisionRanges(own, optimum, self.computed[rows], self.rigorous)


def with_optimum(
    claim: Claim, own: Decisions, best: Solution, report: KKTReport, samples: Stored
) -> Optimum | None:
    """Compare the model with a computed optimum; None if that is not one."""
    problem, proof = claim.problem, proof_of(claim.problem, best)
    if not proof.relative_gap <= report.eps:
        return None
    of_all = ranges(problem, own, proof, samples).scaled(claim.factor)
    values = of_all[problem.data.kept]
    compared = of_machine(problem, values, abs(claim.factor) * claim.zero_below)
    return Optimum(
        solution=best,
        proof=proof,
        predictions=replace(compared, computed_gap=proof.relative_gap),
        decision_change=float(np.max(np.abs(values.own.values - values.computed.values))),
        ranges=of_all,
        **excess(report.certificate, proof, _of_coefficients(claim, own)),
    )


# --- objectives -------------------------------------------------------------------------------


def excess(own: Certificate | None, best: Certificate, error: float) -> dict[str, float]:
    """Compute by how much a model's objective is above the optimum that an audit has computed.

    Parameters
    ----------
    own : Certificate or None
        Of the model.
    best : Certificate
        Of the computed optimum.
    error : float
        Of the model's objective, beyond the rounding that its certificate states.
    """
    names = ("excess", "least_excess", "most_excess", "scaled_excess", "least_scaled")
    if own is None:
        return dict(zip(names, (math.nan, 0.0, math.inf, math.nan, 0.0), strict=True))
    value, computed = own.primal_objective, best.primal_objective
    hidden = error + own.objective_rounding * own.objective_scale
    if best.enclosure is not None:
        lower, upper = best.enclosure.dual_lower, best.enclosure.primal_upper
    else:
        rounding = best.objective_rounding * best.objective_scale
        lower, upper = best.dual_objective - rounding, computed + rounding
    size, above = max(abs(computed), best.floor, TINY), max(value - computed, 0.0)
    ends = [
        max(v - end, 0.0) / abs(end) if end else math.inf if v > end else 0.0
        for v in (value - hidden, value + hidden)
        for end in (lower, upper)
    ]
    known = all(math.isfinite(v) for v in (hidden, lower, upper))
    away = known and not lower <= 0.0 <= upper
    return {
        "excess": above / abs(computed) if computed else math.inf if above else 0.0,
        "least_excess": min(ends) if known else 0.0,
        "most_excess": max(ends) if away else math.inf,
        "scaled_excess": above / size,
        "least_scaled": max(value - hidden - upper, 0.0) / size if known else 0.0,
    }


def _of_coefficients(claim: Claim, own: Decisions) -> float:
    """Bound the change of a linear model's objective by rounding of its weights ``X'beta``."""
    model, alpha = claim.problem.model, claim.alpha
    if alpha is None or claim.coef is not None or not model.is_linear:
        return 0.0
    c, errors = model.conditions, own.rounding[claim.problem.data.kept]
    upper = np.where(np.isfinite(c.upper), c.upper, np.abs(alpha))
    return float(upper @ c.row_sizes(errors)) + float(np.abs(model.expansion(alpha)) @ errors)


# --- predictions ------------------------------------------------------------------------------


def proof_of(problem: Problem, best: Solution) -> Certificate:
    """Certify a computed optimum, rigorously where that is affordable and succeeds."""
    if problem.data.n_samples <= RIGOROUS_SAMPLES:
        with suppress(ArithmeticModeError):
            proof = certify(problem, best, rigorous=True)
            if np.isfinite(proof.gap_upper):
                return proof
    return certify(problem, best)


def ranges(problem: Problem, own: Decisions, proof: Certificate, X: Stored) -> DecisionRanges:
    """Compute intervals of decision values for every row of X, in the scale of the program.

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
        values = proof.solution.decision_function(X)
        anywhere = np.full(np.shape(values), np.inf)
        optimum = Range(-anywhere, anywhere)
    else:
        values, optimum = bounds.values, Range(bounds.lower, bounds.upper)
    return DecisionRanges(own, optimum, Decisions(values, own.rounding), proof.rigorous)


def of_machine(
    problem: Problem, found: DecisionRanges, zero_below: float = 0.0
) -> PredictionComparison:
    """Compare a machine's predictions with those of the exact optimum."""
    return compare(
        found.own.range,
        found.optimum,
        has_labels=not isinstance(problem.data, RegressionTrainingSet),
        rigorous=found.rigorous,
        computed=found.computed.range,
        zero_below=zero_below,
    )


def of_votes(
    machines: Sequence[DecisionRanges],
    combine_bounds: Callable[[Dense, Dense], tuple[Dense, Dense]],
    sure: Mask | None = None,
) -> PredictionComparison:
    """Compare the combined predictions of several machines.

    Parameters
    ----------
    machines : sequence of DecisionRanges
        Of the same samples, one per machine, in the model's own scale.
    combine_bounds : callable
        From bounds of all machines, shape (m, machines), to bounds of one value per class, shape
        (m, k); the largest value wins.
    sure : array of bool of shape (m,), optional
        The samples whose label was compared with the model's own prediction; others are undecided.
    """
    own = _combined([machine.own.range for machine in machines], combine_bounds)
    optimum = _combined([machine.optimum for machine in machines], combine_bounds)
    computed = _combined([machine.computed.range for machine in machines], combine_bounds)
    if sure is not None:
        unknown = np.where(sure, 0.0, np.inf)[:, None]
        own = Range(own.lower - unknown, own.upper + unknown)
    rigorous = all(found.rigorous for found in machines)
    return compare(own, optimum, has_labels=True, rigorous=rigorous, computed=computed)


def _combined(
    machines: Sequence[Range], combine_bounds: Callable[[Dense, Dense], tuple[Dense, Dense]]
) -> Range:
    """Interval of each class's combined value, from the intervals of the machines."""
    lower = np.column_stack([one.lower for one in machines])
    upper = np.column_stack([one.upper for one in machines])
    with np.errstate(all="ignore"):
        worst, best = combine_bounds(lower, upper)
        # what adding up votes and decision values may have rounded
        return Range(
            worst - COMBINED_ROUNDING * (1.0 + np.abs(worst)),
            best + COMBINED_ROUNDING * (1.0 + np.abs(best)),
        )
