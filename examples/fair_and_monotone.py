"""
A fair, monotone machine, and what its rules cost
=================================================

A loan classifier must not punish income, nor lean on a group. Both are linear rules about the
weights: a sign for monotone features, a bound on the covariance of group and decision value for
fairness. They are rows of the program, so the optimum under the rules is as certified as any, and
the objective says what the rules cost.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import qpsvm
from qpsvm import constraints
from qpsvm.plotting import CLASS_COLOURS

rng = np.random.default_rng(7)
n = 400
group = rng.integers(0, 2, n)  # not a feature, but income and debt tell a lot about it
people = pd.DataFrame(
    {
        "income": rng.normal(size=n) - 0.5 * group,
        "savings": rng.normal(size=n),
        "debt": rng.normal(size=n) + 0.2 * group,
        "late": rng.poisson(1.0, n).astype(float),
    }
)
# what the archive decided: carelessly of savings, and harder on one group
ability = people["income"] - 0.3 * people["savings"] - people["debt"] - people["late"]
granted = ability + 2.0 - 0.7 * group + rng.normal(size=n) > 0
train, test = slice(0, 200), slice(200, n)

# %%
# Constraints are passed as a list, so they can be combined.

ORDER = [constraints.nonnegative("income", "savings"), constraints.decreasing("debt", "late")]
FAIR = constraints.fairness_band(group[train], 0.05)
RULES = {"none": None, "monotone": ORDER, "fair": [FAIR], "both": [*ORDER, FAIR]}
weights, objective, covariance = {}, {}, {}
print(f"{'rules':9} {'objective':>9} {'accuracy':>8} {'covariance':>10} {'granted to 0 / 1':>16}")
for name, rules in RULES.items():
    problem = qpsvm.SoftMargin(C=1.0).dual(people[train], granted[train], constraints=rules)
    machine = qpsvm.solve(problem)
    weights[name], proof = machine.coef, qpsvm.certify(problem, machine)
    objective[name] = proof.dual_objective, proof.primal_objective
    f = machine.decision_function(people[train])
    covariance[name] = np.cov(group[train], f, bias=True)[0, 1]
    accuracy = machine.score(people[test], granted[test])
    share = [machine.predict(people[test])[group[test] == g].mean() for g in (0, 1)]
    print(f"{name:9} {objective[name][1]:9.3f} {accuracy:8.3f} {covariance[name]:10.3f}", end="")
    print(f" {share[0]:9.2f} / {share[1]:.2f}")

# %%
# Left: the weights. Right: the covariance with its band. Without constraints savings count against
# the applicant, as in the archive; the monotone machine ignores them.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), width_ratios=[2, 1])
at = np.arange(len(people.columns))
for k, (name, w) in enumerate(weights.items()):
    left.bar(at + 0.2 * (k - 1.5), w, 0.18, color=CLASS_COLOURS[k], label=name)
    right.bar(k, covariance[name], 0.6, color=CLASS_COLOURS[k])
figure.set_layout_engine("constrained")
left.set(xticks=at, xticklabels=people.columns, ylabel="weight")
left.legend(title="rules")
right.axhspan(-0.05, 0.05, color="0.85", zorder=0)
right.set(xticks=range(4), xticklabels=RULES, ylabel="covariance of group and f(x)")

# %%
# The constraints hold, and each has a cost: the lower bound with it exceeds the upper one without.

assert weights["none"][1] < 0.0
assert weights["monotone"][1] < 1e-6
assert all(np.all(weights[k] * [1, 1, -1, -1] >= -1e-7) for k in ("monotone", "both"))
assert all(abs(covariance[k]) <= 0.05 + 1e-7 < abs(covariance["none"]) for k in ("fair", "both"))
for more, fewer in (("monotone", "none"), ("fair", "none"), ("both", "monotone"), ("both", "fair")):
    assert objective[more][0] > objective[fewer][1]
