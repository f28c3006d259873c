"""
Regression, quantile bands and novelty
======================================

The same kind of program, other conditions. A tube around the targets is a regression; deviations
with unequal prices above and below give quantiles; no targets at all, only the request to hold most
of the samples, tells the usual from the new.
"""

import matplotlib.pyplot as plt
import numpy as np

import qpsvm
from qpsvm.plotting import CLASS_COLOURS


def sample(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 6.0, n)
    return x[:, None], np.sin(x) + (0.1 + 0.15 * x) * rng.normal(size=n)  # noise that grows


X, t = sample(200, seed=0)
X_new, t_new = sample(5000, seed=1)
kernel = qpsvm.kernels.RBF(gamma=0.3)

# %%
# **Regression**: deviations below epsilon cost nothing, and samples inside of the tube get alpha 0.
# **Quantiles**: at the optimum at most a share tau of the targets is below the machine, and at most
# 1 - tau above; the samples on the machine make up the rest.

tube = qpsvm.EpsilonRegression(epsilon=0.5, C=10.0).dual(X, t, kernel=kernel)
regression = qpsvm.solve(tube)
print(f"regression: {regression.n_support} of {len(X)} samples are outside of the tube or on it")
band, below, gaps = {}, {}, [qpsvm.certify(tube, regression).relative_gap]
for tau in (0.1, 0.5, 0.9):
    problem = qpsvm.QuantileRegression(tau, C=10.0).dual(X, t, kernel=kernel)
    band[tau] = qpsvm.solve(problem)
    below[tau] = np.mean(t < band[tau].predict(X) - 1e-6), np.mean(t_new < band[tau].predict(X_new))
    gaps.append(qpsvm.certify(problem, band[tau]).relative_gap)
    print(
        f"tau = {tau}: below it {below[tau][0]:.3f} of the samples, {below[tau][1]:.3f} of new ones"
    )
inside = (band[0.1].predict(X_new) <= t_new) & (t_new <= band[0.9].predict(X_new))
print(f"new samples inside the band: {inside.mean():.3f}")

# %%
# **Novelty** of the points (x, t), with no targets. nu bounds the share of outliers: at the optimum
# at most that many points lie outside, and at least that many are support vectors.

nu, points = 0.1, np.column_stack([X, t])
novelty = qpsvm.OneClass(nu=nu).dual(points, kernel=qpsvm.kernels.RBF(gamma=0.5))
usual = qpsvm.solve(novelty)
outside = np.mean(usual.decision_function(points) < -1e-8)
print(f"novelty: {outside:.3f} outside, support vectors {usual.n_support / len(X):.3f}")

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.5), sharey=True, layout="constrained")
line = np.linspace(0.0, 6.0, 200)[:, None]
for place, title in zip(axes, ("regression", "quantiles", "novelty"), strict=True):
    place.plot(X[:, 0], t, ".", color=CLASS_COLOURS[4], markersize=4)
    place.set(title=title, xlabel="x")
axes[0].set(ylabel="t")
axes[0].plot(line, regression.predict(line), color="k")
for side in (-0.5, 0.5):
    axes[0].plot(line, regression.predict(line) + side, "k--", linewidth=1)
for tau, style in ((0.1, "--"), (0.5, "-"), (0.9, "--")):
    axes[1].plot(line, band[tau].predict(line), style, color=CLASS_COLOURS[5])
grid = np.meshgrid(np.linspace(-0.5, 6.5, 120), np.linspace(t.min() - 0.3, t.max() + 0.3, 120))
f = usual.decision_function(np.column_stack([part.ravel() for part in grid])).reshape(120, 120)
axes[2].contour(*grid, f, [0.0], colors=[CLASS_COLOURS[2]])

# %%
inner = np.abs(t - regression.predict(X)) < 0.5 - 1e-6
assert not np.isin(np.flatnonzero(inner), regression.support).any()
assert all(seen <= tau and abs(new - tau) < 0.1 for tau, (seen, new) in below.items())
assert abs(inside.mean() - 0.8) < 0.08
assert outside <= nu <= usual.n_support / len(X)
assert max(*gaps, qpsvm.certify(novelty, usual).relative_gap) <= 1e-8
