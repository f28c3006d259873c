"""
How far stochastic gradients get
================================

Two blobs that overlap, and the same soft margin by two ways: stochastic sub-gradient descent, which
looks at a few samples per step, and a quadratic program. Both predict equally well. Only one is the
optimum, and the certified gap says how far away the other has stopped.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import accuracy_score, precision_score, recall_score
from sklearn.model_selection import train_test_split

import qpsvm
from qpsvm.plotting import CLASS_COLOURS

X, y = make_blobs(600, centers=2, cluster_std=3.5, random_state=42)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=42)
mean, spread = X_train.mean(axis=0), X_train.std(axis=0)  # of the training part alone
Z_train, Z_test = (X_train - mean) / spread, (X_test - mean) / spread

# %%
# One problem. The descent stops after 2,000 steps of 32 samples, the program at its optimum.

problem = qpsvm.SoftMargin(C=1.0).primal(Z_train, y_train)
descent = qpsvm.classical.stochastic_subgradient(problem, max_steps=2000, max_seconds=None)
machines = {"SGD": descent.solution, "QP": qpsvm.solve(problem)}
gaps, scores = {}, {}
for name, machine in machines.items():
    predicted = machine.predict(Z_test)
    found = [score(y_test, predicted) for score in (accuracy_score, precision_score, recall_score)]
    scores[name], gaps[name] = found, qpsvm.certify(problem, machine).relative_gap
    print(f"{name}: accuracy {found[0]:.3f}, precision {found[1]:.3f}, recall {found[2]:.3f}")
    print(f"     w = {machine.coef.round(4)}, certified relative gap {gaps[name]:.0e}")

# %%
# The regions look alike. The third picture shows what they hide: the gap over the steps, on
# logarithmic axes. The last tenfold increase in steps gained about one digit; the program has nine.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained")
low, high = Z_train.min() - 0.3, Z_train.max() + 0.3
grid = np.meshgrid(np.linspace(low, high, 120), np.linspace(low, high, 120))
for place, (name, machine) in zip(axes, machines.items(), strict=False):
    f = machine.decision_function(np.column_stack([part.ravel() for part in grid]))
    f = f.reshape(grid[0].shape)
    place.contourf(*grid, f, [-99, 0, 99], colors=CLASS_COLOURS[:2], alpha=0.13)
    place.contour(*grid, f, [-1, 0, 1], colors="k", linestyles=["--", "-", "--"], linewidths=1)
    for label, marker in ((0, "o"), (1, "^")):
        rows = y_train == label
        place.scatter(*Z_train[rows].T, s=9, c=CLASS_COLOURS[label], marker=marker)
    place.set(title=name, xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
steps, gap = descent.trace.step[1:], descent.trace.gap[1:]
axes[2].loglog(steps, gap, "o-", markersize=3, color=CLASS_COLOURS[0], label="SGD")
axes[2].axhline(gaps["QP"], color=CLASS_COLOURS[5], label="QP")
axes[2].set(title="distance from the optimum", xlabel="step", ylabel="certified relative gap")
axes[2].legend(loc="center left")

# %%
# The gap is a proof, and the optimum confirms it: SGD's objective is above it by at most the gap.

proof, optimum = qpsvm.certify(problem, machines["SGD"]), qpsvm.certify(problem, machines["QP"])
excess = proof.primal_objective - optimum.primal_objective
assert 0.0 < excess <= proof.relative_gap * proof.primal_objective
assert gaps["QP"] <= 1e-8
assert 1e-5 < gaps["SGD"] < 0.1
assert 0.02 < gap[-1] / gap[np.searchsorted(steps, 200)] < 0.5
assert np.abs(np.subtract(scores["SGD"], scores["QP"])).max() < 0.05
assert min(scores["QP"]) > 0.85
