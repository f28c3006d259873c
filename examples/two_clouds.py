r"""
The optimal separating hyperplane of two clouds
===============================================

Two Gaussian clouds that can be separated, and the line between them whose margin is widest:

.. math:: \min_{w, b} \tfrac12 \|w\|^2 \quad \text{subject to} \quad s_i (w^\top x_i + b) \ge 1 .

It is a quadratic program, so any solver of such programs finds it: first SciPy's SLSQP, a general
method for small problems, then every backend that is installed.
"""

import matplotlib.pyplot as plt
import numpy as np

import qpsvm
from qpsvm.exceptions import UnsupportedProgramError

rng = np.random.default_rng(0)
X = np.vstack([rng.normal([-2.0, -1.0], 0.8, (30, 2)), rng.normal([2.0, 1.0], 0.8, (30, 2))])
y = np.repeat([-1, 1], 30)

# %%
# The dual program has one variable per sample. Samples with a positive one are the support vectors:
# they lie on the margins and determine the line; all other samples could be omitted.

problem = qpsvm.HardMargin().dual(X, y)
solution = qpsvm.solve(problem, backend="slsqp")
w, b = solution.coef, solution.intercept
print(f"w = {w.round(4)}, b = {b:.4f}, width of the margin 2 / |w| = {2 / np.linalg.norm(w):.4f}")
print(f"support vectors: rows {solution.support} with alpha {solution.alpha[solution.support]}")

# %%
# The line ``w'x + b = 0``, its margins at -1 and +1, and the support vectors on them.

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for sign, colour, marker in ((-1, "#0072b2", "o"), (1, "#d55e00", "^")):
    axes.scatter(*X[y == sign].T, c=colour, marker=marker, s=22, label=f"class {sign:+d}")
axes.scatter(*X[solution.support].T, s=130, facecolors="none", edgecolors="k", label="support")
across = np.array([X[:, 1].min() - 0.5, X[:, 1].max() + 0.5])
for level, style in ((-1, "--"), (0, "-"), (1, "--")):
    axes.plot((level - b - w[1] * across) / w[0], across, "k" + style, linewidth=1)
axes.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(X[:, 0].min() - 0.5, X[:, 0].max() + 0.5))
axes.legend(loc="upper left")

# %%
# Every backend solves the same program, and the same verifier checks every answer.

machines = {"slsqp": solution}
for backend in qpsvm.backends.available():
    if backend.installed and backend.name != "slsqp":
        try:
            machines[backend.name] = qpsvm.solve(problem, backend.name)
        except UnsupportedProgramError as reason:
            print(f"{backend.name:20} {str(reason).split(';')[0].split('.')[0]}")
for name, machine in machines.items():
    gap = qpsvm.certify(problem, machine).relative_gap
    print(f"{name:20} w = {machine.coef.round(6)}  certified relative gap {gap:.0e}")

# %%
# The claims of this page are checked when it is built: the support vectors lie on the margin, no
# sample lies inside it, and all backends agree to their last certified digits.

margins = y * solution.decision_function(X)
assert np.allclose(margins[solution.support], 1.0, atol=1e-6)
assert margins.min() > 1.0 - 1e-6
for machine in machines.values():
    assert qpsvm.verify(problem, machine).passed
    assert np.linalg.norm(machine.coef - w) <= 2 * np.sqrt(2 * 1e-8)
