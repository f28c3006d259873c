"""Cells: measurements to be made, of one contestant on one program at one accuracy.

Suites and rows write names with arguments, ``SoftMargin(C=1.0)``, ``a9a``. The text *is* the
identity of a thing in a suite, so there is one spelling of each: arguments by name, in alphabetical
order, values as Python writes them. Nothing is evaluated but literals.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from qpsvm.exceptions import SuiteError


@dataclass(frozen=True)
class Call:
    """A name and its arguments.

    Attributes
    ----------
    name : str
        May hold what names of backends hold: ``cvxpy:CLARABEL``.
    arguments : mapping of str to number, text, bool or None
    """

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        inside = ", ".join(f"{k}={self.arguments[k]!r}" for k in sorted(self.arguments))
        return f"{self.name}({inside})"


def parse(text: str | Call) -> Call:
    """Parse the text of a call, such as ``SoftMargin(C=1.0)``; a call remains what it is.

    Raises
    ------
    SuiteError
        Anything but a name, or a name with literal arguments by name.

    Examples
    --------
    >>> str(parse("SoftMargin(intercept='penalized', C=1)"))
    "SoftMargin(C=1, intercept='penalized')"
    """
    if isinstance(text, Call):
        return text
    name, opened, rest = text.strip().partition("(")
    if not name or any(c.isspace() or c in "'\",=)" for c in name):
        raise SuiteError(f"Not a name: {text!r}. Write name or name(key=value).")
    if not opened:
        return Call(name)
    try:
        call = ast.parse(f"f({rest}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError("arguments go by name")
        arguments = {}
        for keyword in call.keywords:
            if keyword.arg is None:
                raise ValueError("** is not read")
            arguments[keyword.arg] = ast.literal_eval(keyword.value)
    except (SyntaxError, ValueError) as error:
        raise SuiteError(
            f"Cannot read {text!r}: {error}. Write name(key=value) with numbers, texts, True, "
            "False or None as values."
        ) from error
    return Call(name, arguments)


def short_name(text: str) -> str:
    """Name of a contestant for readers: values of arguments, without quotes and brackets.

    Suites and rows have the whole text, which names the same contestant everywhere.

    Examples
    --------
    >>> short_name("cvxopt(form='dual')"), short_name("osqp(form='primal', max_iter=25)")
    ('cvxopt dual', 'osqp primal max_iter=25')
    >>> short_name("benchmarks/my_solver.py(memory=10)"), short_name("cvxopt(form='dual') [2 threads]")
    ('my_solver.py memory=10', 'cvxopt dual [2 threads]')
    """  # noqa: E501 - a doctest's line
    call_text, bracket, threads = text.partition(" [")
    call = parse(call_text)
    values = (
        value if isinstance(value, str) else f"{key}={value!r}"
        for key, value in call.arguments.items()
    )
    return " ".join([call.name.rpartition("/")[2], *values]) + bracket + threads


@dataclass(frozen=True, order=True)
class Instance:
    """One program of the benchmark, in any form. All fields are texts of calls.

    Attributes
    ----------
    family : str
        ``SoftMargin(C=1.0)``: a formulation with its parameters. Another kind of intercept is
        another program, and never shares a column with this one.
    data : str
        ``a9a``, ``synthetic(d=50, n=100000, seed=0)``.
    kernel : str
        ``linear``, ``rbf(gamma='scale')``.
    """

    family: str
    data: str
    kernel: str = "linear"

    def __str__(self) -> str:
        return f"{self.family}, {self.data}, {self.kernel}"


@dataclass(frozen=True, order=True)
class Cell:
    """One measurement to be made; equal cells are the same measurement.

    Attributes
    ----------
    instance : Instance
    contestant : str
        ``sklearn:SVC``, ``qpsolvers:piqp(form='primal')``.
    eps : float
        Relative accuracy asked for; what a peer calls its tolerance.
    repeat : int
        0, 1, ...
    seed : int
        Handed to contestants that draw random numbers.
    threads : int
        What BLAS and OpenMP are given.
    time_limit, memory_limit : float
        Seconds of wall clock and bytes; a cell that needs more becomes a row that says so.
    """

    instance: Instance
    contestant: str
    eps: float
    repeat: int = 0
    seed: int = 0
    threads: int = 1
    time_limit: float = 60.0
    memory_limit: float = 8e9

    @property
    def key(self) -> str:
        """A short name of the measurement, the same in every run and on every machine."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def sweep(self) -> Cell:
        """The cell without accuracy and repeat: the same for all cells of a sweep."""
        return replace(self, eps=math.inf, repeat=0)

    def to_dict(self) -> dict[str, object]:
        """Return JSON values, read back by ``from_dict``."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Cell:
        """Return the cell that ``to_dict`` wrote."""
        return cls(**{**values, "instance": Instance(**values["instance"])})
