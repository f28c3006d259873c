"""What a report says of a store: everybody, every failure, the refuted claims first."""

from __future__ import annotations

import importlib.util
import io
import math
import re
import runpy
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from benchmarks import report
from benchmarks.cells import short_name
from benchmarks.cli import app
from benchmarks.compare import compare
from benchmarks.metrics.bounds import is_reference
from benchmarks.metrics.times import kind_of
from benchmarks.report.comparison import agree, verdict
from benchmarks.report.document import document
from benchmarks.rows import OUTCOMES
from benchmarks.store import Results, open_store
from qpsvm.exceptions import InvalidParameterError, MissingPackageError, StoreError
from qpsvm.reports.blocks import Sentences, Table
from tests.benchmark import handmade, synthetic
from tests.benchmark.synthetic import BOUNDS, CONTESTANTS, CRASHING, FAST, LATE, LIAR, PEER, SLOW
from tests.reports.markup import shown_markdown


@pytest.fixture(scope="module")
def summary():
    return report.summarize(synthetic.results())


@pytest.fixture(scope="module")
def content(summary):
    return document(summary)


def tables(part):
    """All tables by key, of a document or section."""
    found = {}
    for section in part.sections:
        found |= {block.key: block for block in section.blocks if isinstance(block, Table)}
        found |= tables(section)
    return found


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def column(table, heading):
    at = [each.title for each in table.columns].index(heading)
    return [row[at].text for row in table.rows]


def printed(summary):
    stream = io.StringIO()
    report.print_summary(summary, Console(file=stream, width=160, markup=False, emoji=False))
    return stream.getvalue()


# --- nobody and nothing is left out --------------------------------------------------------------


@pytest.mark.parametrize("form", ["md", "html", "terminal"])
def test_every_contestant_is_shown(summary, form):
    words = printed(summary) if form == "terminal" else report.text_of(summary, form)
    if form == "html":
        words = words[words.index("<h2") :].replace("&#39;", "'")  # not the data of the script
        words = words[: words.index('id="qpsvm-data"')]
    outcomes = words[words.index("Outcomes") : words.index("To a certified gap")]
    for who in map(short_name, CONTESTANTS):
        assert who in outcomes


def test_every_cell_is_counted_once(content):
    table = tables(content)["outcomes-table"]
    cells = {replace(row.cell, repeat=0) for row in synthetic.rows()}
    counted = {row[0].text: sum(int(cell.text) for cell in row[1:-1]) for row in table.rows}
    assert counted == {
        short_name(who): sum(cell.contestant == who for cell in cells) for who in CONTESTANTS
    }


@pytest.mark.parametrize("target", synthetic.TARGETS)
def test_everybody_has_a_place_or_a_reason(summary, target):
    standings = summary.at(target)
    assert {standing.kind for standing in standings} == set(map(kind_of, synthetic.instances()))
    for standing in standings:
        asked = {r.contestant for r in synthetic.rows() if kind_of(r.instance) == standing.kind}
        table = standing.ranking.table
        ranked = {rank.contestant for rank in standing.ranking.ranks}
        assert ranked == set(table.contestants)
        assert ranked | set(table.left_out) == {who for who in asked if not is_reference(who)}
        # other kinds of programs are another table
        assert {kind_of(instance) for instance in standing.instances} == {standing.kind}


def test_every_failure_is_in_the_table_of_times(summary, content):
    found = tables(content)
    for i, target in enumerate(summary.targets):
        for j, standing in enumerate(summary.at(target)):
            table = found[f"target-{i + 1}-{j + 1}-times"]
            names = [column.title for column in table.columns]
            shown = {
                (row[0].text, name): cell.text
                for row in table.rows
                for name, cell in zip(names, row, strict=True)
            }
            for (instance, full_name), timing in standing.times.items():
                who = short_name(full_name)
                if not timing.attempted:
                    assert shown.get((str(instance), who), "-") == "-"
                elif timing.reached:
                    assert float(shown[str(instance), who].split()[0]) == pytest.approx(
                        timing.seconds, rel=5e-3
                    )
                else:
                    assert shown[str(instance), who].startswith(timing.outcome)


def test_means_with_failures_are_bounds_and_count_them(summary, content):
    found = tables(content)
    for i, target in enumerate(summary.targets):
        table = found[f"target-{i + 1}-means"]
        seconds, failed = column(table, "Seconds"), column(table, "Failed")
        assert [text.startswith(">") for text in seconds] == [count != "0" for count in failed]
        by_kind = zip(column(table, "Contestant"), column(table, "Kind of program"), strict=True)
        expected = {
            (short_name(who), standing.kind): sum(
                not standing.times[instance, who].reached for instance in standing.instances
            )
            for standing in summary.at(target)
            for who in standing.ranking.contestants
        }
        assert dict(zip(by_kind, map(int, failed), strict=True)) == expected
    assert any(count != "0" for count in failed)


# --- what is wrong comes first -------------------------------------------------------------------


def test_refuted_claims_come_first_and_completely(content):
    assert content.sections[0].key == "claims"
    refuted = {replace(r.cell, repeat=0) for r in synthetic.rows() if r.outcome == "false optimal"}
    table = tables(content)["claims-table"]
    assert {(row[0], row[2], float(row[3])) for row in texts(table)} == {
        (cell.contestant, str(cell.instance), cell.eps) for cell in refuted
    }
    assert LIAR in content.verdict
    excess = [float(gap) / float(eps) for *_, eps, gap, _ in texts(table)]
    assert excess == sorted(excess, reverse=True)


def test_a_long_list_of_claims_says_what_it_leaves_out(summary):
    table = tables(document(summary, listed=3))["claims-table"]
    assert len(table.rows) == 3
    assert f"3 of {len(summary.claims)}" in table.caption


def test_without_refuted_claims_that_is_said():
    honest = tuple(row for row in synthetic.rows() if row.contestant != LIAR)
    content = document(report.summarize(Results(synthetic.HEADER, honest)))
    assert "No claim of an optimum was refuted." in content.verdict
    assert "claims-table" not in tables(content)


def test_wrong_multipliers_of_an_optimal_machine_are_told_apart():
    """The same lie, but with the reference's machine."""
    optimal = {"primal": synthetic.OPTIMUM, "gap": 0.0}
    rows = tuple(
        replace(row, **optimal) if row.outcome == "false optimal" and row.cell.eps < 1e-3 else row
        for row in synthetic.rows()
    )
    content = document(report.summarize(Results(synthetic.HEADER, rows)))
    table = tables(content)["claims-table"]
    assert {(row[1], float(row[3])) for row in texts(table)} == {
        ("false optimal", 1e-3),
        ("false optimal, multipliers only", 1e-6),
    }
    assert "in 6 of them only the multipliers were wrong." in content.verdict


def notes(part, title):
    """Sentences under a title, of a document or section."""
    found = []
    for section in part.sections:
        for block in section.blocks:
            if isinstance(block, Sentences) and block.title.startswith(title):
                found += block.sentences
        found += notes(section, title)
    return found


def test_programs_without_a_lower_bound_are_named():
    peer = replace(handmade.row("peer", 1.0, dual=math.nan), gap=math.inf)
    other = handmade.row("peer", 1.0, instance=handmade.program(1))
    content = document(report.summarize(Results(synthetic.HEADER, (peer, other))))
    assert notes(content, "Programs without a lower bound") == [str(handmade.program())]
    times = tables(content)["target-1-1-times"]
    assert [row[0] for row in texts(times) if "no bound" in row] == [str(handmade.program())]
    bounded = document(report.summarize(Results(synthetic.HEADER, (other,))))
    assert notes(bounded, "Programs without a lower bound") == []


def test_a_program_with_and_without_an_optimum_is_a_contradiction():
    rows = (handmade.failure("prover", "infeasible"), handmade.row("solver", 1.0))
    content = document(report.summarize(Results(synthetic.HEADER, rows)))
    (words,) = notes(content, "Proofs that contradict each other")
    assert all(name in words for name in ("prover", "solver", str(handmade.program())))


def test_every_outcome_has_a_sign():
    path = Path(__file__).parents[2] / "benchmarks" / "results" / "findings.py"
    assert set(runpy.run_path(str(path))["SIGNS"]) == set(OUTCOMES)


@pytest.mark.exhaustive
def test_an_unfinished_run_is_called_so():
    results = synthetic.results()
    cells = len({row.cell for row in results.rows if row.cell.repeat == 0})
    for missing in (0, 1, 7):
        header = {**results.header, "suite": {"name": "s", "cells": cells + missing}}
        words = document(report.summarize(Results(header, results.rows))).verdict
        assert ("Unfinished" in words) == (missing > 0)
        assert not missing or f"{missing} cell" in words


def test_the_largest_loss_is_the_largest(summary):
    for standing in summary.standings:
        for who in standing.contestants:
            factors = [
                timing.seconds / fastest
                for (instance, name), timing in standing.times.items()
                if name == who
                and math.isfinite(
                    fastest := min(
                        t.seconds for (i, _), t in standing.times.items() if i == instance
                    )
                )
            ]
            largest = max(factors, default=1.0)
            loss = standing.losses.get(who)
            assert (1.0 if loss is None else loss.factor) == pytest.approx(largest)


# --- laws ----------------------------------------------------------------------------------------


def test_the_order_of_rows_changes_no_mean(summary):
    other = report.summarize(Results(synthetic.HEADER, synthetic.rows()[::-1]))
    for target in synthetic.TARGETS:
        means = [
            {
                (s.kind, m.contestant, m.seconds.value, m.failed)
                for s in each.at(target)
                for m in s.ranking.ranks
            }
            for each in (summary, other)
        ]
        by_name = [{m[:2]: m[2:] for m in found} for found in means]
        assert by_name[0].keys() == by_name[1].keys()
        for key, (seconds, failed) in by_name[0].items():
            assert by_name[1][key] == (pytest.approx(seconds), failed)


@pytest.mark.parametrize("suffix", ["md", "html"])
def test_equal_stores_give_equal_reports_but_for_the_date(summary, suffix):
    again = report.summarize(synthetic.results())
    dates = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
    first, second = (dates.sub("", report.text_of(each, suffix)) for each in (summary, again))
    assert first == second


def test_markdown_holds_machine_and_command_and_no_markup_of_others(summary):
    text = report.text_of(summary, "md")
    words = "\n".join(shown_markdown(text))
    assert synthetic.HEADER["command"] in words
    assert "Abacus <b>9000</b>" in words
    assert "<b>" not in text


def test_markdown_shows_all_tables_whole(summary, content):
    lines = report.text_of(summary, "md").splitlines()
    rules = [line for line in lines if re.fullmatch(r"\|( -{3}:? \|)+", line)]
    assert len(rules) == len(tables(content))
    body = sum(line.startswith("| ") for line in lines) - 2 * len(rules)
    assert body == sum(len(table.rows) for table in tables(content).values())


# --- bad input -----------------------------------------------------------------------------------


def test_an_empty_store_is_refused():
    with pytest.raises(StoreError, match="no rows"):
        report.summarize(Results({}, ()))


def test_a_header_without_a_suite_does():
    content = document(report.summarize(Results({}, synthetic.rows())))
    assert "unnamed" in content.title


@pytest.mark.parametrize("name", ["report.pdf", "report", "missing/report.md"])
def test_a_path_that_cannot_be_written_is_refused_before_the_work(tmp_path, name):
    with pytest.raises(InvalidParameterError, match=re.escape(name)):
        report.require_reportable(tmp_path / name)


def test_missing_packages_are_named_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r'jinja2 and plotly.*pip install "qpsvm\[bench'):
        report.require_reportable(tmp_path / "report.html")


# --- commands ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "a.jsonl"
    synthetic.write(path)
    return path


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_report_prints_and_writes(store, tmp_path, summary):
    pages = [tmp_path / "report.md", tmp_path / "report.html"]
    ran = run("report", store, "--output", pages[0], "--output", pages[1])
    assert ran.exit_code == 0
    for who in map(short_name, CONTESTANTS):
        assert who in ran.stdout
    assert f"{len(summary.claims)} claims by {LIAR} were refuted" in ran.stdout
    assert all(page.stat().st_size > 1000 for page in pages)


def test_report_refuses_what_is_no_store(tmp_path):
    (tmp_path / "x").write_text("hello\n")
    assert run("report", tmp_path / "x").exit_code == 2


def changed(path, change):
    """A second run: rows as ``change`` makes them, on another machine."""
    machine = {**synthetic.HEADER["machine"], "cores": 64}
    with open_store(path) as target:
        target.begin({**synthetic.HEADER, "machine": machine})
        for row in synthetic.rows():
            target.append(change(row))
    return path


def test_a_store_compared_with_itself_agrees(store):
    ran = run("compare", store, store)
    assert ran.exit_code == 0
    assert "Same machine, versions, threads and limits." in ran.stdout
    assert "100 % of the times are within their uncertainty" in ran.stdout
    assert "agree within their stated uncertainty" in ran.stdout
    assert "Outcomes that changed" not in ran.stdout
    assert "Times that changed" not in ran.stdout


def test_what_changed_is_said(store, tmp_path):
    def change(row):
        if row.contestant == FAST:
            return replace(row, total_seconds=3.0 * row.total_seconds)
        late = row.contestant == CRASHING and row.outcome == "optimal"
        return replace(row, outcome="error", total_seconds=math.nan) if late else row

    ran = run("compare", store, changed(tmp_path / "b.jsonl", change), "--target", "1e-3")
    lines = ran.stdout.splitlines()
    assert any(re.match(r" *cores +2, then 64", line) for line in lines)
    (ratio,) = [line for line in lines if re.match(rf"{short_name(FAST)} +1\.2\.3", line)]
    assert re.search(r" 3 \(2\.\d+ to 3\.\d+\) +12 ", ratio)
    (lost,) = [line for line in lines if re.match(rf"{CRASHING} +1\.2\.3", line)]
    assert lost.split()[-3:] == ["0", "0", "3"]
    assert sum("optimal  error" in line for line in lines) == 6


def test_rankings_agree_only_if_that_is_known_at_every_target():
    def compared(target, agrees):
        known = Results(synthetic.HEADER, synthetic.rows())
        found = compare(known, known, target)
        return found if agrees else replace(found, rankings={})

    known, unknown = compared(1e-3, agrees=True), compared(1e-6, agrees=False)
    assert (known.agrees, unknown.agrees) == (True, None)
    assert agree([known, known]) is True
    assert agree([known, unknown]) is None
    assert verdict([known, unknown]).endswith("to a certified gap of 1e-06.")


def test_rankings_that_disagree_are_an_exit_code(store, tmp_path):
    factors = {FAST: 10.0, SLOW: 0.1}

    def change(row):
        return replace(row, total_seconds=row.total_seconds * factors.get(row.contestant, 1.0))

    ran = run("compare", store, changed(tmp_path / "b.jsonl", change))
    assert ran.exit_code == 1
    assert "differ by more than their stated uncertainty" in ran.stdout


def test_the_synthetic_store_has_every_kind_of_row():
    found = {(row.contestant, row.outcome) for row in synthetic.rows()}
    assert found >= {
        (LIAR, "false optimal"), (LATE, "time limit"), (CRASHING, "crash"),
        (PEER, "unsupported"), (PEER, "above eps"), (BOUNDS, "optimal"),
    }  # fmt: skip
