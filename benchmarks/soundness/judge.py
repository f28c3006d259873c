"""The judge: whether a mutant may pass, and whether its certificate tells the truth.

Three numbers decide, all in extended precision and from the textbook's formulas alone: the cost of
the mutant as it predicts, and an upper and a lower bound on the optimum (cost and repaired alpha of
the solution the hunt started from). ``suboptimality`` is the cost less the *upper* bound: what is
proven of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import qpsvm
from benchmarks.soundness.dual_points import LD, ROUNDING, infeasibility, terms, value
from benchmarks.soundness.dual_points import repaired as repaired_point
from benchmarks.soundness.residuals import BAND, EPS, program_is_not_solved
from benchmarks.soundness.textbook import Textbook
from qpsvm.certificates.screening import UNDECIDED

STATEMENT = 1e-8
"""What a solution states beside its weights is checked to eps, in the library's own units."""
REPAIR = 1e-4
"""sqrt(eps): how far the verifier lets an alpha be from a feasible one, per unit of alpha."""
ROUNDINGS = 512.0
"""What a certificate's figures may be off, in units of its own estimate of their rounding: that is
one rounding a term, and a kernel value alone has an error of 1e-13."""
REACH = 1e-7
"""Distance of weights that is rounding of extended precision under a root, per unit of weights."""
PREDICTION = 1e-11
"""Rounding of a decision value, per unit of the sum of its absolute terms."""
FEASIBLE = 1e-13
"""Rounding of a repaired alpha's sums, per unit of the sum of their absolute terms."""


@dataclass(frozen=True, eq=False)
class Judge:
    """What is known of one problem's optimum.

    Attributes
    ----------
    book : Textbook
    problem, start : SVMProblem and its certified solution
    proof : Certificate
        Of ``start``: what it says of the optimum is what those of mutants must not contradict.
    upper, lower : extended floats
        The optimum is between them.
    """

    book: Textbook
    problem: Any
    start: Any
    proof: Any
    upper: Any
    lower: Any
    new: Any
    squares: Any
    known: Any

    @classmethod
    def of(cls, book: Textbook, problem: Any, start: Any, new: Any, squares: Any) -> Judge:
        """The bounds from a certified solution."""
        D = book.program
        v = repaired_point(D, book.point(start.alpha, start.constraint_multipliers))
        off = infeasibility(D, v)
        lower = value(D, v) - off * terms(D, v) if off <= FEASIBLE else LD(-np.inf)
        upper = book.cost(start) + book.price_of_missing(start, start)
        proof = qpsvm.certify(problem, start)
        known = proof.decision_bounds(new, squares=squares)
        return cls(book, problem, start, proof, upper, lower, new, squares, known)

    @property
    def width(self) -> float:
        """Of the bracket, relative to the objective as the certificate measures it."""
        return float((self.upper - self.lower) / self.size(self.upper))

    def size(self, cost: Any) -> Any:
        """What the gap is relative to: the objective, but no less than the documented floor."""
        return max(abs(cost), LD(self.proof.floor), LD(np.finfo(np.float64).tiny))

    def suboptimality(self, s: Any) -> Any:
        """How far the machine as it predicts is from the optimum at least, per unit of ``size``."""
        cost = self.book.cost(s)
        return (cost - self.upper) / self.size(cost)

    def dual_suboptimality(self, alpha: Any, multipliers: Any, size: Any) -> Any:
        """The same for a feasible alpha, per unit of ``size``."""
        point = self.book.point(alpha, multipliers)
        return (self.lower - value(self.book.program, point)) / size

    # --- may it pass? ----------------------------------------------------------------------------

    def harm(self, mutant: Any, certificate: Any) -> Iterator[str]:
        """Why the mutant must not pass; nothing if it may."""
        book = self.book
        allowed = EPS * BAND + certificate.rounding
        missed = book.missed(mutant)  # what is missed by less may cost less than the optimum
        if not missed <= EPS * BAND + certificate.rounding + 64 * ROUNDING:
            yield f"misses a margin or constraint by {float(missed):.2e}"
        excess = self.suboptimality(mutant)
        if not excess <= allowed:
            yield f"costs {float(excess / EPS):.4g} eps more than the optimum"
        yield from self._alpha_is_wrong(mutant, allowed)
        yield from self._predictions_are_others(mutant)
        yield from self._statements_are_wrong(mutant)
        yield from program_is_not_solved(self.problem.qp, mutant.qp)

    def _alpha_is_wrong(self, mutant: Any, allowed: Any) -> Iterator[str]:
        """A feasible alpha within ``REPAIR`` must be as good; the verifier's own is the witness."""
        model, D = self.problem.model, self.book.program
        alpha = np.asarray(mutant.alpha)
        witness = model.feasible_dual(alpha, mutant.constraint_multipliers)
        repaired = getattr(witness, "alpha", witness)
        v = self.book.point(repaired, getattr(witness, "constraint_multipliers", np.zeros(0)))
        off = infeasibility(D, v)
        if not off <= FEASIBLE:
            yield f"no feasible alpha is known: {float(off):.1e}"
        size = self.size(self.book.cost(mutant))
        # what its own sums are off is worth no more than this
        short = (self.lower - value(D, v) - off * terms(D, v)) / size
        if not short <= allowed:
            yield f"alpha is {float(short / EPS):.4g} eps below the optimum"
        box = np.abs(np.stack([D.lower, D.upper]))[:, : alpha.size]
        largest = max(np.max(np.abs(alpha)), np.finfo(float).tiny)
        if alpha.ndim == 2:
            unit = np.minimum(np.max(box[1].reshape(alpha.shape, order="F"), axis=1), largest)
            unit = unit[:, None]
        else:
            unit = np.minimum(np.max(box, axis=0), largest)
        moved = np.max(np.abs(repaired - alpha) / unit)
        if not moved <= REPAIR * BAND:
            yield f"alpha is {float(moved):.1e} from a feasible one"

    def _predictions_are_others(self, mutant: Any) -> Iterator[str]:
        """What it predicts with must be what was judged, and near the optimum's."""
        expected, size = self.book.decisions(mutant)
        predicted = mutant.decision_function(self.new)
        apart = np.max(np.abs(predicted - expected) / np.maximum(size, 1e-300))
        if not apart <= PREDICTION:
            yield f"predicts something else than was judged: {float(apart):.1e}"
        labels = mutant.predict(self.new)
        on_boundary = np.abs(predicted) <= getattr(mutant, "zero_below", 0.0)  # which is inside
        own = self.start.data.predictions(np.where(on_boundary, 0.0, predicted))
        if not np.array_equal(labels, own):
            yield "predicts other labels than its decision values"
        if self.book.curvature > 0:
            # |w - w*| <= sqrt(2 gap / kappa) of both
            gap = max(self.suboptimality(mutant), 0) * self.size(self.book.cost(mutant))
            gap = gap + self.book.price_of_missing(mutant, self.start)
            bracket = max(self.upper - self.lower, 0)
            ends = [bracket + gap, bracket]
            reach = sum(np.sqrt(2 * end / LD(self.book.curvature)) for end in ends)
            distance = np.sqrt(max(self.book.squared_distance(mutant, self.start), 0))
            scale = np.sqrt(2 * self.size(self.upper) / LD(self.book.curvature))
            if not distance <= reach + REACH * scale:
                yield f"weights are {float(distance / scale):.1e} from the optimum's"

    def _statements_are_wrong(self, mutant: Any) -> Iterator[str]:
        model = self.problem.model
        slack = self.book.slack(mutant)
        single = np.ndim(mutant.alpha) == 1
        unit = LD(model.unit)
        if single and model.n_constraints:
            unit = LD(
                model.unit_of(np.asarray(self.book.sides @ self.book.machine(mutant).f, float))
            )
        tolerance = STATEMENT * BAND * np.maximum(unit, slack)
        tolerance = tolerance + 1e-12 * self._row_terms(mutant)
        if np.shape(mutant.slack) != slack.shape or not np.all(
            np.abs(mutant.slack - slack) <= tolerance
        ):
            yield "states a slack that is not its own"
        if single:
            yield from self._interval_is_wrong(mutant, unit)
        if self.problem.form == "dual" and not isinstance(self.problem.formulation, qpsvm.L1Norm):
            implied = self.book.implied_expansion(mutant.alpha)
            given = mutant.expansion
            size = np.max(np.abs(mutant.alpha)) * (np.max(np.sum(np.abs(self.book.sides), axis=0))
                                                   if single else 1)  # fmt: skip
            if given is None or not np.max(np.abs(given - implied)) <= 2 * STATEMENT * BAND * size:
                yield "states an expansion that is not its own"

    def _row_terms(self, mutant: Any) -> Any:
        """Sums of the absolute terms of the largest decision value."""
        weights = np.abs(self.book.weights(mutant))
        features = self.book.data.X if self.book.is_linear else self.book.K
        return 2 * np.max(np.abs(features) @ weights) + np.max(np.abs(mutant.intercept)) + 1

    def _interval_is_wrong(self, mutant: Any, unit: Any) -> Iterator[str]:
        """Within the stated interval (less its tolerance) every b must cost no more."""
        b, limit = mutant.intercept, self.size(self.book.cost(mutant))
        for end in mutant.intercept_interval:
            if np.isnan(end):
                yield "states an interval that is not a number"
                continue
            inner = np.clip(end, b - 1e6 * unit, b + 1e6 * unit)
            slip = 2 * STATEMENT * max(unit, abs(inner))
            inner = b if abs(inner - b) <= slip else inner + np.sign(b - inner) * slip
            if inner == b:
                continue
            moved = self.book.cost(mutant.replace(intercept=float(inner)))
            excess = (moved - self.upper) / limit
            if not excess <= EPS * BAND + 64 * ROUNDING * len(self.book.u):
                yield f"states an interval whose end costs {float(excess):.1e}"

    # --- does the certificate tell the truth? ----------------------------------------------------

    def contradictions(self, mutant: Any, certificate: Any) -> Iterator[str]:
        """What the certificate of a mutant says that cannot be."""
        cost = self.book.cost(mutant)
        size = self.size(cost)
        noise = ROUNDINGS * (certificate.objective_rounding + ROUNDING) * size
        if np.isfinite(certificate.gap) and np.isfinite(noise):
            # the sums of a bound on the optimum have terms of their own
            point = self.problem.model.feasible_dual(mutant.alpha, mutant.constraint_multipliers)
            v = self.book.point(
                getattr(point, "alpha", point),
                getattr(point, "constraint_multipliers", np.zeros(0)),
            )
            room = ROUNDINGS * ROUNDING * self.book.terms(v)
            excess = cost - self.upper
            if not excess <= max(certificate.gap, 0.0) + noise + room:
                yield (
                    f"a gap of {certificate.gap:.3e} where the cost is {float(excess):.3e} above "
                    "the optimum"
                )
            if not abs(certificate.primal_objective - cost) <= noise:
                yield f"a cost of {certificate.primal_objective!r} that is {float(cost)!r}"
            if not certificate.dual_objective <= self.upper + room:
                yield f"a lower bound of {certificate.dual_objective!r} above the optimum"
        yield from self._implications(certificate)

    def _implications(self, certificate: Any) -> Iterator[str]:
        """Bounds on the optimum must overlap with those of the start, and proven facts agree."""
        bounds = certificate.decision_bounds(self.new, squares=self.squares)
        if not _overlap(bounds, self.known):
            yield "bounds on decision values that exclude the optimum's"
        mine, known = certificate.screening.status, self.proof.screening.status
        both = (mine != UNDECIDED) & (known != UNDECIDED)
        if not np.array_equal(mine[both], known[both]):
            yield "a status of an alpha that is not the optimum's"
        if certificate.intercept_bounds is not None:
            ends = certificate.intercept_bounds, self.proof.intercept_bounds
            if not (ends[0].lower <= ends[1].upper and ends[1].lower <= ends[0].upper):
                yield "bounds on the intercept that exclude the optimum's"
        answers = {certificate.intercept_is_unique, self.proof.intercept_is_unique}
        if {True, False} <= answers:
            yield "an intercept that is unique and is not"
        if not hasattr(self.start.data, "values"):
            labels = [
                proof.predict_certified(self.new, squares=self.squares)
                for proof in (certificate, self.proof)
            ]
            decided = labels[0].decided & labels[1].decided
            if not np.array_equal(labels[0].labels[decided], labels[1].labels[decided]):
                yield "a certified label that is not the optimum's"


def _overlap(first: Any, second: Any) -> bool:
    return bool((first.lower <= second.upper).all() and (second.lower <= first.upper).all())
