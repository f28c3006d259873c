"""Rows of a benchmark's result file: one measurement each, as plain values."""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from benchmarks.cells import Cell, Instance

SCHEMA = 1
"""Version of the store's format; readers refuse others."""


@dataclass(frozen=True)
class Row:
    """One cell and its outcome. Seconds are wall clock unless they say otherwise; NaN is unknown.

    Attributes
    ----------
    cell : Cell
    outcome : str
        One of ``OUTCOMES``.
    claimed : str
        The status the solver claims, as a ``qpsvm.qp.Status`` value, or its own words.
    verified : str
        What ``qpsvm.verify`` says of the answer at ``cell.eps``: ``pass``, ``fail`` or nothing.
    gap : float
        Certified relative gap of the answer with its own multipliers; inf without any.
    primal, dual : float
        The objective of the machine as it predicts, and the lower bound of its own multipliers:
        both are bounds on the optimum, whoever found them.
    size : float
        What gaps of this program are divided by: ``max(|primal|, floor)``.
    residuals : mapping of str to float
        Every check of the verifier by name, in units of its tolerance's scale.
    build_seconds, setup_seconds, solve_seconds : float
        The program from the samples, the solver's preparation, its work, as far as known.
    total_seconds : float
        From the samples to the answer: everything a user waits for, nothing of the judging.
    cpu_seconds : float
        Processor time of the same work, all threads: several threads make it more than
        ``total_seconds``, a busy machine less.
    judge_seconds : float
    iterations : int or None
    peak_bytes : float
        Largest memory of the process, samples included.
    data_bytes : float
        What the samples take.
    n, d : int
        Samples and features.
    density : float
        Share of entries of X that are not zero.
    form : str
        ``primal``, ``dual``, or empty where that is the contestant's own affair.
    problem_hash : str
        Of samples, labels, weights and parameters.
    version, settings : str and mapping
        Of the solver, and everything it was told.
    suite, machine, qpsvm : str, mapping and str
        Where it was measured; version of this package.
    load : float
        Load average of the machine when the cell began.
    message : str
        Of an error or a limit, in words.
    traceback : str
        Where an exception was raised, as Python prints it, with files named by their last folder;
        of a process that ended, the last of what it wrote to its standard error.
    """

    cell: Cell
    outcome: str
    claimed: str = ""
    verified: str = ""
    gap: float = math.inf
    primal: float = math.nan
    dual: float = math.nan
    size: float = math.nan
    residuals: Mapping[str, float] = field(default_factory=dict)
    build_seconds: float = math.nan
    setup_seconds: float = math.nan
    solve_seconds: float = math.nan
    total_seconds: float = math.nan
    cpu_seconds: float = math.nan
    judge_seconds: float = math.nan
    iterations: int | None = None
    peak_bytes: float = math.nan
    data_bytes: float = math.nan
    n: int = 0
    d: int = 0
    density: float = math.nan
    form: str = ""
    problem_hash: str = ""
    version: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    suite: str = ""
    machine: Mapping[str, object] = field(default_factory=dict)
    qpsvm: str = ""
    load: float = math.nan
    message: str = ""
    traceback: str = ""

    @property
    def instance(self) -> Instance:
        """The program of the cell."""
        return self.cell.instance

    @property
    def contestant(self) -> str:
        """The contestant of the cell."""
        return self.cell.contestant

    def to_dict(self) -> dict[str, object]:
        """Return JSON values in the order of the fields, infinite and unknown numbers as texts."""
        return {"schema": SCHEMA, "key": self.cell.key, **plain(asdict(self))}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Row:
        """Return the row that ``to_dict`` wrote; unknown keys are left out."""
        known = {
            # a text that spells a number stays a text
            f.name: _number(values[f.name]) if f.type == "float" else values[f.name]
            for f in fields(cls)
            if f.name in values
        }
        known["residuals"] = {k: _number(v) for k, v in known.get("residuals", {}).items()}
        return cls(**{**known, "cell": Cell.from_dict(values["cell"])})


OUTCOMES: Mapping[str, str] = {
    "optimal": "claims an optimum, and the verifier agrees",
    "false optimal": "claims an optimum to eps, and the verifier refutes it",
    "above eps": "met its own stopping rule, which is not eps, and is not within eps",
    "undecided": "claims an optimum; without multipliers, or within rounding, nothing refutes it",
    "inaccurate": "does not claim an optimum",
    "unclaimed optimal": "does not claim an optimum, and has one",
    "infeasible": "says that there is no optimum, with a proof that was checked",
    "unproven infeasible": "says that there is no optimum, and has no proof that holds",
    "false infeasible": "says that there is no optimum, where there is one",
    "time limit": "stopped, or was stopped, by the clock",
    "memory limit": "needed more memory than it was given",
    "crash": "the process ended without an answer",
    "error": "an exception",
    "not measured": "samples that cannot be loaded, or an answer that could not be judged",
    "unsupported": "does not take this program",
    "not installed": "the package is missing",
    "not run": "left out: at a looser tolerance it was cut off, or had reached the tightest target",
}


FALSE = frozenset({"false optimal", "false infeasible"})
"""Outcomes of claims that were refuted."""


def plain(value: object) -> Any:
    """Return JSON values: infinite and unknown numbers as texts, anything unknown in words."""
    match value:
        case Mapping():
            return {str(k): plain(v) for k, v in value.items()}
        case list() | tuple():
            return [plain(v) for v in value]
        case float() if not math.isfinite(value):
            return repr(float(value))  # or NumPy's numbers would say their type
        case None | str() | int() | float():
            return value
        case np.generic():
            return plain(value.item())
        case _:
            return repr(value)


def _number(value: object) -> Any:
    return float(value) if value in ("nan", "inf", "-inf") else value


# --- tracebacks -----------------------------------------------------------------------------------

LONGEST = 4000
"""Characters of a traceback that are kept, from its end, where the exception is."""

FOLDERS = re.compile(r'File ".*?([^/\\"]+[/\\][^/\\"]+)"')
"""A path in a traceback; only its last folder and the file are kept."""


def calls(error: BaseException) -> str:
    """Return the traceback of an exception as Python prints it, shortened."""
    return shortened("".join(traceback.format_exception(error)))


def shortened(text: str) -> str:
    """Shorten the paths in a traceback, and cut its beginning if it is long.

    Examples
    --------
    >>> shortened('  File "/home/me/lib/solver/fit.py", line 3, in fit')
    '  File "solver/fit.py", line 3, in fit'
    """
    return FOLDERS.sub(r'File "\1"', text)[-LONGEST:]
