"""Gradient ascent on the dual program, projected onto its constraints or unconstrained."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import numpy as np

from qpsvm.backends.settings import require_above
from qpsvm.classical.dual_methods import require_dual, traced
from qpsvm.classical.machines import machine_from_alpha
from qpsvm.classical.recording import Recorder
from qpsvm.classical.result import ClassicalResult
from qpsvm.classical.settings import Limits, RunOptions, textbook_method
from qpsvm.exceptions import InvalidParameterError
from qpsvm.formulations.margin import HardMargin, SoftMargin
from qpsvm.machines.problem import SVMProblem
from qpsvm.numerics.arguments import require_flag
from qpsvm.solvers.classical.driver import following
from qpsvm.solvers.classical.dual_ascent import unconstrained
from qpsvm.solvers.classical.program import ClassicalSettings, DualProgram


@textbook_method
def dual_ascent(
    problem: SVMProblem,
    *,
    constrained: bool = True,
    rate: float | None = None,
    **run: Unpack[RunOptions],
) -> ClassicalResult:
    """Maximise the dual objective by gradient steps, each projected onto the constraints.

    ``alpha <- proj(alpha + eta (1 - H alpha)),   H = ss' o K``

    Parameters
    ----------
    problem : SVMProblem
        A dual program with bounds and at most one equality row.
    constrained : bool
        Project onto ``0 <= alpha <= C`` and ``s'alpha = 0``, both exactly. Without it alpha leaves
        both, and its value is no bound on anything: the trace has an infinite gap.
    rate : float, optional
        eta; ``1 / L`` with an estimate of the largest eigenvalue L of H if None. Above ``2 / L``
        the ascent diverges.
    eps : float
        The certified relative gap to stop at, between 0 and 1.
    max_seconds : float, optional
        Seconds of the method, certificates not counted; None for no limit.
    max_steps : int, optional
        Steps of the method; None for no limit.
    verbose : bool
        Print a line for every checkpoint.
    settings : TraceSettings
        When the machine is certified, and by which clock the method is timed.

    Returns
    -------
    ClassicalResult
        The machine, its trace, and the reason why the run ended.

    Raises
    ------
    InvalidParameterError
        An argument outside its domain, or a problem of another kind.
    UnsupportedProgramError
        A program with other rows.

    Notes
    -----
    Source: ``qpsvm.solvers.classical.dual_ascent``. The machine has weights from support vectors
    and the intercept averaged over free ones (``machine_from_alpha``).

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=10.0).dual([[0.0], [2.0]], [-1, 1])
    >>> qpsvm.classical.dual_ascent(problem).relative_gap < 1e-6
    True
    >>> qpsvm.classical.dual_ascent(problem, constrained=False, max_steps=3).relative_gap
    inf
    """
    require_flag(constrained, "constrained")
    if rate is not None:
        require_above(rate, 0.0, "rate")
    require_dual(problem, "dual_ascent")
    is_classifier = isinstance(problem.formulation, SoftMargin | HardMargin)
    by_hand = is_classifier and problem.model.constraints is None
    machine = partial(machine_from_alpha, problem) if by_hand else None
    own = ClassicalSettings(rate=rate or 0.0)
    if constrained:
        return traced(problem, "dual-ascent", own, machine, **run)
    if machine is None:
        raise InvalidParameterError(
            "constrained is False, which is for SoftMargin and HardMargin without constraints, got "
            f"{problem.family}; pass constrained=True."
        )
    name = "dual-ascent, unconstrained"
    dual = DualProgram(problem.qp, name)
    start = dual.project(np.zeros(len(dual.q)))
    recorder = Recorder(problem, name, machine, start, Limits(**run), as_it_is=True)
    return recorder.run(following(unconstrained(dual, start, own)))
