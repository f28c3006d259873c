"""Export and import of programs: NPZ, QPS, Parquet and LaTeX.

==============  ===================================  =============================================
format          functions                            what survives
==============  ===================================  =============================================
NPZ             ``write_npz``, ``read_npz``          everything, to the bit, storage included
QPS (free MPS)  ``write_qps``, ``read_qps``          every number; not names, not how P is stored
Parquet         ``write_parquet``, ``read_parquet``  every number that matters; everything dense
LaTeX           ``latex``                            the formula, with shapes
==============  ===================================  =============================================

A structured Hessian is evaluated, except that NPZ keeps a low-rank one as its factor. Files are
written completely or not at all, and read without trusting them. Decision 4 says why these formats.
"""

from qpsvm.qp.exchange.npz import read_npz, write_npz
from qpsvm.qp.exchange.parquet import read_parquet, write_parquet
from qpsvm.qp.exchange.qps import read_qps, write_qps
from qpsvm.qp.exchange.tex import latex

__all__ = [
    "latex",
    "read_npz",
    "read_parquet",
    "read_qps",
    "write_npz",
    "write_parquet",
    "write_qps",
]
