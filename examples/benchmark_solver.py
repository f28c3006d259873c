"""A solver of one's own in the benchmark: accelerated projected gradient, here beside OSQP."""

import time

import numpy as np

from benchmarks.cells import Cell, Instance
from benchmarks.contestants.base import Answer, Contestant
from benchmarks.worker import measure
from qpsvm.qp import QPSolution, Status


class ProjectedGradient(Contestant):
    def refusal(self, task):
        qp = task.problem.qp
        return "its dual is not a box" if len(qp.b) + len(qp.h) or np.isinf(qp.ub).any() else ""

    def fit(self, task):  # timed
        qp, ends = task.formulation.dual(task.X, task.y, kernel=task.kernel).qp, time.monotonic()
        x, k, gap, v = qp.lb, 0, np.inf, np.ones(qp.n_variables)
        for _ in range(30):  # power iterations: the step is 1 over the largest eigenvalue
            v = qp.P.matvec(v / np.linalg.norm(v))
        ahead, step = x, 0.9 / np.linalg.norm(v)
        while gap > task.eps and time.monotonic() < ends + task.time_limit:
            last, x = x, np.clip(ahead - step * (qp.P.matvec(ahead) + qp.q), qp.lb, qp.ub)
            k = 0 if (ahead - x) @ (x - last) > 0 else k + 1  # begin again where it turns back
            ahead, g = x + k / (k + 3) * (x - last), qp.P.matvec(x) + qp.q
            gap = np.abs(g) @ np.where(g > 0, x - qp.lb, qp.ub - x) / abs(qp.objective(x))
        status = Status.OPTIMAL if gap <= task.eps else Status.TIME_LIMIT
        return QPSolution(status, x, [], [], np.maximum(g, 0), np.maximum(-g, 0))

    def answer(self, task, fitted):  # not timed; the gap is its own rule, eps means more than that
        return Answer(fitted.status, fitted, problem=task.problem, own_rule=True)


if __name__ == "__main__":
    for who in (__file__, "osqp"):
        row = measure(Cell(Instance("SoftMargin(C=0.1, intercept='none')", "wine"), who, 1e-6))
        print(f"{who} {row.outcome}: gap {row.gap:.0e} in {row.total_seconds:.3f} s")
