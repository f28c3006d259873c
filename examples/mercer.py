r"""
Mercer's condition, and a kernel that breaks it
===============================================

A symmetric function is a scalar product in some space exactly if every matrix of its values has no
negative eigenvalue (Mercer's condition). The Gaussian kernel satisfies it. The "sigmoid kernel"
:math:`\tanh(\gamma x^\top z + r)` of many libraries does not: the dual is then not convex, a solver
may stop far from the best point, and no duality gap will reveal it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import qpsvm
from qpsvm.exceptions import IndefiniteKernelError
from qpsvm.plotting import CLASS_COLOURS

X, y = load_breast_cancer(return_X_y=True)
X, X_new, y, y_new = scale(X)[:200], scale(X)[200:], y[:200], y[200:]
KERNELS = {
    "Gaussian": qpsvm.kernels.RBF(gamma=0.03),
    "tanh": qpsvm.kernels.Sigmoid(gamma=0.03, coef0=-1.0),
}
spectra = {name: np.linalg.eigvalsh(kernel(X, X)) for name, kernel in KERNELS.items()}
for name, values in spectra.items():
    print(f"{name:9} eigenvalues from {values[0]:.3g} to {values[-1]:.3g}")

# %%
# A negative eigenvalue is a direction v with v'Kv < 0: a "squared length" below zero. Along such a
# direction the dual's Hessian bends the wrong way.

K = KERNELS["tanh"](X, X)
v = np.linalg.eigh(K)[1][:, 0]
print(f"v'Kv = {v @ K @ v:.3f} for a vector of length {np.linalg.norm(v):.3f}")

# %%
# qpsvm refuses such a matrix, unless it is told which repair to make: negative eigenvalues to zero
# ("clip"), to their absolute values ("flip"), or all of them moved up ("shift"). Each is a convex
# program with a certificate, of the repaired kernel. The repairs are different machines.

scores, gaps = {}, {}
for policy in ("error", "clip", "flip", "shift"):
    try:
        problem = qpsvm.SoftMargin().dual(X, y, kernel=KERNELS["tanh"], indefinite=policy)
    except IndefiniteKernelError as error:
        print(f"error: {str(error).split(';')[0].split('. ')[0]}")
        continue
    machine = qpsvm.solve(problem)
    scores[policy] = machine.score(X_new, y_new)
    gaps[policy] = qpsvm.certify(problem, machine).relative_gap
    changed = problem.kernel_repair.relative_change
    print(f"{policy}: K changed by {changed:.2f} |K|, gap {gaps[policy]:.0e}, ", end="")
    print(f"right about {scores[policy]:.1%} of new samples")

# %%
# The eigenvalues by rank, with a linear scale around zero. Gaussian ones stay above it.

figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for (name, values), colour, style in zip(spectra.items(), CLASS_COLOURS, ("-", "--"), strict=False):
    axes.plot(np.arange(1, len(X) + 1), values[::-1], style, color=colour, linewidth=2, label=name)
axes.axhline(0.0, color="k", linewidth=1)
axes.set(xlabel="rank", ylabel="eigenvalue of K")
axes.set_yscale("symlog", linthresh=0.1)
axes.legend()

# %%
assert spectra["Gaussian"][0] > 0.0
assert v @ K @ v < -1.0
assert len(scores) == 3  # the unrepaired one was refused
assert max(gaps.values()) <= 1e-8
assert max(scores.values()) - min(scores.values()) > 0.005
