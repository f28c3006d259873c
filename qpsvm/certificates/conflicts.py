"""Names of the user's constraints that contradict each other or the samples.

Farkas multipliers of an infeasible program say it: rows with a positive multiplier, added up, ask
for the impossible. From the primal program they are its multipliers, from the dual program (whose
objective falls without end) its direction.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qpsvm.constraints.conflicts import NEGLIGIBLE, conflicting
from qpsvm.exceptions import ConflictingConstraintsError
from qpsvm.machines.primal_program import PrimalRecovery, primal_program
from qpsvm.machines.problem import SVMProblem
from qpsvm.qp.solution import QPSolution


def conflict(problem: SVMProblem, evidence: QPSolution) -> ConflictingConstraintsError | None:
    """Build the error that names contradicting constraints; None if constraints are not the cause.

    Parameters
    ----------
    problem : SVMProblem
        The problem without an optimum.
    evidence : QPSolution
        Verified evidence that the problem has no optimum.

    Returns
    -------
    ConflictingConstraintsError or None
        To be raised by the caller; None where the samples contradict each other by themselves.

    Examples
    --------
    >>> import qpsvm
    >>> from qpsvm.constraints import LinearConstraints
    >>> rows = LinearConstraints(G=[[1.0], [-1.0]], h=[1.0, -2.0])  # w <= 1 and w >= 2
    >>> problem = qpsvm.SoftMargin().primal([[0.0], [2.0]], [0, 1], constraints=rows)
    >>> try:
    ...     qpsvm.solve(problem)
    ... except qpsvm.exceptions.ConflictingConstraintsError as error:
    ...     evidence = error.certificate.evidence
    >>> sorted(conflict(problem, evidence).rows)
    ['G[0]', 'G[1]']
    """
    constraints = problem.model.constraints
    if constraints is None:
        return None
    solution = problem.recover(evidence)
    m = len(constraints.h)
    multipliers = np.nan_to_num(solution.constraint_multipliers)
    rows = conflicting(constraints, np.maximum(multipliers[:m], 0.0), multipliers[m:])
    if not rows:
        return None  # the samples contradict each other, without any help
    hard = problem.model.conditions.is_hard
    alpha = np.abs(np.where(hard, np.nan_to_num(solution.alpha), 0.0))
    # shares, whatever the units of samples and rows are
    of_samples = alpha * (abs(problem.model.conditions.rows @ problem.data.X).sum(axis=1) + 1.0)
    sizes = np.asarray(abs(constraints.rows).sum(axis=1)).ravel() + np.abs(constraints.right)
    of_rows = np.abs(multipliers) * sizes
    largest = max(float(np.max(of_rows)), float(np.max(of_samples)))
    if float(np.max(of_rows)) <= NEGLIGIBLE * largest:
        return None
    involved = int(np.count_nonzero(of_samples > NEGLIGIBLE * largest))
    with_samples = f" together with the margins of {involved} samples" if involved else ""
    shown = ", ".join(rows[:8]) + (f" and {len(rows) - 8} more" if len(rows) > 8 else "")
    return ConflictingConstraintsError(
        f"The constraints contradict each other: no (w, b) satisfies {shown}{with_samples}. Relax "
        "or drop one of them.",
        tuple(rows),
    )


def without_constraints(problem: SVMProblem) -> SVMProblem:
    """Build the primal program of the same family and data, without constraints on (w, b).

    Parameters
    ----------
    problem : SVMProblem
        A problem with constraints, in either form.

    Returns
    -------
    SVMProblem
        Its primal form without them.

    Examples
    --------
    >>> import qpsvm
    >>> from qpsvm.constraints import nonnegative
    >>> problem = qpsvm.SoftMargin().dual([[0.0], [2.0]], [0, 1], constraints=nonnegative(0))
    >>> free = without_constraints(problem)
    >>> free.form, free.model.constraints
    ('primal', None)
    """
    model = replace(problem.model, constraints=None)
    program, recovery = primal_program(model), PrimalRecovery(model)
    return SVMProblem(program, problem.formulation, "primal", model, recovery)
