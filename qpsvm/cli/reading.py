"""Data files for a model: read with the names and the numbering of its training data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qpsvm.cli.samples import features_of


def options_for(
    model: object,
    file: Path,
    format: str | None,
    *,
    header: bool | None = None,
    zero_based: bool | None = None,
) -> dict[str, Any]:
    """Parameters of ``qpsvm.datasets.load`` with which a file has the features of a model.

    A model that knows the names of its features finds them in the header of a CSV file. A LIBSVM
    file is counted as that of the training data.

    Parameters
    ----------
    model : estimator or SavedModel
    file : Path
    format : str or None
    header, zero_based : bool or None
        What the options say of this file; None where they say nothing.
    """
    from qpsvm import datasets

    names, width = features_of(model)
    kind = datasets.format_of(str(file), format)
    if kind == "csv" and header is None and names is not None:
        header = True
    options: dict[str, Any] = {"header": header, "zero_based": zero_based}
    if kind == "libsvm":
        known = getattr(model, "zero_based_", getattr(model, "zero_based", None))
        options |= {"n_features": width, "zero_based": known if zero_based is None else zero_based}
    return options
