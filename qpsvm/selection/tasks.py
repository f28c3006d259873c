"""Learning tasks on a shared kernel matrix, labels or numbers, and their two-class machines."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from qpsvm.certificates.predictions import DecisionBounds, wins
from qpsvm.display import short_repr
from qpsvm.exceptions import InvalidDataError
from qpsvm.formulations import OneVsOne, SoftMargin
from qpsvm.formulations.prices import ClassWeight, factors_by_label
from qpsvm.numerics.arguments import Labels
from qpsvm.numerics.arrays import Index, Vector
from qpsvm.selection.machine_bounds import HeldOut
from qpsvm.selection.scores import Predictions
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
    """Protocol of a learning task: its machines, and their predictions together."""

    def parts(self, fold: Fold) -> list[Part]:
        """The machines that are trained on a fold."""

    def predictions(self, found: list[HeldOut]) -> Predictions:
        """Predictions of the machines of a fold together, in the order of ``parts``."""

    def is_open(self, found: HeldOut) -> bool:
        """Return whether tighter bounds on one machine may prove more."""


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

    def parts(self, fold: Fold) -> list[Part]:
        train = fold.train[self.weights[fold.train] > 0.0]
        codes = self.codes[train]
        counts = np.bincount(codes, self.weights[train], len(self.labels)).astype(np.float64)
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
        if isinstance(given, str):  # "balanced"
            return np.asarray(np.sum(counts) / (len(counts) * counts))
        return factors_by_label(given, self.labels.tolist())

    def predictions(self, found: list[HeldOut]) -> Predictions:
        gap = max(each.gap for each in found)
        if len(found) == 1:
            only = found[0].bounds
            is_second = only.values > 0.0
            decided = np.where(is_second, only.lower > 0.0, only.upper < 0.0)
            labels = self.labels[is_second.astype(np.intp)]
            return Predictions(labels, decided, only.values, only.lower, only.upper, gap)
        vote, k = OneVsOne(SoftMargin(), break_ties=self.break_ties), len(self.labels)
        pairs = DecisionBounds.side_by_side([each.bounds for each in found])
        votes = vote.combine(pairs.values, k)
        decided = wins(votes, *vote.combine_bounds(pairs.lower, pairs.upper, k))
        labels = self.labels[np.argmax(votes, axis=1)]
        shown = -pairs.values
        if self.shape == "ovr":
            shown = replace(vote, break_ties=True).combine(pairs.values, k)
        return Predictions(labels, decided, shown, pairs.values[:, 0], pairs.values[:, 0], gap)

    def is_open(self, found: HeldOut) -> bool:
        return bool(((found.bounds.lower <= 0.0) & (found.bounds.upper > 0.0)).any())


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
        only, gap = found[0].bounds, found[0].gap
        widest = SEARCH.known_number * float(np.ptp(self.targets))
        decided = only.upper - only.lower <= widest
        return Predictions(only.values, decided, only.values, only.lower, only.upper, gap)

    def is_open(self, found: HeldOut) -> bool:
        del found
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
