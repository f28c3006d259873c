"""Contestants: each answers the program it was asked, and what it says is true.

The optimum is known to 1e-11 from ``qpsvm.solve`` at ``TIGHT``, verified. A contestant that solved
another program (another intercept, another C, another sign) is further from it than its gap here.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from benchmarks.contestants import registry
from benchmarks.contestants.base import Contestant, Task
from benchmarks.data import load_samples
from benchmarks.judge import judge
from benchmarks.programs import formulation_of, kernel_of
from qpsvm.backends import Settings
from qpsvm.exceptions import QPSVMError, SuiteError, UnsupportedProgramError
from qpsvm.qp import QPSolution, Status
from tests import tolerances
from tests.realdata.folder import loader, needs_data

CANCER, DIABETES = "breast_cancer", "diabetes(n=150, seed=0)"


def task(family, data, kernel="linear", eps=1e-8, **changes):
    samples = load_samples(data)
    made = formulation_of(family), samples.X, samples.y, kernel_of(kernel), eps
    return Task(*made, **changes)


def contestant(text):
    """It, if its package is there."""
    found = registry.get(text)
    for module in found.required_modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{text} needs {module}: pip install 'qpsvm[peers,qpsolvers,bench]'")
    return found


def answered(text, of):
    found = contestant(text)
    assert found.refusal(of) == ""
    return found.answer(of, found.fit(of))


@cache
def optimum(family, data, kernel="linear"):
    """Objective of the exact optimum, within 1e-11 of it."""
    problem = task(family, data, kernel).problem
    solution = qpsvm.solve(problem, eps=tolerances.TIGHT)
    assert solution.status is Status.OPTIMAL
    return qpsvm.certify(problem, solution).dual_objective


# --- peers: what they reach at their tightest tolerance -------------------------------------------

FLOAT32 = 1e-5
"""Relative distance from the optimum where kernel values or samples are in single precision."""

DOUBLE = 1e-8
"""The same in double precision."""

SLOW = 2e-8
"""Of LIBLINEAR's and ReHLine's coordinate descent within their iterations."""

TOL = 1e-10

SOFT, TUBE = "SoftMargin(C=0.1{})", "EpsilonRegression(C=1.0{})"
SOFTER = "SoftMargin(C=0.05{})"
"""With larger C Snap ML comes to a standstill above the optimum, with another number of threads at
another place."""
PENALIZED, NONE = ", intercept='penalized'", ", intercept='none'"
SQUARED, SQUARED_TUBE = ", loss='squared_hinge'", ", loss='squared_epsilon_insensitive'"
RBF, QUADRATIC = "rbf(gamma='scale')", "polynomial(coef0=1.0, degree=2, gamma='scale')"
PATIENT = "(max_iter=1000000)"

PEERS = [
    *(
        (who, *program, kernel, gap)
        for kernel in ("linear", RBF, QUADRATIC)
        for who, program, gap in (
            ("sklearn:SVC", (SOFT, "", CANCER), FLOAT32),
            ("sklearn:SVR", (TUBE, "", DIABETES), FLOAT32),
            ("sklearn:NuSVC", ("NuClassification(nu=0.2{})", "", CANCER), FLOAT32),
            ("sklearn:NuSVR", ("NuRegression(C=100.0, nu=0.5{})", "", DIABETES), FLOAT32),
            ("intelex:SVC", (SOFT, "", CANCER), DOUBLE),
            ("intelex:SVR", (TUBE, "", DIABETES), DOUBLE),
        )
    ),
    *(
        ("sklearn:OneClassSVM", "OneClass(nu=0.1{})", "", CANCER, kernel, FLOAT32)
        for kernel in (RBF, QUADRATIC)
    ),
    *(
        (who + options, family, intercept + loss, data, "linear", gap)
        for intercept in (PENALIZED, NONE)
        for who, options, family, loss, data, gap in (
            ("sklearn:LinearSVC", PATIENT, SOFT, "", CANCER, SLOW),
            ("sklearn:LinearSVC", PATIENT, SOFT, SQUARED, CANCER, SLOW),
            ("sklearn:LinearSVR", PATIENT, TUBE, "", DIABETES, SLOW),
            ("sklearn:LinearSVR", PATIENT, TUBE, SQUARED_TUBE, DIABETES, SLOW),
            ("rehline", PATIENT, SOFT, "", CANCER, SLOW),
            ("rehline", PATIENT, SOFT, SQUARED, CANCER, SLOW),
            ("rehline", PATIENT, TUBE, "", DIABETES, SLOW),
            ("snapml:SVM", PATIENT, SOFTER, "", CANCER, FLOAT32),
            ("snapml:SVM", PATIENT, SOFTER, SQUARED, CANCER, FLOAT32),
        )
    ),
]


@pytest.mark.parametrize(
    ("who", "family", "arguments", "data", "kernel", "gap"),
    PEERS,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_peer_at_its_tightest(who, family, arguments, data, kernel, gap) -> None:
    program = family.format(arguments), data, kernel
    of, best = task(*program, eps=TOL), optimum(*program)
    answer = answered(who, of)
    found = judge(of, answer)
    assert answer.own_rule
    assert answer.iterations > 0
    assert answer.settings
    assert excess(found.primal, best) <= gap
    if answer.alpha is None:
        assert np.isnan(found.dual)
        assert found.outcome in ("undecided", "inaccurate")
    else:
        assert found.gap <= gap
        assert found.dual <= best + tolerances.TIGHT * abs(best)
        assert found.outcome in ("above eps", "optimal", "inaccurate")
        # alphas of another scale are repaired where feasible ones form a cone: the gap hides it
        assert found.residuals["weights"] <= tolerances.POLISHED


def excess(primal, best):
    """Share by which an objective is above the optimum; one below it is no objective of it."""
    assert primal >= best - tolerances.TIGHT * abs(best)
    return (primal - best) / abs(best)


@pytest.mark.parametrize("loss", ["", SQUARED])
@pytest.mark.parametrize("C", [0.1, 0.05])
def test_the_peers_bounds_would_tell_one_program_from_another(C, loss) -> None:
    """Free, penalised, none, another C: the optima are further apart than the peers' gaps."""
    programs = [f"SoftMargin(C={C}{intercept}{loss})" for intercept in ("", PENALIZED, NONE)]
    values = [optimum(p, CANCER) for p in (*programs, f"SoftMargin(C={1.01 * C}{loss})")]
    for i, value in enumerate(values):
        assert all(abs(value - other) > 3 * FLOAT32 * value for other in values[:i])


@pytest.mark.parametrize(
    ("who", "family", "data"),
    [
        ("sklearn:SVC", SOFT.format(""), CANCER),
        ("intelex:SVR", TUBE.format(""), DIABETES),
        ("sklearn:NuSVC", "NuClassification(nu=0.2)", CANCER),
        ("rehline", SOFT.format(PENALIZED), CANCER),
        ("sklearn:LinearSVC", SOFT.format(PENALIZED), CANCER),
        ("snapml:SVM", SOFTER.format(PENALIZED), CANCER),
    ],
)
def test_a_wrong_sign_or_scale_would_be_seen(who, family, data) -> None:
    of, best = task(family, data, eps=TOL), optimum(family, data)
    answer = answered(who, of)
    scaled = {
        name: 1.01 * getattr(answer, name)
        for name in ("alpha", "coef")
        if getattr(answer, name) is not None
    }
    for change in ({"intercept": -answer.intercept}, scaled):
        assert excess(judge(of, replace(answer, **change)).primal, best) > 3 * FLOAT32


@pytest.mark.parametrize("who", ["sklearn:SVC", "intelex:SVC", "sklearn:LinearSVC", "rehline"])
def test_labels_of_any_kind_and_samples_in_any_storage(who) -> None:
    intercept = "" if who.endswith(":SVC") else PENALIZED
    dense = task(SOFT.format(intercept), CANCER, eps=TOL)
    X = sp.csr_array(dense.X)
    X.resize(X.shape[0], X.shape[1] + 2)  # features that never occur, as in a9a
    other = replace(dense, X=X, y=np.where(dense.y > 0, "benign", "malignant"))
    primals = [judge(of, answered(who, of)).primal for of in (dense, other)]
    assert primals[1] == pytest.approx(primals[0], rel=FLOAT32)


def test_a_model_of_another_program_is_no_answer() -> None:
    asked = task(SOFT.format(PENALIZED), CANCER)
    for who, program in (
        ("sklearn:SVC", SOFT.format("")),
        ("sklearn:LinearSVC", SOFT.format(NONE)),
    ):
        found = contestant(who)
        model = found.fit(task(program, CANCER))
        with pytest.raises(QPSVMError, match="intercept"):
            found.answer(asked, model)
    other = contestant("sklearn:SVC")
    model = other.fit(task("SoftMargin(C=0.2)", CANCER))
    with pytest.raises(QPSVMError, match="upper differs"):
        other.answer(task("SoftMargin(C=0.1)", CANCER), model)


# --- peers: what they refuse ---------------------------------------------------------------------

WITH_WEIGHTS, AVERAGE = ", class_weight='balanced'", ", average_loss=True"

REFUSED = [
    *((who, SOFT, PENALIZED, "linear") for who in ("sklearn:SVC", "intelex:SVC")),
    *((who, SOFT, NONE, RBF) for who in ("sklearn:SVC", "intelex:SVC")),
    *((who, TUBE, PENALIZED, RBF) for who in ("sklearn:SVR", "intelex:SVR")),
    *((who, SOFT, SQUARED, RBF) for who in ("sklearn:SVC", "intelex:SVC")),
    *((who, TUBE, SQUARED_TUBE, RBF) for who in ("sklearn:SVR", "intelex:SVR")),
    *(
        (who, SOFT, arguments, "linear")
        for who in ("sklearn:LinearSVC", "rehline", "snapml:SVM")
        for arguments in ("", PENALIZED + WITH_WEIGHTS, PENALIZED + AVERAGE)
    ),
    *((who, SOFT, PENALIZED, RBF) for who in ("sklearn:LinearSVC", "rehline", "snapml:SVM")),
    *(
        (who, SOFT, arguments, RBF)
        for who in ("sklearn:SVC",)
        for arguments in (WITH_WEIGHTS, AVERAGE)
    ),
    ("sklearn:LinearSVR", TUBE, "", "linear"),
    ("sklearn:LinearSVR", SOFT, PENALIZED, "linear"),
    ("rehline", TUBE, PENALIZED + SQUARED_TUBE, "linear"),
    ("snapml:SVM", TUBE, PENALIZED, "linear"),
    ("sklearn:SVC", "HardMargin({})", "", "linear"),
    ("sklearn:SVC", "CrammerSinger(C=1.0{})", "", "linear"),
    ("sklearn:NuSVC", "NuClassification(nu=0.2{})", PENALIZED, RBF),
    ("sklearn:NuSVR", "NuRegression(nu=0.2{})", NONE, RBF),
    ("sklearn:OneClassSVM", "DataDescription(C=0.1{})", "", RBF),
]


@pytest.mark.parametrize(("who", "family", "arguments", "kernel"), REFUSED, ids=str)
def test_another_program_is_refused(who, family, arguments, kernel) -> None:
    found = registry.get(who)  # no package is needed to say no
    of = task(family.format(arguments), CANCER, kernel)
    assert found.refusal(of)
    with pytest.raises(UnsupportedProgramError):
        found.fit(of)


# --- backends ------------------------------------------------------------------------------------

SMALL = "wine(n=60, seed=0)"
BACKENDS = [info.name for info in qpsvm.backends.available() if info.installed]
LOOSE = 1e-4
INSEPARABLE = "strip(d=3, margin=-0.5, n=12, seed=0)"


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_as_it_is(name, form) -> None:
    """Whatever it claims, its bounds enclose the optimum."""
    family = "SoftMargin(C=1.0)"
    of, best = task(family, SMALL, eps=LOOSE), optimum(family, SMALL)
    found = registry.get(f"{name}(form={form!r})")
    try:
        answer = found.answer(of, found.fit(of))
    except UnsupportedProgramError:
        return  # linear programs only, or a definite P only
    assert answer.problem.form == form
    assert answer.settings["form"] == form
    assert answer.build_seconds > 0.0
    assert answer.solve_seconds > 0.0
    judged = judge(of, answer)
    assert judged.outcome in ("optimal", "false optimal", "inaccurate", "unclaimed optimal")
    slack = tolerances.TIGHT * best
    assert judged.dual - slack <= best <= judged.primal + slack
    if judged.outcome == "optimal":
        assert (judged.primal - best) <= LOOSE * best


def test_the_machine_is_part_of_what_is_timed() -> None:
    of = task("SoftMargin(C=1.0)", SMALL, eps=1e-8)
    contestant = registry.get("cvxopt")
    fitted = contestant.fit(of)
    machine = fitted[-1]
    assert contestant.answer(of, fitted).solution is machine
    assert np.isfinite(machine.intercept)


def test_first_order_methods_run_to_their_tolerance_or_the_clock() -> None:
    of = task("SoftMargin(C=1.0)", SMALL, eps=1e-4)
    assert answered("osqp(form='primal')", of).settings["max_iter"] >= 10**7


def test_a_backends_own_options_reach_it() -> None:
    of = task("SoftMargin(C=1.0)", SMALL, eps=1e-8)
    answer = answered("osqp(form='primal', max_iter=25, polishing=False)", of)
    assert answer.claimed is Status.ITERATION_LIMIT
    assert answer.iterations == 25
    assert answer.settings["polishing"] is False
    assert judge(of, answer).outcome == "inaccurate"


@pytest.mark.parametrize("name", ["cvxopt", "osqp", "qpsolvers:clarabel", "qpsolvers:scs"])
def test_a_backend_stops_at_the_limit(name) -> None:
    of = task("SoftMargin(C=1.0)", CANCER, RBF, eps=1e-12, time_limit=2e-3)
    answer = answered(name, of)
    assert answer.claimed is Status.TIME_LIMIT
    judged = judge(of, answer)
    assert judged.outcome == "time limit"
    if name == "osqp":  # it hands out where it was
        assert optimum("SoftMargin(C=1.0)", CANCER, RBF) < judged.primal < np.inf
    if isinstance(answer.solution, QPSolution):  # nothing a machine could be made of
        assert answer.solution.x is None
        assert judged.gap == np.inf


@pytest.mark.parametrize("who", ["osqp(form='primal')", "qpsolvers:scs(form='dual')"])
def test_a_hard_margin_that_is_none(who) -> None:
    of = task("HardMargin()", "strip(d=3, margin=-0.5, n=40, seed=0)")
    assert judge(of, answered(who, of)).outcome == "infeasible"


# --- the contract and the reference --------------------------------------------------------------


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("backend", ["auto", "osqp"])
def test_the_contract_is_kept(backend, form) -> None:
    of = task("SoftMargin(C=1.0)", SMALL, RBF, eps=1e-9)
    answer = answered(f"qpsvm(backend={backend!r}, form={form!r})", of)
    assert answer.problem.form == form
    assert judge(of, answer).outcome == "optimal"


@pytest.mark.parametrize("who", ["qpsvm", "reference"])
def test_what_has_no_optimum_is_proven_to_have_none(who) -> None:
    of = task("HardMargin()", INSEPARABLE)
    assert judge(of, answered(who, of)).outcome == "infeasible"


REFERENCED = [
    ("SoftMargin(C=100.0)", CANCER, RBF),
    ("SoftMargin(C=1.0, loss='squared_hinge')", CANCER, RBF),
    ("NuClassification(nu=0.2)", CANCER, "linear"),
    ("HardMargin()", "strip(d=3, margin=0.5, n=40, seed=0)", "linear"),
    ("L1Norm(C=1.0)", CANCER, "linear"),
    ("CrammerSinger(C=1.0)", "iris(classes=True)", "linear"),
    ("LeastSquares(C=1.0)", CANCER, RBF),
    ("QuantileRegression(C=1.0, tau=0.3)", DIABETES, RBF),
    ("DataDescription(C=0.05)", SMALL, RBF),
    ("SoftMargin(C=10.0)", "synthetic(d=5, n=2500, seed=0)", "linear"),
    ("SoftMargin(C=1.0, intercept='penalized')", "synthetic(d=5, n=2500, seed=0)", "linear"),
    ("SoftMargin(C=1.0)", "synthetic(d=5, n=2500, seed=0)", RBF),
    ("EpsilonRegression(C=1.0)", "synthetic_targets(d=5, n=1200, seed=0)", RBF),
]


@pytest.mark.parametrize(("family", "data", "kernel"), REFERENCED, ids=str)
def test_the_reference_is_exact(family, data, kernel) -> None:
    of = task(family, data, kernel, eps=1e-10)
    judged = judge(of, answered("reference", of))
    assert judged.outcome == "optimal"
    assert judged.gap <= 1e-10


def test_the_reference_keeps_a_solution_that_memory_does_not_let_it_polish(monkeypatch) -> None:
    def greedy(*_, **__):
        raise MemoryError

    monkeypatch.setattr(qpsvm, "polish", greedy)
    of = task("SoftMargin(C=1.0)", SMALL, RBF, eps=1e-8)
    assert judge(of, answered("reference", of)).outcome == "optimal"


def test_the_reference_repeats_no_claim_of_the_solver_it_begins_with(monkeypatch) -> None:
    """A start that the polish cannot improve comes back as it was, its claim included."""
    monkeypatch.setattr(qpsvm, "polish", lambda _, s, **__: s)
    liar = qpsvm.backends.get("osqp")
    solve = liar.solve

    def rough(problem, *_, **__):
        unpolished = Settings(eps=1e-2, options={"polishing": False})
        found = problem.recover(solve(problem.qp, unpolished))
        return found.replace(qp=found.qp.replace(status=Status.OPTIMAL))

    monkeypatch.setattr(qpsvm, "solve", rough)
    of = task("SoftMargin(C=1.0)", SMALL, eps=1e-9)
    answer = answered("reference", of)
    assert answer.claimed is not Status.OPTIMAL
    assert judge(of, answer).outcome == "inaccurate"


@needs_data
@pytest.mark.parametrize("intercept", ["free", "penalized"])
def test_the_reference_is_exact_on_a_large_real_set(intercept) -> None:
    loader()  # skips without the folder
    of = task(f"SoftMargin(C=1.0, intercept={intercept!r})", "a9a", eps=1e-10)
    judged = judge(of, answered("reference", of))
    assert judged.outcome == "optimal"
    assert judged.gap <= 1e-10


# --- names ---------------------------------------------------------------------------------------

CLASS = """
from benchmarks.contestants.base import Answer, Contestant
from qpsvm.qp import Status

class {name}(Contestant):
    def __init__(self, depth=1):
        self.depth = depth

    def fit(self, task):
        return self.depth

    def answer(self, task, fitted):
        return Answer(Status.UNKNOWN, iterations=fitted)
"""


def test_every_name_makes_a_contestant() -> None:
    names = registry.names()
    assert len(set(names)) == len(names)
    assert {"cvxopt", "osqp", "reference", "qpsvm", "rehline", "sklearn:LinearSVC"} <= set(names)
    for name in names:
        made = registry.get(name)
        assert isinstance(made, Contestant)
        assert isinstance(made.version(), str)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sklearn:SCV", "sklearn:SVC"),
        ("qpsolvers:pipq", "qpsolvers"),
        ("cvxopt(form='both')", "'primal' or 'dual'"),
        ("qpsvm(backend='nobody')", "nobody"),
        ("sklearn:SVC(C=3.0)", "C is what"),
        ("rehline(fit_intercept=True)", "fit_intercept"),
        ("reference(speed=2)", "speed"),
        ("nowhere.py", "no file"),
    ],
)
def test_names_that_are_none_are_errors(text, words) -> None:
    with pytest.raises(SuiteError, match=words):
        registry.get(text)


def test_options_an_estimator_has_not() -> None:
    of = task(SOFT.format(""), SMALL)
    with pytest.raises(SuiteError, match="colour"):
        registry.get("sklearn:SVC(colour='red')").fit(of)


def test_a_file_is_a_contestant(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(CLASS.format(name="Mine"))
    made = registry.get(f"{path}(depth=3)")
    assert made.answer(None, made.fit(None)).iterations == 3
    with pytest.raises(SuiteError, match="height"):
        registry.get(f"{path}(height=3)")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import numpy", "0 contestants"),
        (CLASS.format(name="A") + CLASS.format(name="B"), "2 contestants"),
        ("1 / 0", "ZeroDivisionError"),
        ("def", "SyntaxError"),
    ],
    ids=["none", "two", "raises", "no Python"],
)
def test_a_file_that_is_none(tmp_path: Path, text, words) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(SuiteError, match=words):
        registry.get(str(path))


@pytest.fixture
def other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with entry points, one good and some that are not."""
    (tmp_path / "fast_svms.py").write_text(CLASS.format(name="Fast"))
    metadata = tmp_path / "fast_svms-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fast-svms\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[qpsvm.contestants]\n"
        "fast = fast_svms:Fast\n"
        "broken = no_such_module_anywhere:Fast\n"
        "wrong = collections:OrderedDict\n"
        "reference = fast_svms:Fast\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()


@pytest.mark.usefixtures("other_package")
def test_an_entry_point_is_a_contestant_and_takes_no_name_away() -> None:
    assert registry.get("fast(depth=2)").fit(None) == 2
    assert type(registry.get("reference")).__name__ == "Reference"
    names = registry.names()
    assert "fast" in names
    assert names.count("reference") == 1
    for name, words in (("broken", "no_such_module"), ("wrong", "OrderedDict")):
        with pytest.raises(SuiteError, match=words):
            registry.get(name)
