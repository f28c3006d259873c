"""Is a fitted scikit-learn SVC optimal? LIBSVM keeps its kernel in float32: see what that costs."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import qpsvm

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)

print(f"{'C':>8} {'LIBSVM, tol=1e-3':>18} {'LIBSVM, tol=1e-10':>18} {'qpsvm':>18}")
for C in (1.0, 100.0, 1e4):
    problem = qpsvm.SoftMargin(C=C).dual(X, y, kernel="rbf")
    gaps = []
    for tol in (1e-3, 1e-10):
        svc = SVC(C=C, kernel="rbf", gamma="scale", tol=tol).fit(X, y)
        alpha = np.zeros(len(X))
        alpha[svc.support_] = np.abs(svc.dual_coef_[0])
        # the classifier with LIBSVM's alpha, and with LIBSVM's own intercept
        theirs = problem.recover(qpsvm.qp.QPSolution(qpsvm.qp.Status.UNKNOWN, x=alpha))
        theirs = theirs.replace(intercept=float(svc.intercept_[0]))
        gaps.append(qpsvm.certify(problem, theirs).relative_gap)
    ours = qpsvm.certify(problem, qpsvm.solve(problem)).relative_gap
    print(f"{C:8g} {gaps[0]:18.1e} {gaps[1]:18.1e} {ours:18.1e}")
print("certified relative duality gap: (primal - dual) / primal")
