"""Strict readers of other libraries' model files, safe for untrusted input.

::

    model = read_model("a9a.model")          # LIBSVM, ThunderSVM, LIBLINEAR, JSON, NPZ, qpsvm
    model.training_rows(X, y)                # which rows its support vectors are

Sizes are checked before anything is read, and counts are compared with the size of the file before
anything is allocated, so that time and memory are linear in the file. ``qpsvm.audit`` turns the
content of a file into programs.
"""

from qpsvm.audits.files.arrays import ArrayModel
from qpsvm.audits.files.liblinear import LiblinearModel
from qpsvm.audits.files.libsvm import LibsvmModel
from qpsvm.audits.files.reading import read_model
from qpsvm.audits.files.rows import match_rows

__all__ = ["ArrayModel", "LiblinearModel", "LibsvmModel", "match_rows", "read_model"]
