import numpy as np
from benchopt import BaseSolver
from sklearn.svm import SVC


class Solver(BaseSolver):
    """LIBSVM with the linear kernel, in scikit-learn."""

    name = "libsvm"
    requirements = ["scikit-learn"]

    def skip(self, X, y, C, intercept):
        if intercept != "free":
            return True, "LIBSVM does not penalise the intercept"
        return False, None

    def set_objective(self, X, y, C, intercept):
        self.X, self.y, self.C = X, y, C

    def run(self, tolerance):
        self.model = SVC(kernel="linear", C=self.C, tol=tolerance, cache_size=1000).fit(
            self.X, self.y
        )

    def get_result(self):
        signed = self.model.dual_coef_
        signed = signed.toarray() if hasattr(signed, "toarray") else signed
        alpha = np.zeros(len(self.y))
        alpha[self.model.support_] = np.abs(signed.ravel())
        coef = np.asarray((self.y * alpha) @ self.X).ravel()
        return {"coef": coef, "intercept": float(self.model.intercept_[0]), "alpha": alpha}
