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
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from qpsvm.audits.claims import Reading
from qpsvm.audits.machine import OWN_PREDICTIONS, AuditedMachine
from qpsvm.audits.readers.attributes import Estimator
from qpsvm.audits.readers.own import OWN
from qpsvm.audits.rebuilt import Decisions
from qpsvm.data import RegressionTrainingSet
from qpsvm.display import short_repr
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import OneVsOne, SoftMargin
from qpsvm.numerics.arguments import Labels, MatrixLike, Samples
from qpsvm.numerics.arrays import Array, Dense, Mask, is_sparse
from qpsvm.qp.kkt_residuals import Check

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
        """Return whether all differences are within rounding (NaN is not)."""
        return self.n_differ == 0 and self.worst <= 1.0

    @property
    def check(self) -> Check:
        """The comparison as a check of a report, scaled so that rounding reaches at most 1."""
        comparable = not self.n_differ and math.isfinite(self.worst)
        apart = self.largest_difference
        return Check(
            OWN_PREDICTIONS,
            apart if math.isfinite(apart) else math.inf,
            self.worst if comparable else math.inf,
            1.0,
        )

    @property
    def finding(self) -> str:
        """Where the fitted model's ``predict`` differs from the verified one; empty if nowhere."""
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


@dataclass(frozen=True, eq=False)
class Answers:
    """Check that a model predicts what its stored coefficients imply, on its training data.

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
    ways = (X, X.toarray()) if is_sparse(X) else (X,)  # it may have been fitted on dense samples
    decide = getattr(model, "decision_function", None)
    for way in ways:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # of column names, and of what overflows
                labels = _plain(model.predict(way))
                shown = _plain(decide(way)) if callable(decide) else None
        except Exception as error:
            if way is ways[-1]:
                raise AuditRefusedError(
                    f"This {type(model).__name__} cannot predict its own training data "
                    f"({type(error).__name__}: {error}); pass X as it was handed to fit, or fit "
                    "the model again if it was changed since."
                ) from error
            continue
        estimator = _last(model)
        # a product of float32 arrays is one, whatever is added to it
        of_weights = [vars(estimator).get(name) for name in ("coef_", "dual_coef_")]
        precise = all(getattr(a, "dtype", None) != np.float32 for a in (labels, shown, *of_weights))
        unit = float(np.finfo(np.float64 if precise else np.float32).eps)
        return Answers(labels, shown, unit)
    raise AssertionError("The last way returns or raises.")


def compare(
    model: Estimator, answers: Answers, reading: Reading, machines: list[AuditedMachine]
) -> tuple[OwnPredictions, Mask]:
    """Compare a model's own training predictions with those of its stored numbers.

    Returned with the comparison: which samples were compared.
    """
    # in the model's own scale
    rebuilt = Decisions.side_by_side([m.decisions.scaled(m.factor) for m in machines])
    labels, shown, estimator = answers.labels, answers.shown, _last(model)
    n = len(rebuilt.values)
    if isinstance(machines[0].problem.data, RegressionTrainingSet):
        apart, ratio = _apart(labels, rebuilt.values[:, 0], rebuilt.rounding[:, 0])
        differ = int(np.count_nonzero(~(ratio <= 1.0)))
        own = OwnPredictions(n, 0, differ, _largest(apart), _largest(ratio))
        return own, np.full(n, True)
    right, sure = _labels(estimator, reading, machines, rebuilt)
    said = labels.tolist() if labels.shape == (n,) else [None] * n
    agree = np.array([any(_equal(a, b) for b in many) for a, many in zip(said, right, strict=True)])
    n_sure = int(np.count_nonzero(sure))
    differ = int(np.count_nonzero(sure & ~agree))
    apart, ratio = _differences(estimator, reading, shown, rebuilt)
    return OwnPredictions(n_sure, n - n_sure, differ, _largest(apart), _largest(ratio)), sure


# --- what the model says ---------------------------------------------------------------------


def _plain(answer: MatrixLike) -> Array:
    """Convert a prediction to an array; NaN where it is masked or complex."""
    array = np.asarray(answer.toarray() if is_sparse(answer) else answer)
    if np.ma.is_masked(answer) or array.dtype.kind == "c":
        return np.full(array.shape, np.nan)
    return array


def _last(model: Estimator) -> Estimator:
    """Return the final estimator of a pipeline; any other model unchanged."""
    steps = getattr(model, "steps", None)
    return _last(steps[-1][1]) if isinstance(steps, list) and steps else model


# --- labels ----------------------------------------------------------------------------------


def _labels(
    estimator: Estimator, reading: Reading, machines: list[AuditedMachine], rebuilt: Decisions
) -> tuple[Right, Mask]:
    """The labels that follow from decision values, and a mask of those rounding cannot change."""
    values, data = rebuilt.values, machines[0].problem.data
    if reading.reduction is None:
        if values.shape[1] == 1:
            right = data.predictions(values[:, 0] / machines[0].factor)
            return _alone(right), rebuilt.signs_are_sure
        return _alone(data.predictions(values)), rebuilt.leads
    classes = np.asarray(reading.classes)
    if not reading.in_pairs:
        return _alone(classes[np.argmax(values, axis=1)]), rebuilt.leads
    votes, sure = reading.combine(values), rebuilt.signs_are_sure
    if reading.library == OWN or getattr(estimator, "break_ties", False):
        sure = sure & _scores(reading, rebuilt).leads
    elif reading.library.name != "LIBSVM":  # it may be any of those with the most votes
        most = np.ceil(votes) == np.max(np.ceil(votes), axis=1)[:, None]
        return [classes[row].tolist() for row in most], sure
    return _alone(classes[np.argmax(votes, axis=1)]), sure


def _alone(labels: Labels) -> Right:
    return [[label] for label in labels.tolist()]


def _equal(one: object, other: object) -> bool:
    """Return whether two labels are equal: numbers by value, others also by type."""
    numbers = (bool, int, float)
    if type(one) is not type(other) and not (type(one) in numbers and type(other) in numbers):
        return False
    return (one == other) is True


def _scores(reading: Reading, rebuilt: Decisions) -> Decisions:
    """One value per class, shape (n, k): votes, plus a fraction from the decision values."""
    if reading.library != OWN:  # what ``decision_function`` adds up, whatever predict does
        reading = replace(reading, reduction=OneVsOne(SoftMargin()))
    rounding = np.sum(rebuilt.rounding, axis=1)[:, None]
    scores = reading.combine(rebuilt.values)
    rounding = np.broadcast_to(rounding + 1e-15 * scores.shape[1], scores.shape)
    return Decisions(scores, rounding)


# --- decision values -------------------------------------------------------------------------


def _differences(
    estimator: Estimator, reading: Reading, shown: Array | None, rebuilt: Decisions
) -> tuple[Dense, Dense]:
    """Differences of decision values, absolute and relative to their rounding; zero without any."""
    if shown is None:
        return np.zeros(1), np.zeros(1)
    values, rounding = rebuilt.values, rebuilt.rounding
    if values.shape[1] == 1:
        return _apart(shown, values[:, 0], rounding[:, 0])
    shape = getattr(estimator, "decision_function_shape", None)
    if reading.in_pairs and (shape == "ovr" or reading.library == OWN):
        scores = _scores(reading, rebuilt)
        apart, ratio = _apart(shown, scores.values, scores.rounding)
        sure = rebuilt.signs_are_sure[:, None]  # elsewhere a vote may go either way
        return np.where(sure, apart, 0.0), np.where(sure, ratio, 0.0)
    return _apart(shown, values, rounding)


def _apart(own: Array, rebuilt: Dense, rounding: Dense) -> tuple[Dense, Dense]:
    """``|own - rebuilt|``, absolute and relative to rounding; infinite for invalid answers."""
    try:
        numbers = np.asarray(own, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if numbers.shape != rebuilt.shape:
        numbers = np.full(rebuilt.shape, np.inf)
    with np.errstate(all="ignore"):
        apart = np.where(numbers == rebuilt, 0.0, np.abs(numbers - rebuilt))
        apart = np.where(np.isnan(apart), np.inf, apart)
        return apart, np.where(apart == 0.0, 0.0, apart / rounding)


def _largest(values: Dense) -> float:
    return float(np.max(values, initial=0.0))
