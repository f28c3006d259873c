"""Commands of the README and the documentation: each is run by CI, or has a reason why not."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / ".ci" / "commands.py"


@pytest.fixture(scope="module")
def commands():
    return runpy.run_path(str(SCRIPT))


def test_every_command_is_run_or_has_a_reason(commands):
    everything = "".join(session.script for session in commands["sessions"](ROOT))
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for mark, code in re.findall(
            r"(?:^<!-- (\w+).*-->\n)?^```sh\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE
        ):
            assert mark == "tests" or page.stem in commands["NOT_RUN"] or code in everything, code


def test_every_block_of_the_readme_begins_without_an_environment(commands):
    alone = [s for s in commands["sessions"](ROOT) if s.name.startswith("README")]
    assert len(alone) >= 2
    assert all(s.script.startswith("python3 -m venv .venv && ") for s in alone)


def test_indented_blocks_hide_no_commands():
    for page in (ROOT / "docs").glob("*.md"):
        assert not re.search(r"^    (qpsvm|python3?|pip) ", page.read_text(), re.MULTILINE), page


@pytest.fixture
def checkout(tmp_path):
    """A folder with a README and a page of commands."""
    (tmp_path / "docs").mkdir()

    def write(readme, page="", name="start"):
        (tmp_path / "README.md").write_text(f"```sh\n{readme}\n```\n")
        (tmp_path / "docs" / f"{name}.md").write_text(f"```sh\n{page}\n```\n")
        for other in commands_of_pages():
            (tmp_path / "docs" / f"{other}.md").touch()
        return tmp_path

    return write


def commands_of_pages():
    """Names of the pages that are run together."""
    return runpy.run_path(str(SCRIPT))["SEQUENCE"]


def test_a_command_that_fails_is_found(commands, checkout, tmp_path_factory, capsys):
    folder = tmp_path_factory.mktemp("runs")
    good = checkout("echo fine > made", "test ! -e made")
    assert commands["main"](good, folder / "good") == 0
    bad = checkout("true", "echo before; false; echo after")
    assert commands["main"](bad, folder / "bad") == 1
    shown = capsys.readouterr().out
    assert "commands of docs: exit code 1" in shown
    assert "before" in shown
    assert "\nafter" not in shown


def test_a_command_that_should_be_refused_has_to_fail(commands, checkout, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for command, code in (("false", 0), ("true", 1)):
        root = checkout("true", "")
        page = root / "docs" / "start.md"
        page.write_text(f"<!-- start: refused -->\n```sh\n{command}\n```\n")
        assert commands["main"](root, folder / command) == code


def test_a_page_with_commands_in_no_list_is_an_error(commands, checkout):
    with pytest.raises(LookupError, match="novelty"):
        commands["sessions"](checkout("true", "true", name="novelty"))
