"""The page of a benchmark in a real browser: filters, plots, table, keyboard, phone and paper."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest

from benchmarks import report
from benchmarks.cells import short_name
from benchmarks.metrics.bounds import best_dual, is_reference, suboptimality
from benchmarks.metrics.profiles import performance_profile
from benchmarks.metrics.tables import table_of
from benchmarks.metrics.times import kind_of, times_to
from benchmarks.report.page import page_data
from benchmarks.store import Results
from tests.benchmark import handmade, synthetic
from tests.benchmark.synthetic import FAST, LIAR, PEER, TARGETS
from tests.reports.browser import opened
from tests.reports.markup import embedded
from tests.strategies import listed
from tests.tolerances import ROUNDING

pytestmark = pytest.mark.exhaustive  # pages in a browser

DESKTOP, PHONE = 1280, 390
PENALISED = "SoftMargin(intercept='penalized')"
FREE_KIND, PENALISED_KIND = "SoftMargin, linear", "SoftMargin(intercept='penalized'), linear"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "benchmark.html"
    report.write(path, report.summarize(synthetic.results()))
    return path


@pytest.fixture(scope="module")
def loaded(browser, path):
    browser.open(path, DESKTOP)
    return browser


@pytest.fixture
def page(loaded):
    """The page as it opens, but for the order of its rows."""
    loaded.run("document.querySelector('#clear').click()")
    choose_target(loaded, 0)
    choose_kind(loaded, FREE_KIND)
    loaded.run("program.selectedIndex = 0; program.dispatchEvent(new Event('change'))")
    return loaded


def choose_target(page, number):
    page.run(f"target.value = {number}; target.dispatchEvent(new Event('change'))")


def choose_kind(page, kind):
    page.run(f"kind.value = {json.dumps(kind)}; kind.dispatchEvent(new Event('change'))")


def tick(page, field, *options):
    for option in options:
        boxes = f"[...document.querySelectorAll('#filter-{field} input')]"
        page.run(f"{boxes}.find((box) => box.value === {json.dumps(option)}).click()")


def shown_rows(page):
    """All rows that the filters leave, as lists of texts."""
    while not page.run("more.hidden"):
        page.run("more.click()")
    return page.run("[...rows.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))")


def curves(page, plot):
    """Contestants, abscissas and ordinates of what a plot shows."""
    return page.run(f"{plot}.data.map((t) => [t.name, [...t.x], [...t.y]])")


def rows_that(keep=lambda _: True):
    return [row for row in synthetic.rows() if keep(row)]


# --- as it opens ---------------------------------------------------------------------------------


@listed("width, scheme", [(PHONE, "dark"), (DESKTOP, "light")], quick=1)
def test_it_is_shown_without_complaint_network_or_overflow(browser, path, width, scheme):
    browser.open(path, width, scheme=scheme)
    assert browser.complaints == []
    assert browser.requests == [path.as_uri()]
    assert browser.run("document.documentElement.scrollWidth") <= width
    browser.run("document.querySelectorAll('details:not(.filter)').forEach((d) => d.open = true)")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.querySelectorAll('.plot .main-svg').length") >= 2
    low = {pair: ratio for pair, ratio in browser.contrasts().items() if ratio < 4.5}
    assert low == {}
    # the module's other tests share one page
    browser.open(path, DESKTOP)


def test_nothing_in_it_is_loaded_from_elsewhere(path):
    html = path.read_text("utf-8")
    markup = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert not re.findall(r"https?://|\bsrc=|@import|url\(", markup)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html).group(1)
    assert policy.startswith("default-src 'none'")
    assert re.findall(r"unsafe-eval|https?:|\*", policy) == []


def test_all_rows_are_in_the_page(path):
    data, rows = embedded(path.read_text("utf-8")), synthetic.rows()
    assert [row["key"] for row in data["rows"]] == [row.cell.key for row in rows]
    best = best_dual(synthetic.rows())
    gaps = [float(row["gap"]) for row in data["rows"]]
    assert gaps == [suboptimality(row, best) for row in rows]


def test_key_figures(page):
    rows = synthetic.rows()
    said = page.run("left.textContent")
    contestants, programs = {row.contestant for row in rows}, {row.instance for row in rows}
    assert f"{len(rows)} of {len(rows)} measurements" in said
    assert f"{len(contestants)} contestants on {len(programs)} programs" in said
    verdict = page.run("document.querySelector('.verdict').textContent")
    assert f"12 claims by {LIAR} were refuted" in verdict
    assert synthetic.HEADER["command"] in page.run("document.body.innerText")
    legend = page.run("[...legend.querySelectorAll('button')].map((b) => b.textContent.slice(1))")
    assert set(legend) == {short_name(who) for who in contestants if not is_reference(who)}


# --- filters drive the table and both plots ------------------------------------------------------


def test_a_filter_leaves_rows_that_match_and_all_of_them(page):
    before, profile, drawn = shown_rows(page), curves(page, "profile"), curves(page, "curves")
    tick(page, "family", PENALISED)
    tick(page, "C", "100")
    after = shown_rows(page)
    kept = rows_that(lambda r: r.instance.family.startswith("SoftMargin(C=100.0, int"))
    assert len(before) == len(synthetic.rows())
    assert len(after) == len(kept)
    assert {(row[2], row[3]) for row in after} == {(PENALISED, "100")}
    assert curves(page, "profile") != profile
    assert curves(page, "curves") != drawn
    assert page.run("[...program.options].length") == 3
    assert f"{len(kept)} of {len(before)} measurements" in page.run("left.textContent")
    page.run("document.querySelector('#clear').click()")
    assert curves(page, "profile") == profile
    assert len(shown_rows(page)) == len(before)


@pytest.mark.parametrize(
    ("target", "ticked", "kind", "keep"),
    [
        (0, {}, FREE_KIND, lambda _: True),
        (1, {}, PENALISED_KIND, lambda _: True),
        (
            0,
            {"contestant": [short_name(FAST), LIAR, PEER]},
            PENALISED_KIND,
            lambda r: r.contestant in (FAST, LIAR, PEER),
        ),
        (
            1,
            {"C": ["1"], "family": ["SoftMargin"]},
            FREE_KIND,
            lambda r: r.instance.family == "SoftMargin(C=1.0)",
        ),
    ],
    ids=["everything", "another kind", "three contestants", "a family and C"],
)
def test_the_profile_is_that_of_the_metrics(page, target, ticked, kind, keep):
    """The page computes it for what the filters leave of a kind; Python does for the same rows."""
    for field, options in ticked.items():
        tick(page, field, *options)
    choose_target(page, target)
    choose_kind(page, kind)
    best = best_dual(synthetic.rows())
    rows = rows_that(lambda row: keep(row) and kind_of(row.instance) == kind)
    expected = performance_profile(times_to(rows, TARGETS[target], best))
    shown = curves(page, "profile")
    full_names = {short_name(who): who for who in expected.contestants}
    assert {name for name, _, _ in shown} == set(full_names)
    for name, taus, shares in shown:
        for tau, share, following in zip(taus, shares, [*taus[1:], math.inf], strict=True):
            # rounding can make two steps of one: the second has all of it
            if following > tau * (1 + 2 * ROUNDING):
                assert share == pytest.approx(
                    expected.share(full_names[name], tau * (1 + ROUNDING))
                )
        assert shares[-1] == pytest.approx(expected.share(full_names[name], math.inf))


def test_a_profile_is_about_one_kind_of_program(page):
    kinds = "[...kind.options].map((o) => o.value)"
    assert page.run(kinds) == [FREE_KIND, PENALISED_KIND]  # and none for all of them
    assert page.run("kind.value") == FREE_KIND
    free = curves(page, "profile")
    words = page.run("document.querySelector('#profile-words').textContent")
    assert words.startswith(FREE_KIND)
    choose_kind(page, PENALISED_KIND)
    assert curves(page, "profile") != free
    # a kind that the filters leave nothing of gives way to one that is left
    tick(page, "family", "SoftMargin")
    assert page.run(kinds) == [FREE_KIND]
    assert curves(page, "profile") == free


def test_the_block_of_the_page_is_that_of_the_metrics(page):
    """Who took part where: found from everybody, as a search from the first alone misses it."""
    values = {"a": "11110000", "b": "00001110", "c": "00001110", "d": "00001111"}
    store = {who: [1.0 if x == "1" else "unsupported" for x in s] for who, s in values.items()}
    table = table_of(times_to(handmade.store(store), 1e-6))
    of = [
        [[c, {"attempted": s[p] == "1", "seconds": 1}] for c, s in enumerate(values.values())]
        for p in range(8)
    ]
    found = page.run(
        f"block({json.dumps(of)}.map((t) => new Map(t)), [0,1,2,3,4,5,6,7], [0,1,2,3])"
    )
    assert ["abcd"[c] for c in found["who"]] == list(table.contestants) == ["b", "c", "d"]
    assert found["programs"] == [4, 5, 6]
    assert len(table.instances) == 3


def test_what_cannot_be_measured_is_said(browser, path, tmp_path):
    peer = replace(handmade.row("peer", 1.0, dual=math.nan), gap=math.inf)
    report.write(tmp_path / "a.html", report.summarize(Results({}, (peer,))))
    browser.open(tmp_path / "a.html", DESKTOP)
    words = browser.run("document.querySelector('#curves-words').textContent")
    assert "No lower bound of this program is known" in words
    assert "Not reached by" not in words
    assert browser.complaints == []
    # the module's other tests share one page
    browser.open(path, DESKTOP)


def test_references_are_not_ranked_whatever_their_threads():
    rows = [handmade.row("a", 1.0), handmade.row("a", 1.0, threads=2)]
    rows += [handmade.row(who, 1.0, threads=2) for who in ("reference", "reference_qp")]
    data = page_data(report.summarize(Results({}, tuple(rows))))
    ranked = dict(zip(data["contestants"], data["ranked"], strict=True))
    assert ranked == {
        "a [1 threads]": True,
        "a [2 threads]": True,
        "reference [2 threads]": False,
        "reference_qp [2 threads]": True,
    }


def test_curves_are_the_sweeps_of_the_chosen_program(page):
    instance = str(synthetic.instances()[0])
    rows = [r for r in synthetic.rows() if str(r.instance) == instance and r.contestant == FAST]
    assert page.run("program.selectedOptions[0].textContent") == instance
    (seconds, gaps) = next(c[1:] for c in curves(page, "curves") if c[0] == short_name(FAST))
    medians = [sum(r.total_seconds for r in rows if r.cell.eps == eps) / 2 for eps in synthetic.EPS]
    assert seconds == pytest.approx(medians)
    assert gaps == pytest.approx([eps / 2 for eps in synthetic.EPS])
    page.run("next.click()")
    assert page.run("program.selectedOptions[0].textContent") == str(synthetic.instances()[1])
    assert curves(page, "curves")[0][1] != seconds
    page.run("previous.click()")


def test_the_target_decides_what_was_reached(page):
    tick(page, "reached", "yes")
    loose = len(shown_rows(page))
    choose_target(page, 1)
    tight = len(shown_rows(page))
    best = best_dual(synthetic.rows())
    expected = [
        sum(suboptimality(row, best) <= target for row in synthetic.rows()) for target in TARGETS
    ]
    assert [loose, tight] == expected


# --- the table -----------------------------------------------------------------------------------


@pytest.mark.parametrize("title", ["Seconds", "Certified gap"])
def test_numbers_are_sorted_both_ways_and_unknown_ones_last(page, title):
    titles = page.run("[...rows.tHead.rows[0].cells].map((c) => c.textContent.trim())")
    at = titles.index(title)
    head = f"rows.tHead.rows[0].cells[{at}]"
    for direction in ("descending", "ascending"):
        page.run(f"{head}.querySelector('button').focus()")
        page.press("Enter")
        assert page.run(f"{head}.getAttribute('aria-sort')") == direction
        texts = [row[at] for row in shown_rows(page)]
        values = [math.inf if text in ("none", "-") else float(text) for text in texts]
        assert values == sorted(values, reverse=direction == "descending")
        assert len(values) == len(synthetic.rows())


def test_a_row_opens_all_that_is_known_of_it(page):
    page.run("rows.tBodies[0].querySelector('button').focus()")
    page.press("Enter")
    assert page.run("details.open")
    known = page.run(
        "Object.fromEntries([...details.querySelectorAll('dt')]"
        ".map((t) => [t.textContent, t.nextElementSibling.textContent]))"
    )
    assert known["version"] == "1.2.3"
    assert "tolerance = 0." in known["settings"]
    assert {"residuals", "message", "problem hash", "seed", "threads", "machine"} <= set(known)
    page.press("Escape")
    assert not page.run("details.open")


# --- curves and their rows -----------------------------------------------------------------------


def test_a_click_on_a_curve_highlights_its_rows(page):
    """With the mouse, on a point of the second curve."""
    page.run("curves.scrollIntoView({ block: 'center' })")
    box = page.run(
        "(() => { const b = curves.querySelectorAll('.trace')[1].querySelector('.point')"
        ".getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    name = curves(page, "curves")[1][0]
    page.click(*box)
    lit = page.run("[...document.querySelectorAll('tr.lit')].map((r) => r.dataset.key)")
    program = page.run("program.selectedOptions[0].textContent")
    expected = rows_that(lambda r: short_name(r.contestant) == name and str(r.instance) == program)
    assert sorted(lit) == sorted(row.cell.key for row in expected)
    first = page.run("[...rows.tBodies[0].rows].map((r) => r.classList.contains('lit'))")
    assert first == sorted(first, reverse=True)
    opacities = dict(page.run("curves.data.map((t) => [t.name, t.opacity])"))
    assert opacities.pop(name) == 1
    assert set(opacities.values()) == {0.2}
    assert f"{len(expected)} of {name}" in page.run("left.textContent")


def test_the_keyboard_does_all_of_it(page):
    page.run("legend.querySelector('button').focus()")
    page.press("Enter")
    assert page.run("document.activeElement.getAttribute('aria-pressed')") == "true"
    lit = page.run("[...document.querySelectorAll('tr.lit')].length")
    assert lit == min(50, len(rows_that(lambda r: r.contestant == FAST)))
    page.press("Enter")
    assert page.run("document.querySelectorAll('tr.lit').length") == 0
    page.run("document.querySelector('#filter-outcome summary').focus()")
    page.press("Enter")
    page.press("Tab")
    option = page.run("document.activeElement.value")
    page.press(" ")
    assert {row[1] for row in shown_rows(page)} == {option}
    page.press("Escape")
    assert not page.run("document.querySelector('#filter-outcome').open")


def test_plots_have_words_and_tables_that_follow_the_filters(page):
    tick(page, "family", PENALISED)
    for plot in ("profile", "curves"):
        label = page.run(f"{plot}.getAttribute('aria-label')")
        assert page.run(f"{plot}.getAttribute('role')") == "img"
        named = {name for name, _, _ in curves(page, plot)}
        table = f"document.getElementById('{plot}-table')"
        rows = page.run(f"[...{table}.tBodies[0].rows].map((r) => r.cells[0].textContent)")
        assert set(rows) == named
        assert any(name in label for name in named)
    assert page.complaints == []


def test_contestants_differ_without_colour(page):
    looks = page.run("curves.data.map((t) => t.marker.symbol + t.line.dash)")
    assert len(set(looks)) == len(looks) > 3


def test_on_paper_it_is_light_unfolded_and_narrow(browser, path):
    browser.open(path, DESKTOP, scheme="dark")
    browser.run("addEventListener('beforeprint', () => { window.paper = profile.layout.width; })")
    browser.call("Page.printToPDF")
    assert browser.run("window.paper") == 640
    folds = "[...document.querySelectorAll('main > section details:not(.filter)')]"
    assert browser.run(f"{folds}.every((d) => d.open)")
    assert browser.complaints == []
