"""Reasons of a comparison: merged where they differ in nothing but a name."""

from __future__ import annotations

from qpsvm.reports import Comparison, ComparisonRow


def skipped(name: str, kernel: str, reason: str) -> ComparisonRow:
    return ComparisonRow(name, kernel, "primal", 0.1, "skipped", reason)


def test_backends_that_say_the_same_share_a_reason() -> None:
    takes = "Backend '{}' takes bounds only; use 'cvxopt'."
    rows = [skipped(name, kernel, takes.format(name)) for kernel in "lr" for name in ("a:1", "b")]
    found = Comparison(tuple(rows), 1e-6).reasons()
    where = ("l primal", "r primal")
    assert found == [("skipped", "a:1, b", where, "each takes bounds only; use 'cvxopt'.")]


def test_a_reason_of_one_backend_keeps_its_name() -> None:
    rows = (skipped("a", "l", "'a' says no."), skipped("b", "r", "'b' says no."))
    assert Comparison(rows, 1e-6).reasons() == [
        ("skipped", "a", ("l primal",), "'a' says no."),
        ("skipped", "b", ("r primal",), "'b' says no."),
    ]


def test_a_long_reason_ends_at_a_word() -> None:
    rows = (skipped("a", "l", "word " * 200),)
    ((_, _, _, reason),) = Comparison(rows, 1e-6).reasons()
    assert len(reason) <= 400
    assert reason.endswith("word ...")
