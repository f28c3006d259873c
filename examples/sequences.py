"""Samples that are no numbers: DNA of different lengths, compared by the words in it."""

from collections import Counter

import numpy as np
from scipy.sparse import csr_array

import qpsvm

LENGTH = 4  # of a word


def spectrum(X, Z):
    """``k(x, z) = sum_u count_u(x) count_u(z)`` over all words u, for unit vectors of counts.

    Leslie, Eskin and Noble, "The spectrum kernel: a string kernel for SVM protein classification",
    Pacific Symposium on Biocomputing (2002).
    """
    columns: dict[str, int] = {}
    return (_counts(X, columns) @ _counts(Z, columns).T).toarray()


def _counts(sequences, columns):
    rows = [Counter(s[i : i + LENGTH] for i in range(len(s) - LENGTH + 1)) for s in sequences]
    indices = [columns.setdefault(word, len(columns)) for row in rows for word in row]
    values = [count / np.linalg.norm(list(row.values())) for row in rows for count in row.values()]
    ends = np.cumsum([0, *map(len, rows)])
    return csr_array((values, indices, ends), shape=(len(rows), 4**LENGTH))


def sequence(rng, motif):
    """A random one; one sort has a motif in it."""
    letters = "".join(rng.choice(list("ACGT"), rng.integers(60, 120)))
    at = int(rng.integers(len(letters)))
    return letters[:at] + "TATAAT" * motif + letters[at:]


rng = np.random.default_rng(0)
y = np.repeat(["background", "promoter"], 400)
X = np.array([sequence(rng, label == "promoter") for label in y])
test = np.arange(len(y)) % 4 == 0

problem = qpsvm.SoftMargin(C=1.0).dual(X[~test], y[~test], kernel=spectrum)
solution = qpsvm.solve(problem)
lengths = [len(letters) for letters in X]
print(problem)
print(f"sequences of {min(lengths)} to {max(lengths)} letters, such as {X[0][:30]}...")
print(f"certified gap {qpsvm.certify(problem, solution).relative_gap:.1e}")
print(f"right for {solution.score(X[test], y[test]):.0%} of the others")
