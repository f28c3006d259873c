"""Starting points: certified problems, a judge for each machine, solutions of problems like it."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import qpsvm
from benchmarks.soundness.dual_points import LD
from benchmarks.soundness.judge import EPS, Judge
from benchmarks.soundness.relatives import relatives
from benchmarks.soundness.specs import JOINT, REDUCED, Spec, draw, matrix
from benchmarks.soundness.textbook import Joint, OneNorm, Textbook, kernel_values
from qpsvm.exceptions import QPSVMError
from tests.families import BY_NAME, Data, is_squared

CERTIFIED = 1e-10
"""What the starting points are solved to."""
BRACKET = 1e-9
"""The judge knows every optimum to this, relative: a tenth of eps."""
RELATIVES = 3
"""Problems like it whose solutions are tried."""


@dataclass(frozen=True, eq=False)
class Ground:
    """One problem with its certified solution, and solutions of problems like it.

    Attributes
    ----------
    judge : Judge
    relatives : list of (str, solution)
        What differs, and the solution of that problem.
    """

    judge: Judge
    relatives: list[tuple[str, Any]]

    @property
    def problem(self) -> Any:
        return self.judge.problem

    @property
    def start(self) -> Any:
        return self.judge.start

    @property
    def is_joint(self) -> bool:
        """One decision function per class."""
        return bool(np.ndim(self.start.alpha) == 2)


@dataclass(frozen=True, eq=False)
class Field:
    """A problem with its certified solution, and the judge of each of its machines."""

    spec: Spec
    problem: Any
    solution: Any
    grounds: list[Ground]


# --- starting points -----------------------------------------------------------------------------


def find_field(seed: int, index: int, rejected: Counter[str] | None = None) -> Field:
    """The problem with that number: the first of its draws that can be certified.

    ``rejected`` counts why the others cannot.
    """
    rejected = Counter() if rejected is None else rejected
    rng = np.random.default_rng([seed, 0, index])
    while True:
        spec = draw(rng)
        made = _certified(spec, rejected, CERTIFIED)
        if made is None:
            continue
        problem, solution = made
        new, squares = spec.new_samples()
        parts = _parts(problem, solution)
        judges = [
            Judge.of(book, *part, _columns(spec, part[0], new), squares)
            for book, part in zip(textbooks(spec, problem), parts, strict=True)
        ]
        if not all(abs(judge.width) <= BRACKET for judge in judges):
            rejected["optimum not known to 1e-9"] += 1
            continue
        akin: list[list[tuple[str, Any]]] = [[] for _ in judges]
        for what, other in relatives(spec, rng):
            solved = _certified(other, Counter(), EPS)
            if solved is not None:
                theirs = _parts(*solved)
                for i, own in enumerate(akin):
                    own.append((what, theirs[min(i, len(theirs) - 1)][1]))
            if len(akin[0]) == RELATIVES:
                break
        return Field(
            spec, problem, solution, [Ground(*pair) for pair in zip(judges, akin, strict=True)]
        )


def _certified(spec: Spec, rejected: Counter[str], eps: float) -> tuple[Any, Any] | None:
    """Problem and solution, if it has one that passes; solved to ``eps``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem = spec.build()
            solution = qpsvm.solve(problem, eps=eps)
        except QPSVMError as error:
            rejected[type(error).__name__] += 1
            return None
    if not qpsvm.verify(problem, solution, eps=EPS).passed:
        rejected["not certified"] += 1
        return None
    return problem, solution


def _parts(problem: Any, solution: Any) -> list[tuple[Any, Any]]:
    return problem.parts(solution) if hasattr(problem, "parts") else [(problem, solution)]


def _columns(spec: Spec, problem: Any, new: Any) -> Any:
    """A machine of some of the samples sees only their columns of a kernel matrix."""
    return new[:, problem.data.kept] if spec.kernel_name == "precomputed" else new


def textbooks(spec: Spec, problem: Any) -> list[Textbook]:
    """One per decision function that is learned on its own."""
    n = len(spec.X)
    u = np.ones(n) if spec.weights is None else np.asarray(spec.weights)
    if spec.kernel is None:
        K = np.asarray(matrix(spec.base, spec.X), dtype=LD)
        new = np.asarray(spec.base(spec.new, spec.X), dtype=LD)
        squares = np.asarray(spec.base.diagonal(spec.new), dtype=LD)
    else:
        K = kernel_values(spec.base, spec.X, spec.X)
        squares = np.array([kernel_values(spec.base, x[None], x[None])[0, 0] for x in spec.new])
        new = kernel_values(spec.base, spec.new, spec.X)
    is_linear = spec.kernel_name == "linear"
    family = spec.family

    def part(kind: type[Textbook], case: Any, member: Any, y: Any, inner: Any) -> Textbook:
        rows = np.flatnonzero(member & (u > 0))
        data = Data(
            np.asarray(spec.X, LD)[rows],
            None if y is None else y[rows],
            None if spec.groups is None else spec.groups[rows],
        )
        seen = np.asarray(spec.new, LD) if is_linear else new[:, rows]
        has = getattr(inner, "intercept", None)
        own = {"ranking": "none", "average squared ranking": "none"}.get(case.name, "free")
        rules = None if spec.rules is None else problem.model.constraints
        return kind(case, inner, data, u[rows], K[np.ix_(rows, rows)], seen, squares, is_linear,
                    has if has is not None else own, rules)  # fmt: skip

    everyone, y = np.full(n, True), spec.y
    if spec.name in REDUCED:
        inner = family.formulation
        name = "squared hinge" if is_squared(inner) else "hinge"
        if spec.name == REDUCED[0]:
            splits = [(everyone, np.where(y == m, 1, -1)) for m in range(3)]
        else:
            pairs = [(0, 1), (0, 2), (1, 2)]
            splits = [((y == i) | (y == j), np.where(y == j, 1, -1)) for i, j in pairs]
        return [part(Textbook, BY_NAME[name], member, s, inner) for member, s in splits]
    if spec.name in JOINT:
        return [part(Joint, replace(BY_NAME["hinge"], name=spec.name), everyone, y, family)]
    if spec.name == "1-norm":
        return [part(OneNorm, BY_NAME["hinge"], everyone, y, family)]
    return [part(Textbook, BY_NAME[spec.name], everyone, y, family)]
