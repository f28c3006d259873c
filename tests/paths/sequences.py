"""Law of machines along C that are found together: each is the optimum of its own problem."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np

import qpsvm
from qpsvm.paths import PathSettings, training
from qpsvm.paths.program import parametric_program
from qpsvm.paths.sequences import machines_along
from qpsvm.qp import Status
from tests import tolerances

VALUES = np.geomspace(0.01, 100.0, 12)


def shared_machines(own: training.Training, settings: PathSettings = training.DEFAULTS) -> Any:
    """Machines that share their work, or None."""
    program = parametric_program(own, 0.1, 0.9)
    return machines_along(own, program, VALUES, tolerances.ASKED, settings)


def require_optimal(own: training.Training, shared: Any) -> None:
    """Every machine passes, without a solver, and costs as much as one that was solved alone."""
    assert shared is not None
    eps = tolerances.ASKED
    with mock.patch.object(training, "solve_with", side_effect=AssertionError("a solver is asked")):
        machines = [*shared]
    assert len(machines) == len(VALUES)
    for value, machine in zip(VALUES, machines, strict=True):
        problem = own.problem(float(value))
        assert machine.status is Status.OPTIMAL
        assert qpsvm.verify(problem, machine, eps=eps).passed
        proof, alone = (
            qpsvm.certify(problem, solution) for solution in (machine, qpsvm.solve(problem))
        )
        size = max(abs(alone.primal_objective), alone.floor)
        assert abs(proof.primal_objective - alone.primal_objective) <= 2.0 * eps * size
