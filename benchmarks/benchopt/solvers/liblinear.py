import warnings

from benchopt import BaseSolver
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC


class Solver(BaseSolver):
    """LIBLINEAR's dual coordinate descent, in scikit-learn; it keeps its multipliers to itself."""

    name = "liblinear"
    requirements = ["scikit-learn"]

    parameters = {"max_epochs": [100000]}
    test_config = {"objective": {"C": 1.0, "intercept": "penalized"}}

    def skip(self, X, y, C, intercept):
        if intercept != "penalized":
            return True, "LIBLINEAR penalises the intercept"
        return False, None

    def set_objective(self, X, y, C, intercept):
        self.X, self.y, self.C = X, y, C

    def run(self, tolerance):
        self.model = LinearSVC(
            loss="hinge",
            C=self.C,
            tol=tolerance,
            max_iter=self.max_epochs,
            random_state=0,
        )
        with warnings.catch_warnings():
            # the objective says what was reached
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model.fit(self.X, self.y)

    def get_result(self):
        return {"coef": self.model.coef_.ravel(), "intercept": float(self.model.intercept_[0])}
