"""A walk through docs/features.md: every feature that the page lists is used once."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn import svm
from typer.main import get_command

import qpsvm
from qpsvm import backends, classical, reports
from qpsvm.cli.app import app
from qpsvm.exceptions import DeviceError, NotSeparableError
from qpsvm.paths import certified_path, svm_path
from qpsvm.selection import SVCSearch, leave_one_out

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "features.md").read_text("utf-8")
FEATURES = re.findall(r"^- \*\*(.+?)\*\*", PAGE, re.MULTILINE)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = np.where(X[:, 0] + 0.4 * RNG.standard_normal(40) > 0.0, 1, -1)
FAMILY = qpsvm.SoftMargin(C=1.0)


def require_optimal(problem: object, **options: object) -> None:
    solution = qpsvm.solve(problem, **options)  # type: ignore[call-overload]
    assert qpsvm.verify(problem, solution).passed  # type: ignore[call-overload]


def families(_: Path) -> None:
    targets, codes, one = X[:, 1], np.arange(40) % 3, np.ones(40)
    separable = np.where(X[:, 0] > 0.0, 1, -1)
    for family, y in (
        (qpsvm.SoftMargin(C=1.0, loss="squared_hinge"), Y),
        (qpsvm.HardMargin(), separable),
        (qpsvm.NuClassification(nu=0.3), Y),
        (qpsvm.L1Norm(C=1.0), Y),
        (qpsvm.LeastSquares(C=1.0), Y),
        (qpsvm.CrammerSinger(C=1.0), codes),
        (qpsvm.OneVsRest(FAMILY), codes),
        (qpsvm.OneVsOne(FAMILY), codes),
        (qpsvm.Ranking(C=1.0), targets),
        (qpsvm.EpsilonRegression(C=1.0, epsilon=0.1), targets),
        (qpsvm.NuRegression(C=1.0, nu=0.5), targets),
        (qpsvm.QuantileRegression(C=1.0, tau=0.7), targets),
        (qpsvm.OneClass(nu=0.3), None),
        (qpsvm.DataDescription(C=0.1), None),
    ):
        some = (X[:18],) if y is None else (X[:18], y[:18])
        problem, other = family.dual(*some), family.primal(*some)
        require_optimal(problem)
        assert type(problem) is type(other)
    require_optimal(FAMILY.dual(X, Y, kernel="rbf", sample_weight=one))


def constraints(_: Path) -> None:
    problem = FAMILY.dual(X, Y, constraints=qpsvm.constraints.nonnegative())
    solution = qpsvm.solve(problem)
    assert qpsvm.verify(problem, solution).passed
    assert np.min(solution.coef) >= -1e-9


def exchange(folder: Path) -> None:
    problem = FAMILY.dual(X, Y)
    problem.to_npz(folder / "p.npz")
    problem.to_qps(folder / "p.qps")
    assert "alpha" in problem.to_latex()
    read = qpsvm.qp.exchange.read_qps(folder / "p.qps")
    np.testing.assert_array_equal(read.P.to_dense(), problem.qp.P.to_dense())


def programs(_: Path) -> None:
    require_optimal(qpsvm.qp.QuadraticProgram([[2.0]], [-2.0], lb=0.0, ub=0.5))


def linear_machines(_: Path) -> None:
    require_optimal(FAMILY.primal(X, Y), backend="ipm")


def kernel_machines(_: Path) -> None:
    require_optimal(FAMILY.dual(X, Y, kernel="rbf"), backend="active-set")


def gpu(_: Path) -> None:
    problem = FAMILY.dual(X, Y, kernel="rbf")
    if find_spec("cupy") is not None:
        require_optimal(problem, device="cuda")
        return
    with pytest.raises(DeviceError, match=r"qpsvm\[gpu\]"):
        qpsvm.solve(problem, device="cuda")


def chunks(folder: Path) -> None:
    np.savez(folder / "a.npz", X=X, y=Y)
    require_optimal(FAMILY.dual(folder, "y"))


def names_of_backends(_: Path) -> None:
    known = {entry.name for entry in backends.available()}
    assert {"ipm", "active-set", "cvxopt", "osqp", "slsqp"} <= known


def small_fits(_: Path) -> None:
    own = qpsvm.estimators.SVC().fit(X, Y)
    assert own.certificate_.relative_gap <= 1e-8


def accuracy(_: Path) -> None:
    problem = FAMILY.dual(X, Y)
    assert qpsvm.verify(problem, qpsvm.solve(problem, eps=1e-10), eps=1e-10).passed
    with pytest.raises(NotSeparableError):
        qpsvm.solve(qpsvm.HardMargin().dual(np.zeros((2, 1)), [1, -1]))


def certificates(_: Path) -> None:
    problem = FAMILY.dual(X, Y, kernel="rbf")
    proof = qpsvm.certify(problem, qpsvm.solve(problem), rigorous=True)
    assert 0.0 <= proof.relative_gap <= 1e-8


def polish(_: Path) -> None:
    problem = FAMILY.dual(X, Y, kernel="rbf")
    rough = qpsvm.solve(problem, "osqp", eps=1e-3)
    assert qpsvm.verify(problem, qpsvm.polish(problem, rough), eps=1e-10).passed


def searches(_: Path) -> None:
    found = SVCSearch(C=[0.1, 1.0], cv=3).fit(X, Y)
    assert found.best_params_["C"] in (0.1, 1.0)


def left_out(_: Path) -> None:
    assert len(leave_one_out(FAMILY.dual(X, Y, kernel="rbf")).predictions) == 40


def paths(_: Path) -> None:
    assert svm_path(X, Y).is_exact
    assert certified_path(X, Y, C=(0.1, 1.0), eps=1e-2).parts


def textbooks(_: Path) -> None:
    assert classical.smo(FAMILY.dual(X, Y)).trace


def audits(_: Path) -> None:
    assert qpsvm.audit(svm.SVC().fit(X, Y), X, Y).relative_gap < 1e-2


def pages(_: Path) -> None:
    problem = FAMILY.dual(X, Y)
    assert "PASS" in str(reports.build(problem, qpsvm.solve(problem)))


def benchmark(_: Path) -> None:
    result = CliRunner().invoke(get_command(app), ["bench"])
    assert result.exit_code == 2
    assert "python -m benchmarks" in result.output


def tables(folder: Path) -> None:
    lines = [f"{a:.3f},{'xy'[k % 2]},{y}" for k, (a, y) in enumerate(zip(X[:, 0], Y, strict=True))]
    (folder / "t.csv").write_text("\n".join(["a,kind,label", *lines]))
    arguments = ["solve", str(folder / "t.csv"), "--label", "label", "--categorical", "kind"]
    result = CliRunner().invoke(get_command(app), arguments)
    assert result.exit_code == 0, result.output


def files(folder: Path) -> None:
    problem = FAMILY.dual(X, Y)
    qpsvm.models.save(folder / "m.npz", problem, qpsvm.solve(problem))
    assert qpsvm.load(folder / "m.npz").verify(X, Y).passed


def command_line(_: Path) -> None:
    named = re.findall(
        r"`(?:qpsvm )?([a-z]+)`", PAGE.split("**Command line**")[1].split("([how]")[0]
    )
    assert set(named) <= set(get_command(app).commands)  # type: ignore[attr-defined]


WALKS: dict[str, Callable[[Path], None]] = {
    "Fourteen families": families,
    "Constraints": constraints,
    "Exchange": exchange,
    "Programs": programs,
    "Solver of linear machines": linear_machines,
    "Active-set method for kernel machines": kernel_machines,
    "Kernel machines on a GPU": gpu,
    "More data than memory": chunks,
    "Backends": names_of_backends,
    "Small fits at scikit-learn's speed": small_fits,
    "One accuracy": accuracy,
    "Certificates": certificates,
    "Polish": polish,
    "Searches": searches,
    "Leave-one-out": left_out,
    "Paths": paths,
    "The methods of the textbooks": textbooks,
    "Audits": audits,
    "Reports": pages,
    "Benchmark": benchmark,
    "Tables": tables,
    "Files": files,
    "Command line": command_line,
}


def test_every_feature_has_a_walk() -> None:
    assert list(WALKS) == FEATURES


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("feature", FEATURES)
def test_the_feature_works(feature: str, tmp_path: Path) -> None:
    WALKS[feature](tmp_path)
