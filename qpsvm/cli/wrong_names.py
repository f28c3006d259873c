"""Messages for words in place of a command or an estimator: they say what was meant."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from qpsvm.cli.estimator_options import ESTIMATORS


def no_such_command(word: str, commands: Sequence[str]) -> str:
    """Message for a word that is no command.

    Examples
    --------
    >>> no_such_command("svc", ["fit", "solve"])
    "There is no command 'svc'; estimators are fitted by 'qpsvm fit SVC'. Commands: fit, solve."
    """
    known = f"Commands: {', '.join(commands)}."
    estimator = _alike(word, ESTIMATORS, 0.85)
    if estimator:
        fitted = f"estimators are fitted by 'qpsvm fit {estimator}'"
        return f"There is no command {word!r}; {fitted}. {known}"
    if _is_file(word):
        return f"{word!r} is a file; name a command first: qpsvm fit SVC {word}. {known}"
    return f"There is no command {word!r}.{_meant(word, commands)} {known}"


def no_such_estimator(word: str) -> str:
    """Message for a word that is no estimator.

    Examples
    --------
    >>> no_such_estimator("svc").partition(" Estimators")[0]
    "There is no estimator 'svc'. Did you mean 'SVC'?"
    >>> no_such_estimator("heart.csv").partition(" Estimators")[0]
    "'heart.csv' is a file; name an estimator first: qpsvm fit SVC heart.csv."
    """
    known = f"Estimators: {', '.join(ESTIMATORS)}."
    if _is_file(word):
        return f"{word!r} is a file; name an estimator first: qpsvm fit SVC {word}. {known}"
    return f"There is no estimator {word!r}.{_meant(word, list(ESTIMATORS))} {known}"


def _meant(word: str, known: Sequence[str]) -> str:
    near = _alike(word, known, 0.6)
    return f" Did you mean {near!r}?" if near else ""


def _alike(word: str, known: Sequence[str], cutoff: float) -> str | None:
    """The known word that is spelt alike, whatever the case; None without one."""
    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_lower, 1, cutoff)
    return by_lower[near[0]] if near else None


def _is_file(word: str) -> bool:
    path = Path(word)
    return bool(path.suffix) or path.exists()
