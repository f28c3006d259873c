"""The documentation's site: links to lines of code, the first page's commands, the built pages."""

from __future__ import annotations

import functools
import os
import re
import runpy
import sys
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

import qpsvm
from tests.processes import run
from tests.reports.browser import opened

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
SOURCES = runpy.run_path(str(ROOT / "docs/_extensions/source_pages.py"))
LINES = [
    SOURCES["parts_of"](match[1])[1]
    for page in PAGES
    for match in re.finditer(r"\{line\}`([^`]+)`", page.read_text(encoding="utf-8"))
]
SITE = os.environ.get("QPSVM_SITE")
built = pytest.mark.skipif(SITE is None, reason="QPSVM_SITE is no folder of a built site")


# --- links to lines of code ----------------------------------------------------------------------


def test_every_link_leads_to_one_line_of_code() -> None:
    assert len(LINES) > 80
    for target in LINES:
        path, line = SOURCES["find_line"](target)
        text = (ROOT / path).read_text(encoding="utf-8").splitlines()[line - 1]
        assert target.partition(" ")[2] in text


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("qpsvm.nothing:dual_program q", "there is no qpsvm/nothing.py"),
        ("qpsvm.machines.dual_program:nothing", "has no nothing"),
        ("qpsvm.machines.dual_program:dual_program no such piece", "0 lines"),
        ("qpsvm.machines.dual_program:dual_program c", "lines of the function"),
        ("qpsvm.machines.dual_program", "not of the form"),
    ],
)
def test_a_link_that_leads_nowhere_is_an_error(target: str, why: str) -> None:
    with pytest.raises(LookupError, match=why):
        SOURCES["find_line"](target)


# --- pages ---------------------------------------------------------------------------------------


def test_every_family_is_derived() -> None:
    page = (ROOT / "docs" / "lagrangians.md").read_text(encoding="utf-8")
    classes = [name for name in qpsvm.__all__ if isinstance(getattr(qpsvm, name), type)]
    families = [name for name in classes if hasattr(getattr(qpsvm, name), "dual")]
    assert len(families) >= 14
    for name in families:
        assert re.search(rf"^### .*\b{name}\b", page, re.MULTILINE), name


def test_the_citation_is_of_this_version() -> None:
    for name in ("CITATION.cff", "docs/cite.md"):
        assert qpsvm.__version__ in (ROOT / name).read_text(encoding="utf-8"), name


@pytest.mark.exhaustive
def test_the_first_page_can_be_followed(tmp_path: Path) -> None:
    """Every block marked with ``start:`` runs, in a new folder, and prints what the page says."""
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    steps = re.findall(
        r"<!-- start: (\w+) -->\n```\w+\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", page, re.S | re.M
    )
    kinds = ["python", "refused", "sh", "sh", "sh", "python", "python"]
    assert [kind for kind, *_ in steps] == kinds
    program = f"{sys.executable} -c 'import sys; from qpsvm.cli import main; sys.exit(main())'"
    python = ""
    for kind, code, printed in steps:
        if kind in ("sh", "refused"):
            command = code.replace("qpsvm ", f"{program} ", 1)
            done = run(["sh", "-euc", command], cwd=tmp_path)
            expected = 2 if kind == "refused" else 0
            assert done.returncode == expected, done.stdout + done.stderr
            shown = done.stderr if kind == "refused" else done.stdout
        else:
            python += code
            done = run([sys.executable, "-c", python], cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            shown = done.stdout
        if "Accuracy" in printed or kind in ("python", "refused"):  # others have digits that differ
            assert printed in shown
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "predictions.csv").read_text().startswith("customer,prediction,certified\n")


# --- the built site (CI sets QPSVM_SITE after the build) -----------------------------------------


class Links(HTMLParser):
    """Anchors of a page, links to other pages, and what the page loads by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors, self.links, self.loaded = set[str](), list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := found.get(key))}
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        elif tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.loaded.append(str(found["src"]))
        elif tag == "link" and found.get("rel") not in ("search", "canonical"):
            self.loaded.append(str(found.get("href")))


@built
def test_every_link_of_the_site_leads_somewhere_and_no_page_loads_from_elsewhere() -> None:
    folder = Path(str(SITE)).resolve()
    pages = {
        path: Links(path.read_text(encoding="utf-8"))
        for path in folder.rglob("*.html")
        if "_static" not in path.parts
    }
    assert len(pages) > 300
    exists = functools.cache(os.path.exists)
    wrong = []
    for path, page in pages.items():
        for address in {*page.links, *page.loaded}:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loaded and parts.scheme != "data":
                    wrong.append(f"{path.name} loads {address}")
                continue
            place = os.path.normpath(path.parent / unquote(parts.path)) if parts.path else path
            target, anchor = Path(place), unquote(parts.fragment)
            if not exists(place) or (
                anchor and target in pages and anchor not in pages[target].anchors
            ):
                wrong.append(f"{path.relative_to(folder)} links to {address}")
    assert wrong == []


CLIPPED = """
[...document.querySelectorAll(".bd-article pre")].filter(e => e.scrollWidth > e.clientWidth).length
"""
BROKEN_WORDS = r"""
(() => {
  const found = [], range = document.createRange();
  const texts = document.createTreeWalker(
    document.querySelector("article"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest("mjx-container, pre, script")) continue;
    for (const word of node.data.matchAll(/[A-Za-z0-9]+/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(r => r.top)).size > 1) found.push(word[0]);
    }
  }
  return found;
})()
"""
OPENED = [page.stem for page in PAGES] + [
    "gallery/index",
    "gallery/two_clouds",
    "api/index",
    "api/names/qpsvm.SVMProblem",
    "api/names/qpsvm.SVMSolution",
    "api/names/qpsvm.estimators.SVC",
    "measured/results",
]
WITH_NAMES = ("glossary", "audit", "backends", "api/names/qpsvm.estimators.SVC")
"""Pages with many long names."""
DESKTOP, PHONE = 1280, 390


class Look(NamedTuple):
    """What a page looks like at a width."""

    width: int
    n_clipped: int
    broken_words: list[str]
    requests: list[str]


@functools.cache
def looks(width: int) -> dict[str, Look]:
    """The pages at a width: each is opened once for all tests."""
    found = {}
    with TemporaryDirectory() as folder, opened(Path(folder)) as browser:
        for name in OPENED:
            path = Path(str(SITE)).resolve() / f"{name}.html"
            browser.open(path, width, scheme="dark" if width == PHONE else "light")
            found[name] = Look(
                browser.run("document.documentElement.scrollWidth"),
                browser.run(CLIPPED),
                browser.run(BROKEN_WORDS) if name in WITH_NAMES else [],
                browser.requests,
            )
    return found


@built
def test_no_page_is_wider_than_a_phone() -> None:
    for name, look in looks(PHONE).items():
        assert look.width <= PHONE, name
        assert all(url.startswith("file:") for url in look.requests), name


@built
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_no_code_is_cut_off(width: int) -> None:
    assert {name: look.n_clipped for name, look in looks(width).items() if look.n_clipped} == {}


@built
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_no_name_is_broken_inside_a_word(width: int) -> None:
    for name in WITH_NAMES:
        assert looks(width)[name].broken_words == [], name


@built
def test_signatures_and_parameters_have_defaults() -> None:
    for name, known in {
        "qpsvm.estimators.SVC": ["C", "1.0", "eps", "1e-08"],
        "qpsvm.estimators.NuSVR": ["nu", "0.5", "kernel", "'rbf'"],
        "qpsvm.solve": ["backend", "'auto'", "strict", "False"],
    }.items():
        page = (Path(str(SITE)) / f"api/names/{name}.html").read_text(encoding="utf-8")
        shown = re.sub(r"<[^>]+>", "", page[page.index("<dt class=") :])
        signature = shown[: shown.index("Parameters:")]
        for parameter, default in zip(known[::2], known[1::2], strict=True):
            assert f"{parameter}={default}" in signature.replace("\n", "")
            assert re.search(rf"{parameter}.*default=.?{default.strip(chr(39))}", shown)
        assert "*args" not in signature


@built
def test_formulas_are_drawn(tmp_path: Path) -> None:
    with opened(tmp_path) as browser:
        browser.open(Path(str(SITE)).resolve() / "lagrangians.html", 1280)
        promise = "MathJax.startup.promise.then(() => document.querySelectorAll('%s').length)"
        count = {
            what: browser.call(
                "Runtime.evaluate",
                expression=promise % what,
                awaitPromise=True,
                returnByValue=True,
            )["result"]["value"]
            for what in ("mjx-container", "mjx-merror, [data-mjx-error]", ".math")
        }
    assert count["mjx-container"] == count[".math"] > 100
    assert count["mjx-merror, [data-mjx-error]"] == 0
