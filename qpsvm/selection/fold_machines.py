"""Machines of one fold on a shared kernel matrix, and what they predict for its held-out samples."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError
from qpsvm.formulations import OneVsOne, SoftMargin
from qpsvm.certificates.predictions import wins
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.selection.exact_refit import refitted
from qpsvm.selection.machine_bounds import HeldOut, Products, feasible, held_out
from qpsvm.selection.machines_along_c import at_price, machines_along_c
from qpsvm.selection.scoring import Predictions
from qpsvm.selection.settings import SEARCH
from qpsvm.selection.staircase import Staircase


@short_repr
@dataclass(frozen=True, eq=False)
class Fold:
    """One split: rows of training samples and of held-out ones."""

    train: Index
    test: Index


@short_repr
@dataclass(frozen=True, eq=False)
class Part:
    """A machine to be trained, for every C, on some of the training samples.

    Attributes
    ----------
    train : array of int of shape (n,)
        Rows of the kernel matrix.
    unit : Staircase
        Of C = 1.
    """

    train: Index
    unit: Staircase


class Task(Protocol):
    """Protocol of what is learnt: which machines it takes, and what they predict together."""

    def parts(self, fold: Fold) -> list[Part]: ...

    def predictions(self, found: list[HeldOut]) -> Predictions: ...

    def is_open(self, found: HeldOut) -> bool: ...


@short_repr
@dataclass(frozen=True, eq=False)
class FoldResult:
    """Predictions of one fold for every C, and seconds spent on each."""

    predictions: list[Predictions]
    fit_seconds: Vector
    score_seconds: Vector


def run_fold(K: Dense, task: Task, fold: Fold, C: Vector, eps: float) -> FoldResult:
    """Train the machines of a fold for ascending C, and predict its held-out samples.

    Parameters
    ----------
    K : array of shape (n, n)
        Of all samples.
    task : Task
    fold : Fold
    C : array of shape (m,)
    eps : float
        Certified gap; machines that miss it are solved by ``qpsvm.solve``.
    """
    seconds, trials = np.zeros((2, len(C))), []
    for part in task.parts(fold):
        block = K[np.ix_(part.train, part.train)]
        machines = machines_along_c(block, part.unit, C, SEARCH.tighter * eps)
        seconds[0] += machines.seconds
        began = time.perf_counter()
        trial = _Trial(K, block, part, fold.test)
        trials.append(trial.all_of(machines.beta, C, eps, task))
        seconds[1] += (time.perf_counter() - began) / len(C)
    predictions = [task.predictions(list(found)) for found in zip(*trials, strict=True)]
    return FoldResult(predictions, seconds[0], seconds[1])


def refine_fold(K: Dense, task: Task, fold: Fold, C: float, eps: float) -> Predictions:
    """Predict held-out samples by machines that are as accurate as double precision allows."""
    found = []
    for part in task.parts(fold):
        block = K[np.ix_(part.train, part.train)]
        trial = _Trial(K, block, part, fold.test)
        found.append(trial.solved(C, eps))
    return task.predictions(found)


@dataclass(frozen=True, eq=False)
class _Trial:
    """A part with its block of the kernel matrix, and the held-out samples."""

    K: Dense
    block: Dense
    part: Part
    test: Index
    norms: Vector = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "norms", np.sqrt(np.maximum(np.diagonal(self.K), 0.0)))

    def all_of(self, beta: Dense, C: Vector, eps: float, task: Task) -> list[HeldOut]:
        """Bounds of machines for several C.

        By compensated sums where others leave something open, and by another solve where the gap is
        still above eps.
        """
        unit = self.part.unit
        beta = feasible(beta, np.outer(unit.upper, C), np.outer(unit.lowest, C))
        found = self._bounds(beta, C)
        again = [k for k, each in enumerate(found) if each.gap > eps or task.is_open(each)]
        if again:
            better = self._bounds(beta[:, again], C[again], more_digits=True)
            for k, each in zip(again, better, strict=True):
                found[k] = min(found[k], each, key=_gap)
        for k in again:
            if found[k].gap > eps:
                found[k] = min(found[k], self.solved(float(C[k]), eps), key=_gap)
        return found

    def solved(self, C: float, eps: float) -> HeldOut:
        """Bounds of a machine from ``qpsvm.solve``, by compensated sums."""
        stair = at_price(self.part.unit, C)
        beta = refitted(self.block, stair, max(SEARCH.tighter * eps, SEARCH.tightest))
        beta = feasible(beta[:, None], stair.upper[:, None], stair.lowest[:, None])
        return self._bounds(beta, np.array([C]), more_digits=True)[0]

    def _bounds(self, beta: Dense, C: Vector, *, more_digits: bool = False) -> list[HeldOut]:
        train, test = self.part.train, self.test
        own, across = self.norms[train], self.K[np.ix_(test, train)]
        trained = Products.of(self.block, own, beta, more_digits=more_digits)
        others = Products.of(across, self.norms[test], beta, more_digits=more_digits)
        return [
            held_out(at_price(self.part.unit, value), beta[:, k], trained, others, k)
            for k, value in enumerate(C.tolist())
        ]


def _gap(found: HeldOut) -> float:
    return found.gap


# --- what is learnt -------------------------------------------------------------------------------


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
    """

    codes: Index
    labels: Labels
    weights: Vector
    class_weight: object
    break_ties: bool = False

    def parts(self, fold: Fold) -> list[Part]:
        train = fold.train[self.weights[fold.train] > 0.0]
        codes = self.codes[train]
        counts = np.bincount(codes, self.weights[train], minlength=len(self.labels))
        if (counts == 0.0).any():
            label = self.labels[int(np.argmin(counts))]
            raise InvalidDataError(
                f"A fold has no training sample of class {label!r}; use fewer folds, or a cv that "
                "stratifies, such as StratifiedKFold."
            )
        factors = self._factors(counts)
        found = []
        for i, j in itertools.combinations(range(len(self.labels)), 2):
            own = train[(codes == i) | (codes == j)]
            sign = np.where(self.codes[own] == j, 1.0, -1.0)
            price = sign * self.weights[own] * factors[self.codes[own]]
            found.append(Part(own, _hinge(price)))
        return found

    def _factors(self, counts: Vector) -> Vector:
        given = self.class_weight
        if given is None:
            return np.ones(len(self.labels))
        if given == "balanced":
            return np.asarray(np.sum(counts) / (len(counts) * counts))
        assert isinstance(given, dict)
        return np.array([float(given.get(label, 1.0)) for label in self.labels.tolist()])

    def predictions(self, found: list[HeldOut]) -> Predictions:
        gap = max(each.gap for each in found)
        if len(found) == 1:
            values, low, high = found[0].values, found[0].lower, found[0].upper
            is_second = values > 0.0
            decided = np.where(is_second, low > 0.0, high <= 0.0)
            labels = self.labels[is_second.astype(np.intp)]
            return Predictions(labels, decided, values, low, high, gap)
        vote, k = OneVsOne(SoftMargin(), break_ties=self.break_ties), len(self.labels)
        columns = (np.column_stack([getattr(f, e) for f in found]) for e in ENDS)
        values, low, high = columns
        votes = vote.combine(values, k)
        decided = wins(votes, *vote.combine_bounds(low, high, k))
        labels = self.labels[np.argmax(votes, axis=1)]
        shown = replace(vote, break_ties=True).combine(values, k)
        return Predictions(labels, decided, shown, values[:, 0], values[:, 0], gap)

    def is_open(self, found: HeldOut) -> bool:
        return bool(((found.lower <= 0.0) & (found.upper > 0.0)).any())


ENDS = ("values", "lower", "upper")


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

    def parts(self, fold: Fold) -> list[Part]:
        train = fold.train[self.weights[fold.train] > 0.0]
        if not len(train):
            raise InvalidDataError("A fold has no training sample with a weight; use fewer folds.")
        t, price = self.targets[train], self.weights[train]
        return [Part(train, Staircase(t - self.epsilon, t + self.epsilon, price, -price))]

    def predictions(self, found: list[HeldOut]) -> Predictions:
        only = found[0]
        widest = SEARCH.known_number * float(np.ptp(self.targets))
        decided = only.upper - only.lower <= widest
        return Predictions(only.values, decided, only.values, only.lower, only.upper, only.gap)

    def is_open(self, found: HeldOut) -> bool:
        return False


def _hinge(price: Vector) -> Staircase:
    """Staircases of the hinge loss, for prices with the signs of the labels."""
    positive = price > 0.0
    return Staircase(
        np.where(positive, 1.0, -np.inf),
        np.where(positive, np.inf, -1.0),
        np.maximum(price, 0.0),
        np.minimum(price, 0.0),
    )
