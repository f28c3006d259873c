r"""
Your own backend: twenty lines, and the verifier judges
=======================================================

A backend takes a program and returns a point. It need not be good: whatever it claims, the answer
is measured like any other, and the polish goes on from there. Here is projected gradient descent,

.. math:: x \leftarrow \operatorname{clip}(x - \eta \, (P x + q),\ lower,\ upper) ,

which solves programs whose only constraints are bounds: the dual with a penalised intercept is one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import qpsvm
from qpsvm.backends import Backend, Capabilities, Settings
from qpsvm.exceptions import UnsupportedProgramError
from qpsvm.plotting import CLASS_COLOURS
from qpsvm.qp import QPSolution, SolveStatistics, Status


class ProjectedGradient(Backend):
    name, licence, distribution = "projected-gradient", "Apache-2.0", "numpy"
    required_modules = ("numpy",)
    capabilities = Capabilities(bounds=True)

    def _solve(self, program, settings):
        if program.n_equalities or program.n_inequalities:
            raise UnsupportedProgramError("Projected gradient takes bounds only, no rows.")
        x, v = program.lb.copy(), np.ones(program.n_variables)
        for _ in range(50):  # power iterations: the largest eigenvalue of P
            v = program.P.matvec(v / np.linalg.norm(v))
        step, steps = 0.95 / np.linalg.norm(v), settings.max_iterations or 200
        for _ in range(steps):
            x = np.clip(x - step * (program.P.matvec(x) + program.q), program.lb, program.ub)
        g = program.P.matvec(x) + program.q  # its parts are the multipliers of the bounds
        below, above = np.maximum(g, 0.0), np.maximum(-g, 0.0)
        done = SolveStatistics(iterations=steps)
        return QPSolution(Status.OPTIMAL, x, [], [], below, above, statistics=done)  # so it says


# %%
# It always claims "optimal". Its raw answers, and those of ``qpsvm.solve``, which verifies and
# improves them:

X, y = make_moons(150, noise=0.2, random_state=0)
kernel = qpsvm.kernels.RBF(gamma=1.0)
problem = qpsvm.SoftMargin(C=1.0, intercept="penalized").dual(X, y, kernel=kernel)
backend, steps = ProjectedGradient(), (10, 30, 100, 300)
raw, solved = [], []
for count in steps:
    claim = backend.solve(problem.qp, Settings(max_iterations=count))
    raw.append(qpsvm.certify(problem, problem.recover(claim)).relative_gap)
    machine = qpsvm.solve(problem, backend, max_iterations=count)
    solved.append(qpsvm.certify(problem, machine).relative_gap)
    print(f"{count:5} steps: claims {claim.status.value}, certified gap {raw[-1]:.0e}; ", end="")
    print(f"after qpsvm.solve {machine.status.value}, {solved[-1]:.0e}")

figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
axes.loglog(steps, raw, "o-", color=CLASS_COLOURS[0], label="as it returns")
axes.loglog(
    steps, np.maximum(solved, 1e-16), "^--", color=CLASS_COLOURS[5], label="after qpsvm.solve"
)
axes.axhline(1e-8, color="k", linewidth=1)
axes.set(xlabel="steps", ylabel="certified relative gap")
axes.legend(loc=(0.62, 0.58))

# %%
# A package registers it by name with an entry point in the group ``qpsvm.backends``.

assert all(np.diff(raw) < 0.0)
assert raw[-1] > 1e-3
assert max(solved) <= 1e-8
