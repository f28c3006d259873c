"""Reports on multiclass problems that are reduced to two-class problems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from qpsvm.exceptions import QPSVMError
from qpsvm.machines.samples import SampleTable
from qpsvm.plotting import Picture
from qpsvm.reports.kinds.base import Kind, class_sizes, plane
from qpsvm.reports.solved import SolvedProblem


class Reduced(Kind):
    """Reductions; each two-class machine has its own section, tables and pictures."""

    name: ClassVar[str] = "reduced"
    score_name: ClassVar[str] = "training accuracy"

    def score(self, solved: SolvedProblem, table: SampleTable | None) -> float | None:
        del table
        try:
            return float(solved.solution.score(solved.data.X, solved.data.targets))
        except (QPSVMError, ValueError, AttributeError):
            return None  # not a machine that predicts

    def classes(self, solved: SolvedProblem) -> list[tuple[object, int]]:
        return class_sizes(solved.problem.data)

    def pictures(
        self, solved: SolvedProblem, table: SampleTable | None
    ) -> Iterator[Picture | None]:
        del table
        data = solved.problem.data
        case = np.zeros(data.n_given, dtype=np.intp)
        for machine in solved.machines:
            own = machine.table
            if own is None:
                return
            np.maximum.at(case, own.sample, own.case)
        labels = tuple(f"class {label}" for label in data.classes.tolist())
        if solved.machines:
            yield plane(solved, data.codes, labels, case[data.kept], ())
