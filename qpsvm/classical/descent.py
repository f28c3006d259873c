"""The loop of sub-gradient descent, with its batches and averages.

The equations and their sources are those of ``subgradient``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.settings import require_count
from qpsvm.classical.machines import stated
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import require_choice
from qpsvm.numerics.arrays import Index, Vector

Average: TypeAlias = Literal["none", "uniform", "linear"]


class HingeTask:
    """A linear training problem for sub-gradient methods, whose iterates are ``(b, w, alpha)``.

    The three stand in one array: steps and averages are linear in all of them together, so that
    ``w = sum_i alpha_i s_i x_i`` throughout, and alpha is the lower bound of the certificate.

    Parameters
    ----------
    problem : SVMProblem
        Of a linear classifier.
    """

    def __init__(self, problem: SVMProblem) -> None:
        model = problem.model
        self.problem = problem
        self.X = model.data.X if sp.issparse(model.data.X) else np.asarray(model.data.X)
        self.signs, self.prices = model.conditions.signs, model.conditions.upper
        self.n, self.d = self.X.shape
        self.intercept = model.intercept
        self.start = np.zeros(1 + self.d + self.n)

    def parts(self, at: Vector) -> tuple[float, Vector, Vector]:
        """Split an iterate into b, w and alpha."""
        return float(at[0]), at[1 : 1 + self.d], at[1 + self.d :]

    def margins(self, at: Vector, rows: Index | slice = slice(None)) -> Vector:
        """Compute the margins ``s_i f(x_i)`` of some samples."""
        b, w, _ = self.parts(at)
        return np.asarray(self.signs[rows] * (self.X[rows] @ w + b))

    def stepped(
        self,
        at: Vector,
        counted: Vector,
        eta: float,
        rows: Index | slice = slice(None),
        decay: float = 1.0,
    ) -> Vector:
        """Take one step: ``w <- w - eta (decay w - sum_i c_i s_i x_i)``, likewise b and alpha.

        Parameters
        ----------
        at : array
        counted : array
            c, for the samples of ``rows``; no others take part.
        eta : float
        rows : array of int, or slice
        decay : float
            1 with the norm in the objective, 0 without it.
        """
        signed = counted * self.signs[rows]
        ahead = (1.0 - eta * decay) * at
        _, w, alpha = self.parts(ahead)
        w += eta * np.asarray(self.X[rows].T @ signed)
        alpha[rows] += eta * counted
        if self.intercept == "free":  # b is not in the norm
            ahead[0] = at[0]
        if self.intercept != "none":
            ahead[0] += eta * float(np.sum(signed))
        return ahead

    def norm(self, at: Vector) -> float:
        """The norm of the weights, a penalised intercept included."""
        b, w, _ = self.parts(at)
        return math.hypot(float(np.linalg.norm(w)), b if self.intercept == "penalized" else 0.0)

    def machine(self, at: Vector) -> SVMSolution:
        """Return the iterate as a solution of the problem."""
        b, w, alpha = self.parts(at)
        return stated(self.problem, alpha, coef=w, intercept=b)


def descent(
    task: HingeTask,
    batches: Iterator[Index | slice],
    rate: float | None,
    radius: float = math.inf,
) -> Iterator[Vector]:
    """Yield the iterates of projected sub-gradient descent, one per batch.

    The step size is ``rate``, or ``1/t`` without one: that for a 1-strongly convex objective.
    """
    at = task.start
    for t, rows in enumerate(batches, 1):
        prices = task.prices[rows]
        weight = task.n / len(prices)  # the batch stands for all samples
        violated = task.margins(at, rows) < 1.0
        eta = 1.0 / t if rate is None else rate
        at = task.stepped(at, np.where(violated, weight * prices, 0.0), eta, rows)
        length = task.norm(at)
        if length > radius:
            at = at * (radius / length)
        yield at


def averaged(iterates: Iterator[Vector], average: Average) -> Iterator[Vector]:
    """Yield the iterates, their running mean, or the running mean with weights t."""
    require_choice(average, ("none", "uniform", "linear"), "average")
    return iterates if average == "none" else _means(iterates, average)


def _means(iterates: Iterator[Vector], average: Average) -> Iterator[Vector]:
    mean: Vector = np.zeros(1)
    for t, at in enumerate(iterates, 1):
        share = 1.0 / t if average == "uniform" else 2.0 / (t + 1)  # 1 in the first step
        mean = mean + share * (at - mean)
        yield mean


def batches(n: int, size: int, seed: int) -> Iterator[Index | slice]:
    """Return consecutive batches of the samples, shuffled for every pass."""
    require_count(size, "batch_size")
    if size > n:
        raise InvalidParameterError(
            f"batch_size is {size}, and there are {n} samples; pass at most as many."
        )
    require_count(seed, "seed", least=0)
    return _batches(n, size, np.random.default_rng(seed))


def _batches(n: int, size: int, draw: np.random.Generator) -> Iterator[Index | slice]:
    while True:
        order = draw.permutation(n)
        for first in range(0, n, size):
            yield order[first : first + size]
