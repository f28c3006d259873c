"""The judge: the audit's figures, and nothing that is broken passes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC

import qpsvm
from benchmarks.contestants.base import Answer, Task
from benchmarks.data import load_samples
from benchmarks.judge import judge
from benchmarks.rows import OUTCOMES
from qpsvm.kernels import RBF, Linear
from qpsvm.qp import QPSolution, Status
from qpsvm.qp.certificate_search import find_farkas_certificate
from tests import tolerances

EPS = 1e-8
WINE = load_samples("wine")
DIABETES = load_samples("diabetes(n=80, seed=0)")
INSEPARABLE = load_samples("strip(d=3, margin=-0.5, n=20, seed=0)")
SEPARABLE = load_samples("strip(d=3, margin=0.5, n=20, seed=0)")


def task(formulation, samples=WINE, kernel=None, eps=EPS):
    return Task(formulation, samples.X, samples.y, kernel or Linear(), eps)


SOFT = task(qpsvm.SoftMargin(C=1.0))
TUBE = task(qpsvm.EpsilonRegression(C=1.0), DIABETES)
BEST = {id(t): qpsvm.solve(t.problem, eps=tolerances.TIGHT) for t in (SOFT, TUBE)}


def right(of, **changes):
    """The optimum as numbers."""
    best = BEST[id(of)]
    numbers = {"alpha": best.alpha, "coef": best.coef, "intercept": best.intercept}
    return Answer(Status.OPTIMAL, **{**numbers, **changes})


# --- optima -------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", [SOFT, TUBE], ids=["classifier", "regression"])
@pytest.mark.parametrize("given", ["alpha and coef", "alpha", "solution", "program's solution"])
def test_an_optimum_in_any_of_its_forms_is_optimal(of, given):
    best = BEST[id(of)]
    answer = {
        "alpha and coef": right(of),
        "alpha": right(of, coef=None),
        "solution": Answer(Status.OPTIMAL, solution=best),
        "program's solution": Answer(Status.OPTIMAL, solution=best.qp),
    }[given]
    found = judge(of, answer)
    assert found.outcome == "optimal"
    assert found.verified == "pass"
    assert found.dual <= found.primal + tolerances.ROUNDING * found.size
    assert found.gap <= EPS


def test_the_two_sides_of_a_tube_may_come_as_one_number() -> None:
    above, below = np.split(BEST[id(TUBE)].alpha, 2)
    found = judge(TUBE, right(TUBE, alpha=above - below))
    assert found.outcome == "optimal"


@pytest.mark.parametrize(
    ("claimed", "own_rule", "outcome"),
    [
        (Status.ITERATION_LIMIT, False, "unclaimed optimal"),
        (Status.UNKNOWN, True, "unclaimed optimal"),
        (Status.TIME_LIMIT, False, "time limit"),
        (Status.OPTIMAL, True, "optimal"),
    ],
)
def test_what_an_optimum_claims_to_be_is_said(claimed, own_rule, outcome) -> None:
    answer = replace(right(SOFT), claimed=claimed, own_rule=own_rule)
    assert judge(SOFT, answer).outcome == outcome


def test_the_figures_are_those_of_the_audit() -> None:
    svc = SVC(C=1.0, gamma=0.05, tol=1e-2).fit(WINE.X, WINE.y)
    machine = qpsvm.audit(svc, WINE.X, WINE.y, optimum=False).machines[0]
    of = task(qpsvm.SoftMargin(C=1.0), kernel=RBF(0.05))
    numbers = {"alpha": machine.solution.alpha, "intercept": machine.solution.intercept}
    found = judge(of, Answer(Status.OPTIMAL, own_rule=True, **numbers))
    assert found.outcome == "above eps"
    assert found.gap == pytest.approx(machine.relative_gap, rel=tolerances.AUDITED, abs=1e-13)
    assert found.primal == pytest.approx(machine.certificate.primal_objective, rel=1e-13)
    checks = [c for c in machine.report.checks if c.name != "own_predictions"]  # of the model
    assert found.residuals == {c.name: pytest.approx(c.scaled) for c in checks}


def test_the_weight_of_a_feature_that_never_occurs_may_be_rounding() -> None:
    """Interior-point methods on the primal leave 1e-13 there."""
    X = np.hstack([WINE.X, np.zeros((len(WINE.X), 1))])
    of = replace(SOFT, X=X)
    best = BEST[id(SOFT)]
    for weight, outcome in ((0.0, "optimal"), (1e-13, "optimal"), (1e-2, "false optimal")):
        answer = Answer(
            Status.OPTIMAL,
            alpha=best.alpha,
            coef=np.append(best.coef, weight),
            intercept=best.intercept,
        )
        assert judge(of, answer).outcome == outcome


# --- what is wrong ------------------------------------------------------------------------------


def poisoned(vector, value=math.nan):
    broken = np.array(vector)
    broken[3] = value
    return broken


ALPHA, COEF, B = BEST[id(SOFT)].alpha, BEST[id(SOFT)].coef, BEST[id(SOFT)].intercept
BROKEN = {
    "nothing": {"alpha": None, "coef": None},
    "NaN in alpha": {"alpha": poisoned(ALPHA)},
    "infinite alpha": {"alpha": poisoned(ALPHA, math.inf)},
    "alpha too short": {"alpha": ALPHA[:-1]},
    "alpha as a column": {"alpha": ALPHA[:, None]},
    "alpha one number": {"alpha": 0.5},
    "complex alpha": {"alpha": ALPHA + 1e-20j},
    "alpha in words": {"alpha": "optimal"},
    "NaN in coef": {"coef": poisoned(COEF)},
    "coef too long": {"coef": np.append(COEF, 0.0)},
    "NaN in coef alone": {"alpha": None, "coef": poisoned(COEF)},
    "coef alone too short": {"alpha": None, "coef": COEF[:-1]},
    "intercept NaN": {"intercept": math.nan},
    "intercept missing": {"intercept": None},
    "intercept a vector": {"intercept": np.array([B, B])},
    "infinite intercept alone": {"alpha": None, "intercept": math.inf},
    "solution of other data": {"solution": BEST[id(TUBE)]},
    "a solution in words": {"solution": "x = 1"},
    "no x": {"solution": QPSolution(Status.OPTIMAL)},
    "width it has not": {"width": 1.0},
    "NaN for a width": {"width": math.nan},
}


@pytest.mark.parametrize("own_rule", [False, True], ids=["claims eps", "own rule"])
@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_no_optimum(what, own_rule) -> None:
    found = judge(SOFT, replace(right(SOFT), own_rule=own_rule, **BROKEN[what]))
    assert found.outcome == ("above eps" if own_rule else "false optimal")
    assert found.verified == "fail"
    assert not found.gap <= EPS
    assert found.message


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("NaN in alpha", "alpha has 1 NaN or infinities"),
        ("alpha one number", "needs (178,)"),
        ("coef alone too short", "needs (13,)"),
        ("intercept a vector", "it must be a finite number"),
        ("nothing", "neither a solution nor alphas nor weights"),
    ],
)
def test_what_is_broken_is_said(what, words) -> None:
    assert words in judge(SOFT, replace(right(SOFT), **BROKEN[what])).message


WRONG = {
    "intercept": {"intercept": B + 0.1},
    "sign of the intercept": {"intercept": -B},
    "sign of the weights": {"coef": -COEF},
    "alpha of another C": {"alpha": 1.1 * ALPHA},
    "alpha of average losses": {"alpha": ALPHA / len(ALPHA)},
    "signed alpha": {"alpha": ALPHA * WINE.y},
    "coef of another scale": {"coef": 1.01 * COEF},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_translation_is_no_optimum(what) -> None:
    found = judge(SOFT, replace(right(SOFT), **WRONG[what]))
    assert found.outcome == "false optimal"
    assert found.gap > 100 * EPS
    # whatever is wrong, its bounds are bounds
    assert found.dual <= best_objective() <= found.primal


def best_objective():
    return qpsvm.certify(SOFT.problem, BEST[id(SOFT)]).dual_objective


def test_what_plain_evaluation_rounds_is_judged_by_more_digits() -> None:
    """Decision values of 1 as the difference of two numbers of 2^26, and the optimum by hand."""
    X, y = 2.0**26 + np.array([[0.0], [2.0]]), np.array([-1.0, 1.0])
    of = Task(qpsvm.SoftMargin(C=1.0), X, y, Linear(), EPS)
    exact = Answer(Status.OPTIMAL, alpha=np.array([0.5, 0.5]), intercept=-(2.0**26) - 1.0)
    found = judge(of, exact)
    assert found.outcome == "optimal"
    assert found.verified == "pass"
    assert found.gap == 0.0
    assert found.residuals["rounding"] < EPS
    refuted = judge(of, replace(exact, alpha=np.array([0.4, 0.4])))
    assert refuted.outcome == "false optimal"


# --- weights alone ------------------------------------------------------------------------------


def hinge(coef, b):
    return 0.5 * coef @ coef + np.maximum(0.0, 1.0 - WINE.y * (WINE.X @ coef + b)).sum()


@pytest.mark.parametrize(
    ("claimed", "outcome"),
    [(Status.OPTIMAL, "undecided"), (Status.ITERATION_LIMIT, "inaccurate")],
)
def test_weights_alone_bound_from_above(claimed, outcome) -> None:
    coef = COEF + 0.01
    found = judge(SOFT, Answer(claimed, coef=coef, intercept=B, own_rule=True))
    assert found.outcome == outcome
    assert found.primal == pytest.approx(hinge(coef, B), rel=tolerances.ROUNDING)
    assert math.isnan(found.dual)
    assert found.gap == math.inf
    assert found.size == found.primal
    assert found.verified == ""


def test_weights_alone_of_a_width_take_the_best_one() -> None:
    of = task(qpsvm.NuClassification(nu=0.2))
    best = qpsvm.solve(of.problem, eps=tolerances.TIGHT)
    found = judge(of, Answer(Status.OPTIMAL, coef=best.coef, intercept=best.intercept))
    whole = judge(of, Answer(Status.OPTIMAL, solution=best))
    assert found.primal == pytest.approx(whole.primal, rel=tolerances.SAME_OBJECTIVE)


def test_weights_alone_of_the_1_norm() -> None:
    found = judge(task(qpsvm.L1Norm(C=1.0)), right(SOFT, alpha=None))
    norm = np.abs(COEF).sum() - 0.5 * COEF @ COEF
    assert found.primal == pytest.approx(hinge(COEF, B) + norm, rel=tolerances.ROUNDING)


def test_one_vector_of_weights_is_no_answer_for_several_classes() -> None:
    found = judge(task(qpsvm.CrammerSinger(C=1.0)), right(SOFT, alpha=None))
    assert found.outcome == "false optimal"
    assert found.gap == math.inf


# --- no optimum ---------------------------------------------------------------------------------


def evidence(samples):
    return find_farkas_certificate(qpsvm.HardMargin().primal(samples.X, samples.y).qp)


def claim(formulation, samples, solution, form="primal"):
    problem = getattr(formulation, form)(samples.X, samples.y)
    answer = Answer(Status.PRIMAL_INFEASIBLE, solution=solution, problem=problem)
    return judge(task(formulation, samples), answer)


def test_a_proof_is_checked_and_accepted() -> None:
    found = claim(qpsvm.HardMargin(), INSEPARABLE, evidence(INSEPARABLE))
    assert found.outcome == "infeasible"
    assert found.verified == "pass"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: None,
        lambda proof: proof.replace(z=np.full_like(proof.z, math.nan)),
        lambda proof: proof.replace(z=np.ones_like(proof.z)),
        lambda proof: proof.replace(z=proof.z[:-1]),
        lambda proof: proof.replace(z=-proof.z),
        lambda proof: proof.replace(z=np.zeros_like(proof.z)),
        lambda _: "there is none",
    ],
    ids=["missing", "NaN", "ones", "short", "negative", "zero", "words"],
)
def test_evidence_that_proves_nothing(spoil) -> None:
    found = claim(qpsvm.HardMargin(), INSEPARABLE, spoil(evidence(INSEPARABLE)))
    assert found.outcome == "unproven infeasible"
    assert found.verified == "fail"


@pytest.mark.parametrize(
    ("formulation", "samples"),
    [(qpsvm.HardMargin(), SEPARABLE), (qpsvm.SoftMargin(C=1.0), INSEPARABLE)],
    ids=["separable", "soft"],
)
def test_no_optimum_where_there_is_one(formulation, samples) -> None:
    found = claim(formulation, samples, evidence(INSEPARABLE))
    assert found.outcome == "false infeasible"
    assert found.verified == "fail"


def test_every_outcome_is_one_of_the_rows() -> None:
    words = {judge(SOFT, replace(right(SOFT), **changes)).outcome for changes in BROKEN.values()}
    assert words <= set(OUTCOMES)


# --- another program ------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["price", "samples", "kernel"])
def test_an_answer_to_another_program_is_none(other) -> None:
    """Its bounds would be taken for bounds on the one that was asked for."""
    of = {
        "price": task(qpsvm.SoftMargin(C=10.0)),
        "samples": task(qpsvm.SoftMargin(C=1.0), load_samples("wine(n=60, seed=0)")),
        "kernel": task(qpsvm.SoftMargin(C=1.0), kernel=RBF(gamma=0.1)),
    }[other]
    best = qpsvm.solve(of.problem)
    answer = Answer(Status.OPTIMAL, solution=best, problem=of.problem)
    assert judge(of, answer).outcome == "optimal"
    found = judge(SOFT, answer)
    assert found.outcome == "error"
    assert math.isnan(found.dual)
    assert "another program" in found.message


def test_an_answer_may_be_of_either_form() -> None:
    primal = qpsvm.SoftMargin(C=1.0).primal(WINE.X, WINE.y)
    answer = Answer(Status.OPTIMAL, solution=qpsvm.solve(primal, eps=EPS), problem=primal)
    assert judge(SOFT, answer).outcome == "optimal"
