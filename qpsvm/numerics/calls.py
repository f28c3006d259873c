"""Errors for calls of public functions with arguments, and of methods, that there are not."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar, NoReturn, ParamSpec, TypeVar

from qpsvm.exceptions import MissingArgumentError, UnknownParameterError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "tol": ("eps",),
    "tolerance": ("eps",),
    "max_iter": ("max_iterations",),
    "maxiter": ("max_iterations",),
    "solver": ("backend",),
    "method": ("backend",),
    "timeout": ("time_limit",),
    "Cs": ("C", "values"),
    "gammas": ("gamma",),
    "qid": ("groups",),
    "group": ("groups",),
    "target": ("label",),
}
"""Names that other libraries use, and what qpsvm's functions call the same thing."""

METHODS = ("fit", "fit_predict", "predict", "decision_function", "score", "solve", "verify")
"""Method names that formulations, problems and programs lack, and explain when they are called."""


class ExplainsMethods:
    """Base of classes that name what is to be called in place of a method they do not have."""

    __slots__ = ()
    _instead: ClassVar[str] = (
        "qpsvm.solve(problem) returns its solution, which predicts if the problem has samples, and "
        "qpsvm.verify(problem, solution) verifies it. The estimators, such as "
        "qpsvm.estimators.SVC, have fit and predict."
    )

    if not TYPE_CHECKING:  # a type checker is to find names that there are not

        def __getattr__(self, name: str) -> NoReturn:
            kind = type(self).__name__
            hint = f"; {self._instead.format(kind)}" if name in METHODS else ""
            message = f"{kind!r} object has no attribute {name!r}{hint}"
            raise AttributeError(message, name=name, obj=self)


def explains_calls(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make a function name its parameters where it is called with others.

    Examples
    --------
    >>> @explains_calls
    ... def solve(problem, *, eps=1e-8):
    ...     return eps
    >>> solve("program", tol=1e-6)
    Traceback (most recent call last):
    ...
    qpsvm.exceptions.UnknownParameterError: solve() has no parameter 'tol'; use eps. Its parameters: problem, eps.
    """  # noqa: E501 - a doctest's output cannot be broken
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        try:
            signature.bind(*args, **keywords)
        except TypeError:
            _explain(function.__name__, signature, args, keywords)
            raise
        return function(*args, **keywords)

    return checked


def _explain(
    name: str,
    signature: inspect.Signature,
    args: tuple[object, ...],
    keywords: Mapping[str, object],
) -> None:
    """Raise an error that names the argument which does not fit."""
    parameters = signature.parameters
    own = f"Its parameters: {', '.join(p for p in parameters if p != 'self')}."
    for keyword in keywords:
        if keyword not in parameters:
            raise UnknownParameterError(
                f"{name}() has no parameter {keyword!r}{_instead(keyword, list(parameters))}. {own}"
            )
    positional = [p for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
    if len(args) > len(positional):
        raise UnknownParameterError(
            f"{name}() takes {', '.join(p.name for p in positional)} by position, and got "
            f"{len(args)} arguments; pass the others by name. {own}"
        )
    given = {p.name for p in positional[: len(args)]} | set(keywords)
    missing = [p.name for p in parameters.values() if p.default is p.empty and p.name not in given]
    if missing:
        raise MissingArgumentError(f"{name}() is called without {' and '.join(missing)}. {own}")


def _instead(keyword: str, known: list[str]) -> str:
    """Name the parameter that is meant: a synonym, or one that is spelt alike."""
    meant = [name for name in SYNONYMS.get(keyword, ()) if name in known]
    near = meant or get_close_matches(keyword, known, 1, 0.7)
    return f"; use {near[0]}" if near else ""
