"""Support vector machines with the hinge loss, judged by a certificate.

    minimize  1/2 |w|^2 (+ 1/2 b^2, "penalized") + C sum_i max(0, 1 - y_i (w'x_i + b))

A solver hands out w, b and, if it has them, the dual variables alpha. The value is the objective of
(w, b); the relative gap is ``(primal - dual) / |primal|`` with the lower bound that alpha proves,
computed here and not by the solver. Without alpha there is no proof, and the gap is infinite.
"""

from benchopt import BaseObjective
from benchopt.stopping_criterion import StoppingCriterion

from benchmarks.contestants.base import Answer, Task
from benchmarks.judge import judge
from qpsvm import SoftMargin
from qpsvm.kernels import Linear
from qpsvm.qp.solution import Status

TOLERANCES = [10.0**-k for k in range(1, 10)]


class EveryTolerance(StoppingCriterion):
    """0.1, 0.01, ..., 1e-9, or until a gap below the last of them is certified."""

    def __init__(self, strategy="tolerance", key_to_monitor="value", minimize=True):
        super().__init__(strategy, key_to_monitor, minimize)

    def init_stop_val(self):
        return TOLERANCES[0]

    def get_next_stop_val(self, stop_val):
        return TOLERANCES[TOLERANCES.index(stop_val) + 1]

    def check_convergence(self, objective_list):
        last = objective_list[-1]
        proven = last["objective_relative_gap"] <= TOLERANCES[-1]
        done = len(objective_list) / len(TOLERANCES)
        return proven or done >= 1.0, min(done, 1.0)


class Objective(BaseObjective):
    name = "Hinge loss with certified gap"
    min_benchopt_version = "1.6"
    requirements = ["pip::qpsvm"]
    sampling_strategy = "tolerance"
    stopping_criterion = EveryTolerance()

    parameters = {"C": [0.01, 1.0, 100.0], "intercept": ["free", "penalized"]}
    test_config = {"C": 1.0, "intercept": "free"}

    def set_data(self, X, y):
        self.X, self.y = X, y

    def get_objective(self):
        return {"X": self.X, "y": self.y, "C": self.C, "intercept": self.intercept}

    def evaluate_result(self, coef, intercept, alpha=None):
        formulation = SoftMargin(self.C, intercept=self.intercept)
        task = Task(formulation, self.X, self.y, Linear(), eps=1e-8)
        answer = Answer(Status.UNKNOWN, alpha=alpha, coef=coef, intercept=intercept)
        judged = judge(task, answer)
        return {"value": judged.primal, "dual": judged.dual, "relative_gap": judged.gap}

    def get_one_result(self):
        n, d = self.X.shape
        return {"coef": [0.0] * d, "intercept": 0.0, "alpha": [0.0] * n}
