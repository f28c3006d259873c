"""One solved problem, gathered for a page or a JSON file."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from qpsvm.data import BinaryTrainingSet
from qpsvm.exceptions import InvalidParameterError
from qpsvm.files import json_text
from qpsvm.machines import SVMProblem, SVMSolution
from qpsvm.qp.solution import SolveStatistics
from qpsvm.reports.comparison import Comparison
from qpsvm.verification import KKTReport

SCHEMA = 1
"""Version of the JSON; it grows with every change that could break a reader."""


@dataclass(frozen=True, eq=False)
class Report:
    """What was solved, by whom, and what the verifier says.

    Attributes
    ----------
    source : str
        Where the data came from, in words.
    family, form, kernel : str
    n_samples, n_features, n_variables : int
    storage : "dense" or "sparse"
    classes : tuple
        The two labels, (negative, positive).
    class_counts : tuple of int
    status, native_status : str
        The verified status, and the solver's own words.
    statistics : SolveStatistics
    verified : KKTReport
    accuracy : float
        Fraction of the training samples on the right side.
    versions : mapping
    """

    source: str
    family: str
    form: str
    kernel: str
    n_samples: int
    n_features: int
    n_variables: int
    storage: str
    classes: tuple[Any, Any]
    class_counts: tuple[int, int]
    status: str
    native_status: str
    statistics: SolveStatistics
    verified: KKTReport
    accuracy: float
    versions: Mapping[str, str]

    @property
    def passed(self) -> bool:
        """The verifier's verdict."""
        return self.verified.passed

    @property
    def relative_gap(self) -> float:
        """The certified relative gap."""
        return self.verified.relative_gap

    def samples(self) -> list[dict[str, Any]]:
        """One row per training sample, worst violation first."""
        table = self.verified.samples
        return [] if table is None else [table.row(int(i)) for i in table.worst_first()]

    def to_dict(self, *, samples: bool = False) -> dict[str, Any]:
        """Everything in plain Python types; strict JSON.

        Parameters
        ----------
        samples : bool
            Include the table of training samples, worst violation first.

        Notes
        -----
        NaN and infinities, which JSON lacks, are the strings ``"NaN"``, ``"Infinity"`` and
        ``"-Infinity"``; Python's ``float`` reads them.
        """
        verified = self.verified.to_dict()
        solver = {
            "backend": self.statistics.backend,
            "version": self.statistics.version,
            "status": self.status,
            "native_status": self.native_status,
            "iterations": self.statistics.iterations,
            "setup_seconds": self.statistics.setup_seconds,
            "solve_seconds": self.statistics.solve_seconds,
            "polished": self.statistics.polished,
            "escalated": self.statistics.escalated,
            "settings": dict(self.statistics.settings),
            "note": self.statistics.note,
        }
        result = {
            "schema": SCHEMA,
            "passed": self.passed,
            "eps": self.verified.eps,
            "problem": {
                "family": self.family,
                "form": self.form,
                "kernel": self.kernel,
                "n_variables": self.n_variables,
            },
            "data": {
                "source": self.source,
                "n_samples": self.n_samples,
                "n_features": self.n_features,
                "storage": self.storage,
                "classes": list(self.classes),
                "class_counts": list(self.class_counts),
            },
            "solver": solver,
            "versions": dict(self.versions),
            "accuracy": self.accuracy,
            "objective": verified["objective"],
            "relative_gap": verified["relative_gap"],
            "checks": verified["checks"],
            "certificate": verified["certificate"],
            "summary": verified["summary"],
            "notes": verified["notes"],
        }
        if samples:
            result["samples"] = self.samples()
        return dict(json_text.plain(result))


@dataclass(frozen=True, eq=False)
class Page:
    """What one HTML page shows.

    Attributes
    ----------
    title, subtitle : str
    reports : tuple of Report
    comparison : Comparison or None
    left_out : tuple of str
        What was not compared, and why.
    """

    title: str
    subtitle: str
    reports: tuple[Report, ...]
    comparison: Comparison | None = None
    left_out: tuple[str, ...] = field(default_factory=tuple)

    @property
    def passed(self) -> bool:
        """Every verdict on the page."""
        compared = self.comparison is None or self.comparison.passed
        return compared and all(report.passed for report in self.reports)


def build(
    problem: SVMProblem, solution: SVMSolution, verified: KKTReport, *, source: str = ""
) -> Report:
    """Gather a report.

    Parameters
    ----------
    problem, solution : SVMProblem, SVMSolution
    verified : KKTReport
        What ``qpsvm.verify(problem, solution)`` returned.
    source : str
        Where the data came from, in words.

    Raises
    ------
    InvalidParameterError
        The problem is not about two classes, or its margins are not at -1 and +1.
    """
    data = problem.data
    if not isinstance(data, BinaryTrainingSet) or problem.model.conditions.width:
        raise InvalidParameterError(
            "A report page is about a two-class machine with its margins at -1 and +1, and this is "
            f"{problem.family}; print the KKTReport, or use its to_dict()."
        )
    table = verified.samples
    # a decision value of exactly zero predicts the negative class
    right = 0.0 if table is None else np.mean((table.decision > 0.0) == (data.signs > 0.0))
    negative, positive = data.classes.tolist()
    return Report(
        source=source,
        family=problem.family,
        form=problem.form,
        kernel=str(problem.kernel),
        n_samples=data.n_samples,
        n_features=data.n_features,
        n_variables=problem.qp.n_variables,
        storage="sparse" if sp.issparse(data.X) else "dense",
        classes=(negative, positive),
        class_counts=(int((data.signs < 0).sum()), int((data.signs > 0).sum())),
        status=solution.status.value,
        native_status=solution.qp.native_status,
        statistics=solution.qp.statistics,
        verified=verified,
        accuracy=float(right),
        versions=_versions(),
    )


def _versions() -> dict[str, str]:
    versions = {"Python": platform.python_version()}
    return {n: importlib.metadata.version(n) for n in ("qpsvm", "numpy", "scipy")} | versions
