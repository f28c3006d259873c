"""What rules cost: a loan classifier that must not punish income, nor lean on a group."""

import numpy as np
import pandas as pd

import qpsvm
from qpsvm import constraints

rng = np.random.default_rng(7)
n = 400
group = rng.integers(0, 2, n)  # not a feature, but income and debt tell a lot about it
people = pd.DataFrame(
    {
        "income": rng.normal(size=n) - 0.5 * group,
        "savings": rng.normal(size=n),
        "debt": rng.normal(size=n) + 0.2 * group,
        "late_payments": rng.poisson(1.0, n).astype(float),
    }
)
# what the archive decided: carelessly of savings, and harder on one group
ability = people["income"] - 0.3 * people["savings"] - people["debt"] - people["late_payments"]
granted = ability + 2.0 - 0.7 * group + rng.normal(size=n) > 0
train, test = slice(0, 200), slice(200, n)

ORDER = [
    constraints.nonnegative("income", "savings"),
    constraints.decreasing("debt", "late_payments"),
]
RULES = {
    "none": None,
    "monotone": ORDER,
    "fair, 0.20": [constraints.fairness_band(group[train], 0.20)],
    "fair, 0.05": [constraints.fairness_band(group[train], 0.05)],
    "monotone and fair": [*ORDER, constraints.fairness_band(group[train], 0.05)],
}

print(
    f"{'rules':18} {'objective':>9} {'accuracy':>8} {'cov':>6} {'granted to 0 / 1':>16}   weights"
)
for name, rules in RULES.items():
    problem = qpsvm.SoftMargin(C=1.0).dual(people[train], granted[train], constraints=rules)
    machine = qpsvm.solve(problem)
    objective = qpsvm.certify(problem, machine).primal_objective
    covariance = np.cov(group[train], machine.decision_function(people[train]), bias=True)[0, 1]
    accuracy = machine.score(people[test], granted[test])
    share = [machine.predict(people[test])[group[test] == g].mean() for g in (0, 1)]
    shares = f"{share[0]:.2f} / {share[1]:.2f}"
    figures = f"{objective:9.2f} {accuracy:8.3f} {covariance:6.2f} {shares:>16}"
    print(f"{name:18} {figures}   {machine.coef.round(2)}")
