"""``qpsvm fit``: fit an estimator to a data file, with a certificate.

Every estimator is a command of its own, whose options are the estimator's parameters. A command is
made when it is asked for, so that ``qpsvm --help`` need not import scikit-learn.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import typer
from typer.core import TyperGroup

import qpsvm
from qpsvm.cli import model_files, options, printing

HELP = {"help_option_names": ["-h", "--help"]}


class Commands(TyperGroup):
    """Command group that understands some words in place of a command."""

    what = "a command"

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            ctx.fail(options.no_such(self.what, args[0], known))
        return super().resolve_command(ctx, args)


class Estimators(Commands):
    """Command group with a command for every estimator, made when it is asked for."""

    what = "an estimator"

    def list_commands(self, ctx: object) -> list[str]:
        del ctx
        return list(options.ESTIMATORS)

    def get_command(self, ctx: object, cmd_name: str) -> Any:
        del ctx
        if cmd_name not in options.ESTIMATORS:
            return None
        kind = getattr(qpsvm.estimators, cmd_name)
        groups = {"reading": options.READING, "table": options.TABLE}
        own = options.with_options(**groups, parameters=options.options_of(kind))
        command = own(partial(fit, kind))
        command.__doc__ = (inspect.getdoc(kind) or cmd_name).partition("\n")[0]
        single = typer.Typer(add_completion=False)
        single.command(cmd_name, context_settings=HELP)(command)
        return typer.main.get_command(single)


app = typer.Typer(cls=Estimators, no_args_is_help=True, context_settings=HELP)


@app.callback()
def root() -> None:
    """Fit an estimator to a data file and certify that it is optimal.

    'qpsvm fit SVC --help' lists the parameters of SVC:
    qpsvm fit SVC heart.csv --C 10 --kernel rbf --model heart.npz
    """


def fit(
    kind: Any,
    file: options.DataFile,
    reading: dict[str, Any],
    groups: options.Groups = None,
    n_features: options.Width = None,
    standardize: options.Standardize = False,
    model: options.Model = None,
    report: options.Report = None,
    as_json: options.Json = False,
    *,
    table: dict[str, Any],
    parameters: dict[str, Any],
) -> None:
    """Fit an estimator, print what is proven, write model and report, and raise the exit code."""
    estimator = kind(**parameters)
    predicts = model_files.kind_of(estimator)
    # what would fail after the fit is refused before it
    if estimator.verbose and as_json:
        raise typer.BadParameter("the solver's own output would spoil the JSON; choose one.")
    if groups is not None and predicts != "ranks":
        raise typer.BadParameter(f"{kind.__name__} has no groups; leave out --groups.")
    printing.require_outputs(report=report, model=model)
    reading |= {"groups": groups, "n_features": n_features, **table}
    data = qpsvm.datasets.load(file, labelled=predicts != "novelties", **reading)
    scaling = qpsvm.models.Scaling.fit(data.X) if standardize else None
    with (
        printing.progress(f"{kind.__name__}: fitting", enabled=not estimator.verbose),
        warnings.catch_warnings(record=True) as caught,
        model_files.data_errors(),
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        found = _fitted(estimator, data.X if scaling is None else scaling(data.X), data)
    if data.feature_names is not None:
        estimator.feature_names_in_ = np.array(data.feature_names, dtype=object)
    if data.zero_based is not None:
        estimator.zero_based_ = data.zero_based
    certified = found["certified"]
    source = "standard input" if str(file) == "-" else str(file)
    source += ", standardised" * standardize
    messages = [str(entry.message) for entry in caught]
    if as_json:
        written = str(model) if model is not None and certified else None
        content = {"command": "fit", "source": source, **found}
        printing.print_json({**content, "model": written, "warnings": messages})
    else:
        _print(found, source, messages)
    if model is not None and certified:
        model_files.save(model, estimator, scaling, data)
    elif model is not None:
        printing.note("Model not written: it is not certified. A larger --eps would accept it.")
    if report is not None:
        solved: Any = estimator.problem_, estimator.solution_  # which belong together
        built = qpsvm.reports.build(*solved, source=source, eps=estimator.eps)
        printing.write_report(report, built)
    raise typer.Exit(0 if certified else 1)


def _fitted(estimator: Any, X: Any, data: qpsvm.datasets.DataFile) -> dict[str, Any]:
    """Fit the estimator; return a summary of the result and of its table by name."""
    ranked = {"groups": data.groups} if model_files.kind_of(estimator) == "ranks" else {}
    weights = estimator.get_params(deep=False).get("class_weight")
    if isinstance(weights, dict):
        labels = np.unique(np.asarray(data.y)).tolist()
        estimator.set_params(class_weight=options.as_labels(weights, labels))
    estimator.fit(X, data.y, **ranked)
    score_name, score = model_files.score_of(estimator, X, data.y, data.groups)
    machines = getattr(estimator.solution_, "solutions", (estimator.solution_,))
    table: dict[str, object] = {}
    if data.columns is not None:
        table = {"columns": list(map(dataclasses.asdict, data.columns)), "n_rows": data.n_rows}
    return {
        "estimator": repr(estimator),
        "problem": " ".join(repr(estimator.problem_).split()),
        "n_samples": int(X.shape[0]),
        "n_features": int(X.shape[1]),
        "eps": estimator.eps,
        "certified": estimator.fit_status_ == 0,
        "relative_gap": float(estimator.certificate_.relative_gap),
        "score_name": score_name,
        "score": score,
        "n_support": len(np.unique(np.concatenate([machine.support for machine in machines]))),
        **table,
    }


def _print(found: dict[str, Any], source: str, messages: list[str]) -> None:
    out = printing.console()
    out.print(
        printing.verdict("PASS" if found["certified"] else "FAIL"),
        "certified optimal" if found["certified"] else "not certified",
        f"at eps={found['eps']:g}: the objective is within {found['relative_gap']:.1e} (relative) "
        "of the optimum",
    )
    out.print(f"{found['estimator']}; {source}")
    out.print(found["problem"])
    for line in _table_lines(found):
        out.print(line)
    out.print(model_files.score_line(found["score_name"], found["score"], "Training"))
    out.print(f"Support vectors: {found['n_support']:,} of {found['n_samples']:,} samples")
    for message in messages:
        printing.note(f"Warning: {message}")


def _table_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield lines about columns that are no plain numbers, and about rows that were left out."""
    columns: list[dict[str, str]] = found.get("columns", [])

    def names(role: str, kind: str | None = None) -> list[str]:
        return [c["name"] for c in columns if c["role"] == role and kind in (None, c["kind"])]

    parts = {
        "categories": names("feature", "categories"),
        "truth values as 1 and 0": names("feature", "truth values"),
        "carried into predictions": names("id"),
        "left out": names("left out"),
    }
    texts = [f"{words}: {', '.join(own)}" for words, own in parts.items() if own]
    if texts:
        yield f"Columns: {len(names('feature', 'numbers'))} of numbers; {'; '.join(texts)}"
    left_out = found.get("n_rows", 0) - found["n_samples"]
    if columns and left_out:
        yield f"Rows: {left_out:,} of {found['n_rows']:,} left out, because a value is missing"
