"""
Auditing models of scikit-learn
===============================

A fitted model is a claim: these numbers are the optimum of that program. ``qpsvm.audit`` reads the
numbers, builds the program that the library solved (its own intercept, its own scale of C), and
bounds the distance from the optimum. The library's statements are not used.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

import qpsvm
from qpsvm.audits import Arrays

X, y = load_breast_cancer(return_X_y=True)
MODELS = {
    "SVC": SVC(C=1e4),
    "SVC, tol=1e-10": SVC(C=1e4, tol=1e-10),
    "NuSVC": NuSVC(nu=0.1),
    "LinearSVC, hinge": LinearSVC(C=1.0, loss="hinge", dual=True, random_state=0),
    "LinearSVC, primal": LinearSVC(C=1.0, dual=False, tol=1e-10),
    "SGDClassifier": SGDClassifier(alpha=1e-4, random_state=0),
}
found = {}
for name, model in MODELS.items():
    pipeline = make_pipeline(StandardScaler(), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that an iteration limit was hit says little
        pipeline.fit(X, y)
    found[name] = qpsvm.audit(pipeline, X, y)
    print(f"{model}\n    {found[name].verdict}")

# %%
# LIBSVM, the solver inside ``SVC``, stores kernel values in single precision: with a tolerance of
# 1e-10 it does not reach 1e-10. The same program, solved exactly, passes the same audit.

Z = StandardScaler().fit_transform(X)
formulation, kernel = qpsvm.SoftMargin(C=1e4), qpsvm.kernels.RBF("scale").resolve(Z)
exact = qpsvm.solve(formulation.dual(Z, y, kernel=kernel))
numbers = Arrays(formulation, alpha=exact.alpha, intercept=exact.intercept, kernel=kernel)
found["qpsvm"] = qpsvm.audit(numbers, Z, y)
print(f"qpsvm, C=1e4\n    {found['qpsvm'].verdict}")

# %%
# The certified relative gap of every model; the line is the requested accuracy.

figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
gaps = [audit.worst.relative_gap for audit in found.values()]
axes.barh(list(found), gaps, color=["#009e73" if a.passed else "#d55e00" for a in found.values()])
axes.axvline(1e-8, color="k", linewidth=1)
axes.set(xscale="log", xlim=(1e-14, 10), xlabel="certified relative gap")
axes.invert_yaxis()

# %%
assert found["qpsvm"].passed
assert found["SVC"].worst.relative_gap > 1e-3
assert 1e-8 < found["SVC, tol=1e-10"].worst.relative_gap < found["SVC"].worst.relative_gap
