"""A test set of the qpbenchmark project: the programs that ``export.py`` wrote.

qpbenchmark support_vector_machines.py run
"""

import os
from pathlib import Path

from qpbenchmark import ParquetTestSet

PROGRAMS = Path(os.environ.get("QPSVM_PROGRAMS", Path(__file__).with_name("programs.parquet")))


class SupportVectorMachines(ParquetTestSet):
    title = "Support vector machines"
    description = "Training programs of support vector machines, primal and dual."
    sparse_only = False

    def __init__(self) -> None:
        super().__init__(PROGRAMS)
