"""``qpsvm bench``: say where the benchmark is, which runs from a checkout and is not installed."""

from __future__ import annotations

import shlex

import typer

from qpsvm.cli.printing import complain

CHECKOUT_NEEDED = 2


def bench(context: typer.Context) -> None:
    """Say how to run the benchmark: in a checkout of qpsvm, by python -m benchmarks.

    The benchmark compares any solvers on SVM programs, at equal certified accuracy. It is not
    installed with qpsvm. In a checkout, after pip install -e ".[bench]":

    python -m benchmarks list

    python -m benchmarks run smoke --store smoke.jsonl

    python -m benchmarks report smoke.jsonl --output smoke.html

    python -m benchmarks compare before.jsonl after.jsonl
    """
    command = shlex.join(["python", "-m", "benchmarks", *(context.args or ["--help"])])
    complain(
        "The benchmark runs from a checkout of qpsvm and is not installed with it. In the "
        f'checkout, after pip install -e ".[bench]": {command}'
    )
    raise typer.Exit(CHECKOUT_NEEDED)
