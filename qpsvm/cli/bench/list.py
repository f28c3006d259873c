"""``qpsvm bench list``: list the suites, or the content of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from qpsvm.cli.printing import console, print_json, table

if TYPE_CHECKING:
    from qpsvm.benchmark.suites import Suite


def list_suites(
    suite: Annotated[
        str | None, typer.Argument(help="Say what is in this one: a name, or a .toml.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the suites, or the programs and contestants of one."""
    from qpsvm.benchmark.suites import load_suite, suite_files

    suites = [load_suite(name) for name in ([suite] if suite else suite_files())]
    if as_json:
        print_json([_contents(each, in_full=suite is not None) for each in suites])
    elif suite is not None:
        _print(suites[0])
    else:
        rows = table(
            ("suite", "left"), ("cells", "right"), ("programs", "right"),
            ("contestants", "right"), ("", "left"),
        )  # fmt: skip
        for each in suites:
            programs, who = len(each.instances()), len(each.contestants())
            size = (str(len(each.cells)), str(programs), str(who))
            rows.add_row(each.name, *size, each.description)
        console().print(rows)


def _contents(suite: Suite, *, in_full: bool) -> dict[str, object]:
    contents: dict[str, object] = {
        "name": suite.name,
        "description": suite.description,
        "cells": len(suite.cells),
        "targets": list(suite.targets),
        "repeats": suite.repeats,
    }
    if in_full:
        contents["programs"] = [str(instance) for instance in suite.instances()]
        contents["contestants"] = list(suite.contestants())
    return contents


def _print(suite: Suite) -> None:
    out = console()
    out.print(f"{suite.name}: {suite.description}", soft_wrap=True)
    cells = table(("program", "left"), ("contestant", "left"), ("eps", "left"))
    for sweep in suite.sweeps():
        eps = ", ".join(f"{cell.eps:g}" for cell in sweep)
        cells.add_row(str(sweep[0].instance), sweep[0].contestant, eps)
    out.print(cells)
