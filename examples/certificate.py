"""
A certificate, read aloud
=========================

A solver says "optimal". A certificate says how far the exact optimum can be, at most, and what is
therefore proven about every prediction. Here is one of a rough answer, sentence by sentence.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import qpsvm

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
train, test = slice(0, 400), slice(400, None)
problem = qpsvm.SoftMargin(C=10.0).dual(X[train], y[train], kernel=qpsvm.kernels.RBF(gamma=0.03))
exact = qpsvm.solve(problem)
rough = exact.replace(expansion=exact.expansion.round(3))  # three digits of each coefficient
proof = qpsvm.certify(problem, rough)

# %%
# **The gap.** The objective of any machine is an upper bound on the optimum, that of any feasible
# alpha a lower bound. Nothing else is needed, and no solver has to be trusted.

print(
    f"The exact optimum lies between {proof.dual_objective:.4f} and {proof.primal_objective:.4f}:"
)
print(f"this machine's objective is at most a share of {proof.relative_gap:.1e} above it.")

# %%
# **The weights.** The objective is strongly convex, so a small gap bounds their error.

print(f"The optimal weights are within {proof.weight_error:.3f} of these, in feature space.")

# %%
# **The predictions.** Each decision value of the exact optimum lies in a known interval. Where the
# whole interval has one sign, the label is proven.

bounds = proof.decision_bounds(X[test])
labels = proof.predict_certified(X[test])
print(f"{labels.fraction_decided:.0%} of {len(labels)} new labels are proven.")

# %%
# **The intercept and the samples**, proven as well.

low, high = proof.intercept_bounds
print(f"Every optimal intercept lies between {low:.3f} and {high:.3f}.")
print(f"Of 400 samples, {proof.screening.counts['zero']} are proven not to be support vectors.")

# %%
# Every interval, in order: grey where the label is proven, orange where it is not.

order = np.argsort(bounds.values)
figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
colours = np.where(labels.decided, "#8c8c8c", "#d55e00")[order]
axes.vlines(np.arange(len(order)), bounds.lower[order], bounds.upper[order], colors=colours)
axes.axhline(0.0, color="k", linewidth=1)
axes.set(xlabel="new samples, by decision value", ylabel="f(x) of the exact optimum")

# %%
# The proof holds: the exact machine lies within every bound and predicts every proven label.

f = exact.decision_function(X[test])
assert np.all((bounds.lower <= f) & (f <= bounds.upper))
assert np.all(exact.predict(X[test])[labels.decided] == rough.predict(X[test])[labels.decided])
assert proof.dual_objective <= qpsvm.certify(problem, exact).primal_objective
assert proof.primal_objective >= qpsvm.certify(problem, exact).dual_objective
assert low <= exact.intercept <= high
assert 0.0 < labels.fraction_decided < 1.0
