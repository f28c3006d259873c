"""Names with arguments, as suites and rows write them: ``SoftMargin(C=1.0)``, ``a9a``.

The text *is* the identity of a thing in a suite, so there is one spelling of each: arguments by
name, in alphabetical order, values as Python writes them. Nothing is evaluated but literals.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

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


def parse(text: str) -> Call:
    """Parse the text of a call, such as ``SoftMargin(C=1.0)``.

    Raises
    ------
    SuiteError
        Anything but a name, or a name with literal arguments by name.

    Examples
    --------
    >>> str(parse("SoftMargin(intercept='penalized', C=1)"))
    "SoftMargin(C=1, intercept='penalized')"
    """
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
