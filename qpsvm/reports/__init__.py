"""Reports on solved problems, as text, JSON, HTML, Markdown and LaTeX.

::

    from qpsvm import reports

    report = reports.build(problem, solution)
    print(report)                           # plain text
    reports.write("report.html", report)    # or .json, .md, .tex, .txt
    report.pictures[0].figure().savefig("histogram.pdf")

Reports of other things are made of the same pieces: ``blocks`` has the document and its tables,
``numbers`` writes figures; ``html_of``, ``markdown_of`` and ``print_sections`` show any document.

Importing this needs nothing beyond qpsvm's own dependencies; Jinja2 and Matplotlib, the extra
``qpsvm[report]``, are imported when a page is rendered. The JSON is described in
``docs/report.md`` and by ``qpsvm.reports.schema()``.
"""

from qpsvm.reports import blocks, numbers
from qpsvm.reports.comparison import Comparison, ComparisonRow
from qpsvm.reports.content import Facts, Page
from qpsvm.reports.files import (
    require_reportable,
    require_writable,
    suffix_of,
    text_of,
    write,
    write_text,
)
from qpsvm.reports.markup import (
    Extra,
    html_of,
    markdown_of,
    print_sections,
    require_packages,
)
from qpsvm.reports.plain import SCHEMA, schema
from qpsvm.reports.report import Report, build

__all__ = [
    "SCHEMA",
    "Comparison",
    "ComparisonRow",
    "Extra",
    "Facts",
    "Page",
    "Report",
    "blocks",
    "build",
    "html_of",
    "markdown_of",
    "numbers",
    "print_sections",
    "require_packages",
    "require_reportable",
    "require_writable",
    "schema",
    "suffix_of",
    "text_of",
    "write",
    "write_text",
]
