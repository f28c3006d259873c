r"""
Your own formulation: Huber's regression
========================================

A formulation is a table of conditions: what each sample asks for, and what a violation v costs. The
losses are those of the form

.. math:: \ell(v) = \max \{\, a v - \tfrac d2 a^2 :\ lower \le a \le upper \,\} .

With the box [-C, C] and d = delta / C this is Huber's loss: quadratic up to delta, linear beyond,
so that an outlier pulls with a force of at most C. The program and the certificate follow.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

import qpsvm
from qpsvm.formulations.family import Regressor
from qpsvm.machines.conditions import Conditions
from qpsvm.plotting import CLASS_COLOURS
from qpsvm.qp.sample_quadratic import Selection


@dataclass(frozen=True, repr=False)
class Huber(Regressor):
    C: float = 1.0
    delta: float = 0.1

    def conditions(self, data, _gram):  # the kernel matrix sets no scale here
        return Conditions(
            R=Selection(data.n_samples),  # condition i is about f(x_i)
            required=data.values,  # which must reach the target
            lower=np.full(data.n_samples, -self.C),
            upper=np.full(data.n_samples, self.C),
            curvature=np.full(data.n_samples, self.delta / self.C),
        )


# %%
# A line with noise, and six samples far from it. Least squares follow them, Huber's loss does not.

rng = np.random.default_rng(1)
x = np.linspace(0.0, 4.0, 60)
t = 1.0 + 0.8 * x + 0.15 * rng.normal(size=60)
t[-6:] -= 6.0
C, delta = 5.0, 0.2
problem = Huber(C=C, delta=delta).dual(x[:, None], t)
huber = qpsvm.solve(problem)
squared = qpsvm.EpsilonRegression(C / 2.0, epsilon=0.0, loss="squared_epsilon_insensitive")
squares = qpsvm.solve(squared.dual(x[:, None], t))
proof = qpsvm.certify(problem, huber)
print(problem)
print(f"least squares: slope {squares.coef[0]:.4f}, intercept {squares.intercept:.4f}")
print(f"Huber: slope {huber.coef[0]:.4f}, intercept {huber.intercept:.4f}")
print(f"certified relative gap {proof.relative_gap:.0e}")

# %%
# **An independent check.** Huber's loss is smooth, so the optimum is where the gradient of the
# cost vanishes: :math:`w = \sum_i \ell'(v_i) x_i` and :math:`\sum_i \ell'(v_i) = 0`.

pull = np.clip(C / delta * (t - huber.predict(x[:, None])), -C, C)
print(f"w - sum of pulls times x: {huber.coef[0] - pull @ x:.0e}, sum of pulls: {pull.sum():.0e}")

figure, axes = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
axes.plot(x, t, ".", color="0.5")
axes.plot(x, squares.predict(x[:, None]), "--", c=CLASS_COLOURS[5], label="least squares")
axes.plot(x, huber.predict(x[:, None]), color=CLASS_COLOURS[0], label="Huber")
axes.set(xlabel="x", ylabel="t")
axes.legend()

# %%
# The outliers are at the bound, so their influence is at most C; the slope is close to 0.8.

assert proof.relative_gap <= 1e-8
assert np.allclose([pull @ x, pull.sum()], [huber.coef[0], 0.0], atol=1e-3)
assert np.allclose(huber.alpha[-6:], -C, atol=1e-6)
assert abs(huber.coef[0] - 0.8) < 0.1 < abs(squares.coef[0] - 0.8)
