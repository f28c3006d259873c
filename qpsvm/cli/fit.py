"""``qpsvm fit``: fit an estimator to a data file, with a certificate.

Every estimator is a command of its own, whose options are the estimator's parameters. A command is
made when it is asked for, so that ``qpsvm --help`` need not import scikit-learn.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from qpsvm.cli.estimator_options import ESTIMATORS, no_such_estimator, options_of, parsed
from qpsvm.cli.options import (
    PARAMETERS,
    FormatOption,
    GroupsColumn,
    HeaderOption,
    JsonOption,
    LabelColumn,
    NumberingOption,
    ReportOption,
    StandardizeOption,
    WidthOption,
    table_of,
)

HELP = {"help_option_names": ["-h", "--help"]}


class Estimators(TyperGroup):
    """Command group with a command for every estimator, made when it is asked for."""

    def list_commands(self, ctx: object) -> list[str]:
        del ctx
        return list(ESTIMATORS)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in ESTIMATORS:
            ctx.fail(no_such_estimator(args[0]))
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: object, cmd_name: str) -> Any:
        del ctx
        if cmd_name not in ESTIMATORS:
            return None
        single = typer.Typer(add_completion=False)
        single.command(cmd_name, context_settings=HELP)(_command_of(cmd_name))
        return typer.main.get_command(single)


app = typer.Typer(cls=Estimators, no_args_is_help=True, context_settings=HELP)


@app.callback()
def root() -> None:
    """Fit an estimator to a data file and certify that it is optimal.

    'qpsvm fit SVC --help' lists the parameters of SVC:
    qpsvm fit SVC heart.csv --C 10 --kernel rbf --model heart.npz
    """


def _common(
    file: Annotated[
        Path, typer.Argument(help="Data: LIBSVM/svmlight, CSV (-: standard input), NPZ or Parquet.")
    ],
    format: FormatOption = None,
    label: LabelColumn = None,
    groups: GroupsColumn = None,
    header: HeaderOption = None,
    zero_based: NumberingOption = None,
    n_features: WidthOption = None,
    standardize: StandardizeOption = False,
    model: Annotated[
        Path | None, typer.Option("--model", help="Write the model (.npz), if it is certified.")
    ] = None,
    report: ReportOption = None,
    as_json: JsonOption = False,
) -> dict[str, Any]:
    """Options that all estimators have in common, by name."""
    return dict(locals())


def _command_of(name: str) -> Callable[..., None]:
    """Build a command from the common options and those of an estimator, for typer."""
    from qpsvm import estimators

    kind = getattr(estimators, name)
    common = inspect.signature(_common, eval_str=True).parameters

    def command(**given: Any) -> None:
        from qpsvm.cli import fitting

        request = _common(**{option: given.pop(option) for option in common})
        table = table_of({option: given.pop(option) for option in PARAMETERS})
        fitting.run(kind(**parsed(given)), table, **request)

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = (p.replace(kind=keyword) for p in common.values())
    parameters = [*own, *PARAMETERS.values(), *options_of(kind)]
    command.__doc__ = (inspect.getdoc(kind) or name).partition("\n")[0]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command
