"""Public arguments: types of what callers may pass, checks, and messages for wrong calls."""

from __future__ import annotations

import functools
import inspect
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NoReturn,
    ParamSpec,
    Self,
    TypeAlias,
    TypeGuard,
    TypeVar,
)

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from qpsvm.exceptions import InvalidParameterError, MissingArgumentError, UnknownParameterError
from qpsvm.numerics.arrays import Array

SPELT_WITH_A_VOWEL = "AEFHILMNORSX"
"""Letters whose names begin with a vowel: an SVC, an NPZ file, but a QP."""

SPELT = ("rbf", "ndarray")
"""Names in lower case of which the first letter is spelt."""


def an(thing: object) -> str:
    """Return the name of a thing's type with its article.

    Examples
    --------
    >>> an(3), an([]), an("yes")
    ('an int', 'a list', 'a str')
    >>> with_article("SVC"), with_article("NuSVC"), with_article("ndarray")
    ('an SVC', 'a NuSVC', 'an ndarray')
    """
    return with_article(type(thing).__name__)


def with_article(name: str) -> str:
    """Return a name with "a" or "an" before it, by how its beginning is spoken."""
    is_spelt = name[:2].isupper() or name.startswith(SPELT)
    has_vowel = name[:1].upper() in (SPELT_WITH_A_VOWEL if is_spelt else "AEIOU")
    return f"{'an' if has_vowel else 'a'} {name}"


VectorLike: TypeAlias = npt.ArrayLike
"""Numbers in one row: an array, a list, a column of a DataFrame; a number where all are equal."""

MatrixLike: TypeAlias = npt.ArrayLike | sp.sparray | sp.spmatrix
"""A table of numbers: an array, a sparse matrix, a DataFrame, a list of rows."""

Samples: TypeAlias = MatrixLike | Sequence[object]
"""Samples: a table of numbers with one in each row, or a list of objects for some kernels."""

Targets: TypeAlias = npt.ArrayLike | Sequence[object]
"""One label, target or group per sample: an array, a list, a column of a DataFrame."""

Weights: TypeAlias = VectorLike
"""One factor per sample, not negative."""

Labels: TypeAlias = Array
"""Labels, targets or groups as an array, of whatever dtype they came in."""


def is_real_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number that is a float, infinity included; no boolean."""
    if isinstance(value, int | np.integer):
        return not isinstance(value, bool) and abs(int(value)) <= sys.float_info.max
    return isinstance(value, float | np.floating)


def is_finite_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number; no boolean."""
    return is_real_number(value) and math.isfinite(value)


def require_flag(value: object, name: str) -> None:
    """Raise InvalidParameterError unless value is True or False.

    Examples
    --------
    >>> require_flag(np.bool_(True), "verbose")
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameterError(f"{name} is {value!r}; pass True or False.")


def is_false(answer: object) -> bool:
    """Return whether a callback's answer is False: Python's or, as of ``gap > 1e-3``, NumPy's.

    Examples
    --------
    >>> is_false(False), is_false(np.float64(1.0) < 0.5), is_false(None), is_false(0)
    (True, True, False, False)
    """
    return isinstance(answer, bool | np.bool_) and not answer


def require_choice(value: object, choices: tuple[str, ...], name: str, hint: str = "") -> None:
    """Raise InvalidParameterError unless value is one of the choices, which are text.

    Examples
    --------
    >>> require_choice("hinge", ("hinge", "squared_hinge"), "loss")
    """
    # an array compares entry by entry, and has no truth value
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        words = f"{', '.join(others)} or {last}" if others else last
        raise InvalidParameterError(f"{name} is {value!r}; choose {words}{hint}.")


def require_path(value: object, name: str = "path") -> None:
    """Raise InvalidParameterError unless value is a text or a path object: no number, no array.

    Examples
    --------
    >>> require_path("heart.csv")
    """
    require_kind(value, str | os.PathLike, name, "the path of a file, a str or a pathlib.Path")


def require_kind(value: object, kind: Any, name: str, words: str) -> None:
    """Raise InvalidParameterError unless value is of a type, which words describe.

    Examples
    --------
    >>> require_kind([1.0], list | tuple, "values", "a list of numbers")
    """
    if not isinstance(value, kind):
        raise InvalidParameterError(f"{name} is {an(value)}; pass {words}.")


def scalar(value: Any) -> Any:
    """Unpack a NumPy array of zero dimensions to its scalar; return any other value as it is."""
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


# --- calls with wrong arguments, and methods that do not exist -----------------------------------


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Kind = TypeVar("Kind")
Remedy: TypeAlias = Callable[[str], str]

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("tol", "tolerance"), ("eps",)),
    **dict.fromkeys(("max_iter", "maxiter"), ("max_iterations",)),
    **dict.fromkeys(("solver", "method"), ("backend",)),
    **dict.fromkeys(("qid", "group"), ("groups",)),
    **dict.fromkeys(("d", "order"), ("degree",)),
    **{name: (f"gamma=1 / (2 * {name}**2)",) for name in ("sigma", "length_scale", "bandwidth")},
    "timeout": ("time_limit",),
    "Cs": ("C", "values"),
    "gammas": ("gamma",),
    "target": ("label",),
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


def explains_calls(
    function: Callable[Arguments, Result], remedy: Remedy | None = None
) -> Callable[Arguments, Result]:
    """Make a function name its parameters where it is called with others.

    Parameters
    ----------
    function : callable
    remedy : callable, optional
        Returns a sentence on what to do in place of a keyword; where it is empty, the message names
        a parameter that is spelt alike, or that other libraries call so.

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
                _explain(own_name, signature, args, keywords, remedy)
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


class ExplainsConstructor:
    """Base of classes that name their parameters, also in subclasses, where others are given."""

    __slots__ = ()

    @classmethod
    def _remedy_for(cls, keyword: str) -> str:
        """Suggest a replacement for an unknown parameter in a sentence; empty if there is none."""
        del keyword
        return ""

    @classmethod
    def _require_parameters(cls, args: tuple[object, ...], keywords: Mapping[str, object]) -> None:
        """Refuse unknown arguments of the constructor, and name what takes their place."""
        kind: type = cls
        signature = _constructor(kind)
        if args or not keywords.keys() <= signature.parameters.keys():
            try:
                signature.bind_partial(None, *args, **keywords)
            except TypeError:
                _explain(cls.__name__, signature, (None, *args), keywords, cls._remedy_for)

    def __new__(cls, *args: object, **keywords: object) -> Self:
        cls._require_parameters(args, keywords)
        return super().__new__(cls)


@functools.cache
def _constructor(kind: type) -> inspect.Signature:
    return inspect.signature(kind.__init__)  # type: ignore[misc]


def _explain(
    name: str,
    signature: inspect.Signature,
    args: tuple[object, ...],
    keywords: Mapping[str, object],
    remedy: Remedy | None = None,
) -> None:
    """Raise an InvalidParameterError that names the unknown, missing or repeated argument."""
    parameters = {p.name: p for p in signature.parameters.values() if p.name != "self"}
    args = args[len(signature.parameters) - len(parameters) :]
    own = f"Its parameters: {', '.join(parameters)}." if parameters else "It has none."
    for keyword in keywords:
        if keyword not in parameters:
            sentence = "" if remedy is None else remedy(keyword)
            hint = f". {sentence}" if sentence else f"{instead(keyword, list(parameters))}."
            raise UnknownParameterError(f"{name}() has no parameter {keyword!r}{hint} {own}")
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
