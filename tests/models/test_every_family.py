"""Every family is saved and loaded: the loaded model predicts, and is verified, as the solution."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets

import qpsvm
from qpsvm import models
from qpsvm.constraints import LinearConstraints, bounded, fairness_band, nonnegative
from qpsvm.exceptions import InvalidDataError, InvalidParameterError, ModelFileError
from qpsvm.qp import Status
from tests.families import BY_NAME, CASES, KERNELS, NEW
from tests.models.sealing import members, reseal
from tests.strategies import grid

IRIS, LABELS = datasets.load_iris(return_X_y=True)
IRIS, LABELS = IRIS[::5], np.array(["a", "b", "c"])[LABELS[::5]]
TWO = slice(0, 20)
MULTICLASS = {
    "Crammer and Singer": qpsvm.CrammerSinger(2.0, class_weight={"a": 2.0}),
    "Crammer and Singer, penalised": qpsvm.CrammerSinger(2.0, intercept="penalized"),
    "one against rest": qpsvm.OneVsRest(qpsvm.SoftMargin(2.0, class_weight="balanced")),
    "one against one": qpsvm.OneVsOne(qpsvm.NuClassification(0.3), break_ties=False),
}


def similarities(samples: Any, centres: Any) -> Any:
    return np.exp(-0.4 * ((samples[:, None] - centres) ** 2).sum(axis=2))


def weights_of(n: int) -> Any:
    weights = np.linspace(0.5, 2.0, n)
    weights[2] = 0.0
    return weights


def saved(path: Path, problem: Any, *, report: bool) -> tuple[Any, models.SavedModel]:
    """A solution, and the model that was loaded from its file."""
    solution = qpsvm.solve(problem)
    verdict = qpsvm.verify(problem, solution)
    assert verdict.passed
    models.save(path, problem, solution, verdict if report else None)
    assert os.listdir(path.parent) == [path.name]
    return solution, models.load(path)


def require_equal(solution: Any, model: models.SavedModel, data: Any, new: Any) -> None:
    """The loaded model is the solution, bit for bit, and passes its verification."""
    X, y, groups = data
    try:
        expected = solution.decision_function(new)
    except InvalidDataError as error:  # the distance from a centre needs k(x, x)
        with pytest.raises(InvalidDataError, match=re.escape(str(error)[:40])):
            model.decision_function(new)
    else:
        assert np.array_equal(model.decision_function(new), expected)
        assert np.array_equal(model.predict(new), solution.predict(new))
    problem = model.problem(X, y, groups=groups)
    again = model.solution(problem)
    for own, other in zip(parts(again), parts(solution), strict=True):
        for name in ("alpha", "expansion", "coef", "intercept", "slack"):
            assert np.array_equal(getattr(own, name), getattr(other, name)), name
        for name in ("x", "z", "y", "z_lower", "z_upper"):
            assert np.array_equal(getattr(own.qp, name), getattr(other.qp, name)), name
        assert own.qp.statistics.iterations == other.qp.statistics.iterations
        assert own.qp.status is Status.UNKNOWN  # a file's is a claim
        assert np.array_equal(own.support, other.support)
    again, report = model.verified(problem, 1e-8)
    assert report.passed
    assert again.status is Status.OPTIMAL
    assert [own.status for own in model.programs] == [own.qp.status for own in parts(solution)]


def parts(solution: Any) -> tuple[Any, ...]:
    return getattr(solution, "solutions", (solution,))


@grid(
    "name, form, kernel, weighted",
    [
        (case.name, form, kernel, weighted)
        for case in CASES
        for form in ("primal", "dual")
        for kernel in (*KERNELS, "precomputed")
        for weighted in (False, True)
    ],
)
def test_round_trips(name: str, form: str, kernel: str, weighted: bool, tmp_path: Path) -> None:
    case = BY_NAME[name]
    X, new = case.data.X, NEW
    if kernel == "precomputed":
        X, new = similarities(X, X), similarities(NEW, X)
    groups = {} if case.data.groups is None else {"groups": case.data.groups}
    problem = getattr(case.family, form)(
        X,
        case.data.y,
        kernel=KERNELS.get(kernel, kernel),
        sample_weight=weights_of(len(X)) if weighted else None,
        **groups,
    )
    solution, model = saved(tmp_path / "m.npz", problem, report=weighted)
    assert model.formulation == case.family
    assert model.form == form
    assert bool(model.certificate) == weighted
    require_equal(solution, model, (X, case.data.y, case.data.groups), new)


@grid(
    "name, form, kernel, weighted",
    [
        (name, form, kernel, weighted)
        for name in MULTICLASS
        for form in ("primal", "dual")
        for kernel in ("linear", "rbf", "precomputed")
        for weighted in (False, True)
    ],
)
def test_several_classes(name: str, form: str, kernel: str, weighted: bool, tmp_path: Path) -> None:
    X, new = IRIS, IRIS[::-1] + 0.1
    if kernel == "precomputed":
        X, new = similarities(X, IRIS), similarities(new, IRIS)
    problem = getattr(MULTICLASS[name], form)(
        X, LABELS, kernel=kernel, sample_weight=weights_of(len(X)) if weighted else None
    )
    solution, model = saved(tmp_path / "m.npz", problem, report=not weighted)
    assert model.formulation == MULTICLASS[name]
    assert model.classes is not None
    assert model.classes.tolist() == ["a", "b", "c"]
    assert model.score(new, LABELS) == solution.score(new, LABELS)
    require_equal(solution, model, (X, LABELS, None), new)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_the_one_norm(form: str, tmp_path: Path) -> None:
    problem = getattr(qpsvm.L1Norm(2.0), form)(IRIS[TWO], LABELS[TWO])
    solution, model = saved(tmp_path / "m.npz", problem, report=True)
    require_equal(solution, model, (IRIS[TWO], LABELS[TWO], None), IRIS)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "constraints",
    [
        nonnegative(0, 1),
        [
            fairness_band(2, 0.1),
            LinearConstraints(A=[0.0, 0.0, 0.0, 1.0, 1.0], b=0.5, names="row"),
            bounded(3, -1.0, 2.0),
        ],
    ],
    ids=["columns", "list"],
)
def test_constraints(constraints: Any, storage: Any, tmp_path: Path) -> None:
    X, y = storage(IRIS[TWO]), LABELS[TWO]
    problem = qpsvm.SoftMargin(2.0).dual(X, y, constraints=constraints)
    solution, model = saved(tmp_path / "m.npz", problem, report=False)
    assert model.constraints.names == problem.model.constraints.names
    require_equal(solution, model, (X, y, None), IRIS)
    again = model.solution(model.problem(X, y))
    assert np.array_equal(again.constraint_multipliers, solution.constraint_multipliers)


@pytest.mark.parametrize("policy", ["clip", "flip", "shift"])
@pytest.mark.parametrize("several", [False, True])
def test_repaired_kernels(policy: Any, several: bool, tmp_path: Path) -> None:
    kernel = qpsvm.kernels.Sigmoid(0.1, -1.0)
    family: Any = qpsvm.SoftMargin(2.0)
    X, y = (IRIS, LABELS) if several else (IRIS[TWO], LABELS[TWO])
    problem = (qpsvm.OneVsOne(family) if several else family).dual(
        X, y, kernel=kernel, indefinite=policy
    )
    solution, model = saved(tmp_path / "m.npz", problem, report=False)
    assert model.indefinite == policy
    require_equal(solution, model, (X, y, None), IRIS)


def test_single_precision(tmp_path: Path) -> None:
    X = IRIS[TWO].astype(np.float32)
    X.flags.writeable = False
    problem = qpsvm.SoftMargin(2.0).dual(X, LABELS[TWO], kernel="rbf")
    solution, model = saved(tmp_path / "m.npz", problem, report=False)
    require_equal(solution, model, (X, LABELS[TWO], None), IRIS.astype(np.float32))


@pytest.mark.parametrize("name", MULTICLASS)
def test_a_change_in_any_array_is_found(name: str, tmp_path: Path) -> None:
    weights = weights_of(len(IRIS))
    problem = MULTICLASS[name].dual(IRIS, LABELS, kernel="rbf", sample_weight=weights)
    path = tmp_path / "m.npz"
    saved(path, problem, report=False)
    original = members(path)
    for member, array in original.items():
        if member.startswith("metadata") or not array.size:
            continue
        changed = array.copy()
        entry = np.unravel_index(np.argmax(np.abs(array)), array.shape)
        changed[entry] -= 1 if array.dtype.kind == "i" else 0.5 * max(1.0, abs(changed[entry]))
        reseal(path, original | {member: changed})
        try:
            passed = models.load(path).verify(IRIS, LABELS).passed
        except ModelFileError:
            continue
        assert not passed, member


# --- refusals ------------------------------------------------------------------------------------


def test_fairness_bands_of_several_machines_are_refused(tmp_path: Path) -> None:
    band = fairness_band(2, 0.1)
    problem = qpsvm.OneVsOne(qpsvm.SoftMargin(2.0)).dual(IRIS, LABELS, constraints=band)
    with pytest.raises(ModelFileError, match="different constraints"):
        models.save(tmp_path / "m.npz", problem, qpsvm.solve(problem))
    assert os.listdir(tmp_path) == []


def test_a_report_of_another_kind_is_refused(tmp_path: Path) -> None:
    problem = qpsvm.SoftMargin(2.0).dual(IRIS[TWO], LABELS[TWO])
    report: Any = {"passed": True}
    with pytest.raises(InvalidParameterError, match=r"got dict; pass what qpsvm\.verify"):
        models.save(tmp_path / "m.npz", problem, qpsvm.solve(problem), report)


def test_other_data_of_several_classes_are_refused(tmp_path: Path) -> None:
    problem = MULTICLASS["one against one"].dual(IRIS, LABELS)
    _, model = saved(tmp_path / "m.npz", problem, report=False)
    other = np.where(LABELS == "c", "d", LABELS)
    with pytest.raises(ModelFileError, match=r"'a' and 'b' and 'c' apart.*'d'"):
        model.problem(IRIS, other)
    with pytest.raises(ModelFileError, match="30 samples and 3 machines"):
        model.solution(qpsvm.SoftMargin().dual(IRIS[TWO], LABELS[TWO]))


def test_every_truncation_and_sampled_bytes_are_refused_or_harmless(tmp_path: Path) -> None:
    problem = qpsvm.OneVsRest(qpsvm.SoftMargin(2.0)).dual(IRIS[::3], LABELS[::3], kernel="rbf")
    path = tmp_path / "m.npz"
    _, model = saved(path, problem, report=False)
    content, expected = path.read_bytes(), model.decision_function(IRIS)
    for size in range(0, len(content), 97):
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError):
            models.load(path)
    refused = 0
    places = range(0, len(content), 23)
    for at in places:
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        try:
            found = models.load(path)
        except ModelFileError:
            refused += 1
        else:  # a date or a flag of the archive
            assert np.array_equal(found.decision_function(IRIS), expected)
    assert refused > 0.8 * len(places)
