"""Sentences and counts as claims, held against the exact optimum in rational numbers.

Every machine here is an exact optimum with noise, of a family whose optimum is known to be exact
(``benchmarks.soundness.rational``). What a report says of it is parsed and compared, number by
number.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import qpsvm
from benchmarks.soundness.rational import ZERO, dot, exact, times
from qpsvm import reports
from qpsvm.audits import comparison
from qpsvm.audits.rebuilt import Decisions, squares
from qpsvm.certificates.comparison import from_bounds, from_table
from qpsvm.certificates.rigorous import decision_enclosure
from qpsvm.data import RegressionTrainingSet
from qpsvm.reports.grade import Grade
from qpsvm.reports.implications import implications
from tests.certificates.textbook import FAMILIES, instance
from tests.strategies import grid, listed

NAMES = tuple(name for name in FAMILIES if name != "ranking")  # its labels are pairs
NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?|-?inf\w*)"


def exact_values(problem, solution):
    """``f(x_i)`` of a machine as it predicts, in rational numbers."""
    X, b = exact(problem.data.X), Fraction(float(solution.intercept))
    if solution.coef is not None:
        values = [dot(x, exact(solution.coef)) + b for x in X]
    else:
        values = [value + b for value in times(gram_of(problem), exact(solution.expansion))]
    return less_squares(problem, values)


def gram_of(problem):
    """The exact kernel matrix of a linear or precomputed kernel."""
    X = exact(problem.data.X)
    if isinstance(problem.kernel, qpsvm.kernels.Precomputed):
        return X
    return [[dot(a, b) for b in X] for a in X]


def less_squares(problem, values):
    if not problem.model.conditions.minus_self_similarity:
        return values
    K = gram_of(problem)
    return [value - K[i][i] for i, value in enumerate(values)]


def optimal_values(found):
    """``f*(x_i)`` of the exact optimum."""
    best, K = found.optimum, gram_of(found.problem)
    return less_squares(found.problem, [f + best.b for f in times(K, best.beta[: len(K)])])


def exactly(problem, solution):
    """Decision values of a machine in qpsvm's own arithmetic."""
    own = decision_enclosure(solution, problem.data.X, squares(problem, problem.data.X))
    return Decisions(*own)


def signs(values):
    return [(value > 0) - (value < 0) for value in values]


def machines(rng, name, each, sizes=(1e-12, 1e-9, 1e-6, 1e-3, 0.03, 0.3)):
    """Exact optima, and machines near them."""
    sets = [("plain", "linear"), ("short", "linear"), ("plain", "precomputed")]
    for samples, kernel in sets[:2] if name == "ball" else sets:
        for _ in range(each):
            found = instance(rng, name, samples, kernel)
            if found is None:
                continue
            yield found, [found.near(rng, size) for size in (0.0, rng.choice(sizes))]


@listed("each", [2, 6], quick=1)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of_predictions_is_true_of_the_exact_optimum(name, each):
    rng = np.random.default_rng(NAMES.index(name))
    same = different = seen = 0
    for found, near in machines(rng, name, each):
        problem = found.problem
        has_labels = not isinstance(problem.data, RegressionTrainingSet)
        optimum = optimal_values(found)
        for solution in near:
            own = exact_values(problem, solution)
            farthest = max(abs(a - b) for a, b in zip(own, optimum, strict=True))
            pairs = list(zip(signs(own), signs(optimum), strict=True))
            proof = qpsvm.certify(problem, solution, rigorous=True)
            table = problem.model.sample_table(problem.model.evaluate(solution))
            best = comparison.proof_of(problem, near[0])
            values = comparison.ranges(problem, exactly(problem, solution), best, problem.data.X)
            for claim in (
                from_table(problem.model, proof, table, has_labels=has_labels),
                comparison.of_machine(problem, values),
            ):
                if claim is None:  # the intercept is one of many
                    continue
                seen += 1
                assert claim.rigorous or not math.isfinite(best.gap_upper)
                if claim.largest_change < math.inf:
                    assert farthest <= Fraction(claim.largest_change)
                if not has_labels:
                    assert claim.n_same is claim.n_different is claim.n_undecided is None
                    continue
                assert claim.n_same <= sum(a == b != 0 for a, b in pairs)
                assert claim.n_different <= sum(a * b < 0 for a, b in pairs)
                assert claim.n_same + claim.n_different + claim.n_undecided == len(pairs)
                same += claim.n_same
                different += claim.n_different
    assert seen > 3 * each
    if has_labels:
        assert same > 3 * each  # something is proven; a ball has many samples on its boundary


def test_what_is_said_of_several_classes_is_true_of_the_exact_optimum():
    rng = np.random.default_rng(7)
    same = different = 0
    for samples, kernel in (("plain", "linear"), ("short", "linear"), ("plain", "precomputed")):
        for size in (0.0, 1e-9, 1e-3, 0.03, 0.3, 1.0) * 4:
            found = instance(rng, "Crammer-Singer", samples, kernel)
            problem, best = found.problem, found.optimum
            solution, K = found.near(rng, size), gram_of(found.problem)
            proof = comparison.proof_of(problem, found.near(rng, 0.0))
            values = comparison.ranges(problem, exactly(problem, solution), proof, problem.data.X)
            squares = None if kernel == "linear" else np.diagonal(problem.data.X)
            optimum = [
                [f + b for f in times(K, beta)] for beta, b in zip(best.beta, best.b, strict=True)
            ]
            computed = solution.decision_function(problem.data.X)
            for claim in (
                comparison.of_machine(problem, values),
                from_bounds(
                    qpsvm.certify(problem, solution, rigorous=True), problem.data.X, squares
                ),
            ):
                winners = [
                    {m for m, f in enumerate(column) if f == max(column)}
                    for column in zip(*optimum, strict=True)
                ]
                own = np.argmax(computed, axis=1).tolist()
                pairs = list(zip(own, winners, strict=True))
                assert claim.n_same <= sum(first == {label} for label, first in pairs)
                assert claim.n_different <= sum(label not in first for label, first in pairs)
                same += claim.n_same
                different += claim.n_different
    assert same > 50
    assert different > 0


def numbers(words, pattern):
    found = re.search(pattern.replace("#", NUMBER), words)
    return None if found is None else [Fraction(number.rstrip(".")) for number in found.groups()]


@listed("each", [2, 4], quick=1)
@grid("name, rigorous", product(NAMES, [True, False]))
def test_sentences_about_the_objective_are_true_of_the_exact_optimum(name, rigorous, each):
    rng = np.random.default_rng(50 + NAMES.index(name))
    bounded = 0
    for found, near in machines(rng, name, each):
        for solution in near:
            proof = qpsvm.certify(found.problem, solution, rigorous=rigorous)
            built = reports.build(found.problem, solution, certificate=proof)
            words, best = " ".join(implications(built)), found.optimum.value
            between = numbers(words, r"optimum lies between # and #: this machine's")
            if between is not None:
                bounded += 1
                assert between[0] <= best <= between[1]
            cost = found.cost(solution)
            above = numbers(words, r"objective is at most # above the best possible")
            if above is not None and cost < math.inf and name != "hard margin":
                assert cost - best <= above[0]
            if built.grade is Grade.OPTIMAL and cost < math.inf:
                size = max(abs(float(best)), proof.floor)
                assert float(cost - best) <= 3.0 * built.eps * size
    assert bounded > 2.5 * each


# --- no page contradicts itself -------------------------------------------------------------------


def contradictions(built):
    """Pairs of sentences of one page that cannot both be read as true."""
    words, summary, proof = " ".join(implications(built)), built.summary, built.certificate
    only, many = "it is unique" in words, "it is not unique" in words
    interval = "every intercept from about" in words
    yield "one and many intercepts", only and many
    yield "one intercept, and an interval of them", only and interval
    yield "an interval, and a sample on the margin", bool(interval and summary and summary.n_free)
    yield "an interval, and a free sample proven", interval and proof.screening.count("free") > 0
    complementary = "strict complementarity is proven" in words
    yield "degenerate and not", complementary and "degenerate: met exactly" in words
    yield "complementary and undecided", complementary and "are undecided at" in statuses(words)
    compared, headline = built.predictions, built.headline
    all_same = "proven to be those of the exact optimum" in words and "All " in words
    yield "all and not all", bool(all_same and compared and not compared.all_same)
    yield (
        "optimal and not",
        headline.sentence.startswith("Optimal") != (headline.grade is Grade.OPTIMAL),
    )
    yield "passed and wrong", built.passed and headline.grade is Grade.WRONG
    yield "optimal without a pass", headline.grade is Grade.OPTIMAL and not built.passed
    yield "no bound and a bound", "Nothing bounds" in words and "at most" in words.split(".")[1]


def statuses(words):
    return words[words.find("Proven for the exact optimum:") :]


@listed("each", [1, 4], quick=1)
@pytest.mark.parametrize("name", [*FAMILIES, "L1 norm"])
def test_no_page_contradicts_itself(name, each):
    rng = np.random.default_rng(100 + len(name))
    for found, near in machines(rng, name, each):
        for solution in near:
            built = reports.build(found.problem, solution)
            found_out = [what for what, there in contradictions(built) if there]
            assert not found_out, (found_out, implications(built), built.headline)
            content = built.to_dict()
            assert content["grade"] == built.grade.value
            assert content["headline"] == built.headline.sentence


def test_loose_and_tight_machines_of_libsvm_do_not_contradict_themselves():
    from sklearn.datasets import load_breast_cancer
    from sklearn.svm import SVC

    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for C, tol in ((100.0, 1e-3), (1.0, 1e-3), (1e4, 1e-3), (1.0, 0.5)):
        for built in qpsvm.audit(SVC(C=C, tol=tol).fit(X, y), X, y).report().reports:
            assert not [what for what, there in contradictions(built) if there]


# --- how bounds are printed -----------------------------------------------------------------------


def test_bounds_are_printed_outwards():
    from qpsvm.reports.numbers import at_least, at_most

    rng = np.random.default_rng(3)
    for value in [*rng.normal(size=300), *10.0 ** rng.uniform(-300, 300, 300), 1.0, 0.0, 100.0]:
        for digits in (2, 9, 12):
            lower, upper = (Fraction(f(value, digits)) for f in (at_least, at_most))
            assert lower <= Fraction(value) <= upper
            assert upper - lower <= Fraction(abs(value)) / 10 ** (digits - 1)
    assert (at_most(1.21e-9), at_least(1.29e-9), at_most(math.inf)) == (
        "1.3e-09",
        "1.2e-09",
        "infinite",
    )
    assert at_most(0.0) == "0"
    assert ZERO == 0
