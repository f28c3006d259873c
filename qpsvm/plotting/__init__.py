"""Pictures of problems and solutions, one class per kind of picture.

Matplotlib, from the extra ``qpsvm[report]``, is imported when a picture is drawn. Figures are made
as objects, without ``pyplot`` and without touching its settings: no window, no global state.

``DecisionRegions`` and ``AlphaMargin`` are displays of fitted estimators, ``PathLines`` is one of a
path, in scikit-learn's manner: they draw on axes of the caller's, and make a figure of ``pyplot``
only without any.

``qpsvm.reports.build(problem, solution).pictures`` are those that belong to a solution::

    for picture in report.pictures:
        picture.figure().savefig(f"{picture.name}.pdf")
"""

from qpsvm.plotting.decision_regions import DecisionRegions
from qpsvm.plotting.displays import AlphaMargin, PathLines
from qpsvm.plotting.picture import CLASS_COLOURS, Picture
from qpsvm.plotting.plane import Heights, Plane
from qpsvm.plotting.residuals import Checks, Convergence, SortedViolations
from qpsvm.plotting.samples import Complementarity, Group, Histogram, Line, Targets

__all__ = [
    "CLASS_COLOURS",
    "AlphaMargin",
    "Checks",
    "Complementarity",
    "Convergence",
    "DecisionRegions",
    "Group",
    "Heights",
    "Histogram",
    "Line",
    "PathLines",
    "Picture",
    "Plane",
    "SortedViolations",
    "Targets",
]
