"""Pictures of problems and solutions, one class per kind of picture.

Matplotlib, from the extra ``qpsvm[report]``, is imported when a picture is drawn. Figures are made
as objects, without ``pyplot`` and without touching its settings: no window, no global state.

``qpsvm.reports.build(problem, solution).pictures`` are those that belong to a solution::

    for picture in report.pictures:
        picture.figure().savefig(f"{picture.name}.pdf")
"""

from qpsvm.plotting.complementarity import Complementarity
from qpsvm.plotting.convergence import Convergence
from qpsvm.plotting.histogram import Group, Histogram, Line
from qpsvm.plotting.picture import CLASS_COLOURS, Picture
from qpsvm.plotting.plane import Plane
from qpsvm.plotting.residuals import Checks, SortedViolations
from qpsvm.plotting.targets import Targets

__all__ = [
    "CLASS_COLOURS",
    "Checks",
    "Complementarity",
    "Convergence",
    "Group",
    "Histogram",
    "Line",
    "Picture",
    "Plane",
    "SortedViolations",
    "Targets",
]
