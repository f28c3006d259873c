"""One support vector machine, primal and dual, by every solver that is installed."""

from sklearn.datasets import load_iris

import qpsvm
from qpsvm.exceptions import UnsupportedProgramError

X, y = load_iris(return_X_y=True)
X, y = X[y > 0], y[y > 0]  # the two species that overlap

for form in ("primal", "dual"):
    problem = getattr(qpsvm.SoftMargin(C=1.0), form)(X, y)
    print(problem)
    for backend in qpsvm.backends.available():
        if not backend.installed:
            continue
        try:
            solution = qpsvm.solve(problem, backend.name, eps=1e-6)
        except UnsupportedProgramError as reason:
            print(f"  {backend.name:22} {reason}")
            continue
        report = qpsvm.verify(problem, solution, eps=1e-6)
        verdict = "PASS" if report.passed else "FAIL"
        print(f"  {backend.name:22} {report.objective:.10f}  {report.relative_gap:.1e}  {verdict}")
