r"""
The map behind a kernel
=======================

For samples of two features the kernel :math:`k(x, z) = (1 + x^\top z)^2` is the scalar product of

.. math::

    \phi(x) = (1,\ \sqrt2\, x_1,\ \sqrt2\, x_2,\ x_1^2,\ \sqrt2\, x_1 x_2,\ x_2^2).

Writing out the six features or never computing them leads to the same program: same alpha, same
boundary. The kernel's boundary is a conic, and the weights in feature space are its coefficients.
"""

import matplotlib.pyplot as plt
import numpy as np

import qpsvm
from qpsvm.plotting import CLASS_COLOURS

rng = np.random.default_rng(3)
X = rng.normal(size=(90, 2)) * [1.4, 1.0]
s = np.where(X[:, 0] ** 2 / 2.0 + X[:, 1] ** 2 + 0.25 * rng.normal(size=90) > 1.0, 1, -1)


def phi(X):
    a, b = X.T
    root = np.sqrt(2.0)
    return np.column_stack([np.ones(len(X)), root * a, root * b, a**2, root * a * b, b**2])


kernel = qpsvm.kernels.Polynomial(degree=2, gamma=1.0, coef0=1.0)
difference = np.abs(phi(X) @ phi(X).T - kernel(X, X)).max()
print(f"largest difference of the two kernel matrices {difference:.0e}")

# %%
# The same formulation twice. The linear machine has six weights, the kernel machine 90 coefficients
# beta, most of them zero. They give the same weights: :math:`w = \sum_i \beta_i \phi(x_i)`.

formulation = qpsvm.SoftMargin(C=10.0)
explicit = qpsvm.solve(formulation.dual(phi(X), s))
implicit = qpsvm.solve(formulation.dual(X, s, kernel=kernel))
from_kernel = implicit.expansion @ phi(X)
names = ("1", "sqrt2 x1", "sqrt2 x2", "x1^2", "sqrt2 x1 x2", "x2^2")
for name, left, right in zip(names, explicit.coef, from_kernel, strict=True):
    print(f"{name:>12} {left:9.5f} {right:9.5f}")
print(f"   intercept {explicit.intercept:9.5f} {implicit.intercept:9.5f}")

# %%
# In the picture the thick line is the explicit machine's boundary, the thin one the kernel's.

figure, axes = plt.subplots(figsize=(6.5, 4.4), layout="constrained")
for sign, colour, marker in ((-1, CLASS_COLOURS[0], "o"), (1, CLASS_COLOURS[1], "^")):
    axes.scatter(*X[s == sign].T, c=colour, marker=marker, s=22, label=f"class {sign:+d}")
grid = np.meshgrid(np.linspace(-4.2, 4.2, 200), np.linspace(-2.8, 2.8, 200))
points = np.column_stack([part.ravel() for part in grid])
for values, colour, width, name in (
    (explicit.decision_function(phi(points)), CLASS_COLOURS[4], 6.0, "six features"),
    (implicit.decision_function(points), "k", 1.2, "kernel"),
):
    axes.contour(*grid, values.reshape(grid[0].shape), [0.0], colors=[colour], linewidths=width)
    axes.plot([], [], color=colour, linewidth=width, label=name)
axes.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))

# %%
assert difference < 1e-10
assert np.allclose(explicit.coef, from_kernel, atol=1e-3)
f, g = explicit.decision_function(phi(points)), implicit.decision_function(points)
assert np.abs(f - g).max() < 1e-3 * np.abs(f).max()
assert implicit.n_support < 45
assert explicit.coef[3] * explicit.coef[5] > explicit.coef[4] ** 2 / 2.0  # an ellipse
