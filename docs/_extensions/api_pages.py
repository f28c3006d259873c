"""Pages of the API reference: one for every public package, one for every public name.

A name is public if every step to it from ``qpsvm`` is in the ``__all__`` of the step before
(decision 9). The pages are written into ``docs/api/`` when the site is built.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import qpsvm

GROUPS = ("Classes", "Functions", "Data and types")


def public_names(module: ModuleType = qpsvm, path: str = "qpsvm") -> Iterator[tuple[str, Any]]:
    """Yield (dotted path, object) of every public name, packages first met first.

    An object with several public paths comes with each of them.
    """
    for name in sorted(getattr(module, "__all__", ())):
        value = getattr(module, name)
        yield f"{path}.{name}", value
        if isinstance(value, ModuleType):
            yield from public_names(value, f"{path}.{name}")


def shortest_paths() -> dict[int, str]:
    """Map the identity of every public object to the shortest of its public paths."""
    found: dict[int, str] = {}
    for path, value in public_names():
        known = found.get(id(value))
        if known is None or path.count(".") < known.count("."):
            found[id(value)] = path
    return found


def group_of(value: Any) -> str:
    """Name the group of a page's names to which an object belongs."""
    if inspect.isclass(value):
        return GROUPS[0]
    return GROUPS[1] if inspect.isroutine(value) or hasattr(value, "__wrapped__") else GROUPS[2]


def package_page(path: str, module: ModuleType, places: dict[int, str]) -> str:
    """Text of a package's page: its docstring and its names by group.

    A module without ``__all__`` has its classes and functions on the same page.
    """
    public = sorted(getattr(module, "__all__", ()))
    names = [n for n in public if not isinstance(getattr(module, n), ModuleType)]
    lines = [path, "=" * len(path), "", f".. automodule:: {path}"]
    lines += [""] if public else ["   :members:", ""]
    own = [n for n in names if places[id(getattr(module, n))] == f"{path}.{n}"]
    for group in GROUPS:
        members = [n for n in own if group_of(getattr(module, n)) == group]
        if members:
            lines += [f".. rubric:: {group}", "", ".. autosummary::", "   :toctree: names", ""]
            lines += [*(f"   {n}" for n in members), ""]
    elsewhere = [places[id(getattr(module, n))] for n in names if n not in own]
    if elsewhere:
        lines += [".. rubric:: Described elsewhere", ""]
        lines += [", ".join(f":py:obj:`{name}`" for name in elsewhere) + ".", ""]
    return "\n".join(lines) + "\n"


def index_page(packages: list[tuple[str, ModuleType]]) -> str:
    """Text of the first page of the reference."""
    lines = ["API reference", "=============", ""]
    lines += [
        "Every public name, by package: a name is public if every step to it from ``qpsvm`` is in",
        "the ``__all__`` of the step before (:doc:`decision 9 </decisions/0009-public-names>`).",
        "",
        ".. list-table::",
        "   :widths: 30 70",
        "",
    ]
    for path, module in packages:
        first = (module.__doc__ or "").strip().splitlines()[0]
        lines += [f"   * - :doc:`{path} <{path}>`", f"     - {first}"]
    lines += ["", ".. toctree::", "   :hidden:", ""]
    lines += [f"   {path}" for path, _ in packages]
    return "\n".join(lines) + "\n"


def write_pages(app: Any, config: Any) -> None:
    """Write the pages before Sphinx looks for pages; leave alone what would not change."""
    del config
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    places = shortest_paths()
    packages = [("qpsvm", qpsvm)]
    packages += [
        (path, value)
        for path, value in public_names()
        if isinstance(value, ModuleType) and places[id(value)] == path
    ]
    pages = {f"{path}.rst": package_page(path, value, places) for path, value in packages}
    pages["index.rst"] = index_page(packages)
    for old in folder.glob("*.rst"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        page = folder / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Write the pages when the configuration is known."""
    app.connect("config-inited", write_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
