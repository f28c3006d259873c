"""Error messages for calls with wrong arguments and for methods that do not exist."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar, NoReturn, ParamSpec, TypeVar

from qpsvm.exceptions import MissingArgumentError, UnknownParameterError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Kind = TypeVar("Kind")

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
    "sigma": ("gamma=1 / (2 * sigma**2)",),
    "length_scale": ("gamma=1 / (2 * length_scale**2)",),
    "bandwidth": ("gamma=1 / (2 * bandwidth**2)",),
    "d": ("degree",),
    "order": ("degree",),
    "c": ("C", "coef0"),
    "r": ("coef0",),
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
            return function(*args, **keywords)
        except TypeError:
            try:
                signature.bind(*args, **keywords)
            except TypeError:  # the call itself was wrong, and nothing has run
                own_name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
                _explain(own_name, signature, args, keywords)
            raise

    return checked


def explains_constructor(kind: type[Kind]) -> type[Kind]:
    """Decorate a class so that a call with wrong arguments says which ones its constructor takes.

    Examples
    --------
    >>> @explains_constructor
    ... class RBF:
    ...     def __init__(self, gamma="scale"):
    ...         self.gamma = gamma
    >>> RBF(sigma=2.0)
    Traceback (most recent call last):
    ...
    qpsvm.exceptions.UnknownParameterError: RBF() has no parameter 'sigma'; use gamma=1 / (2 * sigma**2). Its parameters: gamma.
    """  # noqa: E501 - a doctest's output cannot be broken
    kind.__init__ = explains_calls(kind.__init__)  # type: ignore[method-assign]
    return kind


def require_positions(kind: type, args: tuple[object, ...], keywords: Mapping[str, object]) -> None:
    """Require that a class takes the arguments that are given by position.

    Raises
    ------
    UnknownParameterError
        It takes fewer, or one is given by name as well.
    """
    signature = _constructor(kind)
    try:
        signature.bind_partial(None, *args, **keywords)
    except TypeError:
        _explain(kind.__name__, signature, (None, *args), keywords)


@functools.cache
def _constructor(kind: type) -> inspect.Signature:
    return inspect.signature(kind.__init__)  # type: ignore[misc]


def _explain(
    name: str,
    signature: inspect.Signature,
    args: tuple[object, ...],
    keywords: Mapping[str, object],
) -> None:
    """Raise an InvalidParameterError that names the unknown, missing or repeated argument."""
    parameters = {p.name: p for p in signature.parameters.values() if p.name != "self"}
    args = args[len(signature.parameters) - len(parameters) :]
    own = f"Its parameters: {', '.join(parameters)}." if parameters else "It has none."
    for keyword in keywords:
        if keyword not in parameters:
            raise UnknownParameterError(
                f"{name}() has no parameter {keyword!r}{instead(keyword, list(parameters))}. {own}"
            )
    positional = [p for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
    if len(args) > len(positional):
        some = ", ".join(p.name for p in positional) or "nothing"
        raise UnknownParameterError(
            f"{name}() takes {some} by position, and {len(args)} arguments are given; pass "
            f"{'no others' if len(positional) == len(parameters) else 'the others by name'}. {own}"
        )
    given = {p.name for p in positional[: len(args)]}
    for name_twice in given.intersection(keywords):
        raise UnknownParameterError(
            f"{name}() gets {name_twice} twice, by position and by name; pass it once. {own}"
        )
    given |= set(keywords)
    missing = [p.name for p in parameters.values() if p.default is p.empty and p.name not in given]
    if missing:
        raise MissingArgumentError(f"{name}() is called without {' and '.join(missing)}. {own}")


def instead(keyword: str, known: Sequence[str]) -> str:
    """Name the parameter that is meant: a synonym, or one that is spelt alike."""
    synonyms = SYNONYMS.get(keyword, ())
    meant = [other for other in synonyms if other.partition("=")[0] in known]
    near = meant or get_close_matches(keyword, known, 1, 0.7)
    return f"; use {near[0]}" if near else ""
