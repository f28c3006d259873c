"""Every format of reports, for whatever can be written as a page."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod

from qpsvm.reports.files import text_of, write
from qpsvm.reports.page import Page


class Formats(ABC):
    """Base class of what is shown as text, JSON, HTML, Markdown and LaTeX."""

    @abstractmethod
    def as_page(self) -> Page:
        """What is written: one report, or several with a title."""

    def to_json(self) -> str:
        """The page by the schema of ``docs/report.md``, with every training sample, as text."""
        return text_of(self.as_page(), "json")

    def to_text(self) -> str:
        """For a terminal or a log: plain text."""
        return text_of(self.as_page(), "txt")

    def to_html(self) -> str:
        """One page that needs nothing else.

        Raises
        ------
        MissingPackageError
            Jinja2 or Matplotlib, the extra ``qpsvm[report]``, is not installed.
        """
        return text_of(self.as_page(), "html")

    def to_markdown(self) -> str:
        """GitHub's Markdown; errors as ``to_html``."""
        return text_of(self.as_page(), "md")

    def to_latex(self) -> str:
        """Return a complete LaTeX document with tables; raises what ``to_html`` raises."""
        return text_of(self.as_page(), "tex")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, completely or not at all; the suffix says how.

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
