"""Train a linear machine on a folder of Parquet files, a chunk at a time, to a certified gap.

Nothing here depends on the size of the data: a worker holds one chunk, and this process holds the
samples near the margin. Start a ``distributed.Client`` first, and its workers do the passes.
"""

import tempfile
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from sklearn.datasets import make_classification

import qpsvm

with tempfile.TemporaryDirectory() as folder:
    for part in range(4):
        X, y = make_classification(
            n_samples=5_000, n_features=10, flip_y=0.1, random_state=7, shuffle=True
        )
        columns = {f"x{j}": X[:, j] + 0.01 * part for j in range(X.shape[1])} | {"label": y}
        parquet.write_table(pa.table(columns), Path(folder) / f"part-{part}.parquet")

    problem = qpsvm.SoftMargin(C=1.0).dual(folder, "label")  # one pass: checks, classes, a sample
    print(problem)
    solution = qpsvm.solve(problem, eps=1e-6)
    print(solution)
    for number, (kind, gap, _) in enumerate(solution.statistics.trace, start=2):
        print(f"pass {number}, {kind}: certified gap {gap:.0e}")
    print("PASS" if qpsvm.verify(problem, solution, eps=1e-6).passed else "FAIL")
