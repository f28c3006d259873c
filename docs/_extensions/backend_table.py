"""The directive ``backend-table``: every backend as the registry describes it.

Nothing of it depends on what is installed: names, licences, capabilities and the names of a
solver's tolerances are data of the package.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

import qpsvm
from qpsvm.backends.solver_table import BEHIND_CVXPY, BEHIND_QPSOLVERS

OWN = {
    "cvxopt": "abstol, reltol, feastol",
    "osqp": "eps_abs, eps_rel, eps_prim_inf, eps_dual_inf",
    "cvxpy": "those of the solver that CVXPY chooses",
    "slsqp": "ftol",
    "ipm": "relative gap, residuals",
    "active-set": "relative gap",
}
"""Tolerances of the backends that are a module of their own."""
CAPABILITIES = {
    "sparse": "sparse",
    "bounds": "bounds",
    "warm_start": "warm start",
    "time_limit": "time limit",
    "iteration_limit": "iteration limit",
    "callback": "callback",
    "certificates": "certificates",
}
HEAD = ("backend", "licence", "set from eps", "takes")


def tolerances(name: str) -> str:
    """Names of the solver's settings that ``eps`` sets, as the solver calls them."""
    package, _, solver = name.partition(":")
    if not solver:
        return OWN[name]
    about = (BEHIND_CVXPY if package == "cvxpy" else BEHIND_QPSOLVERS).get(solver)
    return ", ".join(about.tolerances.split()) if about and about.tolerances else "none"


def rows() -> list[tuple[str, ...]]:
    """One row per backend, in the order of ``qpsvm.backends.available()``."""
    found = []
    for info in qpsvm.backends.available():
        able = [word for field, word in CAPABILITIES.items() if getattr(info.capabilities, field)]
        if not info.capabilities.quadratic_programs:
            able.append("linear programs only")
        if not info.capabilities.linear_programs:
            able.append("no linear programs")
        found.append((info.name, info.licence, tolerances(info.name), ", ".join(able)))
    return found


class BackendTable(Directive):
    """A table of all backends."""

    def run(self) -> list[nodes.Node]:
        """Build the table."""
        table = nodes.table(classes=["backends"])
        group = nodes.tgroup(cols=len(HEAD))
        table += group
        for _ in HEAD:
            group += nodes.colspec(colwidth=20)
        head, body = nodes.thead(), nodes.tbody()
        group += head
        group += body
        head += self.row(HEAD, code=())
        for row in rows():
            body += self.row(row, code=(0, 2))
        return [table]

    @staticmethod
    def row(cells: tuple[str, ...], code: tuple[int, ...]) -> nodes.row:
        """Build one row, with some cells as code."""
        row = nodes.row()
        for i, text in enumerate(cells):
            entry = nodes.entry()
            is_code = i in code and text not in ("none", OWN["cvxpy"])
            entry += nodes.paragraph(
                "", "", nodes.literal(text, text) if is_code else nodes.Text(text)
            )
            row += entry
        return row


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("backend-table", BackendTable)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
