"""Hypothesis strategies shared by several test folders."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from qpsvm.qp import QPSolution, QuadraticProgram, Status


def examples(exhaustive: int) -> int:
    """Return how many examples a property test draws under the Hypothesis profile in force.

    Parameters
    ----------
    exhaustive : int
        Examples under the profile that has 100 as its default; the others draw their share.
    """
    return max(1, exhaustive * settings.default.max_examples // 100)


PARTS = 5
"""How many parts a test that draws its own cases has; the quick run does the first."""


def listed(names: str, cases: Iterable[Any], *, quick: int) -> Any:
    """Parametrise a test over cases, of which the quick run does the first few."""
    kept, rest = list(cases)[:quick], list(cases)[quick:]
    single = "," not in names
    return pytest.mark.parametrize(
        names,
        [
            *kept,
            *(
                pytest.param(*((case,) if single else case), marks=pytest.mark.exhaustive)
                for case in rest
            ),
        ],
    )


def numbered(name: str, count: int, *, quick: int) -> Any:
    """Parametrise a test over 0, 1, ..., count - 1, of which the quick run does the first few."""
    return listed(name, range(count), quick=quick)


in_parts = numbered("part", PARTS, quick=1)
"""For tests that draw their own cases: seed with ``part``, and draw a fifth in each."""


in_full = pytest.mark.parametrize("share", [0.1, pytest.param(0.4, marks=pytest.mark.exhaustive)])
"""For tests that draw their own cases and count what they say: a share of them."""


def grid(names: str, settings: Iterable[tuple[Any, ...]], *, together: int = 1) -> Any:
    """Parametrise a test over a choice of settings, with its larger part for the exhaustive run.

    The quick run keeps so many that every value still occurs: every family, every form, every
    kernel. The exhaustive run adds what it takes for any two that occur together, in any two
    places: every family with every form, every form with every kernel, and so on.

    Parameters
    ----------
    names : str
        One argument for the whole setting, or as many as it has entries, as pytest takes them.
    settings : iterable of tuples
    together : int
        How many values at a time in the quick run; the exhaustive run takes one more.
    """
    everything = list(settings)
    quick = covering(everything, together)
    chosen = quick | covering(everything, together + 1, quick)
    return pytest.mark.parametrize(
        names,
        [
            pytest.param(
                *(setting if "," in names else (setting,)),
                id="-".join(map(str, setting)),
                marks=() if setting in quick else pytest.mark.exhaustive,
            )
            for setting in everything
            if setting in chosen
        ],
    )


def covering(
    settings: list[tuple[Any, ...]], together: int, chosen: Collection[tuple[Any, ...]] = ()
) -> set[tuple[Any, ...]]:
    """Settings in which, with those chosen, any ``together`` values occur that do in one of all."""
    size = min(together, *map(len, settings))
    covers = {setting: set(combinations(enumerate(setting), size)) for setting in settings}
    missing = set().union(*covers.values())
    found = set()
    for setting in chosen:
        missing -= covers[setting]
    while missing:
        best = max(covers, key=lambda setting: len(covers[setting] & missing))
        found.add(best)
        missing -= covers[best]
    return found


def product_of(item: Any) -> tuple[tuple[int, ...], ...]:
    """Return where a test stands in the product of its ``parametrize``s; () where there is none.

    An entry for every ``parametrize``, and for every fixture with parameters: the identities of
    its values, since not all of them have an equality.
    """
    values = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    place = []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs["argnames"]
        names = names.replace(",", " ").split() if isinstance(names, str) else names
        place.append(tuple(id(values.pop(name)) for name in names))
    place += [(id(value),) for value in values.values()]
    return tuple(place) if len(place) > 1 else ()


def spared(items: list[Any]) -> list[Any]:
    """Return those tests of a product without which each value still occurs in another one."""
    places = [product_of(item) for item in items]
    kept = covering(places, 1)
    return [item for item, place in zip(items, places, strict=True) if place not in kept]


def drawn(name: str, one_in: int, draw: str) -> bool:
    """Return whether a test is among the one in so many that a text draws."""
    digest = hashlib.sha256(f"{draw} {name}".encode()).digest()
    return int.from_bytes(digest, "big") % one_in == 0


@st.composite
def manufactured_program(
    draw: Any,
    *,
    max_variables: int = 6,
    max_rows: int = 5,
    definite: bool = False,
    strict: bool = True,
) -> tuple[QuadraticProgram, QPSolution]:
    """A program and its exact solution, which was there first.

    The point, the active rows and bounds, and the multipliers are drawn; q, h, b, lb and ub then
    follow from stationarity, complementarity and feasibility. By convexity the point is optimal.

    Parameters
    ----------
    max_variables, max_rows : int
        Largest number of variables, and of rows in each of G and A.
    definite : bool
        Draw a positive definite P (the optimum is then unique); otherwise P may be singular, and
        zero.
    strict : bool
        Strict complementarity: active rows have multipliers of at least 0.1, the others slacks of
        at least 0.1. Without it active rows may have zero multipliers.

    Returns
    -------
    program : QuadraticProgram
    solution : QPSolution
        With all multipliers; exact up to the rounding of a few products.
    """
    n = draw(st.integers(1, max_variables))
    m = draw(st.integers(0, max_rows))
    p = draw(st.integers(0, min(max_rows, n - 1)))
    rank = n if definite else draw(st.integers(0, n))
    # Hypothesis draws the shape, NumPy the numbers: shrinking to zeros teaches nothing here
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    factor = rng.normal(size=(n, rank))
    P = factor @ factor.T + (0.1 * np.eye(n) if definite else 0.0)
    G, A = rng.normal(size=(m, n)), rng.normal(size=(p, n))
    x, y = rng.normal(size=n), rng.normal(size=p)

    z, slack = _complementary(rng, m, strict)
    z_lower, lower_slack = _complementary(rng, n, strict)
    z_upper, upper_slack = _complementary(rng, n, strict)
    # a variable at both of its bounds would be fixed; keep it at the lower one
    both = (lower_slack == 0) & (upper_slack == 0)
    z_upper[both], upper_slack[both] = 0.0, 1.0
    # some bounds are not there at all
    no_lower, no_upper = rng.random(n) < 0.3, rng.random(n) < 0.3
    z_lower[no_lower], lower_slack[no_lower] = 0.0, np.inf
    z_upper[no_upper], upper_slack[no_upper] = 0.0, np.inf

    q = -(P @ x + G.T @ z + A.T @ y - z_lower + z_upper)
    program = QuadraticProgram(
        P, q, G, G @ x + slack, A, A @ x, lb=x - lower_slack, ub=x + upper_slack
    )
    solution = QPSolution(Status.OPTIMAL, x=x, z=z, y=y, z_lower=z_lower, z_upper=z_upper)
    return program, solution


def _complementary(rng: Any, size: int, strict: bool) -> tuple[Any, Any]:
    """Multipliers and slacks of which one of each pair is zero."""
    active = rng.random(size) < 0.4
    least = 0.1 if strict else 0.0
    multipliers = np.where(active, least + rng.exponential(size=size), 0.0)
    if not strict:
        multipliers[rng.random(size) < 0.3] = 0.0
    slacks = np.where(active, 0.0, 0.1 + rng.exponential(size=size))
    return multipliers, slacks
