"""What was solved and how good it is, for people (HTML) and for programs (JSON).

Importing this needs nothing beyond qpsvm's own dependencies; Jinja2 and Matplotlib, the extra
``qpsvm[report]``, are imported when a page is rendered.
"""

from qpsvm.reports.comparison import Comparison, ComparisonRow
from qpsvm.reports.files import require_reportable, require_writable, write
from qpsvm.reports.html import render, require_packages
from qpsvm.reports.report import Page, Report, build

__all__ = [
    "Comparison",
    "ComparisonRow",
    "Page",
    "Report",
    "build",
    "render",
    "require_packages",
    "require_reportable",
    "require_writable",
    "write",
]
