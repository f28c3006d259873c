r"""
The conditions of a hard margin, and what they say about new data
=================================================================

At the optimum of the hard margin every sample satisfies the Karush-Kuhn-Tucker conditions

.. math::

    \alpha_i \ge 0, \qquad s_i f(x_i) - 1 \ge 0, \qquad \alpha_i \, (s_i f(x_i) - 1) = 0,

and :math:`w = \sum_i \alpha_i s_i x_i`, :math:`\sum_i \alpha_i s_i = 0`. By the third one a sample
beyond the margin has :math:`\alpha_i = 0`: without it the machine would be the same.
"""

import matplotlib.pyplot as plt
import numpy as np

import qpsvm
from qpsvm.plotting import CLASS_COLOURS

N, CENTRE = 40, np.array([1.1, 0.6, 0.0, 0.0, 0.0, 0.0])  # six features, two of which tell


def clouds(seed):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(sign * CENTRE, 0.6, (N // 2, 6)) for sign in (-1, 1)])
    return X, np.repeat([-1, 1], N // 2)


X, s = clouds(0)
machine = qpsvm.solve(qpsvm.HardMargin().dual(X, s))
alpha, slack = machine.alpha, s * machine.decision_function(X) - 1.0
support = machine.n_support
print(f"smallest alpha {alpha.min():.0e}, smallest s f - 1 {slack.min():.0e}", end=", ")
print(f"largest product {np.abs(alpha * slack).max():.0e}, sum alpha s {alpha @ s:.0e}")

# %%
# **Leave one out.** Train without a sample, then predict it. Only a support vector can be an error,
# because removing any other sample does not change the machine. So the share of errors is at most
# #SV / N. The mean share over data sets is the probability of an error for machines of N - 1
# samples: it is at most E[#SV] / N. Some textbooks divide by N - 1, which is a little more.

errors = sum(
    qpsvm.solve(qpsvm.HardMargin().dual(np.delete(X, i, 0), np.delete(s, i))).predict(X[[i]])[0]
    != s[i]
    for i in range(N)
)
print(f"leave-one-out errors {errors} of {N}, support vectors {support}")

# %%
# Now 20 data sets, each tested on 2,000 new samples. The bound applies to the mean, the cross.

rng = np.random.default_rng(99)
sign = np.repeat([-1, 1], 1000)
new = sign[:, None] * CENTRE + rng.normal(0.0, 0.6, (2000, 6))
n_support, new_errors = [], []
for seed in range(20):
    X_k, s_k = clouds(seed)
    n_support.append(qpsvm.solve(qpsvm.HardMargin().dual(X_k, s_k)).n_support)
    shorter = qpsvm.solve(qpsvm.HardMargin().dual(X_k[1:], s_k[1:]))
    new_errors.append(np.mean(shorter.predict(new) != sign))
bound = np.mean(n_support) / N
print(f"mean error {np.mean(new_errors):.4f} <= {bound:.4f}, with N - 1 {bound * N / (N - 1):.4f}")
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(slack, alpha, "o", color=CLASS_COLOURS[0])
left.set(xlabel="$s_i f(x_i) - 1$", ylabel=r"$\alpha_i$", title="one of the two is zero")
right.plot(np.divide(n_support, N), new_errors, "o", color=CLASS_COLOURS[5])
right.plot(bound, np.mean(new_errors), "kX", markersize=11)
right.axline((0.0, 0.0), slope=1.0, color="k", linewidth=1)
right.set(xlim=(0, 0.26), ylim=(0, 0.26), title="20 data sets, their mean, and the bound")
right.set(xlabel="support vectors / N", ylabel="share of errors on new samples")

# %%
assert min(alpha.min(), slack.min()) > -1e-7
assert max(np.abs(alpha * slack).max(), abs(alpha @ s)) < 1e-6
assert np.allclose(machine.coef, (alpha * s) @ X)
assert np.all(alpha[slack > 1e-5] < 1e-8)
assert 0 < errors <= support
assert 0.0 < np.mean(new_errors) <= bound
