"""Long names of the code break after a dot, an underscore or a bracket, never inside a word.

When the site is built, names get an invisible place to break (``<wbr>``): inline code, and links of
the navigation. What is copied from a page does not contain it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

NAME = re.compile(
    r'(<span class="pre">|<a class="reference internal" href="[^"]*">|<p class="prev-next-title">)'
    r"([^<>\s]+)(?=<)"
)
PLACE = re.compile(r"(?<=[\w)\]])([._/=(,:|])(?=[A-Za-z\"'\[{*])")


def with_breaks(text: str) -> str:
    """Add the places to break to the names of a page; a second time changes nothing."""
    return NAME.sub(lambda match: match[1] + PLACE.sub(r"\1<wbr>", match[2]), text)


def rewrite(app: Any, error: Exception | None) -> None:
    """Rewrite every page of the finished site but those with source code."""
    if error is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        if {"_source", "_static"}.isdisjoint(path.relative_to(app.outdir).parts):
            text = path.read_text(encoding="utf-8")
            changed = with_breaks(text)
            if changed != text:
                path.write_text(changed, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Rewrite pages when all are written."""
    app.connect("build-finished", rewrite)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
