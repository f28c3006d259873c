r"""
Moons: features, polynomial kernels, and the width of a Gaussian
================================================================

Two half moons that no line separates. Three ways to bend the boundary: write out polynomial
features and use a line there; let the kernel :math:`(\gamma x^\top z + r)^d` do the same without
writing anything out; or use the Gaussian kernel, whose gamma says how far a sample reaches.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from qpsvm.estimators import SVC, LinearSVC
from qpsvm.plotting import DecisionRegions


def drawn(machine, place, title, noise):
    """Fit, draw, and return the scores on the samples and on new ones."""
    X, y = make_moons(120, noise=noise, random_state=42)
    X_new, y_new = make_moons(1000, noise=noise, random_state=43)
    model = make_pipeline(StandardScaler(), machine).fit(X, y)
    picture = {"y": y, "ax": place, "grid_resolution": 100, "support": False}
    DecisionRegions.from_estimator(model, X, **picture)
    place.get_legend().remove()
    place.set(xlabel="", ylabel="", xticks=[], yticks=[], title=title)
    scores = model.score(X, y), model.score(X_new, y_new)
    place.set_xlabel(f"{scores[0]:.3f}, new samples {scores[1]:.3f}")
    print(f"{title.replace(chr(10), ', '):38} {scores[0]:.3f}  on new samples {scores[1]:.3f}")
    return model, scores


# %%
# Degree 3 has ten monomials in two variables: as features of a linear machine, or inside of a
# kernel with r = 1. Degree 10 has 66, and r = 100 gives the low degrees more weight. Its values are
# near 1e20: these moons have little noise; with more, rounding would leave too few digits to
# certify.

figure, places = plt.subplots(1, 3, figsize=(9.5, 3.1), layout="constrained")
cubic = make_pipeline(PolynomialFeatures(3), StandardScaler(), LinearSVC(C=10.0, loss="hinge"))
polynomials = [drawn(cubic, places[0], "features of degree 3\nC = 10", 0.15)]
for place, (d, r) in zip(places[1:], ((3, 1.0), (10, 100.0)), strict=True):
    machine = SVC(kernel="poly", degree=d, gamma=1.0, coef0=r, C=5.0)
    title = f"kernel of degree {d}\nr = {r:g}, C = 5"
    polynomials.append(drawn(machine, place, title, 0.15))

# %%
# The Gaussian kernel, on noisier moons. Down: gamma, from wide bells to narrow ones. Across: C,
# from a wide margin with many samples inside to none. With both small the boundary is nearly a
# line; with both large it follows every sample.

figure, places = plt.subplots(2, 2, figsize=(7.5, 6.2), layout="constrained")
found = {}
for i, gamma in enumerate((0.1, 5.0)):
    for j, C in enumerate((0.1, 1000.0)):
        machine = SVC(kernel="rbf", gamma=gamma, C=C)
        title = f"gamma = {gamma:g}, C = {C:g}"
        found[gamma, C] = drawn(machine, places[i, j], title, 0.25)

# %%
# What the pictures show: every polynomial bends enough. Of the Gaussians, the machine that follows
# every sample fits the training set perfectly but generalises worse than a smoother one; the
# stiffest makes the most errors.

scores = {setting: each[1] for setting, each in found.items()}
stiff, wild = scores[0.1, 0.1], scores[5.0, 1000.0]
assert min(each[1][1] for each in polynomials) > 0.97
assert wild[0] == 1.0
assert wild[1] < 0.95
assert wild[1] < scores[5.0, 0.1][1]
assert stiff[1] == min(new for _, new in scores.values())
assert all(m[-1].certificate_.relative_gap <= 1e-8 for m, _ in [*polynomials[1:], *found.values()])
