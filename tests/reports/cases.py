"""Reports of every kind of problem, solved once."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, make_moons

import qpsvm
from qpsvm import kernels, reports
from qpsvm.models import Scaling
from qpsvm.qp import QPSolution, QuadraticProgram, Status
from tests import families

EPS = 1e-8
RBF = kernels.RBF(1.0)
MOONS = make_moons(80, noise=0.25, random_state=3)


def breast_cancer(n: int = 300, labels: tuple[Any, Any] = ("malignant", "benign")) -> Any:
    X, y = load_breast_cancer(return_X_y=True)
    return Scaling.fit(X[:n])(X[:n]), np.array(labels)[y[:n]]


def fruit() -> Any:
    """Two petal measures and a class by name."""
    iris = load_iris()
    return iris.data[::3, 2:], iris.target_names[iris.target[::3]]


def family(name: str) -> Any:
    return families.BY_NAME[name].build("dual", RBF)


PROBLEMS = {
    "two classes": lambda: qpsvm.SoftMargin(2.0).dual(
        *breast_cancer(), kernel=kernels.RBF(gamma=0.05)
    ),
    "plane": lambda: qpsvm.SoftMargin(3.0).dual(*MOONS, kernel=RBF),
    "weighted": lambda: qpsvm.SoftMargin(3.0, class_weight={0: 2.0}).primal(*MOONS),
    "hard margin": lambda: qpsvm.HardMargin().dual(
        load_iris().data[:100], load_iris().target[:100]
    ),
    "nu classification": lambda: qpsvm.NuClassification(0.4).dual(*MOONS, kernel=RBF),
    "squared hinge": lambda: family("squared hinge"),
    "least squares": lambda: family("least squares"),
    "1-norm": lambda: qpsvm.L1Norm(1.0).primal(*breast_cancer(100)),
    "tube": lambda: family("tube"),
    "squared tube": lambda: family("squared tube"),
    "average tube": lambda: family("average tube"),
    "nu regression": lambda: family("nu regression"),
    "quantile": lambda: family("quantile"),
    "one class": lambda: qpsvm.OneClass(0.2).dual(MOONS[0], kernel=RBF),
    "ball": lambda: qpsvm.DataDescription(0.05).dual(MOONS[0]),
    "with constraints": lambda: qpsvm.SoftMargin(1.0).dual(
        *MOONS,
        constraints=[
            qpsvm.constraints.nonnegative(0),
            qpsvm.constraints.LinearConstraints(
                A=[0.0, 1.0, 0.0], b=-0.5, names=["slope <b> of |2|"]
            ),
        ],
    ),
    "ranking": lambda: family("ranking"),
    "joint": lambda: qpsvm.CrammerSinger(1.0).dual(*fruit()),
    "one vs rest": lambda: qpsvm.OneVsRest(qpsvm.SoftMargin(1.0)).dual(*fruit()),
    "one vs one": lambda: qpsvm.OneVsOne(qpsvm.SoftMargin(1.0)).dual(*fruit()),
    "program": lambda: QuadraticProgram(
        [[1.0, 0.0], [0.0, 0.0]], [3.0, 4.0], G=[[-1.0, -3.0], [2.0, 5.0]], h=[-15.0, 100.0], lb=0.0
    ),
}
SOLVED = tuple(PROBLEMS)
MACHINES = tuple(name for name in SOLVED if name not in ("one vs rest", "one vs one", "program"))


@cache
def solved(name: str) -> tuple[Any, Any]:
    """Problem and solution."""
    problem = PROBLEMS[name]()
    return problem, qpsvm.solve(problem, eps=EPS)


@cache
def report(name: str) -> reports.Report:
    """A verified report, or one of ``FAILED``."""
    problem, solution = FAILED[name]() if name in FAILED else solved(name)
    built = reports.build(problem, solution, eps=EPS, source=f"the case {name}")
    assert built.passed == (name not in FAILED)
    return built


@cache
def text(name: str, suffix: str) -> str:
    """A report in a format."""
    return reports.text_of(report(name), suffix)


def _no_intercept() -> Any:
    problem, solution = solved("plane")
    return problem, solution.replace(intercept=np.nan)


def _wrong_weights() -> Any:
    problem, solution = solved("tube")
    return problem, solution.replace(expansion=-2.0 * solution.expansion)


def _of_another_problem() -> Any:
    problem, _ = solved("one vs rest")
    other = qpsvm.OneVsRest(qpsvm.SoftMargin(1.0)).dual(*(a[1:] for a in fruit()))
    return problem, qpsvm.solve(other)


def _one_machine_wrong() -> Any:
    problem, solution = solved("one vs one")
    first, *others = solution.solutions
    wrong = first.replace(alpha=0.5 * first.alpha)
    return problem, dataclasses.replace(solution, solutions=(wrong, *others))


def _no_vectors() -> Any:
    problem, _ = solved("program")
    return problem, QPSolution(Status.FAILED)


FAILED = {
    "no intercept": _no_intercept,
    "wrong weights": _wrong_weights,
    "of another problem": _of_another_problem,
    "one machine wrong": _one_machine_wrong,
    "no vectors": _no_vectors,
}
ALL = (*SOLVED, *FAILED)

ALIKE = ("weighted", "squared hinge", "1-norm", "average tube", "nu regression", "ball")
SHOWN = tuple(name for name in ALL if name not in ALIKE)
"""Rendering takes its time: families that look like another one are left out there."""
PAGES = ("two classes", "tube", "ranking", "joint", "one vs rest", "program", "no intercept")
"""One page of each kind, with its tables and pictures."""
