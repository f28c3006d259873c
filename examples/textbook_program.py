"""
Text
====
Text."""

import numpy as np
from cvxopt import matrix, solvers

import qpsvm

X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0], [3.0, 3.0]])
y = ["left", "left", "right", "right"]

problem = qpsvm.SoftMargin(C=10.0).dual(X, y)
P, q, G, h, A, b = problem.canonical("dense")
print(problem)
for name, value in zip("PqGhAb", (P, q, G, h, A, b), strict=True):
    print(f"{name} =\n{value}")

# the solver knows nothing of qpsvm
raw = solvers.qp(*map(matrix, (P, q, G, h, A, b)), options={"show_progress": False})
by_hand = problem.from_canonical(raw)

# qpsvm's own solve agrees, and the verifier says how well the answer above does
solution = qpsvm.solve(problem)
print("alpha by hand  ", by_hand.alpha.round(6))
print("alpha by qpsvm ", solution.alpha.round(6))
print(qpsvm.verify(problem, by_hand, eps=1e-6))
