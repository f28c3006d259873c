"""
Iris by four machines
=====================

Two species of iris in the plane of petal length and width, by four machines: a line by LIBLINEAR, a
curve by LIBSVM, a line by stochastic gradients, and the exact line of this package. The same C
everywhere. Lines that look the same have different coefficients, and a gap says which to trust.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC

import qpsvm
from qpsvm.plotting import CLASS_COLOURS

X, y = load_iris(return_X_y=True)
X, y = scale(X[50:, 2:]), y[50:]  # versicolor and virginica: they overlap
C = 1.0
MODELS = {
    "LinearSVC": LinearSVC(C=C, loss="hinge", dual=True, max_iter=100_000, random_state=0),
    "SVC, RBF": SVC(C=C, kernel="rbf"),
    "SGDClassifier": SGDClassifier(alpha=1.0 / (C * len(X)), random_state=0),
    "qpsvm": qpsvm.estimators.SVC(C=C, kernel="linear"),
}

# %%
# LIBLINEAR includes the intercept in the norm: a different program, whose optimum happens to be
# close here. An audit compares each machine with the program that its own library solves.

gaps = {}
for name, model in MODELS.items():
    model.fit(X, y)
    if name == "qpsvm":
        gaps[name] = model.certificate_.relative_gap
    else:
        gaps[name] = qpsvm.audit(model, X, y).worst.relative_gap
    line = "no line" if "RBF" in name else f"w = {np.ravel(model.coef_).round(4)}"
    print(f"{name:14} accuracy {model.score(X, y):.2f}  gap {gaps[name]:.0e}  ", end="")
    print(f"{line}, b = {model.intercept_[0]:.4f}")

# %%
# All boundaries in one picture.

figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
for label, colour, marker in ((1, CLASS_COLOURS[0], "o"), (2, CLASS_COLOURS[1], "^")):
    name = ("versicolor", "virginica")[label - 1]
    axes.scatter(*X[y == label].T, s=20, c=colour, marker=marker, alpha=0.6, label=name)
low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
grid = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
points = np.column_stack([part.ravel() for part in grid])
green, pink, red = (CLASS_COLOURS[k] for k in (2, 3, 5))
styles = ((green, "-", 5.0), (pink, "-.", 2.0), (red, ":", 2.0), ("k", "-", 1.0))
for (name, model), (colour, dashes, width) in zip(MODELS.items(), styles, strict=True):
    f = model.decision_function(points).reshape(grid[0].shape)
    axes.contour(*grid, f, [0.0], colors=[colour], linestyles=[dashes], linewidths=[width])
    axes.plot([], [], color=colour, linestyle=dashes, linewidth=width, label=name)
axes.set(xlabel="petal length, standardised", ylabel="petal width, standardised")
axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))

# %%
# Only the exact machine is certified to 1e-8, whatever the accuracy of the others on the samples.

accuracies = [model.score(X, y) for model in MODELS.values()]
assert max(accuracies) - min(accuracies) <= 0.05
assert gaps["qpsvm"] <= 1e-8
assert all(gap > 1e-8 for name, gap in gaps.items() if name != "qpsvm")
assert gaps["SGDClassifier"] == max(gaps.values())
exact, rough = (np.ravel(MODELS[name].coef_) for name in ("qpsvm", "SGDClassifier"))
assert np.linalg.norm(exact - rough) > 0.01 * np.linalg.norm(exact)
