"""The page in a real browser: no complaint, no network, keyboard, phone and paper."""

from __future__ import annotations

from itertools import product

import pytest

from qpsvm import reports
from qpsvm.reports.numbers import figure, residual
from tests.reports.browser import opened
from tests.reports.cases import PAGES, report, text
from tests.strategies import listed

pytestmark = pytest.mark.exhaustive  # pages in a browser

DESKTOP, PHONE = 1280, 390


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def page_of(folder, name):
    path = folder / f"{name}.html"
    if not path.exists():
        path.write_text(text(name, "html"), "utf-8")
    return path


@listed("name, width", product(PAGES[::-1], [DESKTOP, PHONE]), quick=4)
def test_it_is_shown_without_complaint(browser, folder, name, width):
    path, built = page_of(folder, name), report(name)
    browser.open(path, width)
    assert browser.complaints == []
    assert browser.requests == [path.as_uri()]
    shown = browser.run(
        "Object.fromEntries([...document.querySelectorAll('main > section [data-figure]')]"
        ".filter((e) => !e.closest('.level-3')).map((e) => [e.dataset.figure, e.textContent]))"
    )
    assert shown["relative-gap"] == residual(built.relative_gap)
    if built.objective is not None:
        assert shown["objective"] == figure(built.objective, 9)
    if built.summary is not None:
        assert shown["support"] == str(built.summary.n_support)
    verdict = browser.run("document.querySelector('#verdict').textContent")
    assert verdict == built.grade.title
    # every picture was decoded, and the page is not wider than the screen
    assert browser.run("[...document.images].every((i) => i.complete && i.naturalWidth > 0)")
    assert browser.run("document.images.length") == sum(
        len(part.pictures) for part in (built, *built.machines)
    )
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("[...document.images].every((i) => i.clientWidth <= innerWidth)")


@listed("name", PAGES, quick=2)
def test_every_column_is_in_sight_on_a_desk(browser, folder, name):
    browser.open(page_of(folder, name), DESKTOP)
    browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    cut_off = browser.run(
        "[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth)"
        ".map((e) => e.getAttribute('aria-labelledby'))"
    )
    assert cut_off == []


@pytest.mark.exhaustive
def test_everything_folded_fits_a_phone_too(browser, folder):
    browser.open(page_of(folder, "one vs rest"), PHONE)
    browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= PHONE


def test_long_words_fit_a_phone(browser, folder):
    path = folder / "long.html"
    built = reports.build(
        report("plane").problem, report("plane").solution, source="x" * 500,
        remarks=("y" * 500,), facts={"a" * 200: "b" * 200},
    )  # fmt: skip
    reports.write(path, built)
    browser.open(path, PHONE)
    assert browser.run("document.documentElement.scrollWidth") <= PHONE


COLUMN = (
    "[...[...document.querySelectorAll('table')].at(-1).tBodies[0].rows]"
    ".map((row) => Number(row.cells[%d].dataset.v))"
)


def test_tables_are_sorted_with_the_keyboard(browser, folder):
    browser.open(page_of(folder, "two classes"), DESKTOP)
    last = "[...document.querySelectorAll('table')].at(-1)"
    titles = browser.run(f"[...{last}.tHead.rows[0].cells].map((c) => c.textContent.trim())")
    violation, margin = titles.index("Violation"), titles.index("Margin")
    before = browser.run(COLUMN % violation)
    assert before == sorted(before, reverse=True)
    # to the button before that of the margin, and on with the keyboard alone
    browser.run(f"{last}.tHead.rows[0].cells[{margin - 1}].querySelector('button').focus()")
    browser.press("Tab")
    focused = browser.run("document.activeElement.textContent.trim()")
    assert focused == "Margin"
    head = f"{last}.tHead.rows[0].cells[{margin}].getAttribute('aria-sort')"
    browser.press("Enter")
    assert browser.run(head) == "descending"
    values = browser.run(COLUMN % margin)
    assert values == sorted(values, reverse=True)
    browser.press("Enter")
    assert browser.run(head) == "ascending"
    assert browser.run(COLUMN % margin) == sorted(values)
    assert sorted(browser.run(COLUMN % violation)) == sorted(before)
    assert browser.complaints == []


def test_infinite_values_sort_last_and_words_by_the_alphabet(browser, folder):
    browser.open(page_of(folder, "no intercept"), DESKTOP)
    rows = "[...document.querySelectorAll('table')[0].tBodies[0].rows]"
    heads = "document.querySelectorAll('table')[0].tHead.rows[0].cells"
    browser.run(f"{heads}[2].querySelector('button').click()")  # scaled, largest first
    assert browser.run(f"{rows}[0].cells[2].textContent") == "infinite"
    browser.run(f"{heads}[0].querySelector('button').click()")
    names = browser.run(f"{rows}.map((row) => row.cells[0].textContent)")
    assert names == sorted(names)


def test_regions_that_scroll_are_reached_with_the_keyboard(browser, folder):
    browser.open(page_of(folder, "two classes"), PHONE)
    reached = browser.run(
        "[...document.querySelectorAll('.scroll')].every((e) => e.tabIndex === 0 && "
        "document.getElementById(e.getAttribute('aria-labelledby')) !== null)"
    )
    assert reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_background(browser, folder, scheme):
    """Contrast of at least 4.5 to 1 (WCAG 2.1, criterion 1.4.3) in either scheme."""
    browser.open(page_of(folder, "plane"), DESKTOP, scheme=scheme)
    contrasts = browser.contrasts()
    assert len(contrasts) > 3
    assert {pair: ratio for pair, ratio in contrasts.items() if ratio < 4.5} == {}


def test_on_paper_everything_is_unfolded(browser, folder):
    browser.open(page_of(folder, "one vs rest"), DESKTOP)
    assert not browser.run("[...document.querySelectorAll('details')].every((d) => d.open)")
    browser.call("Page.printToPDF")
    assert browser.run("[...document.querySelectorAll('details')].every((d) => d.open)")
    assert browser.complaints == []
