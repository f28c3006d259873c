"""Machines of one fold on a shared kernel matrix, and their predictions for held-out samples."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from qpsvm.display import short_repr
from qpsvm.numerics.arrays import Dense, Index, Vector
from qpsvm.selection.exact_refit import refitted
from qpsvm.selection.machine_bounds import HeldOut, feasible, held_out
from qpsvm.selection.machines_along_c import machines_along_c
from qpsvm.selection.scores import Predictions
from qpsvm.selection.settings import SEARCH
from qpsvm.selection.shared_kernels import KernelMatrix
from qpsvm.selection.tasks import Fold, Part, Task


@short_repr
@dataclass(frozen=True, eq=False)
class FoldResult:
    """Predictions of one fold for every C, and seconds spent on each."""

    predictions: list[Predictions]
    fit_seconds: Vector
    score_seconds: Vector


def run_fold(K: KernelMatrix, task: Task, fold: Fold, C: Vector, eps: float) -> FoldResult:
    """Train the machines of a fold for ascending C, and predict its held-out samples.

    Parameters
    ----------
    K : KernelMatrix
    task : Task
    fold : Fold
    C : array of shape (m,)
    eps : float
        Certified gap; machines that miss it are solved by ``qpsvm.solve``.
    """
    seconds, trials = np.zeros((2, len(C))), []
    for part in task.parts(fold):
        block = K.values[np.ix_(part.train, part.train)]
        machines = machines_along_c(block, part.unit, C, SEARCH.tighter * eps)
        seconds[0] += machines.seconds
        began = time.perf_counter()
        trial = _Trial(K, part, fold.test)
        trials.append(trial.all_of(machines.beta, C, eps, task))
        seconds[1] += (time.perf_counter() - began) / len(C)
    predictions = [task.predictions(list(found)) for found in zip(*trials, strict=True)]
    return FoldResult(predictions, seconds[0], seconds[1])


def refine_fold(K: KernelMatrix, task: Task, fold: Fold, C: float, eps: float) -> Predictions:
    """Predict held-out samples by machines that are as accurate as double precision allows."""
    parts = task.parts(fold)
    return task.predictions([_Trial(K, part, fold.test).solved(C, eps) for part in parts])


@dataclass(frozen=True, eq=False)
class _Trial:
    """Training samples of a fold, with the samples that the fold holds out."""

    K: KernelMatrix
    part: Part
    test: Index

    def all_of(self, beta: Dense, C: Vector, eps: float, task: Task) -> list[HeldOut]:
        """Bound held-out decision values of the machines for several C.

        By compensated sums where others leave something open, and by another solve where the gap
        for the stored kernel matrix is still above eps.
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
            if found[k].own_gap > eps:
                found[k] = min(found[k], self.solved(float(C[k]), eps), key=_gap)
        return found

    def solved(self, C: float, eps: float) -> HeldOut:
        """Bound held-out values of one machine from ``qpsvm.solve``, with compensated sums."""
        stair = self.part.unit.at_price(C)
        block = self.K.values[np.ix_(self.part.train, self.part.train)]
        beta = refitted(block, stair, max(SEARCH.tighter * eps, SEARCH.tightest))
        beta = feasible(beta[:, None], stair.upper[:, None], stair.lowest[:, None])
        return self._bounds(beta, np.array([C]), more_digits=True)[0]

    def _bounds(self, beta: Dense, C: Vector, *, more_digits: bool = False) -> list[HeldOut]:
        train = self.part.train
        trained, others = (
            self.K.products(rows, train, beta, more_digits=more_digits)
            for rows in (train, self.test)
        )
        return [
            held_out(self.part.unit.at_price(value), beta[:, k], trained, others, k)
            for k, value in enumerate(C.tolist())
        ]


def _gap(found: HeldOut) -> float:
    return found.gap
