"""Reports of a store: in a terminal, as Markdown, as one HTML page that needs no network.

::

    from benchmarks import report, store

    summary = report.summarize(store.read("smoke.jsonl"))
    report.write("smoke.html", summary)         # or .md

All formats say the same; only the page can be filtered. Importing this needs nothing beyond qpsvm's
own dependencies; Jinja2 and Plotly, the extra ``qpsvm[bench]``, are imported when they are needed.
"""

from benchmarks.report.output import (
    print_comparison,
    print_summary,
    require_reportable,
    text_of,
    write,
)
from benchmarks.report.summary import Standing, Summary, summarize, targets_of

__all__ = [
    "Standing",
    "Summary",
    "print_comparison",
    "print_summary",
    "require_reportable",
    "summarize",
    "targets_of",
    "text_of",
    "write",
]
