"""
Is this SVC optimal? What single precision costs
================================================

LIBSVM, which is behind scikit-learn's ``SVC``, keeps kernel values in single precision: seven
digits. For a small C that is enough. The larger C is, the larger are the sums that have to cancel,
and no tolerance brings back digits that are not there.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import qpsvm
from qpsvm.plotting import CLASS_COLOURS

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)

# %%
# The certified relative gap, (primal - dual) / primal, of LIBSVM's own alpha and intercept, at its
# default tolerance and at a very small one, and of this package's machine for the same program.

PRICES, NAMES = (1.0, 100.0, 1e4), ("LIBSVM, tol=1e-3", "LIBSVM, tol=1e-10", "qpsvm")
gaps = []
print(f"{'C':>8} {NAMES[0]:>18} {NAMES[1]:>18} {NAMES[2]:>18}")
for C in PRICES:
    problem = qpsvm.SoftMargin(C=C).dual(X, y, kernel="rbf")
    row = []
    for tol in (1e-3, 1e-10):
        svc = SVC(C=C, kernel="rbf", gamma="scale", tol=tol).fit(X, y)
        alpha = np.zeros(len(X))
        alpha[svc.support_] = np.abs(svc.dual_coef_[0])
        # the classifier with LIBSVM's alpha, and with LIBSVM's own intercept
        theirs = problem.recover(qpsvm.qp.QPSolution(qpsvm.qp.Status.UNKNOWN, x=alpha))
        theirs = theirs.replace(intercept=float(svc.intercept_[0]))
        row.append(qpsvm.certify(problem, theirs).relative_gap)
    row.append(qpsvm.certify(problem, qpsvm.solve(problem)).relative_gap)
    gaps.append(row)
    print(f"{C:8g} {row[0]:18.1e} {row[1]:18.1e} {row[2]:18.1e}")

# %%
# A smaller tolerance gains digits at every C, but fewer than requested.

figure, axes = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for k, name in enumerate(NAMES):
    values = [max(row[k], 1e-16) for row in gaps]
    colour = CLASS_COLOURS[(5, 1, 0)[k]]
    axes.loglog(PRICES, values, ("o-", "^--", "s-")[k], color=colour, label=name)
axes.set(xlabel="C", ylabel="certified relative gap", ylim=(1e-16, 1.0))
axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))

# %%
# LIBSVM's gap grows with C at either tolerance, and never reaches 1e-10.

coarse, fine, exact = np.transpose(gaps)
assert np.all(np.diff(coarse) > 0.0)
assert np.all(np.diff(fine) > 0.0)
assert np.all(fine < coarse)
assert fine.min() > 1e-10
assert exact.max() <= 1e-8
