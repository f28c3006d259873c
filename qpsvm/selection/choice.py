"""Result of a search: differences between candidates, with a proof of each where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from qpsvm.display import Column, Table
from qpsvm.exceptions import InvalidParameterError
from qpsvm.numerics.arrays import Vector
from qpsvm.selection.grid import Candidate
from qpsvm.selection.settings import SEARCH

Verdict: TypeAlias = Literal["proven", "equal", "undecided"]


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Table):
    """Comparison of every candidate of a search with the best.

    The exact machines of a candidate have a mean validation score within ``[lower, upper]``. The
    difference of two candidates is *proven* if their intervals do not overlap; they are *equal* if
    both intervals are the same point; otherwise it is *undecided*: it may be an artefact of
    tolerances, or the exact machines have no unique intercept.

    Attributes
    ----------
    candidates : tuple of dict
    score, lower, upper : arrays of shape (m,)
        Mean validation score, and the interval of the exact machines'.
    best : int
    """

    candidates: tuple[Candidate, ...]
    score: Vector
    lower: Vector
    upper: Vector
    best: int

    def between(self, first: int | Candidate, second: int | Candidate) -> Verdict:
        """Return whether the difference of two candidates is proven.

        Parameters
        ----------
        first, second : int or dict
            Rows, or the parameters themselves.

        Returns
        -------
        {"proven", "equal", "undecided"}

        Raises
        ------
        InvalidParameterError
            A candidate that there is not.
        """
        i, j = self._row(first), self._row(second)
        rounding = SEARCH.same_score * (1.0 + abs(self.score[i]))
        if self.lower[i] > self.upper[j] + rounding or self.lower[j] > self.upper[i] + rounding:
            return "proven"
        ends = [self.lower[i], self.upper[i], self.lower[j], self.upper[j]]
        is_one_point = np.isfinite(ends).all() and max(ends) - min(ends) <= rounding
        return "equal" if is_one_point else "undecided"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Return, for every candidate, whether its difference to the best is proven."""
        return tuple(self.between(k, self.best) for k in range(len(self.candidates)))

    @property
    def is_proven(self) -> bool:
        """Return whether no exact machine of another candidate has a better score than the best."""
        return "undecided" not in self.verdicts

    def columns(self) -> dict[str, Column]:
        """Parameters, score, its interval, and whether the difference to the best is proven."""
        parameters: dict[str, Column] = {
            name: [each[name] for each in self.candidates] for name in self.candidates[0]
        }
        return parameters | {
            "score": self.score,
            "lower": self.lower,
            "upper": self.upper,
            "against_best": list(self.verdicts),
        }

    def _row(self, candidate: int | Candidate) -> int:
        if isinstance(candidate, dict):
            if candidate in self.candidates:
                return self.candidates.index(candidate)
        elif 0 <= candidate < len(self.candidates):
            return int(candidate)
        raise InvalidParameterError(
            f"{candidate!r} is no candidate of this search; pass a row of 0 to "
            f"{len(self.candidates) - 1}, or one of .candidates."
        )
