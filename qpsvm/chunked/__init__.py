"""Machines on samples that come in chunks: more data than memory, more computers than one.

``qpsvm.SoftMargin(C=1.0).dual(X, y)`` and the other linear families take Dask collections, Parquet
datasets, folders of ``.npy`` or ``.npz`` files and large memory maps, and build a
``ChunkedProblem``. ``qpsvm.solve``, ``qpsvm.verify`` and ``qpsvm.certify`` take it like any other.
With another kernel than the linear one they build a ``ChunkedKernelProblem``, on which
``qpsvm.verify`` and ``qpsvm.certify`` judge a machine that was trained elsewhere, an ``Expansion``.
"""

from qpsvm.chunked.certificate import ChunkedCertificate, ChunkedReport
from qpsvm.chunked.chunks import ChunkedSamples
from qpsvm.chunked.expansion import Expansion
from qpsvm.chunked.problem import (
    ChunkedKernelProblem,
    ChunkedProblem,
    chunked_kernel_problem,
    chunked_problem,
)
from qpsvm.chunked.solution import ChunkedSolution, PassStatistics
from qpsvm.chunked.sources import chunked, is_chunked, is_dask

__all__ = [
    "ChunkedCertificate",
    "ChunkedKernelProblem",
    "ChunkedProblem",
    "ChunkedReport",
    "ChunkedSamples",
    "ChunkedSolution",
    "Expansion",
    "PassStatistics",
    "chunked",
    "chunked_kernel_problem",
    "chunked_problem",
    "is_chunked",
    "is_dask",
]
