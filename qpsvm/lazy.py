"""Packages whose names are imported on first use.

``import qpsvm`` stays quick because of it, and still every public name can be reached from there.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Build ``__getattr__`` and ``__dir__`` of a package whose names are imported on first use.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    places : mapping of str to str
        Where each name is: ``"package.module"`` for a module, ``"package.module:name"`` for what is
        in one.

    Returns
    -------
    __getattr__, __dir__ : functions
        To be assigned in the package (PEP 562). A name that was used once is an ordinary attribute.

    Examples
    --------
    >>> find, names = lazy_names("qpsvm.lazy", {"RBF": "qpsvm.kernels:RBF"})
    >>> find("RBF")(gamma=0.5)
    RBF(gamma=0.5)
    >>> "RBF" in names()
    True
    """

    def find(name: str) -> Any:
        module = sys.modules[package]
        if name not in places:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}", name=name, obj=module
            )
        source, _, attribute = places[name].partition(":")
        value = importlib.import_module(source)
        found = getattr(value, attribute) if attribute else value
        setattr(module, name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return find, names


def modules_of(package: str, *names: str) -> dict[str, str]:
    """Full names of a package's modules by their short names, for ``lazy_names``.

    Examples
    --------
    >>> modules_of("qpsvm", "models", "reports")
    {'models': 'qpsvm.models', 'reports': 'qpsvm.reports'}
    """
    return {name: f"{package}.{name}" for name in names}
