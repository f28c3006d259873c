"""
Choosing a solver
=================

Any solver of quadratic programs finds the same machine, in its own time. Which one is fast depends
on the structure of the program: few features and many samples, a kernel matrix, or no quadratic
term at all. ``"auto"`` looks at the structure. A wrong choice costs time and not accuracy, since
the same verifier measures every answer.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

import qpsvm
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.plotting import CLASS_COLOURS

X, y = make_classification(300, 10, n_informative=6, flip_y=0.05, random_state=0)
half = slice(0, 150)
PROBLEMS = {
    "linear, primal": qpsvm.SoftMargin(C=1.0).primal(X, y),
    "kernel, dual": qpsvm.SoftMargin(C=1.0).dual(X[half], y[half], kernel="rbf"),
    "L1 norm": qpsvm.L1Norm(C=1.0).primal(X[half], y[half]),
}
BACKENDS = ("ipm", "active-set", "cvxopt", "osqp", "cvxpy:CLARABEL", "cvxpy:SCIPY")

# %%
# A backend that cannot solve a kind of program refuses before it starts. Processor seconds on the
# machine that built this page, verification included; the better of two runs.

chosen, seconds, proofs = {}, {}, {}
for title, problem in PROBLEMS.items():
    chosen[title], reason = qpsvm.backends.choose(problem.qp)
    print(f"{title}: {problem.qp.n_variables} variables; auto takes {chosen[title]!r}:\n  {reason}")
    for name in BACKENDS:
        times = []
        try:
            for _ in range(2):
                began = time.process_time()
                solution = qpsvm.solve(problem, name)
                times.append(time.process_time() - began)
        except UnsupportedProgramError:
            print(f"    {name:15} refuses")
            continue
        seconds[title, name] = min(times)
        proof = proofs[title, name] = qpsvm.certify(problem, solution)
        print(f"    {name:15} {seconds[title, name]:6.3f} s, objective", end=" ")
        print(f"{proof.primal_objective:.6f}, gap {proof.relative_gap:.0e}")

# %%
# A ring marks the choice of ``"auto"``; a backend without a mark refused the program.

figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for k, title in enumerate(PROBLEMS):
    rows = {name: i + 0.2 * (k - 1) for i, name in enumerate(BACKENDS) if (title, name) in seconds}
    times = [seconds[title, name] for name in rows]
    axes.plot(times, list(rows.values()), "o^s"[k], color=CLASS_COLOURS[k], label=title)
    at = seconds[title, chosen[title]], rows[chosen[title]]
    axes.plot(*at, "o", markersize=14, markerfacecolor="none", markeredgecolor="k")
axes.set(xscale="log", xlim=(0.005, 1.0), xlabel="seconds")
axes.set_yticks(range(len(BACKENDS)), BACKENDS)
axes.xaxis.set_minor_formatter("")
axes.set_ylim(len(BACKENDS) - 0.5, -0.5)
axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))

# %%
assert list(chosen.values()) == ["ipm", "active-set", "cvxpy:SCIPY"]
for title in PROBLEMS:
    found = [proof for (of, _), proof in proofs.items() if of == title]
    assert len(found) >= 4
    assert max(proof.relative_gap for proof in found) <= 1e-8
    costs = [proof.primal_objective for proof in found]
    assert max(costs) - min(costs) <= 1e-8 * max(costs)
assert ("linear, primal", "cvxpy:SCIPY") not in seconds  # solves linear programs only
