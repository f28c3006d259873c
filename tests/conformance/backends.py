"""Which backends the suite runs on."""

from __future__ import annotations

from qpsvm.backends import available, get

REQUIRED = (
    "cvxopt",
    "osqp",
    "cvxpy",
    "cvxpy:CLARABEL",
    "cvxpy:OSQP",
    "cvxpy:SCS",
    "cvxpy:CVXOPT",
    "cvxpy:HIGHS",
    "cvxpy:PIQP",
    "cvxpy:PROXQP",
    "cvxpy:DAQP",
    "slsqp",
    "qpsolvers:clarabel",
    "qpsolvers:cvxopt",
    "qpsolvers:daqp",
    "qpsolvers:highs",
    "qpsolvers:osqp",
    "qpsolvers:piqp",
    "qpsolvers:proxqp",
    "qpsolvers:quadprog",
    "qpsolvers:scs",
)
"""What the dependencies and the extras of qpsvm provide: one that is missing fails the suite."""

CLASSICAL = tuple(info.name for info in available() if info.name.startswith("classical:"))
"""They take a box and one row; ``tests/classical/test_backends.py`` is their suite."""

OTHERS = tuple(
    info.name for info in available() if info.installed and info.name not in {*REQUIRED, *CLASSICAL}
)
"""Whatever else is installed here."""

ALL = REQUIRED + OTHERS
QUADRATIC = tuple(name for name in ALL if get(name).capabilities.quadratic_programs)
LINEAR = tuple(name for name in ALL if get(name).capabilities.linear_programs)

DEFINITE_ONLY = frozenset({"qpsolvers:quadprog", "qpsolvers:ecos"})
"""They factor P itself and must refuse a singular one with an UnsupportedProgramError."""

CONSTRAINED = frozenset({"cvxpy:SCS"})
"""They refuse a program without constraints, by an UnsupportedProgramError too."""
