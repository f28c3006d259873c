"""Spark MLlib's ``LinearSVC`` on a folder of Parquet files, in local mode.

Spark minimises ``1/n sum hinge + regParam/2 |w|^2`` with a free intercept, so ``regParam`` is
``1 / (C n)``. Two favours: the rows lie in memory as vectors of doubles before a fit begins, which
is measured apart; and a fit of one iteration has warmed up the JVM.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from qpsvm.chunked.machine import Machine

THREADS = 2
MEMORY = "8g"
PART_BYTES = 2**26
"""Most bytes of a part of the data: two parts to a file of a million rows."""

LABEL, ROW = "y", "row"


def parameters(C: float, n: int, iterations: int) -> dict[str, Any]:
    """Parameters of ``LinearSVC`` for the soft margin with a free intercept on n samples.

    With a tolerance of zero it stops after ``maxIter`` iterations, or where its line search ends.
    """
    return {
        "featuresCol": ROW,
        "labelCol": LABEL,
        "regParam": 1.0 / (C * n),
        "maxIter": iterations,
        "tol": 0.0,
        "standardization": False,
        "fitIntercept": True,
    }


class SparkLinearSVC:
    """A Spark session with the rows of a folder in its memory; a fit starts from zero.

    Attributes
    ----------
    name, version : str
    seconds_start, seconds_load : float
        For the session, and for the rows.
    """

    name = "Spark LinearSVC"

    def __init__(self, folder: Path, C: float) -> None:
        from pyspark.ml.feature import VectorAssembler
        from pyspark.sql import SparkSession

        began = time.perf_counter()
        self._session = (
            SparkSession.builder.master(f"local[{THREADS}]")
            .config("spark.driver.memory", MEMORY)
            .config("spark.sql.files.maxPartitionBytes", PART_BYTES)
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        self._session.sparkContext.setLogLevel("ERROR")
        self.version = str(self._session.version)
        self.seconds_start = time.perf_counter() - began
        began = time.perf_counter()
        table = self._session.read.parquet(str(folder))
        columns = [name for name in table.columns if name != LABEL]
        rows = VectorAssembler(inputCols=columns, outputCol=ROW).transform(table)
        self._rows = rows.select(ROW, LABEL).cache()
        self._C, self._n = C, self._rows.count()
        self.seconds_load = time.perf_counter() - began
        self.fit(1)

    def fit(self, iterations: int) -> tuple[Machine, int]:
        """The machine after so many iterations at most, and how many there were."""
        from pyspark.ml.classification import LinearSVC

        model = LinearSVC(**parameters(self._C, self._n, iterations)).fit(self._rows)
        coef = np.asarray(model.coefficients.toArray(), dtype=float)
        return Machine(coef, float(model.intercept), 0.0), model.summary().totalIterations

    def stop(self) -> None:
        """End the session."""
        self._session.stop()
