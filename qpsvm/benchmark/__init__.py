"""Suites of SVM programs, solved by anything and compared at equal certified accuracy.

This package uses public names of qpsvm only, so that anybody could have written it.
"""

import importlib
from types import ModuleType

__all__ = [
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
]


def __getattr__(name: str) -> ModuleType:
    """Import a module of this package when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
