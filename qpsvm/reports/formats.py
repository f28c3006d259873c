"""Base class with a method for each output format."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod

from qpsvm.reports.files import text_of, write
from qpsvm.reports.page import Page


class Formats(ABC):
    """Base class of objects that are shown as text, JSON, HTML, Markdown and LaTeX."""

    @abstractmethod
    def as_page(self) -> Page:
        """The page to write: one report, or several with a title."""

    def to_json(self) -> str:
        """Return JSON by the schema of ``docs/report.md``, with every training sample."""
        return text_of(self.as_page(), "json")

    def to_text(self) -> str:
        """Return plain text for a terminal or a log."""
        return text_of(self.as_page(), "txt")

    def to_html(self) -> str:
        """Return a self-contained HTML page.

        Raises
        ------
        MissingPackageError
            Jinja2 or Matplotlib, the extra ``qpsvm[report]``, is not installed.
        """
        return text_of(self.as_page(), "html")

    def to_markdown(self) -> str:
        """Return GitHub Markdown; raises what ``to_html`` raises."""
        return text_of(self.as_page(), "md")

    def to_latex(self) -> str:
        """Return a complete LaTeX document with tables; raises what ``to_html`` raises."""
        return text_of(self.as_page(), "tex")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, completely or not at all, in the format that the suffix selects.

        Parameters
        ----------
        path : path
            Ending in ``.html``, ``.htm``, ``.json``, ``.md``, ``.tex`` or ``.txt``.

        Raises
        ------
        InvalidParameterError
            Another suffix, or a path that cannot be written.
        MissingPackageError
            As ``to_html``.
        """
        write(path, self.as_page())
