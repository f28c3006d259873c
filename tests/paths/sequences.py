"""Law of machines along C that are found together: each is the optimum of its own problem."""

from __future__ import annotations

from typing import Any

import numpy as np

import qpsvm
from qpsvm.qp import Status
from tests import tolerances

VALUES = np.geomspace(0.01, 100.0, 12)


def require_optimal(training: Any, shared: Any) -> None:
    """Every machine passes, without a solver, and costs as much as one that was solved alone."""
    assert shared is not None
    eps = tolerances.ASKED
    machines = [*shared.machines(VALUES, eps)]
    assert len(machines) == len(VALUES)
    for value, machine in zip(VALUES, machines, strict=True):
        problem = training.problem(float(value))
        assert machine.status is Status.OPTIMAL
        assert machine.qp.statistics.backend == ""  # no solver was asked
        assert qpsvm.verify(problem, machine, eps=eps).passed
        own, alone = (
            qpsvm.certify(problem, solution) for solution in (machine, qpsvm.solve(problem))
        )
        size = max(abs(alone.primal_objective), alone.floor)
        assert abs(own.primal_objective - alone.primal_objective) <= 2.0 * eps * size
