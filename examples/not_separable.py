"""A hard margin on classes that overlap: the error carries a proof that anyone can check."""

import numpy as np

import qpsvm

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(size=(20, 2)) + 1.0, rng.normal(size=(20, 2)) - 1.0])
y = np.repeat([1, -1], 20)

try:
    qpsvm.solve(qpsvm.HardMargin().dual(X, y))
except qpsvm.exceptions.NotSeparableError as error:
    print(error)
    for label in (1, -1):
        weights = error.weights[y == label]
        print(f"class {label:2}: weights >= 0 sum to {weights.sum():.12f}", end=", ")
        print(f"their mean is {X[y == label].T @ weights}")
