"""Every prediction follows one rule of the sign, and decided labels are those of all of them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import datasets

import qpsvm
from qpsvm.certificates.predictions import DecisionBounds, certified
from qpsvm.chunked import chunked
from qpsvm.estimators import SVC, SVDD, LinearSVC, NuSVC, OneClassSVM
from qpsvm.exceptions import InvalidDataError

IRIS, CODES = (part[::3] for part in datasets.load_iris(return_X_y=True))
WEIGHTS = np.where(CODES == 0, 1.0, 0.3)
LINE = np.array([[1001.0], [1002.0], [1004.0], [1008.0], [1016.0]])

ESTIMATORS = {
    "two classes": SVC(C=10.0),
    "votes": SVC(C=10.0),
    "ties": SVC(C=10.0, break_ties=True),
    "rest": SVC(C=10.0, multi_class="ovr"),
    "joint": SVC(multi_class="crammer_singer"),
    "nu": NuSVC(nu=0.2, break_ties=True),
    "nu against the rest": NuSVC(nu=0.2, multi_class="ovr"),
    "linear": LinearSVC(),
    "one class": OneClassSVM(nu=0.3),
    "one class, linear": OneClassSVM(kernel="linear", nu=0.3),
    "ball": SVDD(nu=0.3),
    "ball, linear": SVDD(kernel="linear", nu=0.1),
}
NOVELTIES = ("one class", "one class, linear", "ball", "ball, linear")


def fitted(case: str) -> Any:
    model = ESTIMATORS[case]
    if case == "two classes":
        return model.fit(IRIS[CODES > 0], CODES[CODES > 0])
    weights = WEIGHTS if case.startswith("nu") else None
    return model.fit(IRIS, CODES, weights)


def at_the_boundary(model: Any) -> Any:
    """Samples on both sides of changes of the label, from neighbours to shares of 1e-6 away."""
    rng = np.random.default_rng(0)
    one, other = IRIS[::4], IRIS.mean(axis=0) + 5.0 * rng.normal(size=(13, 4))
    label = model.predict(one)
    differ = label != model.predict(other)
    one, other, label = one[differ], other[differ], label[differ]
    for _ in range(60):
        middle = 0.5 * (one + other)
        same = (model.predict(middle) == label)[:, None]
        one, other = np.where(same, middle, one), np.where(same, other, middle)
    steps = [one, other, np.nextafter(one, np.inf), np.nextafter(one, -np.inf), IRIS[::5]]
    for size in (1e-12, 1e-9, 1e-8, 3e-8, 1e-6):
        steps.append(one * (1.0 + size * rng.normal(size=one.shape)))
    return np.vstack(steps)


@pytest.mark.parametrize("case", ESTIMATORS)
def test_all_predictions_agree_and_decided_ones_in_every_batch(case: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qpsvm.exceptions.NuReducedWarning)
        model = fitted(case)
    Z = at_the_boundary(model)
    assert len(Z) > 30
    labels, found = model.predict(Z), model.predict_certified(Z)
    np.testing.assert_array_equal(found.labels, labels)
    assert 0.0 < found.fraction_decided < 1.0
    alone = np.concatenate([model.predict(z[None]) for z in Z])
    np.testing.assert_array_equal(alone[found.decided], labels[found.decided])
    model.save(tmp_path / "estimator.npz")
    np.testing.assert_array_equal(qpsvm.load(tmp_path / "estimator.npz").predict(Z), labels)
    solution = model.solution_
    qpsvm.models.save(tmp_path / "model.npz", model.problem_, solution)
    loaded = qpsvm.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(Z), solution.predict(Z))
    proof = model.certificate_.predict_certified(Z)
    np.testing.assert_array_equal(proof.labels, solution.predict(Z))
    if not case.startswith("nu"):  # whose machines are divided by their widths
        np.testing.assert_array_equal(solution.predict(Z), labels)
    if case in NOVELTIES:
        np.testing.assert_array_equal(model.decision_function(Z) < 0.0, labels == -1)


def test_votes_of_machines_with_widths_of_their_own_are_certified_in_their_scale() -> None:
    rng = np.random.default_rng(0)
    Z = rng.uniform(IRIS.min(axis=0), IRIS.max(axis=0), (500, 4))
    model = fitted("nu against the rest")
    found = model.predict_certified(Z)
    assert found.fraction_decided > 0.99
    np.testing.assert_array_equal(found.labels, model.predict(Z))
    # by the widths the labels differ from those of the undivided machines
    assert (model.solution_.predict(Z) != found.labels).any()
    exact = NuSVC(nu=0.2, multi_class="ovr", eps=1e-11).fit(IRIS, CODES, WEIGHTS)
    np.testing.assert_array_equal(exact.predict(Z)[found.decided], found.labels[found.decided])


@pytest.mark.parametrize("case", NOVELTIES)
def test_samples_that_define_the_boundary_are_inside_and_undecided(case: str) -> None:
    X = LINE if case == "one class, linear" else IRIS  # a third of IRIS has no free sample there
    model = ESTIMATORS[case].fit(X)
    inner = model.problem_.model.conditions.upper * (1.0 - 1e-6)
    free = (model.solution_.alpha > 1e-6 * inner) & (model.solution_.alpha < inner)
    assert free.any()
    assert (model.decision_function(X[free]) == 0.0).all()
    found = model.predict_certified(X[free])
    assert (found.labels == 1).all()
    assert not found.decided.any()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_a_value_below_zero_by_less_than_its_share_of_the_offset_is_inside(scale: float) -> None:
    """``f(x) = w x - rho`` is zero at the third sample; the rule is ``f >= -1e-8 rho``."""
    X = scale * LINE
    model = OneClassSVM(kernel="linear", nu=0.5).fit(X)
    problem, solution = model.problem_, model.solution_
    assert solution.zero_below == pytest.approx(-1e-8 * solution.intercept, rel=1e-12)
    ends = X[2] * (1.0 - 1e-8 * np.array([0.5, 0.999, 1.001, 1.5, 3.0]))
    expected = [1, 1, -1, -1, -1]
    for machine in (model, solution):
        assert machine.predict(ends[:, None]).tolist() == expected
    for proof in (model, qpsvm.certify(problem, solution, rigorous=True)):
        found = proof.predict_certified(ends[:, None])
        assert found.labels.tolist() == expected
        assert found.decided.tolist() == [False, False, False, False, True]


def test_a_sign_is_decided_beyond_twice_the_tolerance() -> None:
    for machine, positive in ((fitted("ball").solution_, 1), (fitted("two classes").solution_, 2)):
        unit = machine.zero_below or 1e-8
        values = unit * np.array([-3.0, -1.5, -0.5, 0.5, 1.5, 3.0])
        near, wide = (
            DecisionBounds(values, values - reach, values + reach)
            for reach in (0.1 * unit, 4 * unit)
        )
        found = certified(machine, near)
        np.testing.assert_array_equal(found.labels, machine.predictions(values))
        inner = machine.zero_below > 0.0  # classes have no tolerance
        assert found.decided.tolist() == [True, *[not inner] * 4, True]
        assert not certified(machine, wide).decided.any()
        assert found.labels[-1] == positive
        assert not certified(machine, near, np.where(found.labels == 1, -1, 1)).decided.any()


def test_a_ball_counts_the_same_from_the_file_and_in_chunks() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2)) + 3.0
    for formulation in (qpsvm.DataDescription(C=0.1), qpsvm.OneClass(nu=0.3)):
        whole = qpsvm.solve(formulation.dual(X))
        parts = qpsvm.solve(formulation.dual(chunked(X, rows=25)), eps=1e-3)
        assert parts.zero_below == pytest.approx(whole.zero_below, rel=0.1)
        assert whole.zero_below > 0.0
        values = np.array([-2.0, -0.9, 0.0, 0.5]) * parts.zero_below
        assert parts.predictions(values).tolist() == [-1, 1, 1, 1]
        values = np.array([-2.0, -0.9, 0.0, 0.5]) * whole.zero_below
        assert whole.predictions(values).tolist() == [-1, 1, 1, 1]


def test_the_tolerance_follows_from_the_numbers_of_the_machine() -> None:
    model = OneClassSVM(kernel="linear", nu=0.5).fit(LINE)
    solution = model.solution_.replace()
    vars(solution)["zero_below"] = 1.0
    with pytest.raises(InvalidDataError, match="zero_below"):
        qpsvm.certify(model.problem_, solution)
