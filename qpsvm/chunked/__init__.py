"""Linear machines on samples that come in chunks: more data than memory, more machines than one.

``qpsvm.SoftMargin(C=1.0).dual(X, y)`` and the other linear families take Dask collections, Parquet
datasets, folders of ``.npy`` or ``.npz`` files and large memory maps, and build a
``ChunkedProblem``. ``qpsvm.solve``, ``qpsvm.verify`` and ``qpsvm.certify`` take it like any other.
"""

from qpsvm.chunked.certificate import ChunkedCertificate, ChunkedReport
from qpsvm.chunked.chunks import ChunkedSamples
from qpsvm.chunked.dask_blocks import is_dask
from qpsvm.chunked.problem import ChunkedProblem, chunked_problem
from qpsvm.chunked.solution import ChunkedSolution, PassStatistics
from qpsvm.chunked.sources import chunked, is_chunked

__all__ = [
    "ChunkedCertificate",
    "ChunkedProblem",
    "ChunkedReport",
    "ChunkedSamples",
    "ChunkedSolution",
    "PassStatistics",
    "chunked",
    "chunked_problem",
    "is_chunked",
    "is_dask",
]
