"""Paths of machines along C, epsilon, nu or the width of a kernel.

Examples
--------
>>> import qpsvm
>>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1]
>>> path = qpsvm.paths.svm_path(X, y, C=[0.1, 1.0, 10.0], kernel="linear")
>>> bool(path.relative_gaps.max() < 1e-8)
True
"""

from qpsvm.paths.cover import CertifiedPath, certified_path
from qpsvm.paths.result import Event, Path, WidthPath
from qpsvm.paths.tracing import svm_path, width_path
from qpsvm.paths.training import PathSettings

__all__ = [
    "CertifiedPath",
    "Event",
    "Path",
    "PathSettings",
    "WidthPath",
    "certified_path",
    "svm_path",
    "width_path",
]
