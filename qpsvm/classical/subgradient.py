r"""Sub-gradient descent on the primal hinge objective: all samples, mini-batches, Pegasos.

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

Sources: Shalev-Shwartz, Singer, Srebro and Cotter, *Mathematical Programming* 127 (2011), figures 1
and 2; the averages: Lacoste-Julien, Schmidt and Bach, "A simpler approach to obtaining an O(1/t)
convergence rate for the projected stochastic subgradient method", arXiv:1212.2002 (2012); alpha as
an average of sub-gradients: Bach, "Duality between subgradient and conditional gradient methods",
*SIAM Journal on Optimization* 25 (2015), section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import repeat
from typing import Literal, TypeAlias, Unpack

import numpy as np

from qpsvm.backends.settings import require_above
from qpsvm.classical.descent import Average, HingeTask, averaged, batches, descent
from qpsvm.classical.machines import require_problem
from qpsvm.classical.recording import Recorder
from qpsvm.classical.result import ClassicalResult
from qpsvm.classical.settings import Limits, RunOptions, textbook_method
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.margin import SoftMargin
from qpsvm.machines.problem import SVMProblem
from qpsvm.numerics.arguments import require_choice
from qpsvm.numerics.arrays import Index
from qpsvm.solvers.classical.driver import following

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
    task = _task(problem, "subgradient", bias)
    return _recorded("subgradient", task, repeat(slice(None)), rate, average, limits)


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
    task = _task(problem, "stochastic_subgradient", bias)
    drawn = batches(task.n, batch_size, seed)
    return _recorded("stochastic_subgradient", task, drawn, rate, average, limits)


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
    task = _task(problem, "pegasos", bias)
    radius = math.sqrt(float(np.sum(task.prices)))
    drawn = batches(task.n, batch_size, seed)
    return _recorded("pegasos", task, drawn, None, average, limits, radius)


def _recorded(
    name: str,
    task: HingeTask,
    batches: Iterator[Index | slice],
    rate: float | None,
    average: Average,
    limits: Limits,
    radius: float = math.inf,
) -> ClassicalResult:
    if rate is not None:
        require_above(rate, 0.0, "rate")
    steps = averaged(descent(task, batches, rate, radius), average)
    return Recorder(task.problem, name, task.machine, task.start, limits).run(following(steps))


def _task(problem: SVMProblem, method: str, bias: Bias) -> HingeTask:
    require_problem(problem, method, (SoftMargin,), loss="hinge", kernel="linear")
    require_choice(bias, ("separate", "first"), "bias")
    if bias == "first" and problem.model.intercept != "penalized":
        raise InvalidParameterError(
            "bias is 'first', which puts the bias into the norm; this problem has the intercept "
            f"{problem.model.intercept!r}: pass bias='separate', or build it with "
            "intercept='penalized'."
        )
    return HingeTask(problem)
