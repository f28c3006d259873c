"""Comparison of a model's own predictions with those of its stored numbers.

An audit verifies the numbers that a model stores. Its ``predict`` may use other numbers: a subclass
may override it, or it may read further attributes. So the model's own ``predict`` and
``decision_function`` are called on the training data and compared with the decision values f that
follow from the stored numbers (``rebuilt``). Decision values and predicted numbers must agree up to
rounding. Labels are compared where rounding cannot change them, that is where ``|f(x)|``, or the
lead of the first of several classes, exceeds the rounding. Other samples are not examined.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from qpsvm.audits.claims import OWN, Reading
from qpsvm.audits.inputs import Estimator
from qpsvm.audits.rebuilt import Decisions
from qpsvm.data import RegressionTrainingSet
from qpsvm.display import short_repr
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import OneVsOne, SoftMargin
from qpsvm.numerics.arguments import MatrixLike, Samples
from qpsvm.numerics.arrays import Array, Dense, Mask, is_sparse
from qpsvm.qp.kkt_residuals import Check

NAME = "own_predictions"
"""Name of the check that a report gets."""

Right: TypeAlias = list[list[object]]
"""For every sample the labels that are right: several where a library does not say which of the
classes with most votes is taken."""


@short_repr
@dataclass(frozen=True)
class OwnPredictions:
    """Comparison of a model's own training predictions with those of its stored numbers.

    Attributes
    ----------
    n_compared : int
        Samples whose label rounding cannot change; of a regression all of them.
    n_undecided : int
        Samples too near to the boundary to be compared.
    n_differ : int
        Compared samples for which the model's ``predict`` says something else.
    largest_difference : float
        Of a decision value, or of a predicted number, in the model's own scale; 0 for a model
        without ``decision_function``.
    worst : float
        The largest difference over what rounding allows for that sample: above 1 it is no rounding.
    """

    n_compared: int
    n_undecided: int
    n_differ: int
    largest_difference: float
    worst: float

    @property
    def passed(self) -> bool:
        """Return whether all differences are within rounding."""
        return self.n_differ == 0 and self.worst <= 1.0

    @property
    def check(self) -> Check:
        """The comparison as a check of a report, scaled so that rounding reaches at most 1."""
        worst = math.inf if self.n_differ else self.worst
        return Check(NAME, self.largest_difference, worst, 1.0)

    @property
    def finding(self) -> str:
        """A sentence on how the model's ``predict`` differs from the verified one; else empty."""
        if self.passed:
            return ""
        if self.n_differ:
            return (
                "The model's own predictions differ from those of its stored numbers for "
                f"{self.n_differ} of {self.n_compared + self.n_undecided} training samples"
            )
        return (
            "The model's own decision values differ from those of its stored numbers by up to "
            f"{self.largest_difference:.2g}"
        )

    @classmethod
    def together(cls, several: Sequence[OwnPredictions]) -> OwnPredictions:
        """The comparisons of several models as one."""
        return cls(
            n_compared=sum(own.n_compared for own in several),
            n_undecided=sum(own.n_undecided for own in several),
            n_differ=sum(own.n_differ for own in several),
            largest_difference=float(np.max([own.largest_difference for own in several])),
            worst=float(np.max([own.worst for own in several])),
        )

    def to_dict(self) -> dict[str, object]:
        """The figures by name, for JSON."""
        return {**vars(self), "passed": self.passed}


class Answers(NamedTuple):
    """A model's own predictions of its training data.

    Attributes
    ----------
    labels : array of shape (n,)
        Of ``predict``.
    shown : array or None
        Of ``decision_function``; None without one.
    unit : float
        Rounding unit of the precision in which it answers.
    """

    labels: Array
    shown: Array | None
    unit: float


def asked(model: Estimator, X: Samples) -> Answers | None:
    """Ask the model for its predictions of X, and for its decision values if it has any.

    None where the model has no ``predict``: files of LIBSVM and LIBLINEAR, plain numbers.

    Raises
    ------
    AuditRefusedError
        ``predict`` or ``decision_function`` fails on the training data.
    """
    if not callable(getattr(model, "predict", None)):
        return None
    if is_sparse(X):  # it may have been fitted on dense samples
        with suppress(AuditRefusedError):
            return _answers(model, X)
        return _answers(model, X.toarray())
    return _answers(model, X)


def compare(
    model: Estimator, answers: Answers, reading: Reading, machines: Sequence[Decisions]
) -> tuple[OwnPredictions, Mask]:
    """Compare a model's own training predictions with those of its stored numbers.

    Returned with the comparison: which samples were compared.
    """
    first, factors = reading.claims[0], [claim.factor for claim in reading.claims]
    # in the model's own scale
    rebuilt = Decisions.side_by_side([m.scaled(f) for m, f in zip(machines, factors, strict=True)])
    n, everywhere = len(rebuilt.values), np.array(True)
    if isinstance(first.problem.data, RegressionTrainingSet):
        delta, ratio = _differences(answers.labels, rebuilt, everywhere)
        differ = int(np.count_nonzero(~(ratio <= 1.0)))
        return OwnPredictions(n, 0, differ, _largest(delta), _largest(ratio)), np.full(n, True)
    estimator, comparable = last(model), everywhere
    if reading.in_pairs:
        right, sure, scores = _of_votes(estimator, reading, rebuilt)
        by_class = getattr(estimator, "decision_function_shape", None) == "ovr"
        if by_class or reading.library == OWN:
            rebuilt, comparable = scores, rebuilt.signs_are_sure[:, None]
    else:
        lifted = Decisions(rebuilt.values + first.factor * first.zero_below, rebuilt.rounding)
        sure = lifted.signs_are_sure if rebuilt.values.ndim == 1 else rebuilt.leads
        if reading.reduction is None:
            labels = first.problem.data.predictions(lifted.values / first.factor)
        else:
            labels = np.asarray(reading.classes)[np.argmax(rebuilt.values, axis=1)]
        right = [[label] for label in labels.tolist()]
    said = answers.labels.tolist() if answers.labels.shape == (n,) else [None] * n
    agree = np.array([any(_equal(a, b) for b in many) for a, many in zip(said, right, strict=True)])
    delta, ratio = np.zeros(1), np.zeros(1)
    if answers.shown is not None:
        delta, ratio = _differences(answers.shown, rebuilt, comparable)
    n_sure, differ = int(np.count_nonzero(sure)), int(np.count_nonzero(sure & ~agree))
    return OwnPredictions(n_sure, n - n_sure, differ, _largest(delta), _largest(ratio)), sure


def n_different(one: Array, other: Array) -> int:
    """Count the samples for which two models predict different labels or numbers."""
    if one.shape != other.shape:
        return max(len(one), len(other))
    if one.dtype.kind == "f" and other.dtype.kind == "f":
        return int(np.count_nonzero(~np.isclose(one, other, rtol=1e-9, atol=0.0)))
    pairs = zip(one.tolist(), other.tolist(), strict=True)
    return sum(not _equal(a, b) for a, b in pairs)


# --- small pieces ----------------------------------------------------------------------------


def _answers(model: Estimator, X: Samples) -> Answers:
    """Call a model on samples."""
    decide = getattr(model, "decision_function", None)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # of column names, and of what overflows
            labels = _plain(model.predict(X))
            shown = _plain(decide(X)) if callable(decide) else None
    except Exception as error:
        raise AuditRefusedError(
            f"This {type(model).__name__} cannot predict its own training data "
            f"({type(error).__name__}: {error}); pass X as it was handed to fit, or fit "
            "the model again if it was changed since."
        ) from error
    # a product of float32 arrays is one, whatever is added to it
    of_weights = [vars(last(model)).get(name) for name in ("coef_", "dual_coef_")]
    precise = all(getattr(a, "dtype", None) != np.float32 for a in (labels, shown, *of_weights))
    return Answers(labels, shown, float(np.finfo(np.float64 if precise else np.float32).eps))


def _plain(answer: MatrixLike) -> Array:
    """Convert a prediction to an array; NaN where it is masked or complex."""
    array = np.asarray(answer.toarray() if is_sparse(answer) else answer)
    if np.ma.is_masked(answer) or array.dtype.kind == "c":
        return np.full(array.shape, np.nan)
    return array


def last(model: Estimator) -> Estimator:
    """Return the final estimator of a pipeline; any other model unchanged."""
    steps = getattr(model, "steps", None)
    return last(steps[-1][1]) if isinstance(steps, list) and steps else model


def _of_votes(
    estimator: Estimator, reading: Reading, rebuilt: Decisions
) -> tuple[Right, Mask, Decisions]:
    """Labels by votes of pairs, where rounding cannot change them, and a value for each class.

    That value, shape (n, k), has the votes, plus a fraction from the decision values.
    """
    votes, sure, classes = reading.combine(rebuilt.values), rebuilt.signs_are_sure, reading.classes
    if reading.library != OWN:  # what ``decision_function`` adds up, whatever predict does
        reading = replace(reading, reduction=OneVsOne(SoftMargin()))
    values = reading.combine(rebuilt.values)
    rounding = np.sum(rebuilt.rounding, axis=1)[:, None] + 1e-15 * values.shape[1]
    scores = Decisions(values, np.broadcast_to(rounding, values.shape))
    if reading.library == OWN or getattr(estimator, "break_ties", False):
        sure = sure & scores.leads
    elif reading.library.name != "LIBSVM":  # it may be any of those with the most votes
        most = np.ceil(votes) == np.max(np.ceil(votes), axis=1)[:, None]
        return [np.asarray(classes)[row].tolist() for row in most], sure, scores
    labels = np.asarray(classes)[np.argmax(votes, axis=1)]
    return [[label] for label in labels.tolist()], sure, scores


def _equal(one: object, other: object) -> bool:
    """Return whether two labels are equal: numbers by value, others also by type."""
    numbers = (bool, int, float)
    if type(one) is not type(other) and not (type(one) in numbers and type(other) in numbers):
        return False
    return (one == other) is True


def _differences(own: Array, rebuilt: Decisions, comparable: Mask) -> tuple[Dense, Dense]:
    """``|own - rebuilt|``, absolute and relative to rounding; infinite for invalid answers.

    Zero where the two are not comparable, because a vote may go either way.
    """
    try:
        numbers = np.asarray(own, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    values = rebuilt.values
    if numbers.shape != values.shape:
        numbers = np.full(values.shape, np.inf)
    with np.errstate(all="ignore"):
        delta = np.where((numbers == values) | ~comparable, 0.0, np.abs(numbers - values))
        delta = np.where(np.isnan(delta), np.inf, delta)
        return delta, np.where(delta == 0.0, 0.0, delta / rebuilt.rounding)


def _largest(values: Dense) -> float:
    """Return the largest entry of an array, or infinity if any entry is NaN."""
    largest = float(np.max(values, initial=0.0))
    return math.inf if math.isnan(largest) else largest
