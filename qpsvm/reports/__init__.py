"""Reports on solved problems, as text, JSON, HTML, Markdown and LaTeX.

::

    from qpsvm import reports

    report = reports.build(problem, solution)
    print(report)                           # plain text
    reports.write("report.html", report)    # or .json, .md, .tex, .txt
    report.pictures[0].figure().savefig("histogram.pdf")

Importing this needs nothing beyond qpsvm's own dependencies; Jinja2 and Matplotlib, the extra
``qpsvm[report]``, are imported when a page is rendered. The JSON is described in
``docs/report.md`` and by ``qpsvm.reports.schema()``.
"""

from qpsvm.reports.build import build
from qpsvm.reports.comparison import Comparison, ComparisonRow
from qpsvm.reports.content import Facts
from qpsvm.reports.dictionary import SCHEMA, schema
from qpsvm.reports.files import require_reportable, require_writable, text_of, write
from qpsvm.reports.page import Page
from qpsvm.reports.report import Report
from qpsvm.reports.templating import require_packages

__all__ = [
    "SCHEMA",
    "Comparison",
    "ComparisonRow",
    "Facts",
    "Page",
    "Report",
    "build",
    "require_packages",
    "require_reportable",
    "require_writable",
    "schema",
    "text_of",
    "write",
]
