"""The same figures in every format, and nobody's text becomes markup in any."""

from __future__ import annotations

import io
import re
from functools import cache
from itertools import product
from shutil import which

import numpy as np
import pytest
from rich.console import Console

import qpsvm
from qpsvm import reports
from qpsvm.display import LINES
from qpsvm.reports import files, markup
from qpsvm.reports.document import document
from qpsvm.reports.files import print_page
from qpsvm.reports.implications import implications
from qpsvm.reports.numbers import figure, residual
from tests.processes import run
from tests.reports.cases import MOONS, PAGES, SHOWN, report, solved, text
from tests.reports.markup import (
    assert_balanced_latex,
    embedded,
    html_text,
    inline_tokens,
    parse_html,
    shown_markdown,
)
from tests.strategies import grid, listed

FORMATS = ("html", "md", "tex", "txt")
MARKUP = ("html", "md", "tex")
EVIL = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "[click](http://evil.example) ![x](http://evil.example) `code` **bold** <b>tag</b>",
    "a | b | c",
    "\\input{/etc/passwd} \\end{document} $x^2$ 100% #1 {open & ~_^",
    "$\\frac{",
    "```\n# heading\n- list\n1. one",
    "\x1b[31mred\x07\x00 \u202etxet",
    "漢字 🎉 ß é",
    "x" * 300,
    "www.evil.example, WWW.evil.example and www.evil.example/www.x",
)


def shown(text, suffix):
    """What a reader sees, roughly: text without its markup."""
    if suffix == "html":
        return html_text(text)
    if suffix == "md":
        return "\n".join(shown_markdown(text))
    if suffix == "tex":
        text = re.sub(r"\\(allowbreak\{\}|textless\{\}|textbar\{\}|textgreater\{\})", "", text)
        return re.sub(r"\\([%$&#_{}])", r"\1", text)
    return text


# --- the figures ---------------------------------------------------------------------------------


@grid("name, suffix", product(SHOWN, FORMATS[::-1]))  # most as text: pictures are slow
def test_figures_are_the_reports(name, suffix):
    built = report(name)
    words = " ".join(shown(text(name, suffix), suffix).split())
    assert built.grade.title in words
    if suffix != "tex":  # where long words may be broken
        assert built.headline.sentence in words
    assert residual(built.relative_gap) in words
    if built.objective is not None:
        assert figure(built.objective, 9) in words
    for check in built.checks:
        assert check.name.replace("_", " ") in words
        assert residual(check.scaled) in words
    for machine in built.machines:
        assert machine.name in words
        assert figure(machine.objective, 9) in words
    if built.data is not None:
        assert str(built.data.n_samples) in words
        if suffix in ("html", "md", "txt"):
            assert built.digest in words


@pytest.mark.parametrize("suffix", ["html", "md", "txt"])
@pytest.mark.parametrize("name", ["plane", "tube", "joint", "program", "no intercept"])
def test_every_implication_and_note_is_said(name, suffix):
    built = report(name)
    words = " ".join(shown(text(name, suffix), suffix).split())
    for sentence in (*implications(built), *built.verified.notes):
        assert " ".join(sentence.split()) in words


@listed("suffix", FORMATS[::-1], quick=3)
def test_remarks_and_facts_of_the_caller(suffix):
    built = reports.build(
        *solved("plane"),
        remarks=("It is not optimal.", "And slow."),
        facts={"float32 explains": 0.25, "labels that differ": 3, "known": None, "ok": True},
        facts_title="Audit",
    )
    words = shown(reports.text_of(built, suffix), suffix)
    for expected in (
        "It is not optimal.", "And slow.", "Audit", "float32 explains", "0.25",
        "labels that differ", "yes",
    ):  # fmt: skip
        assert expected in words
    assert words.index("It is not optimal.") < words.index("exact optimum lies between")


# --- the same input, the same bytes --------------------------------------------------------------


@pytest.mark.parametrize("suffix", [*FORMATS, "json"])
@pytest.mark.parametrize("name", ["plane"])
def test_equal_reports_are_equal_files_but_for_the_date(name, suffix):
    verified = qpsvm.verify(*solved(name))
    built = [reports.build(*solved(name), verified, source="s") for _ in range(2)]
    texts = [reports.text_of(each, suffix) for each in built]
    dates = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
    assert dates.sub("", texts[0]) == dates.sub("", texts[1])


# --- HTML ----------------------------------------------------------------------------------------


@listed("name", [*PAGES, *(name for name in SHOWN if name not in PAGES)], quick=len(PAGES))
def test_page_is_well_formed_self_contained_and_accessible(name):
    html = text(name, "html")
    tags = parse_html(html).tags
    for tag, attributes in tags:
        for attribute in ("src", "href", "srcset"):
            assert re.match("data:|#", attributes.get(attribute, "#")), (tag, attributes)
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    assert "url(" not in html
    assert tags[0] == ("html", {"lang": "en"})
    assert [tag for tag, _ in tags].count("h1") == 1
    n_tables = [tag for tag, _ in tags].count("table")
    assert [tag for tag, _ in tags].count("caption") == n_tables
    assert all(a.get("scope") in ("row", "col") for tag, a in tags if tag == "th")
    images = [a for tag, a in tags if tag == "img"]
    assert all(len(a["alt"]) > 60 for a in images)
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"].removeprefix("#") for tag, a in tags if tag == "a"]
    labels = [a["aria-labelledby"] for _, a in tags if "aria-labelledby" in a]
    assert {*links, *labels} <= set(ids)


@pytest.mark.parametrize("name", ["plane", "ranking", "joint", "one vs rest", "no vectors"])
def test_page_holds_the_whole_json(name):
    assert embedded(text(name, "html")) == report(name).to_dict(samples=True) | {
        "machines": [machine.to_dict(samples=True) for machine in report(name).machines]
    }


def test_page_without_room_for_all_samples_says_where_they_are():
    html = files.html(reports.Page.of(report("plane")), embedded_samples=79)
    assert "samples" not in embedded(html)
    assert "a .json report all samples" in html_text(html)


def test_page_shows_two_hundred_of_the_samples():
    html = text("two classes", "html")
    assert "The 200 rows with the largest violations of 300" in html_text(html)
    worst = report("two classes").samples(200)
    violations = re.findall(r'<td class="n" data-v="([^"]*)">[^<]*</td></tr>', html)
    assert [float(v) for v in violations] == [row["violation"] for row in worst]


def test_policy_allows_the_pages_own_script_only():
    import base64
    import hashlib

    html = text("plane", "html")
    scripts = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    policy = next(
        a["content"] for tag, a in parse_html(html).tags
        if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )  # fmt: skip
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy


def test_of_many_machines_the_worst_are_illustrated():
    built = report("one machine wrong")
    content = document(reports.Page.of(built), samples=5, illustrated=1)
    html = reports.html_of(content, contents=(), data={}, embedded="")
    images = [a["alt"] for tag, a in parse_html(html).tags if tag == "img"]
    assert images == [p.alternative for part in (built, built.machines[0]) for p in part.pictures]


# --- hostile texts -------------------------------------------------------------------------------


def hostile(evil):
    """A report with the text in every place where a caller or solver has a say."""
    X, y = MOONS
    labels = np.array([f"{evil}", f"{evil} and more"])
    problem = qpsvm.SoftMargin(3.0).dual(X, labels[y], kernel=qpsvm.kernels.RBF(1.0))
    solution = qpsvm.solve(problem)
    words = solution.qp.replace(native_status=evil).with_statistics(
        backend=evil, version=evil, note=evil, settings={evil: evil}
    )
    built = reports.build(
        problem, solution.replace(qp=words), source=evil, remarks=(evil,), facts={evil: evil},
        facts_title=evil,
    )  # fmt: skip
    row = reports.ComparisonRow(evil, evil, evil, 0.0, "FAIL", evil)
    return reports.Page(evil, evil, (built,), reports.Comparison((row,), 1e-6), (evil,))


def printable(words):
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(words.split()))


@cache
def harmless(suffix):
    return reports.text_of(hostile("fine"), suffix)


@pytest.mark.parametrize("evil", EVIL, ids=range(len(EVIL)))
def test_hostile_texts_stay_texts(evil):
    page = hostile(evil)
    plain = reports.text_of(page, "txt")
    assert all(c.isprintable() or c == "\n" for c in plain)
    kinds, fine = (
        [token.type for token in inline_tokens(content) if token.type != "text"]
        for content in (reports.text_of(page, "md"), harmless("md"))
    )
    assert kinds == fine
    told, plainly = (
        sum(" ".join(words.split()) in line for line in shown_markdown(content))
        for words, content in (
            (printable(evil), reports.text_of(page, "md")),
            ("fine", harmless("md")),
        )
    )
    assert told >= plainly - 1  # the list of classes has them in Python's quotes
    assert_balanced_latex(reports.text_of(page, "tex"))


@pytest.mark.exhaustive
@listed("evil", [" ".join(EVIL), EVIL[0]], quick=1)
def test_hostile_texts_stay_texts_in_a_page(evil):
    html = reports.text_of(hostile(evil), "html")
    tags, fine = ([tag for tag, _ in parse_html(text).tags] for text in (html, harmless("html")))
    assert tags == fine
    assert embedded(html)["title"] == evil


@pytest.mark.parametrize("evil", EVIL, ids=range(len(EVIL)))
def test_markdown_shows_the_text_itself(evil):
    for before in ("", "words before "):
        (shown_text,) = shown_markdown(markup.escape_markdown(before + evil))
        assert shown_text == printable(before + evil)


@pytest.mark.parametrize("evil", EVIL, ids=range(len(EVIL)))
def test_markdown_texts_hold_nothing_that_becomes_a_link(evil):
    # by the rules of GitHub: what begins with www. or with a scheme, and addresses of mail
    assert not re.search(r"(?i)www\.|(?<!\\)(://|@)", markup.escape_markdown(evil))


@pytest.mark.parametrize("start", ["- a", "+ a", "1. a", "12) a", "# a", "> a", "=== a", "---"])
def test_markdown_texts_begin_no_block(start):
    kinds = [token.type for token in inline_tokens(markup.escape_markdown(start))]
    assert kinds == ["paragraph_open", "inline", "text", "paragraph_close"]


def test_latex_escapes_every_special_character():
    text = markup.escape_latex("\\ { } $ & # % _ ^ ~ < > |")
    assert re.sub(r"\\(text\w+\{\}|[{}$&#%_])", "", text).split() == []
    assert markup.escape_latex("漢") == r"\unichar{6F22}"


@pytest.mark.skipif(which("pdflatex") is None, reason="no pdflatex on the PATH")
@pytest.mark.parametrize("which_page", ["hostile", "one vs rest", "program"])
def test_latex_compiles(which_page, tmp_path):
    page = hostile(" ".join(EVIL)) if which_page == "hostile" else report(which_page)
    reports.write(tmp_path / "report.tex", page)
    result = run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "report"],
        cwd=tmp_path, errors="replace",
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-2000:]
    assert (tmp_path / "report.pdf").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["plane", "joint", "one vs one", "program"])
def test_latex_is_balanced(name):
    assert_balanced_latex(text(name, "tex"))
    assert r"\usepackage{amsmath" in text(name, "tex")


# --- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plane", "tube", "joint", "one vs one", "program"])
def test_text_begins_with_the_verdict_and_its_tables_fit(name):
    lines = str(report(name)).splitlines()
    assert lines[0] == f"OPTIMAL at eps=1e-08: {report(name).headline.sentence}"
    rows = [line for line in lines if re.match(r"(stationarity|sample kkt|check|─)", line)]
    assert rows
    assert max(map(len, rows)) <= 100


def printed(name, *, in_full):
    console = Console(file=io.StringIO(), width=100)
    print_page(reports.Page.of(report(name)), console, in_full=in_full)
    return console.file.getvalue()


@pytest.mark.parametrize("name", ["plane", "tube", "program"])
def test_the_short_form_fits_a_screen_and_leaves_out_details(name):
    short, full = printed(name, in_full=False), printed(name, in_full=True)
    assert short.splitlines()[0] == full.splitlines()[0]
    assert len(short.splitlines()) <= LINES
    for detail in ("Settings of", "stationarity", "SHA-256", "tolerance, eps"):
        assert detail not in short
        assert detail in full
    for sentence in implications(report(name)):
        assert sentence in short


def test_checks_that_fail_are_no_detail():
    problem, solution = solved("plane")
    wrong = solution.replace(intercept=solution.intercept + 1.0)
    console = Console(file=io.StringIO(), width=100)
    print_page(reports.Page.of(reports.build(problem, wrong)), console)
    assert "stationarity" in console.file.getvalue()


def test_settings_are_folded_on_a_page():
    page = text("plane", "html")
    summary = re.search(r"<details class=\"fold\"><summary>Settings of [^<]*</summary>", page)
    assert summary is not None
