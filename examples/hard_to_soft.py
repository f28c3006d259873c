r"""
From the hard margin to the soft one
====================================

A hard margin allows no violation. The soft margin has a price C for it,

.. math:: \min_{w, b} \tfrac12 \|w\|^2 + C \sum_i \max(0,\ 1 - s_i f(x_i)) ,

and between them lies a path: for a large C the soft margin is the hard one, and as the price falls
the margin widens and more samples are inside.
"""

import matplotlib.pyplot as plt
import numpy as np

import qpsvm
from qpsvm.plotting import CLASS_COLOURS, PathLines

rng = np.random.default_rng(5)
X = np.vstack([rng.normal([-1.5, -0.6], 0.7, (30, 2)), rng.normal([1.5, 0.6], 0.7, (30, 2))])
s = np.repeat([-1, 1], 30)
hard = qpsvm.solve(qpsvm.HardMargin().dual(X, s))
print(f"hard margin: |w| = {np.linalg.norm(hard.coef):.4f}, largest alpha {hard.alpha.max():.4f}")

# %%
# The dual variables are piecewise linear in C, so the whole path is known from its corners. Every
# line is a sample: 1 is inside the margin, 0 beyond it, and between it lies on the margin. From
# C = the hard margin's largest alpha on, the machine no longer changes.

path = qpsvm.paths.svm_path(X, s, kernel="linear", C=np.geomspace(1e-3, 1e2, 60))
print(path)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.9), layout="constrained")
PathLines.from_path(path, lines=60, ax=left)
left.set(ylabel=r"$\alpha_i / C$", title="from soft to hard")
left.axvline(hard.alpha.max(), color="k", linestyle=":", linewidth=1)

for sign, colour, marker in ((-1, CLASS_COLOURS[0], "o"), (1, CLASS_COLOURS[1], "^")):
    right.scatter(*X[s == sign].T, c=colour, marker=marker, s=18)
grid = np.meshgrid(np.linspace(-4, 4, 100), np.linspace(-4.5, 3, 100))
points = np.column_stack([part.ravel() for part in grid])
for C, colour in ((0.01, CLASS_COLOURS[2]), (0.1, CLASS_COLOURS[3]), (100.0, "k")):
    f = path.solution_at(C).decision_function(points).reshape(grid[0].shape)
    right.contour(*grid, f, [-1, 0, 1], colors=[colour], linestyles=["--", "-", "--"])
    right.plot([], [], color=colour, label=f"C = {C:g}")
right.set(xlabel="$x_1$", ylabel="$x_2$", title="boundaries and margins", ylim=(-4.5, 3))
right.legend(loc="lower left")

# %%
# If the classes overlap, the path does not end in a hard margin. The error contains a proof that
# anyone can check: a point that is a weighted mean of each class, so no line separates them.

mixed = X.copy()
mixed[0] = -X[0]
try:
    qpsvm.solve(qpsvm.HardMargin().dual(mixed, s))
except qpsvm.exceptions.NotSeparableError as error:
    weights = error.weights
means = [weights[s == sign] @ mixed[s == sign] for sign in (-1, 1)]
print(f"not separable: {means[0]} and {means[1]}")

# %%
# The end of the path is the hard margin, and the width of the margin falls all the way to it.

lengths = np.array([np.linalg.norm(machine.coef) for machine in path.solutions])
assert path.is_exact
assert path.relative_gaps.max() <= 1e-8
assert np.allclose(path.solutions[-1].coef, hard.coef, atol=1e-6)
assert np.all(np.diff(lengths) > -1e-9)
before = path.solution_at(0.9 * hard.alpha.max()).coef
assert np.linalg.norm(path.solution_at(1.1 * hard.alpha.max()).coef - hard.coef) < 1e-6
assert np.linalg.norm(before - hard.coef) > 1e-3
assert min(weights) >= 0.0
assert np.allclose(means[0], means[1], atol=1e-9)
