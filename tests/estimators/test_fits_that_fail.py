"""A fit that fails changes nothing: an estimator is what its last successful fit made it."""

from __future__ import annotations

import warnings
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import qpsvm
from qpsvm import estimators
from qpsvm.chunked import chunked
from qpsvm.estimators import SVC, LinearSVC, NuSVC, inputs, persistent
from qpsvm.estimators import base as base_module
from qpsvm.exceptions import InvalidDataError, ModelFileError, NuReducedWarning
from qpsvm.selection import SVCSearch, SVRSearch

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 2))
CODES = np.arange(24) % 3
X[:, 0] += 3.0 * CODES
NAMED = pd.DataFrame({"width": X[:, 0], "height": X[:, 1], "depth": X[:, 0] + X[:, 1]})
OTHER = CODES[::-1] * 10

ALL = [
    *(getattr(estimators, name)() for name in estimators.__all__),
    SVCSearch(C=[1.0], gamma=[1.0], cv=2),
    SVRSearch(C=[1.0], gamma=[1.0], cv=2),
]
FITS = [each for each in ALL if not isinstance(each, SVCSearch | SVRSearch)]


class OddError(Exception):
    """What no code of the package expects."""


ERRORS = (OddError, KeyboardInterrupt, MemoryError)


def name_of(estimator: Any) -> str:
    return type(estimator).__name__


def fitted(estimator: Any, data: Any = X, y: Any = CODES) -> Any:
    own = clone(estimator)
    if isinstance(own, NuSVC):
        own.set_params(nu=0.3)
    return own.fit(data, y)


def state(estimator: Any) -> dict[str, Any]:
    """All attributes; the objects themselves, so that a changed one is noticed."""
    parameters = estimator.get_params()
    return {name: value for name, value in vars(estimator).items() if name not in parameters}


def same(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return before.keys() == after.keys() and all(before[name] is after[name] for name in before)


STAGES = {
    "checks of the data": (inputs, "validate_data"),
    "checks of weights": (inputs, "as_weights"),
    "the solve": (base_module, "solve_in_parallel"),
    "figures after the solve": (None, "_fitted"),
    "the arrangement": (None, "_arrange"),
    "the kernel": (None, "_kernel"),
    "the formulation": (None, "_formulation"),
    "the targets": (None, "_targets"),
}
"""Functions of modules, and methods of the estimator."""


def failing(original: Any, error: type[BaseException]) -> Any:
    def late(*arguments: Any, **more: Any) -> Any:
        original(*arguments, **more)  # what it stores is there when the error comes
        raise error

    return late


@pytest.mark.parametrize("kind", FITS, ids=name_of)
def test_an_error_at_any_stage_changes_nothing(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, first = fitted(kind), clone(kind)
    before, predictions = state(machine), machine.predict(X).tolist()
    for (module, name), error in zip(STAGES.values(), cycle(ERRORS), strict=False):
        owner = module or type(kind)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, failing(getattr(owner, name), error))
            for each in (machine, first):
                with pytest.raises(error):
                    each.fit(NAMED, OTHER, sample_weight=np.ones(24))
        assert same(before, state(machine)), name
        assert machine.predict(X).tolist() == predictions
        assert not state(first), name
        with pytest.raises(NotFittedError):
            first.predict(X)


@pytest.mark.parametrize("kind", ALL[-2:], ids=name_of)
@pytest.mark.parametrize("stage", ["_folds", "_store", "_targets", "_estimator"])
def test_a_search_that_fails_changes_nothing(
    kind: Any, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, first = fitted(kind), clone(kind)
    before = state(search)
    with monkeypatch.context() as patch:
        patch.setattr(type(kind), stage, failing(getattr(type(kind), stage), OddError))
        for each in (search, first):
            with pytest.raises(OddError):
                each.fit(NAMED, OTHER)
    assert same(before, state(search))
    assert not state(first)


@pytest.mark.parametrize("kind", ALL, ids=name_of)
def test_data_and_parameters_that_are_refused_change_nothing(kind: Any) -> None:
    machine = fitted(kind)
    before = state(machine)
    for data, y, parameters in (
        (NAMED, OTHER, {"eps": -1.0}),
        ([[np.nan, 1.0]] * 24, OTHER, {}),
        ([[2**53 + 1, 1]] * 24, OTHER, {}),
    ):
        given = machine.get_params()
        with pytest.raises(ValueError, match=r"eps|NaN|9007199254740993"):
            machine.set_params(**parameters).fit(data, y)
        assert same(before, state(machine))
        machine.set_params(**given)


@pytest.mark.parametrize(
    ("machine", "category"),
    [
        (LinearSVC(loss="hinge", eps=1e-15, max_iter=1, backend="ipm"), ConvergenceWarning),
        (NuSVC(nu=0.99), NuReducedWarning),
    ],
    ids=name_of,
)
def test_a_warning_that_is_raised_as_an_error_changes_nothing(machine: Any, category: Any) -> None:
    noisy, y = RNG.normal(size=(60, 2)), np.arange(60) % 5 == 0
    good = machine.get_params()
    machine = type(machine)().set_params(**({"nu": 0.1} if "nu" in good else {})).fit(X, CODES)
    before = state(machine)
    with warnings.catch_warnings():
        warnings.simplefilter("error", category)
        with pytest.raises(category):
            machine.set_params(**good).fit(noisy, y)
    assert same(before, state(machine))


@pytest.mark.parametrize("kind", ALL, ids=name_of)
def test_nothing_is_left_of_an_earlier_fit(kind: Any) -> None:
    """After any fits, an estimator has the attributes of its last one alone."""
    again = fitted(kind, NAMED, OTHER).fit(X, CODES)
    assert state(again).keys() == state(fitted(kind)).keys()
    assert not hasattr(again, "feature_names_in_")


def test_samples_in_chunks_leave_nothing_of_samples_in_memory() -> None:
    two = np.where(CODES == 0, 0, 1)
    machine, first = LinearSVC().fit(NAMED, CODES), LinearSVC()
    for each in (machine, first):
        each.fit(chunked(X, two, rows=8), None)
    assert state(machine).keys() == state(first).keys()
    before = state(machine)
    with pytest.raises(InvalidDataError, match="3 classes"):
        machine.fit(chunked(X, OTHER, rows=8), None)  # three classes
    assert same(before, state(machine))


def test_settings_of_scikit_learn_stay() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        machine = SVC().set_fit_request(sample_weight=True).fit(X, CODES)
    assert machine._metadata_request.fit.requests["sample_weight"] is True


def test_training_data_that_are_refused_leave_a_loaded_estimator_as_it_was(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    SVC().fit(X, CODES).save(tmp_path / "a.npz")
    machine: Any = qpsvm.load(tmp_path / "a.npz")
    before = state(machine)
    with pytest.raises(ModelFileError, match="labels"):
        machine.restore(X, OTHER)
    with monkeypatch.context() as patch:

        def late(*_: Any) -> Any:
            raise KeyboardInterrupt

        patch.setattr(persistent, "Proof", late)
        with pytest.raises(KeyboardInterrupt):
            machine.restore(X, CODES)
    assert same(before, state(machine))
    assert machine.restore(X, CODES).certificate_.relative_gap <= 1e-8
