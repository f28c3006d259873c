"""Machines of one fold on a shared kernel matrix, and their predictions for held-out samples."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from qpsvm.certificates.predictions import DecisionBounds, wins
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError
from qpsvm.formulations import OneVsOne, SoftMargin
from qpsvm.formulations.parameters import ClassWeight, factors_by_label
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Dense, Index, Mask, Vector
from qpsvm.selection.kernel_matrix import KernelBlock
from qpsvm.selection.machine_bounds import HeldOut, feasible, held_out
from qpsvm.selection.scores import Predictions, ScoreInterval
from qpsvm.selection.settings import SEARCH
from qpsvm.selection.subdifferential import Subdifferential


class Fold(NamedTuple):
    """One split: rows of training samples and of held-out ones."""

    train: Index
    test: Index


def rows_of_mask(chosen: object) -> Index:
    """The rows that a splitter chooses: their numbers, also where it gives a mask of all rows."""
    rows = np.asarray(chosen)
    return np.flatnonzero(rows) if rows.dtype == np.bool_ else rows


class FoldPart(NamedTuple):
    """A machine to be trained, for every C, on some of the training samples.

    Parameters
    ----------
    train : array of int of shape (n,)
        Rows of the kernel matrix.
    unit : Subdifferential
        Of C = 1.
    """

    train: Index
    unit: Subdifferential


@short_repr
@dataclass(frozen=True, eq=False)
class Classes:
    """Labels, by one machine for every pair of classes.

    Attributes
    ----------
    codes : array of int of shape (n,)
    labels : array of shape (k,)
        The label of each code.
    weights : array of shape (n,)
        Of samples.
    class_weight : mapping or "balanced" or None
        As for ``SVC``; "balanced" is about the training samples of each fold.
    break_ties : bool
    shape : {"ovr", "ovo"}
        Of decision values: one for each class, or one for each pair.
    """

    codes: Index
    labels: Labels
    weights: Vector
    class_weight: ClassWeight
    break_ties: bool = False
    shape: Literal["ovr", "ovo"] = "ovr"

    def parts(self, fold: Fold) -> list[FoldPart]:
        """The machines that are trained on a fold."""
        train = fold.train[self.weights[fold.train] > 0.0]
        codes = self.codes[train]
        counts = np.bincount(codes, self.weights[train], len(self.labels)).astype(np.float64)
        if (counts == 0.0).any():
            label = self.labels.tolist()[int(np.argmin(counts))]
            raise InvalidDataError(
                f"A fold has no training sample of class {label!r}; use fewer folds, or a cv that "
                "stratifies, such as StratifiedKFold."
            )
        factors = self._factors(counts)
        found = []
        for i, j in itertools.combinations(range(len(self.labels)), 2):
            own = train[(codes == i) | (codes == j)]
            sign = np.where(self.codes[own] == j, 1.0, -1.0)
            upper = sign * self.weights[own] * factors[self.codes[own]]
            found.append(FoldPart(own, _hinge(upper)))
        return found

    def _factors(self, counts: Vector) -> Vector:
        given = self.class_weight
        if given is None:
            return np.ones(len(self.labels))
        if isinstance(given, str):  # "balanced"
            return np.asarray(np.sum(counts) / (len(counts) * counts))
        return factors_by_label(given, self.labels.tolist())

    def predictions(self, found: list[DecisionBounds], gap: float) -> Predictions:
        """Combine the decision values of a fold's two-class machines to predictions."""
        if len(found) == 1:
            only = found[0]
            is_second = only.values > 0.0
            decided = np.where(is_second, only.lower > 0.0, only.upper < 0.0)
            labels = self.labels[is_second.astype(np.intp)]
            return Predictions(labels, decided, only.values, only.lower, only.upper, gap)
        vote, k = OneVsOne(SoftMargin(), break_ties=self.break_ties), len(self.labels)
        pairs = DecisionBounds.side_by_side(found)
        votes = vote.combine(pairs.values, k)
        decided = wins(votes, *vote.combine_bounds(pairs.lower, pairs.upper, k))
        labels = self.labels[np.argmax(votes, axis=1)]
        shown = -pairs.values
        if self.shape == "ovr":
            shown = replace(vote, break_ties=True).combine(pairs.values, k)
        return Predictions(labels, decided, shown, pairs.values[:, 0], pairs.values[:, 0], gap)

    def are_open(self, found: HeldOut) -> Mask:
        """Mask of the machines of which tighter bounds may prove more."""
        return np.asarray(((found.lower <= 0.0) & (found.upper > 0.0)).any(axis=1))


@short_repr
@dataclass(frozen=True, eq=False)
class Tube:
    """Numbers, by a machine with a tube.

    Attributes
    ----------
    targets, weights : arrays of shape (n,)
    epsilon : float
        Half-width of the tube.
    """

    targets: Vector
    weights: Vector
    epsilon: float

    def parts(self, fold: Fold) -> list[FoldPart]:
        """The machines that are trained on a fold."""
        train = fold.train[self.weights[fold.train] > 0.0]
        if not len(train):
            raise InvalidDataError("A fold has no training sample with a weight; use fewer folds.")
        t, upper = self.targets[train], self.weights[train]
        return [FoldPart(train, Subdifferential(t - self.epsilon, t + self.epsilon, upper, -upper))]

    def predictions(self, found: list[DecisionBounds], gap: float) -> Predictions:
        """Predictions of a fold by its one machine, and which of them are known."""
        (only,) = found
        widest = SEARCH.known_number * float(np.ptp(self.targets))
        decided = only.upper - only.lower <= widest
        return Predictions(only.values, decided, only.values, only.lower, only.upper, gap)

    def are_open(self, found: HeldOut) -> Mask:
        """Mask of the machines of which tighter bounds may prove more."""
        return np.zeros(len(found.gap), dtype=bool)


def _hinge(upper: Vector) -> Subdifferential:
    """Subdifferentials of the hinge loss, for upper bounds with the signs of the labels."""
    positive = upper > 0.0
    return Subdifferential(
        np.where(positive, 1.0, -np.inf),
        np.where(positive, np.inf, -1.0),
        np.maximum(upper, 0.0),
        np.minimum(upper, 0.0),
    )


Task: TypeAlias = Classes | Tube
"""A learning task on a shared kernel matrix: its machines, and their predictions together."""


class FoldOutcome(NamedTuple):
    """Predictions of one fold for one candidate, seconds, and a score where a scorer gave it."""

    predictions: Predictions
    fit_seconds: float
    score_seconds: float
    score: ScoreInterval | None = None


def run_fold(K: KernelBlock, task: Task, fold: Fold, C: Vector, eps: float) -> list[FoldOutcome]:
    """Train the machines of a fold for ascending C, and predict its held-out samples.

    Parameters
    ----------
    K : KernelBlock
    task : Task
    fold : Fold
    C : array of shape (m,)
    eps : float
        Certified gap; machines that miss it are solved more accurately.
    """
    seconds, found, tight = np.zeros((2, len(C))), [], _tight(eps)
    for part in task.parts(fold):
        trained, others = (K.of_part(rows, part.train) for rows in (part.train, fold.test))
        began, beta = time.perf_counter(), np.zeros((len(C), len(part.train)))
        for k, each in enumerate(part.unit.along(trained.values, C, tight)):
            beta[k], now = each, time.perf_counter()
            seconds[0, k] += now - began
            began = now
        found.append(_held_out(part.unit, trained, others, beta, C, eps, task))
        seconds[1] += (time.perf_counter() - began) / len(C)
    outcomes = []
    for k, (fit, score) in enumerate(seconds.T.tolist()):
        gap = max(float(each.gap[k]) for each in found)
        together = task.predictions([each.bounds(k) for each in found], gap)
        outcomes.append(FoldOutcome(together, fit, score))
    return outcomes


def _tight(eps: float) -> float:
    """The accuracy to which a machine is solved, for its gap to hold with rounding."""
    return max(SEARCH.tighter * eps, SEARCH.tightest)


def _held_out(
    unit: Subdifferential,
    trained: KernelBlock,
    others: KernelBlock,
    beta: Dense,
    C: Vector,
    eps: float,
    task: Task,
) -> HeldOut:
    """Bound held-out decision values of the machines of a part for several C.

    By compensated sums where others leave something open, and by another solve where the gap is
    still above eps.
    """

    def bounds(beta: Dense, C: Vector, *, more_digits: bool = False) -> HeldOut:
        is_new = np.append(True, (beta[1:] != beta[:-1]).any(axis=1))
        loss, place = unit.scaled(C[:, None]), np.cumsum(is_new) - 1
        distinct = feasible(beta, loss)[is_new]
        sums = (K.sums(distinct, more_digits=more_digits).of(place) for K in (trained, others))
        return held_out(loss, distinct[place], *sums)

    found = bounds(beta, C)
    again = np.flatnonzero((found.gap > eps) | task.are_open(found))
    if len(again):
        found.improve(again, bounds(beta[again], C[again], more_digits=True))
    again = again[found.gap[again] > eps]
    if len(again):
        losses = [unit.scaled(factor) for factor in C[again].tolist()]
        pairs = zip(losses, beta[again], strict=True)
        better = [loss.solved(trained.values, start, _tight(eps)) for loss, start in pairs]
        found.improve(again, bounds(np.array(better), C[again], more_digits=True))
    return found
