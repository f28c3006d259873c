"""Model files that were edited: refused, found out by verification, or still true."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm import models, reports
from qpsvm.estimators import SVC, SVDD, OneClassSVM
from qpsvm.exceptions import AuditRefusedError, ModelFileError, QPSVMError
from qpsvm.models.saved import predictions_check
from qpsvm.qp import Status
from qpsvm.reports.grade import Grade
from tests.edits import edits
from tests.models.sealing import members, reseal, rewrite

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(24, 3)), 2)
NEW = RNG.normal(size=(40, 3))
TWO = np.where(X[:, 0] + 0.4 * RNG.normal(size=24) > 0.0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.arange(24) % 3]
TARGETS = X @ [1.0, 2.0, -1.0]
WEIGHTS = np.linspace(0.5, 2.0, 24)
WEIGHTS[3] = 0.0
RBF = qpsvm.kernels.RBF(gamma=0.4)
SAME = 1e-4
"""Decision values of a machine that passes at 1e-8 are this near to the optimum's."""

CASES: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "rbf": (qpsvm.SoftMargin(C=2.0).dual, X, TWO, {"kernel": RBF, "sample_weight": WEIGHTS}),
    "linear": (qpsvm.SoftMargin(C=2.0).primal, X, TWO, {}),
    "sparse": (qpsvm.SoftMargin(C=2.0).dual, sp.csr_array(X), TWO, {"kernel": RBF}),
    "precomputed": (qpsvm.SoftMargin(C=2.0).dual, X @ X.T, TWO, {"kernel": "precomputed"}),
    "tube": (qpsvm.EpsilonRegression(C=2.0, epsilon=0.1).dual, X, TARGETS, {"kernel": RBF}),
    "one class": (qpsvm.OneClass(nu=0.3).dual, X, None, {"kernel": RBF}),
    "joint": (qpsvm.CrammerSinger(C=2.0).dual, X, THREE, {"kernel": RBF}),
    "pairs": (qpsvm.OneVsOne(qpsvm.SoftMargin(C=2.0)).dual, X, THREE, {"kernel": RBF}),
    "repaired": (
        qpsvm.SoftMargin(C=2.0).dual,
        X,
        TWO,
        {"kernel": qpsvm.kernels.Sigmoid(gamma=0.5, coef0=-1.0), "indefinite": "clip"},
    ),
}
ESTIMATORS: dict[str, tuple[Any, Any]] = {
    "SVC": (SVC(C=2.0, gamma=0.4), TWO),
    "SVC of three": (SVC(C=2.0, gamma=0.4), THREE),
    "OneClassSVM": (OneClassSVM(nu=0.3, gamma=0.4), None),
    "SVDD": (SVDD(nu=0.3, gamma=0.4), None),
}


def of_all(names: Any) -> list[Any]:
    """Every case with every edit; the quick run does every twentieth edit of the first case."""
    every = [pytest.param(name, 1, marks=pytest.mark.exhaustive) for name in names]
    return [(next(iter(names)), 20), *every]


@cache
def solved(name: str) -> tuple[Any, Any]:
    build, samples, y, options = CASES[name]
    problem = build(samples, y, **options)
    return problem, qpsvm.solve(problem)


def new_samples(name: str) -> Any:
    return NEW @ X.T if name == "precomputed" else NEW


def family_of(problem: Any) -> Any:
    return getattr(problem, "reduction", None) or problem.formulation


def leaves(data: Any) -> Iterator[tuple[Any, ...]]:
    """The places of all values in a JSON text."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        if isinstance(value, dict | list) and value:
            yield from ((key, *rest) for rest in leaves(value))
        yield (key,)


def changes_of(value: Any) -> Iterator[Any]:
    if isinstance(value, bool) or value is None:
        yield not value
    elif isinstance(value, int | float):
        yield from (-value, value + 1, 2.0 * value, 0, None, "text")
    elif isinstance(value, str):
        others = {"inaccurate": "optimal", "dual": "primal", "primal": "dual"}
        yield from (others.get(value, value + "x"), value[::-1], "", 3)
    elif isinstance(value, list):
        yield from (value[::-1], value[:-1], [*value, *value], [])
    else:
        yield from ({}, None, 3)


def edited_metadata(arrays: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every value of the metadata changed, and every entry left out."""
    data = json.loads(arrays["metadata"].tobytes())
    for place in leaves(data):
        if place[0] == "sha256":  # reseal computes these
            continue
        owner = data
        for key in place[:-1]:
            owner = owner[key]
        for value in [*changes_of(owner[place[-1]]), "left out"]:

            def change(d: Any, place: Any = place, value: Any = value) -> None:
                for key in place[:-1]:
                    d = d[key]
                if value == "left out":
                    del d[place[-1]]
                else:
                    d[place[-1]] = value

            yield f"metadata {place} = {value!r}"[:120], change


def forged(path: Path, arrays: dict[str, Any], step: int) -> Iterator[str]:
    """Write one edited file after the other, with checksums that fit; yield what was edited."""
    numbers = {n: a for n, a in arrays.items() if not n.startswith("metadata")}
    rest = {n: a for n, a in arrays.items() if n.startswith("metadata")}
    for name, changed in islice(edits(numbers), 0, None, step):
        reseal(path, rest | changed)
        yield name
    for name, change in islice(edited_metadata(arrays), 0, None, step):
        reseal(path, deepcopy(arrays), change)
        yield name


def assert_near(found: Any, expected: Any, name: str) -> None:
    np.testing.assert_allclose(
        found, expected, rtol=0.0, atol=SAME * max(1.0, np.abs(expected).max()), err_msg=name
    )


@pytest.mark.parametrize(("case", "step"), of_all(CASES))
def test_whatever_is_edited_is_found_by_the_checksums(case: str, step: int, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    models.save(path, *solved(case))
    for name, changed in islice(edits(members(path)), 0, None, step):
        rewrite(path, changed)
        with pytest.raises(ModelFileError):
            pytest.fail(f"{name}: {models.load(path)}")


@pytest.mark.parametrize(("case", "step"), of_all(CASES))
def test_a_forged_model_that_passes_is_the_optimum(case: str, step: int, tmp_path: Path) -> None:
    """With checksums that fit: verification fails, or the machine predicts what it did."""
    path = tmp_path / "m.npz"
    _, samples, y, _ = CASES[case]
    problem, solution = solved(case)
    models.save(path, problem, solution)
    new = new_samples(case)
    expected, labels, outcomes = solution.decision_function(new), solution.predict(new), set()
    for name in forged(path, members(path), step):
        try:
            model = models.load(path)
            machines = getattr(model.machine, "solutions", (model.machine,))
            assert {machine.status for machine in machines} == {Status.UNKNOWN}, name
            again = model.problem(samples, y)
            found, report = model.verified(again, 1e-8)
        except QPSVMError:
            outcomes.add("refused")
            continue
        outcomes.add(str(report.passed))
        optimal = found.status is Status.OPTIMAL
        assert optimal is report.passed or (not report.passed and report.notes), name
        if report.passed and family_of(again) == family_of(problem):
            assert_near(model.decision_function(new), expected, name)
            assert_near(found.decision_function(new), expected, name)
            certain = np.abs(expected) > SAME
            if expected.ndim == 1 and y is not TARGETS:
                assert (model.predict(new)[certain] == labels[certain]).all(), name
    assert outcomes == {"refused", "True", "False"}


def test_coefficients_that_are_no_numbers_are_not_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    problem, solution = solved("repaired")
    models.save(path, problem, solution)
    model = models.load(path)
    assert predictions_check(model.machine, model.targets, problem, solution, 1e-8).passed
    nothing = SimpleNamespace(coefficients=lambda expansion: np.full(len(expansion), np.nan))
    verified = SimpleNamespace(
        support=solution.support, data=solution.data, expansion=solution.expansion, repair=nothing
    )
    assert not predictions_check(model.machine, model.targets, problem, verified, 1e-8).passed


@pytest.mark.parametrize(("case", "step"), of_all(ESTIMATORS))
def test_a_forged_estimator_that_is_certified_is_the_optimum(
    case: str, step: int, tmp_path: Path
) -> None:
    path = tmp_path / "m.npz"
    estimator, y = ESTIMATORS[case]
    fitted = estimator.fit(X, y)
    fitted.save(path)
    expected, outcomes = fitted.decision_function(NEW), set()
    for name in forged(path, members(path), step):
        try:
            again = qpsvm.load(path)
            assert not hasattr(again, "fit_status_"), name
            if isinstance(again, models.SavedModel):
                continue
            again.restore(X, y)
        except QPSVMError:
            outcomes.add("refused")
            continue
        outcomes.add(str(again.fit_status_))
        same = family_of(again.problem_) == family_of(fitted.problem_)
        if again.fit_status_ == 0 and same and again.eps == fitted.eps:
            assert_near(again.decision_function(NEW), expected, name)
            assert_near(again.dual_coef_, fitted.dual_coef_, name)
            if hasattr(fitted, "radius_"):
                assert again.radius_ == pytest.approx(fitted.radius_, rel=SAME), name
    assert {"refused", "0"} <= outcomes


@pytest.mark.parametrize("several", [False, True])
def test_no_prediction_is_called_proven_of_a_file_that_predicts_with_other_samples(
    several: bool, tmp_path: Path
) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "m.npz"
    X = np.concatenate([rng.normal(size=(30, 2)), [[1e6, 0.0]]])
    y = np.where(X @ [0.5, 1.0] + 0.3 * rng.normal(size=31) > 0.0, 1, -1)
    formulation: Any = qpsvm.SoftMargin(1.0)
    if several:
        y[:8] = 2
        formulation = qpsvm.OneVsOne(formulation)
    problem = formulation.dual(
        X, y, kernel=qpsvm.kernels.Polynomial(degree=3, gamma=1.0, coef0=1.0)
    )
    solution = qpsvm.solve(problem)
    models.save(path, problem, solution)
    arrays = members(path)
    others = np.flatnonzero(arrays["rows"] < 30)
    arrays["support_vectors"][others, 1] *= -1.0  # which leaves the huge decision value as it is
    reseal(path, arrays)
    model = models.load(path)
    assert (model.predict(X) != solution.predict(X)).any()
    built = reports.build(problem, *model.verified(problem, 1e-8))
    assert built.grade is Grade.WRONG
    assert built.predictions is None
    assert "predicts with other numbers" in built.headline.sentence
    for audited in (path, model):
        with pytest.raises(AuditRefusedError, match="predicts with other numbers"):
            qpsvm.audit(audited, X, y)
