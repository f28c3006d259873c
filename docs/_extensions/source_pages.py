"""Pages with the project's source code, and links to the very lines that build a symbol.

In a page, write the line in the role ``line``: what is shown, then in angle brackets the function
and a piece of the line that occurs once in that function::

    {line}`P <qpsvm.machines.dual_program:dual_program P: Quadratic = model>`

The text may be a formula between dollar signs. The line is looked for whenever the site is built,
so that a link cannot go stale: a piece that is not found, or found twice, is an error. Links to
files of the repository outside of ``docs/`` lead to the same pages, or to the pages of
``INCLUDED``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = re.compile(r"(?P<module>[\w.]+):(?P<function>[\w.]+)(?: (?P<piece>.+))?", re.DOTALL)
ROLE = re.compile(r"(?P<text>.+?) <(?P<target>.+)>", re.DOTALL)
OUTSIDE = re.compile(
    r"\[(?P<text>[^\]]+)\]\((?P<up>(?:\.\./)+)(?P<path>[^)#]+)(?P<anchor>#[^)]*)?\)"
)
INCLUDED = {"CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changes"}
"""Pages that include a file of the repository; ``benchmarks/X/README.md`` is ``measured/X``."""
FOLDER = "_source"


def find_line(target: str) -> tuple[Path, int]:
    """Find the line that a target of the role names.

    Parameters
    ----------
    target : str
        ``module:function piece``; without a piece the line of the definition is meant. A function
        may be a method, ``Class.method``, or a class.

    Returns
    -------
    path : Path
        The file, relative to the root of the repository.
    line : int
        The number of the line, from 1.

    Raises
    ------
    LookupError
        No such module or function; the piece is not in it, or more than once.
    """
    match = TARGET.fullmatch(target)
    if match is None:
        raise LookupError(f"{target!r} is not of the form 'module:function piece of the line'")
    path = ROOT / (match["module"].replace(".", "/") + ".py")
    if not path.exists():
        raise LookupError(f"{target!r}: there is no {path.relative_to(ROOT)}")
    text = path.read_text(encoding="utf-8")
    node: Any = ast.parse(text)
    for name in match["function"].split("."):
        node = next((child for child in node.body if getattr(child, "name", None) == name), None)
        if node is None:
            raise LookupError(f"{target!r}: {path.relative_to(ROOT)} has no {match['function']}")
    lines = range(node.lineno, node.end_lineno + 1)
    if match["piece"] is None:
        return path.relative_to(ROOT), node.lineno
    rows = text.splitlines()
    piece = " ".join(match["piece"].split())
    found = [number for number in lines if piece in " ".join(rows[number - 1].split())]
    if len(found) != 1:
        raise LookupError(f"{target!r}: {len(found)} lines of the function have this piece")
    return path.relative_to(ROOT), found[0]


def page_of(path: Path | str) -> str:
    """Name of the page with a file's source, without its suffix."""
    return f"{FOLDER}/{Path(path).as_posix()}"


def line_role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any
) -> tuple[list[Any], list[Any]]:
    """Link a symbol to the line of code that builds it (the role ``line``)."""
    from docutils import nodes

    try:
        shown, target = parts_of(text)
        path, line = find_line(target)
    except LookupError as error:
        return _refused(name, rawtext, error, lineno, inliner)
    link = _link(inliner, path, f"#line-{line}", f"{path}, line {line}")
    if shown.startswith("$") and shown.endswith("$"):
        link += nodes.math(shown[1:-1], shown[1:-1])
    elif " " in shown:
        link += nodes.Text(shown)
    else:
        link += nodes.literal(shown, shown)
    return [link], []


def source_role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any
) -> tuple[list[Any], list[Any]]:
    """Link to a file of the repository (the role ``source``)."""
    from docutils import nodes

    try:
        shown, path = parts_of(text)
        if not (ROOT / path).is_file():
            raise LookupError(f"there is no file {path}")
    except LookupError as error:
        return _refused(name, rawtext, error, lineno, inliner)
    link = _link(inliner, Path(path), "", path)
    link += nodes.Text(shown)
    return [link], []


def parts_of(text: str) -> tuple[str, str]:
    """Split the text of a role into what is shown and what is between angle brackets."""
    match = ROLE.fullmatch(text)
    if match is None:
        raise LookupError(f"{text!r} is not of the form 'text <target>'")
    return match["text"], match["target"]


def _link(inliner: Any, path: Path, anchor: str, title: str) -> Any:
    from docutils import nodes

    environment = inliner.document.settings.env
    environment.__dict__.setdefault("qpsvm_sources", {}).setdefault(environment.docname, set()).add(
        path.as_posix()
    )
    environment.note_dependency(str(ROOT / path))
    up = "../" * environment.docname.count("/")
    return nodes.reference(
        "", "", refuri=f"{up}{page_of(path)}.html{anchor}", reftitle=title, classes=["source-line"]
    )


def _refused(
    name: str, rawtext: str, error: LookupError, lineno: int, inliner: Any
) -> tuple[list[Any], list[Any]]:
    message = inliner.reporter.error(f"role {name}: {error}", line=lineno)
    return [inliner.problematic(rawtext, rawtext, message)], [message]


def link_outside(app: Any, docname: str, source: list[str]) -> None:
    """Let links of a Markdown page to files outside of ``docs/`` lead to pages of the site."""
    del app
    depth = docname.count("/")

    def replaced(match: re.Match[str]) -> str:
        above, path, anchor = match["up"].count("/"), match["path"], match["anchor"] or ""
        if above <= depth:  # within docs/
            return match[0]
        up, parts = "../" * depth or "./", Path(path).parts
        if parts[0] == "benchmarks" and parts[-1] == "README.md":
            return f"[{match['text']}]({up}measured/{parts[1]}.md{anchor})"
        if path in INCLUDED:
            return f"[{match['text']}]({up}{INCLUDED[path]}.md{anchor})"
        return f"{{source}}`{match['text']} <{path}>`"

    source[0] = OUTSIDE.sub(replaced, source[0])


def source_pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for every file that a page links to, each line with its anchor."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_for_filename

    formatter = HtmlFormatter(
        linenos="inline", lineanchors="line", anchorlinenos=True, cssclass="highlight"
    )
    pages = getattr(app.env, "qpsvm_sources", {})
    for path in sorted(set().union(*pages.values())):
        text = (ROOT / path).read_text(encoding="utf-8")
        code = highlight(text, get_lexer_for_filename(path, stripnl=False), formatter)
        body = f"<h1><code>{path}</code></h1>{code}"
        yield page_of(path), {"title": path, "body": body}, "page.html"


def merge(app: Any, env: Any, docnames: Any, other: Any) -> None:
    """Unite what processes that read pages in parallel have found."""
    del app
    found = env.__dict__.setdefault("qpsvm_sources", {})
    for docname, paths in getattr(other, "qpsvm_sources", {}).items():
        if docname in docnames:
            found[docname] = paths


def forget(app: Any, env: Any, docname: str) -> None:
    """Forget the links of a page that is read again."""
    del app
    env.__dict__.setdefault("qpsvm_sources", {}).pop(docname, None)


def setup(app: Any) -> dict[str, Any]:
    """Register the role, the links and the pages with Sphinx."""
    app.add_role("line", line_role)
    app.add_role("source", source_role)
    app.connect("env-purge-doc", forget)
    app.connect("source-read", link_outside)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", source_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
