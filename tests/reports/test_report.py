"""The model: what a report says is what was measured."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import qpsvm
from qpsvm import reports
from qpsvm.exceptions import InvalidParameterError
from qpsvm.reports.document import EXPLANATIONS
from qpsvm.reports.implications import implications
from qpsvm.reports.kinds import kind_of
from tests.reports.cases import ALL, EPS, FAILED, MACHINES, MOONS, report, solved
from tests.tolerances import ROUNDING

EVERY = pytest.mark.parametrize("name", ALL)


# --- verdict -------------------------------------------------------------------------------------


@EVERY
def test_verdict_and_figures_are_the_verifiers(name):
    problem, solution = FAILED[name]() if name in FAILED else solved(name)
    verified = qpsvm.verify(problem, solution, eps=EPS)
    built = reports.build(problem, solution, verified)
    assert built.passed == verified.passed
    for figure in ("relative_gap", "worst"):
        assert np.array_equal(getattr(built, figure), getattr(verified, figure))
    if isinstance(verified, qpsvm.KKTReport):
        assert np.array_equal(built.objective, verified.objective, equal_nan=True)
        assert built.checks == verified.checks


@EVERY
def test_every_check_is_explained(name):
    built = report(name)
    names = {check.name for part in (built, *built.machines) for check in part.checks}
    assert names or built.n_machines
    assert names <= set(EXPLANATIONS)


def test_a_report_cannot_be_changed():
    built = report("plane")
    with pytest.raises(dataclasses.FrozenInstanceError):
        built.source = "elsewhere"
    with pytest.raises(TypeError):
        built.versions["qpsvm"] = "2"
    facts = {"a": 1}
    told = reports.build(*solved("plane"), facts=facts)
    facts["a"] = 2
    assert told.facts.values == {"a": 1}
    with pytest.raises(TypeError):
        told.facts.values["a"] = 2


def test_a_verdict_of_another_kind_is_refused():
    _, verified = solved("one vs rest"), qpsvm.verify(*solved("one vs rest"))
    with pytest.raises(InvalidParameterError, match="ReducedReport; pass what qpsvm"):
        reports.build(*solved("plane"), verified)


@pytest.mark.parametrize("name", ["plane", "tube", "joint", "one vs rest"])
def test_a_verdict_on_another_solution_is_refused(name):
    problem, solution = solved(name)
    verified, proof = qpsvm.verify(problem, solution), qpsvm.certify(problem, solution)
    assert reports.build(problem, solution, verified, certificate=proof).passed == verified.passed
    parts = problem.parts(solution) if name == "one vs rest" else [(problem, solution)]
    moved = [own.replace(intercept=own.intercept + 1.0) for _, own in parts]
    other = dataclasses.replace(solution, solutions=tuple(moved)) if len(parts) > 1 else moved[0]
    for options in ({"verified": verified}, {"certificate": proof}):
        with pytest.raises(InvalidParameterError, match="about other samples or another solution"):
            reports.build(problem, other, **options)


def test_a_verdict_on_other_samples_is_refused():
    rng = np.random.default_rng(0)
    problems = [qpsvm.SoftMargin(1.0).dual(rng.normal(size=(8, 2)), [0, 1] * 4) for _ in range(2)]
    first, second = map(qpsvm.solve, problems)
    with pytest.raises(InvalidParameterError, match="about other samples or another solution"):
        reports.build(problems[1], second, qpsvm.verify(problems[0], first))


def test_a_programs_solution_is_recovered_first():
    problem, solution = solved("plane")
    built = reports.build(problem, solution.qp)
    assert built.passed
    assert built.solution.intercept == pytest.approx(solution.intercept, abs=ROUNDING)


# --- samples -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MACHINES)
def test_every_row_is_there_worst_first(name):
    built = report(name)
    rows, table = built.samples(), built.verified.samples
    assert len(rows) == len(table)
    violations = [row["violation"] for row in rows]
    assert violations == sorted(violations, reverse=True)
    assert built.samples(3) == rows[:3]
    assert all(column.entry(row).text for column in built.kind.columns for row in rows)
    own = built.kind.further_columns(built).keys()
    for row, i in zip(rows, table.worst_first(), strict=True):
        expected = table.row(int(i))
        assert row.keys() == expected.keys() | own
        assert all(row[key] == expected[key] for key in expected.keys() - own)


def test_rows_of_a_tube_say_which_side_they_are_about():
    built = report("tube")
    n = built.problem.data.n_samples
    sides = {(row["sample"], row["side"]) for row in built.samples()}
    assert sides == {(i, side) for i in range(n) for side in ("above", "below")}
    for row in built.samples():
        # it reaches the lower edge where the target is above, else the upper one
        sign = 1.0 if row["side"] == "above" else -1.0
        assert row["margin"] == pytest.approx(sign * row["decision"])
    assert {row["side"] for row in report("quantile").samples()} == {"either"}


def test_rows_of_a_ranking_name_both_samples():
    built = report("ranking")
    data = built.problem.data
    pairs = {(row["sample"], row["over"]) for row in built.samples()}
    assert pairs == {(int(data.kept[i]), int(data.kept[j])) for i, j in data.pairs}
    values, decision = data.values, built.solution.decision_function(data.X)
    assert all(values[i] > values[j] for i, j in pairs)
    for row in built.samples():
        assert row["label"] == values[row["sample"]]
        assert row["decision"] == pytest.approx(decision[row["sample"]], abs=ROUNDING)
        ahead = decision[row["sample"]] - decision[row["over"]]
        assert row["margin"] == pytest.approx(ahead, abs=ROUNDING)


def test_rows_keep_the_callers_numbers():
    X, y = MOONS
    weights = np.ones(len(y))
    weights[[0, 7, 30]] = 0.0
    problem = qpsvm.SoftMargin(1.0).dual(X, y, sample_weight=weights)
    built = reports.build(problem, qpsvm.solve(problem))
    numbers = sorted(row["sample"] for row in built.samples())
    assert numbers == sorted(set(range(len(y))) - {0, 7, 30})
    content = built.to_dict()["data"]
    assert (content["n_samples"], content["n_given"]) == (len(y) - 3, len(y))


# --- scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plane", "hard margin", "joint", "one vs rest", "tube"])
def test_score_is_that_of_the_machine(name):
    problem, solution = solved(name)
    data = problem.data
    assert report(name).score == pytest.approx(solution.score(data.X, data.targets))


def test_scores_without_labels():
    table = report("one class").verified.samples
    # nu bounds the share outside, whose alphas are at their bound
    outside = np.mean(table.case == 2)
    assert report("one class").score == pytest.approx(1.0 - outside)
    ranked = report("ranking")
    decision = ranked.solution.decision_function(ranked.problem.data.X)
    better, worse = ranked.problem.data.pairs.T
    ahead = decision[better] - decision[worse]  # at the optimum some are tied, but for rounding
    assert np.mean(ahead > ROUNDING) <= ranked.score <= np.mean(ahead > -ROUNDING)


# --- several machines ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["one vs rest", "one vs one"])
def test_machines_have_reports_of_their_own(name):
    built = report(name)
    problem, _ = solved(name)
    assert tuple(machine.name for machine in built.machines) == problem.names
    assert built.relative_gap == max(machine.relative_gap for machine in built.machines)
    assert built.statistics.solve_seconds == sum(
        machine.statistics.solve_seconds for machine in built.machines
    )
    assert all(machine.table is not None for machine in built.machines)


def test_one_wrong_machine_fails_them_all():
    built = report("one machine wrong")
    assert [machine.passed for machine in built.machines] == [False, True, True]


def test_a_solution_of_another_problem_has_no_machines():
    built = report("of another problem")
    assert built.machines == ()
    assert "belongs to another one" in built.verified.notes[0]
    assert "No bound" in implications(built)[0]


# --- the trace -----------------------------------------------------------------------------------


def test_trace_is_what_the_callback_was_told():
    problem, _ = solved("plane")
    trace = []
    solution = qpsvm.solve(problem, "osqp", eps=EPS, callback=trace.append)
    built = reports.build(problem, solution, eps=EPS, trace=trace)
    told = built.to_dict()["trace"]
    assert [event["stage"] for event in told] == [event.stage for event in trace]
    assert told[-1]["residual"] == trace[-1].residual == built.worst
    picture = next(p for p in built.pictures if p.name == "convergence")
    first = next(event for event in trace if event.stage == "solve")
    assert f"{first.residual:.2g} at iteration {first.iteration}" in picture.alternative


def test_a_solver_that_tells_nothing_is_said_to():
    problem, _ = solved("plane")
    trace = []
    solution = qpsvm.solve(problem, "cvxopt", eps=1e-6, callback=trace.append)
    built = reports.build(problem, solution, eps=1e-6, trace=trace)
    assert "convergence" not in {picture.name for picture in built.pictures}
    assert "the solver reported no residuals" in built.to_text()


def test_traces_of_several_machines_are_told_apart():
    problem, _ = solved("one vs one")
    trace = []
    solution = qpsvm.solve(problem, "osqp", callback=trace.append)
    built = reports.build(problem, solution, trace=trace)
    parts = [machine.trace for machine in built.machines]
    assert [event for part in parts for event in part] == trace
    assert all(part[-1].stage == "done" for part in parts)
    # with an event too many, nobody can tell
    odd = reports.build(problem, solution, trace=[*trace, trace[-1]])
    assert all(machine.trace == () for machine in odd.machines)


# --- kinds ---------------------------------------------------------------------------------------


def test_every_kind_of_problem_has_its_own_words():
    kinds = {kind_of(solved(name)[0]).name for name in PROBLEM_OF_KIND}
    assert kinds == set(PROBLEM_OF_KIND.values())
    for name, kind in PROBLEM_OF_KIND.items():
        assert report(name).to_dict()["kind"] == kind


PROBLEM_OF_KIND = {
    "plane": "two-class",
    "tube": "regression",
    "one class": "novelty",
    "ranking": "ranking",
    "joint": "multiclass",
    "one vs rest": "reduced",
    "program": "program",
}


# --- constraints ---------------------------------------------------------------------------------


def test_constraints_come_with_their_multipliers():
    built = report("with constraints")
    told = built.to_dict()["constraints"]
    multipliers = built.solution.constraint_multipliers
    assert [row["multiplier"] for row in told] == multipliers.tolist()
    assert [row["kind"] for row in told] == ["inequality", "equality"]
    assert told[1]["name"] == "slope <b> of |2|"
    assert built.solution.coef[1] == pytest.approx(-0.5)
    assert abs(told[1]["multiplier"]) > 1.0  # the moons would have it otherwise
    assert "slope <b> of |2|" in built.to_text()
    assert report("plane").to_dict()["constraints"] == []


def test_single_precision_kernel_matrix_of_a_failed_joint_machine_is_reported():
    X = np.random.default_rng(0).standard_normal((30, 3))
    single = (X @ X.T + np.eye(30)).astype(np.float32)
    double = single.astype(np.float64)
    single.flags.writeable = False  # then it is used as it is, not copied
    found = []
    for K in (single, double):
        problem = qpsvm.CrammerSinger(C=1.0).dual(K, np.arange(30) % 3, kernel="precomputed")
        built = reports.build(problem, qpsvm.solve(problem, "osqp", eps=1e-1), eps=1e-14)
        assert not built.passed
        found.append(built.predictions)
    assert found[0] is not None
    assert found[0].n_samples == found[1].n_samples == 30
