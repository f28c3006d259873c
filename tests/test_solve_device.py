"""The argument ``device`` of solve and of estimators: certified answers, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qpsvm
from qpsvm.estimators import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR
from qpsvm.exceptions import DeviceError, DeviceResultError, InvalidParameterError
from qpsvm.qp import Status
from tests.devices import DEVICES, OnNumPy, device_for, why_no_gpu

RNG = np.random.default_rng(4)
X = RNG.standard_normal((240, 3))
T = np.sin(X[:, 0]) + X[:, 1]
Y = np.digitize(T, [-0.7, 0.7])


@pytest.mark.parametrize("name", DEVICES)
def test_an_answer_is_certified_and_that_of_the_processor(name: str) -> None:
    problem = qpsvm.SoftMargin(C=5.0).dual(X, Y > 0, kernel="rbf")
    solution = qpsvm.solve(problem, device=device_for(name))
    assert solution.status is Status.OPTIMAL
    known = qpsvm.solve(problem, device="cpu")
    with qpsvm.on_device(device_for(name)):
        values = solution.decision_function(X)
        assert qpsvm.certify(problem, solution).passed
    np.testing.assert_allclose(values, solution.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(solution.decision_function(X), known.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize(
    "estimator", [SVC, NuSVC, SVR, NuSVR, QuantileSVR, OneClassSVM, SVDD], ids=lambda k: k.__name__
)
def test_estimators_take_a_device(name: str, estimator: Any) -> None:
    y = Y if estimator in (SVC, NuSVC) else T
    own = {"nu": 0.2} if estimator is NuSVC else {}
    fitted = estimator(device=device_for(name), **own).fit(X, y)
    known = estimator(**own).fit(X, y)
    np.testing.assert_allclose(
        fitted.decision_function(X) if hasattr(fitted, "decision_function") else fitted.predict(X),
        known.decision_function(X) if hasattr(known, "decision_function") else known.predict(X),
        atol=1e-5,
    )


def test_predictions_of_a_faulty_device_are_refused() -> None:
    class Biased(OnNumPy):
        def sums(self, *given: Any) -> Any:
            return super().sums(*given) * (1.0 + 1e-10)

    problem = qpsvm.SoftMargin(C=5.0).dual(X, Y > 0, kernel="rbf")
    solution, new = qpsvm.solve(problem), RNG.standard_normal((50, 3))
    with qpsvm.on_device(Biased()), pytest.raises(DeviceResultError, match="on the processor"):
        solution.decision_function(new)
    fitted = SVC(device=Biased())
    with pytest.raises(DeviceResultError):
        fitted.fit(np.tile(X, (20, 1)) + RNG.standard_normal((4800, 3)), np.tile(Y, 20))
    with qpsvm.on_device(Biased()), qpsvm.on_device("cpu"):
        solution.decision_function(new)


def test_one_machine_of_many_classes_predicts_on_a_device() -> None:
    known, fitted = (SVC(device=device).fit(X, Y) for device in ("cpu", OnNumPy()))
    new = RNG.standard_normal((60, 3))
    np.testing.assert_array_equal(fitted.predict(new), known.predict(new))
    assert fitted.predict_certified(new).labels.shape == (60,)


def test_a_backend_of_the_processor_is_refused() -> None:
    problem = qpsvm.SoftMargin().dual(X, Y > 0, kernel="rbf")
    with pytest.raises(InvalidParameterError, match="backend 'cvxopt' solves on the processor"):
        qpsvm.solve(problem, "cvxopt", device=OnNumPy())


@pytest.mark.skipif(not why_no_gpu(), reason="there is a GPU")
def test_without_a_gpu_nothing_is_solved() -> None:
    with pytest.raises(DeviceError, match="device='cpu'"):
        SVC(device="cuda").fit(X, Y)
