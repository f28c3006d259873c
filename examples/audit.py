"""
Text
====
Text."""

import warnings

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

import qpsvm
from qpsvm.audits import Arrays

X, y = load_breast_cancer(return_X_y=True)
for model in (
    SVC(C=1e4),
    SVC(C=1e4, tol=1e-10),
    NuSVC(nu=0.1),
    LinearSVC(C=1.0, loss="hinge", dual=True, random_state=0),
    LinearSVC(C=1.0, dual=False, tol=1e-10),
    SGDClassifier(alpha=1e-4, random_state=0),
):
    pipeline = make_pipeline(StandardScaler(), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that an iteration limit was hit says little
        pipeline.fit(X, y)
    print(f"{model}\n    {qpsvm.audit(pipeline, X, y).verdict}")

# the first of them again, exactly
Z = StandardScaler().fit_transform(X)
formulation, kernel = qpsvm.SoftMargin(C=1e4), qpsvm.kernels.RBF("scale").resolve(Z)
exact = qpsvm.solve(formulation.dual(Z, y, kernel=kernel))
numbers = Arrays(formulation, alpha=exact.alpha, intercept=exact.intercept, kernel=kernel)
found = qpsvm.audit(numbers, Z, y)
print(f"qpsvm, C=1e4\n    {found.verdict}")
assert found.passed
