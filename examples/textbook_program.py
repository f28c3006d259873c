r"""
From the Lagrangian to six matrices
===================================

The soft margin :math:`\min \tfrac12 w^\top w + C \sum_i \xi_i` subject to
:math:`s_i (w^\top x_i + b) \ge 1 - \xi_i`, :math:`\xi_i \ge 0` has the Lagrangian

.. math::

    L = \tfrac12 w^\top w + C \sum_i \xi_i
        + \sum_i \alpha_i \bigl(1 - \xi_i - s_i (w^\top x_i + b)\bigr) - \sum_i \mu_i \xi_i .

Its gradient vanishes where :math:`w = \sum_i \alpha_i s_i x_i`, :math:`\sum_i \alpha_i s_i = 0`
and :math:`\alpha_i + \mu_i = C`. Put back into L, only alpha is left: the dual, a quadratic program
in the form that solvers take, :math:`\min \tfrac12 x^\top P x + q^\top x` subject to
:math:`G x \le h`, :math:`A x = b`.
"""

import matplotlib.pyplot as plt
import numpy as np
from cvxopt import matrix, solvers

import qpsvm

X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0], [3.0, 3.0]])
s = np.array([-1.0, -1.0, 1.0, 1.0])
C = 10.0

# %%
# By hand: :math:`P_{ij} = s_i s_j x_i^\top x_j` and :math:`q = -1` from L, the box
# :math:`0 \le \alpha \le C` as rows of G and h, and the equality as A and b.

n = len(s)
P, q = np.outer(s, s) * (X @ X.T), -np.ones(n)
G, h = np.vstack([-np.eye(n), np.eye(n)]), np.concatenate([np.zeros(n), np.full(n, C)])
A, b = s[None, :], np.zeros(1)
for name, value in zip("PqGhAb", (P, q, G, h, A, b), strict=True):
    print(f"{name} =\n{value}")

figure, axes = plt.subplots(1, 6, figsize=(7, 2.6), width_ratios=[4, 1, 4, 1, 4, 1])
columns = {"P": P, "q": q[:, None], "G": G, "h": h[:, None], "A": A, "b": b[:, None]}
for place, (name, value) in zip(axes, columns.items(), strict=True):
    place.matshow(value, cmap="RdBu", vmin=-18, vmax=18)
    place.set(xlabel=f"${name}$", xticks=[], yticks=[])

# %%
# ``canonical`` builds the same six matrices.

problem = qpsvm.SoftMargin(C=C).dual(X, s)
six = problem.canonical("dense")
print(problem)

# %%
# CVXOPT solves them directly, without qpsvm. Its multiplier of ``Ax = b`` is the
# intercept, and the stationarity of L gives the weights.

raw = solvers.qp(*map(matrix, six), options={"show_progress": False})
alpha = np.array(raw["x"]).ravel()
w, intercept = (alpha * s) @ X, raw["y"][0]
print(f"alpha = {alpha.round(6)}, w = {w.round(6)}, b = {intercept:.6f}")

# %%
# ``from_canonical`` turns the raw answer into a machine, and the verifier checks it.

by_hand = problem.from_canonical(raw)
print(qpsvm.verify(problem, by_hand, eps=1e-6))

# %%
# The matrices are equal to the last bit, and the machines to the accuracy of CVXOPT.

for ours, theirs in zip((P, q, G, h, A, b), six, strict=True):
    assert np.array_equal(ours, theirs)
exact = qpsvm.solve(problem)
assert np.allclose(w, exact.coef, atol=1e-5)
assert np.isclose(intercept, exact.intercept, atol=1e-5)
assert qpsvm.verify(problem, by_hand, eps=1e-6).passed
assert qpsvm.verify(problem, exact).passed
