"""Packages whose names are imported on first use.

``import qpsvm`` stays quick because of it, and still every public name can be reached from there.
"""

from __future__ import annotations

import importlib
import importlib.util
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
            message = f"module {package!r} has no attribute {name!r}{_elsewhere(package, name)}"
            raise AttributeError(message, name=name, obj=module)
        source, _, attribute = places[name].partition(":")
        value = importlib.import_module(source)
        found = getattr(value, attribute) if attribute else value
        setattr(module, name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return find, names


def _elsewhere(package: str, name: str) -> str:
    """Name the module of a package in which there is what was looked for in the package itself."""
    if name.startswith("_"):
        return ""
    module = sys.modules[package]
    for part in getattr(module, "__all__", ()):
        if part.islower() and importlib.util.find_spec(f"{package}.{part}") is not None:
            found = importlib.import_module(f"{package}.{part}")
            if name in getattr(found, "__all__", ()):
                return f"; it is {package}.{part}.{name}"
    return ""


def modules_of(package: str, *names: str) -> dict[str, str]:
    """Full names of a package's modules by their short names, for ``lazy_names``.

    Examples
    --------
    >>> modules_of("qpsvm", "models", "reports")
    {'models': 'qpsvm.models', 'reports': 'qpsvm.reports'}
    """
    return {name: f"{package}.{name}" for name in names}
