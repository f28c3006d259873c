"""A band that holds 80% of the targets: the 10% and the 90% quantile of noise that grows."""

import numpy as np

import qpsvm


def sample(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 6.0, n)
    return x[:, None], np.sin(x) + (0.1 + 0.15 * x) * rng.normal(size=n)


X, t = sample(300, seed=0)
X_new, t_new = sample(5000, seed=1)
kernel = qpsvm.kernels.RBF(gamma=0.3)

band = {}
print(f"{'tau':>5} {'below, training':>16} {'below, new data':>16} {'relative gap':>13}")
for tau in (0.1, 0.5, 0.9):
    problem = qpsvm.QuantileRegression(tau, C=10.0).dual(X, t, kernel=kernel)
    machine = band[tau] = qpsvm.solve(problem)
    # at the optimum the share below is at most tau: the samples on the machine make up the rest
    seen, new = np.mean(t < machine.predict(X) - 1e-6), np.mean(t_new < machine.predict(X_new))
    gap = qpsvm.certify(problem, machine).relative_gap
    print(f"{tau:5.1f} {seen:16.3f} {new:16.3f} {gap:13.1e}")

lower, upper = band[0.1].predict(X_new), band[0.9].predict(X_new)
print(f"\nnew data inside the band: {np.mean((lower <= t_new) & (t_new <= upper)):.3f}")
print(f"\n{'x':>5} {'10%':>8} {'median':>8} {'90%':>8} {'true 10%':>9} {'true 90%':>9}")
for x in (0.5, 2.0, 3.5, 5.0):
    row = [float(band[tau].predict([[x]])[0]) for tau in (0.1, 0.5, 0.9)]
    truth = [np.sin(x) + side * 1.2816 * (0.1 + 0.15 * x) for side in (-1, 1)]
    print(f"{x:5.1f} " + " ".join(f"{v:8.2f}" for v in row) + f" {truth[0]:9.2f} {truth[1]:9.2f}")
