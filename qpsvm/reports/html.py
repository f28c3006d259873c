"""A page that needs nothing else: one HTML file, pictures and styles inside.

Jinja2 escapes every text; pictures are data URIs with a light and a dark version.
"""

from __future__ import annotations

import base64
import importlib.util
import itertools
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from qpsvm.exceptions import MissingPackageError
from qpsvm.files import json_text
from qpsvm.reports.comparison import ComparisonRow
from qpsvm.reports.report import Page, Report

SHOWN_SAMPLES = 200
EMBEDDED_SAMPLES = 20_000

EXPLANATIONS = {
    "stationarity": "gradient of the Lagrangian",
    "inequality": "violated inequality rows",
    "equality": "violated equality rows",
    "lower_bound": "variables below their bound",
    "upper_bound": "variables above their bound",
    "multiplier_sign": "negative multipliers",
    "complementarity": "multiplier times slack",
    "duality_gap": "gap of the program's own solution",
    "natural": "distance to the nearer KKT case",
    "certified_gap": "gap of the classifier as it predicts",
    "feasibility": "samples inside a hard margin, constraints missed",
    "sample_kkt": "worst sample's KKT violation",
    "slack": "stated slack against decision values",
    "dual_repair": "what made alpha feasible",
    "intercept_interval": "stated intercepts against the best",
    "expansion": "stated coefficients against alpha",
    "rounding": "what floating point can hide in the objective",
    "weights": "coefficients that predict against alpha",
    "predictions": "what the file predicts with against what was verified",
}


def require_packages() -> None:
    """Raise unless Jinja2 and Matplotlib are there.

    Raises
    ------
    MissingPackageError
        With the pip line.
    """
    missing = [name for name in ("jinja2", "matplotlib") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingPackageError(
            f"An HTML report needs {' and '.join(missing)}, not installed; run: "
            'pip install "qpsvm[report]" (a .json report needs neither).'
        )


def render(page: Page) -> str:
    """The page as the text of one HTML file.

    Raises
    ------
    MissingPackageError
        Jinja2 or Matplotlib is not installed.
    """
    require_packages()
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("qpsvm.reports", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figure"] = figure
    environment.filters["short"] = short
    environment.filters["by_program"] = _programs
    template = environment.get_template("page.html.j2")
    return template.render(
        page=page,
        sections=[_section(i, report) for i, report in enumerate(page.reports)],
        explanations=EXPLANATIONS,
        # a script element ends at "</": the one thing that escaping must prevent in there
        data=json_text.dumps(_embedded(page)).replace("<", "\\u003c"),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def figure(value: float | None, digits: int = 6) -> str:
    """A number for reading: 26.5255, 3.1e-09, infinite, and a dash for none."""
    if value is None:
        return "–"
    if math.isnan(value):
        return "not a number"
    return f"{value:.{digits}g}" if math.isfinite(value) else "infinite"


def short(value: float | None) -> str:
    """A residual: two digits and the power of ten."""
    if value is None:
        return "–"
    if value == 0.0:
        return "0"
    return f"{value:.1e}" if math.isfinite(value) else figure(value)


def _programs(rows: Iterable[ComparisonRow]) -> list[list[ComparisonRow]]:
    """Rows of the same program together, in their order."""
    return [list(group) for _, group in itertools.groupby(rows, lambda r: (r.kernel, r.form))]


def _section(number: int, report: Report) -> dict[str, Any]:
    table = report.verified.samples
    rows = report.samples()
    section: dict[str, Any] = {
        "id": f"report-{number + 1}",
        "report": report,
        "heading": report.kernel.replace("rbf", "RBF", 1),
        "meaning": gap_in_words(report),
        "rows": rows[:SHOWN_SAMPLES],
        "n_rows": len(rows),
        "embedded": len(rows) <= EMBEDDED_SAMPLES,
        "picture": None,
    }
    if table is not None:
        from qpsvm import plotting

        section["picture"] = {
            name: _data_uri(plotting.decision_histogram_svg(table, report.classes, dark=dark))
            for name, dark in (("light", False), ("dark", True))
        }
        section["alternative"] = plotting.describe_histogram(table, report.classes)
    return section


def gap_in_words(report: Report) -> str:
    """What the certified gap means, in one sentence."""
    certificate = report.verified.certificate
    if certificate is None or not math.isfinite(certificate.gap):
        return "No bound on the distance from the optimum could be computed."
    return (
        "Whatever the solver claims, the exact optimum lies between "
        f"{certificate.dual_objective:.12g} and {certificate.primal_objective:.12g}: this "
        f"classifier's objective is at most {max(certificate.gap, 0.0):.1e} above the best "
        f"possible one (relative gap {certificate.relative_gap:.1e}), up to rounding."
    )


def _embedded(page: Page) -> dict[str, Any]:
    return {
        "title": page.title,
        "comparison": None if page.comparison is None else page.comparison.to_dict(),
        "reports": [
            report.to_dict(samples=report.n_samples <= EMBEDDED_SAMPLES) for report in page.reports
        ],
    }


def _data_uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
