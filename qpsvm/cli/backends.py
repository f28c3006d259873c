"""``qpsvm backends``: list solvers, and how to install those that are missing."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from qpsvm.cli.options import JsonOption
from qpsvm.cli.printing import console, print_json, table

if TYPE_CHECKING:
    from qpsvm.backends import Capabilities


def backends(
    as_json: JsonOption = False,
    installed: Annotated[bool, typer.Option("--installed", help="Only those installed.")] = False,
) -> None:
    """List every backend: version, licence, what it can do, or how to install it."""
    from qpsvm.backends import available

    infos = [info for info in available() if info.installed or not installed]
    if as_json:
        print_json([dataclasses.asdict(info) for info in infos])
        return
    rows = table(("backend", "left"), ("version", "left"), ("licence", "left"), ("can do", "left"))
    for info in infos:
        if info.installed:
            # the bridge's own version in brackets is the same on every line
            version = info.version.partition(" (")[0]
            rows.add_row(info.name, version, info.licence, describe(info.capabilities))
    console().print(rows)
    missing = [info for info in infos if not info.installed]
    if missing:
        absent = table(("not installed", "left"), ("licence", "left"), ("to install it", "left"))
        for info in missing:
            how = info.install_command or "; ".join(info.missing)
            absent.add_row(info.name, info.licence, how)
        console().print(absent)


def describe(capabilities: Capabilities) -> str:
    """Describe capabilities in a few words."""
    most = capabilities.max_variables
    words = {
        "sparse": capabilities.sparse,
        "LP": capabilities.linear_programs,
        "warm start": capabilities.warm_start,
        "time limit": capabilities.time_limit,
        "callback": capabilities.callback,
        f"up to {most} variables": most is not None,
    }
    return ", ".join(word for word, is_so in words.items() if is_so)
