"""Run every command of the README and of ``docs/`` as printed, in fresh copies of the checkout.

Usage: ``python3 .ci/commands.py CHECKOUT FOLDER``

All sessions run at once, since each waits for downloads for a while.

Every block of the README is a session of its own, which begins without an environment; the pages of
``SEQUENCE`` are one session, in the order in which a reader meets them. A session runs in
``FOLDER/<name>``, a new copy of the checkout. A page with commands that is in no list is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

SEQUENCE = ("start", "command_line", "features", "benchmark")
"""Pages whose commands are run one after the other, in the environment that the first one makes."""

NOT_RUN = {
    "audit": "needs a model that LIBSVM has written, with its data",
    "ablation": "measurements of many hours",
    "gpu": "needs an NVIDIA GPU",
    "maros_meszaros": "needs the files of the collection, and hours",
}
"""Pages whose commands are not run, and why."""

BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>.*?) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.DOTALL | re.M
)
SECONDS = 1200


class Session(NamedTuple):
    """Blocks of commands that one shell runs, in a new copy of the checkout."""

    name: str
    script: str


def blocks(page: Path) -> Iterator[str]:
    """Yield the blocks of a page that a reader types: commands, and Python marked ``start``."""
    python = ""
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        mark = match["mark"] or ""
        if match["language"] == "sh" and mark != "tests":  # .ci/run itself runs the tests
            is_refused = mark.endswith("refused")  # the page shows an error
            yield f"if\n{match['code']}then exit 1; fi\n" if is_refused else match["code"]
        elif match["language"] == "python" and mark.startswith("start"):
            python += match["code"]  # a page's Python goes on where it stopped
            yield f"python - <<'END'\n{python}END\n"


def sessions(root: Path) -> list[Session]:
    """List all sessions of a checkout; a page whose commands nobody runs is an error."""
    found = [
        Session(f"README-{number}", block)
        for number, block in enumerate(blocks(root / "README.md"), 1)
    ]
    pages = {
        page.relative_to(root / "docs").with_suffix("").as_posix(): list(blocks(page))
        for page in sorted((root / "docs").rglob("*.md"))
        if "_build" not in page.parts
    }
    unknown = [name for name, code in pages.items() if code and name not in (*SEQUENCE, *NOT_RUN)]
    if unknown:
        raise LookupError(f"commands of {', '.join(unknown)} are in no list of {__file__}")
    return [*found, Session("docs", "".join(code for name in SEQUENCE for code in pages[name]))]


def run(session: Session, checkout: Path, folder: Path) -> int:
    """Run a session in a new copy of the checkout; its output is in ``<name>.log``."""
    place = folder / session.name
    shutil.copytree(checkout, place, ignore=shutil.ignore_patterns(".venv", "_build", ".*_cache"))
    log = folder / f"{session.name}.log"
    clean = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    clean["PIP_NO_COMPILE"] = "1"  # Python compiles what is imported, a fraction of what is there
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            ["sh", "-exc", session.script], cwd=place, env=clean, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            return process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            output.write(f"ended after {SECONDS} s\n")
            return 124
        finally:
            if process.poll() is None:  # the shell, and what it has started
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def main(checkout: Path, folder: Path) -> int:
    """Run all sessions, and print the output of those that fail."""
    folder.mkdir(parents=True)
    listed, began = sessions(checkout), time.monotonic()

    def timed(session: Session) -> tuple[int, float]:
        return run(session, checkout, folder), time.monotonic() - began

    with ThreadPoolExecutor(len(listed)) as pool:
        ends = list(pool.map(timed, listed))
    codes = [code for code, _ in ends]
    for session, (code, seconds) in zip(listed, ends, strict=True):
        said = "passed" if code == 0 else f"exit code {code}"
        print(f"commands of {session.name}: {said} after {seconds:.0f} s")
        if code:
            print((folder / f"{session.name}.log").read_text(encoding="utf-8"))
    for name, reason in NOT_RUN.items():
        print(f"commands of docs/{name}.md are not run: {reason}")
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
