"""Machines of one fold on a shared kernel matrix, and their predictions for held-out samples."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.selection.exact_refit import refitted
from qpsvm.selection.machine_bounds import HeldOut, Products, feasible, held_out
from qpsvm.selection.machines_along_c import machines_along_c
from qpsvm.selection.scores import Predictions
from qpsvm.selection.settings import SEARCH
from qpsvm.selection.tasks import Fold, Part, Task


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
        """Bound held-out decision values of the machines for several C.

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
        """Bound held-out values of one machine from ``qpsvm.solve``, with compensated sums."""
        stair = self.part.unit.at_price(C)
        beta = refitted(self.block, stair, max(SEARCH.tighter * eps, SEARCH.tightest))
        beta = feasible(beta[:, None], stair.upper[:, None], stair.lowest[:, None])
        return self._bounds(beta, np.array([C]), more_digits=True)[0]

    def _bounds(self, beta: Dense, C: Vector, *, more_digits: bool = False) -> list[HeldOut]:
        train, test = self.part.train, self.test
        own, across = self.norms[train], self.K[np.ix_(test, train)]
        trained = Products.of(self.block, own, beta, more_digits=more_digits)
        others = Products.of(across, self.norms[test], beta, more_digits=more_digits)
        return [
            held_out(self.part.unit.at_price(value), beta[:, k], trained, others, k)
            for k, value in enumerate(C.tolist())
        ]


def _gap(found: HeldOut) -> float:
    return found.gap
