"""What the gap implies: the sentences hold what the certificate proves."""

from __future__ import annotations

import re

import numpy as np
import pytest

import qpsvm
from qpsvm import reports
from qpsvm.reports.implications import implications
from tests.reports.cases import MACHINES, MOONS, report, solved
from tests.tolerances import TIGHT


def said(built):
    return " ".join(implications(built))


@pytest.mark.parametrize("name", MACHINES)
def test_first_comes_the_interval_of_the_optimum(name):
    built = report(name)
    first = implications(built)[0]
    if not np.isfinite(built.certificate.gap_upper):
        assert first.startswith("Nothing bounds")
        return
    between = re.search(r"optimum lies between (\S+) and (\S+?): ", first)
    lower, upper = map(float, between.groups())
    # printed with the last digit outwards, and with what rounding may hide
    assert lower <= built.certificate.dual_objective
    assert upper >= built.certificate.primal_objective
    room = 1e-10 * abs(upper) + 2.0 * built.certificate.gap_upper
    assert upper - lower <= built.certificate.gap + room
    # and the optimum is there: a far more accurate solve agrees
    exact = qpsvm.certify(built.problem, qpsvm.solve(built.problem, eps=TIGHT))
    room = 1e-11 * abs(upper)
    assert lower - room <= exact.primal_objective
    assert exact.dual_objective <= upper + room


@pytest.mark.parametrize("share", [1.0, 1.0 - 1e-6, 1.0 - 1e-4, 0.99])
@pytest.mark.parametrize("name", ["plane", "two classes", "nu classification"])
def test_proven_predictions_are_those_of_the_certificate(name, share):
    problem, solution = solved(name)
    rough = solution.replace(alpha=share * solution.alpha, expansion=share * solution.expansion)
    built = reports.build(problem, rough)
    decided = built.certificate.predict_certified(problem.data.X).decided
    n, proven = len(decided), int(np.count_nonzero(decided))
    words = re.search(r"(All|\d+ of) (\d+) training predictions", said(built))
    claimed = n if words[1] == "All" else int(words[1].removesuffix(" of"))
    assert int(words[2]) == n
    assert claimed == built.predictions.n_same
    # where the program chooses a width the certificate knows more about samples it has not seen
    assert claimed <= proven
    assert claimed == proven or name == "nu classification"


def test_a_rough_answer_proves_less():
    problem, solution = solved("plane")
    share = 1.0 - 1e-5
    rough = solution.replace(alpha=share * solution.alpha, expansion=share * solution.expansion)
    built = reports.build(problem, rough)
    assert not built.passed
    undecided = [r.certificate.screening.counts["undecided"] for r in (built, report("plane"))]
    assert undecided[0] > undecided[1]
    assert f"{undecided[0]} are undecided at this accuracy" in said(built)


@pytest.mark.parametrize("name", MACHINES)
def test_statuses_add_up(name):
    built = report(name)
    found = re.search(
        r"([\d,]+) of ([\d,]+) \w+ (?:is|are) not .*?, ([\d,]+) have .*?, and ([\d,]+) at a"
        r"(?: bound; ([\d,]+) are undecided)?",
        said(built),
    )
    counts = built.certificate.screening.counts
    if found is None:
        assert counts["undecided"] == len(built.table)
        return
    zero, total, *others = (int((part or "0").replace(",", "")) for part in found.groups())
    parts = [zero, *others]
    assert total == sum(parts) == len(built.table)
    assert parts == [counts[name] for name in ("zero", "free", "bound", "undecided")]


def test_an_intercept_that_nothing_fixes():
    # a symmetric overlap: every alpha is at its bound, and b can move
    problem = qpsvm.SoftMargin(0.1).dual([[0.0], [1.0], [0.4], [0.6]], [0, 1, 1, 0])
    built = reports.build(problem, qpsvm.solve(problem))
    interval = built.certificate.intercept_interval
    assert interval.upper > interval.lower
    about = f"every intercept from about {interval.lower:.6g} to {interval.upper:.6g}"
    assert f"{about} gives the same objective" in said(built)
    assert "it is not unique" in said(built)
    assert "every intercept from" not in said(report("plane"))


def test_weights_of_a_linear_program_need_not_be_unique():
    assert "need not be unique" in said(report("1-norm"))
    assert "need not be unique" not in said(report("plane"))


def test_a_certificate_of_the_caller_is_used():
    problem, solution = solved("plane")
    own = qpsvm.certify(problem, solution)
    assert reports.build(problem, solution, certificate=own).certificate is own


def test_several_certificates_of_the_caller_go_to_their_machines():
    problem, solution = solved("one vs one")
    own = qpsvm.certify(problem, solution)
    built = reports.build(problem, solution, certificate=own)
    assert tuple(machine.certificate for machine in built.machines) == own.certificates


def test_a_program_says_between_which_objectives_it_lies():
    built = report("program")
    residuals = built.verified.residuals
    assert f"{residuals.primal_objective:.12g}" in said(built)
    assert f"{residuals.dual_objective:.12g}" in said(built)
    assert "cannot be evaluated" in said(report("no vectors"))


def test_nothing_is_implied_where_nothing_could_be_measured():
    built = reports.build(MOONS_PROBLEM, solved("plane")[1].replace(intercept=np.nan))
    assert said(built).startswith("No bound")


MOONS_PROBLEM = qpsvm.SoftMargin(3.0).dual(*MOONS, kernel=qpsvm.kernels.RBF(1.0))
