"""
A curved boundary, and the kernel expansion that predicts
=========================================================

Two clouds that no line separates: one lies around the other. A kernel puts a function of the
distance in place of the scalar product, and the same quadratic program finds a curved boundary.
"""

import matplotlib.pyplot as plt
import numpy as np

import qpsvm

rng = np.random.default_rng(1)
inner = rng.normal(0.0, 0.7, (50, 2))
angle = rng.uniform(0.0, 2.0 * np.pi, 50)
outer = 2.2 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0.0, 0.45, (50, 2))
X, y = np.vstack([inner, outer]), np.repeat([-1, 1], 50)

# %%
# The dual of the soft margin. Its Hessian is :math:`s_i s_j k(x_i, x_j)` with
# :math:`k(x, z) = \exp(-\gamma |x - z|^2)`, and every :math:`\alpha_i` is at most :math:`C`.

C, gamma = 10.0, 0.5
problem = qpsvm.SoftMargin(C=C).dual(X, y, kernel=qpsvm.kernels.RBF(gamma=gamma))
solution = qpsvm.solve(problem)
print(problem)
print(f"{solution.n_support} support vectors, {np.sum(solution.alpha > C - 1e-6)} of them at C")

# %%
# The machine predicts by the sign of its kernel expansion over the support vectors,
#
# .. math:: f(x) = \sum_i \alpha_i s_i \, k(x_i, x) + b ,
#
# which takes one line of NumPy.

low, high = X.min() - 0.4, X.max() + 0.4
grid = np.meshgrid(np.linspace(low, high, 150), np.linspace(low, high, 150))
points = np.column_stack([part.ravel() for part in grid])
squared_distances = ((points[:, None, :] - X[None, solution.support, :]) ** 2).sum(axis=2)
weights = (solution.alpha * y)[solution.support]
f = np.exp(-gamma * squared_distances) @ weights + solution.intercept

# %%
# The boundary is where f is 0, the margins are where it is -1 and +1. Support vectors are circled.

figure, axes = plt.subplots(figsize=(6, 4.6), layout="constrained")
axes.contourf(*grid, f.reshape(grid[0].shape), [-99, 0, 99], colors=["#e8f1f8", "#fbeee3"])
levels = {"levels": [-1, 0, 1], "linestyles": ["--", "-", "--"], "colors": "k", "linewidths": 1}
axes.contour(*grid, f.reshape(grid[0].shape), **levels)
for sign, colour, marker in ((-1, "#0072b2", "o"), (1, "#d55e00", "^")):
    axes.scatter(*X[y == sign].T, c=colour, marker=marker, s=22, label=f"class {sign:+d}")
axes.scatter(*X[solution.support].T, s=110, facecolors="none", edgecolors="k", label="support")
axes.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
axes.legend(loc="upper left")

# %%
# The line of NumPy is what ``decision_function`` returns, and the machine is the optimum.

assert np.allclose(f, solution.decision_function(points), atol=1e-9)
assert qpsvm.verify(problem, solution).passed
assert np.all((solution.alpha >= 0.0) & (solution.alpha <= C))
assert abs(solution.alpha @ y) < 1e-8
assert solution.score(X, y) > 0.9
