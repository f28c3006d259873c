"""Self-contained HTML pages: one file with pictures, styles and scripts inside.

Jinja2 escapes every text; pictures are SVG as data URIs, which follow the reader's preference for
light or dark mode. The page's policy allows only its own scripts, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from qpsvm.io import json_text
from qpsvm.plotting import Picture
from qpsvm.reports.blocks import Document, Section, flat
from qpsvm.reports.comparison import Page
from qpsvm.reports.dictionary import n_rows, page_dict
from qpsvm.reports.document import document
from qpsvm.reports.grade import Tone, tone_of
from qpsvm.reports.markup import REPORT, Extra, now, resource, template

SHOWN_SAMPLES = 200
EMBEDDED_SAMPLES = 10_000
"""Rows of a report's sample tables, all machines together, that the page's JSON holds: 2.5 MB."""


def html(page: Page) -> str:
    """Convert a page to the text of one HTML file.

    Raises
    ------
    MissingPackageError
        Jinja2 or Matplotlib is not installed.
    """
    content = document(page, samples=SHOWN_SAMPLES)
    return html_of(
        content,
        contents=[section for _, section in flat(content.sections)],
        data=page_dict(page, samples=EMBEDDED_SAMPLES),
        embedded=_embedded(page),
    )


def html_of(
    content: Document,
    *,
    contents: Sequence[Section],
    data: object,
    embedded: str,
    name: str = "page.html.j2",
    package: str = "qpsvm.reports",
    style: str = "",
    before: Sequence[str] = (),
    scripts: Sequence[str] = (),
    extra: Extra = REPORT,
    **variables: object,
) -> str:
    """Write any document as the text of one HTML file that needs no other.

    Parameters
    ----------
    content : Document
        What is to be written.
    contents : sequence of Section
        Sections in the list of links.
    data : object
        What scripts read, as JSON in the element ``qpsvm-data``.
    embedded : str
        A sentence that says what ``data`` holds.
    name, package : str
        Template, and the package whose folder ``templates`` holds it; it may extend
        ``page.html.j2``.
    style : str
        Rules after those of every page.
    before, scripts : sequence of str
        Scripts before and after that of every page; no others run.
    extra : Extra
        Packages that must be installed.
    **variables
        What the template reads besides.

    Returns
    -------
    str
        The text of the file.

    Raises
    ------
    MissingPackageError
        A package of the extra is not installed.

    Examples
    --------
    >>> from qpsvm.reports.blocks import Listing
    >>> section = Section("kernels", "Kernels", None, (Listing("Names", (("rbf", "Gaussian"),)),))
    >>> content = Document("Overview", "", None, "", (section,), ())
    >>> page = html_of(content, contents=[section], data={}, embedded="It is empty.")
    >>> page.startswith("<!doctype html>"), "Gaussian" in page
    (True, True)
    """
    page = template(name, FILTERS, package=package, extra=extra, autoescape=True)
    all_scripts = (*before, resource("page.js"), *scripts)
    text = page.render(
        document=content,
        contents=contents,
        style=resource("page.css") + style,
        scripts=all_scripts,
        script_hashes=content_hashes(all_scripts),
        data=embedded_json(data),
        embedded=embedded,
        written=now(),
        **variables,
    )
    return str(text).lstrip()


def _embedded(page: Page) -> str:
    rows = [sum(map(n_rows, (report, *report.machines))) for report in page.reports]
    if max(rows, default=0) > EMBEDDED_SAMPLES:
        return "The element qpsvm-data holds all figures as JSON; a .json report all samples, too."
    return "The element qpsvm-data holds all figures and all samples as JSON."


def _data_uri(picture: Picture) -> str:
    svg = picture.svg(dark=None)
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


CLASSES: Mapping[Tone, str] = {"good": "pass", "neutral": "skipped", "bad": "fail"}
"""The colours of the style sheet."""

FILTERS: Mapping[str, Callable[..., str]] = {
    "data_uri": _data_uri,
    "sort_key": partial(json.dumps, default=float),  # NaN and infinities as JavaScript reads them
    "colours": lambda word: CLASSES[tone_of(word)],
}
"""What the templates of pages use."""


def content_hashes(scripts: tuple[str, ...]) -> str:
    """Hashes of scripts for a page's Content-Security-Policy."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def embedded_json(content: object) -> str:
    """JSON that is safe inside a script element: without ``</``."""
    return json_text.dumps(content).replace("<", "\\u003c")
