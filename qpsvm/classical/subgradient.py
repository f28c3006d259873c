r"""Sub-gradient descent on the primal: the hinge objective, and the perceptron criterion.

    F(w, b) = 1/2 |w|^2 + sum_i C_i max(0, 1 - s_i (w'x_i + b)),     C_i = reg/N

A step with the samples of a batch B, which stand for all N of them::

    w <- w - eta_t (w - N/|B| sum_{i in B} C_i s_i x_i [s_i f(x_i) < 1])

:math:`\eta_t = \tfrac{1}{t}` is the step of Pegasos: F is 1-strongly convex, and in the scale of
that paper, :math:`\tfrac{\lambda}{2} \lVert w \rVert^2 + \tfrac{1}{N} \sum \text{hinge}` with
``lambda = 1/reg``, it reads :math:`1 / (\lambda t)`. Pegasos then scales w back into the ball
:math:`\lVert w \rVert \le \sqrt{\sum C_i}` (theirs: :math:`1 / \sqrt{\lambda}`), which contains the
optimum.

The cost is not monotone, and the last iterate is worse than an average of all: the mean, or the
mean with weights t, which converges faster.

Each step adds a multiple of some ``s_i x_i``: the multiples, added up, are an alpha with
:math:`w = \sum \alpha_i s_i x_i`, and the lower bound of the certificate comes from them.

**The perceptron criterion**, whose minimisers separate the classes without a widest margin::

    J(w, b) = 1/N sum_i max(0, -s_i (w'x_i + b))

counts how far samples are on the wrong side. Its sub-gradient adds every misclassified sample::

    w <- w + eta/N sum { s_i x_i : s_i f(x_i) <= 0 },    b <- b + eta/N sum { s_i : the same i }

J is zero for *every* line that separates, and for w = 0 besides: nothing in it prefers a wide
margin, and the first separating line ends the descent. The hard margin minimises
:math:`\tfrac{1}{2} \lVert w \rVert^2` with :math:`s_i f(x_i) \ge 1`, which is another objective;
its certificate says how far from it this line is.

Sources: Shalev-Shwartz, Singer, Srebro and Cotter, *Mathematical Programming* 127 (2011), figures 1
and 2; the averages: Lacoste-Julien, Schmidt and Bach, "A simpler approach to obtaining an O(1/t)
convergence rate for the projected stochastic subgradient method", arXiv:1212.2002 (2012); alpha as
an average of sub-gradients: Bach, "Duality between subgradient and conditional gradient methods",
*SIAM Journal on Optimization* 25 (2015), section 3; Rosenblatt, "The perceptron",
*Psychological Review* 65 (1958); its criterion: Duda, Hart and Stork, *Pattern Classification*
(2001), section 5.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from typing import Literal, TypeAlias, Unpack

import numpy as np
import scipy.sparse as sp

from qpsvm.backends.settings import require_above, require_count
from qpsvm.classical.machines import require_problem, stated
from qpsvm.classical.recording import ClassicalResult, Limits, Recorder, RunOptions, textbook_method
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.margin import HardMargin, SoftMargin
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arguments import require_choice
from qpsvm.numerics.arrays import Index, Vector
from qpsvm.solvers.classical.driver import following

Average: TypeAlias = Literal["none", "uniform", "linear"]

Bias: TypeAlias = Literal["separate", "first"]


@textbook_method
def subgradient(
    problem: SVMProblem,
    *,
    rate: float | None = None,
    average: Average = "none",
    bias: Bias = "separate",
    patience: int | None = None,
    min_change: float = 1e-3,
    **run: Unpack[RunOptions],
) -> ClassicalResult:
    r"""Sub-gradient descent on the primal, with all samples in every step.

    .. math::

        w \gets w - \eta_t \Bigl( w - \sum_i C_i s_i x_i [s_i f(x_i) < 1] \Bigr)

    Parameters
    ----------
    problem : SVMProblem
        Of ``SoftMargin`` with hinge loss and the linear kernel, in either form.
        ``average_loss=True`` weights every sample by 1/N.
    rate : float, optional
        A constant step eta; ``1/t`` in step t if None.
    average : {"none", "uniform", "linear"}
        Return the last iterate, the mean of all, or their mean with weights t.
    bias : {"separate", "first"}
        The bias apart from the weights, or as the first of them, which is the same objective for a
        penalised intercept and impossible for others.
    patience : int, optional
        Stop after so many checkpoints in a row at which the best cost has not fallen by
        ``min_change``; None for never.
    min_change : float
        Relative fall of the best cost that counts.
    eps, max_seconds, max_steps, verbose, settings
        As for ``dual_ascent``.

    Returns
    -------
    ClassicalResult
        The machine, its trace, and the reason why the run ended.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.

    Notes
    -----
    Sources: the first page of ``qpsvm.classical.subgradient``.

    Examples
    --------
    >>> import qpsvm
    >>> machine = qpsvm.SoftMargin(C=1.0, intercept="penalized", average_loss=True)
    >>> result = qpsvm.classical.subgradient(machine.primal([[0.0], [2.0]], [-1, 1]), eps=1e-2)
    >>> result.reason, result.relative_gap < 1e-2
    ('gap', True)
    """
    limits = Limits(patience=patience, min_change=min_change, **run)
    return _run(problem, "subgradient", bias, lambda _: repeat(slice(None)), rate, average, limits)


@textbook_method
def stochastic_subgradient(
    problem: SVMProblem,
    *,
    batch_size: int = 32,
    rate: float | None = None,
    average: Average = "linear",
    bias: Bias = "separate",
    seed: int = 0,
    patience: int | None = None,
    min_change: float = 1e-3,
    **run: Unpack[RunOptions],
) -> ClassicalResult:
    r"""Minimise the primal hinge objective by stochastic sub-gradient steps on mini-batches.

    .. math::

        w \gets w - \eta_t \Bigl( w - \tfrac{N}{\lvert B \rvert} \sum_{i \in B} C_i s_i x_i [s_i
        f(x_i) < 1] \Bigr)

    Parameters
    ----------
    problem
        As for ``subgradient``.
    batch_size : int
        :math:`\lvert B \rvert`, at most N; the samples are shuffled anew for every pass, whose last
        batch may be smaller.
    rate, average, bias
        As for ``subgradient``.
    seed : int
        Of the order of the samples.
    patience, min_change
        As for ``subgradient``.
    eps, max_seconds, max_steps, verbose, settings
        As for ``dual_ascent``.

    Returns
    -------
    ClassicalResult
        The machine, its trace, and the reason why the run ended.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.

    Notes
    -----
    Sources: the first page of ``qpsvm.classical.subgradient``.

    Examples
    --------
    >>> import qpsvm
    >>> machine = qpsvm.SoftMargin(C=1.0, intercept="penalized", average_loss=True)
    >>> problem = machine.primal([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.stochastic_subgradient(problem, batch_size=1, max_steps=100).steps
    100
    """
    limits = Limits(patience=patience, min_change=min_change, **run)
    drawn = partial(batches, size=batch_size, seed=seed)
    return _run(problem, "stochastic_subgradient", bias, drawn, rate, average, limits)


@textbook_method
def pegasos(
    problem: SVMProblem,
    *,
    batch_size: int = 1,
    average: Average = "none",
    bias: Bias = "separate",
    seed: int = 0,
    patience: int | None = None,
    min_change: float = 1e-3,
    **run: Unpack[RunOptions],
) -> ClassicalResult:
    r"""Pegasos: stochastic sub-gradient descent with steps 1/t, and a ball that holds the optimum.

    .. math::

        w \gets (1 - \tfrac{1}{t}) w + \tfrac{1}{t} \tfrac{N}{\lvert B \rvert} \sum_{i \in B} C_i
        s_i x_i [s_i f(x_i) < 1], \quad w \gets \min(1, R / \lVert w \rVert) w

    Parameters
    ----------
    problem, batch_size, average, bias, seed, patience, min_change
        As for ``stochastic_subgradient``.
    eps, max_seconds, max_steps, verbose, settings
        As for ``dual_ascent``.

    Returns
    -------
    ClassicalResult
        The machine, its trace, and the reason why the run ended.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.

    Notes
    -----
    Source: Shalev-Shwartz et al. (2011), figure 2 with the optional projection; :math:`R^2 = \sum
    C_i`. The paper has no bias; ``bias="first"`` is its section 6, "incorporating a bias term".

    Examples
    --------
    >>> import qpsvm
    >>> machine = qpsvm.SoftMargin(C=1.0, intercept="none", average_loss=True)
    >>> problem = machine.primal([[-1.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.pegasos(problem, max_steps=1000).relative_gap < 0.1
    True
    """
    limits = Limits(patience=patience, min_change=min_change, **run)
    drawn = partial(batches, size=batch_size, seed=seed)
    return _run(problem, "pegasos", bias, drawn, None, average, limits)


def _run(
    problem: SVMProblem,
    name: str,
    bias: Bias,
    drawn: Callable[[int], Iterator[Index | slice]],
    rate: float | None,
    average: Average,
    limits: Limits,
) -> ClassicalResult:
    require_problem(problem, name, (SoftMargin,), loss="hinge", kernel="linear")
    require_choice(bias, ("separate", "first"), "bias")
    if bias == "first" and problem.model.intercept != "penalized":
        raise InvalidParameterError(
            "bias is 'first', which puts the bias into the norm; this problem has the intercept "
            f"{problem.model.intercept!r}: pass bias='separate', or build it with "
            "intercept='penalized'."
        )
    if rate is not None:
        require_above(rate, 0.0, "rate")
    task = HingeTask(problem)
    radius = math.sqrt(float(np.sum(task.upper_bounds))) if name == "pegasos" else math.inf
    steps = averaged(descent(task, drawn(task.n), rate, radius), average)
    return Recorder(problem, name, task.machine, task.start, limits).run(following(steps))


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
        self.signs, self.upper_bounds = model.conditions.signs, model.conditions.upper
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
        upper_bounds = task.upper_bounds[rows]
        weight = task.n / len(upper_bounds)  # the batch stands for all samples
        violated = task.margins(at, rows) < 1.0
        eta = 1.0 / t if rate is None else rate
        at = task.stepped(at, np.where(violated, weight * upper_bounds, 0.0), eta, rows)
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


@textbook_method
def perceptron(
    problem: SVMProblem,
    *,
    rate: float = 1.0,
    **run: Unpack[RunOptions],
) -> ClassicalResult:
    r"""Separate two classes by gradient descent on the perceptron criterion.

    .. math::

        w \gets w + \tfrac{\eta}{N} \sum_{i : s_i f(x_i) \le 0} s_i x_i

    Parameters
    ----------
    problem : SVMProblem
        Of ``HardMargin`` with the linear kernel, in either form.
    rate : float
        eta. It scales w and b, and changes no label.
    eps, max_seconds, max_steps, verbose, settings
        As for ``dual_ascent``.

    Returns
    -------
    ClassicalResult
        ``reason`` is "end" where the classes are separated. The gap is that of the line, scaled so
        that its nearest sample has the margin 1, from the widest one.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.

    Notes
    -----
    Classes that cannot be separated leave it running to its limit: there is no other sign. Source:
    the first page of ``qpsvm.classical.subgradient``.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.HardMargin().dual([[0.0], [1.0], [9.0]], [-1, -1, 1])
    >>> result = qpsvm.classical.perceptron(problem)
    >>> result.reason, result.relative_gap > 0.1
    ('end', True)
    """
    require_problem(problem, "perceptron", (HardMargin,), kernel="linear")
    require_above(rate, 0.0, "rate")
    task = HingeTask(problem)

    def machine(at: Vector) -> SVMSolution:
        nearest = float(np.min(task.margins(at)))
        # the same line for every positive multiple: the one of margin 1 is the cheapest
        return task.machine(at / nearest if nearest > 0.0 else at)

    recorder = Recorder(problem, "perceptron", machine, task.start, Limits(**run))
    return recorder.run(following(_updates(task, rate)))


def _updates(task: HingeTask, rate: float) -> Iterator[Vector]:
    """Add ``eta/N s_i x_i`` for every misclassified sample, until there is none."""
    at = task.start
    while (wrong := task.margins(at) <= 0.0).any():
        at = task.stepped(at, np.where(wrong, 1.0 / len(wrong), 0.0), rate, decay=0.0)
        yield at
