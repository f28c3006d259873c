"""Comparison of a machine's predictions with those of the exact optimum, sample by sample.

A machine's decision value is known to an interval (its rounding), and so is the exact optimum's
(``Certificate.decision_bounds``). Where both intervals decide for one label, the labels are proven
to be the same or to differ; everywhere else the sample is undecided, and nothing is claimed of it::

    sign of f(x)  in {-1, +1, undecided},    sign of f*(x)  in {-1, +1, undecided}

Values that count as zero (``BaseMachine.zero_below``) have no sign here.

With several classes the largest decision value wins: the optimum's label is proven to be another
one as soon as one other class is proven to be ahead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.certificates.gap import Certificate
from qpsvm.certificates.optimum import score_errors
from qpsvm.certificates.predictions import wins
from qpsvm.certificates.reduced import ReducedCertificate
from qpsvm.certificates.rigorous import decision_enclosure
from qpsvm.display import short_repr
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.samples import SampleTable
from qpsvm.numerics.arguments import Samples
from qpsvm.numerics.arrays import Array, Dense, Index, Mask, Vector
from qpsvm.numerics.balls import SUM_ROUNDING
from qpsvm.numerics.precision import EPS


@dataclass(frozen=True)
class Range:
    """Intervals that contain values: ``lower <= value <= upper``.

    Attributes
    ----------
    lower, upper : arrays of shape (m,), or (m, k) with one value per class
    """

    lower: Dense
    upper: Dense

    def __getitem__(self, rows: Index | Mask) -> Range:
        return Range(self.lower[rows], self.upper[rows])

    def scaled(self, factor: float) -> Range:
        """The range of ``factor`` times the values."""
        ends = factor * self.lower, factor * self.upper
        return Range(*(ends if factor >= 0.0 else ends[::-1]))


@short_repr
@dataclass(frozen=True)
class PredictionComparison:
    """Numbers of predictions proven equal to, and proven different from, the exact optimum's.

    Attributes
    ----------
    n_samples : int
        Samples that were compared (pairs of samples, for a ranking).
    n_same : int or None
        Labels that are proven to be those of every exact optimum. None where numbers are predicted.
    n_different : int or None
        Labels that are proven to differ from those of every exact optimum; None likewise.
    largest_change : float
        No decision value is farther than this from that of any exact optimum; infinite where
        nothing is known.
    rigorous : bool
        Whether that holds in exact arithmetic. Otherwise rounding is estimated, not enclosed.
    n_computed_differ : int or None
        Of the undecided labels, those that differ from the labels of an optimum that was computed,
        where rounding decides neither: a comparison, not a proof. None where there was none to
        compare with.
    computed_gap : float or None
        The certified relative gap of that computed optimum.
    """

    n_samples: int
    n_same: int | None
    n_different: int | None
    largest_change: float
    rigorous: bool
    n_computed_differ: int | None = None
    computed_gap: float | None = None

    @property
    def n_undecided(self) -> int | None:
        """Number of labels proven neither equal nor different; None if numbers are predicted."""
        if self.n_same is None or self.n_different is None:
            return None
        return self.n_samples - self.n_same - self.n_different

    @property
    def all_same(self) -> bool:
        """Return whether there are labels, and all are proven to be the exact optimum's."""
        return self.n_samples > 0 and self.n_same == self.n_samples

    def to_dict(self) -> dict[str, object]:
        """The counts by name, for JSON (infinities as they are)."""
        return {
            "n_samples": self.n_samples,
            "same": self.n_same,
            "different": self.n_different,
            "undecided": self.n_undecided,
            "computed_differ": self.n_computed_differ,
            "computed_gap": self.computed_gap,
            "largest_change": self.largest_change,
            "rigorous": self.rigorous,
        }


def compare(
    own: Range,
    optimum: Range,
    *,
    has_labels: bool,
    rigorous: bool,
    computed: Range | None = None,
    zero_below: float = 0.0,
) -> PredictionComparison:
    """Compare two sets of decision values that are known to lie in intervals.

    Parameters
    ----------
    own, optimum : Range of shape (m,) or (m, k)
        The machine's decision values, and those of every exact optimum.
    has_labels : bool
        Whether the signs (the largest of k values) are labels; if not, numbers are predicted.
    rigorous : bool
        Whether the ranges hold in exact arithmetic.
    computed : Range of the same shape, optional
        Decision values of an optimum that was computed, with their rounding.
    zero_below : float
        Size up to which a decision value counts as zero, where signs are labels.

    Examples
    --------
    >>> import numpy as np
    >>> own = Range(np.array([0.9, -1.1, 0.2]), np.array([1.1, -0.9, 0.2]))
    >>> optimum = Range(np.array([0.5, 0.5, -0.1]), np.array([1.5, 1.5, 0.5]))
    >>> found = compare(own, optimum, has_labels=True, rigorous=False)
    >>> found.n_same, found.n_different, found.n_undecided
    (1, 1, 1)
    """
    n = len(own.lower)
    with np.errstate(all="ignore"):
        farthest = np.maximum(optimum.upper - own.lower, own.upper - optimum.lower)
        change = SUM_ROUNDING * float(np.max(farthest, initial=0.0))
    change = change if math.isfinite(change) else math.inf
    if not has_labels:
        return PredictionComparison(n, None, None, change, rigorous)
    agreement = partial(_signs, zero_below=zero_below) if own.lower.ndim == 1 else _winners
    same, different = agreement(own, optimum)
    apart = None
    if computed is not None:
        _, apart_from = agreement(own, computed)
        apart = int(np.count_nonzero(~(same | different) & apart_from))
    return PredictionComparison(
        n, int(np.count_nonzero(same)), int(np.count_nonzero(different)), change, rigorous, apart
    )


def from_table(
    model: SupportVectorModel,
    certificate: Certificate,
    table: SampleTable,
    *,
    has_labels: bool,
    rounding: Vector | None = None,
) -> PredictionComparison | None:
    """Compare training predictions by the bounds that a certificate has for every condition.

    With ``low <= v* <= high`` for the violation ``v* = p - e t* - m*`` at an optimum, the margin
    ``m*`` is known to an interval. This costs no further pass over the kernel matrix.

    Parameters
    ----------
    model : SupportVectorModel
    certificate : Certificate
        Of a machine with one decision function.
    table : SampleTable
        The machine's conditions, one row each.
    has_labels : bool
        Whether the sign of a row's margin is what the machine predicts there.
    rounding : array of shape (n,), optional
        Of the decision values of the samples, where another library computes them.

    Returns
    -------
    PredictionComparison or None
        One row per condition. None where the certificate is not about every exact optimum: its
        intercept is proven to be one of many.
    """
    known, solution = certificate.optimum, certificate.solution
    if known is None or known.intercept_moves:
        return None
    c = model.conditions
    with np.errstate(all="ignore"):
        p = table.required + c.width_sign * solution.width
        narrow, wide = sorted(c.width_sign * end for end in known.width)
        optimum = Range(p - wide - known.high, p - narrow - known.low)
        errors = score_errors(model, certificate.evaluation, rigorous=False)
        errors = errors + EPS * abs(solution.intercept)
        errors = c.row_sizes(errors if rounding is None else np.maximum(errors, rounding))
        own = Range(table.margin - errors, table.margin + errors)
    return compare(
        own,
        optimum,
        has_labels=has_labels,
        rigorous=certificate.rigorous,
        zero_below=solution.zero_below,
    )


def from_bounds(
    certificate: Certificate | ReducedCertificate, X: Samples, squares: ArrayLike | None = None
) -> PredictionComparison:
    """Compare predictions on X by a certificate's bounds on decision values.

    Parameters
    ----------
    certificate : Certificate or ReducedCertificate
        Of a machine that predicts labels.
    X, squares
        As ``Certificate.decision_bounds`` takes them.
    """
    if isinstance(certificate, ReducedCertificate):
        proofs, k = certificate.certificates, len(certificate.data.classes)
        values, errors = (
            np.column_stack(columns)
            for columns in zip(*(decision_enclosure(p.solution, X) for p in proofs), strict=True)
        )
        own = Range(*certificate.reduction.combine_bounds(values - errors, values + errors, k))
        rigorous, zero_below = all(proof.rigorous for proof in proofs), 0.0
    else:
        values, errors = decision_enclosure(certificate.solution, X)
        own, rigorous = Range(values - errors, values + errors), certificate.rigorous
        zero_below = certificate.solution.zero_below
    bounds = certificate.decision_bounds(X, squares=squares)
    optimum = Range(bounds.lower, bounds.upper)
    return compare(own, optimum, has_labels=True, rigorous=rigorous, zero_below=zero_below)


# --- small pieces --------------------------------------------------------------------------------


def _signs(own: Range, optimum: Range, zero_below: float) -> tuple[Mask, Mask]:
    first, second = _sign(own, zero_below), _sign(optimum, 2.0 * zero_below)
    return first * second > 0, first * second < 0


def _sign(values: Range, zero_below: float) -> Array:
    """-1 or +1 where the interval determines the sign, else 0."""
    known = np.isfinite(values.lower) & np.isfinite(values.upper)
    above, below = values.lower > zero_below, values.upper < -zero_below
    return np.where(known, above.astype(np.intp) - below, 0)


def _winners(own: Range, optimum: Range) -> tuple[Mask, Mask]:
    middle = _middle(own)
    certain = np.asarray(wins(middle, own.lower, own.upper))
    rows, winner = np.arange(len(middle)), np.argmax(middle, axis=1)
    rivals = optimum.upper.copy()
    rivals[rows, winner] = -np.inf
    same = optimum.lower[rows, winner] > np.max(rivals, axis=1, initial=-np.inf)
    ahead = optimum.lower > optimum.upper[rows, winner][:, None]
    ahead[rows, winner] = False
    return certain & same, certain & ahead.any(axis=1)


def _middle(values: Range) -> Dense:
    with np.errstate(invalid="ignore"):  # where nothing is known the middle is NaN
        return np.asarray(0.5 * (values.lower + values.upper))
