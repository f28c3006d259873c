import warnings

from benchopt import BaseSolver

import qpsvm


class Solver(BaseSolver):
    """``qpsvm.solve``: any of its backends, held to the tolerance."""

    name = "qpsvm"
    requirements = ["pip::qpsvm[qpsolvers]"]

    parameters = {
        "backend, form": [
            ("qpsolvers:piqp", "primal"),
            ("qpsolvers:clarabel", "primal"),
            ("osqp", "primal"),
            ("cvxopt", "dual"),
        ]
    }
    test_config = {"backend": "cvxopt", "form": "dual"}

    def skip(self, X, y, C, intercept):
        if self.form == "dual" and X.shape[0] > 5000:
            return True, "the dual has a dense n x n Hessian"
        return False, None

    def set_objective(self, X, y, C, intercept):
        self.formulation, self.X, self.y = qpsvm.SoftMargin(C, intercept=intercept), X, y

    def run(self, tolerance):
        problem = getattr(self.formulation, self.form)(self.X, self.y)
        with warnings.catch_warnings():
            # the objective says what was reached
            warnings.simplefilter("ignore", qpsvm.exceptions.ToleranceNotReachedWarning)
            self.solution = qpsvm.solve(problem, backend=self.backend, eps=tolerance)

    def get_result(self):
        found = self.solution
        return {"coef": found.coef, "intercept": found.intercept, "alpha": found.alpha}
