"""Suites of SVM programs, solved by anything and compared at equal certified accuracy."""

from qpsvm.lazy import lazy_names, modules_of

__getattr__, __dir__ = lazy_names(
    __name__,
    modules_of(
        __name__,
        "cells",
        "compare",
        "contestants",
        "data",
        "exchange",
        "judge",
        "metrics",
        "plan",
        "report",
        "rows",
        "runner",
        "store",
        "suites",
        "worker",
    ),
)
