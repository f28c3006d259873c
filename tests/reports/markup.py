"""What tests ask of HTML, Markdown and LaTeX."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

VOID = {"meta", "link", "img", "source", "br", "input"}


class Balance(HTMLParser):
    """Every element that opens also closes, in order; collects what tests ask for."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse_html(html):
    parser = Balance()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


def html_text(html):
    """What a reader sees, and the JSON, with single spaces."""
    return " ".join("".join(parse_html(html).text).split())


def embedded(html):
    """The JSON inside a page."""
    found = re.search(r'<script type="application/json" id="qpsvm-data">(.*?)</script>', html)
    return json.loads(found.group(1), parse_constant=pytest.fail)


def inline_tokens(markdown):
    """The tokens of Markdown as a renderer sees it, those inside of lines included."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    return [part for token in tokens for part in (token, *(token.children or ()))]


def shown_markdown(markdown):
    """The texts of Markdown as a reader sees them."""
    return [
        "".join(part.content for part in token.children if part.type in ("text", "code_inline"))
        for token in inline_tokens(markdown)
        if token.type == "inline"
    ]


_ENVIRONMENT = re.compile(r"\\(begin|end)\{(\w+)\}")


def assert_balanced_latex(text):
    """Braces and environments open and close in order."""
    stripped = re.sub(r"\\[\\{}%$&#_]", "", text)
    depth = 0
    for character in stripped:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    open_ = []
    for what, name in _ENVIRONMENT.findall(text):
        if what == "begin":
            open_.append(name)
        else:
            assert open_.pop() == name
    assert open_ == []
