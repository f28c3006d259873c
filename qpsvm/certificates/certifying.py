"""``qpsvm.certify``: compute the certificate of a solution from any source."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from functools import singledispatch
from typing import Any, TypeAlias, overload

import numpy as np

from qpsvm.certificates.gap import Certificate
from qpsvm.certificates.reduced import ReducedCertificate
from qpsvm.certificates.rigorous import enclose
from qpsvm.chunked import ChunkedCertificate, ChunkedKernelProblem, ChunkedProblem
from qpsvm.exceptions import InvalidParameterError
from qpsvm.machines.arguments import require_pair, takes_pair
from qpsvm.machines.consistency import require_same_values
from qpsvm.machines.problem import MachineProblem
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.machines.settings import MACHINES
from qpsvm.numerics.arguments import explains_calls, require_flag
from qpsvm.numerics.precision import TINY

CHUNKED = ChunkedProblem, ChunkedKernelProblem
"""Classes of the SVM problems whose samples are read chunk by chunk."""

Chunked: TypeAlias = ChunkedProblem | ChunkedKernelProblem


@overload
def certify(problem: MachineProblem, solution: Any, *, rigorous: bool = ...) -> Certificate: ...
@overload
def certify(
    problem: ReducedProblem, solution: Any, *, rigorous: bool = ...
) -> ReducedCertificate: ...
@overload
def certify(problem: Chunked, solution: Any, *, rigorous: bool = ...) -> ChunkedCertificate: ...
@takes_pair
@explains_calls
def certify(problem: Any, solution: Any, *, rigorous: bool = False) -> Any:
    r"""Bound the distance of any solution from the exact optimum of ``problem``.

    Parameters
    ----------
    problem : SVMProblem, JointProblem, ReducedProblem, ChunkedProblem or ChunkedKernelProblem
        The problem whose optimum is meant; samples in chunks are read once.
    solution : SVMSolution, JointSolution, ReducedSolution, ChunkedSolution or Expansion
        From any source; nothing it says about itself is believed. Its decision function (coef or
        expansion, and intercept) gives the upper bound, its alpha the lower one.
    rigorous : bool
        Also enclose both objectives, so that ``gap_upper`` holds in exact arithmetic
        (``docs/rounding.md``).

    Returns
    -------
    Certificate
        Of a ReducedProblem: ReducedCertificate, with one for every part; on samples in chunks:
        ChunkedCertificate.

    Raises
    ------
    InvalidDataError
        The solution belongs to another problem: other sizes, data, or kernel.
    InvalidParameterError
        Arguments of the wrong kind, a subclass of a solution among them.
    ArithmeticModeError
        ``rigorous=True`` in a process whose arithmetic is not that of IEEE 754.

    Notes
    -----
    Weak duality: Boyd and Vandenberghe, *Convex Optimization*, section 5.2.2. The bound on w: the
    objective minus :math:`\tfrac{1}{2} \lVert w \rVert^2` is convex, so it grows at least like
    :math:`\tfrac{1}{2} \lVert w - w^{*} \rVert^2`.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.SoftMargin(C=1.0).dual([[0.0], [2.0]], [-1, 1])
    >>> proof = qpsvm.certify(problem, qpsvm.solve(problem))
    >>> proof.relative_gap < 1e-8
    True
    """
    require_flag(rigorous, "rigorous")
    require_pair("certify", problem, solution, others=CHUNKED)
    return _certified(problem, solution, rigorous)


@singledispatch
def _certified(problem: Any, solution: Any, rigorous: bool) -> Any:
    """Compute the certificate of one trained machine."""
    problem.model.require_own(solution)
    require_same_values(problem.model)
    with np.errstate(all="ignore"):  # overflow becomes inf or NaN, and fails closed
        return certificate_of(problem.model, problem.model.evaluate(solution), rigorous=rigorous)


@_certified.register
def _(problem: ReducedProblem, solution: Any, rigorous: bool) -> ReducedCertificate:
    parts = problem.parts(solution)
    proofs = tuple(certify(*part, rigorous=rigorous) for part in parts)
    return ReducedCertificate(problem.names, proofs, problem.reduction, problem.data)


@_certified.register(ChunkedProblem)
@_certified.register(ChunkedKernelProblem)
def _(problem: Chunked, solution: Any, rigorous: bool) -> ChunkedCertificate:
    """Compute the certificate of a machine on samples in chunks, by one pass over them."""
    if rigorous:
        raise InvalidParameterError(
            "rigorous=True needs all samples at once; the bound for samples in chunks includes "
            "a bound on its rounding (gap_upper)."
        )
    certificate: ChunkedCertificate = problem.certified(solution)
    return certificate


def certificate_of(
    model: Any, evaluation: Any, *, rigorous: bool = False, eps: float = MACHINES.certified
) -> Certificate:
    """The certificate of an evaluated solution of this problem; see ``certify``.

    Where errors of kernel values and of sums alone keep the bound from ``eps``, the decision values
    on which it depends are evaluated with digits to spare.
    """
    evaluation = evaluation.of(copy(evaluation.solution))  # the caller may give his other fields
    with np.errstate(all="ignore"):
        found = _bounded(model, evaluation)
        scale, upper = found.objective_scale, found.excess_upper
        allowed = eps * scale
        if upper - 2.0 * found.rounding * scale <= allowed < upper:
            share = MACHINES.refined_share * allowed
            again = _bounded(model, model.refined(evaluation, share))
            if again.excess_upper / again.smallest_scale <= upper / found.smallest_scale:
                found = again
        return replace(found, enclosure=enclose(model, found.solution)) if rigorous else found


def _bounded(model: Any, evaluation: Any) -> Certificate:
    """Bound the excess: by the sum of its terms, or else by the distance of both objectives."""
    primal, dual = model.primal_objective(evaluation), model.dual_objective(evaluation)
    feasible = model.feasible_machine(evaluation)
    scale = max(abs(primal), model.objective_floor, TINY)
    spread = abs(primal - dual)
    if feasible is not None:
        highest = max(primal, feasible.objective)
        spread = float(np.maximum(spread, highest - min(primal, dual)))
    of_primal = model.rounding(evaluation, primal) * scale
    of_dual = model.dual_rounding(evaluation, primal)
    smallest = TINY
    for lower in (abs(primal) - of_primal, dual - of_dual):
        smallest = max(smallest, lower) if math.isfinite(lower) else smallest
    smallest = max(smallest, model.objective_floor)
    both = of_primal + of_dual
    both = both if both >= 0.0 else math.inf  # NaN
    upper, rounding, terms = spread + both, both, model.gap_bound(evaluation)
    if terms is not None:
        upper, rounding = terms.upper, terms.upper - terms.gap
    return Certificate(
        primal_objective=primal,
        dual_objective=dual,
        repair=model.repair_size(evaluation),
        infeasibility=model.infeasibility(evaluation),
        intercept_interval=model.optimal_intercepts(evaluation),
        rounding=(rounding if rounding >= 0.0 else math.inf) / scale,
        objective_rounding=both / scale,
        smallest_scale=min(smallest, scale),
        excess_upper=upper if upper >= 0.0 else math.inf,
        model=model,
        evaluation=evaluation,
        feasible=feasible,
    )
