r"""
One dimension lifted to two
===========================

On a line, one class in the middle and the other on both sides: no threshold separates them. A
second coordinate that is computed from the first makes it easy: the square of x, or the nearness to
landmarks. Nothing about the machine changes, only what it looks at.
"""

import matplotlib.pyplot as plt
import numpy as np

import qpsvm
from qpsvm.plotting import CLASS_COLOURS

x = np.linspace(-4.0, 4.0, 9)
s = np.where(np.abs(x) < 2.5, 1, -1)

# %%
# On the line itself a hard margin does not exist, and the error comes with its proof: a point that
# is a weighted mean of both classes.

try:
    qpsvm.solve(qpsvm.HardMargin().dual(x[:, None], s))
except qpsvm.exceptions.NotSeparableError as error:
    means = [float(error.weights[s == sign] @ x[s == sign]) for sign in (-1, 1)]
    print(f"not separable: {means[0]:.6f} is a mean of one class and of the other ({means[1]:.6f})")

# %%
# **The square.** :math:`\phi(x) = (x, x^2)`. The line above it is a threshold of :math:`x^2`.
#
# **Gaussian landmarks.** :math:`\phi(x) = (e^{-\gamma (x - l_1)^2}, e^{-\gamma (x - l_2)^2})`, with
# landmarks at -2 and 1. A Gaussian kernel has such a feature for every sample, and a scalar product
# that can be computed without them.

LANDMARKS, gamma = np.array([-2.0, 1.0]), 0.3
MAPS = {
    "$x$, $x^2$": lambda v: np.column_stack([v, v**2]),
    "nearness to -2, nearness to 1": lambda v: np.exp(-gamma * (v[:, None] - LANDMARKS) ** 2),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
panels = {"$x$": (x, np.zeros_like(x))} | {name: phi(x).T for name, phi in MAPS.items()}
for place, (name, (across, up)) in zip(axes, panels.items(), strict=True):
    for sign, colour, marker in ((-1, CLASS_COLOURS[0], "o"), (1, CLASS_COLOURS[5], "^")):
        place.scatter(across[s == sign], up[s == sign], c=colour, marker=marker, s=40, zorder=3)
    place.set(title=name, xlabel=name.split(",")[0])

machines = {}
fine = np.linspace(-4.5, 4.5, 400)
for place, (name, phi) in zip(axes[1:], MAPS.items(), strict=True):
    machine = machines[name] = qpsvm.solve(qpsvm.HardMargin().dual(phi(x), s))
    w, b = machine.coef, machine.intercept
    place.plot(*phi(fine).T, color="0.8", linewidth=1, zorder=1)  # where all of the line is now
    limits = np.array(place.get_xlim())
    for level, style in ((-1, "--"), (0, "-"), (1, "--")):
        place.axline((0.0, (level - b) / w[1]), slope=-w[0] / w[1], color="k", ls=style, lw=1)
    place.set(xlim=limits, ylabel=name.split(", ")[1])
    changes = fine[1:][np.diff(machine.predict(phi(fine))) != 0]
    print(f"{name:30} w = {w.round(4)}, b = {b:.4f}, thresholds of x: {changes.round(2)}")
axes[0].set(yticks=[])

# %%
# Both maps separate, with two thresholds of x. Under the square they are where :math:`x^2 = 6.5`,
# half way between the 4 and the 9 of the nearest samples.

square = machines["$x$, $x^2$"]
assert all(
    machine.score(phi(x), s) == 1.0
    for (_, phi), machine in zip(MAPS.items(), machines.values(), strict=True)
)
assert np.allclose(square.coef, [0.0, -0.4], atol=1e-6)
assert np.isclose(square.intercept, 2.6, atol=1e-5)
assert np.isclose(means[0], means[1], atol=1e-9)
assert len(changes) == 2
