"""Pictures of a trained machine. Matplotlib is imported when one is drawn.

Figures are made as objects, without ``pyplot``: no window, no global state.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from qpsvm.exceptions import MissingPackageError
from qpsvm.machines.samples import SampleTable

NEGATIVE, POSITIVE = "#0072B2", "#E69F00"
"""Blue and orange of Okabe and Ito's palette, which colour-blind readers tell apart."""

_LIGHT = {"ink": "#1f2328", "soft": "#59636e", "grid": "#d8dee4"}
_DARK = {"ink": "#e6edf3", "soft": "#9da7b3", "grid": "#3d444d"}


def decision_histogram(table: SampleTable, classes: Sequence[Any], *, dark: bool = False) -> Any:
    """Decision values of the training samples by class, with lines at -1, 0 and +1.

    Parameters
    ----------
    table : SampleTable
        ``qpsvm.verify(problem, solution).samples``.
    classes : sequence of two labels
        (negative, positive).
    dark : bool
        Colours for a dark background.

    Returns
    -------
    matplotlib.figure.Figure
        Transparent; ``figure.savefig(path)`` writes it.

    Raises
    ------
    MissingPackageError
        Matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError(
            'A picture needs matplotlib, not installed; run: pip install "qpsvm[report]".'
        ) from error
    colours = _DARK if dark else _LIGHT
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    FigureCanvasSVG(figure)
    figure.patch.set_alpha(0.0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0.0)
    negative, positive = _by_class(table)
    finite = np.concatenate([negative, positive])
    low, high = (min(finite.min(), -1.2), max(finite.max(), 1.2)) if finite.size else (-1.2, 1.2)
    bins = np.linspace(low, high, 49).tolist()
    # the colours differ in lightness, and one is hatched: told apart without colour as well
    for values, label, colour, hatch in (
        (negative, classes[0], NEGATIVE, ""),
        (positive, classes[1], POSITIVE, "////"),
    ):
        axes.hist(
            values,
            bins=bins,
            label=_literal(f"class {label} ({len(values)})"),
            facecolor=colour,
            alpha=0.72,
            hatch=hatch,
            edgecolor=colours["ink"],
            linewidth=0.4,
        )
    for at in (-1.0, 0.0, 1.0):
        axes.axvline(
            at, color=colours["ink"], linewidth=1.3, linestyle="-" if at == 0.0 else (0, (4, 3))
        )
    axes.set_xlabel("decision value f(x); margins at -1 and +1, boundary at 0")
    axes.set_ylabel("samples")
    axes.xaxis.label.set_color(colours["ink"])
    axes.yaxis.label.set_color(colours["ink"])
    axes.tick_params(colors=colours["soft"])
    axes.grid(axis="y", color=colours["grid"], linewidth=0.6)
    axes.set_axisbelow(True)
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(colours["soft"])
    # above the axes: it would cover bars anywhere inside
    figure.legend(
        frameon=False, labelcolor=colours["ink"], loc="outside upper left", ncols=2, fontsize=9
    )
    return figure


def decision_histogram_svg(
    table: SampleTable, classes: Sequence[Any], *, dark: bool = False
) -> str:
    """The same picture as SVG text, equal for equal input."""
    figure = decision_histogram(table, classes, dark=dark)
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue().decode()


def describe_histogram(table: SampleTable, classes: Sequence[Any]) -> str:
    """What the picture shows, for those who do not see it."""
    parts = []
    for values, label in zip(_by_class(table), classes, strict=True):
        if values.size:
            parts.append(
                f"{len(values)} samples of class {label} from {values.min():.3g} to "
                f"{values.max():.3g}, median {np.median(values):.3g}"
            )
    inside = int(np.count_nonzero(table.margin < 1.0))
    wrong = int(np.count_nonzero(table.margin <= 0.0))
    return (
        f"Histogram of the decision values: {'; '.join(parts)}. {inside} samples lie inside the "
        f"margin or beyond, {wrong} of them on the wrong side."
    )


def _by_class(table: SampleTable) -> tuple[Any, Any]:
    """Finite decision values of the negative and of the positive class."""
    finite = np.isfinite(table.decision)
    positive = table.label == np.unique(table.label)[-1]
    return table.decision[finite & ~positive], table.decision[finite & positive]


def _literal(text: str) -> str:
    """Matplotlib reads text between dollar signs as mathematics; labels are no mathematics."""
    return text.replace("$", r"\$")
