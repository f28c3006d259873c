"""
Choosing a kernel by cross-validation, and what is proven about it
==================================================================

Cross-validation trains every candidate on four fifths of the samples, tests it on the rest, and
takes the best mean score. Behind every score are machines that some solver has approximated: is a
difference of half a percent one of the candidates, or one of a stopping rule? ``SVCSearch`` gives
every score as an interval that contains that of the exact machines.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from qpsvm.plotting import CLASS_COLOURS
from qpsvm.selection import SVCSearch

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)[:, :10]  # the means of ten measurements
X, X_new, y, y_new = X[:300], X[300:], y[:300], y[300:]
C = [0.1, 1.0, 10.0, 100.0]
GRIDS = {
    "linear": {"kernel": "linear"},
    "cubic": {"kernel": "poly", "degree": 3, "gamma": [0.1], "coef0": 1.0},
    "RBF, gamma 0.01": {"kernel": "rbf", "gamma": [0.01]},
    "RBF, gamma 0.1": {"kernel": "rbf", "gamma": [0.1]},
    "RBF, gamma 1": {"kernel": "rbf", "gamma": [1.0]},
}
searches = {name: SVCSearch(C=C, cv=5, **grid).fit(X, y) for name, grid in GRIDS.items()}

# %%
# **Proven**: which score is higher on these folds, if the intervals do not overlap; *equal*, if
# both are the same point. Otherwise the comparison is undecided.

for name, search in searches.items():
    found = search.choice_
    print(
        f"{name:16} best C = {search.best_params_['C']:<5g} score {search.best_score_:.4f}", end=""
    )
    print(f"  against it, by C: {', '.join(found.verdicts)}")

# %%
# **Not proven**: that the choice is best on new samples. 300 samples leave a score uncertain by
# about a percent, however exact the machines: the thin lines are standard errors over the folds.
# The intervals of the exact scores are drawn too; they are narrower than the markers.

figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
styles = zip(searches.items(), CLASS_COLOURS[:4] + CLASS_COLOURS[5:6], "os^Dv", strict=True)
for k, ((name, search), colour, marker) in enumerate(styles):
    found, spread = search.choice_, search.cv_results_["std_test_score"] / np.sqrt(5)
    at = np.array(C) * 1.12 ** (k - 2)  # side by side
    axes.errorbar(at, found.score, spread, color=colour, alpha=0.5, linewidth=1)
    axes.vlines(at, found.lower, found.upper, color=colour, linewidth=5)
    axes.plot(at, found.score, marker, color=colour, label=name)
axes.set(xscale="log", xlabel="C", ylabel="accuracy, mean of 5 folds")
axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))

# %%
# The best candidate, on samples that no fold has seen.

best = max(searches, key=lambda name: searches[name].best_score_)
winner = searches[best]
unseen = winner.score(X_new, y_new)
print(f"chosen: {best}, {winner.best_score_:.4f} by folds, {unseen:.4f} on new samples")

# %%
widths = [np.max(each.choice_.upper - each.choice_.lower) for each in searches.values()]
errors = [np.min(each.cv_results_["std_test_score"]) / np.sqrt(5) for each in searches.values()]
assert winner.choice_.is_proven
assert max(widths) < 0.5 * min(errors)
assert all(
    e.choice_.lower.max() <= winner.choice_.upper[winner.best_index_] for e in searches.values()
)
assert unseen > 0.9
