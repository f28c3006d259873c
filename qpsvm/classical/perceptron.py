r"""The perceptron criterion, whose minimisers separate the classes without a widest margin.

    J(w, b) = 1/N sum_i max(0, -s_i (w'x_i + b))

counts how far samples are on the wrong side. Its sub-gradient adds every misclassified sample::

    w <- w + eta/N sum { s_i x_i : s_i f(x_i) <= 0 },    b <- b + eta/N sum { s_i : the same i }

J is zero for *every* line that separates, and for w = 0 besides: nothing in it prefers a wide
margin, and the first separating line ends the descent. The hard margin minimises
:math:`\tfrac{1}{2} \lVert w \rVert^2` with :math:`s_i f(x_i) \ge 1`, which is another objective;
its certificate says how far from it this line is.

Sources: Rosenblatt, "The perceptron", *Psychological Review* 65 (1958); the criterion: Duda, Hart
and Stork, *Pattern Classification* (2001), section 5.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

import numpy as np

from qpsvm.backends.settings import require_above
from qpsvm.classical.descent import HingeTask
from qpsvm.classical.machines import require_problem
from qpsvm.classical.recording import Recorder
from qpsvm.classical.result import ClassicalResult
from qpsvm.classical.settings import Limits, RunOptions, textbook_method
from qpsvm.formulations.margin import HardMargin
from qpsvm.machines.problem import SVMProblem
from qpsvm.machines.solution import SVMSolution
from qpsvm.numerics.arrays import Vector
from qpsvm.solvers.classical.driver import following


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
    the first page of ``qpsvm.classical.perceptron``.

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
